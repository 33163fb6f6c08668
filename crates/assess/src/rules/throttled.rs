//! Whether the OS's limit of dirty pages held a writer back.

use super::context::{Context, Draft, RuleTable};
use super::writing_commands;
use crate::counted::Counted;
use crate::finding::{Code, Severity};
use crate::stats::median;
use crate::summary::ServedBy;
use model::case::{Cache, Op, Sync, WriteWork};
use model::units::{bytes_rounded, percent};

/// The rules of this module.
pub(super) const RULES: RuleTable = &[(Code::ThrottledWriteback, throttled_writeback)];

/// A writer that waits this share of its time waits for the device (docs/method).
const WAITING_MOST: f64 = 0.10;
/// Reads of up to this share of the written bytes are metadata.
const READS_MOST: f64 = 0.01;

/// The OS throttled the writer until the device caught up (docs/method).
///
/// A writer through the page cache runs or waits for a processor. Otherwise it waits for pages to
/// be written, because the OS limits the dirty ones. Its syncs do not count, because they are meant
/// to wait; nor does stolen time, nor a case that had to read. Nor does a trial that had too few
/// dirty pages for that limit: it waited for something else, such as a journal.
fn throttled_writeback(context: &Context) -> Option<Draft> {
    if context.measured.case.command().is_some() {
        return writing_commands::throttled(context);
    }
    let work = context.write().filter(|work| goes_through_cache(context, work))?;
    // A program timed as a whole does not report how long its sync took.
    let is_told = context.summary.writing.as_ref()?.acknowledged.is_some();
    let reads = context.total_share(|t| Some((t.evidence.task_read_bytes?, t.sample.bytes())))?;
    if !is_told || reads >= READS_MOST || context.is_served(&[ServedBy::Ram]) {
        return None;
    }
    let near = |trial: &Counted| Dirtied::of(context, trial).map(|it| it.is_near_limit());
    let held_back = |trial: &Counted| match near(trial)? {
        true => waiting_share(trial),
        false => Some(0.0),
    };
    let waiting = median(&context.measured.values(held_back))?;
    if waiting < WAITING_MOST {
        return None;
    }
    let median_of = |value: &dyn Fn(&Dirtied) -> u64| {
        let of_near = |trial: &Counted| Dirtied::of(context, trial).filter(Dirtied::is_near_limit);
        let bytes = median(&context.measured.values(|trial| Some(value(&of_near(trial)?) as f64)));
        bytes_rounded(bytes.unwrap_or(0.0) as u64)
    };
    let is_filled = |trial: &Counted| Dirtied::of(context, trial).is_some_and(|it| it.is_filled);
    let seen = match work.sync {
        Sync::None if context.measured.trials.iter().all(is_filled) => {
            format!("a trial wrote {}, more than the memory of its group", median_of(&|it| it.most))
        }
        Sync::None => format!("{} were dirty at the end", median_of(&|it| it.most)),
        _ => format!("up to {} could be dirty before a sync", median_of(&|it| it.most)),
    };
    let message = format!(
        "the OS held the writer back for {} of its time, syncs excluded: it allows {} of dirty \
         pages, and {seen}",
        percent(waiting),
        median_of(&|it| it.limit),
    );
    let remedy = "read the acknowledged rate as a mix of memory and device; write less than half \
                  of that limit to see memory, or sync or write directly to see the device";
    Draft::sized(waiting, Severity::Doubt, message, remedy)
}

fn goes_through_cache(context: &Context, work: &WriteWork) -> bool {
    let is_synced = context.measured.storage.is_some_and(|it| it.syncs_each_write(work));
    let moves = !work.engine.only_copies() && work.op != Op::Sync;
    moves && work.io.cache != Cache::Direct && work.sync != Sync::Dsync && !is_synced
}

/// The dirty bytes of a trial, and the limit on them.
struct Dirtied {
    /// The most that can have been dirty at once: what was at the end or, if that was synced, what
    /// was before it began and what it could write before a sync. If its group was filled, what
    /// was at the end depends on the moment, so this is what the trial wrote.
    most: u64,
    /// The limit that binds: the machine's, or that of a control group.
    limit: u64,
    /// Whether the trial wrote more, without a sync, than its control group may have in memory: the
    /// OS had to write some of that to go on.
    is_filled: bool,
}

impl Dirtied {
    /// `None` if either is unknown.
    fn of(context: &Context, trial: &Counted) -> Option<Dirtied> {
        let (measured, evidence, work) = (context.measured, &trial.evidence, context.write()?);
        let group = measured.memory_limit.into_iter().chain(measured.host.memory_quota).min();
        let written = written_before_sync(work, trial);
        let is_filled = work.sync == Sync::None && group.is_some_and(|group| written > group);
        let most = match work.sync {
            Sync::None if is_filled => written,
            Sync::None => evidence.dirty_after?,
            _ => evidence.dirty_before?.saturating_add(written),
        };
        // In older records, the limit is always the machine's.
        let limit = evidence.dirty_limit?.min(group.unwrap_or(u64::MAX));
        Some(Dirtied { most, limit, is_filled })
    }

    /// Whether the OS may have made the writer wait: it begins between its background limit and
    /// this one, never below half of it (`dirty_freerun_ceiling` in `mm/page-writeback.c`).
    fn is_near_limit(&self) -> bool {
        self.most >= self.limit / 2
    }
}

/// The most that a trial can have written before one of its syncs. A page that is written again is
/// still one dirty page.
fn written_before_sync(work: &WriteWork, trial: &Counted) -> u64 {
    let written = trial.sample.written_bytes();
    let once = if work.op == Op::Write { written.min(work.io.size) } else { written };
    match work.every {
        0 => once,
        every => {
            let of_threads =
                every.saturating_mul(work.io.block).saturating_mul(work.io.threads.into());
            once.min(of_threads)
        }
    }
}

/// The share of the threads' time until their last writes returned in which they neither ran, nor
/// waited for a processor, nor synced, nor paused because nothing was due. It is a lower bound: the
/// CPU time of the syncs is subtracted too, and so are the OS's own threads and, if the worker does
/// not report its spans, the whole window.
fn waiting_share(trial: &Counted) -> Option<f64> {
    let evidence = &trial.evidence;
    let (mut writing_ns, mut syncing_ns) = (0.0, 0.0);
    for span in &trial.sample.spans {
        writing_ns += trial.without_pauses(span.end_ns.saturating_sub(span.start_ns))? as f64;
        // The last sync comes after the last write.
        let after_ns = span.synced_ns.map_or(0, |synced| synced.saturating_sub(span.end_ns));
        syncing_ns += span.sync_ns.saturating_sub(after_ns) as f64;
    }
    let stolen_ns = evidence.steal_ns?;
    let cpu_ns = trial.sample.usage.cpu_ns.or(evidence.cpu_ns)?;
    let running_ns = cpu_ns as f64 + evidence.run_delay_ns? as f64 + stolen_ns as f64;
    (writing_ns > 0.0).then(|| 1.0 - (running_ns + syncing_ns) / writing_ns)
}
