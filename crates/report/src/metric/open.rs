//! Figures of cases with a rate.

use super::families::{LATENCY, percentile_labels};
use super::{CaseMetric, Metric, PLAIN, TrialMetric, Unit};
use crate::words;
use assess::open_loop::OpenLoop;
use assess::summary::{Latency, Summary};

fn open(summary: &Summary) -> Option<&OpenLoop> {
    summary.open.as_deref()
}

fn response(summary: &Summary) -> Option<&Latency> {
    Some(&open(summary)?.response)
}

/// What an actor moved in its whole run is not what it moved beside the case.
fn beside(summary: &Summary) -> Option<f64> {
    let rates = summary.beside.iter().map(|actor| actor.throughput.filter(|_| !actor.of_whole_run));
    rates.reduce(|sum, rate| Some(sum? + rate?))?
}

/// In the order of the CSV columns.
pub(crate) const OPEN: &[Metric] = &[
    Metric {
        name: "offered",
        title: "offered",
        unit: Unit::PerSecond,
        meaning: "operations that were due",
        legend: "operations per second that were due",
        case: CaseMetric::Estimate(|it| Some(open(it)?.offered)),
        ..PLAIN
    },
    Metric {
        name: "begun",
        title: "begun",
        unit: Unit::Percent,
        meaning: "the share of the due operations that had begun when the time was up",
        legend: "the share of the due operations that had begun when the time was up",
        case: CaseMetric::Plain(|it| Some(open(it)?.achieved * 100.0)),
        ..PLAIN
    },
    Metric {
        name: "response_p50",
        title: "resp. p50",
        unit: Unit::Nanoseconds,
        meaning: "response time: from when an operation was due until it was done: median",
        legend: "response time: from when an operation was due until it was done",
        case: CaseMetric::Percentile(|it| response(it)?.p50),
        trial: TrialMetric::Whole(|it| it.responses.p50_ns),
        column: "response_p50_ns",
        json: ("response_ns", "p50"),
        gauge: Some((LATENCY, |_| percentile_labels("response", "50"))),
        ..PLAIN
    },
    Metric {
        name: "response_p90",
        title: "resp. p90",
        unit: Unit::Nanoseconds,
        meaning: "90th percentile of the response times",
        case: CaseMetric::Percentile(|it| response(it)?.p90),
        gauge: Some((LATENCY, |_| percentile_labels("response", "90"))),
        ..PLAIN
    },
    Metric {
        name: "response_p99",
        title: "resp. p99",
        unit: Unit::Nanoseconds,
        meaning: "99th percentile of the response times",
        case: CaseMetric::Percentile(|it| response(it)?.p99),
        trial: TrialMetric::Whole(|it| it.responses.p99_ns),
        column: "response_p99_ns",
        json: ("response_ns", "p99"),
        gauge: Some((LATENCY, |_| percentile_labels("response", "99"))),
        ..PLAIN
    },
    Metric {
        name: "response_p99_9",
        title: "resp. p99.9",
        unit: Unit::Nanoseconds,
        meaning: "99.9th percentile of the response times",
        case: CaseMetric::Percentile(|it| response(it)?.p99_9),
        trial: TrialMetric::Whole(|it| it.responses.p99_9_ns),
        column: "response_p99_9_ns",
        json: ("response_ns", "p99_9"),
        gauge: Some((LATENCY, |_| percentile_labels("response", "99.9"))),
        ..PLAIN
    },
    Metric {
        name: "response_p99_99",
        title: "resp. p99.99",
        unit: Unit::Nanoseconds,
        meaning: "99.99th percentile of the response times",
        case: CaseMetric::Percentile(|it| response(it)?.p99_99),
        gauge: Some((LATENCY, |_| percentile_labels("response", "99.99"))),
        ..PLAIN
    },
    Metric {
        name: "response_max",
        title: "resp. max",
        unit: Unit::Nanoseconds,
        meaning: "maximum of the response times",
        case: CaseMetric::Plain(|it| Some(response(it)?.max_ns? as f64)),
        trial: TrialMetric::Whole(|it| it.responses.max_ns),
        column: "response_max_ns",
        json: ("response_ns", "max"),
        gauge: Some((LATENCY, |_| percentile_labels("response", "100"))),
        said: Some(|it| words::response(response(it).and_then(|it| it.max_ns))),
        ..PLAIN
    },
    Metric {
        name: "submit_lag",
        title: "submit lag",
        unit: Unit::Nanoseconds,
        meaning: "mean time from when an operation was due until it was submitted: it waited for a \
                  thread, or for one of those in flight",
        legend: "mean time from when an operation was due until it was submitted",
        case: CaseMetric::Plain(|it| open(it)?.submit_lag_ns),
        ..PLAIN
    },
    Metric {
        name: "unsent",
        title: "unsent",
        unit: Unit::Number,
        meaning: "operations due that had not begun when the time was up; each counts as later \
                  than any other",
        legend: "operations due that had not begun when the time was up",
        case: CaseMetric::Plain(|it| Some(open(it)?.unsent as f64)),
        trial: TrialMetric::Whole(|it| it.unsent),
        column: "unsent_operations",
        json: ("", "unsent"),
        ..PLAIN
    },
    Metric {
        name: "backlog",
        title: "backlog",
        unit: Unit::Number,
        meaning: "the most operations due but not done at the end of a tenth of a second",
        legend: "the most operations due but not done at the end of a tenth of a second",
        case: CaseMetric::Plain(|it| Some(open(it)?.backlog? as f64)),
        ..PLAIN
    },
    Metric {
        name: "beside",
        title: "beside it",
        unit: Unit::BytesPerSecond,
        meaning: "bytes per second of all actors beside the case, while its trials ran",
        legend: "what the actors beside the case moved while its trials ran",
        case: CaseMetric::Plain(beside),
        ..PLAIN
    },
];
