//! Whole jobs on a file that one worker overwrites while others read it.

use super::{Listener, file_of, sample_of};
use crate::perform::perform;
use model::case::{
    Allocation, Cache, Case, Engine, Io, ReadWork, Sync, Work, WriteEngine, WriteWork,
};
use model::content::Content;
use model::generation::{self, PAGE, PagesRead};
use model::pattern::Pattern;
use model::sample::Sample;
use model::trial::Job;
use model::zoo;
use std::path::Path;
use std::time::Duration;

const SIZE: u64 = 256 << 10;
const PAGES: u64 = SIZE / PAGE;
const SHARED: u64 = 7;

fn contents() -> [Content; 3] {
    generation::contents(SHARED, SIZE)
}

fn perform_on(work: Work, file: &Path) -> Option<(Job, Sample)> {
    let file = Some(file.to_path_buf());
    let mut listener = Listener { file: file.clone(), outcome: None };
    let case = Case::own(work);
    let job = Job { file, shared: Some(SHARED), ..Job::of(case, 5) };
    perform(&job, &mut listener);
    let outcome = listener.outcome.expect("a job that begins has an outcome");
    let sample = sample_of(&job, outcome)?;
    Some((job, sample))
}

/// Reads each block of a file once, after `plant` changed its bytes.
fn check(work: ReadWork, plant: impl Fn(&mut [u8]), expected: PagesRead) {
    let io = Io { size: SIZE, ops: SIZE / work.io.block, time: Duration::from_secs(60), ..work.io };
    let file = file_of(contents()[0]);
    let mut bytes = std::fs::read(file.path()).expect("it was just written");
    plant(&mut bytes);
    std::fs::write(file.path(), bytes).expect("a small file fits");
    let Some((job, sample)) = perform_on(Work::Read(ReadWork { io, ..work }), file.path()) else {
        return;
    };
    assert_eq!(sample.pages(), Some(expected), "{}", job.case.id());
}

fn readers() -> impl Iterator<Item = ReadWork> {
    let plain = zoo::plain();
    let io = |cache, depth, threads| Io {
        block: 2 * PAGE,
        pattern: Pattern::Random,
        cache,
        depth,
        threads,
        ..plain.io
    };
    let of = |engine, io| ReadWork { engine, io, ..zoo::plain() };
    let direct = io(Cache::Direct, 1, 2);
    [
        of(Engine::Pread, direct),
        of(Engine::Pread, io(Cache::AsIs, 1, 1)),
        of(Engine::Read, io(Cache::AsIs, 1, 3)),
        of(Engine::Uring, io(Cache::Direct, 4, 1)),
        of(Engine::Load, Io { pattern: Pattern::Sequential, ..io(Cache::AsIs, 1, 1) }),
    ]
    .into_iter()
}

/// Overwrites a part of the file with another content.
fn plant(bytes: &mut [u8], content: usize, place: std::ops::Range<u64>) {
    let place = place.start as usize..place.end as usize;
    contents()[content].fill(place.start as u64, &mut bytes[place]);
}

#[test]
fn pages_that_are_whole_are_told_apart() {
    let all = PagesRead { before: PAGES, ..PagesRead::default() };
    for reader in readers() {
        check(reader, |_| {}, all);
        // Of blocks of two pages, the first two belong together and the third does not.
        let some = PagesRead { before: PAGES - 5, first: 2, second: 3, mixed_ops: 1, ..all };
        let planted = |bytes: &mut [u8]| {
            plant(bytes, 1, 0..2 * PAGE);
            plant(bytes, 2, 4 * PAGE..7 * PAGE);
        };
        check(reader, planted, some);
    }
}

#[test]
fn a_page_with_half_of_another_write_is_torn_and_one_with_other_bytes_is_wrong() {
    for reader in readers() {
        let torn = |bytes: &mut [u8]| {
            // Half of its sectors, then a part of one sector of another page.
            plant(bytes, 1, 3 * PAGE..3 * PAGE + PAGE / 2);
            plant(bytes, 2, 9 * PAGE + 520..9 * PAGE + 600);
        };
        let counted =
            PagesRead { before: PAGES - 2, torn: 2, mixed_ops: 2, ..PagesRead::default() };
        check(reader, torn, counted);
        let wrong = |bytes: &mut [u8]| {
            torn(bytes);
            bytes[9 * PAGE as usize] ^= 1;
            // A page in the place of another.
            bytes.copy_within(0..PAGE as usize, 20 * PAGE as usize);
        };
        let (torn, wrong_pages) = (1, 2);
        let counted =
            PagesRead { before: PAGES - 3, torn, wrong: wrong_pages, mixed_ops: 1, ..counted };
        check(reader, wrong, counted);
    }
}

#[test]
fn each_pass_writes_the_other_content() {
    let io = |cache, depth, threads, block| Io {
        size: SIZE,
        time: Duration::from_millis(30),
        cache,
        depth,
        threads,
        block,
        pattern: Pattern::Random,
        ..zoo::plain_write().io
    };
    for (engine, io) in [
        (WriteEngine::Pwrite, io(Cache::AsIs, 1, 1, 4 * PAGE)),
        (WriteEngine::Pwrite, io(Cache::Direct, 1, 2, PAGE)),
        (WriteEngine::Write, io(Cache::AsIs, 1, 3, 2 * PAGE)),
        (WriteEngine::Mmap, io(Cache::AsIs, 1, 1, PAGE)),
        (WriteEngine::Uring, io(Cache::Direct, 4, 1, 2 * PAGE)),
        (WriteEngine::Uring, io(Cache::AsIs, 3, 2, 5 * PAGE)),
    ] {
        let (sync, allocation) = (Sync::None, Allocation::Overwrite);
        let work = WriteWork { io, engine, sync, allocation, ..zoo::plain_write() };
        let file = file_of(contents()[0]);
        let Some((job, sample)) = perform_on(Work::Write(work), file.path()) else { continue };
        let mut expected = vec![0; SIZE as usize];
        contents()[0].fill(0, &mut expected);
        let left = job.left(&sample, contents()[0]).expect("few blocks were written");
        for (content, parts) in left {
            for part in parts {
                let place = part.start as usize..part.end as usize;
                content.fill(part.start, &mut expected[place]);
            }
        }
        let id = job.case.id();
        assert!(std::fs::read(file.path()).expect("it was just written") == expected, "{id}");
        assert_eq!(sample.pages(), None, "{id}");
    }
}
