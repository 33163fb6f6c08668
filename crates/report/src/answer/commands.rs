//! How long each command takes, what served its bytes, how commands compare, and what bounds them.

use super::bounded_commands::bounds;
use super::command_names::CommandNames;
use super::undecided_commands::{ComparedPair, comparisons};
use crate::labels::CaseLabels;
use crate::sentence::{Sentence, figure_in, missing, said_ratio_of};
use crate::text::{Text, figure, joined, text};
use crate::words::listed;
use assess::Assessment;
use assess::command_figures::CommandFigures;
use assess::decision::{Decided, Decision};
use assess::durable_commands::CommandDurability;
use assess::summary::{ServedBy, Summary};
use assess::told::{BYTES_PER_SECOND, ToldFigure, ToldVerdict};
use model::case::Cache;
use model::plan::Role;
use model::units;

/// A line for each command in each state, in the order of the plan; then how commands compare, and
/// what bounds them.
pub(super) fn answer(assessment: &Assessment, _: &CaseLabels) -> Vec<Sentence> {
    let names = CommandNames::of(assessment);
    let rows = rows(assessment);
    if rows.is_empty() {
        return missing("No command has a valid time.");
    }
    let said = rows.iter().filter_map(|summary| said(summary, &names));
    let pairs = assessment.comparisons.iter().filter_map(|found| {
        let row = |id: &str| rows.iter().copied().find(|row| row.id == id);
        let (one, other) = (row(&found.case)?, row(&found.base)?);
        one.case.command()?;
        Some((Decided::differs(found.clone(), [one, other])?, [one, other]))
    });
    let (open, decided): (Vec<ComparedPair>, Vec<ComparedPair>) =
        pairs.partition(|(decided, _)| decided.decision() == Decision::Undecided);
    let compared = decided.iter().filter_map(|(found, pair)| compared(found, *pair, &names));
    let lines = said.chain(compared).chain(of_caches(&rows));
    let lines = lines.chain(comparisons(&open, &names));
    lines.chain(bounds(assessment, &names)).collect()
}

/// The requested commands with a figure that is not void.
fn rows(assessment: &Assessment) -> Vec<&Summary> {
    let asked = assessment.cases.iter().filter(|summary| summary.role == Role::Asked);
    asked.filter(|it| it.verdict.stands() && it.case.command().is_some()).collect()
}

/// `wc big.txt, cold: 1.23 s, of which 0.9 s CPU time; devices read all 64.0 MiB that it asked
/// for.`
fn said(summary: &Summary, names: &CommandNames) -> Option<Sentence> {
    let mut parts = vec![match summary.cpu_ns_per_op {
        Some(cpu_ns) => text!(
            "{}, CPU time {}",
            figure_in(units::nanoseconds(summary.ns_per_op?.median), summary),
            figure(units::nanoseconds(cpu_ns))
        ),
        None => figure_in(units::nanoseconds(summary.ns_per_op?.median), summary),
    }];
    let figures = summary.command.as_deref();
    parts.extend(served(summary, figures));
    parts.extend(figures.and_then(kept));
    parts.extend(summary.told.as_deref().and_then(says));
    let text = text!("{}: {}.", names.name(summary), joined(&parts, "; "));
    Some(Sentence::of_summaries(text, [summary]))
}

/// What served what it read, in words.
fn served(summary: &Summary, figures: Option<&CommandFigures>) -> Option<Text> {
    let size = |bytes: u64| figure(units::bytes_rounded(bytes));
    let asked = figures.and_then(|it| it.asked_bytes);
    let read = figures.and_then(|it| it.device_read_bytes);
    Some(match (summary.served_by?, asked, read) {
        (ServedBy::PageCache, Some(asked), _) => {
            text!("the page cache served all {} that it asked for", size(asked))
        }
        (ServedBy::PageCache, None, _) => "the page cache served all that it read".into(),
        (ServedBy::Device, Some(asked), Some(read)) => from_devices(asked, read),
        (ServedBy::Device, None, Some(read)) => {
            text!("all its data came from devices, which read {} for it", size(read))
        }
        (ServedBy::Mixed, _, Some(0)) => "devices read for it, but not in each run".into(),
        (ServedBy::Mixed, Some(asked), Some(read)) => {
            text!("devices read {} of the {} that it asked for", size(read), size(asked))
        }
        (ServedBy::Mixed, None, Some(read)) => {
            text!("devices read {} for it, and the page cache may have served more", size(read))
        }
        (ServedBy::Device | ServedBy::Mixed, ..) => "devices read for it".into(),
        (ServedBy::Ram, ..) => "its files are in memory".into(),
        (ServedBy::NoIo, ..) => "it read no data file that was there before".into(),
        (ServedBy::Unverified, ..) => "what served its reads is unseen".into(),
        (ServedBy::CpuCache | ServedBy::CpuCacheOrRam | ServedBy::NameCache, ..) => return None,
    })
}

