//! How long each command takes, what served its bytes, how commands compare, and what bounds them.

use crate::labels::CaseLabels;
use crate::sentence::{Sentence, figure_in, missing, needs, said_ratio_of};
use crate::text::{Text, case, figure, joined, text};
use crate::words::{listed, percent};
use assess::Assessment;
use assess::command_figures::CommandFigures;
use assess::conclusions::commands::{BoundedCommand, CommandBound};
use assess::decision::{Decided, Decision};
use assess::durable_commands::CommandDurability;
use assess::summary::{ServedBy, Summary};
use assess::told::{BYTES_PER_SECOND, ToldFigure, ToldVerdict};
use model::case::{Cache, CommandWork};
use model::plan::Role;
use model::units;
use std::collections::HashSet;

/// A line for each command in each state, in the order of the plan; then how commands compare, and
/// what bounds them.
pub(super) fn answer(assessment: &Assessment, _: &CaseLabels) -> Vec<Sentence> {
    let names = CommandNames::of(assessment);
    let rows = rows(assessment);
    if rows.is_empty() {
        return missing("No command has a valid time.");
    }
    let said = rows.iter().filter_map(|summary| said(summary, &names));
    let compared = assessment.comparisons.iter().filter_map(|found| {
        let row = |id: &str| rows.iter().copied().find(|row| row.id == id);
        let (one, other) = (row(&found.case)?, row(&found.base)?);
        one.case.command()?;
        compared(&Decided::differs(found.clone(), [one, other])?, [one, other], &names)
    });
    let lines = said.chain(compared).chain(of_caches(&rows));
    lines.chain(bounds(assessment, &names)).collect()
}

/// The requested commands with a figure that is not void.
fn rows(assessment: &Assessment) -> Vec<&Summary> {
    let asked = assessment.cases.iter().filter(|summary| summary.role == Role::Asked);
    asked.filter(|it| it.verdict.stands() && it.case.command().is_some()).collect()
}

/// How sentences name commands.
struct CommandNames {
    /// The length to which their texts are shortened; none if they would not be unique.
    most: Option<usize>,
    /// Whether there are several cache states, so that each is named.
    has_states: bool,
}

/// A command in a sentence has at most so many characters.
const NAME_MOST: usize = 40;

impl CommandNames {
    fn of(assessment: &Assessment) -> CommandNames {
        let all = || assessment.cases.iter().filter_map(|summary| summary.case.command());
        let whole: HashSet<&str> = all().map(|work| work.command.as_str()).collect();
        let short: HashSet<String> = whole.iter().map(|name| shortened(name, NAME_MOST)).collect();
        let caches: HashSet<Cache> = all().map(|work| work.cache).collect();
        let most = (short.len() == whole.len()).then_some(NAME_MOST);
        CommandNames { most, has_states: caches.len() > 1 || !caches.contains(&Cache::AsIs) }
    }

    /// `sort big.txt (size=4k)`.
    fn command(&self, work: &CommandWork) -> String {
        let name = match self.most {
            Some(most) => shortened(&work.command, most),
            None => work.command.clone(),
        };
        match work.parameters.as_str() {
            "" => name,
            parameters => format!("{name} ({parameters})"),
        }
    }

    /// `sort big.txt, cold`.
    fn name(&self, summary: &Summary) -> Text {
        let said = summary.case.command().map_or(String::new(), |work| match self.has_states {
            true => format!("{}, {}", self.command(work), work.cache),
            false => self.command(work),
        });
        case(&summary.id, &|_| said.clone())
    }
}

