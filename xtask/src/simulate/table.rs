//! Tables of shares in docs/method/simulations.md, and whether two tables agree.

use crate::document;

/// A Markdown table of shares.
#[derive(Debug)]
pub(super) struct MarkdownTable {
    head: String,
    rows: Vec<String>,
}

impl MarkdownTable {
    pub(super) fn new(titles: &[&str]) -> MarkdownTable {
        MarkdownTable { head: format!("| {} |", titles.join(" | ")), rows: Vec::new() }
    }

    /// A table with a share for each row and column, which both have titles. `share` also gets the
    /// number of the row.
    pub(super) fn grid<R, C>(
        corner: &str,
        columns: &[(&str, C)],
        rows: &[(&str, R)],
        share: impl Fn(u64, &R, &C) -> f64,
    ) -> MarkdownTable {
        let titles = columns.iter().map(|(title, _)| *title);
        let mut table = MarkdownTable::new(&[&[corner], &titles.collect::<Vec<_>>()[..]].concat());
        for (number, (name, row)) in (0..).zip(rows) {
            let shares = columns.iter().map(|(_, column)| share(number, row, column));
            table.row(name, &shares.collect::<Vec<f64>>());
        }
        table
    }

    /// Adds a row of shares from 0 to 1; NaN means not simulated.
    pub(super) fn row(&mut self, name: &str, shares: &[f64]) {
        let shares: Vec<String> = shares.iter().map(|share| told(*share)).collect();
        self.rows.push(format!("| {name} | {} |", shares.join(" | ")));
    }

    pub(super) fn text(self) -> String {
        document::table(&self.head, self.rows)
    }
}

/// Formats a share as statisticians do: `.95`.
fn told(share: f64) -> String {
    if share.is_nan() {
        return "—".to_owned();
    }
    let text = format!("{share:.2}");
    text.strip_prefix('0').map_or(text.clone(), str::to_owned)
}

/// The lines of `fresh` that `kept` does not match. Shares may differ as much as chance allows for
/// this many sessions; all other text must be equal.
pub(super) fn differences(kept: &str, fresh: &str, sessions: [usize; 2]) -> Vec<String> {
    let mut found = Vec::new();
    let (kept, fresh): (Vec<&str>, Vec<&str>) = (kept.lines().collect(), fresh.lines().collect());
    if kept.len() != fresh.len() {
        found.push(format!("there are {} lines, and should be {}", kept.len(), fresh.len()));
    }
    for (kept, fresh) in kept.iter().zip(&fresh) {
        let cells = |line: &str| -> Vec<String> { line.split('|').map(str::to_owned).collect() };
        let (a, b) = (cells(kept), cells(fresh));
        let agrees = a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| agree(a, b, sessions));
        if !agrees {
            found.push(format!("{kept}\n  now: {fresh}"));
        }
    }
    found
}

/// Shares are rounded to a hundredth.
const ROUNDED: f64 = 0.0101;
/// This many standard deviations are not chance, even among hundreds of shares.
const DEVIATIONS: f64 = 4.5;

fn agree(kept: &str, fresh: &str, sessions: [usize; 2]) -> bool {
    let share = |cell: &str| cell.trim().parse::<f64>().ok().filter(|_| cell.contains('.'));
    let (Some(kept), Some(fresh)) = (share(kept), share(fresh)) else {
        return kept.trim() == fresh.trim();
    };
    let likely = f64::midpoint(kept, fresh).clamp(0.01, 0.99);
    let parts: f64 = sessions.iter().map(|n| 1.0 / *n as f64).sum();
    (kept - fresh).abs() <= ROUNDED + DEVIATIONS * (likely * (1.0 - likely) * parts).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_may_differ_by_chance_and_words_not_at_all() {
        let mut table = MarkdownTable::new(&["a", "b"]);
        table.row("x", &[0.5]);
        table.row("y", &[1.0]);
        let fresh = table.text();
        assert_eq!(fresh, "| a | b |\n|---|---|\n| x | .50 |\n| y | 1.00 |\n");
        let found = |kept: &str| differences(kept, &fresh, [400, 400]).len();
        assert_eq!(found("| a | b |\n|---|---|\n| x | .45 |\n| y | 1.00 |\n"), 0);
        assert_eq!(found("| a | b |\n|---|---|\n| x | .25 |\n| y | 1.00 |\n"), 1);
        assert_eq!(found("| a | b |\n|---|---|\n| z | .50 |\n| y | .80 |\n"), 2);
        assert_eq!(found("| a | b |\n"), 1);
    }
}
