//! Each rule with a planted fault, and with a flaw below its threshold.

use super::*;
use crate::RunFinding;
use crate::finding::{Code, Severity};
use model::case::{Advice, BufferPages, Io, Submission};
use model::host::{Device, Direct, FileLayout, FilePart, Fixture, LoopFile, Medium};
use model::host::{NO_FILE_SYSTEM, ZeroBlocks};
use model::pattern::Pattern;
use model::rank::Rank;

fn set_reads(record: &mut Record, share: f64) {
    let bytes = (FILE as f64 * share) as u64;
    evidence(record, |evidence| {
        evidence.task_read_bytes = Some(bytes);
        evidence.device_read_bytes = Some(bytes);
    });
}

fn storage(record: &mut Record) -> &mut model::host::Storage {
    record.header.storage.as_mut().expect("the zoo has a storage")
}

fn layout(record: &mut Record) -> &mut FileLayout {
    record.header.fixtures[0].layout.as_mut().expect("the zoo's file has a layout")
}

#[test]
fn flawless_records_are_sound() {
    check(zoo::record(), |_| {}, "sound device:");
    check(flawless(work(Cache::Cold)), |_| {}, "sound device:");
    check(flawless(work(Cache::Direct)), |_| {}, "sound device:");
    check(flawless(work(Cache::Warm)), |_| {}, "sound page-cache:");
    check(flawless(work(Cache::AsIs)), |_| {}, "sound page-cache:");
    check(memory(), |_| {}, "sound ram:");
    assert_eq!(assess(&zoo::record()).findings, []);
}

#[test]
fn cache_leak() {
    let cold = || flawless(work(Cache::Cold));
    check(cold(), |r| set_reads(r, 0.92), "void mixed: CacheLeak void");
    check(cold(), |r| set_reads(r, 0.98), "void mixed: CacheLeak void");
    check(cold(), |r| set_reads(r, 0.995), "sound device:");
    check(cold(), |r| set_reads(r, 1.04), "sound device:");
    // The cache served one trial of ten, and the others read ahead too far.
    let one_leaks = |r: &mut Record| {
        set_reads(r, 1.2);
        let evidence = &mut r.trials[4].evidence;
        (evidence.task_read_bytes, evidence.residency_before) = (Some(0), residency(PAGES));
    };
    check(cold(), one_leaks, "void mixed: CacheLeak void, OverRead note");
    let all_cached = |r: &mut Record| {
        set_reads(r, 0.0);
        evidence(r, |evidence| evidence.residency_before = residency(PAGES));
    };
    check(cold(), all_cached, "void page-cache: CacheLeak void");
    // An as-is case claims no cache state, so it is not void.
    let half = |r: &mut Record| set_reads(r, 0.5);
    check(flawless(work(Cache::AsIs)), half, "doubtful mixed: PartlyCached doubt");
}

#[test]
fn partly_cached() {
    let as_is = || flawless(work(Cache::AsIs));
    check(as_is(), |r| set_reads(r, 0.97), "doubtful mixed: PartlyCached doubt");
    check(as_is(), |r| set_reads(r, 0.03), "doubtful mixed: PartlyCached doubt");
    check(as_is(), |r| set_reads(r, 0.995), "sound device:");
    check(as_is(), |r| set_reads(r, 0.005), "sound page-cache:");
    let mut record = as_is();
    set_reads(&mut record, 0.25);
    let message = assess(&record).cases[0].findings[0].message.clone();
    assert!(message.starts_with("the page cache served 75.0 % of the bytes"), "{message}");
}

#[test]
fn over_read() {
    let cold = || flawless(work(Cache::Cold));
    check(cold(), |r| set_reads(r, 1.06), "sound device: OverRead note");
    check(cold(), |r| set_reads(r, 1.04), "sound device:");
    // Foreign reads are a matter for rule Foreign.
    let others = |r: &mut Record| evidence(r, |e| e.device_read_bytes = Some(FILE / 100 * 104));
    check(cold(), others, "sound device:");
    // Reading one byte of each page still reads the whole page.
    let bytes_of_pages = |device_bytes: u64| {
        move |r: &mut Record| {
            each(r, |trial| {
                let span = &mut sample(trial).spans[0];
                (span.ops, span.bytes) = (1_000, 1_000);
                trial.evidence.task_read_bytes = Some(device_bytes);
                trial.evidence.device_read_bytes = Some(device_bytes);
            });
        }
    };
    let touch = || {
        flawless(ReadWork {
            io: Io { block: 1, stride: 4096, ..work(Cache::Cold).io },
            ..work(Cache::Cold)
        })
    };
    check(touch(), bytes_of_pages(4_096_000), "sound device:");
    check(touch(), bytes_of_pages(4_500_000), "sound device: OverRead note");
}

/// A small excess is reported in per cent, an excess of a thousand times is not.
#[test]
fn over_read_is_told_with_the_readahead_of_the_device() {
    let said = |share: f64| {
        let mut record = flawless(work(Cache::Cold));
        set_reads(&mut record, share);
        let storage = record.header.storage.as_mut().expect("a file was read");
        storage.devices[0].read_ahead = Some(8 << 20);
        let assessment = assess(&record);
        let found =
            assessment.cases[0].findings.iter().find(|f| f.code == crate::finding::Code::OverRead);
        found.expect("it read more").message.clone()
    };
    let (little, much) = (said(1.5), said(1352.0));
    assert!(little.starts_with("the devices read 50.0 % more than the bytes"), "{little}");
    assert!(much.starts_with("the devices read 1352 times the bytes that the figure counts: "));
    assert!(much.contains("readahead, up to 8MiB at a time on "), "{much}");
}

/// Readahead did not read what a mapping was populated with.
#[test]
fn over_read_of_a_populated_mapping_is_not_called_readahead() {
    let said = |advice| {
        let mut record = flawless(ReadWork { engine: Engine::Mmap, advice, ..work(Cache::Cold) });
        set_reads(&mut record, 1.5);
        let findings = &assess(&record).cases[0].findings;
        let found = findings.iter().find(|it| it.code == crate::finding::Code::OverRead);
        let message = &found.expect("it read more").message;
        ["readahead", "advice 'populate'"].map(|word| message.contains(word))
    };
    assert_eq!(said(Advice::Populate), [false, true]);
    assert_eq!(said(Advice::None), [true, false]);
}

#[test]
fn over_read_advises_what_the_case_lacks() {
    let advised = |cache, advice| {
        let mut record = flawless(ReadWork { advice, ..work(cache) });
        set_reads(&mut record, 1.5);
        let findings = &assess(&record).cases[0].findings;
        let found = findings.iter().find(|it| it.code == crate::finding::Code::OverRead);
        found.expect("it read more").remedy.clone()
    };
    let usual = "use advice 'random' or cache 'direct' to read only what is requested";
    assert_eq!(advised(Cache::Cold, Advice::None), usual);
    let lacks = "use cache 'direct' to read only what is requested";
    assert_eq!(advised(Cache::Cold, Advice::Random), lacks);
    let ignored = "use a file system that does not ignore O_DIRECT";
    assert_eq!(advised(Cache::Direct, Advice::None), ignored);
}

#[test]
fn what_one_trial_showed_is_told_of_the_only_one() {
    let mut record = flawless(work(Cache::Cold));
    record.trials.truncate(1);
    evidence(&mut record, |it| it.device_read_bytes = it.device_read_bytes.map(|all| 2 * all));
    let findings = &assess(&record).cases[0].findings;
    let found = findings.iter().find(|it| it.code == crate::finding::Code::Foreign);
    let message = &found.expect("others read").message;
    assert!(message.contains(" (in the only trial that counts): "), "{message}");
}

