//! Commands: what served them, what they leave, and what bounds them.

use super::*;
use crate::conclusions::commands::CommandBound;
use crate::conclusions::device_use::DeviceUse;
use crate::durable_commands::CommandDurability;
use model::command::{Exit, JudgedCommand};
use model::evidence::StorageTraffic;
use model::figure::PrintedFigure;
use model::host::{Medium, Storage};
use model::path::WriteCache;
use model::rehearsal::{CommandEnd, FactSheet, FileUse, Opens, OtherSources, SyncCalls};
use model::zoo::commands::{INPUT, OUTPUT, record_of_commands};

const MIB: u64 = 1 << 20;

/// The cases of the zoo's record of commands.
pub(super) const READS_WARM: usize = 0;
pub(super) const READS_COLD: usize = 1;
pub(super) const WRITES_WARM: usize = 2;
pub(super) const WRITES_COLD: usize = 3;

/// The zoo's record, with this case first, so that [`check`] judges it.
pub(super) fn first(case: usize) -> Record {
    let mut record = record_of_commands();
    record.header.plan.cases.swap(0, case);
    for trial in &mut record.trials {
        trial.case = match trial.case {
            0 => case,
            it if it == case => 0,
            it => it,
        };
    }
    record
}

pub(super) fn runs(record: &mut Record) -> impl Iterator<Item = &mut Trial> {
    record.trials.iter_mut().filter(|trial| trial.case == 0)
}

pub(super) fn evidence(record: &mut Record, mut change: impl FnMut(&mut Evidence)) {
    runs(record).for_each(|trial| change(&mut trial.evidence));
}

fn exit(record: &mut Record, change: impl Fn(&mut Exit, u32)) {
    for trial in runs(record) {
        let round = trial.round;
        change(sample(trial).exit.as_mut().expect("commands of the zoo have one"), round);
    }
}

pub(super) fn facts(record: &mut Record, mut change: impl FnMut(&mut FactSheet)) {
    record.header.rehearsals.iter_mut().for_each(&mut change);
}

pub(super) fn files(record: &mut Record, change: impl Fn(&mut FileUse)) {
    facts(record, |facts| facts.files.iter_mut().for_each(&change));
}

fn set_cache(record: &mut Record, cache: Cache) {
    match &mut record.header.plan.cases[0].case.work {
        Work::Command(work) => work.cache = cache,
        other => panic!("{other:?} is no command"),
    }
}

pub(super) fn storage(record: &mut Record) -> &mut Storage {
    record.header.storage.as_mut().expect("the zoo has a storage")
}

fn figures(record: &Record) -> crate::command_figures::CommandFigures {
    assess(record).cases[0].command.as_deref().expect("it is a command").clone()
}

#[test]
fn a_flawless_command_has_its_figures_and_no_doubt() {
    check(first(READS_WARM), |_| {}, "sound page-cache:");
    check(first(READS_COLD), |_| {}, "sound device:");
    check(first(WRITES_WARM), |_| {}, "sound page-cache:");
    check(first(WRITES_COLD), |_| {}, "sound device: SameDevice note");
    let read = figures(&first(READS_COLD));
    assert_eq!(read.asked_bytes, Some(INPUT + 3_000));
    assert_eq!((read.device_read_bytes, read.dirtied_bytes), (Some(INPUT), Some(0)));
    assert_eq!((read.files_read, read.files_read_bytes), (Some(1), Some(INPUT)));
    assert_eq!((read.syncs, read.durability, read.dirty_bytes), (Some(0), None, None));
    let written = figures(&first(WRITES_WARM));
    assert_eq!((written.files_written, written.files_written_bytes), (Some(1), Some(OUTPUT)));
    assert_eq!((written.syncs, written.flushes), (Some(1), Some(1)));
    assert_eq!(
        (written.durability, written.dirty_bytes),
        (Some(CommandDurability::Durable), Some(0))
    );
}

/// Only what calls show is asked for: what is unknown is null.
#[test]
fn what_calls_do_not_show_is_unknown() {
    let asked = |change: &dyn Fn(&mut FactSheet)| {
        let mut record = first(READS_COLD);
        facts(&mut record, change);
        figures(&record).asked_bytes
    };
    assert_eq!(asked(&|_| {}), Some(INPUT + 3_000));
    assert_eq!(asked(&|facts| facts.queues.uring = 1), None);
    assert_eq!(asked(&|facts| facts.processes = 2), Some(INPUT + 3_000));
    let sources = |change: fn(&mut OtherSources)| {
        asked(&|facts| {
            facts.processes = 2;
            change(facts.other_sources.as_mut().expect("the zoo's are new"));
        })
    };
    assert_eq!(sources(|it| it.pipes = 1), None, "what passes through it counts as well");
    assert_eq!(sources(|it| it.sockets = 1), None);
    assert_eq!(sources(|it| it.terminals = 1), None);
    assert_eq!(sources(|it| it.devices = 1), None);
    assert_eq!(sources(|it| it.memory_files = 1), None);
    assert_eq!(sources(|it| it.kernel_files = 100), Some(INPUT + 3_000), "they have few bytes");
    assert_eq!(sources(|it| it.kernel_files = 10_000), None);
    let older =
        |processes: u64| asked(&|facts| (facts.processes, facts.other_sources) = (processes, None));
    assert_eq!((older(1), older(2)), (Some(INPUT + 3_000), None), "pipes may count as well");
    assert_eq!(asked(&|facts| facts.files[1].mappings.private = 1), None);
    assert_eq!(asked(&|facts| facts.sampled = true), None);
    // Without it, whole files that were not cached before came from devices.
    let passes = |r: &mut Record| {
        facts(r, |it| {
            it.processes = 2;
            it.other_sources.as_mut().expect("the zoo's are new").pipes = 1;
        });
    };
    check(first(READS_COLD), passes, "sound device:");
    check(first(READS_WARM), passes, "sound page-cache:");
    // Parts of programs are no data, if all of that was cached.
    let few = |r: &mut Record| {
        passes(r);
        evidence(r, |it| {
            (it.task_read_bytes, it.device_read_bytes) = (Some(14 << 10), Some(14 << 10));
        });
    };
    check(first(READS_WARM), few, "sound page-cache:");
    let uncached = |r: &mut Record| {
        few(r);
        set_cache(r, Cache::AsIs);
        evidence(r, |it| it.residency_before = None);
    };
    check(first(READS_WARM), uncached, "sound mixed:");
}

