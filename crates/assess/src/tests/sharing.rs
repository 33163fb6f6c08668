//! Reads of a file that is overwritten meanwhile.

use super::*;
use crate::shared::SharedFile;
use model::case::{Allocation, WriteWork};
use model::generation::PagesRead;
use model::plan::{Actor, ActorFile};
use model::trial::Beside;

/// The pages of a trial: a quarter is from before, and the rest was written meanwhile.
const WHOLE: PagesRead = PagesRead {
    before: PAGES / 4,
    first: PAGES / 2,
    second: PAGES / 4,
    torn: 0,
    wrong: 0,
    mixed_ops: 0,
};

/// Ten rounds of direct reads of a file that an actor overwrites in blocks of this size.
fn shared(block: u64) -> Record {
    let mut record = flawless(work(Cache::Direct));
    let io = Io { block, ..work(Cache::Direct).io };
    let allocation = Allocation::Overwrite;
    let writer = WriteWork { io, allocation, ..zoo::plain_write() };
    let actor = Actor::own("writer", Case::own(Work::Write(writer)));
    record.header.plan.actors = vec![Actor { file: ActorFile::Case, ..actor }];
    record.header.plan.cases[0].case.beside = vec!["writer".to_string()];
    each(&mut record, |trial| {
        sample(trial).spans[0].pages = Some(WHOLE);
        trial.expected_digest = None;
        trial.evidence.device_write_bytes = Some(FILE);
        // Pages that the writer brought there are not the reader's.
        trial.evidence.residency_after = residency(PAGES);
        let span = Span { end_ns: 2_000_000_000, bytes: FILE, ops: 1024, ..Span::default() };
        let evidence = Evidence {
            task_read_bytes: Some(0),
            task_write_bytes: Some(FILE),
            ..Evidence::default()
        };
        trial.beside = vec![Beside {
            name: "writer".to_string(),
            outcome: Outcome::Done(Sample { spans: vec![span], ..Sample::default() }),
            evidence,
            expected_digest: None,
            read_back: None,
        }];
    });
    record
}

/// Plants these pages in the trials of the rounds before `rounds`.
fn pages(rounds: u32, pages: PagesRead) -> impl FnOnce(&mut Record) {
    move |record| {
        each(record, |trial| {
            if trial.round < rounds {
                sample(trial).spans[0].pages = Some(pages);
            }
        });
    }
}

fn message(record: &Record) -> String {
    assess(record).cases[0].findings[0].message.clone()
}

#[test]
fn reads_beside_writes_of_the_same_file_are_sound() {
    check(shared(1 << 20), |_| {}, "sound device:");
    let case = assess(&shared(1 << 20)).cases.remove(0);
    let expected = SharedFile {
        pages: 10 * PAGES,
        new_share: 0.75,
        torn_pages: 0,
        wrong_pages: 0,
        mixed_ops: 0,
    };
    assert_eq!((case.shared, case.digest_verified), (Some(expected), Some(true)));
    let trial = case.trials[0].figures.as_ref().expect("it succeeded");
    let pages = trial.pages.expect("it read what was overwritten");
    assert_eq!((pages.count(), pages.written(), pages.torn), (PAGES, PAGES / 4 * 3, 0));
    let alone = assess(&flawless(work(Cache::Direct))).cases.remove(0);
    assert_eq!(alone.shared, None);
}

#[test]
fn a_page_that_nobody_wrote_voids_the_figure() {
    let wrong = PagesRead { wrong: 3, first: PAGES / 2 - 3, ..WHOLE };
    check(shared(1 << 20), pages(1, wrong), "void device: DigestMismatch void");
    let mut record = shared(1 << 20);
    pages(2, wrong)(&mut record);
    assert_eq!(
        message(&record),
        "6 of 2621440 pages of 4KiB that were read hold what nobody wrote there (in 2 of 10 \
         trials): bytes were lost, misplaced or changed"
    );
}

#[test]
fn pages_that_were_torn_are_counted() {
    let torn = PagesRead { torn: 5, mixed_ops: 5, before: PAGES / 4 - 5, ..WHOLE };
    check(shared(512 << 10), pages(1, torn), "sound device: TornPages note");
    let mut record = shared(512 << 10);
    pages(2, torn)(&mut record);
    assert_eq!(
        message(&record),
        "10 of 2621440 pages of 4KiB were torn: a part was of one write and a part of another (in \
         2 of 10 trials; reads of 1MiB, writes of 512KiB)"
    );
}

/// If each write covers the block that is read, its pages belong together.
#[test]
fn blocks_of_several_writes_are_torn_only_if_each_was_written_at_once() {
    let mixed = PagesRead { mixed_ops: 7, ..WHOLE };
    check(shared(512 << 10), pages(10, mixed), "sound device:");
    check(shared(2 << 20), pages(1, mixed), "sound device: TornPages note");
    let mut record = shared(1 << 20);
    pages(1, mixed)(&mut record);
    assert_eq!(
        message(&record),
        "0 of 2621440 pages of 4KiB were torn: a part was of one write and a part of another (in \
         1 of 10 trials; reads of 1MiB, writes of 1MiB); 7 of 10240 reads (0.07 %) returned \
         parts of several writes, though each call wrote whole blocks of theirs"
    );
}

#[test]
fn reads_that_met_no_change_prove_nothing() {
    let none = PagesRead::default();
    let before = PagesRead { before: PAGES, ..none };
    let after = PagesRead { second: PAGES, ..none };
    check(shared(1 << 20), pages(10, before), "doubtful device: OverlapUnseen doubt");
    check(shared(1 << 20), pages(10, after), "doubtful device: OverlapUnseen doubt");
    check(shared(1 << 20), pages(5, before), "sound device: OverlapUnseen note");
    let torn = PagesRead { torn: 1, ..before };
    check(shared(1 << 20), pages(10, torn), "sound device: TornPages note");
    let said = |planted| {
        let mut record = shared(1 << 20);
        pages(10, planted)(&mut record);
        message(&record)
    };
    assert!(said(before).starts_with("the reads met nothing of what was written meanwhile"));
    assert!(said(after).starts_with("the reads met only one of the contents"));
}

/// The case writes, and the actor reads what it writes.
#[test]
fn what_an_actor_reads_counts_as_well() {
    let swap = |record: &mut Record| {
        let reader = record.header.plan.cases[0].case.work.clone();
        let actor = &mut record.header.plan.actors[0].case;
        record.header.plan.cases[0].case.work = std::mem::replace(&mut actor.work, reader);
        each(record, |trial| {
            let pages = sample(trial).spans[0].pages.take();
            if let Outcome::Done(sample) = &mut trial.beside[0].outcome {
                sample.spans[0].pages = pages.map(|pages| PagesRead { wrong: 1, ..pages });
            }
        });
    };
    let mut record = shared(1 << 20);
    swap(&mut record);
    assert!(message(&record).starts_with("10 of 2621450 pages"), "{}", message(&record));
    assert_eq!(assess(&record).cases[0].digest_verified, Some(false));
}
