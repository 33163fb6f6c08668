//! The plan: the cases to measure, and skipped cases with reasons.

use crate::actor::Duty;
use crate::case::{Allocation, Cache, Case, Op, ReadWork, Work, WriteWork};
use crate::command::JudgedCommand;
use crate::content::ContentKind;
use crate::environment::Environment;
use crate::goal::{Goal, Requirement};
use crate::host::Affinity;
use crate::named;
use crate::part::{Part, Whose};
use crate::rank::Rank;
use crate::view::View;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::HashSet;
use std::ops::Range;
use std::time::Duration;

named! {
    /// Why a case is in a plan.
    Role "role" {
        /// To answer the question.
        Asked "asked",
        /// To bound the answers: a ceiling, or the tool's own overhead.
        /// Records before 2026-11-23 call it `control`.
        #[serde(alias = "control")]
        Baseline "baseline",
        /// To repeat a requested case (A/A): any difference is noise.
        Twin "twin",
        /// Other hosts measure it, and this one waits; or only the other side of a gate can.
        Elsewhere "elsewhere",
    }
}

/// A case to measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    /// The case.
    pub case: Case,
    /// Why it is in the plan.
    pub role: Role,
}

named! {
    /// The file that an actor uses.
    #[derive(Default)]
    ActorFile "file" {
        /// One of its own, as in all older records.
        #[default]
        Own "own",
        /// That of the case beside which it runs.
        Case "case",
    }
}

/// Work on the same storage, or on memory, during the trials of the cases that name it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Actor {
    /// Its name.
    pub name: String,
    /// What it does; its time limit has no effect.
    pub case: Case,
    /// Its file.
    #[serde(default, skip_serializing_if = "is_default")]
    pub file: ActorFile,
    /// How much of the time its loop over memory runs.
    #[serde(default, skip_serializing_if = "is_default")]
    pub duty: Duty,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Actor {
    /// An actor with a file of its own.
    pub fn own(name: &str, case: Case) -> Actor {
        Actor { name: name.to_string(), case, file: ActorFile::Own, duty: Duty::WHOLE }
    }

    /// What it does: the id of its case, and its duty.
    pub fn does(&self) -> String {
        let id = self.case.id();
        if self.duty == Duty::WHOLE { id } else { format!("{id} duty:{}", self.duty) }
    }

    /// Why it cannot run during the trials of another case, if so. It must be able to go on for as
    /// long as they do, and its own file must not need a state that they would change.
    pub fn refusal(&self) -> Option<String> {
        let reason = match &self.case.work {
            Work::Metadata(_) | Work::Command(_) => {
                "an actor reads or writes a file, or runs a loop over memory"
            }
            Work::Memory(work) if !work.kernel.is_bulk() => {
                "an actor on memory moves bytes: use a kernel such as read or copy"
            }
            _ if self.case.is_null() => "the engine null does not use the storage",
            _ if !self.case.beside.is_empty() => "actors have no actors beside them",
            Work::Read(ReadWork { io, .. }) | Work::Write(WriteWork { io, .. }) if io.ops > 0 => {
                "a number of operations would end it too early"
            }
            Work::Read(ReadWork { io, .. }) | Work::Write(WriteWork { io, .. })
                if matches!(io.cache, Cache::Warm | Cache::Cold) =>
            {
                "only the case itself starts with a warm or cold file: use cache direct, as-is or \
                 dontcache"
            }
            Work::Read(ReadWork { io, .. }) | Work::Write(WriteWork { io, .. })
                if io.files == Whose::Shared =>
            {
                "actors have files of their own"
            }
            Work::Write(work) if work.op == Op::Copy => "an actor does not copy",
            Work::Write(work) if work.read_share > 0 => {
                "its own file is not written anew before each trial: use two actors, one that \
                 reads and one that writes"
            }
            Work::Write(work) if work.atomic.journal().is_some() => "an actor has no journal",
            Work::Write(work) if work.allocation != Allocation::Overwrite => {
                "it would end once its file is full: use allocation overwrite"
            }
            Work::Write(work) if !work.repeats() => {
                "with one sync at the end, it would end once its file was written: sync every so \
                 many blocks ('every'), or use sync none or dsync"
            }
            _ if self.duty != Duty::WHOLE && self.case.memory().is_none() => {
                "only a loop over memory has a duty: give the storage less to do in another way"
            }
            Work::Memory(_) if self.file == ActorFile::Case => "a loop over memory uses no file",
            Work::Read(_) | Work::Write(_) | Work::Memory(_) => return None,
        };
        Some(format!("the actor '{}': {reason}", self.name))
    }
}

