//! What memory and durable writes say of what bounds a command.

use super::commands::{READS_COLD, READS_WARM, WRITES_WARM, evidence, facts, first, lasts, runs};
use super::writing::written;
use super::*;
use crate::conclusions::commands::{BoundedCommand, CommandBound};
use crate::decision::Decision;
use model::case::{Allocation, Sync, WriteEngine, WriteWork};

const MIB: u64 = 1 << 20;

fn bounded(record: &Record) -> BoundedCommand {
    let assessment = assess(record);
    let id = &assessment.cases[0].id;
    let found = assessment.conclusions.bounded.into_iter().find(|it| it.case.id == *id);
    found.expect("it stands")
}

/// Adds a loop that reads so much memory in a second, and makes the last-level cache this large.
fn add_memory(record: &mut Record, (threads, mib): (u32, u64), cache: u64) {
    record.header.host.last_level_cache = Some(cache);
    let index = record.header.plan.cases.len();
    add(record, memory_case(Kernel::Read, threads), Role::Baseline, mib * MIB, 1.0, 0);
    for trial in record.trials.iter_mut().filter(|trial| trial.case == index) {
        trial.evidence.huge_bytes = Some(ARRAYS);
    }
}

/// It takes 64 MiB in 81 ms: 790 MiB/s.
#[test]
fn memory_that_gives_no_more_bounds_a_command() {
    let small_cache = 8 * MIB;
    let of = |mib: u64, cache: u64, plant: &dyn Fn(&mut Record)| {
        let mut record = first(READS_WARM);
        add_memory(&mut record, (1, mib), cache);
        plant(&mut record);
        let found = bounded(&record);
        (found.bound, found.memory.map(|it| (it.decision, it.is_above_memory())))
    };
    let memory = |mib, cache| of(mib, cache, &|_| {});
    assert_eq!(memory(880, small_cache), (CommandBound::Memory, Some((Decision::Yes, false))));
    // It gives much more.
    let computes = CommandBound::OneProcessor;
    assert_eq!(memory(20_000, small_cache), (computes, Some((Decision::No, false))));
    // The file fits into the caches, or more was taken than memory gives.
    assert_eq!(memory(880, 32 * MIB), (computes, Some((Decision::No, false))));
    assert_eq!(memory(500, 32 * MIB), (computes, Some((Decision::No, true))));
    assert_eq!(memory(500, small_cache), (computes, Some((Decision::No, true))));
    // Some of the rounds are above, others below.
    let uneven = |r: &mut Record| {
        for trial in runs(r).filter(|trial| trial.round % 2 == 0) {
            let sample = sample(trial);
            sample.spans[0].end_ns += 60_000_000;
            sample.usage.cpu_ns = sample.usage.cpu_ns.map(|ns| ns + 60_000_000);
        }
    };
    let (bound, found) = of(880, small_cache, &uneven);
    assert_eq!((bound, found), (computes, Some((Decision::Undecided, false))));
    // What it asked for, or how sure that is, is unknown.
    let mapped = |r: &mut Record| facts(r, |facts| facts.files[1].mappings.private = 1);
    assert_eq!(of(880, small_cache, &mapped), (computes, None));
    let few = |r: &mut Record| r.trials.retain(|trial| trial.round < 4);
    assert_eq!(of(880, small_cache, &few), (computes, None));
    let other = |r: &mut Record| facts(r, |facts| facts.threads = 2);
    assert_eq!(of(880, small_cache, &other).1, None, "memory gives two threads more");
}

#[test]
fn what_a_command_takes_of_memory_is_of_its_calls_and_its_time() {
    let mut record = first(READS_WARM);
    add_memory(&mut record, (1, 8_000), 8 * MIB);
    let found = bounded(&record).memory.expect("it was measured");
    assert!((780e6..860e6).contains(&found.rate), "{found:?}");
    assert!((0.08..0.12).contains(&found.of_ceiling.median), "{found:?}");
    assert_eq!((found.threads, found.is_beyond_caches), (1, true));
    // All that a device read came through memory as well, but that is not what it waited for.
    let mut cold = first(READS_COLD);
    add_memory(&mut cold, (1, 480), 8 * MIB);
    lasts(&mut cold, 140_000_000);
    let found = bounded(&cold);
    assert_eq!(found.bound, CommandBound::OneProcessor);
    assert_eq!(found.memory.expect("it was measured").decision, Decision::No);
}

/// Adds durable writes whose operations take so long each.
fn add_writes(record: &mut Record, work: WriteWork, op_ns: u64) {
    let index = record.header.plan.cases.len();
    add(record, Case::own(Work::Write(work)), Role::Baseline, FILE, 1.0, 0);
    for trial in record.trials.iter_mut().filter(|trial| trial.case == index) {
        let plain = zoo::trial(trial.round).evidence;
        trial.evidence = Evidence { window_ns: trial.evidence.window_ns, ..plain };
        written(&work, trial);
        let span = &mut sample(trial).spans[0];
        span.ops = FILE / work.io.block;
        span.end_ns = span.start_ns + span.ops * op_ns;
        span.synced_ns = Some(span.end_ns);
        let elapsed_ns = span.ops * op_ns;
        if work.every == 1 {
            let syncs = span.ops + 1;
            trial.evidence.device_flushes = Some(syncs);
            sample(trial).syncs = Latencies { counts: vec![(op_ns / 2, syncs)], max_ns: op_ns };
        }
        trial.evidence.cpu_ns = Some(elapsed_ns / 20);
        trial.evidence.window_ns = elapsed_ns;
    }
}

