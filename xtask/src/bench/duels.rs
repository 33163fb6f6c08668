//! ioassay beside a peer that does the same work: interleaved pairs, each in a random order.

use super::figure::{Goal, Question, Row, Unit};
use super::fio;
use super::stage::{FILE_BYTES, Stage, State};
use super::worker::Measured;
use anyhow::{Context, Result};
use model::case::Case;
use model::random::Rng;
use model::trial::Job;
use model::units;
use std::borrow::Cow;
use std::time::Duration;

/// Who does the same work.
#[derive(Debug, Clone, Copy)]
pub(super) enum Peer {
    /// fio with these arguments.
    Fio(&'static str),
    /// The loop of crates/worker/examples/bare_pread.rs.
    BarePread,
}

/// What is taken from a trial.
#[derive(Debug, Clone, Copy)]
pub(super) enum Quantity {
    Iops,
    NsPerOp,
    CpuNsPerOp,
}

impl Quantity {
    fn of(self, measured: Measured) -> Result<f64> {
        match self {
            Quantity::Iops => Ok(measured.iops),
            Quantity::NsPerOp => Ok(1e9 / measured.iops),
            Quantity::CpuNsPerOp => measured.cpu_ns_per_op.context("the peer tells no CPU time"),
        }
    }
}

/// The same work done by both, and what is asked about it.
#[derive(Debug)]
pub(super) struct Duel {
    pub(super) peer: Peer,
    /// The axes of ioassay's case, where they differ from what is usual. With the axis `op` it is
    /// one that writes.
    pub(super) axes: &'static [(&'static str, &'static str)],
    pub(super) state: State,
    pub(super) questions: &'static [(Quantity, Question)],
}

/// What is usual of a case that reads.
const USUAL: [(&str, &str); 12] = [
    ("engine", "pread"),
    ("cache", "warm"),
    ("pattern", "random"),
    ("stride", "1"),
    ("block", "4KiB"),
    ("depth", "1"),
    ("threads", "1"),
    ("share", "contiguous"),
    ("touch", "none"),
    ("advice", "none"),
    ("submission", "enter"),
    ("ops", "0"),
];

/// What is usual of a case that writes.
const USUAL_WRITE: [(&str, &str); 13] = [
    ("engine", "pwrite"),
    ("cache", "as-is"),
    ("pattern", "random"),
    ("stride", "1"),
    ("block", "4KiB"),
    ("depth", "1"),
    ("threads", "1"),
    ("share", "contiguous"),
    ("sync", "none"),
    ("every", "0"),
    ("allocation", "overwrite"),
    ("fill", "random"),
    ("ops", "0"),
];

const WHY_NULL: &str = "\
    What is left of an operation is one time stamp, one entry in a histogram and one step of \
    a random order; a stamp alone is 10 to 40 ns where the processor's counter is \
    virtualised.";
const WHY_PREAD: &str = "\
    Both spend most of the time in the same system call and its copy of 4 KiB: the slower \
    the machine's system calls are, the nearer is the ratio to 1.";
const WHY_BARE: &str = "\
    A time stamp and an entry in a histogram for each operation are what the loop adds.";
const WHY_MMAP: &str = "\
    Missing page tables, not the loop, are what a mapping costs on its first pass.";
const WHY_DIRECT: &str = "\
    Where the device is slower than either program, both wait for it, and its noise decides. \
    fio hands over each operation by a system call of its own, as soon as the one before it \
    came back; ioassay hands over in one call all that came back at once, which saves CPU \
    time, but the device gets some of it later.";
const WHY_CPU: &str = "\
    Most of the CPU time of a direct read is the operating system's, in the file system, the \
    block layer and the driver: it is the same for both, and no program can save it.";

const DIRECT_RANDOM: &[(&str, &str)] = &[("engine", "uring"), ("cache", "direct"), ("depth", "32")];

/// All duels, in the order in which they are fought.
pub(super) const DUELS: &[Duel] = &[
    Duel {
        peer: Peer::Fio("--ioengine=null --rw=randread --bs=4k --thread"),
        axes: &[("engine", "null"), ("cache", "as-is")],
        state: State::Any,
        questions: &[
            (
                Quantity::NsPerOp,
                Question {
                    name: Cow::Borrowed(
                        "null, 4 KiB random, every latency recorded: time per operation",
                    ),
                    peer: None,
                    unit: Unit::Nanoseconds,
                    goal: Goal::AtMost(60.0),
                    why: WHY_NULL,
                },
            ),
            (
                Quantity::Iops,
                Question {
                    name: Cow::Borrowed("null, 4 KiB random, every latency recorded: IOPS"),
                    peer: Some(Cow::Borrowed("fio null")),
                    unit: Unit::PerSecond,
                    goal: Goal::AtLeast(4.5),
                    why: WHY_NULL,
                },
            ),
        ],
    },
    Duel {
        peer: Peer::Fio("--ioengine=null --rw=randread --bs=4k --thread --norandommap"),
        axes: &[("engine", "null"), ("cache", "as-is")],
        state: State::Any,
        questions: &[(
            Quantity::Iops,
            Question {
                name: Cow::Borrowed("the same, fio without its map of blocks already read: IOPS"),
                peer: Some(Cow::Borrowed("fio null")),
                unit: Unit::PerSecond,
                goal: Goal::AtLeast(4.5),
                why: WHY_NULL,
            },
        )],
    },
    Duel {
        peer: Peer::Fio("--ioengine=psync --rw=randread --bs=4k"),
        axes: &[],
        state: State::Warm,
        questions: &[(
            Quantity::Iops,
            Question {
                name: Cow::Borrowed("warm pread, 4 KiB random, every latency recorded: IOPS"),
                peer: Some(Cow::Borrowed("fio psync")),
                unit: Unit::PerSecond,
                goal: Goal::AtLeast(1.15),
                why: WHY_PREAD,
            },
        )],
    },
    Duel {
        peer: Peer::BarePread,
        axes: &[],
        state: State::Warm,
        questions: &[(
            Quantity::Iops,
            Question {
                name: Cow::Borrowed("the same beside a bare loop without a clock: IOPS"),
                peer: Some(Cow::Borrowed("bare pread")),
                unit: Unit::PerSecond,
                goal: Goal::AtLeast(0.95),
                why: WHY_BARE,
            },
        )],
    },
    Duel {
        peer: Peer::Fio("--ioengine=mmap --rw=randread --bs=4k"),
        axes: &[("engine", "mmap"), ("touch", "page")],
        state: State::Warm,
        questions: &[(
            Quantity::Iops,
            Question {
                name: Cow::Borrowed("warm mmap, 4 KiB random, each page touched: IOPS"),
                peer: Some(Cow::Borrowed("fio mmap")),
                unit: Unit::PerSecond,
                goal: Goal::AtLeast(1.3),
                why: WHY_MMAP,
            },
        )],
    },
    Duel {
        peer: Peer::Fio("--ioengine=io_uring --rw=randread --bs=4k --direct=1 --iodepth=32"),
        axes: DIRECT_RANDOM,
        state: State::Evicted,
        questions: &[
            (
                Quantity::Iops,
                Question {
                    name: Cow::Borrowed("direct io_uring, 4 KiB random, depth 32: IOPS"),
                    peer: Some(Cow::Borrowed("fio io_uring")),
                    unit: Unit::PerSecond,
                    goal: Goal::AtLeast(1.0),
                    why: WHY_DIRECT,
                },
            ),
            (
                Quantity::CpuNsPerOp,
                Question {
                    name: Cow::Borrowed(
                        "direct io_uring, 4 KiB random, depth 32: CPU time per operation",
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
            "--ioengine=io_uring --rw=randread --bs=4k --direct=1 --iodepth=32 --registerfiles \
             --fixedbufs",
        ),
        axes: DIRECT_RANDOM,
        state: State::Evicted,
        questions: &[
            (
                Quantity::Iops,
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
                Quantity::CpuNsPerOp,
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
    Duel {
        peer: Peer::Fio("--ioengine=io_uring --rw=read --bs=1m --direct=1 --iodepth=8"),
        axes: &[
            ("engine", "uring"),
            ("cache", "direct"),
            ("pattern", "sequential"),
            ("block", "1MiB"),
            ("depth", "8"),
        ],
        state: State::Evicted,
        questions: &[(
            Quantity::Iops,
            Question {
                name: Cow::Borrowed("direct io_uring, 1 MiB sequential, depth 8: blocks"),
                peer: Some(Cow::Borrowed("fio io_uring")),
                unit: Unit::PerSecond,
                goal: Goal::AtLeast(1.0),
                why: WHY_DIRECT,
            },
        )],
    },
];

/// Fights `duel` in `pairs` pairs; `rng` decides who begins each, and the order of blocks.
pub(super) fn fight(duel: &Duel, stage: &Stage, pairs: usize, rng: &mut Rng) -> Result<Vec<Row>> {
    let mut worker = stage.worker(stage.time)?;
    let case = duel.case(stage.time)?;
    let mut measured = Vec::new();
    for _ in 0..pairs {
        let seed = rng.next_u64();
        let job = Job { case: case.clone(), seed, file: Some(stage.file().into()), source: None };
        let mut own = || stage.set(duel.state).and_then(|()| worker.trial(&job));
        let peer = || stage.set(duel.state).and_then(|()| duel.peer.measure(stage, seed));
        let (ours, theirs);
        if rng.below(2) == 0 {
            ours = own()?;
            theirs = peer()?;
        } else {
            theirs = peer()?;
            ours = own()?;
        }
        stage.go_on()?;
        measured.push((ours, theirs));
    }
    duel.questions.iter().map(|(quantity, question)| row(*quantity, question, &measured)).collect()
}

/// The case of the first duel, which moves no data.
pub(super) fn null_case(time: Duration) -> Result<Case> {
    DUELS[0].case(time)
}

impl Duel {
    /// The case that ioassay's worker is given: its axes, and what is usual for the rest.
    pub(super) fn case(&self, time: Duration) -> Result<Case> {
        let axes = self.axes;
        let is_given = |axis: &str| axes.iter().any(|(given, _)| *given == axis);
        let usual = if is_given("op") { &USUAL_WRITE[..] } else { &USUAL };
        let usual = usual.iter().filter(|(axis, _)| !is_given(axis));
        let all = axes.iter().chain(usual).map(|(axis, value)| (*axis, (*value).to_owned()));
        let size = ("size", units::bytes(FILE_BYTES));
        let all: Vec<_> = all.chain([size, ("time", units::time(time))]).collect();
        Ok(Case::from_axes(&all)?)
    }

    /// The command lines of fio in `duels`, as they are told to a reader.
    pub(super) fn calls(duels: &[Duel], time: Duration) -> Vec<String> {
        let call = |duel: &Duel| match duel.peer {
            Peer::Fio(own) => Some(fio::command_line(own, FILE_BYTES, time)),
            Peer::BarePread => None,
        };
        duels.iter().filter_map(call).collect()
    }

    /// Its rows where it could not be fought, for this `reason`.
    pub(super) fn not_fought(&self, reason: &str) -> Vec<Row> {
        let row = |(_, question): &(Quantity, Question)| Row {
            question: question.clone(),
            answer: Err(reason.to_owned()),
        };
        self.questions.iter().map(row).collect()
    }
}

/// The row that answers `question` out of the pairs.
fn row(quantity: Quantity, question: &Question, measured: &[(Measured, Measured)]) -> Result<Row> {
    let of = |measured| quantity.of(measured);
    let ours = measured.iter().map(|(ours, _)| of(*ours)).collect::<Result<_>>()?;
    let theirs = match &question.peer {
        Some(_) => measured.iter().map(|(_, theirs)| of(*theirs)).collect::<Result<_>>()?,
        None => Vec::new(),
    };
    Ok(Row::measured(question.clone(), ours, theirs))
}

impl Peer {
    fn measure(self, stage: &Stage, seed: u64) -> Result<Measured> {
        match self {
            Peer::Fio(own) => fio::run(own, &stage.file(), FILE_BYTES, stage.time),
            Peer::BarePread => {
                let iops = 1e9 / stage.bare_pread_ns(seed)?;
                Ok(Measured { iops, cpu_ns_per_op: None })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(iops: f64) -> Measured {
        Measured { iops, cpu_ns_per_op: Some(iops * 2.0) }
    }

    #[test]
    fn every_duel_is_of_a_case() {
        for duel in DUELS {
            let case = duel.case(Duration::from_secs(2)).expect("its axes are known");
            let axes = case.axes();
            for (axis, value) in duel.axes {
                assert!(axes.contains(&(axis, (*value).to_owned())), "{axis} is not {value}");
            }
        }
    }

    #[test]
    fn a_row_takes_its_quantity_from_both_sides() {
        let pairs = [(measured(10.0), measured(5.0)), (measured(20.0), measured(4.0))];
        let (_, with_peer) = &DUELS[0].questions[1];
        let (_, without) = &DUELS[0].questions[0];
        for (quantity, question, ours, theirs) in [
            (Quantity::Iops, with_peer, vec![10.0, 20.0], vec![5.0, 4.0]),
            (Quantity::CpuNsPerOp, with_peer, vec![20.0, 40.0], vec![10.0, 8.0]),
            (Quantity::NsPerOp, without, vec![1e8, 5e7], vec![]),
        ] {
            let row = row(quantity, question, &pairs).expect("both have the quantity");
            let figures = row.answer.expect("it was measured");
            assert_eq!((figures.ours, figures.theirs), (ours, theirs), "{quantity:?}");
        }
        let none = [(measured(1.0), Measured { iops: 1.0, cpu_ns_per_op: None })];
        assert!(row(Quantity::CpuNsPerOp, with_peer, &none).is_err(), "one side has none");
    }
}
