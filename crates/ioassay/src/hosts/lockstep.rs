//! A run on several hosts in lockstep: all prepare a trial, then all begin it at the same moment.
//!
//! Each host has a record of its own, judged by its own evidence. What they did together comes
//! from all records (`assess/together.rs`).

use super::interrupted::JointBefore;
use super::late::{ExpectedWork, LateHosts, MAKE};
use super::listening::{Waiting, hear_all};
use super::looks::{LOOK, Looks, seen};
use super::meeting::{Made, orders};
use super::member::{Lacking, Member, clean_up, clocks, loss};
use super::remote::{Offsets, Remote};
use super::turn::{HostAnswers, Prepared, TrialEnd};
use super::turn::{RELEASE, claim, end_trial, expected, is_failed, lead, lost};
use super::turn::{preparing, reading};
use super::view::HostsView;
use crate::agenda::{Agenda, NextRound};
use crate::clock::{self, RunClock};
use crate::crew::{Crew, PAUSE, RunState, carry_out};
use crate::progress::NextTrial;
use crate::site::Turn;
use crate::stop::Stop;
use crate::store::Store;
use anyhow::{Result, bail};
use model::agent::{Answer, Order};
use model::plan::Plan;
use model::record::{End, Invocation, RecordLine};
use model::trial::Trial;
use model::vitals::Vitals;
use std::collections::{BTreeMap, BTreeSet};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A run in lockstep.
pub struct Lockstep<'a> {
    /// The plan of the first host; each has it with a seed of its own.
    plan: &'a Plan,
    members: Vec<Member>,
    before: JointBefore,
    stop: &'a Stop,
    /// Says which hosts are waited for.
    late: &'a LateHosts<'a>,
    view: HostsView<'a>,
    clock: RunClock,
    /// Why hosts were lost so far.
    lost: Vec<String>,
    /// The agents of lost hosts, which are given time to end while the others go on.
    leaving: Vec<JoinHandle<()>>,
    /// What hosts saw before the first trial of the part that goes on.
    looks: Looks,
}

impl Drop for Lockstep<'_> {
    fn drop(&mut self) {
        // All end at the same time.
        self.live().for_each(|(_, agent)| agent.dismiss());
        for leaving in self.leaving.drain(..) {
            if leaving.join().is_err() {
                log::warn!("the agent of a lost host may still run");
            }
        }
    }
}

