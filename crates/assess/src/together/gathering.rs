//! Records of hosts, added one at a time, and judged together.

use super::doubts::doubts;
use super::judged::{CommandOnHost, commands, kinds, late_ns};
use super::paths::{HostPaths, joint_paths};
use super::{Doubt, HostFit, HostsFinding, Joint, JointHost, JointRound, Together};
use crate::assessment::{Assessment, assess};
use crate::counted::rate;
use crate::finding::{Finding, Severity, Verdict};
use crate::found::RunFinding;
use crate::host_round::{HostRound, ending, estimate};
use crate::middle::median;
use crate::scaling::{ScalingStep, scaling};
use crate::straggler::{Clues, HostEvidence, balance, clues, severity, slowest};
use crate::summary::Summary;
use model::case::Case;
use model::list::listed;
use model::plan::{Plan, Planned, Role};
use model::rank::Rank;
use model::record::{Header, Record};
use model::taking_part::TakingPart;
use model::trial::{Outcome, Trial};
use std::collections::{BTreeMap, BTreeSet};

/// A case, an invocation and a round.
type TurnKey = (usize, u32, u32);

/// What is kept of the records.
#[derive(Default)]
pub(super) struct JointRecords {
    /// The first record without its trials, and its judgement.
    first: Option<(Record, Assessment)>,
    hosts: Vec<JointHost>,
    /// Their numbers in the run, or their places if their records do not say them.
    numbers: Vec<u32>,
    /// What each host's own evidence says of each case of the plan.
    own: Vec<Vec<Option<HostEvidence>>>,
    /// Each command of the plan on each host.
    commands: Vec<Vec<Option<CommandOnHost>>>,
    /// What the path of each host carries.
    paths: Vec<HostPaths>,
    /// The commits that their programs were built from, if known.
    commits: Vec<Option<String>>,
    findings: Vec<HostsFinding>,
    fits: Vec<HostFit>,
    rounds: BTreeMap<TurnKey, HostRound>,
    /// Rounds that any host tried.
    tried: BTreeSet<TurnKey>,
    /// Those that failed on any: the reasons, each with the first host that has it.
    failed: BTreeMap<TurnKey, Vec<(String, String)>>,
}

impl JointRecords {
    /// Those of so many hosts, of which `read` returns that of each.
    ///
    /// # Errors
    /// If one cannot be read.
    pub(super) fn of<E>(
        hosts: usize,
        read: &mut impl FnMut(usize) -> Result<Record, E>,
    ) -> Result<JointRecords, E> {
        let mut all = JointRecords::default();
        for host in 0..hosts {
            all.add(&read(host)?);
        }
        Ok(all)
    }

    /// Adds the record of the next host.
    fn add(&mut self, record: &Record) {
        let header = &record.header;
        let assessment = assess(record);
        let host = self.hosts.len();
        let called = header.called.clone().unwrap_or_else(|| header.host.name.clone());
        self.add_findings(&called, &assessment.findings);
        let fit = assessment.conclusions.fit.clone();
        self.fits.extend(fit.map(|fit| HostFit { host: called.clone(), fit }));
        self.commands.push(commands(&called, &assessment, record));
        self.hosts.push(JointHost {
            called,
            os: header.host.os.clone(),
            cores: header.host.cores,
            storage: header.storage.clone(),
            end: record.end.clone(),
            resumed: assessment.resumed.clone(),
            damage: record.damage.clone(),
        });
        self.numbers.push(header.plan.rank.map_or(host as u32, |rank| rank.number));
        self.paths.push(HostPaths::of(header, &assessment));
        self.commits.push(header.tool.commit.clone());
        self.own.push(own(&header.plan, &assessment, record));
        for trial in &record.trials {
            let turn = (trial.case, trial.invocation, trial.round);
            self.tried.insert(turn);
            if let Outcome::Failed { reason } = &trial.outcome {
                let reasons = self.failed.entry(turn).or_default();
                if !reasons.iter().any(|(known, _)| known == reason) {
                    reasons.push((reason.clone(), self.hosts[host].called.clone()));
                }
            }
            if trial.sample().is_some() && trial.clock.is_some() {
                let round = self.rounds.entry(turn);
                let round =
                    round.or_insert_with(|| HostRound::new(&header.plan, turn, trial.at_ms));
                round.add(host, &header.plan.cases[trial.case].case, trial);
            }
        }
        // A host that was lost does not know what was pruned after that.
        let (first, _) = self
            .first
            .get_or_insert_with(|| (Record { trials: Vec::new(), ..record.clone() }, assessment));
        first.header.plan.add_roles(&header.plan);
        for pruned in &record.pruned {
            if !first.pruned.iter().any(|known| known.case == pruned.case) {
                first.pruned.push(pruned.clone());
            }
        }
    }

