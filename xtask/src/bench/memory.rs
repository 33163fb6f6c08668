//! What is asked about memory, and of whom.

use super::contest::{Asked, Contest, Entrant, Quantity};
use super::figure::{Goal, Question, Unit};
use super::ground::Ground;
use super::{likwid, sysbench};
use model::case::{Advice, Isa, Kernel, MemoryWork, Pages, STEP};
use model::units;
use std::time::Duration;

/// The block that `sysbench memory` is given where it is not left to its default.
const SYSBENCH_BLOCK: u64 = 1 << 30;

const WHY_STREAM: &str = "\
    Memory is the limit of both. What differs is how many streams a core walks side by side, and \
    which pages the OS gave to whom.";
const WHY_COUNT: &str = "\
    Much of the time goes by in page faults, which are the OS's and the same for both, and most of \
    the rest in waiting for memory: the more, the nearer is the ratio to 1.";
const WHY_LEVEL: &str = "\
    A compare and a subtraction stand where the read has one addition: a core that is slow \
    beside its memory shows it.";
const WHY_CHASE: &str = "\
    Both wait for one load after another; what differs is which pages the OS gave to whom, and who \
    else uses the memory at that moment.";

/// A kernel of ioassay's, the test of likwid-bench that does the same, and what it is called.
const STREAMS: [(Kernel, &str, &str); 3] = [
    (Kernel::Read, "load_avx", "read"),
    (Kernel::CopyNt, "copy_mem_avx", "copy with non-temporal stores"),
    (Kernel::TriadNt, "stream_mem_avx_fma", "triad with non-temporal stores"),
];

/// Advice that is tried beside none.
const ADVICE: [Advice; 5] =
    [Advice::Sequential, Advice::WillNeed, Advice::Populate, Advice::HugePage, Advice::TouchAhead];

/// All contests, in the order in which they are held. Trials last `time`.
pub(super) fn contests(ground: &Ground, time: Duration) -> Vec<Contest<'_>> {
    let threads = if ground.cores > 1 { vec![1, ground.cores] } else { vec![1] };
    let mut contests = Vec::new();
    for stream in STREAMS {
        contests.extend(threads.iter().map(|threads| streams(ground, stream, *threads, time)));
    }
    contests.extend(threads.iter().map(|threads| level(ground, *threads, time)));
    contests.extend([mapping(ground), advice(ground)]);
    contests.extend(Pages::ALL.iter().map(|pages| chase(ground, *pages, time)));
    contests.push(beside_sysbench(ground, time));
    contests
}

/// `2 threads`, as a row says it.
fn count(threads: u32) -> String {
    if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") }
}

/// Work of ioassay's over arrays of the size that all have.
fn work(
    kernel: Kernel,
    pages: Pages,
    threads: u32,
    array_bytes: u64,
    time: Duration,
) -> MemoryWork {
    let working_set = kernel.arrays() * array_bytes;
    MemoryWork { kernel, isa: Isa::Auto, working_set, pages, step: STEP, threads, time }
}

/// A row about bytes a second of the entrant `ours`, beside those of `theirs`.
fn rate(
    (ours, theirs): (usize, usize),
    name: String,
    peer: String,
    goal: Goal,
    why: &'static str,
) -> Asked {
    let (name, peer, unit) = (name.into(), Some(peer.into()), Unit::BytesPerSecond);
    let question = Question { name, peer, unit, goal, why };
    Asked { ours, theirs, less: None, quantity: Quantity::BytesPerSecond, question }
}

/// A kernel in base pages and in huge ones, beside likwid-bench.
fn streams(
    ground: &Ground,
    (kernel, test, name): (Kernel, &str, &str),
    threads: u32,
    time: Duration,
) -> Contest<'static> {
    let entrants = || {
        ground.likwid.clone()?;
        let array_bytes = ground.array_bytes.clone()?;
        let own = |pages| Entrant::Memory(work(kernel, pages, threads, array_bytes, time));
        let command = likwid::command(test, kernel.arrays() * array_bytes, threads, time);
        let theirs = Entrant::Program(command, likwid::parse);
        Ok(vec![own(Pages::Base), own(Pages::Huge), theirs])
    };
    let row = |ours, pages| {
        let name = format!("{name}, {}, {pages} pages", count(threads));
        rate((ours, 2), name, format!("likwid {test}"), Goal::AtLeast(1.0), WHY_STREAM)
    };
    Contest { entrants: entrants(), asked: vec![row(0, Pages::Base), row(1, Pages::Huge)] }
}

/// Counting beside the read that is its ceiling.
fn level(ground: &Ground, threads: u32, time: Duration) -> Contest<'static> {
    let own = |kernel, array| Entrant::Memory(work(kernel, Pages::Huge, threads, array, time));
    let entrants =
        |array_bytes| vec![own(Kernel::Count, array_bytes), own(Kernel::Read, array_bytes)];
    let name = format!("count, {}, huge pages", count(threads));
    let peer = "ioassay's read".to_owned();
    Contest {
        entrants: ground.array_bytes.clone().map(entrants),
        asked: vec![rate((0, 1), name, peer, Goal::AtLeast(0.95), WHY_LEVEL)],
    }
}

/// Counting in a mapping of a warm file, beside the best that a C compiler made.
fn mapping(ground: &Ground) -> Contest<'_> {
    let entrants = || {
        let numbers = ground.numbers.as_ref()?;
        let builds = ground.builds.as_ref()?;
        Ok(vec![Entrant::Count(numbers, Advice::None), Entrant::CountInC(numbers, &builds[0])])
    };
    let peer = match &ground.builds {
        Ok(builds) => format!("best C ({})", builds[0].peer.name),
        Err(_) => "best C".to_owned(),
    };
    let name = "count in a mapping of a warm file, 1 thread".to_owned();
    let whole = rate((0, 1), name, peer.clone(), Goal::AtLeast(1.15), WHY_COUNT);
    let name = "the same without the time of mapping it".to_owned();
    let mut loaded = rate((0, 1), name, peer, Goal::Nothing, "");
    loaded.quantity = Quantity::BytesPerSecondLoaded;
    let entrants = entrants().map_err(|reason: &String| reason.clone());
    Contest { entrants, asked: vec![whole, loaded] }
}

