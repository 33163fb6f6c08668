//! What a machine's memory allows at most, and what is odd about memory and processors. A limit is
//! arithmetic from facts that are certain; without one of them there is none.

use crate::finding::{Code, Finding};
use model::list::listed;
use model::path::{Hop, HopKind, MappedMaker};
use model::platform::{MemoryController, MemorySlot, Platform, Processors};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Memory and processors, judged.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct JudgedPlatform {
    /// What memory allows at most; null if unknown.
    pub memory_allows: Option<MemoryAllowance>,
    /// Why that is unknown, and what would tell; null if it is known.
    pub memory_unknown: Option<String>,
    /// What is odd.
    pub findings: Vec<Finding>,
}

/// What memory allows at most.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct MemoryAllowance {
    /// Bytes a second of all channels together, in one direction at a time.
    pub bytes_per_second: f64,
    /// The channels with a module.
    pub channels: u32,
    /// Megatransfers a second of the fastest channel.
    pub speed: u64,
}

/// Judges memory and processors of a machine that is virtual or not, whose disks are below `tops`.
/// A hypervisor makes modules up.
pub fn judge_platform(platform: &Platform, tops: &[&Hop], is_guest: bool) -> JudgedPlatform {
    let allows = match is_guest {
        true => Err("a hypervisor makes its modules up"),
        false => memory_allowance(platform),
    };
    let of_memory = || [channels_empty(&platform.controllers), errors(&platform.controllers)];
    let of_memory = (!is_guest).then(of_memory).into_iter().flatten();
    let of_aes = tops.iter().find_map(|top| software_aes(&platform.processors, top));
    JudgedPlatform {
        memory_allows: allows.ok(),
        memory_unknown: allows.err().map(str::to_string),
        findings: of_memory.chain([of_aes]).flatten().collect(),
    }
}

/// Bytes that a channel moves at once (JESD79).
const CHANNEL_BYTES: u64 = 8;

/// Filled channels, times 8 bytes, times the speed that the modules are set to; or why it is
/// unknown. Only drivers of which each channel has 8 bytes tell channels: slots are none.
fn memory_allowance(platform: &Platform) -> Result<MemoryAllowance, &'static str> {
    const NO_CHANNELS: &str = "no driver shows its channels (EDAC), and slots are not channels";
    let controllers = &platform.controllers;
    let is_known = |controller: &MemoryController| {
        let driver = controller.driver.as_deref().unwrap_or_default();
        WIDE_CHANNELS.iter().any(|known| driver.starts_with(known))
    };
    let filled: Option<Vec<BTreeSet<u32>>> =
        controllers.iter().map(MemoryController::filled_channels).collect();
    let channels = filled.iter().flatten().map(|channels| channels.len() as u32).sum::<u32>();
    if channels == 0 || !controllers.iter().all(is_known) {
        return Err(NO_CHANNELS);
    }
    let Some(slots) = &platform.slots else {
        return Err(match platform.slots_need_root {
            true => "only root may read how fast the modules are set (DMI)",
            false => "nothing tells how fast the modules are set (DMI)",
        });
    };
    let modules: Vec<&MemorySlot> =
        slots.iter().filter(|slot| slot.filled != Some(false)).collect();
    // Modules that only one of both knows may be on channels that nobody tells.
    let by_firmware = modules.iter().map(|slot| slot.size).sum::<Option<u64>>();
    let of_driver = controllers.iter().flat_map(|controller| &controller.modules);
    let by_driver = of_driver.map(|module| module.size).sum::<Option<u64>>();
    if by_firmware.is_none() || by_firmware != by_driver {
        return Err("the firmware (DMI) and the driver (EDAC) do not tell the same modules");
    }
    if modules.iter().any(|module| module.data_width != Some(CHANNEL_BYTES * 8)) {
        return Err("a module is not 64 bits wide, or does not tell");
    }
    let speeds: Option<Vec<u64>> = modules.iter().map(|module| speed(module)).collect();
    let speed = speeds.and_then(|speeds| speeds.into_iter().max());
    let speed =
        speed.ok_or("the firmware (DMI) does not tell for certain how fast the modules are set")?;
    let bytes_per_second = channels as f64 * CHANNEL_BYTES as f64 * speed as f64 * 1e6;
    Ok(MemoryAllowance { bytes_per_second, channels, speed })
}

/// How drivers begin their names for controllers of which each channel has 64 bits: `sb_edac`,
/// `skx_edac`, `i10nm_edac` and `amd64_edac`. Channels of laptops often have fewer.
const WIDE_CHANNELS: [&str; 9] = [
    "Sandy Bridge ",
    "Ivy Bridge ",
    "Haswell ",
    "Broadwell ",
    "Skylake Socket#",
    "Intel_10nm Socket#",
    "F17h",
    "F19h",
    "F1Ah",
];

