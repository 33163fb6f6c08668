//! Makes the names that a trial uses, and brings them into the state that its case claims.

use super::{Carryover, Site};
use crate::files::Files;
use crate::names::{Lent, NamesInUse};
use crate::space::check_inodes;
use anyhow::{Context, Result, anyhow, bail};
use model::case::{Cache, Call, Case, MetadataWork, NameSync, OWN_PEER, Work};
use model::random::mix;
use model::rank::Rank;
use model::trial::{Job, Outcome};
use std::time::Duration;
use witness::MemoryGroup;

/// How long creating the names may take.
const MAKING: Duration = Duration::from_secs(600);

/// The limit of a control group that only has to tell whose memory is whose: more than any machine
/// has.
const NO_LIMIT: u64 = 1 << 50;

impl Site<'_> {
    /// Makes the names that a trial of case `index` in `round` uses, if it uses any.
    #[expect(clippy::result_large_err, reason = "a trial has one outcome")]
    pub(super) fn make_names(
        &self,
        files: &Files,
        (index, round): (usize, u32),
        left: &mut Carryover,
    ) -> Result<Option<Lent>, Outcome> {
        let case = &self.plan.cases[index].case;
        let Some(work) = case.metadata() else { return Ok(None) };
        let of_host = |host: u32| {
            let own = self.plan.rank.map_or(self.plan.seed, |rank| Rank::seed_of(rank.seed, host));
            mix(own ^ (u64::from(round) << 32 | index as u64))
        };
        let folders = files.names().context("there are no directories for names");
        let made = folders.and_then(|folders| folders.of_trial(self.plan, case, of_host));
        left.traces.wrote = true;
        let made = made.and_then(|(made, used)| {
            self.check_room(&made)?;
            if work.call == Call::Create {
                return Ok(used);
            }
            // What a failed trial left must not be found by this one. The host that uses names
            // removes them, but not if it failed before.
            left.made_for_another.take().iter().for_each(NamesInUse::clear);
            made.clear();
            self.prepare_names(case, &made).inspect_err(|_| made.clear())?;
            left.made_for_another = self.is_for_another(case).then_some(made);
            Ok(used)
        });
        made.map(|used| Some(Lent::new(used))).map_err(|error| match error.downcast::<NotCold>() {
            Ok(NotCold(reason)) => Outcome::Unavailable { reason },
            Err(error) => Outcome::Failed { reason: format!("{error:#}") },
        })
    }

    /// Checks that the file system still has inodes for the names, and as many for others.
    fn check_room(&self, names: &NamesInUse) -> Result<()> {
        let space = witness::space(&names.folder().join("."))?;
        check_inodes(space.and_then(|space| space.free_inodes), names.count())
    }

    /// Creates `names`, and brings them into the state that `case` claims.
    fn prepare_names(&self, case: &Case, names: &NamesInUse) -> Result<()> {
        match names.work().cache {
            Cache::Cold => self.make_cold(case, names),
            Cache::Warm => {
                self.create_names(names, self.memory)?;
                names.warm()
            }
            _ => self.create_names(names, self.memory),
        }
    }

    /// Creates `names` in a control group, whose memory the OS then reclaims: with it go the names
    /// and inodes in the OS's caches. Another host never had them, so a host that creates them for
    /// one goes on without such a group.
    fn make_cold(&self, case: &Case, names: &NamesInUse) -> Result<()> {
        let is_for_another = self.is_for_another(case);
        let cold = |error: &dyn std::fmt::Display| {
            NotCold(format!(
                "{error}; without such a group, only several hosts can have cold names (--hosts): \
                 each uses those of the next one"
            ))
        };
        let made = match self.memory {
            Some(_) => None,
            None => match MemoryGroup::create(NO_LIMIT) {
                Ok(group) => Some(group),
                Err(error) if is_for_another => {
                    log::debug!("names are not reclaimed here: {error}");
                    return self.create_names(names, None);
                }
                Err(error) => return Err(cold(&error).into()),
            },
        };
        let Some(group) = self.memory.or(made.as_ref()) else { return Ok(()) };
        self.create_names(names, Some(group))?;
        // What is not written yet cannot be reclaimed.
        rustix::fs::syncfs(names.directory()).map_err(std::io::Error::from)?;
        match group.reclaim() {
            Err(error) if is_for_another => {
                log::debug!("names are not reclaimed here: {error}");
                Ok(())
            }
            reclaimed => Ok(reclaimed.map_err(|error| cold(&error))?),
        }
    }

    /// Whether this host makes the names of `case` for another one.
    fn is_for_another(&self, case: &Case) -> bool {
        self.plan.rank.is_some_and(|rank| rank.maker(case) != rank.number)
    }

    /// Has a worker of its own, in this control group, create `names`.
    fn create_names(&self, names: &NamesInUse, group: Option<&MemoryGroup>) -> Result<()> {
        let (call, cache, sync) = (Call::Create, Cache::AsIs, NameSync::None);
        let work = MetadataWork { call, cache, sync, time: MAKING, ..*names.work() };
        let case = Case::own(Work::Metadata(work));
        let file = Some(names.folder().to_path_buf());
        let job = Job { file, ..Job::of(case, names.seed()) };
        let failed = |outcome: Outcome| match outcome {
            Outcome::Failed { reason } | Outcome::Unavailable { reason } => anyhow!(reason),
            Outcome::Done(_) => anyhow!("the worker ended too early"),
        };
        let mut worker = self.start(OWN_PEER).map_err(failed)?;
        if let Some(group) = group {
            group.add(worker.pid())?;
        }
        if let Some(outcome) = worker.prepare(&job).map_err(|reason| anyhow!(reason))? {
            return Err(failed(outcome)).context("failed to prepare the names");
        }
        match worker.perform(MAKING).map_err(|reason| anyhow!(reason))? {
            Outcome::Done(sample) if sample.ops() == names.count() => Ok(()),
            Outcome::Done(sample) => {
                bail!("created only {} of {} names", sample.ops(), names.count())
            }
            other => Err(failed(other)).context("failed to create the names"),
        }
    }
}

/// Why names cannot be made cold on this machine.
#[derive(Debug)]
struct NotCold(String);

impl std::fmt::Display for NotCold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotCold {}
