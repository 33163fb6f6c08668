//! The machine and the storage that a run used.

use crate::case::{Isa, Populated};
use crate::evidence::{Limit, Probe};
use crate::fixture::lossy;
pub use crate::fixture::{FileLayout, FilePart, Fixture, ZeroBlocks};
use crate::layer::Layer;
use crate::named;
use crate::path::{Hop, WriteCache};
use crate::platform::Platform;
use crate::setup::Setup;
use crate::units;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::path::PathBuf;

/// The machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// The OS and its release.
    pub os: String,
    /// The processor's model.
    pub cpu: String,
    /// CPUs that this program may use; if unknown, all online CPUs.
    pub cores: u32,
    /// Instruction sets the kernels can use.
    pub isas: Vec<Isa>,
    /// Total size in bytes of all last-level caches, as the OS reports it; otherwise `None`.
    #[serde(default, deserialize_with = "if_positive")]
    pub last_level_cache: Option<u64>,
    /// Size in bytes of the largest of them, the most that one thread can use. Missing in records
    /// of the first version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_cache: Option<u64>,
    /// Sizes in bytes of the first processor's data caches, from the first level to the last.
    #[serde(default)]
    pub caches: Vec<u64>,
    /// Size of memory in bytes, as the OS reports it; otherwise `None`.
    #[serde(default, deserialize_with = "if_positive")]
    pub memory: Option<u64>,
    /// Bytes of memory available at the start of the run, including control group limits; `None` if
    /// both are unknown.
    #[serde(default, deserialize_with = "if_positive")]
    pub memory_available: Option<u64>,
    /// Size of a page in bytes.
    pub page: u64,
    /// Size of a huge page in bytes, as the OS reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub huge_page: Option<u64>,
    /// The hypervisor, if one is reported: `kvm`, `qemu, emulated`, or `unknown`.
    pub hypervisor: Option<String>,
    /// The OS's clock source.
    pub clock_source: Option<String>,
    /// How many processors' time this process's control groups allow; `None` without a quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_quota: Option<f64>,
    /// Bytes of memory that this process's control groups allow, page cache included; `None`
    /// without a limit that is less than the machine's memory, and in records that are older than
    /// this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_quota: Option<u64>,
    /// Why its OS refuses io_uring to this program; `None` if it does not, and in records that
    /// are older than this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_io_uring: Option<String>,
    /// Its configuration.
    #[serde(default)]
    pub setup: Setup,
    /// Its memory and processors. `None` in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<Box<Platform>>,
    /// Notes for the reader, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Host {
    /// How many threads can run at a time: at most one per CPU, and at most what the quota allows.
    /// A fraction of a processor counts as one more.
    pub fn parallelism(&self) -> u32 {
        let quota = self.cpu_quota.map_or(u32::MAX, |quota| quota.ceil() as u32);
        self.cores.min(quota).max(1)
    }

    /// Size of a huge page in bytes, if known: from the OS, or from the page tables of x86-64 and
    /// 64-bit ARM. There, a huge page replaces one page full of 8-byte entries.
    pub fn huge_page_bytes(&self) -> Option<u64> {
        let has_such_tables = self.isas.iter().any(|isa| *isa != Isa::Scalar);
        let by_tables = || self.page.checked_mul(self.page / 8).filter(|_| has_such_tables);
        self.huge_page.or_else(by_tables).filter(|bytes| *bytes > 0)
    }
}

/// Records of the first version use 0 for unknown values.
fn if_positive<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    Ok(Option::deserialize(from)?.filter(|bytes| *bytes > 0))
}

/// The "file system" of a block device that is used without one.
pub const NO_FILE_SYSTEM: &str = "none (block device)";

impl Storage {
    /// Whether it is a block device without a file system.
    pub fn is_raw(&self) -> bool {
        self.file_system == NO_FILE_SYSTEM
    }

    /// The file system, or a block device without one, in a sentence.
    pub fn noun(&self) -> &str {
        if self.is_raw() { "the block device" } else { &self.file_system }
    }

    /// How warm files are cached where none can be evicted, so that nothing else is possible;
    /// `None` where files can be evicted.
    pub fn kept(&self) -> Option<Populated> {
        let kept = if self.medium == Medium::Ram { Populated::Written } else { Populated::Others };
        (!self.evictable).then_some(kept)
    }

