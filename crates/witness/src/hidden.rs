//! What the OS usually shows and hides from this process, as containers do. What is hidden is
//! unknown: the reader is told, because its faults cannot be found.

use crate::cgroup;
use crate::root::Root;
use model::list::{either, listed};

/// Counters that every Linux shows, and what nothing else does.
const SHOWN: [(&str, &str); 4] = [
    ("/proc/stat", "the time that a hypervisor gave to others"),
    ("/proc/vmstat", "swapping, and how much may wait to be written"),
    ("/proc/self/io", "the bytes that each process moved"),
    ("/proc/meminfo", "how much memory is left, and how much waits to be written"),
];

/// Notes for the reader, one sentence each.
pub(crate) fn notes(root: &Root) -> Vec<String> {
    let counters = root.is_machine().then(|| of_counters(root)).flatten();
    of_groups(root).into_iter().chain(counters).collect()
}

fn of_groups(root: &Root) -> Option<String> {
    let hidden = cgroup::hidden(root);
    (!hidden.is_empty()).then(|| {
        format!(
            "no control group of this process is visible that may limit its {}: ioassay assumes \
             that none does; mount /sys/fs/cgroup read-only to show them",
            either(&hidden)
        )
    })
}

/// Masked files cannot be read, or are empty.
fn of_counters(root: &Root) -> Option<String> {
    let is_hidden =
        |path: &str| std::fs::read(root.at(path)).map_or(true, |content| content.is_empty());
    let hidden: Vec<String> = SHOWN
        .iter()
        .filter(|(path, _)| is_hidden(path))
        .map(|(path, what)| format!("{path} ({what})"))
        .collect();
    (!hidden.is_empty())
        .then(|| format!("hidden here: {}; no finding that needs it can be made", listed(&hidden)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// The notes of a machine with these files.
    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let tree = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = tree.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let notes = notes(&Root::of(tree.path()));
        assert_eq!(notes.len(), expected.len(), "{files:?}: {notes:?}");
        for (note, expected) in notes.iter().zip(expected) {
            assert!(note.contains(expected), "{note} lacks {expected}");
        }
    }

    const GROUP: &str = "proc/self/cgroup";
    const MOUNTS: &str = "proc/self/mountinfo";

    /// A line of mountinfo.
    fn mount(root: &str, kind: &str) -> String {
        format!("30 20 0:26 {root} /sys/fs/cgroup/{kind} ro - {kind} cgroup rw\n")
    }

    #[test]
    fn groups_that_no_mount_shows_may_limit_unseen() {
        let all = ["may limit its CPU time, memory or I/O:"];
        let (own, there) = (mount("/", "cgroup2"), "sys/fs/cgroup/cgroup2/cgroup.procs");
        check(&[(GROUP, "0::/\n")], &all);
        check(&[(GROUP, "0::/\n"), (MOUNTS, &own), (there, "1\n")], &[]);
        let below = there.replace("cgroup.procs", "pod/cgroup.procs");
        check(&[(GROUP, "0::/pod\n"), (MOUNTS, &own), (&below, "1\n")], &[]);
        // Another mount covers it.
        check(&[(GROUP, "0::/pod\n"), (MOUNTS, &own)], &all);
        // Mounted outside of the namespace, or that of another container.
        let above = mount("/../..", "cgroup2");
        check(&[(GROUP, "0::/\n"), (MOUNTS, &above), (there, "1\n")], &all);
        let other = mount("/other", "cgroup2");
        check(&[(GROUP, "0::/pod\n"), (MOUNTS, &other), (there, "1\n")], &all);
        // Of two mounts, the one with the group counts.
        let both = other + &own;
        check(&[(GROUP, "0::/\n"), (MOUNTS, &both), (there, "1\n")], &[]);
        // The OS has none.
        check(&[], &[]);
    }

    #[test]
    fn each_hierarchy_of_version_1_is_looked_for() {
        let of = |controller: &str, root: &str| {
            format!("30 20 0:26 {root} /cg/{controller} ro - cgroup cgroup rw,{controller}\n")
        };
        let [cpu, memory, io] = ["cpu", "memory", "blkio"].map(|it| of(it, "/"));
        let version_2 = mount("/", "cgroup2");
        let check = |groups: &str, mounts: &[&str], expected: &[&str]| {
            let names = ["cpu/pod", "memory/pod", "cpu", "memory", "blkio"];
            let there = names.map(|name| format!("cg/{name}/cgroup.procs"));
            let mut files: Vec<(&str, &str)> = there.iter().map(|it| (&it[..], "1\n")).collect();
            let mounts = mounts.concat();
            files.extend([(GROUP, groups), (MOUNTS, &mounts)]);
            check(&files, expected);
        };
        let groups = "3:cpu,cpuacct:/pod\n2:memory:/pod\n1:blkio:/\n0::/\n";
        check(groups, &[&cpu, &memory, &io], &[]);
        check(groups, &[&cpu, &version_2], &["may limit its memory or I/O:"]);
        // In a namespace, the group is its root, and the mount shows what is above.
        let inside = groups.replace("/pod", "/");
        check(&inside, &[&cpu, &of("memory", "/.."), &io], &["may limit its memory:"]);
    }

    #[test]
    fn masked_counters_are_named() {
        let tree = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = tree.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let note = || of_counters(&Root::of(tree.path()));
        for (path, _) in SHOWN {
            write(path.trim_start_matches('/'), "1\n");
        }
        assert_eq!(note(), None);
        write("proc/stat", "");
        fs::remove_file(tree.path().join("proc/self/io")).unwrap();
        let said = note().unwrap();
        let [stat, io] = ["/proc/stat (the time", " and /proc/self/io (the bytes"];
        assert!(said.contains(stat) && said.contains(io) && !said.contains("vmstat"), "{said}");
    }
}
