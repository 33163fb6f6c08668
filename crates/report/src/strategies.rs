//! How fast can one write: a row for each way, with what was acknowledged and what was durable, and
//! the answer.

use crate::frame;
use crate::grid::{Cell, Grid, left, right};
use crate::labels::{Labels, common_line};
use crate::phrases::{Factored, factor_out};
use crate::sentence::{Sentence, beside_lead, paragraph, said_ratio, why_open};
use crate::sparkline::sparkline;
use crate::style::{Paint, Style};
use crate::words::{self, NONE, figure, times, times_interval};
use crate::writes::{self, acknowledged, durable, said_rate};
use assess::Assessment;
use assess::comparison::Comparison;
use assess::course::{Change, TimeSeries};
use assess::decision::{Decision, Lead};
use assess::strategies::WritingAnswer;
use assess::summary::Summary;
use model::case::{Allocation, Cache, Case, Fill, Io, Op, Sync};
use model::case::{WriteEngine, WriteWork};
use model::host::Storage;
use model::units;

/// Ways to write that answer one question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    AtOnce,
    OwnBuffer,
    InChunks,
    AsItGoes,
    PastCache,
    Prepared,
    Compressible,
    Copy,
    Peers,
    OnlySynced,
}

const GROUPS: [Group; 10] = [
    Group::AtOnce,
    Group::OwnBuffer,
    Group::InChunks,
    Group::AsItGoes,
    Group::PastCache,
    Group::Prepared,
    Group::Compressible,
    Group::Copy,
    Group::Peers,
    Group::OnlySynced,
];

/// A call with as many bytes is what "everything at once" comes to.
const AT_ONCE_LEAST: u64 = 64 << 20;

impl Group {
    /// None for what does not write, the null engine among it.
    fn of(case: &Case, assessment: &Assessment) -> Option<Group> {
        let work = case.write().filter(|work| work.engine != WriteEngine::Null)?;
        let is_twin =
            |other: &Summary| other.case.work == case.work && other.case.peer != case.peer;
        if assessment.cases.iter().any(is_twin) {
            return Some(Group::Peers);
        }
        Some(match work {
            WriteWork { op: Op::Copy, .. } => Group::Copy,
            WriteWork { op: Op::Sync, .. } => Group::OnlySynced,
            WriteWork { fill: Fill::Constant | Fill::Zero, .. } => Group::Compressible,
            WriteWork { io: Io { cache: Cache::Direct, .. }, .. } => Group::PastCache,
            _ if work.allocation != Allocation::None => Group::Prepared,
            _ if work.every > 0 || work.sync == Sync::Dsync => Group::AsItGoes,
            WriteWork { engine: WriteEngine::Buffered, .. } => Group::OwnBuffer,
            _ if work.io.block >= AT_ONCE_LEAST.min(work.io.size) => Group::AtOnce,
            _ => Group::InChunks,
        })
    }

    fn title(self) -> &'static str {
        match self {
            Group::AtOnce => "everything at once",
            Group::OwnBuffer => "through a buffer of the program's own",
            Group::InChunks => "in chunks, with no buffer of the program's own",
            Group::AsItGoes => "synced as it goes",
            Group::PastCache => "past the page cache, O_DIRECT",
            Group::Prepared => "a file that is not new and empty",
            Group::Compressible => "data that compresses",
            Group::Copy => "a file is copied",
            Group::Peers => "by more than one program",
            Group::OnlySynced => "nothing is written",
        }
    }
}

const LEGEND: &str = "acknowledged: until the last write had returned; durable: throughput \
                      including the final sync, unless contradicted; served by: where the \
                      bytes were when the clock stopped; sync: the median service time (closed \
                      loop) of the syncs, ≤ the longest where they are few; flushes: the \
                      device's, in a trial; CPU: of one processor";

const UNITS: &str = "MB is 10⁶ bytes, MiB is 2²⁰: 1 MiB = 1.049 MB; some tools print MiB as MB";

/// Ways to write, each with its two rates; then the answer.
pub(crate) fn strategies(assessment: &Assessment, style: &Style) -> String {
    let names = Labels::of(assessment);
    let name = |id: &str| names.name(id);
    let mut out = frame::head(assessment, style);
    out.push_str(&common_line(&names, style));
    out.push_str(&style.wrap("", Paint::Faint, LEGEND));
    out.push_str(&style.wrap("", Paint::Faint, UNITS));
    out.push('\n');
    out.push_str(&rows(assessment, &names).render(style));
    let is_beside = |summary: &Summary| summary.case.write().is_none();
    let beside = writes::beside(assessment, &is_beside, &name);
    out.extend(beside.map(|text| style.wrap("", Paint::Faint, &text)));
    out.extend(overhead(assessment).map(|text| style.wrap("", Paint::Faint, &text)));
    let more: Vec<String> =
        courses(assessment, &name).into_iter().chain(peers(assessment, &name)).collect();
    if !more.is_empty() {
        out.push('\n');
        out.extend(more.iter().map(|text| style.wrap("", Paint::Plain, text)));
    }
    out.push_str(&frame::below(assessment, style, &name));
    out
}

