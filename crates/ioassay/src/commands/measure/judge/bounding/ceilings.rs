//! Which ceilings are measured beside commands, by what they did in their rehearsals.

use crate::recipe::fallback;
use crate::symbol::beyond_caches;
use assess::conclusions::write_use::SYNCS_LEAST;
use model::case::{
    Allocation, BufferPages, Cache, Case, Engine, Io, MemoryWork, ReadWork, Sync, Work,
    WriteEngine, WriteWork,
};
use model::environment::Environment;
use model::host::Host;
use model::pattern::Pattern;
use model::plan::Plan;
use model::rehearsal::{FactSheet, FileUse, OtherSources};
use std::time::Duration;

/// The size of a test file.
pub(super) const FILE_BYTES: u64 = 32 << 20;
/// A trial is this long: short beside most commands, and long beside a time slice.
const TRIAL: Duration = Duration::from_millis(110);
/// Of fewer bytes, no ceiling matters: they are of programs.
const BYTES_LEAST: u64 = 1 << 20;

/// The ceilings of the commands of `plan`, of which each can be measured here.
pub(super) fn ceilings_of(
    plan: &Plan,
    rehearsals: &[FactSheet],
    environment: &Environment,
) -> Vec<Case> {
    let host = environment.host;
    let is_any = |is_one: fn(&FactSheet) -> bool| rehearsals.iter().any(is_one);
    let is_cold = plan.cases.iter().any(|planned| planned.case.cache() == Some(Cache::Cold));
    let mut cases = memory_reads(rehearsals, host);
    if is_cold || is_any(reads_device) {
        cases.extend(direct_reads(host));
    }
    if is_any(makes_durable) {
        cases.push(durable_writes(host));
    }
    if is_any(commits_alone) {
        cases.push(commits());
    }
    // Nobody asked for their engine.
    fallback::replace(&mut cases, host);
    cases.retain(|case| environment.refusal(case).is_none());
    cases
}

fn reads_device(facts: &FactSheet) -> bool {
    let io = facts.totals.and_then(|totals| totals.io);
    io.is_some_and(|io| io.read_bytes >= BYTES_LEAST)
}

/// Whether it writes much, and syncs it: what is only acknowledged waits for no device.
fn makes_durable(facts: &FactSheet) -> bool {
    let io = facts.totals.and_then(|totals| totals.io);
    let by_flag = |file: &FileUse| file.opens.sync_writes();
    let syncs = facts.durable_syncs().is_some_and(|syncs| syncs > 0);
    let is_synced = syncs || facts.written_files().any(by_flag);
    is_synced && io.is_some_and(|io| io.write_bytes >= BYTES_LEAST)
}

/// Whether it calls many syncs one after another: those of several threads may share a flush.
fn commits_alone(facts: &FactSheet) -> bool {
    let syncs = facts.durable_syncs().is_some_and(|syncs| syncs >= SYNCS_LEAST);
    syncs && facts.threads == 1 && facts.processes == 1
}

/// Whether it reads much, and its calls tell how much: from files, and nothing else.
fn asks_for_bytes(facts: &FactSheet) -> bool {
    let io = facts.totals.and_then(|totals| totals.io);
    let of_files = |sources: OtherSources| OtherSources { kernel_files: 0, ..sources }.is_none();
    let is_told = facts.are_reads_calls() && facts.other_sources.is_some_and(of_files);
    let reads_files = facts.read_files().next().is_some();
    is_told && reads_files && io.is_some_and(|io| io.rchar >= BYTES_LEAST)
}

/// Reading memory with one thread, and with all processors if a command has several threads.
fn memory_reads(rehearsals: &[FactSheet], host: &Host) -> Vec<Case> {
    let asking = || rehearsals.iter().filter(|facts| asks_for_bytes(facts));
    let mut threads: Vec<u32> = Vec::new();
    threads.extend(asking().any(|facts| facts.threads == 1).then_some(1));
    threads.extend(asking().any(|facts| facts.threads > 1).then(|| host.parallelism()));
    threads.dedup();
    let reads = |threads: u32| {
        let working_set = beyond_caches(host, threads)?;
        let work = MemoryWork { working_set, threads, time: TRIAL, ..MemoryWork::default() };
        Some(Case::own(Work::Memory(work)))
    };
    threads.into_iter().filter_map(reads).collect()
}

