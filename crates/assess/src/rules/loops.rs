//! Whether a loop device that uses the page cache served or took the bytes.

use super::context::{Context, Draft};
use super::origin::claim;
use crate::finding::Severity;
use crate::served::SHARE_NOISE;
use model::case::Op;
use model::host::Storage;
use model::units::percent;

/// A loop device that uses the page cache served or took the bytes (METHODOLOGY.md). What the disks
/// below it moved may prove that it was this cache; nothing proves that it was not, because others
/// use the disks as well.
pub(super) fn loop_cached(context: &Context) -> Option<Draft> {
    let (claim, severity) = claim(context).filter(|(_, severity)| *severity == Severity::Doubt)?;
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
    let own = context.measured.storage.and_then(Storage::cached_loop).map(|device| (device, claim));
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
