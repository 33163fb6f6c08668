//! A rate over time in one line of blocks.

/// From an eighth of the highest rate to the highest rate.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The maximum length of a line.
pub(crate) const STEPS_MAX: usize = 20;

/// The rates as blocks, from 0 to their maximum. If there are too many, shows every n-th: rates are
/// not averaged, so those in between are not visible.
pub(crate) fn sparkline(rates: &[f64]) -> String {
    let highest = rates.iter().copied().fold(0.0, f64::max);
    let every = rates.len().div_ceil(STEPS_MAX).max(1);
    rates.iter().step_by(every).map(|rate| level(*rate, highest)).collect()
}

fn level(rate: f64, highest: f64) -> char {
    if highest <= 0.0 {
        return LEVELS[0];
    }
    let eighths = (rate / highest * LEVELS.len() as f64).ceil() as usize;
    LEVELS[eighths.clamp(1, LEVELS.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rates: &[f64], expected: &str) {
        assert_eq!(sparkline(rates), expected);
    }

    #[test]
    fn the_highest_rate_is_a_full_block() {
        check(&[0.0, 1.0, 4.0, 8.0], "▁▁▄█");
        check(&[7.1e9, 7.0e9], "██");
        check(&[0.0, 0.0], "▁▁");
        check(&[], "");
    }

    #[test]
    fn more_steps_than_fit_are_thinned() {
        let rates: Vec<f64> = (1..=41).map(f64::from).collect();
        let line = sparkline(&rates);
        assert_eq!(line.chars().count(), 14);
        assert!(line.starts_with('▁') && line.ends_with('█'), "{line}");
    }
}
