//! Everything that writes documents, in its smoke form: so it cannot stop working unseen.

use crate::{bench, gates, honesty, repeat, shown};
use anyhow::{Result, ensure};
use std::path::Path;
use std::time::Instant;

/// A command, and its smoke form.
type Form = (&'static str, fn(&Path) -> Result<()>);

const FORMS: [Form; 5] = [
    ("show", shown::smoke),
    ("gates", gates::smoke),
    ("repeat", repeat::smoke),
    ("honesty", honesty::smoke),
    ("bench", bench::smoke),
];

/// Runs all forms in the workspace at `root`, also after one that fails.
///
/// # Errors
/// Names those that failed.
pub(crate) fn run(root: &Path) -> Result<()> {
    let mut failed = Vec::new();
    for (name, form) in FORMS {
        println!("\n-- cargo xtask {name} --smoke");
        let start = Instant::now();
        let end = form(root);
        let seconds = start.elapsed().as_secs_f64();
        match end {
            Ok(()) => println!("{name}: passed, {seconds:.1} s"),
            Err(error) => {
                println!("{name}: FAILED, {seconds:.1} s: {error:#}");
                failed.push(name);
            }
        }
    }
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}
