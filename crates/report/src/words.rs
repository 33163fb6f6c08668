//! Figures and names as they are said in every view. Units come from [`model::units`]; what is
//! done here is to put texts beside each other.

use crate::style::Paint;
use assess::Tally;
use assess::comparison::{Comparison, Difference};
use assess::finding::{Severity, Verdict};
use assess::percentile::Percentile;
use assess::stats::Estimate;
use assess::summary::{Ceiling, CeilingKind, ServedBy, Summary};
use assess::trend::{self, Quantity};
use assess::trials::Fate;
use model::case::{Op, Sync, WriteEngine, WriteWork};
use model::host::Storage;
use model::units;

/// Stands where there is no figure.
pub(crate) const NONE: &str = "-";

/// Stands where a durable rate was claimed, or would be mistaken for one, and there is none.
pub(crate) const NOT_DURABLE: &str = "not durable";

/// What every latency is, once for each table: a closed loop submits the next operation when one is
/// done, so a load that arrives by itself may wait longer.
pub(crate) const SERVICE_TIME: &str = "p50 to max: service time (closed loop) at the row's depth";

/// The same where there is little room.
pub(crate) const SERVICE_TIME_SHORT: &str = "p50, p99: service time (closed loop)";

/// How a figure is said with its unit.
pub(crate) type Say = fn(f64) -> String;

/// Texts with a unit, joined without it: `598-631` if all have one unit; otherwise each keeps
/// the first letter of its own, `998M-1.05G`.
fn joined(texts: &[String], between: &str) -> String {
    let parts: Vec<(&str, &str)> =
        texts.iter().map(|text| text.split_once(' ').unwrap_or((text, ""))).collect();
    let is_one_unit = parts.windows(2).all(|pair| pair[0].1 == pair[1].1);
    let letters = if is_one_unit { 0 } else { 1 };
    let said: Vec<String> = parts
        .iter()
        .map(|(number, unit)| number.chars().chain(unit.chars().take(letters)).collect())
        .collect();
    said.join(between)
}

/// The ends of an interval: `598-631`, without the unit that its median names.
pub(crate) fn interval(low: Option<f64>, high: Option<f64>, say: Say) -> String {
    match (low, high) {
        (Some(low), Some(high)) => joined(&[say(low), say(high)], "-"),
        _ => NONE.to_string(),
    }
}

/// `598/612/631`: the least, the mean and the greatest of the rounds, in the unit of their
/// median; where they differ in it, each with its letter.
pub(crate) fn min_mean_max(estimate: &Estimate, say: Say) -> String {
    joined(&[say(estimate.min), say(estimate.mean), say(estimate.max)], "/")
}

/// The same of what a row is read for.
pub(crate) fn spread(summary: &Summary) -> String {
    let estimate = main_estimate(summary);
    estimate.map_or(NONE.to_string(), |(all, say)| min_mean_max(&all, say))
}

/// A percentile: `83.2 µs`; `~83.2 µs` where it rests on few operations.
pub(crate) fn percentile(percentile: Option<Percentile>) -> String {
    match percentile {
        None => NONE.to_string(),
        Some(p) if p.solid => units::nanoseconds(p.ns as f64),
        Some(p) => format!("~{}", units::nanoseconds(p.ns as f64)),
    }
}

/// What bounds a figure, and how near it comes: `97.1 % of memory`.
pub(crate) fn ceiling(summary: &Summary) -> String {
    match ceiling_of(summary) {
        Some(ceiling) => format!("{} of {}", units::percent(ceiling.share), ceiling.kind),
        None if summary.is_ceiling => "the ceiling".to_string(),
        None => NONE.to_string(),
    }
}

/// The ceiling of a case; of what was loaded first, once it was loaded.
fn ceiling_of(summary: &Summary) -> Option<Ceiling> {
    summary.loaded.as_ref().map_or(summary.ceiling, |loaded| loaded.ceiling)
}

/// The same in a narrow column: `97.1 % mem`.
pub(crate) fn ceiling_short(summary: &Summary) -> String {
    match ceiling_of(summary) {
        Some(Ceiling { kind, share }) => {
            let kind = match kind {
                CeilingKind::Memory => "mem",
                CeilingKind::Device => "dev",
            };
            format!("{} {kind}", units::percent(share))
        }
        None if summary.is_ceiling => "ceiling".to_string(),
        None => NONE.to_string(),
    }
}

/// Operations a second: `11.0 k/s`, `708 /s`.
pub(crate) fn per_second(value: f64) -> String {
    format!("{}/s", units::scaled(value))
}

