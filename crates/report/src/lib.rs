//! Presents judgments: for people as a [`Document`], which becomes text, Markdown, a page and
//! pictures, and for programs as JSON, CSV or metrics.
//!
//! Pure: the output is a function of the judgment and the [`Style`]. No figure is computed here;
//! figures are only scaled to a unit and rounded.
//!
//! The modules are listed from lowest to highest; a module uses only those above it here.

#![forbid(unsafe_code)]

mod style;
mod group;
mod markup;
mod ratio_words;
mod words;
mod phrases;
mod text;
mod members;
mod part;
mod label_values;
mod labels;
mod writes;
mod sentence;
mod sparkline;
mod grid;
mod pair;
mod busy;
mod concerned;
mod drawing;
mod document;
mod metric;
mod missed;
mod frame;
mod findings;
mod versus;
mod bounding_words;
mod table;
mod pivot;
mod survey;
mod hop;
mod goals;
mod answer;
mod picture;
mod evidence;
mod origin;
mod card;
mod run;
mod plan;
mod runs;
mod hosts;
mod joint;
mod alone;
mod goals_together;
mod on_hosts;
mod doubts_together;
mod together;
mod fleet;
mod trend;
mod gate;
mod records;
mod shortfall;
mod json;
mod csv;
mod openmetrics;
mod running;
mod platform;
mod path;

pub use self::csv::{CommandColumns, csv, csv_columns, csv_head, csv_rows, csv_rows_of_host};
pub use document::Document;
pub use drawing::Picture;
pub use fleet::{copies, fleet};
pub use goals::goals_open;
pub use goals_together::goals_open_together;
pub use hosts::{HostCheck, HostFacts, hosts};
pub use json::json_schema_of_together;
pub use json::{json, json_of_fleet, json_of_records, json_of_together};
pub use json::{json_of_gate, json_schema_of_gate};
pub use json::{json_schema, json_schema_of_fleet, json_schema_of_records};
pub use metric::{check_columns, table_columns};
pub use openmetrics::{metric_names, openmetrics};
pub use path::{json_of_paths, json_schema_of_paths, paths};
pub use plan::{PlanNeeds, SpaceNeed, about, plan};
pub use records::{gate_run, missing, obstacles, records};
pub use run::run;
pub use running::{json_of_running, json_schema_of_running, running, running_line};
pub use runs::{Listed, runs};
pub use shortfall::{shortfall, shortfall_of_fleet, shortfall_of_gate, shortfall_of_together};
pub use style::{Style, entry, indented, paragraphs, to_terminal};
pub use together::together;
pub use trend::trend;

/// Every report that is kept in a file has this near its beginning, which tells it from other
/// files.
pub const MARK: &str = "made by ioassay";

#[cfg(test)]
mod tests;
