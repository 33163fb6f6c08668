//! Figures of cases only: intervals, the time spent in a trial, builds, comparisons and verdicts.

use super::families::{OPERATION, no_labels};
use super::table::{operations, until_durable, writing};
use super::{CaseMetric, Metric, PLAIN, Unit};
use crate::concerned::marks;
use crate::sentence::said_ratio;
use crate::sparkline::sparkline;
use crate::words::{self, NONE, times, times_interval};
use crate::writes;
use assess::Assessment;
use assess::conclusions::touches::Touching;
use assess::ratio::Ratio;
use assess::summary::Spent;
use assess::summary::Summary;
use model::case::Isa;
use model::peer::Peer;
use model::shape::chosen;
use model::units;

const fn spent(
    name: &'static str,
    unit: Unit,
    meaning: &'static str,
    of: fn(&Summary) -> Option<f64>,
) -> Metric {
    let (title, legend, case) = (name, meaning, CaseMetric::Plain(of));
    Metric { name, title, unit, meaning, legend, case, ..PLAIN }
}

const fn said(
    name: &'static str,
    title: &'static str,
    meaning: &'static str,
    of: fn(&Summary, &Assessment) -> String,
) -> Metric {
    let (unit, legend, case) = (Unit::Text, meaning, CaseMetric::Words(of));
    Metric { name, title, unit, meaning, legend, case, ..PLAIN }
}

fn of_trial(summary: &Summary, of: fn(Spent) -> Option<f64>) -> Option<f64> {
    of(summary.spent?)
}

fn or_none(text: Option<String>) -> String {
    text.unwrap_or(NONE.to_string())
}

/// The number of timed operations; of timed syncs, if there are any.
fn timed(summary: &Summary) -> Option<f64> {
    let syncs = until_durable(summary).map(|it| it.count).filter(|count| *count > 0);
    Some(syncs.unwrap_or(summary.latency.count)).filter(|count| *count > 0).map(|it| it as f64)
}

/// Flushes and syncs of a trial: `1024/1020`.
fn flushes(summary: &Summary) -> String {
    let or_none = |count: Option<u64>| count.map_or(NONE.to_string(), |count| count.to_string());
    let of_names = summary.names.filter(|it| it.syncs_per_trial.is_some());
    let of_names = of_names.map(|it| (it.flushes_per_trial, it.syncs_per_trial));
    let all = writing(summary).map(|it| (it.flushes_per_trial, it.syncs_per_trial)).or(of_names);
    match all {
        None | Some((None, None)) => NONE.to_string(),
        Some((flushes, syncs)) => format!("{}/{}", or_none(flushes), or_none(syncs)),
    }
}

