//! Reads the text form of a case: pairs of an axis and a value, in any order.

use crate::units::ParseError;
use std::str::FromStr;

/// The text form of a case: each axis with its value, in a fixed order.
pub type Axes = Vec<(String, String)>;

/// The pairs that a case is read from.
pub(crate) struct Given<'a, K, V>(pub(crate) &'a [(K, V)]);

impl<K: AsRef<str>, V: AsRef<str>> Given<'_, K, V> {
    /// Whether `axis` is among them.
    pub(crate) fn has(&self, axis: &str) -> bool {
        self.0.iter().any(|(key, _)| key.as_ref() == axis)
    }

    /// The text of `axis`, which must be there once.
    pub(crate) fn text(&self, axis: &'static str) -> Result<&str, ParseError> {
        let mut values = self.0.iter().filter(|(key, _)| key.as_ref() == axis);
        match (values.next(), values.next()) {
            (Some((_, value)), None) => Ok(value.as_ref()),
            (None, _) => Err(ParseError::Axis { axis, problem: "is missing" }),
            (Some(_), Some(_)) => Err(ParseError::Axis { axis, problem: "is given twice" }),
        }
    }

    /// The same, or `usual` where it is not there at all.
    pub(crate) fn text_or<'s>(
        &'s self,
        axis: &'static str,
        usual: &'s str,
    ) -> Result<&'s str, ParseError> {
        if self.has(axis) { self.text(axis) } else { Ok(usual) }
    }

    /// The value of `axis`, one of a set of names.
    pub(crate) fn name<T: FromStr<Err = ParseError>>(
        &self,
        axis: &'static str,
    ) -> Result<T, ParseError> {
        self.text(axis)?.parse()
    }

    /// A whole number of at least `least`.
    pub(crate) fn number(&self, axis: &'static str, least: u64) -> Result<u64, ParseError> {
        let text = self.text(axis)?.trim();
        match text.parse() {
            Ok(number) if number >= least => Ok(number),
            _ => Err(ParseError::Number { axis, given: text.to_string(), min: least }),
        }
    }

    /// A whole number of at least 1 that fits into 32 bits.
    pub(crate) fn small(&self, axis: &'static str) -> Result<u32, ParseError> {
        u32::try_from(self.number(axis, 1)?)
            .map_err(|_| ParseError::Axis { axis, problem: "is too large" })
    }
}
