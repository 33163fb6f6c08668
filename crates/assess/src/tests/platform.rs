//! What memory allows, and what is odd about memory and processors: each fault with its silent
//! twins.

use crate::assess;
use crate::finding::Code;
use crate::platform::judge_platform;
use model::path::{Hop, HopKind, MappedHop, MappedMaker};
use model::platform::{MemoryController, MemoryModule, MemorySlot, Platform, Processors};
use model::zoo;

const GIB: u64 = 1 << 30;

/// A controller with a module of 32 GiB in each of these channels.
fn controller(name: &str, driver: &str, channels: &[u32]) -> MemoryController {
    let module = |channel: &u32| MemoryModule {
        name: format!("dimm{channel}"),
        label: Some(format!("{name} slot {channel}")),
        channel: Some(*channel),
        size: Some(32 * GIB),
        ..MemoryModule::default()
    };
    MemoryController {
        name: name.to_string(),
        driver: Some(driver.to_string()),
        corrected: Some(0),
        uncorrected: Some(0),
        modules: channels.iter().map(module).collect(),
    }
}

fn slot() -> MemorySlot {
    MemorySlot {
        filled: Some(true),
        size: Some(32 * GIB),
        technology: Some("DDR4".to_string()),
        data_width: Some(64),
        speed_most: Some(3200),
        speed: Some(2933),
        ..MemorySlot::default()
    }
}

/// Two sockets with two channels each, and an empty slot.
fn server() -> Platform {
    let empty = MemorySlot { filled: Some(false), ..MemorySlot::default() };
    Platform {
        controllers: vec![
            controller("mc0", "Skylake Socket#0 IMC#0", &[0, 1]),
            controller("mc1", "Skylake Socket#1 IMC#0", &[0, 1]),
        ],
        slots: Some(vec![slot(), slot(), slot(), slot(), empty]),
        ..Platform::default()
    }
}

/// What the memory of a server with this change allows, in MB/s.
#[track_caller]
fn allows(change: impl Fn(&mut Platform), expected: Option<u64>) {
    let mut platform = server();
    change(&mut platform);
    let judged = judge_platform(&platform, &[], false);
    let allows = judged.memory_allows.map(|allows| (allows.bytes_per_second / 1e6) as u64);
    assert_eq!(allows, expected, "{judged:?}");
    assert_eq!(judged.memory_unknown.is_none(), expected.is_some(), "{judged:?}");
}

fn slots(platform: &mut Platform, change: impl Fn(&mut MemorySlot)) {
    platform.slots.iter_mut().flatten().for_each(change);
}

#[test]
fn memory_allows_what_its_filled_channels_carry() {
    allows(|_| {}, Some(4 * 8 * 2933));
    // Two modules on one channel share it.
    allows(|it| it.controllers[1].modules[1].channel = Some(0), Some(3 * 8 * 2933));
    // One module is faster: no channel is faster than it.
    allows(|it| it.slots.as_mut().expect("it has some")[0].speed = Some(3200), Some(4 * 8 * 3200));
}

#[test]
fn memory_allows_nothing_known_if_one_fact_is_missing() {
    allows(|it| it.controllers.clear(), None);
    allows(|it| it.controllers[0].modules[0].channel = None, None);
    allows(|it| it.controllers[0].modules[0].size = None, None);
    allows(|it| it.controllers.iter_mut().for_each(|it| it.modules.clear()), None);
    // Channels of laptops may have 16 or 32 bits.
    allows(|it| it.controllers[0].driver = Some("Intel_client_SoC MC#0".to_string()), None);
    allows(|it| it.controllers[0].driver = None, None);
    allows(|it| it.slots = None, None);
    // A module that the driver does not see is on a channel that nobody tells.
    allows(|it| it.slots.as_mut().expect("it has some").push(slot()), None);
    allows(|it| slots(it, |slot| slot.filled = None), None);
    allows(|it| slots(it, |slot| slot.data_width = Some(32)), None);
    allows(|it| slots(it, |slot| slot.data_width = None), None);
    allows(|it| slots(it, |slot| slot.technology = Some("LPDDR4".to_string())), None);
    allows(|it| slots(it, |slot| slot.technology = None), None);
    allows(|it| slots(it, |slot| slot.speed = None), None);
    // This may be the clock of DDR4-3200.
    allows(|it| slots(it, |slot| slot.speed = Some(1600)), None);
    assert_eq!(judge_platform(&server(), &[], true).memory_allows, None);
}

