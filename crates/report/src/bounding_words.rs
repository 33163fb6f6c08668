//! What was measured beside commands because it bounds them, in plain words.

use crate::words;
use assess::finding::Verdict;
use assess::summary::Summary;
use model::case::{Cache, Case, Kernel, Work, WriteWork};
use model::units;

/// Whose ceiling it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CeilingOf {
    Device,
    Memory,
    Start,
    Other,
}

impl CeilingOf {
    /// What begins the list of its figures.
    fn lead(self) -> &'static str {
        match self {
            CeilingOf::Device => "the device, ",
            CeilingOf::Memory => "memory, ",
            CeilingOf::Start | CeilingOf::Other => "",
        }
    }
}

/// `the device, large direct reads 3.38 GB/s and single direct reads of 4 KiB 83.9 MB/s; memory,
/// one thread 12.1 GB/s; a program that does nothing 939 µs`: the figures of these rows. Those that
/// are none of these have the names of `name`.
pub(crate) fn said(rows: &[&Summary], name: &dyn Fn(&str) -> String) -> String {
    let all = [CeilingOf::Device, CeilingOf::Memory, CeilingOf::Other, CeilingOf::Start];
    let of = |which: CeilingOf| {
        let rows = rows.iter().filter(|row| named(&row.case).0 == which);
        let said: Vec<String> = rows.map(|row| figure(row, name)).collect();
        (!said.is_empty()).then(|| which.lead().to_string() + &words::listed(&said))
    };
    all.into_iter().filter_map(of).collect::<Vec<String>>().join("; ")
}

/// Whose ceiling a case is, and what it is called; nothing if only its label says that.
fn named(case: &Case) -> (CeilingOf, Option<String>) {
    match &case.work {
        Work::Read(work) if work.io.cache == Cache::Direct => {
            (CeilingOf::Device, Some(blocks("direct reads", work.io.block, work.io.depth)))
        }
        Work::Write(work) if is_commit(work) => {
            let bytes = whole(work.io.block);
            (CeilingOf::Device, Some(format!("writes of {bytes} with a sync each")))
        }
        Work::Write(work) if work.io.cache == Cache::Direct && work.sync.claims_durable() => {
            (CeilingOf::Device, Some(blocks("durable writes", work.io.block, work.io.depth)))
        }
        Work::Memory(work) if work.kernel == Kernel::Read => match work.threads {
            1 => (CeilingOf::Memory, Some("one thread".to_string())),
            threads => (CeilingOf::Memory, Some(format!("{threads} threads"))),
        },
        Work::Command(work) => (CeilingOf::Start, Some(work.command.clone())),
        _ => (CeilingOf::Other, None),
    }
}

/// `4 KiB`: a size that is no measured figure.
pub(crate) fn whole(bytes: u64) -> String {
    let said = units::bytes(bytes);
    let unit = said.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(said.len());
    format!("{} {}", &said[..unit], &said[unit..])
}

/// `large direct reads`, `single direct reads of 4 KiB`.
fn blocks(what: &str, block: u64, depth: u32) -> String {
    match depth {
        1 => format!("single {what} of {}", whole(block)),
        _ => format!("large {what}"),
    }
}

/// Whether each of its writes waits for its sync, so that its time says more than its rate.
fn is_commit(work: &WriteWork) -> bool {
    work.every == 1 && work.io.depth == 1 && work.atomic.journal().is_none()
}

/// Its name and its figure: the time of a run, or of a write with its sync; otherwise its rate.
fn figure(summary: &Summary, name: &dyn Fn(&str) -> String) -> String {
    let called = named(&summary.case).1.unwrap_or_else(|| name(&summary.id));
    let is_time = summary.case.command().is_some() || summary.case.write().is_some_and(is_commit);
    let time = summary.ns_per_op.filter(|_| is_time);
    let said = match time {
        Some(estimate) => units::nanoseconds(estimate.median),
        None => words::main_figure(summary).0,
    };
    let verdict = match summary.verdict {
        Verdict::Sound => String::new(),
        verdict => format!(" ({verdict})"),
    };
    format!("{called} {}{verdict}", words::figure(summary, said))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::case::{Engine, Io, MemoryWork, ReadWork, Sync};

    #[test]
    fn ceilings_have_names_that_readers_know() {
        let check = |work: Work, expected: &str| {
            assert_eq!(named(&Case::own(work)).1.as_deref(), Some(expected));
        };
        let direct = Io { cache: Cache::Direct, block: 1 << 20, depth: 8, ..Io::default() };
        let read = |io| Work::Read(ReadWork { io, engine: Engine::Pread, ..ReadWork::default() });
        check(read(direct), "large direct reads");
        check(read(Io { block: 4096, depth: 1, ..direct }), "single direct reads of 4 KiB");
        let sync = Sync::Fdatasync;
        let write = |io, every| Work::Write(WriteWork { io, sync, every, ..WriteWork::default() });
        check(write(direct, 0), "large durable writes");
        let page = Io { block: 4096, ..Io::default() };
        check(write(page, 1), "writes of 4 KiB with a sync each");
        let memory = |threads| Work::Memory(MemoryWork { threads, ..MemoryWork::default() });
        check(memory(1), "one thread");
        check(memory(2), "2 threads");
    }
}
