//! Goals: what a figure must be, such as `sync p99<10ms`.

use crate::axis::{self, Axis};
use crate::case::{Case, Op, Work, WriteWork};
use crate::units::{self, ParseError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The parts of a whole that a tail counts.
const PARTS: u32 = 10_000;

/// The tail of a distribution: how many of 10 000 operations take as long or longer, 100 for p99.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tail(u32);

impl Tail {
    /// That of the median.
    pub const P50: Tail = Tail(5000);
    /// That of the 99th percentile.
    pub const P99: Tail = Tail(100);
    /// That of the 99.9th percentile.
    pub const P99_9: Tail = Tail(10);

    /// How many of 10 000 operations.
    pub fn parts(self) -> u32 {
        self.0
    }

    /// How many operations it takes until `beyond` of them are expected to be beyond the
    /// percentile.
    pub fn operations_for(self, beyond: u64) -> u64 {
        (beyond * u64::from(PARTS)).div_ceil(u64::from(self.0))
    }

    /// The share of operations, 0 to 1.
    pub fn share(self) -> f64 {
        f64::from(self.0) / f64::from(PARTS)
    }
}

/// From a percentile between 0 and 100, in steps of 0.01.
impl FromStr for Tail {
    type Err = ();

    fn from_str(text: &str) -> Result<Tail, ()> {
        let percentile: f64 = text.strip_prefix('p').ok_or(())?.parse().map_err(|_| ())?;
        let share = percentile * f64::from(PARTS) / 100.0;
        let is_whole = (share - share.round()).abs() < 1e-6;
        let is_inside = (1.0..f64::from(PARTS)).contains(&share.round());
        if is_whole && is_inside { Ok(Tail(PARTS - share.round() as u32)) } else { Err(()) }
    }
}

/// `p99.9`
impl fmt::Display for Tail {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "p{}", f64::from(PARTS - self.0) / 100.0)
    }
}

/// A figure of a case that a goal, or a gate, is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Indicator {
    /// Bytes per second. For writes that claim to be durable: until they are.
    Throughput,
    /// Operations per second.
    Iops,
    /// The time of a run of a command.
    Time,
    /// CPU time per operation, without waiting for an operation to be due.
    Cpu,
    /// A percentile of the latency of operations; with a rate, of the response time.
    Latency(Tail),
    /// A percentile of the latency of syncs that are a call of their own.
    Sync(Tail),
    /// The longest latency of an operation; with a rate, the longest response time. A reader that
    /// takes operations one after another, and goes on late after each wait, waits so long in all.
    Gap,
}

impl Indicator {
    /// Whether more of it is better.
    pub fn is_rate(self) -> bool {
        matches!(self, Indicator::Throughput | Indicator::Iops)
    }

    /// Whether a case of this kind has such a figure, if it is measured for long enough.
    pub fn fits(self, case: &Case) -> bool {
        let syncs = |work: &WriteWork| work.every > 0 && work.sync.is_call();
        match self {
            Indicator::Throughput => match &case.work {
                Work::Write(work) => work.op != Op::Sync,
                Work::Metadata(_) | Work::Command(_) => false,
                Work::Read(_) | Work::Memory(_) => true,
            },
            Indicator::Iops | Indicator::Cpu => true,
            Indicator::Time => case.command().is_some(),
            // A run of a command is one operation.
            Indicator::Latency(_) | Indicator::Gap => {
                case.memory().is_none() && case.command().is_none()
            }
            // A single sync at the end has no percentiles.
            Indicator::Sync(_) => case.write().is_some_and(syncs),
        }
    }
}

/// `throughput`, `iops`, `time`, `cpu`, `gap`, `p99`, `sync p99`
impl FromStr for Indicator {
    type Err = ();

    fn from_str(text: &str) -> Result<Indicator, ()> {
        let words: Vec<&str> = text.split_whitespace().collect();
        Ok(match words.as_slice() {
            ["throughput"] => Indicator::Throughput,
            ["iops"] => Indicator::Iops,
            ["time"] => Indicator::Time,
            ["cpu"] => Indicator::Cpu,
            ["gap"] => Indicator::Gap,
            [tail] => Indicator::Latency(tail.parse()?),
            ["sync", tail] => Indicator::Sync(tail.parse()?),
            _ => return Err(()),
        })
    }
}

