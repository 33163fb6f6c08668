//! Two labels compared: what tells them apart, and what they share.

use crate::phrases::Phrase;
use crate::phrases::joined;
use std::fmt;

/// Two labels compared: how they differ, and what they share.
#[derive(Debug, Clone, PartialEq, Eq)]
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
}

impl LabelDifference {
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
}
