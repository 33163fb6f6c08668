//! A row of the result: what was measured, pair by pair, and what was wanted.

use assess::stats::Estimate;

/// What is wanted of the median.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

impl Goal {
    /// Whether a median of `value` is what was wanted.
    pub(super) fn is_met_by(self, value: f64) -> bool {
        match self {
            Goal::AtLeast(least) => value >= least,
            Goal::AtMost(most) => value <= most,
        }
    }

    /// How far `value` is from the goal, as a share of the goal.
    pub(super) fn distance(self, value: f64) -> f64 {
        let (Goal::AtLeast(goal) | Goal::AtMost(goal)) = self;
        (value - goal).abs() / goal
    }
}

/// In what a figure is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    PerSecond,
    Nanoseconds,
    Seconds,
    Bytes,
}

impl Unit {
    /// `value` with its unit.
    pub(super) fn show(self, value: f64) -> String {
        match self {
            Unit::PerSecond if value >= 1e6 => format!("{:.2} M/s", value / 1e6),
            Unit::PerSecond if value >= 1e4 => format!("{:.1} k/s", value / 1e3),
            Unit::PerSecond => format!("{value:.0} /s"),
            Unit::Nanoseconds if value < 1e3 => format!("{value:.1} ns"),
            Unit::Nanoseconds => format!("{value:.0} ns"),
            Unit::Seconds => format!("{value:.2} s"),
            Unit::Bytes => format!("{:.2} MiB", value / f64::from(1 << 20)),
        }
    }
}

/// What a row is about and what is wanted of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question {
    /// What is measured.
    pub(super) name: &'static str,
    /// With whom ioassay is compared; none where the figure itself is judged.
    pub(super) peer: Option<&'static str>,
    pub(super) unit: Unit,
    pub(super) goal: Goal,
    /// What makes this row hard, for whoever reads that it was missed.
    pub(super) why: &'static str,
}

/// One row: a question and the figures of each pair, in the order in which they were measured.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) question: Question,
    pub(super) ours: Vec<f64>,
    /// The peer's, one for each of `ours`; empty without a peer.
    pub(super) theirs: Vec<f64>,
}

impl Row {
    /// What is judged: the ratios of the pairs, or where there is no peer the figures themselves.
    ///
    /// # Panics
    /// If a side has no figures, or one that is not finite.
    pub(super) fn judged(&self) -> Estimate {
        let ratio = |(ours, theirs): (&f64, &f64)| ours / theirs;
        match self.question.peer {
            None => estimate(&self.ours),
            Some(_) => {
                assert_eq!(self.ours.len(), self.theirs.len(), "a pair has two sides");
                estimate(&self.ours.iter().zip(&self.theirs).map(ratio).collect::<Vec<_>>())
            }
        }
    }

    /// Whether the median is what was wanted.
    pub(super) fn is_met(&self) -> bool {
        self.question.goal.is_met_by(self.judged().median)
    }

    /// Whether the whole interval is on one side of the goal.
    pub(super) fn is_decided(&self) -> bool {
        let goal = self.question.goal;
        let judged = self.judged();
        judged
            .low
            .zip(judged.high)
            .is_some_and(|(low, high)| goal.is_met_by(low) == goal.is_met_by(high))
    }
}

/// The estimate of figures of which there is at least one.
pub(super) fn estimate(figures: &[f64]) -> Estimate {
    Estimate::of(figures).expect("a row has at least one pair")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A row of seven pairs in which ioassay has `ours` and its peer 100.
    pub(in crate::bench) fn row(ours: [f64; 7], goal: Goal) -> Row {
        let question = Question {
            name: "warm pread",
            peer: Some("fio psync"),
            unit: Unit::PerSecond,
            goal,
            why: "It is hard.",
        };
        Row { question, ours: ours.to_vec(), theirs: vec![100.0; 7] }
    }

    const OURS: [f64; 7] = [120.0, 90.0, 130.0, 110.0, 140.0, 115.0, 125.0];

    #[test]
    fn a_ratio_is_taken_in_each_pair() {
        let mut row = row(OURS, Goal::AtLeast(1.15));
        row.theirs = OURS.iter().map(|ours| ours / 2.0).collect();
        let judged = row.judged();
        assert_eq!((judged.median, judged.low, judged.high), (2.0, Some(2.0), Some(2.0)));
    }

    #[test]
    fn without_a_peer_the_figure_is_judged() {
        let mut row = row(OURS, Goal::AtMost(120.0));
        (row.question.peer, row.theirs) = (None, Vec::new());
        assert_eq!(row.judged().median, 120.0);
        assert!(row.is_met(), "the goal itself is good enough");
    }

    #[test]
    fn a_goal_is_met_or_missed_by_the_median() {
        for (goal, is_met, is_decided) in [
            (Goal::AtLeast(0.8), true, true),
            (Goal::AtLeast(1.2), true, false),
            (Goal::AtLeast(1.21), false, false),
            (Goal::AtLeast(1.5), false, true),
            (Goal::AtMost(1.5), true, true),
            (Goal::AtMost(1.0), false, false),
        ] {
            let row = row(OURS, goal);
            assert_eq!((row.is_met(), row.is_decided()), (is_met, is_decided), "{goal:?}");
        }
        assert_eq!(Goal::AtLeast(2.0).distance(1.5), 0.25);
        assert_eq!(Goal::AtMost(2.0).distance(2.5), 0.25);
    }

    #[test]
    fn a_figure_is_shown_with_its_unit() {
        for (unit, value, expected) in [
            (Unit::PerSecond, 28_412_345.0, "28.41 M/s"),
            (Unit::PerSecond, 476_139.0, "476.1 k/s"),
            (Unit::PerSecond, 912.4, "912 /s"),
            (Unit::Nanoseconds, 34.16, "34.2 ns"),
            (Unit::Nanoseconds, 3_416.4, "3416 ns"),
            (Unit::Seconds, 0.756, "0.76 s"),
            (Unit::Bytes, 3_145_728.0, "3.00 MiB"),
        ] {
            assert_eq!(unit.show(value), expected);
        }
    }
}
