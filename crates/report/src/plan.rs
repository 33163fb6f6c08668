//! A plan before it runs: the cases to measure, the skips with reasons, and what it needs.

use crate::document::{Block, Document, Paragraph, Section};
use crate::findings;
use crate::labels::CaseLabels;
use crate::members::MemberNames;
use crate::text::Text;
use crate::words::count;
use model::goal::Goal;
use model::plan::{Plan, Role};
use model::units;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

/// If more skips share a reason, only the first are named, and the others are counted.
const NAMED_MAX: usize = 4;

/// The cases of a plan, and its skips with reasons; lines on what else it will do, below headings;
/// and what it needs, if that is known. `called` are those who take part, if they are several.
pub fn plan(
    plan: &Plan,
    called: &[String],
    notes: Vec<(&'static str, Vec<String>)>,
    needs: Option<&PlanNeeds>,
) -> Document<'static> {
    let all = plan.cases.iter().map(|planned| (&planned.case, planned.role));
    let asked = all.filter(|(_, role)| *role == Role::Asked).map(|(case, _)| case);
    let members = MemberNames { called, rank: plan.rank };
    let names = CaseLabels::of_cases(asked.chain(plan.skips.iter().map(|skip| &skip.case)))
        .with_members(members);

    let about = names.common_to_all("cases").into_iter().map(Text::from).collect();
    let mut document = Document { title: title(plan), about, ..Document::default() };
    let mut blocks = Vec::new();
    let roles = [
        (Role::Asked, "measured"),
        (Role::Baseline, "baselines"),
        (Role::Twin, "measured a second time (A/A)"),
    ];
    for (role, title) in roles {
        let ids: Vec<String> = plan
            .cases
            .iter()
            .filter(|planned| planned.role == role)
            .map(|planned| names.label(&planned.case))
            .collect();
        if !ids.is_empty() {
            blocks.push(Block::list_apart(title, ids));
        }
    }
    let skipped = findings::by_reason(&plan.skips).into_iter().map(|(reason, ids)| {
        let mut named: Vec<String> = ids.iter().map(|id| names.short(id)).collect();
        if named.len() > NAMED_MAX {
            named.truncate(NAMED_MAX - 1);
            named.push(format!("and {} more", ids.len() - named.len()));
        }
        Block::list_apart(&format!("skipped, because {reason}"), named)
    });
    blocks.extend(skipped);
    if !plan.goals.is_empty() {
        blocks.push(Block::list_apart("goals", plan.goals.iter().map(stated)));
    }
    for (title, lines) in notes {
        blocks.push(Block::list_apart(title, lines));
    }
    if let Some(needs) = needs {
        blocks.extend([Block::list_apart("needed", [""; 0]), Block::Facts(self::needs(needs))]);
    }
    document.part(Section::new("Plan", blocks));
    document.answer = vec![Paragraph::plain("This is a plan: nothing was run.")];
    document
}

/// The recipe, and how often and for how long it is measured.
fn title(plan: &Plan) -> String {
    let (cases, rounds) = (count(plan.cases.len(), "case"), count(plan.rounds as usize, "round"));
    let repeated = match (plan.sustain, plan.invocations) {
        // Its time decides.
        (Some(_), _) => String::new(),
        (None, 1) => format!(" in up to {rounds}"),
        (None, invocations) => format!(" in {invocations} invocations, {rounds}"),
    };
    let mut title = format!("{} · {cases}{repeated} · seed {}", plan.recipe, plan.seed);
    if let Some(time) = plan.sustain {
        let time = units::time(time);
        let until = if plan.whole_time { "" } else { "until it is steady, or " };
        title.push_str(&format!(" · each case {until}for {time}"));
    }
    if let Some(time) = plan.budget {
        let time = units::time(time);
        title.push_str(&format!(" · for {time}"));
    }
    if plan.prune {
        title.push_str(" · pruned");
    }
    if let Some(bytes) = plan.memory_limit {
        title
            .push_str(&format!(" · at most {} of memory for workers", units::bytes_rounded(bytes)));
    }
    title
}

/// `etcd's log: sync p99<10ms, set by etcd's FAQ`
fn stated(goal: &Goal) -> String {
    let says = goal.says.as_ref().map(|says| format!("{says}: ")).unwrap_or_default();
    let by = goal.source.as_ref().map(|source| format!(", set by {source}")).unwrap_or_default();
    format!("{says}{}{by}", goal.must)
}

