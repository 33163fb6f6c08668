//! A run in lockstep that was interrupted and goes on: with all of its hosts, where all of them
//! are.

use crate::agenda::{Agenda, DoneTurn, lasted, next_invocation, pruned_of};
use crate::resume::Interrupted;
use crate::store;
use anyhow::{Context, Result, bail};
use assess::together::RunIdentity;
use model::plan::{Plan, Pruned};
use model::rank::Rank;
use model::record::{End, Record, RecordLine};
use model::trial::Trial;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

/// A run that was interrupted.
#[derive(Debug)]
pub struct InterruptedRun {
    /// The record of each host, in the order of the hosts, open and locked, without its trials.
    pub records: Vec<Interrupted>,
    /// Where it goes on.
    pub before: JointBefore,
    plan: Box<Plan>,
}

/// What a run did before it was interrupted; nothing if it is new.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JointBefore {
    /// The turns of which each host that takes part has a trial.
    pub(crate) known: Vec<DoneTurn>,
    /// The cases that were pruned.
    pub pruned: Vec<Pruned>,
    /// Those of which only some have one: when the run was killed, it had not written all, or it
    /// had lost a host. They are measured again on all, because a trial of several hosts is one
    /// measurement.
    pub again: BTreeSet<(usize, u32)>,
    /// The number of the first invocation from now on.
    pub invocation: u32,
    /// How long it had lasted.
    pub lasted: Duration,
}

impl InterruptedRun {
    /// Opens the records in the folder of a run on `hosts`, and locks them. If all trials are there
    /// and only ends are missing, this adds them.
    ///
    /// # Errors
    /// If these are not all records of a run on these hosts, or nothing is left to measure.
    pub fn open(folder: &Path, hosts: &[String]) -> Result<InterruptedRun> {
        let shown = folder.display();
        let paths = store::records_of(folder).with_context(|| {
            format!("failed to read '{shown}': name the folder with the records of all hosts")
        })?;
        let mut opened = paths.iter().map(|path| open(path)).collect::<Result<Vec<_>>>()?;
        opened.sort_by_key(|(rank, _)| rank.number);
        let (ranks, records): (Vec<Rank>, Vec<Interrupted>) = opened.into_iter().unzip();
        let of = ranks.first().map_or(0, |rank| rank.of);
        if let Some(missing) = (0..of).find(|number| !ranks.iter().any(|it| it.number == *number)) {
            bail!(
                "the folder '{shown}' has no record of no. {} of {of}: a run goes on only with all \
                 its records",
                missing + 1
            );
        }
        let run = |it: &Interrupted| RunIdentity::of(&it.record.header);
        if records.is_empty() || records.iter().any(|it| run(it) != run(&records[0])) {
            bail!("the records in '{shown}' are not those of one run");
        }
        let called: Vec<String> =
            records.iter().map(|it| it.record.header.called.clone().unwrap_or_default()).collect();
        if called != hosts {
            bail!(
                "the run in '{shown}' is on {}, and this one on {}: name the same, in the \
                 same order",
                called.join(","),
                hosts.join(",")
            );
        }
        let mut plan = records[0].record.header.plan.clone();
        records.iter().for_each(|it| plan.add_roles(&it.record.header.plan));
        let before = JointBefore::of(&records, &ranks);
        let mut run = InterruptedRun { before, records, plan: Box::new(plan) };
        run.check_left(folder)?;
        // Their trials are known by now, and those of many hosts take much memory.
        run.records.iter_mut().for_each(|it| it.record.trials = Vec::new());
        Ok(run)
    }

