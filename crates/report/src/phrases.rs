//! Joins phrases, and factors out the words that several texts share.

use crate::words::listed;

/// The part of a label that names one axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Phrase {
    /// The axis, or `kind` for the kind of work, or `group` for the case's group.
    pub(crate) axis: &'static str,
    /// For sentences: `depth 8`.
    pub(crate) said: String,
    /// For cells: `d8`.
    pub(crate) short: String,
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
        is_other = counts || phrase.ends_with(" hosts") || phrase.starts_with("beside ");
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
