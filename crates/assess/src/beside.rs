//! The evidence of a trial without what the actors beside it did.

use model::case::{Advice, BlockPlace, Cache, Case, Op, ReadWork, Sync, Work, WriteWork};
use model::evidence::Evidence;
use model::host::Storage;
use model::layer::Amplification;
use model::plan::{Actor, ActorFile, Plan};
use model::trial::{Beside, Trial};
use std::borrow::Cow;

/// A file system may turn a byte that an actor wrote into this many on a device.
const WRITES_MOST: f64 = 1.25;
/// What an actor did in a short time, divided by what it does on average in such a time, is at most
/// about this.
const AROUND_MOST: u128 = 4;
/// Bytes of metadata that an actor's sync may write: a journal's commit, a tree's changed nodes.
const METADATA_OF_SYNC: u64 = 256 << 10;

/// Bytes by which what the devices counted may differ from what the actors did: both counters show
/// the same bytes, but not at the same time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Unsure {
    pub(crate) read: u64,
    pub(crate) written: u64,
}

/// The evidence of a trial without what the actors beside it did.
#[derive(Debug)]
pub(crate) struct OwnEvidence<'a> {
    pub(crate) evidence: Cow<'a, Evidence>,
    pub(crate) unsure: Unsure,
}

/// The evidence of `trial` of `case`. Devices count for all processes, so what the actors' own
/// processes moved is subtracted. What cannot be told apart is unknown, and so is a difference
/// below zero (docs/method).
pub(crate) fn own_evidence<'a>(
    plan: &Plan,
    case: &Case,
    trial: &'a Trial,
    storage: Option<&Storage>,
) -> OwnEvidence<'a> {
    let unsure = Unsure::default();
    if trial.beside.is_empty() {
        return OwnEvidence { evidence: Cow::Borrowed(&trial.evidence), unsure };
    }
    let defined = |beside: &Beside| plan.actors.iter().find(|actor| actor.name == beside.name);
    let actors: Option<Vec<(&Beside, &Actor)>> =
        trial.beside.iter().map(|beside| Some((beside, defined(beside)?))).collect();
    let mut own = trial.evidence.clone();
    let (reads, writes) = match storage {
        Some(storage) => (storage.reads(), storage.writes()),
        None => (Amplification::ONE, Amplification::ONE),
    };
    let Some(actors) = actors else {
        return OwnEvidence { evidence: Cow::Owned(without_devices(own)), unsure };
    };
    let unsure = Unsure::of(&actors, &trial.evidence, storage);
    let read = sum(&actors, |beside, _| beside.evidence.task_read_bytes);
    own.device_read_bytes = own
        .device_read_bytes
        .zip(read)
        .and_then(|(all, read)| all.checked_sub(read.saturating_mul(reads.exact()?.into())));
    let written = match case.write() {
        None => written_at_most(&actors, storage.map_or(Some(1), Storage::own_writes_most))
            .map(|written| written.saturating_add(unsure.written)),
        Some(_) => written_past_cache(&actors, writes)
            .map(|written| written.saturating_sub(unsure.written)),
    };
    own.device_write_bytes =
        own.device_write_bytes.zip(written).and_then(|(all, written)| all.checked_sub(written));
    // Whose bytes the disks below a loop device's page cache moved cannot be told.
    (own.disk_read_bytes, own.disk_write_bytes, own.disk_flushes) = (None, None, None);
    // Its pages in the page cache are those of all that use it.
    let is_any = |is: fn(&Actor) -> bool| actors.iter().any(|(_, actor)| is(actor));
    if is_any(|actor| actor.file == ActorFile::Case) {
        own.residency_after = None;
    }
    own.device_busy_ns = None;
    if is_any(|actor| actor.case.read().is_some()) {
        (own.device_reads, own.device_read_ns) = (None, None);
    }
    if is_any(|actor| actor.case.write().is_some()) {
        (own.device_writes, own.device_write_ns) = (None, None);
    }
    // A flush belongs to all data that was written before it.
    if is_any(|actor| actor.case.write().is_some_and(|work| work.sync.claims_durable())) {
        own.device_flushes = None;
    }
    OwnEvidence { evidence: Cow::Owned(own), unsure }
}