/// The beginning and the end of a long text.
fn shortened(text: &str, most: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= most {
        return text.to_string();
    }
    let of = |part: &[char]| part.iter().collect::<String>();
    let (head, tail) = (most / 2, most - most / 2 - 1);
    format!("{}…{}", of(&letters[..head]), of(&letters[letters.len() - tail..]))
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
    let size = |bytes: Option<u64>| bytes.map(|bytes| figure(units::bytes_rounded(bytes)));
    let asked = size(figures.and_then(|it| it.asked_bytes));
    let read = size(figures.and_then(|it| it.device_read_bytes));
    Some(match (summary.served_by?, asked, read) {
        (ServedBy::PageCache, Some(asked), _) => {
            text!("the page cache served all {} that it asked for", asked)
        }
        (ServedBy::PageCache, None, _) => "the page cache served all that it read".into(),
        (ServedBy::Device, Some(asked), _) => {
            text!("devices served all {} that it asked for", asked)
        }
        (ServedBy::Device, None, Some(read)) => {
            text!("devices read {} for it, its files whole", read)
        }
        (ServedBy::Mixed, Some(asked), Some(read)) => {
            text!("devices read {} of the {} that it asked for", read, asked)
        }
        (ServedBy::Mixed, None, Some(read)) => {
            text!("devices read {} for it, and the page cache may have served more", read)
        }
        (ServedBy::Device | ServedBy::Mixed, ..) => "devices read for it".into(),
        (ServedBy::Ram, ..) => "its files are in memory".into(),
        (ServedBy::NoIo, ..) => "it read no data file".into(),
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
        _ => format!("{} {unit}", units::scaled(told.value.median).trim_end()),
    });
    Some(text!(
        "it says {}, and its calls moved as much ({} {})",
        said,
        moved,
        counted.moved.name()
    ))
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
    if decided.decision() == Decision::Undecided {
        let asks = format!("{lead}whether {} and {} differ", name(one)?, name(other)?);
        return Some(Sentence::open(asks, needs(decided.open()), decided.rows()));
    }
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

/// Comparisons of commands that the page cache served are not of disks.
fn of_caches(rows: &[&Summary]) -> Option<Sentence> {
    let is_cached = |row: &&&Summary| row.served_by == Some(ServedBy::PageCache);
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

/// What each bound is called, in the order of the lines.
const BOUNDS: [(CommandBound, &str); 5] = [
    (CommandBound::Limit, "A limit of a control group holds back"),
    (CommandBound::AllProcessors, "Computing on all processors bounds"),
    (CommandBound::OneProcessor, "Computing on one processor bounds"),
    (CommandBound::Start, "So short that starting the process is most of it:"),
    (CommandBound::Waiting, "Waits for neither a device nor a processor, but for something else:"),
];

/// A line for each bound, and what is not known.
fn bounds(assessment: &Assessment, names: &CommandNames) -> Vec<Sentence> {
    let all = &assessment.conclusions.bounded;
    let name = |one: &BoundedCommand| {
        assessment.row(&one.case.id).map_or_else(Text::default, |summary| names.name(summary))
    };
    let of = |bound: CommandBound| all.iter().filter(move |it| it.bound == bound);
    let lines = BOUNDS.iter().filter_map(|(bound, lead)| {
        let said: Vec<Text> = of(*bound)
            .map(|one| match one.processors.filter(|_| is_of_share(*bound)) {
                Some(used) => text!("{} ({} busy)", name(one), figure(percent(100.0 * used))),
                None => name(one),
            })
            .collect();
        let rows = of(*bound).map(|one| &one.case);
        (!said.is_empty())
            .then(|| Sentence::figures(text!("{} {}.", *lead, joined(&said, "; ")), rows))
    });
    let open = [(true, "how much its devices can do was not measured"), (false, PARTLY)].map(
        |(by_device, needs)| {
            let unknown: Vec<&BoundedCommand> =
                of(CommandBound::Unknown).filter(|one| one.uses_devices == by_device).collect();
            let asks: Vec<Text> = unknown.iter().map(|one| name(one)).collect();
            let asks = (!asks.is_empty()).then(|| text!("what bounds {}", joined(&asks, "; ")))?;
            Some(Sentence::open(asks, needs, unknown.iter().map(|one| &one.case)))
        },
    );
    lines.chain(open.into_iter().flatten()).collect()
}

/// Why it is unknown what bounds a command that used no device.
const PARTLY: &str = "it neither computed all the time nor waited for most of it";

/// Whether the CPU time of a run says more of this bound.
fn is_of_share(bound: CommandBound) -> bool {
    matches!(bound, CommandBound::OneProcessor | CommandBound::Waiting)
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
        assert!(said[6].starts_with("Warm, no device read for any of them"), "{}", said[6]);
        assert!(said[7].starts_with("Computing on one processor bounds wc input, warm"));
        assert!(said[8].starts_with("Undecided: what bounds wc input, cold; "), "{}", said[8]);
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
    fn long_names_are_shortened_if_they_still_differ() {
        let text = "a".repeat(30) + &"b".repeat(30);
        assert_eq!(shortened(&text, 40), "a".repeat(20) + "…" + &"b".repeat(19));
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
