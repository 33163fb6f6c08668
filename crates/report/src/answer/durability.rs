//! The fastest way to write, and the cost of durability.

use crate::labels::CaseLabels;
use crate::sentence::{Paragraphs, Sentence, said_ratio};
use crate::text::{Text, command, text};
use crate::writes;
use assess::Assessment;
use assess::conclusions::durability::WritingAnswer;
use assess::summary::Summary;
use model::case::Op;
use model::watched::SyncedBy;

/// The answer in sentences.
pub(super) fn answer(assessment: &Assessment, labels: &CaseLabels) -> Paragraphs {
    let name = &|id: &str| labels.name(id);
    let Some(answer) = &assessment.conclusions.writing else { return Vec::new() };
    let writes = |op| assessment.cases.iter().any(|it| it.case.write().is_some_and(|w| w.op == op));
    let mut acknowledged = match &answer.acknowledged {
        Some(lead) => {
            let what = if writes(Op::Write) { "writes" } else { "copies" };
            let own = format!("Of this program's own {what}, fastest acknowledged:");
            let best = assessment.cases.iter().find(|row| row.id == lead.best().row.id);
            let work = best.and_then(|row| row.case.write());
            let storage = assessment.header.storage.as_ref().zip(work);
            let says = match storage.and_then(|(storage, work)| storage.synced_by(work)) {
                Some(SyncedBy::Mount) => Text::from(
                    "The file system is mounted with 'sync': each write waited to be stored.",
                ),
                Some(SyncedBy::Flag) => text!(
                    "Files here have the flag of {}: each write waited to be stored.",
                    command("chattr +S")
                ),
                None => Text::from(
                    "This is how fast the OS took the data: a power cut could still lose it.",
                ),
            };
            vec![Sentence::fastest(&own, lead, name), Sentence::plain(says)]
        }
        None => vec![Sentence::plain("No acknowledged rate is valid.")],
    };
    let claims = |it: &Summary| it.case.write().is_some_and(|work| work.sync.claims_durable());
    let mut durable = match &answer.durable {
        Some(lead) => vec![Sentence::fastest("Fastest durable:", lead, name)],
        None if assessment.cases.iter().any(claims) => {
            vec![Sentence::plain("No durable rate is valid.")]
        }
        None => Vec::new(),
    };
    if let Some((is_of_same, cost)) = cost(assessment, answer) {
        if is_of_same { acknowledged.push(cost) } else { durable.push(cost) }
    }
    let cache =
        writes::said_cache(assessment.header.storage.as_ref()).filter(|_| answer.durable.is_some());
    durable.extend(cache.map(Sentence::plain));
    vec![acknowledged, durable]
}

/// The cost of durability, and whether it is from the two rates of one case. Otherwise it is from
/// two cases: the fastest for each rate.
fn cost(assessment: &Assessment, answer: &WritingAnswer) -> Option<(bool, Sentence)> {
    let (cost, acknowledged) = (answer.cost.as_ref()?, answer.acknowledged.as_ref()?.best());
    let row = assessment.cases.iter().find(|summary| summary.id == acknowledged.row.id)?;
    let has_both = row.writing.as_ref().is_some_and(|writing| writing.durable.is_some());
    let ratio = said_ratio(&cost.ratio());
    let figures = if has_both {
        text!("Made durable, the same writes came to {} of that", ratio)
    } else {
        text!("That is {} of the fastest acknowledged rate", ratio)
    };
    let said = Sentence::decided(cost, "what durability costs", |is_less| {
        let says = match is_less {
            true => "this is what durability costs",
            false => "durability costs nothing that matters here",
        };
        text!("{}: {}.", figures, says)
    });
    Some((has_both, said))
}