#[track_caller]
fn odd(change: impl Fn(&mut Platform), is_guest: bool, expected: &[Code]) {
    let mut platform = server();
    change(&mut platform);
    let judged = judge_platform(&platform, &[], is_guest);
    let codes: Vec<Code> = judged.findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, expected, "{judged:?}");
}

#[test]
fn a_controller_with_fewer_filled_channels_than_its_fellow_is_odd() {
    let lose = |it: &mut Platform| it.controllers[1].modules.truncate(1);
    odd(|_| {}, false, &[]);
    odd(lose, false, &[Code::ChannelsEmpty]);
    odd(|it| it.controllers[1].modules.clear(), false, &[Code::ChannelsEmpty]);
    odd(lose, true, &[]);
    // Several modules on one channel, as many channels elsewhere, another kind, an unknown channel.
    let twice = |it: &mut Platform| {
        let module = it.controllers[0].modules[0].clone();
        it.controllers[0].modules.push(module);
    };
    odd(twice, false, &[]);
    odd(|it| it.controllers[1].modules[1].channel = Some(2), false, &[]);
    let other = |it: &mut Platform| {
        lose(it);
        it.controllers[1].driver = Some("Knights Landing".to_string());
    };
    odd(other, false, &[]);
    // Memory of the processor's own.
    let own = |it: &mut Platform| {
        lose(it);
        for module in &mut it.controllers[0].modules {
            module.technology = Some("HBM2".to_string());
        }
    };
    odd(own, false, &[]);
    let unknown = |it: &mut Platform| {
        lose(it);
        it.controllers[0].modules[0].channel = None;
    };
    odd(unknown, false, &[]);
    odd(|it| it.controllers.truncate(1), false, &[]);
}

#[test]
fn memory_errors_are_odd_with_their_module() {
    let bad = |it: &mut Platform| {
        it.controllers[0].corrected = Some(7);
        it.controllers[1].uncorrected = Some(1);
        it.controllers[0].modules[1].corrected = Some(7);
    };
    odd(bad, false, &[Code::MemoryErrors]);
    odd(bad, true, &[]);
    odd(|it| it.controllers[0].corrected = None, false, &[]);
    let mut platform = server();
    bad(&mut platform);
    let message = &judge_platform(&platform, &[], false).findings[0].message;
    assert!(message.ends_with("7 corrected and 1 uncorrected, in mc0 slot 1"), "{message}");
}

#[test]
fn encryption_without_instructions_for_it_is_odd() {
    let hop = |maker| Hop::new("dm-0", HopKind::Mapped(MappedHop { mapped: None, maker }), vec![]);
    let check = |aes, driver: &str, maker, expected: &[Code]| {
        let xts_drivers = [driver].into_iter().filter(|it| !it.is_empty());
        let xts_drivers = xts_drivers.map(str::to_string).collect();
        let processors = Processors { aes, xts_drivers, ..Processors::default() };
        let platform = Platform { processors, ..Platform::default() };
        // A guest computes with the instructions that it sees.
        for is_guest in [false, true] {
            let judged = judge_platform(&platform, &[&hop(maker)], is_guest);
            let codes: Vec<Code> = judged.findings.iter().map(|finding| finding.code).collect();
            assert_eq!(codes, expected, "{driver}");
        }
    };
    let (generic, crypt) = ("xts(ecb(aes-generic))", MappedMaker::Crypt);
    check(Some(false), generic, crypt, &[Code::SoftwareAes]);
    check(Some(false), generic, MappedMaker::Lvm, &[]);
    check(Some(true), generic, crypt, &[]);
    check(None, generic, crypt, &[]);
    check(Some(false), "", crypt, &[]);
    check(Some(false), "xts-aes-neonbs", crypt, &[]);
}

#[test]
fn a_run_notes_what_is_odd_about_its_machine() {
    let found = |platform: Platform| {
        let mut record = zoo::record();
        record.header.host.platform = Some(Box::new(platform));
        let codes = assess(&record).findings.into_iter().map(|found| found.finding.code);
        codes.filter(|code| *code == Code::ChannelsEmpty).count()
    };
    let mut lost = server();
    lost.controllers[1].modules.truncate(1);
    assert_eq!((found(server()), found(lost)), (0, 1));
}
