//! The lines of an answer. Each knows the rows that bear it, so that those of doubtful ones can be
//! explained once, below all. Conclusions need a decision from [`assess::decision`].

use crate::text::{Text, case, command, figure, joined, listed, text};
use crate::words::{DOUBTFUL, NEEDS_MOST, count, if_any, times, times_interval};
use assess::decision::{Decided, Decision, Lead, Named, Open, Rated, Repeats};
use assess::ratio::Ratio;
use assess::stats::Estimate;
use assess::summary::Summary;

/// A line of an answer, with the rows it names.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sentence {
    said: Statement,
    rows: Vec<Named>,
}

#[derive(Debug, Clone, PartialEq)]
enum Statement {
    Text(Text),
    /// A question that is undecided, and what it needs.
    Open(Undecided),
}

#[derive(Debug, Clone, PartialEq)]
struct Undecided {
    asks: Text,
    needs: String,
}

impl Sentence {
    /// A conclusion: `say` puts yes or no into a sentence. If it is undecided, only the question
    /// that it `asks` is named, such as `whether its p99 is longer`, with what it needs.
    pub(crate) fn decided<T: Into<Text>>(
        decided: &Decided,
        asks: impl Into<Text>,
        say: impl FnOnce(bool) -> T,
    ) -> Sentence {
        let rows = decided.rows().to_vec();
        match decided.decision() {
            Decision::Undecided => Sentence::open(asks, needs(decided.open()), &rows),
            decision => {
                Sentence { said: Statement::Text(say(decision == Decision::Yes).into()), rows }
            }
        }
    }

    /// An undecided question, and what would decide it.
    pub(crate) fn open<'a>(
        asks: impl Into<Text>,
        needs: impl Into<String>,
        rows: impl IntoIterator<Item = &'a Named>,
    ) -> Sentence {
        let question = Undecided { asks: asks.into(), needs: needs.into() };
        Sentence { said: Statement::Open(question), rows: rows.into_iter().cloned().collect() }
    }

    /// Whether it only names an undecided question.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.said, Statement::Open(_))
    }

    /// One line of these clauses, with `between` between them.
    pub(crate) fn joined(clauses: impl IntoIterator<Item = Sentence>, between: &str) -> Sentence {
        let clauses: Vec<Sentence> = clauses.into_iter().collect();
        let texts: Vec<Text> = clauses.iter().filter_map(Sentence::text).cloned().collect();
        let rows = clauses.iter().flat_map(|clause| clause.rows.iter());
        Sentence::figures(joined(&texts, between), rows)
    }

    /// The line after a title.
    pub(crate) fn after(self, title: &Text) -> Sentence {
        match self.said {
            Statement::Text(text) => {
                Sentence { said: Statement::Text(text!("{}{}", title, text)), ..self }
            }
            Statement::Open(_) => self,
        }
    }

    /// The line with an initial capital, if it starts with words.
    pub(crate) fn capital(self) -> Sentence {
        match self.said {
            Statement::Text(text) => Sentence { said: Statement::Text(text.capital()), ..self },
            Statement::Open(_) => self,
        }
    }

    /// What it says; `None` for an undecided question.
    pub(crate) fn text(&self) -> Option<&Text> {
        match &self.said {
            Statement::Text(text) => Some(text),
            Statement::Open(_) => None,
        }
    }

    /// The rows that it names.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &Named> {
        self.rows.iter()
    }

    /// Whether a row that it names is doubtful.
    #[cfg(test)]
    pub(crate) fn is_doubtful(&self) -> bool {
        self.rows.iter().any(Named::is_doubtful)
    }

    /// The fastest row with its rate, as `rate` says it, and the rows that may be as fast:
    /// `Fastest durable: write 1MiB at 612 MB/s; write 4MiB may be as fast`. A clause.
    pub(crate) fn fastest(
        does: &str,
        lead: &Lead,
        rate: &dyn Fn(&Estimate) -> Text,
        name: &dyn Fn(&str) -> String,
    ) -> Sentence {
        let Rated { row, rate: estimate } = lead.best();
        let rate = marked(rate(estimate), [row]);
        if row.is_doubtful() {
            let text = text!(
                "{} undecided, as the highest figure, {} of {}, is doubtful{}",
                does,
                rate,
                case(&row.id, name),
                left_out(lead, "other doubtful row")
            );
            return Sentence::led(lead, text);
        }
        let beside = beside_lead(lead, name);
        Sentence::led(lead, text!("{} {} at {}{}", does, case(&row.id, name), rate, beside))
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

/// A line that says what is missing.
pub(crate) fn missing(text: &str) -> Vec<Sentence> {
    vec![Sentence::plain(text)]
}

/// The text with the mark of doubtful figures, if one of the rows it is of is doubtful.
pub(crate) fn marked<'a>(text: impl Into<Text>, rows: impl IntoIterator<Item = &'a Named>) -> Text {
    let mut text = text.into();
    if rows.into_iter().any(Named::is_doubtful) {
        text.mark(DOUBTFUL);
    }
    text
}

