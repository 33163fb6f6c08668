//! What bounds each command, in words.

use super::command_names::CommandNames;
use super::undecided_commands;
use crate::sentence::{Sentence, marked, said_ratio_of};
use crate::text::{Text, figure, joined, text};
use crate::words::percent;
use assess::Assessment;
use assess::conclusions::commands::{BUSY, BoundedCommand, CommandBound};
use assess::conclusions::device_use::{DeviceRequests, DeviceUse};
use assess::decision::Named;
use model::units;

/// What each bound is called, in the order of the lines.
const BOUNDS: [(CommandBound, &str); 6] = [
    (CommandBound::Limit, "A limit of a control group holds back"),
    (CommandBound::AllProcessors, "Computing on all processors bounds"),
    (CommandBound::OneProcessor, "Computing on one processor bounds"),
    (CommandBound::Start, "So short that starting the process is most of it:"),
    (CommandBound::Device, "The device, which gives no more, bounds"),
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
            .map(|one| match share_in_words(one) {
                Some(share) => text!("{} ({})", name(one), share),
                None => name(one),
            })
            .collect();
        let rows = of(*bound).map(|one| &one.case);
        (!said.is_empty())
            .then(|| Sentence::figures(text!("{} {}.", *lead, joined(&said, "; ")), rows))
    });
    let of_requests = of(CommandBound::Requests).filter_map(|one| {
        let device = one.device.as_ref()?;
        let requests = device.requests.as_ref()?;
        let ceiling = Named::of(assessment.row(&device.ceiling)?)?;
        Some(by_requests(name(one), (device, requests), &[one.case.clone(), ceiling]))
    });
    let open = [NOT_MEASURED, TOO_WIDE, BY_THREADS, PARTLY].map(|why| {
        let unknown: Vec<&BoundedCommand> =
            of(CommandBound::Unknown).filter(|one| why_unknown(one) == why).collect();
        undecided_commands::bounds(assessment, (why, &unknown), names)
    });
    lines.chain(of_requests).chain(open.into_iter().flatten()).collect()
}

/// Why it is unknown what bounds a command that may have waited for its device.
const NOT_MEASURED: &str = "how much the devices can do was not measured";
/// The same, of one that was measured.
const TOO_WIDE: &str = "the share of what the device gives is not known well enough";
/// Why it is unknown what bounds a command that computed all the time with several threads.
const BY_THREADS: &str = "which of its threads waited is not counted";
/// Why it is unknown what bounds others.
const PARTLY: &str = "neither computed all the time nor waited for most of it";

fn why_unknown(one: &BoundedCommand) -> &'static str {
    match &one.device {
        None if one.uses_devices => NOT_MEASURED,
        Some(device) if !device.is_below_ceiling() => TOO_WIDE,
        _ if one.processors.is_some_and(|used| used >= BUSY) => BY_THREADS,
        _ => PARTLY,
    }
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
        _ => None,
    }
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
    use assess::ratio::Ratio;

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
