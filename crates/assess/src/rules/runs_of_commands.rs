//! What can be wrong with the runs of a command: its start, its calls, what it leaves.

use super::context::{Context, Draft, RuleTable};
use crate::commands::{asked_bytes, left_running, read_size, sum, written_bytes};
use crate::counted::Counted;
use crate::finding::{Code, Severity};
use crate::measured::SHARE_NOISE;
use crate::ratio::Ratio;
use crate::row::{Row, start};
use crate::spent::split;
use crate::stats::median;
use model::command::Exit;
use model::plan::Role;
use model::rehearsal::{Blind, CommandEnd, FactSheet, FileUse};
use model::units::{bytes_rounded, nanoseconds, percent};

/// The rules of this module.
pub(super) const RULES: RuleTable = &[
    (Code::FirstRun, first_run),
    (Code::ReadAgain, read_again),
    (Code::SmallCalls, small_calls),
    (Code::SameDevice, same_device),
    (Code::OutputGrows, output_grows),
    (Code::LeftRunning, leaves_running),
    (Code::RehearsalDiffers, rehearsal_differs),
    (Code::FilesSampled, files_sampled),
];

/// From this share of the time on, the start is noted.
const START_NOTE: f64 = 0.10;

/// Starting the process is a large part of the time (docs/method).
pub(super) fn startup_bound(row: &Row, rows: &[Row]) -> Option<Draft> {
    row.measured.case.command().filter(|_| row.measured.role != Role::Baseline)?;
    let start = start(rows)?;
    let share = Ratio::of_any(&start.measured.ns_per_op(), &row.measured.ns_per_op())?.median;
    if share <= START_NOTE {
        return None;
    }
    let message = format!(
        "a program that does nothing takes {} here, which is {} of the time",
        nanoseconds(start.summary.ns_per_op?.median),
        percent(share.min(1.0))
    );
    Draft::sized(share, Severity::Note, message, "give it more to do")
}

/// The first run differs by at least this factor from each other (docs/method).
const FIRST_TIMES: f64 = 1.5;
/// With fewer other runs, one that differs says nothing.
const OTHERS_LEAST: usize = 4;
/// The first run read at least so many more bytes from devices if that is why it differs.
const FIRST_READ_LEAST: u64 = 1 << 20;

/// The kernel used the CPU time if it had this share of the difference: the rest is of ticks, by
/// which the OS tells the two modes apart (docs/method).
const MOSTLY: f64 = 0.90;

/// The first run took longer than each other, and why as far as counters show it (docs/method).
fn first_run(context: &Context) -> Option<Draft> {
    context.measured.case.command()?;
    let trials = &context.measured.trials;
    let first = trials.iter().min_by_key(|trial| trial.at_ms)?;
    let others = || trials.iter().filter(|trial| !std::ptr::eq(*trial, first));
    let longest = others().map(|trial| trial.wall_ns()).max()?;
    let times = first.wall_ns() as f64 / longest as f64;
    if times < FIRST_TIMES || others().count() < OTHERS_LEAST {
        return None;
    }
    let usual = |of: &dyn Fn(&Counted) -> Option<u64>| {
        let values: Vec<f64> = others().filter_map(|it| Some(of(it)? as f64)).collect();
        median(&values)
    };
    let read = |trial: &Counted| trial.evidence.task_read_bytes;
    let read_more = read(first)
        .zip(usual(&read))
        .filter(|(first, usual)| *first as f64 > usual + FIRST_READ_LEAST as f64);
    let cpu = first.cpu_ns().zip(usual(&|trial| trial.cpu_ns()));
    let slower_ns = first.wall_ns().saturating_sub(longest) as f64;
    let computed_more = cpu.filter(|(first, usual)| *first as f64 - usual >= slower_ns / 2.0);
    let why = match (read_more, computed_more) {
        (Some((first, usual)), _) => format!(
            "devices read {} for it, and {} for the others: it cached what they found",
            bytes_rounded(first),
            bytes_rounded(usual as u64)
        ),
        (None, Some((first_ns, usual_ns))) => {
            let system = |trial: &Counted| trial.sample.usage.system_ns;
            let in_kernel = system(first).zip(usual(&system)).map(|(first, usual)| {
                first as f64 - usual >= (first_ns as f64 - usual_ns) * MOSTLY
            });
            format!(
                "its CPU time was {}, and {} in the others: {}",
                nanoseconds(first_ns as f64),
                nanoseconds(usual_ns),
                match in_kernel {
                    Some(true) => "the kernel used most of the difference, perhaps to find memory",
                    _ =>
                        "it may have compiled or computed what it keeps, or its processor was \
                          slower",
                }
            )
        }
        (None, None) => "no counter shows why".to_string(),
    };
    let message = format!(
        "the first run took {}, {times:.1} times as long as the longest of the others: {why}",
        nanoseconds(first.wall_ns() as f64)
    );
    let remedy = "read the median, which one run does not move; --prepare can set the state that \
                  you want";
    Draft::sized(times, Severity::Note, message, remedy)
}

