//! Why a file on some storage cannot be in a cache state.

use crate::case::Cache;
use crate::host::{Direct, Medium, Storage};
use crate::units;

/// Why blocks of this size on `storage` cannot be read or written in a cache state.
pub(crate) fn of_storage(cache: Cache, block: u64, storage: &Storage) -> Option<String> {
    match cache {
        Cache::Cold if storage.medium == Medium::Ram && !storage.evictable => Some(format!(
            "{} keeps its files in memory and can't evict them, so nothing is cold here",
            storage.file_system
        )),
        Cache::Warm if storage.keeps_pages == Some(false) => Some(format!(
            "{} keeps nothing in the page cache when a file is opened (like FUSE without \
             kernel_cache or auto_cache, or mounts with direct_io or cache=none), so nothing is \
             warm here",
            storage.file_system
        )),
        Cache::Cold | Cache::Warm | Cache::DontCache if storage.residency_probe.is_none() => {
            Some(format!(
                "neither cachestat nor mincore is right about {} here, so '{}' cannot be proved",
                storage.file_system, cache
            ))
        }
        Cache::Cold | Cache::DontCache if !storage.evictable => Some(format!(
            "a test file on {} could not be evicted from the page cache",
            storage.file_system
        )),
        Cache::Direct => direct_refusal(block, &storage.direct, &storage.file_system),
        _ => None,
    }
}

fn direct_refusal(block: u64, direct: &Direct, file_system: &str) -> Option<String> {
    match *direct {
        Direct::Refused => Some(format!("{file_system} refuses O_DIRECT here")),
        Direct::Accepted { offset_align, .. } => {
            let align = u64::from(offset_align);
            (!block.is_multiple_of(align)).then(|| {
                format!(
                    "O_DIRECT here needs blocks in multiples of {}, and {} is not",
                    units::bytes(align),
                    units::bytes(block)
                )
            })
        }
    }
}
