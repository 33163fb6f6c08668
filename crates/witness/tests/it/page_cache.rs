use crate::fixture;
use model::evidence::{Probe, Residency};
use rustix::mm::{MapFlags, ProtFlags};
use std::fs::File;
use std::os::unix::fs::FileExt;
use witness::Error;
use witness::page_cache::{WHOLE, evict, residency, residency_of_range, warm, warm_at_random};

const PAGE: u64 = 4096;

/// The probe for temporary files; `None`, with a message, if `test` cannot run.
fn probe(test: &str, directory: &std::path::Path) -> Option<Probe> {
    let storage = witness::storage(directory).unwrap();
    if !storage.evictable {
        fixture::skip(test, &format!("no file of {} can be evicted", storage.file_system));
        return None;
    }
    storage.residency_probe
}

#[track_caller]
fn check(residency: Residency, cached: u64, pages: u64) {
    assert_eq!((residency.cached, residency.pages), (cached, pages), "{residency:?}");
}

#[test]
fn pages_that_are_read_one_by_one_are_folios_of_their_own() {
    let test = "pages_that_are_read_one_by_one_are_folios_of_their_own";
    if fixture::is_root(test) {
        fixture::tried(|| check_folios(test));
    }
}

fn check_folios(test: &str) {
    let directory = fixture::directory();
    let Some(probe) = probe(test, directory.path()) else { return };
    // The last page is partial.
    let file = fixture::file(&directory.path().join("file"), 1024 * PAGE - 1);
    let after = |warm: fn(&File, Probe) -> Result<Residency, Error>| {
        evict(&file, WHOLE, probe).unwrap();
        check(warm(&file, probe).unwrap(), 1024, 1024);
        witness::folio_bytes(&file)
    };
    let at_random = |file: &File, probe| warm_at_random(file, WHOLE, probe, &|| false);
    evict(&file, WHOLE, probe).unwrap();
    assert!(warm_at_random(&file, WHOLE, probe, &|| true).is_err(), "it can be stopped");
    let Some(singles) = after(at_random) else {
        return fixture::skip(test, "this kernel does not show its folios");
    };
    assert_eq!(singles, PAGE);
    let whole = |file: &File, probe| warm(file, WHOLE, probe);
    let read_ahead = after(whole).expect("they were seen before");
    // File systems without large folios hold pages one by one in any case.
    assert!((PAGE..=1024 * PAGE).contains(&read_ahead), "{read_ahead}");
    // The advice against readahead does not stay.
    assert_eq!(after(whole), Some(read_ahead));
}

#[test]
fn a_part_is_evicted_and_warmed_alone() {
    fixture::tried(|| {
        let directory = fixture::directory();
        let Some(probe) = probe("a_part_is_evicted_and_warmed_alone", directory.path()) else {
            return;
        };
        let file = fixture::file(&directory.path().join("file"), 4096 * PAGE);
        check(warm(&file, WHOLE, probe).unwrap(), 4096, 4096);
        let part = 2048 * PAGE..2050 * PAGE;
        check(evict(&file, part.clone(), probe).unwrap(), 0, 2);
        // Its neighbors go, too, but no more than a folio can cover.
        let far = [0..2048 * PAGE, 3072 * PAGE..4096 * PAGE];
        for far in far {
            let kept = residency_of_range(&file, probe, far).unwrap();
            assert_eq!(kept.cached, kept.pages, "{kept:?}");
        }
        evict(&file, WHOLE, probe).unwrap();
        check(warm_at_random(&file, part.clone(), probe, &|| false).unwrap(), 2, 2);
        check(residency(&file, probe).unwrap(), 2, 4096);
        evict(&file, WHOLE, probe).unwrap();
        check(warm(&file, part, probe).unwrap(), 2, 2);
        check(residency_of_range(&file, probe, 0..1024 * PAGE).unwrap(), 0, 1024);
    });
}

#[test]
fn a_file_is_cached_when_written_gone_when_evicted_and_back_when_warmed() {
    fixture::tried(check_evicted_and_warmed);
}

fn check_evicted_and_warmed() {
    let directory = fixture::directory();
    let Some(probe) = probe("evict and warm", directory.path()) else { return };
    // The last page is partial.
    let file = fixture::file(&directory.path().join("file"), 100 * PAGE - 1);
    check(residency(&file, probe).unwrap(), 100, 100);
    check(evict(&file, WHOLE, probe).unwrap(), 0, 100);
    check(residency(&file, probe).unwrap(), 0, 100);
    check(warm(&file, WHOLE, probe).unwrap(), 100, 100);
    check(residency(&file, probe).unwrap(), 100, 100);
}

