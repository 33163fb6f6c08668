//! The machine and the storage a run was made on.

use crate::case::Isa;
use crate::evidence::Probe;
use crate::layer::Layer;
use crate::named;
use crate::setup::Setup;
use crate::units;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
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
    /// CPUs that this program may use; if unknown, those online.
    pub cores: u32,
    /// Instruction sets the kernels can use.
    pub isas: Vec<Isa>,
    /// Bytes of all last-level caches together, as the OS reports them; none where it does not.
    #[serde(default, deserialize_with = "if_positive")]
    pub last_level_cache: Option<u64>,
    /// Bytes of the largest one of them: one thread has no more. Records of the first version do
    /// not tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_cache: Option<u64>,
    /// Bytes of the data caches that the first processor uses, from the first level to the last.
    #[serde(default)]
    pub caches: Vec<u64>,
    /// Bytes of memory, as the OS reports them; none where it does not.
    #[serde(default, deserialize_with = "if_positive")]
    pub memory: Option<u64>,
    /// Bytes of memory available when the run began, control-group limits included; none if neither
    /// is known.
    #[serde(default, deserialize_with = "if_positive")]
    pub memory_available: Option<u64>,
    /// Bytes of a page.
    pub page: u64,
    /// Bytes of a huge page, as the OS reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub huge_page: Option<u64>,
    /// The hypervisor, if one is reported: `kvm`, `qemu, emulated`, or `unknown`.
    pub hypervisor: Option<String>,
    /// The clock source of the OS.
    pub clock_source: Option<String>,
    /// How many processors' time the control groups of this process allow it; none without a
    /// quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_quota: Option<f64>,
    /// How it is set up.
    #[serde(default)]
    pub setup: Setup,
    /// Notes for the reader, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Host {
    /// How many threads can run at a time: no more than there are CPUs for, and none that a quota
    /// would only hold back. A part of a processor's time is one more.
    pub fn parallelism(&self) -> u32 {
        let quota = self.cpu_quota.map_or(u32::MAX, |quota| quota.ceil() as u32);
        self.cores.min(quota).max(1)
    }

    /// Bytes of a huge page, if they are known: from the OS, or by the tables of x86-64 and of
    /// 64-bit ARM, where one entry stands for a page full of entries of 8 bytes.
    pub fn huge_page_bytes(&self) -> Option<u64> {
        let has_such_tables = self.isas.iter().any(|isa| *isa != Isa::Scalar);
        let by_tables = || self.page.checked_mul(self.page / 8).filter(|_| has_such_tables);
        self.huge_page.or_else(by_tables).filter(|bytes| *bytes > 0)
    }
}

/// Records of the first version have a 0 where nothing is known.
fn if_positive<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    Ok(Option::deserialize(from)?.filter(|bytes| *bytes > 0))
}

