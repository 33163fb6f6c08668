//! What the own evidence of several hosts says against figures.

use crate::concerned::rows_of;
use crate::document::FindingBlock;
use crate::labels::CaseLabels;
use crate::text::text;
use crate::words::{count, severity_paint, short};
use assess::finding::Code;
use assess::together::{HostsFinding, Together};
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

/// Which hosts have which limits on their devices, if these differ.
fn limits(run: &Together, hosts: &[String]) -> String {
    let mut kinds: Vec<(String, Vec<String>)> = Vec::new();
    for member in run.hosts.iter().filter(|member| hosts.contains(&member.called)) {
        let limits = allowed(member.storage.as_ref());
        match kinds.iter_mut().find(|(known, _)| *known == limits) {
            Some((_, alike)) => alike.push(member.called.clone()),
            None => kinds.push((limits, vec![member.called.clone()])),
        }
    }
    if kinds.len() < 2 {
        return "each host has its own".to_string();
    }
    let kind = |(limits, hosts): &(String, Vec<String>)| format!("{limits} on {}", short(hosts));
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
