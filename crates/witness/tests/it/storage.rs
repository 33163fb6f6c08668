use crate::actor::Actor;
use crate::fixture::{self, JOURNALED, Mounted, PLAIN, Setup, Zram};
use model::evidence::Probe;
use model::host::{Direct, HeldContent, Medium, Storage};
use model::layer::Counts;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use witness::{Error, page_cache, storage, storage_of};

/// The storage of a fixture; `None`, with a message, if it cannot be created.
fn made(test: &str, make: impl FnOnce() -> Result<Mounted, String>) -> Option<(Mounted, Storage)> {
    if !fixture::is_root(test) {
        return None;
    }
    match make() {
        Ok(mounted) => {
            let storage = storage(&mounted.point).unwrap();
            assert_eq!(
                std::fs::read_dir(&mounted.point)
                    .unwrap()
                    .flatten()
                    .filter(|entry| { entry.file_name().to_string_lossy().contains("canary") })
                    .count(),
                0,
                "the canary file is gone"
            );
            Some((mounted, storage))
        }
        Err(reason) => {
            fixture::skip(test, &reason);
            None
        }
    }
}

#[track_caller]
fn check_note(storage: &Storage, part: &str) {
    assert!(storage.notes.iter().any(|note| note.contains(part)), "'{part}' in {storage:#?}");
}

fn bypasses(storage: &Storage) -> Option<bool> {
    match storage.direct {
        Direct::Accepted { bypasses, .. } => bypasses,
        Direct::Refused => panic!("O_DIRECT is accepted here: {storage:#?}"),
    }
}

#[test]
fn temporary_files_have_a_device() {
    let directory = fixture::directory();
    let storage = storage(directory.path()).unwrap();
    assert!(directory.path().starts_with(&storage.mount_point), "{storage:#?}");
    let (capacity, free) = storage.room().expect("it has a size");
    assert!(free > 0 && free <= capacity, "{storage:#?}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is left");
    if storage.medium != Medium::Block {
        return fixture::skip("device of temporary files", "they are on no block device");
    }
    for device in &storage.devices {
        assert!(Path::new("/sys/block").join(&device.name).join("stat").exists(), "{device:?}");
    }
    assert!(!storage.devices.is_empty(), "{storage:#?}");
    assert!(storage.evictable && storage.residency_probe.is_some(), "{storage:#?}");
}

#[test]
fn tmpfs_is_memory_and_o_direct_bypasses_nothing_there() {
    let Some(directory) = fixture::directory_in_memory() else {
        return fixture::skip("tmpfs", "there is no /dev/shm");
    };
    let storage = storage(directory.path()).unwrap();
    assert_eq!((storage.medium, storage.evictable), (Medium::Ram, false), "{storage:#?}");
    assert_eq!(storage.devices, []);
    // Before Linux 6.6, O_DIRECT was refused here.
    if storage.direct != Direct::Refused {
        assert_eq!(bypasses(&storage), Some(false));
    }
}

#[test]
fn ext4_on_a_loop_device_with_direct_io_is_what_it_seems() {
    let make = || Mounted::on_loop(fixture::directory(), "ext4", &PLAIN);
    let Some((mounted, storage)) = made("ext4", make) else { return };
    assert_eq!(storage.file_system, "ext4");
    assert_eq!(storage.mount_point, mounted.point);
    assert_eq!(storage.devices.len(), 1, "{storage:#?}");
    assert_eq!(storage.devices[0].name, mounted.loop_name());
    // Not a hypervisor but this machine presents it, as a file on another file system.
    assert!(!storage.devices[0].is_virtual, "{storage:#?}");
    let below = self::storage(mounted.point.parent().unwrap()).unwrap();
    let file = storage.devices[0].file.as_ref().expect("it is a file");
    assert_eq!((&file.file_system, &file.devices), (&below.file_system, &below.devices));
    assert!(storage.evictable, "{storage:#?}");
    assert_eq!(bypasses(&storage), Some(true), "{storage:#?}");
    assert!(!storage.notes.iter().any(|note| note.contains("without direct I/O")), "{storage:#?}");
}

