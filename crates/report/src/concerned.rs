//! Which rows a finding concerns: by name where they are few, else by a mark in their table.

use crate::busy::{ShownFinding, shown};
use crate::text::{Text, case, joined, listed, text};
use crate::words::count;
use assess::summary::Summary;
use assess::{Assessment, RunFinding};
use model::plan::Role;

/// At most so many rows of a list are named.
pub(crate) const NAMED_MOST: usize = 3;

/// The marks of findings, in their order. Further findings have none.
const MARKS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// Findings with a mark: those of more rows than are named, but not of all.
fn marked(assessment: &Assessment) -> impl Iterator<Item = (char, ShownFinding<'_>)> {
    let all = asked(assessment);
    let needs_mark =
        move |shown: &ShownFinding| (NAMED_MOST + 1..all).contains(&shown.found.cases.len());
    MARKS.chars().zip(shown(assessment).into_iter().filter(needs_mark))
}

/// The number of requested rows.
fn asked(assessment: &Assessment) -> usize {
    assessment.cases.iter().filter(|summary| summary.role == Role::Asked).count()
}

/// The marks of a row, `ab`, for its place in a table.
pub(crate) fn marks(summary: &Summary, assessment: &Assessment) -> String {
    let is_own = |(_, shown): &(char, ShownFinding)| shown.found.cases.contains(&summary.id);
    marked(assessment).filter(is_own).map(|(mark, _)| mark).collect()
}

/// The rows of a finding of one run, and the same in a few words. Its message is about the first,
/// which is the worst.
pub(crate) fn concerned(
    shown: &ShownFinding,
    assessment: &Assessment,
    name: &dyn Fn(&str) -> String,
) -> [Text; 2] {
    let is_same = |known: &ShownFinding| {
        let of = |shown: &ShownFinding| (shown.codes.clone(), shown.found.finding.severity);
        of(known) == of(shown)
    };
    let mark = marked(assessment).find(|(_, known)| is_same(known)).map(|(mark, _)| mark);
    let cases = &shown.found.cases;
    let brief = match cases.as_slice() {
        [] => Text::default(),
        [one] => case(one, name),
        all if all.len() == asked(assessment) => "all rows".into(),
        all => {
            let mark = mark.map_or(String::new(), |mark| format!(" marked {mark}"));
            Text::from(format!("{} of {}{mark}", all.len(), count(asked(assessment), "row")))
        }
    };
    // The message is about all of them.
    if shown.is_of_several() {
        return [brief.clone(), brief];
    }
    [rows_of(&shown.found, cases.len() == asked(assessment), mark, name), brief]
}

/// The rows of a finding. `are_all`: these are all requested ones. `mark`: that of them in a table.
pub(crate) fn rows_of(
    found: &RunFinding,
    are_all: bool,
    mark: Option<char>,
    name: &dyn Fn(&str) -> String,
) -> Text {
    let which = if are_all { "all " } else { "" };
    let mark = mark.map_or(String::new(), |mark| format!(" marked {mark}"));
    let cases = first_and_others(&found.cases, which, "other row", &mark, name);
    // The message says how bad it is of the first.
    let is_worst = found.finding.size.is_some() && found.cases.len() > 1;
    let cases = if is_worst { text!("worst: {}", cases) } else { cases };
    let alone = found.cases.is_empty();
    let baselines = match (alone, found.baselines.as_slice()) {
        (_, []) => Text::default(),
        (true, ids) => text!("baseline {}", first_and_others(ids, "", "other baseline", "", name)),
        (false, [id]) => text!("; baseline {}", case(id, name)),
        (false, ids) => text!("; {}", count(ids.len(), "baseline")),
    };
    text!("{}{}", cases, baselines)
}

/// `A`, `A; also B and C`, `A; also 9 other rows marked a`.
fn first_and_others(
    ids: &[String],
    which: &str,
    noun: &str,
    mark: &str,
    name: &dyn Fn(&str) -> String,
) -> Text {
    let Some((first, others)) = ids.split_first() else { return Text::default() };
    let first = case(first, name);
    match others.len() {
        0 => first,
        few if few < NAMED_MOST => text!("{}; also {}", first, named(others, name)),
        many => text!("{}; also {}{}{}", first, which, count(many, noun), mark),
    }
}

/// The names of a few cases, or the first and the number of the others.
pub(crate) fn concerned_names(ids: &[String], name: &dyn Fn(&str) -> String) -> Text {
    match ids {
        [first, others @ ..] if ids.len() > NAMED_MOST => {
            text!("{} and {}", case(first, name), count(others.len(), "other case"))
        }
        few => named(few, name),
    }
}

fn named(ids: &[String], name: &dyn Fn(&str) -> String) -> Text {
    let names: Vec<Text> = ids.iter().map(|id| case(id, name)).collect();
    // A name may have commas itself.
    let has_comma = ids.iter().any(|id| name(id).contains(','));
    if has_comma { joined(&names, "; ") } else { listed(&names) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assess::finding::{Code, Finding, Severity};

    fn found(cases: &[&str], baselines: &[&str]) -> RunFinding {
        let owned = |ids: &[&str]| ids.iter().map(|id| id.to_string()).collect();
        let (message, remedy) = ("it is so".to_string(), String::new());
        let (code, severity, size) = (Code::Foreign, Severity::Note, None);
        let finding = Finding { code, severity, size, message, remedy };
        RunFinding { finding, cases: owned(cases), baselines: owned(baselines) }
    }

    #[test]
    fn a_finding_says_which_rows_it_concerns() {
        let said = |cases: &[&str], baselines: &[&str], are_all, mark| {
            let name = |id: &str| format!("<{id}>");
            rows_of(&found(cases, baselines), are_all, mark, &name).to_string()
        };
        assert_eq!(said(&[], &[], false, None), "");
        assert_eq!(said(&["a"], &[], false, None), "<a>");
        assert_eq!(said(&["a", "b"], &[], false, None), "<a>; also <b>");
        assert_eq!(
            said(&["a", "b", "c"], &["x"], false, None),
            "<a>; also <b> and <c>; baseline <x>"
        );
        let four = ["a", "b", "c", "d"];
        assert_eq!(said(&four, &[], false, Some('b')), "<a>; also 3 other rows marked b");
        assert_eq!(said(&four, &["x", "y"], true, None), "<a>; also all 3 other rows; 2 baselines");
        assert_eq!(said(&[], &["x", "y"], false, None), "baseline <x>; also <y>");
    }

    #[test]
    fn a_list_names_a_few_and_counts_the_others() {
        let said = |ids: &[&str]| {
            let ids: Vec<String> = ids.iter().map(|id| id.to_string()).collect();
            concerned_names(&ids, &|id| id.to_uppercase()).to_string()
        };
        assert_eq!(said(&["a"]), "A");
        assert_eq!(said(&["a", "b", "c"]), "A, B and C");
        assert_eq!(said(&["a, 1 thread", "b"]), "A, 1 THREAD; B");
        assert_eq!(said(&["a", "b", "c", "d"]), "A and 3 other cases");
    }
}
