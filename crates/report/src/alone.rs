//! What hosts or directories that were also measured alone take from each other, and what they
//! share.

use crate::hop::said_shared;
use crate::joint::{are_doubtful, worst_scaled};
use crate::labels::CaseLabels;
use crate::members::are_on_one_machine;
use crate::text::{Text, case, figure, text};
use crate::words::{DOUBTFUL, listed, percent};
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
    // A doubtful figure says nothing of what they take from each other.
    let certain = Some(scaling).filter(|_| !are_doubtful(joint));
    let shared = if are_on_one_machine(run.rank) { shared(run, certain) } else { Vec::new() };
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
fn shared(run: &Together, certain: Option<&Scaling>) -> Vec<Text> {
    let path = |number: usize| run.hosts[number].storage.as_ref()?.path.as_deref();
    let tops: Option<Vec<&Hop>> = (0..run.hosts.len()).map(path).collect();
    let Some(tops) = tops else { return Vec::new() };
    let is_guest = run.first.header.host.hypervisor.is_some();
    let name = |path: usize| run.hosts[path].called.as_str();
    let all = said_shared(&tops, is_guest, &name);
    let takes = certain.is_some_and(|it| it.efficiency.high.is_some_and(|high| high < LESS));
    match &all[..] {
        [] if takes && is_guest => vec![Text::from(
            "They have no disk in common. In a virtual machine, links are made up, so what else \
             they share is unknown.",
        )],
        [] if takes => vec![Text::from(
            "They have no disk in common, and no link whose speed is known: what they share is \
             unknown. It may be the processors: see the findings.",
        )],
        _ => all.into_iter().map(Text::from).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assess::finding::Verdict;
    use model::path::HopKind;
    use model::rank::{Members, Rank};
    use model::zoo;
    use std::convert::Infallible;

    /// What is said of directories on these disks that get at most `high` of the sum.
    fn said(disks: [&str; 3], high: f64, (verdict, hypervisor): (Verdict, Option<&str>)) -> String {
        let read = |number: usize| {
            let mut record = zoo::record();
            let kind = HopKind::Disk(Box::default());
            let storage = record.header.storage.as_mut().expect("it has files");
            storage.path = Some(Box::new(Hop::new(disks[number], kind, Vec::new())));
            record.header.called = Some(format!("/mnt/{number}"));
            record.header.host.hypervisor = hypervisor.map(str::to_string);
            let (members, number) = (Members::Directories, number as u32);
            record.header.plan.rank = Some(Rank { number, of: 3, members, ..Rank::default() });
            Ok::<_, Infallible>(record)
        };
        let mut run = assess::together(3, read).expect("memory is read").expect("some took part");
        let rate = run.first.cases[0].throughput.expect("it was measured");
        let of = |median| Estimate { median, high: Some(high), ..rate };
        let (efficiency, each) = (of(0.5), [0.4, 0.5, 0.6].map(of).to_vec());
        run.cases[0].verdict = verdict;
        run.cases[0].hosts = run.hosts.iter().map(|host| host.called.clone()).collect();
        run.cases[0].scaling = Some(Scaling { base: 1, of_each: true, hosts: 3, efficiency, each });
        let lines = alone(&run, &CaseLabels::of(&run.first));
        crate::text::joined(&lines, "\n").to_string()
    }

    #[test]
    fn what_directories_share_is_named_or_said_to_be_unknown() {
        let (sound, guest) = ((Verdict::Sound, None), (Verdict::Sound, Some("kvm")));
        let one = said(["sda", "sdb", "sda"], 0.6, sound);
        let each =
            "/mnt/0 gets 40.0 %, /mnt/1 gets 50.0 % and /mnt/2 gets 60.0 % of what each gets";
        assert!(one.contains(each), "{one}");
        assert!(one.contains("/mnt/0 and /mnt/2 both use the disk sda"), "{one}");
        assert!(!one.contains("unknown"), "{one}");
        let apart = ["sda", "sdb", "sdc"];
        assert!(said(apart, 0.6, sound).contains("no link whose speed is known"));
        assert!(said(apart, 0.6, guest).contains("In a virtual machine, links are made up"));
        // What is not certainly less, or doubtful, tells nothing of what they share.
        for silent in [said(apart, 0.96, sound), said(apart, 0.6, (Verdict::Doubtful, None))] {
            assert!(silent.contains("of what each gets alone") && !silent.contains("in common"));
        }
    }
}
