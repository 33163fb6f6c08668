//! The machine.

use crate::machine::{MEMINFO, cpuinfo_value, parse_kilobytes};
use crate::platform::platform;
use crate::root::Root;
use crate::setup::setup;
use crate::{cgroup, cpus, hidden, sysfs};
use model::case::Isa;
use model::host::Host;
use procfs::{FromRead, Meminfo};
use std::collections::BTreeMap;
use std::path::Path;

/// This machine, as the OS describes it. The kernels know which `isas` they can use.
///
/// Unknown values are empty or `None`.
pub fn host(isas: Vec<Isa>) -> Host {
    host_at(&Root::machine(), isas)
}

/// Like [`host`], for the machine whose files are below `root`.
pub(crate) fn host_at(root: &Root, isas: Vec<Isa>) -> Host {
    let uname = rustix::system::uname();
    let cpuinfo = read(&root.at("/proc/cpuinfo")).unwrap_or_default();
    let meminfo = std::fs::read(root.at(MEMINFO)).ok();
    let meminfo = meminfo.and_then(|text| Meminfo::from_read(&text[..]).ok());
    let memory = meminfo.as_ref().map(|info| info.mem_total).filter(|bytes| *bytes > 0);
    let free = meminfo.and_then(|info| info.mem_available).or(memory);
    let memory_available = [free, cgroup::memory_left(root)].into_iter().flatten().min();
    let of_memory = memory_available.is_none().then(|| MEMORY_UNTOLD.to_string());
    let (cores, of_cores) = cpus::usable(root);
    let of_hidden = hidden::notes(root);
    let setup = setup(root, &cpuinfo);
    let (last_level_cache, largest_cache) = last_level_caches(&root.at(CPUS)).unzip();
    let of_caches = last_level_cache.is_none().then(|| CACHES_UNTOLD.to_string());
    Host {
        name: uname.nodename().to_string_lossy().into_owned(),
        os: format!("{} {}", uname.sysname().to_string_lossy(), uname.release().to_string_lossy()),
        cpu: cpu_model(&cpuinfo).unwrap_or_else(|| uname.machine().to_string_lossy().into_owned()),
        cores,
        isas,
        last_level_cache,
        largest_cache,
        caches: data_caches(&root.at(CPUS).join("cpu0")),
        memory,
        memory_available,
        page: page(root),
        huge_page: huge_page(root),
        hypervisor: hypervisor(root),
        clock_source: read(&root.at(CLOCK).join("current_clocksource")),
        cpu_quota: cgroup::cpu_quota(root),
        memory_quota: cgroup::memory_quota(root, memory),
        platform: Some(Box::new(platform(root, &cpuinfo, &setup.nodes))),
        setup,
        notes: of_cores.into_iter().chain(of_caches).chain(of_memory).chain(of_hidden).collect(),
        ..Host::default()
    }
}

const CACHES_UNTOLD: &str = "the OS reports no cache size: only pointer chases can show whether an \
                             array lies in memory";

const MEMORY_UNTOLD: &str = "the OS reports no size of the memory (/proc/meminfo): ioassay does \
                             not check whether buffers and arrays fit";

/// Size of a page in bytes.
fn page(root: &Root) -> u64 {
    let of_tree = || parse_kilobytes(&sysfs::text(&root.at("/proc/self/smaps"))?, "KernelPageSize");
    let asked = root.is_machine().then(|| rustix::param::page_size() as u64);
    asked.or_else(of_tree).unwrap_or(4096)
}

/// Size of a huge page in bytes: a transparent one, or else a reserved one.
fn huge_page(root: &Root) -> Option<u64> {
    let transparent = sysfs::number(&root.at("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size"));
    let set_aside = || parse_kilobytes(&sysfs::text(&root.at(MEMINFO))?, "Hugepagesize");
    transparent.or_else(set_aside).filter(|bytes| bytes.is_power_of_two())
}

const CPUS: &str = "/sys/devices/system/cpu";
const CLOCK: &str = "/sys/devices/system/clocksource/clocksource0";

/// The content of a small file in `/proc` or `/sys` without surrounding whitespace; `None` if it is
/// missing or empty.
fn read(path: &Path) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    // Strings in a device tree end with a zero byte.
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_string())
}

