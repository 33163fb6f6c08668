//! Waits until devices are quiet: delayed writes of one measurement would disturb the next.

use crate::machine;
use crate::page_cache;
use crate::traffic;
use model::host::{Medium, Storage};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long nothing must happen. These thresholds are our own choice; no source gives any. 100 ms
/// is many times the duration of a request on anything but tape, and short compared with a trial.
const WINDOW: Duration = Duration::from_millis(100);
/// Pause between two checks.
const PAUSE: Duration = Duration::from_millis(10);
/// Amount of dirty memory, machine-wide, that is not worth waiting for: any disk writes it quickly.
const FEW: u64 = 16 << 20;
/// With more dirty bytes, keep waiting while they shrink by this much per [`WINDOW`]. Other
/// processes' dirty pages can stay for half a minute before anyone writes them.
const FALL: u64 = 1 << 20;
/// Bytes written back at a time; the time limit is checked in between.
const STEP: u64 = 16 << 20;

/// The state when the wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settled {
    /// Whether the devices became quiet. If not, the time limit was reached.
    pub quiet: bool,
    /// How long it took.
    pub waited: Duration,
    /// Requests that the devices had not completed; `None` if unknown.
    pub in_flight: Option<u64>,
    /// Dirty bytes in the whole machine's page cache; `None` if the OS does not report them.
    pub dirty: Option<u64>,
}

/// Waits up to `limit` until the devices under `storage` are quiet after writing.
///
/// They are quiet if, for 100 ms, no request is in flight and no write or discard completes. The
/// machine's dirty pages must also be below 16 MiB or no longer shrink. If the devices are not
/// visible, only the dirty pages count; for memory, there is nothing to wait for.
///
/// First writes back and syncs `file`: otherwise the OS would wait half a minute and write it
/// during the next trial. `file` may be the directory of a removed file. Syncing that triggers the
/// journal's commit and the discards of the freed blocks. No other file is synced. The limit is
/// checked after every 16 MiB, so the final sync has little left to write.
pub fn settle(storage: &Storage, file: Option<&File>, limit: Duration) -> Settled {
    let start = Instant::now();
    if storage.medium == Medium::Ram && storage.devices.is_empty() {
        return Settled { quiet: true, waited: Duration::ZERO, in_flight: None, dirty: None };
    }
    if let Some(file) = file
        && let Err(error) = write_out(file, start, limit)
    {
        log::debug!("cannot sync a file to let its devices settle: {error}");
    }
    wait(storage, start, limit)
}

/// Writes back dirty pages of `file` piece by piece, then syncs it if the limit is not reached.
fn write_out(file: &File, start: Instant, limit: Duration) -> io::Result<()> {
    // A directory has no pages to write this way; the sync writes it.
    let length = if file.metadata()?.is_dir() { 0 } else { page_cache::length(file)? };
    for offset in (0..length).step_by(STEP as usize) {
        if start.elapsed() >= limit {
            return Ok(());
        }
        write_range(file, offset, STEP)?;
    }
    Ok(page_cache::write_back(file)?)
}

fn write_range(file: &File, offset: u64, length: u64) -> io::Result<()> {
    let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    let (offset, length) = (offset as libc::off64_t, length as libc::off64_t);
    // SAFETY: the descriptor is open while `file` is borrowed, and the call passes no memory.
    let outcome = unsafe { libc::sync_file_range(file.as_raw_fd(), offset, length, flags) };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Checks repeatedly, at least once.
fn wait(storage: &Storage, start: Instant, limit: Duration) -> Settled {
    let mut calm = Calm { since: None };
    loop {
        let activity = Activity::at(storage, start.elapsed());
        let quiet = calm.lasts(activity);
        if quiet || activity.at >= limit {
            let Activity { at: waited, in_flight, dirty, .. } = activity;
            return Settled { quiet, waited, in_flight, dirty };
        }
        std::thread::sleep(PAUSE.min(limit.saturating_sub(activity.at)));
    }
}

/// The state at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Activity {
    at: Duration,
    in_flight: Option<u64>,
    /// Writes and discards completed so far.
    completed: Option<u64>,
    dirty: Option<u64>,
}

impl Activity {
    fn at(storage: &Storage, at: Duration) -> Activity {
        let read = |path: &Path| std::fs::read_to_string(path).ok();
        let names = || storage.devices.iter().map(|device| device.name.as_str());
        let traffic =
            traffic::sum(names().map(|name| traffic::parse_stat(&read(&traffic::stat_of(name))?)));
        let in_flight: Option<u64> = names()
            .map(|name| traffic::parse_in_flight(&read(&traffic::in_flight_of(name))?))
            .sum();
        Activity {
            at,
            in_flight: in_flight.filter(|_| !storage.devices.is_empty()),
            completed: traffic.map(|traffic| traffic.writes + traffic.discards.unwrap_or(0)),
            dirty: read(Path::new(machine::MEMINFO)).and_then(|text| machine::parse_dirty(&text)),
        }
    }
}

