//! The machine's CPUs, and those that this program may use.

use crate::root::Root;
use crate::sysfs;
use std::path::PathBuf;

/// The maximum number of CPUs of any kernel (`NR_CPUS` of Linux 6.18). The C library's set, and the
/// crates built on it, stop at 1024, and the call fails on a kernel built for more.
pub(crate) const CPUS_MOST: usize = 8192;

/// Parses `0-3,8` into ascending numbers, each once. `None` if the list is malformed or empty.
pub fn parse_cpus(list: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last as usize >= CPUS_MOST {
            return None;
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

/// The directories of all CPUs, offline ones included.
pub(crate) fn directories(root: &Root) -> impl Iterator<Item = PathBuf> {
    let all = sysfs::entries(&root.at("/sys/devices/system/cpu"));
    all.filter(|path| sysfs::is_numbered(&sysfs::file_name(path), "cpu"))
}

/// The CPUs that this program may use, offline ones included.
pub(crate) fn allowed(root: &Root) -> Option<Vec<u32>> {
    let status = sysfs::text(&root.at("/proc/self/status"))?;
    let name = "Cpus_allowed_list:";
    status.lines().find_map(|line| parse_cpus(line.strip_prefix(name)?))
}

/// How many CPUs this program may use, and a note for the reader if the OS does not report it.
///
/// Reads the list as text because it has no size limit. The usual system call's set is too small
/// for machines with more than 1024 CPUs.
pub(crate) fn usable(root: &Root) -> (u32, Option<String>) {
    let allowed = allowed(root);
    let online = sysfs::text(&root.at("/sys/devices/system/cpu/online"));
    let online = online.and_then(|list| parse_cpus(&list));
    // The allowed CPUs include offline ones.
    let is_online = |cpu: &&u32| online.as_ref().is_some_and(|all| all.binary_search(cpu).is_ok());
    let both = allowed.iter().flatten().filter(is_online).count();
    if both > 0 {
        return (both as u32, None);
    }
    if let Some(online) = online {
        let count = online.len();
        let note = format!(
            "the OS does not report which CPUs this program may use: assuming all {count} online \
             CPUs"
        );
        return (count as u32, Some(note));
    }
    let asked = root.is_machine().then(|| rustix::thread::sched_getaffinity(None).ok()).flatten();
    match asked.map(|set| set.count()).filter(|count| *count > 0) {
        Some(count) => (count, None),
        None => (1, Some("the OS does not report how many CPUs there are: assuming 1".to_string())),
    }
}

/// The CPUs that this program may use, by what they share with the first of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpusByCore {
    /// The first.
    pub first: u32,
    /// Those of other cores.
    pub apart: Vec<u32>,
    /// The others of its core.
    pub siblings: Vec<u32>,
}

impl CpusByCore {
    /// All of them, in the order in which threads take them: those that share the first one's core
    /// last.
    pub fn in_order(&self) -> impl Iterator<Item = u32> {
        [self.first].into_iter().chain(self.apart.clone()).chain(self.siblings.clone())
    }
}

/// The online CPUs that this program may use; `None` if the OS does not report them, or which of
/// them share a core.
pub(crate) fn by_core(root: &Root) -> Option<CpusByCore> {
    let online = parse_cpus(&sysfs::text(&root.at("/sys/devices/system/cpu/online"))?)?;
    let usable = allowed(root)?.into_iter().filter(|cpu| online.binary_search(cpu).is_ok());
    let usable: Vec<u32> = usable.collect();
    let (first, others) = usable.split_first()?;
    let list = format!("/sys/devices/system/cpu/cpu{first}/topology/thread_siblings_list");
    let core = parse_cpus(&sysfs::text(&root.at(list))?)?;
    let (siblings, apart) = others.iter().partition(|cpu| core.contains(cpu));
    Some(CpusByCore { first: *first, apart, siblings })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn lists_of_cpus_are_read() {
        for (text, cpus) in [("0", vec![0]), ("0-3,8", vec![0, 1, 2, 3, 8]), ("5,4\n", vec![4, 5])]
        {
            assert_eq!(parse_cpus(text), Some(cpus), "{text}");
        }
        assert_eq!(parse_cpus("0-4095").map(|cpus| cpus.len()), Some(4096));
        for text in ["", "all", "0-x", "3-1", "1,", "-1", "0-99999999"] {
            assert_eq!(parse_cpus(text), None, "{text}");
        }
    }

    fn check(allowed: Option<&str>, online: Option<&str>) -> (u32, bool) {
        let tree = tempfile::tempdir().unwrap();
        let write = |path: &str, text: String| {
            let path = tree.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        if let Some(list) = allowed {
            write("proc/self/status", format!("Name:\tx\nCpus_allowed_list:\t{list}\nMems: 0\n"));
        }
        if let Some(list) = online {
            write("sys/devices/system/cpu/online", format!("{list}\n"));
        }
        let (count, note) = usable(&Root::of(tree.path()));
        (count, note.is_some())
    }

    #[test]
    fn a_program_may_run_on_what_is_both_allowed_and_online() {
        assert_eq!(check(Some("0-127"), Some("0-3")), (4, false));
        assert_eq!(check(Some("1,3"), Some("0-3")), (2, false));
        // A system call with a set of 1024 CPUs would fail here.
        assert_eq!(check(Some("0-1919"), Some("0-1919")), (1920, false));
    }

    /// The CPUs by core, with this file of the first one's siblings.
    fn shared(allowed: &str, siblings: Option<(u32, &str)>) -> Option<CpusByCore> {
        let tree = tempfile::tempdir().unwrap();
        let write = |path: &str, text: String| {
            let path = tree.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/self/status", format!("Cpus_allowed_list:\t{allowed}\n"));
        write("sys/devices/system/cpu/online", "0-3,6\n".to_string());
        if let Some((cpu, list)) = siblings {
            let path = format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
            write(&path, format!("{list}\n"));
        }
        by_core(&Root::of(tree.path()))
    }

    #[test]
    fn threads_take_those_that_share_the_first_core_last() {
        let in_order = |allowed, siblings| {
            shared(allowed, Some(siblings)).map(|cpus| cpus.in_order().collect::<Vec<_>>())
        };
        assert_eq!(in_order("0-3", (0, "0,2")), Some(vec![0, 1, 3, 2]));
        assert_eq!(in_order("1-7", (1, "1")), Some(vec![1, 2, 3, 6]));
        assert_eq!(in_order("2", (2, "0,2")), Some(vec![2]));
        let cpus = shared("0-3", Some((0, "0,2"))).expect("it is told");
        assert_eq!((cpus.apart, cpus.siblings), (vec![1, 3], vec![2]));
        for siblings in [None, Some((0, "babble"))] {
            assert_eq!(shared("0-3", siblings), None);
        }
    }

    #[test]
    fn what_is_not_told_of_cpus_is_said() {
        assert_eq!(check(None, Some("0-63")), (64, true));
        assert_eq!(check(Some("babble"), Some("0-63")), (64, true));
        assert_eq!(check(None, None), (1, true));
    }
}