#[test]
fn counters_that_are_told_not_to_count_are_seen_not_to() {
    let make = || {
        let mounted = Mounted::on_loop(fixture::directory(), "ext4", &PLAIN)?;
        mounted.write_cache("write back")?;
        Ok(mounted)
    };
    let Some((mounted, counting)) = made("iostats", make) else { return };
    let counts = |storage: &Storage| storage.layers[0].counts;
    let all = Counts { reads: Some(true), writes: Some(true), flushes: Some(true) };
    assert_eq!(counts(&counting), all, "{counting:#?}");
    mounted.queue("iostats", "0").unwrap();
    let silent = storage(&mounted.point).unwrap();
    let of_silent = counts(&silent);
    assert_eq!((of_silent.reads, of_silent.writes), (Some(false), Some(false)), "{silent:#?}");
    // A file without a canary beside it is on the same device.
    drop(fixture::file(&mounted.point.join("file"), 1 << 20));
    // A process that another test is just starting may still have the file open for writing.
    let deadline = Instant::now() + Duration::from_secs(120);
    let remount = || fixture::run("mount", &["-o", "remount,ro", mounted.point.to_str().unwrap()]);
    while let Err(said) = remount() {
        assert!(said.contains("busy") && Instant::now() < deadline, "{said}");
        std::thread::sleep(Duration::from_millis(10));
    }
    let untried = storage_of(&mounted.point.join("file")).unwrap();
    let expected = Counts { reads: Some(false), writes: Some(false), flushes: None };
    assert_eq!(counts(&untried), expected, "{untried:#?}");
}

#[test]
fn a_mount_that_flushes_nothing_says_so() {
    let setup = Setup { mount: "barrier=0", ..PLAIN };
    let make = || Mounted::on_loop(fixture::directory(), "ext4", &setup);
    let Some((mounted, storage)) = made("barrier=0", make) else { return };
    let expected = format!("ext4 at '{}' (nobarrier)", mounted.point.display());
    assert_eq!(storage.barriers_off, [expected]);
    assert_eq!(storage.layers[0].counts.flushes, None, "{storage:#?}");
}

#[test]
fn ext4_that_journals_data_accepts_o_direct_and_does_not_obey() {
    let setup = Setup { mount: "data=journal", ..PLAIN };
    let make = || Mounted::on_loop(fixture::directory(), "ext4", &setup);
    let Some((_mounted, storage)) = made("ext4 data=journal", make) else { return };
    assert_eq!(bypasses(&storage), Some(false), "{storage:#?}");
    check_note(&storage, "through the page cache");
}

/// Neither is a mount option: one is a default, and the other is a flag of files.
#[test]
fn ext4_that_journals_data_without_a_mount_option_says_so() {
    let plain = || Mounted::on_loop(fixture::directory(), "ext4", &PLAIN);
    let Some((mounted, storage)) = made("data in the journal", plain) else { return };
    assert_eq!((storage.journal, storage.journals_data), (Some(true), Some(false)));
    drop(mounted);
    let delayed = ("chattr +j, delayed allocation", "rw", fixture::flag_root as fn(&str) -> _);
    for (name, options, change) in JOURNALED.into_iter().chain([delayed]) {
        let make = || {
            let mounted = Mounted::on_loop(fixture::directory(), "ext4", &PLAIN)?;
            mounted.again(options, change)?;
            Ok(mounted)
        };
        let Some((_mounted, storage)) = made(name, make) else { return };
        assert_eq!(storage.journals_data, Some(name != delayed.0), "{name}: {storage:#?}");
        assert!(!storage.mount_options.contains("data=journal"), "{name}: {storage:#?}");
    }
}

/// Files have it from their directory.
#[test]
fn files_that_wait_for_each_write_by_their_own_flag_say_so() {
    let make = || Mounted::on_loop(fixture::directory(), "ext4", &PLAIN);
    let Some((mounted, plain)) = made("chattr +S", make) else { return };
    assert_eq!(plain.syncs_writes, Some(false), "{plain:#?}");
    fixture::run("chattr", &["+S", mounted.point.to_str().unwrap()]).unwrap();
    let flagged = storage(&mounted.point).unwrap();
    assert_eq!(flagged.syncs_writes, Some(true), "{flagged:#?}");
    assert!(!flagged.mount_options.split(',').any(|option| option == "sync"), "{flagged:#?}");
}