/// Megatransfers a second that a module is set to. Firmware before SMBIOS 3.1 told a clock, half of
/// them, where it liked: what may be one is no speed.
fn speed(module: &MemorySlot) -> Option<u64> {
    let fastest_clock = match module.technology.as_deref()? {
        "DDR3" => 1067,
        "DDR4" => 1600,
        "DDR5" => 3200,
        _ => return None,
    };
    module.speed.filter(|speed| *speed > fastest_clock)
}

/// What the modules of a controller are.
fn technologies(controller: &MemoryController) -> BTreeSet<Option<&str>> {
    controller.modules.iter().map(|module| module.technology.as_deref()).collect()
}

/// A controller has modules in fewer channels than another of its kind, with modules of the same
/// technology: a processor may have memory of its own besides (HBM). How many channels a controller
/// has at all is not told: drivers name the most of their family.
fn channels_empty(controllers: &[MemoryController]) -> Option<Finding> {
    let mut kinds: BTreeMap<String, Vec<(&MemoryController, BTreeSet<u32>)>> = BTreeMap::new();
    for controller in controllers {
        let driver = controller.driver.as_ref()?;
        let kind: String = driver.chars().filter(|c| !c.is_ascii_digit()).collect();
        kinds.entry(kind).or_default().push((controller, controller.filled_channels()?));
    }
    let told = kinds.values().flat_map(|alike| {
        alike.iter().filter_map(move |(controller, filled)| {
            let own = technologies(controller);
            let others = alike.iter().rev().filter(|(it, _)| technologies(it).is_superset(&own));
            let (other, most) = others.max_by_key(|(_, filled)| filled.len())?;
            (most.len() > filled.len()).then(|| {
                format!(
                    "{} has modules in {} of its channels, but {} in {}",
                    named(controller),
                    filled.len(),
                    named(other),
                    most.len()
                )
            })
        })
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| {
        let message = format!(
            "{}: memory is slower than with all channels alike, as if a module were missing or not \
             recognized",
            told.join("; ")
        );
        let remedy = "reseat the module, or fill the same channels of each controller";
        Finding::note(Code::ChannelsEmpty, message, remedy)
    })
}

fn named(controller: &MemoryController) -> String {
    match &controller.driver {
        Some(driver) => format!("{} ({driver})", controller.name),
        None => controller.name.clone(),
    }
}

/// Memory had errors.
fn errors(controllers: &[MemoryController]) -> Option<Finding> {
    let sum = |of: fn(&MemoryController) -> Option<u64>| {
        let counts = controllers.iter().filter_map(of);
        counts.fold(0, u64::saturating_add)
    };
    let corrected = sum(|controller| controller.corrected);
    let uncorrected = sum(|controller| controller.uncorrected);
    if corrected == 0 && uncorrected == 0 {
        return None;
    }
    let modules = controllers.iter().flat_map(|controller| &controller.modules);
    let has_some = |count: Option<u64>| count.is_some_and(|count| count > 0);
    let bad = modules.filter(|module| has_some(module.corrected) || has_some(module.uncorrected));
    let bad: Vec<&str> =
        bad.map(|module| module.label.as_deref().unwrap_or(&module.name)).collect();
    let place = match bad.is_empty() {
        true => String::new(),
        false => format!(", in {}", listed(&bad)),
    };
    let kinds = [(corrected, "corrected"), (uncorrected, "uncorrected")];
    let kinds = kinds.iter().filter(|(count, _)| *count > 0);
    let kinds: Vec<String> = kinds.map(|(count, kind)| format!("{count} {kind}")).collect();
    let message = format!(
        "memory errors since the driver began to count, usually at boot: {}{place}",
        listed(&kinds)
    );
    let remedy = "look whether they become more (rasdaemon), and replace the module if so";
    Some(Finding::note(Code::MemoryErrors, message, remedy))
}

/// A disk is encrypted, and the processor has no instructions for AES.
fn software_aes(processors: &Processors, top: &Hop) -> Option<Finding> {
    let crypt = top.all().into_iter().find(
        |hop| matches!(&hop.kind, HopKind::Mapped(mapped) if mapped.maker == MappedMaker::Crypt),
    )?;
    let drivers = &processors.xts_drivers;
    // Other drivers have hardware of their own, or vector instructions.
    let is_generic = !drivers.is_empty()
        && drivers.iter().all(|it| it.contains("generic") || it.contains("aes-lib"));
    if processors.aes != Some(false) || !is_generic {
        return None;
    }
    let message = format!(
        "{} is encrypted, and the kernel computes AES, the usual cipher of disks, without \
         instructions for it ({})",
        crypt.name,
        listed(drivers)
    );
    let remedy = "if its cipher is AES, expect the processor to limit it; Adiantum costs less";
    Some(Finding::note(Code::SoftwareAes, message, remedy))
}
