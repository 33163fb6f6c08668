//! Whether test files may take the space that they need: of the file system, and of the memory if
//! it keeps them there.

use anyhow::{Result, bail};
use model::host::{Host, Medium, Storage};
use model::units;

/// Checks that files of `needed` bytes fit into `free` bytes. Other users must keep 5 % of the file
/// system or 1 GiB, whichever is less. If a file system has no fixed size, nothing is refused.
///
/// # Errors
/// If they do not fit.
pub fn check_free(storage: &Storage, free: Option<u64>, needed: u64) -> Result<()> {
    let (Some(capacity), Some(free)) = (storage.capacity, free) else { return Ok(()) };
    let reserve = reserve(capacity);
    if needed.saturating_add(reserve) > free {
        bail!(
            "test files of {} do not fit into '{}': {} are free, and {} must stay free for other \
             programs: choose a smaller --size or another directory",
            units::bytes_rounded(needed),
            storage.directory.display(),
            units::bytes_rounded(free),
            units::bytes_rounded(reserve)
        );
    }
    Ok(())
}

/// The bytes of a file system of this capacity that must stay free for other programs.
pub fn reserve(capacity: u64) -> u64 {
    (capacity / 20).min(1 << 30)
}

/// Checks that files of `sizes` bytes may be written: see [`check_free`] and [`check_memory`].
///
/// # Errors
/// If they may not.
pub fn check_space(storage: &Storage, host: &Host, sizes: &[u64]) -> Result<()> {
    let needed = sum(sizes);
    let directory = storage.directory.display();
    if let Some(capacity) = storage.capacity.filter(|capacity| needed > *capacity) {
        bail!(
            "test files of {} are larger than the file system of '{directory}' ({}): choose a \
             smaller --size",
            units::bytes_rounded(needed),
            units::bytes_rounded(capacity)
        );
    }
    check_free(storage, storage.free, needed)?;
    check_memory(storage, host, sizes)
}

/// Checks that a file system with `free` inodes has enough for `names` new files, and as many for
/// other programs. If it creates inodes as needed, nothing is refused.
///
/// # Errors
/// If it has not.
pub fn check_inodes(free: Option<u64>, names: u64) -> Result<()> {
    if let Some(free) = free.filter(|free| free / 2 < names) {
        bail!(
            "{names} names need as many inodes, but only {free} are free, of which half are left \
             to other programs: use fewer --entries or another directory"
        );
    }
    Ok(())
}

/// Whether two directories are on one btrfs, which has a device number for each subvolume, so that
/// those do not tell.
pub fn are_subvolumes(one: &Storage, other: &Storage) -> bool {
    let are_btrfs = [one, other].iter().all(|storage| storage.file_system == "btrfs");
    are_btrfs && one.devices == other.devices && one.capacity == other.capacity
}

/// The bytes of all `sizes`; at most what 64 bits hold.
pub fn sum<'s>(sizes: impl IntoIterator<Item = &'s u64>) -> u64 {
    sizes.into_iter().fold(0, |sum: u64, size| sum.saturating_add(*size))
}

/// Checks that files of `sizes` bytes take at most half of the memory, if the file system keeps
/// them there.
///
/// # Errors
/// If they take more.
pub fn check_memory(storage: &Storage, host: &Host, sizes: &[u64]) -> Result<()> {
    let (directory, needed) = (storage.directory.display(), sum(sizes));
    let in_memory = host.memory_available.filter(|_| storage.medium == Medium::Ram);
    if let Some(available) = in_memory.filter(|available| needed > *available / 2) {
        bail!(
            "'{directory}' is in memory, and test files of {} need more than half of the {} \
             available: choose a smaller --size",
            units::bytes_rounded(needed),
            units::bytes_rounded(available)
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subvolumes_share_their_space_and_other_file_systems_do_not() {
        let one = Storage { file_system: "btrfs".to_string(), ..model::zoo::storage() };
        assert!(are_subvolumes(&one, &one.clone()));
        assert!(!are_subvolumes(&one, &Storage { capacity: Some(1), ..one.clone() }));
        assert!(!are_subvolumes(&one, &Storage { devices: Vec::new(), ..one.clone() }));
        let ext4 = Storage { file_system: "ext4".to_string(), ..one.clone() };
        assert!(!are_subvolumes(&ext4, &ext4.clone()));
    }

    #[test]
    fn half_of_the_inodes_are_left_to_others() {
        assert!(check_inodes(None, u64::MAX).is_ok());
        assert!(check_inodes(Some(200), 100).is_ok());
        let error = check_inodes(Some(199), 100).unwrap_err().to_string();
        assert!(error.contains("100 names") && error.contains("only 199 are free"), "{error}");
    }

    /// Unknown limits are neither zero nor infinite: whatever is known is checked.
    #[test]
    fn limits_that_nobody_tells_refuse_nothing() {
        use model::zoo;
        let check = |storage: &Storage, host: &Host| check_space(storage, host, &[1 << 20]).is_ok();
        let (storage, host) = (zoo::storage(), zoo::host());
        assert!(check(&storage, &host));
        let full = Storage { free: Some(0), ..storage.clone() };
        assert!(!check(&full, &host));
        let small = Storage { capacity: Some(4096), ..storage.clone() };
        assert!(!check(&small, &host));
        let sizeless = Storage { capacity: None, free: None, medium: Medium::Ram, ..storage };
        assert!(check(&sizeless, &host));
        let tiny = Host { memory_available: Some(1 << 20), ..host.clone() };
        assert!(!check(&sizeless, &tiny));
        assert!(check(&sizeless, &Host { memory_available: None, ..host }));
    }
}