/// An overlay keeps new files on another file system.
#[test]
fn an_overlay_has_the_journal_of_what_is_below() {
    let ext4 = || {
        let mounted = Mounted::on_loop(fixture::directory(), "ext4", &PLAIN)?;
        mounted.again("data=journal", |_| Ok(String::new()))?;
        Ok(mounted)
    };
    let Some((below, _)) = made("overlay on data=journal", ext4) else { return };
    let make = || Mounted::overlay(TempDir::new_in(&below.point).unwrap(), "rw");
    let Some((_mounted, storage)) = made("overlay on data=journal", make) else { return };
    assert_eq!(storage.journals_data, Some(true), "{storage:#?}");
    assert_eq!(storage.own_writes_most(), Some(2), "{storage:#?}");
}

#[test]
fn a_loop_device_on_memory_is_memory() {
    let Some(directory) = fixture::directory_in_memory() else {
        return fixture::skip("loop on tmpfs", "there is no /dev/shm");
    };
    let setup = Setup { losetup: &[], ..PLAIN };
    let make = || Mounted::on_loop(directory, "ext4", &setup);
    let Some((mounted, storage)) = made("loop on tmpfs", make) else { return };
    assert_eq!(storage.medium, Medium::Ram, "{storage:#?}");
    assert_eq!(storage.devices[0].name, mounted.loop_name());
    check_note(&storage, "O_DIRECT inside is the page cache outside");
}

#[test]
fn mincore_is_used_on_overlayfs_where_cachestat_sees_nothing() {
    let make = || Mounted::overlay(fixture::directory(), "rw");
    let Some((mounted, on_overlay)) = made("overlayfs", make) else { return };
    assert_eq!(on_overlay.residency_probe, Some(Probe::Mincore), "{on_overlay:#?}");
    assert!(on_overlay.evictable, "{on_overlay:#?}");
    check_note(&on_overlay, "using mincore");
    let below = storage(mounted.point.parent().unwrap()).unwrap();
    assert_eq!(on_overlay.devices, below.devices);
    assert_eq!(on_overlay.medium, below.medium);
}

/// The one device is on a disk, as far as this machine's temporary files are.
#[test]
fn an_external_journal_in_memory_is_a_weak_part() {
    let Some(memory) = fixture::directory_in_memory() else {
        return fixture::skip("external journal", "there is no /dev/shm");
    };
    let two = [fixture::directory(), memory];
    let make = || Mounted::on_two(two, 64 << 20, fixture::ext4_with_journal_on);
    let Some((mounted, storage)) = made("external journal", make) else { return };
    if storage.medium != Medium::Block {
        return fixture::skip("external journal", "temporary files are on no block device");
    }
    let [part] = &storage.weak_parts[..] else { panic!("{storage:#?}") };
    assert_eq!((part.holds, part.is_copied), (HeldContent::Journal, false), "{storage:#?}");
    assert_ne!(part.device.as_deref(), Some(mounted.loop_name()), "{storage:#?}");
    assert_eq!(storage.devices.len(), 2, "{storage:#?}");
}

#[test]
fn a_file_on_a_lower_layer_is_on_the_devices_of_that_layer() {
    let lower = fixture::directory();
    let path = lower.path().join("file");
    drop(fixture::file(&path, 1 << 20));
    let Some(memory) = fixture::directory_in_memory() else {
        return fixture::skip("lower layer", "there is no /dev/shm");
    };
    let make = || Mounted::overlay_above(memory, lower.path());
    let Some((mounted, of_new)) = made("lower layer", make) else { return };
    let (below, above) = (storage_of(&path).unwrap(), mounted.point.join("file"));
    let above = storage_of(&above).unwrap();
    assert_eq!(of_new.medium, Medium::Ram, "{of_new:#?}");
    let known = |it: &Storage| (it.medium, it.devices.clone(), it.evictable, it.capacity);
    assert_eq!(known(&above), known(&below), "{above:#?}");
}

