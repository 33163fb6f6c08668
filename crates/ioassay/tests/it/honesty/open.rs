//! Loads that arrive on their own schedule: stops and limits, as such a load meets them.

use super::machine::calls::traced;
use super::plant::{
    Group, Io, Limit, Planted, check_found, check_near, check_silent, measure, only, quiet, tried,
};
use super::storage::ROOMY;
use crate::sandbox::Sandbox;
use serde_json::Value;

/// Six seconds of reads of a small file; the worker stops for one of them.
fn stopped(test: &str, axes: &str) -> Option<Value> {
    let sandbox = Sandbox::new();
    let launch = traced(&sandbox, test, Some("delay_enter=1000000:when=1500"))?;
    let case = format!(
        "[[cases]]\nsize = \"4MiB\"\nengine = \"pread\"\ncache = \"as-is\"\nblock = \"4KiB\"\n\
         ops = 0\ntime = \"6s\"\n{axes}"
    );
    Some(only(&measure(&sandbox, launch, &case, &["."])).clone())
}

/// Of 6000 operations, those of one second wait for its end: the first of them for all of it. So 1
/// in 100 takes longer than 940 ms, and 1 in 20 longer than 700 ms. A closed loop asks for nothing
/// meanwhile, and has one late operation.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_stop_is_what_a_load_on_schedule_meets() {
    tried(|| {
        let test = "a_stop_is_what_a_load_on_schedule_meets";
        let _quiet = quiet();
        let Some(open) = stopped(test, "rate = 1000\narrival = \"even\"\n") else { return };
        let response = &open["open"]["response_ns"];
        check_near(&response["p99"], 0.94e9, 0.06);
        assert!(response["p90"].as_f64().unwrap() > 0.3e9, "{open:#}");
        assert_eq!(open["open"]["unsent"], 0, "{open:#}");
        let service = open["latency_ns"]["p99"].as_f64().unwrap();
        assert!(service < 0.1e9, "the service of the others is short: {open:#}");
        let Some(closed) = stopped(test, "") else { return };
        assert!(closed["latency_ns"]["max"].as_f64().unwrap() >= 1e9, "{closed:#}");
        assert!(closed["latency_ns"]["p99"].as_f64().unwrap() < 0.1e9, "{closed:#}");
        assert_eq!(closed["open"], Value::Null);
    });
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_load_above_a_limit_is_not_held() {
    tried(|| {
        let test = "a_load_above_a_limit_is_not_held";
        let _quiet = quiet();
        let Some(planted) = Planted::on_loop(test, "ext4", &ROOMY) else { return };
        let sandbox = &planted.sandbox;
        let limit = Limit::Device(Io::Reads, planted.mounted.loop_name(), 200);
        let Some(group) = Group::new(test, limit) else { return };
        let at = |rate: u32| {
            let case = format!(
                "[[cases]]\nengine = \"uring\"\ncache = \"direct\"\ndepth = 8\nblock = \"4KiB\"\n\
                 pattern = \"random\"\nrate = {rate}\n"
            );
            let launch = group.launch(sandbox);
            only(&measure(sandbox, launch, &case, &[".", "--time=5s"])).clone()
        };
        let above = at(400);
        check_near(&above["iops"]["median"], 200.0, 0.1);
        check_near(&above["open"]["offered"]["median"], 400.0, 0.15);
        check_found(&above, "LoadNotHeld", "doubt", &[]);
        assert!(above["open"]["backlog"].as_f64().unwrap() > 500.0, "{above:#}");
        let below = at(100);
        check_near(&below["iops"]["median"], 100.0, 0.3);
        check_silent(&below, &["LoadNotHeld"]);
        assert_eq!(below["open"]["unsent"], 0, "{below:#}");
    });
}

/// A device that serves 500 reads a second, but more in a short time: what it holds is found around
/// that, and what it does not above.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn the_load_that_a_limited_device_holds_is_found() {
    tried(|| {
        let test = "the_load_that_a_limited_device_holds_is_found";
        let _quiet = quiet();
        let Some(planted) = Planted::on_loop(test, "ext4", &ROOMY) else { return };
        let limit = Limit::Device(Io::Reads, planted.mounted.loop_name(), 500);
        let Some(group) = Group::new(test, limit) else { return };
        let case = "[[cases]]\nengine = \"uring\"\ncache = \"direct\"\ndepth = 8\n\
                    block = \"4KiB\"\npattern = \"random\"\nrate = [\"50%\", \"150%\"]\n";
        let args = [".", "--time=800ms", "--rounds=6", "--hold=p90<100ms"];
        let report = measure(&planted.sandbox, group.launch(&planted.sandbox), case, &args);
        let load = &report["loads"][0];
        // A limit lets some through at once, which matters in short trials.
        check_near(&load["closed_iops"]["median"], 500.0, 0.2);
        assert_eq!(load["rates"].as_array().unwrap().len(), 6, "two shares, and four: {load:#}");
        let held = &load["held"];
        let rate = |name: &str| held[name].as_f64().unwrap_or_else(|| panic!("{name}: {load:#}"));
        let (holds, fails) = (rate("holds"), rate("fails"));
        assert!((230.0..=650.0).contains(&holds), "{load:#}");
        assert!(holds < fails && fails <= 900.0, "{load:#}");
        assert_eq!(held["holds_above"].as_array().unwrap().len(), 0, "{load:#}");
    });
}
