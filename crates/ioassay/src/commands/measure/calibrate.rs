//! Short trials before a run, which find the rates that it measures.

use super::super::question::{RunQuestion, Setting};
use super::{Destination, PreparedRun, carry_out, header_of};
use crate::commands::tell;
use crate::files::{Files, Maker};
use crate::fixture::Stay;
use crate::load::{ROUNDS, Search, short_time};
use crate::progress::Progress;
use crate::recipe::Relative;
use crate::stop::Stop;
use crate::store;
use anyhow::{Result, bail};
use model::case::Case;
use model::plan::{Plan, Planned, Role};
use model::record::Record;
use std::collections::HashSet;
use std::process::Command;
use witness::MemoryGroup;

/// Measures cases before the run.
pub(super) struct Calibrator<'a> {
    pub(super) question: &'a RunQuestion,
    pub(super) setting: &'a Setting,
    pub(super) worker: &'a dyn Fn(&str) -> Result<Command, String>,
    pub(super) memory: Option<&'a MemoryGroup>,
    pub(super) progress: &'a Progress,
    pub(super) stop: &'a Stop,
}

/// The short runs so far: their number, and the files of the last.
#[derive(Default)]
struct Short {
    runs: u64,
    files: Option<Files>,
}

impl Calibrator<'_> {
    /// The cases of `loads` at the rates that were found for them.
    ///
    /// # Errors
    /// If nothing can be measured here, or the run is stopped.
    pub(super) fn cases(mut self, loads: &[Relative]) -> Result<Vec<Case>> {
        let mut short = Short::default();
        let goals = &self.setting.plan.hold;
        let search = Search::of(&self.setting.plan);
        let closed: Vec<Case> = loads.iter().map(Relative::closed).collect();
        let mut each = closed.clone();
        let mut seen = HashSet::new();
        each.retain(|case| seen.insert(case.clone()));
        let record = self.measure(each, &mut short)?;
        let assessment = assess::assess(&record);
        let mut cases = Vec::new();
        for (load, closed) in loads.iter().zip(&closed) {
            let summary = assessment.cases.iter().find(|summary| summary.case == *closed);
            let iops = summary.filter(|it| it.verdict.stands()).and_then(|it| it.iops);
            let Some(iops) = iops else {
                tell(&format!("note: no rates for {}: it has no valid figure", closed.id()))?;
                continue;
            };
            cases.extend(search.cases(load, iops.median, &mut |rate| {
                let mut case = load.at(rate);
                case.set_time(short_time(rate, goals, case.time()));
                let record = self.measure(vec![case], &mut short)?;
                let met = record
                    .trials
                    .iter()
                    .filter(|trial| assess::conclusions::load::meets(trial, goals));
                Ok(met.count() * 2 > record.trials.len())
            })?);
        }
        Ok(cases)
    }

    /// Measures `cases` with the files of earlier ones, or with new ones.
    fn measure(&mut self, cases: Vec<Case>, short: &mut Short) -> Result<Record> {
        let Setting { source, plan: whole, .. } = self.setting;
        let mut plan = Plan { rounds: ROUNDS, invocations: 1, budget: None, ..whole.clone() };
        plan.seed = whole.seed.wrapping_add(short.runs);
        short.runs += 1;
        plan.skips.clear();
        plan.cases = cases.into_iter().map(|case| Planned { case, role: Role::Asked }).collect();
        let environment = &self.setting.environment();
        let maker = &Maker {
            plan: &plan,
            target: &self.question.target,
            source: source.as_ref(),
            environment,
            stay: Stay::Removed,
        };
        let made = match short.files.take() {
            Some(made) => made,
            None => maker.make((self.progress, self.stop))?,
        };
        let header = header_of(&plan, environment, environment.peers.to_vec())?;
        let made = PreparedRun { memory: self.memory, ..PreparedRun::of(maker, made, self.worker) };
        // A container may have no folder for temporary files.
        let into = Destination::Passing { header };
        let (store, made) = carry_out(made, into, self.progress, self.stop)?;
        if self.stop.is_asked() {
            bail!("stopped before the first trial of the run");
        }
        short.files = Some(made);
        store::read(store.path())
    }
}
