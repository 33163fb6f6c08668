//! The files that a run uses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// How a file is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Layout")]
pub struct FileLayout {
    /// Bytes without stored data: holes, and extents allocated but never written.
    pub unwritten: u64,
    /// Bytes stored in another form: compressed, or inside metadata.
    pub encoded: u64,
    /// Number of extents; null if the file system does not report it.
    pub extents: Option<u64>,
}

/// A test file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fixture {
    /// Its path.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// The part of a user's own file that is read; null if that is all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<FilePart>,
    /// The seed of its content; null for a user's own file, whose content is unknown.
    pub seed: Option<u64>,
    /// What tells a user's own file from another under its name: its inode number and, where the
    /// file system knows it, when it was created. Unknown in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// What was seen of its content before the run, if it is a block device; null of files, and if
    /// the device could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zeros: Option<ZeroBlocks>,
    /// How it, or that part of it, is stored; null if the file system does not report it.
    pub layout: Option<FileLayout>,
}

impl Fixture {
    /// The bytes of it that are used.
    pub fn range(&self) -> Range<u64> {
        let whole = FilePart { offset: 0, length: self.size };
        let FilePart { offset, length } = self.part.unwrap_or(whole);
        offset..offset.saturating_add(length)
    }
}

/// Blocks of a device, of 4 KiB each, that were looked at in random places of what is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ZeroBlocks {
    /// How many were looked at.
    pub looked: u64,
    /// How many of them are zeros.
    pub zeros: u64,
}

/// A part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FilePart {
    /// Where it begins, in bytes.
    pub offset: u64,
    /// Its size in bytes.
    pub length: u64,
}

/// Paths need not be Unicode, but JSON must be: invalid characters are replaced.
pub(crate) fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}
