//! The evidence for each case: what the OS counted around its trials, and the trials themselves.

use crate::document::{Block, FindingBlock, Folded};
use crate::style::Paint;
use crate::text::{case, figure, text};
use crate::trials;
use crate::words::{self, NONE, count, listed, per_second, severity_paint};
use assess::Assessment;
use assess::disturbance::Excluded;
use assess::summary::{Loaded, Spent, Summary};
use assess::writing::Writing;
use model::plan::Role;
use model::units;

/// If there are more cases, only the first have their evidence shown.
const SHOWN_MAX: usize = 150;

/// What the verdicts mean, for a first-time reader.
const MEANINGS: &str = "sound: nothing speaks against the figure; doubtful: something does; void: \
                        it is not what it claims to be, or there is none; unavailable: this \
                        machine cannot do it";

/// The number of cases with each verdict, and the evidence of each case.
pub(crate) fn evidence(assessment: &Assessment, name: &dyn Fn(&str) -> String) -> Vec<Block> {
    let all = assessment.measured().count();
    if all == 0 {
        return Vec::new();
    }
    let more = (all > SHOWN_MAX)
        .then(|| format!("The first {SHOWN_MAX} of {all} cases: --json has all of them."));
    let shown = assessment.measured().take(SHOWN_MAX);
    let above = [Block::plain(tally(assessment)), Block::aside(format!("{MEANINGS}."))];
    let folds = shown.map(|summary| Block::Folded(of(summary, assessment, name)));
    above.into_iter().chain(more.map(Block::aside)).chain(folds).collect()
}

/// `23 cases, and 4 that bound or check them: 25 sound, 2 doubtful.`
pub(crate) fn tally(assessment: &Assessment) -> String {
    let is_asked = |summary: &&Summary| summary.role == Role::Asked;
    let asked = assessment.measured().filter(is_asked).count();
    let beside = match assessment.measured().count() - asked {
        0 => String::new(),
        others => format!(", and {others} that bound or check them"),
    };
    format!("{}{beside}: {}.", count(asked, "case"), words::tally(&assessment.tally()))
}

fn of(summary: &Summary, assessment: &Assessment, name: &dyn Fn(&str) -> String) -> Folded {
    let main = words::figure(summary, words::main_figure(summary).0);
    let verdict = summary.verdict.name();
    let title = text!("{} {} {}", case(&summary.id, name), figure(main), verdict);
    let id = (name(&summary.id) != summary.id).then(|| Block::aside(&summary.id));
    let found = summary.findings.iter().map(|finding| FindingBlock {
        code: Some(finding.code.to_string()),
        ..FindingBlock::of_kind(
            finding.severity.name(),
            severity_paint(finding.severity),
            finding.message.as_str(),
        )
    });
    let failed = summary.failures.iter().map(|(failure, trials)| {
        let said = format!("{}: {}", count(*trials, "trial"), failure.reason());
        FindingBlock::of_kind(failure.name(), Paint::Void, said)
    });
    let found: Vec<FindingBlock> = found.chain(failed).collect();
    let found = (!found.is_empty()).then_some(Block::Findings(found));
    let facts = Block::Facts(known(summary, assessment));
    let blocks = id.into_iter().chain(found).chain([facts]).chain(trials::table(summary));
    Folded { title, case: Some(summary.id.clone()), blocks: blocks.collect() }
}

/// What is known about a case, as names and values.
fn known(summary: &Summary, assessment: &Assessment) -> Vec<(&'static str, String)> {
    let mut known = served(summary, assessment);
    known.extend(summary.writing.as_deref().map(written).unwrap_or_default());
    known.extend(summary.loaded.as_ref().map(loaded).unwrap_or_default());
    known.extend(latency(summary));
    known.extend(effort(summary));
    known.push(("left out", summary.excluded.as_ref().map(excluded).unwrap_or_default()));
    known
}

fn or_none<T>(value: Option<T>, say: impl Fn(T) -> String) -> String {
    value.map_or(NONE.to_string(), say)
}