/// More bytes asked for than the files have: read again and again (docs/method).
const AGAIN_LEAST: f64 = 1.10;

/// It asked for more bytes than its files have: it reads parts of them more than once
/// (docs/method).
fn read_again(context: &Context) -> Option<Draft> {
    let measured = context.measured;
    // Programs read libraries and settings with the same calls.
    let facts = measured.facts?;
    let are_read = facts.files.iter().filter(|file| file.opens.reading > 0);
    let (size, all) = (read_size(measured)?, sum(are_read, |file| file.bytes_before));
    let times =
        context.total_share(|trial| Some((asked_bytes(measured, trial)?, all.max(size))))?;
    if times < AGAIN_LEAST {
        return None;
    }
    let message = format!(
        "it asked for {times:.1} times the bytes that its files have ({}): it reads parts of them \
         again, which the page cache may serve even after a cold start",
        bytes_rounded(size)
    );
    let remedy = "read 'from devices' for what storage did";
    Draft::sized(times, Severity::Note, message, remedy)
}

/// Read calls for fewer bytes than this cost more than copying their bytes (docs/method).
const CALL_BYTES_LEAST: f64 = 512.0;
/// What a call takes at least, in nanoseconds.
const CALL_NS: f64 = 100.0;
/// Calls that take this share of the time matter.
const CALLS_LEAST: f64 = 0.10;

/// Its read calls are so small that the call is what is measured (docs/method). They take no more
/// than the time that the kernel ran for it.
fn small_calls(context: &Context) -> Option<Draft> {
    let measured = context.measured;
    measured.case.command()?;
    let (calls, bytes, whose) = calls_of_runs(context).or_else(|| calls_of_rehearsal(context))?;
    let mean = bytes / calls.max(1.0);
    let system_ns = median(&measured.values(|trial| Some(split(trial)?.1)))?;
    let share = (calls * CALL_NS).min(system_ns) / context.summary.ns_per_op?.median;
    if mean >= CALL_BYTES_LEAST || share < CALLS_LEAST {
        return None;
    }
    let message = format!(
        "{whose}{calls:.0} read calls returned {mean:.0} bytes each: the calls take at least about \
         {} of the time, whatever serves them",
        percent(share)
    );
    let remedy = "read larger blocks, or through a buffer";
    Draft::sized(share, Severity::Note, message, remedy)
}

/// The read calls of a run, and the bytes that they returned.
fn calls_of_runs(context: &Context) -> Option<(f64, f64, &'static str)> {
    let of = |of: fn(&Counted) -> Option<u64>| context.measured.median_count(of);
    let (calls, bytes) =
        (of(|it| it.evidence.task_read_calls)?, of(|it| it.evidence.task_rchar_bytes)?);
    Some((calls as f64, bytes as f64, "its "))
}

/// Those of the rehearsal: older records tell no others.
fn calls_of_rehearsal(context: &Context) -> Option<(f64, f64, &'static str)> {
    let io = context.measured.facts?.totals?.io?;
    Some((io.syscr as f64, io.rchar as f64, "in its rehearsal, its "))
}

/// It reads from the device that it writes to, while both go on (docs/method).
fn same_device(context: &Context) -> Option<Draft> {
    let measured = context.measured;
    let facts = measured.facts?;
    let number = |file: &FileUse| measured.places.number(file);
    let shares = |file: &&FileUse| {
        let is_beside = |it: &FileUse| number(it) == number(file) && it.inode != file.inode;
        number(file).is_some() && facts.written_files().any(is_beside)
    };
    let shared = facts.read_files().find(shares).and_then(number)?;
    let size = read_size(measured)?;
    let read = context.total_share(|trial| Some((trial.evidence.task_read_bytes?, size)))?;
    let written = context.total_share(|trial| {
        let written = measured.places.traffic(trial, shared)?.write_bytes?;
        Some((written, trial.evidence.task_write_bytes?))
    })?;
    if read <= SHARE_NOISE || written <= SHARE_NOISE {
        return None;
    }
    let message = "it reads from the device that it writes to, and both went on in its time: each \
                   waits for the other"
        .to_string();
    let remedy = "put input and output on different devices to see either";
    Draft::new(Severity::Note, message, remedy)
}

