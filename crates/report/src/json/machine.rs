//! The machine and its storage: a record has only what was seen of them, not what follows from it,
//! more of the devices, and direct access as one value.

use model::evidence::Limit;
use model::host::{self, AtomicWrites, Direct, Medium, WeakPart};
use model::layer::Layer;
use model::path::{Hop, WriteCache};
use model::setup::Setup;
use schemars::JsonSchema;
use serde::Serialize;

/// The machine.
#[derive(Serialize, JsonSchema)]
#[serde(remote = "host::Host")]
pub(super) struct HostForm {
    /// Its name.
    name: String,
    /// The OS and its release.
    os: String,
    /// The processor's model.
    cpu: String,
    /// CPUs that the program may use.
    cores: u32,
    /// Instruction sets the memory kernels can use.
    #[serde(getter = "isas")]
    isas: Vec<&'static str>,
    /// Total size in bytes of all last-level caches, as the OS reports it.
    last_level_cache: Option<u64>,
    /// Size in bytes of the largest of them.
    largest_cache: Option<u64>,
    /// Sizes in bytes of the first processor's data caches, from the first level to the last.
    caches: Vec<u64>,
    /// Size of memory in bytes, as the OS reports it.
    memory: Option<u64>,
    /// Bytes of memory available at the start of the run.
    memory_available: Option<u64>,
    /// Size of a page in bytes.
    page: u64,
    /// Size of a huge page in bytes.
    #[serde(getter = "host::Host::huge_page_bytes")]
    huge_page: Option<u64>,
    /// The hypervisor; `unknown` if it has no name, null if none is reported.
    hypervisor: Option<String>,
    /// The OS's clock source.
    clock_source: Option<String>,
    /// How many processors' time control groups allow; null without a quota.
    cpu_quota: Option<f64>,
    /// Bytes of memory that control groups allow, page cache included; null without a limit.
    memory_quota: Option<u64>,
    /// How many threads can run at a time: the CPUs, or what a quota leaves of them.
    #[serde(getter = "host::Host::parallelism")]
    parallelism: u32,
    /// Its configuration.
    setup: Setup,
    /// Notes for the reader.
    notes: Vec<String>,
}

fn isas(host: &host::Host) -> Vec<&'static str> {
    host.isas.iter().map(|isa| isa.name()).collect()
}

/// The file system of the test files, and what is below it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Storage")]
pub(super) struct StorageForm<'a> {
    /// The requested directory.
    directory: String,
    /// Its type, such as `ext4` or `tmpfs`.
    file_system: &'a str,
    /// Its mount point.
    mount_point: String,
    /// Its mount options.
    mount_options: &'a str,
    /// What is below.
    medium: Medium,
    /// The block devices it is on.
    devices: Vec<DeviceForm<'a>>,
    /// The layers down to the devices, the bottom first; empty in older records.
    layers: &'a [Layer],
    /// Maximum readahead for files here, in bytes; null if the OS does not report it.
    read_ahead: Option<u64>,
    /// What prevents syncs from flushing: mounts, and devices that say they have no cache above
    /// others that have one.
    barriers_off: &'a [String],
    /// Its parts that a power cut takes or that cannot be seen, though the rest is on disks.
    weak_parts: &'a [WeakPart],
    /// The control groups' limits on those devices, and on those below files of loop devices.
    limits: &'a [Limit],
    /// Total bytes of the file system; null if it has no fixed size.
    capacity: Option<u64>,
    /// Bytes that could still be written at the start of the run; null if unknown.
    free: Option<u64>,
    /// The probe that verified residency in the page cache: `cachestat`, `mincore`, or null.
    residency_probe: Option<&'static str>,
    /// Whether a canary file could be evicted from the page cache.
    evictable: bool,
    /// Whether a canary file stays in the page cache after reading; null if no probe works.
    keeps_pages: Option<bool>,
    /// Whether a file can be opened with `O_DIRECT`.
    direct_accepted: bool,
    /// The alignment in bytes of the offsets and lengths of direct reads.
    direct_align: Option<u32>,
    /// Whether a direct read left nothing in the page cache.
    direct_bypasses: Option<bool>,
    /// The sizes of atomic writes; null if the OS does not say.
    atomic: Option<AtomicWrites>,
    /// Whether the file system has a journal; null if unknown, as of any but ext4.
    journal: Option<bool>,
    /// Whether data is written to that journal first; null if unknown, as of any but ext4.
    journals_data: Option<bool>,
    /// Whether each write to a file waits until it is stored, as its own flag asks (`chattr +S`);
    /// null if the file system has no such flags.
    syncs_writes: Option<bool>,
    /// The path from the directory down to the medium, hop by hop, with the fastest rate of each
    /// link and the highest temperature of each drive that was seen; null in older records.
    path: Option<&'a Hop>,
    /// Whether a block device that is used without a file system can discard blocks, and so may
    /// read some from nowhere; null of file systems, and if unknown.
    discards: Option<bool>,
    /// Whether no `/sys` shows this machine's block devices.
    lacks_sys: bool,
    /// Notes for the reader.
    notes: &'a [String],
}

