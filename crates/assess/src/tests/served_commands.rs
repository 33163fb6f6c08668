//! What served the data that commands read: as far as counters show it.

use super::*;
use model::command::{CommandWork, JudgedCommand};
use model::file_path::FilePath;
use model::host::Medium;
use model::rehearsal::{Copies, FactSheet, FileUse, Hints, Mappings, Opens};
use model::rehearsal::{FileRole, Queues, Totals};
use model::task_io::TaskIo;
use std::path::Path;

/// Ten rounds of a command that reads a file with calls, wholly from a device.
fn cold() -> Record {
    let mut record = flawless(work(Cache::Cold));
    let named = |name: &str| name.to_string();
    let command = JudgedCommand { name: named("cat f"), ..JudgedCommand::default() };
    let work =
        CommandWork { command: named("cat f"), cache: Cache::Cold, ..CommandWork::default() };
    record.header.plan.cases[0].case = Case::own(Work::Command(work));
    record.header.plan.commands = vec![command];
    record.header.rehearsals = vec![FactSheet {
        files: vec![read("/f", FileRole::Data, FILE)],
        processes: 1,
        threads: 1,
        ..FactSheet::default()
    }];
    evidence(&mut record, |evidence| {
        evidence.residency_before = residency(0);
        evidence.residency_after = residency(PAGES);
        evidence.task_rchar_bytes = Some(FILE + 8_000);
        (evidence.task_read_bytes, evidence.device_read_bytes) = (Some(FILE), Some(FILE));
    });
    record
}

/// The same with the file in the page cache.
fn warm() -> Record {
    let mut record = cold();
    evidence(&mut record, |evidence| {
        evidence.residency_before = residency(PAGES);
        (evidence.task_read_bytes, evidence.device_read_bytes) = (Some(0), Some(0));
    });
    record
}

/// A file of this size that was opened to be read.
fn read(path: &str, role: FileRole, bytes: u64) -> FileUse {
    FileUse {
        path: FilePath::from(Path::new(path)),
        role,
        bytes_before: Some(bytes),
        bytes_after: Some(bytes),
        opens: Opens { times: 1, reading: 1, ..Opens::default() },
        ..FileUse::default()
    }
}

fn facts(record: &mut Record) -> &mut FactSheet {
    &mut record.header.rehearsals[0]
}

/// Checks what served the first case after `plant`.
#[track_caller]
fn serves(mut record: Record, plant: impl FnOnce(&mut Record), expected: &str) {
    plant(&mut record);
    let case = &assess(&record).cases[0];
    let served = case.served_by.map_or("nothing known", |served| served.name());
    assert_eq!(served, expected, "{:#?}", record.trials[0].evidence);
}

/// The bytes that devices read for the command, and for anyone.
fn reads(bytes: u64) -> impl Fn(&mut Record) {
    move |record| {
        evidence(record, |evidence| {
            (evidence.task_read_bytes, evidence.device_read_bytes) = (Some(bytes), Some(bytes));
        });
    }
}

fn asks(record: &mut Record, bytes: u64) {
    evidence(record, |evidence| evidence.task_rchar_bytes = Some(bytes));
}

#[test]
fn a_file_is_served_by_what_has_it() {
    serves(cold(), |_| {}, "device");
    serves(warm(), |_| {}, "page-cache");
    serves(cold(), |record| asks(record, 2 * FILE), "mixed");
    let in_memory = |record: &mut Record| {
        record.header.storage.as_mut().unwrap().medium = Medium::Ram;
    };
    serves(warm(), in_memory, "ram");
}

#[test]
fn what_a_program_reads_of_its_own_files_is_not_of_the_page_cache() {
    let has_own = |bytes: u64| {
        move |record: &mut Record| {
            facts(record).files.push(read("/lib", FileRole::Program, bytes));
            asks(record, FILE + FILE / 20);
        }
    };
    serves(cold(), has_own(FILE / 10), "device");
    serves(cold(), has_own(FILE / 1000), "mixed");
}

#[test]
fn what_processes_pass_to_one_another_is_not_of_the_page_cache() {
    let passes = |processes: u64| {
        move |record: &mut Record| {
            facts(record).processes = processes;
            asks(record, 2 * FILE);
        }
    };
    serves(cold(), passes(3), "device");
    serves(cold(), passes(1), "mixed");
}