/// The metrics of cases only.
pub(crate) const OF_CASES: &[Metric] = &[
    Metric {
        name: "operation",
        title: "time/op",
        unit: Unit::Nanoseconds,
        meaning: "of a thread for an operation, all it has in flight together",
        case: CaseMetric::Estimate(|it| it.ns_per_op),
        gauge: Some((OPERATION, no_labels)),
        legend: "of a thread for an operation, without a sync at the end",
        ..PLAIN
    },
    Metric {
        name: "rounds",
        title: "rounds",
        unit: Unit::Number,
        meaning: "trials that count",
        case: CaseMetric::Words(|it, _| it.n.to_string()),
        ..PLAIN
    },
    Metric {
        name: "interval",
        title: "95 % CI",
        unit: Unit::Text,
        meaning: "the 95 % interval of the throughput",
        said: Some(|it| words::main_figure(it).1),
        ..PLAIN
    },
    Metric {
        name: "acknowledged_interval",
        title: "95 % CI",
        unit: Unit::Text,
        meaning: "the 95 % interval of the acknowledged throughput",
        said: Some(|it| writes::acknowledged(writing(it)).1),
        ..PLAIN
    },
    Metric {
        name: "durable_interval",
        title: "95 % CI",
        unit: Unit::Text,
        meaning: "the 95 % interval of the durable throughput",
        said: Some(|it| writes::durable(it).1),
        ..PLAIN
    },
    Metric {
        name: "iops_interval",
        title: "95 % CI",
        unit: Unit::Text,
        meaning: "the 95 % interval of the operations a second",
        said: Some(|it| match operations(it) {
            Some(all) => words::interval(all.low, all.high, units::scaled),
            None => NONE.to_string(),
        }),
        ..PLAIN
    },
    Metric {
        name: "timed",
        title: "timed",
        unit: Unit::Number,
        meaning: "how many operations were timed, or how many syncs",
        legend: "how many operations, or syncs",
        case: CaseMetric::Plain(timed),
        ..PLAIN
    },
    Metric {
        name: "flushes",
        title: "flushes/syncs",
        unit: Unit::Number,
        meaning: "of a trial: the flushes that the devices completed for anyone, and the syncs; a \
                  write with O_DSYNC may go through to the medium (FUA), which is no flush",
        legend: "of a trial, the flushes that the devices completed for anyone, and the syncs; \
                 O_DSYNC may write through to the medium (FUA), which is no flush",
        case: CaseMetric::Plain(|it| {
            let of_names = || it.names?.flushes_per_trial;
            Some(writing(it).map_or_else(of_names, |it| it.flushes_per_trial)? as f64)
        }),
        said: Some(flushes),
        ..PLAIN
    },
    Metric {
        name: "uncached",
        title: "not cached",
        unit: Unit::Percent,
        meaning: "names that the OS's cache grew by, for each 100 that a trial used",
        legend: "names that the OS's cache grew by, for each 100 that a trial used",
        case: CaseMetric::Plain(|it| Some(100.0 * it.names?.brought_share?)),
        ..PLAIN
    },
    Metric {
        name: "reads",
        title: "device reads",
        unit: Unit::Number,
        meaning: "requests of a trial that the devices completed, for anyone",
        case: CaseMetric::Plain(|it| Some(it.names?.device_reads? as f64)),
        ..PLAIN
    },
    Metric {
        name: "rate",
        title: "rate",
        unit: Unit::Text,
        meaning: "which rate the throughput is",
        case: CaseMetric::Words(|it, _| words::rate_kind(it).to_string()),
        ..PLAIN
    },
    Metric {
        name: "spread",
        title: "min/mean/max",
        unit: Unit::Text,
        meaning: "of the rounds",
        said: Some(words::spread),
        ..PLAIN
    },
    Metric {
        name: "idle",
        title: "idle",
        unit: Unit::Percent,
        meaning: "mean idle share of the threads",
        case: CaseMetric::Plain(|it| it.imbalance_percent),
        ..PLAIN
    },
    Metric {
        name: "cpu_per_op",
        title: "CPU/op",
        unit: Unit::Nanoseconds,
        meaning: "CPU time of an operation, over all threads",
        case: CaseMetric::Plain(|it| it.cpu_ns_per_op),
        ..PLAIN
    },
    Metric {
        name: "ceiling",
        title: "ceiling",
        unit: Unit::Number,
        meaning: "how near the throughput comes to what bounds it",
        legend: "share of what bounds it in this run: memory (mem) or the device (dev)",
        said: Some(words::ceiling),
        short: Some(words::ceiling_short),
        ..PLAIN
    },
    Metric {
        name: "served_by",
        title: "served by",
        unit: Unit::Text,
        meaning: "what served the bytes, by the evidence",
        case: CaseMetric::Words(|it, all| words::served_by(it, all.header.storage.as_ref())),
        ..PLAIN
    },
    Metric {
        name: "hits",
        title: "hits",
        unit: Unit::Percent,
        meaning: "share of the bytes that the page cache served",
        legend: "share of the bytes that the page cache served",
        case: CaseMetric::Plain(|it| Some(it.hit_share? * 100.0)),
        said: Some(|it| words::hits(it).unwrap_or_else(|| NONE.to_string())),
        ..PLAIN
    },
    Metric {
        name: "cacheable",
        title: "cacheable",
        unit: Unit::Percent,
        meaning: "largest share of a zipf pattern that a cache within the memory limit can serve",
        legend: "the most that a cache within the memory limit could serve of this pattern",
        case: CaseMetric::Plain(|it| Some(it.cacheable_share? * 100.0)),
        ..PLAIN
    },
    Metric {
        name: "verdict",
        title: "verdict",
        unit: Unit::Text,
        meaning: "whether the figures are sound, doubtful or void",
        case: CaseMetric::Words(|it, all| {
            let marks = marks(it, all);
            let apart = if marks.is_empty() { "" } else { " " };
            format!("{}{apart}{marks}", it.verdict)
        }),
        ..PLAIN
    },
    spent(
        "wall",
        Unit::Nanoseconds,
        "of a trial, from the first thread's start to the last one's end, syncs included",
        |it| of_trial(it, |spent| Some(spent.wall_ns)),
    ),
    spent("user", Unit::Nanoseconds, "CPU time in user mode", |it| {
        of_trial(it, |spent| spent.user_ns)
    }),
    spent("system", Unit::Nanoseconds, "CPU time in the kernel", |it| {
        of_trial(it, |spent| spent.system_ns)
    }),
    Metric {
        title: "CPU",
        ..spent("cpu", Unit::Percent, "CPU time of a trial, of one processor", |it| {
            of_trial(it, |spent| Some(spent.processors * 100.0))
        })
    },
    spent(
        "blocked",
        Unit::Percent,
        "share of the time in which the threads neither ran nor waited for a processor",
        |it| of_trial(it, |spent| Some(spent.blocked_share? * 100.0)),
    ),
    said("over_time", "over time", "", |it, _| {
        or_none(it.course.as_ref().map(|course| sparkline(&course.rates)))
    }),
    Metric {
        title: "bus (est.)",
        case: CaseMetric::Estimate(|it| it.bus),
        ..spent("bus", Unit::BytesPerSecond, "estimated bytes a second on the memory bus", |_| None)
    },
    Metric {
        title: "once loaded",
        said: Some(|it| {
            let loaded = it.loaded.as_ref();
            let rate = loaded.map(|loaded| units::rate(loaded.throughput.median));
            rate.unwrap_or_else(|| words::main_figure(it).0)
        }),
        ..spent("loaded", Unit::BytesPerSecond, "throughput without set-up", |it| {
            Some(it.loaded.as_ref()?.throughput.median)
        })
    },
    Metric {
        title: "set-up",
        ..spent(
            "load",
            Unit::Nanoseconds,
            "time to map or load, which is in the throughput",
            |it| Some(it.loaded.as_ref()?.load_ns.median),
        )
    },
    Metric {
        legend: "",
        ..spent("counted", Unit::Number, "numbers found by a trial", |it| Some(it.counted? as f64))
    },
    said("digest", "digest", "", |it, _| {
        let said = it.digest_verified.map(|is_right| if is_right { "right" } else { "wrong" });
        or_none(said.map(str::to_string))
    }),
    said("built_with", "built with", "", |it, all| {
        peer(it, all).and_then(flags).unwrap_or_default()
    }),
    said("vectors", "vectors", "", vectors),
    Metric {
        unit: Unit::Number,
        ..said(
            "of_baseline",
            "of baseline",
            "ratio to the case it is compared with first, by paired rounds",
            |it, all| {
                let found = all.comparisons.iter().find(|found| found.case == it.id);
                or_none(found.map(|found| {
                    let (pairs, invocations) = (found.pairs, found.invocations);
                    let (median, low, high) = (found.ratio, found.low, found.high);
                    said_ratio(&Ratio { pairs, invocations, median, low, high }).to_string()
                }))
            },
        )
    },
    Metric {
        unit: Unit::Number,
        ..said(
            "memory_by_file",
            "memory by file",
            "operations a second in memory, touched for the second time, over those of the row, \
             without its sync",
            |it, all| or_none(touching(it, all).map(|held| times(held.ratio.median))),
        )
    },
    said("memory_by_file_interval", "95 % CI", "", |it, all| {
        or_none(touching(it, all).and_then(|it| times_interval(it.ratio.low, it.ratio.high)))
    }),
];

