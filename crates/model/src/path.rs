//! The path of bytes from a file down to its medium: what is there, hop by hop. These are facts as
//! the OS tells them; whether one is odd is for others to judge.

use crate::evidence::Limit;
use crate::named;
use crate::platform::Platform;
use crate::setup::Node;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The path of bytes from a file, a directory or a device down to its medium.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MediumPath {
    /// What was asked about.
    pub asked: String,
    /// The first hop.
    pub top: Hop,
    /// The hypervisor, if this machine is virtual: what it shows of links is made up, unless a
    /// device is passed through.
    pub hypervisor: Option<String>,
    /// The processor's model.
    pub cpu: Option<String>,
    /// Bytes of memory that the OS has.
    pub memory: Option<u64>,
    /// What sets the frequency of its cores.
    pub governor: Option<String>,
    /// The NUMA nodes.
    pub nodes: Vec<Node>,
    /// Memory and processors.
    pub platform: Platform,
}

/// Something that all bytes of the path, or a part of them, pass through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hop {
    /// Its name: `/srv` (a mount point), `md0`, `nvme0n1`, `0000:01:00.0`.
    pub name: String,
    /// What it is.
    #[serde(flatten)]
    pub kind: HopKind,
    /// The limits of this process's control groups on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<Limit>,
    /// What it is made of, or what it is attached to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub below: Vec<Hop>,
}

impl Hop {
    /// A hop with what is below it.
    pub fn new(name: impl Into<String>, kind: HopKind, below: Vec<Hop>) -> Hop {
        Hop { name: name.into(), kind, limits: Vec::new(), below }
    }

    /// The number of the NUMA node that it is, if it is one.
    pub fn node(&self) -> Option<u32> {
        let name = self.name.strip_prefix("node ").filter(|_| self.kind == HopKind::Node)?;
        name.parse().ok()
    }

    /// This hop and all below it, from the top down.
    pub fn all(&self) -> Vec<&Hop> {
        let below = self.below.iter().flat_map(Hop::all);
        [self].into_iter().chain(below).collect()
    }
}

/// What a hop is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum HopKind {
    /// A file system.
    FileSystem(FileSystemHop),
    /// A part of a disk.
    Partition(PartitionHop),
    /// A software RAID of md.
    Array(ArrayHop),
    /// A device of the device mapper.
    Mapped(MappedHop),
    /// A loop device, whose content is a file.
    Loop(LoopHop),
    /// A cache device of bcache before another.
    Bcache(BcacheHop),
    /// A disk, as the OS sees it.
    Disk(Box<DiskHop>),
    /// A link between two devices.
    Link(LinkHop),
    /// A network interface.
    Interface(InterfaceHop),
    /// A NUMA node.
    Node,
    /// Memory.
    Memory,
    /// A device or a mount that another way down has, too: what it is, and what is below it, is
    /// told where the path has its name first.
    Again,
    /// What is below cannot be seen.
    Unseen {
        /// Why.
        reason: String,
    },
}

/// A file system.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileSystemHop {
    /// `ext4`, `xfs`, `nfs4`.
    pub file_system: String,
    /// Its mount options.
    pub options: Vec<String>,
    /// What is mounted: a device node, a server's export.
    pub source: String,
    /// Devices that it lacks; null if it does not tell.
    pub missing: Option<u64>,
    /// The exclusive operation that runs on it, such as `balance`; null if it does not tell.
    pub operation: Option<String>,
}

/// A part of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartitionHop {
    /// Where it begins on its disk, in bytes.
    pub start: Option<u64>,
}

/// A software RAID of md.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArrayHop {
    /// `raid1`, `raid5`.
    pub level: Option<String>,
    /// How many disks it should have.
    pub disks: Option<u64>,
    /// How many of them are missing.
    pub degraded: Option<u64>,
    /// What it does beside its work: `idle`, `resync`, `recover`, `check`.
    pub action: Option<String>,
    /// How much of that is done, in thousandths.
    pub done: Option<u64>,
    /// How it stays consistent after a crash: `resync`, `bitmap`, `journal`, `ppl`.
    pub policy: Option<String>,
    /// Pages of its stripe cache for each disk, if it has parity.
    pub stripe_cache: Option<u64>,
    /// The bytes of a stripe over all its disks, without parity; null if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stripe: Option<u64>,
    /// Its disks that have none of its data, or not yet all: spares, faulty ones, and those that it
    /// rebuilds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spares: Vec<String>,
}

/// A device of the device mapper.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MappedHop {
    /// Its name: `vg0-db`.
    pub mapped: Option<String>,
    /// Who made it, from its UUID.
    pub maker: MappedMaker,
}

named! {
    /// Who made a mapped device, and so what it does with bytes.
    #[derive(Default)]
    MappedMaker "maker" {
        /// LVM: a volume of one kind or another.
        Lvm "LVM",
        /// dm-crypt: bytes are encrypted.
        Crypt "dm-crypt",
        /// Multipath: several paths to one disk.
        Multipath "multipath",
        /// LVM: a snapshot, its origin or what it is made of.
        Snapshot "LVM snapshot",
        /// LVM: thin provisioning.
        Thin "LVM thin volume",
        /// LVM: a cache before another device.
        Cache "LVM cache",
        /// LVM: a cache of writes before another device.
        Writecache "LVM write cache",
        /// LVM, or VDO alone: what is stored is deduplicated and compressed.
        Vdo "VDO",
        /// dm-integrity: each block has a checksum.
        Integrity "dm-integrity",
        /// dm-verity: what is read is checked, and nothing is written.
        Verity "dm-verity",
        /// LVM: a RAID.
        Raid "LVM RAID",
        /// Another.
        #[default]
        Other "device mapper",
    }
}

