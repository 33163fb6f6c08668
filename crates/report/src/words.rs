//! The wording of figures and names in every view. Units come from [`model::units`]; this module
//! only combines texts.

pub(crate) use crate::ratio_words::{times, times_interval};
use crate::style::Paint;
use assess::comparison::{Comparison, Difference};
use assess::finding::{Severity, Verdict};
use assess::latency::UNSENT_NS;
use assess::link_use::LinkUse;
use assess::percentile::Percentile;
use assess::stats::Estimate;
use assess::summary::{Ceiling, CeilingKind, ServedBy, Summary};
use assess::trend::{self, FigureUnit};
use assess::trials::Fate;
use assess::{Assessment, Tally};
use model::case::{Op, Pages, WriteEngine};
use model::host::Storage;
pub(crate) use model::list::listed;
use model::record::Tool;
use model::{advice, units};

/// Shown for a missing figure.
pub(crate) const NONE: &str = "-";

/// Shown for a missing durable rate, if one was claimed or could be assumed.
pub(crate) const NOT_DURABLE: &str = "not durable";

/// Follows the figure of a doubtful row.
pub(crate) const DOUBTFUL: char = '?';

/// What brackets around a figure say.
pub(crate) const VOID: &str = "in brackets: void, not what it claims to be";

/// What `~` before a percentile says.
pub(crate) const FEW: &str = "~ fewer than 100 took longer than this";

/// The meaning of every latency, once for each table. A closed loop submits the next operation when
/// the last is done; operations that arrive on their own may wait longer.
pub(crate) const SERVICE_TIME: &str = "p50 to max: service time (closed loop) at the row's depth";

/// The same, of cases with a rate.
pub(crate) const SERVICE_TIME_OPEN: &str =
    "p50 to max: service time, from submission to completion";

/// The same for narrow places.
pub(crate) const SERVICE_TIME_SHORT: &str = "p50, p99: service time (closed loop)";

/// Formats a figure with its unit.
pub(crate) type FigureFormat = fn(f64) -> String;

/// Joins figures without their units: `598-631` if they all have the same unit. Otherwise, each
/// keeps the first letter of its own: `998M-1.05G`.
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

/// An interval without the unit, which its median has: `598-631`.
pub(crate) fn interval(low: Option<f64>, high: Option<f64>, say: FigureFormat) -> String {
    match (low, high) {
        (Some(low), Some(high)) => joined(&[say(low), say(high)], "-"),
        _ => NONE.to_string(),
    }
}

/// The minimum, mean and maximum of the rounds, without the unit, which their median has:
/// `598/612/631`. If their units differ, each keeps its first letter.
pub(crate) fn min_mean_max(estimate: &Estimate, say: FigureFormat) -> String {
    joined(&[say(estimate.min), say(estimate.mean), say(estimate.max)], "/")
}

/// The same for the main figure of a row.
pub(crate) fn spread(summary: &Summary) -> String {
    let estimate = main_estimate(summary);
    estimate.map_or(NONE.to_string(), |(all, say)| min_mean_max(&all, say))
}

/// A percentile: `83.2 µs`, or `~83.2 µs` if it is based on few operations.
pub(crate) fn percentile(percentile: Option<Percentile>) -> String {
    match percentile {
        None => NONE.to_string(),
        Some(p) if p.ns == UNSENT_NS => UNSENT.to_string(),
        Some(p) if p.solid => units::nanoseconds(p.ns as f64),
        Some(p) => format!("~{}", units::nanoseconds(p.ns as f64)),
    }
}

/// The response time of an operation that had not begun when the time was up.
pub(crate) const UNSENT: &str = "unsent";

/// A response time.
pub(crate) fn response(ns: Option<u64>) -> String {
    match ns {
        Some(UNSENT_NS) => UNSENT.to_string(),
        other => self::ns(other.map(|ns| ns as f64)),
    }
}

/// The ceiling of a figure, and the share of it that was reached: `97.1 % of memory`.
pub(crate) fn ceiling(summary: &Summary) -> String {
    said_ceiling(summary, "the ceiling", |kind| format!("of {kind}"))
}

/// The same for a narrow column: `97.1 % mem`.
pub(crate) fn ceiling_short(summary: &Summary) -> String {
    said_ceiling(summary, "ceiling", |kind| match kind {
        CeilingKind::Memory => "mem".to_string(),
        CeilingKind::Device => "dev".to_string(),
    })
}

/// `itself`: what a ceiling is called. If data was loaded first, the ceiling is that after loading.
fn said_ceiling(summary: &Summary, itself: &str, of: fn(CeilingKind) -> String) -> String {
    match summary.loaded.as_ref().map_or(summary.ceiling, |loaded| loaded.ceiling) {
        Some(Ceiling { kind, share }) => format!("{} {}", units::percent(share), of(kind)),
        None if summary.is_ceiling => itself.to_string(),
        None => NONE.to_string(),
    }
}

