//! The sentences of a conclusion. Each knows the rows it names, so that a paragraph can add the
//! doubts about them. Conclusions need a decision from [`assess::decision`].

use crate::words::{count, listed, times, times_interval};
use crate::writes::said_rate;
use assess::decision::{Decided, Decision, Lead, Named, Rated};
use assess::ratio::Ratio;
use assess::summary::Summary;
use model::units;

/// A sentence, with the rows it names.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sentence {
    text: String,
    rows: Vec<Named>,
}

impl Sentence {
    /// A conclusion: `say` puts the words for the decision into a sentence. There are words for
    /// yes, for no, and for an open question, which the reason follows.
    pub(crate) fn decided(
        decided: &Decided,
        [yes, no, open]: [&str; 3],
        say: impl FnOnce(&str) -> String,
    ) -> Sentence {
        let words = match decided.decision() {
            Decision::Yes => yes.to_string(),
            Decision::No => no.to_string(),
            Decision::Undecided => format!("{open} ({})", why_open(decided)),
        };
        Sentence { text: say(&words), rows: decided.rows().to_vec() }
    }

    /// One sentence of several: `start`, then their texts as clauses, which have no final period.
    pub(crate) fn of_clauses(start: &str, clauses: &[Sentence]) -> Sentence {
        let texts: Vec<&str> = clauses.iter().map(|clause| clause.text.as_str()).collect();
        let rows = clauses.iter().flat_map(|clause| clause.rows.iter().cloned());
        Sentence { text: format!("{start}{}.", texts.join("; ")), rows: rows.collect() }
    }

    /// The fastest row with its rate, and the rows that cannot be told apart from it: `Fastest
    /// durable: write 1MiB at 612 MB/s (598-631).`
    pub(crate) fn fastest(does: &str, lead: &Lead, name: &dyn Fn(&str) -> String) -> Sentence {
        let Rated { row, rate } = lead.best();
        let (rate, beside) = (said_rate(rate), beside_lead(lead, name));
        Sentence::led(lead, format!("{does} {} at {rate}{beside}.", name(&row.id)))
    }

    /// The highest rate of the page cache.
    pub(crate) fn page_cache(row: &Named, rate: f64) -> Sentence {
        let text = format!("The page cache gives up to {}.", units::rate(rate));
        Sentence::figures(text, [row])
    }

    /// A conclusion about which row is the fastest, in the words of `text`.
    pub(crate) fn led(lead: &Lead, text: String) -> Sentence {
        let best = std::iter::once(&lead.best().row);
        Sentence { text, rows: best.chain(lead.alike()).cloned().collect() }
    }

    /// Figures of rows, without a conclusion.
    pub(crate) fn figures<'a>(text: String, rows: impl IntoIterator<Item = &'a Named>) -> Sentence {
        Sentence { text, rows: rows.into_iter().cloned().collect() }
    }

    /// Figures of the rows with these summaries, none of which may be void.
    pub(crate) fn of_summaries<'a>(
        text: String,
        rows: impl IntoIterator<Item = &'a Summary>,
    ) -> Sentence {
        Sentence { text, rows: rows.into_iter().filter_map(Named::of).collect() }
    }

    /// A sentence that names no row.
    pub(crate) fn plain(text: impl Into<String>) -> Sentence {
        Sentence { text: text.into(), rows: Vec::new() }
    }
}

/// The sentences of each paragraph of an answer.
pub(crate) type Paragraphs = Vec<Vec<Sentence>>;

/// A paragraph that says what is missing.
pub(crate) fn missing(text: &str) -> Paragraphs {
    vec![vec![Sentence::plain(text)]]
}

/// A paragraph of sentences, followed by the doubts about the rows they name.
pub(crate) fn paragraph(sentences: &[Sentence], name: &dyn Fn(&str) -> String) -> String {
    let mut doubtful: Vec<&Named> = Vec::new();
    for row in sentences.iter().flat_map(|sentence| &sentence.rows) {
        if row.is_doubtful() && !doubtful.contains(&row) {
            doubtful.push(row);
        }
    }
    let texts = sentences.iter().map(|sentence| sentence.text.clone());
    let doubts = (!doubtful.is_empty()).then(|| {
        let each: Vec<String> = doubtful.iter().map(|row| doubt(row, name)).collect();
        format!("Doubtful: {}.", each.join("; "))
    });
    texts.chain(doubts).collect::<Vec<_>>().join(" ")
}

/// `direct 1MiB depth 8 (Steal)`.
fn doubt(row: &Named, name: &dyn Fn(&str) -> String) -> String {
    let codes: Vec<String> = row.doubts.iter().map(ToString::to_string).collect();
    if codes.is_empty() {
        return name(&row.id);
    }
    format!("{} ({})", name(&row.id), codes.join(", "))
}

/// Why a question is open.
fn why_open(decided: &Decided) -> &'static str {
    if decided.is_in_doubt() {
        "a figure is doubtful"
    } else if decided.comparison().low.is_none() {
        "too few rounds for an interval"
    } else {
        "the interval is too wide"
    }
}

/// A ratio with its interval: `1.31× (1.25-1.38)`.
pub(crate) fn said_ratio(ratio: &Ratio) -> String {
    let interval = times_interval(ratio.low, ratio.high);
    let interval = interval.map_or(String::new(), |interval| format!(" ({interval})"));
    format!("{}{interval}", times(ratio.median))
}

/// If there are more, only their number is shown.
const NAMED_MOST: usize = 3;

/// The rows that cannot be told apart from the fastest, and the number left out. Starts with a
/// comma; empty if the fastest is alone.
pub(crate) fn beside_lead(lead: &Lead, name: &dyn Fn(&str) -> String) -> String {
    let left_out = match lead.left_out() {
        0 => String::new(),
        doubtful => format!(", {} left out", count(doubtful, "doubtful row")),
    };
    if lead.best().row.is_doubtful() {
        return format!(", the highest but doubtful, so the fastest is undecided{left_out}");
    }
    let alike: Vec<String> = lead.alike().iter().map(|row| name(&row.id)).collect();
    let alike = match (lead.decision(), alike.len()) {
        (Decision::Yes, _) | (_, 0) => String::new(),
        (Decision::No, 1..=NAMED_MOST) => format!(", no faster than {}", listed(&alike)),
        (_, 1..=NAMED_MOST) => format!(", not told apart from {}", listed(&alike)),
        (_, many) => format!(", not told apart from {many} of the {} others", lead.of_rows() - 1),
    };
    format!("{alike}{left_out}")
}
