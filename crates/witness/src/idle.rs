//! The idle states of CPUs: how often and how long each was entered.

use crate::placement;
use crate::root::Root;
use crate::sysfs::{entries, number, text};
use model::evidence::IdleState;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The counters at one moment of the CPUs that this program and its workers may use. A CPU whose
/// counters the OS does not tell is missing.
#[derive(Debug)]
pub struct IdleCounters(BTreeMap<u32, Vec<StateCounts>>);

/// What a CPU counted of one of its states.
#[derive(Debug)]
struct StateCounts {
    directory: PathBuf,
    entries: u64,
    us: u64,
}

impl IdleCounters {
    /// Those of now.
    pub fn now() -> IdleCounters {
        IdleCounters::of(&Root::machine(), &placement::allowed().unwrap_or_default())
    }

    fn of(root: &Root, cpus: &[u32]) -> IdleCounters {
        let states = |cpu: &u32| {
            let directory = root.at(format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle"));
            let states = entries(&directory).map(StateCounts::now).collect::<Option<Vec<_>>>()?;
            (!states.is_empty()).then_some((*cpu, states))
        };
        IdleCounters(cpus.iter().filter_map(states).collect())
    }

    /// What these CPUs have added since, by state. Empty unless all of them tell it: a part of them
    /// would look like CPUs that slept less.
    pub fn added_on(&self, cpus: &BTreeSet<u32>) -> Vec<IdleState> {
        let states = cpus.iter().map(|cpu| self.0.get(cpu));
        let Some(states) = states.collect::<Option<Vec<_>>>() else { return Vec::new() };
        let added = states.into_iter().flatten().map(StateCounts::added);
        added.collect::<Option<Vec<_>>>().map_or_else(Vec::new, by_name)
    }
}

impl StateCounts {
    fn now(directory: PathBuf) -> Option<StateCounts> {
        let (entries, us) = (number(&directory.join("usage"))?, number(&directory.join("time"))?);
        Some(StateCounts { directory, entries, us })
    }

    /// The state, with what was added since; `None` if a counter is gone or went back.
    fn added(&self) -> Option<IdleState> {
        let now = idle_state(&self.directory)?;
        let (entries, us) = (now.entries.checked_sub(self.entries)?, now.us.checked_sub(self.us)?);
        Some(IdleState { entries, us, ..now })
    }
}

/// The state of a CPU in this directory; `None` if the OS does not tell all of its counters.
pub(crate) fn idle_state(directory: &Path) -> Option<IdleState> {
    let of = |name: &str| number(&directory.join(name));
    let (entries, us) = (of("usage")?, of("time")?);
    let name = text(&directory.join("name"))?;
    Some(IdleState { name, wake_us: of("latency"), entries, us })
}

/// States of several CPUs added up by name, in the order of the first CPU that has them: the deeper
/// the later. If CPUs differ in how long they take to wake up, the shortest time is kept.
pub(crate) fn by_name(states: impl IntoIterator<Item = IdleState>) -> Vec<IdleState> {
    let mut all: Vec<IdleState> = Vec::new();
    for state in states {
        match all.iter_mut().find(|known| known.name == state.name) {
            Some(known) => {
                known.entries = known.entries.saturating_add(state.entries);
                known.us = known.us.saturating_add(state.us);
                known.wake_us = [known.wake_us, state.wake_us].into_iter().flatten().min();
            }
            None => all.push(state),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tempfile::TempDir;

    /// A machine whose CPUs have these states: number of the CPU and the state, its files.
    struct Machine(TempDir);

    impl Machine {
        fn new() -> Machine {
            Machine(TempDir::new().unwrap())
        }

        fn set(&self, cpu: u32, state: u32, files: &[(&str, &str)]) {
            let path = format!("sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}");
            let directory = self.0.path().join(path);
            fs::create_dir_all(&directory).unwrap();
            for (name, text) in files {
                fs::write(directory.join(name), format!("{text}\n")).unwrap();
            }
        }

        fn c6(&self, cpu: u32, [latency, usage, time]: [&str; 3]) {
            let files = [("name", "C6"), ("latency", latency), ("usage", usage), ("time", time)];
            self.set(cpu, 1, &files);
        }

        fn counters(&self, cpus: &[u32]) -> IdleCounters {
            IdleCounters::of(&Root::of(self.0.path()), cpus)
        }
    }

    fn added(counters: &IdleCounters, cpus: &[u32]) -> Vec<(String, Option<u64>, u64, u64)> {
        let states = counters.added_on(&cpus.iter().copied().collect());
        states.into_iter().map(|it| (it.name, it.wake_us, it.entries, it.us)).collect()
    }

    #[test]
    fn what_some_cpus_added_is_added_up_by_state() {
        let machine = Machine::new();
        let poll = [("name", "POLL"), ("latency", "0"), ("usage", "5"), ("time", "9")];
        machine.set(0, 0, &poll);
        machine.c6(0, ["133", "10", "9000"]);
        machine.c6(1, ["170", "4", "400"]);
        machine.c6(2, ["133", "7", "700"]);
        let before = machine.counters(&[0, 1, 2]);
        machine.c6(0, ["133", "12", "9500"]);
        machine.c6(1, ["170", "5", "500"]);
        machine.c6(2, ["133", "999", "99999"]);
        let poll = ("POLL".to_string(), Some(0), 0, 0);
        let c6 = |wake, entries, us| ("C6".to_string(), Some(wake), entries, us);
        assert_eq!(added(&before, &[0, 1]), [poll, c6(133, 3, 600)]);
        assert_eq!(added(&before, &[1]), [c6(170, 1, 100)]);
    }

    #[test]
    fn what_one_cpu_does_not_tell_is_unknown_of_all() {
        let machine = Machine::new();
        machine.c6(0, ["Unknown", "10", "9000"]);
        machine.c6(1, ["133", "10", ""]);
        machine.c6(2, ["133", "10", "9000"]);
        let before = machine.counters(&[0, 1, 2, 3]);
        machine.c6(0, ["Unknown", "12", "9500"]);
        machine.c6(2, ["133", "9", "9500"]);
        assert_eq!(added(&before, &[0]), [("C6".to_string(), None, 2, 500)]);
        for cpus in [&[1][..], &[0, 1], &[2], &[0, 3], &[7], &[]] {
            assert_eq!(added(&before, cpus), [], "{cpus:?}");
        }
        // It was told before the trial only.
        fs::remove_dir_all(machine.0.path().join("sys")).unwrap();
        assert_eq!(added(&before, &[0]), []);
        assert_eq!(added(&machine.counters(&[0]), &[0]), []);
    }
}
