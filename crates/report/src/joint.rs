//! What several hosts did: what their own evidence says against figures, and how much they get
//! together, compared with the fewest that were measured.

use crate::concerned::rows_of;
use crate::document::FindingBlock;
use crate::group::grouped;
use crate::labels::CaseLabels;
use crate::text::{Text, case, figure, text};
use crate::words::{DOUBTFUL, count, percent, severity_paint, short};
use assess::finding::{Code, Verdict};
use assess::together::{HostsFinding, Joint, JointHost, Scaling, Together};
use model::evidence::{Limit, Limited};
use model::host::Storage;
use model::units;

/// A finding that several hosts have is shown once, with the message of that where it is worst.
pub(crate) fn finding(
    run: &Together,
    HostsFinding { found, hosts }: &HostsFinding,
    names: &CaseLabels,
) -> FindingBlock {
    let name = |id: &str| names.name(id);
    let rows = rows_of(found, false, None, &name);
    let rows = if rows.is_empty() { rows } else { text!(": {}", rows) };
    let assess::finding::Finding { code, severity, message, .. } = &found.finding;
    // It names a control group or a quota, which is that of one host.
    let message = match &hosts[..] {
        [worst, _, ..] if *code == Code::Throttled => {
            format!("on {worst}, {message}; {}", limits(run, hosts))
        }
        _ => message.clone(),
    };
    let brief = match found.cases.len() {
        0 | 1 => rows.clone(),
        several => text!(": {}", count(several, "case")),
    };
    FindingBlock {
        code: Some(code.to_string()),
        rows: text!("on {}{}", short(hosts), rows),
        brief_rows: text!("on {}{}", short(hosts), brief),
        cases: found.cases.iter().map(|id| (id.clone(), name(id))).collect(),
        ..FindingBlock::of_kind(severity.name(), severity_paint(*severity), message)
    }
}

/// What these hosts are called.
pub(crate) fn called(hosts: &[&JointHost]) -> String {
    short(&hosts.iter().map(|host| host.called.clone()).collect::<Vec<_>>())
}

/// Which hosts have which limits on their devices, if these differ.
fn limits(run: &Together, hosts: &[String]) -> String {
    let of_these = run.hosts.iter().filter(|host| hosts.contains(&host.called));
    let kinds = grouped(of_these, |host| allowed(host.storage.as_ref()));
    if kinds.len() < 2 {
        return "each host has its own".to_string();
    }
    let kind = |(limits, hosts): &(String, Vec<_>)| format!("{limits} on {}", called(hosts));
    format!("limits of devices differ: {}", kinds.iter().map(kind).collect::<Vec<_>>().join("; "))
}

/// What the limits of a storage allow. Names of devices and groups are a host's own.
fn allowed(storage: Option<&Storage>) -> String {
    let said = |Limit { what, a_second, .. }: &Limit| match what {
        Limited::ReadBytes | Limited::WriteBytes => {
            format!("{} of {what}", units::rate(*a_second as f64))
        }
        Limited::Reads | Limited::Writes => format!("{a_second} {what} per second"),
    };
    let mut limits: Vec<String> =
        storage.iter().flat_map(|storage| &storage.limits).map(said).collect();
    limits.sort();
    limits.dedup();
    if limits.is_empty() { "none".to_string() } else { limits.join(", ") }
}

/// `4 hosts together get 75.0 % (a case) to 98.0 % (another) of 4 times what one gets.`, and what a
/// mark of doubt there says. Nothing without cases of several numbers of hosts.
pub(crate) fn scaling(run: &Together, names: &CaseLabels) -> Vec<Text> {
    let stands = run.cases.iter().filter(|joint| joint.verdict.stands());
    let scaled = stands.filter_map(|joint| Some((joint, joint.scaling.as_ref()?)));
    let scaled: Vec<(&Joint, &Scaling)> = scaled.collect();
    let most = scaled.iter().map(|(_, scaling)| scaling.hosts).max();
    let mut of_most = scaled;
    of_most.retain(|(_, scaling)| Some(scaling.hosts) == most);
    let median = |scaling: &Scaling| scaling.efficiency.median;
    of_most.sort_by(|(_, a), (_, b)| median(a).total_cmp(&median(b)));
    let Some((first, scaling)) = of_most.first() else { return Vec::new() };
    let said = |(joint, scaling): &(&Joint, &Scaling)| {
        let mark = if is_doubtful(joint) { DOUBTFUL.to_string() } else { String::new() };
        let share = figure(format!("{}{mark}", percent(100.0 * median(scaling))));
        text!("{} ({})", share, case(&joint.id, &|id| names.name(id)))
    };
    let range = match of_most.as_slice() {
        [_, .., last] => text!("{} to {}", said(&(*first, *scaling)), said(last)),
        _ => said(&(*first, *scaling)),
    };
    let base = match scaling.base {
        1 => format!("{} times what one gets", scaling.hosts),
        base => format!("what each of {base} gets, times {}", scaling.hosts),
    };
    let line = text!("{} hosts together get {} of {}.", scaling.hosts, range, base);
    let told = [of_most.first(), of_most.last()];
    let has_doubts = told.iter().flatten().any(|(joint, _)| is_doubtful(joint));
    let doubts = has_doubts
        .then(|| text!("Figures with {} are doubtful: see the table and the findings.", DOUBTFUL));
    [line].into_iter().chain(doubts).collect()
}

fn is_doubtful(joint: &Joint) -> bool {
    joint.verdict == Verdict::Doubtful
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::zoo;
    use std::convert::Infallible;

    /// A case of three hosts with this efficiency and verdict.
    fn said(efficiency: Option<f64>, verdict: Verdict) -> String {
        let read = |host: usize| {
            let mut record = zoo::record();
            record.header.called = Some(format!("host-{host}"));
            Ok::<_, Infallible>(record)
        };
        let mut run = assess::together(3, read).expect("memory is read").expect("there are hosts");
        let rate = run.first.cases[0].throughput.expect("it was measured");
        let joint = &mut run.cases[0];
        let estimate = |median| assess::stats::Estimate { median, ..rate };
        joint.verdict = verdict;
        joint.scaling =
            efficiency.map(|it| Scaling { base: 1, hosts: 3, efficiency: estimate(it) });
        let lines = scaling(&run, &CaseLabels::of(&run.first));
        crate::text::joined(&lines, "\n").to_string()
    }

    #[test]
    fn what_hosts_get_together_is_told_of_figures_that_stand() {
        let sound = said(Some(0.75), Verdict::Sound);
        assert!(sound.starts_with("3 hosts together get 75.0 % ("), "{sound}");
        assert!(sound.ends_with(") of 3 times what one gets."), "{sound}");
        let doubtful = said(Some(0.75), Verdict::Doubtful);
        assert!(doubtful.contains("75.0 %? (") && doubtful.contains("are doubtful"), "{doubtful}");
        assert_eq!(said(Some(0.75), Verdict::Void), "");
        assert_eq!(said(None, Verdict::Sound), "");
    }
}
