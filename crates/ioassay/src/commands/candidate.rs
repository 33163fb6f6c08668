//! A host that can take part in a run: it is asked what it is like, writes its files for a plan of
//! its own, and has a record.

use super::kept::said_unproved;
use super::measure::{header_of, tool};
use super::neighbors::{HostPlace, neighbors};
use crate::hosts::late::LateHosts;
use crate::hosts::listening::{Waiting, hear_all};
use crate::hosts::meeting::{MAKING, Made};
use crate::hosts::member::Member;
use crate::hosts::remote::Remote;
use crate::nodelist::some;
use crate::recipe::{Changes, Recipe};
use crate::resume::Interrupted;
use crate::store::Store;
use crate::version;
use anyhow::{Context, Result, bail};
use model::agent::{Answer, Order, Unproved, shown};
use model::environment::Environment;
use model::host::{Fixture, Host, Storage};
use model::judging::{AskedCommands, ReadyCommands};
use model::plan::{Plan, Role};
use model::rank::Rank;
use model::record::{Header, Invocation, RecordLine, Tool};
use model::shape::Calibrated;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a host may take to say what it is like.
const LOOKING: Duration = Duration::from_secs(30);

/// A host that can take part in a run.
pub(super) struct CandidateHost {
    pub(super) called: String,
    pub(super) agent: Remote,
    host: Host,
    /// That of the directory or, of commands, of their files.
    pub(super) storage: Option<Storage>,
    /// The commands that were rehearsed there.
    pub(super) ready: Option<ReadyCommands>,
    /// Where it measures.
    pub(super) directory: PathBuf,
    /// By which hosts on one machine know each other.
    boot: Option<String>,
}

impl CandidateHost {
    /// Greets its agent, and asks what it is like.
    ///
    /// # Errors
    /// If it cannot be used.
    pub(super) fn look(
        called: String,
        agent: Result<Remote>,
        directory: &Path,
    ) -> Result<CandidateHost> {
        let look = Order::look_at_directory(directory.to_path_buf());
        let (called, agent) = CandidateHost::ask(called, agent, look)?;
        CandidateHost::hear(called, agent, directory)
    }

