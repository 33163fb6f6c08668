//! Pages made from the public layouts, and trees of machines.

use super::nvme::{self, Page};
use super::*;
use crate::sysfs::file_name;
use crate::sysfs::tests::Sys;
use model::vitals::{CapPage, CapTimes};
use proptest::prelude::*;
use std::fs;

/// A SMART page: 71 °C, slowed down 3 times lightly, 1 heavily, for 40 and 2 seconds.
fn smart_page() -> Vec<u8> {
    let mut page = vec![0; 512];
    page[0] = 2;
    page[1..3].copy_from_slice(&344u16.to_le_bytes());
    (page[3], page[4], page[5]) = (100, 10, 7);
    page[160] = 5;
    for (at, number) in [(192, 9u32), (196, 1), (216, 3), (220, 1), (224, 40), (228, 2)] {
        page[at..at + 4].copy_from_slice(&number.to_le_bytes());
    }
    page
}

fn caps_page(magic: u32) -> Vec<u8> {
    let mut page = vec![0; 4096];
    page[..4].copy_from_slice(&magic.to_le_bytes());
    for (number, at) in (1u64..).zip((8..96).step_by(8)) {
        page[at..at + 8].copy_from_slice(&number.to_le_bytes());
    }
    page
}

#[test]
fn a_smart_page_is_read_by_its_layout() {
    let page = nvme::smart(&smart_page()).unwrap();
    assert_eq!((page.critical_warning, page.temperature_k), (2, Some(344)));
    assert_eq!((page.spare_percent, page.used_percent, page.media_errors), (100, 7, 5));
    assert_eq!((page.warning_minutes, page.critical_minutes), (9, 1));
    assert_eq!((page.slowed_times, page.slowed_s), ([3, 1], [40, 2]));
    // A page that nobody filled says nothing, and no drive works at 0 or at 65535 kelvins.
    assert_eq!(nvme::smart(&[0; 512]), None);
    for kelvins in [[0, 0], [0xff, 0xff]] {
        let mut odd = smart_page();
        odd[1..3].copy_from_slice(&kelvins);
        assert_eq!(nvme::smart(&odd).unwrap().temperature_k, None);
    }
    assert_eq!(nvme::smart(&[0xff; 512]), None);
}

#[test]
fn a_page_of_caps_is_known_by_its_magic() {
    let instance = CapTimes { iops_us: 9, throughput_us: 10 };
    let volume = Some(CapTimes { iops_us: 7, throughput_us: 8 });
    assert_eq!(nvme::caps(&caps_page(0x3c23_b510)), Some(CapPage { volume, instance }));
    let of_instance = nvme::caps(&caps_page(0xec2c_0d7e));
    assert_eq!(of_instance, Some(CapPage { volume: None, instance }));
    assert_eq!(nvme::caps(&caps_page(0)), None);
}

proptest! {
    #[test]
    fn what_is_cut_off_is_no_page(bytes in 0usize..4096) {
        prop_assert_eq!(nvme::caps(&caps_page(0x3c23_b510)[..bytes]), None);
        let smart = smart_page();
        prop_assert_eq!(nvme::smart(&smart[..bytes % smart.len()]), None);
    }

    #[test]
    fn another_magic_is_no_page(magic: u32) {
        prop_assume!(magic != 0x3c23_b510 && magic != 0xec2c_0d7e);
        prop_assert_eq!(nvme::caps(&caps_page(magic)), None);
    }

    /// Whatever a drive answers, a temperature is one that a drive can have.
    #[test]
    fn no_garbage_is_a_temperature(page in prop::collection::vec(any::<u8>(), 512)) {
        let kelvins = nvme::smart(&page).and_then(|page| page.temperature_k);
        prop_assert!(kelvins.is_none_or(|kelvins| (223..=423).contains(&kelvins)));
    }
}

/// A disk of a controller with this model, transport and state, at `sys`.
fn drive(sys: &Sys, files: &[(&str, &str)]) {
    let controller = sys.path().join("devices/nvme/nvme0");
    let disk = sys.block("nvme/nvme0/nvme0n1", 0, &[("queue/rotational", "0")]);
    std::os::unix::fs::symlink(&controller, disk.join("device")).unwrap();
    for (name, text) in files {
        let file = controller.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, format!("{text}\n")).unwrap();
    }
}

/// Which pages a controller with these files is asked for, and what is known of it then.
fn asked(files: &[(&str, &str)]) -> (Vec<Page>, Vec<DriveLog>) {
    let sys = Sys::new();
    drive(&sys, files);
    let pages = std::cell::RefCell::new(Vec::new());
    let seen = seen(&sys.root(), &[Path::new("/dev/nvme0n1")], |controller, page| {
        assert_eq!(file_name(controller), "nvme0");
        pages.borrow_mut().push(page);
        Some(if page == Page::Smart { smart_page() } else { caps_page(0x3c23_b510) })
    });
    (pages.into_inner(), seen.drives)
}