impl fmt::Display for Indicator {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Indicator::Throughput => f.write_str("throughput"),
            Indicator::Iops => f.write_str("iops"),
            Indicator::Time => f.write_str("time"),
            Indicator::Cpu => f.write_str("cpu"),
            Indicator::Gap => f.write_str("gap"),
            Indicator::Latency(tail) => write!(f, "{tail}"),
            Indicator::Sync(tail) => write!(f, "sync {tail}"),
        }
    }
}

/// What an indicator must be: a rate above a value, anything else below one. `p99<1ms`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(into = "String", try_from = "String")]
#[schemars(with = "String")]
pub struct Requirement {
    /// Of what.
    pub indicator: Indicator,
    /// Nanoseconds, bytes per second or operations per second.
    pub value: u64,
}

impl FromStr for Requirement {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Requirement, ParseError> {
        let wrong = || ParseError::Goal { given: text.trim().to_string() };
        let at = text.find(['<', '>']).ok_or_else(wrong)?;
        let (what, value) = (&text[..at], text[at + 1..].trim());
        let indicator: Indicator = what.parse().map_err(|()| wrong())?;
        if (text.as_bytes()[at] == b'>') != indicator.is_rate() {
            return Err(wrong());
        }
        Ok(Requirement { indicator, value: value_of(indicator, value)? })
    }
}

/// A value in the unit of an indicator.
fn value_of(indicator: Indicator, text: &str) -> Result<u64, ParseError> {
    let per_second = text.strip_suffix("/s").unwrap_or(text);
    match indicator {
        Indicator::Throughput => units::parse_bytes(per_second),
        Indicator::Iops => axis::parse_rate(per_second).and_then(|rate| match rate {
            0 => Err(ParseError::Rate { given: text.to_string() }),
            rate => Ok(rate),
        }),
        Indicator::Time
        | Indicator::Cpu
        | Indicator::Gap
        | Indicator::Latency(_)
        | Indicator::Sync(_) => {
            let time = units::parse_time(text)?;
            let too_long = || ParseError::Goal { given: text.to_string() };
            u64::try_from(time.as_nanos()).map_err(|_| too_long())
        }
    }
}

impl TryFrom<String> for Requirement {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Requirement, ParseError> {
        text.parse()
    }
}

impl From<Requirement> for String {
    fn from(requirement: Requirement) -> String {
        requirement.to_string()
    }
}

impl Requirement {
    /// The percentile of response times that must stay below a time, and this time in nanoseconds:
    /// what a load can hold.
    pub fn of_responses(self) -> Option<(Tail, u64)> {
        match self.indicator {
            Indicator::Latency(tail) => Some((tail, self.value)),
            _ => None,
        }
    }

    /// Its value with a unit.
    pub fn said(self) -> String {
        match self.indicator {
            Indicator::Throughput => format!("{}/s", decimal_bytes(self.value)),
            Indicator::Iops => format!("{}/s", self.value),
            Indicator::Time
            | Indicator::Cpu
            | Indicator::Gap
            | Indicator::Latency(_)
            | Indicator::Sync(_) => units::time(Duration::from_nanos(self.value)),
        }
    }
}

/// A size in decimal units, as rates are told, if that is exact: `500MB`.
fn decimal_bytes(count: u64) -> String {
    let exact = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    let unit = exact.into_iter().find(|(unit, _)| count.is_multiple_of(*unit));
    unit.map_or_else(|| units::bytes(count), |(unit, name)| format!("{}{name}", count / unit))
}

/// `p99<1ms`, which can be parsed again.
impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let sign = if self.indicator.is_rate() { '>' } else { '<' };
        write!(f, "{}{sign}{}", self.indicator, self.said())
    }
}