    /// The file system's total and free bytes, if both are known.
    pub fn room(&self) -> Option<(u64, u64)> {
        self.capacity.zip(self.free)
    }
}

named! {
    /// What is below a file system.
    #[derive(Default)]
    Medium "medium" {
        /// Memory: tmpfs, ramfs, zram, brd.
        Ram "ram",
        /// Block devices on this machine.
        Block "block",
        /// Something that this machine's counters do not see: FUSE, a network file system, a share
        /// of the host.
        #[default]
        Unseen "unseen",
    }
}

/// How a file system handles `O_DIRECT`, tested with a canary file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direct {
    /// Opening a file with it fails.
    #[default]
    Refused,
    /// Opening and reading a file with it works.
    Accepted {
        /// The alignment of offsets and lengths.
        offset_align: u32,
        /// Whether a read left nothing in the page cache; `None` if no probe works.
        bypasses: Option<bool>,
    },
}

/// A block device under the file system.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Its name: `vda`, `nvme0n1`.
    pub name: String,
    /// The model, if the device reports one.
    pub model: Option<String>,
    /// The firmware revision, if reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// Whether the OS considers it a rotating disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotational: Option<bool>,
    /// The active I/O scheduler: `none`, `mq-deadline`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// Capacity of its request queue; further submitters must wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nr_requests: Option<u64>,
    /// Whether a hypervisor presents it, so that what is below is unknown. A device that this OS
    /// makes, such as a loop device, is a layer: what is below it decides.
    pub is_virtual: bool,
    /// Readahead in bytes.
    pub read_ahead: Option<u64>,
    /// Whether the OS considers its cache volatile unless flushed.
    pub write_cache: Option<WriteCache>,
    /// Whether the OS may send it writes that bypass its cache (FUA); `None` if unknown.
    pub fua: Option<bool>,
    /// Whether its queue can be polled for completions; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_poll: Option<bool>,
    /// For a loop device, whether it accesses its backing file with direct I/O; `None` for other
    /// devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loop_direct: Option<bool>,
    /// For a loop device, the file that it is; `None` for other devices, if the file cannot be
    /// reached, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<LoopFile>,
}

/// The file that a loop device is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopFile {
    /// The file system that it is on, or `block device`.
    pub file_system: String,
    /// The devices below.
    pub devices: Vec<Device>,
    /// The names of the disks that move each byte which its content moves, unless a cache above
    /// them serves or takes it. Empty if that is unknown, or if they do not count.
    pub disks: Vec<String>,
    /// The same as [`Storage::journals_data`], of the file.
    pub journals_data: Option<bool>,
}

