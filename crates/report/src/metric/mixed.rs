//! Figures of cases of which some operations read and the rest write, and of a file that was read
//! and overwritten at the same time.

use super::TrialMetric::Whole;
use super::families::{OPERATIONS, PAGES};
use super::{CaseMetric, Metric, Unit, label, metric, percentile};
use assess::latency::Latency;
use assess::mixed::Mixed;
use assess::shared::SharedFile;
use assess::summary::Summary;

fn mixed(summary: &Summary) -> Option<&Mixed> {
    summary.mixed.as_deref()
}

fn reads(summary: &Summary) -> Option<&Latency> {
    Some(&mixed(summary)?.reads)
}

fn writes(summary: &Summary) -> Option<&Latency> {
    Some(&mixed(summary)?.writes)
}

/// In the order of the CSV columns.
pub(crate) const MIXED: &[Metric] = &[
    metric("read_operations", "", Unit::Number)
        .meaning("those of the operations that read, in a mixed case")
        .trial("read_operations", ("", "read_ops"), Whole(|it| it.read_ops)),
    metric("read_iops", "reads", Unit::PerSecond)
        .meaning("operations per second that read, in a mixed case")
        .legend("operations per second that read")
        .case(CaseMetric::Estimate(|it| mixed(it)?.read_iops))
        .gauge(OPERATIONS, |_| Some(vec![label("of", "reads")])),
    percentile("read_p50", "read p50", ("read", "50"), |it| reads(it)?.p50)
        .meaning("median latency of the reads of a mixed case")
        .trial("read_p50_ns", ("read_ns", "p50"), Whole(|it| it.reads.p50_ns)),
    percentile("read_p99", "read p99", ("read", "99"), |it| reads(it)?.p99)
        .meaning("99th percentile of the reads of a mixed case")
        .trial("read_p99_ns", ("read_ns", "p99"), Whole(|it| it.reads.p99_ns)),
    percentile("read_p99_9", "read p99.9", ("read", "99.9"), |it| reads(it)?.p99_9)
        .meaning("99.9th percentile of the reads of a mixed case")
        .trial("read_p99_9_ns", ("read_ns", "p99_9"), Whole(|it| it.reads.p99_9_ns)),
    metric("write_iops", "writes", Unit::PerSecond)
        .meaning("operations per second that wrote, in a mixed case")
        .legend("operations per second that wrote")
        .case(CaseMetric::Estimate(|it| mixed(it)?.write_iops))
        .gauge(OPERATIONS, |_| Some(vec![label("of", "writes")])),
    percentile("write_p50", "write p50", ("write", "50"), |it| writes(it)?.p50)
        .meaning("median latency of the writes of a mixed case")
        .trial("write_p50_ns", ("write_ns", "p50"), Whole(|it| it.writes.p50_ns)),
    percentile("write_p99", "write p99", ("write", "99"), |it| writes(it)?.p99)
        .meaning("99th percentile of the writes of a mixed case")
        .trial("write_p99_ns", ("write_ns", "p99"), Whole(|it| it.writes.p99_ns)),
    percentile("write_p99_9", "write p99.9", ("write", "99.9"), |it| writes(it)?.p99_9)
        .meaning("99.9th percentile of the writes of a mixed case")
        .trial("write_p99_9_ns", ("write_ns", "p99_9"), Whole(|it| it.writes.p99_9_ns)),
];

fn shared(summary: &Summary) -> Option<&SharedFile> {
    summary.shared.as_ref()
}

/// In the order of the CSV columns; some have none.
pub(crate) const SHARED: &[Metric] = &[
    metric("pages_read", "pages", Unit::Number)
        .meaning("pages of 4 KiB that were read of a file which was overwritten meanwhile")
        .legend("pages of 4 KiB read while the file was overwritten")
        .case(CaseMetric::Plain(|it| Some(shared(it)?.pages as f64)))
        .trial("pages_read", ("", "pages_read"), Whole(|it| Some(it.pages?.count())))
        .gauge(PAGES, |_| Some(vec![label("state", "any")])),
    metric("new_pages", "", Unit::Number)
        .meaning("those of them that were whole and had been written in the trial")
        .trial("new_pages", ("", "new_pages"), Whole(|it| Some(it.pages?.written()))),
    metric("new_share", "new", Unit::Percent)
        .meaning("share of those pages that had been written in the same trial")
        .legend("pages read that had been written in the same trial")
        .case(CaseMetric::Plain(|it| Some(100.0 * shared(it)?.new_share))),
    metric("torn_pages", "torn", Unit::Number)
        .meaning("those of them with parts of several writes")
        .legend("pages read with parts of several writes")
        .case(CaseMetric::Plain(|it| Some(shared(it)?.torn_pages as f64)))
        .trial("torn_pages", ("", "torn_pages"), Whole(|it| Some(it.pages?.torn)))
        .gauge(PAGES, |_| Some(vec![label("state", "torn")])),
];
