//! A row of the result: what was measured, pair by pair, and what was wanted.

use assess::stats::Estimate;
use std::borrow::Cow;

/// What is wanted of the median.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Goal {
    AtLeast(f64),
    AtMost(f64),
    /// From the first to the second.
    Within(f64, f64),
    /// The figure is told beside the others, and nothing is wanted of it.
    Nothing,
}

impl Goal {
    /// The least and the most that is wanted.
    fn range(self) -> (f64, f64) {
        match self {
            Goal::AtLeast(least) => (least, f64::INFINITY),
            Goal::AtMost(most) => (f64::NEG_INFINITY, most),
            Goal::Within(least, most) => (least, most),
            Goal::Nothing => (f64::NEG_INFINITY, f64::INFINITY),
        }
    }

    /// Whether a median of `value` is what was wanted.
    pub(super) fn is_met_by(self, value: f64) -> bool {
        let (least, most) = self.range();
        (least..=most).contains(&value)
    }

    /// How far `value` is outside the goal, as a share of the border that it is beyond.
    pub(super) fn distance(self, value: f64) -> f64 {
        let (least, most) = self.range();
        match () {
            () if value < least => (least - value) / least,
            () if value > most => (value - most) / most,
            () => 0.0,
        }
    }

    /// Whether an interval is within the goal, or outside it, as a whole.
    fn is_decided_by(self, low: f64, high: f64) -> bool {
        let (least, most) = self.range();
        (least <= low && high <= most) || high < least || most < low
    }
}

/// In what a figure is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    PerSecond,
    BytesPerSecond,
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
            Unit::BytesPerSecond => format!("{:.2} GB/s", value / 1e9),
            Unit::Nanoseconds if value < 1e3 => format!("{value:.1} ns"),
            Unit::Nanoseconds => format!("{value:.0} ns"),
            Unit::Seconds if value < 0.1 => format!("{:.2} ms", value * 1e3),
            Unit::Seconds => format!("{value:.2} s"),
            Unit::Bytes => format!("{:.2} MiB", value / f64::from(1 << 20)),
        }
    }
}

/// What a row is about and what is wanted of it.
#[derive(Debug, Clone)]
pub(super) struct Question {
    /// What is measured.
    pub(super) name: Cow<'static, str>,
    /// With whom ioassay is compared; none where the figure itself is judged.
    pub(super) peer: Option<Cow<'static, str>>,
    pub(super) unit: Unit,
    pub(super) goal: Goal,
    /// What makes this row hard, for whoever reads that it was missed.
    pub(super) why: &'static str,
}

/// The figures of each pair, in the order in which they were measured.
#[derive(Debug)]
pub(super) struct Figures {
    pub(super) ours: Vec<f64>,
    /// The peer's, one for each of `ours`; empty without a peer.
    pub(super) theirs: Vec<f64>,
}

/// One row: a question and its answer.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) question: Question,
    /// The figures, or why there are none.
    pub(super) answer: Result<Figures, String>,
}

impl Row {
    /// A row that was measured.
    ///
    /// # Panics
    /// If a side has no figures, or not as many as the other.
    pub(super) fn measured(question: Question, ours: Vec<f64>, theirs: Vec<f64>) -> Row {
        let pairs = if question.peer.is_some() { ours.len() } else { 0 };
        assert!(!ours.is_empty() && theirs.len() == pairs, "a pair has two sides");
        Row { question, answer: Ok(Figures { ours, theirs }) }
    }

    /// What is judged: the ratios of the pairs, or where there is no peer the figures themselves.
    /// None where nothing was measured.
    ///
    /// # Panics
    /// If a figure is not finite.
    pub(super) fn judged(&self) -> Option<Estimate> {
        let Figures { ours, theirs } = self.answer.as_ref().ok()?;
        let ratio = |(ours, theirs): (&f64, &f64)| ours / theirs;
        Some(match self.question.peer {
            None => estimate(ours),
            Some(_) => estimate(&ours.iter().zip(theirs).map(ratio).collect::<Vec<_>>()),
        })
    }

