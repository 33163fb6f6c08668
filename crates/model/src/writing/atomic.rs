//! What makes a write atomic: whole or absent after a power cut.

use super::{Allocation, Op, Sync, WriteEngine, WriteWork};
use crate::cache::Cache;
use crate::named;
use crate::part::Whose;
use crate::units;

named! {
    /// What a power cut may leave of a block that was being written.
    Atomic "atomic" {
        /// Any part of it.
        No "no",
        /// All of it or nothing, as the storage promises (`RWF_ATOMIC`).
        Yes "yes",
        /// All blocks between two syncs or none: their old contents are in a rollback journal,
        /// which is created anew for each transaction and deleted at its end (SQLite's journal mode
        /// DELETE).
        JournalDelete "journal-delete",
        /// The same, but the journal is truncated at the end (TRUNCATE).
        JournalTruncate "journal-truncate",
        /// The same, but the journal's header is overwritten at the end (PERSIST).
        JournalPersist "journal-persist",
    }
}

/// How a rollback journal is ended, which commits its transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JournalEnd {
    /// Its name is removed.
    Delete,
    /// Its length is set to zero.
    Truncate,
    /// Its header is overwritten with zeros.
    Persist,
}

/// The most bytes of a transaction: a thread keeps all its blocks in memory until it commits.
const TRANSACTION_MOST: u64 = 64 << 20;

impl Atomic {
    /// How the rollback journal is ended, if there is one.
    pub fn journal(self) -> Option<JournalEnd> {
        match self {
            Atomic::No | Atomic::Yes => None,
            Atomic::JournalDelete => Some(JournalEnd::Delete),
            Atomic::JournalTruncate => Some(JournalEnd::Truncate),
            Atomic::JournalPersist => Some(JournalEnd::Persist),
        }
    }
}

impl WriteWork {
    pub(super) fn atomic_refusal(&self) -> Option<String> {
        if self.atomic.journal().is_some() {
            return self.journal_refusal();
        }
        if self.atomic == Atomic::No {
            return None;
        }
        let reason = match self.op {
            _ if self.op != Op::Write || !self.engine.has_flags() => {
                format!(
                    "{} of op {} has no atomic writes: use pwrite or uring",
                    self.engine, self.op
                )
            }
            _ if self.read_share > 0 => {
                "a case of which some operations read has no atomic writes".to_string()
            }
            _ if self.io.cache != Cache::Direct => {
                "the page cache has no atomic writes: use cache direct".to_string()
            }
            _ if !self.io.block.is_power_of_two() => {
                "the size of an atomic write is a power of two: use such a block".to_string()
            }
            _ => return None,
        };
        Some(reason)
    }

    /// Why a rollback journal cannot make it atomic.
    fn journal_refusal(&self) -> Option<String> {
        let reason = match self.op {
            _ if self.op != Op::Write || self.engine != WriteEngine::Pwrite => {
                format!(
                    "{} of op {} has no rollback journal: use op write and engine pwrite",
                    self.engine, self.op
                )
            }
            _ if self.io.threads > 1 => {
                "a file has one rollback journal and one writer: use 1 thread".to_string()
            }
            _ if self.io.files == Whose::Shared => {
                "hosts that share a file have no common rollback journal: use own files".to_string()
            }
            _ if !matches!(self.sync, Sync::Fdatasync | Sync::Fsync) => {
                "a rollback journal is synced by calls: use sync fdatasync or fsync".to_string()
            }
            _ if self.every == 0 || self.every.saturating_mul(self.io.block) > TRANSACTION_MOST => {
                format!(
                    "a transaction with a rollback journal has one block at least, and {} at most: \
                     use so many as 'every'",
                    units::bytes(TRANSACTION_MOST)
                )
            }
            _ if self.allocation != Allocation::Overwrite => {
                "a rollback journal keeps what is overwritten: use allocation overwrite".to_string()
            }
            _ if matches!(self.io.cache, Cache::Direct | Cache::DontCache) => {
                "what a rollback journal protects is written through the page cache: use cache \
                 as-is"
                    .to_string()
            }
            _ if self.read_share > 0 => {
                "a case of which some operations read has no rollback journal".to_string()
            }
            _ => return None,
        };
        Some(reason)
    }
}