/// How much of what its links carry a row gets: `82.0 % of PCIe 3.0 x2 of 0000:01:00.0`.
pub(crate) fn link_use(summary: &Summary) -> String {
    let said =
        |link: &LinkUse| format!("{} of {}", units::percent(link.share), link.allows.hop_words);
    summary.link.as_deref().map_or(NONE.to_string(), said)
}

/// Operations per second: `11.0 k/s`, `708 /s`.
pub(crate) fn per_second(value: f64) -> String {
    // Without a prefix, no space is left.
    format!("{}/s", units::scaled(value).trim_end())
}

/// What the figures of a run are.
pub(crate) fn figures_are(assessment: &Assessment) -> &'static str {
    match assessment.repetition.invocations {
        _ if assessment.header.plan.sustain.is_some() => {
            "the rate at the end, or the median of the trials"
        }
        1 => "the median of the rounds",
        _ => "the median of the invocations' medians",
    }
}

/// The result of a comparison, and if it is inconclusive, roughly how many pairs or invocations it
/// needs: `inconclusive (n ≈ 24)`, `inconclusive (≈ 12 invocations)`.
pub(crate) fn difference(found: &Comparison) -> String {
    match found.needs {
        Some(needs) if found.invocations > 1 => {
            format!("{} ({} invocations)", found.difference, about(needs))
        }
        Some(pairs) => format!("{} (n {})", found.difference, about(pairs)),
        None => outcome(found.difference).to_string(),
    }
}

/// The result of a comparison in a word. One with a doubtful figure is what that is.
pub(crate) fn outcome(difference: Difference) -> &'static str {
    match difference {
        Difference::InDoubt => Verdict::Doubtful.name(),
        clear => clear.name(),
    }
}

/// Nobody runs more rounds or invocations than this, so the exact number is useless.
pub(crate) const NEEDS_MOST: usize = 1_000;

fn about(needs: usize) -> String {
    if needs > NEEDS_MOST { format!("> {NEEDS_MOST}") } else { format!("≈ {needs}") }
}

/// The color of a comparison's result.
pub(crate) fn difference_paint(difference: Difference) -> Paint {
    match difference {
        Difference::Different => Paint::Plain,
        Difference::InDoubt => Paint::Doubt,
        Difference::Equivalent | Difference::Inconclusive => Paint::Faint,
    }
}

/// A percentage: `3.40 %`.
pub(crate) fn percent(percent: f64) -> String {
    units::percent(percent / 100.0)
}

/// The main figure of a row, and how to format it.
pub(crate) fn main_estimate(summary: &Summary) -> Option<(Estimate, FigureFormat)> {
    let (estimate, quantity) = trend::main_estimate(summary)?;
    Some((estimate, say(quantity)))
}

/// How to format a quantity.
pub(crate) fn say(quantity: FigureUnit) -> FigureFormat {
    match quantity {
        FigureUnit::BytesPerSecond => units::rate,
        FigureUnit::NsPerOp => |ns| format!("{}/op", units::nanoseconds(ns)),
    }
}

/// The median and the interval of [`main_estimate`].
pub(crate) fn main_figure(summary: &Summary) -> (String, String) {
    match main_estimate(summary) {
        None if summary.is_not_durable() => (NOT_DURABLE.to_string(), NONE.to_string()),
        None => with_interval(None, units::rate),
        Some((estimate, say)) => with_interval(Some(estimate), say),
    }
}

/// The median and the interval.
pub(crate) fn with_interval(estimate: Option<Estimate>, say: FigureFormat) -> (String, String) {
    let interval = estimate.map(|all| interval(all.low, all.high, say));
    (or_none(estimate.map(|all| say(all.median))), or_none(interval))
}

/// The kind of rate that a writing case's main figure is; empty if it has none.
pub(crate) fn rate_kind(summary: &Summary) -> &'static str {
    match summary.case.write() {
        None => "",
        Some(work) if work.read_share > 0 => "reads+writes",
        Some(work) if work.op == Op::Sync || work.engine == WriteEngine::Null => "",
        Some(work) if !work.sync.claims_durable() => "acknowledged",
        Some(_) if summary.is_not_durable() => "",
        Some(_) => "durable",
    }
}

/// The text, or [`NONE`].
pub(crate) fn or_none(text: Option<String>) -> String {
    text.unwrap_or(NONE.to_string())
}

/// A time, or [`NONE`].
pub(crate) fn ns(value: Option<f64>) -> String {
    value.map_or(NONE.to_string(), units::nanoseconds)
}

/// `1 row`, `3 rows`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// What is said of a number, unless it is 0.
pub(crate) fn if_any(number: usize, say: impl FnOnce(usize) -> String) -> String {
    if number == 0 { String::new() } else { say(number) }
}

/// Pages of memory of this size.
pub(crate) fn pages(pages: Pages) -> &'static str {
    match pages {
        Pages::Base => "base pages",
        Pages::Huge => "huge pages",
    }
}