    fn add_findings(&mut self, called: &str, findings: &[RunFinding]) {
        for found in findings {
            let is_same = |known: &&mut HostsFinding| {
                let known = &known.found.finding;
                (known.code, known.severity) == (found.finding.code, found.finding.severity)
            };
            match self.findings.iter_mut().find(is_same) {
                Some(known) => {
                    known.differs |= known.found.finding.message != found.finding.message;
                    // The host whose message it is comes first.
                    let at = if known.found.join(found) { 0 } else { known.hosts.len() };
                    known.hosts.insert(at, called.to_string());
                }
                None => self.findings.push(HostsFinding {
                    found: found.clone(),
                    hosts: vec![called.to_string()],
                    differs: false,
                }),
            }
        }
    }

    /// Adds the record of `host` again, after all were added once.
    pub(super) fn add_moved(&mut self, host: usize, record: &Record) {
        for trial in &record.trials {
            let round = self.rounds.get_mut(&(trial.case, trial.invocation, trial.round));
            // A run that goes on may have added trials meanwhile.
            let round = round.filter(|round| round.hosts.binary_search(&host).is_ok());
            round.into_iter().for_each(|round| round.add_moved(trial));
        }
    }

    /// Judges all hosts.
    pub(super) fn judge(mut self) -> Option<Together> {
        self.keep_usual();
        self.findings.sort_by_key(|it| std::cmp::Reverse(it.found.finding.severity));
        let (first, judged) = self.first.take()?;
        let header = first.header.clone();
        let plan = &header.plan;
        let whole = self.whole(first);
        let rank = plan.rank.map(|rank| Rank { number: 0, ..rank });
        let of = rank.map_or(self.hosts.len() as u32, |rank| rank.of);
        let of_case = |index: usize| -> Vec<&HostRound> {
            let (from, to) = ((index, 0, 0), (index, u32::MAX, u32::MAX));
            self.rounds.range(from..=to).map(|(_, round)| round).collect()
        };
        let rounds: Vec<Vec<&HostRound>> = (0..plan.cases.len()).map(of_case).collect();
        let step = |index: usize| {
            let case = &plan.cases[index].case;
            let hosts = case.hosts().count(of);
            ScalingStep { case, rounds: &rounds[index], hosts, of }
        };
        let steps: Vec<ScalingStep> = (0..plan.cases.len()).map(step).collect();
        let asked = (0..steps.len()).filter(|index| plan.cases[*index].role == Role::Asked);
        let joint = |index: usize| {
            let step = &steps[index];
            let joint = self.joint(index, step, &whole);
            match self.missing(step.case.hosts(), of).count() {
                0 => Joint { scaling: scaling(step, &steps), ..joint },
                missing => without_figures(joint, missing),
            }
        };
        let cases = asked.map(joint).collect();
        let missing = self.missing(TakingPart::All, of);
        let missing = missing.map(|number| name_of(&header, number)).collect();
        let JointRecords { hosts, findings, fits, .. } = self;
        // Here it stands for all, with the cases that the first host left to others.
        let Assessment { campaign, skips, cases: all, .. } = whole;
        let mut first = Assessment { one_host: None, campaign, skips, ..judged };
        let is_known = |case: &Case| first.cases.iter().any(|known| known.case == *case);
        let elsewhere: Vec<Summary> = all.into_iter().filter(|it| !is_known(&it.case)).collect();
        first.cases.extend(elsewhere);
        Some(Together { first, cases, hosts, findings, missing, rank, fits })
    }

    /// The numbers of those that take part, of so many hosts, whose records are not given.
    fn missing(&self, taking_part: TakingPart, of: u32) -> impl Iterator<Item = u32> {
        taking_part.numbers(of).filter(|number| !self.numbers.contains(number))
    }