/// The maximum resources that a plan needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlanNeeds {
    /// The number of trials; `None` if they continue until a rate is steady.
    pub trials: Option<u64>,
    /// The duration on a typical machine; `None` if it cannot be estimated.
    pub expected: Option<Duration>,
    /// The same for the first round.
    pub round: Option<Duration>,
    /// The time that the run is given; `None` if its plan decides.
    pub budget: Option<Duration>,
    /// The maximum time of all trials, without the work between them.
    pub measuring: Duration,
    /// Whether some trials end after a number of operations, long before their time limit.
    pub ends_by_operations: bool,
    /// The space for files, by directory.
    pub disk: Vec<SpaceNeed>,
    /// Bytes of memory that a worker uses.
    pub memory_bytes: u64,
    /// Bytes of page cache that warm files use.
    pub page_cache_bytes: u64,
    /// Bytes of available memory; `None` if the OS does not report it.
    pub available_bytes: Option<u64>,
    /// The path of the record; its directory if no file was named.
    pub record: PathBuf,
    /// Whether `record` is a file that was named.
    pub record_is_named: bool,
}

/// A directory for files, and the space they need there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SpaceNeed {
    /// The directory.
    pub directory: PathBuf,
    /// The maximum total size in bytes of all files that exist at a time.
    pub bytes: u64,
    /// Free bytes; `None` if the file system has no fixed size.
    pub free: Option<u64>,
    /// The maximum number of names that exist there at a time, each of which takes an inode.
    pub names: u64,
    /// Free inodes; `None` if the file system creates them as needed.
    pub free_inodes: Option<u64>,
}

/// An estimated time, such as `about 3m 20s`.
pub fn about(time: Duration) -> String {
    format!("about {}", units::time(rounded_up(time)))
}

/// Rounds up to minutes above an hour, to tens of seconds above a minute, and to seconds below: the
/// estimate is no finer.
fn rounded_up(time: Duration) -> Duration {
    let unit = match time.as_secs() {
        3600.. => 60_000,
        60.. => 10_000,
        1.. => 1_000,
        _ => 100,
    };
    let steps = time.as_millis().div_ceil(unit) * unit;
    Duration::from_millis(u64::try_from(steps).unwrap_or(u64::MAX))
}

/// The needs of a plan, by what they are of.
fn needs(needs: &PlanNeeds) -> Vec<(&'static str, String)> {
    let mut memory = units::bytes_rounded(needs.memory_bytes);
    if needs.page_cache_bytes > 0 {
        let page_cache = units::bytes_rounded(needs.page_cache_bytes);
        memory.push_str(&format!(", and {page_cache} of page cache for files to be warm"));
    }
    let available = needs.available_bytes.map(units::bytes_rounded);
    let available = available.unwrap_or("an unknown amount".to_string());
    let record = needs.record.display();
    let record = match needs.record_is_named {
        true => record.to_string(),
        false => format!("a dated file in {record}"),
    };
    let disk = match needs.disk.is_empty() {
        true => vec!["none: no file is made".to_string()],
        false => needs.disk.iter().map(said_of).collect(),
    };
    let mut all = vec![("time", time(needs))];
    all.extend(disk.into_iter().map(|text| ("disk", text)));
    all.push(("memory", format!("{memory}; {available} is available")));
    all.push(("record", record));
    all
}

/// How long it takes.
fn time(needs: &PlanNeeds) -> String {
    let trials =
        needs.trials.map_or("trials".to_string(), |trials| count(trials as usize, "trial"));
    let ends = if needs.ends_by_operations {
        "; some end sooner, after their number of operations"
    } else {
        ""
    };
    let most = units::time(rounded_up(needs.measuring));
    let time = match needs.expected {
        Some(time) if time < needs.measuring => format!(
            "{} in all; most of its {trials} should end long before their time limits, which add \
             up to {most}",
            about(time)
        ),
        Some(time) => {
            format!("{} in all, of which {trials} take up to {most}{ends}", about(time))
        }
        None => format!("up to {most} for {trials}{ends}, and set-up between them"),
    };
    match needs.budget {
        Some(budget) => given(budget, needs, &time),
        None => time,
    }
}

/// What a run does with the time that it is given; its planned rounds take `planned`.
fn given(budget: Duration, needs: &PlanNeeds, planned: &str) -> String {
    let fits = |time: Option<Duration>| time.is_none_or(|time| time <= budget);
    let what = if fits(needs.expected) {
        "The planned rounds come first. The rest of the time goes to the cases with the widest \
         intervals"
    } else if fits(needs.round) {
        "That is too short for all planned rounds: only as many as fit are measured"
    } else {
        "That is too short for one round: only some cases are measured"
    };
    format!(
        "{} and at most one trial more, from the first trial on. {what}. Planned: {planned}",
        units::time(budget)
    )
}

fn said_of(room: &SpaceNeed) -> String {
    let names = said_names(room);
    match room.bytes {
        0 => names,
        _ if room.names == 0 => said_bytes(room),
        _ => format!("{}; {names}", said_bytes(room)),
    }
}

