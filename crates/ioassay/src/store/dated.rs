//! The names of records that nobody named: where they are kept, and dates.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The folder for unnamed records, below the XDG state folder. It need not exist.
///
/// # Errors
/// If there is no such folder because there is no home.
pub fn folder() -> Result<PathBuf> {
    let folder = std::env::var_os("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| std::env::home_dir().map(|home| home.join(".local/state")))
        .context("there is no home folder for the record: name a file with --record FILE")?;
    Ok(folder.join("ioassay"))
}

/// Maximum number of runs that one process can finish in a second.
const RUNS_A_SECOND: u32 = 10_000;

/// The dated file for an unnamed record, below the XDG state folder.
///
/// # Errors
/// If there is no such folder because there is no home, or the clock has no valid date.
pub fn dated_path(name: &str, began: SystemTime) -> Result<PathBuf> {
    dated_in(&folder()?, name, began)
}

/// A dated file in `folder` that does not exist yet.
pub(super) fn dated_in(folder: &Path, name: &str, began: SystemTime) -> Result<PathBuf> {
    let date = date(began)?.replace(':', "-");
    // The PID separates programs within the same second, and a number separates the runs of one
    // program.
    let stem = format!("{date}-{name}-{}", std::process::id());
    let first = [folder.join(format!("{stem}.jsonl"))];
    let others = (2..RUNS_A_SECOND).map(|number| folder.join(format!("{stem}-{number}.jsonl")));
    let free = first.into_iter().chain(others).find(|path| path.symlink_metadata().is_err());
    free.with_context(|| format!("there are already {RUNS_A_SECOND} records '{stem}'"))
}

/// Seconds from 1970 to the year 10000, which does not fit into four digits.
const DATED_SECONDS: u64 = 253_402_300_800;

/// Formats a time as in RFC 3339, in UTC and whole seconds.
///
/// # Errors
/// If the year has no such date.
pub fn date(moment: SystemTime) -> Result<String> {
    let since = moment.duration_since(SystemTime::UNIX_EPOCH).ok();
    if since.is_none_or(|since| since.as_secs() >= DATED_SECONDS) {
        bail!("this machine's clock is outside the years 1970 to 9999: set it");
    }
    #[expect(clippy::disallowed_methods, reason = "inputs that panic were just refused")]
    let date = humantime::format_rfc3339_seconds(moment);
    Ok(date.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_moment_without_a_date_is_refused() {
        let epoch = SystemTime::UNIX_EPOCH;
        let after = |seconds| date(epoch + Duration::from_secs(seconds));
        assert_eq!(after(0).unwrap(), "1970-01-01T00:00:00Z");
        assert_eq!(after(DATED_SECONDS - 1).unwrap(), "9999-12-31T23:59:59Z");
        for refused in [after(DATED_SECONDS), date(epoch - Duration::from_nanos(1))] {
            assert!(refused.unwrap_err().to_string().contains("1970 to 9999: set it"));
        }
    }
}
