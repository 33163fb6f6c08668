//! What is asked about writing, and of whom.

use super::contest::{Asked, Contest, Entrant, Quantity};
use super::duels::{self, Duel, Peer};
use super::figure::{Goal, Question, Row, Unit};
use super::numbers::TIME_MAX;
use super::stage::{FILE_BYTES, Stage, State};
use super::{dd, fio};
use anyhow::{Context, Result, ensure};
use model::case::{
    Advice, Allocation, Cache, Engine, Fill, Io, Isa, Op, ReadWork, Submission, Sync, Touch, Work,
    WriteEngine, WriteWork,
};
use model::content::Kind;
use model::pattern::{Pattern, Share};
use model::random::Rng;
use model::units;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes of a block of what is written in order; dd and fio have the same.
pub(super) const BLOCK_BYTES: u64 = 1 << 20;

/// Bytes of the file that is written over in the page cache: more than most last-level caches hold,
/// and few enough to stay dirty for the length of a trial.
pub(super) const CACHED_BYTES: u64 = 256 << 20;

/// How many times as many rounds the contests about what is durable have: the rate of a disk that
/// is shared with others may be three times as high in one second as in the next.
pub(super) const DURABLE_TIMES: usize = 3;

const WHY_SEQUENTIAL: &str = "\
    All wait for the same device, whose rate is not the same from one second to the next. What \
    differs otherwise is the copy into the page cache.";
const WHY_OTHER_DATA: &str = "\
    dd writes zeros, which the device, or what is below it, may leave out or compress: where it \
    does, they are faster than data that does not compress, whoever writes it.";
const WHY_DIRECT: &str = "\
    Where the device is slower than either program, both wait for it, and its noise decides.";
const WHY_CPU: &str = "\
    Most of the CPU time of a direct write is the operating system's, in the file system, the \
    block layer and the driver: it is the same for both, and no program can save it.";
const WHY_DATA: &str = "\
    Each page of the data has a stamp of its own, which is stored before the page is written.";

const RANDOM_WRITE: &[(&str, &str)] =
    &[("op", "write"), ("engine", "uring"), ("cache", "direct"), ("depth", "32")];

/// Both write over the same file, past the page cache.
pub(super) const DUELS: &[Duel] = &[
    Duel {
        peer: Peer::Fio(
            "--ioengine=io_uring --rw=randwrite --bs=4k --direct=1 --iodepth=32 --overwrite=1",
        ),
        axes: RANDOM_WRITE,
        state: State::Quiet,
        questions: &[
            (
                duels::Quantity::Iops,
                Question {
                    name: Cow::Borrowed("direct io_uring, 4 KiB random writes, depth 32: IOPS"),
                    peer: Some(Cow::Borrowed("fio io_uring")),
                    unit: Unit::PerSecond,
                    goal: Goal::AtLeast(1.0),
                    why: WHY_DIRECT,
                },
            ),
            (
                duels::Quantity::CpuNsPerOp,
                Question {
                    name: Cow::Borrowed(
                        "direct io_uring, 4 KiB random writes, depth 32: CPU time per operation",
                    ),
                    peer: Some(Cow::Borrowed("fio io_uring")),
                    unit: Unit::Nanoseconds,
                    goal: Goal::AtMost(0.8),
                    why: WHY_CPU,
                },
            ),
        ],
    },
    Duel {
        peer: Peer::Fio(
            "--ioengine=io_uring --rw=randwrite --bs=4k --direct=1 --iodepth=32 --overwrite=1 \
             --registerfiles --fixedbufs",
        ),
        axes: RANDOM_WRITE,
        state: State::Quiet,
        questions: &[
            (
                duels::Quantity::Iops,
                Question {
                    name: Cow::Borrowed(
                        "the same, fio with registered files and buffers too: IOPS",
                    ),
                    peer: Some(Cow::Borrowed("fio io_uring")),
                    unit: Unit::PerSecond,
                    goal: Goal::AtLeast(1.0),
                    why: WHY_DIRECT,
                },
            ),
            (
                duels::Quantity::CpuNsPerOp,
                Question {
                    name: Cow::Borrowed(
                        "the same, fio with registered files and buffers too: CPU time per \
                         operation",
                    ),
                    peer: Some(Cow::Borrowed("fio io_uring")),
                    unit: Unit::Nanoseconds,
                    goal: Goal::AtMost(0.8),
                    why: WHY_CPU,
                },
            ),
        ],
    },
];

/// What there is to measure with. What could not be had is a reason.
#[derive(Debug)]
pub(super) struct Site {
    /// Bytes of a file that is written anew, or why there is no room for it.
    pub(super) size: Result<u64, String>,
    pub(super) fio: Result<(), String>,
    /// The file that is written over in the page cache.
    pub(super) cached: Result<PathBuf, String>,
}

