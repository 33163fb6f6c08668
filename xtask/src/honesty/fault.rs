//! The table of faults: known ways to be misled, and how each tool is tested with them.

use super::said::WarningSign;
use crate::limit::{PlantedLimit, bytes};
use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Table;

/// The table's text.
const TABLE: &str = include_str!("faults.toml");

/// The kind whose fields all others have, except for those they have themselves.
const USUAL: &str = "direct";

/// A known way to be misled, and how each tool is tested with it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fault {
    pub(super) name: String,
    /// Whether the smoke form plants it, because it has something that the others there lack.
    #[serde(default)]
    pub(super) smoke: bool,
    /// What is planted, as text.
    pub(super) planted: String,
    /// The true figure, or what really serves the bytes.
    pub(super) truth: String,
    /// What a user of fio or dd could do instead, and other remarks.
    #[serde(default)]
    pub(super) aside: String,
    /// The tools whose defaults avoid the fault; `aside` explains why.
    #[serde(default)]
    pub(super) avoided: Vec<String>,
    pub(super) place: FilePlace,
    /// What is mounted on a directory of that place, to show it.
    pub(super) above: Option<Above>,
    pub(super) content: FileContent,
    /// Size of the file in bytes.
    #[serde(deserialize_with = "bytes")]
    pub(super) size: u64,
    pub(super) before: Preparation,
    pub(super) limit: Option<PlantedLimit>,
    pub(super) meanwhile: Option<Meanwhile>,
    /// What strace injects into reads of the file.
    pub(super) inject: Option<String>,
    /// Command lines. `FILE` stands for the file, `DIR` for its directory, and `WRITE` for the
    /// recipe that writes.
    pub(super) ioassay: String,
    pub(super) fio: String,
    pub(super) dd: String,
    /// What counts as a warning by ioassay.
    pub(super) signs: Vec<WarningSign>,
}

/// Where the file is.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum FilePlace {
    /// A new file system on a loop device. Without `noinit_itable`, ext4 would initialize tables in
    /// the background. `below` is a losetup option for access to the image; usually direct I/O.
    Loop {
        kind: String,
        mount: String,
        #[serde(default = "past_cache")]
        below: String,
    },
    /// A compressed RAM disk.
    Zram,
    /// An in-memory file system.
    Memory,
}

fn past_cache() -> String {
    "--direct-io=on".to_owned()
}

/// What shows a directory.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Above {
    /// An overlay with its layers in the directory.
    Overlay,
    /// bindfs, which mirrors the directory through FUSE.
    Bindfs,
}

/// The file's content.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FileContent {
    Random,
    Zeros,
    /// None: only the size is set.
    Sparse,
    /// None: the blocks are only allocated.
    Allocated,
    /// There is no file: the tool writes it.
    Absent,
}

/// What happens before each tool starts.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Preparation {
    /// The file is evicted from the page cache.
    Evict,
    /// The file is read into the page cache.
    Warm,
    /// The file is read into the page cache, and its second half evicted.
    HalfWarm,
    /// The file is evicted, and its first half read with 8 MiB of readahead.
    ReadAhead,
    /// The file is removed.
    Remove,
}

/// What happens while a tool runs.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Meanwhile {
    /// Other processes use the CPUs.
    Busy,
    /// Other processes read from the same device.
    Readers,
    /// After the device has moved this many MiB (for ioassay, fio and dd), the limit becomes
    /// `limit`.
    Change { after_mib: [u64; 3], limit: PlantedLimit },
}

/// The table as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    /// Fields that many faults share.
    kind: BTreeMap<String, Table>,
    fault: Vec<Table>,
}

/// All faults, in the order of the document.
///
/// # Errors
/// If the table is wrong.
pub(super) fn all() -> Result<Vec<Fault>> {
    read(TABLE).context("the table of faults")
}

fn read(text: &str) -> Result<Vec<Fault>> {
    let Written { kind, fault } = toml::from_str(text)?;
    let fields = |name: &str| kind.get(name).with_context(|| format!("no kind is called `{name}`"));
    let whole = |mut own: Table| {
        let like = own.remove("like");
        let like = like.as_ref().and_then(toml::Value::as_str).context("a fault is `like` none")?;
        let mut whole = fields(USUAL)?.clone();
        whole.extend(fields(like)?.clone());
        whole.extend(own);
        let text =
            whole.get("name").map_or("a fault without a name".to_owned(), |it| it.to_string());
        whole.try_into().context(text)
    };
    fault.into_iter().map(whole).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smoke_form_has_all_that_a_scene_may_have() {
        let faults = all().expect("it is whole");
        let check = |has: fn(&Fault) -> bool, what: &str| {
            assert!(faults.iter().any(|fault| fault.smoke && has(fault)), "{what}");
        };
        check(|fault| matches!(fault.place, FilePlace::Loop { .. }), "a loop device");
        check(|fault| matches!(fault.place, FilePlace::Memory), "a file in memory");
        check(|fault| matches!(fault.above, Some(Above::Overlay)), "an overlay");
        check(|fault| matches!(fault.above, Some(Above::Bindfs)), "a FUSE file system");
        check(|fault| fault.limit.is_some(), "a control group");
        check(|fault| fault.meanwhile.is_some(), "a neighbor");
        check(|fault| fault.inject.is_some(), "strace");
        check(|fault| matches!(fault.content, FileContent::Absent), "a file that is written");
    }

    #[test]
    fn a_fault_has_the_fields_of_its_kind_and_its_own() {
        let table = |fault: &str| {
            format!(
                "[kind.direct]\nplace = \"memory\"\ncontent = \"random\"\nsize = \"1MiB\"\n\
                 before = \"evict\"\nioassay = \"a\"\nfio = \"b\"\ndd = \"c\"\nsigns = []\n\
                 [kind.warm]\nbefore = \"warm\"\nfio = \"d\"\n\
                 [[fault]]\nname = \"x\"\nplanted = \"\"\ntruth = \"\"\n{fault}"
            )
        };
        let found = read(&table("like = \"warm\"\nfio = \"e\"\n")).expect("it is whole");
        let fault = &found[0];
        assert!(matches!(fault.before, Preparation::Warm), "{fault:?}");
        assert_eq!((fault.size, fault.ioassay.as_str(), fault.fio.as_str()), (1 << 20, "a", "e"));
        for (fault, expected) in [
            ("like = \"cold\"", "no kind is called `cold`"),
            ("", "a fault is `like` none"),
            ("like = \"warm\"\nsize = \"x\"", "\"x\": "),
            ("like = \"warm\"\nsigns = [{ finding = \"Rum\" }]", "Rum"),
            ("like = \"warm\"\nspeed = 1", "speed"),
        ] {
            let error = read(&table(fault)).expect_err("it is wrong");
            assert!(format!("{error:#}").contains(expected), "{error:#}");
        }
    }
}
