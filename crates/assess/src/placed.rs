//! On which storage the files of a command are, and what the devices of each did.

use crate::counted::Counted;
use model::evidence::{Evidence, StorageTraffic};
use model::host::{Medium, Storage};
use model::layer::Amplification;
use model::record::Header;
use model::rehearsal::{FactSheet, FileUse};
use std::collections::BTreeSet;

/// The storages of the files of a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FilePlaces<'a> {
    header: &'a Header,
    facts: Option<&'a FactSheet>,
    /// The number of the storage of its largest file, which is the storage of the case.
    own: usize,
}

impl<'a> FilePlaces<'a> {
    /// Those of a command that did this in its rehearsal.
    pub(crate) fn of(header: &'a Header, facts: Option<&'a FactSheet>) -> FilePlaces<'a> {
        let places = FilePlaces { header, facts, own: 0 };
        let own = facts.and_then(FactSheet::largest_data_file).and_then(|it| places.number(it));
        FilePlaces { own: own.unwrap_or(0), ..places }
    }

    /// The number of the storage of a file; `None` if that was not watched. Older records, and
    /// those of one of several hosts, have one storage: that of the largest file of all commands.
    pub(crate) fn number(&self, file: &FileUse) -> Option<usize> {
        if !self.header.storage_numbers.is_empty() {
            return self.header.storage_numbers.get(&file.device).copied();
        }
        let largest = self.header.rehearsals.iter().chain(self.facts);
        let largest = largest.filter_map(FactSheet::largest_data_file);
        let largest = largest.max_by_key(|file| file.bytes_found())?;
        (file.device == largest.device).then_some(0)
    }

    /// The storage with this number.
    pub(crate) fn storage(&self, number: usize) -> Option<&'a Storage> {
        match number.checked_sub(1) {
            None => self.header.storage.as_ref(),
            Some(further) => self.header.further_storages.get(further),
        }
    }

    /// The storage of the case.
    pub(crate) fn own(&self) -> Option<&'a Storage> {
        self.storage(self.own)
    }

    /// Its number.
    pub(crate) fn own_number(&self) -> usize {
        self.own
    }

    /// Makes the devices of the case's storage those of the evidence of its trials.
    pub(crate) fn swap_in(&self, trials: &mut [Counted]) {
        if self.own > 0 {
            trials.iter_mut().for_each(|trial| self.swap(trial.evidence.to_mut()));
        }
    }

    fn swap(&self, evidence: &mut Evidence) {
        let Some(further) = self.own.checked_sub(1) else { return };
        let first = first_of(evidence);
        let Some(own) = evidence.further.get_mut(further) else { return };
        let own = std::mem::replace(own, first);
        evidence.device_read_bytes = own.read_bytes;
        evidence.device_reads = own.reads;
        evidence.device_write_bytes = own.write_bytes;
        evidence.device_writes = own.writes;
        evidence.device_flushes = own.flushes;
        (evidence.device_read_ns, evidence.device_write_ns) = (None, None);
        evidence.device_busy_ns = None;
        (evidence.disk_read_bytes, evidence.disk_write_bytes) = (None, None);
        evidence.disk_flushes = None;
    }

    /// What the devices of the storage with this number did in a trial.
    pub(crate) fn traffic(&self, trial: &Counted, number: usize) -> Option<StorageTraffic> {
        let evidence = &trial.evidence;
        if number == self.own {
            return Some(first_of(evidence));
        }
        // The place of the case's own has what the first did.
        let place = if number == 0 { self.own } else { number };
        evidence.further.get(place.checked_sub(1)?).copied()
    }

    /// Bytes that devices read for any process, each byte counted once: those of all watched
    /// storages with devices that hold files which the command read. `None` if unknown.
    pub(crate) fn read_once(&self, trial: &Counted) -> Option<u64> {
        let read = self.facts.iter().flat_map(|facts| facts.read_files());
        let is_on_devices = |number: &usize| {
            let storage = self.storage(*number);
            storage.is_some_and(|storage| storage.medium == Medium::Block)
        };
        let mut numbers: BTreeSet<usize> =
            read.filter_map(|file| self.number(file)).filter(is_on_devices).collect();
        if numbers.is_empty() {
            numbers.insert(self.own);
        }
        let mut each = numbers.into_iter().map(|number| self.read_once_of(trial, number));
        each.try_fold(0u64, |sum, read| Some(sum.saturating_add(read?)))
    }

    /// The same of the storage with this number alone.
    pub(crate) fn read_once_of(&self, trial: &Counted, number: usize) -> Option<u64> {
        let times = self.storage(number).map_or(Amplification::ONE, Storage::reads).exact()?;
        self.traffic(trial, number)?.read_bytes?.checked_div(times.into())
    }

    /// Bytes of files that the devices of the storage with this number wrote for any process, at
    /// most. `None` if unknown.
    pub(crate) fn written_at_most_of(&self, trial: &Counted, number: usize) -> Option<u64> {
        let times = self.storage(number).map_or(Amplification::ONE, Storage::writes).least;
        self.traffic(trial, number)?.write_bytes?.checked_div(times.into())
    }

    /// The numbers of the storages of `files`; `None` if one was not watched.
    pub(crate) fn numbers<'f>(
        &self,
        mut files: impl Iterator<Item = &'f FileUse>,
    ) -> Option<BTreeSet<usize>> {
        files.try_fold(BTreeSet::new(), |mut numbers, file| {
            numbers.insert(self.number(file)?);
            Some(numbers)
        })
    }
}

/// What the devices did to which the evidence belongs.
fn first_of(evidence: &Evidence) -> StorageTraffic {
    StorageTraffic {
        read_bytes: evidence.device_read_bytes,
        reads: evidence.device_reads,
        write_bytes: evidence.device_write_bytes,
        writes: evidence.device_writes,
        flushes: evidence.device_flushes,
    }
}
