//! The names of actors: other work on the same storage during the trials of a case.
//!
//! A recipe defines actors, and a plan has them as [`Actor`](crate::plan::Actor). A case only names
//! them.

use crate::units::ParseError;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// Separates the names of several actors.
pub const SEPARATOR: &str = "+";

/// The most actors beside a case.
pub const MOST: usize = 3;

/// The text for no actors.
const NONE: &str = "none";

/// Maximum length of a name in bytes.
const NAME_BYTES_MAX: usize = 32;

/// Parses the names of the actors beside a case: `none`, `writer` or `writer+reader`.
///
/// # Errors
/// If a name is given twice, has characters other than letters, digits and `-`, or there are more
/// than [`MOST`].
pub fn names(text: &str) -> Result<Vec<String>, ParseError> {
    if text.trim() == NONE {
        return Ok(Vec::new());
    }
    let names: Vec<String> = text.split(SEPARATOR).map(|name| name.trim().to_string()).collect();
    let is_twice = (1..names.len()).any(|index| names[..index].contains(&names[index]));
    if is_twice || names.len() > MOST || !names.iter().all(|name| is_name(name)) {
        let given = text.chars().take(NAME_BYTES_MAX * MOST).collect();
        return Err(ParseError::Actors { given, most: MOST });
    }
    Ok(names)
}

/// Whether an actor can have this name.
pub fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let starts_well = name.starts_with(|first: char| first.is_ascii_alphanumeric());
    starts_well && name.len() <= NAME_BYTES_MAX && name != NONE && name.bytes().all(is_plain)
}

/// The percentage of its time that an actor's loop over memory runs, 1 to 100. In the rest of it,
/// the loop waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Duty(u8);

impl Duty {
    /// A loop that never waits.
    pub const WHOLE: Duty = Duty(100);

    /// The percentage.
    pub fn percent(self) -> u8 {
        self.0
    }
}

impl Default for Duty {
    fn default() -> Duty {
        Duty::WHOLE
    }
}

impl TryFrom<u8> for Duty {
    type Error = ParseError;

    fn try_from(percent: u8) -> Result<Duty, ParseError> {
        let problem = "is a percentage from 1% to 100%";
        let is_possible = (1..=100).contains(&percent);
        is_possible.then_some(Duty(percent)).ok_or(ParseError::Axis { axis: "duty", problem })
    }
}

impl From<Duty> for u8 {
    fn from(duty: Duty) -> u8 {
        duty.0
    }
}

impl FromStr for Duty {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Duty, ParseError> {
        // What is no number is no percentage either.
        let percent = text.trim().strip_suffix('%').and_then(|number| number.parse().ok());
        Duty::try_from(percent.unwrap_or(0))
    }
}

impl Display for Duty {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        write!(f, "{}%", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duty_is_a_percentage_that_travels() {
        for percent in 1..=100 {
            let duty = Duty::try_from(percent).expect("it is a percentage");
            assert_eq!(duty.to_string().parse(), Ok(duty));
        }
        for text in ["0%", "101%", "300%", "-1%", "50", "1.5%", "%", "", "all"] {
            let error = text.parse::<Duty>().expect_err(text).to_string();
            assert_eq!(error, "axis 'duty' is a percentage from 1% to 100%");
        }
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        assert_eq!(names("none"), Ok(Vec::new()));
        assert_eq!(names("writer"), Ok(vec!["writer".to_string()]));
        assert_eq!(names("a + b-2"), Ok(vec!["a".to_string(), "b-2".to_string()]));
        let long = "x".repeat(33);
        for text in ["", "+", "a+", "a+a", "none+a", "a b", "a,b", "../x", "-a", "a+b+c+d", &long] {
            let error = names(text).expect_err(text).to_string();
            assert!(error.contains("does not name actors"), "{error}");
        }
    }
}