/// The text with an initial capital.
pub(crate) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// When a host was lost: `was lost 12.3 s after the run began`.
pub(crate) fn lost_at(at_ms: u64) -> String {
    let after = units::nanoseconds(at_ms as f64 * 1e6);
    format!("was lost {after} after the run began")
}

/// When and why a host was lost.
pub(crate) fn lost(at_ms: u64, reason: &str) -> String {
    format!("{}: {reason}", lost_at(at_ms))
}

/// Names that a line shows; the others are counted.
pub(crate) const NAMED_MAX: usize = 6;

/// The first of many names.
pub(crate) fn short(names: &[String]) -> String {
    match names {
        [] => NONE.to_string(),
        names if names.len() <= NAMED_MAX => listed(names),
        names => shorter(names, ", "),
    }
}

/// The same with something else between them.
pub(crate) fn shorter(names: &[String], between: &str) -> String {
    let more = names.len().saturating_sub(NAMED_MAX);
    let first = &names[..names.len() - more];
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    first.join(between) + &more
}

/// Whether a hypervisor presents a disk of this storage.
pub(crate) fn is_virtual(storage: Option<&Storage>) -> bool {
    storage.is_some_and(|storage| storage.disks().iter().any(|disk| disk.is_virtual))
}

/// Why the bytes on the memory bus are not estimated.
pub(crate) const NO_BUS: &str =
    "non-temporal stores, which fetch no line, are no faster than these ordinary ones";

/// What served the bytes: `device (virtual)`, `mixed`, `cpu-cache (L2)`.
pub(crate) fn server(summary: &Summary, storage: Option<&Storage>) -> String {
    match summary.served_by {
        None => NONE.to_string(),
        Some(ServedBy::Device) if is_virtual(storage) => "device (virtual)".to_string(),
        Some(served) if let Some(level) = summary.level => format!("{served} (L{level})"),
        Some(served) => served.to_string(),
    }
}

/// What served the bytes; if mixed, with the page cache's share, if it has one: `mixed (37.2 %)`.
pub(crate) fn served_by(summary: &Summary, storage: Option<&Storage>) -> String {
    match (summary.served_by, hits(summary)) {
        (Some(ServedBy::Mixed), Some(hits)) if summary.hit_share_most > Some(0.0) => {
            format!("mixed ({hits})")
        }
        _ => server(summary, storage),
    }
}

/// The share of bytes that the page cache served: `37.2 %`, or `0-42.0 %` if it lies between.
pub(crate) fn hits(summary: &Summary) -> Option<String> {
    let (least, most) = (summary.hit_share?, summary.hit_share_most?);
    let most_said = units::percent(most);
    Some(match most - least {
        apart if apart < 0.005 => most_said,
        _ if least < 0.005 => format!("0-{most_said}"),
        _ => format!("{}-{most_said}", units::percent(least).trim_end_matches(" %")),
    })
}

/// The outcome of a trial in a word; unless it is counted, with the reason.
pub(crate) fn fate(fate: &Fate) -> (&'static str, Option<&str>) {
    match fate {
        Fate::Counted => ("counted", None),
        Fate::Excluded(gate) => ("excluded", Some(gate.name())),
        Fate::Lost(failure) => (failure.name(), Some(failure.reason())),
    }
}

/// The number of cases with each verdict: `12 sound, 1 doubtful`.
pub(crate) fn tally(tally: &Tally) -> String {
    let told = verdicts(tally);
    if told.is_empty() { "no case".to_string() } else { told.join(", ") }
}

/// The verdicts that any case has, with their numbers: `4 sound`.
pub(crate) fn verdicts(tally: &Tally) -> Vec<String> {
    let told = tally.counts().filter(|(_, cases)| *cases > 0);
    told.map(|(verdict, cases)| format!("{cases} {verdict}")).collect()
}

/// The color of a verdict.
pub(crate) fn verdict_paint(verdict: Verdict) -> Paint {
    match verdict {
        Verdict::Sound => Paint::Plain,
        Verdict::Doubtful => Paint::Doubt,
        _ => Paint::Void,
    }
}

/// The color of a severity.
pub(crate) fn severity_paint(severity: Severity) -> Paint {
    match severity {
        Severity::Note => Paint::Faint,
        Severity::Doubt => Paint::Doubt,
        Severity::Void => Paint::Void,
    }
}

/// A case's figure; in brackets if the case is void, so that nobody takes it for valid.
pub(crate) fn figure(summary: &Summary, text: String) -> String {
    let says_nothing = [NONE, NOT_DURABLE, ""].contains(&text.as_str());
    let bare = summary.verdict.stands() || says_nothing;
    if bare { text } else { format!("({text})") }
}

/// Advice about measuring again, for who typed the command that made a record.
pub(crate) fn fitted(text: &str, tool: &Tool) -> String {
    advice::fitted(text, advice::command_of(&tool.command).unwrap_or_default())
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
        assert_eq!(count(1, "row"), "1 row");
    }
}
