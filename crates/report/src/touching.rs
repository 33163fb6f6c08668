//! What it costs to touch a page of memory and of a file: to write it, and to read it.

use crate::frame;
use crate::grid::{Cell, Grid, left, right};
use crate::labels::{Labels, common_line};
use crate::phrases::joined;
use crate::sentence::{Sentence, paragraph};
use crate::style::{Paint, Style};
use crate::words::{self, NONE, figure, listed, times, times_interval};
use crate::writes::{self, sync_name};
use assess::Assessment;
use assess::summary::Summary;
use assess::touching::{Phase, Touching};
use model::case::{Cache, Case, Engine, Kernel, MemoryWork};
use model::case::{Sync, Work, WriteEngine};
use model::host::Storage;
use model::plan::Role;
use model::units;

const LEGEND: &str = "an operation touches one page; op/s: the sync at the end included; ns/op: \
                      without it; memory by file: without it, operations a second in memory, \
                      touched for the second time, over those of the row";

const LEGEND_SPENT: &str = "a trial: wall is the time from the first thread's start to the last \
                            one's end, syncs included; user and system are CPU time; CPU is of one \
                            processor; blocked is the share of the time in which the threads \
                            neither ran nor waited for a processor";

/// Touching pages: how fast each way is, what the time was spent on, and the answer.
pub(crate) fn touching(assessment: &Assessment, style: &Style) -> String {
    let labels = labels(assessment);
    let name = |id: &str| labels.name(id);
    let mut out = frame::head(assessment, style);
    out.push_str(&common_line(&labels, style));
    out.push_str(&style.wrap("", Paint::Faint, LEGEND));
    out.push('\n');
    out.push_str(&rates(assessment).render(style));
    if assessment.cases.iter().any(|summary| summary.spent.is_some()) {
        out.push_str(&format!("\n{}", style.wrap("", Paint::Faint, LEGEND_SPENT)));
        out.push_str(&spent(assessment).render(style));
    }
    let page = assessment.host.page;
    let beside = writes::beside(assessment, &|summary| phase_of(summary, page).is_none(), &name);
    out.extend(beside.map(|text| style.wrap("", Paint::Faint, &text)));
    out.push_str(&frame::below(assessment, style, &name));
    out
}

/// How the cases of this view are called: below its heading a row says what differs there.
pub(crate) fn labels(assessment: &Assessment) -> Labels<'_> {
    let page = assessment.host.page;
    Labels::by(assessment, move |case| phase(case, page).map_or("", verb).to_string())
}

fn find<'a>(assessment: &'a Assessment, id: &str) -> Option<&'a Summary> {
    assessment.cases.iter().find(|summary| summary.id == id)
}

/// What a case does to a page, which has so many bytes: it moves no more at a time. None for what
/// touches no pages.
fn phase(case: &Case, page: u64) -> Option<Phase> {
    match &case.work {
        Work::Memory(work) => match work.kernel {
            Kernel::FirstTouch | Kernel::TouchPages => Some(Phase::Write),
            Kernel::ReadPages => Some(Phase::Read),
            _ => None,
        },
        Work::Read(work) => {
            (work.engine != Engine::Null && work.io.block <= page).then_some(Phase::Read)
        }
        Work::Write(work) => {
            (work.engine != WriteEngine::Null && work.io.block <= page).then_some(Phase::Write)
        }
    }
}

/// The same of a row; none for a baseline.
fn phase_of(summary: &Summary, page: u64) -> Option<Phase> {
    (summary.role != Role::Baseline).then(|| phase(&summary.case, page)).flatten()
}

fn verb(phase: Phase) -> &'static str {
    match phase {
        Phase::Write => "write",
        Phase::Read => "read",
    }
}

/// The heading of a phase, with the sync that all have whose rows write a file.
fn heading(assessment: &Assessment, phase: Phase) -> String {
    match (phase, common_sync(assessment)) {
        (Phase::Read, _) => "read".to_string(),
        (Phase::Write, Some(sync)) if sync != Sync::None => {
            format!("write (of a file: until its {} had returned)", sync_name(sync))
        }
        (Phase::Write, _) => "write".to_string(),
    }
}