/// A goal of a recipe or of the command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Goal {
    /// What the figure must be: a rate above a value, a time below one.
    pub must: Requirement,
    /// What it is for: `etcd's log`. Null if it was typed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
    /// Who set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The values of the axes of the cases that it is about; all that have such a figure if empty.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub of: BTreeMap<String, String>,
}

impl Goal {
    /// About all cases.
    pub fn typed(must: Requirement) -> Goal {
        Goal { must, says: None, source: None, of: BTreeMap::new() }
    }

    /// Whether it is about `case`.
    pub fn is_about(&self, case: &Case) -> bool {
        let has = |(name, text): (&String, &String)| {
            let mut same = case.clone();
            Axis::named(name).is_some_and(|axis| {
                axis.value(case).is_some()
                    && axis.set(&mut same, axis.spelled(text)).is_ok()
                    && same == *case
            })
        };
        self.must.indicator.fits(case) && self.of.iter().all(has)
    }

    /// Its name in reports.
    pub fn name(&self) -> String {
        self.says.clone().unwrap_or_else(|| self.must.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn requirements_are_read_as_people_write_them() {
        let tail = |tail| Indicator::Latency(Tail(tail));
        for (text, indicator, value, shown) in [
            ("p99<1ms", tail(100), 1_000_000, "p99<1ms"),
            (" p99.9 < 500us ", tail(10), 500_000, "p99.9<500us"),
            ("p50<2s", tail(5_000), 2_000_000_000, "p50<2s"),
            ("p99.99<10ms", tail(1), 10_000_000, "p99.99<10ms"),
            ("sync  p99 < 10 ms", Indicator::Sync(Tail::P99), 10_000_000, "sync p99<10ms"),
            ("throughput > 500MB/s", Indicator::Throughput, 500_000_000, "throughput>500MB/s"),
            ("throughput>1GiB", Indicator::Throughput, 1 << 30, "throughput>1GiB/s"),
            ("iops > 20k/s", Indicator::Iops, 20_000, "iops>20000/s"),
            ("time < 1m 30s", Indicator::Time, 90_000_000_000, "time<1m 30s"),
            ("cpu<5us", Indicator::Cpu, 5_000, "cpu<5us"),
            ("gap < 500ms", Indicator::Gap, 500_000_000, "gap<500ms"),
        ] {
            assert_eq!(text.parse(), Ok(Requirement { indicator, value }), "{text}");
            assert_eq!(Requirement { indicator, value }.to_string(), shown);
        }
        for text in [
            "",
            "1ms",
            "99<1ms",
            "p99>1ms",
            "p100<1ms",
            "p0<1ms",
            "p99.999<1ms",
            "pmax<1ms",
            "throughput<1GB/s",
            "iops<5",
            "sync<1ms",
            "gap>1s",
            "sync p99>1ms",
            "speed>1",
            "p99",
            "syncp99<1s",
        ] {
            let error = text.parse::<Requirement>().expect_err(text).to_string();
            assert!(error.contains("is not a goal such as"), "{error}");
        }
        for (text, needed) in [
            ("p99<fast", "'fast' is not a time"),
            ("throughput>fast", "'fast' is not a size"),
            ("iops>0", "'0' is not a"),
        ] {
            let error = text.parse::<Requirement>().expect_err(text).to_string();
            assert!(error.contains(needed), "{error}");
        }
    }

    proptest! {
        #[test]
        fn a_requirement_is_read_as_it_was_written(
            kind in 0..7usize, tail in 1u32..9_999, value in 1u64..1 << 50
        ) {
            let tail = Tail(tail);
            let (indicator, value) = match kind {
                0 => (Indicator::Throughput, value),
                1 => (Indicator::Iops, value % 1_000_000_000 + 1),
                2 => (Indicator::Time, value),
                3 => (Indicator::Cpu, value),
                4 => (Indicator::Latency(tail), value),
                5 => (Indicator::Gap, value),
                _ => (Indicator::Sync(tail), value),
            };
            let requirement = Requirement { indicator, value };
            prop_assert_eq!(requirement.to_string().parse(), Ok(requirement));
        }
    }
}
