use crate::fixture::{self, LoopDevice, Mounted, PLAIN, Setup};
use model::evidence::Probe;
use model::host::{Direct, Medium, Storage};
use rustix::fs::{FallocateFlags, Mode, OFlags, fallocate};
use std::fs::File;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use witness::page_cache::{WHOLE, evict, residency, residency_of_range, warm};
use witness::{Disk, Error, disk, storage, storage_of_disk, storage_of_read_disk, zero_blocks};

const SIZE: u64 = 4 << 20;

/// A loop device with an image of known content.
struct Loop {
    device: LoopDevice,
    image: PathBuf,
    // Dropped last, because it contains the image.
    directory: TempDir,
}

impl Loop {
    /// `None`, with a message, if it cannot be created for `test`.
    fn new(test: &str, options: &[&str]) -> Option<Loop> {
        if !fixture::is_root(test) {
            return None;
        }
        let directory = fixture::directory();
        let image = directory.path().join("image");
        drop(fixture::file(&image, SIZE));
        match LoopDevice::new(&image, options) {
            Ok(device) => Some(Loop { device, image, directory }),
            Err(reason) => {
                fixture::skip(test, &reason);
                None
            }
        }
    }

    fn node(&self) -> &Path {
        Path::new(&self.device.node)
    }

    fn name(&self) -> &str {
        self.device.node.strip_prefix("/dev/").unwrap()
    }

    #[track_caller]
    fn check(&self, objections: &[String]) {
        assert_eq!(disk(self.node()).unwrap().objections, objections);
    }
}

#[test]
fn a_loop_device_that_nobody_uses_may_be_written_and_is_left_as_it_is() {
    let Some(device) = Loop::new("a raw device", &["--direct-io=on"]) else { return };
    let name = device.name().to_string();
    let expected =
        Disk { name: name.clone(), size: SIZE, logical_block: 512, objections: Vec::new() };
    assert_eq!(disk(device.node()).unwrap(), expected);
    let link = device.directory.path().join("link");
    std::os::unix::fs::symlink(device.node(), &link).unwrap();
    assert_eq!(disk(&link).unwrap(), expected);
    let below = storage(device.directory.path()).unwrap();
    let raw = storage_of_disk(&link).unwrap();
    let direct = Direct::Accepted { offset_align: 512, bypasses: Some(true) };
    assert_eq!((raw.capacity, raw.free, raw.direct), (Some(SIZE), Some(SIZE), direct), "{raw:#?}");
    assert_eq!((raw.file_system.as_str(), raw.medium), (model::host::NO_FILE_SYSTEM, below.medium));
    assert_eq!((raw.directory.as_path(), raw.mount_point.as_os_str().len()), (device.node(), 0));
    let names: Vec<&str> = raw.devices.iter().map(|device| device.name.as_str()).collect();
    assert_eq!(names, [name]);
    assert!(raw.evictable && raw.residency_probe.is_some(), "{raw:#?}");
    assert!(std::fs::read(&device.image).unwrap() == fixture::content(SIZE), "it was written to");
}

#[test]
fn a_device_that_nobody_uses_is_read_without_a_note_and_its_zeros_are_seen() {
    let Some(device) = Loop::new("zeros of a device", &["--direct-io=on"]) else { return };
    let read = storage_of_read_disk(device.node()).unwrap();
    assert!(!read.notes.iter().any(|note| note.contains(device.name())), "{read:#?}");
    assert_eq!((read.capacity, read.free), (Some(SIZE), None));
    let queue = format!("/sys/block/{}/queue/discard_max_bytes", device.name());
    let most = std::fs::read_to_string(queue).unwrap();
    assert_eq!(read.discards, Some(most.trim() != "0"));
    let file = File::open(device.node()).unwrap();
    let zeros = |range| zero_blocks(&file, range).map(|seen| (seen.looked, seen.zeros));
    assert_eq!(zeros(0..SIZE), Some((256, 0)));
    let image = File::options().write(true).open(&device.image).unwrap();
    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    fallocate(&image, hole, SIZE / 2, SIZE / 2).unwrap();
    assert_eq!(zeros(0..SIZE / 2), Some((256, 0)));
    assert_eq!(zeros(SIZE / 2..SIZE), Some((256, 256)));
    assert_eq!(zeros(SIZE / 2..SIZE / 2 + (8 << 12)), Some((8, 8)));
    let (looked, of_all) = zeros(0..SIZE).unwrap();
    assert!(looked == 256 && (64..192).contains(&of_all), "{of_all}");
    assert_eq!(zeros(0..100), None);
    assert_eq!(zeros(SIZE..2 * SIZE), None);
}

#[test]
fn pages_of_a_block_device_are_counted_evicted_and_warmed() {
    fixture::tried(check_pages);
}

fn check_pages() {
    let Some(device) = Loop::new("pages of a device", &["--direct-io=on"]) else { return };
    let pages = SIZE / 4096;
    let file = File::open(device.node()).unwrap();
    let of_device = storage_of_disk(device.node()).unwrap().residency_probe;
    for probe in [of_device.expect("root may ask"), Probe::Mincore] {
        let check = |cached, of: std::io::Result<_>| {
            let of: model::evidence::Residency = of.unwrap();
            assert_eq!((of.cached, of.pages), (cached, pages), "{of:?}");
        };
        check(pages, Ok(warm(&file, WHOLE, probe).unwrap()));
        check(pages, residency(&file, probe));
        check(0, Ok(evict(&file, WHOLE, probe).unwrap()));
        check(0, residency(&file, probe));
        let beyond = residency_of_range(&file, probe, SIZE..2 * SIZE).unwrap();
        assert_eq!((beyond.pages, beyond.cached), (0, 0));
    }
}