fn said_names(room: &SpaceNeed) -> String {
    let (names, directory) = (room.names, room.directory.display());
    match room.free_inodes {
        None => format!("{names} empty files in {directory}, which creates inodes as needed"),
        Some(free) => {
            let fits = if names > free / 2 {
                ": that does not fit, for half are left to other programs"
            } else {
                ""
            };
            format!("{names} empty files in {directory}, where {free} inodes are free{fits}")
        }
    }
}

fn said_bytes(room: &SpaceNeed) -> String {
    let (bytes, directory) = (units::bytes_rounded(room.bytes), room.directory.display());
    let Some(free) = room.free else {
        return format!("{bytes} in {directory}, whose free space is unknown");
    };
    let fits = if room.bytes > free { ": that does not fit" } else { "" };
    format!("{bytes} in {directory}, where {} are free{fits}", units::bytes_rounded(free))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line for each need.
    fn said(all: &PlanNeeds) -> String {
        needs(all).iter().map(|(what, text)| format!("{what}: {text}\n")).collect()
    }

    #[test]
    fn times_are_rounded_up_to_what_can_be_known() {
        for (time, rounded) in [
            (Duration::from_millis(0), "0s"),
            (Duration::from_millis(101), "200ms"),
            (Duration::from_millis(45_800), "46s"),
            (Duration::from_millis(61_200), "1m 10s"),
            (Duration::from_millis(12_609_800), "3h 31m"),
        ] {
            assert_eq!(units::time(rounded_up(time)), rounded);
        }
    }

    #[test]
    fn names_need_inodes() {
        let said = |bytes, free_inodes| {
            let free = Some(5 << 30);
            said_of(&SpaceNeed { directory: "/data".into(), bytes, free, names: 2000, free_inodes })
        };
        assert_eq!(said(0, Some(4000)), "2000 empty files in /data, where 4000 inodes are free");
        assert!(said(0, Some(3999)).contains("free: that does not fit"));
        assert!(said(0, None).ends_with("which creates inodes as needed"));
        assert!(
            said(1 << 30, None).starts_with("1.00 GiB in /data, where 5.00 GiB are free; 2000")
        );
    }

    #[test]
    fn what_is_needed_is_told() {
        let (names, free_inodes) = (0, None);
        let (directory, free) = ("/data".into(), Some(5 << 30));
        let room = SpaceNeed { directory, bytes: 1 << 30, free, names, free_inodes };
        let all = PlanNeeds {
            trials: Some(200),
            expected: Some(Duration::from_secs(70)),
            round: Some(Duration::from_secs(7)),
            budget: None,
            measuring: Duration::from_secs(150),
            ends_by_operations: false,
            disk: vec![
                room.clone(),
                SpaceNeed { free: Some(1 << 20), ..room.clone() },
                SpaceNeed { free: None, ..room },
            ],
            memory_bytes: 128 << 20,
            page_cache_bytes: 256 << 20,
            available_bytes: Some(20 << 30),
            record: "/state/ioassay".into(),
            record_is_named: false,
        };
        let text = said(&all);
        for expected in [
            "time: about 1m 10s in all; most of its 200 trials should end long before their",
            "disk: 1.00 GiB in /data, where 5.00 GiB are free\n",
            "where 1.00 MiB are free: that does not fit\n",
            "whose free space is unknown\n",
            "memory: 128 MiB, and 256 MiB of page cache for files to be warm; 20.0 GiB is",
            "record: a dated file in /state/ioassay\n",
        ] {
            assert!(text.contains(expected), "'{text}' does not say '{expected}'");
        }
        for (budget, expected) in [
            (600, "10m and at most one trial more, from the first trial on"),
            (600, "The rest of the time goes to the cases with the widest intervals"),
            (600, "Planned: about 1m 10s in all"),
            (60, "too short for all planned rounds"),
            (6, "too short for one round"),
        ] {
            let budget = Some(Duration::from_secs(budget));
            let text = said(&PlanNeeds { budget, ..all.clone() });
            assert!(text.contains(expected), "{text}");
        }
        let sooner = said(&PlanNeeds { ends_by_operations: true, ..all.clone() });
        assert!(sooner.contains("200 trials should end long before"), "{sooner}");
        let record = "x.jsonl".into();
        let least = PlanNeeds {
            trials: None,
            expected: None,
            disk: Vec::new(),
            page_cache_bytes: 0,
            record,
            ..all
        };
        let untold = said(&PlanNeeds { available_bytes: None, ..least.clone() });
        assert!(untold.contains("128 MiB; an unknown amount is available\n"), "{untold}");
        let text = said(&PlanNeeds { record_is_named: true, ..least });
        for expected in
            ["time: up to 2m 30s for trials,", "disk: none", "128 MiB; 20.0", "record: x.jsonl\n"]
        {
            assert!(text.contains(expected), "'{text}' does not say '{expected}'");
        }
    }
}
