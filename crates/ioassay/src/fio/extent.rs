//! How much of which file a job goes through, and what ends it.

use super::asked::Asked;
use super::facts::{Axes, Facts, Value, seconds};
use super::order::{Order, Sequence};
use super::quantity::Amount;
use model::units;
use std::time::Duration;

/// The file of a copy of a job, and how much of it a trial goes through.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Extent {
    /// Its bytes.
    pub bytes: u64,
    /// The operations of a trial, if the job limits them.
    pub ops: Option<u64>,
}

/// The size of a file if the job gives none.
const USUAL_BYTES: u64 = 1 << 30;

/// The extent of a job with blocks of these sizes; `None` if it is refused.
pub(super) fn extent(asked: &Asked, blocks: &[u64], order: &Order, copies: u64) -> Option<Extent> {
    let largest = blocks.iter().copied().max()?;
    let files = asked.whole("nrfiles").unwrap_or(1).max(1);
    let file = part(asked, "filesize").map(|file| file.saturating_mul(files));
    let io = part(asked, "io_size");
    let given = match (part(asked, "size"), file) {
        (Some(size), Some(file)) => Some(size.min(file)),
        (size, file) => size.or(file).or(io),
    };
    if given.is_none() && !asked.is_refused() {
        asked.instead(
            "size",
            "fio takes the size of the file or device that is there, or a share of it; ioassay's \
             test file has 1GiB: --size changes that",
        );
    }
    let bytes = given.unwrap_or(USUAL_BYTES);
    // fio does whole blocks, too. Where sizes do not divide each other, a case that cannot be says
    // why.
    let bytes = match blocks.iter().all(|block| largest.is_multiple_of(*block)) {
        true => bytes - bytes % largest,
        false => bytes,
    };
    if bytes < largest {
        asked.refuse("size", "it is less than a block");
        return None;
    }
    if bytes.saturating_mul(copies) > units::BYTES_MAX {
        asked.refuse("size", "no file of ioassay is as large");
        return None;
    }
    if files > 1 || asked.text("filename").is_some_and(several) {
        let option = if files > 1 { "nrfiles" } else { "filename" };
        asked.instead(option, "ioassay has one file of their size in place of several");
    }
    let counted = asked.whole("number_ios").filter(|ops| *ops > 0);
    let of_bytes = io.filter(|io| *io < bytes).map(|io| (io / largest).max(1));
    if io.is_some_and(|io| io > bytes) {
        asked.instead("io_size", "a trial goes on through its file until its time is over");
    }
    let ops = counted.or(of_bytes).map(|ops| ops.min(bytes / largest));
    let ops = ops.filter(|_| order.sequence == Sequence::Sequential || order.is_random());
    Some(Extent { bytes, ops })
}

/// Whether a list of files has several: a colon separates them, unless it is escaped.
fn several(names: &str) -> bool {
    names.replace("\\:", "").trim_matches(':').contains(':')
}

/// The bytes of an option. A share is of what only fio knows.
fn part(asked: &Asked, option: &str) -> Option<u64> {
    match asked.amount(option)? {
        Amount::Percent(_) => None,
        Amount::Bytes(0) => None,
        Amount::Bytes(_) => asked.bytes(option, asked.text(option)?),
    }
}

/// Trials of a case, over all rounds: they share the time that fio's run takes.
pub(super) const TRIALS: u32 = 10;

/// The shortest trial of a job that names its time, and the longest of one that does not.
const TIMES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(10));

/// The longest trial.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// At least so many operations must be due in a trial with a rate.
const DUE_LEAST: u64 = 30;

/// The axes that end a trial.
pub(super) fn ends(asked: &Asked, facts: &Facts, axes: &Axes, rate: Option<u64>) -> Axes {
    let mut ends = Axes::new();
    let runtime = asked.time("runtime").filter(|time| !time.is_zero());
    let mut time = match runtime {
        Some(runtime) => runtime.checked_div(TRIALS).unwrap_or(runtime).clamp(TIMES.0, LONGEST),
        None => TIMES.1,
    };
    if let Some(rate) = rate {
        let due = Duration::from_secs(DUE_LEAST.div_ceil(rate));
        time = time.max(due);
    }
    ends.insert("time", seconds(time));
    if facts.is_time_based || rate.is_some() {
        return ends;
    }
    // Files that are cold, or that grow, are gone through once without that.
    let is_kept = |allocation: &Value| *allocation == "overwrite".into();
    let repeats = facts.cache != "cold" && axes.get("allocation").is_none_or(is_kept);
    match facts.order.sequence {
        Sequence::Skipping(_) => drop(ends.insert("ops", "lane".into())),
        _ if repeats => drop(ends.insert("ops", "all".into())),
        _ => {}
    }
    ends
}
