//! Why a file on some storage cannot be in a cache state.

use crate::case::{
    Allocation, Atomic, Cache, Case, Io, MetadataWork, OWN_PEER, Op, Populated, ReadCalls, Work,
    WriteEngine,
};
use crate::host::{AtomicWrites, Direct, Medium, Storage};
use crate::part::Whose;
use crate::pattern::Pattern;
use crate::units;

/// Why the blocks of `io` on `storage` cannot be read or written in its cache state.
pub(crate) fn of_storage(io: &Io, storage: &Storage) -> Option<String> {
    let Io { cache, offset, .. } = *io;
    match cache {
        Cache::Cold if storage.medium == Medium::Ram && !storage.evictable => Some(format!(
            "{} keeps its files in memory and can't evict them, so nothing is cold here",
            storage.noun()
        )),
        Cache::Warm if storage.keeps_pages == Some(false) => Some(format!(
            "{} keeps nothing in the page cache when a file is opened (like FUSE without \
             kernel_cache or auto_cache, or mounts with direct_io or cache=none), so nothing is \
             warm here",
            storage.noun()
        )),
        Cache::Cold | Cache::Warm | Cache::DontCache if storage.residency_probe.is_none() => {
            Some(format!(
                "neither cachestat nor mincore is right about {} here, so '{}' cannot be proved",
                storage.noun(),
                cache
            ))
        }
        Cache::Cold | Cache::DontCache if !storage.evictable => Some(format!(
            "a test file on {} could not be evicted from the page cache",
            storage.noun()
        )),
        Cache::Warm if io.populated == Populated::Unknown => {
            Some("only older records have populated 'unknown': use 'others'".to_string())
        }
        Cache::Warm => {
            let kept =
                storage.kept().filter(|kept| ![*kept, Populated::Others].contains(&io.populated));
            kept.map(|kept| {
                format!(
                    "a test file on {} can't be evicted, so it can't be cached anew: use populated \
                     '{kept}'",
                    storage.noun()
                )
            })
        }
        Cache::Direct => {
            direct_refusal([io.least_block(), offset], &storage.direct, storage.noun())
        }
        _ => None,
    }
}

/// Why names on `storage` cannot be in the cache state of `work`: where the OS's cache of names is
/// the file system, none is ever outside.
pub(crate) fn of_names(work: &MetadataWork, storage: &Storage) -> Option<String> {
    let is_nowhere_else = storage.medium == Medium::Ram && !storage.evictable;
    (work.cache == Cache::Cold && is_nowhere_else).then(|| {
        format!(
            "{} keeps its names in the OS's cache of names and nowhere else, so none is cold here",
            storage.noun()
        )
    })
}

/// Why `case` cannot have blocks of several sizes, if it is to have them.
pub(crate) fn of_sizes(case: &Case) -> Option<String> {
    let io = case.io().filter(|io| io.sizes.is_some())?;
    let is_in_order = matches!(io.pattern, Pattern::Sequential | Pattern::Random);
    let reason = match &case.work {
        _ if case.peer != OWN_PEER => "peers know blocks of one size: leave the peer out",
        _ if !is_in_order => {
            "zipf and strides count blocks of one size: use pattern 'sequential' or 'random'"
        }
        _ if io.files == Whose::Shared => "hosts share a file in blocks of one size: use own files",
        Work::Read(work) if work.engine.calls() == ReadCalls::Gathered => {
            "this engine asks the OS for other sizes than those of the blocks: use pread or uring"
        }
        Work::Write(work) if work.op != Op::Write || work.engine == WriteEngine::Buffered => {
            "this engine asks the OS for other sizes than those of the blocks: use op write, and \
             pwrite or uring"
        }
        Work::Write(work) if work.atomic != Atomic::No => {
            "atomic writes and transactions have blocks of one size"
        }
        _ => return None,
    };
    Some(reason.to_string())
}

/// Why several hosts cannot do `case` on one file, if it is to be one.
pub(crate) fn of_shared(case: &Case) -> Option<String> {
    let io = case.io().filter(|io| io.files == Whose::Shared)?;
    let reason = match case.write() {
        _ if case.populated() == Some(Populated::Written) => {
            "one host would write what others read: use populated readahead or random"
        }
        _ if case.peer != OWN_PEER => "peers know no parts of a file: leave the peer out",
        _ if io.rate > 0 => "hosts that share a file have no common schedule: leave the rate out",
        Some(work) if work.op != Op::Write => {
            "hosts share a file to read or to write it: use op write"
        }
        Some(work) if work.read_share > 0 => {
            "reads among writes need a file that is written anew before each trial: use own files"
        }
        Some(work) if work.allocation == Allocation::Append => {
            "hosts that append to one file do not know where their blocks are: use allocation none"
        }
        Some(work)
            if work.engine == WriteEngine::Mmap && work.allocation != Allocation::Overwrite =>
        {
            "a file that one host makes anew cannot be mapped by the others meanwhile: use \
             allocation overwrite"
        }
        _ => return None,
    };
    Some(reason.to_string())
}

/// Why blocks of this size cannot be written atomically to `storage`.
pub(crate) fn of_atomic(block: u64, storage: &Storage) -> Option<String> {
    let reason = match storage.atomic {
        None => "the OS does not say whether writes can be atomic here: statx does so since Linux \
                 6.11"
            .to_string(),
        Some(AtomicWrites { most: 0, .. }) => format!(
            "{} here offers no atomic writes (statx: stx_atomic_write_unit_max is 0)",
            storage.noun()
        ),
        Some(AtomicWrites { least, most }) => {
            let (least, most) = (u64::from(least), u64::from(most));
            if (least..=most).contains(&block) {
                return None;
            }
            let [least, most, block] = [least, most, block].map(units::bytes);
            format!("atomic writes here have {least} to {most}, not {block}")
        }
    };
    Some(reason)
}

fn direct_refusal([block, offset]: [u64; 2], direct: &Direct, file_system: &str) -> Option<String> {
    match *direct {
        Direct::Refused => Some(format!("{file_system} refuses O_DIRECT here")),
        Direct::Accepted { offset_align, .. } => {
            let align = u64::from(offset_align);
            let (what, odd) = [("blocks", block), ("offsets", offset)]
                .into_iter()
                .find(|(_, bytes)| !bytes.is_multiple_of(align))?;
            Some(format!(
                "O_DIRECT here needs {what} in multiples of {}, and {} is not",
                units::bytes(align),
                units::bytes(odd)
            ))
        }
    }
}