impl Lockstep<'_> {
    /// Begins a run, or goes on with one.
    pub fn new<'a>(
        plan: &'a Plan,
        members: Vec<Member>,
        before: JointBefore,
        stop: &'a Stop,
        (late, view): (&'a LateHosts<'a>, HostsView<'a>),
    ) -> Lockstep<'a> {
        let (lost, leaving, clock) = (Vec::new(), Vec::new(), RunClock::start(before.lasted));
        let looks = Looks::default();
        Lockstep { plan, members, before, stop, late, view, clock, lost, leaving, looks }
    }

    /// Runs all trials that are left. A host that is lost during a trial ends it on the others,
    /// too, which then go on without it.
    ///
    /// # Errors
    /// If a record cannot be written, or no host is left.
    pub fn carry_out(mut self) -> Result<Lacking> {
        let (agenda, clock) = (self.before.agenda(self.plan), self.clock);
        carry_out(&mut self, RunState { agenda, clock })?;
        let uncleaned = clean_up(self.plan, &mut self.members, (self.late, self.stop));
        Ok(Lacking { lost: std::mem::take(&mut self.lost), uncleaned })
    }

    /// Says how far the run is: in lines on a terminal, and otherwise once a minute.
    fn show_next(&self, (index, round): (usize, u32), agenda: &Agenda, planned: u64) {
        let (case, rates) = (&self.plan.cases[index].case, &agenda.rates_of(index));
        let (done, ends) = (agenda.trials(), agenda.ends(self.clock.passed()));
        let next = NextTrial { done, planned, round, ends, case, rates };
        let own = self.hosts_of(index).into_iter().map(|host| &self.members[host]);
        match self.view.is_hidden() {
            true => self.late.tell_progress(&next, self.clock.here()),
            false => self.view.trial(own, &next),
        }
    }

    /// The hosts that are not lost.
    fn live(&mut self) -> impl Iterator<Item = (&mut Store, &mut Remote)> {
        self.members.iter_mut().filter_map(Member::live)
    }

    /// Gives up a host, whose record ends here.
    fn lose(&mut self, index: usize, error: &anyhow::Error) -> Result<String> {
        let (at_ms, member) = (self.clock.at_ms(), &mut self.members[index]);
        if let Some(mut agent) = member.agent.take() {
            agent.expect_nothing();
            // It may take seconds to end. If no thread can be started, it ends here.
            let leaving = thread::Builder::new().spawn(move || drop(agent));
            self.leaving.extend(leaving.ok());
        }
        let reason = lost(&member.called, error);
        self.late.begin_anew();
        // A run that is stopped dismisses its hosts.
        if self.stop.is_asked() {
            member.store.append(&RecordLine::End(End::Interrupted))?;
            return Ok(reason);
        }
        self.view.lose(&member.called);
        member.store.append(&RecordLine::End(End::Lost { at_ms, reason: format!("{error:#}") }))?;
        if self.members.iter().all(|member| member.agent.is_none()) {
            match self.members.len() {
                1 => bail!(reason),
                _ => bail!("no host is left: {reason}"),
            }
        }
        self.lost.push(reason.clone());
        Ok(reason)
    }

    /// Gives each host its order, if any, to do `what`, and waits for the answers. Hosts that do
    /// not answer are lost; then the others get the order of `release`, if any, which is given the
    /// name of the lost host and the reason.
    fn each(
        &mut self,
        order: impl Fn(usize) -> Option<Order>,
        what: ExpectedWork,
        release: impl Fn(&str, &anyhow::Error) -> Option<(Order, Duration)>,
    ) -> Result<HostAnswers> {
        let called: Vec<String> = self.members.iter().map(|it| it.called.clone()).collect();
        let release = |index: usize, error: &anyhow::Error| release(&called[index], error);
        let mut waiting = Vec::new();
        let mut heard = Vec::new();
        for (index, member) in self.members.iter_mut().enumerate() {
            let (Some(agent), Some(order)) = (&mut member.agent, order(index)) else { continue };
            match agent.tell(&order) {
                Ok(()) => waiting.push((index, agent)),
                Err(error) => heard.push((index, Err(error))),
            }
        }
        let ExpectedWork { what, time, patience } = what;
        let late = |since: Duration, answered: usize, silent: &mut dyn Iterator<Item = usize>| {
            let names = silent.map(|index| called[index].as_str());
            self.late.tell((since.saturating_sub(time), answered), names, what);
        };
        let heard = hear_all(waiting, heard, &Waiting { patience, release: &release, late: &late });
        let mut answers = HostAnswers::default();
        for (index, answer) in heard {
            match answer {
                Ok(answer) => answers.heard.push((index, answer)),
                Err(error) => answers.lost.push(self.lose(index, &error)?),
            }
        }
        answers.heard.sort_unstable_by_key(|(index, _)| *index);
        Ok(answers)
    }

    /// Runs and records a trial on all hosts, unless its case failed too often.
    fn turn(&mut self, turn: Turn, agenda: &mut Agenda) -> Result<()> {
        let trials = match self.refusal(turn.case, agenda) {
            Some(reason) => {
                let hosts = self.hosts_of(turn.case).into_iter();
                hosts.map(|host| (host, turn.failed(reason.clone()))).collect()
            }
            None => self.trial(turn)?,
        };
        if self.stop.is_asked() {
            // The trial was cut short, so it is not recorded.
            return Ok(());
        }
        match &trials[..] {
            // It is over, and nobody is left who could have it in a record.
            [] => agenda.add_trials(&[&turn.failed("all of its hosts were lost".to_string())]),
            trials => agenda.add_trials(&trials.iter().map(|(_, it)| it).collect::<Vec<_>>()),
        }
        let lines = trials.into_iter().map(|(index, trial)| (index, RecordLine::Trial(trial)));
        self.append_each(lines)
    }

    /// Appends to the record of each host its line. One that cannot be written takes nothing from
    /// the others, and that of a host which was lost meanwhile has ended.
    fn append_each(&mut self, lines: impl Iterator<Item = (usize, RecordLine)>) -> Result<()> {
        let mut appended = Ok(());
        for (index, line) in lines {
            if let Some((store, _)) = self.members[index].live() {
                appended = appended.and(store.append(&line));
            }
        }
        appended
    }

    /// The numbers of the hosts that measure a case.
    fn hosts_of(&self, case: usize) -> BTreeSet<usize> {
        let hosts = self.plan.cases[case].case.hosts();
        hosts.numbers(self.members.len() as u32).map(|number| number as usize).collect()
    }

    /// Why a case is not tried, if it is not.
    fn refusal(&self, case: usize, agenda: &Agenda) -> Option<String> {
        let loss = loss(&self.members, &self.hosts_of(case), &self.plan.cases[case].case);
        loss.or_else(|| agenda.refusal(case))
    }

    /// Runs a trial on all of its hosts. If it fails on one, it fails on all: those that measured
    /// did so beside fewer than the case says.
    fn trial(&mut self, turn: Turn) -> Result<Vec<(usize, Trial)>> {
        let before = self.clocks()?;
        let prepared = self.prepare(turn)?;
        let ended = self.perform(turn.case, &before, &prepared)?;
        let after = self.clocks()?;
        let is_failed = ended.reason.is_some();
        let mut trials = prepared.early;
        trials.extend(ended.trials((&before, &after))?);
        trials.iter_mut().for_each(|(_, trial)| claim(turn, trial));
        if is_failed {
            self.view.fail();
        }
        Ok(trials)
    }

    /// Lets all hosts of a trial prepare it.
    fn prepare(&mut self, turn: Turn) -> Result<Prepared> {
        let Turn { case, invocation, round, at_ms } = turn;
        let (hosts, reading) = (self.hosts_of(case), reading(&self.plan.cases[case].case));
        let order = |index| {
            hosts.contains(&index).then_some(Order::Trial { case, invocation, round, at_ms })
        };
        // What reads a whole file ends only once it is read.
        let release = |called: &str, error: &anyhow::Error| {
            Some((end_trial(called, error), RELEASE.saturating_add(reading)))
        };
        let patience = preparing(&self.plan.cases[case].case);
        let prepare = ExpectedWork { what: "prepare its trial", time: Duration::ZERO, patience };
        let answers = self.each(order, prepare, release)?;
        Prepared::of(answers, |index| self.members[index].called.clone())
    }

    /// Lets the hosts that are ready begin at the same moment, and waits for the end of all.
    fn perform(
        &mut self,
        case: usize,
        before: &BTreeMap<usize, Offsets>,
        prepared: &Prepared,
    ) -> Result<TrialEnd> {
        let planned = &self.plan.cases[case].case;
        let lead = lead(planned, prepared.ready.len());
        let begins_ns = clock::now().monotonic_ns.saturating_add(lead.as_nanos() as u64);
        let go = |index: usize| {
            let offsets = before.get(&index)?;
            prepared.ready.contains(&index).then(|| match &prepared.reason {
                None => Order::Go { begins_ns: offsets.monotonic.theirs(begins_ns) },
                Some(reason) => Order::Cancel { reason: reason.clone() },
            })
        };
        let patience = preparing(planned).saturating_add(planned.time());
        let release =
            |called: &str, error: &anyhow::Error| Some((end_trial(called, error), RELEASE));
        let expected = expected(planned).saturating_add(lead);
        let measure = ExpectedWork { what: "end its trial", time: expected, patience };
        let done = self.each(go, measure, release)?;
        let reason = prepared.reason.clone().or(done.lost.first().cloned());
        // What ends because another host was lost has not failed by itself.
        let mut failures = done.heard.iter().filter(|(_, answer)| is_failed(answer));
        let failed = failures.next().filter(|_| reason.is_none()).map(|(index, _)| *index);
        let reason =
            reason.or_else(|| Some(format!("it failed on {}", self.members[failed?].called)));
        // Reading back what was written would disturb hosts that are still at work.
        let (over, mut told): (Vec<_>, Vec<_>) =
            done.heard.into_iter().partition(|(_, answer)| *answer == Answer::Over);
        let over: BTreeSet<usize> = over.into_iter().map(|(index, _)| index).collect();
        let close = |index: usize| {
            over.contains(&index).then(|| match &reason {
                None => Order::Close,
                Some(reason) => Order::Cancel { reason: reason.clone() },
            })
        };
        let check = ExpectedWork { what: "check what it wrote", time: Duration::ZERO, patience };
        let closed = self.each(close, check, |_, _| None)?;
        let reason = reason.or(closed.lost.first().cloned());
        told.extend(closed.heard);
        Ok(TrialEnd { told, reason, failed })
    }

    /// Records what each host saw before and after the part whose last trial has just ended.
    fn end_part(&mut self) -> Result<()> {
        let looks = std::mem::take(&mut self.looks).until(self.look()?);
        self.append_each(looks.into_iter().map(|(index, part)| (index, RecordLine::Vitals(part))))
    }

    /// What each host sees now. Nobody waits for the answers of a run that is stopped.
    fn look(&mut self) -> Result<BTreeMap<usize, Vitals>> {
        if self.stop.is_asked() {
            return Ok(BTreeMap::new());
        }
        let at_ms = self.clock.at_ms();
        let answers = self.each(|_| Some(Order::Vitals), LOOK, |_, _| None)?;
        answers.heard.into_iter().map(|(index, answer)| Ok((index, seen(answer, at_ms)?))).collect()
    }

    /// How far the clocks of all hosts are ahead. Hosts that do not answer are lost.
    fn clocks(&mut self) -> Result<BTreeMap<usize, Offsets>> {
        let mut all = BTreeMap::new();
        for (index, offsets) in clocks(&mut self.members)? {
            match offsets {
                Ok(offsets) => drop(all.insert(index, offsets)),
                Err(error) => drop(self.lose(index, &error)?),
            }
        }
        Ok(all)
    }
}

