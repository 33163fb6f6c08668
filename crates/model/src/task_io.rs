//! What the OS counts of a process's I/O.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Values of `/proc/PID/io`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskIo {
    /// Bytes that calls like `read` returned. Direct and asynchronous reads and mappings may be
    /// missing.
    pub rchar: u64,
    /// Bytes that calls like `write` took.
    pub wchar: u64,
    /// Calls like `read`.
    pub syscr: u64,
    /// Calls like `write`.
    pub syscw: u64,
    /// Bytes that storage was asked to read.
    pub read_bytes: u64,
    /// Bytes of pages that were made dirty, and bytes of direct writes.
    pub write_bytes: u64,
    /// Bytes of dirty pages that were dropped before they were written.
    pub cancelled_write_bytes: u64,
}

impl TaskIo {
    /// `f` of each pair of counters.
    pub fn zip(self, other: TaskIo, f: impl Fn(u64, u64) -> u64) -> TaskIo {
        TaskIo {
            rchar: f(self.rchar, other.rchar),
            wchar: f(self.wchar, other.wchar),
            syscr: f(self.syscr, other.syscr),
            syscw: f(self.syscw, other.syscw),
            read_bytes: f(self.read_bytes, other.read_bytes),
            write_bytes: f(self.write_bytes, other.write_bytes),
            cancelled_write_bytes: f(self.cancelled_write_bytes, other.cancelled_write_bytes),
        }
    }
}