/// A requested case that cannot be measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Skip {
    /// The case.
    pub case: Case,
    /// Why its figure would be meaningless.
    pub reason: String,
}

/// A measured case that needs no more rounds, because throughput no longer grows with one of its
/// axes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pruned {
    /// Its index in the plan.
    pub case: usize,
    /// The first round without it.
    pub round: u32,
    /// What shows that throughput no longer grows.
    pub reason: String,
}

/// The cases, and the skips with reasons.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The recipe's name.
    pub recipe: String,
    /// How it is shown; none in records of programs that chose by the recipe's name.
    #[serde(default, deserialize_with = "known_view", skip_serializing_if = "Option::is_none")]
    pub view: Option<View>,
    /// Passes over all cases; a case has at most one trial in each.
    pub rounds: u32,
    /// Number of invocations, among which the rounds are divided. Each has new workers and new test
    /// files.
    #[serde(default = "one_invocation")]
    pub invocations: u32,
    /// With one invocation, a case ends early once the half-width of its interval is at most this
    /// share of its median.
    pub precision: f64,
    /// Determines the data, the random orders, and the order of cases in each round.
    pub seed: u64,
    /// The content of the test files.
    #[serde(default)]
    pub content: ContentKind,
    /// With this, the trials of a case follow each other without a pause until the rate is steady,
    /// or until this time is up. `None` means that cases take turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sustain: Option<Duration>,
    /// Whether only that time ends a case, so that what happens after a steady rate shows too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole_time: bool,
    /// The time that the run is given: after the planned rounds, the cases with the widest
    /// intervals are measured in further invocations until it is up. `None`: the rounds decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Duration>,
    /// Whether the rest of an axis is pruned once it gives no more throughput (see [`Pruned`]).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub prune: bool,
    /// The control group's limit on the workers' memory in bytes, including page cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<u64>,
    /// What the response times of a load must keep to, at rates that are searched for.
    #[serde(default, rename = "goals", skip_serializing_if = "Vec::is_empty")]
    pub hold: Vec<Requirement>,
    /// The operations per second at which they must be met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<u64>,
    /// What the figures of its cases must be.
    #[serde(default, rename = "fit", skip_serializing_if = "Vec::is_empty")]
    pub goals: Vec<Goal>,
    /// The CPUs and the node that workers are restricted to.
    #[serde(default, skip_serializing_if = "Affinity::is_free")]
    pub bound: Affinity,
    /// What runs beside the cases that name it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actors: Vec<Actor>,
    /// The commands that its cases run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<JudgedCommand>,
    /// What runs before and after all of them; `None` without commands, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub around_commands: Option<AroundCommands>,
    /// The place of this host among those of the run, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<Rank>,
    /// The cases to measure.
    pub cases: Vec<Planned>,
    /// The skipped cases.
    pub skips: Vec<Skip>,
}

/// What runs before and after all commands of a plan, untimed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AroundCommands {
    /// What runs first. What it leaves running lives until the end.
    pub setups: Vec<Vec<String>>,
    /// What runs last.
    pub cleanups: Vec<Vec<String>>,
}

/// A newer program's view that is not known here is none.
fn known_view<'de, D: Deserializer<'de>>(found: D) -> Result<Option<View>, D::Error> {
    let found = serde_json::Value::deserialize(found)?;
    Ok(serde_json::from_value(found).ok())
}

/// Records without a number of invocations have one.
fn one_invocation() -> u32 {
    1
}

/// Minimum number of rounds: fewer give no usable 95 % interval, so no case ends sooner.
pub const ROUNDS_MIN: u32 = 7;

