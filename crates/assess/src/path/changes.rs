//! What happened on the path and to the machine while a run went on, by counters that were read
//! before and after each of its parts. What a counter does not tell is not concluded.

use super::oddities::{busy_operation, pastime};
use crate::finding::{Code, Finding};
use model::list::listed;
use model::path::{Hop, HopKind};
use model::units::{nanoseconds, percent};
use model::vitals::{CapPage, DriveLog, PartVitals, SmartPage, Vitals};
use std::collections::BTreeSet;

/// What happened, at most one finding of each code.
pub(crate) fn of(parts: &[PartVitals], is_guest: bool) -> Vec<Finding> {
    let errors = errors(parts, is_guest);
    [heat(parts), capped(parts), rebuilt(parts), errors].into_iter().flatten().collect()
}

/// By how much a counter grew in all parts; `None` if none tells it, or if it went back, as a
/// counter of another device or after a reset does.
fn growth(parts: &[PartVitals], of: impl Fn(&Vitals) -> Option<u64>) -> Option<u64> {
    let ends = parts.iter().map(|part| of(&part.before).zip(of(&part.after)));
    let known = ends.flatten().map(|(before, after)| after.checked_sub(before));
    known.reduce(|one, other| one?.checked_add(other?)).flatten().filter(|grown| *grown > 0)
}

/// The drives that count anything.
fn drives(parts: &[PartVitals]) -> BTreeSet<&str> {
    parts.iter().flat_map(|part| &part.after.drives).map(|drive| drive.name.as_str()).collect()
}

fn log<'v>(vitals: &'v Vitals, drive: &str) -> Option<&'v DriveLog> {
    vitals.drives.iter().find(|log| log.name == drive)
}

/// By how much a counter of a drive's SMART page grew.
fn smart(parts: &[PartVitals], drive: &str, of: impl Fn(&SmartPage) -> u64) -> Option<u64> {
    growth(parts, |vitals| log(vitals, drive)?.smart.as_ref().map(&of))
}

fn times(count: u64) -> String {
    if count == 1 { "once".to_string() } else { format!("{count} times") }
}

/// Drives and CPUs that slowed themselves down.
fn heat(parts: &[PartVitals]) -> Option<Finding> {
    let drives = drives(parts).into_iter().filter_map(|drive| heat_of(parts, drive));
    let told: Vec<String> = drives.chain(heat_of_cpus(parts)).collect();
    let remedy = "cool the machine, and let it rest before you measure";
    (!told.is_empty()).then(|| Finding::note(Code::Hot, told.join("; "), remedy))
}

fn heat_of(parts: &[PartVitals], drive: &str) -> Option<String> {
    let sum = |pair: [u32; 2]| pair.into_iter().map(u64::from).sum();
    let slowed = smart(parts, drive, |page| sum(page.slowed_times));
    let seconds = smart(parts, drive, |page| sum(page.slowed_s));
    let how = [slowed.map(times), seconds.map(|seconds| format!("for {seconds} s"))];
    let how: Vec<String> = how.into_iter().flatten().collect();
    if !how.is_empty() {
        let how = how.join(", ");
        return Some(format!("{drive} slowed itself down because of heat in this run: {how}"));
    }
    let warned = smart(parts, drive, |page| page.warning_minutes.into());
    let critical = smart(parts, drive, |page| page.critical_minutes.into());
    let minutes = warned.max(critical)?;
    Some(format!(
        "{drive} counted {minutes} min at its warning temperature or above in this run: it may \
         have slowed itself down"
    ))
}

fn heat_of_cpus(parts: &[PartVitals]) -> Option<String> {
    let cpus = |vitals: &Vitals| Some(vitals.throttles?.cpus);
    let are_same = parts.iter().all(|part| cpus(&part.before) == cpus(&part.after));
    let of = |vitals: &Vitals| {
        vitals.throttles.map(|it| it.core.saturating_add(it.package.unwrap_or(0)))
    };
    let events = growth(parts, of).filter(|_| are_same)?;
    Some(format!(
        "CPUs slowed themselves down because of heat or power in this run: the OS counted it \
         {}, added up over CPUs",
        times(events)
    ))
}

/// Limits of the cloud that held a volume back.
fn capped(parts: &[PartVitals]) -> Option<Finding> {
    let spans = parts.iter().map(|part| part.after.at_ms.saturating_sub(part.before.at_ms));
    let run_us = spans.sum::<u64>().saturating_mul(1000);
    let drives = drives(parts).into_iter().filter_map(|drive| caps_of(parts, drive, run_us));
    let told: Vec<String> = drives.collect();
    let remedy = "read the figures as those of the limit, or pay for a higher one";
    (!told.is_empty()).then(|| Finding::note(Code::Capped, told.join("; "), remedy))
}

