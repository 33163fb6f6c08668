//! Counting the 10s of a file in memory, in the page cache and from storage: a row for each way,
//! and the answer.

use crate::frame;
use crate::grid::{Cell, Grid, left, right};
use crate::style::{Paint, Style};
use crate::words::{self, NONE, count, figure, is_virtual, listed, times, times_interval};
use assess::Assessment;
use assess::counting::{Claim, CountingAnswer, Decision, Figure};
use assess::finding::Verdict;
use assess::ratio::Ratio;
use assess::summary::Summary;
use model::case::{Advice, Cache, Engine, FileWork, Isa, MemoryWork, OWN_PEER, Pages, Work};
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
        let Work::File(work) = work else { return Some(Place::Memory) };
        match (work.engine, work.cache) {
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
    /// A word that tells rows apart that are not under their heading.
    fn word(self) -> &'static str {
        match self {
            Place::Memory => "",
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
pub fn counting(assessment: &Assessment, style: &Style) -> String {
    let mut out = frame::head(assessment, style);
    out.push_str(&style.wrap("", Paint::Faint, LEGEND));
    out.push('\n');
    out.push_str(&rows(assessment).render(style));
    out.push_str(&style.wrap("", Paint::Plain, &counted(assessment)));
    out.push_str(&frame::below(assessment, style, &|id| name(assessment, id)));
    out.push_str(&closing(assessment, style));
    out
}

/// The plain name of a case by its id.
pub(crate) fn name(assessment: &Assessment, id: &str) -> String {
    match assessment.cases.iter().find(|summary| summary.id == id) {
        Some(summary) => {
            let place = Place::of(&summary.case.work).map_or("", Place::word);
            format!("{place} {}", label(summary)).trim_start().to_string()
        }
        None => id.to_string(),
    }
}

fn sizes(assessment: &Assessment) -> Vec<u64> {
    let files = assessment.cases.iter().filter_map(|summary| summary.case.file());
    let mut sizes: Vec<u64> = files.map(|work| work.size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

fn rows(assessment: &Assessment) -> Grid {
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
        grid.row(cells(summary, assessment.storage.as_ref()));
    }
    for &size in &sizes {
        for place in PLACES {
            let is_here = |summary: &&Summary| {
                let of_size = summary.case.file().is_some_and(|work| work.size == size);
                of_size && Place::of(&summary.case.work) == Some(place)
            };
            let mut here = assessment.cases.iter().filter(is_here).peekable();
            if here.peek().is_some() {
                grid.heading(&format!("{} {}", units::bytes(size), place.title()));
            }
            for summary in here {
                grid.row(cells(summary, assessment.storage.as_ref()));
            }
        }
    }
    grid
}

fn cells(summary: &Summary, storage: Option<&Storage>) -> Vec<Cell> {
    let paint = words::verdict_paint(summary);
    let said = |text: String| Cell::new(figure(summary, text), paint);
    let (total, interval) = words::main_figure(summary);
    let loaded = summary.loaded.as_ref();
    let once_loaded = loaded.map_or(total.clone(), |l| units::rate(l.throughput.median));
    let load = loaded.map_or(NONE.to_string(), |l| units::nanoseconds(l.load_ns.median));
    vec![
        Cell::new(format!("  {}", label(summary)), Paint::Plain),
        said(once_loaded),
        said(load),
        said(total),
        said(interval),
        said(words::ceiling_short(summary)),
        Cell::new(words::served_by(summary, storage), Paint::Plain),
        Cell::new(words::verdict(summary), paint),
    ]
}

/// What a row does, in plain words.
fn label(summary: &Summary) -> String {
    let mut words = match &summary.case.work {
        Work::Memory(work) => memory_words(work),
        Work::File(work) => file_words(work),
        Work::Write(_) => vec![summary.id.clone()],
    };
    if summary.case.peer != OWN_PEER {
        words.insert(0, summary.case.peer.clone());
    }
    match summary.case.threads() {
        1 => words.join(" "),
        threads => format!("{}, {threads} threads", words.join(" ")),
    }
}

fn memory_words(work: &MemoryWork) -> Vec<String> {
    let mut words = vec![format!("kernel {} {}", work.kernel, work.isa)];
    if work.pages == Pages::Base {
        words.push("base pages".to_string());
    }
    words
}

fn file_words(work: &FileWork) -> Vec<String> {
    let mut words = vec![match (work.engine, work.cache) {
        (Engine::Load, Cache::Warm) => "loaded (warm)".to_string(),
        (Engine::Load, Cache::AsIs) => "loaded".to_string(),
        (Engine::Load, Cache::Cold | Cache::Direct) => format!("loaded ({})", work.cache),
        (engine, _) => engine.to_string(),
    }];
    // A mapping and what is loaded are touched where they are: a block is no transfer.
    if !matches!(work.engine, Engine::Load | Engine::Mmap) {
        words.push(units::bytes(work.block));
    }
    match work.advice {
        Advice::None => {}
        Advice::HugePage => words.push("huge pages".to_string()),
        advice => words.push(advice.to_string()),
    }
    if work.isa != Isa::Auto {
        words.push(work.isa.to_string());
    }
    if work.depth > 1 {
        words.push(format!("depth {}", work.depth));
    }
    words
}

fn closing(assessment: &Assessment, style: &Style) -> String {
    let said = |paragraphs: Vec<String>| -> String {
        paragraphs.iter().map(|text| style.wrap("", Paint::Plain, text)).collect()
    };
    answers(assessment).into_iter().map(|paragraphs| format!("\n{}", said(paragraphs))).collect()
}

/// The answer in plain sentences.
pub(crate) fn answer(assessment: &Assessment) -> Vec<String> {
    answers(assessment).concat()
}

/// The answer for each size.
fn answers(assessment: &Assessment) -> Vec<Vec<String>> {
    if assessment.counting.is_empty() {
        let none = "There is no answer: it takes a count in memory, or both sides of the claim.";
        return vec![vec![none.to_string()]];
    }
    let of_size = |answer: &CountingAnswer| {
        let mut sentences = vec![verdict(assessment, answer)];
        sentences.extend(ceilings(answer));
        let claims = answer.claims.iter().map(|claim| said_claim(assessment, claim));
        [sentences.join(" ")].into_iter().chain(claims).collect()
    };
    assessment.counting.iter().map(of_size).collect()
}

fn verdict(assessment: &Assessment, answer: &CountingAnswer) -> String {
    let size = units::bytes(answer.size);
    let disk = if is_virtual(assessment.storage.as_ref()) { "virtual disk" } else { "disk" };
    let Some(device) = &answer.device else {
        return format!(
            "{size}: no row stands that a device served, so nothing is said of a disk."
        );
    };
    let says = match answer.disk_is_faster {
        Decision::Yes => "Yes",
        Decision::No => "No",
        Decision::Undecided => "It cannot be told",
    };
    let beside = match (&device.of_count, &device.of_read) {
        (Some(ratio), _) => {
            format!(", {} of what as many threads count in memory", said_ratio(ratio))
        }
        (None, Some(ratio)) => {
            format!(", {} of what as many threads read from memory", said_ratio(ratio))
        }
        (None, None) => String::new(),
    };
    format!(
        "{size}: is this {disk} faster than memory? {says}: the fastest count from it ({}) moves \
         {}{beside}.",
        name(assessment, &device.id),
        units::rate(device.throughput.median),
    )
}

fn ceilings(answer: &CountingAnswer) -> Vec<String> {
    let rates = |figures: &[Figure]| {
        let said = |figure: &Figure| {
            let threads = count(figure.threads as usize, "thread");
            format!("{} by {threads}", units::rate(figure.throughput.median))
        };
        listed(&figures.iter().map(said).collect::<Vec<_>>())
    };
    let mut sentences = Vec::new();
    if !answer.in_memory.is_empty() {
        sentences.push(format!("Memory is counted at {}.", rates(&answer.in_memory)));
    }
    if !answer.memory_reads.is_empty() {
        sentences.push(format!("It is read at {}.", rates(&answer.memory_reads)));
    }
    if let Some(cache) = &answer.page_cache {
        let rate = units::rate(cache.throughput.median);
        sentences.push(format!("The page cache gives up to {rate}."));
    }
    if answer.fits_caches {
        let caches = "The data fits into the processor's caches: 'memory' here may mean those.";
        sentences.push(caches.to_string());
    }
    sentences
}

/// The claim that started the question, and what is fair to say beside it.
fn said_claim(assessment: &Assessment, claim: &Claim) -> String {
    let mut text = format!(
        "The claim \"io_uring is faster than mmap\", mmap {}: io_uring direct at {} against one \
         thread that maps the file and faults at {}, {}: {}.",
        claim.cache,
        units::rate(claim.uring.throughput.median),
        units::rate(claim.mmap.throughput.median),
        said_ratio(&claim.ratio),
        holds(claim.holds),
    );
    let fairest = claim
        .fair
        .iter()
        .max_by(|a, b| a.figure.throughput.median.total_cmp(&b.figure.throughput.median));
    if let Some(fair) = fairest {
        text.push_str(&format!(
            " Against the best other way to the same file ({}, {}) it is {}: {}.",
            name(assessment, &fair.figure.id),
            units::rate(fair.figure.throughput.median),
            said_ratio(&fair.ratio),
            holds(fair.holds),
        ));
    }
    text
}

fn holds(decision: Decision) -> &'static str {
    match decision {
        Decision::Yes => "that holds here",
        Decision::No => "that does not hold here",
        Decision::Undecided => "these rounds do not decide",
    }
}

fn said_ratio(ratio: &Ratio) -> String {
    let interval = times_interval(ratio.low, ratio.high);
    let interval = interval.map_or(String::new(), |interval| format!(" ({interval})"));
    format!("{}{interval}", times(ratio.median))
}

/// How many were counted, and whether that is right.
fn counted(assessment: &Assessment) -> String {
    let mut out = Vec::new();
    for size in sizes(assessment) {
        let of_size = |summary: &&Summary| {
            summary.case.file().is_some_and(|work| work.size == size && work.engine != Engine::Null)
        };
        let all = assessment.cases.iter().filter(of_size).filter(|summary| summary.n > 0);
        let right = all.clone().filter(|summary| summary.digest_verified == Some(true)).count();
        let wrong = all.clone().filter(|summary| summary.digest_verified == Some(false)).count();
        let found = all.filter(|s| s.verdict != Verdict::Void).find_map(|s| s.counted);
        let found = found.map_or(String::new(), |found| format!("{found} tens in "));
        out.push(format!(
            "{found}{}: {} counted or summed rightly, {wrong} wrongly.",
            units::bytes(size),
            count(right, "row")
        ));
    }
    out.join(" ")
}
