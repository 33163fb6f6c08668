//! Why a case has no figure that could be compared.

use crate::finding::{Code, Finding, Severity, Verdict};
use crate::summary::Summary;

/// Whether half of its trials or all failed, or what it read was wrong: no noise does that.
pub(crate) fn fails(case: &Summary) -> bool {
    let is_wrong = |finding: &Finding| match finding.code {
        Code::DigestMismatch => true,
        Code::FailedTrials => finding.severity == Severity::Void,
        _ => false,
    };
    case.verdict == Verdict::Failed || case.findings.iter().any(is_wrong)
}

/// Why a case has no valid figure in the record `side`; `None` if it has one.
pub(crate) fn without_figure(case: &Summary, side: &str) -> Option<String> {
    let reason = || case.failures.first().map_or("", |(failure, _)| failure.reason());
    let code = || case.findings.first().map_or("", |finding| finding.code.name());
    Some(match case.verdict {
        Verdict::Sound | Verdict::Doubtful => return None,
        Verdict::Void => format!("it is void in {side}: {}", code()),
        Verdict::Failed => format!("it failed in {side}: {}", reason()),
        Verdict::Unavailable => format!("it is unavailable in {side}: {}", reason()),
        Verdict::NotRun => format!("it was not run in {side}"),
    })
}
