//! What bounds each command, in words.

use super::command_names::CommandNames;
use super::undecided_commands;
use crate::bounding_words::whole;
use crate::sentence::{Sentence, marked, said_ratio_of};
use crate::text::{Text, figure, joined, text};
use crate::words::{interval, percent};
use assess::Assessment;
use assess::conclusions::commands::{BUSY, BoundedCommand, CommandBound};
use assess::conclusions::device_use::{CEILING_LEAST, DeviceRequests, DeviceUse};
use assess::conclusions::memory_use::MemoryUse;
use assess::decision::{Decision, Named};
use assess::ratio::Ratio;
use model::units;

/// What each bound is called, in the order of the lines.
const BOUNDS: [(CommandBound, &str); 9] = [
    (CommandBound::Limit, "A limit of a control group holds back"),
    (CommandBound::Memory, "Memory, which gives no more, bounds"),
    (CommandBound::AllProcessors, "Computing on all processors bounds"),
    (CommandBound::OneProcessor, "Computing on one processor bounds"),
    (CommandBound::Start, "So short that starting the process is most of it:"),
    (CommandBound::Device, "The device, which gives no more, bounds"),
    (CommandBound::Writes, "The device, which takes no more, bounds"),
    (CommandBound::Syncs, "Syncs bound"),
    (CommandBound::Waiting, "Waits for neither a device nor a processor, but for something else:"),
];

/// A line for each bound, and what is not known.
pub(super) fn bounds(assessment: &Assessment, names: &CommandNames) -> Vec<Sentence> {
    let all = &assessment.conclusions.bounded;
    let name = |one: &BoundedCommand| {
        assessment.row(&one.case.id).map_or_else(Text::default, |summary| names.name(summary))
    };
    let of = |bound: CommandBound| all.iter().filter(move |it| it.bound == bound);
    let lines = BOUNDS.iter().filter_map(|(bound, lead)| {
        let said: Vec<Text> = of(*bound)
            .map(|one| match why(one) {
                said if said.is_empty() => name(one),
                said => text!("{} ({})", name(one), said),
            })
            .collect();
        let rows = of(*bound).flat_map(|one| rows(one, assessment)).collect::<Vec<Named>>();
        (!said.is_empty())
            .then(|| Sentence::figures(text!("{} {}.", *lead, joined(&said, "; ")), &rows))
    });
    let of_requests = of(CommandBound::Requests).filter_map(|one| {
        let device = one.device.as_ref()?;
        let requests = device.requests.as_ref()?;
        let ceiling = Named::of(assessment.row(&device.ceiling)?)?;
        Some(by_requests(name(one), (device, requests), &[one.case.clone(), ceiling]))
    });
    let mut reasons: Vec<(String, Vec<&BoundedCommand>)> = Vec::new();
    for one in of(CommandBound::Unknown) {
        let why = why_unknown(one);
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, unknown)) => unknown.push(one),
            None => reasons.push((why, vec![one])),
        }
    }
    let open = reasons
        .iter()
        .filter_map(|(why, unknown)| undecided_commands::bounds(assessment, (why, unknown), names));
    lines.chain(of_requests).chain(open).collect()
}

/// The rows of the figures of what bounds a command.
fn rows(one: &BoundedCommand, assessment: &Assessment) -> Vec<Named> {
    let ceiling = match one.bound {
        CommandBound::Memory => one.memory.as_ref().map(|it| &it.ceiling),
        CommandBound::Device => one.device.as_ref().map(|it| &it.ceiling),
        CommandBound::Writes => one.writes.as_ref().map(|it| &it.ceiling),
        CommandBound::Syncs => one.syncs.as_ref().map(|it| &it.commit),
        _ => None,
    };
    let ceiling = ceiling.and_then(|id| Named::of(assessment.row(id)?));
    [one.case.clone()].into_iter().chain(ceiling).collect()
}

/// Why it is unknown what bounds a command that may have waited for its device.
const NOT_MEASURED: &str =
    "it may have waited for its device, and nothing like what it does there was measured";
/// Why it is unknown what bounds a command that computed all the time with several threads.
const BY_THREADS: &str = "which of its threads waited is not counted";
/// Why it is unknown what bounds others.
const PARTLY: &str = "neither computed all the time nor waited for most of it";

fn why_unknown(one: &BoundedCommand) -> String {
    let reads = one.device.as_ref().filter(|it| !it.is_below_ceiling());
    let reads = reads.map(|it| share_of("it gets", &it.of_ceiling, "what direct reads get"));
    let writes = one.writes.as_ref().filter(|it| !it.is_below_ceiling());
    let writes =
        writes.map(|it| share_of("it gets", &it.of_ceiling, "what durable direct writes get"));
    let is_open = |decision: Decision| decision == Decision::Undecided;
    let syncs = one.syncs.as_ref().filter(|it| is_open(it.decision));
    let syncs = syncs.map(|it| {
        let take = format!("its {} syncs take", it.syncs);
        share_of(&take, &it.of_time, "its time, if each is like a lone commit")
    });
    let not_measured = one.uses_devices.then(|| NOT_MEASURED.to_string());
    let computes = one.processors.is_some_and(|used| used >= BUSY);
    reads.or(writes).or(syncs).or(not_measured).unwrap_or_else(|| match computes {
        true => BY_THREADS.to_string(),
        false => PARTLY.to_string(),
    })
}