/// A ratio: `1.31×`, `0.091×`, `0.0043×`.
pub(crate) fn times(ratio: f64) -> String {
    match ratio.abs() {
        r if r >= 99.95 => format!("{ratio:.0}×"),
        r if r >= 9.995 => format!("{ratio:.1}×"),
        r if r >= 0.0995 => format!("{ratio:.2}×"),
        r if r >= 0.00995 => format!("{ratio:.3}×"),
        r if r > 0.0 => format!("{ratio:.4}×"),
        _ => "0×".to_string(),
    }
}

/// The ends of a ratio's interval: `1.25-1.38`.
pub(crate) fn times_interval(low: Option<f64>, high: Option<f64>) -> Option<String> {
    let bare = |ratio| times(ratio).trim_end_matches('×').to_string();
    Some(format!("{}-{}", bare(low?), bare(high?)))
}

/// What can be said of a comparison; where nothing can, about how many pairs it would take:
/// `inconclusive (n ≈ 24)`, or `inconclusive (≈ 12 invocations)`.
pub(crate) fn difference(found: &Comparison) -> String {
    match found.needs {
        Some(needs) if found.invocations > 1 => {
            format!("{} ({} invocations)", found.difference, about(needs))
        }
        Some(pairs) => format!("{} (n {})", found.difference, about(pairs)),
        None => found.difference.to_string(),
    }
}

/// More rounds or invocations than this nobody runs: the number says no more.
const NEEDS_MOST: usize = 1_000;

fn about(needs: usize) -> String {
    if needs > NEEDS_MOST { format!("> {NEEDS_MOST}") } else { format!("≈ {needs}") }
}

/// The colour of what can be said of a comparison.
pub(crate) fn difference_paint(difference: Difference) -> Paint {
    match difference {
        Difference::Different => Paint::Plain,
        Difference::Equivalent | Difference::Inconclusive => Paint::Faint,
    }
}

/// Per cent, given as such: `3.40 %`.
pub(crate) fn percent(percent: f64) -> String {
    units::percent(percent / 100.0)
}

/// What a row is read for, and how it is said.
pub(crate) fn main_estimate(summary: &Summary) -> Option<(Estimate, Say)> {
    let (estimate, quantity) = trend::main_estimate(summary)?;
    Some((estimate, say(quantity)))
}

/// How a quantity is said.
pub(crate) fn say(quantity: Quantity) -> Say {
    match quantity {
        Quantity::BytesPerSecond => units::rate,
        Quantity::NsPerOp => |ns| format!("{}/op", units::nanoseconds(ns)),
    }
}

/// The median of [`main_estimate`] and its interval.
pub(crate) fn main_figure(summary: &Summary) -> (String, String) {
    match main_estimate(summary) {
        None if is_not_durable(summary) => (NOT_DURABLE.to_string(), NONE.to_string()),
        None => (NONE.to_string(), NONE.to_string()),
        Some((estimate, say)) => (say(estimate.median), interval(estimate.low, estimate.high, say)),
    }
}

/// Which of the two rates the figure of a case that writes is; nothing for one that has neither.
pub(crate) fn rate_kind(summary: &Summary) -> &'static str {
    match summary.case.write() {
        None => "",
        Some(work) if work.op == Op::Sync || work.engine == WriteEngine::Null => "",
        Some(work) if !work.sync.claims_durable() => "acknowledged",
        Some(_) if is_not_durable(summary) => "",
        Some(_) => "durable",
    }
}

/// Whether bytes were written that somebody might think durable by what was called, and the
/// evidence does not bear that out.
pub(crate) fn is_not_durable(summary: &Summary) -> bool {
    let is_synced = |work: &&WriteWork| work.op != Op::Sync && work.sync != Sync::None;
    let has_no_rate = summary.writing.as_ref().is_some_and(|writing| writing.durable.is_none());
    summary.n > 0 && has_no_rate && summary.case.write().filter(is_synced).is_some()
}

/// A time, if there is one.
pub(crate) fn ns(value: Option<f64>) -> String {
    value.map_or(NONE.to_string(), units::nanoseconds)
}

/// `1 row`, `3 rows`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// `text` as a sentence: with its full stop.
pub(crate) fn sentence(text: &str) -> String {
    let text = text.trim();
    let ends = text.is_empty() || text.ends_with(['.', '!', '?']);
    if ends { text.to_string() } else { format!("{text}.") }
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [head @ .., last] => format!("{} and {last}", head.join(", ")),
    }
}

/// Whether a hypervisor presents a device of this storage.
pub(crate) fn is_virtual(storage: Option<&Storage>) -> bool {
    storage.is_some_and(|storage| storage.devices.iter().any(|device| device.is_virtual))
}