fn served(summary: &Summary, assessment: &Assessment) -> Vec<(&'static str, String)> {
    let digest = match summary.digest_verified {
        Some(true) => "right in all trials",
        Some(false) => "WRONG",
        None if summary.n > 0 => "nothing was summed",
        None => "",
    };
    let say = words::main_estimate(summary).map(|(estimate, say)| {
        let all = words::min_mean_max(&estimate, say);
        format!("{all}, median {}", say(estimate.median))
    });
    vec![
        ("served by", words::served_by(summary, assessment.header.storage.as_ref())),
        ("from the page cache", words::hits(summary).unwrap_or_else(|| NONE.to_string())),
        ("bytes of a trial", or_none(summary.bytes_per_trial, units::bytes_rounded)),
        ("read from devices", or_none(summary.device_bytes, units::bytes_rounded)),
        ("digest", digest.to_string()),
        ("least/mean/most", say.unwrap_or_default()),
        ("op/s", or_none(summary.iops, |iops| per_second(iops.median))),
        ("ceiling", words::ceiling(summary)),
        ("of one thread reading memory", or_none(summary.of_memory, words::times)),
        (
            "memory bus",
            match (summary.bus, summary.lacks_bus()) {
                (Some(bus), _) => format!("{} (estimate)", units::rate(bus.median)),
                (None, true) => format!("{NONE}: {}", words::NO_BUS),
                (None, false) => NONE.to_string(),
            },
        ),
    ]
}

fn written(writing: &Writing) -> Vec<(&'static str, String)> {
    let read_back = match (writing.read_back, writing.read_back_past_cache) {
        (Some(true), Some(true)) => "right, from below the page cache",
        (Some(true), _) => "right",
        (Some(false), _) => "WRONG",
        (None, _) => "",
    };
    vec![
        ("acknowledged", or_none(writing.acknowledged, |rate| units::rate(rate.median))),
        ("durable", or_none(writing.durable, |rate| units::rate(rate.median))),
        ("syncs of a trial", or_none(writing.syncs_per_trial, |syncs| syncs.to_string())),
        ("flushes of a trial", or_none(writing.flushes_per_trial, |count| count.to_string())),
        ("sync p50", words::percentile(writing.sync.p50)),
        ("sync p99", words::percentile(writing.sync.p99)),
        ("longest sync", or_none(writing.sync.max_ns, |ns| units::nanoseconds(ns as f64))),
        ("written to devices", or_none(writing.device_write_bytes, units::bytes_rounded)),
        ("in the page cache only", or_none(writing.dirty_left, units::bytes_rounded)),
        ("read back", read_back.to_string()),
    ]
}

fn loaded(loaded: &Loaded) -> Vec<(&'static str, String)> {
    vec![
        ("without loading", units::rate(loaded.throughput.median)),
        ("loading", units::nanoseconds(loaded.load_ns.median)),
        ("then served by", loaded.served_by.to_string()),
    ]
}

fn latency(summary: &Summary) -> Vec<(&'static str, String)> {
    let latency = &summary.latency;
    let timed = (latency.count > 0).then_some(latency.count);
    vec![
        ("operations timed", or_none(timed, |count| count.to_string())),
        ("p50", words::percentile(latency.p50)),
        ("p90", words::percentile(latency.p90)),
        ("p99", words::percentile(latency.p99)),
        ("p99.9", words::percentile(latency.p99_9)),
        ("p99.99", words::percentile(latency.p99_99)),
        ("longest", or_none(latency.max_ns, |ns| units::nanoseconds(ns as f64))),
    ]
}

fn effort(summary: &Summary) -> Vec<(&'static str, String)> {
    let counters = &summary.counters;
    let whole = |value: Option<u64>| or_none(value, |value| value.to_string());
    let mut known = summary.spent.as_ref().map(spent).unwrap_or_default();
    known.extend([
        ("CPU an operation", words::ns(summary.cpu_ns_per_op)),
        ("idle share of threads", or_none(summary.imbalance_percent, words::percent)),
        ("start of the last thread", words::ns(summary.start_skew_ns)),
        ("minor faults", whole(counters.minor_faults)),
        ("major faults", whole(counters.major_faults)),
        ("voluntary switches", whole(counters.switches_voluntary)),
        ("involuntary switches", whole(counters.switches_involuntary)),
        ("set-up before the clock", words::ns(summary.setup_ns)),
        ("warm-up of its runtime", or_none(summary.warm_up_ns, |ns| units::nanoseconds(ns as f64))),
    ]);
    known
}

fn spent(spent: &Spent) -> Vec<(&'static str, String)> {
    vec![
        ("wall time", units::nanoseconds(spent.wall_ns)),
        ("user CPU", words::ns(spent.user_ns)),
        ("system CPU", words::ns(spent.system_ns)),
        ("CPU of one processor", units::percent(spent.processors)),
        ("blocked", or_none(spent.blocked_share, units::percent)),
    ]
}

/// `1 round (steal 1); with it 598 MB/s`.
fn excluded(excluded: &Excluded) -> String {
    let reasons: Vec<String> =
        excluded.reasons.iter().map(|(gate, trials)| format!("{gate} {trials}")).collect();
    let rate = units::scaled(excluded.rate_with_them.median);
    let rounds = count(excluded.trials, "round");
    format!("{rounds} ({}); the rate with them is {rate}/s", listed(&reasons))
}
