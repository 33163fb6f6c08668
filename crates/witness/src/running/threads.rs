//! The threads of a program: their states in a look, and their own counters.

use procfs::FromRead;
use procfs::process::Stat;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// The states of all threads in one look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct States {
    pub(super) threads: u32,
    pub(super) running: u32,
    /// They wait and no signal interrupts it, as for a device.
    pub(super) blocked: u32,
    /// A signal or a tracer stopped them.
    pub(super) stopped: u32,
}

impl States {
    pub(super) fn of(pids: impl Iterator<Item = u32>) -> States {
        let mut states = States::default();
        for directory in pids.flat_map(tasks) {
            let Some(state) = fs::read(directory.join("stat")).ok().and_then(|it| state(&it))
            else {
                continue;
            };
            states.threads += 1;
            match state {
                b'R' => states.running += 1,
                b'D' => states.blocked += 1,
                b'T' | b't' => states.stopped += 1,
                _ => {}
            }
        }
        states
    }
}

/// The counters of a thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ThreadTimes {
    pub(super) ran_ns: u64,
    pub(super) delay_ns: u64,
    pub(super) device_ticks: u64,
}

/// The counters of all threads; empty if the OS does not count them.
pub(super) fn all(pids: impl Iterator<Item = u32>) -> BTreeMap<u32, ThreadTimes> {
    let mut threads = BTreeMap::new();
    for directory in pids.flat_map(tasks) {
        let id = directory.file_name().and_then(|name| name.to_str()?.parse().ok());
        if let Some((id, thread)) = id.zip(thread(&directory)) {
            threads.insert(id, thread);
        }
    }
    threads
}

fn thread(directory: &std::path::Path) -> Option<ThreadTimes> {
    let text = fs::read_to_string(directory.join("schedstat")).ok()?;
    let mut numbers = text.split_ascii_whitespace().map(str::parse::<u64>);
    let (ran_ns, delay_ns) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    let stat = Stat::from_read(&fs::read(directory.join("stat")).ok()?[..]).ok()?;
    Some(ThreadTimes { ran_ns, delay_ns, device_ticks: stat.delayacct_blkio_ticks.unwrap_or(0) })
}

fn tasks(pid: u32) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

/// The state in `42 (any name) S 1 ...`.
fn state(stat: &[u8]) -> Option<u8> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    stat.get(end.checked_add(2)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_follows_the_name_whatever_that_is() {
        assert_eq!(state(b"42 (cat) S 1 42\n"), Some(b'S'));
        assert_eq!(state(b"42 (a) R (b) D 1 42\n"), Some(b'D'));
        assert_eq!(state(b"42 (cat)"), None);
        assert_eq!(state(b""), None);
    }
}