    /// Keeps the rounds of each case that the same hosts measured: of most rounds, and of most
    /// hosts among equals. A host that is lost must not leave the others without figures, but
    /// rounds of different hosts are not alike.
    fn keep_usual(&mut self) {
        let mut often: BTreeMap<(usize, &[usize]), usize> = BTreeMap::new();
        for ((case, ..), round) in &self.rounds {
            *often.entry((*case, &round.hosts)).or_default() += 1;
        }
        let mut usual: BTreeMap<usize, (usize, &[usize])> = BTreeMap::new();
        for ((case, hosts), rounds) in often {
            let (most, known) = usual.entry(case).or_insert((rounds, hosts));
            if (rounds, hosts.len()) >= (*most, known.len()) {
                (*most, *known) = (rounds, hosts);
            }
        }
        let is_usual = |(turn, round): (&TurnKey, &HostRound)| {
            usual.get(&turn.0).is_some_and(|(_, hosts)| *hosts == round.hosts).then_some(*turn)
        };
        let keep: BTreeSet<TurnKey> = self.rounds.iter().filter_map(is_usual).collect();
        self.rounds.retain(|turn, _| keep.contains(turn));
    }

    /// All hosts as one. Evidence is each host's own: together they only have figures.
    fn whole(&self, first: Record) -> Assessment {
        assess(&self.as_one(first))
    }

    /// The same as a record, from the first one's.
    fn as_one(&self, first: Record) -> Record {
        let mut record = first;
        (record.header.storage, record.header.fixtures) = (None, Vec::new());
        record.trials = self.rounds.values().map(|round| round.whole.clone()).collect();
        record
    }

    /// The same with the rounds that failed on a host, and under the names of all hosts.
    pub(super) fn record(&mut self) -> Option<Record> {
        self.keep_usual();
        let (first, _) = self.first.as_ref()?;
        let mut record = self.as_one(first.clone());
        let called: Vec<&str> = self.hosts.iter().map(|host| host.called.as_str()).collect();
        // It is not one of several.
        (record.header.host.name, record.header.plan.rank) = (listed(&called), None);
        let failed = self.failed.iter().filter(|(turn, _)| !self.rounds.contains_key(turn));
        record.trials.extend(failed.map(|(turn, reasons)| {
            let each = reasons.iter().map(|(reason, called)| format!("on {called}: {reason}"));
            let reason = each.collect::<Vec<_>>().join("; ");
            Trial::without_data(*turn, 0, Outcome::Failed { reason })
        }));
        record.trials.sort_by_key(|trial| (trial.invocation, trial.round));
        Some(record)
    }

    /// What the hosts' own evidence says of their commands: the findings where it says the worst.
    pub(super) fn findings_of(&self, index: usize) -> Vec<Finding> {
        let own = self.own.iter().filter_map(|own| own.get(index)?.as_ref());
        let worst = own.max_by_key(|own| severity(own.verdict));
        worst.map_or(Vec::new(), |own| own.findings.clone())
    }

    /// The command of a case on each host. `hosts` are those of the rounds, which say who was late.
    fn commands_of(
        &self,
        index: usize,
        hosts: &[usize],
        rounds: &[&HostRound],
    ) -> Vec<CommandOnHost> {
        let late = late_ns(rounds, hosts.len());
        let late = |host: usize| late[hosts.iter().position(|other| *other == host)?];
        let of = |(host, all): (usize, &Vec<Option<CommandOnHost>>)| {
            let command = all.get(index)?.clone()?;
            Some(CommandOnHost { late_ns: late(host), ..command })
        };
        self.commands.iter().enumerate().filter_map(of).collect()
    }

