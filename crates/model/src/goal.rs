//! Goals of response times, such as `p99<1ms`.

use crate::units::{self, ParseError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The parts of a whole that a tail counts.
const PARTS: u32 = 10_000;

/// A percentile of the response times that must be shorter than a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(into = "String", try_from = "String")]
pub struct Goal {
    /// How many of 10 000 operations may take as long or longer: 100 for p99.
    pub tail: u32,
    /// The time in nanoseconds.
    pub below_ns: u64,
}

impl FromStr for Goal {
    type Err = ParseError;

    /// From a percentile between 0 and 100, in steps of 0.01, and a time.
    fn from_str(text: &str) -> Result<Goal, ParseError> {
        let wrong = || ParseError::Goal { given: text.trim().to_string() };
        let (percentile, time) = text.trim().split_once('<').ok_or_else(wrong)?;
        let percentile = percentile.trim().strip_prefix('p').ok_or_else(wrong)?;
        let share = percentile.parse::<f64>().map_err(|_| wrong())? * f64::from(PARTS) / 100.0;
        let is_whole = (share - share.round()).abs() < 1e-6;
        if !is_whole || !(1.0..f64::from(PARTS)).contains(&share.round()) {
            return Err(wrong());
        }
        let below = units::parse_time(time)?;
        let below_ns = u64::try_from(below.as_nanos()).map_err(|_| wrong())?;
        Ok(Goal { tail: PARTS - share.round() as u32, below_ns })
    }
}

impl TryFrom<String> for Goal {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Goal, ParseError> {
        text.parse()
    }
}

impl From<Goal> for String {
    fn from(goal: Goal) -> String {
        goal.to_string()
    }
}

impl Goal {
    /// Its percentile: `p99.9`.
    pub fn percentile(&self) -> String {
        format!("p{}", f64::from(PARTS - self.tail) / 100.0)
    }

    /// The share of operations that may take as long or longer, 0 to 1.
    pub fn share(&self) -> f64 {
        f64::from(self.tail) / f64::from(PARTS)
    }
}

/// `p99<1ms`, which can be parsed again.
impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let below = units::time(std::time::Duration::from_nanos(self.below_ns));
        write!(f, "{}<{below}", self.percentile())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn goals_are_read_as_people_write_them() {
        for (text, tail, below_ns) in [
            ("p99<1ms", 100, 1_000_000),
            (" p99.9 < 500us ", 10, 500_000),
            ("p50<2s", 5_000, 2_000_000_000),
            ("p99.99<10ms", 1, 10_000_000),
        ] {
            assert_eq!(text.parse(), Ok(Goal { tail, below_ns }), "{text}");
        }
        for text in
            ["", "1ms", "99<1ms", "p99>1ms", "p100<1ms", "p0<1ms", "p99.999<1ms", "pmax<1ms"]
        {
            let error = text.parse::<Goal>().expect_err(text).to_string();
            assert!(error.contains("is not a goal such as p99<1ms"), "{error}");
        }
        let error = "p99<fast".parse::<Goal>().expect_err("no time").to_string();
        assert!(error.contains("'fast' is not a time"), "{error}");
    }

    proptest! {
        #[test]
        fn a_goal_is_read_as_it_was_written(tail in 1u32..9_999, below_ns in 1u64..1 << 50) {
            let goal = Goal { tail, below_ns };
            prop_assert_eq!(goal.to_string().parse(), Ok(goal));
        }
    }
}
