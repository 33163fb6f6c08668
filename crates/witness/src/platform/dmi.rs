//! The slots for modules of memory in the firmware's table (SMBIOS 3.7, types 16 and 17).

use model::platform::MemorySlot;
use std::collections::BTreeSet;

/// Structures of the table.
const MEMORY_ARRAY: u8 = 16;
const MEMORY_DEVICE: u8 = 17;
const END: u8 = 127;

/// What a memory array is for, if it is for programs: others hold the firmware, or a cache.
const SYSTEM_MEMORY: u8 = 3;

/// The slots for memory that programs use, in the table's order. `None` if it has none, or if it is
/// malformed or ends too early, so that a slot may be missing.
pub(crate) fn slots(table: &[u8]) -> Option<Vec<MemorySlot>> {
    let all = structures(table)?;
    let of_kind = |kind| all.iter().filter(move |it| it.kind == kind);
    let of_others = of_kind(MEMORY_ARRAY).filter(|array| array.byte(5) != Some(SYSTEM_MEMORY));
    let of_others: BTreeSet<u16> = of_others.map(|array| array.handle).collect();
    let devices = of_kind(MEMORY_DEVICE);
    let devices = devices.filter(|it| it.word(4).is_none_or(|array| !of_others.contains(&array)));
    let slots: Vec<MemorySlot> = devices.map(slot).collect();
    (!slots.is_empty()).then_some(slots)
}

/// A structure: numbers at fixed places, and texts that they point to.
struct Structure<'t> {
    kind: u8,
    handle: u16,
    numbers: &'t [u8],
    texts: &'t [u8],
}

/// All structures up to the one that ends the table; `None` if it is cut.
fn structures(table: &[u8]) -> Option<Vec<Structure<'_>>> {
    let mut all = Vec::new();
    let mut rest = table;
    while !rest.is_empty() {
        let (kind, length) = (rest[0], usize::from(*rest.get(1)?));
        let handle = u16::from_le_bytes([*rest.get(2)?, *rest.get(3)?]);
        if length < 4 {
            return None;
        }
        let (numbers, after) = rest.split_at_checked(length)?;
        let texts_end = after.windows(2).position(|pair| pair == [0, 0])?;
        let texts = &after[..texts_end];
        all.push(Structure { kind, handle, numbers, texts });
        rest = &after[texts_end + 2..];
        if kind == END {
            return Some(all);
        }
    }
    None
}

impl Structure<'_> {
    /// The byte at this place; `None` in an older structure that is shorter.
    fn byte(&self, at: usize) -> Option<u8> {
        self.numbers.get(at).copied()
    }

    fn word(&self, at: usize) -> Option<u16> {
        Some(u16::from_le_bytes([self.byte(at)?, self.byte(at + 1)?]))
    }

    fn double_word(&self, at: usize) -> Option<u32> {
        let bytes = self.numbers.get(at..at + 4)?;
        bytes.try_into().ok().map(u32::from_le_bytes)
    }

    /// The text whose number is at this place; they are counted from 1.
    fn text(&self, at: usize) -> Option<String> {
        let index = usize::from(self.byte(at)?).checked_sub(1)?;
        let text = self.texts.split(|byte| *byte == 0).nth(index)?;
        let text = String::from_utf8_lossy(text).trim().to_string();
        let is_told = !["", "unknown", "not specified", "none", "n/a"]
            .contains(&text.to_lowercase().as_str());
        let is_printable = !text.chars().any(char::is_control);
        (is_told && is_printable).then_some(text)
    }

    /// Megatransfers a second: a word, or a double word if that is too small (SMBIOS 3.3).
    fn speed(&self, at: usize, extended_at: usize) -> Option<u64> {
        match self.word(at)? {
            0 => None,
            u16::MAX => {
                let speed = self.double_word(extended_at)? & 0x7fff_ffff;
                (speed > 0).then_some(u64::from(speed))
            }
            speed => Some(u64::from(speed)),
        }
    }
}

fn slot(device: &Structure) -> MemorySlot {
    let size = size(device);
    let is_filled = size.is_some_and(|bytes| bytes > 0);
    let of_module = |speed: Option<u64>| speed.filter(|_| is_filled);
    let width = device.word(0x0a).filter(|bits| ![0, 255, u16::MAX].contains(bits));
    MemorySlot {
        locator: device.text(0x10),
        bank: device.text(0x11),
        filled: size.map(|bytes| bytes > 0),
        size: size.filter(|bytes| *bytes > 0),
        technology: device.byte(0x12).filter(|_| is_filled).and_then(technology),
        data_width: of_module(width.map(u64::from)),
        speed_most: of_module(device.speed(0x15, 0x54)),
        speed: of_module(device.speed(0x20, 0x58)),
    }
}

/// The size of a module in bytes, 0 for an empty slot; `None` if unknown.
fn size(device: &Structure) -> Option<u64> {
    const IN_KIBIBYTES: u16 = 1 << 15;
    const IS_EXTENDED: u16 = 0x7fff;
    match device.word(0x0c)? {
        u16::MAX => None,
        IS_EXTENDED => {
            let mebibytes = device.double_word(0x1c)? & 0x7fff_ffff;
            (mebibytes > 0).then(|| u64::from(mebibytes) << 20)
        }
        size if size & IN_KIBIBYTES != 0 => Some(u64::from(size & IS_EXTENDED) << 10),
        mebibytes => Some(u64::from(mebibytes) << 20),
    }
}