    /// Whether the median is what was wanted. Where nothing was measured it is not.
    pub(super) fn is_met(&self) -> bool {
        let goal = self.question.goal;
        self.judged().is_some_and(|judged| goal.is_met_by(judged.median))
    }

    /// Whether the whole interval is within the goal or outside it; none without an interval.
    pub(super) fn is_decided(&self) -> Option<bool> {
        let judged = self.judged()?;
        let (low, high) = judged.low.zip(judged.high)?;
        Some(self.question.goal.is_decided_by(low, high))
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
            name: "warm pread".into(),
            peer: Some("fio psync".into()),
            unit: Unit::PerSecond,
            goal,
            why: "It is hard.",
        };
        Row::measured(question, ours.to_vec(), vec![100.0; 7])
    }

    /// A row without a peer.
    pub(in crate::bench) fn alone(ours: [f64; 7], goal: Goal) -> Row {
        let question = Question { peer: None, ..row(ours, goal).question };
        Row::measured(question, ours.to_vec(), Vec::new())
    }

    /// A row that could not be measured.
    pub(in crate::bench) fn absent(goal: Goal) -> Row {
        Row { answer: Err("fio is missing".to_owned()), ..row([1.0; 7], goal) }
    }

    const OURS: [f64; 7] = [120.0, 90.0, 130.0, 110.0, 140.0, 115.0, 125.0];

    #[test]
    fn a_ratio_is_taken_in_each_pair() {
        let theirs = OURS.iter().map(|ours| ours / 2.0).collect();
        let question = row(OURS, Goal::AtLeast(1.15)).question;
        let judged = Row::measured(question, OURS.to_vec(), theirs).judged();
        let judged = judged.expect("it was measured");
        assert_eq!((judged.median, judged.low, judged.high), (2.0, Some(2.0), Some(2.0)));
    }

    #[test]
    fn without_a_peer_the_figure_is_judged() {
        let row = alone(OURS, Goal::AtMost(120.0));
        assert_eq!(row.judged().expect("it was measured").median, 120.0);
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
            (Goal::Within(0.8, 1.5), true, true),
            (Goal::Within(1.0, 1.3), true, false),
            (Goal::Within(1.0, 1.1), false, false),
            (Goal::Within(1.5, 1.6), false, true),
            (Goal::Nothing, true, true),
        ] {
            let row = row(OURS, goal);
            assert_eq!((row.is_met(), row.is_decided()), (is_met, Some(is_decided)), "{goal:?}");
        }
        for (goal, value) in [
            (Goal::AtLeast(2.0), 1.5),
            (Goal::AtMost(2.0), 2.5),
            (Goal::Within(2.0, 4.0), 1.5),
            (Goal::Within(2.0, 4.0), 5.0),
        ] {
            assert_eq!(goal.distance(value), 0.25, "{goal:?}");
        }
    }

    #[test]
    fn what_was_not_measured_is_not_met() {
        let row = absent(Goal::AtLeast(1.0));
        assert!(!row.is_met() && row.judged().is_none());
    }

    #[test]
    fn a_figure_is_shown_with_its_unit() {
        for (unit, value, expected) in [
            (Unit::PerSecond, 28_412_345.0, "28.41 M/s"),
            (Unit::PerSecond, 476_139.0, "476.1 k/s"),
            (Unit::PerSecond, 912.4, "912 /s"),
            (Unit::BytesPerSecond, 14_560_360_000.0, "14.56 GB/s"),
            (Unit::Nanoseconds, 34.16, "34.2 ns"),
            (Unit::Nanoseconds, 3_416.4, "3416 ns"),
            (Unit::Seconds, 0.756, "0.76 s"),
            (Unit::Bytes, 3_145_728.0, "3.00 MiB"),
        ] {
            assert_eq!(unit.show(value), expected);
        }
    }
}