/// Its syncs write nothing, so they show nothing of the counters; a direct write shows them.
#[test]
fn an_overlay_that_ignores_syncs_says_so_and_its_device_counts() {
    let make = || Mounted::overlay(fixture::directory(), "volatile");
    let Some((mounted, storage)) = made("volatile", make) else { return };
    let dropping = storage.dropping().join("; ");
    let expected = format!("overlay at '{}' (", mounted.point.display());
    assert!(dropping.starts_with(&expected) && dropping.ends_with("volatile)"), "{storage:#?}");
    for layer in &storage.layers {
        assert_ne!(layer.counts.writes, Some(false), "{storage:#?}");
        assert_ne!(layer.counts.flushes, Some(false), "{storage:#?}");
    }
}

#[test]
fn xfs_is_what_it_seems() {
    let setup = Setup { size: 320 << 20, ..PLAIN };
    let make = || Mounted::on_loop(fixture::directory(), "xfs", &setup);
    let Some((_mounted, storage)) = made("xfs", make) else { return };
    assert_eq!(bypasses(&storage), Some(true), "{storage:#?}");
    assert!(storage.evictable, "{storage:#?}");
}

#[test]
fn btrfs_is_mapped_to_its_device_though_it_has_a_number_of_its_own() {
    let setup = Setup { size: 128 << 20, mount: "compress=zstd", ..PLAIN };
    let make = || Mounted::on_loop(fixture::directory(), "btrfs", &setup);
    let Some((mounted, storage)) = made("btrfs", make) else { return };
    assert_eq!(storage.devices.len(), 1, "{storage:#?}");
    assert_eq!(storage.devices[0].name, mounted.loop_name());
    assert!(storage.evictable, "{storage:#?}");
    check_note(&storage, "may be compressed");
    // The zeros are compressed, and the layout shows that.
    let file = File::create(mounted.point.join("zeros")).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &vec![0; 1 << 20], 0).unwrap();
    let layout = witness::layout(&file, 0..1 << 20).unwrap().unwrap();
    assert_eq!((layout.unwritten, layout.encoded), (0, 1 << 20), "{layout:?}");
}

#[test]
fn zram_is_memory_though_it_looks_like_a_disk() {
    if !fixture::is_root("zram") {
        return;
    }
    let zram = match Zram::new(32 << 20) {
        Ok(zram) => zram,
        Err(reason) => return fixture::skip("zram", &reason),
    };
    let make = || Mounted::new(fixture::directory(), "ext4", &zram.node(), "rw", None);
    let Some((_mounted, storage)) = made("zram", make) else { return };
    assert_eq!(storage.medium, Medium::Ram, "{storage:#?}");
    assert_eq!(zram.node(), format!("/dev/{}", storage.devices[0].name));
    assert_eq!(bypasses(&storage), Some(true), "{storage:#?}");
}

#[test]
fn what_another_process_serves_is_not_seen() {
    let make = || Mounted::pass_through(fixture::directory(), &[]);
    let Some((_mounted, storage)) = made("FUSE", make) else { return };
    assert_eq!((storage.medium, storage.devices.len()), (Medium::Unseen, 0), "{storage:#?}");
    check_note(&storage, "another process serves this file system");
}

/// Reads there can never be warm. By default, FUSE drops a file's cached pages when it is opened.
#[test]
fn a_mount_that_caches_nothing_keeps_no_pages() {
    for (options, keeps) in
        [(&["-o", "direct_io"][..], false), (&[], false), (&["-o", "kernel_cache"], true)]
    {
        let make = || Mounted::pass_through(fixture::directory(), options);
        let Some((_mounted, storage)) = made("FUSE without caching", make) else { return };
        assert_eq!(storage.keeps_pages, Some(keeps), "{storage:#?}");
    }
}

#[test]
fn a_file_system_without_a_size_has_none_and_says_so() {
    let make = || Mounted::sizeless(fixture::directory());
    let Some((_mounted, storage)) = made("ramfs", make) else { return };
    assert_eq!((storage.capacity, storage.free), (None, None), "{storage:#?}");
    check_note(&storage, "does not check whether files fit");
}

