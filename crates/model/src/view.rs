//! The presentation of a recipe: the `[view]` of its file.

use crate::axis::Axis;
use crate::case::Case;
use crate::named;
use serde::de::value::StringDeserializer;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

named! {
    /// The form of the table.
    Layout "layout" {
        /// A row for each case.
        Table "table",
        /// Rows from memory to storage, with a heading for each cache state.
        Ladder "ladder",
        /// The values of one axis as rows, and of all others as columns.
        Pivot "pivot",
    }
}

named! {
    /// A question that the answer of a run answers, in a line or a few.
    Question "answer" {
        /// The fastest case for each kind of storage.
        Fastest "fastest",
        /// How long the file takes to load, by the fastest way.
        Loading "loading",
        /// Which cases differ.
        Differences "differences",
        /// Whether storage is faster than memory, and its bottleneck.
        DiskOrMemory "disk-or-memory",
        /// The latency of a read, and whether it depends on the number of reads.
        ReadLatency "read-latency",
        /// Whether counting from storage is faster than counting in memory.
        Counts "counts",
        /// The memory levels that the latency shows.
        Levels "levels",
        /// The number of threads that saturate memory.
        Saturation "saturation",
        /// The fastest way to write, and the cost of durability.
        Durability "durability",
        /// The cost of touching a page of a file instead of memory.
        Touches "touches",
        /// The latency of a commit, and whether the devices flushed.
        Commits "commits",
        /// How much load the storage holds.
        Load "load",
        /// How many operations in flight a device needs.
        Depth "depth",
        /// When the fast part of writing ends, and whether the rate is steady.
        Steady "steady",
        /// What other work on the same storage does to a case.
        Interference "interference",
        /// The latency of memory while other threads move some of its bandwidth.
        LoadedLatency "loaded-latency",
        /// The differences between builds of one loop.
        Builds "builds",
        /// How many names a second each call creates, finds or removes.
        Names "names",
        /// How long each command takes, what served its bytes, and what bounds it.
        Commands "commands",
    }
}

named! {
    /// The value in the cells of a heat map.
    CellMetric "metric" {
        /// The main figure of the case.
        Main "main",
        /// The time per operation.
        PerOperation "per-operation",
        /// The median latency of an operation.
        Latency "latency",
        /// The median latency of a sync.
        SyncLatency "sync-latency",
    }
}

/// What a heading of the plain table names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heading {
    /// The kind of work.
    Kind,
    /// The value of an axis.
    Axis(&'static Axis),
}

impl Heading {
    /// Its name in a recipe: that of the axis, or `kind`.
    pub fn name(self) -> &'static str {
        match self {
            Heading::Kind => "kind",
            Heading::Axis(axis) => axis.name,
        }
    }

    /// The words for `case`; `None` if it lacks the axis.
    pub fn label(self, case: &Case) -> Option<String> {
        match self {
            Heading::Kind => Some(case.kind().name().to_string()),
            Heading::Axis(axis) => axis.label(case),
        }
    }
}

impl Serialize for Heading {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Heading {
    fn deserialize<D: Deserializer<'de>>(found: D) -> Result<Heading, D::Error> {
        match String::deserialize(found)? {
            name if name == Heading::Kind.name() => Ok(Heading::Kind),
            name => Deserialize::deserialize(StringDeserializer::new(name)).map(Heading::Axis),
        }
    }
}

/// The presentation of a recipe.
///
/// Columns and lines of cells are names of metrics, which only the crate `report` knows:
/// `report::check_columns` checks them when a recipe is read. A record may hold names that are
/// unknown here; they are left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct View {
    /// The form of its table.
    pub layout: Layout,
    /// The headings of the plain table: below each are the cases with its values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub group: Vec<Heading>,
    /// The columns of the plain table, the most important first; the usual ones if none is named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
    /// The axis of the rows of a pivot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<&'static Axis>,
    /// The lines of a cell of a pivot.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<String>,
    /// The columns of each further table of the same cases.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<Vec<String>>,
    /// The questions that the answer answers.
    pub answer: Vec<Question>,
    /// The value in the cells of a heat map.
    pub metric: CellMetric,
    /// The axis of the heat map's columns; by default, the two axes that most cases vary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub across: Option<&'static Axis>,
}

impl Default for View {
    fn default() -> View {
        View {
            layout: Layout::Table,
            group: Vec::new(),
            columns: Vec::new(),
            rows: None,
            cells: Vec::new(),
            more: Vec::new(),
            answer: vec![Question::Fastest, Question::Differences],
            metric: CellMetric::Main,
            across: None,
        }
    }
}
