//! A kept record that a new run is held against.

use super::compare;
use crate::store;
use anyhow::{Result, bail};
use assess::earlier::earlier;
use assess::gate::Rule;
use assess::invocations::{INVOCATIONS_LEAST, RUNS_LEAST};
use assess::records::{Judged, LeftOut};
use model::goal::Indicator;
use model::printable::printable;
use model::record::{End, Header, Record};
use std::collections::BTreeSet;
use std::path::Path;

/// A record, and what a run must not lose against it.
pub(super) struct ReferenceRecord<'a> {
    /// Where it is.
    pub(super) path: &'a Path,
    pub(super) record: Record,
    pub(super) limits: &'a [Rule],
    /// Where the record of the new run will be, if that is a folder that was named.
    pub(super) folder: Option<&'a Path>,
}

impl ReferenceRecord<'_> {
    /// Refuses a run that could not be held against it, before that is measured.
    ///
    /// # Errors
    /// If it is of another question, or too little is known to decide anything.
    pub(super) fn check(&self, asked: &Header) -> Result<()> {
        self.check_same_question(asked)?;
        self.check_decidable(asked)
    }

    /// Refuses a run of another question.
    ///
    /// # Errors
    /// If it is one.
    pub(super) fn check_same_question(&self, asked: &Header) -> Result<()> {
        let base = self.path;
        let (recipe, now) = (&self.record.header.plan.recipe, &asked.plan.recipe);
        if recipe != now {
            let hint = match self.record.header.plan.commands.is_empty() {
                true => "",
                false => ": 'ioassay judge COMMANDS --against' takes it",
            };
            bail!(
                "'{}' is a record of the recipe '{}', not of '{now}'{hint}",
                base.display(),
                printable(recipe)
            );
        }
        // What differs between the cases is known without a trial.
        let bare = |header: &Header| {
            let header = header.clone();
            let (invocations, trials, pruned, vitals, damage) = Default::default();
            let end = End::Missing;
            Judged::of(Record { header, invocations, trials, pruned, vitals, end, damage })
        };
        let versus = assess::compare(bare(&self.record.header), bare(asked), &[]);
        // Without trials, every case is left out.
        let of =
            |is: fn(&LeftOut) -> bool| versus.left_out.iter().filter(move |case| is(case)).count();
        let (alone, apart) = (of(LeftOut::is_alone), of(LeftOut::is_apart));
        match (alone + apart == versus.left_out.len(), apart) {
            (false, _) => Ok(()),
            (true, 0) => bail!("'{}' has no case that this run would measure", base.display()),
            (true, _) => {
                let obstacles = report::obstacles(&versus.obstacles).join("\n  ");
                let base = compare::shown(base);
                bail!("'{base}' (A) and this run (B) measure different things:\n  {obstacles}")
            }
        }
    }

    /// How many invocations measured something.
    pub(super) fn invocations(&self) -> usize {
        let measured = self.record.trials.iter().map(|trial| trial.invocation);
        measured.collect::<BTreeSet<u32>>().len()
    }

    /// Refuses to measure what decides nothing: too few invocations, and too few kept runs that
    /// could stand for them.
    fn check_decidable(&self, asked: &Header) -> Result<()> {
        let (then, measured) = (&self.record, self.invocations());
        if measured.min(asked.plan.invocations as usize) >= INVOCATIONS_LEAST {
            return Ok(());
        }
        // They show how much the throughput of runs differs, and nothing else.
        let is_main = |rule: &Rule| matches!(rule.watched, Indicator::Throughput | Indicator::Time);
        if self.limits.iter().any(is_main) {
            let mut folders = compare::folders([self.path, self.path]);
            folders.extend(self.folder.map(Path::to_path_buf));
            let kept = store::kept(&folders, &then.header.plan.recipe);
            if earlier(&then.header, asked, &kept).len() >= RUNS_LEAST {
                return Ok(());
            }
        }
        bail!(
            "invocations: {} in '{}', {} in this run: a gate needs {INVOCATIONS_LEAST} or more in \
             each, or of the throughput {RUNS_LEAST} kept runs of the recipe '{}' in this place",
            measured,
            self.path.display(),
            asked.plan.invocations,
            printable(&then.header.plan.recipe)
        )
    }
}
