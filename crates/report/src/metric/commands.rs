//! Figures of commands.

use super::TrialMetric::Whole;
use super::{CaseMetric, Metric, Unit, metric};
use crate::words;
use assess::command_figures::CommandFigures;
use assess::summary::Summary;
use assess::trials::Figures;
use model::command::Exit;
use model::units;

const fn plain(
    name: &'static str,
    title: &'static str,
    unit: Unit,
    of: fn(&Summary) -> Option<f64>,
) -> Metric {
    metric(name, title, unit).case(CaseMetric::Plain(of))
}

/// Of a trial, how the command ended.
const fn exit(name: &'static str, unit: Unit, of: fn(&Figures) -> Option<u64>) -> Metric {
    metric(name, "", unit).trial(name, ("exit", name), Whole(of))
}

fn figure(summary: &Summary, of: fn(&CommandFigures) -> Option<u64>) -> Option<f64> {
    Some(of(summary.command.as_deref()?)? as f64)
}

fn ended(figures: &Figures, of: fn(&Exit) -> Option<u64>) -> Option<u64> {
    of(figures.exit.as_ref()?)
}

/// In the order of the CSV columns; some have none.
pub(super) const OF_COMMANDS: &[Metric] = &[
    metric("time", "time", Unit::Nanoseconds)
        .meaning("wall time of a run of a command; of other work, time/op")
        .legend("wall time of a run")
        .case(CaseMetric::Estimate(|it| it.ns_per_op)),
    metric("time_interval", "95 % CI", Unit::Text)
        .meaning("the 95 % interval of the wall time of a run")
        .said(|it| words::with_interval(it.ns_per_op, units::nanoseconds).1),
    plain("cpu_time", "CPU time", Unit::Nanoseconds, |it| it.cpu_ns_per_op)
        .meaning("CPU time of a run of a command, of all its processes; of other work, CPU/op")
        .legend("of a run, of all its processes"),
    plain("waited", "waited", Unit::Percent, |it| Some(it.command.as_ref()?.waited_share? * 100.0))
        .meaning("share of the time in which no processor ran the command, at least")
        .legend("share of the time in which no processor ran it, at least"),
    plain("asked", "asked for", Unit::Bytes, |it| figure(it, |it| it.asked_bytes))
        .meaning("bytes that its read calls returned; none if they do not show all that it read")
        .legend("bytes that its read calls returned; dash: calls do not show all"),
    plain("read_call", "bytes/read", Unit::Bytes, |it| figure(it, |it| it.read_call_bytes))
        .meaning("bytes that a call of a command that reads returned on average, from anything")
        .legend("mean of what its calls that read returned, from anything"),
    plain("write_call", "bytes/write", Unit::Bytes, |it| figure(it, |it| it.write_call_bytes))
        .meaning("bytes that a call of a command that writes took on average, to anything")
        .legend("mean of what its calls that write took"),
    plain("from_devices", "from devices", Unit::Bytes, |it| figure(it, |it| it.device_read_bytes))
        .meaning("bytes that devices read for it")
        .legend("bytes that they read for it"),
    plain("dirtied", "dirtied", Unit::Bytes, |it| figure(it, |it| it.dirtied_bytes))
        .meaning("bytes of the page cache that it made dirty, and bytes that it wrote directly")
        .legend("bytes of the page cache that it made dirty, or wrote directly"),
    plain("still_dirty", "still dirty", Unit::Bytes, |it| figure(it, |it| it.dirty_bytes))
        .meaning("bytes of the files that it wrote which were on no device when it had ended")
        .legend("bytes of its files that were on no device when it had ended"),
    plain("peak", "peak memory", Unit::Bytes, |it| figure(it, |it| it.peak_bytes))
        .meaning("the most memory of one of its processes; none if less than ioassay's own")
        .legend("of one process; dash: less than ioassay needs"),
    exit("exit_status", Unit::Number, |it| ended(it, |exit| Some(exit.status?.into())))
        .meaning("of a command; empty if a signal ended it"),
    exit("exit_signal", Unit::Number, |it| ended(it, |exit| Some(exit.signal?.into())))
        .meaning("the signal that ended it"),
    exit("peak_bytes", Unit::Bytes, |it| ended(it, |exit| exit.peak_bytes))
        .meaning("the most memory of one of its processes"),
    exit("left_running", Unit::Number, |it| ended(it, |exit| Some(exit.left_running)))
        .meaning("processes that went on after its end"),
    exit("output_bytes", Unit::Bytes, |it| ended(it, |exit| exit.output_bytes))
        .meaning("bytes that it wrote to the pipe on its standard output"),
    exit("reading_cpu_ns", Unit::Nanoseconds, |it| ended(it, |exit| Some(exit.reading?.cpu_ns)))
        .meaning("CPU time that ioassay took to read its output, beside it"),
];
