//! The form of a report.

use clap::Args;
use std::path::PathBuf;

/// Forms of results, which a plan does not have.
pub const RESULT_FORMS: [&str; 6] = ["markdown", "csv", "svg", "svg_dir", "html", "openmetrics"];

/// The form of a report: a table by default.
#[derive(Debug, Clone, Default, Args)]
pub struct FormArgs {
    /// Print the assessment as JSON instead of a table
    #[arg(long, group = "form")]
    pub json: bool,
    /// Print a CSV row per trial, with units in the header
    #[arg(long, group = "form")]
    pub csv: bool,
    /// The forms for people.
    #[command(flatten)]
    pub document: DocumentArgs,
    /// Also write metrics for the textfile collector of Prometheus's node exporter; replaces an
    /// earlier file of ioassay, but no other
    #[arg(long, value_name = "FILE")]
    pub openmetrics: Option<PathBuf>,
}

/// The forms that every report for people has.
#[derive(Debug, Clone, Default, Args)]
pub struct DocumentArgs {
    /// Print Markdown, to paste into an issue; of a survey, a card
    #[arg(long, group = "form")]
    pub markdown: bool,
    /// Print one picture as SVG; 'list' prints the names of them all
    #[arg(long, value_name = "NAME", group = "form")]
    pub svg: Option<String>,
    /// Also write every picture to this folder, each as NAME.svg; replaces earlier pictures of
    /// ioassay, but no other file
    #[arg(long, value_name = "DIR")]
    pub svg_dir: Option<PathBuf>,
    /// Print every finding in full, and not only the five most severe; of a survey in Markdown,
    /// print all, and not only its card
    #[arg(long, hide_short_help = true)]
    pub all: bool,
    /// Also write an HTML page to this file; replaces an earlier page of ioassay, but no other file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

impl FormArgs {
    /// Whether what is printed is for programs.
    pub fn is_for_programs(&self) -> bool {
        self.json || self.csv
    }
}

impl DocumentArgs {
    /// Whether a page or pictures are written.
    pub fn has_files(&self) -> bool {
        self.html.is_some() || self.svg_dir.is_some()
    }
}
