//! A file that a command used, and how.

use crate::file_path::FilePath;
use crate::named;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

pub(super) fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Declares a group of counts that are absent from a record when 0.
macro_rules! counts {
    ($(#[$doc:meta])* $kind:ident { $($(#[$count_doc:meta])* $count:ident),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        #[derive(Serialize, Deserialize, JsonSchema)]
        pub struct $kind {
            $(
                $(#[$count_doc])*
                #[serde(default, skip_serializing_if = "is_zero")]
                pub $count: u64
            ),+
        }

        impl $kind {
            /// Whether all counts are 0.
            pub fn is_none(&self) -> bool {
                *self == $kind::default()
            }

            /// Adds the counts of another one.
            pub fn add(&mut self, other: $kind) {
                $(self.$count = self.$count.saturating_add(other.$count);)+
            }
        }
    };
}

pub(super) use counts;

named! {
    /// What a file is to the command.
    #[derive(Default)]
    FileRole "role" {
        /// What the command reads or writes.
        #[default]
        Data "data",
        /// A program, its interpreter, a script or a library.
        Program "program",
        /// A file of the system that is only read: settings, locales, time zones.
        System "system",
    }
}

/// A file and what the command did with it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileUse {
    /// Its absolute path when first seen.
    pub path: FilePath,
    /// Its path at the end, if that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed: Option<FilePath>,
    /// What it is to the command.
    pub role: FileRole,
    /// The number of the device that it is on; of a block device, its own.
    pub device: u64,
    /// Its inode number; 0 for a block device.
    pub inode: u64,
    /// Its file system's type, such as `ext4`; `None` if unknown and for a block device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<String>,
    /// Whether it is a block device.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_block_device: bool,
    /// Size in bytes before the command used it; `None` if the command created it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_before: Option<u64>,
    /// Size in bytes at the end; `None` if it was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_after: Option<u64>,
    /// Whether the command created it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub created: bool,
    /// How many more files the command created under this path, one after the other, each gone
    /// before the next or at the end. Their counts are in those of this one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub replacements: u64,
    /// Whether it had none of its known names at the end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
    /// Whether an argument of an executed program names it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub named: bool,
    /// Whether the command got it open, as standard input, for example.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inherited: bool,
    /// Whether it was executed, as a program or a script.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub executed: bool,
    /// How it was opened.
    #[serde(default, skip_serializing_if = "Opens::is_none")]
    pub opens: Opens,
    /// How it was mapped into memory.
    #[serde(default, skip_serializing_if = "Mappings::is_none")]
    pub mappings: Mappings,
    /// Copies by the OS, whose bytes the program does not see.
    #[serde(default, skip_serializing_if = "Copies::is_none")]
    pub copies: Copies,
    /// Hints to the OS.
    #[serde(default, skip_serializing_if = "Hints::is_none")]
    pub hints: Hints,
    /// Successful sync calls for this file.
    #[serde(default, skip_serializing_if = "SyncCalls::is_none")]
    pub syncs: SyncCalls,
    /// Calls of `fallocate`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub allocations: u64,
}

impl FileUse {
    /// Its size in bytes when the command first used it, or of one that it created, at the end.
    pub fn bytes_found(&self) -> Option<u64> {
        self.bytes_before.or(self.bytes_after)
    }

    /// Whether data of it may have been read that was there before. A file that was only opened to
    /// be cloned was not read: a clone shares its blocks.
    pub fn is_read(&self) -> bool {
        let opened = self.opens.reading.saturating_sub(self.copies.cloned_source);
        let ways = [opened, self.mappings.shared, self.mappings.private, self.copies.source];
        self.bytes_before.is_some() && ways.iter().any(|count| *count > 0)
    }

    /// Its path at the end.
    pub fn last_path(&self) -> PathBuf {
        self.renamed.as_ref().unwrap_or(&self.path).to_path()
    }

    /// Whether the command may have written it, and left it there.
    pub fn is_written(&self) -> bool {
        let ways = [
            self.opens.writing,
            self.mappings.writable,
            self.copies.target,
            self.copies.cloned_target,
        ];
        !self.removed && ways.iter().any(|count| *count > 0)
    }
}

impl Opens {
    /// Whether each write by one of its descriptors is synced.
    pub fn sync_writes(&self) -> bool {
        self.sync > 0 || self.dsync > 0
    }

    /// Whether each write by one of its descriptors waits for the device.
    pub fn wait_for_device(&self) -> bool {
        self.direct > 0 || self.sync_writes()
    }
}

counts! {
    /// How often a file was opened, and how often in each way. A standard stream that the command
    /// got open counts too.
    Opens {
        /// All.
        times,
        /// For reading, perhaps for writing as well.
        reading,
        /// For writing, perhaps for reading as well.
        writing,
        /// With `O_DIRECT`, or with `O_DIRECT` set later.
        direct,
        /// With `O_SYNC`.
        sync,
        /// With `O_DSYNC` and without `O_SYNC`.
        dsync,
        /// With `O_APPEND`.
        append,
        /// With `O_TRUNC`.
        truncate,
    }
}

counts! {
    /// How often a file was mapped, and how often in each way.
    Mappings {
        /// Shared.
        shared,
        /// Private: writes stay in memory.
        private,
        /// Shared and writable.
        writable,
        /// Executable.
        executable,
    }
}

counts! {
    /// Successful copies by the OS: `sendfile`, `copy_file_range`, `splice`, and clones.
    Copies {
        /// From the file.
        source,
        /// To the file.
        target,
        /// Clones of the file (reflinks), which share its blocks.
        cloned_source,
        /// Clones into the file.
        cloned_target,
    }
}

counts! {
    /// Hints about future reads: `posix_fadvise`, `readahead`, and `madvise` on a mapping.
    Hints {
        /// Random order: no readahead.
        random,
        /// Sequential order: more readahead.
        sequential,
        /// Load it.
        will_need,
        /// Evict it (`posix_fadvise` only).
        dont_need,
    }
}

counts! {
    /// Sync calls.
    SyncCalls {
        /// `fsync`.
        fsync,
        /// `fdatasync`.
        fdatasync,
        /// `msync` with `MS_SYNC`.
        msync,
        /// `sync_file_range`, which makes nothing durable.
        sync_file_range,
        /// `syncfs`; not counted for any file.
        syncfs,
        /// `sync`; not counted for any file.
        sync,
        /// `pwritev2` with `RWF_SYNC` or `RWF_DSYNC`.
        synced_writes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_did_not_happen_is_not_written() {
        let opens = Opens { times: 1, reading: 1, ..Opens::default() };
        let file = FileUse { opens, ..FileUse::default() };
        let json = serde_json::to_string(&file).unwrap();
        assert_eq!(
            json,
            r#"{"path":{"text":""},"role":"data","device":0,"inode":0,"#.to_string()
                + r#""opens":{"times":1,"reading":1}}"#
        );
        assert_eq!(serde_json::from_str::<FileUse>(&json).unwrap(), file);
    }
}
