//! The findings of a whole run, each with the cases that it concerns.

use crate::finding::Finding;
use crate::row::Row;
use crate::rules;
use model::host::Storage;
use model::plan::Role;
use schemars::JsonSchema;
use serde::Serialize;

/// A finding and its cases.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RunFinding {
    /// The finding on the first of its cases.
    #[serde(flatten)]
    pub finding: Finding,
    /// Ids of the requested cases that have a finding of this code and severity.
    pub cases: Vec<String>,
    /// Ids of the other measured ones: baselines, and cases measured again. If both lists are
    /// empty, the finding concerns the whole run.
    pub baselines: Vec<String>,
}

impl RunFinding {
    /// Whether it concerns the whole run.
    pub fn is_of_run(&self) -> bool {
        self.cases.is_empty() && self.baselines.is_empty()
    }
}

/// The findings of all rows, one entry for each code and severity, most severe first. A message is
/// about one case: a requested one, if any has this finding.
pub(crate) fn findings<'a, 'r: 'a>(
    rows: impl Iterator<Item = &'a Row<'r>> + Clone,
    storage: Option<&Storage>,
) -> Vec<RunFinding> {
    let mut all: Vec<RunFinding> = Vec::new();
    for row in rows.clone() {
        for finding in &row.summary.findings {
            let is_same = |known: &RunFinding| {
                let known = &known.finding;
                (known.code, known.severity) == (finding.code, finding.severity)
            };
            let index = all.iter().position(is_same);
            let index = index.unwrap_or_else(|| {
                let (cases, baselines) = (Vec::new(), Vec::new());
                all.push(RunFinding { finding: finding.clone(), cases, baselines });
                all.len() - 1
            });
            let (known, id) = (&mut all[index], row.summary.id.clone());
            if row.measured.role != Role::Asked {
                known.baselines.push(id);
                continue;
            }
            if known.cases.is_empty() {
                known.finding = finding.clone();
            }
            known.cases.push(id);
        }
    }
    let served = rows.filter_map(|row| row.summary.served_by);
    let virtual_device = rules::virtual_device(storage, served);
    all.extend(virtual_device.map(|finding| {
        let (cases, baselines) = (Vec::new(), Vec::new());
        RunFinding { finding, cases, baselines }
    }));
    all.sort_by_key(|found| (std::cmp::Reverse(found.finding.severity), found.finding.code));
    all
}
