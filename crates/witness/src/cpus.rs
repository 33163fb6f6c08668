//! The machine's CPUs, and those that this program may use.

use crate::root::Root;
use crate::sysfs;
use std::ops::RangeInclusive;

/// A set of CPU numbers of any size.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cpus(Vec<RangeInclusive<u32>>);

impl Cpus {
    /// Parses the OS's list format, as in `0-3,8,10-11`. `None` if `list` is malformed.
    pub(crate) fn parse(list: &str) -> Option<Cpus> {
        let range = |text: &str| {
            let (first, last) = text.split_once('-').unwrap_or((text, text));
            Some(first.parse().ok()?..=last.parse().ok()?)
        };
        let texts = list.trim().split(',').filter(|text| !text.is_empty());
        texts.map(range).collect::<Option<Vec<_>>>().map(Cpus)
    }

    /// The number of CPUs.
    pub(crate) fn count(&self) -> u32 {
        self.0.iter().map(|range| count(*range.start(), *range.end())).sum()
    }

    /// How many CPUs are also in `others`.
    fn count_among(&self, others: &Cpus) -> u32 {
        let pairs = self.0.iter().flat_map(|one| others.0.iter().map(move |other| (one, other)));
        let common = |(one, other): (&RangeInclusive<u32>, &RangeInclusive<u32>)| {
            count(*one.start().max(other.start()), *one.end().min(other.end()))
        };
        pairs.map(common).sum()
    }
}

fn count(first: u32, last: u32) -> u32 {
    if first <= last { (last - first).saturating_add(1) } else { 0 }
}

/// How many CPUs this program may use, and a note for the reader if the OS does not report it.
///
/// Reads the list as text because it has no size limit. The usual system call's set is too small
/// for machines with more than 1024 CPUs.
pub(crate) fn usable(root: &Root) -> (u32, Option<String>) {
    let status = sysfs::text(&root.at("/proc/self/status")).unwrap_or_default();
    let name = "Cpus_allowed_list:";
    let allowed = status.lines().find_map(|line| Cpus::parse(line.strip_prefix(name)?));
    let online = sysfs::text(&root.at("/sys/devices/system/cpu/online"));
    let online = online.and_then(|list| Cpus::parse(&list)).filter(|cpus| cpus.count() > 0);
    // The allowed CPUs include offline ones.
    let both = || Some(allowed.as_ref()?.count_among(online.as_ref()?)).filter(|count| *count > 0);
    if let Some(count) = both() {
        return (count, None);
    }
    if let Some(online) = online {
        let count = online.count();
        let note = format!(
            "the OS does not report which CPUs this program may use: assuming all {count} online \
             CPUs"
        );
        return (count, Some(note));
    }
    let asked = root.is_machine().then(|| rustix::thread::sched_getaffinity(None).ok()).flatten();
    match asked.map(|set| set.count()).filter(|count| *count > 0) {
        Some(count) => (count, None),
        None => (1, Some("the OS does not report how many CPUs there are: assuming 1".to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn lists_of_cpus_are_counted() {
        let check = |list, expected| {
            assert_eq!(Cpus::parse(list).map(|cpus| cpus.count()), expected, "{list}");
        };
        check("0-3,8,10-11\n", Some(7));
        check("0", Some(1));
        check("", Some(0));
        check("0-4095", Some(4096));
        check("3-1", Some(0));
        check("0-x", None);
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

    #[test]
    fn what_is_not_told_of_cpus_is_said() {
        assert_eq!(check(None, Some("0-63")), (64, true));
        assert_eq!(check(Some("babble"), Some("0-63")), (64, true));
        assert_eq!(check(None, None), (1, true));
    }
}
