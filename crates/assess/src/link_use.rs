//! How much of what the links on the path to its device carry a row gets. Unlike a ceiling, that is
//! arithmetic: nobody measured it.

use crate::counted::Counted;
use crate::durable_commands::CommandDurability;
use crate::measured::{Measured, SHARE_NOISE};
use crate::path::{Allowance, allowed};
use crate::served_by::ServedBy;
use crate::stats::Estimate;
use model::case::Cache;
use model::host::{Medium, Storage};
use model::path::{Hop, HopKind, MappedMaker};
use model::units::NS_PER_SECOND;
use schemars::JsonSchema;
use serde::Serialize;

/// A row that gets this share of its links is bound by them. The rest is their protocol: headers
/// and acknowledgments take 10 to 20 % of a PCIe link (docs/method).
const BOUND_LEAST: f64 = 0.80;

/// What the links carry at most, and how much of that a row got.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LinkUse {
    /// What they carry, and which they are.
    #[serde(flatten)]
    pub allows: Allowance,
    /// The row's throughput divided by that.
    pub share: f64,
    /// The lower end of its 95 % interval; null without one.
    pub share_low: Option<f64>,
}

/// Bytes that the OS counted for a command in a trial.
type Moved = fn(&Counted) -> Option<u64>;

/// Bytes that devices moved for a command in a trial, of the storage with this number.
type BytesOn<'a> = &'a dyn Fn(&Counted, usize) -> Option<u64>;

impl LinkUse {
    /// The use of a row that `by` served, if its bytes must pass the links, all in one direction.
    pub(crate) fn of(
        measured: &Measured,
        by: Option<ServedBy>,
        throughput: Option<Estimate>,
    ) -> Option<LinkUse> {
        if measured.case.command().is_some() {
            return of_command(measured, by?);
        }
        let storage = measured.storage?;
        let top = storage.path.as_deref()?;
        let passes = is_one_way(measured, top) && must_pass(measured, storage, by?);
        LinkUse::on(storage, measured, throughput.filter(|_| passes)?)
    }

    /// The use of the links to a storage at this rate.
    fn on(storage: &Storage, measured: &Measured, rate: Estimate) -> Option<LinkUse> {
        let top = storage.path.as_deref().filter(|_| storage.cached_loop().is_none())?;
        let allows = allowed(top, measured.host.hypervisor.is_some())?;
        let share = |rate: f64| rate / allows.bytes_per_second;
        Some(LinkUse { share: share(rate.median), share_low: rate.low.map(share), allows })
    }

    /// Whether the links certainly bound the row.
    pub fn bounds(&self) -> bool {
        self.share_low.is_some_and(|least| (BOUND_LEAST..=1.0).contains(&least))
    }

    /// Whether the row is certainly faster than its links, which nothing can be.
    pub fn is_exceeded(&self) -> bool {
        self.share_low.is_some_and(|least| least > 1.0)
    }
}

/// The use of a command, of the links that it uses most: of those to the storages of its files.
/// Its bytes are those that devices moved for anyone, but no more than the OS counted for it, and
/// its time is the whole of its runs, so it got as much at least.
fn of_command(measured: &Measured, by: ServedBy) -> Option<LinkUse> {
    let facts = measured.facts.filter(|facts| !facts.sampled && facts.unlisted_files == 0)?;
    let places = measured.places;
    let reads: Moved = |trial| trial.evidence.task_read_bytes;
    let writes: Moved = |trial| trial.evidence.task_write_bytes;
    let moves = |of: Moved, other: Moved| {
        let share = measured.total_share(|trial| Some((other(trial)?, of(trial)?)));
        share.is_some_and(|share| share <= SHARE_NOISE)
    };
    let is_read = by == ServedBy::Device && moves(reads, writes);
    let is_written = || {
        let is_durable = CommandDurability::of(measured) == Some(CommandDurability::Durable);
        is_durable && moves(writes, reads)
    };
    let (numbers, bytes): (_, BytesOn) = match () {
        () if is_read => (places.numbers(facts.read_files())?, &|trial, number| {
            Some(places.read_once_of(trial, number)?.min(reads(trial)?))
        }),
        () if is_written() => (places.numbers(facts.written_files())?, &|trial, number| {
            Some(places.written_at_most_of(trial, number)?.min(writes(trial)?))
        }),
        () => return None,
    };
    let of = |number: usize| {
        let storage = places.storage(number)?;
        let sends_once = || storage.path.as_deref().is_some_and(is_sent_once);
        if !(is_read || sends_once()) {
            return None;
        }
        let rate = |trial: &Counted| {
            Some(bytes(trial, number)? as f64 / (trial.wall_ns() as f64 / NS_PER_SECOND))
        };
        LinkUse::on(storage, measured, measured.estimate(rate)?)
    };
    numbers.into_iter().filter_map(of).max_by(|a, b| a.share.total_cmp(&b.share))
}

/// Whether all bytes of the row go the same way, each once. A mirror sends what is written over
/// several links, and parity goes over them too, so nobody knows what is left for the file.
fn is_one_way(measured: &Measured, top: &Hop) -> bool {
    let writes_once = || measured.write().is_some() && is_sent_once(top);
    !measured.case.is_mixed() && (measured.read().is_some() || writes_once())
}

fn is_sent_once(top: &Hop) -> bool {
    top.all().into_iter().all(sends_once)
}

fn sends_once(hop: &Hop) -> bool {
    match &hop.kind {
        HopKind::Array(array) => matches!(array.level.as_deref(), Some("raid0" | "linear")),
        HopKind::Mapped(mapped) => mapped.maker != MappedMaker::Raid,
        // A file system on several disks chooses itself how many copies it keeps.
        HopKind::FileSystem(_) => hop.below.len() <= 1,
        _ => true,
    }
}

/// Whether a device served the bytes or, if nothing shows what is below, the row claims that no
/// cache of this machine did.
fn must_pass(measured: &Measured, storage: &Storage, by: ServedBy) -> bool {
    let is_past_cache =
        || measured.read().is_some_and(|work| matches!(work.io.cache, Cache::Direct | Cache::Cold));
    match by {
        ServedBy::Device => true,
        ServedBy::Unverified => storage.medium == Medium::Unseen && is_past_cache(),
        _ => false,
    }
}