#[test]
fn files_that_were_not_cold() {
    let cached = |share: u64| {
        move |r: &mut Record| {
            evidence(r, |it| {
                let seen = it.residency_before.as_mut().expect("it is seen");
                seen.cached = seen.pages / 100 * share;
                it.task_read_bytes = Some(INPUT / 100 * (100 - share));
                it.device_read_bytes = it.task_read_bytes;
            });
        }
    };
    check(first(READS_COLD), cached(50), "void mixed: CacheLeak void");
    check(first(READS_COLD), cached(0), "sound device:");
    // Another program read half of it meanwhile.
    let half = |r: &mut Record| evidence(r, |it| it.task_read_bytes = Some(INPUT / 2));
    check(first(READS_COLD), half, "void mixed: CacheLeak void, Foreign doubt");
    // What it read twice came from a device once: no leak.
    let twice = |r: &mut Record| evidence(r, |it| it.task_rchar_bytes = Some(2 * INPUT));
    check(first(READS_COLD), twice, "sound mixed: ReadAgain note");
}

#[test]
fn files_that_were_not_warm() {
    let read = |bytes| move |r: &mut Record| evidence(r, |it| it.task_read_bytes = Some(bytes));
    let all = |bytes| {
        move |r: &mut Record| {
            read(bytes)(r);
            evidence(r, |it| it.device_read_bytes = Some(bytes));
        }
    };
    check(first(READS_WARM), all(INPUT / 2), "void mixed: NotWarm void");
    check(first(READS_WARM), all(INPUT / 1000), "sound page-cache:");
    let direct = |r: &mut Record| {
        all(INPUT)(r);
        files(r, |file| file.opens.direct = file.opens.reading);
    };
    check(first(READS_WARM), direct, "sound device: NotWarm note, CpuBound note");
    // It opens the file directly, and no device reads it.
    let ignored = |r: &mut Record| files(r, |file| file.opens.direct = file.opens.reading);
    check(first(READS_WARM), ignored, "doubtful page-cache: DirectIgnored doubt");
    // One that asks for little of it proves nothing.
    let unread = |r: &mut Record| {
        ignored(r);
        evidence(r, |it| it.task_rchar_bytes = Some(INPUT / 2));
    };
    check(first(READS_WARM), unread, "sound page-cache:");
}

/// As they are, no state is claimed of its files, but that a device served them.
#[test]
fn what_a_loop_device_serves_through_the_page_cache_is_no_device() {
    let served = |is_direct: bool, read: u64| {
        move |r: &mut Record| {
            set_cache(r, Cache::AsIs);
            let storage = r.header.storage.as_mut().expect("commands of the zoo have one");
            storage.devices[0].loop_direct = Some(is_direct);
            evidence(r, |it| {
                (it.task_read_bytes, it.device_read_bytes) = (Some(read), Some(read));
            });
        }
    };
    check(first(READS_COLD), served(false, INPUT), "doubtful device: LoopCached doubt");
    check(first(READS_COLD), served(true, INPUT), "sound device:");
    check(first(READS_WARM), served(false, 0), "sound page-cache:");
}

#[test]
fn a_part_in_the_page_cache_as_it_is() {
    let partly = |r: &mut Record| {
        set_cache(r, Cache::AsIs);
        r.header.plan.commands[0].reads.clear();
        evidence(r, |it| {
            it.residency_before.as_mut().expect("it is seen").cached /= 2;
            it.task_read_bytes = Some(INPUT / 2);
            it.device_read_bytes = Some(INPUT / 2);
        });
    };
    check(first(READS_WARM), partly, "doubtful mixed: PartlyCached doubt");
    check(first(READS_WARM), |r| set_cache(r, Cache::AsIs), "sound page-cache:");
    let unseen = |r: &mut Record| {
        set_cache(r, Cache::AsIs);
        evidence(r, |it| (it.residency_before, it.residency_after) = (None, None));
    };
    check(first(READS_WARM), unseen, "sound page-cache: CacheUnseen note");
}

#[test]
fn devices_that_read_too_much() {
    let read = |bytes| {
        move |r: &mut Record| {
            evidence(r, |it| {
                (it.task_read_bytes, it.device_read_bytes) = (Some(bytes), Some(bytes));
            });
        }
    };
    check(first(READS_COLD), read(8 * INPUT), "sound device: OverRead note");
    check(first(READS_COLD), read(INPUT + MIB), "sound device:");
    let others = |r: &mut Record| evidence(r, |it| it.device_read_bytes = Some(2 * INPUT));
    check(first(READS_COLD), others, "doubtful device: Foreign doubt");
    // A file system that reads something else has other numbers.
    let fewer = |r: &mut Record| evidence(r, |it| it.device_read_bytes = Some(INPUT / 8));
    check(first(READS_COLD), fewer, "doubtful unverified: Unverified doubt");
}

