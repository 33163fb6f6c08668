//! The sentences of a conclusion. Each knows the rows it names, so that a paragraph can add the
//! doubts about them. Conclusions need a decision from [`assess::decision`].

use crate::text::{Text, case, figure, joined, listed, text};
use crate::words::{NEEDS_MOST, count, times, times_interval};
use crate::writes::said_rate;
use assess::decision::{Decided, Decision, Lead, Named, Open, Rated, Repeats};
use assess::ratio::Ratio;
use assess::summary::Summary;
use model::units;

/// A sentence, with the rows it names.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sentence {
    said: Statement,
    rows: Vec<Named>,
}

#[derive(Debug, Clone, PartialEq)]
enum Statement {
    Text(Text),
    /// A question that is undecided, and what it takes to decide it.
    Open(Undecided),
}

#[derive(Debug, Clone, PartialEq)]
struct Undecided {
    asks: Text,
    takes: String,
}

impl Sentence {
    /// A conclusion: `say` puts yes or no into a sentence. If it is undecided, only the question
    /// that it `asks` is named, such as `whether its p99 is longer`, with what would decide it.
    pub(crate) fn decided<T: Into<Text>>(
        decided: &Decided,
        asks: impl Into<Text>,
        say: impl FnOnce(bool) -> T,
    ) -> Sentence {
        let rows = decided.rows().to_vec();
        match decided.decision() {
            Decision::Undecided => Sentence::open(asks, takes(decided.open()), &rows),
            decision => {
                Sentence { said: Statement::Text(say(decision == Decision::Yes).into()), rows }
            }
        }
    }

    /// An undecided question, and what it takes to decide it.
    pub(crate) fn open<'a>(
        asks: impl Into<Text>,
        takes: impl Into<String>,
        rows: impl IntoIterator<Item = &'a Named>,
    ) -> Sentence {
        let question = Undecided { asks: asks.into(), takes: takes.into() };
        Sentence { said: Statement::Open(question), rows: rows.into_iter().cloned().collect() }
    }

    /// Whether it only names an undecided question.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.said, Statement::Open(_))
    }

    /// One sentence of several: `start`, then their texts as clauses, which have no final period.
    pub(crate) fn of_clauses(start: &str, clauses: &[Sentence]) -> Sentence {
        let texts: Vec<Text> = clauses.iter().filter_map(Sentence::text).cloned().collect();
        let rows = clauses.iter().flat_map(|clause| clause.rows.iter());
        Sentence::figures(text!("{}{}.", start, joined(&texts, "; ")), rows)
    }

    fn text(&self) -> Option<&Text> {
        match &self.said {
            Statement::Text(text) => Some(text),
            Statement::Open(_) => None,
        }
    }

    /// The fastest row with its rate, and the rows that cannot be told apart from it: `Fastest
    /// durable: write 1MiB at 612 MB/s (598-631).`
    pub(crate) fn fastest(does: &str, lead: &Lead, name: &dyn Fn(&str) -> String) -> Sentence {
        let Rated { row, rate } = lead.best();
        let (rate, beside) = (said_rate(rate), beside_lead(lead, name));
        Sentence::led(lead, text!("{} {} at {}{}.", does, case(&row.id, name), rate, beside))
    }

    /// The highest rate of the page cache.
    pub(crate) fn page_cache(row: &Named, rate: f64) -> Sentence {
        let text = text!("The page cache gives up to {}.", figure(units::rate(rate)));
        Sentence::figures(text, [row])
    }

    /// A conclusion about which row is the fastest, in the words of `text`.
    pub(crate) fn led(lead: &Lead, text: impl Into<Text>) -> Sentence {
        let best = std::iter::once(&lead.best().row);
        Sentence::figures(text, best.chain(lead.alike()))
    }

    /// Figures of rows, without a conclusion.
    pub(crate) fn figures<'a>(
        text: impl Into<Text>,
        rows: impl IntoIterator<Item = &'a Named>,
    ) -> Sentence {
        Sentence { said: Statement::Text(text.into()), rows: rows.into_iter().cloned().collect() }
    }

    /// Figures of the rows with these summaries, none of which may be void.
    pub(crate) fn of_summaries<'a>(
        text: impl Into<Text>,
        rows: impl IntoIterator<Item = &'a Summary>,
    ) -> Sentence {
        let rows: Vec<Named> = rows.into_iter().filter_map(Named::of).collect();
        Sentence::figures(text, &rows)
    }

    /// A sentence that names no row.
    pub(crate) fn plain(text: impl Into<Text>) -> Sentence {
        Sentence::figures(text, [])
    }
}

