//! Reports on a narrow terminal.

use super::all;
use crate::{Style, text};

/// Columns are left out and labels folded, so that no line is wider than the terminal. Only a
/// single long word may be: a path, for example.
#[test]
fn reports_fit_sixty_columns() {
    for assessment in all() {
        let report = text(&assessment, &Style { colour: false, width: 60 });
        let wide = report.lines().filter(|line| line.chars().count() > 60);
        let wide: Vec<&str> = wide.filter(|line| line.trim().contains(' ')).collect();
        assert!(wide.is_empty(), "{}:\n{}", assessment.recipe, wide.join("\n"));
    }
}