/// A figure of a row, marked if that is doubtful.
pub(crate) fn figure_of(said: impl Into<String>, row: &Named) -> Text {
    marked(figure(said), [row])
}

/// The same of a row that has a figure which is not void.
pub(crate) fn figure_in(said: impl Into<String>, summary: &Summary) -> Text {
    marked(figure(said), &Named::of(summary))
}

/// Where a report has the findings that explain doubtful figures.
const SEE_FINDINGS: &str = "see the findings";

/// The lines of an answer. All that is undecided is one line, after them; then what the marks of
/// doubtful figures say.
pub(crate) fn lines(sentences: &[Sentence]) -> Vec<Text> {
    lines_by(sentences, |_| SEE_FINDINGS.into())
}

/// The same where there are no findings: a command explains the one with this code.
pub(crate) fn lines_alone(sentences: &[Sentence]) -> Vec<Text> {
    lines_by(sentences, |code| text!("{} says why", command(format!("ioassay explain {code}"))))
}

fn lines_by(sentences: &[Sentence], explains: impl Fn(&str) -> Text) -> Vec<Text> {
    let said = sentences.iter().filter_map(Sentence::text);
    let mut lines: Vec<Text> = said.map(|text| text.clone().sentence()).collect();
    lines.extend(open(sentences));
    lines.extend(doubts(sentences, explains));
    lines
}

/// `Figures with ? are doubtful (Steal, TooFew): see the findings.`
fn doubts(sentences: &[Sentence], explains: impl Fn(&str) -> Text) -> Option<Text> {
    let told = sentences.iter().filter(|sentence| !sentence.is_open());
    let rows = || told.clone().flat_map(|sentence| &sentence.rows).filter(|row| row.is_doubtful());
    rows().next()?;
    let mut codes: Vec<&str> = Vec::new();
    for code in rows().flat_map(|row| &row.doubts) {
        if !codes.contains(&code.name()) {
            codes.push(code.name());
        }
    }
    let why = codes.first().map_or_else(|| SEE_FINDINGS.into(), |code| explains(code));
    let codes = if codes.is_empty() { String::new() } else { format!(" ({})", codes.join(", ")) };
    Some(text!("Figures with {} are doubtful{}: {}.", DOUBTFUL, codes, why))
}

/// If there are more questions, only their number is told.
const ASKED_MOST: usize = 3;

