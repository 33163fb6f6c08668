//! Reads the text form of a case: pairs of an axis and a value, in any order.

use crate::units::ParseError;

/// The text form of a case: each axis with its value, in a fixed order.
pub type Axes = Vec<(String, String)>;

/// The pairs to read a case from.
pub(crate) struct Given<'a, K, V>(pub(crate) &'a [(K, V)]);

impl<K: AsRef<str>, V: AsRef<str>> Given<'_, K, V> {
    /// Whether the pairs contain `axis`.
    pub(crate) fn has(&self, axis: &str) -> bool {
        self.0.iter().any(|(key, _)| key.as_ref() == axis)
    }

    /// The text of `axis`, which must appear at most once. If it is missing, the text from `before`
    /// the axis existed.
    pub(crate) fn text<'s>(
        &'s self,
        axis: &'static str,
        before: Option<&'s str>,
    ) -> Result<&'s str, ParseError> {
        let mut values = self.0.iter().filter(|(key, _)| key.as_ref() == axis);
        match (values.next(), values.next(), before) {
            (Some((_, value)), None, _) => Ok(value.as_ref()),
            (None, _, Some(before)) => Ok(before),
            (None, ..) => Err(ParseError::Axis { axis, problem: "is missing" }),
            (Some(_), Some(_), _) => Err(ParseError::Axis { axis, problem: "is given twice" }),
        }
    }
}