    /// The plan of the first host, in which no case is measured elsewhere.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Refuses to go on if nothing is left to measure.
    fn check_left(&mut self, folder: &Path) -> Result<()> {
        let shown = folder.display();
        let is_over = |it: &Interrupted| it.record.end == End::Complete;
        if self.records.iter().all(is_over) {
            bail!("nothing is left to measure: the run in '{shown}' is complete");
        }
        let plan = &self.plan;
        // Some were ended and the others have as many turns, or no turn is left.
        let lacks_ends = self.before.again.is_empty()
            && self.records.iter().any(is_over)
            && self.records.iter().all(|it| is_over(it) || it.record.end == End::Missing);
        let is_whole = plan.budget.is_none() && self.before.agenda(plan).is_whole();
        if lacks_ends || is_whole {
            for record in self.records.iter_mut().filter(|it| !is_over(it)) {
                record.store.append(&RecordLine::End(End::Complete))?;
            }
            bail!("nothing is left to measure: the records in '{shown}' lacked only their end");
        }
        if self.records.iter().any(is_over) {
            let lost = self.records.iter().filter(|it| !is_over(it));
            let lost: Vec<_> = lost.flat_map(|it| it.record.header.called.clone()).collect();
            bail!(
                "nothing is left to measure: the run in '{shown}' is complete without {}, which it \
                 lost; begin a new run",
                lost.join(", ")
            );
        }
        Ok(())
    }
}

impl JointBefore {
    fn of(records: &[Interrupted], ranks: &[Rank]) -> JointBefore {
        let mut turns: BTreeMap<(usize, u32), Vec<&Trial>> = BTreeMap::new();
        let mut before = JointBefore::default();
        for Interrupted { record, .. } in records {
            // Of two trials of a turn, the later one counts.
            let own: BTreeMap<_, _> =
                record.trials.iter().map(|it| ((it.case, it.round), it)).collect();
            own.into_iter().for_each(|(turn, trial)| turns.entry(turn).or_default().push(trial));
            before.invocation = before.invocation.max(next_invocation(record));
            before.lasted = before.lasted.max(lasted(record));
        }
        let Some((first, rank)) = records.first().zip(ranks.first()) else { return before };
        let plan = &first.record.header.plan;
        // What only some have pruned is measured by all again: without the others, it was another
        // figure.
        let all: Vec<&Record> = records.iter().map(|it| &it.record).collect();
        let (pruned, lone) = pruned_of(&all);
        before.pruned = pruned;
        before.again.extend(lone.iter().map(|pruned| (pruned.case, pruned.round)));
        for (turn, trials) in turns {
            // A damaged record may have cases that the first one does not.
            let Some(planned) = plan.cases.get(turn.0) else { continue };
            if trials.len() == rank.hosts_of(&planned.case) as usize {
                before.known.extend(DoneTurn::of(plan, &trials));
            } else {
                before.again.insert(turn);
            }
        }
        before
    }

    /// The agenda of the run of this plan, from here on.
    pub(crate) fn agenda<'a>(&self, plan: &'a Plan) -> Agenda<'a> {
        Agenda::new(plan).resumed(&self.pruned, self.known.clone(), self.invocation)
    }
}