fn common_sync(assessment: &Assessment) -> Option<Sync> {
    let page = assessment.host.page;
    let all = assessment.cases.iter().filter(|summary| phase_of(summary, page).is_some());
    let mut syncs = all.filter_map(|summary| Some(summary.case.write()?.sync));
    let first = syncs.next()?;
    syncs.all(|sync| sync == first).then_some(first)
}

/// A row for each case of both phases, made by `cells`.
fn grid(assessment: &Assessment, mut grid: Grid, cells: &dyn Fn(&Summary) -> Vec<Cell>) -> Grid {
    let labels = labels(assessment);
    for of in Phase::ALL {
        let page = assessment.host.page;
        let is_here = |summary: &&Summary| phase_of(summary, page) == Some(*of);
        let here = || assessment.cases.iter().filter(is_here);
        if here().next().is_some() {
            grid.heading(&heading(assessment, *of));
        }
        for summary in here() {
            let label = Cell::new(format!("  {}", labels.below(summary)), Paint::Plain);
            grid.row([label].into_iter().chain(cells(summary)).collect());
        }
    }
    grid
}

fn rates(assessment: &Assessment) -> Grid {
    let columns = vec![
        left("", 0),
        right("op/s", 0),
        left("95 % CI", 2),
        right("ns/op", 3),
        right("memory by file", 0),
        left("95 % CI", 1),
        left("verdict", 0),
    ];
    grid(assessment, Grid::new(columns), &|summary| {
        let paint = words::verdict_paint(summary);
        let said = |text: String| Cell::new(figure(summary, text), paint);
        let (rate, interval) = match summary.iops {
            Some(all) => {
                (words::per_second(all.median), words::interval(all.low, all.high, units::scaled))
            }
            None => (NONE.to_string(), NONE.to_string()),
        };
        let held = assessment.touching.iter().find(|held| held.file.id == summary.id);
        let none = || NONE.to_string();
        let ratio = held.map_or_else(none, |held| times(held.ratio.median));
        let ratio_ci = held.and_then(|held| times_interval(held.ratio.low, held.ratio.high));
        vec![
            said(rate),
            said(interval),
            said(words::ns(summary.ns_per_op.map(|all| all.median))),
            said(ratio),
            said(ratio_ci.unwrap_or_else(none)),
            Cell::new(words::verdict(summary), paint),
        ]
    })
}

fn spent(assessment: &Assessment) -> Grid {
    let storage: Option<&Storage> = assessment.storage.as_ref();
    let columns = vec![
        left("", 0),
        right("wall", 0),
        right("user", 0),
        right("system", 0),
        right("CPU", 0),
        right("blocked", 0),
        left("served by", 1),
    ];
    grid(assessment, Grid::new(columns), &|summary| {
        let paint = words::verdict_paint(summary);
        let said = |text: String| Cell::new(figure(summary, text), paint);
        let spent = summary.spent;
        let percent = |share: Option<f64>| share.map_or(NONE.to_string(), units::percent);
        vec![
            said(words::ns(spent.map(|spent| spent.wall_ns))),
            said(words::ns(spent.and_then(|spent| spent.user_ns))),
            said(words::ns(spent.and_then(|spent| spent.system_ns))),
            said(percent(spent.map(|spent| spent.processors))),
            said(percent(spent.and_then(|spent| spent.blocked_share))),
            Cell::new(words::served_by(summary, storage), Paint::Plain),
        ]
    })
}

/// What a page of a file costs, held against one of memory.
pub(crate) fn closing(assessment: &Assessment) -> Vec<String> {
    if assessment.touching.is_empty() {
        let none = "There is no answer: it needs valid figures for pages of a file and of \
                    memory, touched in the same way.";
        return vec![none.to_string()];
    }
    let labels = labels(assessment);
    let name = |id: &str| labels.name(id);
    let phases = Phase::ALL.iter().filter_map(|phase| said(assessment, *phase, &labels));
    let all = phases.chain([intervals(assessment)]).chain(first_touch(assessment));
    all.map(|sentence| paragraph(&[sentence], &name)).collect()
}

