//! A judgement for monitoring: what the textfile collector of Prometheus's node exporter takes.
//!
//! The text exposition format of Prometheus, of which this is also OpenMetrics but for its last
//! line; names and base units by the conventions of both. docs/formats.md defines each metric.
//! What is not known has no sample, and no figure of a void case has one.

use crate::MARK;
use crate::style::printable;
use crate::words;
use assess::Assessment;
use assess::finding::{Code, Severity};
use assess::stats::Estimate;
use assess::summary::{Latency, Summary};
use assess::trend::Quantity;
use assess::trials::TrialFigures;
use model::case::Work;
use model::record::End;
use std::collections::BTreeMap;
use std::time::UNIX_EPOCH;

const NS_PER_SECOND: f64 = 1e9;

/// Labels of a sample: names and values.
type Labels = Vec<(&'static str, String)>;

/// A metric: what it is, and its samples.
struct Metric {
    name: &'static str,
    help: &'static str,
    samples: fn(&Assessment) -> Vec<(Labels, f64)>,
}

/// All metrics. Each is a gauge: a run is over, and what it found is what it is.
const METRICS: [Metric; 14] = [
    Metric {
        name: "ioassay_run_info",
        help: "What was run, and where; always 1.",
        samples: run_info,
    },
    Metric {
        name: "ioassay_run_timestamp_seconds",
        help: "When the run began, in seconds since 1970.",
        samples: run_timestamp,
    },
    Metric {
        name: "ioassay_run_complete",
        help: "Whether the run was carried out to its end: 0 if it was stopped, or its record is \
               cut off.",
        samples: |assessment| vec![(Labels::new(), flag(assessment.end == End::Complete))],
    },
    Metric {
        name: "ioassay_run_invocations",
        help: "How often all was begun anew. With 1 the intervals hold within this run only.",
        samples: |assessment| vec![(Labels::new(), f64::from(assessment.repetition.invocations))],
    },
    Metric {
        name: "ioassay_run_damage",
        help: "Problems found in reading the record; what they concern is not in these figures.",
        samples: |assessment| vec![(Labels::new(), assessment.damage.len() as f64)],
    },
    Metric {
        name: "ioassay_throughput_bytes_per_second",
        help: "Median throughput of the counted rounds of a case. No sample of a void case.",
        samples: |assessment| throughputs(assessment, |estimate| Some(estimate.median)),
    },
    Metric {
        name: "ioassay_throughput_low_bytes_per_second",
        help: "Lower end of the 95 % interval of ioassay_throughput_bytes_per_second.",
        samples: |assessment| throughputs(assessment, |estimate| estimate.low),
    },
    Metric {
        name: "ioassay_throughput_high_bytes_per_second",
        help: "Upper end of the 95 % interval of ioassay_throughput_bytes_per_second.",
        samples: |assessment| throughputs(assessment, |estimate| estimate.high),
    },
    Metric {
        name: "ioassay_operation_seconds",
        help: "Median time of a thread for an operation, all it has in flight together: threads \
               by operations a second. No sample of a void case.",
        samples: operation_times,
    },
    Metric {
        name: "ioassay_latency_seconds",
        help: "What so many per cent of the operations, or syncs, of a case did not exceed; 100 \
               is the longest. No sample of a void case, and none where too few were timed.",
        samples: latencies,
    },
    Metric {
        name: "ioassay_case_verdict",
        help: "What the figures of a case are worth: 1 for the verdict that it has, 0 for others.",
        samples: verdicts,
    },
    Metric {
        name: "ioassay_case_trials",
        help: "Trials of a case, by what became of them.",
        samples: trials,
    },
    Metric {
        name: "ioassay_findings",
        help: "Cases on which a finding was made; 1 if it is about the whole run.",
        samples: findings,
    },
    Metric {
        name: "ioassay_skipped_cases",
        help: "Cases that were asked for and would have meant nothing here.",
        samples: |assessment| vec![(Labels::new(), assessment.skips.len() as f64)],
    },
];

/// The names of all metrics, in their order.
pub fn metric_names() -> Vec<&'static str> {
    METRICS.iter().map(|metric| metric.name).collect()
}

