//! Joins phrases, factors out the words that several texts share, and compares two.

use crate::words::listed;
use std::fmt;

/// The part of a label that names one axis.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Phrase {
    /// The axis, or `kind` for the kind of work, or `group` for the case's group.
    pub(crate) axis: &'static str,
    /// For sentences: `depth 8`.
    pub(crate) said: String,
    /// For cells: `d8`.
    pub(crate) short: String,
}

impl Phrase {
    /// One that is the same in sentences and in cells.
    pub(crate) fn of(axis: &'static str, text: &str) -> Phrase {
        Phrase { axis, said: text.to_string(), short: text.to_string() }
    }
}

/// Joins phrases with spaces, and with a comma before a count. The size of a file, `of 1GiB`, is
/// not that of the threads, hosts or actors before it: `1 thread, file of 1GiB`.
pub(crate) fn joined(phrases: impl IntoIterator<Item = String>) -> String {
    let (mut out, mut is_other) = (String::new(), false);
    for phrase in phrases {
        let counts = phrase.starts_with(|c: char| c.is_ascii_digit()) && phrase.contains(' ');
        out.push_str(match out.is_empty() {
            true => "",
            false if counts => ", ",
            false if is_other && phrase.starts_with("of ") => ", file ",
            false => " ",
        });
        out.push_str(&phrase);
        let is_who = [" hosts", " alone", " at once"].iter().any(|end| phrase.ends_with(end));
        is_other = counts || is_who || phrase.starts_with("beside ");
    }
    out
}

/// The labels of things that are shown together.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Factored {
    /// The words of each label that the others do not share.
    pub(crate) own: Vec<String>,
    /// The words that all labels share; empty if there is only one label.
    pub(crate) common: String,
}

/// Splits labels into shared words and their own.
pub(crate) fn factor_out(all: Vec<Vec<String>>) -> Factored {
    let Some((first, others)) = all.split_first() else {
        return Factored { own: Vec::new(), common: String::new() };
    };
    let is_common = |word: &&String| others.iter().all(|other| other.contains(word));
    let mut common: Vec<String> = match others {
        [] => Vec::new(),
        _ => first.iter().filter(is_common).cloned().collect(),
    };
    // No label may become empty, so the first shared word stays in each.
    let is_bare = |words: &Vec<String>| words.iter().all(|word| common.contains(word));
    if all.iter().any(is_bare) && !common.is_empty() {
        common.remove(0);
    }
    let own =
        |words: &Vec<String>| joined(words.iter().filter(|word| !common.contains(word)).cloned());
    Factored { own: all.iter().map(own).collect(), common: listed(&common) }
}

/// Two labels compared: how they differ, and what they share.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct LabelDifference {
    pub(crate) one: String,
    pub(crate) other: String,
    pub(crate) shared: Vec<Phrase>,
}

impl LabelDifference {
    pub(crate) fn of(one: &[Phrase], other: &[Phrase]) -> LabelDifference {
        let own = |words: &[Phrase], other: &[Phrase]| {
            let own = words.iter().filter(|word| !other.contains(word));
            let own = joined(own.map(|word| word.said.clone()));
            // One side may have nothing of its own, because labels omit usual values.
            if own.is_empty() { "without".to_string() } else { own }
        };
        let shared = one.iter().filter(|word| other.contains(word)).cloned().collect();
        LabelDifference { one: own(one, other), other: own(other, one), shared }
    }

    /// The shared words after a comma; empty if there are none.
    pub(crate) fn beside(&self) -> String {
        let shared = joined(self.shared.iter().map(|word| word.short.clone()));
        if shared.is_empty() { shared } else { format!(", {shared}") }
    }
}

/// `mmap vs pread, cold 4KiB`.
impl fmt::Display for LabelDifference {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} vs {}{}", self.one, self.other, self.beside())
    }
}

/// What short words in labels say, of those that these labels have: letters before numbers, and how
/// many blocks are between syncs.
pub(crate) fn letters<'a>(labels: impl Iterator<Item = &'a str>) -> Vec<&'static str> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let all: Vec<&str> = labels.flat_map(|label| label.split([' ', ','])).collect();
    let has =
        |letter: char| all.iter().any(|word| word.strip_prefix(letter).is_some_and(is_number));
    let has_syncs = all.iter().any(|word| ["each", "every"].contains(word));
    let known = [
        (has('t'), "t: threads"),
        (has('d'), "d: depth"),
        (has_syncs, "each, every N: a sync after each block, or after N"),
    ];
    known.into_iter().filter(|(is_there, _)| *is_there).map(|(_, said)| said).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_labels_it_is_said_once_what_they_share() {
        let word = |axis, said: &str| Phrase { axis, said: said.into(), short: said.into() };
        let of = |one: &[Phrase], other: &[Phrase]| LabelDifference::of(one, other).to_string();
        let (mmap, pread) = (word("engine", "mmap"), word("engine", "pread"));
        let (cold, block) = (word("cache", "cold"), word("block", "4KiB"));
        let pair = of(&[mmap.clone(), cold.clone(), block.clone()], &[pread, cold.clone(), block]);
        assert_eq!(pair, "mmap vs pread, cold 4KiB");
        assert_eq!(of(&[cold.clone(), mmap], &[cold]), "mmap vs without, cold");
    }

    #[test]
    fn the_size_of_a_file_is_not_that_of_threads() {
        let check = |phrases: &[&str], expected: &str| {
            assert_eq!(joined(phrases.iter().map(|phrase| phrase.to_string())), expected);
        };
        check(&["direct", "2MiB", "1 thread", "of 32MiB"], "direct 2MiB, 1 thread, file of 32MiB");
        check(&["70 % reads", "of 32MiB"], "70 % reads, file of 32MiB");
        check(&["h1's part of 4 hosts", "of 32MiB"], "h1's part of 4 hosts, file of 32MiB");
        check(&["beside writer", "of 32MiB"], "beside writer, file of 32MiB");
        check(&["2 hosts", "shared file", "of 32MiB"], "2 hosts shared file of 32MiB");
        check(&["direct", "2MiB", "sequential", "of 32MiB"], "direct 2MiB sequential of 32MiB");
    }

    #[test]
    fn letters_are_explained_where_a_label_has_them() {
        let said = |labels: &[&str]| letters(labels.iter().copied());
        assert_eq!(said(&["  mmap t1", "128KiB d8, cold"]), ["t: threads", "d: depth"]);
        let syncs = "each, every N: a sync after each block, or after N";
        assert_eq!(said(&["1MiB fdatasync every 8"]), [syncs]);
        assert_eq!(said(&["direct touch sum", "4KiB depth 8"]), [""; 0]);
    }
}