/// The processor's model.
pub(crate) fn cpu_model(cpuinfo: &str) -> Option<String> {
    // The field is "model name" on x86, "cpu" on POWER and "processor 0" on s390. ARM has only
    // numbers.
    let names = ["model name", "Model Name", "cpu", "uarch"];
    let named = names.iter().find_map(|name| cpuinfo_value(cpuinfo, name));
    named.map(str::to_string).or_else(|| {
        let implementer = cpuinfo_value(cpuinfo, "CPU implementer")?;
        let part = cpuinfo_value(cpuinfo, "CPU part")?;
        Some(format!("implementer {implementer} part {part}"))
    })
}

/// Sizes in bytes of a CPU's data caches, from the first level to the last.
fn data_caches(cpu: &Path) -> Vec<u64> {
    let mut levels: BTreeMap<u32, u64> = BTreeMap::new();
    for index in std::fs::read_dir(cpu.join("cache")).into_iter().flatten().flatten() {
        let text = |name: &str| read(&index.path().join(name));
        let level = text("level").and_then(|level| level.parse().ok());
        let size = text("size").as_deref().and_then(parse_cache_size);
        let holds_data = text("type").is_some_and(|kind| kind != "Instruction");
        if let (Some(level), Some(size), true) = (level, size, holds_data) {
            levels.insert(level, size);
        }
    }
    levels.into_values().collect()
}

/// From this level on, several caches of the last reported level count as last-level caches.
const SHARED_LEVEL_LEAST: u32 = 3;

/// Total size of all caches of the highest level, each counted once, and the size of the largest,
/// in bytes. In a VM, this may be the host's share.
///
/// `None` if the OS reports no caches, or only second-level caches private to each core. Many ARM
/// servers have a further cache that the OS does not report.
fn last_level_caches(cpus: &Path) -> Option<(u64, u64)> {
    let mut caches: BTreeMap<(u32, String), u64> = BTreeMap::new();
    for cpu in std::fs::read_dir(cpus).into_iter().flatten().flatten() {
        let indices = std::fs::read_dir(cpu.path().join("cache"));
        for index in indices.into_iter().flatten().flatten() {
            let text = |name: &str| read(&index.path().join(name));
            let level = text("level").and_then(|level| level.parse().ok());
            let size = text("size").as_deref().and_then(parse_cache_size);
            let shared = text("shared_cpu_list");
            if let (Some(level), Some(size), Some(shared)) = (level, size, shared) {
                caches.insert((level, shared), size);
            }
        }
    }
    let last = caches.keys().map(|(level, _)| *level).max()?;
    caches.retain(|(level, _), _| *level == last);
    // A single cache that CPUs share is the last level. Otherwise each may be private to a core.
    let is_shared = matches!(
        caches.keys().collect::<Vec<_>>()[..],
        [(_, cpus)] if cpus.contains([',', '-'])
    );
    let (all, largest) = (caches.values().sum(), caches.values().copied().max()?);
    (all > 0 && (last >= SHARED_LEVEL_LEAST || is_shared)).then_some((all, largest))
}