/// The sentences of each paragraph of an answer.
pub(crate) type Paragraphs = Vec<Vec<Sentence>>;

/// A paragraph that says what is missing.
pub(crate) fn missing(text: &str) -> Paragraphs {
    vec![vec![Sentence::plain(text)]]
}

/// A paragraph of sentences, followed by the doubts about the rows they name. All that is undecided
/// is one sentence, in the place of the first such question.
pub(crate) fn paragraph(sentences: &[Sentence], name: &dyn Fn(&str) -> String) -> Text {
    let mut doubtful: Vec<&Named> = Vec::new();
    for row in sentences.iter().flat_map(|sentence| &sentence.rows) {
        if row.is_doubtful() && !doubtful.contains(&row) {
            doubtful.push(row);
        }
    }
    let first_open = sentences.iter().find(|sentence| sentence.is_open());
    let texts = sentences.iter().filter_map(|sentence| match sentence.text() {
        Some(text) => Some(text.clone()),
        None => first_open.filter(|first| std::ptr::eq(*first, sentence)).map(|_| open(sentences)),
    });
    let doubts = (!doubtful.is_empty()).then(|| {
        let each: Vec<Text> = doubtful.iter().map(|row| doubt(row, name)).collect();
        text!("Doubtful: {}.", joined(&each, "; "))
    });
    joined(&texts.chain(doubts).collect::<Vec<_>>(), " ")
}

/// `direct 1MiB depth 8 (Steal)`.
fn doubt(row: &Named, name: &dyn Fn(&str) -> String) -> Text {
    let codes: Vec<String> = row.doubts.iter().map(ToString::to_string).collect();
    if codes.is_empty() {
        return case(&row.id, name);
    }
    text!("{} ({})", case(&row.id, name), codes.join(", "))
}

/// What is undecided: `Undecided: whether it is faster; whether its p99 is longer (takes about 12
/// invocations).` Questions that take the same are named together.
fn open(sentences: &[Sentence]) -> Text {
    let questions: Vec<&Undecided> = sentences
        .iter()
        .filter_map(|sentence| match &sentence.said {
            Statement::Open(question) => Some(question),
            Statement::Text(_) => None,
        })
        .collect();
    let of_same = questions.chunk_by(|one, next| one.takes == next.takes);
    let said = of_same.map(|chunk| {
        let asks: Vec<Text> = chunk.iter().map(|question| question.asks.clone()).collect();
        text!("{} ({})", joined(&asks, "; "), &chunk[0].takes)
    });
    text!("Undecided: {}.", joined(&said.collect::<Vec<_>>(), "; "))
}

/// What an open question takes: `takes about 12 invocations`.
pub(crate) fn takes(open: Option<Open>) -> String {
    match open {
        None | Some(Open::Wide(Repeats::Rounds(_), None)) => "takes more rounds".to_string(),
        Some(Open::InDoubt) => "takes sound figures".to_string(),
        Some(Open::Apart) => "no round measured both".to_string(),
        Some(Open::Wide(Repeats::Invocations(_), None)) => "takes more invocations".to_string(),
        Some(Open::Wide(_, Some(needs))) if needs > NEEDS_MOST => {
            "takes a quieter machine".to_string()
        }
        Some(Open::Wide(Repeats::Rounds(_), Some(needs))) => format!("takes about {needs} rounds"),
        Some(Open::Wide(Repeats::Invocations(_), Some(needs))) => {
            format!("takes about {needs} invocations")
        }
        Some(Open::Rivals { repeats, rows, needs }) => {
            format!("{} too few to compare {} rows{}", are(repeats), rows + 1, would_do(needs))
        }
    }
}

/// `3 invocations are`.
fn are(repeats: Repeats) -> String {
    let (number, said) = match repeats {
        Repeats::Rounds(rounds) => (rounds, count(rounds, "round")),
        Repeats::Invocations(invocations) => (invocations, count(invocations, "invocation")),
    };
    format!("{said} {}", if number == 1 { "is" } else { "are" })
}

fn would_do(needs: Option<usize>) -> String {
    needs.map_or(String::new(), |needs| format!(", about {needs} would do"))
}

