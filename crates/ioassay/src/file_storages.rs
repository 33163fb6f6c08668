//! On which storage a file of a command is: what one shows of its files says nothing of those of
//! another.

use model::host::Storage;
use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;

/// No file has a storage by its device.
pub static NO_NUMBERS: BTreeMap<u64, usize> = BTreeMap::new();

/// The storages that hold files of commands.
#[derive(Debug, Clone, Copy)]
pub struct FileStorages<'a> {
    /// That of the largest file of all.
    pub first: Option<&'a Storage>,
    /// Others, on other disks.
    pub further: &'a [Storage],
    /// Their numbers by the numbers of devices: 0 is the first. Empty if only that is watched.
    pub numbers: &'a BTreeMap<u64, usize>,
}

impl Default for FileStorages<'_> {
    fn default() -> Self {
        FileStorages { first: None, further: &[], numbers: &NO_NUMBERS }
    }
}

impl<'a> FileStorages<'a> {
    /// The storage of the files on `device`, if it is watched.
    pub fn of_device(self, device: u64) -> Option<&'a Storage> {
        if self.numbers.is_empty() {
            let is_there = |found: Metadata| found.dev() == device;
            return self.first.filter(|it| it.directory.metadata().is_ok_and(is_there));
        }
        match self.numbers.get(&device)?.checked_sub(1) {
            None => self.first,
            Some(further) => self.further.get(further),
        }
    }

    /// The storage of a file, if it is watched.
    pub fn of_file(self, file: &File) -> Option<&'a Storage> {
        self.of_device(file.metadata().ok()?.dev())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_storage_of_its_device_and_no_other() {
        let named = |directory: &str| Storage { directory: directory.into(), ..Storage::default() };
        let (first, further) = (named("/"), [named("/b")]);
        let numbers = BTreeMap::from([(1, 0), (2, 1), (3, 7)]);
        let all = FileStorages { first: Some(&first), further: &further, numbers: &numbers };
        assert_eq!(all.of_device(1), Some(&first));
        assert_eq!(all.of_device(2), Some(&further[0]));
        assert_eq!((all.of_device(3), all.of_device(4)), (None, None));
        // Without numbers, it is the one that the first is on.
        let device = std::path::Path::new("/").metadata().unwrap().dev();
        let one = FileStorages { numbers: &NO_NUMBERS, ..all };
        assert_eq!((one.of_device(device), one.of_device(device + 1)), (Some(&first), None));
    }
}
