//! Figures of cases only: intervals, the time spent in a trial, builds, comparisons and verdicts.

use super::families::{OPERATION, no_labels};
use super::table::{operations, until_durable, writing};
use super::{CaseMetric, Metric, Unit, metric};
use crate::concerned::marks;
use crate::sentence::said_ratio;
use crate::sparkline::sparkline;
use crate::words::{self, NONE, or_none, times, times_interval};
use crate::writes;
use assess::Assessment;
use assess::conclusions::touches::Touching;
use assess::ratio::Ratio;
use assess::summary::Summary;
use assess::told::BYTES_PER_SECOND;
use assess::trials::Fate;
use model::case::Isa;
use model::peer::Peer;
use model::shape::chosen;
use model::units;

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
    let of_command = summary.command.as_ref().map(|it| (it.flushes, it.syncs));
    let all = writing(summary).map(|it| (it.flushes_per_trial, it.syncs_per_trial)).or(of_names);
    let all = all.or(of_command);
    match all {
        None | Some((None, None)) => NONE.to_string(),
        Some((flushes, syncs)) => format!("{}/{}", or_none(flushes), or_none(syncs)),
    }
}

/// How long it took from a command's start until what it wrote was synced.
fn durable_after(summary: &Summary) -> String {
    let counted = summary.trials.iter().filter(|trial| trial.fate == Fate::Counted);
    let mut all: Vec<u64> = counted.filter_map(|trial| trial.figures.as_ref()?.synced_ns).collect();
    all.sort_unstable();
    let middle = all.len().checked_sub(1).map(|last| (all[last / 2], all[all.len() / 2]));
    let median = middle.map(|(low, high)| f64::midpoint(low as f64, high as f64));
    or_none(median.map(units::nanoseconds))
}

/// The number that a command prints about itself: `914 MB/s (880-950)`.
fn says(summary: &Summary) -> String {
    let Some(told) = &summary.told else { return NONE.to_string() };
    let is_rate = told.unit.as_deref() == Some(BYTES_PER_SECOND);
    let say = match &told.unit {
        Some(_) if is_rate => units::rate,
        Some(_) => units::in_its_unit,
        None => |number: f64| units::scaled(number).trim_end().to_string(),
    };
    let (value, interval) = words::with_interval(Some(told.value), say);
    let unit = told.unit.as_ref().filter(|_| !is_rate);
    let unit = unit.map_or(String::new(), |unit| format!(" {unit}"));
    let interval = if interval == NONE { String::new() } else { format!(" ({interval})") };
    format!("{value}{unit}{interval}")
}

