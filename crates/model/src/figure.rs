//! A number that a command prints about itself.

use crate::units::parse_bytes;
use serde::{Deserialize, Serialize};

/// What to look for in the output of a command.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FigurePattern {
    /// A regular expression. Its first group is the number, its second one, if any, the unit.
    pub pattern: String,
    /// The unit, if no group is; without either, what the expression matched after the number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

/// A number that a command printed, such as 6.38 GB/s.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PrintedFigure {
    /// The number, as it was printed.
    pub number: String,
    /// Its unit, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

impl PrintedFigure {
    /// The number; `None` if the text is none.
    pub fn value(&self) -> Option<f64> {
        self.number.parse().ok().filter(|value: &f64| value.is_finite())
    }

    /// The same in bytes, if it is a number of bytes.
    pub fn bytes(&self) -> Option<f64> {
        let unit = self.unit.as_deref()?.trim();
        if matches!(unit, "byte" | "bytes") {
            return self.value();
        }
        // Without its letter, it may be a number of anything.
        let unit = Some(unit).filter(|unit| unit.ends_with('B'))?;
        Some(self.value()? * parse_bytes(&format!("1{unit}")).ok()? as f64)
    }

    /// The same in bytes per second, if it is a rate of bytes.
    pub fn bytes_per_second(&self) -> Option<f64> {
        let unit = self.unit.as_deref()?.trim();
        let unit = unit.strip_suffix("/s").or_else(|| unit.strip_suffix("/sec"))?;
        // Without a letter, it is a rate of something else.
        let unit = Some(unit).filter(|unit| !unit.is_empty())?;
        Some(self.value()? * parse_bytes(&format!("1{unit}")).ok()? as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_of_bytes_is_one_and_another_unit_is_none() {
        let figure = |number: &str, unit: &str| {
            let (number, unit) = (number.to_string(), Some(unit.to_string()));
            PrintedFigure { number, unit }.bytes_per_second()
        };
        assert_eq!(figure("6.5", "GB/s"), Some(6.5e9));
        assert_eq!(figure("2", "MiB/s"), Some(2.0 * 1048576.0));
        for (number, unit) in [("2", "ms"), ("2", "MB"), ("x", "MB/s"), ("2", "/s")] {
            assert_eq!(figure(number, unit), None, "{number} {unit}");
        }
        let bytes = |number: &str, unit: &str| {
            let (number, unit) = (number.to_string(), Some(unit.to_string()));
            PrintedFigure { number, unit }.bytes()
        };
        assert_eq!((bytes("7", "bytes"), bytes("2", "MiB")), (Some(7.0), Some(2.0 * 1048576.0)));
        assert_eq!((bytes("2", "M"), bytes("2", "MB/s"), bytes("2", "ms")), (None, None, None));
        let bare = PrintedFigure { number: "1e3".to_string(), unit: None };
        assert_eq!((bare.value(), bare.bytes_per_second()), (Some(1000.0), None));
    }
}
