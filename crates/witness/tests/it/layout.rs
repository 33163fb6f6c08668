use crate::fixture;
use model::host::FileLayout;
use rustix::fs::FallocateFlags;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

const BLOCK: u64 = 4096;

#[track_caller]
fn check(file: &File, unwritten: u64) -> FileLayout {
    let layout = witness::layout(file, 0..file.metadata().unwrap().len())
        .unwrap()
        .expect("this file system tells");
    assert_eq!((layout.unwritten, layout.encoded), (unwritten, 0), "{layout:?}");
    layout
}

/// The laws that hold on every file system that reports holes.
fn tell_of_holes(directory: &Path) {
    let written = fixture::file(&directory.join("written"), 256 * BLOCK);
    check(&written, 0);

    let sparse = File::create(directory.join("sparse")).unwrap();
    sparse.set_len(256 * BLOCK).unwrap();
    check(&sparse, 256 * BLOCK);
    sparse.write_all_at(&fixture::content(16 * BLOCK), 64 * BLOCK).unwrap();
    // The file is not synced: `layout` does that itself.
    check(&sparse, 240 * BLOCK);

    let allocated = File::create(directory.join("allocated")).unwrap();
    rustix::fs::fallocate(&allocated, FallocateFlags::empty(), 0, 256 * BLOCK).unwrap();
    check(&allocated, 256 * BLOCK);
    allocated.write_all_at(&fixture::content(BLOCK), 0).unwrap();
    check(&allocated, 255 * BLOCK);

    let beyond = fixture::file(&directory.join("beyond"), BLOCK);
    rustix::fs::fallocate(&beyond, FallocateFlags::KEEP_SIZE, 0, 64 * BLOCK).unwrap();
    check(&beyond, 0);

    check(&File::create(directory.join("empty")).unwrap(), 0);

    // What others added is not asked for.
    let grown = fixture::file(&directory.join("grown"), 4 * BLOCK);
    grown.set_len(256 * BLOCK).unwrap();
    let layout = witness::layout(&grown, 0..4 * BLOCK).unwrap().expect("this file system tells");
    assert_eq!(layout.unwritten, 0, "{layout:?}");
}

/// A file with every other block written: more extents than fit into one request.
fn tell_of_many_extents(directory: &Path) -> FileLayout {
    let file = File::create(directory.join("many")).unwrap();
    for block in 0..1300 {
        file.write_all_at(&fixture::content(BLOCK), 2 * block * BLOCK).unwrap();
    }
    file.set_len(2600 * BLOCK).unwrap();
    check(&file, 1300 * BLOCK)
}

#[test]
fn holes_of_temporary_files() {
    let directory = fixture::directory();
    tell_of_holes(directory.path());
    let layout = tell_of_many_extents(directory.path());
    assert!(layout.extents.is_none_or(|extents| extents == 1300), "{layout:?}");
}

#[test]
fn holes_of_files_in_memory_are_told_without_extents() {
    let Some(directory) = fixture::directory_in_memory() else {
        return fixture::skip("layout on tmpfs", "there is no /dev/shm");
    };
    tell_of_holes(directory.path());
    assert_eq!(tell_of_many_extents(directory.path()).extents, None);
}

#[test]
fn asking_does_not_move_the_position_of_the_file() {
    use std::io::{Read, Seek, SeekFrom};
    let directory = fixture::directory_in_memory().unwrap_or_else(fixture::directory);
    let mut file = fixture::file(&directory.path().join("file"), 2 * BLOCK);
    file.seek(SeekFrom::Start(BLOCK)).unwrap();
    witness::layout(&file, 0..2 * BLOCK).unwrap();
    assert_eq!(file.read_to_end(&mut Vec::new()).unwrap() as u64, BLOCK);
}