#[test]
fn cache_unseen() {
    let unseen = |r: &mut Record| {
        evidence(r, |e| (e.residency_before, e.residency_after) = (None, None));
    };
    check(flawless(work(Cache::Cold)), unseen, "sound device: CacheUnseen note");
    check(flawless(work(Cache::Direct)), unseen, "sound device: CacheUnseen note");
    // One trial that reports is enough to know that the probe works.
    let all_but_one = |r: &mut Record| {
        unseen(r);
        r.trials[3].evidence.residency_before = residency(0);
    };
    check(flawless(work(Cache::Cold)), all_but_one, "sound device:");
    // A file in RAM needs no residency probe.
    let in_memory = |r: &mut Record| {
        unseen(r);
        storage(r).medium = Medium::Ram;
    };
    check(flawless(work(Cache::Warm)), in_memory, "sound ram: Ram note");
    check(memory(), unseen, "sound ram:");
}

/// Direct random reads, `depth` at once. In each trial of a second, the devices' reads take `ns`
/// together.
fn deep(depth: u32, ns: u64) -> Record {
    let plain = work(Cache::Direct);
    let io = Io { depth, pattern: Pattern::Random, ..plain.io };
    let mut record = flawless(ReadWork { io, engine: Engine::Uring, ..plain });
    evidence(&mut record, |evidence| evidence.device_read_ns = Some(ns));
    record
}

const SECOND: u64 = 1_000_000_000;

#[test]
fn depth_not_reached() {
    check(deep(32, 31 * SECOND), |_| {}, "sound device:");
    check(deep(32, 17 * SECOND), |_| {}, "sound device:");
    check(deep(32, 15 * SECOND), |_| {}, "sound device: DepthNotReached note");
    // One at a time is not asked for more.
    check(deep(1, SECOND / 10), |_| {}, "sound device:");
    let unknown = |r: &mut Record| evidence(r, |evidence| evidence.device_read_ns = None);
    check(deep(32, SECOND), unknown, "sound device:");
    // A request of four operations is four in flight.
    let merged = |r: &mut Record| evidence(r, |evidence| evidence.device_reads = Some(256));
    check(deep(32, 5 * SECOND), merged, "sound device:");
    // Threads are operations in flight, too.
    let threads = |r: &mut Record| {
        r.header.plan.cases[0].case.io_mut().expect("it reads a file").threads = 32;
    };
    check(deep(1, SECOND), threads, "sound device: DepthNotReached note");
    // An open loop has in flight what is due.
    let open = |r: &mut Record| {
        r.header.plan.cases[0].case.io_mut().expect("it reads a file").rate = 1_000;
    };
    check(deep(32, SECOND), open, "sound device:");
}

#[test]
fn loop_cached() {
    let through_cache = |r: &mut Record| storage(r).devices[0].loop_direct = Some(false);
    let past_cache = |r: &mut Record| storage(r).devices[0].loop_direct = Some(true);
    for cache in [Cache::Cold, Cache::Direct] {
        check(flawless(work(cache)), through_cache, "doubtful device: LoopCached doubt");
        check(flawless(work(cache)), past_cache, "sound device:");
    }
    // The device does not matter for page cache hits, and as-is makes no claim.
    check(flawless(work(Cache::Warm)), through_cache, "sound page-cache:");
    let read = |r: &mut Record| {
        through_cache(r);
        set_reads(r, 1.0);
    };
    check(flawless(work(Cache::AsIs)), read, "sound device:");
}

/// The loop device read all bytes, and the disk below it fewer.
#[test]
fn what_the_disk_below_a_loop_device_did_not_read_came_from_the_page_cache_outside() {
    let disk = |direct, share: f64| {
        move |r: &mut Record| {
            storage(r).devices[0].loop_direct = Some(direct);
            let read = (FILE as f64 * share) as u64;
            evidence(r, |evidence| evidence.disk_read_bytes = Some(read));
        }
    };
    for cache in [Cache::Cold, Cache::Direct] {
        let of = |share| (flawless(work(cache)), disk(false, share));
        let (record, none) = of(0.0);
        check(record, none, "void page-cache: LoopCached void");
        let (record, some) = of(0.4);
        check(record, some, "void mixed: LoopCached void");
        // Others may have read that much.
        let (record, all) = of(1.0);
        check(record, all, "doubtful device: LoopCached doubt");
        check(flawless(work(cache)), disk(true, 1.0), "sound device:");
    }
    let mut record = flawless(work(Cache::Direct));
    disk(false, 0.25)(&mut record);
    let case = &assess(&record).cases[0];
    assert_eq!(case.hit_share, Some(0.75));
    let text = &case.findings[0].message;
    assert!(text.ends_with("the disks below moved only 25.0 % of the bytes"), "{text}");
}

#[test]
fn readahead_makes_random_cold_operations_warm() {
    let cold = |pattern| {
        flawless(ReadWork { io: Io { pattern, ..work(Cache::Cold).io }, ..work(Cache::Cold) })
    };
    let reads = |share: f64| {
        move |record: &mut Record| {
            each(record, |trial| {
                let ops = sample(trial).ops() as f64;
                trial.evidence.device_reads = Some((ops * share) as u64);
            });
        }
    };
    check(cold(Pattern::Random), reads(0.25), "doubtful device: CacheLeak doubt");
    check(cold(Pattern::Random), reads(0.95), "sound device:");
    check(cold(Pattern::Random), reads(3.0), "sound device:");
    // In a sequential pass, hits are the purpose of readahead.
    check(cold(Pattern::Sequential), reads(0.01), "sound device:");
}

#[test]
fn cache_leak_tells_of_compression() {
    let mut record = flawless(work(Cache::Cold));
    set_reads(&mut record, 0.4);
    let message = |record: &Record| assess(record).cases[0].findings[0].message.clone();
    assert!(!message(&record).contains("compressed"));
    layout(&mut record).encoded = FILE;
    assert!(message(&record).contains("compressed"), "{}", message(&record));
}

/// How much a cache serves of a skewed load is what a case with a memory limit asks.
#[test]
fn a_skewed_load_may_be_partly_cached() {
    let skewed =
        ReadWork { io: Io { pattern: Pattern::Zipf, ..work(Cache::AsIs).io }, ..work(Cache::AsIs) };
    let mut record = flawless(skewed);
    set_reads(&mut record, 0.4);
    assert_eq!(judge(&record), "doubtful mixed: PartlyCached doubt");
    assert_eq!(assess(&record).cases[0].cacheable_share, None);
    record.header.plan.memory_limit = Some(FILE / 4);
    assert_eq!(judge(&record), "sound mixed: PartlyCached note");
    let case = &assess(&record).cases[0];
    let most = case.cacheable_share.expect("zipf has one");
    assert!(most > 0.25 && most < 1.0, "{most}");
    let message = &case.findings[0].message;
    assert!(message.contains("60.0 % of the bytes") && message.contains("at most"), "{message}");
    record.header.plan.memory_limit = Some(FILE);
    assert_eq!(assess(&record).cases[0].cacheable_share, Some(1.0));
}