/// What a phase costs by each way, those together that found the file alike.
fn said(assessment: &Assessment, phase: Phase, labels: &Labels) -> Option<Sentence> {
    let mut caches: Vec<(Cache, Vec<String>)> = Vec::new();
    let of_phase = || assessment.touching.iter().filter(|held| held.phase == phase);
    for held in of_phase() {
        let Some(file) = find(assessment, &held.file.id) else { continue };
        let cache = file_cache(&file.case);
        let text = format!("{} {}", costs(held), by(file, labels));
        match caches.iter_mut().find(|(known, _)| *known == cache) {
            Some((_, ways)) => ways.push(text),
            None => caches.push((cache, vec![text])),
        }
    }
    if caches.is_empty() {
        return None;
    }
    let say = |(state, ways): &(Cache, Vec<String>)| match state {
        Cache::AsIs => format!("as it was found, {}", listed(ways)),
        _ => format!("{state}, {}", listed(ways)),
    };
    let does = match phase {
        Phase::Write => {
            "To write a byte in each page of the file, until the OS has acknowledged it,"
        }
        Phase::Read => "To read a byte of each page of the file",
    };
    let all: Vec<String> = caches.iter().map(say).collect();
    let text = format!(
        "{does} costs so many times what it costs in memory, touched for the second time: {}.",
        all.join("; ")
    );
    Some(Sentence::figures(text, of_phase().flat_map(|held| [&held.file, &held.memory])))
}

fn file_cache(case: &Case) -> Cache {
    case.io().map_or(Cache::AsIs, |io| io.cache)
}

/// `132× (123-143)`; in doubt where either row is.
fn costs(held: &Touching) -> String {
    let interval = times_interval(held.ratio.low, held.ratio.high);
    let is_doubtful = held.file.is_doubtful() || held.memory.is_doubtful();
    let doubtful = is_doubtful.then(|| "doubtful".to_string());
    let beside: Vec<String> = interval.into_iter().chain(doubtful).collect();
    let beside = if beside.is_empty() { "".into() } else { format!(" ({})", beside.join(", ")) };
    format!("{}{beside}", times(held.ratio.median))
}

/// By what a page of a file is touched: its label without what the sentence has said.
fn by(file: &Summary, labels: &Labels) -> String {
    let phrases = labels.phrases(&file.case).into_iter();
    let said = phrases.filter(|phrase| !["cache", "block"].contains(&phrase.axis));
    format!("by {}", joined(said.map(|phrase| phrase.said)))
}

/// What stands in brackets, once for all sentences.
fn intervals(assessment: &Assessment) -> Sentence {
    let has_one = |held: &Touching| held.ratio.low.is_some();
    let with = assessment.touching.iter().filter(|held| has_one(held)).count();
    Sentence::plain(match with {
        0 => "There were too few rounds for intervals.",
        _ if with == assessment.touching.len() => {
            "In brackets: the 95 % intervals of these ratios."
        }
        _ => "In brackets: 95 % intervals; where there is none, there were too few rounds for it.",
    })
}

/// The touches that are mistaken for each other.
fn first_touch(assessment: &Assessment) -> Option<Sentence> {
    let row = |kernel: Kernel| {
        let is_it = |summary: &&Summary| {
            let is_it = |work: &MemoryWork| work.kernel == kernel && work.threads == 1;
            summary.case.memory().is_some_and(is_it) && summary.verdict.stands()
        };
        assessment.cases.iter().find(is_it)
    };
    let (first, second) = (row(Kernel::FirstTouch)?, row(Kernel::TouchPages)?);
    let text = format!(
        "A first touch of a page of memory, for which the OS finds and clears it, takes {}; a \
         second one takes {}.",
        units::nanoseconds(first.ns_per_op?.median),
        units::nanoseconds(second.ns_per_op?.median)
    );
    Some(Sentence::of_summaries(text, [first, second]))
}
