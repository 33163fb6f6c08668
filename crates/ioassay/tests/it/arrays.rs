//! What serves the arrays of memory kernels on this machine, by the sizes of its caches.

use crate::sandbox::{Sandbox, argument};
use serde_json::{Value, json};

/// Two loops over arrays of 8 KiB and 16 KiB.
const SMALL: [&str; 9] = [
    "run",
    "memory",
    "--kernel=read,write-nt",
    "--working-set=8KiB,16KiB",
    "--threads=1",
    "--isa=scalar",
    "--pages=base",
    "--rounds=1",
    "--time=2ms",
];

#[test]
fn a_small_array_is_served_by_a_cache_and_never_by_memory() {
    let sandbox = Sandbox::new();
    let metrics = sandbox.path("metrics");
    let files = ["--record=record", "--json", "--openmetrics", argument(&metrics)];
    let report = sandbox.json(&[&SMALL[..], &files].concat());
    let caches = report["host"]["caches"].as_array().unwrap();
    let is_told = caches.first().and_then(Value::as_u64).is_some_and(|bytes| bytes >= 16 << 10);
    let cases: Vec<&Value> = report["cases"].as_array().unwrap().iter().collect();
    assert_eq!(cases.iter().filter(|case| case["role"] == "asked").count(), 4, "{report:#}");
    for case in cases.into_iter().filter(|case| case["role"] == "asked") {
        // Non-temporal stores bypass the caches.
        let is_cached = is_told && case["case"]["kernel"] == "read";
        let expected = if is_cached { "cpu-cache" } else { "cpu-cache-or-ram" };
        let level = if is_cached { json!(1) } else { json!(null) };
        assert_eq!((&case["served_by"], &case["level"]), (&json!(expected), &level), "{case:#}");
        assert!(case["bus"].is_null() && case["ceiling"].is_null(), "{case:#}");
    }
    let text = sandbox.says(&["report", "record"]);
    let csv = sandbox.says(&["report", "record", "--csv"]);
    let metrics = std::fs::read_to_string(&metrics).unwrap();
    for said in [&text, &csv, &metrics] {
        assert!(said.contains("cpu-cache-or-ram"), "{said}");
        assert!(said.contains("cpu-cache"), "{said}");
    }
    assert!(!text.contains("served by ram"), "{text}");
    assert!(!text.contains("idle share"), "no cell has an idle share: {text}");
    if is_told {
        assert!(text.contains("cpu-cache (L1)"), "{text}");
        assert!(csv.contains(",cpu-cache,1,"), "{csv}");
        assert!(metrics.contains("served_by=\"cpu-cache\",level=\"1\""), "{metrics}");
    }
}