fn caps_of(parts: &[PartVitals], drive: &str, run_us: u64) -> Option<String> {
    type Cap = fn(&CapPage) -> Option<u64>;
    let caps: [(&str, Cap); 4] = [
        ("the volume's limit of I/Os a second", |page| Some(page.volume?.iops_us)),
        ("the volume's limit of throughput", |page| Some(page.volume?.throughput_us)),
        ("the instance's limit of I/Os a second", |page| Some(page.instance.iops_us)),
        ("the instance's limit of throughput", |page| Some(page.instance.throughput_us)),
    ];
    let grown = caps.into_iter().filter_map(|(name, of)| {
        let us = growth(parts, |vitals| of(log(vitals, drive)?.capped.as_ref()?))?;
        let share = match us <= run_us {
            true => format!(" ({} of the run)", percent(us as f64 / run_us as f64)),
            false => String::new(),
        };
        Some(format!("{name} for {}{share}", nanoseconds(us as f64 * 1e3)))
    });
    let grown: Vec<String> = grown.collect();
    let grown = (!grown.is_empty()).then(|| listed(&grown))?;
    Some(format!("{drive} counted what held it back in this run: {grown}"))
}

/// Arrays and file systems that began or ended something beside their work.
fn rebuilt(parts: &[PartVitals]) -> Option<Finding> {
    // What changed between two invocations did so in the run, too.
    let looks: Vec<&Vitals> = parts.iter().flat_map(|part| [&part.before, &part.after]).collect();
    let pairs = looks.windows(2).flat_map(|pair| begun_or_ended(pair[0], pair[1]));
    let told: BTreeSet<String> = pairs.collect();
    let told: Vec<String> = told.into_iter().collect();
    (!told.is_empty()).then(|| {
        let message =
            format!("{} in this run: figures before and after that may differ", listed(&told));
        Finding::note(Code::Rebuilding, message, "measure when it has ended")
    })
}

fn begun_or_ended(before: &Vitals, after: &Vitals) -> Vec<String> {
    let busy = |vitals: &Vitals| -> Vec<(String, Option<String>)> {
        let hops = vitals.paths.iter().flat_map(Hop::all);
        hops.filter_map(|hop| Some((hop.name.clone(), busy_with(hop)?))).collect()
    };
    let (before, after) = (busy(before), busy(after));
    let changed = before.iter().filter_map(|(name, then)| {
        let (_, now) = after.iter().find(|(same, _)| same == name)?;
        match (then, now) {
            (None, Some(now)) => Some(vec![format!("{name} began: {now}")]),
            (Some(then), None) => Some(vec![format!("{name} ended: {then}")]),
            (Some(then), Some(now)) if then != now => {
                Some(vec![format!("{name} ended: {then}"), format!("{name} began: {now}")])
            }
            _ => None,
        }
    });
    changed.flatten().collect()
}

/// What an array or a file system does beside its work, or that it does nothing; `None` if it does
/// not tell, or is neither.
fn busy_with(hop: &Hop) -> Option<Option<String>> {
    match &hop.kind {
        HopKind::Array(array) => {
            let action = array.action.as_deref()?;
            match pastime(action) {
                Some(_) => Some(Some(action.to_string())),
                None => (action == "idle").then_some(None),
            }
        }
        HopKind::FileSystem(hop) if hop.file_system == "btrfs" => {
            Some(busy_operation(hop).map(str::to_string))
        }
        _ => None,
    }
}

/// Errors of memory, which a hypervisor makes up, and of drives.
fn errors(parts: &[PartVitals], is_guest: bool) -> Option<Finding> {
    let controllers = |vitals: &Vitals| Some(vitals.memory_errors?.controllers);
    let are_same = parts.iter().all(|part| controllers(&part.before) == controllers(&part.after));
    let of_memory =
        |of: fn(&Vitals) -> Option<u64>| growth(parts, of).filter(|_| are_same && !is_guest);
    let counted = |count: u64, one: &str, many: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    };
    let corrected = of_memory(|vitals| Some(vitals.memory_errors?.corrected))
        .map(|count| counted(count, "corrected error of memory", "corrected errors of memory"));
    let uncorrected = of_memory(|vitals| Some(vitals.memory_errors?.uncorrected))
        .map(|count| counted(count, "uncorrected error of memory", "uncorrected errors of memory"));
    let of_drives = drives(parts).into_iter().filter_map(|drive| {
        let count = smart(parts, drive, |page| page.media_errors)?;
        Some(format!("{} of {drive}", counted(count, "media error", "media errors")))
    });
    let told: Vec<String> = corrected.into_iter().chain(uncorrected).chain(of_drives).collect();
    (!told.is_empty()).then(|| {
        let message = format!("the hardware counted in this run: {}", listed(&told));
        let remedy = "look for the part in the kernel's log, and replace it";
        Finding::note(Code::HardwareErrors, message, remedy)
    })
}
