//! The fastest way to write, and the cost of durability.

use crate::sentence::{Sentence, beside_lead, paragraph, said_ratio, why_open};
use crate::writes::{self, said_rate};
use assess::Assessment;
use assess::decision::{Decision, Lead};
use assess::strategies::WritingAnswer;

/// The answer in sentences.
pub(super) fn answer(assessment: &Assessment, name: &dyn Fn(&str) -> String) -> Vec<String> {
    let none = WritingAnswer { acknowledged: None, durable: None, cost: None };
    let answer = assessment.writing.as_ref().unwrap_or(&none);
    let (of_same, of_fastest) = match cost(assessment, answer) {
        Some(Cost::OfSame(sentence)) => (Some(sentence), None),
        Some(Cost::OfFastest(sentence)) => (None, Some(sentence)),
        None => (None, None),
    };
    let fastest = |lead: &Lead, does: &str, after: &str| {
        let rated = lead.best();
        let (name_of, rate) = (name(&rated.row.id), said_rate(&rated.rate));
        let beside = beside_lead(lead, name);
        Sentence::led(lead, format!("{does} {name_of} at {rate}{beside}.{after}"))
    };
    let acknowledged = match &answer.acknowledged {
        Some(lead) => {
            let says = " This is how fast the OS took the data: a power cut could still lose it.";
            let own = "Of this program's own writes, fastest acknowledged:";
            [Some(fastest(lead, own, says)), of_same].into_iter().flatten().collect()
        }
        None => vec![Sentence::plain("No acknowledged rate is valid.")],
    };
    let durable = match &answer.durable {
        Some(lead) => {
            let cache = writes::said_cache(assessment.storage.as_ref()).map(Sentence::plain);
            let first = fastest(lead, "Fastest durable:", "");
            [Some(first), of_fastest, cache].into_iter().flatten().collect()
        }
        None => vec![Sentence::plain("No durable rate is valid.")],
    };
    [acknowledged, durable]
        .iter()
        .map(|sentences: &Vec<Sentence>| paragraph(sentences, name))
        .collect()
}

/// The cost of durability, in a sentence.
enum Cost {
    /// From the two rates of one case.
    OfSame(Sentence),
    /// From two cases: the fastest for each rate.
    OfFastest(Sentence),
}

fn cost(assessment: &Assessment, answer: &WritingAnswer) -> Option<Cost> {
    let (cost, acknowledged) = (answer.cost.as_ref()?, answer.acknowledged.as_ref()?.best());
    let row = assessment.cases.iter().find(|summary| summary.id == acknowledged.row.id)?;
    let has_both = row.writing.as_ref().is_some_and(|writing| writing.durable.is_some());
    let ratio = said_ratio(&cost.ratio());
    let figures = if has_both {
        format!("Made durable, the same writes came to {ratio} of that")
    } else {
        format!("That is {ratio} of the fastest acknowledged rate")
    };
    let sentence = Sentence::decided(cost, |decision| match decision {
        Decision::Yes => format!("{figures}: this is what durability costs."),
        Decision::No => format!("{figures}: durability costs nothing that matters here."),
        Decision::Undecided => {
            format!("{figures}; what durability costs is not decided ({}).", why_open(cost))
        }
    });
    Some(if has_both { Cost::OfSame(sentence) } else { Cost::OfFastest(sentence) })
}