/// Random readahead may fetch as many bytes as the cache hides.
#[test]
fn hits_that_overread_hides_are_found() {
    let random = ReadWork {
        io: Io { pattern: Pattern::Random, ops: 100, ..work(Cache::AsIs).io },
        ..work(Cache::AsIs)
    };
    let mut record = flawless(random);
    each(&mut record, |trial| sample(trial).spans[0].bytes = 100 << 20);
    set_reads(&mut record, 0.2);
    evidence(&mut record, |evidence| evidence.residency_before = residency(PAGES / 2));
    assert_eq!(judge(&record), "doubtful mixed: PartlyCached doubt");
    // The devices read more than was asked for, and half of it may have been in the page cache.
    let hits = |record: &Record| {
        let case = assess(record).cases[0].clone();
        case.hit_share.zip(case.hit_share_most)
    };
    let tenths = |record: &Record| {
        hits(record).map(|(least, most)| [least, most].map(|share| (share * 10.0).round()))
    };
    assert_eq!(tenths(&record), Some([0.0, 5.0]));
    let message = assess(&record).cases[0].findings[0].message.clone();
    assert!(message.starts_with("the page cache served at most 50.0 % of"), "{message}");
    // They read three tenths of what was asked for: what is cached may have been evicted.
    set_reads(&mut record, 0.03);
    assert_eq!(tenths(&record), Some([7.0, 7.0]));
    set_reads(&mut record, 0.08);
    assert_eq!(tenths(&record), Some([2.0, 5.0]));
    set_reads(&mut record, 0.2);
    evidence(&mut record, |evidence| evidence.residency_before = residency(0));
    assert_eq!(judge(&record), "sound device:");
    // Direct I/O bypasses the page cache, so its contents do not matter.
    let random = ReadWork {
        io: Io { pattern: Pattern::Random, ops: 100, ..work(Cache::Direct).io },
        ..work(Cache::Direct)
    };
    let mut record = flawless(random);
    each(&mut record, |trial| sample(trial).spans[0].bytes = FILE / 10);
    set_reads(&mut record, 0.1);
    evidence(&mut record, |evidence| {
        evidence.residency_before = residency(PAGES);
        evidence.residency_after = residency(PAGES);
    });
    assert_eq!(judge(&record), "sound device:");
}

#[test]
fn the_devices_counter_stands_in_for_the_workers() {
    let mut record = flawless(work(Cache::Cold));
    evidence(&mut record, |evidence| evidence.task_read_bytes = None);
    assert_eq!(judge(&record), "sound device:");
    evidence(&mut record, |evidence| evidence.device_read_bytes = None);
    assert_eq!(judge(&record), "doubtful unverified: Unverified doubt");
}

#[test]
fn not_warm() {
    let warm = || flawless(work(Cache::Warm));
    let before =
        |pages| move |r: &mut Record| evidence(r, |e| e.residency_before = residency(pages));
    let after = |pages| move |r: &mut Record| evidence(r, |e| e.residency_after = residency(pages));
    // The device served almost nothing: the figure is that of the page cache.
    check(warm(), before(PAGES * 9 / 10), "sound page-cache: NotWarm note");
    check(warm(), after(PAGES * 9 / 10), "sound page-cache: NotWarm note");
    // With unknown device reads, the device may have served a tenth.
    let unseen = |r: &mut Record| {
        before(PAGES * 9 / 10)(r);
        evidence(r, |e| e.task_read_bytes = None);
    };
    check(warm(), unseen, "void page-cache: NotWarm void");
    check(warm(), before(PAGES - PAGES / 2_000), "sound page-cache:");
    check(warm(), |r| set_reads(r, 0.05), "void mixed: NotWarm void");
    check(warm(), |r| set_reads(r, 0.005), "sound page-cache:");
    // Readahead can fetch far more than few operations read: no share of that is more than all.
    for (times, expected) in
        [(0.05, "devices had to read 5.00 % of the bytes"), (22.0, "devices had to read 22 times")]
    {
        let mut record = warm();
        set_reads(&mut record, times);
        let found = crate::assess(&record).cases.remove(0).findings;
        let message = found.iter().find(|it| it.code == Code::NotWarm).map(|it| &it.message);
        assert!(message.is_some_and(|it| it.contains(expected)), "{message:?}");
    }
}

/// The OS reclaims a huge page of a warm file during one trial of ten: that trial is excluded, and
/// the others count.
#[test]
fn a_trial_whose_file_was_reclaimed_is_left_out() {
    let one = |change: &dyn Fn(&mut Evidence)| {
        let mut record = flawless(work(Cache::Warm));
        change(&mut record.trials[6].evidence);
        judge(&record)
    };
    let most = residency(PAGES - 512);
    let excluded = "sound page-cache: Excluded note";
    assert_eq!(one(&|e| e.residency_before = most), excluded);
    assert_eq!(one(&|e| e.residency_after = most), excluded);
    assert_eq!(one(&|e| e.task_read_bytes = Some(FILE / 50)), excluded);
    let few = residency(PAGES - PAGES / 2_000);
    assert_eq!(one(&|e| e.residency_before = few), "sound page-cache:");
    assert_eq!(one(&|e| e.task_read_bytes = Some(FILE / 200)), "sound page-cache:");
    // With more than a fifth of the trials affected, all count, and the device's share decides.
    let three = |bytes: u64| {
        let mut record = flawless(work(Cache::Warm));
        for trial in &mut record.trials[2..5] {
            trial.evidence.residency_before = residency(PAGES * 9 / 10);
            trial.evidence.task_read_bytes = Some(bytes);
        }
        judge(&record)
    };
    assert_eq!(three(2 << 20), "sound page-cache: NotWarm note");
    assert_eq!(three(FILE / 10), "void mixed: NotWarm void");
    // Cold, direct and as-is trials do not claim residency.
    let mut cold = zoo::record();
    cold.trials[6].evidence.residency_after = most;
    assert_eq!(judge(&cold), "sound device:");
}

#[test]
fn cache_kept() {
    let sparing = || flawless(work(Cache::DontCache));
    let after =
        |cached| move |r: &mut Record| evidence(r, |e| e.residency_after = residency(cached));
    check(sparing(), after(0), "sound device:");
    check(sparing(), after(PAGES / 200), "sound device:");
    check(sparing(), after(PAGES / 10), "doubtful device: CacheKept doubt");
    check(sparing(), after(PAGES), "void device: CacheKept void");
    // Neither cause nor remedy is something that the case does not have, or has already.
    for (advice, is_named) in [(Advice::None, false), (Advice::Sequential, true)] {
        let mut record = flawless(ReadWork { advice, ..work(Cache::DontCache) });
        after(PAGES / 10)(&mut record);
        let found = crate::assess(&record).cases.remove(0).findings.remove(0);
        assert_eq!(found.code, Code::CacheKept);
        let words = format!("{} {}", found.message, found.remedy);
        assert_eq!(words.contains("advice"), is_named, "{words}");
    }
    // Other states do not claim that nothing stays.
    let mut cold = flawless(work(Cache::Cold));
    after(PAGES)(&mut cold);
    assert_eq!(judge(&cold), "sound device:");
}

#[test]
fn direct_ignored() {
    let direct = || flawless(work(Cache::Direct));
    let canary = |bypasses| {
        move |r: &mut Record| {
            storage(r).direct = Direct::Accepted { offset_align: 512, bypasses };
        }
    };
    check(direct(), canary(Some(false)), "void device: DirectIgnored void");
    check(direct(), canary(None), "sound device:");
    let residency_of = |before, after| {
        move |r: &mut Record| {
            evidence(r, |evidence| {
                (evidence.residency_before, evidence.residency_after) =
                    (residency(before), residency(after));
            });
        }
    };
    check(direct(), residency_of(0, PAGES), "void device: DirectIgnored void");
    check(direct(), residency_of(0, PAGES / 200), "sound device:");
    // Others may use a user's own file: what devices read for the worker tells whose pages these
    // are.
    let in_use = |r: &mut Record| {
        r.header.fixtures[0].seed = None;
        residency_of(0, PAGES / 2)(r);
    };
    check(direct(), in_use, "sound device: FileInUse note");
    let judged = |plant: &dyn Fn(&mut Record)| {
        let mut record = direct();
        plant(&mut record);
        judge(&record)
    };
    let unseen = |r: &mut Record| {
        in_use(r);
        evidence(r, |evidence| evidence.task_read_bytes = None);
    };
    assert!(judged(&unseen).contains("DirectIgnored void"));
    let ignored = |r: &mut Record| {
        in_use(r);
        set_reads(r, 0.5);
    };
    check(direct(), ignored, "void mixed: DirectIgnored void");
    let untested = |r: &mut Record| {
        in_use(r);
        canary(None)(r);
    };
    check(direct(), untested, "void device: DirectIgnored void");
    let compressed = |r: &mut Record| {
        in_use(r);
        layout(r).encoded = FILE;
    };
    assert!(judged(&compressed).contains("DirectIgnored void"));
    // Pages that an earlier warm trial left in the cache are not evidence.
    check(direct(), residency_of(PAGES, PAGES), "sound device:");
    check(direct(), |r| set_reads(r, 0.7), "void mixed: DirectIgnored void");
    let ram = |r: &mut Record| {
        canary(Some(false))(r);
        storage(r).medium = Medium::Ram;
    };
    check(direct(), ram, "doubtful ram: Ram doubt");
}

