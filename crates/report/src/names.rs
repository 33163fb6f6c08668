//! Short names of cases: what all rows have in common is said once, not in each row.

use crate::words::{count, listed};
use assess::Assessment;
use model::case::{Case, Work};
use model::plan::Role;
use std::fmt;

/// The words that the names of all asked cases share that read files, and those of all that
/// write them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    read: Vec<String>,
    written: Vec<String>,
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
        let (mut read, mut written) = (Vec::new(), Vec::new());
        for case in cases {
            match case.work {
                Work::Read(_) => read.push(words(&case.id())),
                Work::Write(_) => written.push(words(&case.id())),
                Work::Memory(_) => {}
            }
        }
        Names { read: common(&read), written: common(&written) }
    }

    /// The name of a case with this id, without what is common.
    pub(crate) fn short(&self, id: &str) -> String {
        let own = self.own_words(id);
        if own.is_empty() { id.to_string() } else { own.join(" ") }
    }

    /// The words of an id without what is common; none where that is all.
    pub(crate) fn own_words(&self, id: &str) -> Vec<String> {
        let common = if writes(id) { &self.written } else { &self.read };
        let mut own = words(id);
        for word in common {
            match own.iter().position(|known| known == word) {
                Some(index) => own.remove(index),
                None => return words(id),
            };
        }
        own
    }

    /// What is common, in full words: `pread, depth 1 and a file of 256MiB`.
    pub(crate) fn said_once(&self) -> String {
        let said = |common: &[String]| {
            listed(&common.iter().map(|word| spelled(word)).collect::<Vec<_>>())
        };
        match (said(&self.read), said(&self.written)) {
            (read, written) if written.is_empty() => read,
            (read, written) if read.is_empty() => written,
            (read, written) => format!("{read}; of what writes, {written}"),
        }
    }
}

/// The words that all of several ids have. One id has all words in common with itself: it has
/// none, so that its name stays whole.
fn common(ids: &[Vec<String>]) -> Vec<String> {
    match ids {
        [] | [_] => Vec::new(),
        [first, others @ ..] => others.iter().fold(first.clone(), |mut common, other| {
            // A word may come twice, as the op `write` and the engine of that name.
            let mut left = other.clone();
            common.retain(|word| match left.iter().position(|known| known == word) {
                Some(index) => {
                    left.remove(index);
                    true
                }
                None => false,
            });
            common
        }),
    }
}

/// Whether this is the id of a case that writes: only they name a sync.
fn writes(id: &str) -> bool {
    id.contains(" sync:")
}

/// The words of an id; the size of the file, `of 1GiB`, is one of them.
pub(crate) fn words(id: &str) -> Vec<String> {
    let (head, size) = id.split_once(" of ").unwrap_or((id, ""));
    let size = Some(format!("of {size}")).filter(|_| !size.is_empty());
    head.split(' ').map(str::to_string).chain(size).collect()
}

/// Two names as one: what tells them from each other, and what they share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Apart {
    pub(crate) one: String,
    pub(crate) other: String,
    pub(crate) shared: Vec<String>,
}

impl Apart {
    pub(crate) fn of(one: &[String], other: &[String]) -> Apart {
        let own = |words: &[String], other: &[String]| {
            let own: Vec<String> = words.iter().filter(|w| !other.contains(w)).cloned().collect();
            // Where all else is left out of the names, one that tells nothing has none.
            if own.is_empty() { "without".to_string() } else { own.join(" ") }
        };
        let shared = one.iter().filter(|word| other.contains(word)).cloned().collect();
        Apart { one: own(one, other), other: own(other, one), shared }
    }
}

/// `mmap vs pread, cold 4KiB`.
impl fmt::Display for Apart {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Apart { one, other, shared } = self;
        match shared.is_empty() {
            true => write!(f, "{one} vs {other}"),
            false => write!(f, "{one} vs {other}, {}", shared.join(" ")),
        }
    }
}

/// A word of an id, for somebody who does not know them: `d8` is `depth 8`.
pub(crate) fn spelled(word: &str) -> String {
    let number = |prefix: &str| word.strip_prefix(prefix)?.parse::<usize>().ok();
    if let Some(depth) = number("d") {
        return format!("depth {depth}");
    }
    if let Some(threads) = number("t") {
        return count(threads, "thread");
    }
    if let Some((axis, value)) = word.split_once(':') {
        return match axis {
            "alloc" => format!("allocation {value}"),
            _ => format!("{axis} {value}"),
        };
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
    use model::case::{Engine, Io, ReadWork, WriteEngine, WriteWork};
    use model::zoo;
    use std::collections::HashSet;

    #[test]
    fn of_two_names_it_is_said_once_what_they_share() {
        let apart = |one: &str, other: &str| {
            let words = |name: &str| name.split_whitespace().map(str::to_string).collect();
            let (one, other): (Vec<String>, Vec<String>) = (words(one), words(other));
            Apart::of(&one, &other).to_string()
        };
        assert_eq!(apart("mmap cold 4KiB", "pread cold 4KiB"), "mmap vs pread, cold 4KiB");
        assert_eq!(apart("cold", "warm"), "cold vs warm");
        assert_eq!(apart("mmap advice:random", "mmap"), "advice:random vs without, mmap");
        assert_eq!(apart("advice:random", ""), "advice:random vs without");
    }

    #[test]
    fn what_is_common_is_said_once() {
        let case = |engine, threads| {
            Case::own(Work::Read(ReadWork {
                io: Io { threads, ..zoo::plain().io },
                engine,
                ..zoo::plain()
            }))
        };
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
    fn what_reads_and_what_writes_have_names_of_their_own() {
        let write = |engine, block| {
            Case::own(Work::Write(WriteWork {
                io: Io { block, ..zoo::plain_write().io },
                engine,
                ..zoo::plain_write()
            }))
        };
        let read = |block| {
            Case::own(Work::Read(ReadWork { io: Io { block, ..zoo::plain().io }, ..zoo::plain() }))
        };
        let cases = [
            write(WriteEngine::Write, 4096),
            write(WriteEngine::Pwrite, 8192),
            read(4096),
            read(8192),
        ];
        let names = Names::of_cases(cases.iter());
        let short: Vec<String> = cases.iter().map(|case| names.short(&case.id())).collect();
        assert_eq!(short, ["write 4KiB", "pwrite 8KiB", "4KiB", "8KiB"]);
        let said = names.said_once();
        assert!(
            said.contains("touch sum and a file of 1MiB; of what writes, write, as-is"),
            "{said}"
        );
        assert!(said.ends_with("allocation none, sync fdatasync and a file of 1MiB"), "{said}");
    }

    #[test]
    fn short_names_differ_where_cases_differ() {
        let cases = zoo::cases();
        let names = Names::of_cases(cases.iter());
        let short: HashSet<String> = cases.iter().map(|case| names.short(&case.id())).collect();
        assert_eq!(short.len(), cases.len());
    }
}
