//! The wording of acknowledged and durable rates.

use crate::text::{Text, figure, text};
use crate::words::{self, NONE, NOT_DURABLE};
use assess::Assessment;
use assess::stats::Estimate;
use assess::summary::Summary;
use assess::writing::Writing;
use model::axis::Axis;
use model::case::{Case, Op, Sync};
use model::host::{Medium, Storage};
use model::path::WriteCache;
use model::units;

/// All measured and all skipped cases.
fn cases(assessment: &Assessment) -> impl Iterator<Item = &Case> {
    let measured = assessment.cases.iter().map(|summary| &summary.case);
    measured.chain(assessment.skips.iter().map(|skip| &skip.case))
}

/// Whether any case writes, even a skipped one.
pub(crate) fn any(assessment: &Assessment) -> bool {
    cases(assessment).any(|case| case.write().is_some())
}

/// Whether any case copies a file.
pub(crate) fn any_copy(assessment: &Assessment) -> bool {
    cases(assessment).any(|case| case.write().is_some_and(|work| work.op == Op::Copy))
}

/// The name of a sync for readers.
pub(crate) fn sync_name(sync: Sync) -> String {
    Axis::named("sync").map_or_else(String::new, |axis| axis.say(sync.name()))
}

/// The acknowledged rate and its interval.
pub(crate) fn acknowledged(writing: Option<&Writing>) -> (String, String) {
    words::with_interval(writing.and_then(|writing| writing.acknowledged), units::rate)
}

/// The durable rate and its interval; [`NOT_DURABLE`] if the evidence contradicts it.
pub(crate) fn durable(summary: &Summary) -> (String, String) {
    if summary.is_not_durable() {
        return (NOT_DURABLE.to_string(), NONE.to_string());
    }
    words::with_interval(summary.writing.as_ref().and_then(|it| it.durable), units::rate)
}

/// A rate with its interval in a sentence: `612 MB/s (598-631)`.
pub(crate) fn said_rate(estimate: &Estimate) -> Text {
    let rate = figure(units::rate(estimate.median));
    match words::interval(estimate.low, estimate.high, units::rate).as_str() {
        NONE => rate,
        interval => text!("{} ({})", rate, interval),
    }
}

/// A rate in a sentence, whose interval is in a table.
pub(crate) fn said_median(estimate: &Estimate) -> Text {
    figure(units::rate(estimate.median))
}

/// A sentence about what a sync reaches below the file system; `None` if it flushes a device of
/// this machine.
pub(crate) fn said_cache(storage: Option<&Storage>) -> Option<String> {
    let storage = storage?;
    let devices = || storage.devices.iter();
    if storage.medium == Medium::Unseen {
        return Some(format!(
            "The storage below {} is not visible from here: it is unknown whether a sync \
             reached a medium.",
            storage.noun()
        ));
    }
    if words::is_virtual(Some(storage)) {
        return Some(
            "The device is virtual: its flushes are visible, but not what the host did with them."
                .to_string(),
        );
    }
    let is_through = devices().all(|device| device.write_cache == Some(WriteCache::Through));
    (devices().count() > 0 && is_through).then(|| {
        "The OS reports write-through: a completed write is on the medium, so there is nothing to \
         flush."
            .to_string()
    })
}