/// A host's record, and its place.
fn open(path: &Path) -> Result<(Rank, Interrupted)> {
    let opened = Interrupted::reopen(path)?;
    let rank = opened.record.header.plan.rank.with_context(|| {
        format!("'{}' is not of a run on several hosts in lockstep", path.display())
    })?;
    Ok((rank, opened))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;
    use model::plan::Role;
    use model::taking_part::TakingPart;
    use model::zoo;

    /// The run on two hosts, of which `plant` changes the records. The second case is only that of
    /// the first host.
    fn check(plant: impl FnOnce(&mut [Record; 2])) -> (tempfile::TempDir, Result<JointBefore>) {
        let mut records = [0, 1].map(|number| {
            let mut record = zoo::record();
            record.end = End::Missing;
            record.header.called = Some(["a", "b"][number as usize].to_string());
            let plan = &mut record.header.plan;
            plan.rank = Some(Rank { number, of: 2, seed: 7, shares: false, ..Rank::default() });
            let mut alone = plan.cases[0].clone();
            alone.case.io_mut().expect("it reads").hosts = TakingPart::First(1);
            alone.role = if number == 0 { Role::Asked } else { Role::Elsewhere };
            plan.cases.push(alone);
            if number == 0 {
                let mut own = record.trials.clone();
                own.iter_mut().for_each(|trial| trial.case = 1);
                record.trials.extend(own);
            }
            record
        });
        plant(&mut records);
        let folder = tempfile::tempdir().unwrap();
        for (name, record) in ["10-a.jsonl", "2-b.jsonl"].iter().zip(records) {
            let mut store = Store::create(&folder.path().join(name), record.header).unwrap();
            record.trials.into_iter().for_each(|it| store.append(&RecordLine::Trial(it)).unwrap());
            record.pruned.into_iter().for_each(|it| store.append(&RecordLine::Pruned(it)).unwrap());
            if record.end != End::Missing {
                store.append(&RecordLine::End(record.end)).unwrap();
            }
        }
        let opened = InterruptedRun::open(folder.path(), &["a", "b"].map(String::from));
        (folder, opened.map(|run| run.before))
    }

    #[test]
    fn what_all_hosts_have_is_known_and_the_rest_is_measured_again() {
        let (_folder, before) = check(|[a, b]| {
            a.trials.pop();
            b.trials.retain(|trial| trial.round != 4 && trial.round < 8);
            b.end = End::Interrupted;
        });
        let before = before.unwrap();
        assert_eq!(before.again, [4, 8, 9].map(|round| (0, round)).into_iter().collect());
        let known = (0..10).filter(|round| ![4, 8, 9].contains(round)).map(|round| (0, round));
        let alone = (0..9).map(|round| (1, round));
        let found: BTreeSet<_> = before.known.iter().map(|turn| (turn.case, turn.round)).collect();
        assert_eq!(found, known.chain(alone).collect());
        assert_eq!(before.invocation, 1);
        assert!(before.lasted > Duration::ZERO);
    }

    #[test]
    fn a_case_stays_pruned_if_all_hosts_know_it() {
        let pruned = |case| Pruned { case, round: 5, reason: "it gives no more".to_string() };
        let cut = |all: &mut [Record; 2]| all.iter_mut().for_each(|it| it.trials.truncate(6));
        let (_folder, before) = check(|all| {
            cut(all);
            all.iter_mut().for_each(|it| it.pruned.push(pruned(0)));
        });
        let before = before.unwrap();
        assert_eq!((before.pruned, before.again), (vec![pruned(0)], BTreeSet::new()));
        // One of them was lost by then.
        for host in 0..2 {
            let (_folder, before) = check(|all| {
                cut(all);
                all[host].pruned.push(pruned(0));
            });
            let before = before.unwrap();
            assert_eq!((before.pruned, before.again), (Vec::new(), [(0, 5)].into()));
        }
    }

    #[test]
    fn a_run_with_a_time_that_lacks_only_an_end_gets_it() {
        let (folder, before) = check(|all| {
            all.iter_mut().for_each(|it| it.header.plan.budget = Some(Duration::from_secs(60)));
            all[0].end = End::Complete;
        });
        assert!(before.unwrap_err().to_string().contains("lacked only their end"));
        let again = InterruptedRun::open(folder.path(), &["a", "b"].map(String::from))
            .unwrap_err()
            .to_string();
        assert!(again.contains("is complete"), "{again}");
    }

    #[test]
    fn what_cannot_go_on_is_refused_by_name() {
        type Plant = fn(&mut [Record; 2]);
        let of = |plant: Plant| check(plant).1.unwrap_err().to_string();
        for (plant, expected) in [
            ((|all| all.iter_mut().for_each(|it| it.end = End::Complete)) as Plant, "is complete"),
            (|_| (), "lacked only their end"),
            (
                |[a, b]| {
                    a.end = End::Complete;
                    b.trials.truncate(5);
                },
                "complete without b, which it lost",
            ),
            (|[_, b]| b.header.called = Some("c".to_string()), "is on a,c, and this one on a,b"),
            (|[_, b]| b.header.began.push('x'), "not those of one run"),
            (|[_, b]| b.header.plan.rank.as_mut().unwrap().number = 0, "no record of no. 2 of 2"),
            (|[_, b]| b.header.plan.rank = None, "2-b.jsonl' is not of a run on several hosts"),
        ] {
            let error = of(plant);
            assert!(error.contains(expected), "{error}");
        }
        // The ends are there now.
        let (folder, _) = check(|_| ());
        let error = InterruptedRun::open(folder.path(), &["a", "b"].map(String::from))
            .unwrap_err()
            .to_string();
        assert!(error.contains("is complete"), "{error}");
        let empty = tempfile::tempdir().unwrap();
        InterruptedRun::open(empty.path(), &["a"].map(String::from)).unwrap_err();
        InterruptedRun::open(&empty.path().join("no"), &["a"].map(String::from)).unwrap_err();
    }
}