impl Unsure {
    /// A process counts a byte when it submits it, a device when it completes it. So an actor's
    /// bytes in flight at either end of the trial are counted on one side only. Its counters are
    /// also read a moment before and after the devices', in which it goes on.
    fn of(actors: &[(&Beside, &Actor)], trial: &Evidence, storage: Option<&Storage>) -> Unsure {
        let mut unsure = Unsure::default();
        for (beside, actor) in actors {
            let evidence = &beside.evidence;
            let in_flight = in_flight(&actor.case, storage);
            let around = |bytes: Option<u64>| {
                let extra_ns = evidence.window_ns.saturating_sub(trial.window_ns);
                let bytes = u128::from(bytes.unwrap_or(0)) * u128::from(extra_ns) * AROUND_MOST;
                (bytes / u128::from(evidence.window_ns.max(1))) as u64
            };
            let (reads, writes) = (reads(&actor.case), actor.case.write().is_some());
            let of = |is: bool, bytes: Option<u64>, most: Option<u32>| {
                let all = in_flight.saturating_add(around(bytes));
                if is { all.saturating_mul(most.unwrap_or(1).into()) } else { 0 }
            };
            let times =
                |of: fn(&Storage) -> Amplification| storage.map_or(Some(1), |it| of(it).most);
            let read = of(reads, evidence.task_read_bytes, times(Storage::reads));
            let written = of(writes, evidence.task_write_bytes, times(Storage::writes));
            unsure.read = unsure.read.saturating_add(read);
            unsure.written = unsure.written.saturating_add(written);
        }
        unsure
    }
}

/// Whether a case reads a file.
fn reads(case: &Case) -> bool {
    let writes_only = |work: &WriteWork| work.read_share == 0 && work.op != Op::Copy;
    case.read().is_some() || case.write().is_some_and(|work| !writes_only(work))
}

/// The most bytes that a case has submitted and not completed. Through the page cache, the OS reads
/// ahead up to two windows for each thread, or as far as it is advised to, and writes what it likes
/// of the file before the next sync.
fn in_flight(case: &Case, storage: Option<&Storage>) -> u64 {
    let Some(io) = case.io() else { return 0 };
    let operations = io.block.saturating_mul(u64::from(io.depth) * u64::from(io.threads));
    let loads = |work: &ReadWork| {
        matches!(work.advice, Advice::WillNeed | Advice::Populate | Advice::TouchAhead)
            || work.engine.place() == BlockPlace::Memory
    };
    let ahead = || {
        let window = storage.and_then(Storage::read_ahead_most).unwrap_or(0);
        window.saturating_mul(2 * u64::from(io.threads))
    };
    let before_sync = |work: &WriteWork| match work.every {
        _ if work.sync == Sync::Dsync => operations,
        0 => io.size,
        every => operations.saturating_mul(every).min(io.size),
    };
    match &case.work {
        _ if io.cache == Cache::Direct => operations,
        Work::Read(work) if loads(work) => operations.max(io.size),
        Work::Write(work) => operations.max(before_sync(work)).saturating_add(ahead()),
        _ => operations.saturating_add(ahead()),
    }
}

fn without_devices(evidence: Evidence) -> Evidence {
    Evidence {
        device_read_bytes: None,
        device_reads: None,
        device_read_ns: None,
        device_busy_ns: None,
        device_write_bytes: None,
        device_writes: None,
        device_write_ns: None,
        device_flushes: None,
        disk_read_bytes: None,
        disk_write_bytes: None,
        disk_flushes: None,
        ..evidence
    }
}

fn sum(actors: &[(&Beside, &Actor)], of: impl Fn(&Beside, &Actor) -> Option<u64>) -> Option<u64> {
    let mut told = actors.iter().map(|(beside, actor)| of(beside, actor));
    told.try_fold(0, |sum: u64, told| Some(sum.saturating_add(told?)))
}

/// The most that devices wrote for actors, with metadata: what a reading case need not explain.
fn written_at_most(actors: &[(&Beside, &Actor)], most: Option<u32>) -> Option<u64> {
    let most = most?;
    sum(actors, |beside, actor| {
        let Some(work) = actor.case.write() else { return Some(0) };
        let sample = beside.outcome.sample()?;
        let syncs = match work.sync {
            Sync::Dsync => sample.written_ops(),
            _ => sample.syncs.count().max(work.sync_calls(&sample.spans)),
        };
        let data = (beside.evidence.task_write_bytes? as f64 * WRITES_MOST) as u64;
        let all = data.saturating_add(syncs.saturating_mul(METADATA_OF_SYNC));
        Some(all.saturating_mul(most.into()))
    })
}

