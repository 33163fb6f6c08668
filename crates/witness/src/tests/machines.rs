//! Descriptions of machines unlike this one, apart from their storage.

use super::tree::Tree;
use crate::host::host_at;
use model::case::Isa;
use model::host::Host;
use model::units::bytes;

/// The machine `name` and its configuration, except for the libc, which is this program's.
fn told(name: &str, isas: &[Isa]) -> (Host, Vec<String>) {
    let host = host_at(&Tree::of(name).root(), isas.to_vec());
    let facts = host.setup.facts().into_iter().filter(|(what, _)| *what != "libc");
    let facts = facts.map(|(what, value)| format!("{what}: {value}")).collect();
    (host, facts)
}

/// Sizes of a page, a huge page, all last-level caches and the largest of them.
fn sizes(host: &Host) -> [String; 4] {
    let told = |size: Option<u64>| size.map_or("unknown".to_string(), bytes);
    let caches = [host.last_level_cache, host.largest_cache];
    [told(Some(host.page)), told(host.huge_page_bytes()), told(caches[0]), told(caches[1])]
}

#[test]
fn two_sockets_with_eight_caches_each() {
    let (host, facts) = told("epyc-md-raid10", &[Isa::Scalar, Isa::Avx2]);
    assert_eq!((host.cores, host.parallelism(), host.cpu_quota), (256, 256, None));
    // One thread uses one sixteenth of the caches.
    assert_eq!(sizes(&host), ["4KiB", "2MiB", "512MiB", "32MiB"]);
    let expected = [
        "CPU governor: performance",
        "cpufreq driver: amd-pstate-epp",
        "SMT: on",
        "NUMA nodes: node 0: CPUs 0-63,128-191, 504 GiB; node 1: CPUs 64-127,192-255, 504 GiB",
        "microcode: 0xa0011d5",
        "mitigations: auto",
        "transparent huge pages: madvise",
        "huge page defrag: madvise",
        "DAMON: on",
    ];
    assert_eq!(facts, expected);
    let affected = host.setup.affected();
    assert_eq!(affected.mitigated, ["retbleed"]);
    assert_eq!(affected.others, ["spec_store_bypass"]);
    assert_eq!(host.setup.load, Some(12.5));
    assert_eq!(host.notes, [] as [String; 0]);
}

/// The cores' caches are not the last level, and the OS does not report the next one.
#[test]
fn pages_of_64_kib_and_caches_that_are_not_told() {
    let (host, facts) = told("arm-64k-pages", &[Isa::Scalar, Isa::Neon]);
    assert_eq!((host.cores, host.parallelism()), (80, 80));
    assert_eq!(sizes(&host), ["64KiB", "512MiB", "unknown", "unknown"]);
    assert_eq!(facts, ["NUMA nodes: node 0: CPUs 0-79", "transparent huge pages: always"]);
    let [note] = host.notes.as_slice() else { panic!("{:?}", host.notes) };
    assert!(note.contains("reports no cache size"), "{note}");
}

#[test]
fn cores_of_two_kinds() {
    let (host, facts) = told("hybrid-laptop", &[Isa::Scalar, Isa::Avx2]);
    assert_eq!((host.cores, host.parallelism()), (16, 16));
    assert_eq!(sizes(&host), ["4KiB", "2MiB", "18MiB", "18MiB"]);
    let expected = [
        "CPU governor: powersave",
        "cpufreq driver: intel_pstate",
        "kinds of cores: 0-7 are cpu_core; 8-15 are cpu_atom",
        "SMT: on",
    ];
    assert_eq!(facts, expected);
    let kinds = host.setup.core_kinds.iter().map(|kind| (kind.name.as_str(), kind.count));
    assert_eq!(kinds.collect::<Vec<_>>(), [("cpu_core", 8), ("cpu_atom", 8)]);
}

/// The tightest of a process's groups and all above binds. Version 2 gives each group its part of
/// `vm.dirty_ratio`; in version 1 only its whole limit makes a writer wait.
#[test]
fn the_control_group_that_binds_limits_dirty_pages() {
    let check = |mounts: &str, ratio: u32, expected: Option<u64>| {
        let tree = Tree::unpack(&format!(
            "/proc/7/cgroup:\n  | 4:memory:/job/part\n  | 0::/job/part\n\
             /proc/self/mountinfo:\n{mounts}/proc/sys/vm/\n  dirty_ratio = {ratio}\n\
             /v1/memory/\n  memory.limit_in_bytes = 9223372036854771712\n\
             /v1/memory/job/\n  memory.limit_in_bytes = 268435456\n\
             /v1/memory/job/part/\n  memory.limit_in_bytes = 536870912\n\
             /v2/\n  cgroup.procs =\n\
             /v2/job/\n  memory.max = 1073741824\n  memory.high = 536870912\n\
             /v2/job/part/\n  memory.max = max\n  memory.high = max\n"
        ));
        assert_eq!(crate::cgroup::dirty_quota(&tree.root(), 7), expected, "{mounts} {ratio}");
    };
    let old = "  | 30 20 0:26 / /v1/memory rw - cgroup cgroup rw,memory\n";
    let new = "  | 31 20 0:27 / /v2 rw - cgroup2 cgroup2 rw\n";
    check(old, 20, Some(256 << 20));
    check(new, 20, Some((512 << 20) / 5));
    // With `vm.dirty_bytes`, the ratio is 0, and the group's limit is an upper bound.
    check(new, 0, Some(512 << 20));
    check(&format!("{old}{new}"), 20, Some((512 << 20) / 5));
    check("  | 20 1 8:1 / / rw - ext4 /dev/sda1 rw\n", 20, None);
}

#[test]
fn a_pod_has_the_time_of_few_of_the_cpus_that_it_sees() {
    let (host, _) = told("kubernetes-pod", &[Isa::Scalar, Isa::Avx2]);
    assert_eq!((host.cores, host.cpu_quota, host.parallelism()), (64, Some(1.5), 2));
    assert_eq!(sizes(&host), ["4KiB", "2MiB", "32MiB", "16MiB"]);
    // 2 GiB, of which 512 MiB are used; half of that is reclaimable page cache.
    assert_eq!(host.memory_available, Some((2 << 30) - (256 << 20)));
    assert_eq!((host.memory_quota, host.notes), (Some(2 << 30), Vec::new()));
}
