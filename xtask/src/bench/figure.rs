//! A row of the document: ioassay's figure, usually beside a peer's, and the target.

/// The target for a figure or a ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RowTarget {
    pub(super) least: Option<f64>,
    pub(super) most: Option<f64>,
}

impl RowTarget {
    pub(super) const fn at_most(most: f64) -> RowTarget {
        RowTarget { least: None, most: Some(most) }
    }

    fn range(self) -> (f64, f64) {
        (self.least.unwrap_or(f64::NEG_INFINITY), self.most.unwrap_or(f64::INFINITY))
    }

    /// Whether there is no target, so that the row is only for comparison.
    pub(super) fn is_none(self) -> bool {
        self.least.is_none() && self.most.is_none()
    }

    /// How far `value` is outside the target, relative to the limit that it misses.
    pub(super) fn distance(self, value: f64) -> f64 {
        match self.range() {
            (least, _) if value < least => (least - value) / least,
            (_, most) if value > most => (value - most) / most,
            _ => 0.0,
        }
    }

    /// Whether an interval lies entirely within the target or entirely outside it.
    pub(super) fn is_decided_by(self, low: f64, high: f64) -> bool {
        let (least, most) = self.range();
        (least <= low && high <= most) || high < least || most < low
    }
}

/// The unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowUnit {
    Ratio,
    PerSecond,
    BytesPerSecond,
    Nanoseconds,
    Seconds,
    Bytes,
}

impl RowUnit {
    /// Formats `value` with its unit.
    pub(super) fn show(self, value: f64) -> String {
        match self {
            // Two decimals would show almost nothing of a small share.
            RowUnit::Ratio if value.abs() < 0.1 => format!("{value:.3}"),
            RowUnit::Ratio => format!("{value:.2}"),
            RowUnit::PerSecond if value >= 1e6 => format!("{:.2} M/s", value / 1e6),
            RowUnit::PerSecond if value >= 1e4 => format!("{:.1} k/s", value / 1e3),
            RowUnit::PerSecond => format!("{value:.0} /s"),
            RowUnit::BytesPerSecond if value < 1e9 => format!("{:.1} MB/s", value / 1e6),
            RowUnit::BytesPerSecond => format!("{:.2} GB/s", value / 1e9),
            RowUnit::Nanoseconds if value < 1e3 => format!("{value:.1} ns"),
            RowUnit::Nanoseconds => format!("{value:.0} ns"),
            RowUnit::Seconds if value < 0.1 => format!("{:.2} ms", value * 1e3),
            RowUnit::Seconds => format!("{value:.2} s"),
            RowUnit::Bytes => format!("{:.2} MiB", value / f64::from(1 << 20)),
        }
    }
}

/// A median with its 95 % interval, if there is one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Figure {
    pub(super) median: f64,
    pub(super) interval: Option<(f64, f64)>,
}

/// Why a row has no figure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Absent {
    /// This machine lacks something, or was disturbed.
    Here(String),
    /// The row, its recipe or its peer is wrong, so it has no figure anywhere.
    Anywhere(String),
}

impl Absent {
    pub(super) fn reason(&self) -> &str {
        match self {
            Absent::Here(reason) | Absent::Anywhere(reason) => reason,
        }
    }
}

/// A row.
#[derive(Debug)]
pub(super) struct BenchRow {
    pub(super) name: String,
    /// ioassay's figure, formatted.
    pub(super) ours: String,
    /// The peer and its figure; a dash without a peer.
    pub(super) theirs: String,
    /// The value that the target applies to: the ratio, or ioassay's figure.
    pub(super) figure: Result<Figure, Absent>,
    pub(super) unit: RowUnit,
    pub(super) goal: RowTarget,
    /// Why the target is hard to meet.
    pub(super) why: String,
    /// What the OS counted during both.
    pub(super) evidence: String,
}