impl Site {
    /// Writes what is written over in the page cache. A file that is written anew is to have
    /// `size`, and half at least of the `disk_bytes` that are free are to be left.
    ///
    /// # Errors
    /// When somebody interrupted it.
    pub(super) fn new(stage: &Stage, fio: Result<()>, size: u64, disk_bytes: u64) -> Result<Site> {
        let cached = stage.path("cached");
        let created = stage.create(&cached, CACHED_BYTES, Kind::Random);
        stage.go_on()?;
        let text = |error: anyhow::Error| format!("{error:#}");
        let size = room(size, disk_bytes).map(|()| size).map_err(text);
        Ok(Site { size, fio: fio.map_err(text), cached: created.map(|()| cached).map_err(text) })
    }
}

fn room(size: u64, disk_bytes: u64) -> Result<()> {
    let [asked, free] = [size, disk_bytes].map(units::bytes_rounded);
    ensure!(
        size <= disk_bytes / 2,
        "a file of {asked} is more than half of the {free} that are free on the disk: give a \
         smaller --write-size"
    );
    Ok(())
}

/// The contests about what is durable. They are held in [`DURABLE_TIMES`] as many rounds as others.
pub(super) fn durable(site: &Site) -> Vec<Contest<'_>> {
    vec![sequential(site, Fill::Zero), sequential(site, Fill::Random)]
}

/// The contests about what the data costs. Trials last `time`.
pub(super) fn making(site: &Site, time: Duration) -> Vec<Contest<'_>> {
    vec![data(site, 4096, "4 KiB", time), data(site, BLOCK_BYTES, "1 MiB", time)]
}

/// Writing a new file in order and having it made durable, beside dd and fio.
fn sequential(site: &Site, fill: Fill) -> Contest<'static> {
    let entrants = || {
        let size = site.size.clone()?;
        site.fio.clone()?;
        let own: &[&str] = if fill == Fill::Zero { &["--zero_buffers"] } else { &[] };
        let program = |words, parse| Entrant::Writer { words, size, parse };
        Ok(vec![
            Entrant::Write(WriteWork {
                io: Io { block: BLOCK_BYTES, ..work(size, TIME_MAX).io },
                engine: WriteEngine::Write,
                sync: Sync::Fdatasync,
                allocation: Allocation::None,
                fill,
                ..work(size, TIME_MAX)
            }),
            program(dd::command(size / BLOCK_BYTES), dd::parse),
            program(fio::write_command(own, size), fio::parse_written),
        ])
    };
    let size = match site.size {
        Ok(size) => units::bytes(size),
        Err(_) => "a new file".to_owned(),
    };
    let (data, beside_dd, why_dd) = match fill {
        Fill::Zero => ("zeros", "dd", WHY_SEQUENTIAL),
        _ => ("data that does not compress", "dd, which writes zeros", WHY_OTHER_DATA),
    };
    let row = |theirs, peer: &'static str, why| {
        let question = Question {
            name: format!("{size} in order and fdatasync, {data}: durable").into(),
            peer: Some(peer.into()),
            unit: Unit::BytesPerSecond,
            goal: Goal::AtLeast(1.0),
            why,
        };
        Asked { ours: 0, theirs, less: None, quantity: Quantity::DurableBytesPerSecond, question }
    };
    let asked = vec![row(1, beside_dd, why_dd), row(2, "fio psync, end_fsync", WHY_SEQUENTIAL)];
    Contest { entrants: entrants(), asked }
}

/// What it costs to make the data of a block, which a row calls `size`, beside writing it into the
/// page cache.
fn data<'a>(site: &'a Site, block: u64, size: &str, time: Duration) -> Contest<'a> {
    let entrants = |cached| {
        let over = WriteWork {
            io: Io { block, ..work(CACHED_BYTES, time).io },
            ..work(CACHED_BYTES, time)
        };
        let null = WriteWork { engine: WriteEngine::Null, ..over };
        vec![
            Entrant::Null(Work::Write(null)),
            Entrant::Null(Work::Read(read_nothing(block, time))),
            Entrant::Overwrite(
                WriteWork { io: Io { cache: Cache::Warm, ..over.io }, ..over },
                cached,
            ),
        ]
    };
    let question = Question {
        name: format!("making {size} of data, beside writing them into the page cache: time")
            .into(),
        peer: Some(format!("pwrite of {size}").into()),
        unit: Unit::Nanoseconds,
        goal: Goal::AtMost(0.03),
        why: WHY_DATA,
    };
    let asked = Asked { ours: 0, theirs: 2, less: Some(1), quantity: Quantity::NsPerOp, question };
    let cached = site.cached.as_deref().map_err(String::clone);
    Contest { entrants: cached.map(entrants), asked: vec![asked] }
}