#[test]
fn what_was_only_acknowledged() {
    let dirty = |pages| {
        move |r: &mut Record| {
            evidence(r, |it| it.written_after.as_mut().expect("it writes").dirty = Some(pages));
        }
    };
    let all = OUTPUT / 4096;
    check(first(WRITES_WARM), dirty(all), "sound page-cache: AcknowledgedOnly note");
    let mut record = first(WRITES_WARM);
    dirty(all)(&mut record);
    facts(&mut record, |facts| facts.syncs.fdatasync = 0);
    let found = &assess(&record).cases[0];
    let expected = "32.0 MiB of the 32.0 MiB that it wrote were on no device when it ended";
    assert_eq!(found.findings[0].message, expected);
    assert_eq!(figures(&record).durability, Some(CommandDurability::Acknowledged));
    assert_eq!(figures(&record).dirty_bytes, Some(OUTPUT));
    // All of it is clean, but nothing was synced: a device's cache may have it.
    let unsynced = |r: &mut Record| facts(r, |facts| facts.syncs.fdatasync = 0);
    check(first(WRITES_WARM), unsynced, "sound page-cache: AcknowledgedOnly note");
    check(first(WRITES_WARM), |_| {}, "sound page-cache:");
}

#[test]
fn syncs_that_do_not_flush() {
    let unflushed = |r: &mut Record| evidence(r, |it| it.device_flushes = Some(0));
    check(first(WRITES_WARM), unflushed, "doubtful page-cache: NotDurable doubt");
    let through = |r: &mut Record| {
        unflushed(r);
        storage(r).devices[0].write_cache = Some(WriteCache::Through);
    };
    check(first(WRITES_WARM), through, "sound page-cache:");
    let kept = |plant: &dyn Fn(&mut Record)| {
        let mut record = first(WRITES_WARM);
        plant(&mut record);
        figures(&record).durability
    };
    assert_eq!(kept(&through), Some(CommandDurability::Durable));
    assert_eq!(kept(&unflushed), Some(CommandDurability::NotDurable));
    assert_eq!(
        kept(&|r| evidence(r, |it| it.device_flushes = None)),
        Some(CommandDurability::Unseen)
    );
    assert_eq!(
        kept(&|r| evidence(r, |it| it.written_after = None)),
        Some(CommandDurability::Unseen)
    );
    assert_eq!(kept(&|r| facts(r, |it| it.sampled = true)), Some(CommandDurability::Unseen));
    // Another device has the file that it wrote, and nobody watched that one.
    let elsewhere = |file: &mut FileUse| file.device += u64::from(file.created);
    assert_eq!(kept(&|r| files(r, elsewhere)), Some(CommandDurability::Unseen));
    // A file that it removed is no output.
    let removed = |file: &mut FileUse| file.removed = file.created;
    assert_eq!(kept(&|r| files(r, removed)), None);
    let in_memory = |r: &mut Record| {
        storage(r).medium = Medium::Ram;
        set_cache(r, Cache::AsIs);
    };
    assert_eq!(kept(&in_memory), Some(CommandDurability::NotDurable));
}

#[test]
fn dirty_data_of_others_before_a_run() {
    let dirty = |r: &mut Record| evidence(r, |it| it.dirty_before = Some(100 * MIB));
    check(first(WRITES_WARM), dirty, "doubtful page-cache: DirtyStart doubt");
    check(first(READS_COLD), dirty, "doubtful device: DirtyStart doubt");
    // What neither reads from a device nor syncs does not wait for it.
    check(first(READS_WARM), dirty, "sound page-cache:");
}

#[test]
fn a_processor_that_others_use_is_not_the_commands() {
    // The worker's own thread only waits for the command.
    let waits = |r: &mut Record| evidence(r, |it| it.run_delay_ns = Some(it.window_ns / 2));
    check(first(READS_WARM), waits, "sound page-cache:");
    // That of the command's first thread, which did nearly all, is its own.
    let delayed = |share: u64| {
        move |r: &mut Record| {
            for trial in runs(r) {
                let span = &mut sample(trial).spans[0];
                span.run_delay_ns = Some((span.end_ns - span.start_ns) / 100 * share);
            }
        }
    };
    check(first(READS_WARM), delayed(30), "doubtful page-cache: Contended doubt");
    check(first(READS_WARM), delayed(15), "sound page-cache: Contended note");
    check(first(READS_WARM), delayed(5), "sound page-cache:");
    let quota = |r: &mut Record| evidence(r, |it| it.throttled_ns = Some(it.window_ns / 4));
    check(first(READS_WARM), quota, "doubtful page-cache: Throttled doubt");
    let stolen = |r: &mut Record| evidence(r, |it| it.steal_ns = Some(it.window_ns / 4));
    check(first(READS_WARM), stolen, "doubtful page-cache: Steal doubt");
    let swapped = |r: &mut Record| evidence(r, |it| it.swapped_bytes = Some(MIB));
    check(first(READS_WARM), swapped, "sound page-cache: Swapped note");
}

/// Makes each run last this long, all of it computing.
pub(super) fn lasts(record: &mut Record, ns: u64) {
    for trial in runs(record) {
        let sample = sample(trial);
        sample.spans[0].end_ns = sample.spans[0].start_ns + ns;
        sample.usage.cpu_ns = Some(ns);
        trial.evidence.window_ns = ns + 1_000;
    }
}

/// Adds a program that does nothing and takes this long.
fn add_start(record: &mut Record, ns: u64) {
    let start = JudgedCommand { name: "nothing".to_string(), ..JudgedCommand::default() };
    let case = Case::own(Work::Command(start.work(Cache::AsIs)));
    record.header.plan.commands.push(start);
    // One operation.
    add(record, case, Role::Baseline, 64, ns as f64 / 1e9, 0);
}

#[test]
fn runs_so_short_that_their_start_is_a_large_part() {
    let short = |r: &mut Record| {
        lasts(r, 3_000_000);
        add_start(r, 1_000_000);
    };
    check(first(READS_WARM), short, "sound page-cache: StartupBound note");
    check(first(READS_WARM), |r| lasts(r, 3_000_000), "sound page-cache:");
    let long = |r: &mut Record| {
        lasts(r, 30_000_000);
        add_start(r, 1_000_000);
    };
    check(first(READS_WARM), long, "sound page-cache:");
}

