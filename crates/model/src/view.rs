//! How a recipe is shown: the `[view]` of its file.

use crate::named;
use serde::{Deserialize, Serialize};

named! {
    /// The form of the table.
    Layout "layout" {
        /// A row for each case.
        Table "table",
        /// Rows from memory to storage, under a heading for each state of the page cache.
        Ladder "ladder",
        /// Percentiles of the latency, by the number of operations.
        Percentiles "percentiles",
        /// Counts of the same data in memory, in the page cache and from storage.
        Counts "counts",
        /// Builds of one loop, with the width of their vectors.
        Builds "builds",
        /// Working sets by loop, then a row for each other case.
        WorkingSets "working-sets",
        /// Threads by engine, for each state of the page cache and block size.
        Matrix "matrix",
        /// Acknowledged and durable rates beside each other.
        Durability "durability",
        /// Touches of a page, in memory and in a file.
        Touches "touches",
        /// Syncs, by what is written before them.
        Syncs "syncs",
    }
}

named! {
    /// A part of the answer: a paragraph or a few.
    Answer "answer" {
        /// The fastest case of each kind of storage.
        Fastest "fastest",
        /// Which cases differ.
        Differences "differences",
        /// Whether storage is faster than memory, and what bounds it.
        DiskOrMemory "disk-or-memory",
        /// What a read takes, and whether that changes with the number of reads.
        ReadLatency "read-latency",
        /// Whether counting from storage is faster than counting in memory.
        Counts "counts",
        /// The levels of memory that the latency shows.
        Levels "levels",
        /// How many threads saturate memory.
        Saturation "saturation",
        /// The fastest way to write, and what durability costs.
        Durability "durability",
        /// What it costs to touch a page of a file rather than one of memory.
        Touches "touches",
        /// What a commit takes, and whether the devices flushed.
        Commits "commits",
        /// How far builds of one loop are apart.
        Builds "builds",
    }
}

named! {
    /// What a cell of a heat map says.
    Metric "metric" {
        /// The main figure of the case.
        Main "main",
        /// The time of an operation.
        PerOperation "per-operation",
        /// The median latency of an operation.
        Latency "latency",
        /// The median latency of a sync.
        SyncLatency "sync-latency",
    }
}

/// How a recipe is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct View {
    /// The form of its table.
    pub layout: Layout,
    /// What is said in sentences.
    pub answer: Vec<Answer>,
    /// What a cell of a heat map says.
    pub metric: Metric,
    /// The axis whose values are the columns of the heat map; the two axes that most cases vary, if
    /// none is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub across: Option<String>,
}

impl Default for View {
    fn default() -> View {
        View {
            layout: Layout::Table,
            answer: vec![Answer::Fastest, Answer::Differences],
            metric: Metric::Main,
            across: None,
        }
    }
}
