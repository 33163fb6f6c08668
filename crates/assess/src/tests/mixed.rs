//! Cases of which some operations read and the rest write.

use super::writing::{direct, flawless_write};
use super::*;
use crate::summary::Summary;
use model::case::{Sync, WriteWork};
use model::host::Medium;

/// Operations of a trial, and those of them that read.
const OPS: u64 = 1024;
const READS: u64 = 700;

/// Bytes of an operation.
const BLOCK: u64 = FILE / OPS;

pub(super) fn mix(sync: Sync) -> WriteWork {
    WriteWork { sync, read_share: 70, ..direct() }
}

/// Flawless rounds: what was to be read was read from the device, and the rest written.
pub(super) fn mixed(work: WriteWork) -> Record {
    let mut record = flawless_write(work);
    each(&mut record, |trial| {
        let sample = sample(trial);
        let span = &mut sample.spans[0];
        assert_eq!((span.ops, span.bytes), (OPS, FILE));
        (span.read_ops, span.read_bytes) = (READS, READS * BLOCK);
        sample.reads = Latencies { counts: vec![(60_000, READS)], max_ns: 60_000 };
        let counts = vec![(60_000, READS), (90_000, OPS - READS)];
        sample.latencies = Latencies { counts, max_ns: 91_000 };
        trial.expected_digest = Some(0);
        let evidence = &mut trial.evidence;
        let (read, written) = (READS * BLOCK, (OPS - READS) * BLOCK);
        (evidence.task_read_bytes, evidence.device_read_bytes) = (Some(read), Some(read));
        (evidence.task_write_bytes, evidence.device_write_bytes) = (Some(written), Some(written));
        (evidence.device_reads, evidence.device_writes) = (Some(READS), Some(OPS - READS));
        if work.sync == Sync::Dsync {
            evidence.device_flushes = Some(OPS - READS);
        }
    });
    record
}

fn first(record: &Record) -> Summary {
    assess(record).cases.remove(0)
}

#[test]
fn a_flawless_mix_is_sound() {
    check(mixed(mix(Sync::Dsync)), |_| {}, "sound device:");
    check(mixed(mix(Sync::None)), |_| {}, "sound device: AcknowledgedOnly note");
}

/// Which operations write is drawn, so short trials may have none. Then nothing is to be flushed,
/// and some file systems send no flush. The same holds for a sync before which only reads came.
#[test]
fn syncs_of_a_mix_owe_flushes_for_what_was_written() {
    let only_reads = |trials: usize| {
        let mut record = mixed(mix(Sync::Fdatasync));
        for trial in record.trials.iter_mut().take(trials) {
            let span = &mut sample(trial).spans[0];
            (span.read_ops, span.read_bytes) = (OPS, FILE);
            let evidence = &mut trial.evidence;
            (evidence.task_read_bytes, evidence.device_read_bytes) = (Some(FILE), Some(FILE));
            (evidence.task_write_bytes, evidence.device_write_bytes) = (Some(0), Some(0));
            (evidence.device_writes, evidence.device_flushes) = (Some(0), Some(0));
        }
        record
    };
    let is_unflushed = |record: &Record| {
        first(record).findings.iter().any(|it| it.code == crate::finding::Code::NotDurable)
    };
    assert!(!is_unflushed(&only_reads(3)));
    let mut record = only_reads(3);
    evidence(&mut record, |it| it.device_flushes = Some(0));
    assert!(is_unflushed(&record), "seven trials wrote");
    // A sync after each operation: 324 of 1024 wrote before.
    let each = |flushes| {
        let mut record = mixed(WriteWork { every: 1, ..mix(Sync::Fdatasync) });
        evidence(&mut record, |it| it.device_flushes = Some(flushes));
        record
    };
    assert!(!is_unflushed(&each(OPS - READS)));
    assert!(is_unflushed(&each((OPS - READS) / 2)));
    // Without any write, the figure is that of reads.
    let found = first(&only_reads(10)).findings;
    let found = found.iter().find(|it| it.code == crate::finding::Code::Unverified);
    let message = &found.expect("the mix did not write").message;
    assert!(
        message.starts_with("no operation was a write, in no trial: with 70 % reads"),
        "{message}"
    );
}

