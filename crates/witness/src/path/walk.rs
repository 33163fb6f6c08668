//! The walk down a path, which ends whatever leads where.

use super::unseen;
use crate::cgroup;
use crate::limits;
use crate::root::Root;
use crate::sysfs::text;
use model::evidence::Limit;
use model::path::{Hop, HopKind};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Devices and mounts that may be on top of one another: more than anyone stacks, and few enough
/// for the stack of a thread.
const DEPTH_MOST: usize = 64;

/// A walk down from a file or a device. It tells each device and each mount once: what several ways
/// lead to would otherwise be told for each of them, and there can be 2^n ways.
pub(crate) struct Walk<'r> {
    pub(super) root: &'r Root,
    /// The directories of the control groups whose limits hold.
    groups: Vec<PathBuf>,
    /// The devices and the mounts above: sysfs directories, and numbers of mounts.
    above: Vec<PathBuf>,
    /// All that were told.
    told: BTreeSet<PathBuf>,
}

impl<'r> Walk<'r> {
    pub(crate) fn new(root: &'r Root) -> Walk<'r> {
        let groups = cgroup::limiting_devices(root);
        Walk { root, groups, above: Vec::new(), told: BTreeSet::new() }
    }

    /// The hop of the device or mount `key`, if it is new; `tell` says what it is, and what is
    /// below it.
    pub(super) fn hop(
        &mut self,
        key: PathBuf,
        name: String,
        tell: impl FnOnce(&mut Self) -> (HopKind, Vec<Hop>),
    ) -> Hop {
        if self.above.contains(&key) {
            return unseen(&format!("its layers lead back to {name}, which is above"));
        }
        if self.above.len() == DEPTH_MOST {
            return unseen("its layers are nested too deeply to follow");
        }
        if !self.told.insert(key.clone()) {
            return Hop::new(name, HopKind::Again, Vec::new());
        }
        self.above.push(key);
        let (kind, below) = tell(self);
        self.above.pop();
        Hop::new(name, kind, below)
    }

    /// The limits of the control groups on the block device at the sysfs directory `path`.
    pub(super) fn limits(&self, name: &str, path: &Path) -> Vec<Limit> {
        let Some(number) = text(&path.join("dev")) else { return Vec::new() };
        let mut limits = limits::on_device(&self.groups, name, &number);
        for limit in &mut limits {
            limit.group = self.root.inside(Path::new(&limit.group)).display().to_string();
        }
        limits
    }
}
