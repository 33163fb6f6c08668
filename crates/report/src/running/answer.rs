//! The answer: what bounds the program, what served its reads, and what is not on a device yet.

use super::say;
use crate::document::Paragraph;
use crate::text::{Text, figure, text};
use crate::words::NONE;
use assess::decision::Decision;
use assess::running::{BoundBy, RunningAssessment, RunningReads, TimeSpent};
use model::running::{Interval, OpenMedium, RunningRecord, WatchEnding};
use model::units;

pub(super) fn answer(record: &RunningRecord, judged: &RunningAssessment) -> Vec<Paragraph> {
    let ended = record.end.as_ref().map(|end| end.ending);
    let lines = [
        ended.and_then(|ending| ending_of(ending, judged)),
        Some(bound(judged)),
        reads(record, judged),
        dirty(judged),
    ];
    let lines = lines.into_iter().flatten().map(Text::sentence);
    lines.map(Paragraph::plain).collect()
}

fn ending_of(ending: WatchEnding, judged: &RunningAssessment) -> Option<Text> {
    let after = figure(units::nanoseconds(judged.whole.at_ns as f64));
    match ending {
        WatchEnding::Time => None,
        WatchEnding::Ended => {
            Some(text!("It ended after {}: its last moments are not seen", after))
        }
        WatchEnding::Stopped => Some(text!("Watching was stopped after {}", after)),
    }
}

/// What bounds it now; where nothing does, what it did instead.
fn bound(judged: &RunningAssessment) -> Text {
    let of = |decision| judged.bounds.iter().filter(move |it| it.decision == decision);
    let share = |by| judged.bounds.iter().find(|it| it.by == by).and_then(|it| it.share);
    let said = of(Decision::Yes).map(|it| (it.by, figure(say::share(share(it.by)))));
    let said: Vec<(BoundBy, Text)> = said.collect();
    let has = |by| said.iter().any(|(found, _)| *found == by);
    let mut parts = Vec::new();
    for (by, share) in &said {
        parts.push(match by {
            BoundBy::Quota => {
                text!("the quota of a control group, which stops it {} of the time", share)
            }
            BoundBy::Processors => text!("computing: it uses {} of its processors", share),
            // All its processors have been named.
            BoundBy::Computing if has(BoundBy::Processors) => continue,
            BoundBy::Computing => text!("computing: a thread of it computes {} of the time", share),
            BoundBy::OtherPrograms => {
                text!(
                    "other programs: it was ready but had no processor for {} of that time",
                    share
                )
            }
            BoundBy::Device => {
                text!("devices: it only waited for one in {} of the looks", share)
            }
        });
    }
    if !parts.is_empty() {
        return text!("Bounded by {}", crate::text::joined(&parts, "; and by "));
    }
    let spent = spent(&judged.time);
    let open: Vec<&str> = of(Decision::Undecided).map(|it| named(it.by)).collect();
    match open.as_slice() {
        [] => text!("Nothing that the OS shows bounds it: {}", spent),
        open => {
            text!("Undecided: whether it is bounded by {}: {}", open.join(" or "), spent)
        }
    }
}

fn named(by: BoundBy) -> &'static str {
    match by {
        BoundBy::Quota => "a quota",
        BoundBy::Processors => "its processors",
        BoundBy::Computing => "computing",
        BoundBy::OtherPrograms => "other programs on its processors",
        BoundBy::Device => "devices",
    }
}

/// What it spent its time on, in looks.
fn spent(time: &TimeSpent) -> Text {
    let (Some(running), Some(blocked), Some(asleep)) = (time.running, time.blocked, time.asleep)
    else {
        return Text::from("there were too few looks to say more");
    };
    if let Some(stopped) = time.stopped.filter(|stopped| *stopped > 0.0) {
        let stopped = figure(say::share(Some(stopped)));
        return text!(
            "a signal or a tracer had stopped all its threads in {} of the looks",
            stopped
        );
    }
    let [running, blocked, asleep] =
        [running, blocked, asleep].map(|share| figure(say::share(Some(share))));
    text!(
        "it computed in {} of the looks, waited as for a device in {}, and slept in {} (a lock, \
         the network, a timer or a user: which is unknown)",
        running,
        blocked,
        asleep
    )
}