#[test]
fn no_io() {
    // Devices read what is not a hole.
    let holes = |bytes| {
        move |r: &mut Record| {
            layout(r).unwritten = bytes;
            set_reads(r, 1.0 - bytes as f64 / FILE as f64);
        }
    };
    let cold = || flawless(work(Cache::Cold));
    check(cold(), holes(FILE), "void no-io: NoIo void");
    check(cold(), holes(FILE / 10), "void mixed: NoIo void");
    check(cold(), holes(4096), "sound device: NoIo note");
    check(flawless(work(Cache::Warm)), holes(FILE), "sound page-cache: NoIo note");
    let all = |r: &mut Record| layout(r).unwritten = FILE / 10;
    check(cold(), all, "void device: NoIo void");
    let nothing = |r: &mut Record| set_reads(r, 0.0);
    check(cold(), nothing, "void no-io: NoIo void");
    check(flawless(work(Cache::Direct)), nothing, "void no-io: NoIo void");
}

/// What holes explain is neither a leak nor `O_DIRECT` that was ignored.
#[test]
fn holes_are_not_told_as_another_fault() {
    let holes = |share: f64, read: f64| {
        move |r: &mut Record| {
            layout(r).unwritten = (share * FILE as f64) as u64;
            set_reads(r, read);
        }
    };
    let random = |cache| {
        flawless(ReadWork { io: Io { pattern: Pattern::Random, ..work(cache).io }, ..work(cache) })
    };
    for share in [0.4, 0.6] {
        for cache in [Cache::Cold, Cache::Direct] {
            check(flawless(work(cache)), holes(share, 1.0 - share), "void mixed: NoIo void");
            check(random(cache), holes(share, 1.0 - share), "void mixed: NoIo void");
        }
        check(random(Cache::AsIs), evicted(holes(share, 1.0 - share)), "void mixed: NoIo void");
    }
    // More than they explain.
    let leak = "void mixed: CacheLeak void, NoIo void";
    check(flawless(work(Cache::Cold)), holes(0.4, 0.3), leak);
    let ignored = "void mixed: DirectIgnored void, NoIo void";
    check(flawless(work(Cache::Direct)), holes(0.4, 0.3), ignored);
    let partly = "void mixed: NoIo void, PartlyCached doubt";
    check(flawless(work(Cache::AsIs)), evicted(holes(0.4, 0.3)), partly);
    // Holes that were cached before are pages like others.
    let cached = "void page-cache: NoIo void";
    check(flawless(work(Cache::AsIs)), holes(0.4, 0.005), cached);
    // A part of a pass may have met nothing but holes.
    let part = |r: &mut Record| {
        holes(0.4, 0.0)(r);
        each(r, |trial| {
            for span in &mut sample(trial).spans {
                (span.bytes, span.ops) = (FILE / 4, (FILE / 4) >> 20);
            }
            trial.evidence.task_read_bytes = Some(4096);
        });
    };
    check(flawless(work(Cache::Direct)), part, "void no-io: NoIo void");
}

/// The same, with nothing in the page cache before a trial.
fn evicted(plant: impl Fn(&mut Record)) -> impl Fn(&mut Record) {
    move |r| {
        plant(r);
        evidence(r, |evidence| evidence.residency_before = residency(0));
    }
}

#[test]
fn a_worker_that_does_not_read_what_it_tells_of_is_found_out() {
    let called = |share: f64| {
        let bytes = (share * FILE as f64) as u64;
        move |r: &mut Record| evidence(r, |evidence| evidence.task_rchar_bytes = Some(bytes))
    };
    for (cache, by) in [(Cache::AsIs, "page-cache"), (Cache::Cold, "device")] {
        let case = || flawless(work(cache));
        check(case(), called(0.0), "void no-io: NoIo void");
        check(case(), called(0.5), &format!("void {by}: NoIo void"));
        // The counter includes the worker's other reads, such as the start command.
        check(case(), called(1.5), &format!("sound {by}:"));
        check(case(), called(0.995), &format!("sound {by}:"));
    }
    // The counter excludes mmap and io_uring reads.
    for engine in [Engine::Mmap, Engine::Uring] {
        let mapped = ReadWork { engine, ..work(Cache::Cold) };
        check(flawless(mapped), called(0.0), "sound device:");
    }
}

#[test]
fn holes_are_those_of_the_file_that_was_read() {
    let mut record = flawless(work(Cache::Cold));
    record.header.fixtures[0].size = 2 * FILE;
    layout(&mut record).unwritten = 2 * FILE;
    set_reads(&mut record, 0.0);
    // There is only one file: the trial read it, whatever size the case states.
    assert_eq!(judge(&record), "void no-io: NoIo void");
    let mut whole = record.header.fixtures[0].clone();
    whole.size = 3 * FILE;
    record.header.fixtures.push(whole.clone());
    assert_eq!(judge(&record), "void no-io: NoIo void");
    assert!(!holes_are_said(&record));
    record.header.fixtures.push(Fixture { size: FILE, ..whole });
    assert_eq!(judge(&record), "void no-io: NoIo void");
    assert!(holes_are_said(&record));
}

fn holes_are_said(record: &Record) -> bool {
    assess(record).cases[0].findings[0].message.contains("is holes")
}

/// Of a device that is read, some blocks may be nowhere.
#[test]
fn zeros_of_a_device_may_have_cost_nothing() {
    let raw = |looked: u64, zeros: u64, discards: Option<bool>| {
        move |r: &mut Record| {
            storage(r).file_system = NO_FILE_SYSTEM.to_string();
            storage(r).devices[0].is_virtual = false;
            storage(r).discards = discards;
            r.header.fixtures[0].layout = None;
            r.header.fixtures[0].zeros = Some(ZeroBlocks { looked, zeros });
        }
    };
    let case = || flawless(work(Cache::Direct));
    check(case(), raw(256, 0, Some(true)), "sound device:");
    check(case(), raw(256, 2, Some(true)), "sound device: MaybeUnmapped note");
    check(case(), raw(256, 64, Some(true)), "doubtful device: MaybeUnmapped doubt");
    // A disk without discards reads its zeros. What is unknown is no reason.
    check(case(), raw(256, 64, Some(false)), "sound device:");
    check(case(), raw(256, 64, None), "sound device:");
    check(case(), raw(0, 0, Some(true)), "sound device:");
    // Warm blocks are in the page cache, and a file system has other ways to tell.
    check(flawless(work(Cache::Warm)), raw(256, 64, Some(true)), "sound page-cache:");
    let on_files = |r: &mut Record| {
        raw(256, 64, Some(true))(r);
        storage(r).file_system = "ext4".to_string();
    };
    check(case(), on_files, "sound device:");
}

#[test]
fn holes_of_a_part_are_those_of_that_part() {
    let mut record = flawless(work(Cache::Cold));
    let part = FilePart { offset: FILE, length: FILE };
    let whole = &mut record.header.fixtures[0];
    (whole.size, whole.part) = (4 * FILE, Some(part));
    whole.layout.as_mut().expect("the zoo's file has a layout").unwritten = FILE / 10;
    let other = Fixture { part: Some(FilePart { offset: 3 * FILE, ..part }), ..whole.clone() };
    record.header.fixtures.push(other);
    record.header.fixtures[1].layout.as_mut().expect("it is the same").unwritten = 0;
    let at = |record: &mut Record, offset: u64| {
        record.header.plan.cases[0].case.io_mut().expect("it reads").offset = offset;
        judge(record)
    };
    assert_eq!(at(&mut record, 3 * FILE), "sound device:");
    assert_eq!(at(&mut record, FILE), "void device: NoIo void");
    let message = &assess(&record).cases[0].findings[0].message;
    assert!(message.contains("10.0 %"), "{message}");
}