/// What is undecided: `Undecided: whether it is faster; whether its p99 is longer (needs about 12
/// invocations).` Questions that need the same are named together. `None` if nothing is.
fn open(sentences: &[Sentence]) -> Option<Text> {
    let mut questions: Vec<&Undecided> = Vec::new();
    for sentence in sentences {
        match &sentence.said {
            Statement::Open(question) if !questions.contains(&question) => questions.push(question),
            Statement::Open(_) | Statement::Text(_) => {}
        }
    }
    let (told, others) = questions.split_at(questions.len().min(ASKED_MOST));
    let of_same = told.chunk_by(|one, next| one.needs == next.needs);
    let said = of_same.map(|chunk| {
        let asks: Vec<Text> = chunk.iter().map(|question| question.asks.clone()).collect();
        text!("{} ({})", joined(&asks, "; "), &chunk[0].needs)
    });
    let said: Vec<Text> = said.collect();
    let more = match others.len() {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    (!said.is_empty()).then(|| text!("Undecided: {}{}.", joined(&said, "; "), more))
}

/// What would decide an open question: `needs about 12 invocations`.
pub(crate) fn needs(open: Option<Open>) -> String {
    match open {
        None | Some(Open::Wide(Repeats::Rounds(_), None)) => "needs more rounds".to_string(),
        Some(Open::InDoubt) => "needs sound figures".to_string(),
        Some(Open::Apart) => "no round measured both".to_string(),
        Some(Open::Wide(Repeats::Invocations(_), None)) => "needs more invocations".to_string(),
        Some(Open::Wide(_, Some(needs))) if needs > NEEDS_MOST => {
            "needs a quieter machine".to_string()
        }
        Some(Open::Wide(Repeats::Rounds(_), Some(needs))) => format!("needs about {needs} rounds"),
        Some(Open::Wide(Repeats::Invocations(_), Some(needs))) => {
            format!("needs about {needs} invocations")
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

/// The ratio of two rows with its interval: `1.31× (1.25-1.38)`.
pub(crate) fn said_ratio(ratio: &Ratio) -> Text {
    said_ratio_of(ratio, "", &[])
}

/// The same between what is compared: `1.31× as long (1.25-1.38)`; marked if a row is doubtful.
pub(crate) fn said_ratio_of(ratio: &Ratio, what: &str, rows: &[Named]) -> Text {
    let interval = times_interval(ratio.low, ratio.high);
    let interval = interval.map_or(String::new(), |interval| format!(" ({interval})"));
    let what = if what.is_empty() { String::new() } else { format!(" {what}") };
    text!("{}{}{}", marked(figure(times(ratio.median)), rows), what, interval)
}

/// The ratio of a decided question: `1.31× as long (1.25-1.38)`.
pub(crate) fn ratio_of(decided: &Decided, what: &str) -> Text {
    said_ratio_of(&decided.ratio(), what, decided.rows())
}

/// If there are more, only their number is shown.
const NAMED_MOST: usize = 3;

/// The rows that may be as fast as the fastest, and the number left out. Starts with a semicolon;
/// empty if the fastest is alone.
fn beside_lead(lead: &Lead, name: &dyn Fn(&str) -> String) -> Text {
    let left_out = left_out(lead, "doubtful row");
    let others = lead.against().iter().filter(|decided| decided.decision() != Decision::Yes);
    let (of_many, alike): (Vec<&Decided>, Vec<&Decided>) =
        others.partition(|decided| matches!(decided.open(), Some(Open::Rivals { .. })));
    let names: Vec<Text> = alike.iter().map(|decided| case(&decided.rows()[1].id, name)).collect();
    let alike = match (lead.decision(), names.len()) {
        (Decision::Yes, _) | (_, 0) => Text::default(),
        (Decision::No, 1..=NAMED_MOST) => text!(", no faster than {}", listed(&names)),
        (_, 1..=NAMED_MOST) => text!("; {} may be as fast", listed(&names)),
        (_, many) => text!("; {} of the {} others may be as fast", many, lead.of_rows() - 1),
    };
    let of_many: Vec<Open> = of_many.iter().filter_map(|decided| decided.open()).collect();
    text!("{}{}{}", alike, too_few(&of_many, !names.is_empty()), left_out)
}

/// How many doubtful rows were not compared.
fn left_out(lead: &Lead, noun: &str) -> String {
    if_any(lead.left_out(), |rows| format!("; {} left out", count(rows, noun)))
}

/// `; 15 others may be as fast: 3 invocations are too few, about 4 would do`: they tell two such
/// rows apart, but not the best of many from each. With `are_more`, others were named before.
fn too_few(of_many: &[Open], are_more: bool) -> String {
    let all = of_many.iter().filter_map(|open| match open {
        Open::Rivals { repeats, needs, .. } => Some((*repeats, *needs)),
        Open::InDoubt | Open::Apart | Open::Wide(..) => None,
    });
    let all: Vec<(Repeats, Option<usize>)> = all.collect();
    let Some((repeats, _)) = all.first() else { return String::new() };
    // A single one whose number is unknown leaves it unknown.
    let most = all.iter().map(|(_, needs)| *needs).collect::<Option<Vec<usize>>>();
    let most = most.and_then(|needs| needs.into_iter().max());
    let (are, would_do) = (are(*repeats), would_do(most));
    match are_more {
        true => format!("; {are} too few to tell it from {} more{would_do}", all.len()),
        false => {
            format!("; {} may be as fast: {are} too few{would_do}", count(all.len(), "other"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assess::finding::{Code, Verdict};

    #[test]
    fn what_is_open_says_what_it_needs() {
        let (rounds, three) = (Repeats::Rounds(10), Repeats::Invocations(3));
        let of_many = |repeats, needs| Open::Rivals { repeats, rows: 15, needs };
        for (open, expected) in [
            (Open::InDoubt, "needs sound figures"),
            (Open::Wide(rounds, Some(21)), "needs about 21 rounds"),
            (Open::Wide(three, Some(12)), "needs about 12 invocations"),
            (Open::Wide(three, Some(20_000)), "needs a quieter machine"),
            (
                of_many(three, Some(4)),
                "3 invocations are too few to compare 16 rows, about 4 would do",
            ),
            (of_many(rounds, None), "10 rounds are too few to compare 16 rows"),
        ] {
            assert_eq!(needs(Some(open)), expected);
        }
        let two = [of_many(three, Some(4)), of_many(three, Some(6))];
        let more = "; 3 invocations are too few to tell it from 2 more, about 6 would do";
        assert_eq!(too_few(&two, true), more);
        let said = too_few(&two, false);
        let expected = "; 2 others may be as fast: 3 invocations are too few, about 6 would do";
        assert_eq!(said, expected);
        assert_eq!(too_few(&[], false), "");
    }

    /// Questions that need the same are one clause; all are one line, below what is decided.
    #[test]
    fn all_that_is_undecided_is_one_line() {
        let open = |asks: &str, needs: &str| Sentence::open(asks, needs, []);
        let mut all = vec![
            Sentence::plain("First."),
            open("whether a", "needs sound figures"),
            Sentence::plain("Then."),
            open("whether b", "needs sound figures"),
            open("whether c", "needs about 12 rounds"),
        ];
        let said = |all: &[Sentence]| lines(all).iter().map(Text::to_string).collect::<Vec<_>>();
        let undecided = "Undecided: whether a; whether b (needs sound figures); whether c (needs \
                         about 12 rounds)";
        assert_eq!(said(&all), ["First.", "Then.", &format!("{undecided}.")]);
        all.extend([open("whether c", "needs about 12 rounds"), open("whether d", "needs e")]);
        assert_eq!(said(&all)[2], format!("{undecided}; and 1 more."));
    }

    /// A figure is marked where it stands, and all marks are explained once; of sound rows nothing
    /// is.
    #[test]
    fn a_doubtful_figure_has_a_mark_that_is_explained_below() {
        let row = |verdict, doubts: &[Code]| Named {
            id: "a".to_string(),
            verdict,
            doubts: doubts.to_vec(),
        };
        let said = |rows: &[Named]| {
            let line = |row| Sentence::figures(text!("at {}.", figure_of("1 GB/s", row)), [row]);
            let said = lines(&rows.iter().map(line).collect::<Vec<_>>());
            said.iter().map(Text::to_string).collect::<Vec<_>>()
        };
        assert_eq!(said(&[row(Verdict::Sound, &[])]), ["at 1 GB/s."]);
        let doubtful = row(Verdict::Doubtful, &[Code::Steal, Code::TooFew]);
        let below = "Figures with ? are doubtful (Steal, TooFew): see the findings.";
        assert_eq!(said(&[doubtful.clone(), doubtful]), ["at 1 GB/s?.", "at 1 GB/s?.", below]);
    }
}
