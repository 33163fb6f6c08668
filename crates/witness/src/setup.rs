//! The machine's configuration.

use crate::cpus::parse_cpus;
use crate::machine::{cpuinfo_value, parse_kilobytes};
use crate::root::Root;
use crate::sysfs::{chosen, entries, file_name, number, text};
use model::setup::{CoreKind, Node, Setup};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const CPU: &str = "/sys/devices/system/cpu";
const HUGE_PAGES: &str = "/sys/kernel/mm/transparent_hugepage";
const DAMON: &str = "/sys/kernel/mm/damon/admin/kdamonds";

/// The configuration of the machine with this `/proc/cpuinfo`.
pub(crate) fn setup(root: &Root, cpuinfo: &str) -> Setup {
    let huge_pages = |name| chosen(&text(&root.at(HUGE_PAGES).join(name))?);
    Setup {
        governor: of_cpufreq(root, "scaling_governor"),
        frequency_driver: of_cpufreq(root, "scaling_driver"),
        huge_pages: huge_pages("enabled"),
        huge_pages_allowed: text(&root.at("/proc/self/status")).and_then(|it| may_be_huge(&it)),
        huge_pages_defrag: huge_pages("defrag"),
        damon: damon(root),
        mitigations: text(&root.at("/proc/cmdline")).and_then(|line| mitigations(&line)),
        vulnerabilities: vulnerabilities(root),
        microcode: cpuinfo_value(cpuinfo, "microcode").map(str::to_string),
        smt: number(&root.at(CPU).join("smt/active")).map(|active| active == 1),
        core_kinds: core_kinds(root),
        nodes: nodes(root),
        load: text(&root.at("/proc/loadavg")).and_then(|line| load(&line)),
        libc: libc_version(),
        preloaded: preloaded(root),
    }
}

/// Whether a process may use transparent huge pages, according to its status; Linux says so since
/// 5.0. Workers inherit it.
fn may_be_huge(status: &str) -> Option<bool> {
    let value = status.lines().find_map(|line| line.strip_prefix("THP_enabled:"))?;
    Some(value.trim() != "0")
}

/// The names of the libraries that the dynamic linker loads into every program first. Workers
/// inherit the environment of this process.
fn preloaded(root: &Root) -> Option<String> {
    let environment = std::fs::read(root.at("/proc/self/environ")).unwrap_or_default();
    let environment = String::from_utf8_lossy(&environment).into_owned();
    let of_environment = environment.split('\0').find_map(|it| it.strip_prefix("LD_PRELOAD="));
    let of_all = text(&root.at("/etc/ld.so.preload")).unwrap_or_default();
    let is_between = |c: char| c == ':' || c.is_whitespace();
    let paths =
        of_environment.unwrap_or_default().split(is_between).chain(of_all.split(is_between));
    let names = paths.filter_map(|path| path.rsplit('/').next()).filter(|name| !name.is_empty());
    let names: BTreeSet<&str> = names.collect();
    (!names.is_empty()).then(|| names.into_iter().collect::<Vec<_>>().join(", "))
}