/// A loop device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoopHop {
    /// The path of its file.
    pub file: String,
    /// Whether it accesses the file with direct I/O.
    pub direct: Option<bool>,
}

/// A device of bcache.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BcacheHop {
    /// `writethrough`, `writeback`, `writearound`, `none`.
    pub mode: Option<String>,
    /// `clean`, `dirty`, `no cache`, `inconsistent`.
    pub state: Option<String>,
}

/// A disk, as the OS sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiskHop {
    /// Its model.
    pub model: Option<String>,
    /// Its firmware's revision.
    pub firmware: Option<String>,
    /// Its size in bytes.
    pub size: Option<u64>,
    /// Whether it rotates.
    pub rotational: Option<bool>,
    /// Its write cache.
    pub write_cache: Option<WriteCache>,
    /// Whether single writes can bypass its cache.
    pub fua: Option<bool>,
    /// The smallest unit that it reads or writes, in bytes.
    pub logical_block: Option<u64>,
    /// The smallest unit that it writes without reading first, in bytes.
    pub physical_block: Option<u64>,
    /// The unit that it prefers, such as a stripe, in bytes; null if it has none.
    pub optimal_io: Option<u64>,
    /// How far its first block is from a multiple of the physical block, in bytes.
    pub alignment_offset: Option<i64>,
    /// The active I/O scheduler.
    pub scheduler: Option<String>,
    /// Capacity of its request queue.
    pub nr_requests: Option<u64>,
    /// The largest request, in bytes.
    pub request_most: Option<u64>,
    /// `none`, `host-aware`, `host-managed`.
    pub zoned: Option<String>,
    /// Whether its queue can be polled for completions.
    pub io_poll: Option<bool>,
    /// The temperature of the drive now, in thousandths of a degree Celsius.
    pub temperature: Option<i64>,
    /// The temperature from which the drive slows down or warns, in the same unit.
    pub temperature_most: Option<i64>,
    /// Whether a SATA drive has a volatile write cache that is switched off; null if it does not
    /// tell, or has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_off: Option<bool>,
    /// Whether the OS reaches it: `running`, `offline`, `blocked`; null for disks that do not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The driver of the RAID controller of which it is a volume. The disks of that cannot be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_of: Option<String>,
}

named! {
    /// A device's write cache, as the OS sees it.
    WriteCache "write cache" {
        /// Completed writes may be in a volatile cache: only a flush makes them durable.
        Back "write back",
        /// Completed writes are durable; there is nothing to flush.
        Through "write through",
    }
}

/// A link, as both ends negotiated it. What one end could do more than the other is unused.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkHop {
    /// The bus.
    pub bus: Bus,
    /// As it is now.
    pub now: LinkSpeed,
    /// The most that the device can.
    pub device_most: LinkSpeed,
    /// The most that the port which it is plugged into can.
    pub port_most: LinkSpeed,
    /// The address of the port above a PCIe device. The link is between that port and all that is
    /// plugged into it, such as several functions of one card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// The slot, as the firmware calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
    /// Whether what is attached by it is a PCIe switch, with more devices below.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_of_switch: bool,
    /// Whether no setting limits the SATA port, whose own most the OS does not tell then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_port_free: bool,
    /// The driver of a USB device: `uas`, or `usb-storage`, which sends one command at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// Whether a USB device can take several commands at once (UAS).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queues: Option<bool>,
}

/// How fast a link is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkSpeed {
    /// Megatransfers a second of a lane, before its coding; null if unknown.
    pub rate: Option<u64>,
    /// The number of lanes; null if unknown or if the bus has no lanes.
    pub lanes: Option<u64>,
}

named! {
    /// A bus between devices.
    #[derive(Default)]
    Bus "bus" {
        /// PCI Express.
        #[default]
        Pcie "PCIe",
        /// Serial ATA.
        Sata "SATA",
        /// Serial Attached SCSI.
        Sas "SAS",
        /// USB.
        Usb "USB",
        /// Fibre Channel.
        FibreChannel "Fibre Channel",
        /// The bus of an eMMC, a chip on the board.
        Emmc "eMMC",
        /// The bus of an SD card.
        SdCard "SD card",
        /// The bus of flash memory in phones and small computers.
        Ufs "UFS",
    }
}

/// A network interface.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InterfaceHop {
    /// Megabits a second; null if unknown.
    pub speed: Option<u64>,
    /// Whether it sends and receives at once; null if unknown.
    pub full_duplex: Option<bool>,
    /// The server's address.
    pub server: String,
    /// The interfaces that a bond is made of, and the bond's mode.
    pub bonded: Vec<String>,
    /// The bond's mode; null if it is none.
    pub bond_mode: Option<String>,
}