#[test]
fn a_file_on_a_read_only_mount_is_looked_at_and_not_touched() {
    let make = || Mounted::on_loop(fixture::directory(), "ext4", &PLAIN);
    let Some((mounted, _)) = made("read-only", make) else { return };
    let path = mounted.point.join("file");
    drop(fixture::file(&path, 1 << 20));
    // A process that another test is just starting may still have the file open for writing.
    let deadline = Instant::now() + Duration::from_secs(120);
    let remount = || fixture::run("mount", &["-o", "remount,ro", mounted.point.to_str().unwrap()]);
    while let Err(said) = remount() {
        assert!(said.contains("busy") && Instant::now() < deadline, "{said}");
        std::thread::sleep(Duration::from_millis(10));
    }
    let error = storage(&mounted.point).unwrap_err();
    assert!(matches!(error, Error::NotWritable { .. }), "{error}");
    assert!(error.to_string().contains("Read-only file system"), "{error}");
    let of_file = storage_of(&path).unwrap();
    let probe = of_file.residency_probe.expect("root may ask");
    assert!(of_file.evictable, "{of_file:#?}");
    assert_eq!(bypasses(&of_file), None, "{of_file:#?}");
    check_note(&of_file, "were not tested");
    // Eviction, which was only assumed to work, does work.
    let file = File::open(&path).unwrap();
    assert_eq!(page_cache::evict(&file, page_cache::WHOLE, probe).unwrap().cached, 0);
    assert_eq!(page_cache::warm(&file, page_cache::WHOLE, probe).unwrap().cached, 256);
}

#[test]
fn looking_at_a_file_leaves_it_and_its_cached_pages_alone() {
    fixture::tried(check_left_alone);
}

fn check_left_alone() {
    let directory = fixture::directory();
    let path = directory.path().join("file");
    let file = fixture::file(&path, 1 << 20);
    let of_directory = storage(directory.path()).unwrap();
    let of_file = storage_of(&path).unwrap();
    // Other processes may use the file system meanwhile.
    let directory_itself = std::fs::canonicalize(directory.path()).unwrap();
    let expected = Storage { free: of_file.free, directory: directory_itself, ..of_directory };
    assert_eq!(of_file, expected);
    if let Some(probe) = of_file.residency_probe {
        assert_eq!(page_cache::residency(&file, probe).unwrap().cached, 256);
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "no canary is left");
}

#[test]
fn a_link_stands_for_the_file_it_leads_to() {
    let (directory, elsewhere) = (fixture::directory(), fixture::directory());
    let path = directory.path().join("file");
    drop(fixture::file(&path, 4096));
    let link = elsewhere.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let of_link = storage_of(&link).unwrap();
    assert_eq!(of_link.directory, std::fs::canonicalize(directory.path()).unwrap());
}

#[test]
fn what_is_no_file_is_refused_with_its_name() {
    let directory = fixture::directory();
    let error = storage_of(directory.path()).unwrap_err();
    assert!(matches!(error, Error::NotAFile { .. }), "{error}");
    let missing = directory.path().join("missing");
    for error in [storage(&missing).unwrap_err(), storage_of(&missing).unwrap_err()] {
        let error = error.to_string();
        assert!(error.contains("missing") && error.contains("No such file"), "{error}");
    }
}

#[test]
fn a_stranger_is_not_told_what_is_cached() {
    let name = "a stranger";
    if !fixture::is_root(name) {
        return;
    }
    let directory = fixture::directory();
    let path = directory.path().join("file");
    drop(fixture::file(&path, 1 << 20));
    let ask = |act, path: &Path| Actor::start_stranger(act, path, directory.path()).go();
    // mincore would report everything as cached.
    let of_file = ask("storage_of", &path);
    assert!(of_file.starts_with("None|"), "{of_file}");
    assert!(of_file.contains("mincore answers only for files that you own"), "{of_file}");
    let of_directory = ask("storage", directory.path());
    assert!(
        of_directory.contains("name a directory that this user can write to"),
        "{of_directory}"
    );
    let dropped = ask("drop", &path);
    assert!(dropped.contains("needs root"), "{dropped}");
    assert!(dropped.contains("ioassay cache evict FILE"), "{dropped}");
}