#[test]
fn offsets_of_a_device_with_large_sectors_are_aligned_to_them() {
    let options = ["--direct-io=on", "--sector-size=4096"];
    let Some(device) = Loop::new("sectors of 4096 bytes", &options) else { return };
    assert_eq!(disk(device.node()).unwrap().logical_block, 4096);
    let Storage { direct, .. } = storage_of_disk(device.node()).unwrap();
    assert_eq!(direct, Direct::Accepted { offset_align: 4096, bypasses: Some(true) });
}

#[test]
fn a_device_that_is_mounted_must_not_be_written() {
    let kinds = [("ext4", PLAIN), ("btrfs", Setup { size: 128 << 20, ..PLAIN })];
    for (kind, setup) in kinds {
        let name = format!("a mounted device of {kind}");
        if !fixture::is_root(&name) {
            return;
        }
        let mounted = match Mounted::on_loop(fixture::directory(), kind, &setup) {
            Ok(mounted) => mounted,
            Err(reason) => {
                fixture::skip(&name, &reason);
                continue;
            }
        };
        let device = mounted.loop_name();
        let node = Path::new("/dev").join(device);
        let objections = disk(&node).unwrap().objections;
        let expected = match kind {
            "ext4" => format!("{device} is mounted at '{}'", mounted.point.display()),
            _ => format!("{device} is a member of a btrfs that is mounted"),
        };
        assert_eq!(objections, std::slice::from_ref(&expected));
        // Inspecting is allowed and only reads.
        let raw = storage_of_disk(&node).unwrap();
        assert_eq!(raw.capacity, Some(setup.size));
        // The file system holds pages, so what works is tried where it holds none.
        let read = storage_of_read_disk(&node).unwrap();
        assert!(read.notes.iter().any(|note| note.starts_with(&expected)), "{read:#?}");
        assert!(matches!(read.direct, Direct::Accepted { bypasses: Some(true), .. }), "{read:#?}");
        assert_eq!((read.evictable, read.free), (true, None), "{read:#?}");
    }
}

#[test]
fn a_read_only_device_must_not_be_written() {
    let Some(device) = Loop::new("a read-only device", &["--read-only"]) else { return };
    device.check(&[format!("{} is read-only", device.name())]);
}

#[test]
fn what_a_loop_device_is_made_of_must_not_be_written() {
    let Some(lower) = Loop::new("a loop on a loop", &["--direct-io=on"]) else { return };
    lower.check(&[]);
    let upper = match LoopDevice::new(lower.node(), &[]) {
        Ok(upper) => upper,
        Err(reason) => return fixture::skip("a loop on a loop", &reason),
    };
    let upper_name = upper.node.strip_prefix("/dev/").unwrap();
    lower.check(&[format!("{} backs {upper_name}", lower.name())]);
    assert_eq!(disk(Path::new(&upper.node)).unwrap().objections, [] as [String; 0]);
}

#[test]
fn what_another_loop_device_is_made_of_must_not_be_written() {
    let Some(one) = Loop::new("two loops of a file", &[]) else { return };
    let image = std::fs::read_to_string(format!("/sys/block/{}/loop/backing_file", one.name()));
    let image = image.unwrap();
    let alias = format!("{}.alias", image.trim());
    std::fs::hard_link(image.trim(), &alias).unwrap();
    let two = match LoopDevice::new(Path::new(&alias), &[]) {
        Ok(two) => two,
        Err(reason) => return fixture::skip("two loops of a file", &reason),
    };
    // It is still the same file under another name.
    std::fs::remove_file(&alias).unwrap();
    let name = two.node.strip_prefix("/dev/").unwrap();
    let objections = disk(one.node()).unwrap().objections;
    let expected = format!("{} and {name} are made of the same file", one.name());
    assert!(objections.len() == 1 && objections[0].starts_with(&expected), "{objections:?}");
    drop(two);
    one.check(&[]);
}

#[test]
fn a_device_that_another_holds_unseen_must_not_be_written() {
    let Some(device) = Loop::new("a held device", &[]) else { return };
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    let holder = rustix::fs::open(device.node(), flags, Mode::empty()).unwrap();
    let objections = disk(device.node()).unwrap().objections;
    assert!(objections.len() == 1 && objections[0].contains("is in use"), "{objections:?}");
    drop(holder);
    device.check(&[]);
}

#[test]
fn the_disk_of_temporary_files_must_not_be_written() {
    let name = "the disk of temporary files";
    if !fixture::is_root(name) {
        return;
    }
    let directory = fixture::directory();
    let storage = storage(directory.path()).unwrap();
    if storage.medium != Medium::Block {
        return fixture::skip(name, "they are on no block device");
    }
    for device in &storage.devices {
        let path = Path::new("/dev").join(&device.name);
        match disk(&path) {
            Ok(disk) => assert_ne!(disk.objections, [] as [String; 0], "{disk:?}"),
            // A container may lack the device node or be forbidden to open it.
            Err(error) => fixture::skip(name, &error.to_string()),
        }
    }
}

#[test]
fn what_is_no_block_device_is_refused_with_its_name() {
    let directory = fixture::directory();
    for path in [directory.path(), Path::new("/dev/null")] {
        for error in [disk(path).unwrap_err(), storage_of_disk(path).unwrap_err()] {
            assert!(matches!(error, Error::NotADisk { .. }), "{error}");
            let text = error.to_string();
            assert!(text.contains(path.to_str().unwrap()) && text.contains("not a block device"));
        }
    }
    let missing = directory.path().join("missing");
    let error = disk(&missing).unwrap_err().to_string();
    assert!(error.contains("missing") && error.contains("No such file"), "{error}");
}
