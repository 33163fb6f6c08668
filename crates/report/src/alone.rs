//! What hosts or directories that were also measured alone take from each other, and what they
//! share.

use crate::joint::{are_doubtful, worst_scaled};
use crate::labels::CaseLabels;
use crate::members::are_directories;
use crate::text::{Text, case, figure, text};
use crate::words::{DOUBTFUL, listed, percent};
use assess::path::{SharedHops, shared_hops};
use assess::stats::Estimate;
use assess::together::{Joint, Scaling, Together};
use model::path::Hop;

/// All of them together certainly get less than this share of the sum of what each gets alone.
const LESS: f64 = 0.95;

/// What each gets of what it gets alone, in the case in which all get the least of it, and what
/// the directories share.
pub(crate) fn alone(run: &Together, names: &CaseLabels) -> Vec<Text> {
    let Some((joint, scaling)) = worst_scaled(run).filter(|(_, it)| it.of_each) else {
        return Vec::new();
    };
    let each = each(joint, scaling, names);
    let shared = if are_directories(run.rank) { shared(run, scaling) } else { Vec::new() };
    each.into_iter().chain(shared).collect()
}

/// `4KiB all at once: /mnt/a gets 51.2 % and /mnt/b 49.9 % of what each gets alone.`
fn each(joint: &Joint, scaling: &Scaling, names: &CaseLabels) -> Option<Text> {
    let mark = if are_doubtful(joint) { DOUBTFUL.to_string() } else { String::new() };
    let said = |(called, kept): (&String, &Estimate)| {
        format!("{called} gets {}{mark}", percent(100.0 * kept.median))
    };
    let each: Vec<String> = joint.hosts.iter().zip(&scaling.each).map(said).collect();
    (!each.is_empty()).then(|| {
        text!(
            "{}: {} of what each gets alone.",
            case(&joint.id, &|id| names.name(id)),
            figure(listed(&each))
        )
    })
}

/// The disks and links that directories have in common. If there is none and they take from each
/// other all the same, that nothing tells why.
fn shared(run: &Together, scaling: &Scaling) -> Vec<Text> {
    let path = |number: usize| run.hosts[number].storage.as_ref()?.path.as_deref();
    let tops: Option<Vec<&Hop>> = (0..run.hosts.len()).map(path).collect();
    let Some(tops) = tops else { return Vec::new() };
    let is_guest = run.first.header.host.hypervisor.is_some();
    let all = shared_hops(&tops, is_guest);
    let said = |shared: &SharedHops| {
        let called = |path: &usize| run.hosts[*path].called.clone();
        let called: Vec<String> = shared.paths.iter().map(called).collect();
        let share = if called.len() == 2 { "both" } else { "all" };
        text!(
            "{} {} use {}: what goes to one takes from the others.",
            listed(&called),
            share,
            shared.words()
        )
    };
    let takes = scaling.efficiency.high.is_some_and(|high| high < LESS);
    match &all[..] {
        [] if takes && is_guest => vec![Text::from(
            "They have no disk in common. In a virtual machine, links are made up, so what else \
             they share is unknown.",
        )],
        [] if takes => vec![Text::from(
            "They have no disk in common, and no link whose speed is known: what they share is \
             unknown. It may be the processors: see the findings.",
        )],
        all => all.iter().map(said).collect(),
    }
}