fn touching<'a>(summary: &Summary, assessment: &'a Assessment) -> Option<&'a Touching> {
    assessment.conclusions.touches.iter().find(|held| held.file.id == summary.id)
}

fn peer<'a>(summary: &Summary, assessment: &'a Assessment) -> Option<&'a Peer> {
    assessment.header.peers.iter().find(|peer| peer.name == summary.case.peer)
}

/// The options of a build, without those that every build has.
fn flags(peer: &Peer) -> Option<String> {
    let words = peer.build.as_deref()?.split(' ');
    let is_told = |word: &&str| ["-O", "-m", "-D"].iter().any(|option| word.starts_with(option));
    Some(words.filter(is_told).collect::<Vec<_>>().join(" "))
}

/// The instruction set of the loop that the run chose, if it chose one.
fn chosen_isa(summary: &Summary, assessment: &Assessment) -> Option<Isa> {
    chosen(&assessment.header.calibrated, summary.case.walk()).map(|shape| shape.isa)
}

/// The width of vectors: for a peer, from its object code; for this program's own loops, from the
/// instruction set.
fn vectors(summary: &Summary, assessment: &Assessment) -> String {
    let bits = match (peer(summary, assessment), summary.case.memory()) {
        (Some(peer), _) => peer.vector_bits,
        (None, Some(work)) => match chosen_isa(summary, assessment).unwrap_or(work.isa) {
            Isa::Auto => None,
            Isa::Scalar => Some(0),
            Isa::Sse2 | Isa::Neon => Some(128),
            Isa::Avx2 => Some(256),
            Isa::Avx512 => Some(512),
        },
        (None, None) => None,
    };
    or_none(bits.map(|bits| match bits {
        0 => "none".to_string(),
        bits => format!("{bits} bits"),
    }))
}