/// Maximum number of cases. More are a mistake: one round of these takes six hours.
pub const CASES_MAX: usize = 20_000;
/// Maximum number of invocations.
pub const INVOCATIONS_MAX: u32 = 100;
/// Maximum number of twins: one of each kind of work in each cache state.
pub const TWINS_MAX: usize = 16;

impl Plan {
    /// An empty plan.
    pub fn new(recipe: &str, rounds: u32, precision: f64, seed: u64) -> Plan {
        Plan {
            recipe: recipe.to_string(),
            view: None,
            rounds,
            invocations: 1,
            precision,
            seed,
            content: ContentKind::Random,
            sustain: None,
            whole_time: false,
            budget: None,
            prune: false,
            memory_limit: None,
            hold: Vec::new(),
            at_least: None,
            goals: Vec::new(),
            bound: Affinity::default(),
            actors: Vec::new(),
            commands: Vec::new(),
            around_commands: None,
            rank: None,
            cases: Vec::new(),
            skips: Vec::new(),
        }
    }

    /// The cases that other hosts measure, or the other side of a gate. That this one cannot may be
    /// told already.
    pub(crate) fn elsewhere(&self) -> impl Iterator<Item = Skip> {
        let reason = match self.rank {
            Some(_) => "others of the run measured it",
            None => "only the other side of the gate measured it",
        };
        let told: HashSet<&Case> = self.skips.iter().map(|skip| &skip.case).collect();
        let elsewhere = self.cases.iter().filter(move |planned| {
            planned.role == Role::Elsewhere && !told.contains(&planned.case)
        });
        elsewhere.map(|planned| Skip { case: planned.case.clone(), reason: reason.to_string() })
    }

    /// The command that `case` runs, if it runs one.
    pub fn command(&self, case: &Case) -> Option<&JudgedCommand> {
        self.commands.get(self.command_number(case)?)
    }

    /// The commands that are judged: others are run beside them, because they bound them.
    pub fn judged_commands(&self) -> impl Iterator<Item = &JudgedCommand> {
        let beside = self.cases.iter().filter(|planned| planned.role == Role::Baseline);
        let beside: Vec<usize> =
            beside.filter_map(|planned| self.command_number(&planned.case)).collect();
        let all = self.commands.iter().enumerate();
        all.filter(move |(number, _)| !beside.contains(number)).map(|(_, command)| command)
    }

    /// Its number among the commands.
    pub fn command_number(&self, case: &Case) -> Option<usize> {
        let work = case.command()?;
        self.commands.iter().position(|command| command.work(work.cache) == *work)
    }

    /// The seed of the trials of `case`. Hosts that share a file have the same.
    pub fn seed_of(&self, case: &Case) -> u64 {
        let is_shared = case.io().is_some_and(|io| io.files == Whose::Shared);
        self.rank.filter(|_| is_shared).map_or(self.seed, |rank| rank.shared_seed())
    }

    /// This host's part of the file of `case`.
    pub fn part(&self, case: &Case) -> Part {
        self.rank.map_or(Part::WHOLE, |rank| rank.part(case))
    }

    /// Whether a round came after the planned ones, in a run that was given a time.
    pub fn is_further(&self, round: u32) -> bool {
        self.budget.is_some() && round >= self.rounds
    }

    /// The actors beside `case`.
    pub fn beside<'a>(&'a self, case: &'a Case) -> impl Iterator<Item = &'a Actor> {
        self.actors.iter().filter(|actor| case.beside.contains(&actor.name))
    }

    /// Whether one of `case` and the actors that use its file overwrites it. What the others read
    /// of it then depends on when they read it.
    pub fn is_overwritten_beside(&self, case: &Case) -> bool {
        let mut sharing = self.beside(case).filter(|actor| actor.file == ActorFile::Case);
        match case.write() {
            Some(_) => sharing.next().is_some(),
            None => sharing.any(|actor| actor.case.write().is_some()),
        }
    }

    /// The rounds of each invocation; there is at least one invocation.
    pub fn rounds_by_invocation(&self) -> impl Iterator<Item = Range<u32>> {
        (0..self.invocations.max(1)).map(|invocation| self.rounds_of(invocation))
    }

