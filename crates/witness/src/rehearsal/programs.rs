//! The programs that a command executes.

use super::facts::Facts;
use super::files::{Before, SeenFile};
use super::identity::{descriptor, file_at};
use super::role::CommandPlaces;
use model::file_path::FilePath;
use model::rehearsal::{Blind, PROGRAMS_MAX};
use rustix::fs::{StatVfs, StatVfsMountFlags, getxattr_query, statvfs};
use rustix::process::{getegid, geteuid};
use rustix::thread::{CapabilitySet, capabilities, no_new_privs};
use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The most arguments of a program that are read, in bytes.
const ARGUMENT_BYTES_MAX: u64 = 64 << 10;

/// The most descriptors that a command may have got open and that are looked at.
const INHERITED_MAX: usize = 1024;

/// The programs so far.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    listed: Vec<FilePath>,
    known: HashSet<PathBuf>,
    unlisted: u64,
    /// Programs that would have the rights of other users.
    privileged: Vec<PathBuf>,
    pub(crate) places: CommandPlaces,
}

impl Programs {
    /// A process executes a program, which it named so.
    pub(crate) fn executed(&mut self, process: i32, asked: Option<&Path>, facts: &mut Facts) {
        let link = PathBuf::from(format!("/proc/{process}/exe"));
        let Ok(path) = std::fs::read_link(&link) else {
            facts.miss(Blind::Unreadable, "a program hides from its user".to_string());
            // So does one that its user may execute, but not read.
            let hidden = asked.filter(|asked| is_privileged(asked));
            self.privileged.extend(hidden.map(Path::to_path_buf));
            return;
        };
        mark_executed(facts, &link, process);
        // A script was executed if its interpreter is another file.
        let script = asked.filter(|asked| {
            let identity = |path: &Path| file_at(path).map(|found| found.identity);
            identity(asked) != identity(&link)
        });
        if let Some(script) = script {
            mark_executed(facts, script, process);
        }
        if let Ok(directory) = std::fs::read_link(format!("/proc/{process}/cwd")) {
            self.places.began(&path, &arguments(process), &directory);
        }
        if is_32_bit(&link) {
            let text = format!("{}: only some of its calls are counted", path.display());
            facts.miss(Blind::Bits32, text);
        }
        if self.known.contains(&path) {
            return;
        }
        if is_privileged(&link) {
            self.privileged.push(path.clone());
        }
        if self.listed.len() < PROGRAMS_MAX {
            self.listed.push(FilePath::from(&*path));
            self.known.insert(path);
        } else {
            self.unlisted += 1;
        }
    }

    /// The programs so far that would have rights which their user lacks.
    pub(crate) fn privileged(&self) -> &[PathBuf] {
        &self.privileged
    }

    /// The programs that would have rights which their user lacks, and all programs, with the
    /// number of those that are not listed.
    pub(crate) fn finish(self) -> (Vec<PathBuf>, Vec<FilePath>, u64, CommandPlaces) {
        (self.privileged, self.listed, self.unlisted, self.places)
    }
}

fn mark_executed(facts: &mut Facts, link: &Path, process: i32) {
    if let SeenFile::File(place) = facts.files.see(link, process, Before::default()) {
        facts.files.facts(place).executed = true;
    }
}

/// Notes the files that a process has open when it begins.
pub(crate) fn inherits(process: i32, facts: &mut Facts) {
    let Ok(open) = std::fs::read_dir(format!("/proc/{process}/fd")) else { return };
    let numbers = open.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    for number in numbers.take(INHERITED_MAX) {
        let link = descriptor(process, number);
        let flags = || flags_of(process, number).unwrap_or(0);
        match facts.files.see(&link, process, Before::default()) {
            SeenFile::File(place) => {
                let file = facts.files.facts(place);
                file.inherited = true;
                super::facts::note_open(&mut file.opens, flags());
            }
            SeenFile::Other(source) => facts.readable(source, flags()),
            SeenFile::Unlisted | SeenFile::Unreadable => {}
        }
    }
}

/// The flags of an open file.
pub(crate) fn flags_of(process: i32, number: i32) -> Option<i32> {
    let text = std::fs::read_to_string(format!("/proc/{process}/fdinfo/{number}")).ok()?;
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
    i32::from_str_radix(flags.trim(), 8).ok()
}

/// The arguments of a process, its own name first.
pub(crate) fn arguments(process: i32) -> Vec<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(format!("/proc/{process}/cmdline"));
    let _ = file.map(|file| file.take(ARGUMENT_BYTES_MAX).read_to_end(&mut bytes));
    bytes.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect()
}

/// Whether a program is a 32-bit one: the fifth byte of an ELF file tells.
fn is_32_bit(program: &Path) -> bool {
    let mut head = [0; 5];
    let read = File::open(program).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head == *b"\x7fELF\x01"
}

/// Whether a program would have rights that its user lacks: those of another user or group, or
/// capabilities.
fn is_privileged(program: &Path) -> bool {
    let Some(found) = file_at(program) else { return false };
    let gives_none = |mount: StatVfs| mount.f_flag.contains(StatVfsMountFlags::NOSUID);
    if statvfs(program).is_ok_and(gives_none) {
        return false;
    }
    // Root has all capabilities that a program could give it, and needs no user's rights.
    if geteuid().is_root() {
        return false;
    }
    let is_setuid = found.mode & libc::S_ISUID != 0 && found.owner != geteuid().as_raw();
    let sets_group = found.mode & libc::S_ISGID != 0 && found.mode & libc::S_IXGRP != 0;
    let is_setgid = sets_group && found.group != getegid().as_raw();
    let has_capabilities = || getxattr_query(program, CAPABILITIES).is_ok_and(|bytes| bytes > 0);
    is_setuid || is_setgid || has_capabilities()
}

/// The attribute of a file that gives its program capabilities.
const CAPABILITIES: &str = "security.capability";

/// Whether programs lose the rights of their owners while this process traces them: without two
/// capabilities, they do. If they have lost them already, as in some containers, they lose nothing.
pub(crate) fn lose_rights() -> bool {
    let needed = CapabilitySet::SYS_ADMIN | CapabilitySet::SYS_PTRACE;
    let keeps = capabilities(None).is_ok_and(|own| own.effective.contains(needed));
    !keeps && no_new_privs() != Ok(true)
}