/// Where no probe sees the page cache, what devices read proves the state, or nothing does.
#[test]
fn a_state_that_only_the_runs_can_prove() {
    let unseen = |r: &mut Record| {
        evidence(r, |it| (it.residency_before, it.residency_after) = (None, None));
    };
    let read = |share: u64| {
        move |r: &mut Record| {
            unseen(r);
            evidence(r, |it| {
                it.task_read_bytes = Some(INPUT / 100 * share);
                it.device_read_bytes = it.task_read_bytes;
            });
        }
    };
    check(first(READS_COLD), unseen, "sound device: CacheUnseen note");
    check(first(READS_WARM), unseen, "sound page-cache: CacheUnseen note");
    let unproved = "void mixed: StateUnproved void, CacheUnseen note";
    check(first(READS_COLD), read(90), unproved);
    check(first(READS_COLD), read(0), &unproved.replace("mixed", "page-cache"));
    check(first(READS_WARM), read(3), "void mixed: NotWarm void, CacheUnseen note");
    let sampled = |r: &mut Record| {
        unseen(r);
        facts(r, |facts| facts.sampled = true);
    };
    check(
        first(READS_COLD),
        sampled,
        "void mixed: StateUnproved void, CacheUnseen note, FilesSampled note",
    );
    let elsewhere = |r: &mut Record| {
        unseen(r);
        storage(r).file_system = "btrfs".to_string();
    };
    check(first(READS_COLD), elsewhere, "void device: StateUnproved void, CacheUnseen note");
    // As they are, nothing is claimed.
    let as_is = |r: &mut Record| {
        read(90)(r);
        set_cache(r, Cache::AsIs);
    };
    check(first(READS_COLD), as_is, "sound mixed: CacheUnseen note");
}

#[test]
fn files_that_were_only_sampled() {
    let sampled = |r: &mut Record| facts(r, |facts| facts.sampled = true);
    check(first(READS_COLD), sampled, "sound device: FilesSampled note");
    check(first(READS_COLD), |_| {}, "sound device:");
}

#[test]
fn a_first_run_that_took_longer() {
    let slow = |read: u64, computes: bool| {
        move |r: &mut Record| {
            let trial = runs(r).next().expect("it has runs");
            trial.evidence.task_read_bytes = Some(read);
            trial.evidence.device_read_bytes = Some(read);
            let sample = sample(trial);
            sample.spans[0].end_ns += 200_000_000;
            if computes {
                sample.usage.cpu_ns = sample.usage.cpu_ns.map(|ns| ns + 190_000_000);
            }
            trial.evidence.window_ns += 200_000_000;
        }
    };
    let why = |plant: &dyn Fn(&mut Record)| {
        let mut record = first(READS_WARM);
        set_cache(&mut record, Cache::AsIs);
        record.header.plan.commands[0].reads.clear();
        plant(&mut record);
        let found = assess(&record).cases[0].findings.clone();
        let found = found.into_iter().find(|it| it.code == crate::finding::Code::FirstRun);
        found.map_or(String::new(), |it| it.message)
    };
    assert!(why(&slow(INPUT, false)).contains("devices read 64.0 MiB for it, and 0 B"));
    assert!(why(&slow(0, true)).contains("its CPU time was 270 ms, and 80.0 ms in the others"));
    assert!(why(&slow(0, true)).ends_with("or its processor was slower"));
    let in_kernel = |r: &mut Record| {
        slow(0, true)(r);
        let usage = &mut sample(runs(r).next().expect("it has runs")).usage;
        usage.system_ns = usage.system_ns.map(|ns| ns + 190_000_000);
    };
    assert!(why(&in_kernel).contains("270 ms, and 80.0 ms in the others: the kernel used"));
    assert!(why(&slow(0, false)).ends_with("no counter shows why"));
    assert_eq!(why(&|_| {}), "");
}

#[test]
fn calls_that_are_too_small() {
    let calls = |bytes: u64| {
        move |r: &mut Record| evidence(r, |it| it.task_read_calls = Some(INPUT / bytes))
    };
    check(first(READS_WARM), calls(1), "sound page-cache: SmallCalls note");
    check(first(READS_WARM), calls(4096), "sound page-cache:");
    // The kernel hardly ran for it, so calls cannot have taken long.
    let idle = |r: &mut Record| {
        calls(1)(r);
        for trial in runs(r) {
            let usage = &mut sample(trial).usage;
            usage.user_ns = usage.cpu_ns.map(|ns| ns - 1_000_000);
            usage.system_ns = Some(1_000_000);
        }
    };
    check(first(READS_WARM), idle, "sound page-cache:");
    let of_rehearsal = |bytes: u64| {
        move |r: &mut Record| {
            evidence(r, |it| it.task_read_calls = None);
            facts(r, |facts| {
                let io = facts.totals.as_mut().and_then(|totals| totals.io.as_mut());
                io.expect("it was counted").syscr = INPUT / bytes;
            });
        }
    };
    check(first(READS_WARM), of_rehearsal(1), "sound page-cache: SmallCalls note");
    check(first(READS_WARM), of_rehearsal(4096), "sound page-cache:");
    let read = figures(&first(READS_WARM));
    assert_eq!((read.read_calls, read.read_call_bytes), (Some(532), Some(126_150)));
    let unseen = |r: &mut Record| evidence(r, |it| it.task_read_calls = None);
    let mut record = first(READS_WARM);
    unseen(&mut record);
    assert_eq!((figures(&record).read_calls, figures(&record).read_call_bytes), (None, None));
}

