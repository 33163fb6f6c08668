//! Cases that write, in words, and their two rates.

use crate::names::Names;
use crate::words::{self, NONE, NOT_DURABLE, count};
use assess::Assessment;
use assess::finding::Verdict;
use assess::stats::Estimate;
use assess::summary::Summary;
use assess::writing::Writing;
use model::case::{Allocation, Cache, Case, Engine, Fill, OWN_PEER, Op, Sync};
use model::case::{Work, WriteEngine, WriteWork};
use model::host::{Medium, Storage, WriteCache};
use model::pattern::{Pattern, Share};
use model::units;

/// Plain words for the cases of an assessment that write; what it has besides is named as
/// elsewhere.
pub(crate) struct WriteNames {
    others: Names,
    /// Bytes of the file, where all that write have one size: then no name says it.
    size: Option<u64>,
}

impl WriteNames {
    pub(crate) fn of(assessment: &Assessment) -> WriteNames {
        let mut sizes = cases(assessment).filter_map(|case| Some(case.write()?.io.size));
        let first = sizes.next();
        let size = first.filter(|first| sizes.all(|size| size == *first));
        WriteNames { others: Names::of(assessment), size }
    }

    /// The size that all files have which are written.
    pub(crate) fn size(&self) -> Option<u64> {
        self.size
    }

    /// What `case` does, a phrase for each axis that is not at its usual value; none unless it
    /// writes.
    pub(crate) fn phrases(&self, case: &Case) -> Vec<String> {
        let Some(work) = case.write() else { return Vec::new() };
        let mut said = Vec::new();
        if case.peer != OWN_PEER {
            said.push(case.peer.clone());
        }
        said.extend(phrases(work));
        if self.size.is_none() {
            said.push(format!("of {}", units::bytes(work.io.size)));
        }
        said
    }

    /// The name of the case with this id.
    pub(crate) fn name(&self, assessment: &Assessment, id: &str) -> String {
        let is_it = |case: &&Case| case.write().is_some() && case.id() == id;
        match cases(assessment).find(is_it) {
            Some(case) => self.phrases(case).join(" "),
            None => self.others.short(id),
        }
    }
}

/// The cases that were measured and those that were skipped.
fn cases(assessment: &Assessment) -> impl Iterator<Item = &Case> {
    let measured = assessment.cases.iter().map(|summary| &summary.case);
    measured.chain(assessment.skips.iter().map(|skip| &skip.case))
}

/// Whether any case writes, or is to be.
pub(crate) fn any(assessment: &Assessment) -> bool {
    cases(assessment).any(|case| case.write().is_some())
}

/// Whether any case copies a file.
pub(crate) fn any_copy(assessment: &Assessment) -> bool {
    cases(assessment).any(|case| case.write().is_some_and(|work| work.op == Op::Copy))
}

fn phrases(work: &WriteWork) -> Vec<String> {
    let mut said = Vec::new();
    match work.op {
        Op::Sync => return vec!["nothing written".to_string(), sync(work)],
        Op::Copy => said.push("copy".to_string()),
        Op::Write => {}
    }
    said.push(match (work.op, work.engine) {
        (Op::Copy, WriteEngine::Write) => "read+write".to_string(),
        (_, engine) => engine.to_string(),
    });
    match (work.op, work.io.cache) {
        (_, Cache::AsIs) => {}
        (Op::Copy, Cache::Warm | Cache::Cold) => said.push(format!("{} source", work.io.cache)),
        (_, cache) => said.push(cache.to_string()),
    }
    said.push(match work.io.block >= work.io.size {
        true => "at once".to_string(),
        false => units::bytes(work.io.block),
    });
    match work.io.pattern {
        Pattern::Sequential => {}
        Pattern::Random => said.push("random".to_string()),
        Pattern::Strided => said.push(format!("stride {}", work.io.stride)),
    }
    if work.io.share == Share::Interleaved {
        said.push(work.io.share.to_string());
    }
    if work.io.depth > 1 {
        said.push(format!("depth {}", work.io.depth));
    }
    if work.io.threads > 1 {
        said.push(count(work.io.threads as usize, "thread"));
    }
    said.extend(file(work).map(str::to_string));
    if work.io.ops > 0 {
        said.push(count(work.io.ops as usize, "write"));
    }
    said.push(sync(work));
    said
}

/// What the file is at the start, and what is written: where that is unusual.
fn file(work: &WriteWork) -> impl Iterator<Item = &'static str> {
    let allocation = match work.allocation {
        Allocation::None => None,
        Allocation::Fallocate => Some("preallocated"),
        Allocation::Overwrite => Some("overwritten"),
        Allocation::Append => Some("appended"),
    };
    let fill = match work.fill {
        Fill::Random => None,
        Fill::Constant => Some("constant byte"),
        Fill::Zero => Some("zeros"),
    };
    allocation.into_iter().chain(fill)
}

