//! Presents an [`assess::Assessment`]: as text, Markdown, HTML and pictures for people, and as
//! JSON, CSV or metrics for programs.
//!
//! Pure: the output is a function of the assessment and the [`Style`]. No figure is computed here;
//! figures are only scaled to a unit and rounded.
//!
//! The modules are listed from lowest to highest; a module uses only those above it here.

#![forbid(unsafe_code)]

mod style;
mod markup;
mod words;
mod phrases;
mod text;
mod part;
mod labels;
mod apart;
mod writes;
mod sentence;
mod sparkline;
mod grid;
mod concerned;
mod metric;
mod control;
mod missed;
mod loops;
mod frame;
mod versus;
mod table;
mod pivot;
mod survey;
mod answer;
mod command;
mod plan;
mod needs;
mod runs;
mod hosts;
mod together;
mod fleet;
mod trend;
mod records;
mod gate;
mod shortfall;
mod markdown;
mod picture;
mod json;
mod csv;
mod openmetrics;
mod page;

pub use self::csv::{csv, csv_columns, csv_head, csv_rows, csv_rows_of_host};
pub use fleet::{copies, fleet};
pub use gate::{gate, gate_of_run};
pub use hosts::{Checked, Found, hosts};
pub use json::json_schema_of_together;
pub use json::{json, json_of_fleet, json_of_records, json_of_together};
pub use json::{json_of_gate, json_schema_of_gate};
pub use json::{json_schema, json_schema_of_fleet, json_schema_of_records};
pub use markdown::{markdown, markdown_of_fleet, markdown_of_records, markdown_of_together};
pub use markdown::{markdown_of_gate, markdown_of_gate_run};
pub use metric::{check_columns, table_columns};
pub use needs::{Needs, Room, about, needs};
pub use openmetrics::{metric_names, openmetrics};
pub use page::{page, page_of_records};
pub use picture::{Picture, picture_alone, pictures, pictures_of_records};
pub use plan::plan;
pub use records::{missing, obstacles, records};
pub use runs::{Listed, runs};
pub use shortfall::{shortfall, shortfall_of_fleet, shortfall_of_gate, shortfall_of_together};
pub use style::{Style, entry, indented, paragraphs, to_terminal};
pub use together::together;
pub use trend::trend;

use assess::Assessment;
use model::view::Layout;

/// Every report that is kept in a file has this near its beginning, which tells it from other
/// files.
pub const MARK: &str = "made by ioassay";

/// The view that the assessment's recipe asks for.
pub fn text(assessment: &Assessment, style: &Style) -> String {
    let view = match assessment.view.layout {
        Layout::Ladder => survey::survey,
        Layout::Pivot => pivot::pivot,
        _ => table::table,
    };
    view(assessment, style) + &answer::below(assessment, style)
}

#[cfg(test)]
mod tests;