#[test]
fn holes_of_a_file_that_was_made_later_count() {
    let mut record = flawless(work(Cache::Cold));
    record.header.plan.invocations = 2;
    let fixtures = record.header.fixtures.clone();
    let (number, at_ms, made_ms) = (1, 9_000, 1_200);
    let (resumed, again) = (None, Vec::new());
    let anew = model::record::Invocation { number, at_ms, made_ms, fixtures, resumed, again };
    record.invocations.push(anew);
    assert_eq!(judge(&record), "sound device:");
    let layout = record.invocations[0].fixtures[0].layout.as_mut();
    layout.expect("the zoo's file has a layout").unwritten = FILE / 10;
    assert_eq!(judge(&record), "void device: NoIo void");
}

#[test]
fn ram() {
    let in_memory = |r: &mut Record| storage(r).medium = Medium::Ram;
    check(flawless(work(Cache::Warm)), in_memory, "sound ram: Ram note");
    check(flawless(work(Cache::AsIs)), in_memory, "sound ram: Ram note");
    check(flawless(work(Cache::Direct)), in_memory, "doubtful ram: Ram doubt");
    // A memory case claims to read memory, so memory is not a finding.
    check(memory(), in_memory, "sound ram:");
}

/// One of two devices is in memory, whether or not the other has a copy.
#[test]
fn reads_of_a_storage_that_is_partly_in_memory_are_mixed() {
    let part = |holds, is_copied| {
        move |r: &mut Record| {
            let device = Some("ram0".to_string());
            storage(r).weak_parts = vec![model::host::WeakPart { device, holds, is_copied }];
        }
    };
    use model::host::HeldContent::{Data, Journal};
    for is_copied in [false, true] {
        let mixed = "doubtful mixed: Ram doubt";
        check(flawless(work(Cache::Direct)), part(Data, is_copied), mixed);
        check(flawless(work(Cache::Cold)), part(Data, is_copied), mixed);
        check(flawless(work(Cache::Warm)), part(Data, is_copied), "sound page-cache:");
        check(flawless(work(Cache::Direct)), part(Journal, is_copied), "sound device:");
    }
}

#[test]
fn unverified() {
    let unseen = |r: &mut Record| storage(r).medium = Medium::Unseen;
    check(flawless(work(Cache::Cold)), unseen, "doubtful unverified: Unverified doubt");
    check(flawless(work(Cache::Direct)), unseen, "doubtful unverified: Unverified doubt");
    // The page cache held all of it, so nothing below was asked.
    check(flawless(work(Cache::Warm)), unseen, "sound page-cache:");
    check(flawless(work(Cache::AsIs)), unseen, "sound page-cache:");
    let one = |r: &mut Record| {
        unseen(r);
        r.trials[4].evidence.residency_after = residency(PAGES / 2);
    };
    check(flawless(work(Cache::AsIs)), one, "sound unverified: Unverified note");
    let unprobed = |r: &mut Record| {
        unseen(r);
        evidence(r, |evidence| evidence.residency_after = None);
    };
    check(flawless(work(Cache::Warm)), unprobed, "sound unverified: Unverified note");
    // On block devices whose counters stand still, too.
    let still = |r: &mut Record| {
        evidence(r, |it| (it.task_read_bytes, it.device_read_bytes) = (None, None));
    };
    check(flawless(work(Cache::Warm)), still, "sound page-cache:");
}

#[test]
fn digest_mismatch() {
    let one = |r: &mut Record| sample(&mut r.trials[7]).spans[0].digest = Some(77 ^ (1 << 40));
    check(zoo::record(), one, "void device: DigestMismatch void");
    let verified = |record: &Record| assess(record).cases[0].digest_verified;
    let mut record = zoo::record();
    assert_eq!(verified(&record), Some(true));
    one(&mut record);
    assert_eq!(verified(&record), Some(false));
    each(&mut record, |trial| trial.expected_digest = None);
    assert_eq!(verified(&record), None);
    assert_eq!(judge(&record), "sound device:");
}

#[test]
fn bytes_unchecked() {
    let untold = |r: &mut Record| {
        r.header.plan.cases[0].case.peer = "zebra".to_string();
        for trial in &mut r.trials {
            sample(trial).spans[0].digest = None;
            trial.expected_digest = None;
        }
    };
    check(zoo::record(), untold, "sound device: BytesUnchecked note");
    let mut record = zoo::record();
    untold(&mut record);
    let case = &assess(&record).cases[0];
    assert_eq!(case.digest_verified, None);
    let message = &case.findings[0].message;
    assert!(message.starts_with("the peer zebra reports no digest"), "{message}");
    // Without a sum, a digest of 0 means that there was nothing to check.
    let nothing = |r: &mut Record| {
        each(r, |trial| {
            sample(trial).spans[0].digest = Some(0);
            trial.expected_digest = None;
        });
    };
    check(zoo::record(), nothing, "sound device:");
}

#[test]
fn a_wrong_count_is_told_in_numbers_and_a_peer_by_its_name() {
    let message = |record: &Record| assess(record).cases[0].findings[0].message.clone();
    let mut record = flawless(ReadWork { touch: Touch::Count, ..work(Cache::Cold) });
    assert_eq!(judge(&record), "sound device:");
    sample(&mut record.trials[2]).spans[0].digest = Some(76);
    assert!(message(&record).starts_with("counted 76 instead of 77 (in 1 of 10 trials)"));
    record.header.plan.cases[0].case.peer = "zebra".to_string();
    assert!(message(&record).starts_with("the peer zebra: counted 76"), "{}", message(&record));
    let mut record = memory();
    sample(&mut record.trials[2]).spans[0].digest = Some(76);
    assert!(message(&record).starts_with("the digest is wrong"));
    record.header.plan.cases[0].case = memory_case(Kernel::Count, 1);
    assert!(message(&record).starts_with("counted 76 instead of 77"), "{}", message(&record));
}

#[test]
fn page_size() {
    let with = |pages| {
        let mut record = memory();
        if let Work::Memory(work) = &mut record.header.plan.cases[0].case.work {
            work.pages = pages;
        }
        record
    };
    let huge = |bytes: u64| move |r: &mut Record| evidence(r, |e| e.huge_bytes = Some(bytes));
    check(with(Pages::Huge), huge(ARRAYS * 89 / 100), "doubtful ram: PageSize doubt");
    check(with(Pages::Huge), huge(ARRAYS * 91 / 100), "sound ram:");
    check(with(Pages::Huge), huge(ARRAYS * 3), "sound ram:");
    check(with(Pages::Base), huge(ARRAYS * 11 / 100), "doubtful ram: PageSize doubt");
    check(with(Pages::Base), huge(ARRAYS * 9 / 100), "sound ram:");
    // Most trials decide, not one.
    let one = |r: &mut Record| r.trials[3].evidence.huge_bytes = Some(0);
    check(with(Pages::Huge), one, "sound ram:");
    let unknown = |r: &mut Record| evidence(r, |e| e.huge_bytes = None);
    check(with(Pages::Huge), unknown, "sound ram:");
    check(with(Pages::Base), unknown, "sound ram:");
    // An array smaller than a huge page cannot use one.
    let small = |working_set: u64| {
        move |r: &mut Record| {
            if let Work::Memory(work) = &mut r.header.plan.cases[0].case.work {
                work.working_set = working_set;
            }
            huge(0)(r);
        }
    };
    check(with(Pages::Huge), small(1 << 20), "sound cpu-cache:");
    check(with(Pages::Huge), small(2 << 20), "doubtful cpu-cache: PageSize doubt");
}