/// Another process serves the file, and the task's bytes are 0 because none cross a device here.
#[test]
fn what_a_mix_reads_where_nothing_is_seen_is_unverified() {
    let unseen = |medium| {
        move |record: &mut Record| {
            let storage = record.header.storage.as_mut().expect("the zoo has a storage");
            storage.medium = medium;
            evidence(record, |it| {
                it.task_read_bytes = Some(0);
                (it.device_read_bytes, it.device_reads) = (None, None);
                (it.device_write_bytes, it.device_writes) = (None, None);
            });
        }
    };
    let work = mix(Sync::None);
    let expected = "doubtful unverified: Unverified doubt, AcknowledgedOnly note";
    check(mixed(work), unseen(Medium::Unseen), expected);
    let ignored = "void unverified: DirectIgnored void, Unverified doubt, AcknowledgedOnly note";
    check(mixed(work), unseen(Medium::Block), ignored);
}

/// The mix wrote 324 MiB and read the other 700: what others wrote is told beside the first, and
/// what they read took a share of the device's whole time.
#[test]
fn others_are_held_against_what_a_mix_did() {
    let message = |plant: &dyn Fn(&mut Evidence)| {
        let mut record = mixed(mix(Sync::None));
        evidence(&mut record, plant);
        let found = first(&record).findings;
        let found = found.into_iter().find(|it| it.code == crate::finding::Code::Foreign);
        found.map(|it| it.message)
    };
    let written = (OPS - READS) * BLOCK;
    let writes = |it: &mut Evidence| it.device_write_bytes = Some(2 * written);
    let expected = "the devices wrote up to 648 MiB while a trial wrote 324 MiB";
    assert!(message(&writes).expect("others wrote").starts_with(expected));
    let reads = |more: u64| {
        move |it: &mut Evidence| {
            it.device_read_bytes = Some(READS * BLOCK / 100 * (100 + more));
        }
    };
    let expected = "other processes read up to 6.84 % as much from the device as this case moved (";
    assert!(message(&reads(10)).expect("others read").starts_with(expected));
    assert_eq!(message(&reads(4)), None);
}

#[test]
fn the_figures_of_each_kind_are_told_apart() {
    let case = first(&mixed(mix(Sync::Dsync)));
    let mixed = case.mixed.expect("it is mixed");
    let median = |estimate: Option<crate::stats::Estimate>| estimate.expect("it has one").median;
    let all = median(case.iops);
    assert!((median(mixed.read_iops) / all - 0.684).abs() < 0.001);
    assert!((median(mixed.write_iops) / all - 0.316).abs() < 0.001);
    let p50 = |latency: &crate::latency::Latency| latency.p50.expect("enough were timed").ns;
    assert_eq!((p50(&mixed.reads), p50(&mixed.writes)), (60_000, 90_000));
    assert_eq!((mixed.reads.max_ns, mixed.writes.max_ns), (Some(60_000), Some(91_000)));
    // Only what was written is durable.
    let (durable, throughput) = (median(case.writing.unwrap().durable), median(case.throughput));
    assert!((durable / throughput - 0.316).abs() < 0.001);
    assert_eq!(case.digest_verified, Some(true));
    assert_eq!(case.ceiling, None, "no rate bounds both");
}

/// The throughput of a mix is that of its reads and writes, and so is its main figure.
#[test]
fn a_mix_has_one_throughput() {
    for sync in [Sync::None, Sync::Dsync] {
        let case = first(&mixed(mix(sync)));
        let (figure, quantity) = crate::trend::main_estimate(&case).expect("it has one");
        assert_eq!(quantity, crate::trend::FigureUnit::BytesPerSecond);
        assert_eq!(Some(figure), case.throughput, "{sync}");
    }
    let finding = &first(&mixed(mix(Sync::None))).findings[0];
    assert!(finding.message.contains("what was written is only acknowledged"), "{finding:?}");
}