/// What it says of itself, if counters show as much.
fn says(told: &ToldFigure) -> Option<Text> {
    let counted = told.counted.filter(|it| it.verdict == ToldVerdict::Agrees)?;
    let moved = figure(units::bytes_rounded(counted.bytes));
    let unit = told.unit.as_deref().unwrap_or_default();
    let said = figure(match unit {
        BYTES_PER_SECOND => units::rate(told.value.median),
        _ => format!("{} {unit}", units::in_its_unit(told.value.median)),
    });
    Some(text!(
        "it says {}, and its calls moved as much ({} {})",
        said,
        moved,
        counted.moved.name()
    ))
}

/// Devices read more or less than was asked for if the difference is more than this share.
const SAME_BYTES: f64 = 0.01;

/// What devices read of what was asked for, when all the data of its files came from them.
fn from_devices(asked: u64, read: u64) -> Text {
    let size = |bytes: u64| figure(units::bytes_rounded(bytes));
    let times = read as f64 / asked.max(1) as f64;
    match () {
        () if times > 1.0 + SAME_BYTES => text!(
            "devices served all {} that it asked for, and read {} for that",
            size(asked),
            size(read)
        ),
        () if times < 1.0 - SAME_BYTES => text!(
            "devices read {} of the {} that it asked for, and the page cache had the rest: files \
             of its program, or what it read twice",
            size(read),
            size(asked)
        ),
        () => text!("devices served all {} that it asked for", size(asked)),
    }
}

/// Whether what it wrote was durable, in words.
fn kept(figures: &CommandFigures) -> Option<Text> {
    let dirty = figures.dirty_bytes.filter(|bytes| *bytes > 0);
    Some(match (figures.durability?, dirty) {
        (CommandDurability::Durable, _) => "what it wrote was durable when it ended".into(),
        (CommandDurability::Acknowledged, Some(dirty)) => text!(
            "{} that it wrote were on no device when it ended",
            figure(units::bytes_rounded(dirty))
        ),
        (CommandDurability::Acknowledged, None) => "it synced nothing that it wrote".into(),
        (CommandDurability::NotDurable, _) => "its syncs did not make durable what it wrote".into(),
        (CommandDurability::Unseen, _) => "whether what it wrote was durable is unseen".into(),
    })
}

/// `Warm, A is 1.80× (1.71-1.89) as fast as B.`
fn compared(
    decided: &Decided,
    [one, other]: [&Summary; 2],
    names: &CommandNames,
) -> Option<Sentence> {
    let name = |summary: &Summary| Some(names.command(summary.case.command()?));
    let cache = one.case.command()?.cache;
    let lead = if names.has_states { format!("{}, ", state(cache)) } else { String::new() };
    let is_faster = decided.comparison().ratio > 1.0;
    let (fast, slow) = if is_faster { (one, other) } else { (other, one) };
    let ratio = if is_faster { decided.ratio() } else { decided.ratio().inverse() };
    let ratio = said_ratio_of(&ratio, "", decided.rows());
    let (fast, slow) = (name(fast)?, name(slow)?);
    let text = match decided.decision() {
        Decision::Yes => text!("{}{} is {} as fast as {}.", lead, fast, ratio, slow),
        _ => text!("{}there is no difference between {} and {}: {}.", lead, fast, slow, ratio),
    };
    Some(Sentence::figures(text, decided.rows()).capital())
}

/// `as they are`, `warm`.
fn state(cache: Cache) -> &'static str {
    match cache {
        Cache::AsIs => "with caches as they are",
        other => other.name(),
    }
}