/// What served the bytes: `device (virtual)`, `mixed`.
pub(crate) fn server(summary: &Summary, storage: Option<&Storage>) -> String {
    match summary.served_by {
        None => NONE.to_string(),
        Some(ServedBy::Device) if is_virtual(storage) => "device (virtual)".to_string(),
        Some(served) => served.to_string(),
    }
}

/// What served the bytes, and of a mixture the share of the cache: `mixed (37.2 %)`.
pub(crate) fn served_by(summary: &Summary, storage: Option<&Storage>) -> String {
    match (summary.served_by, summary.hit_share) {
        (Some(ServedBy::Mixed), Some(share)) => format!("mixed ({})", units::percent(share)),
        _ => server(summary, storage),
    }
}

/// What a case is worth: its verdict, or that there is no figure.
pub(crate) fn verdict(summary: &Summary) -> &'static str {
    match (summary.n, summary.verdict) {
        (0, Verdict::Void) if summary.failures.is_empty() => "not run",
        (0, Verdict::Void) => "failed",
        (_, verdict) => verdict.name(),
    }
}

/// What became of a trial in a word, and why, unless it counts.
pub(crate) fn fate(fate: &Fate) -> (&'static str, Option<&str>) {
    match fate {
        Fate::Counted => ("counted", None),
        Fate::Excluded(gate) => ("excluded", Some(gate.name())),
        Fate::Unavailable(reason) => ("unavailable", Some(reason)),
        Fate::Failed(reason) => ("failed", Some(reason)),
    }
}

/// How many cases are worth what, in the words that [`verdict`] has for each; without those that
/// none is.
pub(crate) fn counts(tally: &Tally) -> impl Iterator<Item = (usize, &'static str)> {
    let all = [
        (tally.sound, "sound"),
        (tally.doubtful, "doubtful"),
        (tally.void, "void"),
        (tally.failed, "failed"),
        (tally.unavailable, "unavailable"),
        (tally.not_run, "not run"),
    ];
    all.into_iter().filter(|(cases, _)| *cases > 0)
}

/// `12 sound, 1 doubtful`: how many cases are worth what.
pub(crate) fn tally(tally: &Tally) -> String {
    let told: Vec<String> =
        counts(tally).map(|(cases, worth)| format!("{cases} {worth}")).collect();
    if told.is_empty() { "no case".to_string() } else { told.join(", ") }
}

/// The colour of a verdict.
pub(crate) fn verdict_paint(summary: &Summary) -> Paint {
    match summary.verdict {
        Verdict::Sound => Paint::Plain,
        Verdict::Doubtful => Paint::Doubt,
        Verdict::Void | Verdict::Unavailable => Paint::Void,
    }
}

/// The colour of a severity.
pub(crate) fn severity_paint(severity: Severity) -> Paint {
    match severity {
        Severity::Note => Paint::Faint,
        Severity::Doubt => Paint::Doubt,
        Severity::Void => Paint::Void,
    }
}

/// A figure of a case: in brackets if the case is void, so that it cannot be mistaken for one.
pub(crate) fn figure(summary: &Summary, text: String) -> String {
    let says_nothing = [NONE, NOT_DURABLE, ""].contains(&text.as_str());
    let bare = summary.verdict.stands() || says_nothing;
    if bare { text } else { format!("({text})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_an_interval_share_a_unit_or_keep_their_letter() {
        assert_eq!(interval(Some(598e6), Some(631e6), units::rate), "598-631");
        assert_eq!(interval(Some(998e6), Some(1.05e9), units::rate), "998M-1.05G");
        assert_eq!(interval(Some(980.0), Some(1020.0), units::nanoseconds), "980n-1.02µ");
        assert_eq!(interval(None, Some(1.0), units::rate), "-");
    }

    #[test]
    fn ratios_keep_digits_that_count() {
        for (ratio, text) in [
            (1.0, "1.00×"),
            (12.34, "12.3×"),
            (0.05, "0.050×"),
            (0.0043, "0.0043×"),
            (0.0, "0×"),
            (250.0, "250×"),
        ] {
            assert_eq!(times(ratio), text);
        }
    }

    #[test]
    fn lists_and_sentences_read_well() {
        let names: Vec<String> = ["a", "b", "c"].map(str::to_string).to_vec();
        assert_eq!(listed(&names), "a, b and c");
        assert_eq!(listed(&names[..1]), "a");
        assert_eq!(sentence("do this"), "do this.");
        assert_eq!(sentence("Done."), "Done.");
        assert_eq!(count(1, "row"), "1 row");
    }
}
