//! A plan before it runs: the cases to measure, and the skips with reasons.

use crate::frame;
use crate::labels::Labels;
use crate::style::{Paint, Style};
use crate::words::count;
use model::plan::{Plan, Role};
use model::units;

/// If more skips share a reason, only the first are named, and the others are counted.
const NAMED_MAX: usize = 4;

/// The cases of a plan, and its skips with reasons.
pub fn plan(plan: &Plan, style: &Style) -> String {
    let all = plan.cases.iter().map(|planned| (&planned.case, planned.role));
    let asked = all.filter(|(_, role)| *role == Role::Asked).map(|(case, _)| case);
    let names = Labels::of_cases(asked.chain(plan.skips.iter().map(|skip| &skip.case)));

    let (cases, rounds) = (count(plan.cases.len(), "case"), count(plan.rounds as usize, "round"));
    let repeated = match plan.invocations {
        1 => format!("up to {rounds}"),
        invocations => format!("{invocations} invocations, {rounds}"),
    };
    let mut title = format!("{} · {cases} in {repeated} · seed {}", plan.recipe, plan.seed);
    if let Some(time) = plan.sustain {
        let time = units::time(time);
        title.push_str(&format!(" · each case until it is steady, or for {time}"));
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
    let mut out = style.wrap("", Paint::Plain, &title);
    let common = names.common_to_all("cases");
    if !common.is_empty() {
        out.push_str(&style.wrap("", Paint::Plain, &common));
    }
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
            out.push_str(&section(title, style));
            out.extend(ids.iter().map(|id| style.wrap("  ", Paint::Plain, id)));
        }
    }
    let reasons = frame::by_reason(&plan.skips);
    if !reasons.is_empty() {
        out.push_str(&section("skipped", style));
    }
    for (reason, ids) in reasons {
        let mut named: Vec<String> = ids.iter().map(|id| names.short(id)).collect();
        if named.len() > NAMED_MAX {
            named.truncate(NAMED_MAX - 1);
            named.push(format!("and {} more", ids.len() - named.len()));
        }
        out.push_str(&style.wrap("  ", Paint::Plain, &format!("{reason}:")));
        out.extend(named.iter().map(|id| style.wrap("    ", Paint::Plain, id)));
    }
    out
}

fn section(title: &str, style: &Style) -> String {
    format!("\n{}\n", style.paint(title, Paint::Strong))
}