/// `it gets 42.0-121 % of what direct reads get`.
fn share_of(does: &str, share: &Ratio, of: &str) -> String {
    match share.low.zip(share.high) {
        Some(ends) => format!("{does} {} of {of}", said_ends(ends)),
        None => {
            let about = percent(100.0 * share.median);
            format!("{does} about {about} of {of}, in too few rounds to be sure")
        }
    }
}

/// `42.0-121 %`.
fn said_ends((low, high): (f64, f64)) -> String {
    format!("{} %", interval(Some(100.0 * low), Some(100.0 * high), percent))
}

/// `97 % busy; its reads take 0.97 GB/s, 3.4 % of what memory gives one thread`.
fn why(one: &BoundedCommand) -> Text {
    let clauses = [share_in_words(one), memory_in_words(one)];
    joined(&clauses.into_iter().flatten().collect::<Vec<Text>>(), "; ")
}

/// `97 % busy`, `93 % of what direct reads get`.
fn share_in_words(one: &BoundedCommand) -> Option<Text> {
    let share = |share: f64| figure(percent(100.0 * share));
    match one.bound {
        CommandBound::OneProcessor | CommandBound::Waiting => {
            Some(text!("{} busy", share(one.processors?)))
        }
        CommandBound::Start => Some(text!("{} of it", share(one.start?.median.min(1.0)))),
        CommandBound::Device => {
            let reached = one.device.as_ref()?.of_ceiling.median;
            Some(text!("{} of what direct reads get", share(reached)))
        }
        CommandBound::Writes => {
            let reached = one.writes.as_ref()?.of_ceiling.median;
            Some(text!("{} of what durable direct writes get", share(reached)))
        }
        CommandBound::Syncs => {
            let syncs = one.syncs.as_ref()?;
            Some(text!(
                "{} a run, each like a lone commit of {} here: {} of its time",
                syncs.syncs.to_string(),
                whole(syncs.commit_bytes),
                share(syncs.of_time.median)
            ))
        }
        _ => None,
    }
}

/// What a command that computes all the time takes of memory.
fn memory_in_words(one: &BoundedCommand) -> Option<Text> {
    let computes = [CommandBound::OneProcessor, CommandBound::AllProcessors, CommandBound::Memory];
    let memory = one.memory.as_ref().filter(|_| computes.contains(&one.bound))?;
    let MemoryUse { rate, of_ceiling, threads, is_beyond_caches, decision, .. } = memory;
    let share = match (decision, of_ceiling.low.zip(of_ceiling.high)) {
        (Decision::Undecided, Some(ends)) => said_ends(ends),
        _ => percent(100.0 * of_ceiling.median),
    };
    let whom = if *threads == 1 { "one thread".to_string() } else { format!("{threads} threads") };
    let but = match () {
        () if memory.is_above_memory() => ": caches of the processor served a part",
        () if *decision == Decision::Undecided => ", so memory may bound it",
        () if !is_beyond_caches && of_ceiling.low >= Some(CEILING_LEAST) => {
            ", and caches of the processor may have served a part"
        }
        () => "",
    };
    Some(text!(
        "its reads take {}, {} of what memory gives {}{}",
        figure(units::rate(*rate)),
        figure(share),
        whom,
        but
    ))
}