/// The kind of memory; `None` if it is unknown, or no kind that has had modules for long.
fn technology(number: u8) -> Option<String> {
    let name = match number {
        0x03 => "DRAM",
        0x07 => "RAM",
        0x0f => "SDRAM",
        0x12 => "DDR",
        0x13 => "DDR2",
        0x14 => "DDR2 FB-DIMM",
        0x18 => "DDR3",
        0x1a => "DDR4",
        0x1b => "LPDDR",
        0x1c => "LPDDR2",
        0x1d => "LPDDR3",
        0x1e => "LPDDR4",
        0x1f => "non-volatile",
        0x20 => "HBM",
        0x21 => "HBM2",
        0x22 => "DDR5",
        0x23 => "LPDDR5",
        0x24 => "HBM3",
        _ => return None,
    };
    Some(name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    const GIB: u64 = 1 << 30;

    /// A slot of the system's memory with these numbers, as SMBIOS 3.3 has them.
    fn device(size: u16, extended: u32, speeds: [u16; 2], width: u16) -> Vec<u8> {
        let mut bytes = vec![0; 0x5c];
        bytes[..6].copy_from_slice(&[MEMORY_DEVICE, 0x5c, 2, 0, 1, 0]);
        let mut put = |at: usize, number: &[u8]| {
            bytes[at..at + number.len()].copy_from_slice(number);
        };
        put(0x0a, &width.to_le_bytes());
        put(0x0c, &size.to_le_bytes());
        put(0x10, &[1, 2, 0x22]);
        put(0x15, &speeds[0].to_le_bytes());
        put(0x1c, &extended.to_le_bytes());
        put(0x20, &speeds[1].to_le_bytes());
        put(0x54, &8800_u32.to_le_bytes());
        put(0x58, &8000_u32.to_le_bytes());
        bytes.extend(b"DIMM_A1\0Unknown\0\0");
        bytes
    }

    fn array(used_for: u8) -> Vec<u8> {
        let mut bytes = vec![0; 0x17];
        bytes[..6].copy_from_slice(&[MEMORY_ARRAY, 0x17, 1, 0, 3, used_for]);
        bytes.extend([0, 0]);
        bytes
    }

    const LAST: [u8; 6] = [END, 4, 0xff, 0xfe, 0, 0];

    /// The one slot of a table.
    fn only(device: &[u8]) -> MemorySlot {
        let table = [&array(SYSTEM_MEMORY), device, &LAST].concat();
        let mut all = slots(&table).expect("it has a slot");
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    #[test]
    fn a_module_is_told_with_its_numbers() {
        let module = only(&device(0x7fff, 64 << 10, [5600, 4800], 64));
        let expected = MemorySlot {
            locator: Some("DIMM_A1".to_string()),
            bank: None,
            filled: Some(true),
            size: Some(64 * GIB),
            technology: Some("DDR5".to_string()),
            data_width: Some(64),
            speed_most: Some(5600),
            speed: Some(4800),
        };
        assert_eq!(module, expected);
        let fast = only(&device(0x7fff, 64 << 10, [u16::MAX, u16::MAX], 64));
        assert_eq!((fast.speed_most, fast.speed), (Some(8800), Some(8000)));
        assert_eq!(only(&device(512 | 1 << 15, 0, [0, 0], 64)).size, Some(512 << 10));
    }

    #[test]
    fn what_the_firmware_does_not_know_is_unknown() {
        let empty = only(&device(0, 0, [5600, 4800], 64));
        assert_eq!((empty.filled, empty.size, empty.speed), (Some(false), None, None));
        let unknown = only(&device(u16::MAX, 0, [5600, 4800], 64));
        assert_eq!((unknown.filled, unknown.size, unknown.speed), (None, None, None));
        let vague = only(&device(0x2000, 0, [0, 0], 0));
        assert_eq!((vague.size, vague.data_width), (Some(8 * GIB), None));
        assert_eq!((vague.speed_most, vague.speed), (None, None));
        assert_eq!(only(&device(0x2000, 0, [0, 0], 255)).data_width, None);
        assert_eq!(only(&device(0x7fff, 0, [0, 0], 64)).filled, None);
    }

    #[test]
    fn memory_of_the_firmware_is_no_slot() {
        let flash = [&array(5)[..], &device(2, 0, [0, 0], 2), &LAST].concat();
        assert_eq!(slots(&flash), None);
        assert_eq!(slots(&LAST), None);
        assert_eq!(slots(&[]), None);
    }

    proptest! {
        /// A table that is cut anywhere tells nothing, or all of its slots.
        #[test]
        fn a_table_that_is_cut_tells_no_part(cut in 0_usize..280) {
            let module = device(0x2000, 0, [3200, 2933], 64);
            let table = [&array(SYSTEM_MEMORY)[..], &module, &module, &LAST].concat();
            let whole = slots(&table);
            let cut = cut.min(table.len());
            let expected = whole.filter(|_| cut == table.len());
            prop_assert_eq!(slots(&table[..cut]), expected);
        }

        /// Any bytes are read without a panic, and no number is one of those that mean "unknown".
        #[test]
        fn garbage_never_becomes_a_number(bytes in vec(any::<u8>(), 0..300), at in 0_usize..110) {
            let mut module = device(0x2000, 0, [3200, 2933], 64);
            let garbage = bytes.iter().take(module.len() - at.min(module.len()));
            module.iter_mut().skip(at).zip(garbage).for_each(|(old, new)| *old = *new);
            for table in [bytes.clone(), [&module[..], &LAST].concat()] {
                for slot in slots(&table).into_iter().flatten() {
                    prop_assert!(slot.size != Some(0) && slot.speed != Some(0));
                    prop_assert!(![Some(0), Some(255), Some(65_535)].contains(&slot.data_width));
                    prop_assert!(slot.filled == Some(true) || slot.size.or(slot.speed).is_none());
                    let texts = slot.locator.iter().chain(&slot.bank);
                    prop_assert!(texts.into_iter().all(|it| !it.chars().any(char::is_control)));
                }
            }
        }
    }
}