fn sync(work: &WriteWork) -> String {
    let sync = sync_name(work.sync);
    match work.every {
        0 => sync.to_string(),
        1 => format!("{sync} each"),
        every => format!("{sync} every {every}"),
    }
}

/// The name of what makes it durable, or is mistaken for it, as the manual has it.
pub(crate) fn sync_name(sync: Sync) -> &'static str {
    match sync {
        Sync::None => "no sync",
        Sync::Dsync => "O_DSYNC",
        Sync::FileRange => "sync_file_range",
        Sync::Fdatasync | Sync::Fsync | Sync::Msync => sync.name(),
    }
}

/// The accepted rate and its interval.
pub(crate) fn accepted(writing: Option<&Writing>) -> (String, String) {
    rate(writing.and_then(|writing| writing.accepted))
}

/// The durable rate and its interval; that it is not durable, where somebody might think so.
pub(crate) fn durable(summary: &Summary) -> (String, String) {
    if words::is_not_durable(summary) {
        return (NOT_DURABLE.to_string(), NONE.to_string());
    }
    rate(summary.writing.as_ref().and_then(|writing| writing.durable))
}

fn rate(estimate: Option<Estimate>) -> (String, String) {
    match estimate {
        None => (NONE.to_string(), NONE.to_string()),
        Some(all) => (units::rate(all.median), words::interval(all.low, all.high, units::rate)),
    }
}

/// A rate with its interval in a sentence: `612 MB/s (598-631)`.
pub(crate) fn said_rate(estimate: &Estimate) -> String {
    match words::interval(estimate.low, estimate.high, units::rate).as_str() {
        NONE => units::rate(estimate.median),
        interval => format!("{} ({interval})", units::rate(estimate.median)),
    }
}

/// What is known of what a sync comes to below the file system, as a sentence; nothing where it
/// flushes a device of this machine.
pub(crate) fn said_cache(storage: Option<&Storage>) -> Option<String> {
    let storage = storage?;
    let devices = || storage.devices.iter();
    if storage.medium == Medium::Unseen {
        return Some(format!(
            "What is below {} cannot be seen from here: whether a sync reached a medium is not \
             known.",
            storage.file_system
        ));
    }
    if words::is_virtual(Some(storage)) {
        return Some(
            "The device is virtual: that it completed a flush is seen, what the host did is not."
                .to_string(),
        );
    }
    let is_through = devices().all(|device| device.write_cache == Some(WriteCache::Through));
    (devices().count() > 0 && is_through).then(|| {
        "The OS has it that a write is on the medium when it is complete (write through): there \
         is nothing to flush."
            .to_string()
    })
}

/// What was measured besides the rows of a view, in one sentence; the null engine has one of its
/// own.
pub(crate) fn beside(
    assessment: &Assessment,
    is_beside: &dyn Fn(&Summary) -> bool,
    name: &dyn Fn(&str) -> String,
) -> Option<String> {
    let is_null = |summary: &Summary| match &summary.case.work {
        Work::Memory(_) => false,
        Work::Read(work) => work.engine == Engine::Null,
        Work::Write(work) => work.engine == WriteEngine::Null,
    };
    let is_told = |summary: &&Summary| summary.n > 0 && is_beside(summary) && !is_null(summary);
    let say = |summary: &Summary| {
        let (median, _) = words::main_figure(summary);
        let verdict = match summary.verdict {
            Verdict::Sound => String::new(),
            verdict => format!(" ({verdict})"),
        };
        format!("{} {}{verdict}", name(&summary.id), words::figure(summary, median))
    };
    let others: Vec<String> = assessment.cases.iter().filter(is_told).map(say).collect();
    (!others.is_empty()).then(|| format!("measured beside them: {}", words::listed(&others)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::case::Io;
    use model::zoo;
    use std::collections::HashSet;

    #[test]
    fn names_differ_where_cases_differ() {
        let cases: Vec<Case> =
            zoo::cases().into_iter().filter(|case| case.write().is_some()).collect();
        let names = WriteNames { others: Names::default(), size: None };
        let said: HashSet<String> =
            cases.iter().map(|case| names.phrases(case).join(" ")).collect();
        assert_eq!(said.len(), cases.len());
    }

    #[test]
    fn what_is_unusual_is_said() {
        let names = WriteNames { others: Names::default(), size: Some(1 << 20) };
        let plain = zoo::plain_write();
        let check = |work: WriteWork, expected: &str| {
            let case = Case::own(Work::Write(work));
            assert_eq!(names.phrases(&case).join(" "), expected);
        };
        check(plain, "pwrite 4KiB fdatasync");
        check(
            WriteWork { io: Io { block: 1 << 20, ..plain.io }, ..plain },
            "pwrite at once fdatasync",
        );
        check(WriteWork { every: 1, ..plain }, "pwrite 4KiB fdatasync each");
        let (op, engine) = (Op::Copy, WriteEngine::Write);
        check(WriteWork { op, engine, ..plain }, "copy read+write 4KiB fdatasync");
        check(WriteWork { op: Op::Sync, ..plain }, "nothing written fdatasync");
    }
}