/// A run as metrics, each with the recipe and the directory as labels.
pub fn openmetrics(assessment: &Assessment) -> String {
    let mut out = format!("# {MARK} {}\n", printable(&assessment.tool.version));
    let common = common(assessment);
    for Metric { name, help, samples } in METRICS {
        let samples = samples(assessment);
        if samples.is_empty() {
            continue;
        }
        out.push_str(&format!("# HELP {name} {help}\n# TYPE {name} gauge\n"));
        for (labels, value) in samples {
            out.push_str(&format!("{name}{{{}}} {value}\n", said(common.iter().chain(&labels))));
        }
    }
    out
}

/// What all samples have, so that those of several files stay apart.
fn common(assessment: &Assessment) -> Labels {
    let directory = assessment.storage.as_ref().map(|storage| storage.directory.display());
    let directory = directory.map_or(String::new(), |directory| directory.to_string());
    vec![("recipe", assessment.recipe.clone()), ("directory", directory)]
}

fn said<'a>(labels: impl Iterator<Item = &'a (&'static str, String)>) -> String {
    let label = |(name, value): &(&str, String)| format!("{name}=\"{}\"", escaped(value));
    labels.map(label).collect::<Vec<_>>().join(",")
}

/// A label's value between its quotes; control characters become spaces.
fn escaped(value: &str) -> String {
    printable(value).replace('\\', r"\\").replace('"', "\\\"")
}

fn flag(is_so: bool) -> f64 {
    f64::from(u8::from(is_so))
}

fn run_info(assessment: &Assessment) -> Vec<(Labels, f64)> {
    let host = &assessment.host;
    let mut labels = vec![
        ("version", assessment.tool.version.clone()),
        ("host", host.name.clone()),
        ("os", host.os.clone()),
        ("cpu", host.cpu.clone()),
    ];
    if let Some(storage) = &assessment.storage {
        let devices: Vec<&str> = storage.devices.iter().map(|each| each.name.as_str()).collect();
        labels.push(("file_system", storage.file_system.clone()));
        labels.push(("devices", devices.join(",")));
    }
    vec![(labels, 1.0)]
}

fn run_timestamp(assessment: &Assessment) -> Vec<(Labels, f64)> {
    let began = humantime::parse_rfc3339_weak(&assessment.began).ok();
    let since = began.and_then(|began| began.duration_since(UNIX_EPOCH).ok());
    since.map(|since| (Labels::new(), since.as_secs_f64())).into_iter().collect()
}

/// The labels that tell a case.
fn of_case(summary: &Summary) -> Labels {
    vec![("case", summary.id.clone()), ("role", summary.role.name().to_string())]
}

/// The cases that have figures which stand.
fn standing(assessment: &Assessment) -> impl Iterator<Item = &Summary> {
    assessment.measured().filter(|summary| summary.verdict.stands())
}

/// The rates of a case, each with what it is of. None of what moves no bytes in bulk: its bytes
/// in a second say nothing.
fn rates(summary: &Summary) -> Vec<(&'static str, Option<Estimate>)> {
    match &summary.case.work {
        _ if Quantity::of(&summary.case) == Quantity::NsPerOp => Vec::new(),
        Work::Read(_) => vec![("read", summary.throughput)],
        Work::Memory(_) => vec![("memory", summary.throughput)],
        Work::Write(_) => {
            let writing = summary.writing.as_ref();
            let accepted = writing.and_then(|writing| writing.accepted);
            let durable = writing.and_then(|writing| writing.durable);
            vec![("accepted", accepted), ("durable", durable)]
        }
    }
}

