//! Figures of a file that was read and overwritten at the same time.

use super::families::PAGES;
use super::{CaseMetric, Metric, PLAIN, TrialMetric, Unit, label};
use assess::shared::SharedFile;
use assess::summary::Summary;

fn shared(summary: &Summary) -> Option<&SharedFile> {
    summary.shared.as_ref()
}

/// In the order of the CSV columns; some have none.
pub(crate) const SHARED: &[Metric] = &[
    Metric {
        name: "pages_read",
        title: "pages",
        unit: Unit::Number,
        meaning: "pages of 4 KiB that were read of a file which was overwritten meanwhile",
        legend: "pages of 4 KiB read while the file was overwritten",
        case: CaseMetric::Plain(|it| Some(shared(it)?.pages as f64)),
        trial: TrialMetric::Whole(|it| Some(it.pages?.count())),
        column: "pages_read",
        json: ("", "pages_read"),
        gauge: Some((PAGES, |_| Some(vec![label("state", "any")]))),
        ..PLAIN
    },
    Metric {
        name: "new_pages",
        unit: Unit::Number,
        meaning: "those of them that were whole and had been written in the trial",
        trial: TrialMetric::Whole(|it| Some(it.pages?.written())),
        column: "new_pages",
        json: ("", "new_pages"),
        ..PLAIN
    },
    Metric {
        name: "new_share",
        title: "new",
        unit: Unit::Percent,
        meaning: "share of those pages that had been written in the same trial",
        legend: "pages read that had been written in the same trial",
        case: CaseMetric::Plain(|it| Some(100.0 * shared(it)?.new_share)),
        ..PLAIN
    },
    Metric {
        name: "torn_pages",
        title: "torn",
        unit: Unit::Number,
        meaning: "those of them with parts of several writes",
        legend: "pages read with parts of several writes",
        case: CaseMetric::Plain(|it| Some(shared(it)?.torn_pages as f64)),
        trial: TrialMetric::Whole(|it| Some(it.pages?.torn)),
        column: "torn_pages",
        json: ("", "torn_pages"),
        gauge: Some((PAGES, |_| Some(vec![label("state", "torn")]))),
        ..PLAIN
    },
];