#[test]
fn a_little_beside_a_file_that_stays_cached_is_of_programs() {
    let mapped = |record: &mut Record| {
        let mappings = Mappings { shared: 1, ..Mappings::default() };
        facts(record).files[0].mappings = mappings;
        asks(record, 7_000);
        reads(12_288)(record);
    };
    serves(warm(), mapped, "page-cache");
    let evicted = |record: &mut Record| {
        mapped(record);
        facts(record).files[0].hints = Hints { dont_need: 1, ..Hints::default() };
    };
    serves(warm(), evicted, "mixed");
    let much = |record: &mut Record| {
        mapped(record);
        reads(FILE / 2)(record);
    };
    serves(warm(), much, "mixed");
}

#[test]
fn what_neither_a_cache_nor_a_device_had_is_unverified() {
    // Holes, or compressed.
    serves(cold(), reads(0), "unverified");
    serves(cold(), reads(FILE / 30), "unverified");
    let half = |record: &mut Record| {
        evidence(record, |evidence| evidence.residency_before = residency(PAGES / 2));
        reads(FILE / 2)(record);
    };
    serves(cold(), half, "mixed");
}

/// Pages that came into the cache came from the device, also if the program mapped few of them.
#[test]
fn a_part_of_a_mapped_file_is_from_the_device_if_as_much_came_into_the_cache() {
    let touched = |bytes: u64| {
        move |record: &mut Record| {
            facts(record).files[0].mappings = Mappings { private: 1, ..Mappings::default() };
            asks(record, 7_000);
            evidence(record, |evidence| evidence.residency_after = residency(PAGES / 4));
            reads(bytes)(record);
        }
    };
    serves(cold(), touched(FILE / 4), "device");
    serves(cold(), touched(FILE / 40), "unverified");
}

#[test]
fn a_ring_that_goes_past_the_cache_is_served_by_the_device_also_when_warm() {
    let ring = |direct: u64| {
        move |record: &mut Record| {
            facts(record).queues = Queues { uring: 1, ..Queues::default() };
            facts(record).files[0].opens.direct = direct;
            asks(record, 7_000);
            reads(FILE)(record);
        }
    };
    serves(warm(), ring(1), "device");
    serves(warm(), ring(0), "mixed");
}

#[test]
fn a_clone_reads_nothing() {
    let cloned = |clones: u64| {
        move |record: &mut Record| {
            let copies = Copies { cloned_source: clones, ..Copies::default() };
            facts(record).files[0].copies = copies;
            asks(record, 7_000);
            reads(0)(record);
        }
    };
    serves(cold(), cloned(1), "no-io");
    serves(warm(), cloned(1), "no-io");
    serves(cold(), cloned(0), "unverified");
}

/// The devices that are watched are those of the largest file.
#[test]
fn files_on_several_file_systems_are_served_by_the_page_cache_or_unverified() {
    let beside = |bytes: u64, device: u64| {
        move |record: &mut Record| {
            let other = FileUse { device, ..read("/other", FileRole::Data, bytes) };
            facts(record).files.push(other);
            asks(record, FILE + bytes);
        }
    };
    serves(cold(), beside(FILE / 10, 7), "unverified");
    serves(cold(), beside(FILE / 1000, 7), "device");
    serves(warm(), beside(FILE / 10, 7), "page-cache");
    let partly = |record: &mut Record| {
        beside(FILE / 10, 7)(record);
        evidence(record, |evidence| evidence.residency_before = residency(PAGES / 10 * 9));
    };
    serves(warm(), partly, "unverified");
    let on_one = |record: &mut Record| {
        partly(record);
        facts(record).files[1].device = 0;
    };
    serves(warm(), on_one, "page-cache");
}

#[test]
fn runs_that_read_far_less_than_the_rehearsal_are_unverified() {
    let rehearsed = |bytes: u64| {
        move |record: &mut Record| {
            let io = TaskIo { rchar: bytes, ..TaskIo::default() };
            facts(record).totals = Some(Totals { io: Some(io), ..Totals::default() });
        }
    };
    serves(warm(), rehearsed(FILE), "page-cache");
    serves(warm(), rehearsed(3 * FILE), "unverified");
    serves(cold(), rehearsed(FILE), "device");
}