/// A thread's buffers fill whole huge pages, however small they are.
#[test]
fn page_size_of_buffers() {
    let with = |pages, block, depth, threads| {
        let io = Io { block, depth, ..work(Cache::Direct).io };
        let mut record = flawless(ReadWork { io, engine: Engine::Uring, ..work(Cache::Direct) });
        let io = record.header.plan.cases[0].case.io_mut().expect("it reads");
        (io.pages, io.threads) = (pages, threads);
        record
    };
    let huge = |bytes: u64| move |r: &mut Record| evidence(r, |e| e.huge_bytes = Some(bytes));
    let (small, doubt) = (512 << 10, "doubtful device: PageSize doubt");
    check(with(BufferPages::Huge, small, 1, 1), huge(0), doubt);
    check(with(BufferPages::Huge, small, 1, 1), huge(2 << 20), "sound device:");
    check(with(BufferPages::Huge, small, 9, 1), huge(3 << 21), "sound device:");
    check(with(BufferPages::Huge, small, 9, 1), huge(2 << 21), doubt);
    check(with(BufferPages::Huge, small, 1, 2), huge(2 << 20), doubt);
    let unknown = |r: &mut Record| evidence(r, |e| e.huge_bytes = None);
    check(with(BufferPages::Huge, small, 1, 1), unknown, "sound device:");
    // The buffers of a tool that a peer ran are gone by then.
    let of_peer = |r: &mut Record| {
        huge(0)(r);
        r.header.plan.cases[0].case.peer = zoo::peer().name;
        r.header.peers.push(zoo::peer());
    };
    check(with(BufferPages::Huge, small, 1, 1), of_peer, "sound device:");
    // Base pages cannot be denied, and what older records had, nobody asked for.
    for pages in [BufferPages::Base, BufferPages::Fitting] {
        for bytes in [0, 64 << 20] {
            check(with(pages, 1 << 20, 8, 1), huge(bytes), "sound device:");
        }
    }
}

/// What is unseen because `/sys` is missing is seen where it is mounted.
#[test]
fn without_sys_the_remedy_is_to_mount_it() {
    let remedy = |lacks_sys| {
        let mut record = flawless(work(Cache::Cold));
        let storage = storage(&mut record);
        (storage.medium, storage.lacks_sys) = (Medium::Unseen, lacks_sys);
        storage.devices.clear();
        let findings = assess(&record).cases.remove(0).findings;
        let found = findings.into_iter().find(|it| it.code == crate::finding::Code::Unverified);
        found.expect("nothing shows what served").remedy
    };
    assert!(remedy(true).starts_with("mount /sys"), "{}", remedy(true));
    assert!(remedy(false).starts_with("measure on the machine"), "{}", remedy(false));
}

/// What to do depends on what the OS already allows.
#[test]
fn the_remedy_for_other_pages_is_one_that_is_left() {
    let remedy = |enabled: Option<&str>, allowed, huge| {
        let mut record = memory();
        evidence(&mut record, |evidence| evidence.huge_bytes = Some(huge));
        if let Work::Memory(work) = &mut record.header.plan.cases[0].case.work {
            work.pages = if huge == 0 { Pages::Huge } else { Pages::Base };
        }
        let setup = &mut record.header.host.setup;
        (setup.huge_pages, setup.huge_pages_allowed) = (enabled.map(str::to_string), allowed);
        assess(&record).cases[0].findings[0].remedy.clone()
    };
    let (set, free) = ("enabled: madvise", "free memory, or compact it");
    for (enabled, allowed, huge, expected) in [
        (None, None, 0, set),
        (Some("never"), Some(true), 0, set),
        (Some("madvise"), Some(true), 0, free),
        (Some("always"), None, 0, free),
        (Some("always"), Some(false), 0, "start it from another"),
        (Some("always"), Some(true), ARRAYS, "to madvise"),
        (Some("madvise"), Some(true), ARRAYS, "to never"),
    ] {
        let said = remedy(enabled, allowed, huge);
        assert!(said.contains(expected), "{enabled:?} {allowed:?}: {said}");
    }
}

#[test]
fn page_size_of_a_loaded_file() {
    let load = |advice| {
        flawless(ReadWork { engine: Engine::Load, advice, touch: Touch::Sum, ..work(Cache::Warm) })
    };
    let huge = |bytes: u64| move |r: &mut Record| evidence(r, |e| e.huge_bytes = Some(bytes));
    check(load(Advice::HugePage), huge(FILE / 2), "doubtful page-cache: PageSize doubt");
    check(load(Advice::HugePage), huge(FILE), "sound page-cache:");
    // The case did not request huge pages.
    check(load(Advice::None), huge(0), "sound page-cache:");
    check(load(Advice::None), huge(FILE), "sound page-cache:");
}

#[test]
fn overhead_bound() {
    // The zoo's operation takes 976 µs; the null engine's takes the planted time.
    let null = |ns_per_op: f64| {
        move |r: &mut Record| {
            let slowness = ns_per_op * 262_144.0 / 1e9;
            add(r, null_case(), Role::Baseline, FILE, slowness, 0);
        }
    };
    check(zoo::record(), null(120_000.0), "doubtful device: OverheadBound doubt");
    check(zoo::record(), null(70_000.0), "sound device: OverheadBound note");
    check(zoo::record(), null(30_000.0), "sound device:");
    // Two threads do twice the operations: each operation takes the same time.
    let two_threads = |r: &mut Record| {
        two_spans(r, 1.0, 1);
        each(r, |trial| sample(trial).spans[1].ops = 1_024);
        null(70_000.0)(r);
    };
    let record =
        flawless(ReadWork { io: Io { threads: 2, ..work(Cache::Cold).io }, ..work(Cache::Cold) });
    check(record, two_threads, "sound device: OverheadBound note");
}

/// The null is paired with a case by rounds: a slower machine in the null's rounds affects both.
#[test]
fn overhead_is_that_of_the_same_rounds() {
    let mut record = zoo::record();
    add(&mut record, null_case(), Role::Baseline, FILE, 70_000.0 * 262_144.0 / 1e9, 0);
    for trial in record.trials.iter_mut().filter(|trial| trial.round >= 5) {
        for span in &mut sample(trial).spans {
            span.end_ns = span.start_ns + 2 * (span.end_ns - span.start_ns);
        }
    }
    record.trials.retain(|trial| trial.case == 0 || trial.round >= 5);
    let assessment = assess(&record);
    let found =
        assessment.cases[0].findings.iter().find(|f| f.code == crate::finding::Code::OverheadBound);
    let message = &found.expect("seven per cent are told").message;
    assert!(message.contains("(7.52 %)"), "{message}");
}

/// A random order costs CPU time, so a sequential case is compared with a sequential null.
#[test]
fn overhead_is_that_of_the_same_order() {
    let in_order =
        |pattern| file_case(ReadWork { io: Io { pattern, ..null_work().io }, ..null_work() });
    let mut record = zoo::record();
    add(&mut record, in_order(Pattern::Random), Role::Baseline, FILE, 52.4, 0);
    assert_eq!(judge(&record), "doubtful device: OverheadBound doubt");
    add(&mut record, in_order(Pattern::Sequential), Role::Baseline, FILE, 0.2, 0);
    assert_eq!(judge(&record), "sound device:");
}

/// Adds a second thread to every trial: its span is `length` times the first's. It moves one part
/// in `part + 1` of the bytes.
fn two_spans(record: &mut Record, length: f64, part: u64) {
    each(record, |trial| {
        let spans = &mut sample(trial).spans;
        let mut second = spans[0].clone();
        second.thread = 1;
        second.digest = Some(0);
        second.end_ns =
            second.start_ns + ((second.end_ns - second.start_ns) as f64 * length) as u64;
        second.bytes = FILE / (part + 1);
        spans[0].bytes = FILE - second.bytes;
        spans.push(second);
    });
}

