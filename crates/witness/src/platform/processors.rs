//! The processors: how many, how fast they may run, and what they have for encryption.

use crate::cpus::{allowed, by_core, directories, parse_cpus};
use crate::machine::cpuinfo_value;
use crate::root::Root;
use crate::sysfs::{flag, number, text};
use model::platform::Processors;
use model::setup::Node;
use std::collections::BTreeSet;
use std::path::PathBuf;

const CPUS: &str = "/sys/devices/system/cpu";

/// The processors of the machine with this `/proc/cpuinfo` and these nodes.
pub(super) fn processors(root: &Root, cpuinfo: &str, nodes: &[Node]) -> Processors {
    let cpus: Vec<PathBuf> = directories(root).collect();
    let kilohertz = |name: &str| {
        let of_cpu = |cpu: &PathBuf| number(&cpu.join("cpufreq").join(name));
        cpus.iter().filter_map(of_cpu).filter(|kilohertz| *kilohertz > 0).max()
    };
    let online = text(&root.at(CPUS).join("online")).and_then(|list| parse_cpus(&list));
    let (packages, cores) = places(&cpus);
    Processors {
        packages,
        cores,
        threads: online.map(|cpus| cpus.len() as u32),
        frequency_most: kilohertz("cpuinfo_max_freq"),
        frequency_limit: kilohertz("scaling_max_freq"),
        boost: boost(root),
        aes: aes(cpuinfo),
        xts_drivers: text(&root.at("/proc/crypto")).map(|it| xts_drivers(&it)).unwrap_or_default(),
        isolated: text(&root.at(CPUS).join("isolated")).filter(|list| parse_cpus(list).is_some()),
        usable_nodes: usable_nodes(root, nodes),
        apart: by_core(root).map(|cpus| cpus.apart.len() as u32),
    }
}

/// The numbers of packages and of cores with an online thread. Offline CPUs tell no place.
fn places(cpus: &[PathBuf]) -> (Option<u32>, Option<u32>) {
    let number = |cpu: &PathBuf, name: &str| -> Option<u64> {
        // Some firmware tells no package: the kernel then has -1.
        number(&cpu.join("topology").join(name))
    };
    let package = |cpu| number(cpu, "physical_package_id");
    let packages: BTreeSet<u64> = cpus.iter().filter_map(package).collect();
    // A core's number is only unique in its package, and on some machines in its die; the list of
    // its threads is unique.
    let threads = |cpu: &PathBuf| text(&cpu.join("topology/thread_siblings_list"));
    let cores: BTreeSet<String> = cpus.iter().filter_map(threads).collect();
    let cores: BTreeSet<Vec<u32>> = cores.iter().filter_map(|list| parse_cpus(list)).collect();
    let count = |len: usize| u32::try_from(len).ok().filter(|count| *count > 0);
    (count(packages.len()), count(cores.len()))
}

/// Whether cores may run above their base frequency.
fn boost(root: &Root) -> Option<bool> {
    let no_turbo = flag(&root.at(CPUS).join("intel_pstate/no_turbo"));
    no_turbo.map(|off| !off).or_else(|| flag(&root.at(CPUS).join("cpufreq/boost")))
}

/// Whether the first CPU has instructions for AES: x86 tells flags, ARM features.
fn aes(cpuinfo: &str) -> Option<bool> {
    let flags = cpuinfo_value(cpuinfo, "flags").or_else(|| cpuinfo_value(cpuinfo, "Features"))?;
    (!flags.is_empty()).then(|| flags.split_ascii_whitespace().any(|flag| flag == "aes"))
}

/// The drivers of `xts(aes)` in `/proc/crypto`: the kernel makes them when one is first used.
fn xts_drivers(crypto: &str) -> Vec<String> {
    let is_xts = |entry: &&str| cpuinfo_value(entry, "name") == Some("xts(aes)");
    let drivers = crypto.split("\n\n").filter(is_xts);
    let drivers: BTreeSet<String> =
        drivers.filter_map(|entry| cpuinfo_value(entry, "driver").map(str::to_string)).collect();
    drivers.into_iter().collect()
}

/// The nodes with a CPU that this process may use.
fn usable_nodes(root: &Root, nodes: &[Node]) -> Vec<u32> {
    let Some(allowed) = allowed(root) else { return Vec::new() };
    let is_usable = |node: &&Node| {
        let cpus = parse_cpus(&node.cpus).unwrap_or_default();
        cpus.iter().any(|cpu| allowed.binary_search(cpu).is_ok())
    };
    nodes.iter().filter(is_usable).map(|node| node.number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aes_is_known_only_where_flags_are_told() {
        assert_eq!(aes("flags\t\t: fpu aes avx\n"), Some(true));
        assert_eq!(aes("flags\t\t: fpu vaes avx\n"), Some(false));
        assert_eq!(aes("Features\t: fp asimd aes crc32\n"), Some(true));
        assert_eq!(aes("Features\t: fp asimd crc32\n"), Some(false));
        assert_eq!(aes("flags\t\t:\n"), None);
        assert_eq!(aes("isa\t: rv64imafdc\n"), None);
    }

    #[test]
    fn what_computes_xts_is_named_by_the_kernel() {
        let crypto = "name         : xts(aes)\ndriver       : xts(ecb(aes-generic))\n\n\
                      name         : cbc(aes)\ndriver       : cbc-aes-aesni\n\n\
                      name         : xts(aes)\ndriver       : xts-aes-aesni\n";
        assert_eq!(xts_drivers(crypto), ["xts(ecb(aes-generic))", "xts-aes-aesni"]);
        assert!(xts_drivers("").is_empty());
    }
}
