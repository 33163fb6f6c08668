//! fio's job files: imported, planned and run.

use crate::sandbox::{PROGRAM, Sandbox, text};
use ioassay::fio::{Here, import};
use ioassay::recipe::{self, Changes};
use model::environment::Environment;
use model::zoo;
use std::path::Path;

const JOB: &str = "[global]\ndirect=0\nsize=1m\ngroup_reporting\n\
                   [a]\nrw=randread\nrandrepeat=0\nbs=4k\n[b]\nstonewall\nrw=write\n\
                   bs=64k\nend_fsync=1\n";

/// What of a job file's recipe can be measured on the machine of the zoo: how many cases, and the
/// reasons of those that cannot.
fn planned(recipe: &str) -> (usize, Vec<String>) {
    let recipe = recipe::parse(recipe).expect(recipe);
    let (host, storage) = (zoo::host(), zoo::storage());
    let environment =
        Environment { host: &host, storage: Some(&storage), source: None, peers: &[] };
    let changes = Changes { no_ceilings: true, ..Changes::default() };
    let plan = recipe.plan(&changes, &environment).expect("a recipe of jobs has a plan");
    (plan.cases.len(), plan.skips.into_iter().map(|skip| skip.reason).collect())
}

#[test]
fn a_job_file_is_imported_and_run() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("jobs.fio"), JOB).unwrap();
    let shown = sandbox.says(&["import", "fio", "jobs.fio"]);
    std::fs::write(sandbox.path("jobs.toml"), &shown).unwrap();
    let plan = |recipe| sandbox.json(&["plan", recipe, ".", "--seed", "1", "--json"]);
    assert_eq!(plan("jobs.fio")["plan"]["cases"], plan("jobs.toml")["plan"]["cases"], "{shown}");
    let run = ["run", "jobs.fio", "--rounds", "1", "--time", "50ms", "--no-ceilings", "--json"];
    let output = sandbox.start(PROGRAM).args(run).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let ids: Vec<&str> =
        report["cases"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 2, "{ids:?}");
    assert!(ids[0].contains("pread cold random 4KiB") && ids[1].contains("sync:fsync"), "{ids:?}");
    let told = text(&output.stderr);
    assert!(told.contains("warning: line 5 ([a])") || told.contains("warning: line 2"), "{told}");
}

#[test]
fn a_job_runs_where_fio_would_unless_a_directory_is_named() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("there")).unwrap();
    let job = |place: &str| format!("[a]\nrw=read\nsize=1m\n{place}\n");
    std::fs::write(sandbox.path("there.fio"), job("directory=there")).unwrap();
    std::fs::write(sandbox.path("device.fio"), job("filename=/dev/sdx")).unwrap();
    std::fs::write(sandbox.path("lost.fio"), job("directory=lost")).unwrap();
    let directory = |args: &[&str]| {
        let plan = sandbox.json(&[&["plan", "--json"], args].concat());
        plan["needs"]["disk"][0]["directory"].clone()
    };
    assert_eq!(directory(&["there.fio"]), "there");
    assert_eq!(directory(&["there.fio", "."]), ".");
    sandbox.refuses(&["plan", "device.fio"], &["fio's jobs use the device /dev/sdx", "DIR"]);
    sandbox.refuses(&["plan", "lost.fio"], &["there is no directory 'lost'"]);
}

#[test]
fn a_job_file_that_cannot_be_taken_says_why() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("net.fio"), "[a]\nioengine=net\n").unwrap();
    for args in [["import", "fio", "net.fio"].as_slice(), &["run", "net.fio"]] {
        let reason = "line 2 (ioengine=net): it moves bytes over a network, not to storage";
        sandbox.refuses(args, &["cannot take fio's job file 'net.fio'", reason]);
    }
}

/// Each file that fio ships is taken, taken with warnings or in part, or refused with reasons, and
/// these are the counts of docs/fio.md.
#[test]
fn each_example_of_fio_is_taken_or_refused_with_a_reason() {
    let folder = Path::new("/usr/share/doc/fio/examples");
    let Ok(entries) = std::fs::read_dir(folder) else {
        eprintln!("skipped: the package fio-examples is not installed");
        return;
    };
    let [mut taken, mut warned, mut in_part, mut refused] = [0; 4];
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.extension().is_none_or(|extension| extension != "fio") {
            continue;
        }
        let job = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        let here = Here { memory: Some(16 << 30), ..Here::nowhere() };
        match import(&job, &path.file_name().unwrap().to_string_lossy(), &here) {
            Err(error) => {
                refused += 1;
                assert!(format!("{error:#}").contains("line "), "{}: {error:#}", path.display());
            }
            Ok(imported) => {
                let (cases, reasons) = planned(&imported.text);
                assert!(cases > 0, "{}: {reasons:?}", path.display());
                let is_in_part = imported.warnings.iter().any(|it| it.starts_with("not "));
                match () {
                    () if is_in_part => in_part += 1,
                    () if imported.warnings.is_empty() => taken += 1,
                    () => warned += 1,
                }
            }
        }
    }
    let counts = format!("| {taken} | {warned} | {in_part} | {refused} |");
    let document = include_str!("../../../../docs/fio.md");
    assert!(document.contains(&counts), "docs/fio.md lacks '{counts}'");
}