#[test]
fn cpu_bound() {
    let busy = |ms: u64| move |r: &mut Record| evidence(r, |e| e.cpu_ns = Some(ms * 1_000_000));
    check(zoo::record(), busy(950), "sound device: CpuBound note");
    check(zoo::record(), busy(800), "sound device:");
    // Two threads on two processors, one of them busy.
    let threads = |threads| {
        flawless(ReadWork { io: Io { threads, ..work(Cache::Cold).io }, ..work(Cache::Cold) })
    };
    check(threads(2), busy(950), "sound device:");
    // Four threads can use at most two processors.
    check(threads(4), busy(1_900), "sound device: CpuBound note");
    // Four processors, limited by a quota to the time of two.
    let quota = |cpu_quota| {
        move |r: &mut Record| {
            (r.header.host.cores, r.header.host.cpu_quota) = (4, cpu_quota);
            evidence(r, |e| e.cpu_ns = Some(1_900_000_000));
        }
    };
    check(threads(4), quota(Some(2.0)), "sound device: CpuBound note");
    check(threads(4), quota(None), "sound device:");
    check(flawless(work(Cache::Warm)), busy(999), "sound page-cache:");
    // Touch-ahead adds six threads.
    let ahead = |advice| flawless(ReadWork { engine: Engine::Mmap, advice, ..work(Cache::Cold) });
    check(ahead(Advice::TouchAhead), busy(1_200), "sound device:");
    check(ahead(Advice::None), busy(1_200), "sound device: CpuBound note");
    // A poller is busy whatever limits it.
    for (submission, told) in [
        (Submission::Enter, "the CPU limits this figure"),
        (Submission::Iopoll, "polling keeps them busy"),
        (Submission::Sqpoll, "polling keeps them busy"),
    ] {
        let plain = ReadWork { engine: Engine::Uring, submission, ..work(Cache::Direct) };
        let mut record = flawless(plain);
        busy(950)(&mut record);
        let message = assess(&record).cases.remove(0).findings.remove(0).message;
        assert!(message.contains(told), "{submission}: {message}");
    }
}

#[test]
fn foreign() {
    let others = |share: f64| {
        move |r: &mut Record| {
            evidence(r, |e| e.device_read_bytes = Some(FILE + (FILE as f64 * share) as u64));
        }
    };
    check(zoo::record(), others(0.02), "sound device:");
    check(zoo::record(), others(0.10), "doubtful device: Foreign doubt");
    check(zoo::record(), others(0.50), "void device: Foreign void");
    // Three slow rounds of ten do not move the median; most of them do. One or two would be
    // excluded.
    let some = |rounds: usize| {
        move |r: &mut Record| {
            for trial in &mut r.trials[..rounds] {
                trial.evidence.device_read_bytes = Some(FILE * 9);
            }
        }
    };
    check(zoo::record(), some(3), "sound device: Foreign note");
    check(zoo::record(), some(6), "void device: Foreign void");
    // Foreign writes slow down reads; a small amount may be the file's own metadata.
    let written = |bytes: u64| {
        move |r: &mut Record| {
            evidence(r, |e| {
                (e.device_write_bytes, e.task_write_bytes) = (Some(bytes), Some(0));
            });
        }
    };
    check(zoo::record(), written(16 << 20), "sound device:");
    check(zoo::record(), written(FILE), "doubtful device: Foreign doubt");
    check(flawless(work(Cache::Warm)), written(FILE), "sound page-cache:");
    // Foreign I/O cannot disturb a row that no device serves.
    check(flawless(work(Cache::Warm)), others(0.50), "sound page-cache:");
    let unknown = |r: &mut Record| evidence(r, |e| e.device_read_bytes = None);
    check(zoo::record(), unknown, "sound device:");
}

/// A loop device's own counters show only what passes it. The disk below shows the others, too.
#[test]
fn who_uses_the_disk_below_a_loop_device_is_foreign() {
    let below = |direct, moved: fn(&mut Evidence)| {
        move |r: &mut Record| {
            on_loop(r, direct);
            evidence(r, |e| {
                (e.device_write_bytes, e.device_flushes) = (Some(0), Some(0));
                (e.disk_read_bytes, e.disk_write_bytes) = (Some(FILE), Some(0));
                (e.device_reads, e.device_writes, e.dirty_before) = (Some(1000), Some(0), Some(0));
                moved(e);
            });
        }
    };
    let (sound, foreign) = ("sound device:", "doubtful device: Foreign doubt");
    check(zoo::record(), below(true, |_| ()), sound);
    check(zoo::record(), below(true, |e| e.disk_read_bytes = Some(FILE + (15 << 20))), sound);
    check(zoo::record(), below(true, |e| e.disk_read_bytes = Some(2 * FILE)), foreign);
    check(zoo::record(), below(true, |e| e.disk_write_bytes = Some(FILE)), foreign);
    // The journal of the file system below, at each flush.
    let synced = |e: &mut Evidence| {
        e.device_flushes = Some(4096);
        e.disk_write_bytes = Some(FILE);
    };
    check(zoo::record(), below(true, synced), sound);
    // Unknown is not zero.
    let unknown = |e: &mut Evidence| {
        (e.disk_write_bytes, e.device_flushes) = (Some(9 * FILE), None);
    };
    check(zoo::record(), below(true, unknown), sound);
    // A page cache between the two reads ahead, and writes later what was dirty before.
    let cached = "doubtful device: LoopCached doubt";
    check(zoo::record(), below(false, |e| e.disk_read_bytes = Some(2 * FILE)), cached);
    let later = |e: &mut Evidence| (e.disk_write_bytes, e.dirty_before) = (Some(FILE), Some(FILE));
    check(zoo::record(), below(false, later), cached);
    let both = "doubtful device: LoopCached doubt, Foreign doubt";
    check(zoo::record(), below(false, |e| e.disk_write_bytes = Some(FILE)), both);
    // A disk below a mirror of it writes each byte as often as nobody knows.
    let mirrored = |r: &mut Record| {
        below(true, |e| e.disk_write_bytes = Some(FILE))(r);
        let file = storage(r).devices[0].file.as_mut().expect("it is a loop device");
        file.disks.push("vdb".to_string());
    };
    check(zoo::record(), mirrored, sound);
    let mut record = zoo::record();
    below(true, |e| e.disk_read_bytes = Some(3 * FILE))(&mut record);
    let text = &assess(&record).cases[0].findings[0].message;
    let expected = "other processes read up to 200 % as much from vda, below the loop device, as \
                    this case moved (in 10 of 10 trials): they shared its time";
    assert_eq!(text, expected);
}

/// Makes the storage a loop device on ext4 on the disk `vda`.
pub(super) fn on_loop(record: &mut Record, direct: bool) {
    let disk = Device { name: "vda".to_string(), ..storage(record).devices[0].clone() };
    let file = LoopFile {
        file_system: "ext4".to_string(),
        devices: vec![disk],
        disks: vec!["vda".to_string()],
        journals_data: Some(false),
    };
    let device = &mut storage(record).devices[0];
    (device.loop_direct, device.file) = (Some(direct), Some(file));
}