/// The distinct values of a cpufreq setting over all CPUs.
pub(crate) fn of_cpufreq(root: &Root, name: &str) -> Option<String> {
    let cpus = entries(&root.at(CPU));
    let told = cpus.filter_map(|cpu| text(&cpu.join("cpufreq").join(name)));
    let told: BTreeSet<String> = told.filter(|text| !text.is_empty()).collect();
    let told: Vec<String> = told.into_iter().collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// Whether DAMON is running, according to its threads or modules; `None` if the OS shows neither.
fn damon(root: &Root) -> Option<bool> {
    let threads = entries(&root.at(DAMON)).filter_map(|thread| text(&thread.join("state")));
    let modules = ["damon_reclaim", "damon_lru_sort", "damon_stat"]
        .into_iter()
        .filter_map(|module| text(&root.at("/sys/module").join(module).join("parameters/enabled")));
    let states: Vec<String> = threads.chain(modules).collect();
    let is_told = !states.is_empty() || root.at(DAMON).is_dir();
    is_told.then(|| states.iter().any(|state| matches!(state.as_str(), "on" | "Y" | "1")))
}

/// The value of `mitigations=` on the kernel command line; the last one wins.
fn mitigations(command_line: &str) -> Option<String> {
    let mut words = command_line.split_ascii_whitespace().rev();
    words.find_map(|word| word.strip_prefix("mitigations=")).map(str::to_string)
}

fn vulnerabilities(root: &Root) -> BTreeMap<String, String> {
    let files = entries(&root.at(CPU).join("vulnerabilities"));
    files.filter_map(|file| Some((file_name(&file), text(&file)?))).collect()
}

/// The kinds of cores, if there are several. On x86 the OS has a device per kind; on ARM each CPU
/// has a capacity.
fn core_kinds(root: &Root) -> Vec<CoreKind> {
    let of_device = |name: &str| {
        let cpus = text(&root.at("/sys/devices").join(name).join("cpus"))?;
        let count = parse_cpus(&cpus)?.len() as u32;
        Some(CoreKind { name: name.to_string(), count, cpus })
    };
    let devices = ["cpu_core", "cpu_atom", "cpu_lowpower"];
    let mut kinds: Vec<CoreKind> = devices.into_iter().filter_map(of_device).collect();
    if kinds.is_empty() {
        kinds = capacities(root);
    }
    if kinds.len() > 1 { kinds } else { Vec::new() }
}

/// The CPUs of each capacity, the fastest first.
fn capacities(root: &Root) -> Vec<CoreKind> {
    let mut cpus: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    for cpu in entries(&root.at(CPU)) {
        let index = file_name(&cpu).strip_prefix("cpu").and_then(|index| index.parse().ok());
        if let (Some(index), Some(capacity)) = (index, number(&cpu.join("cpu_capacity"))) {
            cpus.entry(capacity).or_default().push(index);
        }
    }
    let kind = |(capacity, mut cpus): (u64, Vec<u32>)| {
        cpus.sort_unstable();
        CoreKind {
            name: format!("capacity {capacity}"),
            count: cpus.len() as u32,
            cpus: cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(","),
        }
    };
    cpus.into_iter().rev().map(kind).collect()
}

/// The NUMA nodes, by number.
pub(crate) fn nodes(root: &Root) -> Vec<Node> {
    let node = |path: &Path| {
        let number = file_name(path).strip_prefix("node")?.parse().ok()?;
        let cpus = text(&path.join("cpulist"))?;
        let prefix = format!("Node {number} ");
        let meminfo = text(&path.join("meminfo")).unwrap_or_default().replace(&prefix, "");
        Some(Node { number, cpus, memory: parse_kilobytes(&meminfo, "MemTotal") })
    };
    let directories = entries(&root.at("/sys/devices/system/node"));
    let mut nodes: Vec<Node> = directories.filter_map(|path| node(&path)).collect();
    nodes.sort_by_key(|node| node.number);
    nodes
}

/// The load average of the last minute.
fn load(loadavg: &str) -> Option<f64> {
    loadavg.split(' ').next()?.parse().ok()
}

/// The C library that this program uses.
#[cfg(target_env = "gnu")]
fn libc_version() -> Option<String> {
    // SAFETY: the function takes no arguments and returns a zero-terminated string that lives as
    // long as the program.
    let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    Some(format!("glibc {}", version.to_string_lossy()))
}

/// The C library that is linked into this program. It has no function for its version, only this
/// text, which it keeps to itself if it is a shared library.
#[cfg(all(target_env = "musl", target_feature = "crt-static"))]
fn libc_version() -> Option<String> {
    unsafe extern "C" {
        /// The first character of a zero-terminated constant.
        static __libc_version: std::ffi::c_char;
    }
    // SAFETY: musl defines it as an array that ends with a zero and never changes.
    let version = unsafe { std::ffi::CStr::from_ptr(&raw const __libc_version) };
    Some(format!("musl {}", version.to_string_lossy()))
}

/// The C library that this program uses. This one does not report its version.
#[cfg(not(any(target_env = "gnu", all(target_env = "musl", target_feature = "crt-static"))))]
fn libc_version() -> Option<String> {
    cfg!(target_env = "musl").then(|| "musl".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_about_mitigations_counts() {
        assert_eq!(mitigations("ro quiet"), None);
        assert_eq!(mitigations("mitigations=auto ro").as_deref(), Some("auto"));
        assert_eq!(mitigations("mitigations=auto mitigations=off").as_deref(), Some("off"));
    }

    #[test]
    fn a_process_without_huge_pages_is_told() {
        assert_eq!(may_be_huge("Name:\tx\nTHP_enabled:\t1\n"), Some(true));
        assert_eq!(may_be_huge("Name:\tx\nTHP_enabled:\t0\n"), Some(false));
        assert_eq!(may_be_huge("Name:\tx\n"), None);
    }

    #[test]
    fn libraries_that_are_preloaded_are_named() {
        let machine = tempfile::tempdir().unwrap();
        let place = |path: &str, text: &str| {
            let path = machine.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let told = || preloaded(&Root::of(machine.path()));
        assert_eq!(told(), None);
        place("proc/self/environ", "HOME=/root\0MY_LD_PRELOAD=/a.so\0");
        assert_eq!(told(), None);
        place("proc/self/environ", "A=b\0LD_PRELOAD=/usr/lib/libeatmydata.so:libz.so\0C=d\0");
        assert_eq!(told().as_deref(), Some("libeatmydata.so, libz.so"));
        place("etc/ld.so.preload", "/lib/libz.so\n/lib/liba.so\n");
        assert_eq!(told().as_deref(), Some("liba.so, libeatmydata.so, libz.so"));
    }

    #[test]
    fn what_a_machine_does_not_tell_is_none() {
        let nothing = tempfile::tempdir().unwrap();
        let told = setup(&Root::of(nothing.path()), "");
        assert_eq!(told, Setup { libc: told.libc.clone(), ..Setup::default() });
    }

    #[test]
    fn this_machine_is_set_up_somehow() {
        let told = setup(&Root::machine(), "");
        assert!(told.load.is_some_and(|load| load >= 0.0), "{told:?}");
        let is_named = told.libc.as_deref().is_some_and(|name| match name.split_once(' ') {
            Some((name, version)) => ["glibc", "musl"].contains(&name) && version.contains('.'),
            None => name == "musl",
        });
        assert!(is_named, "{told:?}");
    }
}