/// `Requests of 4.00 KiB at depth 1.0 bound load, cold: the device gives 40.1× (38.0-43.0) as much
/// to 1MiB at depth 8.`
fn by_requests(
    name: Text,
    (device, requests): (&DeviceUse, &DeviceRequests),
    rows: &[Named],
) -> Sentence {
    let size = units::bytes_rounded(requests.bytes.round() as u64);
    let more = said_ratio_of(&device.of_ceiling.inverse(), "as much", rows);
    let text = text!(
        "Requests of {} at depth {} bound {}: the device gives {} to {} at depth {}.",
        marked(figure(size), rows),
        figure(format!("{:.1}", requests.depth)),
        name,
        more,
        units::bytes(device.ceiling_block),
        device.ceiling_depth.to_string()
    );
    Sentence::figures(text, rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sentence::lines;
    use assess::conclusions::write_use::{SyncUse, WriteUse};
    use model::zoo::commands::record_of_commands;

    fn ratio(median: f64, low: f64, high: f64) -> Ratio {
        Ratio { median, low: Some(low), high: Some(high), pairs: 10, invocations: 5 }
    }

    /// What is said of a command of the zoo after this change.
    fn check(change: impl Fn(&mut BoundedCommand), said: fn(&BoundedCommand) -> Text, is: &str) {
        let assessment = assess::assess(&record_of_commands());
        let mut one = assessment.conclusions.bounded[0].clone();
        one.processors = Some(0.987);
        change(&mut one);
        assert_eq!(said(&one).to_string(), is);
    }

    #[test]
    fn what_a_command_takes_of_memory_is_said_of_those_that_compute() {
        let of = |bound, of_ceiling, is_beyond_caches, decision| {
            move |one: &mut BoundedCommand| {
                one.bound = bound;
                one.memory = Some(MemoryUse {
                    rate: 0.97e9,
                    of_ceiling,
                    ceiling: "memory".to_string(),
                    threads: 1,
                    is_beyond_caches,
                    decision,
                });
            }
        };
        let computes = CommandBound::OneProcessor;
        let few = of(computes, ratio(0.034, 0.033, 0.035), true, Decision::No);
        let of_memory = "of what memory gives one thread";
        let takes = "its reads take 970 MB/s,";
        check(few, why, &format!("98.7 % busy; {takes} 3.40 % {of_memory}"));
        let all = of(CommandBound::Memory, ratio(0.9, 0.85, 0.95), true, Decision::Yes);
        check(all, why, &format!("{takes} 90.0 % {of_memory}"));
        let open = of(computes, ratio(0.8, 0.7, 0.9), true, Decision::Undecided);
        let may = format!("98.7 % busy; {takes} 70.0-90.0 % {of_memory}, so memory may bound it");
        check(open, why, &may);
        let cached = of(computes, ratio(0.9, 0.85, 0.95), false, Decision::No);
        let part = "caches of the processor may have served a part";
        check(cached, why, &format!("98.7 % busy; {takes} 90.0 % {of_memory}, and {part}"));
        let above = of(computes, ratio(1.5, 1.4, 1.6), false, Decision::No);
        let part = "caches of the processor served a part";
        check(above, why, &format!("98.7 % busy; {takes} 150 % {of_memory}: {part}"));
        let waits = of(CommandBound::Waiting, ratio(0.1, 0.1, 0.1), true, Decision::No);
        check(waits, why, "98.7 % busy");
    }

    fn writes(of_ceiling: Ratio) -> WriteUse {
        let ceiling = "write".to_string();
        WriteUse { of_ceiling, ceiling, ceiling_block: 1 << 20, ceiling_depth: 8 }
    }

    fn syncs(of_time: Ratio, decision: Decision) -> SyncUse {
        let commit = "commit".to_string();
        SyncUse { syncs: 1000, of_time, commit, commit_bytes: 4096, decision }
    }

    #[test]
    fn writes_and_syncs_that_bound_a_command_are_said_with_their_shares() {
        let at_ceiling = |one: &mut BoundedCommand| {
            one.bound = CommandBound::Writes;
            one.writes = Some(writes(ratio(0.93, 0.9, 0.96)));
        };
        check(at_ceiling, why, "93.0 % of what durable direct writes get");
        let synced = |one: &mut BoundedCommand| {
            one.bound = CommandBound::Syncs;
            one.syncs = Some(syncs(ratio(0.97, 0.93, 1.01), Decision::Yes));
        };
        let each = "1000 a run, each like a lone commit of 4 KiB here: 97.0 % of its time";
        check(synced, why, each);
    }

    #[test]
    fn what_is_undecided_has_its_interval() {
        let why = |one: &BoundedCommand| why_unknown(one).into();
        let wide = |one: &mut BoundedCommand| one.writes = Some(writes(ratio(0.7, 0.421, 1.21)));
        check(wide, why, "it gets 42.1-121 % of what durable direct writes get");
        let few = |one: &mut BoundedCommand| {
            one.writes = Some(writes(Ratio { low: None, high: None, ..ratio(0.7, 0.0, 0.0) }));
        };
        let about = "it gets about 70.0 % of what durable direct writes get, in too few rounds to \
                     be sure";
        check(few, why, about);
        let open = |one: &mut BoundedCommand| {
            one.syncs = Some(syncs(ratio(0.8, 0.6, 1.0), Decision::Undecided));
        };
        let waits = "its 1000 syncs take 60.0-100 % of its time, if each is like a lone commit";
        check(open, why, waits);
        check(|one| one.processors = Some(0.7), why, PARTLY);
    }

    #[test]
    fn requests_are_said_with_what_the_device_gives_to_others() {
        let requests = DeviceRequests { bytes: 4096.0, depth: 1.02, busy_share: 0.9 };
        let (low, high) = (Some(0.02), Some(0.04));
        let device = DeviceUse {
            of_ceiling: Ratio { median: 0.025, low, high, pairs: 10, invocations: 5 },
            ceiling: "direct".to_string(),
            ceiling_block: 1 << 20,
            ceiling_depth: 8,
            requests: Some(requests),
            of_alike: None,
        };
        let said = by_requests("load, cold".into(), (&device, &requests), &[]);
        let expected = "Requests of 4.00 KiB at depth 1.0 bound load, cold: the device gives 40.0× \
                        as much (25.0-50.0) to 1MiB at depth 8.";
        assert_eq!(lines(&[said]).iter().map(ToString::to_string).collect::<Vec<_>>(), [expected]);
    }
}