/// Large reads, many at once, as a ceiling; and single reads of a page.
fn direct_reads(host: &Host) -> [Case; 2] {
    let single = Io { block: 4096, pattern: Pattern::Random, ..direct() };
    let read = |(engine, io)| Case::own(Work::Read(ReadWork { io, engine, ..ReadWork::default() }));
    [(Engine::Uring, bulk(host)), (Engine::Pread, single)].map(read)
}

/// Large writes, many at once, with a sync at their end. They write the file once at most.
fn durable_writes(host: &Host) -> Case {
    let (engine, io) = (WriteEngine::Uring, bulk(host));
    Case::own(Work::Write(WriteWork { io, engine, ..synced() }))
}

/// Single writes of a page, each with its sync.
fn commits() -> Case {
    let io = Io { block: 4096, size: FILE_BYTES, time: TRIAL, ..Io::default() };
    Case::own(Work::Write(WriteWork { io, every: 1, ..synced() }))
}

fn synced() -> WriteWork {
    let (sync, allocation) = (Sync::Fdatasync, Allocation::Overwrite);
    WriteWork { sync, allocation, ..WriteWork::default() }
}

fn direct() -> Io {
    Io { cache: Cache::Direct, size: FILE_BYTES, time: TRIAL, ..Io::default() }
}

fn bulk(host: &Host) -> Io {
    // The page cache has large pages, of which one request can cover more.
    let pages = match host.setup.gives_huge_pages() {
        true => BufferPages::Huge,
        false => BufferPages::Base,
    };
    Io { block: 1 << 20, depth: 8, pages, ..direct() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::plan::Role;
    use model::zoo::commands::record_of_commands;

    /// The ids of what is measured beside the zoo's commands after this change.
    fn check(change: impl Fn(&mut FactSheet), expected: &[&str]) {
        let record = record_of_commands();
        let (mut plan, mut rehearsals) = (record.header.plan.clone(), record.header.rehearsals);
        plan.cases.retain(|planned| planned.case.cache() != Some(Cache::Cold));
        rehearsals.iter_mut().for_each(&change);
        let host = &record.header.host;
        let storage = record.header.storage.as_ref();
        let environment = Environment { host, storage, source: None, peers: &[] };
        let cases = ceilings_of(&plan, &rehearsals, &environment);
        assert!(cases.iter().all(|case| case.time() == TRIAL), "{cases:?}");
        plan.add(cases, Role::Baseline, &environment);
        let beside = plan.cases.iter().filter(|planned| planned.role == Role::Baseline);
        let said: Vec<String> = beside.map(|planned| said(&planned.case)).collect();
        assert_eq!(said, expected);
    }

    fn said(case: &Case) -> String {
        match &case.work {
            Work::Memory(work) => format!("memory {} t{}", work.kernel, work.threads),
            Work::Write(WriteWork { io, every, sync, .. }) => {
                format!("write {} d{} {sync} every {every}", io.block, io.depth)
            }
            other => panic!("{other:?} bounds none of them"),
        }
    }

    fn of_io(facts: &mut FactSheet) -> &mut model::task_io::TaskIo {
        facts.totals.as_mut().and_then(|totals| totals.io.as_mut()).expect("it was counted")
    }

    #[test]
    fn only_what_can_bound_a_command_is_measured_beside_it() {
        check(|_| {}, &["memory read t1"]);
        let threads = ["memory read t2"];
        check(|facts| facts.threads = 3, &threads);
        check(|facts| facts.queues.uring = 1, &[]);
        check(|facts| facts.other_sources = None, &[]);
        check(|facts| of_io(facts).rchar = 1000, &[]);
    }

    #[test]
    fn nothing_is_written_for_commands_that_make_nothing_durable() {
        let silent = |facts: &mut FactSheet| of_io(facts).rchar = 0;
        let writes = |syncs: u64, bytes: u64, expected: &[&str]| {
            let change = |facts: &mut FactSheet| {
                silent(facts);
                of_io(facts).write_bytes = bytes;
                facts.syncs.fdatasync = syncs;
            };
            check(change, expected);
        };
        let bulk = "write 1048576 d8 fdatasync every 0";
        let commits = "write 4096 d1 fdatasync every 1";
        writes(0, 64 << 20, &[]);
        writes(1, 64 << 20, &[bulk]);
        writes(1, 4096, &[]);
        writes(500, 4096, &[commits]);
        writes(500, 64 << 20, &[bulk, commits]);
    }
}
