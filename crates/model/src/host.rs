//! The machine and the storage a run was made on.

use crate::case::Isa;
use crate::evidence::Probe;
use crate::named;
use serde::{Deserialize, Serialize, Serializer};
use std::path::{Path, PathBuf};

/// The machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// The OS and its release.
    pub os: String,
    /// The processor's model.
    pub cpu: String,
    /// Processors this program may run on.
    pub cores: u32,
    /// Instruction sets the kernels can use.
    pub isas: Vec<Isa>,
    /// Bytes of the last-level cache, as the OS reports it.
    pub last_level_cache: u64,
    /// Bytes of the data caches that the first processor uses, from the first level to the last.
    #[serde(default)]
    pub caches: Vec<u64>,
    /// Bytes of memory.
    pub memory: u64,
    /// Bytes of memory that could be had when the run began, control-group limits included.
    pub memory_available: u64,
    /// Bytes of a page.
    pub page: u64,
    /// Which hypervisor it runs under, if any is told of: `kvm`, or `unknown`.
    pub hypervisor: Option<String>,
    /// The clock source of the OS.
    pub clock_source: Option<String>,
    /// How many processors' time the control groups of this process allow it; none without a
    /// quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_quota: Option<f64>,
}

named! {
    /// What is at the bottom of a file system.
    Medium "medium" {
        /// Memory: tmpfs, ramfs, zram, brd.
        Ram "ram",
        /// Block devices of this machine.
        Block "block",
        /// Something that this machine's counters do not see: FUSE, a network, a share of the host.
        Unseen "unseen",
    }
}

/// What `O_DIRECT` does on a file system, tried on a canary file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direct {
    /// The file cannot be opened with it.
    Refused,
    /// It can be opened and read.
    Accepted {
        /// Offsets and lengths must be multiples of this.
        offset_align: u32,
        /// Whether a read left nothing in the page cache; none if no probe works.
        bypasses: Option<bool>,
    },
}

/// A block device under the file system.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Its name: `vda`, `nvme0n1`.
    pub name: String,
    /// The model it reports, if it does.
    pub model: Option<String>,
    /// The revision of its firmware, if it tells one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// Whether the OS takes it for a disk that turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotational: Option<bool>,
    /// The I/O scheduler that is chosen: `none`, `mq-deadline`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// Requests that its queue holds before who sends more has to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nr_requests: Option<u64>,
    /// Whether a hypervisor presents it: what is below is unknown.
    pub is_virtual: bool,
    /// Readahead in bytes.
    pub read_ahead: Option<u64>,
    /// Whether the OS takes it for one that may lose what it was given, unless it is told to flush.
    #[serde(default)]
    pub write_cache: Option<WriteCache>,
    /// Whether the OS may send it writes that go through its cache to the medium (FUA). None where
    /// that is not known.
    #[serde(default)]
    pub fua: Option<bool>,
    /// For a loop device, whether it goes past the page cache to the file that it is made of. None
    /// for any other device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loop_direct: Option<bool>,
}

named! {
    /// What of a device's work a control group limits.
    Limited "limited" {
        /// Bytes read in a second.
        ReadBytes "read bytes",
        /// Bytes written in a second.
        WriteBytes "written bytes",
        /// Requests to read in a second.
        Reads "reads",
        /// Requests to write in a second.
        Writes "writes",
    }
}

/// What a control group allows its processes of a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// The device's name.
    pub device: String,
    /// What is limited.
    pub what: Limited,
    /// How much of it in a second: bytes, or requests.
    pub a_second: u64,
    /// The directory of the group.
    pub group: String,
}

named! {
    /// What a device does with what is written to it, as the OS has it.
    WriteCache "write cache" {
        /// It may keep it in a cache that a power cut empties: durable is what was flushed.
        Back "write back",
        /// It is on the medium when the write is complete: there is nothing to flush.
        Through "write through",
    }
}

/// The file system a test file is on, and what is below it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Storage {
    /// The directory that was asked for.
    #[serde(serialize_with = "lossy")]
    pub directory: PathBuf,
    /// `ext4`, `xfs`, `tmpfs` …
    pub file_system: String,
    /// Where it is mounted.
    #[serde(serialize_with = "lossy")]
    pub mount_point: PathBuf,
    /// Its mount options.
    pub mount_options: String,
    /// What is at the bottom.
    pub medium: Medium,
    /// The block devices it is on.
    pub devices: Vec<Device>,
    /// What control groups allow this process of those devices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<Limit>,
    /// Bytes of the file system.
    pub capacity: u64,
    /// Bytes that can still be written.
    pub free: u64,
    /// The probe that told the truth about a canary file; none if neither did.
    pub residency_probe: Option<Probe>,
    /// Whether a canary file could be evicted from the page cache, by proof of the probe.
    pub evictable: bool,
    /// What O_DIRECT does.
    pub direct: Direct,
    /// What was found out on the way and a reader should know: `cachestat says 0 pages of a
    /// cached file: mincore is used`.
    pub notes: Vec<String>,
}

/// How a file lies on its storage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// Bytes for which nothing is stored: holes, and extents allocated but never written.
    pub unwritten: u64,
    /// Bytes stored in another form: compressed, or inside metadata.
    pub encoded: u64,
    /// How many extents it has; none where the file system does not tell.
    pub extents: Option<u64>,
}

/// The file that is read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fixture {
    /// Where it is.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// The seed of its content; none for a user's own file, whose content is unknown.
    pub seed: Option<u64>,
    /// How it lies; none where the file system does not tell.
    pub layout: Option<Layout>,
}

/// A path need not be Unicode and JSON must be: in a record it is for reading only, so what is not
/// Unicode is written as the replacement character.
fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}
