//! Which of the hosts of a run measure a case.

use crate::units::ParseError;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// How a case of one host is written: before its number, from 1.
const ONLY: &str = "only-";

/// Which of the hosts of a run measure a case, while the others wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TakingPart {
    /// All of them.
    #[default]
    All,
    /// So many: the first ones.
    First(u32),
    /// The one with this number, from 0.
    Only(u32),
}

impl TakingPart {
    /// Whether the host with this number, of so many, takes part.
    pub fn includes(self, number: u32, of: u32) -> bool {
        number < of
            && match self {
                TakingPart::All => true,
                TakingPart::First(hosts) => number < hosts,
                TakingPart::Only(one) => number == one,
            }
    }

    /// The numbers of those of so many hosts that take part, ascending.
    pub fn numbers(self, of: u32) -> impl Iterator<Item = u32> {
        (0..of).filter(move |number| self.includes(*number, of))
    }

    /// How many of so many hosts take part.
    pub fn count(self, of: u32) -> u32 {
        match self {
            TakingPart::All => of,
            TakingPart::First(hosts) => hosts.min(of),
            TakingPart::Only(one) => u32::from(one < of),
        }
    }

    /// The least number of hosts that a run needs for it.
    pub fn needs(self) -> u32 {
        match self {
            TakingPart::All => 1,
            TakingPart::First(hosts) => hosts,
            TakingPart::Only(one) => one.saturating_add(1),
        }
    }
}

/// `all`, `3`, or `only-3` for the third one.
impl Display for TakingPart {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            TakingPart::All => f.write_str("all"),
            TakingPart::First(hosts) => hosts.fmt(f),
            TakingPart::Only(one) => write!(f, "{ONLY}{}", one.saturating_add(1)),
        }
    }
}

impl FromStr for TakingPart {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<TakingPart, ParseError> {
        let text = text.trim();
        let number = |text: &str| match text.parse() {
            Ok(number @ 1..) => Ok(number),
            _ => Err(ParseError::Axis {
                axis: "hosts",
                problem: "is 'all', a number from 1, or 'only-' and the number of one",
            }),
        };
        match (text, text.strip_prefix(ONLY)) {
            ("all", _) => Ok(TakingPart::All),
            (_, Some(one)) => Ok(TakingPart::Only(number(one)? - 1)),
            (hosts, None) => Ok(TakingPart::First(number(hosts)?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_is_read_as_it_is_written() {
        for (text, taking_part) in [
            ("all", TakingPart::All),
            ("1", TakingPart::First(1)),
            ("12", TakingPart::First(12)),
            ("only-1", TakingPart::Only(0)),
            ("only-4294967295", TakingPart::Only(u32::MAX - 1)),
        ] {
            assert_eq!((taking_part.to_string(), text.parse()), (text.into(), Ok(taking_part)));
        }
        for wrong in ["", "0", "-1", "only", "only-", "only-0", "each", "4294967296"] {
            wrong.parse::<TakingPart>().expect_err(wrong);
        }
    }

    /// The number, the list and the question give one answer.
    #[test]
    fn hosts_that_take_part_are_counted_as_they_are_listed() {
        let all = [TakingPart::All, TakingPart::Only(0), TakingPart::Only(2)];
        for taking_part in all.into_iter().chain((1..6).map(TakingPart::First)) {
            for of in 1..5 {
                let listed: Vec<u32> = taking_part.numbers(of).collect();
                assert_eq!(listed.len() as u32, taking_part.count(of), "{taking_part} of {of}");
                assert!(taking_part.needs() > of || !listed.is_empty(), "{taking_part} of {of}");
            }
        }
        assert_eq!(TakingPart::Only(2).numbers(4).collect::<Vec<_>>(), [2]);
        assert_eq!(TakingPart::First(2).numbers(4).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(TakingPart::All.numbers(2).collect::<Vec<_>>(), [0, 1]);
    }
}
