//! How several hosts divide files among them.

use crate::named;
use crate::units::ParseError;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

named! {
    /// Which files a case uses on several hosts.
    Whose "files" {
        /// Each host has a file of its own (N-N).
        Own "own",
        /// All hosts have one file, and each has a part of its blocks (N-1).
        Shared "shared",
    }
}

/// A host's part of the threads that divide a file. Its own threads are numbered from 0; those of
/// all hosts divide the blocks as those of one host would.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Part {
    /// Its number, below [`Part::of`].
    pub number: u32,
    /// The number of parts.
    pub of: u32,
}

impl Part {
    /// All threads: the file is one host's.
    pub const WHOLE: Part = Part { number: 0, of: 1 };

    /// Whether there are no other parts.
    pub fn is_whole(self) -> bool {
        self.of == 1
    }
}

impl Default for Part {
    fn default() -> Part {
        Part::WHOLE
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Part {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Part, ParseError> {
        let numbers = text.split_once('/');
        let parsed = numbers.and_then(|(number, of)| {
            Some(Part { number: number.parse().ok()?, of: of.parse().ok()? })
        });
        let problem = "is a number and how many there are: 1/4";
        parsed
            .filter(|part| part.number < part.of)
            .ok_or(ParseError::Axis { axis: "part", problem })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_written_as_a_fraction() {
        for part in [Part::WHOLE, Part { number: 3, of: 4 }] {
            assert_eq!(part.to_string().parse(), Ok(part));
        }
        for text in ["", "1", "4/4", "0/0", "-1/2", "1/2/3", "a/b"] {
            text.parse::<Part>().expect_err(text);
        }
    }
}
