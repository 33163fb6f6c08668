//! What an ATA drive says of itself (ATA8-ACS, 7.12.7).

use crate::root::Root;
use crate::sysfs::{file_name, text};
use std::fs;
use std::path::Path;

/// The words that say which speeds and features it has, and which of these are on.
const SPEEDS: usize = 76;
const HAS: usize = 82;
const HAS_MORE: usize = 83;
const IS_ON: usize = 85;
const IS_ON_MORE: usize = 87;

/// What the drive at the ATA port `ata1` says.
pub(super) fn identity(root: &Root, port: &str) -> Option<Vec<u16>> {
    let number = port.strip_prefix("ata")?;
    let id = root.at("/sys/class/ata_device").join(format!("dev{number}.0/id"));
    let told = text(&id)?;
    told.split_ascii_whitespace().map(|word| u16::from_str_radix(word, 16).ok()).collect()
}

/// What the disk at the sysfs directory `path` says, if it is at an ATA port.
pub(super) fn identity_of_disk(root: &Root, path: &Path) -> Option<Vec<u16>> {
    let device = fs::canonicalize(path.join("device")).ok()?;
    let port = device.ancestors().find(|above| above.join("ata_port").exists())?;
    identity(root, &file_name(port))
}

fn word(words: &[u16], index: usize) -> Option<u16> {
    words.get(index).copied().filter(|word| !matches!(word, 0 | 0xffff))
}

/// The fastest of the speeds that it says it can.
pub(super) fn most(words: &[u16]) -> Option<u64> {
    let word = word(words, SPEEDS)?;
    let speeds = [(3, 6_000), (2, 3_000), (1, 1_500)];
    speeds.into_iter().find(|(bit, _)| word >> bit & 1 == 1).map(|(_, rate)| rate)
}

/// Whether it has a volatile write cache that is switched off; `None` if it has none, or if these
/// words are not valid.
pub(super) fn is_cache_off(words: &[u16]) -> Option<bool> {
    const CACHE: u16 = 1 << 5;
    let is_valid = |index| Some(word(words, index)? >> 14 == 0b01);
    if !(is_valid(HAS_MORE)? && is_valid(IS_ON_MORE)?) {
        return None;
    }
    let has_cache = word(words, HAS)? & CACHE != 0;
    has_cache.then_some(words.get(IS_ON)? & CACHE == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_says_what_it_can() {
        let words = |told| {
            let mut words = vec![0; 256];
            words[SPEEDS] = told;
            most(&words)
        };
        assert_eq!(words(0x850e), Some(6_000));
        assert_eq!(words(0x0006), Some(3_000));
        assert_eq!((words(0), words(0xffff), most(&[])), (None, None, None));
    }

    #[test]
    fn a_write_cache_is_off_only_where_there_is_one() {
        let check = |has, is_on, more, expected| {
            let mut words = vec![0; 256];
            words[HAS..=IS_ON_MORE].copy_from_slice(&[has, more, 0, is_on, 0, more]);
            assert_eq!(is_cache_off(&words), expected, "{has:x} {is_on:x} {more:x}");
        };
        check(0x746b, 0x7469, 0x7d09, Some(false));
        check(0x746b, 0x7449, 0x7d09, Some(true));
        check(0x744b, 0x7449, 0x7d09, None);
        // Words that are not valid, and those of a drive that says nothing.
        check(0x746b, 0x7449, 0x3d09, None);
        check(0xffff, 0xffff, 0xffff, None);
        check(0, 0, 0, None);
    }
}