#[test]
fn a_file_that_is_only_opened_for_writing_is_not_written() {
    let durability = |written: u64, dirty: u64| {
        let mut record = first(WRITES_WARM);
        facts(&mut record, |facts| facts.syncs = Default::default());
        files(&mut record, |file| file.syncs = Default::default());
        evidence(&mut record, |evidence| {
            evidence.task_write_bytes = Some(written);
            evidence.written_after.as_mut().expect("it writes").dirty = Some(dirty);
        });
        assess(&record).cases[0].command.as_ref().and_then(|it| it.durability)
    };
    assert_eq!(durability(0, 0), None);
    assert_eq!(durability(OUTPUT, 0), Some(CommandDurability::Acknowledged));
    // It wrote to pages that were dirty before.
    assert_eq!(durability(0, OUTPUT / 4096), Some(CommandDurability::Acknowledged));
}

#[test]
fn one_thread_of_several_computes() {
    let threads = |threads: u64, busiest_ms: Option<u64>, all_ms: u64| {
        move |r: &mut Record| {
            facts(r, |facts| {
                facts.threads = threads;
                facts.busiest_thread_ns = busiest_ms.map(|ms| ms * 1_000_000);
                facts.totals.as_mut().expect("it was counted").user_ns = all_ms * 1_000_000;
            });
        }
    };
    let silent = "sound page-cache:";
    check(first(READS_WARM), threads(3, Some(79), 80), "sound page-cache: Imbalanced note");
    check(first(READS_WARM), threads(3, Some(41), 80), silent);
    check(first(READS_WARM), threads(1, Some(79), 80), silent);
    check(first(READS_WARM), threads(3, Some(5), 5), silent);
    check(first(READS_WARM), threads(3, None, 80), silent);
}

#[test]
fn input_and_output_on_one_device() {
    check(first(WRITES_COLD), |_| {}, "sound device: SameDevice note");
    let elsewhere = |file: &mut FileUse| file.device += u64::from(file.created);
    let found = judge(&{
        let mut record = first(WRITES_COLD);
        files(&mut record, elsewhere);
        record
    });
    assert_eq!(found, "sound device:");
}

#[test]
fn output_that_grows() {
    let grow = |r: &mut Record| {
        for trial in runs(r) {
            let pages = OUTPUT / 4096 * u64::from(trial.round + 1);
            let seen = trial.evidence.written_after.as_mut().expect("it writes");
            (seen.pages, seen.cached) = (pages, pages);
        }
    };
    check(first(WRITES_WARM), grow, "doubtful page-cache: OutputGrows doubt");
    let print = |r: &mut Record| {
        exit(r, |exit, round| exit.output_bytes = Some(1_000 + 100 * u64::from(round)));
    };
    check(first(READS_WARM), print, "doubtful page-cache: OutputGrows doubt");
    let same = |r: &mut Record| exit(r, |exit, _| exit.output_bytes = Some(1_000));
    check(first(READS_WARM), same, "sound page-cache:");
}

#[test]
fn processes_that_were_left_running() {
    let leave = |r: &mut Record| exit(r, |exit, _| exit.left_running = 2);
    check(first(READS_WARM), leave, "doubtful page-cache: LeftRunning doubt");
    // What went on may have computed, and synced.
    let mut record = first(READS_WARM);
    leave(&mut record);
    let id = assess(&record).cases[0].id.clone();
    assert!(assess(&record).conclusions.bounded.iter().all(|it| it.case.id != id));
    let mut record = first(WRITES_WARM);
    assert_eq!(figures(&record).durability, Some(CommandDurability::Durable));
    leave(&mut record);
    assert_eq!(figures(&record).durability, Some(CommandDurability::Unseen));
}

#[test]
fn nothing_shows_what_was_dirty_at_the_end_if_it_was_synced_before_anybody_looked() {
    let mut record = first(WRITES_WARM);
    assert_eq!(figures(&record).dirty_bytes, Some(0));
    runs(&mut record).for_each(|trial| {
        let span = &mut sample(trial).spans[0];
        span.synced_ns = Some(span.end_ns + 1);
    });
    assert_eq!(figures(&record).dirty_bytes, None);
}

#[test]
fn a_rehearsal_that_ended_otherwise_says_nothing() {
    let fail = |r: &mut Record| facts(r, |facts| facts.end = Some(CommandEnd::Exited(1)));
    check(first(READS_COLD), fail, "sound device: RehearsalDiffers note");
    let mut record = first(READS_COLD);
    fail(&mut record);
    let known = figures(&record);
    assert_eq!((known.asked_bytes, known.syncs, known.files_read), (None, None, None));
    // A sample does not see the end.
    check(first(READS_COLD), |r| facts(r, |facts| facts.end = None), "sound device:");
}

fn bound(record: &Record) -> CommandBound {
    let assessment = assess(record);
    let id = &assessment.cases[0].id;
    let found = assessment.conclusions.bounded.iter().find(|it| it.case.id == *id);
    found.expect("it stands").bound
}

