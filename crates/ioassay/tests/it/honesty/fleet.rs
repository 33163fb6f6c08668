//! Hosts that should be alike, one of which has a slower disk.

use super::plant::{Group, Io, Limit, PAST_CACHE, Planted, tried};
use crate::sandbox::argument;
use serde_json::Value;

const MIB: u64 = 1 << 20;

/// All hosts have the same limited disk, so that nothing else on this machine decides the rate.
const USUAL: u64 = 32 * MIB;

/// The report of six hosts, of which `d` may read so many bytes a second, and each other [`USUAL`].
fn six_hosts(test: &str, of_d: u64) -> Option<Value> {
    let planted = Planted::on_loop(test, "ext4", &PAST_CACHE)?;
    let (sandbox, device) = (&planted.sandbox, planted.mounted.loop_name());
    let limit = |a_second| Limit::Device(Io::ReadBytes, device, a_second);
    let (usual, own) = (Group::new(test, limit(USUAL))?, Group::new(test, limit(of_d))?);
    let enter = format!(
        "case {{host}} in d) echo $$ > {};; *) echo $$ > {};; esac; exec \"$0\" \"$@\"",
        own.procs().display(),
        usual.procs().display()
    );
    let path = |name: &str| sandbox.state().join(name);
    let launchers = format!("[[launcher]]\nname = \"enter\"\nprefix = ['sh', '-c', '{enter}']\n");
    std::fs::write(path("launchers.toml"), launchers).unwrap();
    let recipe = "name = \"mine\"\nquestion = \"?\"\nsize = \"32MiB\"\nrounds = 3\n\
                  invocations = 1\nceilings = false\n[[cases]]\nengine = \"uring\"\ndepth = 8\n\
                  cache = \"direct\"\nblock = \"128KiB\"\ntime = \"1s\"\n";
    std::fs::write(path("mine.toml"), recipe).unwrap();
    let _ = std::fs::remove_dir_all(path("records"));
    let [launchers, recipe, records] =
        ["launchers.toml", "mine.toml", "records"].map(|name| argument(&path(name)).to_owned());
    let (launchers, records) = (format!("--launchers={launchers}"), format!("--record={records}"));
    let program = format!("--program={}", crate::sandbox::PROGRAM);
    let report = sandbox.plainly(&[
        "run",
        &recipe,
        ".",
        "--each",
        "--json",
        "--hosts=a,b,c,d,e,f",
        "--launcher=enter",
        &launchers,
        &program,
        &records,
    ]);
    assert_eq!(report.status.code(), Some(0), "{report:?}");
    Some(serde_json::from_slice(&report.stdout).expect("it is JSON"))
}

/// Its name, its finding and its limit are told, and no other host.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_host_with_a_slower_disk_is_the_odd_one_out() {
    tried(|| {
        let test = "a_host_with_a_slower_disk_is_the_odd_one_out";
        let Some(report) = six_hosts(test, USUAL / 8) else { return };
        for host in report["hosts"].as_array().unwrap() {
            let odd_in = host["odd_in"].as_array().unwrap().len();
            assert_eq!(odd_in, usize::from(host["called"] == "d"), "{host:#}");
        }
        let figure = &report["cases"][0]["figures"][3];
        let ratio = figure["odd"]["ratio"].as_f64().unwrap();
        assert!((0.08..0.2).contains(&ratio), "{figure:#}");
        assert!(figure["doubts"].to_string().contains("Throttled"), "{figure:#}");
        let own = report["hosts"][3]["own"].as_array().unwrap();
        let limits = own.iter().find(|fact| fact["what"] == "limits").expect("it has its own");
        assert!(limits["own"].as_str().unwrap().contains("4194304 read bytes"), "{limits}");
        assert!(limits["most"].as_str().unwrap().contains("33554432 read bytes"), "{limits}");
    });
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn of_hosts_with_equal_disks_none_is_odd() {
    tried(|| {
        let test = "of_hosts_with_equal_disks_none_is_odd";
        let Some(report) = six_hosts(test, USUAL) else { return };
        for host in report["hosts"].as_array().unwrap() {
            assert_eq!(host["odd_in"], Value::Array(Vec::new()), "{report:#}");
        }
        assert_eq!(report["cases"][0]["n"], 6, "{report:#}");
    });
}
