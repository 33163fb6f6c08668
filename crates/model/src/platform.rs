//! Memory and processors of a machine, as its firmware and the OS tell them. These are facts;
//! whether one is odd is for others to judge. What is not told is null or empty, never 0.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Memory and processors of a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Platform {
    /// The slots for modules of memory, by the firmware (DMI), which only root may read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<Vec<MemorySlot>>,
    /// Whether the firmware has a table of slots that only root may read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub slots_need_root: bool,
    /// The memory controllers that a driver of the OS watches for errors (EDAC).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub controllers: Vec<MemoryController>,
    /// What the firmware claims of the memory of each NUMA node (HMAT).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<NodeClaim>,
    /// The processors.
    #[serde(default)]
    pub processors: Processors,
}

/// A slot for a module of memory, as the firmware tells it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemorySlot {
    /// Its name on the board: `DIMM_A1`.
    pub locator: Option<String>,
    /// The name of its bank: `NODE 0 CHANNEL 0 DIMM 0`. Boards name slots and banks as they like.
    pub bank: Option<String>,
    /// Whether a module is in it.
    pub filled: Option<bool>,
    /// The module's size in bytes.
    pub size: Option<u64>,
    /// `DDR4`, `DDR5`, `HBM2`.
    pub technology: Option<String>,
    /// Bits that it transfers at once, without those of its error correction.
    pub data_width: Option<u64>,
    /// Megatransfers a second that the module can do.
    pub speed_most: Option<u64>,
    /// Megatransfers a second that it is set to.
    pub speed: Option<u64>,
}

/// A memory controller, as EDAC shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryController {
    /// Its name: `mc0`.
    pub name: String,
    /// The driver's name for it: `Skylake Socket#0 IMC#0`.
    pub driver: Option<String>,
    /// Errors that it corrected since the driver began to count.
    pub corrected: Option<u64>,
    /// Errors that it could not correct.
    pub uncorrected: Option<u64>,
    /// The modules, or the ranks of modules; those without memory are not shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<MemoryModule>,
}

impl MemoryController {
    /// The channels with a module; `None` if that of one is unknown.
    pub fn filled_channels(&self) -> Option<BTreeSet<u32>> {
        self.modules.iter().map(|module| module.channel).collect()
    }
}

/// A module of memory or a rank of one, as EDAC shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryModule {
    /// Its name: `dimm0`, `rank3`.
    pub name: String,
    /// Its label, which tells the slot if somebody named it.
    pub label: Option<String>,
    /// The channel of its controller that it is on.
    pub channel: Option<u32>,
    /// Its size in bytes.
    pub size: Option<u64>,
    /// `Registered-DDR4`.
    pub technology: Option<String>,
    /// Errors that were corrected in it.
    pub corrected: Option<u64>,
    /// Errors in it that could not be corrected.
    pub uncorrected: Option<u64>,
}

/// What the firmware claims of a NUMA node's memory, as its best CPUs reach it (HMAT). It may be
/// rounded, or a guess.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeClaim {
    /// The node.
    pub node: u32,
    /// Megabytes a second of reads.
    pub read_bandwidth: Option<u64>,
    /// Megabytes a second of writes.
    pub write_bandwidth: Option<u64>,
    /// Nanoseconds of a read.
    pub read_latency: Option<u64>,
    /// Nanoseconds of a write.
    pub write_latency: Option<u64>,
}

/// The processors.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Processors {
    /// How many packages are online: sockets.
    pub packages: Option<u32>,
    /// How many cores are online.
    pub cores: Option<u32>,
    /// How many threads are online: CPUs, as the OS calls them. Those of a core share it.
    pub threads: Option<u32>,
    /// The most kilohertz that the fastest core can do.
    pub frequency_most: Option<u64>,
    /// The most kilohertz that the OS lets the fastest core do.
    pub frequency_limit: Option<u64>,
    /// Whether the OS lets cores run above their base frequency.
    pub boost: Option<bool>,
    /// Whether they have instructions for AES.
    pub aes: Option<bool>,
    /// What computes AES for disk encryption (XTS), as the kernel names it; empty if nothing asked
    /// for it yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub xts_drivers: Vec<String>,
    /// CPUs that the OS gives to nobody who does not ask for them, as it lists them.
    pub isolated: Option<String>,
    /// The NUMA nodes on whose CPUs this process may run; empty if the OS does not tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub usable_nodes: Vec<u32>,
    /// How many CPUs this process may use that share no core with the first of them; null if the
    /// OS does not tell who shares a core, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart: Option<u32>,
}
