//! A plan before it runs: the cases to measure, and the skips with reasons.

use crate::document::{Block, Document, List, Paragraph, Section};
use crate::findings;
use crate::labels::CaseLabels;
use crate::needs::{self, PlanNeeds};
use crate::text::Text;
use crate::words::count;
use model::plan::{Plan, Role};
use model::units;

/// If more skips share a reason, only the first are named, and the others are counted.
const NAMED_MAX: usize = 4;

/// The cases of a plan, and its skips with reasons; lines on what else it will do, below headings;
/// and what it needs, if that is known.
pub fn plan(
    plan: &Plan,
    notes: Vec<(&'static str, Vec<String>)>,
    needs: Option<&PlanNeeds>,
) -> Document {
    let all = plan.cases.iter().map(|planned| (&planned.case, planned.role));
    let asked = all.filter(|(_, role)| *role == Role::Asked).map(|(case, _)| case);
    let names = CaseLabels::of_cases(asked.chain(plan.skips.iter().map(|skip| &skip.case)));

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
    let common = Some(names.common_to_all("cases")).filter(|said| !said.is_empty());
    let about = common.into_iter().map(Text::from).collect();
    let mut document = Document { title, about, ..Document::default() };
    let mut blocks = Vec::new();
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
            blocks.push(list(title, ids));
        }
    }
    let skipped = findings::by_reason(&plan.skips).into_iter().map(|(reason, ids)| {
        let mut named: Vec<String> = ids.iter().map(|id| names.short(id)).collect();
        if named.len() > NAMED_MAX {
            named.truncate(NAMED_MAX - 1);
            named.push(format!("and {} more", ids.len() - named.len()));
        }
        list(&format!("skipped, because {reason}"), named)
    });
    blocks.extend(skipped);
    for (title, lines) in notes {
        blocks.push(list(title, lines));
    }
    if let Some(needs) = needs {
        blocks.extend([list("needed", Vec::new()), Block::Facts(needs::needs(needs))]);
    }
    document.part(Section::new("Plan", blocks));
    document.answer = vec![Paragraph::plain("This is a plan: nothing was run.")];
    document
}

fn list(heading: &str, items: Vec<String>) -> Block {
    let items = items.into_iter().map(Text::from).collect();
    Block::List(List { heading: Paragraph::strong(heading), items, is_apart: true })
}