/// The start of the current quiet period.
struct Calm {
    since: Option<Activity>,
}

impl Calm {
    /// Whether nothing has happened for a whole window up to `activity`.
    fn lasts(&mut self, activity: Activity) -> bool {
        let is_idle = activity.in_flight.is_none_or(|count| count == 0);
        let Some(since) =
            self.since.filter(|since| is_idle && since.completed == activity.completed)
        else {
            self.since = is_idle.then_some(activity);
            return false;
        };
        if activity.at.saturating_sub(since.at) < WINDOW {
            return false;
        }
        let fell = since.dirty.zip(activity.dirty).map(|(then, now)| then.saturating_sub(now));
        let is_falling = fell.is_some_and(|bytes| bytes >= FALL);
        if is_falling && activity.dirty.is_some_and(|bytes| bytes >= FEW) {
            self.since = Some(activity);
            return false;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks which of the looks, 50 ms apart, is the first after a whole quiet window.
    #[track_caller]
    fn check(looks: &[(Option<u64>, Option<u64>, Option<u64>)], expected: Option<usize>) {
        let mut calm = Calm { since: None };
        let found = looks.iter().zip(0..).position(|(&(in_flight, completed, dirty), number)| {
            let at = Duration::from_millis(50 * number);
            calm.lasts(Activity { at, in_flight, completed, dirty })
        });
        assert_eq!(found, expected, "{looks:?}");
    }

    fn activity(
        in_flight: u64,
        completed: u64,
        dirty_mib: u64,
    ) -> (Option<u64>, Option<u64>, Option<u64>) {
        (Some(in_flight), Some(completed), Some(dirty_mib << 20))
    }

    #[test]
    fn calm_is_a_whole_window_in_which_nothing_completes_and_nothing_is_in_flight() {
        check(&[activity(0, 5, 0); 3], Some(2));
        check(&[activity(0, 5, 0); 2], None);
        check(&[activity(1, 5, 0); 9], None);
        // A request in flight, or one completed between two looks, restarts the window.
        check(
            &[
                activity(0, 5, 0),
                activity(1, 5, 0),
                activity(0, 5, 0),
                activity(0, 5, 0),
                activity(0, 5, 0),
            ],
            Some(4),
        );
        check(
            &[activity(0, 5, 0), activity(0, 6, 0), activity(0, 6, 0), activity(0, 6, 0)],
            Some(3),
        );
        check(&[activity(0, 1, 0), activity(0, 2, 0), activity(0, 3, 0), activity(0, 4, 0)], None);
    }

    #[test]
    fn many_dirty_pages_are_waited_for_only_while_they_become_fewer() {
        check(&[activity(0, 5, 500); 3], Some(2));
        let falling = [90, 80, 70, 60, 50, 50, 50].map(|dirty| activity(0, 5, dirty));
        check(&falling, Some(6));
        // A small amount is not worth waiting for, even while it shrinks.
        check(&[15, 10, 5].map(|dirty| activity(0, 5, dirty)), Some(2));
        check(&[20, 19, 15].map(|dirty| activity(0, 5, dirty)), Some(2));
        check(&[500, 600, 700].map(|dirty| activity(0, 5, dirty)), Some(2));
    }

    #[test]
    fn a_sync_is_seen_as_writes_that_completed() {
        let directory = tempfile::tempdir().unwrap();
        let storage = crate::storage::storage(directory.path()).unwrap();
        let before = Activity::at(&storage, Duration::ZERO);
        let path = directory.path().join("file");
        std::fs::write(&path, [1; 4096]).unwrap();
        File::open(&path).unwrap().sync_all().unwrap();
        let after = Activity::at(&storage, WINDOW);
        if storage.medium == Medium::Block {
            assert!(after.completed.unwrap() > before.completed.unwrap(), "{before:?} {after:?}");
        }
        assert_eq!(after.in_flight.is_some(), !storage.devices.is_empty(), "{after:?}");
        assert!(after.dirty.is_some(), "{after:?}");
    }

    #[test]
    fn what_cannot_be_seen_is_not_waited_for() {
        check(&[(None, None, None); 3], Some(2));
        check(
            &[(None, None, Some(90 << 20)), (None, None, Some(80 << 20)), (None, None, None)],
            Some(2),
        );
        let dirty = |mib: u64| (None, None, Some(mib << 20));
        check(&[90, 80, 70, 70, 70].map(dirty), Some(4));
    }
}