impl StorageForm<'_> {
    pub(super) fn of(storage: &host::Storage) -> StorageForm<'_> {
        let (direct_accepted, direct_align, direct_bypasses) = match storage.direct {
            Direct::Refused => (false, None, None),
            Direct::Accepted { offset_align, bypasses } => (true, Some(offset_align), bypasses),
        };
        StorageForm {
            directory: storage.directory.display().to_string(),
            file_system: &storage.file_system,
            mount_point: storage.mount_point.display().to_string(),
            mount_options: &storage.mount_options,
            medium: storage.medium,
            devices: storage.devices.iter().map(DeviceForm::of).collect(),
            layers: &storage.layers,
            read_ahead: storage.read_ahead,
            barriers_off: &storage.barriers_off,
            weak_parts: &storage.weak_parts,
            limits: &storage.limits,
            capacity: storage.capacity,
            free: storage.room().map(|(_, free)| free),
            residency_probe: storage.residency_probe.map(|probe| probe.name()),
            evictable: storage.evictable,
            keeps_pages: storage.keeps_pages,
            direct_accepted,
            direct_align,
            direct_bypasses,
            atomic: storage.atomic,
            journal: storage.journal,
            journals_data: storage.journals_data,
            syncs_writes: storage.syncs_writes,
            path: storage.path.as_deref(),
            discards: storage.discards,
            lacks_sys: storage.lacks_sys,
            notes: &storage.notes,
        }
    }
}

/// A block device.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Device")]
struct DeviceForm<'a> {
    /// Its name.
    name: &'a str,
    /// The model it reports.
    model: Option<&'a str>,
    /// The firmware revision it reports.
    firmware: Option<&'a str>,
    /// Whether the OS considers it a rotating disk.
    rotational: Option<bool>,
    /// The active I/O scheduler.
    scheduler: Option<&'a str>,
    /// Capacity of its request queue; further submitters must wait.
    nr_requests: Option<u64>,
    /// Whether a hypervisor presents it, so that what is below is unknown.
    is_virtual: bool,
    /// Readahead in bytes.
    read_ahead: Option<u64>,
    /// Whether the OS considers its cache volatile unless flushed.
    write_cache: Option<WriteCache>,
    /// For a loop device, whether it accesses its backing file with direct I/O; null for others.
    loop_direct: Option<bool>,
    /// For a loop device, the file that it is; null for others, or if it cannot be reached.
    file: Option<LoopFileForm<'a>>,
}

/// The file that a loop device is.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LoopFile")]
struct LoopFileForm<'a> {
    /// The file system that it is on, or `block device`.
    file_system: &'a str,
    /// The names of the devices below.
    devices: Vec<&'a str>,
    /// Those of them whose counters show what the page cache outside served or took; empty if none
    /// do.
    disks: &'a [String],
    /// Whether its data is written to a journal first; null if unknown, as of any but ext4.
    journals_data: Option<bool>,
}

impl DeviceForm<'_> {
    fn of(device: &host::Device) -> DeviceForm<'_> {
        DeviceForm {
            name: &device.name,
            model: device.model.as_deref(),
            firmware: device.firmware.as_deref(),
            rotational: device.rotational,
            scheduler: device.scheduler.as_deref(),
            nr_requests: device.nr_requests,
            is_virtual: device.is_virtual,
            read_ahead: device.read_ahead,
            write_cache: device.write_cache,
            loop_direct: device.loop_direct,
            file: device.file.as_ref().map(|file| LoopFileForm {
                file_system: &file.file_system,
                devices: file.devices.iter().map(|device| device.name.as_str()).collect(),
                disks: &file.disks,
                journals_data: file.journals_data,
            }),
        }
    }
}
