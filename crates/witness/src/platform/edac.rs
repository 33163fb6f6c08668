//! Memory controllers, as the OS's drivers for error correction (EDAC) show them to everybody.

use crate::root::Root;
use crate::sysfs::{entries, file_name, number, text};
use model::platform::{MemoryController, MemoryModule};
use std::path::{Path, PathBuf};

const CONTROLLERS: &str = "/sys/devices/system/edac/mc";

/// All memory controllers, by number; empty without a driver for them.
pub(super) fn controllers(root: &Root) -> Vec<MemoryController> {
    directories(root).iter().map(|path| controller(path)).collect()
}

/// Their directories, by number.
pub(crate) fn directories(root: &Root) -> Vec<PathBuf> {
    let of_number = |path: PathBuf| -> Option<(u32, PathBuf)> {
        let index = file_name(&path).strip_prefix("mc")?.parse().ok()?;
        path.is_dir().then_some((index, path))
    };
    let mut all: Vec<(u32, PathBuf)> =
        entries(&root.at(CONTROLLERS)).filter_map(of_number).collect();
    all.sort_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, path)| path).collect()
}

/// The errors that the controller at this directory corrected, and those that it could not, since
/// its driver began to count.
pub(crate) fn errors(path: &Path) -> (Option<u64>, Option<u64>) {
    (number(&path.join("ce_count")), number(&path.join("ue_count")))
}

fn controller(path: &Path) -> MemoryController {
    let module_of = |path: &Path| -> Option<(u32, MemoryModule)> {
        let name = file_name(path);
        let index = name.strip_prefix("dimm").or_else(|| name.strip_prefix("rank"))?;
        Some((index.parse().ok()?, module(path)?))
    };
    let mut modules: Vec<(u32, MemoryModule)> =
        entries(path).filter_map(|path| module_of(&path)).collect();
    modules.sort_by_key(|(index, _)| *index);
    let (corrected, uncorrected) = errors(path);
    MemoryController {
        name: file_name(path),
        driver: word(path, "mc_name"),
        corrected,
        uncorrected,
        modules: modules.into_iter().map(|(_, module)| module).collect(),
    }
}

/// A module or a rank; `None` if it is said to be empty. Drivers that show empty ones tell 0.
fn module(path: &Path) -> Option<MemoryModule> {
    let mebibytes = number(&path.join("size"));
    if mebibytes == Some(0) {
        return None;
    }
    Some(MemoryModule {
        name: file_name(path),
        label: word(path, "dimm_label"),
        channel: text(&path.join("dimm_location")).and_then(|it| channel(&it)),
        size: mebibytes.and_then(|mebibytes| mebibytes.checked_mul(1 << 20)),
        technology: word(path, "dimm_mem_type"),
        corrected: number(&path.join("dimm_ce_count")),
        uncorrected: number(&path.join("dimm_ue_count")),
    })
}

/// The channel in `channel 0 slot 1` or `csrow 2 channel 1`. Below a branch, the numbers of the
/// channels begin anew in each branch.
fn channel(location: &str) -> Option<u32> {
    let words: Vec<&str> = location.split_ascii_whitespace().collect();
    let of = |name: &str| {
        let pair = words.chunks_exact(2).find(|pair| pair[0] == name)?;
        pair[1].parse::<u16>().ok().map(u32::from)
    };
    match words.contains(&"branch") {
        true => Some(of("branch")? << 16 | of("channel")?),
        false => of("channel"),
    }
}

fn word(path: &Path, name: &str) -> Option<String> {
    text(&path.join(name)).filter(|text| !text.is_empty() && text != "Unknown")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_names_the_channel_or_none() {
        for (location, expected) in [
            ("channel 3 slot 1", Some(3)),
            ("csrow 2 channel 1 ", Some(1)),
            ("branch 1 channel 1 slot 0", Some(0x1_0001)),
            ("branch 1 slot 0", None),
            ("memory 4", None),
            ("csrow 1", None),
            ("channel", None),
            ("channel -1", None),
            ("", None),
        ] {
            assert_eq!(channel(location), expected, "{location}");
        }
    }
}
