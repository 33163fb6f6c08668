//! The evidence of a trial without what the actors beside it did.

use model::case::{Cache, Case, Sync, WriteWork};
use model::evidence::Evidence;
use model::host::Storage;
use model::layer::Amplification;
use model::plan::{Actor, ActorFile, Plan};
use model::trial::{Beside, Trial};
use std::borrow::Cow;

/// A file system may turn a byte that an actor wrote into this many on a device.
const WRITES_MOST: f64 = 1.25;
/// Bytes of metadata that an actor's sync may write: a journal's commit, a tree's changed nodes.
const METADATA_OF_SYNC: u64 = 256 << 10;

/// The evidence of `trial` of `case`. Devices count for all processes, so what the actors' own
/// processes moved is subtracted. What cannot be told apart is unknown (METHODOLOGY.md).
pub(crate) fn own_evidence<'a>(
    plan: &Plan,
    case: &Case,
    trial: &'a Trial,
    storage: Option<&Storage>,
) -> Cow<'a, Evidence> {
    if trial.beside.is_empty() {
        return Cow::Borrowed(&trial.evidence);
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
        return Cow::Owned(without_devices(own));
    };
    let read = sum(&actors, |beside, _| beside.evidence.task_read_bytes);
    own.device_read_bytes = own.device_read_bytes.zip(read).and_then(|(all, read)| {
        Some(all.saturating_sub(read.saturating_mul(reads.exact()?.into())))
    });
    let written = match case.write() {
        None => written_at_most(&actors, storage.map_or(Some(1), Storage::own_writes_most)),
        Some(_) => written_past_cache(&actors, writes),
    };
    own.device_write_bytes =
        own.device_write_bytes.zip(written).map(|(all, written)| all.saturating_sub(written));
    // Whose bytes the disks below a loop device's page cache moved cannot be told.
    (own.disk_read_bytes, own.disk_write_bytes) = (None, None);
    // Its pages in the page cache are those of all that use it.
    if case_file_is_shared(&actors) {
        own.residency_after = None;
    }
    let is_any = |is: fn(&Actor) -> bool| actors.iter().any(|(_, actor)| is(actor));
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
    Cow::Owned(own)
}

fn case_file_is_shared(actors: &[(&Beside, &Actor)]) -> bool {
    actors.iter().any(|(_, actor)| actor.file == ActorFile::Case)
}

fn without_devices(evidence: Evidence) -> Evidence {
    Evidence {
        device_read_bytes: None,
        device_reads: None,
        device_read_ns: None,
        device_write_bytes: None,
        device_writes: None,
        device_write_ns: None,
        device_flushes: None,
        disk_read_bytes: None,
        disk_write_bytes: None,
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
    use model::case::{Allocation, Io, ReadWork, Work};
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
        own_evidence(&plan, &Case::own(case), &trial, None).into_owned()
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
            let work = Work::Write(WriteWork { every, ..work });
            let all =
                check_with(Work::Read(ReadWork::default()), work, [Some(0), Some(8)], &sample);
            all.device_write_bytes
        };
        assert_eq!(written(Sync::Fdatasync, 512), Some((60 - 10 - 1) * MIB));
        assert_eq!(written(Sync::None, 0), Some((60 - 10) * MIB));
        assert_eq!(written(Sync::Dsync, 0), Some(0));
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

    #[test]
    fn what_an_actor_writes_is_not_written_for_the_case() {
        let direct = || writer(Cache::Direct, Sync::None);
        let of_reader = check(Work::Read(ReadWork::default()), direct(), [Some(0), Some(40)]);
        assert_eq!(of_reader.device_write_bytes, Some(10 * MIB));
        assert_eq!(of_reader.device_flushes, Some(0));
        let of_writer = check(direct(), direct(), [Some(0), Some(40)]);
        assert_eq!(of_writer.device_write_bytes, Some(20 * MIB));
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