impl Storage {
    /// The bytes of the file system and those of them that are free, where both are known.
    pub fn room(&self) -> Option<(u64, u64)> {
        self.capacity.zip(self.free)
    }
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
    /// The revision of its firmware, if reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// Whether the OS takes it for a disk that turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotational: Option<bool>,
    /// The I/O scheduler that is chosen: `none`, `mq-deadline`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// Requests that fit into its queue before senders must wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nr_requests: Option<u64>,
    /// Whether a hypervisor presents it, so that what is below is unknown.
    pub is_virtual: bool,
    /// Readahead in bytes.
    pub read_ahead: Option<u64>,
    /// Whether the OS considers its cache volatile unless flushed.
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

impl Device {
    /// Its known settings, with names.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let yes = |is: bool| if is { "yes" } else { "no" }.to_string();
        let facts = [
            ("scheduler", self.scheduler.clone()),
            ("nr_requests", self.nr_requests.map(|most| most.to_string())),
            ("read-ahead", self.read_ahead.map(units::bytes)),
            ("rotational", self.rotational.map(yes)),
            ("firmware", self.firmware.clone()),
            ("write cache", self.write_cache.map(|cache| cache.to_string())),
        ];
        facts.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

named! {
    /// The quantity that a control group limits on a device.
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

/// A control group's limit for a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// The device's name.
    pub device: String,
    /// The limited quantity.
    pub what: Limited,
    /// How much of it in a second: bytes, or requests.
    pub a_second: u64,
    /// The directory of the group.
    pub group: String,
}

named! {
    /// A device's write cache, as the OS sees it.
    WriteCache "write cache" {
        /// It may keep data in a volatile cache: only flushed data is durable.
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
    /// The way down to them, the bottom first. Empty in a record that was made before it was kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<Layer>,
    /// Bytes that the OS reads ahead of a file here at most; none where it does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_ahead: Option<u64>,
    /// Mounts that make a sync flush nothing: `ext4 at '/data' (nobarrier)`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub barriers_off: Vec<String>,
    /// The control groups' limits of this process for those devices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<Limit>,
    /// Bytes of the file system; none where it has no size, as one that is kept in memory and
    /// bounded by nothing else.
    #[serde(default, deserialize_with = "if_positive")]
    pub capacity: Option<u64>,
    /// Bytes that can still be written; none where `capacity` is.
    #[serde(default)]
    pub free: Option<u64>,
    /// The probe that was right about a canary file; none if neither was.
    pub residency_probe: Option<Probe>,
    /// Whether a canary file could be evicted from the page cache, by proof of the probe.
    pub evictable: bool,
    /// Whether a canary file stays in the page cache after reading; none if no probe can see it,
    /// and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeps_pages: Option<bool>,
    /// What O_DIRECT does.
    pub direct: Direct,
    /// Notes for the reader: `cachestat says 0 pages of a cached file: using mincore`.
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

/// Paths need not be Unicode, but JSON must be. A record's paths are only for reading, so invalid
/// characters are replaced.
fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// Numbers of CPUs as `0-3,8`, in their order.
pub fn cpus_text(cpus: &[u32]) -> String {
    let runs = cpus.chunk_by(|one, next| one.checked_add(1) == Some(*next));
    let text = |run: &[u32]| match run {
        [one] => one.to_string(),
        run => format!("{}-{}", run[0], run[run.len() - 1]),
    };
    runs.map(text).collect::<Vec<String>>().join(",")
}

/// The CPUs and node of a run's workers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// The CPUs that threads are bound to, one each, in turn; none where the OS places them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<Vec<u32>>,
    /// The NUMA node that gives processors and memory; none where all do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
}

impl Bound {
    /// Whether they are not bound.
    pub fn is_free(&self) -> bool {
        *self == Bound::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zoo;

    #[test]
    fn lists_of_cpus_are_short() {
        assert_eq!(cpus_text(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
        assert_eq!(cpus_text(&[3, 1]), "3,1");
        assert_eq!(cpus_text(&[u32::MAX, 0]), "4294967295,0");
        assert_eq!(cpus_text(&[]), "");
    }

    #[test]
    fn a_quota_bounds_how_many_threads_run_at_a_time() {
        let check = |cores, cpu_quota, expected| {
            let host = Host { cores, cpu_quota, ..zoo::host() };
            assert_eq!(host.parallelism(), expected, "{cores} cores, quota {cpu_quota:?}");
        };
        check(64, None, 64);
        check(64, Some(2.0), 2);
        check(64, Some(1.5), 2);
        check(64, Some(0.2), 1);
        check(2, Some(64.0), 2);
    }

    #[test]
    fn huge_pages_are_what_the_os_says_or_what_the_processor_has() {
        let check = |page, huge_page, isas: &[Isa], expected| {
            let host = Host { page, huge_page, isas: isas.to_vec(), ..zoo::host() };
            assert_eq!(host.huge_page_bytes(), expected, "{page} {huge_page:?} {isas:?}");
        };
        let (x86, arm) = ([Isa::Scalar, Isa::Sse2], [Isa::Scalar, Isa::Neon]);
        check(4096, None, &x86, Some(2 << 20));
        check(16 << 10, None, &arm, Some(32 << 20));
        check(64 << 10, None, &arm, Some(512 << 20));
        check(64 << 10, Some(2 << 20), &arm, Some(2 << 20));
        check(4096, Some(1 << 20), &[Isa::Scalar], Some(1 << 20));
        check(4096, None, &[Isa::Scalar], None);
    }

    /// A host as the first version wrote it, whose caches the OS did not tell.
    #[test]
    fn a_cache_of_no_bytes_is_one_that_is_not_known() {
        let mut old = serde_json::to_value(zoo::host()).expect("a host is plain data");
        for newer in ["largest_cache", "huge_page", "setup", "notes"] {
            old.as_object_mut().expect("it is an object").remove(newer);
        }
        old["last_level_cache"] = 0.into();
        let host: Host = serde_json::from_value(old).expect("it can be read");
        assert_eq!(host, Host { last_level_cache: None, ..zoo::host() });
    }

    /// Records of the first version have a 0 where the OS told nothing, and numbers elsewhere.
    #[test]
    fn no_memory_and_no_capacity_are_what_is_not_known() {
        let mut old = serde_json::to_value(zoo::host()).expect("a host is plain data");
        (old["memory"], old["memory_available"]) = (0.into(), 0.into());
        let host: Host = serde_json::from_value(old).expect("it can be read");
        assert_eq!((host.memory, host.memory_available), (None, None));
        let mut old = serde_json::to_value(zoo::storage()).expect("a storage is plain data");
        (old["capacity"], old["free"]) = (0.into(), 0.into());
        old.as_object_mut().expect("it is an object").remove("keeps_pages");
        let storage: Storage = serde_json::from_value(old.clone()).expect("it can be read");
        assert_eq!((storage.room(), storage.keeps_pages), (None, None));
        old["capacity"] = 4096.into();
        let full: Storage = serde_json::from_value(old).expect("it can be read");
        assert_eq!(full.room(), Some((4096, 0)));
    }
}