impl BenchRow {
    /// A row without a peer, from at least one figure.
    pub(super) fn alone(
        name: &str,
        unit: RowUnit,
        goal: RowTarget,
        why: &str,
        figures: &[f64],
    ) -> BenchRow {
        let found = assess::stats::Estimate::of(figures).expect("a row has at least one figure");
        BenchRow {
            name: name.to_owned(),
            ours: unit.show(found.median),
            theirs: "–".to_owned(),
            figure: Ok(Figure { median: found.median, interval: found.low.zip(found.high) }),
            unit,
            goal,
            why: why.to_owned(),
            evidence: String::new(),
        }
    }

    /// Whether the median meets the target. A row without a figure does not.
    pub(super) fn is_met(&self) -> bool {
        self.figure.as_ref().is_ok_and(|found| self.goal.distance(found.median) == 0.0)
    }

    /// The figure with its interval, or why it is missing.
    pub(super) fn show(&self) -> String {
        let show = |value| self.unit.show(value);
        match &self.figure {
            Ok(Figure { median, interval: None }) => show(*median),
            Ok(Figure { median, interval: Some((low, high)) }) => {
                format!("{} [{}, {}]", show(*median), show(*low), show(*high))
            }
            Err(absent) => absent.reason().to_owned(),
        }
    }

    /// The target as text.
    pub(super) fn target(&self) -> String {
        let show = |value| self.unit.show(value);
        match (self.goal.least, self.goal.most) {
            (None, None) => "–".to_owned(),
            (Some(least), None) => format!("≥ {}", show(least)),
            (None, Some(most)) => format!("≤ {}", show(most)),
            (Some(least), Some(most)) => format!("{} to {}", show(least), show(most)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(least: Option<f64>, most: Option<f64>) -> BenchRow {
        let figure = Ok(Figure { median: 1.2, interval: Some((0.9, 1.4)) });
        let alone = BenchRow::alone(
            "warm",
            RowUnit::Ratio,
            RowTarget { least, most },
            "It is hard.",
            &[1.2],
        );
        BenchRow { figure, ..alone }
    }

    #[test]
    fn the_median_meets_a_target_or_misses_it() {
        for (least, most, is_met, is_decided) in [
            (Some(0.8), None, true, true),
            (Some(1.2), None, true, false),
            (Some(1.5), None, false, true),
            (None, Some(1.0), false, false),
            (Some(0.8), Some(1.5), true, true),
            (None, None, true, true),
        ] {
            let row = row(least, most);
            let decided = row.goal.is_decided_by(0.9, 1.4);
            assert_eq!((row.is_met(), decided), (is_met, is_decided), "{:?}", row.goal);
        }
        assert_eq!(row(Some(2.4), None).goal.distance(1.2), 0.5);
        assert_eq!(row(None, Some(1.0)).target(), "≤ 1.00");
        assert_eq!(row(None, None).show(), "1.20 [0.90, 1.40]");
        let absent =
            BenchRow { figure: Err(Absent::Here("fio is missing".to_owned())), ..row(None, None) };
        assert!(!absent.is_met() && absent.show() == "fio is missing");
    }

    #[test]
    fn a_figure_is_shown_with_its_unit() {
        for (unit, value, expected) in [
            (RowUnit::Ratio, 0.0123, "0.012"),
            (RowUnit::PerSecond, 28_412_345.0, "28.41 M/s"),
            (RowUnit::PerSecond, 476_139.0, "476.1 k/s"),
            (RowUnit::PerSecond, 912.4, "912 /s"),
            (RowUnit::BytesPerSecond, 14_560_360_000.0, "14.56 GB/s"),
            (RowUnit::BytesPerSecond, 9_560_360.0, "9.6 MB/s"),
            (RowUnit::Nanoseconds, 34.16, "34.2 ns"),
            (RowUnit::Nanoseconds, 3_416.4, "3416 ns"),
            (RowUnit::Seconds, 0.756, "0.76 s"),
            (RowUnit::Bytes, 3_145_728.0, "3.00 MiB"),
        ] {
            assert_eq!(unit.show(value), expected);
        }
    }
}
