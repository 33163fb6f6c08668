//! Numbers as values of axes.

use crate::arrival::RATE_MAX;
use crate::units::{self, ParseError};

/// Parses a whole number of at least `least`.
pub(super) fn count(axis: &'static str, text: &str, least: u64) -> Result<u64, ParseError> {
    match text.trim().parse() {
        Ok(number) if number >= least => Ok(number),
        _ => Err(ParseError::Number { axis, given: text.trim().to_string(), min: least }),
    }
}

/// Parses a whole number from 1 that fits into 32 bits.
pub(super) fn small(axis: &'static str, text: &str) -> Result<u32, ParseError> {
    u32::try_from(count(axis, text, 1)?)
        .map_err(|_| ParseError::Axis { axis, problem: "is too large" })
}

/// Parses an offset in bytes, which may be 0.
///
/// # Errors
/// If it is no size.
pub fn offset(text: &str) -> Result<u64, ParseError> {
    if ["0", "0B"].contains(&text.trim()) { Ok(0) } else { units::parse_bytes(text) }
}

/// Parses operations per second: `closed` is 0, `40k` is 40 000.
///
/// # Errors
/// If it is no whole number from 1 to 10⁹.
pub fn rate(text: &str) -> Result<u64, ParseError> {
    let text = text.trim();
    let wrong = || ParseError::Rate { given: text.to_string() };
    if text == "closed" {
        return Ok(0);
    }
    let (number, unit) = match text.strip_suffix(['k', 'M']) {
        Some(number) => (number, if text.ends_with('k') { 1e3 } else { 1e6 }),
        None => (text, 1.0),
    };
    let value = number.parse::<f64>().map_err(|_| wrong())? * unit;
    let rate = value.round();
    let is_whole = (value - rate).abs() < 1e-6 && (1.0..=RATE_MAX as f64).contains(&rate);
    if is_whole { Ok(rate as u64) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_a_size_or_the_start() {
        for (text, expected) in [("0", 0), ("0B", 0), (" 0 ", 0), ("4k", 4096), ("1GiB", 1 << 30)] {
            assert_eq!(offset(text), Ok(expected), "{text}");
        }
        for text in ["", "-1", "x", "0.0", "00"] {
            assert!(offset(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates_are_read_as_people_write_them() {
        for (text, expected) in
            [("closed", 0), ("1", 1), ("40k", 40_000), ("1.5M", 1_500_000), ("1000M", RATE_MAX)]
        {
            assert_eq!(rate(text), Ok(expected), "{text}");
        }
        for text in ["0", "-1", "1001M", "0.5", "x", "", "k", "nan", "inf", "1e3k5"] {
            let error = rate(text).expect_err(text).to_string();
            assert!(error.starts_with(&format!("'{text}' is not a rate from 1 to 10")), "{error}");
        }
    }
}
