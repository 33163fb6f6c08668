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

/// Joins phrases with spaces, and with a comma before a count.
pub(crate) fn joined(phrases: impl IntoIterator<Item = String>) -> String {
    let mut out = String::new();
    for phrase in phrases {
        let counts = phrase.starts_with(|c: char| c.is_ascii_digit()) && phrase.contains(' ');
        out.push_str(match out.is_empty() {
            true => "",
            false if counts => ", ",
            false => " ",
        });
        out.push_str(&phrase);
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