    /// A case on all hosts, without its scaling.
    fn joint(&self, index: usize, step: &ScalingStep, whole: &Assessment) -> Joint {
        let ScalingStep { case, rounds, .. } = *step;
        let figures = whole.cases.iter().find(|summary| summary.case == *case);
        let hosts = rounds.first().map_or(&[][..], |round| &round.hosts[..]);
        let own: Vec<Option<&HostEvidence>> =
            hosts.iter().map(|host| self.own[*host].get(index)?.as_ref()).collect();
        let worst =
            own.iter().flatten().map(|own| own.verdict).max_by_key(|verdict| severity(*verdict));
        let tried = self.tried.range((index, 0, 0)..=(index, u32::MAX, u32::MAX)).count();
        let left_out = tried.saturating_sub(rounds.len());
        let takes_part = |host: usize| case.hosts().includes(self.numbers[host], step.of);
        let is_without = |host: &usize| tried > 0 && takes_part(*host) && !hosts.contains(host);
        let without = (0..self.hosts.len()).filter(is_without);
        let without: Vec<String> = without.map(|host| self.hosts[host].called.clone()).collect();
        let commands = self.commands_of(index, hosts, rounds);
        let mut doubts = doubts(case, rounds, without.len(), left_out);
        let commits: BTreeSet<_> = hosts.iter().map(|host| &self.commits[*host]).collect();
        if commits.len() > 1 {
            doubts.push(Doubt::BuildsDiffer { builds: commits.len() });
        }
        if let kinds @ 2.. = kinds(&commands) {
            doubts.push(Doubt::ServedDiffers { kinds });
        }
        let verdict = match worst.unwrap_or(Verdict::NotRun) {
            Verdict::Sound if !doubts.is_empty() => Verdict::Doubtful,
            verdict => verdict,
        };
        let called: Vec<String> =
            hosts.iter().map(|host| self.hosts[*host].called.clone()).collect();
        let span = |round: &&HostRound| round.value(round.timed_ns(case) as f64);
        let paths = |host: &usize| (&*self.hosts[*host].called, &self.paths[*host]);
        let paths: Vec<(&str, &HostPaths)> = hosts.iter().map(paths).collect();
        let throughput = figures.and_then(|it| it.throughput);
        let skews: Vec<f64> = rounds.iter().map(|round| round.skew_ns() as f64).collect();
        Joint {
            id: case.id(),
            case: case.clone(),
            n: rounds.len(),
            left_out,
            verdict,
            throughput,
            paths: throughput.and_then(|it| joint_paths(case, &paths, it)),
            common: estimate(rounds.iter().filter_map(|it| Some(it.value(it.common_rate()?)))),
            iops: figures.and_then(|it| it.iops),
            time_ns: case.command().and_then(|_| estimate(rounds.iter().map(span))),
            commands,
            p99_ns: figures.and_then(|it| it.latency.p99).map(|p99| p99.ns),
            slowest: slowest(rounds, &called, &own),
            balance: balance(rounds),
            ended_by: ending(case, rounds).map(|(ending, _)| ending),
            scaling: None,
            start_skew_ns: median(&skews),
            clock_error_ns: rounds.iter().map(|round| round.error_ns).max(),
            hosts: called,
            without,
            rounds: rounds.iter().map(|round| joint_round(case, round)).collect(),
            doubts,
        }
    }
}

fn joint_round(case: &Case, round: &HostRound) -> JointRound {
    JointRound {
        invocation: round.whole.invocation,
        round: round.whole.round,
        rate: rate(case, &round.whole),
        common: round.common_rate(),
        starts_ns: round.starts_ns().collect(),
    }
}

/// What the user calls the host with this number in the run.
fn name_of(header: &Header, number: u32) -> String {
    let name = header.hosts.get(number as usize);
    name.cloned().unwrap_or_else(|| format!("host {}", number + 1))
}

/// A case of which the records of some hosts are not given. What the others moved is not what all
/// did: where one is slow, the sum of the others even is more than all did together.
fn without_figures(joint: Joint, missing: usize) -> Joint {
    Joint {
        throughput: None,
        paths: None,
        common: None,
        iops: None,
        time_ns: None,
        p99_ns: None,
        without: Vec::new(),
        rounds: Vec::new(),
        slowest: None,
        balance: None,
        ended_by: None,
        start_skew_ns: None,
        doubts: vec![Doubt::RecordMissing { hosts: missing }],
        verdict: match joint.verdict {
            Verdict::Sound => Verdict::Doubtful,
            verdict => verdict,
        },
        ..joint
    }
}

/// What a host's own evidence says of each case of its plan.
fn own(plan: &Plan, assessment: &Assessment, record: &Record) -> Vec<Option<HostEvidence>> {
    let mut clues = clues(plan.cases.len(), record);
    let of = |(planned, clues): (&Planned, Clues)| {
        let summary = assessment.cases.iter().find(|summary| summary.case == planned.case)?;
        let is_against = summary.findings.iter().filter(|it| it.severity != Severity::Note);
        let doubts = is_against.map(|finding| finding.code).collect();
        let is_command = summary.case.command().is_some();
        let findings = if is_command { summary.findings.clone() } else { Vec::new() };
        Some(HostEvidence { verdict: summary.verdict, doubts, findings, clues })
    };
    plan.cases.iter().zip(clues.drain(..)).map(of).collect()
}
