//! Counting the 10s of a file in memory, in the page cache and from storage: a row for each way,
//! and the answer.

use crate::frame;
use crate::grid::{Cell, Grid, left, right};
use crate::labels::{Labels, common_line};
use crate::sentence::{Sentence, paragraph, said_ratio, why_open};
use crate::style::{Paint, Style};
use crate::words::{self, NONE, count, figure, is_virtual, listed};
use assess::Assessment;
use assess::counting::{Claim, CountingAnswer, RowRate};
use assess::decision::{Decided, Decision};
use assess::summary::Summary;
use model::case::{Cache, Engine, Work};
use model::host::Storage;
use model::units;

/// Where the bytes are when the counting begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Memory,
    PageCache,
    Cold,
    Direct,
    AsIs,
}

const PLACES: [Place; 5] =
    [Place::Memory, Place::PageCache, Place::Cold, Place::Direct, Place::AsIs];

impl Place {
    /// None for the null engine, which counts nothing.
    fn of(work: &Work) -> Option<Place> {
        let Work::Read(work) = work else { return Some(Place::Memory) };
        match (work.engine, work.io.cache) {
            (Engine::Null, _) => None,
            (Engine::Load, _) => Some(Place::Memory),
            (_, Cache::Warm) => Some(Place::PageCache),
            (_, Cache::Cold) => Some(Place::Cold),
            (_, Cache::Direct) => Some(Place::Direct),
            (_, Cache::AsIs) => Some(Place::AsIs),
        }
    }

    fn title(self) -> &'static str {
        match self {
            Place::Memory => "in memory of the program's own",
            Place::PageCache => "in the page cache (warm)",
            Place::Cold => "from storage, through the page cache (cold)",
            Place::Direct => "from storage, past the page cache (direct)",
            Place::AsIs => "from the file, cached or not as it was found",
        }
    }
}

impl Place {
    /// The word that a label has for it.
    fn word(self) -> &'static str {
        match self {
            Place::Memory => "loaded",
            Place::PageCache => "warm",
            Place::Cold => "cold",
            Place::Direct => "direct",
            Place::AsIs => "as-is",
        }
    }
}

const LEGEND: &str = "counting: the rate once the data is mapped or loaded; set-up: the time that \
                      took; total: the rate with it, and what served that";

/// Counting, a table for each size of the file, with set-up apart; then the answer.
pub(crate) fn counting(assessment: &Assessment, style: &Style) -> String {
    let labels = labels(assessment);
    let mut out = frame::head(assessment, style);
    out.push_str(&common_line(&labels, style));
    out.push_str(&style.wrap("", Paint::Faint, LEGEND));
    out.push('\n');
    out.push_str(&rows(assessment, &labels).render(style));
    out.push_str(&style.wrap("", Paint::Plain, &counted(assessment)));
    out.push_str(&frame::below(assessment, style, &|id| labels.name(id)));
    out
}

/// How the cases of this view are called: below its heading a row says what differs there.
pub(crate) fn labels(assessment: &Assessment) -> Labels<'_> {
    let has_sizes = sizes(assessment).len() > 1;
    Labels::by(assessment, move |case| {
        let is_memory = case.memory().is_some();
        let place = Place::of(&case.work).filter(|_| !is_memory).map(Place::word);
        let place = place.unwrap_or(if is_memory { "memory" } else { "" }).to_string();
        let size = case.file_size().filter(|_| has_sizes);
        size.map_or(place.clone(), |size| format!("{} {place}", units::bytes(size)))
    })
}

