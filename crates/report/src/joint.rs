//! What several hosts did: what their own evidence says against figures, and how much they get
//! together, compared with the fewest that were measured.

use crate::concerned::rows_of;
use crate::document::FindingBlock;
use crate::group::grouped;
use crate::labels::CaseLabels;
use crate::members::members;
use crate::text::{Text, case, figure, text};
use crate::words::{self, DOUBTFUL, FigureFormat, count, percent, severity_paint, short};
use assess::finding::{Code, Verdict};
use assess::stats::Estimate;
use assess::together::{HostsFinding, Joint, JointHost, JointPaths, Scaling, Together};
use assess::trend::FigureUnit;
use model::evidence::{Limit, Limited};
use model::host::Storage;
use model::units;

/// A finding that several hosts have is shown once, with the message of that where it is worst.
pub(crate) fn finding(
    run: &Together,
    HostsFinding { found, hosts, differs }: &HostsFinding,
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
        // It names a drive or a link, which is that of one host.
        [first, ..] if *differs && found.is_of_run() => format!("on {first}, {message}"),
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

/// The case in which the most hosts together get the most of what one gets, the one in which they
/// get the least, how many have no valid figure, and what a mark of doubt says. Nothing without
/// cases of several numbers of hosts.
pub(crate) fn scaling(run: &Together, names: &CaseLabels) -> Vec<Text> {
    let of_most = scaled(run);
    let most = of_most.first().map(|(_, scaling)| scaling.hosts);
    let told = match of_most.as_slice() {
        [] => return Vec::new(),
        [one] => vec![("", one)],
        [worst, .., best] => vec![("Best: ", best), ("Worst: ", worst)],
    };
    let lines = told.iter().map(|(lead, (joint, scaling))| said(lead, joint, scaling, names));
    let doubts = told
        .iter()
        .any(|(_, (joint, _))| are_doubtful(joint))
        .then(|| text!("Figures with {} are doubtful: see the table and the findings.", DOUBTFUL));
    lines.chain(left_out(run, most)).chain(doubts).collect()
}

/// The cases of the most hosts whose figures stand, beginning with that of the least.
fn scaled(run: &Together) -> Vec<(&Joint, &Scaling)> {
    let stands = run.cases.iter().filter(|joint| joint.verdict.stands());
    let scaled = stands.filter_map(|joint| Some((joint, joint.scaling.as_ref()?)));
    let mut scaled: Vec<(&Joint, &Scaling)> = scaled.collect();
    let most = scaled.iter().map(|(_, scaling)| scaling.hosts).max();
    scaled.retain(|(_, scaling)| Some(scaling.hosts) == most);
    let median = |scaling: &Scaling| scaling.efficiency.median;
    scaled.sort_by(|(_, a), (_, b)| median(a).total_cmp(&median(b)));
    scaled
}

/// The case of the most hosts in which they get the least together.
pub(crate) fn worst_scaled(run: &Together) -> Option<(&Joint, &Scaling)> {
    scaled(run).into_iter().next()
}

/// `Best: write direct 2MiB, 4 hosts: 853 MB/s together, 54.8 % of 4 times what one host gets.`
fn said(lead: &str, joint: &Joint, scaling: &Scaling, names: &CaseLabels) -> Text {
    let mark = if are_doubtful(joint) { DOUBTFUL.to_string() } else { String::new() };
    let marked = |said: String| figure(format!("{said}{mark}"));
    let (unit, rate) = rate_of(joint);
    let rate =
        rate.map_or(Text::default(), |rate| text!("{} together, ", marked(unit(rate.median))));
    let base = match scaling.base {
        _ if scaling.of_each => "the sum of what each gets alone".to_string(),
        1 => format!("{} times what one host gets", scaling.hosts),
        base => format!("what each of {base} hosts gets, times {}", scaling.hosts),
    };
    text!(
        "{}{}: {}{} of {}.",
        lead,
        case(&joint.id, &|id| names.name(id)),
        rate,
        marked(percent(100.0 * scaling.efficiency.median)),
        base
    )
}

/// What the paths of all hosts carry together at most, of the case that gets most of it. If that is
/// known of no case, the hosts whose limit is missing.
pub(crate) fn paths(run: &Together, names: &CaseLabels) -> Option<Text> {
    let known = run.cases.iter().filter(|joint| joint.verdict.stands());
    let known: Vec<(&Joint, &JointPaths)> =
        known.filter_map(|joint| Some((joint, joint.paths.as_ref()?))).collect();
    let whole = known
        .iter()
        .filter_map(|(joint, paths)| Some((*joint, paths.bytes_per_second?, paths.share?)));
    let hosts = |joint: &Joint| members(run).count(joint.hosts.len());
    let name = |joint: &Joint| case(&joint.id, &|id| names.name(id));
    if let Some((joint, most, share)) = whole.max_by(|a, b| a.2.total_cmp(&b.2)) {
        let mark = if are_doubtful(joint) { DOUBTFUL.to_string() } else { String::new() };
        return Some(text!(
            "{}, {}: their paths get at most {} together; it gets {} of that.",
            name(joint),
            hosts(joint),
            units::rate(most),
            figure(format!("{}{mark}", percent(100.0 * share))),
        ));
    }
    let (joint, paths) = known.first()?;
    Some(text!(
        "{}, {}: what their paths get at most together is unknown, because {} {} no known limit.",
        name(joint),
        hosts(joint),
        short(&paths.unknown),
        if paths.unknown.len() == 1 { "has" } else { "have" }
    ))
}

/// How many cases of so many hosts have no valid figure.
fn left_out(run: &Together, hosts: Option<u32>) -> Option<Text> {
    let hosts = hosts?;
    let has_as_many = |joint: &&Joint| joint.hosts.len() == hosts as usize;
    let all = || run.cases.iter().filter(has_as_many);
    let without = all().filter(|joint| !joint.verdict.stands()).count();
    (without > 0).then(|| {
        text!(
            "{} of the {} with {} {} no valid figure.",
            without,
            count(all().count(), "case"),
            members(run).count(hosts as usize),
            if without == 1 { "has" } else { "have" }
        )
    })
}

/// The rate of all hosts together, and how to format it. Some cases move no bytes: only what they
/// do counts.
pub(crate) fn rate_of(joint: &Joint) -> (FigureFormat, Option<Estimate>) {
    match FigureUnit::of(&joint.case) {
        FigureUnit::BytesPerSecond => (units::rate, joint.throughput),
        FigureUnit::NsPerOp => (words::per_second, joint.throughput.or(joint.iops)),
    }
}

/// Whether the figures of these hosts are doubtful.
pub(crate) fn are_doubtful(joint: &Joint) -> bool {
    joint.verdict == Verdict::Doubtful
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::zoo;
    use std::convert::Infallible;

    /// A run of three hosts with one case.
    fn three() -> Together {
        let read = |host: usize| {
            let mut record = zoo::record();
            record.header.called = Some(format!("host-{host}"));
            Ok::<_, Infallible>(record)
        };
        assess::together(3, read).expect("memory is read").expect("there are hosts")
    }

    /// What is said of a case of three hosts with this efficiency and verdict.
    fn said(efficiency: Option<f64>, verdict: Verdict) -> String {
        let mut run = three();
        let rate = run.first.cases[0].throughput.expect("it was measured");
        let joint = &mut run.cases[0];
        let estimate = |median| assess::stats::Estimate { median, ..rate };
        (joint.verdict, joint.throughput) = (verdict, Some(rate));
        joint.scaling = efficiency.map(|it| Scaling {
            base: 1,
            of_each: false,
            hosts: 3,
            efficiency: estimate(it),
            each: Vec::new(),
        });
        let lines = scaling(&run, &CaseLabels::of(&run.first));
        crate::text::joined(&lines, "\n").to_string()
    }

    #[test]
    fn what_hosts_get_together_is_told_of_figures_that_stand() {
        let sound = said(Some(0.75), Verdict::Sound);
        assert!(sound.starts_with("cold pread"), "{sound}");
        assert!(sound.ends_with("/s together, 75.0 % of 3 times what one host gets."), "{sound}");
        let doubtful = said(Some(0.75), Verdict::Doubtful);
        assert!(
            doubtful.contains("/s? together, 75.0 %? of") && doubtful.contains("are doubtful"),
            "{doubtful}"
        );
        assert_eq!(said(Some(0.75), Verdict::Void), "");
        assert_eq!(said(None, Verdict::Sound), "");
    }

    #[test]
    fn what_the_paths_of_hosts_carry_together_is_told_or_which_is_unknown() {
        let said = |verdict: Verdict, told: Option<JointPaths>| {
            let mut run = three();
            let joint = &mut run.cases[0];
            joint.hosts = ["a", "b", "c"].map(str::to_string).to_vec();
            (joint.verdict, joint.paths) = (verdict, told);
            paths(&run, &CaseLabels::of(&run.first)).map(|said| said.to_string())
        };
        let (bytes_per_second, unknown) = (Some(3.75e9), Vec::new());
        let known = || JointPaths { bytes_per_second, share: Some(0.42), unknown: unknown.clone() };
        let sound = said(Verdict::Sound, Some(known())).expect("it is known");
        let end = ", 3 hosts: their paths get at most 3.75 GB/s together; it gets 42.0 % of that.";
        assert!(sound.starts_with("cold pread") && sound.ends_with(end), "{sound}");
        let doubtful = said(Verdict::Doubtful, Some(known())).expect("it is known");
        assert!(doubtful.ends_with("it gets 42.0 %? of that."), "{doubtful}");
        let without = |hosts: &[&str]| {
            let unknown = hosts.iter().map(|host| (*host).to_string()).collect();
            let told = JointPaths { bytes_per_second: None, share: None, unknown };
            said(Verdict::Sound, Some(told)).expect("a part is known")
        };
        let one = without(&["b"]);
        assert!(one.ends_with("is unknown, because b has no known limit."), "{one}");
        let two = without(&["a", "b"]);
        assert!(two.ends_with("because a and b have no known limit."), "{two}");
        assert_eq!(said(Verdict::Void, Some(known())), None);
        assert_eq!(said(Verdict::Sound, None), None);
    }
}
