//! Phrases as one text, and what several texts share said once.

use crate::words::listed;

/// Phrases beside each other: what counts things has a comma before it.
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

/// What things that are shown together are called.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Factored {
    /// What each has for itself.
    pub(crate) own: Vec<String>,
    /// What all have in common; empty where it is one thing.
    pub(crate) common: String,
}

/// Labels without the words that all of them have.
pub(crate) fn factor_out(all: Vec<Vec<String>>) -> Factored {
    let Some((first, others)) = all.split_first() else {
        return Factored { own: Vec::new(), common: String::new() };
    };
    let is_common = |word: &&String| others.iter().all(|other| other.contains(word));
    let mut common: Vec<String> = match others {
        [] => Vec::new(),
        _ => first.iter().filter(is_common).cloned().collect(),
    };
    // A label that has no other word keeps the first.
    let is_bare = |words: &Vec<String>| words.iter().all(|word| common.contains(word));
    if all.iter().any(is_bare) && !common.is_empty() {
        common.remove(0);
    }
    let own =
        |words: &Vec<String>| joined(words.iter().filter(|word| !common.contains(word)).cloned());
    Factored { own: all.iter().map(own).collect(), common: listed(&common) }
}
