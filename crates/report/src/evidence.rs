//! The evidence for each case: what the OS counted around its trials, and the trials themselves.

use crate::answer;
use crate::document::{Block, FindingBlock, Folded};
use crate::grid::{Grid, GridCell, left, right};
use crate::metric::Metric;
use crate::style::Paint;
use crate::text::{case, figure, text};
use crate::words::{self, NONE, count, if_any, listed, per_second, severity_paint};
use assess::Assessment;
use assess::command_figures::{CommandFigures, StorageFigures};
use assess::disturbance::Excluded;
use assess::summary::{Loaded, Summary};
use assess::trials::{Fate, Figures};
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
pub(crate) fn evidence(assessment: &Assessment) -> Vec<Block> {
    let labels = answer::labels(assessment);
    let name = |id: &str| labels.name(id);
    let all = assessment.measured().count();
    let more = (all > SHOWN_MAX)
        .then(|| format!("The first {SHOWN_MAX} of {all} cases: --json has all of them."));
    let shown = assessment.measured().take(SHOWN_MAX);
    let above = [Block::plain(tally(assessment)), Block::aside(format!("{MEANINGS}."))];
    let folds = shown.map(|summary| Block::Folded(of(summary, assessment, &name)));
    above.into_iter().chain(more.map(Block::aside)).chain(folds).collect()
}

/// `23 cases, and 4 that bound or check them: 25 sound, 2 doubtful.`
pub(crate) fn tally(assessment: &Assessment) -> String {
    let is_asked = |summary: &&Summary| summary.role == Role::Asked;
    let asked = assessment.measured().filter(is_asked).count();
    let beside = if_any(assessment.measured().count() - asked, |others| {
        format!(", and {others} that bound or check them")
    });
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
    let found = Block::findings(found.chain(failed).collect());
    let facts = Block::Facts(known(summary, assessment));
    let blocks = id.into_iter().chain(found).chain([facts]).chain(trials(summary));
    Folded { title, case: Some(summary.id.clone()), blocks: blocks.collect() }
}