/// A ratio with its interval: `1.31× (1.25-1.38)`.
pub(crate) fn said_ratio(ratio: &Ratio) -> Text {
    let interval = times_interval(ratio.low, ratio.high);
    let interval = interval.map_or(String::new(), |interval| format!(" ({interval})"));
    text!("{}{}", figure(times(ratio.median)), interval)
}

/// If there are more, only their number is shown.
const NAMED_MOST: usize = 3;

/// The rows that cannot be told apart from the fastest, and the number left out. Starts with a
/// comma; empty if the fastest is alone.
pub(crate) fn beside_lead(lead: &Lead, name: &dyn Fn(&str) -> String) -> Text {
    let left_out = match lead.left_out() {
        0 => String::new(),
        doubtful => format!(", {} left out", count(doubtful, "doubtful row")),
    };
    if lead.best().row.is_doubtful() {
        return text!(", the highest but doubtful, so the fastest is undecided{}", left_out);
    }
    let others = lead.against().iter().filter(|decided| decided.decision() != Decision::Yes);
    let (of_many, alike): (Vec<&Decided>, Vec<&Decided>) =
        others.partition(|decided| matches!(decided.open(), Some(Open::Rivals { .. })));
    let names: Vec<Text> = alike.iter().map(|decided| case(&decided.rows()[1].id, name)).collect();
    let alike = match (lead.decision(), names.len()) {
        (Decision::Yes, _) | (_, 0) => Text::default(),
        (Decision::No, 1..=NAMED_MOST) => text!(", no faster than {}", listed(&names)),
        (_, 1..=NAMED_MOST) => text!(", not told apart from {}", listed(&names)),
        (_, many) => text!(", not told apart from {} of the {} others", many, lead.of_rows() - 1),
    };
    let of_many: Vec<Open> = of_many.iter().filter_map(|decided| decided.open()).collect();
    text!("{}{}{}", alike, too_few(&of_many), left_out)
}

/// `, and 3 invocations are too few to tell it from 15 others, about 4 would do`: they tell two
/// such rows apart, but not the best of many from each.
fn too_few(of_many: &[Open]) -> String {
    let all = of_many.iter().filter_map(|open| match open {
        Open::Rivals { repeats, needs, .. } => Some((*repeats, *needs)),
        Open::InDoubt | Open::Apart | Open::Wide(..) => None,
    });
    let all: Vec<(Repeats, Option<usize>)> = all.collect();
    let Some((repeats, _)) = all.first() else { return String::new() };
    // A single one whose number is unknown leaves it unknown.
    let most = all.iter().map(|(_, needs)| *needs).collect::<Option<Vec<usize>>>();
    let most = most.and_then(|needs| needs.into_iter().max());
    let others = count(all.len(), "other");
    format!(", and {} too few to tell it from {others}{}", are(*repeats), would_do(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_open_says_what_it_takes() {
        let (rounds, three) = (Repeats::Rounds(10), Repeats::Invocations(3));
        let of_many = |repeats, needs| Open::Rivals { repeats, rows: 15, needs };
        for (open, expected) in [
            (Open::InDoubt, "takes sound figures"),
            (Open::Wide(rounds, Some(21)), "takes about 21 rounds"),
            (Open::Wide(three, Some(12)), "takes about 12 invocations"),
            (Open::Wide(three, Some(20_000)), "takes a quieter machine"),
            (
                of_many(three, Some(4)),
                "3 invocations are too few to compare 16 rows, about 4 would do",
            ),
            (of_many(rounds, None), "10 rounds are too few to compare 16 rows"),
        ] {
            assert_eq!(takes(Some(open)), expected);
        }
        let said = too_few(&[of_many(three, Some(4)), of_many(three, Some(6))]);
        let expected = ", and 3 invocations are too few to tell it from 2 others, about 6 would do";
        assert_eq!(said, expected);
        assert_eq!(too_few(&[]), "");
    }

    /// Questions that take the same are one clause, in the place of the first.
    #[test]
    fn all_that_is_undecided_is_one_line() {
        let open = |asks: &str, takes: &str| Sentence::open(asks, takes, []);
        let all = [
            Sentence::plain("First."),
            open("whether a", "takes sound figures"),
            Sentence::plain("Then."),
            open("whether b", "takes sound figures"),
            open("whether c", "takes about 12 rounds"),
        ];
        let expected = "First. Undecided: whether a; whether b (takes sound figures); whether c \
                        (takes about 12 rounds). Then.";
        assert_eq!(paragraph(&all, &str::to_string).to_string(), expected);
    }
}