/// Writing over a file in order, without a sync.
fn work(size: u64, time: Duration) -> WriteWork {
    WriteWork {
        io: Io {
            cache: Cache::AsIs,
            pattern: Pattern::Sequential,
            stride: 1,
            size,
            block: BLOCK_BYTES,
            depth: 1,
            threads: 1,
            share: Share::Contiguous,
            ops: 0,
            time,
        },
        op: Op::Write,
        engine: WriteEngine::Pwrite,
        sync: Sync::None,
        every: 0,
        allocation: Allocation::Overwrite,
        fill: Fill::Random,
    }
}

/// The loop alone, over as many blocks and in the same order.
fn read_nothing(block: u64, time: Duration) -> ReadWork {
    ReadWork {
        io: Io {
            cache: Cache::AsIs,
            pattern: Pattern::Sequential,
            stride: 1,
            size: CACHED_BYTES,
            block,
            depth: 1,
            threads: 1,
            share: Share::Contiguous,
            ops: 0,
            time,
        },
        engine: Engine::Null,
        touch: Touch::None,
        isa: Isa::Auto,
        advice: Advice::None,
        submission: Submission::Enter,
    }
}

/// Fights all duels, over a file that is made for them and removed. What could not be measured is
/// a row that says why.
///
/// # Errors
/// When somebody interrupted it.
pub(super) fn fight(stage: &Stage, pairs: usize, rng: &mut Rng) -> Result<Vec<Row>> {
    let file = stage.file();
    let created = stage.create(Path::new(&file), FILE_BYTES, Kind::Random);
    let created = created.map_err(|error| format!("{error:#}"));
    let mut rows = Vec::new();
    for duel in DUELS {
        let fought = created.clone().and_then(|()| {
            duels::fight(duel, stage, pairs, rng).map_err(|error| format!("{error:#}"))
        });
        stage.go_on()?;
        rows.extend(fought.unwrap_or_else(|reason| duel.not_fought(&reason)));
    }
    if created.is_ok() {
        std::fs::remove_file(&file).context(file)?;
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::case::Case;
    use model::plan::Place;
    use model::zoo;

    fn site() -> Site {
        Site { size: Ok(1 << 30), fio: Ok(()), cached: Ok("/cached".into()) }
    }

    fn contests(site: &Site) -> Vec<Contest<'_>> {
        durable(site).into_iter().chain(making(site, Duration::from_secs(1))).collect()
    }

    #[test]
    fn every_row_is_asked_once_and_of_entrants_that_are_there() {
        let site = site();
        let contests = contests(&site);
        let mut names = Vec::new();
        for contest in &contests {
            let entrants = contest.entrants.as_ref().expect("nothing is missing");
            for asked in &contest.asked {
                let places = [asked.ours, asked.theirs, asked.less.unwrap_or(0)];
                assert!(places.iter().all(|place| *place < entrants.len()), "{asked:?}");
                names.push(format!("{} {:?}", asked.question.name, asked.question.peer));
            }
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 6, "{names:#?}");
    }

    #[test]
    fn what_is_missing_is_told_by_its_rows() {
        let missing = |what: &str| Err(what.to_owned());
        for (site, expected) in [
            (Site { size: room(9, 17).map(|()| 9).map_err(|e| e.to_string()), ..site() }, 2),
            (Site { fio: missing("no fio").map(|_: u8| ()), ..site() }, 2),
            (Site { cached: missing("no file").map(|_: u8| PathBuf::new()), ..site() }, 2),
            (site(), 0),
        ] {
            let contests = contests(&site);
            let barren = contests.iter().filter(|contest| contest.entrants.is_err()).count();
            assert_eq!(barren, expected, "{site:?}");
        }
        assert!(room(9, 18).is_ok(), "half of the disk is left");
    }

    #[test]
    fn no_case_is_one_that_is_refused() {
        let site = site();
        let mut cases: Vec<Case> = Vec::new();
        for contest in contests(&site) {
            for entrant in contest.entrants.expect("nothing is missing") {
                cases.extend(match entrant {
                    Entrant::Null(work) => Some(Case::own(work)),
                    Entrant::Write(work) | Entrant::Overwrite(work, _) => {
                        Some(Case::own(Work::Write(work)))
                    }
                    _ => None,
                });
            }
        }
        for duel in DUELS {
            cases.push(duel.case(Duration::from_secs(1)).expect("its axes are known"));
        }
        assert_eq!(cases.len(), 10);
        let (host, storage) = (zoo::host(), zoo::storage());
        let place = Place { host: &host, storage: Some(&storage), peers: &[] };
        for case in cases {
            assert_eq!(place.refusal(&case), None, "{}", case.id());
        }
    }
}