#[test]
fn what_bounds_a_command_is_what_counters_show() {
    let of = |case: usize, plant: &dyn Fn(&mut Record)| {
        let mut record = first(case);
        plant(&mut record);
        bound(&record)
    };
    assert_eq!(of(READS_WARM, &|_| {}), CommandBound::OneProcessor);
    // A device read for it, and what that can do was not measured.
    assert_eq!(of(READS_COLD, &|_| {}), CommandBound::Unknown);
    assert_eq!(of(READS_WARM, &|r| facts(r, |it| it.threads = 2)), CommandBound::Unknown);
    let short = |r: &mut Record| {
        lasts(r, 1_500_000);
        add_start(r, 1_000_000);
    };
    assert_eq!(of(READS_WARM, &short), CommandBound::Start);
    let not_measured = of(READS_WARM, &|r| lasts(r, 1_500_000));
    assert_eq!(not_measured, CommandBound::OneProcessor, "the start is unknown");
    let cpu = |times: u64| {
        move |r: &mut Record| {
            for trial in runs(r) {
                let sample = sample(trial);
                sample.usage.cpu_ns = Some(sample.elapsed_ns() * times / 10);
            }
        }
    };
    assert_eq!(of(READS_WARM, &cpu(19)), CommandBound::AllProcessors);
    assert_eq!(of(READS_WARM, &cpu(1)), CommandBound::Waiting);
    assert_eq!(of(WRITES_WARM, &cpu(1)), CommandBound::Unknown, "it may wait for its sync");
    // It writes little and syncs nothing, but each direct write is a wait.
    let little = |opens: fn(&mut Opens)| {
        move |r: &mut Record| {
            cpu(1)(r);
            facts(r, |facts| facts.syncs = SyncCalls::default());
            evidence(r, |it| {
                (it.task_write_bytes, it.device_write_bytes) = (Some(4096), Some(4096));
            });
            files(r, |file| opens(&mut file.opens));
        }
    };
    assert_eq!(of(WRITES_WARM, &little(|_| {})), CommandBound::Waiting);
    let direct = little(|opens| opens.direct = opens.writing);
    assert_eq!(of(WRITES_WARM, &direct), CommandBound::Unknown);
    let busy = |r: &mut Record| {
        cpu(1)(r);
        evidence(r, |it| it.pressure_cpu_ns = Some(it.window_ns / 2));
    };
    assert_eq!(of(READS_WARM, &busy), CommandBound::Unknown, "it may wait for a processor");
    let quota = |r: &mut Record| evidence(r, |it| it.throttled_ns = Some(it.window_ns / 4));
    assert_eq!(of(READS_WARM, &quota), CommandBound::Limit);
}

/// Adds direct reads of these blocks, of which the device gives so much in a second.
fn add_direct(record: &mut Record, block: u64, mib: u64) {
    let io = Io { block, ..work(Cache::Direct).io };
    let case = file_case(ReadWork { io, ..work(Cache::Direct) });
    let index = record.header.plan.cases.len();
    add(record, case, Role::Baseline, mib * MIB, 1.0, mib * MIB);
    for trial in record.trials.iter_mut().filter(|trial| trial.case == index) {
        requests_of(&mut trial.evidence, block, 0.8);
    }
}

/// Makes all that devices read come in requests of this size, one after the other.
fn requests_of(evidence: &mut Evidence, bytes: u64, busy_share: f64) {
    let busy_ns = (evidence.window_ns as f64 * busy_share) as u64;
    evidence.device_reads = evidence.device_read_bytes.map(|all| all / bytes);
    (evidence.device_read_ns, evidence.device_busy_ns) = (Some(busy_ns), Some(busy_ns));
    evidence.device_write_bytes = Some(0);
    evidence.device_write_ns = Some(0);
}

fn used(record: &Record) -> (CommandBound, Option<DeviceUse>) {
    let assessment = assess(record);
    let id = &assessment.cases[0].id;
    let found = assessment.conclusions.bounded.into_iter().find(|it| it.case.id == *id);
    let found = found.expect("it stands");
    (found.bound, found.device)
}

/// It reads 64 MiB in 140 ms.
#[test]
fn a_device_that_gives_no_more_bounds_a_command() {
    let of = |mib: u64| {
        let mut record = first(READS_COLD);
        add_direct(&mut record, MIB, mib);
        used(&record)
    };
    let (bound, device) = of(500);
    let share = device.expect("it was measured").of_ceiling.median;
    assert_eq!(bound, CommandBound::Device);
    assert!((0.85..1.0).contains(&share), "{share}");
    assert_eq!(of(4_000).0, CommandBound::Unknown, "how its requests were is not counted");
    assert_eq!(used(&first(READS_COLD)), (CommandBound::Unknown, None));
}

#[test]
fn requests_that_are_small_and_alone_bound_a_command() {
    let with_cpu = |cpu_ns: u64, change: &dyn Fn(&mut Evidence)| {
        let mut record = first(READS_COLD);
        add_direct(&mut record, MIB, 4_000);
        add_direct(&mut record, 4096, 500);
        for trial in runs(&mut record) {
            sample(trial).usage.cpu_ns = Some(cpu_ns);
        }
        evidence(&mut record, |evidence| {
            requests_of(evidence, 4096, 0.9);
            change(evidence);
        });
        used(&record)
    };
    let of = |change: &dyn Fn(&mut Evidence)| with_cpu(10_000_000, change);
    let (bound, device) = of(&|_| {});
    let device = device.expect("it was measured");
    assert_eq!(bound, CommandBound::Requests);
    let requests = device.requests.expect("they were counted");
    assert_eq!((requests.bytes, requests.depth), (4096.0, 1.0));
    assert!((0.89..0.91).contains(&requests.busy_share), "{requests:?}");
    assert!(device.of_alike.is_some_and(|share| (0.8..1.1).contains(&share.median)));
    assert_eq!((device.ceiling_block, device.ceiling_depth), (MIB, 1));
    assert_eq!(with_cpu(80_000_000, &|_| {}).0, CommandBound::Unknown, "it computed more");
    // It had none for most of the time.
    let few = with_cpu(40_000_000, &|it| requests_of(it, 4096, 0.3)).0;
    assert_eq!(few, CommandBound::Unknown);
    // Whose requests they were is unknown: of another program, or writes.
    let unknown = |change: &dyn Fn(&mut Evidence)| {
        let (bound, device) = of(change);
        assert_eq!((bound, device.and_then(|it| it.requests)), (CommandBound::Unknown, None));
    };
    unknown(&|it| it.device_busy_ns = None);
    unknown(&|it| it.device_read_bytes = it.device_read_bytes.map(|bytes| bytes * 2));
    unknown(&|it| it.device_write_ns = it.device_busy_ns.map(|ns| ns / 2));
}

