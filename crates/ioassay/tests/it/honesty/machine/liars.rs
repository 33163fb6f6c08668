//! Measuring programs that lie.

use super::super::plant::{asked, measure, plainly, tried};
use crate::sandbox::{PROGRAM, Sandbox, argument};
use serde_json::{Value, json};

/// Each lie and the expected message. The test of a hanging program is in `workers.rs`, with a
/// short timeout. The job has 256 blocks of 4 KiB and one thread.
const LIES: [(&str, &str, &str); 5] = [
    ("digest", "bytes=1048576 ops=256 digest=1 end_ns=1001", "digest"),
    ("bytes", "bytes=1044480 ops=256 digest=1 end_ns=1001", "1044480 bytes for 256 operations"),
    ("time", "bytes=1048576 ops=256 digest=1 end_ns=900000000001", "passed"),
    ("dies", "", "exit status: 3"),
    ("babbles", "", "an unknown verb"),
];

/// What a liar does after its handshake.
fn script(name: &str, span: &str) -> String {
    match name {
        "dies" => "read job; echo ready; read go; exit 3".to_string(),
        "babbles" => "read job; echo ready; read go; echo dance".to_string(),
        _ => format!(
            "while read job; do echo ready; read go; echo span thread=0 start_ns=1 {span}; \
             echo latency ns=1000 count=256; echo done setup_ns=1 max_ns=1000; read go; done"
        ),
    }
}

/// A table with the liars and an honest peer, which is this program under another name.
fn table(sandbox: &Sandbox) -> std::path::PathBuf {
    let row = |name: &str, run: &[&str]| {
        format!("[[peer]]\nname = '{name}'\nrun = {run:?}\nengines = ['pread']\n")
    };
    let mut rows = row("honest", &[PROGRAM, "worker"]);
    for (name, span, _) in LIES {
        let greeting = format!("echo hello protocol=2 name={name} version=1; ");
        rows += &row(name, &["sh", "-c", &(greeting + &script(name, span))]);
    }
    let table = sandbox.state().join("peers.toml");
    std::fs::write(&table, rows).unwrap();
    table
}

fn case<'a>(report: &'a Value, peer: &str) -> &'a Value {
    asked(report).into_iter().find(|case| case["case"]["peer"] == peer).unwrap()
}

#[test]
fn a_program_that_lies_has_no_figure_and_is_compared_with_nothing() {
    tried(|| {
        let sandbox = Sandbox::new();
        let table = table(&sandbox);
        let peers: Vec<&str> = LIES.iter().map(|(name, ..)| *name).collect();
        let group = format!(
            "[[cases]]\nsize = \"1MiB\"\npeer = [\"rust\", \"honest\", \"{}\"]\n\
             engine = \"pread\"\n\
         cache = \"as-is\"\nblock = \"4KiB\"\nops = \"all\"\n",
            peers.join("\", \"")
        );
        let report =
            measure(&sandbox, plainly(&sandbox), &group, &[".", "--peers", argument(&table)]);
        for (name, _, expected) in LIES {
            let lie = case(&report, name);
            let verdict = if name == "digest" { "void" } else { "failed" };
            assert_eq!(lie["verdict"], verdict, "{lie:#}");
            let said = format!("{} {}", lie["failures"], lie["findings"]);
            assert!(said.contains(expected), "{name}: {said}");
            if name == "digest" {
                assert_eq!(lie["digest_verified"], false, "{lie:#}");
            } else {
                assert_eq!((&lie["n"], &lie["throughput"]), (&json!(0), &Value::Null), "{lie:#}");
            }
            let id = &lie["id"];
            let comparisons = report["comparisons"].as_array().unwrap();
            let is_of = |seen: &&Value| seen["case"] == *id || seen["base"] == *id;
            assert_eq!(comparisons.iter().find(is_of), None, "{name} is compared");
        }
        for name in ["rust", "honest"] {
            let truth = case(&report, name);
            assert_eq!((&truth["n"], &truth["failures"]), (&json!(1), &json!([])), "{truth:#}");
            assert_eq!(truth["digest_verified"], true, "{truth:#}");
            let stands = ["sound", "doubtful"].contains(&truth["verdict"].as_str().unwrap());
            assert!(stands, "{truth:#}");
        }
    });
}