fn rows(assessment: &Assessment, names: &Labels) -> Grid {
    let mut grid = Grid::new(vec![
        left("", 0),
        right("acknowledged", 0),
        left("95 % CI", 5),
        right("durable", 0),
        left("95 % CI", 2),
        right("sync", 3),
        right("flushes", 4),
        right("CPU", 6),
        left("over time", 7),
        left("served by", 1),
        left("verdict", 0),
    ]);
    for group in GROUPS {
        let is_here = |summary: &&Summary| Group::of(&summary.case, assessment) == Some(group);
        let here: Vec<&Summary> = assessment.cases.iter().filter(is_here).collect();
        if here.is_empty() {
            continue;
        }
        let Factored { common, own } = labels(&here, names);
        let common = if common.is_empty() { common } else { format!(" ({common})") };
        grid.heading(&format!("{}{common}", group.title()));
        for (summary, label) in here.iter().zip(own) {
            grid.row(cells(summary, assessment.storage.as_ref(), format!("  {label}")));
        }
    }
    grid
}

/// What all rows of a group have in common, and what each has besides.
fn labels(here: &[&Summary], names: &Labels) -> Factored {
    let said = |summary: &&Summary| {
        let phrases = names.phrases(&summary.case).into_iter();
        phrases.map(|phrase| phrase.said).collect()
    };
    factor_out(here.iter().map(said).collect())
}

fn cells(summary: &Summary, storage: Option<&Storage>, label: String) -> Vec<Cell> {
    let paint = words::verdict_paint(summary);
    let plain = |text: String| Cell::new(text, Paint::Plain);
    let said = |text: String| Cell::new(figure(summary, text), paint);
    let writing = summary.writing.as_ref();
    let (acknowledged, accepted_ci) = acknowledged(writing);
    let (durable, durable_ci) = durable(summary);
    let flushes = writing.and_then(|writing| writing.flushes_per_trial);
    let cpu = summary.spent.map(|spent| units::percent(spent.processors));
    let over_time = summary.course.as_ref().map(|course| sparkline(&course.rates));
    let or_none = |text: Option<String>| text.unwrap_or(NONE.to_string());
    vec![
        plain(label),
        said(acknowledged),
        said(accepted_ci),
        said(durable),
        said(durable_ci),
        said(sync(summary)),
        said(or_none(flushes.map(|flushes| flushes.to_string()))),
        said(or_none(cpu)),
        Cell::new(or_none(over_time), paint),
        plain(words::served_by(summary, storage)),
        Cell::new(words::verdict(summary), paint),
    ]
}

/// The median of the syncs; of few the longest.
fn sync(summary: &Summary) -> String {
    let Some(writing) = &summary.writing else { return NONE.to_string() };
    match (writing.sync.p50, writing.sync.max_ns) {
        (Some(p50), _) => words::percentile(Some(p50)),
        (None, Some(longest)) => format!("≤{}", units::nanoseconds(longest as f64)),
        (None, None) => NONE.to_string(),
    }
}

/// What the tool itself costs where it writes.
fn overhead(assessment: &Assessment) -> Option<String> {
    let is_null = |summary: &&Summary| {
        let is_null = |work: &WriteWork| work.engine == WriteEngine::Null;
        summary.case.write().is_some_and(is_null) && summary.verdict.stands()
    };
    let null = assessment.cases.iter().find(is_null)?;
    Some(format!(
        "{} itself costs {} an operation (the null engine in the same loop)",
        assessment.tool.name,
        units::nanoseconds(null.ns_per_op?.median)
    ))
}

/// Other programs against this one, by their paired rounds.
fn peers(assessment: &Assessment, name: &dyn Fn(&str) -> String) -> Vec<String> {
    let peer = |id: &str| {
        let summary = assessment.cases.iter().find(|summary| summary.id == id)?;
        summary.case.write().map(|_| summary.case.peer.as_str())
    };
    let is_of_peers = |found: &&Comparison| peer(&found.case) != peer(&found.base);
    let say = |found: &Comparison| {
        let interval = times_interval(found.low, found.high);
        let interval = interval.map_or(String::new(), |interval| format!(" ({interval})"));
        format!(
            "{} against {}, round by round: {}{interval}, {}.",
            name(&found.case),
            name(&found.base),
            times(found.ratio),
            found.difference
        )
    };
    assessment.comparisons.iter().filter(is_of_peers).map(say).collect()
}