/// What served its reads.
fn reads(record: &RunningRecord, judged: &RunningAssessment) -> Option<Text> {
    let read = &judged.reads;
    let bytes = |bytes: Option<u64>| figure(say::bytes(bytes));
    let end = record.end.as_ref()?;
    let has_memory = end.open.files.iter().any(|it| it.medium == OpenMedium::Memory && it.reading);
    let servers = match (end.open.other_sources > 0, has_memory) {
        (true, true) => "caches, memory, pipes or sockets",
        (true, false) => "caches, pipes or sockets",
        (false, true) => "caches or memory",
        (false, false) => "caches",
    };
    let said = match (read.by, read.asked_bytes) {
        (RunningReads::Nothing, _) => Text::from("It read next to nothing"),
        (RunningReads::NoDevice, Some(asked)) => text!(
            "Of the {} that its calls read, devices read {}: {} served them",
            bytes(Some(asked)),
            bytes(read.device_bytes),
            servers
        ),
        (RunningReads::NoDevice, None) => {
            Text::from("No device read anything for it: caches or memory served what it read")
        }
        (RunningReads::Device, asked) => text!(
            "Devices read {} for the {} that its calls read: caches served little of it, or what \
             devices read ahead was not used",
            bytes(read.device_bytes),
            bytes(asked)
        ),
        (RunningReads::SomeDevice, None) => text!(
            "Devices read {} for it; how much it asked for is unknown",
            bytes(read.device_bytes)
        ),
        (RunningReads::SomeDevice, Some(asked)) => some_device(read, bytes(Some(asked))),
        (RunningReads::Unseen, _) => match read.device_bytes {
            Some(bytes) => text!(
                "What served its reads is unknown (see the findings); devices read {} for it as \
                 far as that is seen",
                figure(units::bytes_rounded(bytes))
            ),
            None => Text::from("What served its reads is unknown: see the findings"),
        },
    };
    Some(said)
}

fn some_device(read: &assess::running::ServedReads, asked: Text) -> Text {
    let device = figure(say::bytes(read.device_bytes));
    match read.cached_share_least {
        Some(share) => text!(
            "Of the {} that its calls read, devices read {}: at least {} came from caches",
            asked,
            device,
            figure(say::share(Some(share)))
        ),
        None => text!(
            "Its calls read {}, pipes and sockets included, and devices read {} for it",
            asked,
            device
        ),
    }
}

/// What is not on a device yet.
fn dirty(judged: &RunningAssessment) -> Option<Text> {
    let written = judged.whole.write_bytes?;
    let dirty = judged.dirty_bytes.filter(|_| written > 0)?;
    let written = figure(units::bytes_rounded(written));
    Some(match dirty {
        0 => text!("It made {} dirty; at the end, none of its open files was", written),
        dirty => text!(
            "It made {} dirty; at the end, {} of its open files were not on a device",
            written,
            figure(units::bytes_rounded(dirty))
        ),
    })
}

/// An interval in a line, for a live view.
pub fn running_line(interval: &Interval) -> String {
    let rate = |bytes| say::rate(bytes, interval.length_ns);
    let cpu = interval.user_ns.zip(interval.system_ns);
    let cpu = cpu.map(|(user, system)| user.saturating_add(system));
    let or_unknown = |said: String| if said == NONE { "unknown".to_string() } else { said };
    let looks = interval.looks;
    let seconds = interval.at_ns as f64 / 1e9;
    format!(
        "{seconds:.0} s: from devices {}, by read calls {}, made dirty {}; CPU {}, waiting as for \
         a device {}",
        or_unknown(rate(interval.read_bytes)),
        or_unknown(rate(interval.read_call_bytes)),
        or_unknown(rate(interval.write_bytes)),
        or_unknown(say::share_of(cpu, interval.length_ns)),
        or_unknown(say::share_of_looks(looks.blocked, looks.count)),
    )
}