/// Output that grows by at least this share from the first run to the last is reported
/// (docs/method).
const GROWS_LEAST: f64 = 0.01;
/// With fewer runs, growth may be chance.
const RUNS_LEAST: usize = 4;

/// What it wrote was larger after each run (docs/method).
fn output_grows(context: &Context) -> Option<Draft> {
    let measured = context.measured;
    measured.case.command()?;
    let mut trials: Vec<&Counted> = measured.all().collect();
    trials.sort_by_key(|trial| trial.at_ms);
    let files = |trial: &Counted| written_bytes(measured, trial);
    let output = |trial: &Counted| trial.sample.exit?.output_bytes;
    let grown = |of: &dyn Fn(&Counted) -> Option<u64>| {
        let sizes: Vec<u64> = trials.iter().map(|trial| of(trial)).collect::<Option<_>>()?;
        let (first, last) = (*sizes.first()?, *sizes.last()?);
        let grows = sizes.len() >= RUNS_LEAST && sizes.windows(2).all(|pair| pair[0] < pair[1]);
        let share = last as f64 / first.max(1) as f64 - 1.0;
        (grows && share >= GROWS_LEAST).then_some((first, last, share))
    };
    let (what, (first, last, share)) = grown(&files)
        .map(|grown| ("the files that it writes", grown))
        .or_else(|| grown(&output).map(|grown| ("its output", grown)))?;
    let message = format!(
        "{what} grew with each run, from {} to {}: the runs do not do the same work",
        bytes_rounded(first),
        bytes_rounded(last)
    );
    let remedy = "remove the output before each run, with --prepare";
    Draft::sized(share, Severity::Doubt, message, remedy)
}

/// It left processes running when it had ended (docs/method).
fn leaves_running(context: &Context) -> Option<Draft> {
    context.measured.case.command()?;
    let most = context.measured.trials.iter().map(left_running).max().filter(|most| *most > 0)?;
    let processes = if most == 1 { "1 process".into() } else { format!("{most} processes") };
    let message = format!(
        "it left {processes} running (in {}): what they did after its end is not in its time, but \
         is in its CPU time and its bytes, until they were ended 0.1 s later",
        context.how_many(|trial| left_running(trial) > 0)
    );
    let remedy = "make it wait for them, or start them with --setup";
    Draft::sized(most as f64, Severity::Doubt, message, remedy)
}

/// It ended otherwise in its rehearsal than in its runs (docs/method).
fn rehearsal_differs(context: &Context) -> Option<Draft> {
    let unlike = context.measured.unlike?;
    let exit = context.measured.trials.iter().find_map(|trial| trial.sample.exit)?;
    let message = format!(
        "in its rehearsal it {}, and in its runs it {}: what it did there says nothing of them, so \
         its files, syncs and the bytes that it asks for are unknown{}",
        rehearsed_end(unlike),
        said_exit(exit),
        match unlike.no_new_privileges {
            true => " (a rehearsal takes the rights of setuid programs away)",
            false => "",
        }
    );
    let remedy = "name its files with --file, and use --no-rehearsal";
    Draft::new(Severity::Note, message, remedy)
}

/// Its files were sampled, so some may be missing (docs/method).
fn files_sampled(context: &Context) -> Option<Draft> {
    let facts = context.measured.facts.filter(|facts| facts.sampled)?;
    let untraced = facts.unseen.iter().find(|it| it.what == Blind::Untraced);
    let why = untraced.map_or("it was running already", |it| it.detail.as_str());
    let message = format!(
        "no call of it was seen ({why}): its open files were looked at while it ran, so files that \
         it had open for a moment may be missing, and its syncs are unknown"
    );
    let remedy = "name its files with --file, or judge it where ptrace is allowed";
    Draft::new(Severity::Note, message, remedy)
}

fn rehearsed_end(facts: &FactSheet) -> String {
    match facts.end {
        Some(CommandEnd::Exited(status)) => format!("ended with status {status}"),
        Some(CommandEnd::Signaled(signal)) => format!("was ended by signal {signal}"),
        Some(CommandEnd::Stopped(why)) => format!("was stopped ({why})"),
        None => "went on".to_string(),
    }
}

fn said_exit(exit: Exit) -> String {
    match (exit.status, exit.signal) {
        (Some(status), _) => format!("ended with status {status}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended otherwise".to_string(),
    }
}
