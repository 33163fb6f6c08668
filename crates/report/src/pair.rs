//! The names of cases that two records have.

use crate::labels::CaseLabels;
use assess::records::RecordComparison;
use assess::summary::Summary;

/// The labels of the cases in both records.
pub(crate) fn names(versus: &RecordComparison) -> CaseLabels<'_> {
    CaseLabels::of_cases(versus.pairs.iter().flat_map(|pair| {
        let [a, b] = versus.of(pair).map(|summary| &summary.case);
        std::iter::once(a).chain((a != b).then_some(b))
    }))
}

/// The name of a case; both names if they differ.
pub(crate) fn name(pair: [&Summary; 2], names: &CaseLabels) -> String {
    let [a, b] = pair.map(|summary| names.label(&summary.case));
    if a == b { a } else { format!("{a} → {b}") }
}