    /// All hosts, each with its agent and its directory or device, at which `look` lets it look.
    /// They do so at the same time: it takes each of them a while.
    ///
    /// # Errors
    /// If one cannot be used. All such are named.
    pub(super) fn look_all<'a>(
        started: Vec<(String, Result<Remote>)>,
        directories: impl Iterator<Item = &'a Path>,
        look: fn(PathBuf) -> Order,
    ) -> Result<Vec<CandidateHost>> {
        let ask = |((called, agent), directory): ((String, Result<Remote>), &'a Path)| {
            let look = look(directory.to_path_buf());
            (called.clone(), directory, CandidateHost::ask(called, agent, look))
        };
        let asked: Vec<_> = started.into_iter().zip(directories).map(ask).collect();
        let (mut guests, mut bad) = (Vec::new(), Vec::new());
        for (called, directory, asked) in asked {
            match asked.and_then(|(called, agent)| CandidateHost::hear(called, agent, directory)) {
                Ok(guest) => guests.push(guest),
                Err(error) => bad.push((called, error)),
            }
        }
        match bad.len() {
            0 => Ok(guests),
            1 => Err(bad.remove(0).1),
            _ => bail!("{}", said_bad(&bad)),
        }
    }

    /// The first half of [`CandidateHost::look`]: does not wait for the answer.
    ///
    /// # Errors
    /// As for it.
    fn ask(called: String, agent: Result<Remote>, look: Order) -> Result<(String, Remote)> {
        let asked = agent.and_then(|mut agent| {
            agent.greet()?;
            agent.tell(&look)?;
            Ok(agent)
        });
        let asked = asked.with_context(|| format!("{called} cannot take part"))?;
        Ok((called, asked))
    }

    /// The other half.
    ///
    /// # Errors
    /// As for [`CandidateHost::look`].
    fn hear(called: String, mut agent: Remote, directory: &Path) -> Result<CandidateHost> {
        let place = agent.hear(LOOKING);
        match place.with_context(|| format!("{called} cannot take part"))? {
            Answer::Place { host, storage, boot } => {
                let (storage, ready) = (Some(storage), None);
                let directory = directory.to_path_buf();
                Ok(CandidateHost { called, agent, host, storage, ready, directory, boot })
            }
            other => bail!("{called} sent '{}' instead of its place", shown(&other)),
        }
    }

    /// The plan of a recipe there, before it is refused what hosts cannot do.
    ///
    /// # Errors
    /// If the recipe cannot be measured on hosts.
    pub(super) fn plan(&self, recipe: &Recipe, changes: &Changes) -> Result<Plan> {
        if !recipe.relatives(changes, &self.environment())?.is_empty() {
            bail!("rates in per cent do not go with --hosts yet: use rates in operations a second");
        }
        recipe.plan(changes, &self.environment())
    }

    /// Lets it begin to write its files, for its own plan. A run that goes on keeps the loops that
    /// were `calibrated` there.
    ///
    /// # Errors
    /// If it is lost.
    pub(super) fn begin(
        mut self,
        (number, neighbor): (u32, Option<u32>),
        plan: &Plan,
        calibrated: Option<Vec<Calibrated>>,
    ) -> Result<(CandidateHost, Plan)> {
        let mut plan = own_plan(plan, number);
        plan.rank.iter_mut().for_each(|rank| rank.neighbor = neighbor);
        self.take_commands(&mut plan);
        let directory = self.directory.clone();
        self.tell(&Order::Begin { plan: Box::new(plan.clone()), directory, calibrated })?;
        Ok((self, plan))
    }

    /// Refuses to go on with the run of host `number` if that was another one.
    ///
    /// # Errors
    /// What differs.
    pub(super) fn check_same(
        &self,
        number: u32,
        plan: &Plan,
        interrupted: &Interrupted,
    ) -> Result<()> {
        let began = interrupted.record.header.began.clone();
        interrupted.check(&self.header_before(number, plan, &began)?, None)
    }

    /// The header of the record of host `number` before it has files, of a run that began then.
    ///
    /// # Errors
    /// If the clock has no valid date.
    pub(super) fn header_before(&self, number: u32, plan: &Plan, began: &str) -> Result<Header> {
        let mut plan = own_plan(plan, number);
        self.take_commands(&mut plan);
        self.header(&plan, Vec::new(), (&[], began))
    }

    /// Gives `plan` the commands with the files that they have there.
    fn take_commands(&self, plan: &mut Plan) {
        if let Some(ready) = &self.ready {
            plan.commands = ready.commands.iter().map(|it| it.command.clone()).collect();
        }
    }

    /// Gives it an order.
    ///
    /// # Errors
    /// If it is lost.
    pub(super) fn tell(&mut self, order: &Order) -> Result<()> {
        self.agent.tell(order).with_context(|| format!("{} was lost", self.called))
    }

    /// Lets all hosts set up and rehearse commands in `directory`, which takes as long as it takes.
    /// Those whose run goes on, by the records `then`, rehearse only what has changed.
    ///
    /// # Errors
    /// If one cannot run them. All such are named.
    pub(super) fn rehearse_all(
        guests: &mut [CandidateHost],
        asked: &AskedCommands,
        directory: &Path,
        then: &[Interrupted],
        late: &LateHosts,
    ) -> Result<()> {
        for (number, guest) in guests.iter_mut().enumerate() {
            let (directory, asked) = (directory.to_path_buf(), Box::new(asked.clone()));
            if !asked.cleanups.is_empty() {
                guest.agent.expect_cleaning();
            }
            let then = then.get(number).map(|it| Box::new(it.record.header.clone()));
            guest.tell(&Order::Rehearse { directory, asked, then })?;
        }
        let called: Vec<String> = guests.iter().map(|guest| guest.called.clone()).collect();
        let agents = guests.iter_mut().map(|guest| &mut guest.agent).enumerate().collect();
        let waits = |since: Duration, answered: usize, silent: &mut dyn Iterator<Item = usize>| {
            let names = silent.map(|index| called[index].as_str());
            late.tell((since, answered), names, "rehearse its commands");
        };
        let how = Waiting { late: &waits, ..Waiting::quietly(Duration::MAX) };
        let mut heard = hear_all(agents, Vec::new(), &how);
        heard.sort_by_key(|(index, _)| *index);
        let mut bad = Vec::new();
        for (index, answer) in heard {
            let failed = || format!("{} cannot take part", called[index]);
            match answer.with_context(failed) {
                Ok(Answer::ReadyCommands(ready)) => {
                    guests[index].storage.clone_from(&ready.storage);
                    guests[index].ready = Some(*ready);
                }
                Ok(other) => bail!("{}: it sent '{}'", failed(), shown(&other)),
                Err(error) => bad.push((called[index].clone(), error)),
            }
        }
        match bad.len() {
            0 => Ok(()),
            1 => Err(bad.remove(0).1),
            _ => bail!("{}", said_bad(&bad)),
        }
    }

    /// Waits for the files of all hosts.
    ///
    /// # Errors
    /// If one has none.
    pub(super) fn all_made(
        begun: &mut [(CandidateHost, Plan)],
        late: &LateHosts,
    ) -> Result<Vec<Made>> {
        let called: Vec<String> = begun.iter().map(|(guest, _)| guest.called.clone()).collect();
        let agents = begun.iter_mut().map(|(guest, _)| &mut guest.agent).enumerate().collect();
        let waits = |since: Duration, answered: usize, silent: &mut dyn Iterator<Item = usize>| {
            let names = silent.map(|index| called[index].as_str());
            late.tell((since, answered), names, "make its files");
        };
        let how = Waiting { late: &waits, ..Waiting::quietly(MAKING) };
        let mut heard = hear_all(agents, Vec::new(), &how);
        heard.sort_by_key(|(index, _)| *index);
        let made = |(index, answer): (usize, Result<Answer>)| {
            let made = answer.and_then(Made::of);
            made.with_context(|| format!("{} has no files", called[index]))
        };
        let made = heard.into_iter().map(made).collect::<Result<Vec<_>>>()?;
        said_of_unproved(&called, &made).iter().for_each(|text| late.note(text));
        Ok(made)
    }

    /// The header of its record, of a `run` of hosts with these names that began then, and the
    /// name of the file.
    ///
    /// # Errors
    /// If the clock has no valid date.
    pub(super) fn entry(
        &self,
        number: usize,
        plan: &Plan,
        made: Made,
        run: (&[String], &str),
    ) -> Result<(String, Header)> {
        let header = self.header(plan, made.fixtures, run)?;
        let header = Header { calibrated: made.calibrated, ..header };
        Ok((file_name(number, &self.called), header))
    }

    /// Takes part with its record.
    pub(super) fn enter(self, store: Store) -> Member {
        Member { called: self.called, agent: Some(self.agent), store }
    }

    /// Goes on with its record.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(super) fn go_on(self, mut store: Store, anew: Invocation) -> Result<Member> {
        store.append(&RecordLine::Invocation(anew))?;
        Ok(self.enter(store))
    }

    /// Hosts that are one machine under several names: its own name, and its start, are the same.
    pub(super) fn of_one_machine(guests: &[CandidateHost]) -> Vec<Vec<String>> {
        let mut machines: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
        for guest in guests {
            if let Some(boot) = &guest.boot {
                let machine = machines.entry((boot, &guest.host.name)).or_default();
                machine.push(guest.called.clone());
            }
        }
        machines.into_values().filter(|called| called.len() > 1).collect()
    }

    /// Those whose program was built from another commit than this one.
    pub(super) fn of_other_builds(guests: &[CandidateHost]) -> Vec<String> {
        let own = version::commit();
        let is_other = |guest: &&CandidateHost| guest.agent.commit() != own.as_deref();
        guests.iter().filter(is_other).map(|guest| guest.called.clone()).collect()
    }

    /// For each host, the number of the first other one that is on its machine and uses a device of
    /// it. Devices of one name on other machines are others.
    pub(super) fn neighbors(guests: &[CandidateHost]) -> Vec<Option<u32>> {
        let places: Vec<HostPlace> =
            guests.iter().map(|it| (it.boot.as_deref(), it.storage.as_ref())).collect();
        neighbors(&places)
    }

    fn header(
        &self,
        plan: &Plan,
        fixtures: Vec<Fixture>,
        (hosts, began): (&[String], &str),
    ) -> Result<Header> {
        let mut header = Header {
            tool: Tool { commit: self.agent.commit().map(str::to_owned), ..tool() },
            began: began.to_string(),
            called: Some(self.called.clone()),
            hosts: hosts.to_vec(),
            fixtures,
            ..header_of(plan, &self.environment(), Vec::new())?
        };
        self.ready.iter().for_each(|ready| ready.note_in(&mut header));
        Ok(header)
    }

    /// Where its part of a plan runs.
    pub(super) fn environment(&self) -> Environment<'_> {
        Environment { host: &self.host, storage: self.storage.as_ref(), source: None, peers: &[] }
    }
}