fn synced(io: Io) -> WriteWork {
    let (sync, allocation) = (Sync::Fdatasync, Allocation::Overwrite);
    let size = FILE;
    let io = Io { size, time: Duration::from_millis(110), ..io };
    WriteWork { io, engine: WriteEngine::Pwrite, sync, allocation, ..WriteWork::default() }
}

fn bulk() -> WriteWork {
    synced(Io { cache: Cache::Direct, block: MIB, ..Io::default() })
}

fn commit() -> WriteWork {
    WriteWork { every: 1, ..synced(Io { block: 4096, ..Io::default() }) }
}

/// A command that waits for most of its 210 ms, in which it writes 32 MiB.
fn waits() -> Record {
    let mut record = first(WRITES_WARM);
    for trial in runs(&mut record) {
        sample(trial).usage.cpu_ns = Some(10_000_000);
    }
    record
}

#[test]
fn a_device_that_takes_no_more_bounds_a_command() {
    let of = |op_ns: u64, plant: &dyn Fn(&mut Record)| {
        let mut record = waits();
        add_writes(&mut record, bulk(), op_ns);
        plant(&mut record);
        let found = bounded(&record);
        (found.bound, found.writes)
    };
    // 32 of these writes take 190 ms.
    let (bound, writes) = of(6_000_000, &|_| {});
    let writes = writes.expect("it was measured");
    assert_eq!(bound, CommandBound::Writes);
    assert!((0.85..0.95).contains(&writes.of_ceiling.median), "{writes:?}");
    assert_eq!((writes.ceiling_block, writes.ceiling_depth), (MIB, 1));
    // It got more than they: then they are no ceiling.
    let (bound, writes) = of(12_000_000, &|_| {});
    assert_eq!((bound, writes.is_some()), (CommandBound::Unknown, true));
    let (bound, writes) = of(1_000_000, &|_| {});
    assert_eq!(bound, CommandBound::Unknown);
    assert!(writes.is_some_and(|it| it.is_below_ceiling()));
    // What no device got, and what was only acknowledged, is no rate of one.
    let none = |plant: &dyn Fn(&mut Record)| {
        assert_eq!(of(6_000_000, plant), (CommandBound::Unknown, None));
    };
    none(&|r| evidence(r, |it| it.device_write_bytes = it.device_write_bytes.map(|all| all / 2)));
    none(&|r| evidence(r, |it| it.written_after.as_mut().expect("it writes").dirty = Some(8192)));
    none(&|r| facts(r, |facts| facts.syncs.fdatasync = 0));
    none(&|r| {
        facts(r, |facts| {
            let io = facts.totals.as_mut().and_then(|totals| totals.io.as_mut());
            io.expect("it was counted").cancelled_write_bytes = 4096;
        });
    });
}

#[test]
fn syncs_that_are_like_lone_commits_bound_a_command() {
    let of = |syncs: u64, op_ns: u64, plant: &dyn Fn(&mut Record)| {
        let mut record = waits();
        facts(&mut record, |facts| facts.syncs.fdatasync = syncs);
        evidence(&mut record, |it| it.device_flushes = Some(syncs));
        add_writes(&mut record, commit(), op_ns);
        plant(&mut record);
        let found = bounded(&record);
        let commits = assess(&record).cases.pop().expect("there are some");
        assert!(commits.verdict.stands(), "{:?}", commits.findings);
        (found.bound, found.syncs.map(|it| (it.syncs, it.decision)))
    };
    let yes = Some((2_000, Decision::Yes));
    assert_eq!(of(2_000, 100_000, &|_| {}), (CommandBound::Syncs, yes));
    // They would take a small part of its time, or more than all of it.
    let no = Some((2_000, Decision::No));
    assert_eq!(of(2_000, 20_000, &|_| {}), (CommandBound::Unknown, no));
    assert_eq!(of(2_000, 200_000, &|_| {}), (CommandBound::Unknown, no));
    // Nobody knows how sure it is.
    let open = Some((2_000, Decision::Undecided));
    let few = |r: &mut Record| r.trials.retain(|trial| trial.round < 4);
    assert_eq!(of(2_000, 100_000, &few), (CommandBound::Unknown, open));
    // Several threads may sync at once, and a few syncs are no stream of commits.
    let threads = |r: &mut Record| facts(r, |facts| facts.threads = 2);
    assert_eq!(of(2_000, 100_000, &threads), (CommandBound::Unknown, None));
    assert_eq!(of(9, 23_000_000, &|_| {}), (CommandBound::Unknown, None));
    // It computed for most of that time.
    let computes = |r: &mut Record| {
        runs(r).for_each(|trial| sample(trial).usage.cpu_ns = Some(150_000_000));
    };
    assert_eq!(of(2_000, 100_000, &computes), (CommandBound::Unknown, yes));
}