/// Parses sysfs's format, as in `32768K`.
fn parse_cache_size(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let shift = match unit {
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// The hypervisor of this machine; `unknown` if there is certainly one but not which. `None` on
/// bare metal.
pub(crate) fn hypervisor(root: &Root) -> Option<String> {
    let dmi = |name: &str| read(&root.at("/sys/class/dmi/id").join(name));
    let flags = read(&root.at("/proc/cpuinfo")).unwrap_or_default();
    Signs {
        is_emulated: root.is_machine() && is_emulated() || is_cpu_of_qemu(&flags),
        xen: read(&root.at("/sys/hypervisor/type")),
        cpu_flag: cpuinfo_value(&flags, "flags")
            .map(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
        device_tree: read(&root.at("/sys/firmware/devicetree/base/hypervisor/compatible")),
        vendor: dmi("sys_vendor"),
        product: dmi("product_name"),
        clocks: read(&root.at(CLOCK).join("available_clocksource")),
    }
    .name()
}

/// The name for a machine whose processor is emulated in software.
const EMULATED: &str = "qemu, emulated";

/// Whether QEMU emulates this processor in software (TCG), according to the CPUID leaf in which
/// hypervisors identify themselves. No other sign distinguishes it from QEMU with KVM.
#[cfg(target_arch = "x86_64")]
fn is_emulated() -> bool {
    use std::arch::x86_64::__cpuid;
    const FEATURES: u32 = 1;
    const HYPERVISOR: u32 = 0x4000_0000;
    let has_hypervisor = __cpuid(FEATURES).ecx >> 31 == 1;
    let name = __cpuid(HYPERVISOR);
    let name = [name.ebx, name.ecx, name.edx].map(u32::to_le_bytes);
    has_hypervisor && name.as_flattened() == b"TCGTCGTCGTCG"
}

/// Other processors do not identify their hypervisor.
#[cfg(not(target_arch = "x86_64"))]
fn is_emulated() -> bool {
    false
}

/// Whether this is QEMU's made-up ARM processor, which no hypervisor has: its implementer is 0x00,
/// and its part is 'Q' (0x51).
fn is_cpu_of_qemu(cpuinfo: &str) -> bool {
    cpuinfo_value(cpuinfo, "CPU implementer") == Some("0x00")
        && cpuinfo_value(cpuinfo, "CPU part") == Some("0x051")
}

/// Evidence of a hypervisor.
#[derive(Default)]
struct Signs {
    /// Whether the processor is emulated in software.
    is_emulated: bool,
    /// Xen's entry in sysfs.
    xen: Option<String>,
    /// The flag that every x86 hypervisor sets and bare metal never has; `None` if the CPU has no
    /// such flags, or they cannot be read.
    cpu_flag: Option<bool>,
    /// The device tree node that ARM hypervisors add.
    device_tree: Option<String>,
    vendor: Option<String>,
    product: Option<String>,
    /// The available clocks; a hypervisor may offer its own.
    clocks: Option<String>,
}

/// Substrings of vendors, products and clocks, and the hypervisor each indicates.
const KNOWN: [(&str, &str); 11] = [
    ("kvm", "kvm"),
    ("qemu", "kvm"),
    ("amazon ec2", "kvm"),
    ("google", "kvm"),
    ("xen", "xen"),
    ("vmware", "vmware"),
    ("virtualbox", "virtualbox"),
    ("innotek", "virtualbox"),
    ("microsoft", "hyper-v"),
    ("hyperv", "hyper-v"),
    ("parallels", "parallels"),
];

impl Signs {
    fn name(&self) -> Option<String> {
        if self.is_emulated {
            return Some(EMULATED.to_string());
        }
        if let Some(kind) = &self.xen {
            return Some(kind.clone());
        }
        let words = [&self.device_tree, &self.product, &self.vendor, &self.clocks];
        let words = words.map(|word| word.as_deref().unwrap_or_default().to_lowercase());
        let known = words.iter().find_map(|word| {
            KNOWN.iter().find(|(sign, _)| word.contains(sign)).map(|(_, name)| name.to_string())
        });
        // Without that flag, as on ARM, the vendor alone must decide. Some of these vendors also
        // offer machines without a hypervisor.
        let is_metal = words[1].contains("metal") || words[2].contains("microsoft");
        let is_told = self.cpu_flag == Some(true) || self.device_tree.is_some();
        match known {
            Some(name) if is_told || !is_metal && self.cpu_flag.is_none() => Some(name),
            _ if is_told => Some("unknown".to_string()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_of_a_cpu_is_found() {
        let x86 =
            "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel\t\t: 1\nmodel name\t: AMD EPYC\n";
        let arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        assert_eq!(cpu_model(x86).as_deref(), Some("AMD EPYC"));
        assert_eq!(cpu_model(arm).as_deref(), Some("implementer 0x41 part 0xd0c"));
        assert_eq!(cpu_model(""), None);
    }

    #[test]
    fn a_cache_size_has_a_unit() {
        for (text, size) in [("32768K", Some(32 << 20)), ("1M", Some(1 << 20)), ("12", None)] {
            assert_eq!(parse_cache_size(text), size, "{text}");
        }
        assert_eq!(parse_cache_size("K"), None);
        assert_eq!(parse_cache_size("5X"), None);
    }

    #[test]
    fn shared_caches_of_the_highest_level_count_once() {
        let cpus = tempfile::tempdir().unwrap();
        let add = |cpu: u32, level: u32, size: &str, shared: &str| {
            let index = cpus.path().join(format!("cpu{cpu}/cache/index{level}"));
            std::fs::create_dir_all(&index).unwrap();
            for (name, text) in
                [("level", level.to_string().as_str()), ("size", size), ("shared_cpu_list", shared)]
            {
                std::fs::write(index.join(name), format!("{text}\n")).unwrap();
            }
        };
        assert_eq!(last_level_caches(cpus.path()), None);
        // Beyond the cores' private caches, there may be one that the OS does not report.
        add(0, 2, "1024K", "0-1");
        assert_eq!(last_level_caches(cpus.path()), Some((1 << 20, 1 << 20)));
        add(0, 2, "1024K", "0");
        add(1, 2, "1024K", "1");
        assert_eq!(last_level_caches(cpus.path()), None);
        for (cpu, shared) in [(0, "0-1"), (1, "0-1"), (2, "2-3"), (3, "2-3")] {
            add(cpu, 2, "512K", &cpu.to_string());
            add(cpu, 3, "4096K", shared);
        }
        assert_eq!(last_level_caches(cpus.path()), Some((8 << 20, 4 << 20)));
        let code = cpus.path().join("cpu0/cache/index1");
        std::fs::create_dir_all(&code).unwrap();
        for (name, text) in [("level", "1"), ("size", "32K"), ("type", "Instruction\n")] {
            std::fs::write(code.join(name), text).unwrap();
        }
        assert!(data_caches(&cpus.path().join("cpu0")).is_empty());
        add(0, 2, "512K", "0");
        for level in [2, 3] {
            let index = cpus.path().join(format!("cpu0/cache/index{level}"));
            std::fs::write(index.join("type"), "Unified\n").unwrap();
        }
        assert_eq!(data_caches(&cpus.path().join("cpu0")), [512 << 10, 4 << 20]);
    }

    #[test]
    fn a_hypervisor_is_named_by_its_signs() {
        let some = |text: &str| Some(text.to_string());
        let check = |signs: Signs, expected: Option<&str>| {
            assert_eq!(signs.name().as_deref(), expected);
        };
        check(Signs::default(), None);
        check(Signs { cpu_flag: Some(true), ..Signs::default() }, Some("unknown"));
        check(Signs { xen: some("xen"), ..Signs::default() }, Some("xen"));
        let firecracker =
            Signs { cpu_flag: Some(true), clocks: some("tsc kvm-clock"), ..Signs::default() };
        check(firecracker, Some("kvm"));
        let qemu = Signs { cpu_flag: Some(true), vendor: some("QEMU"), ..Signs::default() };
        check(qemu, Some("kvm"));
        let qemu = Signs { cpu_flag: Some(true), vendor: some("QEMU"), ..Signs::default() };
        check(Signs { is_emulated: true, ..qemu }, Some("qemu, emulated"));
        assert!(is_cpu_of_qemu("CPU implementer\t: 0x00\nCPU part\t: 0x051\n"));
        assert!(!is_cpu_of_qemu("CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"));
        let laptop = Signs {
            vendor: some("Microsoft Corporation"),
            product: some("Surface Laptop 7"),
            clocks: some("tsc hpet acpi_pm"),
            ..Signs::default()
        };
        check(laptop, None);
        let metal =
            Signs { vendor: some("Amazon EC2"), product: some("c6g.metal"), ..Signs::default() };
        check(metal, None);
        check(Signs { device_tree: some("linux,kvm"), ..Signs::default() }, Some("kvm"));
    }

    #[test]
    fn this_machine_answers() {
        let host = host(vec![Isa::Scalar]);
        assert!(host.os.starts_with("Linux "), "{host:?}");
        assert!(host.cores >= 1 && !host.cpu.is_empty(), "{host:?}");
        assert!(host.memory_available.is_some_and(|bytes| bytes > 0), "{host:?}");
        assert!(host.memory_available <= host.memory, "{host:?}");
        assert!(host.page.is_power_of_two() && host.page >= 4096, "{host:?}");
        assert!(host.huge_page.is_none_or(|bytes| bytes > host.page), "{host:?}");
        assert_eq!(host.isas, [Isa::Scalar]);
    }
}
