//! Loads that arrive on their own schedule: stops and limits, as such a load meets them.

use super::machine::calls::traced;
use super::plant::{
    CACHED, Group, Io, Limit, PAST_CACHE, Planted, check_found, check_near, check_silent, measure,
    only, quiet, trials, tried,
};
use crate::sandbox::{Sandbox, skip};
use model::arrival::{Arrival, Arrivals};
use model::random::mix;
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
        // What else takes the processor makes it longer, but never shorter.
        let p99 = response["p99"].as_f64().unwrap();
        assert!((0.88e9..1.4e9).contains(&p99), "{open:#}");
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

/// The mean of `[[ns, count], …]`, and the value that half and nine tenths of them do not exceed.
fn mean_and_percentiles(counts: &Value) -> [f64; 3] {
    let pairs = counts.as_array().unwrap().iter();
    let pairs: Vec<(f64, u64)> =
        pairs.map(|pair| (pair[0].as_f64().unwrap(), pair[1].as_u64().unwrap())).collect();
    let all = pairs.iter().flat_map(|(ns, count)| std::iter::repeat_n(*ns, *count as usize));
    of_sorted(&all.collect::<Vec<f64>>())
}

fn of_sorted(all: &[f64]) -> [f64; 3] {
    let at = |share: f64| all[(all.len() as f64 * share) as usize];
    [all.iter().sum::<f64>() / all.len() as f64, at(0.5), at(0.9)]
}

/// The response times of a queue with one server, which takes `service_ns` for each of the first
/// `count` arrivals of a trial's schedule (Lindley 1952).
fn queue(rate: u64, seed: u64, service_ns: f64, count: usize) -> [f64; 3] {
    let mut arrivals = Arrivals::new(rate, Arrival::Poisson, 0, 1, seed);
    let mut free_at = 0.0;
    let mut response = || {
        let due = arrivals.next_ns() as f64;
        free_at = f64::max(free_at, due) + service_ns;
        free_at - due
    };
    let mut all: Vec<f64> = (0..count).map(|_| response()).collect();
    all.sort_unstable_by(f64::total_cmp);
    of_sorted(&all)
}

/// A queue's service times are constant if nine tenths of them are at most this many medians: then
/// the model is M/D/1.
const CONSTANT: f64 = 1.2;

/// A thread that waited longer for a processor than this part of its time served no queue.
const DELAYED: u64 = 50;

/// Each read takes 4 ms, by strace. Responses are those of a queue with that service time on the
/// trial's own schedule, at half, 8 and 9 tenths of what the server can do: M/D/1.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn responses_are_those_of_a_queue() {
    const SEED: u64 = 11;
    tried(|| {
        let test = "responses_are_those_of_a_queue";
        let _quiet = quiet();
        let sandbox = Sandbox::new();
        let Some(launch) = traced(&sandbox, test, Some("delay_enter=4000")) else {
            return;
        };
        let rates = [118, 190, 213];
        let case = format!(
            "[[cases]]\nsize = \"4MiB\"\nengine = \"pread\"\ncache = \"as-is\"\n\
             block = \"4KiB\"\ntime = \"5s\"\nrate = {rates:?}\n"
        );
        measure(&sandbox, launch, &case, &[".", &format!("--seed={SEED}")]);
        let mut seen = trials(&sandbox);
        seen.sort_by_key(|trial| trial["case"].as_u64());
        assert_eq!(seen.len(), rates.len());
        for (index, (rate, trial)) in (0..).zip(rates.into_iter().zip(&seen)) {
            let sample = &trial["outcome"]["done"];
            let [service_ns, p50, p90] = mean_and_percentiles(&sample["latencies"]["counts"]);
            assert!(service_ns > 4e6, "the delay is there: {service_ns}");
            if p90.max(service_ns) > CONSTANT * p50 {
                // Whoever took the processor from strace changed the service, not the responses.
                skip(test, &format!("at {rate}/s, reads took {p50} ns, and {p90} ns (p90)"));
                continue;
            }
            let [delay, start, end] = ["run_delay_ns", "start_ns", "end_ns"]
                .map(|name| sample["spans"][0][name].as_u64().unwrap_or(0));
            if delay > (end - start) / DELAYED {
                // It waited for a processor between its reads, which no queue of reads does.
                skip(test, &format!("at {rate}/s, others had the processor for {delay} ns"));
                continue;
            }
            let count = sample["spans"][0]["ops"].as_u64().unwrap();
            let seen = mean_and_percentiles(&sample["responses"]["counts"]);
            let expected = queue(rate, mix(SEED ^ index), service_ns, count as usize);
            for (seen, expected) in seen.into_iter().zip(expected) {
                let off = (seen - expected).abs() / expected;
                assert!(off < 0.12, "at {rate}/s, {service_ns} ns each: {seen} is not {expected}");
            }
        }
    });
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_load_above_a_limit_is_not_held() {
    tried(|| {
        let test = "a_load_above_a_limit_is_not_held";
        let Some(planted) = Planted::on_loop(test, "ext4", &CACHED) else { return };
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
        let Some(planted) = Planted::on_loop(test, "ext4", &PAST_CACHE) else { return };
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