/// The same with each advice, beside none.
fn advice(ground: &Ground) -> Contest<'_> {
    let all = [Advice::None].into_iter().chain(ADVICE);
    let entrants = |numbers| all.map(|advice| Entrant::Count(numbers, advice)).collect();
    let row = |(ours, advice): (usize, &Advice)| {
        let name = format!("count in a mapping of a warm file, advice {advice}");
        let peer = "ioassay without advice".to_owned();
        rate((ours, 0), name, peer, Goal::Nothing, "")
    };
    Contest {
        entrants: ground.numbers.as_ref().map(entrants).map_err(String::clone),
        asked: (1..).zip(&ADVICE).map(row).collect(),
    }
}

/// The time of a load that waits for the one before, beside the loop of chase.c.
fn chase(ground: &Ground, pages: Pages, time: Duration) -> Contest<'static> {
    let entrants = || {
        let bytes = ground.array_bytes.clone()?;
        let program = ground.chase.as_ref().map_err(String::clone)?;
        let words = [
            program.display().to_string(),
            bytes.to_string(),
            pages.to_string(),
            time.as_millis().to_string(),
            "SEED".to_owned(),
        ];
        let parse = |text: &str| Ok(text.trim().parse()?);
        let ours = Entrant::Memory(work(Kernel::Chase, pages, 1, bytes, time));
        Ok(vec![ours, Entrant::Program(words.to_vec(), parse)])
    };
    let question = Question {
        name: format!("chase, {pages} pages: time of a load").into(),
        peer: Some("C loop".into()),
        unit: Unit::Nanoseconds,
        goal: Goal::Within(0.95, 1.05),
        why: WHY_CHASE,
    };
    let asked = Asked { ours: 0, theirs: 1, less: None, quantity: Quantity::NsPerOp, question };
    Contest { entrants: entrants(), asked: vec![asked] }
}

/// What `sysbench memory` says, by default and with a block that no cache holds.
fn beside_sysbench(ground: &Ground, time: Duration) -> Contest<'static> {
    let block = format!("--memory-block-size={}G", SYSBENCH_BLOCK >> 30);
    let entrants = || {
        ground.sysbench.clone()?;
        let array_bytes = ground.array_bytes.clone()?;
        if SYSBENCH_BLOCK > ground.free_bytes / 4 {
            let free = units::bytes_rounded(ground.free_bytes);
            return Err(format!("1 GiB is more than a quarter of the {free} that are free"));
        }
        let own = |kernel| Entrant::Memory(work(kernel, Pages::Base, 1, array_bytes, time));
        let theirs =
            |options: &[&str]| Entrant::Program(sysbench::command(options, time), sysbench::parse);
        Ok(vec![
            own(Kernel::Write),
            own(Kernel::Read),
            theirs(&[]),
            theirs(&[&block]),
            theirs(&[&block, "--memory-oper=read"]),
        ])
    };
    let row = |pair, kernel, options| {
        let name = format!("{kernel}, 1 thread, base pages");
        rate(pair, name, format!("sysbench memory{options}"), Goal::Nothing, "")
    };
    let asked = vec![
        row((0, 2), Kernel::Write, ", as it is by default"),
        row((0, 3), Kernel::Write, ", blocks of 1 GiB"),
        row((1, 4), Kernel::Read, ", blocks of 1 GiB, reading"),
    ];
    Contest { entrants: entrants(), asked }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ground on which nothing can be measured, with `cores`.
    fn barren(cores: u32) -> Ground {
        Ground {
            cores,
            free_bytes: 0,
            array_bytes: Err("too little memory".to_owned()),
            likwid: Err("no likwid-bench".to_owned()),
            sysbench: Err("no sysbench".to_owned()),
            chase: Err("no gcc".to_owned()),
            numbers: Err("too little room".to_owned()),
            builds: Err("no compiler".to_owned()),
        }
    }

    #[test]
    fn what_is_missing_is_told_by_its_rows() {
        let ground = barren(2);
        let contests = contests(&ground, Duration::from_secs(1));
        let reasons: Vec<&String> =
            contests.iter().map(|contest| contest.entrants.as_ref().expect_err("barren")).collect();
        for reason in ["no likwid-bench", "too little memory", "too little room", "no sysbench"] {
            assert!(reasons.iter().any(|told| *told == reason), "{reason}: {reasons:?}");
        }
    }

    #[test]
    fn every_row_is_asked_once_and_of_entrants_that_are_there() {
        for (cores, rows) in [(1, 19), (2, 26)] {
            let ground = Ground {
                free_bytes: 64 << 30,
                array_bytes: Ok(1 << 27),
                likwid: Ok(()),
                sysbench: Ok(()),
                chase: Ok("/chase".into()),
                ..barren(cores)
            };
            let contests = contests(&ground, Duration::from_secs(1));
            let asked = contests.iter().flat_map(|contest| &contest.asked);
            let mut names: Vec<String> = asked
                .map(|asked| format!("{} {:?}", asked.question.name, asked.question.peer))
                .collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), rows, "{names:#?}");
            for contest in &contests {
                let Ok(entrants) = &contest.entrants else { continue };
                for asked in &contest.asked {
                    assert!(asked.ours.max(asked.theirs) < entrants.len(), "{asked:?}");
                }
            }
        }
    }
}