fn sizes(assessment: &Assessment) -> Vec<u64> {
    let files = assessment.cases.iter().filter_map(|summary| summary.case.read());
    let mut sizes: Vec<u64> = files.map(|work| work.io.size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

fn rows(assessment: &Assessment, labels: &Labels) -> Grid {
    let mut grid = Grid::new(vec![
        left("", 0),
        right("counting", 0),
        right("set-up", 0),
        right("total", 0),
        left("95 % CI", 0),
        right("of ceiling", 2),
        left("served by", 1),
        left("verdict", 0),
    ]);
    let sizes = sizes(assessment);
    let memory = assessment.cases.iter().filter(|summary| summary.case.memory().is_some());
    for summary in memory {
        grid.row(cells(summary, assessment.storage.as_ref(), labels));
    }
    for &size in &sizes {
        for place in PLACES {
            let is_here = |summary: &&Summary| {
                let of_size = summary.case.read().is_some_and(|work| work.io.size == size);
                of_size && Place::of(&summary.case.work) == Some(place)
            };
            let mut here = assessment.cases.iter().filter(is_here).peekable();
            if here.peek().is_some() {
                grid.heading(&format!("{} {}", units::bytes(size), place.title()));
            }
            for summary in here {
                grid.row(cells(summary, assessment.storage.as_ref(), labels));
            }
        }
    }
    grid
}

fn cells(summary: &Summary, storage: Option<&Storage>, labels: &Labels) -> Vec<Cell> {
    let paint = words::verdict_paint(summary);
    let said = |text: String| Cell::new(figure(summary, text), paint);
    let (total, interval) = words::main_figure(summary);
    let loaded = summary.loaded.as_ref();
    let once_loaded = loaded.map_or(total.clone(), |l| units::rate(l.throughput.median));
    let load = loaded.map_or(NONE.to_string(), |l| units::nanoseconds(l.load_ns.median));
    vec![
        Cell::new(format!("  {}", labels.below(summary)), Paint::Plain),
        said(once_loaded),
        said(load),
        said(total),
        said(interval),
        said(words::ceiling_short(summary)),
        Cell::new(words::served_by(summary, storage), Paint::Plain),
        Cell::new(words::verdict(summary), paint),
    ]
}

/// The answer in plain sentences, for each size.
pub(crate) fn answer(assessment: &Assessment) -> Vec<String> {
    if assessment.counting.is_empty() {
        let none = "There is no answer: it needs a count in memory, or both sides of the claim.";
        return vec![none.to_string()];
    }
    let labels = labels(assessment);
    let name = |id: &str| labels.name(id);
    let of_size = |answer: &CountingAnswer| -> Vec<String> {
        let mut sentences = vec![verdict(assessment, answer, &name)];
        sentences.extend(ceilings(answer));
        let claims = answer.claims.iter().map(|claim| said_claim(claim, &name));
        let paragraphs = [sentences].into_iter().chain(claims);
        paragraphs.map(|sentences| paragraph(&sentences, &name)).collect()
    };
    assessment.counting.iter().flat_map(of_size).collect()
}

fn verdict(
    assessment: &Assessment,
    answer: &CountingAnswer,
    name: &dyn Fn(&str) -> String,
) -> Sentence {
    let size = units::bytes(answer.size);
    let disk = if is_virtual(assessment.storage.as_ref()) { "virtual disk" } else { "disk" };
    let Some(device) = &answer.device else {
        return Sentence::plain(format!(
            "{size}: no valid row was served by a device, so no disk is judged."
        ));
    };
    let figures = format!(
        "the fastest count from it ({}) moves {}",
        name(&device.row.id),
        units::rate(device.throughput.median)
    );
    let Some(decided) = &answer.disk_is_faster else {
        let text = format!(
            "{size}: is this {disk} faster than memory? That is not decided, for memory was not \
             read with as many threads: {figures}."
        );
        return Sentence::figures(text, [&device.row]);
    };
    let of = match device.of_count {
        Some(_) => "count in memory",
        None => "read from memory",
    };
    let ratio = said_ratio(&decided.ratio());
    Sentence::decided(decided, |decision| {
        let says = match decision {
            Decision::Yes => "Yes".to_string(),
            Decision::No => "No".to_string(),
            Decision::Undecided => format!("That is not decided ({})", why_open(decided)),
        };
        format!(
            "{size}: is this {disk} faster than memory? {says}: {figures}, {ratio} of what as many \
             threads {of}."
        )
    })
}

fn ceilings(answer: &CountingAnswer) -> Vec<Sentence> {
    let rates = |does: &str, figures: &[RowRate]| {
        let said = |figure: &RowRate| {
            let threads = count(figure.threads as usize, "thread");
            format!("{} by {threads}", units::rate(figure.throughput.median))
        };
        let all = listed(&figures.iter().map(said).collect::<Vec<_>>());
        Sentence::figures(format!("{does} at {all}."), figures.iter().map(|figure| &figure.row))
    };
    let mut sentences = Vec::new();
    if !answer.in_memory.is_empty() {
        sentences.push(rates("Memory is counted", &answer.in_memory));
    }
    if !answer.memory_reads.is_empty() {
        sentences.push(rates("Memory is read", &answer.memory_reads));
    }
    if let Some(cache) = &answer.page_cache {
        let rate = units::rate(cache.throughput.median);
        let text = format!("The page cache gives up to {rate}.");
        sentences.push(Sentence::figures(text, [&cache.row]));
    }
    if answer.fits_caches {
        sentences.push(Sentence::plain(
            "The data fits into the processor's caches: 'memory' here may mean those.",
        ));
    }
    sentences
}

/// The claim that started the question, and what is fair to say beside it.
fn said_claim(claim: &Claim, name: &dyn Fn(&str) -> String) -> Vec<Sentence> {
    let first = Sentence::decided(&claim.holds, |decision| {
        format!(
            "The claim \"io_uring is faster than mmap\", mmap {}: io_uring direct at {} against \
             one thread that maps the file and faults at {}, {}: {}.",
            claim.cache,
            units::rate(claim.uring.throughput.median),
            units::rate(claim.mmap.throughput.median),
            said_ratio(&claim.holds.ratio()),
            holds(decision, &claim.holds),
        )
    });
    let fairest = claim
        .fair
        .iter()
        .max_by(|a, b| a.figure.throughput.median.total_cmp(&b.figure.throughput.median));
    let beside = fairest.map(|fair| {
        Sentence::decided(&fair.holds, |decision| {
            format!(
                "Against the other way to the same file with the highest median ({}, {}) it is {}: \
                 {}.",
                name(&fair.figure.row.id),
                units::rate(fair.figure.throughput.median),
                said_ratio(&fair.holds.ratio()),
                holds(decision, &fair.holds),
            )
        })
    });
    [first].into_iter().chain(beside).collect()
}

fn holds(decision: Decision, decided: &Decided) -> String {
    match decision {
        Decision::Yes => "that holds here".to_string(),
        Decision::No => "that does not hold here".to_string(),
        Decision::Undecided => format!("that is not decided here ({})", why_open(decided)),
    }
}

/// How many were counted, and whether that is right.
fn counted(assessment: &Assessment) -> String {
    let mut out = Vec::new();
    for size in sizes(assessment) {
        let of_size = |summary: &&Summary| {
            summary
                .case
                .read()
                .is_some_and(|work| work.io.size == size && work.engine != Engine::Null)
        };
        let all = assessment.cases.iter().filter(of_size).filter(|summary| summary.n > 0);
        let right = all.clone().filter(|summary| summary.digest_verified == Some(true)).count();
        let wrong = all.clone().filter(|summary| summary.digest_verified == Some(false)).count();
        let found = all.filter(|s| s.verdict.stands()).find_map(|s| s.counted);
        let found = found.map_or(String::new(), |found| format!("{found} tens in "));
        out.push(format!(
            "{found}{}: {} counted or summed rightly, {wrong} wrongly.",
            units::bytes(size),
            count(right, "row")
        ));
    }
    out.join(" ")
}
