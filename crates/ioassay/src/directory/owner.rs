//! Who made a run's folder, as its lock file says, and whether that run is proved to have ended.

use crate::machine::boot;
use rustix::fs::FsWord;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use std::os::fd::AsFd;

/// File systems that one kernel has alone, and whose locks all its processes see: ext2 to ext4,
/// xfs, btrfs, tmpfs, ramfs, f2fs, zfs, bcachefs. Others may be mounted twice (FUSE), by several
/// machines, or above a directory of these that is also used itself (overlay): such users do not
/// see each other's locks. From linux/magic.h.
const OF_ONE_KERNEL: [FsWord; 8] = [
    0xEF53,
    0x5846_5342,
    0x9123_683E,
    0x0102_1994,
    0x8584_58F6,
    0xF2F5_2010,
    0x2FC1_2FC1,
    0xCA45_1A4E,
];

/// What the lock file says of a folder on such a file system.
const SEEN: &str = "all see its lock";

/// The process that made a folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Owner {
    /// The name of its machine.
    pub(super) node: String,
    /// The number of its machine's start; empty if it tells none.
    boot: String,
    /// The namespace of its PID; empty if unknown.
    namespace: String,
    pid: Option<i32>,
    /// Whether all processes that reach the folder see its lock.
    is_lock_seen: bool,
}

impl Owner {
    /// This process, in a folder on the file system of `folder`.
    pub(super) fn here(folder: impl AsFd) -> Owner {
        let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        let kind = rustix::fs::fstatfs(folder).map(|found| found.f_type);
        Owner {
            node: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            boot: boot().unwrap_or_default(),
            namespace: namespace.to_string_lossy().into_owned(),
            pid: Some(rustix::process::getpid().as_raw_nonzero().get()),
            is_lock_seen: kind.is_ok_and(|kind| OF_ONE_KERNEL.contains(&kind)),
        }
    }

    /// The same; without a lock, if it got none.
    pub(super) fn with_lock(self, is_locked: bool) -> Owner {
        Owner { is_lock_seen: self.is_lock_seen && is_locked, ..self }
    }

    /// The content of the lock file.
    pub(super) fn to_text(&self) -> String {
        let Owner { node, boot, namespace, pid, is_lock_seen } = self;
        let pid = pid.map_or(String::new(), |pid| pid.to_string());
        let seen = if *is_lock_seen { SEEN } else { "" };
        format!("{node}\n{boot}\n{namespace}\n{pid}\n{seen}\n")
    }

    /// The owner that a lock file names. Those of older programs say no process.
    pub(super) fn of_text(text: &str) -> Owner {
        let mut lines = text.lines();
        let mut line = || lines.next().unwrap_or_default().to_string();
        let (node, boot, namespace, pid, seen) = (line(), line(), line(), line(), line());
        Owner { node, boot, namespace, pid: pid.parse().ok(), is_lock_seen: seen == SEEN }
    }

    /// Whether it has ended for certain, if its lock is free to `here`. A free lock proves it only
    /// if both see each other's locks: on sshfs or NFS they may not, and machines that are clones,
    /// or containers of one kernel, have the same name or the same start.
    pub(super) fn has_ended(&self, here: &Owner) -> bool {
        if self.is_lock_seen && here.is_lock_seen {
            return true;
        }
        let is_known = !self.boot.is_empty() && !self.namespace.is_empty();
        let has_our_pids = self.boot == here.boot && self.namespace == here.namespace;
        let is_gone = |pid| test_kill_process(pid) == Err(Errno::SRCH);
        is_known && has_our_pids && self.pid.and_then(Pid::from_raw).is_some_and(is_gone)
    }
}

/// A process of this machine that has ended.
#[cfg(test)]
pub(super) fn ended() -> Owner {
    let mut child = std::process::Command::new("true").spawn().expect("it starts");
    let pid = i32::try_from(child.id()).ok();
    child.wait().expect("it ends");
    Owner { pid, ..Owner::here(std::fs::File::open(".").expect("it is there")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This process, where all see its lock, whatever the tests run on.
    fn here() -> Owner {
        let pid = Some(rustix::process::getpid().as_raw_nonzero().get());
        Owner { is_lock_seen: true, pid, ..ended() }
    }

    #[test]
    fn what_is_written_is_read() {
        let own = here();
        assert_eq!(Owner::of_text(&own.to_text()), own);
        let unseen = Owner { is_lock_seen: false, pid: None, ..own };
        assert_eq!(Owner::of_text(&unseen.to_text()), unseen);
        let old = Owner { node: "a".to_string(), boot: "b".to_string(), ..Owner::default() };
        assert_eq!(Owner::of_text("a\nb\n"), old);
    }

    /// Where locks are not seen, only a process that does not exist has ended.
    #[test]
    fn an_owner_has_ended_only_if_that_is_proved() {
        let own = here();
        let unseen = Owner { is_lock_seen: false, ..own.clone() };
        let gone = Owner { is_lock_seen: false, ..ended() };
        assert!(own.has_ended(&own), "its lock would not be free");
        assert!(gone.has_ended(&unseen) && gone.has_ended(&own));
        let other = || "other".to_string();
        for alive in [
            unseen.clone(),
            Owner { boot: other(), ..gone.clone() },
            Owner { namespace: other(), ..gone.clone() },
            Owner { namespace: String::new(), ..gone.clone() },
            Owner { pid: None, ..gone.clone() },
            Owner { is_lock_seen: true, ..Owner::of_text("a\nb\n") },
        ] {
            assert!(!alive.has_ended(&unseen), "{alive:?}");
        }
        // What is left from before this machine's start, on a disk of its own.
        let before = Owner { boot: other(), ..own.clone() };
        assert!(before.has_ended(&own) && !before.has_ended(&unseen));
    }
}
