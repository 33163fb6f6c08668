//! Whether a loop device that uses the page cache served or took the bytes.

use super::context::{Context, Draft, RuleTable};
use super::origin::claim;
use crate::counted::Counted;
use crate::finding::{Code, Severity};
use crate::served::SHARE_NOISE;
use crate::summary::ServedBy;
use crate::writing::{FLUSHES_LEAST, durable_bytes};
use model::case::{Cache, NameSync, Op};
use model::host::{Device, Storage};
use model::path::WriteCache;
use model::units::percent;

/// The rules of this module.
pub(super) const RULES: RuleTable = &[(Code::LoopCached, loop_cached)];

/// A loop device that uses the page cache served or took the bytes (docs/method). What the disks
/// below it moved may prove that it was this cache, or that syncs reached them. Nothing proves that
/// reads came from them, because others read there as well.
fn loop_cached(context: &Context) -> Option<Draft> {
    let claimed = claim(context).filter(|(_, severity)| *severity == Severity::Doubt);
    // A command claims nothing of its files as they are, but its row says that a device served it.
    let is_command = context.measured.case.command().is_some();
    let is_served = is_command && context.is_served(&[ServedBy::Device, ServedBy::Mixed]);
    let (claim, severity) = claimed.or(is_served.then_some(("device", Severity::Doubt)))?;
    if !context.crosses_devices() {
        return None;
    }
    // A copy claims a cache state of its source.
    let of_copy = context.write().filter(|work| work.op == Op::Copy);
    let source = context
        .measured
        .source
        .zip(of_copy)
        .and_then(|(source, work)| Some((source.cached_loop()?, work.io.cache.name())));
    let own = context.measured.storage.filter(|storage| !are_stored_below(context, storage));
    let own = own.and_then(Storage::cached_loop).map(|device| (device, claim));
    let (device, claim) = own.or(source)?;
    let taken = taken_outside(context);
    let (severity, seen) = match taken {
        Some(share) => (
            Severity::Void,
            format!("page cache: the disks below moved only {} of the bytes", percent(1.0 - share)),
        ),
        None => (severity, "page cache, which may have served or taken the bytes".to_string()),
    };
    let message = format!(
        "claimed '{claim}', but {} is a file on another file system, read and written through this \
         machine's {seen}",
        device.name
    );
    let remedy = "attach it with 'losetup --direct-io=on', or measure the file system below";
    Draft::sized(taken, severity, message, remedy)
}

/// The share of the bytes that certainly went no further than the page cache outside a loop device,
/// above the noise, if the case claims that a disk served or took them. Where syncs are claimed,
/// rule NotDurable judges what they reached.
fn taken_outside(context: &Context) -> Option<f64> {
    let share = match context.write() {
        None => context.total_share(|trial| {
            let app = trial.sample.bytes();
            Some((app.saturating_sub(trial.evidence.disk_read_bytes?), app))
        }),
        Some(work) if work.op == Op::Write && !work.sync.claims_durable() => {
            context.total_share(|trial| {
                let app = trial.sample.written_bytes();
                Some((app.saturating_sub(trial.evidence.disk_write_bytes?), app))
            })
        }
        Some(_) => None,
    };
    share.filter(|share| *share > SHARE_NOISE)
}

/// Whether the disk below a loop device has what was to be durable: it wrote as many bytes, and
/// completed as many flushes as the loop device. Direct writes claim more: that no cache took them.
fn are_stored_below(context: &Context, storage: &Storage) -> bool {
    let write = context.write().filter(|work| {
        work.sync.claims_durable() && work.read_share == 0 && work.io.cache != Cache::Direct
    });
    let names = context.measured.case.metadata().filter(|work| work.sync == NameSync::Fsync);
    if (write.is_none() && names.is_none()) || storage.below_loops().is_none() {
        return false;
    }
    let has_cache = |disk: &&Device| disk.write_cache != Some(WriteCache::Through);
    let is_cached = storage.disks().iter().any(has_cache);
    let is_stored = |trial: &Counted| {
        let evidence = &trial.evidence;
        let owed = match write {
            Some(work) => durable_bytes(work, context.measured.part, trial.sample),
            // What is not data is written where the file system decides.
            None => evidence.device_write_bytes?,
        };
        let bytes = evidence.disk_write_bytes? as f64 >= (1.0 - SHARE_NOISE) * owed as f64;
        let of_loop = evidence.device_flushes?;
        let flushes = evidence.disk_flushes? as f64 >= FLUSHES_LEAST * of_loop as f64;
        Some(bytes && of_loop > 0 && (flushes || !is_cached))
    };
    context.measured.trials.iter().all(|trial| is_stored(trial) == Some(true))
}
