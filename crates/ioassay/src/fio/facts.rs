//! What decides the axes of a job.

use super::blocks::Blocks;
use super::engines::{EngineRow, Queues};
use super::order::Order;
use std::collections::BTreeMap;
use std::time::Duration;

/// The value of an axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// A text.
    Text(String),
    /// A number.
    Number(u64),
    /// Several texts, one for each case.
    Texts(Vec<String>),
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_string())
    }
}

/// Axes and their values.
pub(super) type Axes = BTreeMap<&'static str, Value>;

/// What is known of a job once its operations are.
#[derive(Debug)]
pub(super) struct Facts {
    /// Its operations.
    pub order: Order,
    /// Its blocks.
    pub blocks: Blocks,
    /// Whether it goes past the page cache.
    pub is_direct: bool,
    /// Its engine.
    pub engine: &'static EngineRow,
    /// The state of the cache at the start.
    pub cache: &'static str,
    /// Whether it goes on when it is through with its file.
    pub is_time_based: bool,
    /// Its copies.
    pub copies: u64,
    /// Bytes of the file of a copy.
    pub bytes: u64,
}

impl Facts {
    /// Whether operations use the page cache.
    pub(super) fn is_buffered(&self) -> bool {
        !self.is_direct && !self.is_null()
    }

    /// Whether nothing is moved.
    pub(super) fn is_null(&self) -> bool {
        self.engine.engines.0 == "null"
    }

    /// Whether blocks are parts of a mapping.
    pub(super) fn is_mapped(&self) -> bool {
        self.engine.engines.0 == "mmap"
    }

    /// Whether several operations of a copy are in flight, if it asks for that.
    pub(super) fn queues(&self) -> bool {
        match self.engine.queues {
            Queues::Yes => true,
            Queues::IfDirect => self.is_direct,
            Queues::No => self.is_null(),
        }
    }
}

/// A text for a time that ioassay reads.
pub(super) fn seconds(time: Duration) -> Value {
    Value::Text(model::units::time(time))
}