fn throughputs(assessment: &Assessment, of: fn(&Estimate) -> Option<f64>) -> Vec<(Labels, f64)> {
    let sample = |summary: &Summary, quantity: &str, estimate: Option<Estimate>| {
        let served_by = summary.served_by.map_or(String::new(), |by| by.name().to_string());
        let mut labels = of_case(summary);
        labels.extend([("quantity", quantity.to_string()), ("served_by", served_by)]);
        Some((labels, of(&estimate?)?))
    };
    standing(assessment)
        .flat_map(|summary| {
            let rates = rates(summary).into_iter();
            rates.filter_map(move |(quantity, estimate)| sample(summary, quantity, estimate))
        })
        .collect()
}

fn operation_times(assessment: &Assessment) -> Vec<(Labels, f64)> {
    standing(assessment)
        .filter_map(|summary| Some((of_case(summary), summary.ns_per_op?.median / NS_PER_SECOND)))
        .collect()
}

fn latencies(assessment: &Assessment) -> Vec<(Labels, f64)> {
    let mut samples = Vec::new();
    for summary in standing(assessment) {
        let sync = summary.writing.as_ref().map(|writing| &writing.sync);
        for (of, latency) in [("operation", Some(&summary.latency)), ("sync", sync)] {
            for (percentile, ns) in latency.map(percentiles).into_iter().flatten() {
                let mut labels = of_case(summary);
                labels.extend([("of", of.to_string()), ("percentile", percentile.to_string())]);
                samples.push((labels, ns as f64 / NS_PER_SECOND));
            }
        }
    }
    samples
}

/// The percentiles that are known, in nanoseconds.
fn percentiles(latency: &Latency) -> Vec<(&'static str, u64)> {
    let all = [
        ("50", latency.p50.map(|p| p.ns)),
        ("90", latency.p90.map(|p| p.ns)),
        ("99", latency.p99.map(|p| p.ns)),
        ("99.9", latency.p99_9.map(|p| p.ns)),
        ("99.99", latency.p99_99.map(|p| p.ns)),
        ("100", latency.max_ns),
    ];
    all.into_iter().filter_map(|(name, ns)| Some((name, ns?))).collect()
}

/// What a case can be called: the verdicts, and why it has no figure.
const VERDICTS: [&str; 6] = ["sound", "doubtful", "void", "failed", "unavailable", "not run"];

fn verdicts(assessment: &Assessment) -> Vec<(Labels, f64)> {
    let of = |summary| {
        VERDICTS.map(|verdict| {
            let mut labels = of_case(summary);
            labels.push(("verdict", verdict.to_string()));
            (labels, flag(words::verdict(summary) == verdict))
        })
    };
    assessment.measured().flat_map(of).collect()
}

fn trials(assessment: &Assessment) -> Vec<(Labels, f64)> {
    let mut samples = Vec::new();
    for summary in assessment.measured() {
        for fate in ["counted", "excluded", "unavailable", "failed"] {
            let is_such = |trial: &&TrialFigures| words::fate(&trial.fate).0 == fate;
            let mut labels = of_case(summary);
            labels.push(("fate", fate.to_string()));
            samples.push((labels, summary.trials.iter().filter(is_such).count() as f64));
        }
    }
    samples
}

fn findings(assessment: &Assessment) -> Vec<(Labels, f64)> {
    let mut counts: BTreeMap<(Severity, Code), u32> = BTreeMap::new();
    let of_cases = assessment.measured().flat_map(|summary| &summary.findings);
    let of_run = assessment.findings.iter().filter(|found| found.cases.is_empty());
    for finding in of_cases.chain(of_run.map(|found| &found.finding)) {
        *counts.entry((finding.severity, finding.code)).or_default() += 1;
    }
    let sample = |((severity, code), count): ((Severity, Code), u32)| {
        let (severity, code) = (severity.name().to_string(), code.name().to_string());
        (vec![("code", code), ("severity", severity)], f64::from(count))
    };
    counts.into_iter().map(sample).collect()
}
