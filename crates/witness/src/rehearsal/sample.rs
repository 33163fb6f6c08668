//! The open files of processes that are not traced: all that can be known of a program that is
//! running already, or where ptrace is forbidden.

use super::facts::{Facts, note_mapping, note_open};
use super::files::{Before, SeenFile};
use super::identity::descriptor;
use super::programs::{Programs, flags_of};
use super::regions::regions;
use crate::processes::descendants;
use model::rehearsal::{Blind, FactSheet};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// The most descriptors and mappings that one look takes in, of all processes.
const LOOKS_MAX: usize = 16_384;

/// The most processes whose uses are told apart.
const PROCESSES_MAX: usize = 4096;

/// The most uses of files that are told apart. Later ones are not counted.
const USES_MAX: usize = 1 << 18;

/// Samples of a process and its descendants. A file counts as opened once for each descriptor that
/// was seen of it.
#[derive(Debug, Default)]
pub struct Sampler {
    facts: Facts,
    programs: Programs,
    /// The most threads of each process.
    threads: HashMap<i32, u64>,
    /// A process, its descriptor or the start of its mapping, and the file.
    known: HashSet<(i32, u64, usize)>,
}

impl Sampler {
    /// Looks once at a process and its descendants.
    pub fn look(&mut self, process: u32) {
        let mut left = LOOKS_MAX;
        let Some(below) = descendants(process) else {
            let text = format!("process {process} has ended, or has too many children to list");
            return self.facts.miss(Blind::Unreadable, text);
        };
        for process in [process].into_iter().chain(below) {
            if let Ok(process) = i32::try_from(process) {
                self.look_at(process, &mut left);
            }
        }
        if left == 0 {
            let text = format!("more than {LOOKS_MAX} descriptors and mappings");
            self.facts.miss(Blind::Unreadable, text);
        }
    }

    fn look_at(&mut self, process: i32, left: &mut usize) {
        let Ok(open) = std::fs::read_dir(format!("/proc/{process}/fd")) else {
            // One that has ended is not hidden.
            if Path::new(&format!("/proc/{process}")).exists() {
                let text = format!("process {process} belongs to another user or has ended");
                self.facts.miss(Blind::Unreadable, text);
            }
            return;
        };
        if !self.threads.contains_key(&process) {
            if self.threads.len() >= PROCESSES_MAX {
                return;
            }
            self.programs.executed(process, None, &mut self.facts);
        }
        let tasks = std::fs::read_dir(format!("/proc/{process}/task"));
        let threads = self.threads.entry(process).or_default();
        *threads = tasks.map_or(1, |tasks| tasks.count() as u64).max(*threads);
        let numbers = open.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        for number in numbers.take(*left) {
            *left -= 1;
            let seen =
                self.facts.files.see(&descriptor(process, number), process, Before::default());
            if let SeenFile::File(place) = seen
                && self.is_first((process, number as u64, place))
            {
                let flags = flags_of(process, number).unwrap_or(0);
                note_open(&mut self.facts.files.facts(place).opens, flags);
            }
        }
        for region in regions(process).into_iter().take(*left) {
            *left -= 1;
            let seen = self.facts.files.see(&region.path, process, Before::default());
            if let SeenFile::File(place) = seen
                && self.is_first((process, region.start, place))
            {
                let mappings = &mut self.facts.files.facts(place).mappings;
                note_mapping(mappings, region.protection, region.sharing);
            }
        }
    }

    fn is_first(&mut self, used: (i32, u64, usize)) -> bool {
        self.known.len() < USES_MAX && self.known.insert(used)
    }

    /// What was seen.
    pub fn finish(self) -> FactSheet {
        let (_, programs, unlisted_programs, places) = self.programs.finish();
        let (files, unlisted_files) = self.facts.files.finish(&places);
        FactSheet {
            sampled: true,
            files,
            unlisted_files,
            processes: self.threads.len() as u64,
            threads: self.threads.values().sum(),
            programs,
            unlisted_programs,
            unseen: self.facts.unseen,
            ..FactSheet::default()
        }
    }
}

/// The files that a process and its descendants have open now.
pub fn sample(process: u32) -> FactSheet {
    let mut sampler = Sampler::default();
    sampler.look(process);
    sampler.finish()
}