#[test]
fn only_a_local_drive_that_is_awake_is_asked_and_only_the_cloud_s_for_caps() {
    const MODEL: (&str, &str) = ("model", "ACME 990");
    const PCIE: (&str, &str) = ("transport", "pcie");
    const LIVE: (&str, &str) = ("state", "live");
    let (pages, drives) = asked(&[MODEL, PCIE, LIVE]);
    assert_eq!((pages, drives[0].capped), (vec![Page::Smart], None));
    assert_eq!((&*drives[0].name, drives[0].smart.is_some()), ("nvme0n1", true));
    let (pages, drives) = asked(&[("model", "Amazon Elastic Block Store"), PCIE, LIVE]);
    assert_eq!((pages, drives[0].capped.is_some()), (vec![Page::Smart, Page::Caps], true));
    for files in [
        vec![MODEL, LIVE],
        vec![MODEL, ("transport", "tcp"), LIVE],
        vec![MODEL, PCIE, ("state", "resetting")],
        vec![MODEL, PCIE],
        vec![MODEL, PCIE, LIVE, ("device/power/runtime_status", "suspended")],
    ] {
        assert_eq!(asked(&files), (Vec::new(), Vec::new()), "{files:?}");
    }
}

/// What a machine with these files tells, apart from paths.
fn told(files: &[(&str, &str)]) -> Vitals {
    let tree = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let file = tree.path().join("sys/devices/system").join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, format!("{text}\n")).unwrap();
    }
    seen(&Root::of(tree.path()), &[], |_, _| panic!("there is no drive"))
}

#[test]
fn counters_of_all_cpus_and_memory_controllers_are_added_up() {
    let seen = told(&[
        ("cpu/cpu0/thermal_throttle/core_throttle_count", "3"),
        ("cpu/cpu0/thermal_throttle/package_throttle_count", "5"),
        ("cpu/cpu0/thermal_throttle/core_throttle_total_time_ms", "70"),
        ("cpu/cpu10/thermal_throttle/core_throttle_count", "4"),
        ("cpu/cpu10/thermal_throttle/package_throttle_count", "5"),
        ("cpu/cpu10/thermal_throttle/core_throttle_total_time_ms", "80"),
        ("cpu/cpufreq/thermal_throttle/core_throttle_count", "1000"),
        ("cpu/cpu0/cpuidle/state0/name", "POLL"),
        ("cpu/cpu0/cpuidle/state0/latency", "0"),
        ("cpu/cpu0/cpuidle/state0/usage", "1"),
        ("cpu/cpu0/cpuidle/state0/time", "2"),
        ("cpu/cpu0/cpuidle/state1/name", "C6"),
        ("cpu/cpu0/cpuidle/state1/latency", "133"),
        ("cpu/cpu0/cpuidle/state1/usage", "10"),
        ("cpu/cpu0/cpuidle/state1/time", "9000"),
        ("cpu/cpu10/cpuidle/state1/name", "C6"),
        ("cpu/cpu10/cpuidle/state1/usage", "1"),
        ("cpu/cpu10/cpuidle/state1/time", "100"),
        ("edac/mc/mc0/ce_count", "7"),
        ("edac/mc/mc0/ue_count", "0"),
        ("edac/mc/mc1/ce_count", "1"),
        ("edac/mc/mc1/ue_count", "1"),
    ]);
    let throttles = Throttles { cpus: 2, core: 7, package: Some(10), core_ms: Some(150) };
    assert_eq!(seen.throttles, Some(throttles));
    let errors = MemoryErrors { controllers: 2, corrected: 8, uncorrected: 1 };
    assert_eq!(seen.memory_errors, Some(errors));
    let states = seen.idle_states.iter().map(|it| (&*it.name, it.wake_us, it.entries, it.us));
    assert_eq!(states.collect::<Vec<_>>(), [("POLL", Some(0), 1, 2), ("C6", Some(133), 11, 9_100)]);
}

#[test]
fn what_no_file_tells_is_unknown() {
    assert_eq!(told(&[]), Vitals::default());
    let garbage = told(&[
        ("cpu/cpu0/thermal_throttle/core_throttle_count", "Unknown"),
        ("cpu/cpu0/cpuidle/state0/name", "C1"),
        ("cpu/cpu0/cpuidle/state0/usage", "-1"),
        ("cpu/cpu0/cpuidle/state0/time", ""),
        ("edac/mc/mc0/ce_count", "9"),
    ]);
    assert_eq!(garbage, Vitals::default());
    // A kernel that counts no time.
    let old = told(&[("cpu/cpu0/thermal_throttle/core_throttle_count", "3")]);
    let throttles = Throttles { cpus: 1, core: 3, package: None, core_ms: None };
    assert_eq!(old.throttles, Some(throttles));
}