/// What is known about a case, as names and values.
fn known(summary: &Summary, assessment: &Assessment) -> Vec<(&'static str, String)> {
    let mut known = served(summary, assessment);
    known.extend(summary.writing.as_deref().map(written).unwrap_or_default());
    known.extend(summary.command.as_deref().map(command).unwrap_or_default());
    known.extend(summary.loaded.as_ref().map(loaded).unwrap_or_default());
    let timed = Some(summary.latency.count).filter(|count| *count > 0);
    known.push(("operations timed", or_none(timed, |count| count.to_string())));
    let metric = |(what, name): (_, &str)| (what, Metric::named(name).text(summary, assessment));
    known.extend(LATENCIES.into_iter().chain(SPENT).map(metric));
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
        ("links", words::link_use(summary)),
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

/// The calls of a command, and what the devices of each of its storages did.
fn command(figures: &CommandFigures) -> Vec<(&'static str, String)> {
    let calls = |calls: Option<u64>, bytes: Option<u64>| {
        let each = or_none(bytes, units::bytes_rounded);
        or_none(calls, |calls| format!("{calls}, {each} each"))
    };
    let storage = |it: &StorageFigures| {
        let [read, written] =
            [it.read_bytes, it.written_bytes].map(|bytes| or_none(bytes, units::bytes_rounded));
        let flushes =
            or_none(it.flushes, |it| format!("{it} flush{}", if it == 1 { "" } else { "es" }));
        format!("{}: read {read}, written {written}, {flushes}", it.directory)
    };
    let storages: Vec<String> = figures.storages.iter().map(storage).collect();
    vec![
        ("calls that read", calls(figures.read_calls, figures.read_call_bytes)),
        ("calls that write", calls(figures.write_calls, figures.write_call_bytes)),
        ("storages", storages.join("; ")),
    ]
}

fn loaded(loaded: &Loaded) -> Vec<(&'static str, String)> {
    vec![
        ("without loading", units::rate(loaded.throughput.median)),
        ("loading", units::nanoseconds(loaded.load_ns.median)),
        ("then served by", loaded.served_by.to_string()),
    ]
}

/// Facts that the table of metrics has, with the names of the metrics.
const LATENCIES: [(&str, &str); 6] = [
    ("p50", "p50"),
    ("p90", "p90"),
    ("p99", "p99"),
    ("p99.9", "p99_9"),
    ("p99.99", "p99_99"),
    ("longest", "max"),
];
const SPENT: [(&str, &str); 7] = [
    ("wall time", "wall"),
    ("user CPU", "user"),
    ("system CPU", "system"),
    ("CPU of one processor", "cpu"),
    ("blocked", "blocked"),
    ("CPU an operation", "cpu_per_op"),
    ("idle share of threads", "idle"),
];

fn effort(summary: &Summary) -> [(&'static str, String); 7] {
    let counters = &summary.counters;
    let whole = |value: Option<u64>| or_none(value, |value| value.to_string());
    [
        ("start of the last thread", words::ns(summary.start_skew_ns)),
        ("minor faults", whole(counters.minor_faults)),
        ("major faults", whole(counters.major_faults)),
        ("voluntary switches", whole(counters.switches_voluntary)),
        ("involuntary switches", whole(counters.switches_involuntary)),
        ("set-up before the clock", words::ns(summary.setup_ns)),
        ("warm-up of its runtime", or_none(summary.warm_up_ns, |ns| units::nanoseconds(ns as f64))),
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

/// If there are more, only the first are shown.
const TRIALS_MAX: usize = 40;

/// A column: its heading and its text for a trial.
type TrialColumn = (&'static str, fn(&Figures) -> Option<String>);

const COLUMNS: [TrialColumn; 21] = [
    ("throughput", |trial| {
        // What a plain write acknowledges is its throughput.
        let is_mixed = trial.read_ops.is_some();
        trial.throughput.filter(|_| is_mixed || trial.acknowledged.is_none()).map(units::rate)
    }),
    ("acknowledged", |trial| trial.acknowledged.map(units::rate)),
    ("durable", |trial| trial.durable.map(units::rate)),
    ("op/s", |trial| trial.iops.filter(|_| trial.throughput.is_none()).map(per_second)),
    ("bytes", |trial| Some(trial.bytes).filter(|bytes| *bytes > 0).map(units::bytes_rounded)),
    ("resp. p50", |trial| trial.responses.p50_ns.map(response)),
    ("resp. p99", |trial| trial.responses.p99_ns.map(response)),
    ("unsent", |trial| trial.unsent.map(|unsent| unsent.to_string())),
    ("p50", |trial| trial.latencies.p50_ns.map(time)),
    ("p99", |trial| trial.latencies.p99_ns.map(time)),
    ("longest", |trial| trial.latencies.max_ns.map(time)),
    ("sync p50", |trial| trial.syncs.p50_ns.map(time)),
    ("sync p99", |trial| trial.syncs.p99_ns.map(time)),
    ("user", |trial| trial.span_user_ns.map(time)),
    ("system", |trial| trial.span_system_ns.map(time)),
    ("cached before", |trial| Some(units::percent(trial.evidence.residency_before?.share()))),
    ("read for it", |trial| trial.evidence.task_read_bytes.map(units::bytes_rounded)),
    ("read for all", |trial| trial.evidence.device_read_bytes.map(units::bytes_rounded)),
    ("written", |trial| of_writes(trial, trial.evidence.device_write_bytes, units::bytes_rounded)),
    ("flushes", |trial| of_writes(trial, trial.evidence.device_flushes, |it| it.to_string())),
    ("stolen", |trial| trial.evidence.steal_ns.filter(|ns| *ns > 0).map(time)),
];

/// What only says something of a trial that writes.
fn of_writes(trial: &Figures, value: Option<u64>, say: fn(u64) -> String) -> Option<String> {
    value.filter(|_| trial.acknowledged.is_some()).map(say)
}

fn response(ns: u64) -> String {
    words::response(Some(ns))
}

fn time(ns: u64) -> String {
    units::nanoseconds(ns as f64)
}

/// A row for each trial, and how many are not shown. Nothing without trials.
fn trials(summary: &Summary) -> Vec<Block> {
    let shown = summary.trials.iter().take(TRIALS_MAX);
    let columns = COLUMNS.iter().map(|(title, _)| right(title, 1));
    let ends = [right("round", 0)].into_iter().chain(columns).chain([left("counted", 0)]);
    let mut grid = Grid::new(ends.collect());
    for trial in shown {
        let figures = COLUMNS.iter().map(|(_, cell)| {
            trial.figures.as_ref().and_then(cell).unwrap_or_else(|| NONE.to_string())
        });
        let round = [trial.round.to_string()].into_iter();
        let texts = round.chain(figures).chain([fate(&trial.fate)]);
        grid.row(texts.map(|text| GridCell::new(text, Paint::Plain)).collect());
    }
    if grid.is_empty() {
        return Vec::new();
    }
    let all = summary.trials.len();
    let more = (all > TRIALS_MAX).then(|| format!("The first {TRIALS_MAX} of {all} trials."));
    [Block::table(grid, [])].into_iter().chain(more.map(Block::aside)).collect()
}

/// The outcome of a trial in a few words; why trials failed is listed with the case.
fn fate(fate: &Fate) -> String {
    match fate {
        Fate::Counted => "yes".to_string(),
        Fate::Excluded(gate) => format!("left out: {gate}"),
        Fate::Lost(failure) => failure.name().to_string(),
    }
}
