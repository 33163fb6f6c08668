//! Memory and processors of machines unlike this one.

use super::tree::Tree;
use crate::platform::platform;
use crate::root::Root;
use crate::setup::nodes;
use crate::sysfs::text;
use model::platform::{NodeClaim, Platform, Processors};
use std::fs;

fn of(root: &Root) -> Platform {
    let cpuinfo = text(&root.at("/proc/cpuinfo")).unwrap_or_default();
    platform(root, &cpuinfo, &nodes(root))
}

fn told(name: &str) -> Platform {
    of(&Tree::of(name).root())
}

/// What `dmidecode -t 17` says of the same table.
#[test]
fn slots_are_those_that_dmidecode_shows() {
    let slots = told("workstation-dmi").slots.expect("it has a table");
    let shown: Vec<String> = slots
        .iter()
        .map(|slot| {
            let gib = slot.size.map_or(0, |bytes| bytes >> 30);
            let locator = slot.locator.as_deref().unwrap_or_default();
            let technology = slot.technology.as_deref().unwrap_or("-");
            format!("{locator}: {gib} GB {technology} {:?} {:?}", slot.speed_most, slot.data_width)
        })
        .collect();
    let expected = [
        "CPU0 DIMM1: 8 GB DDR3 Some(1600) Some(64)",
        "CPU0 DIMM2: 8 GB DDR3 Some(1600) Some(64)",
        "CPU0 DIMM3: 0 GB - None None",
        "CPU1 DIMM1: 8 GB DDR3 Some(1600) Some(64)",
        "CPU1 DIMM2: 8 GB DDR3 Some(1600) Some(64)",
        "CPU1 DIMM3: 0 GB - None None",
    ];
    assert_eq!(shown, expected);
    let unset = |speed: Option<u64>| speed.is_none();
    assert!(slots.iter().all(|slot| unset(slot.speed)), "SMBIOS 2.6 does not tell what is set");
}

#[test]
fn controllers_tell_their_channels_and_errors() {
    let platform = told("two-sockets-lost-module");
    let each = platform.controllers.iter().map(|controller| {
        let channels = controller.modules.iter().map(|module| module.channel);
        (controller.name.as_str(), controller.corrected, channels.flatten().collect::<Vec<u32>>())
    });
    let all = vec![0, 1, 2];
    let expected = [
        ("mc0", Some(12), all.clone()),
        ("mc1", Some(0), all.clone()),
        ("mc2", Some(0), all),
        ("mc3", Some(0), vec![0, 1]),
    ];
    assert_eq!(each.collect::<Vec<_>>(), expected);
    let bad = platform.controllers[0].modules[1].corrected;
    assert_eq!((bad, platform.slots, platform.slots_need_root), (Some(12), None, false));
    assert_eq!(platform.processors.usable_nodes, [1]);
}

#[test]
fn a_node_without_cpus_has_claims_of_its_own() {
    let platform = told("cxl-hmat");
    let claim = NodeClaim {
        node: 2,
        read_bandwidth: Some(28_000),
        write_bandwidth: None,
        read_latency: Some(250),
        write_latency: None,
    };
    assert_eq!((platform.claims.len(), platform.claims[2]), (3, claim));
    let expected = Processors {
        packages: Some(2),
        cores: Some(64),
        threads: Some(64),
        frequency_most: Some(4_000_000),
        frequency_limit: Some(2_100_000),
        boost: Some(false),
        aes: Some(true),
        xts_drivers: Vec::new(),
        isolated: Some("60-63".to_string()),
        usable_nodes: vec![0, 1],
        apart: Some(63),
    };
    assert_eq!(platform.processors, expected);
}

#[test]
fn a_laptop_without_edac_tells_no_modules() {
    let platform = told("hybrid-laptop");
    assert_eq!((platform.slots, platform.controllers), (None, Vec::new()));
}

/// Every file of a machine that tells all, replaced by the same nonsense.
#[test]
fn garbage_is_unknown() {
    for nonsense in [Some(""), Some("\n"), Some("Unknown\n"), Some("-1\n"), Some("0x1f"), None] {
        let tree = Tree::of("two-sockets-all-channels");
        let mut directories = vec![tree.root().at("/sys/devices/system")];
        directories.push(tree.root().at("/sys/firmware"));
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(&directory).expect("it is there").flatten() {
                let path = entry.path();
                match (path.is_dir(), nonsense) {
                    (true, _) => directories.push(path),
                    (false, Some(text)) => fs::write(path, text).expect("it can be written"),
                    (false, None) => {
                        fs::remove_file(&path).expect("it can be removed");
                        fs::create_dir(&path).expect("it can be made");
                    }
                }
            }
        }
        let platform = of(&tree.root());
        assert_eq!((&platform.slots, &platform.claims), (&None, &Vec::new()), "{nonsense:?}");
        for controller in &platform.controllers {
            let counts = (controller.corrected, controller.uncorrected);
            assert_eq!(counts, (None, None), "{nonsense:?}");
            for module in &controller.modules {
                assert_eq!((module.size, module.channel), (None, None), "{nonsense:?}");
            }
        }
        let processors = Processors { aes: Some(true), ..Processors::default() };
        assert_eq!(platform.processors, processors, "{nonsense:?}");
    }
}
