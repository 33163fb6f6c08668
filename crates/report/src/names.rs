//! Short names of cases: what all rows have in common is said once, not in each row.

use crate::words::{count, listed};
use assess::Assessment;
use model::case::Case;
use model::plan::Role;

/// The words that the names of all asked file cases share.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    common: Vec<String>,
}

impl Names {
    /// Names for the rows of an assessment.
    pub(crate) fn of(assessment: &Assessment) -> Names {
        let asked = assessment.cases.iter().filter(|summary| summary.role == Role::Asked);
        let skipped = assessment.skips.iter().map(|skip| &skip.case);
        Names::of_cases(asked.map(|summary| &summary.case).chain(skipped))
    }

    /// Names for cases that are listed together.
    pub(crate) fn of_cases<'a>(cases: impl Iterator<Item = &'a Case>) -> Names {
        let mut all = cases.filter(|case| case.file().is_some()).map(|case| words(&case.id()));
        let Some(first) = all.next() else { return Names::default() };
        let mut common = first.clone();
        let mut is_alone = true;
        for other in all {
            is_alone = false;
            common.retain(|word| other.contains(word));
        }
        // One case has all words in common with itself: its name stays whole.
        if is_alone { Names::default() } else { Names { common } }
    }

    /// The name of a case with this id, without what is common.
    pub(crate) fn short(&self, id: &str) -> String {
        let words = words(id);
        if !self.common.iter().all(|word| words.contains(word)) {
            return id.to_string();
        }
        let own: Vec<String> =
            words.into_iter().filter(|word| !self.common.contains(word)).collect();
        if own.is_empty() { id.to_string() } else { own.join(" ") }
    }

    /// What is common, in full words: `pread, depth 1 and a file of 256MiB`.
    pub(crate) fn said_once(&self) -> String {
        listed(&self.common.iter().map(|word| spelled(word)).collect::<Vec<_>>())
    }
}

/// The words of an id; the size of the file, `of 1GiB`, is one of them.
fn words(id: &str) -> Vec<String> {
    let (head, size) = id.split_once(" of ").unwrap_or((id, ""));
    let size = Some(format!("of {size}")).filter(|_| !size.is_empty());
    head.split(' ').map(str::to_string).chain(size).collect()
}

/// A word of an id, for somebody who does not know them: `d8` is `depth 8`.
fn spelled(word: &str) -> String {
    let number = |prefix: &str| word.strip_prefix(prefix)?.parse::<usize>().ok();
    if let Some(depth) = number("d") {
        return format!("depth {depth}");
    }
    if let Some(threads) = number("t") {
        return count(threads, "thread");
    }
    match word {
        "none" | "page" | "sum" => format!("touch {word}"),
        _ if word.starts_with("of ") => format!("a file {word}"),
        _ if word.starts_with(|c: char| c.is_ascii_digit()) => format!("blocks of {word}"),
        _ => word.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::case::{Engine, FileWork, Work};
    use model::zoo;
    use std::collections::HashSet;

    #[test]
    fn what_is_common_is_said_once() {
        let case =
            |engine, threads| Case::own(Work::File(FileWork { engine, threads, ..zoo::plain() }));
        let cases = [case(Engine::Mmap, 1), case(Engine::Pread, 2)];
        let names = Names::of_cases(cases.iter());
        assert_eq!(names.short(&cases[0].id()), "mmap t1");
        assert_eq!(
            names.said_once(),
            "as-is, sequential, blocks of 4KiB, depth 1, touch sum and a file of 1MiB"
        );
        assert_eq!(Names::of_cases(cases[..1].iter()).short(&cases[0].id()), cases[0].id());
    }

    #[test]
    fn short_names_differ_where_cases_differ() {
        let cases = zoo::cases();
        let names = Names::of_cases(cases.iter());
        let short: HashSet<String> = cases.iter().map(|case| names.short(&case.id())).collect();
        assert_eq!(short.len(), cases.len());
    }
}