/// Why hosts cannot be used: each reason once, as a launcher of all says the same of each.
fn said_bad(bad: &[(String, anyhow::Error)]) -> String {
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for (called, error) in bad {
        let causes: Vec<String> = error.chain().skip(1).map(ToString::to_string).collect();
        let reason = causes.join(": ").replace(&format!("the agent on {called}"), "its agent");
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, hosts)) => hosts.push(called),
            None => reasons.push((reason, vec![called])),
        }
    }
    let line = |(reason, hosts): &(String, Vec<&str>)| format!("\n  {}: {reason}", some(hosts));
    let lines: String = reasons.iter().map(line).collect();
    format!("{} of them cannot take part:{lines}", bad.len())
}

/// What stays on which hosts of other runs. Hosts that share a directory find the same.
fn said_of_unproved(called: &[String], made: &[Made]) -> Vec<String> {
    let mut found: BTreeMap<&Unproved, Vec<&str>> = BTreeMap::new();
    for (called, made) in called.iter().zip(made) {
        made.unproved.iter().for_each(|it| found.entry(it).or_default().push(called));
    }
    let said = |(Unproved { path, node }, called): (&Unproved, Vec<&str>)| {
        format!("on {}: {}", some(&called), said_unproved(path, node))
    };
    found.into_iter().map(said).collect()
}