impl Device {
    /// Its known settings, by name.
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

/// The file system of a test file, and what is below it. By default, nothing is known of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Storage {
    /// The requested directory.
    #[serde(serialize_with = "lossy")]
    pub directory: PathBuf,
    /// `ext4`, `xfs`, `tmpfs` …
    pub file_system: String,
    /// Its mount point.
    #[serde(serialize_with = "lossy")]
    pub mount_point: PathBuf,
    /// Its mount options.
    pub mount_options: String,
    /// What is below.
    pub medium: Medium,
    /// The block devices it is on.
    pub devices: Vec<Device>,
    /// The layers down to the devices, the bottom first. Empty in records older than this field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<Layer>,
    /// Maximum readahead for files here, in bytes; `None` if the OS does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_ahead: Option<u64>,
    /// What prevents syncs from flushing: mounts such as `ext4 at '/data' (nobarrier)`, and devices
    /// that say they have no cache above others that have one: `loop1 (write through)`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub barriers_off: Vec<String>,
    /// Its parts that a power cut takes or that cannot be seen, though the rest is on disks. Empty
    /// in records older than this field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weak_parts: Vec<WeakPart>,
    /// The limits of this process's control groups on those devices, and on those below the files
    /// of loop devices. In older records, only the tightest of each kind, and none below files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<Limit>,
    /// Total bytes of the file system; `None` if it has no fixed size, like some in memory.
    #[serde(default, deserialize_with = "if_positive")]
    pub capacity: Option<u64>,
    /// Bytes that can still be written; `None` if `capacity` is.
    pub free: Option<u64>,
    /// The probe that reported a canary file correctly; `None` if neither did.
    pub residency_probe: Option<Probe>,
    /// Whether a canary file could be evicted from the page cache, according to the probe.
    pub evictable: bool,
    /// Whether a canary file stays in the page cache after reading; `None` if no probe works, and
    /// in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeps_pages: Option<bool>,
    /// How `O_DIRECT` behaves.
    pub direct: Direct,
    /// Which writes here are atomic; `None` if the OS does not say (before Linux 6.11), and in
    /// older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub atomic: Option<AtomicWrites>,
    /// Whether the file system has a journal; `None` as for `journals_data`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal: Option<bool>,
    /// Whether the file system writes the data of files here to its journal first, and then to its
    /// place; `None` if unknown, as of any but ext4, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journals_data: Option<bool>,
    /// Whether files here wait until each write is stored, by their own flag (`chattr +S`), which
    /// they have from their directory; `None` without such flags, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syncs_writes: Option<bool>,
    /// The path from the directory down to the medium. In a record that was read, its links and
    /// drives are those of [`crate::vitals::in_use`]. `None` in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Box<Hop>>,
    /// Whether a block device that is used without a file system can discard blocks, and so may
    /// read some from nowhere; `None` of file systems, if unknown, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discards: Option<bool>,
    /// Whether no `/sys` shows this machine's block devices: only that hides what is below.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lacks_sys: bool,
    /// Notes for the reader, one sentence each.
    pub notes: Vec<String>,
}

/// The sizes of the writes that a storage promises not to tear, in bytes: powers of two. Both are 0
/// if it promises nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AtomicWrites {
    /// The smallest.
    pub least: u32,
    /// The largest.
    pub most: u32,
}

/// A part of a storage that a power cut takes, or that cannot be seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WeakPart {
    /// The name of its device, which is in memory; null if the device cannot be seen.
    pub device: Option<String>,
    /// What is there.
    pub holds: HeldContent,
    /// Whether disks have a copy of all that is there.
    pub is_copied: bool,
}

named! {
    /// What a part of a storage holds.
    HeldContent "held content" {
        /// Some of the data of files, or of what describes them.
        Data "data",
        /// The journal, in which a file system commits its changes.
        Journal "journal",
    }
}

/// Formats CPU numbers as `0-3,8`, in their order.
pub fn cpus_text(cpus: &[u32]) -> String {
    let runs = cpus.chunk_by(|one, next| one.checked_add(1) == Some(*next));
    let text = |run: &[u32]| match run {
        [one] => one.to_string(),
        run => format!("{}-{}", run[0], run[run.len() - 1]),
    };
    runs.map(text).collect::<Vec<String>>().join(",")
}

/// The CPUs and the node that a run's workers are restricted to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Affinity {
    /// The CPUs that threads are pinned to, one each, in turn; null if the OS places them.
    pub pin: Option<Vec<u32>>,
    /// The NUMA node whose CPUs and memory they use; null for all.
    pub node: Option<u32>,
}

impl Affinity {
    /// Whether there is no restriction.
    pub fn is_free(&self) -> bool {
        *self == Affinity::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zoo;

    /// The outer device reads its file directly, but that file is on one that does not.
    #[test]
    fn a_loop_device_through_the_page_cache_may_be_below_another() {
        let on = |name: &str, loop_direct, devices| {
            let (file_system, disks) = ("ext4".to_string(), Vec::new());
            let file = Some(LoopFile { file_system, devices, disks, journals_data: None });
            Device {
                name: name.to_string(),
                loop_direct: Some(loop_direct),
                file,
                ..Device::default()
            }
        };
        let cached = |inner| {
            let devices = vec![on("loop1", true, vec![on("loop0", inner, Vec::new())])];
            let storage = Storage { devices, ..zoo::storage() };
            storage.cached_loop().map(|device| device.name.clone())
        };
        assert_eq!(cached(false).as_deref(), Some("loop0"));
        assert_eq!(cached(true), None);
    }

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

    /// A host as the first version wrote it, with unknown caches.
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

    /// Records of the first version use 0 for unknown numbers.
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