/// A command that read from a device for a short time waits for something else.
#[test]
fn a_command_whose_device_was_idle_waits_for_something_else() {
    let of = |busy_share: f64| {
        let mut record = first(READS_COLD);
        add_direct(&mut record, MIB, 4_000);
        evidence(&mut record, |evidence| requests_of(evidence, MIB, busy_share));
        for trial in runs(&mut record) {
            sample(trial).usage.cpu_ns = Some(10_000_000);
        }
        used(&record).0
    };
    assert_eq!(of(0.1), CommandBound::Waiting);
    assert_eq!(of(0.4), CommandBound::Unknown);
}

#[test]
fn commands_are_compared_in_the_same_state_only() {
    let assessment = assess(&record_of_commands());
    let compared: Vec<[&str; 2]> =
        assessment.comparisons.iter().map(|it| [it.case.as_str(), it.base.as_str()]).collect();
    let id = |case: usize| assessment.cases[case].id.as_str();
    assert_eq!(compared, [[id(WRITES_WARM), id(READS_WARM)], [id(WRITES_COLD), id(READS_COLD)]]);
    let ratio = assessment.comparisons[0].ratio;
    assert!((0.35..0.45).contains(&ratio), "{ratio}");
}

#[test]
fn syncs_that_are_too_fast_for_a_medium() {
    let syncs = |count: u64| {
        move |r: &mut Record| {
            facts(r, |facts| facts.syncs.fdatasync = count);
            evidence(r, |it| it.device_flushes = Some(count));
        }
    };
    check(first(WRITES_WARM), syncs(20_000), "doubtful page-cache: HostCache doubt");
    check(first(WRITES_WARM), syncs(2_000), "sound page-cache:");
    // Several threads may sync at once.
    let together = |r: &mut Record| {
        syncs(20_000)(r);
        facts(r, |facts| facts.threads = 2);
    };
    check(first(WRITES_WARM), together, "sound page-cache:");
    // Most of them had nothing to flush.
    let unflushed = |r: &mut Record| {
        syncs(20_000)(r);
        evidence(r, |it| it.device_flushes = Some(50));
    };
    check(first(WRITES_WARM), unflushed, "sound page-cache:");
}

#[test]
fn a_command_that_the_os_holds_back() {
    let held = |change: fn(&mut Evidence)| {
        move |r: &mut Record| {
            facts(r, |facts| facts.syncs.fdatasync = 0);
            for trial in runs(r) {
                let sample = sample(trial);
                sample.usage.cpu_ns = Some(100_000_000);
                sample.spans[0].run_delay_ns = Some(0);
                let it = &mut trial.evidence;
                it.pressure_io_ns = Some(it.window_ns);
                it.dirty_after = it.dirty_limit.map(|limit| limit / 4 * 3);
                change(it);
            }
        }
    };
    let expected = "doubtful page-cache: ThrottledWriteback doubt, AcknowledgedOnly note";
    check(first(WRITES_WARM), held(|_| {}), expected);
    let silent = "sound page-cache: AcknowledgedOnly note";
    // No task waited for I/O: it waited for something else.
    check(first(WRITES_WARM), held(|it| it.pressure_io_ns = Some(0)), silent);
    check(first(WRITES_WARM), held(|it| it.pressure_io_ns = None), silent);
    // The OS lets writers run with so little.
    check(first(WRITES_WARM), held(|it| it.dirty_after = Some(0)), silent);
    let unseen = |r: &mut Record| {
        held(|_| {})(r);
        runs(r).for_each(|trial| sample(trial).spans[0].run_delay_ns = None);
    };
    check(first(WRITES_WARM), unseen, silent);
    let syncs = |r: &mut Record| {
        held(|_| {})(r);
        facts(r, |facts| facts.syncs.fdatasync = 1);
    };
    check(first(WRITES_WARM), syncs, "sound page-cache:");
}

#[test]
fn output_that_became_smaller_on_its_way() {
    let stored =
        |bytes: u64| move |r: &mut Record| evidence(r, |it| it.device_write_bytes = Some(bytes));
    check(first(WRITES_WARM), stored(OUTPUT / 2), "sound page-cache: Compressed note");
    check(first(WRITES_WARM), stored(OUTPUT), "sound page-cache:");
    // What was written and removed need not reach a device.
    let removes = |r: &mut Record| {
        stored(OUTPUT / 2)(r);
        facts(r, |facts| {
            let gone = FileUse { removed: true, bytes_after: None, ..facts.files[1].clone() };
            let opens = model::rehearsal::Opens { writing: 1, ..gone.opens };
            facts.files.push(FileUse { inode: 77, opens, ..gone });
        });
    };
    check(first(WRITES_WARM), removes, "sound page-cache:");
    let dirty = |r: &mut Record| {
        stored(OUTPUT / 2)(r);
        evidence(r, |it| it.written_after.as_mut().expect("it writes").dirty = Some(4096));
    };
    check(first(WRITES_WARM), dirty, "sound page-cache: AcknowledgedOnly note");
}

/// Each run prints this number.
fn prints(number: &str, unit: &str) -> impl Fn(&mut Record) {
    let (number, unit) = (number.to_string(), Some(unit.to_string()));
    let figure = PrintedFigure { number, unit };
    move |r: &mut Record| runs(r).for_each(|trial| sample(trial).figure = Some(figure.clone()))
}