/// Comparisons of commands that the page cache served are not of disks, unless they sync.
fn of_caches(rows: &[&Summary]) -> Option<Sentence> {
    let syncs = |row: &Summary| row.command.as_deref().and_then(|figures| figures.syncs);
    let is_cached = |row: &&&Summary| {
        row.served_by == Some(ServedBy::PageCache) && syncs(row).is_none_or(|syncs| syncs == 0)
    };
    let cache = |row: &Summary| row.case.command().map(|work| work.cache);
    let states = [Cache::AsIs, Cache::Warm, Cache::Cold].into_iter().filter(|state| {
        let there = || rows.iter().filter(|row| cache(row) == Some(*state));
        there().count() > 1 && there().all(|row| is_cached(&row))
    });
    let states: Vec<Cache> = states.collect();
    let said: Vec<&str> = states.iter().map(|cache| state(*cache)).collect();
    let of_them = rows.iter().filter(|row| cache(row).is_some_and(|it| states.contains(&it)));
    let text = format!(
        "{}, no device read for any of them: these times compare copies from the page cache, not \
         disks.",
        listed(&said)
    );
    (!states.is_empty()).then(|| Sentence::of_summaries(text, of_them.copied()).capital())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sentence::lines;
    use model::record::Record;
    use model::zoo::commands::record_of_commands;

    fn said(record: &Record) -> Vec<String> {
        let assessment = assess::assess(record);
        let labels = CaseLabels::of(&assessment);
        lines(&answer(&assessment, &labels)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_command_has_a_line_then_comparisons_then_bounds() {
        let said = said(&record_of_commands());
        let cold = "wc input, cold: 140 ms, CPU time 80.0 ms; devices served all 64.0 MiB that it \
                    asked for.";
        assert_eq!(said[1], cold);
        assert!(said[2].ends_with("what it wrote was durable when it ended."), "{}", said[2]);
        let faster = "Warm, wc input is 2.59× (2.57-2.59) as fast as sort -o output input.";
        assert_eq!(said[4], faster);
        // One of them syncs, so the times are not only of copies from the page cache.
        assert!(said[6].starts_with("Computing on one processor bounds wc input, warm"));
        let open = "Undecided: what bounds wc input and sort -o output input, cold (it may have \
                    waited for its device, and nothing like what it does there was measured).";
        assert_eq!(said[7], open);
    }

    /// Each thing that would decide it is told once.
    #[test]
    fn comparisons_that_need_the_same_are_one_question() {
        let mut record = record_of_commands();
        for trial in &mut record.trials {
            trial.evidence.steal_ns = Some(trial.evidence.window_ns);
        }
        let said = said(&record);
        let open = "Undecided: whether sort -o output input and wc input differ, warm and cold \
                    (needs sound figures); what bounds ";
        let line = said.iter().find(|line| line.starts_with("Undecided")).unwrap();
        assert!(line.starts_with(open), "{said:#?}");
    }

    #[test]
    fn what_a_command_says_is_held_against_what_was_counted() {
        let line = |number: &str| {
            let mut record = record_of_commands();
            let figure = model::figure::PrintedFigure {
                number: number.to_string(),
                unit: Some("GB/s".to_string()),
            };
            for trial in record.trials.iter_mut().filter(|trial| trial.case == 0) {
                let model::trial::Outcome::Done(sample) = &mut trial.outcome else { continue };
                sample.figure = Some(figure.clone());
            }
            said(&record).remove(0)
        };
        let expected = "; it says 0.83 GB/s, and its calls moved as much (64.0 MiB read).";
        assert!(line("0.83").ends_with(expected), "{}", line("0.83"));
        assert!(!line("8.28").contains("it says"), "{}", line("8.28"));
    }

    #[test]
    fn what_devices_read_is_held_against_what_was_asked_for() {
        let said = |asked: u64, read: u64| from_devices(asked << 20, read << 20).to_string();
        assert_eq!(said(512, 511), "devices served all 512 MiB that it asked for");
        let more = "devices served all 8.00 MiB that it asked for, and read 64.0 MiB for that";
        assert_eq!(said(8, 64), more);
        let less = "devices read 45.0 MiB of the 49.0 MiB that it asked for, and the page cache \
                    had the rest: files of its program, or what it read twice";
        assert_eq!(said(49, 45), less);
    }

    #[test]
    fn long_names_are_shortened_if_they_still_differ() {
        let text = "a".repeat(30) + &"b".repeat(30);
        let renamed = |names: [&str; 2]| {
            let mut record = record_of_commands();
            let works = record.header.plan.cases.iter_mut();
            let works = works.filter_map(|planned| match &mut planned.case.work {
                model::case::Work::Command(work) => Some(work),
                _ => None,
            });
            works.enumerate().for_each(|(index, work)| work.command = names[index / 2].to_string());
            said(&record).remove(0)
        };
        let [one, other] = ["x", "y"].map(|middle| text[..30].to_string() + middle + &text[30..]);
        assert!(renamed([&one, &other]).starts_with(&one), "only their middles differ");
        assert!(renamed([&one, "y"]).starts_with("aaaaaaaaaaaaaaaaaaaa…bbbbbbbbbbbbbbbbbbb, warm"));
    }
}