#[test]
fn an_unsynced_file_is_written_back_before_it_is_evicted() {
    let directory = fixture::directory();
    let Some(probe) = probe("evict dirty pages", directory.path()) else { return };
    let path = directory.path().join("file");
    std::fs::write(&path, fixture::content(512 * PAGE)).unwrap();
    // Evicting needs only read permission.
    let file = File::open(&path).unwrap();
    check(evict(&file, WHOLE, probe).unwrap(), 0, 512);
    assert_eq!(std::fs::read(&path).unwrap(), fixture::content(512 * PAGE));
}

#[test]
fn both_probes_count_the_same_pages_of_any_range() {
    fixture::tried(check_ranges);
}

fn check_ranges() {
    let directory = fixture::directory();
    if probe("ranges", directory.path()) != Some(Probe::Cachestat) {
        return fixture::skip("ranges", "cachestat does not work for temporary files");
    }
    let file = fixture::file(&directory.path().join("file"), 64 * PAGE);
    evict(&file, WHOLE, Probe::Cachestat).unwrap();
    // Without readahead, only pages 8 to 15 enter the cache.
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Random).unwrap();
    for page in 8..16 {
        file.read_exact_at(&mut [0; 1], page * PAGE).unwrap();
    }
    for (range, pages) in [
        (0..64 * PAGE, 64),
        (8 * PAGE..16 * PAGE, 8),
        (0..8 * PAGE, 8),
        (10 * PAGE + 1..11 * PAGE + 1, 2),
        (5 * PAGE..5 * PAGE, 0),
        (60 * PAGE..90 * PAGE, 4),
        (70 * PAGE..90 * PAGE, 0),
    ] {
        let by = |probe| residency_of_range(&file, probe, range.clone()).unwrap();
        assert_eq!(by(Probe::Cachestat).pages, pages, "{range:?}");
        assert_eq!(by(Probe::Mincore).pages, pages, "{range:?}");
        assert_eq!(by(Probe::Cachestat).cached, by(Probe::Mincore).cached, "{range:?}");
    }
    check(residency_of_range(&file, Probe::Cachestat, 8 * PAGE..16 * PAGE).unwrap(), 8, 8);
}

#[test]
fn an_empty_file_is_wholly_cached_and_wholly_evicted() {
    let directory = fixture::directory();
    let file = fixture::file(&directory.path().join("file"), 0);
    for &probe in Probe::ALL {
        check(residency(&file, probe).unwrap(), 0, 0);
        check(evict(&file, WHOLE, probe).unwrap(), 0, 0);
        check(warm(&file, WHOLE, probe).unwrap(), 0, 0);
    }
}

#[test]
fn pages_that_are_mapped_stay_and_the_error_says_why() {
    let directory = fixture::directory();
    let Some(probe) = probe("evict mapped pages", directory.path()) else { return };
    let file = fixture::file(&directory.path().join("file"), 8 * PAGE);
    let length = 8 * PAGE as usize;
    let (read, shared) = (ProtFlags::READ, MapFlags::SHARED | MapFlags::POPULATE);
    // SAFETY: this creates a new mapping at an address that the OS chooses; nothing is read through
    // it.
    let address =
        unsafe { rustix::mm::mmap(std::ptr::null_mut(), length, read, shared, &file, 0) }.unwrap();
    let error = evict(&file, WHOLE, probe).unwrap_err();
    // SAFETY: this is the mapping above, and nothing refers to it.
    unsafe { rustix::mm::munmap(address, length) }.unwrap();
    assert!(matches!(error, Error::Stayed { residency, .. } if residency.cached == 8), "{error}");
    assert_eq!(
        error.to_string(),
        "8 of 8 pages stayed in the page cache: another process maps, locks or reads the file: \
         stop it first"
    );
    check(evict(&file, WHOLE, probe).unwrap(), 0, 8);
}

#[test]
fn what_is_kept_in_memory_cannot_be_evicted() {
    let Some(directory) = fixture::directory_in_memory() else {
        return fixture::skip("evict from tmpfs", "there is no /dev/shm");
    };
    let file = fixture::file(&directory.path().join("file"), 8 * PAGE);
    let error = evict(&file, WHOLE, Probe::Mincore).unwrap_err().to_string();
    assert!(error.starts_with("8 of 8 pages stayed in the page cache: its file system"), "{error}");
}