/// The metrics of cases only.
pub(crate) const OF_CASES: &[Metric] = &[
    metric("operation", "time/op", Unit::Nanoseconds)
        .meaning("of a thread for an operation, all it has in flight together")
        .legend("of a thread for an operation, without a sync at the end")
        .case(CaseMetric::Estimate(|it| it.ns_per_op))
        .gauge(OPERATION, no_labels),
    metric("rounds", "rounds", Unit::Number)
        .meaning("trials that count")
        .case(CaseMetric::Words(|it, _| it.n.to_string())),
    metric("interval", "95 % CI", Unit::Text)
        .meaning("the 95 % interval of the throughput")
        .said(|it| words::main_figure(it).1),
    metric("acknowledged_interval", "95 % CI", Unit::Text)
        .meaning("the 95 % interval of the acknowledged throughput")
        .said(|it| writes::acknowledged(writing(it)).1),
    metric("durable_interval", "95 % CI", Unit::Text)
        .meaning("the 95 % interval of the durable throughput")
        .said(|it| writes::durable(it).1),
    metric("iops_interval", "95 % CI", Unit::Text)
        .meaning("the 95 % interval of the operations a second")
        .said(|it| words::with_interval(operations(it), units::scaled).1),
    metric("timed", "timed", Unit::Number)
        .meaning("how many operations were timed, or how many syncs")
        .legend("how many operations, or syncs")
        .case(CaseMetric::Plain(timed)),
    metric("flushes", "flushes/syncs", Unit::Number)
        .meaning(
            "of a trial: the flushes that the devices completed for anyone, and the syncs; a \
                  write with O_DSYNC may go through to the medium (FUA), which is no flush",
        )
        .legend(
            "of a trial, the flushes that the devices completed for anyone, and the syncs; \
                 O_DSYNC may write through to the medium (FUA), which is no flush",
        )
        .case(CaseMetric::Plain(|it| {
            let of_command = || it.command.as_ref()?.flushes;
            let of_others = || it.names.map_or_else(of_command, |it| it.flushes_per_trial);
            Some(writing(it).map_or_else(of_others, |it| it.flushes_per_trial)? as f64)
        }))
        .said(flushes),
    metric("uncached", "not cached", Unit::Percent)
        .meaning("names that the OS's cache grew by, for each 100 that a trial used")
        .explained()
        .case(CaseMetric::Plain(|it| Some(100.0 * it.names?.brought_share?))),
    metric("reads", "device reads", Unit::Number)
        .meaning("requests of a trial that the devices completed, for anyone")
        .case(CaseMetric::Plain(|it| Some(it.names?.device_reads? as f64))),
    metric("rate", "rate", Unit::Text)
        .meaning("which rate the throughput is")
        .case(CaseMetric::Words(|it, _| words::rate_kind(it).to_string())),
    metric("spread", "min/mean/max", Unit::Text)
        .meaning("of the rounds")
        .explained()
        .said(words::spread),
    metric("idle", "idle", Unit::Percent)
        .meaning("mean idle share of the threads")
        .legend("mean share of the time in which a thread waited for the slowest one")
        .case(CaseMetric::Plain(|it| it.imbalance_percent)),
    metric("cpu_per_op", "CPU/op", Unit::Nanoseconds)
        .meaning("CPU time of an operation, over all threads")
        .case(CaseMetric::Plain(|it| it.cpu_ns_per_op)),
    metric("ceiling", "ceiling", Unit::Number)
        .meaning("how near the throughput comes to what bounds it")
        .legend(
            "by paired rounds, the share of the fastest loop over memory with as many threads \
             (mem), or of the device's fastest direct row (dev)",
        )
        .said(words::ceiling)
        .short(words::ceiling_short),
    metric("of_links", "of links", Unit::Percent)
        .meaning("throughput as a share of what the links on the path to the device carry at most")
        .legend("the share of what the narrowest link on the path to the device carries at most")
        .case(CaseMetric::Plain(|it| Some(it.link.as_ref()?.share * 100.0))),
    metric("served_by", "served by", Unit::Text)
        .meaning("what served the bytes, by the evidence")
        .case(CaseMetric::Words(|it, all| words::served_by(it, all.header.storage.as_ref()))),
    metric("hits", "hits", Unit::Percent)
        .meaning("share of the bytes that the page cache served")
        .explained()
        .case(CaseMetric::Plain(|it| Some(it.hit_share? * 100.0)))
        .said(|it| or_none(words::hits(it))),
    metric("cacheable", "cacheable", Unit::Percent)
        .meaning("largest share of a zipf pattern that a cache within the memory limit can serve")
        .legend("the most that a cache within the memory limit could serve of this pattern")
        .case(CaseMetric::Plain(|it| Some(it.cacheable_share? * 100.0))),
    metric("verdict", "verdict", Unit::Text)
        .meaning("whether the figures are sound, doubtful or void")
        .case(CaseMetric::Words(|it, all| {
            let marks = marks(it, all);
            let apart = if marks.is_empty() { "" } else { " " };
            format!("{}{apart}{marks}", it.verdict)
        })),
    metric("wall", "wall", Unit::Nanoseconds)
        .meaning("of a trial, from the first thread's start to the last one's end, syncs included")
        .explained()
        .case(CaseMetric::Plain(|it| Some(it.spent?.wall_ns))),
    metric("user", "user", Unit::Nanoseconds)
        .meaning(
            "CPU time in user mode; some kernels tell it from the rest only by the ticks of their \
             clock, which is coarse for short runs",
        )
        .explained()
        .case(CaseMetric::Plain(|it| it.spent?.user_ns)),
    metric("system", "system", Unit::Nanoseconds)
        .meaning("CPU time in the kernel")
        .explained()
        .case(CaseMetric::Plain(|it| it.spent?.system_ns)),
    metric("cpu", "CPU", Unit::Percent)
        .meaning("CPU time of a trial, of one processor")
        .legend("CPU time of a trial, 100 % being one processor all the time")
        .case(CaseMetric::Plain(|it| Some(it.spent?.processors * 100.0))),
    metric("blocked", "blocked", Unit::Percent)
        .meaning("share of the time in which the threads neither ran nor waited for a processor")
        .explained()
        .case(CaseMetric::Plain(|it| Some(it.spent?.blocked_share? * 100.0))),
    metric("over_time", "over time", Unit::Text).case(CaseMetric::Words(|it, _| {
        or_none(it.course.as_ref().map(|course| sparkline(&course.rates)))
    })),
    metric("durable_after", "durable after", Unit::Text)
        .meaning("time from a command's start until the files that it wrote were synced: median")
        .explained()
        .case(CaseMetric::Words(|it, _| durable_after(it))),
    metric("says", "it says", Unit::Text)
        .meaning("the number that the command prints about itself, with its 95 % interval")
        .explained()
        .case(CaseMetric::Words(|it, _| says(it))),
    metric("bus", "bus (est.)", Unit::BytesPerSecond)
        .meaning("estimated bytes a second on the memory bus")
        .explained()
        .case(CaseMetric::Estimate(|it| it.bus)),
    metric("loaded", "once loaded", Unit::BytesPerSecond)
        .meaning("throughput without set-up")
        .explained()
        .case(CaseMetric::Plain(|it| Some(it.loaded.as_ref()?.throughput.median)))
        .said(|it| {
            let loaded = it.loaded.as_ref();
            let rate = loaded.map(|loaded| units::rate(loaded.throughput.median));
            rate.unwrap_or_else(|| words::main_figure(it).0)
        }),
    metric("load", "set-up", Unit::Nanoseconds)
        .meaning("time to map or load, which is in the throughput")
        .explained()
        .case(CaseMetric::Plain(|it| Some(it.loaded.as_ref()?.load_ns.median))),
    metric("counted", "counted", Unit::Number)
        .meaning("numbers found by a trial")
        .legend("how many 10s a trial found")
        .case(CaseMetric::Plain(|it| Some(it.counted? as f64))),
    metric("digest", "digest", Unit::Text).case(CaseMetric::Words(|it, _| {
        let said = it.digest_verified.map(|is_right| if is_right { "right" } else { "wrong" });
        or_none(said.map(str::to_string))
    })),
    metric("built_with", "built with", Unit::Text)
        .case(CaseMetric::Words(|it, all| peer(it, all).and_then(flags).unwrap_or_default())),
    metric("vectors", "vectors", Unit::Text)
        .legend("width of the vector registers that the loop uses")
        .case(CaseMetric::Words(vectors)),
    metric("of_baseline", "of baseline", Unit::Number)
        .meaning("ratio to the case it is compared with first, by paired rounds")
        .legend("ratio to the case it is compared with below, by paired rounds")
        .case(CaseMetric::Words(of_baseline)),
    metric("memory_by_file", "memory by file", Unit::Number)
        .meaning(
            "operations a second in memory, touched for the second time, over those of the row, \
             without its sync",
        )
        .legend(
            "by paired rounds, operations a second in memory ('second touch' for writes, 'page \
             reads' for reads) over those of the row, without its sync",
        )
        .case(CaseMetric::Words(|it, all| {
            or_none(touching(it, all).map(|held| times(held.ratio.median)))
        })),
    metric("memory_by_file_interval", "95 % CI", Unit::Text).case(CaseMetric::Words(|it, all| {
        or_none(touching(it, all).and_then(|it| times_interval(it.ratio.low, it.ratio.high)))
    })),
];

/// The ratio to the case that it is compared with first.
fn of_baseline(summary: &Summary, assessment: &Assessment) -> String {
    let found = assessment.comparisons.iter().find(|found| found.case == summary.id);
    or_none(found.map(|found| {
        let (pairs, invocations) = (found.pairs, found.invocations);
        let (median, low, high) = (found.ratio, found.low, found.high);
        said_ratio(&Ratio { pairs, invocations, median, low, high }).to_string()
    }))
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_in_its_unit_has_no_prefix_of_its_own() {
        let check = |number, expected: &str| assert_eq!(units::in_its_unit(number), expected);
        check(0.951, "0.95");
        check(83.24, "83.2");
        check(999.6, "1000");
        check(1612.7, "1610");
        check(2_345_678.0, "2350000");
    }
}