impl Crew for Lockstep<'_> {
    fn stop(&self) -> &Stop {
        self.stop
    }

    /// Where a run goes on is in its records already.
    fn begin(&mut self, state: &RunState) -> Result<()> {
        self.view.rounds_begin();
        self.looks = Looks { invocation: state.agenda.invocation(), before: self.look()? };
        Ok(())
    }

    /// New files and workers on all hosts.
    fn begin_anew(&mut self, state: &RunState) -> Result<()> {
        let number = state.agenda.invocation();
        let since = Instant::now();
        self.stop.wait(PAUSE);
        self.view.making(self.live().count());
        let mut answers = self.each(|_| Some(Order::Anew), MAKE, |_, _| None)?;
        if self.plan.rank.is_some_and(|rank| rank.shares) {
            let folder = |(index, answer): (usize, Answer)| -> Result<_> {
                Ok((index, Made::of(answer)?.folder))
            };
            let mut there = answers.heard.into_iter().map(folder).collect::<Result<Vec<_>>>()?;
            loop {
                let orders: BTreeMap<usize, Order> = orders(&there).into_iter().collect();
                answers = self.each(|index| orders.get(&index).cloned(), MAKE, |_, _| None)?;
                if answers.lost.is_empty() {
                    break;
                }
                // What a lost host did not write of a shared file, the others write.
                let heard: BTreeSet<usize> =
                    answers.heard.iter().map(|(index, _)| *index).collect();
                there.retain(|(index, _)| heard.contains(index));
            }
        }
        let (at_ms, made_ms) = (self.clock.at_ms(), since.elapsed().as_millis() as u64);
        for (index, answer) in answers.heard {
            let Made { fixtures, .. } = Made::of(answer)?;
            let (resumed, again) = (None, Vec::new());
            let anew = Invocation { number, at_ms, made_ms, fixtures, resumed, again };
            self.members[index].store.append(&RecordLine::Invocation(anew))?;
        }
        self.looks = Looks { invocation: number, before: self.look()? };
        Ok(())
    }

    fn round(&mut self, next: &NextRound, state: &mut RunState) -> Result<bool> {
        let planned = state.agenda.trials_planned(next);
        for &case in &next.cases {
            if self.stop.is_asked() || state.is_over_for(0) {
                return Ok(false);
            }
            self.show_next((case, next.round), &state.agenda, planned);
            let (invocation, at_ms) = (next.invocation, self.clock.at_ms());
            let turn = Turn { case, invocation, round: next.round, at_ms };
            self.turn(turn, &mut state.agenda)?;
            self.view.judge(&self.members);
        }
        Ok(!self.stop.is_asked())
    }

    /// Agents do it when their files are made anew. Links and drives are still awake.
    fn dismiss(&mut self) -> Result<()> {
        self.end_part()
    }

    /// Those of hosts that are lost have ended.
    fn append(&mut self, line: &RecordLine) -> Result<()> {
        let appended: Vec<_> = self.live().map(|(store, _)| store.append(line)).collect();
        appended.into_iter().collect()
    }
}
