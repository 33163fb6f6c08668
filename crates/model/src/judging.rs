//! What a host is to do before commands are timed there, and what it found.

use crate::cache::Cache;
use crate::command::JudgedCommand;
use crate::host::Storage;
use crate::record::Header;
use crate::rehearsal::FactSheet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What is asked of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedCommands {
    /// The commands, with all combinations of parameters, and without their files.
    pub commands: Vec<JudgedCommand>,
    /// What runs before anything else.
    pub setups: Vec<Vec<String>>,
    /// What runs after everything else.
    pub cleanups: Vec<Vec<String>>,
    /// Files that commands read, as far as the user names them.
    pub files: Vec<PathBuf>,
    /// Whether each command is run once before, to see the files that it uses.
    pub rehearses: bool,
    /// Whether files of other users are evicted.
    pub evicts_others: bool,
}

/// What a host found, and when it is ready to time the commands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReadyCommands {
    /// The commands, in the order in which they were asked for.
    pub commands: Vec<ReadyCommand>,
    /// What each did in its rehearsal; empty if one was not rehearsed.
    pub rehearsals: Vec<FactSheet>,
    /// The storage of the largest data file; `None` without any.
    pub storage: Option<Storage>,
    /// Those of other data files, on other disks.
    #[serde(default)]
    pub further_storages: Vec<Storage>,
    /// The storage of the files on each device: [`Header::storage_numbers`].
    #[serde(default)]
    pub storage_numbers: BTreeMap<u64, usize>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

impl ReadyCommands {
    /// The numbers of the storages by the devices of now, which change with each mount of some file
    /// systems. As recorded, if the run goes on as in the header `then`, which has others.
    pub fn numbers_as_in(&self, then: Option<&Header>) -> BTreeMap<u64, usize> {
        let Some(then) = then else { return self.storage_numbers.clone() };
        let directories = |first: Option<&Storage>, further: &[Storage]| -> Vec<PathBuf> {
            first.into_iter().chain(further).map(|storage| storage.directory.clone()).collect()
        };
        let now = directories(self.storage.as_ref(), &self.further_storages);
        match now == directories(then.storage.as_ref(), &then.further_storages) {
            true => self.storage_numbers.clone(),
            false => then.storage_numbers.clone(),
        }
    }

    /// Notes in the header of a record what the commands did, and where their files are.
    pub fn note_in(&self, header: &mut Header) {
        header.rehearsals.clone_from(&self.rehearsals);
        header.further_storages.clone_from(&self.further_storages);
        header.storage_numbers.clone_from(&self.storage_numbers);
    }
}

/// A command that can be timed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadyCommand {
    /// The command, with its files.
    pub command: JudgedCommand,
    /// Whether it reads a file that is large enough for cache states to matter.
    pub reads_data: bool,
    /// Why its files cannot be warm; `None` if they can.
    pub not_warm: Option<String>,
    /// Why they cannot be cold.
    pub not_cold: Option<String>,
}

impl ReadyCommand {
    /// Why its files cannot have this cache state; `None` if they can.
    pub fn refusal(&self, cache: Cache) -> Option<&str> {
        match cache {
            Cache::Warm => self.not_warm.as_deref(),
            Cache::Cold => self.not_cold.as_deref(),
            Cache::AsIs | Cache::Direct | Cache::DontCache => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zoo::commands::record_of_commands;

    #[test]
    fn storages_have_the_numbers_of_now_if_they_are_those_of_then() {
        let mut then = record_of_commands().header;
        then.storage_numbers = BTreeMap::from([(41, 0)]);
        let numbers = BTreeMap::from([(42, 0)]);
        let ready = ReadyCommands {
            storage: then.storage.clone(),
            further_storages: then.further_storages.clone(),
            storage_numbers: numbers.clone(),
            ..ReadyCommands::default()
        };
        assert_eq!(ready.numbers_as_in(Some(&then)), numbers);
        assert_eq!(ready.numbers_as_in(None), numbers);
        then.further_storages.push(Storage::default());
        assert_eq!(ready.numbers_as_in(Some(&then)), then.storage_numbers);
    }
}