#[test]
fn a_number_that_counters_contradict() {
    // The input has 64 MiB, and a run takes about 81 ms.
    let differs = "sound page-cache: FigureDiffers note";
    check(first(READS_WARM), prints("8.3", "GB/s"), differs);
    check(first(READS_WARM), prints("83", "MB/s"), differs);
    check(first(READS_WARM), prints("300", "MB"), differs);
    for (number, unit) in
        [("0.83", "GB/s"), ("1.2", "GB/s"), ("64", "MiB"), ("1", "kB"), ("9000", "ms")]
    {
        check(first(READS_WARM), prints(number, unit), "sound page-cache:");
    }
    let counted = |plant: &dyn Fn(&mut Record)| {
        let mut record = first(READS_WARM);
        plant(&mut record);
        assess(&record).cases[0].told.as_ref().and_then(|told| told.counted)
    };
    let agrees = counted(&prints("0.83", "GB/s")).expect("it is a rate");
    assert_eq!(agrees.verdict, crate::told::ToldVerdict::Agrees);
    assert_eq!((agrees.moved, agrees.bytes), (crate::told::MovedBytes::Read, INPUT + 3_000));
    assert_eq!(counted(&prints("9000", "ms")), None);
    // Where calls do not show all, nothing is said.
    let mapped = |r: &mut Record| {
        prints("8.3", "GB/s")(r);
        files(r, |file| file.mappings.shared = 1);
    };
    assert_eq!(counted(&mapped), None);
    let passes = |r: &mut Record| {
        prints("8.3", "GB/s")(r);
        facts(r, |it| it.other_sources.as_mut().expect("the zoo's are new").pipes = 1);
    };
    assert_eq!(counted(&passes), None);
}

/// The zoo's record with a second storage for files on device 2, whose devices did this.
pub(super) fn on_two(case: usize, further: StorageTraffic) -> Record {
    let mut record = first(case);
    let mut other = record.header.storage.clone().expect("the zoo has a storage");
    other.devices.iter_mut().for_each(|device| device.name = "other".to_string());
    record.header.further_storages = vec![other];
    record.header.storage_numbers = [(1, 0), (2, 1)].into();
    evidence(&mut record, |it| it.further = vec![further]);
    record
}

#[test]
fn each_storage_of_a_command_is_watched() {
    let traffic = |read_bytes: u64, write_bytes: u64, flushes: u64| StorageTraffic {
        read_bytes: Some(read_bytes),
        reads: Some(read_bytes >> 17),
        write_bytes: Some(write_bytes),
        writes: Some(write_bytes >> 17),
        flushes: Some(flushes),
    };
    let moves = |is_output: bool| {
        move |r: &mut Record| {
            files(r, |file| file.device += u64::from(file.created == is_output && file.inode < 9));
        }
    };
    // Its output is on the second, which flushed.
    let output = |further| {
        let mut record = on_two(WRITES_COLD, further);
        moves(true)(&mut record);
        evidence(&mut record, |it| {
            (it.device_write_bytes, it.device_flushes) = (Some(0), Some(0));
        });
        record
    };
    let kept = |record: &Record| figures(record).durability;
    check(output(traffic(0, OUTPUT, 1)), |_| {}, "sound device:");
    assert_eq!(kept(&output(traffic(0, OUTPUT, 1))), Some(CommandDurability::Durable));
    assert_eq!(kept(&output(traffic(0, OUTPUT, 0))), Some(CommandDurability::NotDurable));
    let unwatched = |r: &mut Record| {
        r.header.storage_numbers.remove(&2);
    };
    let mut record = output(traffic(0, OUTPUT, 1));
    unwatched(&mut record);
    assert_eq!(kept(&record), Some(CommandDurability::Unseen));
    // Its input is on the second, which read it.
    let input = |further| {
        let mut record = on_two(READS_COLD, further);
        moves(false)(&mut record);
        evidence(&mut record, |it| it.device_read_bytes = Some(0));
        record
    };
    check(input(traffic(INPUT, 0, 0)), |_| {}, "sound device:");
    check(input(traffic(INPUT / 8, 0, 0)), |_| {}, "doubtful unverified: Unverified doubt");
    check(input(traffic(INPUT, 0, 0)), unwatched, "doubtful unverified: Unverified doubt");
    // Half of the input is on each.
    let halves = |on_second: u64| {
        let mut record = on_two(READS_COLD, traffic(on_second, 0, 0));
        facts(&mut record, |facts| {
            let half = Some(INPUT / 2);
            (facts.files[1].bytes_before, facts.files[1].bytes_after) = (half, half);
            facts.files.push(FileUse { device: 2, inode: 78, ..facts.files[1].clone() });
        });
        evidence(&mut record, |it| it.device_read_bytes = Some(INPUT / 2));
        record
    };
    check(halves(INPUT / 2), |_| {}, "sound device:");
    // What was cached on both needs no counter of the second.
    let unseen = |r: &mut Record| {
        r.header.further_storages[0].medium = Medium::Unseen;
        let all = INPUT / 4096;
        evidence(r, |it| {
            let seen = |cached| model::evidence::Residency {
                probe: model::evidence::Probe::Cachestat,
                pages: all,
                cached,
                dirty: Some(0),
            };
            (it.residency_before, it.residency_after) = (Some(seen(all)), Some(seen(all)));
            it.further = vec![StorageTraffic::default()];
            (it.task_read_bytes, it.device_read_bytes) = (Some(0), Some(0));
        });
        set_cache(r, Cache::Warm);
    };
    check(halves(INPUT / 2), unseen, "sound page-cache:");
    let storages = figures(&halves(INPUT / 2)).storages;
    let read: Vec<Option<u64>> = storages.iter().map(|it| it.read_bytes).collect();
    assert_eq!(read, [Some(INPUT / 2), Some(INPUT / 2)]);
    assert_eq!(figures(&first(READS_COLD)).storages, [], "one needs no list");
    check(halves(0), |_| {}, "doubtful unverified: Unverified doubt");
}