/// What devices surely wrote for actors. It is unknown when the OS writes back what they wrote
/// through the page cache.
fn written_past_cache(actors: &[(&Beside, &Actor)], writes: Amplification) -> Option<u64> {
    sum(actors, |beside, actor| {
        let is_direct = |work: &WriteWork| work.io.cache == Cache::Direct;
        match actor.case.write() {
            None => Some(0),
            Some(work) if is_direct(work) => {
                Some(beside.evidence.task_write_bytes?.saturating_mul(writes.least.into()))
            }
            Some(_) => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::case::{Allocation, Io, ReadWork};
    use model::sample::{Sample, Span};
    use model::trial::Outcome;
    use model::zoo;

    const MIB: u64 = 1 << 20;

    /// The evidence of a trial of `case` beside `actor`, which read and wrote as many MiB. The
    /// devices read 100 MiB and wrote 60.
    fn check(case: Work, actor: Work, moved: [Option<u64>; 2]) -> Evidence {
        check_with(case, actor, moved, &Sample::default())
    }

    /// The same, where the actor has this sample.
    fn check_with(
        case: Work,
        actor: Work,
        [read, written]: [Option<u64>; 2],
        sample: &Sample,
    ) -> Evidence {
        let mut plan = Plan::new("test", 10, 0.025, 1);
        plan.actors = vec![Actor::own("other", Case::own(actor))];
        let mib = |count: Option<u64>| count.map(|count| count * MIB);
        let mut trial = zoo::trial(0);
        trial.evidence.device_read_bytes = Some(100 * MIB);
        trial.evidence.device_write_bytes = Some(60 * MIB);
        trial.beside = vec![Beside {
            name: "other".to_string(),
            outcome: Outcome::Done(sample.clone()),
            evidence: Evidence {
                task_read_bytes: mib(read),
                task_write_bytes: mib(written),
                ..Evidence::default()
            },
            expected_digest: None,
            read_back: None,
        }];
        own_evidence(&plan, &Case::own(case), &trial, None).evidence.into_owned()
    }

    /// 2048 blocks of 4 KiB, and a sync after every 512: four times its metadata, not 2048 times.
    #[test]
    fn metadata_is_that_of_syncs_and_not_of_operations() {
        let sample = Sample {
            spans: vec![Span { ops: 2048, bytes: 8 * MIB, ..Span::default() }],
            ..Sample::default()
        };
        let written = |sync, every| {
            let Work::Write(work) = writer(Cache::AsIs, sync) else { panic!("it writes") };
            let io = Io { size: 16 * MIB, ..work.io };
            let work = Work::Write(WriteWork { every, io, ..work });
            let all =
                check_with(Work::Read(ReadWork::default()), work, [Some(0), Some(8)], &sample);
            all.device_write_bytes
        };
        // What it wrote before the last sync, or the whole file, may be written in the trial too.
        assert_eq!(written(Sync::Fdatasync, 512), Some((60 - 10 - 1 - 2) * MIB));
        assert_eq!(written(Sync::None, 0), Some((60 - 10 - 16) * MIB));
        // That would be more than the devices wrote: what they did not write for it is unknown.
        assert_eq!(written(Sync::Dsync, 0), None);
    }

    fn writer(cache: Cache, sync: Sync) -> Work {
        let io = Io { cache, ..zoo::plain_write().io };
        let allocation = Allocation::Overwrite;
        Work::Write(WriteWork { io, sync, allocation, ..zoo::plain_write() })
    }

    #[test]
    fn what_an_actor_reads_is_not_read_for_the_case() {
        let reader = || Work::Read(ReadWork::default());
        let own = check(reader(), reader(), [Some(30), Some(0)]);
        assert_eq!(own.device_read_bytes, Some(70 * MIB));
        assert_eq!((own.device_write_bytes, own.device_reads), (Some(60 * MIB), None));
        assert_eq!(check(reader(), reader(), [None, Some(0)]).device_read_bytes, None);
    }

    /// Before, the bytes of the case that the devices wrote seemed to be missing.
    #[test]
    fn what_an_actor_submitted_may_not_be_written_yet() {
        let deep = || {
            let Work::Write(work) = writer(Cache::Direct, Sync::None) else { panic!("it writes") };
            let io = Io { block: 1 << 20, depth: 4, threads: 2, ..work.io };
            Work::Write(WriteWork { io, ..work })
        };
        let written = |written| {
            let own = check(writer(Cache::Direct, Sync::None), deep(), [Some(0), Some(written)]);
            own.device_write_bytes
        };
        assert_eq!(written(40), Some((60 - 40 + 8) * MIB));
        assert_eq!(written(65), Some(3 * MIB));
        assert_eq!(written(70), None);
    }

    #[test]
    fn what_an_actor_writes_is_not_written_for_the_case() {
        let direct = || writer(Cache::Direct, Sync::None);
        let block = zoo::plain_write().io.block;
        let of_reader = check(Work::Read(ReadWork::default()), direct(), [Some(0), Some(40)]);
        assert_eq!(of_reader.device_write_bytes, Some(10 * MIB - block));
        assert_eq!(of_reader.device_flushes, Some(0));
        let of_writer = check(direct(), direct(), [Some(0), Some(40)]);
        assert_eq!(of_writer.device_write_bytes, Some(20 * MIB + block));
        assert_eq!(of_writer.device_writes, None);
    }

    /// Its pages may reach a device in another trial, and its flushes may be those of the case.
    #[test]
    fn what_cannot_be_told_apart_is_unknown() {
        let buffered = || writer(Cache::AsIs, Sync::Fdatasync);
        let own = check(writer(Cache::Direct, Sync::Fdatasync), buffered(), [Some(0), Some(40)]);
        assert_eq!((own.device_write_bytes, own.device_flushes), (None, None));
    }
}