/// With `--sustain`, each is the rate at the end.
#[test]
fn what_reads_and_what_writes_at_the_end_is_all() {
    let mut record = mixed(mix(Sync::None));
    record.header.plan.sustain = Some(std::time::Duration::from_secs(60));
    for trial in &mut record.trials {
        let is_late = trial.round >= 6;
        let sample = sample(trial);
        let span = &mut sample.spans[0];
        let ns = if is_late { 4_000_000_000 } else { 1_000_000_000 };
        span.end_ns = span.start_ns + ns;
        span.progress = vec![FILE * 100_000_000 / ns; (ns / 100_000_000) as usize];
    }
    let case = first(&record);
    let mixed = case.mixed.expect("it is mixed");
    let median = |estimate: Option<crate::stats::Estimate>| estimate.expect("it has one").median;
    let all = median(case.iops);
    assert!(all < 0.5 * OPS as f64, "it is the rate at the end: {all}");
    let both = median(mixed.read_iops) + median(mixed.write_iops);
    assert!((both / all - 1.0).abs() < 1e-9, "{both} of {all}");
}

#[test]
fn reads_that_no_device_served_are_no_direct_reads() {
    let fetched = |share: f64| {
        move |record: &mut Record| {
            evidence(record, |evidence| {
                let bytes = (READS as f64 * BLOCK as f64 * share) as u64;
                (evidence.task_read_bytes, evidence.device_read_bytes) = (Some(bytes), Some(bytes));
            });
        }
    };
    check(mixed(mix(Sync::Dsync)), fetched(0.9), "void device: DirectIgnored void");
    check(mixed(mix(Sync::Dsync)), fetched(0.995), "sound device:");
    let untold = |record: &mut Record| {
        evidence(record, |evidence| {
            (evidence.task_read_bytes, evidence.device_read_bytes) = (None, None);
        });
    };
    check(mixed(mix(Sync::Dsync)), untold, "doubtful unverified: Unverified doubt");
}

#[test]
fn writes_that_no_device_took_are_seen_beside_reads() {
    let taken = |share: f64| {
        move |record: &mut Record| {
            evidence(record, |evidence| {
                let bytes = ((OPS - READS) as f64 * BLOCK as f64 * share) as u64;
                evidence.device_write_bytes = Some(bytes);
            });
        }
    };
    let seen = "void mixed: DirectIgnored void, AcknowledgedOnly note";
    check(mixed(mix(Sync::None)), taken(0.9), seen);
    check(mixed(mix(Sync::None)), taken(0.995), "sound device: AcknowledgedOnly note");
}

#[test]
fn a_read_that_returned_other_bytes_is_seen() {
    let other = |record: &mut Record| each(record, |trial| trial.expected_digest = Some(1));
    check(mixed(mix(Sync::Dsync)), other, "void device: DigestMismatch void");
}

/// Little's law takes reads and writes together.
#[test]
fn the_depth_that_is_reached_is_that_of_both() {
    let deep = |ns: u64| {
        let work = mix(Sync::None);
        let io = Io { depth: 8, ..work.io };
        let mut record = mixed(WriteWork { io, engine: model::case::WriteEngine::Uring, ..work });
        each(&mut record, |trial| {
            let elapsed_ns = sample(trial).elapsed_ns();
            let evidence = &mut trial.evidence;
            let (reads, writes) = (elapsed_ns / 10 * ns, elapsed_ns / 10 * ns);
            (evidence.device_read_ns, evidence.device_write_ns) = (Some(reads), Some(writes));
        });
        record
    };
    // 5 + 5 tenths of the time for each: 2.2 at once for 11, and 8.2 for 41.
    let shallow = "sound device: AcknowledgedOnly note, DepthNotReached note";
    check(deep(11), |_| {}, shallow);
    check(deep(41), |_| {}, "sound device: AcknowledgedOnly note");
}
