//! Figures of cases with a rate.

use super::TrialMetric::Whole;
use super::families::{LATENCY, percentile_labels};
use super::{CaseMetric, Metric, Unit, metric, percentile};
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
    metric("offered", "offered", Unit::PerSecond)
        .meaning("operations that were due")
        .legend("operations per second that were due")
        .case(CaseMetric::Estimate(|it| Some(open(it)?.offered))),
    metric("begun", "begun", Unit::Percent)
        .meaning("the share of the due operations that had begun when the time was up")
        .explained()
        .case(CaseMetric::Plain(|it| Some(open(it)?.achieved * 100.0))),
    percentile("response_p50", "resp. p50", ("response", "50"), |it| response(it)?.p50)
        .meaning("response time: from when an operation was due until it was done: median")
        .legend("response time: from when an operation was due until it was done")
        .trial("response_p50_ns", ("response_ns", "p50"), Whole(|it| it.responses.p50_ns)),
    percentile("response_p90", "resp. p90", ("response", "90"), |it| response(it)?.p90)
        .meaning("90th percentile of the response times"),
    percentile("response_p99", "resp. p99", ("response", "99"), |it| response(it)?.p99)
        .meaning("99th percentile of the response times")
        .trial("response_p99_ns", ("response_ns", "p99"), Whole(|it| it.responses.p99_ns)),
    percentile("response_p99_9", "resp. p99.9", ("response", "99.9"), |it| response(it)?.p99_9)
        .meaning("99.9th percentile of the response times")
        .trial("response_p99_9_ns", ("response_ns", "p99_9"), Whole(|it| it.responses.p99_9_ns)),
    percentile("response_p99_99", "resp. p99.99", ("response", "99.99"), |it| response(it)?.p99_99)
        .meaning("99.99th percentile of the response times"),
    metric("response_max", "resp. max", Unit::Nanoseconds)
        .meaning("maximum of the response times")
        .case(CaseMetric::Plain(|it| Some(response(it)?.max_ns? as f64)))
        .trial("response_max_ns", ("response_ns", "max"), Whole(|it| it.responses.max_ns))
        .said(|it| words::response(response(it).and_then(|it| it.max_ns)))
        .gauge(LATENCY, |_| percentile_labels("response", "100")),
    metric("submit_lag", "submit lag", Unit::Nanoseconds)
        .meaning(
            "mean time from when an operation was due until it was submitted: it waited for a \
                  thread, or for one of those in flight",
        )
        .legend("mean time from when an operation was due until it was submitted")
        .case(CaseMetric::Plain(|it| open(it)?.submit_lag_ns)),
    metric("unsent", "unsent", Unit::Number)
        .meaning(
            "operations due that had not begun when the time was up; each counts as later \
                  than any other",
        )
        .legend("operations due that had not begun when the time was up")
        .case(CaseMetric::Plain(|it| Some(open(it)?.unsent as f64)))
        .trial("unsent_operations", ("", "unsent"), Whole(|it| it.unsent)),
    metric("backlog", "backlog", Unit::Number)
        .meaning("the most operations due but not done at the end of a tenth of a second")
        .explained()
        .case(CaseMetric::Plain(|it| Some(open(it)?.backlog? as f64))),
    metric("beside", "beside it", Unit::BytesPerSecond)
        .meaning("bytes per second of all actors beside the case, while its trials ran")
        .legend("what the actors beside the case moved while its trials ran")
        .case(CaseMetric::Plain(beside)),
];
