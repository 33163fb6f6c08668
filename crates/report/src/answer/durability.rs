//! The fastest way to write, and the cost of durability.

use crate::labels::CaseLabels;
use crate::sentence::{Sentence, ratio_of};
use crate::text::{Text, command, text};
use crate::writes::{self, said_median};
use assess::Assessment;
use assess::conclusions::durability::WritingAnswer;
use assess::decision::Lead;
use assess::summary::Summary;
use model::case::Op;
use model::watched::SyncedBy;

/// The fastest rates, the cost of durability, and what each rate means.
pub(super) fn answer(assessment: &Assessment, labels: &CaseLabels) -> Vec<Sentence> {
    let name = &|id: &str| labels.name(id);
    let Some(answer) = &assessment.conclusions.durability else { return Vec::new() };
    let writes = |op| assessment.cases.iter().any(|it| it.case.write().is_some_and(|w| w.op == op));
    let acknowledged = match &answer.acknowledged {
        Some(lead) => {
            let what = if writes(Op::Write) { "write" } else { "copy" };
            let tool = &assessment.header.tool.name;
            let own = format!("Fastest acknowledged {what} by {tool} itself:");
            Sentence::fastest(&own, lead, &said_median, name)
        }
        None => Sentence::plain("No acknowledged rate is valid."),
    };
    let claims = |it: &Summary| it.case.write().is_some_and(|work| work.sync.claims_durable());
    let durable = match &answer.durable {
        Some(lead) => Some(Sentence::fastest("Fastest durable:", lead, &said_median, name)),
        None if assessment.cases.iter().any(claims) => {
            Some(Sentence::plain("No durable rate is valid."))
        }
        None => None,
    };
    let means = answer.acknowledged.as_ref().map(|lead| acknowledged_means(assessment, lead));
    let cache =
        writes::said_cache(assessment.header.storage.as_ref()).filter(|_| answer.durable.is_some());
    [acknowledged]
        .into_iter()
        .chain(durable)
        .chain(cost(assessment, answer, name))
        .chain(means)
        .chain(cache.map(Sentence::plain))
        .collect()
}

/// What it means that these writes were acknowledged.
fn acknowledged_means(assessment: &Assessment, lead: &Lead) -> Sentence {
    let best = assessment.row(&lead.best().row.id);
    let work = best.and_then(|row| row.case.write());
    let storage = assessment.header.storage.as_ref().zip(work);
    Sentence::plain(match storage.and_then(|(storage, work)| storage.synced_by(work)) {
        Some(SyncedBy::Mount) => {
            Text::from("The file system is mounted with 'sync': each write waited to be stored.")
        }
        Some(SyncedBy::Flag) => text!(
            "Files here have the flag of {}: each write waited to be stored.",
            command("chattr +S")
        ),
        None => Text::from(
            "Acknowledged is how fast the OS took the data: a power cut could still lose it.",
        ),
    })
}

/// The cost of durability: from the two rates of one case, or from two cases, the fastest for each
/// rate.
fn cost(
    assessment: &Assessment,
    answer: &WritingAnswer,
    name: &dyn Fn(&str) -> String,
) -> Option<Sentence> {
    let (cost, acknowledged) = (answer.cost.as_ref()?, answer.acknowledged.as_ref()?.best());
    let row = assessment.row(&acknowledged.row.id)?;
    let has_both = row.writing.as_ref().is_some_and(|writing| writing.durable.is_some());
    let of = match has_both {
        true => format!("of the acknowledged rate of {}", name(&acknowledged.row.id)),
        false => "of the fastest acknowledged rate".to_string(),
    };
    Some(Sentence::decided(cost, "what durability costs", |is_less| match is_less {
        true => text!("Durability leaves {}.", ratio_of(cost, &of)),
        false => text!("Durability costs nothing that matters here: {}.", ratio_of(cost, &of)),
    }))
}
