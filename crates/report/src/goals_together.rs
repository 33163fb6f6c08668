//! The goals of a run on several hosts, or in several directories: each must meet them by itself.

use crate::document::Block;
use crate::goals::{columns, paint, texts};
use crate::grid::{Grid, GridCell, left};
use crate::labels::CaseLabels;
use crate::members::members;
use crate::text::{Text, figure, text};
use crate::words::{count, listed, short};
use assess::conclusions::fit::MetGoal;
use assess::decision::Decision;
use assess::together::{HostFit, Together};

/// Whether all meet all goals, and otherwise which do not: `Not fit: b misses sync p99<10ms.`
pub(crate) fn answer(run: &Together) -> Option<Text> {
    let fit = run.fit()?;
    let goals = run.fits.first().map_or(0, |host| host.fit.goals.len());
    let (goals, all) = (count(goals, "goal"), members(run).count(run.fits.len()));
    let who = figure(listed(&telling(run, fit)));
    Some(match fit {
        Decision::Yes => text!("Fit: {} of {} met.", goals, figure(all)),
        Decision::No => text!("Not fit: {}.", who),
        Decision::Undecided => text!("It cannot tell whether this is fit: {}.", who),
    })
}

/// Those that make the outcome what it is, each with its goals: `b misses sync p99<10ms`.
fn telling(run: &Together, fit: Decision) -> Vec<String> {
    let verb = if fit == Decision::No { "misses" } else { "leaves open" };
    let hosts = run.fits.iter().filter(|host| host.fit.fit == fit);
    let said = |HostFit { host, fit: own }: &HostFit| {
        let goals = own.goals.iter().filter(|goal| goal.fit == fit);
        let goals: Vec<String> = goals.map(|goal| goal.goal.must.to_string()).collect();
        format!("{host} {verb} {}", listed(&goals))
    };
    let missing = (fit == Decision::Undecided && !run.missing.is_empty())
        .then(|| format!("without the records of {}", short(&run.missing)));
    hosts.map(said).chain(missing).collect()
}

/// For each case a row for each goal and host.
pub(crate) fn table(run: &Together, names: &CaseLabels) -> Option<Block> {
    run.fit()?;
    let first = left(members(run).noun(), 0);
    let mut grid = Grid::new([first].into_iter().chain(columns(1)).collect());
    for joint in &run.cases {
        let of_case = |host: &HostFit| -> Vec<Vec<GridCell>> {
            let of_goal = |goal: &MetGoal| {
                let case = goal.cases.iter().find(|case| case.id == joint.id)?;
                let texts = [host.host.clone()].into_iter().chain(texts(goal, case));
                Some(texts.map(|text| GridCell::new(text, paint(case))).collect())
            };
            host.fit.goals.iter().filter_map(of_goal).collect()
        };
        let rows: Vec<_> = run.fits.iter().flat_map(of_case).collect();
        if !rows.is_empty() {
            grid.heading(&names.name(&joint.id));
        }
        rows.into_iter().for_each(|row| grid.row(row));
    }
    Some(Block::table(grid, []))
}

/// Who misses goals, for an exit status; `None` if nobody does.
pub(crate) fn missed(run: &Together) -> Option<String> {
    let is_missed = run.fit() == Some(Decision::No);
    is_missed.then(|| format!("not fit: {}", listed(&telling(run, Decision::No))))
}

/// Who neither meets nor misses goals; `None` if all do.
pub fn goals_open_together(run: &Together) -> Option<String> {
    let is_open = run.fit() == Some(Decision::Undecided);
    let who = || listed(&telling(run, Decision::Undecided));
    is_open.then(|| format!("cannot tell whether this is fit: {}", who()))
}