/// The plan of a host. It waits while others measure the cases that are not its own.
fn own_plan(plan: &Plan, number: u32) -> Plan {
    let mut plan = plan.clone();
    // Each host has data and orders of its own.
    plan.seed = Rank::seed_of(plan.seed, number);
    if let Some(rank) = &mut plan.rank {
        rank.number = number;
        let elsewhere = plan.cases.iter_mut().filter(|planned| !rank.takes_part(&planned.case));
        elsewhere.for_each(|planned| planned.role = Role::Elsewhere);
    }
    plan
}

/// The name of a host's record. Names of hosts may have characters that those of files should not.
fn file_name(number: usize, called: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || ".-_".contains(c) { c } else { '_' };
    format!("{}-{}.jsonl", number + 1, called.chars().map(plain).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_several_hosts_find_is_named_once() {
        let of = |paths: &[&str]| Made {
            fixtures: Vec::new(),
            folder: None,
            calibrated: Vec::new(),
            unproved: paths
                .iter()
                .map(|path| Unproved { path: path.to_string(), node: "n1".to_owned() })
                .collect(),
        };
        let called = ["a", "b", "c"].map(str::to_owned);
        let said = said_of_unproved(&called, &[of(&["/d/x", "/d/y"]), of(&[]), of(&["/d/x"])]);
        let [x, y] = &said[..] else { panic!("{said:?}") };
        assert!(x.starts_with("on a, c: '/d/x' stays: ") && x.contains("its run on 'n1'"), "{x}");
        assert!(y.starts_with("on a: '/d/y' stays: "), "{y}");
    }

    #[test]
    fn records_have_the_names_of_their_hosts() {
        assert_eq!(file_name(0, "node-1.example"), "1-node-1.example.jsonl");
        assert_eq!(file_name(9, "user@[::1]/x"), "10-user____1__x.jsonl");
    }
}