/// How rates went over time, where there is more to say than the figure does.
fn courses(assessment: &Assessment, name: &dyn Fn(&str) -> String) -> Vec<String> {
    let said = |summary: &Summary| {
        let course = summary.course.as_ref().filter(|_| summary.case.write().is_some())?;
        let steady = assessment.sustain.and_then(|_| said_steady(course));
        let said: Vec<String> = course.change.map(said_change).into_iter().chain(steady).collect();
        (!said.is_empty()).then(|| format!("{}: {}.", name(&summary.id), said.join("; ")))
    };
    assessment.cases.iter().filter_map(said).collect()
}

fn said_change(change: Change) -> String {
    let (before, after) = (units::rate(change.before), units::rate(change.after));
    let bytes = units::bytes_rounded(change.at_bytes);
    let at = units::nanoseconds(change.at_ns as f64);
    if change.before > change.after {
        return format!(
            "acknowledged in a burst of {before} until {bytes} ({at}), then at {after}"
        );
    }
    format!("acknowledged at {before} until {bytes} ({at}), then faster, at {after}")
}

fn said_steady(course: &TimeSeries) -> Option<String> {
    let steady = match (course.is_steady?, course.sustained) {
        (true, Some(rate)) => format!("steady at the end, acknowledged at {}", units::rate(rate)),
        (true, None) => "steady at the end".to_string(),
        (false, _) => "not steady at the end".to_string(),
    };
    let step = units::nanoseconds(course.step_ns as f64);
    let (all, of) = (course.rates.len(), format!("SNIA-5 in steps of {step}"));
    Some(match course.snia {
        Some(Some(first)) => format!("{steady}; {of}: met at step {} of {all}", first + 1),
        Some(None) => format!("{steady}; {of}: not met in {all}"),
        None => steady,
    })
}

/// The answer in plain sentences.
pub(crate) fn closing(assessment: &Assessment, name: &dyn Fn(&str) -> String) -> Vec<String> {
    let none = WritingAnswer { acknowledged: None, durable: None, cost: None };
    let answer = assessment.writing.as_ref().unwrap_or(&none);
    let (of_same, of_fastest) = match cost(assessment, answer) {
        Some(Cost::OfSame(sentence)) => (Some(sentence), None),
        Some(Cost::OfFastest(sentence)) => (None, Some(sentence)),
        None => (None, None),
    };
    let fastest = |lead: &Lead, does: &str, after: &str| {
        let rated = lead.best();
        let (name_of, rate) = (name(&rated.row.id), said_rate(&rated.rate));
        let beside = beside_lead(lead, name);
        Sentence::led(lead, format!("{does} {name_of} at {rate}{beside}.{after}"))
    };
    let acknowledged = match &answer.acknowledged {
        Some(lead) => {
            let says = " This is how fast the OS took the data: a power cut could still lose it.";
            let own = "Of this program's own writes, fastest acknowledged:";
            [Some(fastest(lead, own, says)), of_same].into_iter().flatten().collect()
        }
        None => vec![Sentence::plain("No acknowledged rate is valid.")],
    };
    let durable = match &answer.durable {
        Some(lead) => {
            let cache = writes::said_cache(assessment.storage.as_ref()).map(Sentence::plain);
            let first = fastest(lead, "Fastest durable:", "");
            [Some(first), of_fastest, cache].into_iter().flatten().collect()
        }
        None => vec![Sentence::plain("No durable rate is valid.")],
    };
    [acknowledged, durable]
        .iter()
        .map(|sentences: &Vec<Sentence>| paragraph(sentences, name))
        .collect()
}

/// What durability costs, in a sentence.
enum Cost {
    /// Of one case, its two rates.
    OfSame(Sentence),
    /// Of two: the fastest of each rate.
    OfFastest(Sentence),
}

fn cost(assessment: &Assessment, answer: &WritingAnswer) -> Option<Cost> {
    let (cost, acknowledged) = (answer.cost.as_ref()?, answer.acknowledged.as_ref()?.best());
    let row = assessment.cases.iter().find(|summary| summary.id == acknowledged.row.id)?;
    let has_both = row.writing.as_ref().is_some_and(|writing| writing.durable.is_some());
    let ratio = said_ratio(&cost.ratio());
    let figures = if has_both {
        format!("Made durable, the same writes came to {ratio} of that")
    } else {
        format!("That is {ratio} of the fastest acknowledged rate")
    };
    let sentence = Sentence::decided(cost, |decision| match decision {
        Decision::Yes => format!("{figures}: this is what durability costs."),
        Decision::No => format!("{figures}: durability costs nothing that matters here."),
        Decision::Undecided => {
            format!("{figures}; what durability costs is not decided ({}).", why_open(cost))
        }
    });
    Some(if has_both { Cost::OfSame(sentence) } else { Cost::OfFastest(sentence) })
}