    /// The rounds of an invocation: equal parts, with the remainder given to the first ones. Empty
    /// after the last invocation.
    pub fn rounds_of(&self, invocation: u32) -> Range<u32> {
        let invocations = self.invocations.max(1);
        let (each, more) = (self.rounds / invocations, self.rounds % invocations);
        let first = |invocation: u32| {
            let invocation = invocation.min(invocations);
            // At most the number of rounds, which fits into 32 bits.
            invocation.saturating_mul(each).saturating_add(invocation.min(more))
        };
        first(invocation)..first(invocation.saturating_add(1))
    }

    /// Adds a twin of the first requested case of each kind of work and cache state.
    pub fn add_twins(&mut self) {
        let mut known = HashSet::new();
        let kind = |case: &Case| (std::mem::discriminant(&case.work), case.cache());
        let asked = self.cases.iter().filter(|planned| planned.role == Role::Asked);
        let first = asked.filter(|planned| known.insert(kind(&planned.case)));
        let twins: Vec<Planned> =
            first.map(|planned| Planned { case: planned.case.clone(), role: Role::Twin }).collect();
        self.cases.extend(twins);
    }

    /// Adds `cases`. Those that `place` refuses become skips; duplicates are dropped.
    pub fn add(
        &mut self,
        cases: impl IntoIterator<Item = Case>,
        role: Role,
        environment: &Environment,
    ) {
        let mut known: HashSet<Case> = self.cases.iter().map(|p| p.case.clone()).collect();
        known.extend(self.skips.iter().map(|skip| skip.case.clone()));
        for case in cases {
            if !known.insert(case.clone()) {
                continue;
            }
            match environment.refusal(&case) {
                Some(reason) => self.skips.push(Skip { case, reason }),
                None => self.cases.push(Planned { case, role }),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Io;
    use crate::zoo;

    #[test]
    fn a_plan_has_each_case_once() {
        let host = zoo::host();
        let environment = Environment { host: &host, storage: None, source: None, peers: &[] };
        let mut plan = Plan::new("test", 10, 0.025, 1);
        plan.add(zoo::cases(), Role::Asked, &environment);
        let before = plan.clone();
        plan.add(zoo::cases(), Role::Baseline, &environment);
        assert_eq!(plan, before);
        assert!(!plan.cases.is_empty() && !plan.skips.is_empty());
    }

    #[test]
    fn rounds_are_dealt_to_invocations() {
        let dealt = |rounds, invocations| {
            let mut plan = Plan::new("test", rounds, 0.025, 1);
            plan.invocations = invocations;
            plan.rounds_by_invocation().collect::<Vec<_>>()
        };
        assert_eq!(dealt(10, 1), std::iter::once(0..10).collect::<Vec<_>>());
        assert_eq!(dealt(10, 5), [0..2, 2..4, 4..6, 6..8, 8..10]);
        assert_eq!(dealt(8, 3), [0..3, 3..6, 6..8]);
        let mut huge = Plan::new("test", u32::MAX, 0.025, 1);
        huge.invocations = u32::MAX;
        assert_eq!(huge.rounds_of(u32::MAX - 1), u32::MAX - 1..u32::MAX);
        assert!(huge.rounds_of(u32::MAX).is_empty());
    }

    #[test]
    fn a_twin_is_the_first_case_of_its_kind_once_more() {
        let host = zoo::host();
        let environment = Environment { host: &host, storage: None, source: None, peers: &[] };
        let mut plan = Plan::new("test", 10, 0.025, 1);
        let warm = |block| {
            Case::own(Work::Read(ReadWork { io: Io { block, ..zoo::plain().io }, ..zoo::plain() }))
        };
        let cold = ReadWork { io: Io { cache: Cache::Cold, ..zoo::plain().io }, ..zoo::plain() };
        plan.cases = [warm(4096), warm(8192), Case::own(Work::Read(cold))]
            .map(|case| Planned { case, role: Role::Asked })
            .to_vec();
        plan.add([warm(512)], Role::Baseline, &environment);
        plan.add_twins();
        let twins = plan.cases.iter().filter(|planned| planned.role == Role::Twin);
        let twins: Vec<Case> = twins.map(|planned| planned.case.clone()).collect();
        assert_eq!(twins, [warm(4096), Case::own(Work::Read(cold))]);
    }
}
