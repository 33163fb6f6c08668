//! What strace sees of the same program, as the measure of what `judge` counts.

use super::{Judged, count};
use crate::sandbox::{Sandbox, argument, text};
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;

/// Calls whose result is a number of bytes that were read from a file.
const READS: &str = "trace=read,pread64,readv,preadv,preadv2";
/// Calls whose result is a number of bytes that were written.
const WRITES: &str = "write,pwrite64,writev,pwritev,pwritev2";
/// Calls that sync.
const SYNCS: &str = "trace=fsync,fdatasync,msync,sync_file_range,syncfs,sync";

/// The bytes that `command` read from the files in the directory of `sandbox`.
pub(super) fn bytes_read(sandbox: &Sandbox, command: &[&str]) -> u64 {
    let lines = traced(sandbox, &["-y", "-s", "0", "-e", READS], command);
    sum_of_reads(&lines, sandbox.directory())
}

/// The number of calls of `command` that read and that write, by strace's own count.
pub(super) fn calls(sandbox: &Sandbox, command: &[&str]) -> [u64; 2] {
    let all = format!("{READS},{WRITES}");
    let counts = counts(sandbox, &all, command);
    let of = |names: &str| names.split(',').filter_map(|name| Some(counts.get(name)?.0)).sum();
    [of(READS.trim_start_matches("trace=")), of(WRITES)]
}

/// The number of each kind of sync that `command` called successfully, by strace's own count.
pub(super) fn syncs(sandbox: &Sandbox, command: &[&str]) -> HashMap<String, u64> {
    let counts = counts(sandbox, SYNCS, command).into_iter();
    let succeeded = counts.map(|(name, (calls, failed))| (name, calls - failed));
    succeeded.filter(|(_, calls)| *calls > 0).collect()
}

/// The number of each of these calls, and of those that failed.
fn counts(sandbox: &Sandbox, which: &str, command: &[&str]) -> HashMap<String, (u64, u64)> {
    let lines = traced(sandbox, &["-c", "-U", "name,calls,errors", "-e", which], command);
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        let (name, calls) = (words.next()?, words.next()?.parse::<u64>().ok()?);
        let failed = words.next().and_then(|errors| errors.parse::<u64>().ok()).unwrap_or(0);
        (name != "total").then(|| (name.to_string(), (calls, failed)))
    };
    lines.lines().filter_map(row).collect()
}

/// The same counts of the rehearsal.
pub(super) fn syncs_seen(judged: &Judged) -> HashMap<String, u64> {
    let syncs = judged.facts()["syncs"].as_object().unwrap();
    let seen = |(name, calls): (&String, &Value)| (name.clone(), calls.as_u64().unwrap());
    syncs.iter().map(seen).collect()
}

/// Checks that the OS counted `bytes` that the calls of `command` read in each trial. What it read
/// of its own files is at most `of_program`.
#[track_caller]
pub(super) fn check_asked(judged: &Judged, cache: &str, bytes: u64, of_program: u64) {
    for trial in judged.evidence(cache) {
        let asked = count(trial, "task_rchar_bytes");
        let most = bytes + bytes / 100 + of_program;
        assert!((bytes..=most).contains(&asked), "{asked} instead of {bytes}: {trial}");
    }
}

/// What strace writes of `command`, which must succeed.
fn traced(sandbox: &Sandbox, options: &[&str], command: &[&str]) -> String {
    let log = sandbox.state().join("strace");
    let mut strace = sandbox.start("strace");
    strace.args(["-f", "-o", argument(&log)]).args(options).arg("--").args(command);
    let output = strace.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    text(&std::fs::read(log).unwrap())
}

/// The sum of the results of reads of files below `directory`. A call that another interrupted has
/// its file on one line and its result on a later one.
fn sum_of_reads(lines: &str, directory: &Path) -> u64 {
    let prefix = format!("<{}/", directory.display());
    let mut unfinished = HashMap::new();
    let mut sum = 0;
    for line in lines.lines() {
        let Some((task, rest)) = line.split_once(' ') else { continue };
        let is_ours = match rest.trim_start().starts_with("<... ") {
            true => unfinished.remove(task).unwrap_or(false),
            false => rest.contains(&prefix),
        };
        if rest.ends_with("<unfinished ...>") {
            unfinished.insert(task, is_ours);
            continue;
        }
        let result = rest.rsplit_once(" = ").and_then(|(_, result)| result.parse::<u64>().ok());
        sum += result.filter(|_| is_ours).unwrap_or(0);
    }
    sum
}

#[test]
fn reads_of_other_files_and_failed_reads_are_not_in_the_sum() {
    let log = "7 read(3</d/a>, \"\"..., 10) = 10\n\
               7 read(3</other>, \"\"..., 10) = 10\n\
               7 read(3</d/a>,  <unfinished ...>\n\
               8 pread64(4</d/b>, \"\"..., 5, 0) = 5\n\
               7 <... read resumed>\"\"..., 20) = 20\n\
               8 read(4</d/b>, 0x1, 5) = -1 EIO (Input/output error)\n";
    assert_eq!(sum_of_reads(log, Path::new("/d")), 35);
}