/// Hosts that share a machine use its devices at the same time, as they were asked to.
#[test]
fn hosts_that_share_a_device_are_not_foreign() {
    let beside = |neighbor, share: f64| {
        move |r: &mut Record| {
            let seed = r.header.plan.seed;
            r.header.plan.rank =
                Some(Rank { number: 0, of: 2, seed, shares: true, neighbor, ..Rank::default() });
            evidence(r, |e| e.device_read_bytes = Some((FILE as f64 * (1.0 + share)) as u64));
        }
    };
    check(zoo::record(), beside(Some(1), 1.0), "sound device: SharedDevice note");
    check(zoo::record(), beside(Some(1), 0.0), "sound device:");
    check(zoo::record(), beside(None, 1.0), "void device: Foreign void");
    // Their reads are part of every round: none is excluded for them.
    let in_one = |r: &mut Record| {
        beside(Some(1), 0.0)(r);
        r.trials[0].evidence.device_read_bytes = Some(9 * FILE);
    };
    check(zoo::record(), in_one, "sound device: SharedDevice note");
    let mut record = zoo::record();
    beside(Some(1), 1.0)(&mut record);
    let text = &assess(&record).cases[0].findings[0].message;
    let expected = "the others of this run on this machine, and other processes if any, \
                    read up to 100 % as much from the device as this case (in 10 of 10 trials): \
                    they shared its time";
    assert_eq!(text, expected);
}

#[test]
fn steal() {
    let stolen = |ms: u64| move |r: &mut Record| evidence(r, |e| e.steal_ns = Some(ms * 1_000_000));
    check(zoo::record(), stolen(15), "sound device:");
    check(zoo::record(), stolen(50), "sound device: Steal note");
    check(zoo::record(), stolen(150), "doubtful device: Steal doubt");
    check(zoo::record(), |r| evidence(r, |e| e.steal_ns = None), "sound device:");
}

#[test]
fn too_few() {
    let rounds = |n| move |r: &mut Record| r.trials.truncate(n);
    check(zoo::record(), rounds(7), "sound device:");
    check(zoo::record(), rounds(6), "doubtful device: TooFew doubt");
    check(zoo::record(), rounds(1), "doubtful device: TooFew doubt");
    check(zoo::record(), rounds(0), "not run none:");
}

#[test]
fn wide_interval() {
    // Rounds whose times alternate: the interval reaches from the fast ones to the slow ones.
    let times = |factor: u64| {
        move |r: &mut Record| {
            for (round, trial) in r.trials.iter_mut().enumerate() {
                let ns = if round % 2 == 0 { 1_000_000_000 } else { 1_000_000_000 * factor };
                sample(trial).spans[0].end_ns = sample(trial).spans[0].start_ns + ns;
                trial.evidence.cpu_ns = Some(0);
            }
        }
    };
    check(zoo::record(), times(3), "sound device:");
    check(zoo::record(), times(4), "doubtful device: WideInterval doubt");
    // Too few rounds for an interval: its width is unknown.
    let few = |r: &mut Record| {
        times(4)(r);
        r.trials.truncate(5);
    };
    check(zoo::record(), few, "doubtful device: TooFew doubt");
}

#[test]
fn too_short() {
    let lasts = |ms: u64| {
        move |r: &mut Record| {
            last_ns(r, ms * 1_000_000);
            evidence(r, |e| e.cpu_ns = Some(0));
        }
    };
    check(zoo::record(), lasts(250), "sound device:");
    check(zoo::record(), lasts(50), "sound device: TooShort note");
    check(zoo::record(), lasts(10), "doubtful device: TooShort doubt");
    check(memory(), lasts(15), "sound ram:");
    check(memory(), lasts(5), "doubtful ram: TooShort doubt");
}

#[test]
fn too_short_for_threads_to_start() {
    let record = || {
        flawless(ReadWork { io: Io { threads: 2, ..work(Cache::Cold).io }, ..work(Cache::Cold) })
    };
    // The second thread starts `ms` later, and moves its half in less time.
    let late = |ms: u64| {
        move |r: &mut Record| {
            two_spans(r, 1.0, 1);
            each(r, |trial| sample(trial).spans[1].start_ns += ms * 1_000_000);
        }
    };
    check(record(), late(0), "sound device:");
    check(record(), late(40), "sound device:");
    check(record(), late(150), "sound device: TooShort note");
    // Half of the threads are then idle for a tenth of the time as well.
    check(record(), late(300), "doubtful device: TooShort doubt, Imbalanced note");
}

#[test]
fn imbalanced() {
    let record = || {
        flawless(ReadWork { io: Io { threads: 2, ..work(Cache::Cold).io }, ..work(Cache::Cold) })
    };
    check(record(), |r| two_spans(r, 1.0, 1), "sound device:");
    check(record(), |r| two_spans(r, 0.9, 1), "sound device:");
    check(record(), |r| two_spans(r, 0.7, 1), "sound device: Imbalanced note");
    check(record(), |r| two_spans(r, 0.3, 1), "doubtful device: Imbalanced doubt");
    // Time-limited trials: bytes differ, spans do not.
    let timed = || {
        flawless(ReadWork {
            io: Io { time: Duration::from_millis(900), ..record_work().io },
            ..record_work()
        })
    };
    check(timed(), |r| two_spans(r, 1.0, 9), "doubtful device: Imbalanced doubt");
    check(timed(), |r| two_spans(r, 1.0, 1), "sound device:");
}

fn record_work() -> ReadWork {
    ReadWork { io: Io { threads: 2, ..work(Cache::Direct).io }, ..work(Cache::Direct) }
}

#[test]
fn a_virtual_device_is_noted_once_for_the_run() {
    let mut record = flawless(work(Cache::Cold));
    add(&mut record, file_case(work(Cache::Direct)), Role::Asked, 2 * FILE, 1.0, 2 * FILE);
    assert_eq!(assess(&record).findings, []);
    storage(&mut record).devices[0].is_virtual = true;
    let findings = assess(&record).findings;
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].finding.code, crate::finding::Code::VirtualDevice);
    assert!(findings[0].finding.message.contains("sda"));
    assert!(findings[0].cases.is_empty());
    // A loop device is presented by this machine, but what is below it may not be.
    let disk = storage(&mut record).devices[0].clone();
    let file = LoopFile {
        journals_data: None,
        file_system: "ext4".to_string(),
        devices: vec![Device { name: "vda".to_string(), ..disk.clone() }],
        disks: vec!["vda".to_string()],
    };
    let on_file = Device { file: Some(file), loop_direct: Some(true), is_virtual: false, ..disk };
    storage(&mut record).devices = vec![on_file];
    let findings = assess(&record).findings;
    let text = &findings[0].finding.message;
    assert!(text.starts_with("a hypervisor presents vda: "), "{text}");
    // It does not matter for page cache hits.
    let mut warm = flawless(work(Cache::Warm));
    storage(&mut warm).devices[0].is_virtual = true;
    assert_eq!(assess(&warm).findings, []);
}

/// What a void row and a doubtful one share is told twice, and what a baseline has is told apart.
#[test]
fn severities_and_baselines_are_told_apart() {
    let mut record = zoo::record();
    let direct = |block| {
        let plain = work(Cache::Direct);
        file_case(ReadWork { io: Io { block, ..plain.io }, ..plain })
    };
    add(&mut record, direct(1 << 20), Role::Asked, FILE, 1.0, FILE);
    add(&mut record, direct(2 << 20), Role::Baseline, FILE, 1.0, FILE);
    for (case, held_back_ms) in [(0, 15), (1, 60), (2, 60)] {
        for trial in record.trials.iter_mut().filter(|trial| trial.case == case) {
            trial.evidence.throttled_ns = Some(held_back_ms * 1_000_000);
        }
    }
    let assessment = assess(&record);
    let found = |severity| {
        let mut all = assessment.findings.iter();
        let is_it = |found: &&RunFinding| {
            found.finding.code == Code::Throttled && found.finding.severity == severity
        };
        let found = all.find(is_it).expect("both severities are told");
        (found.cases.clone(), found.baselines.clone())
    };
    let id = |index: usize| assessment.measured().nth(index).expect("there are three").id.clone();
    assert_eq!(found(Severity::Note), (vec![id(0)], vec![]));
    assert_eq!(found(Severity::Doubt), (vec![id(1)], vec![id(2)]));
}
