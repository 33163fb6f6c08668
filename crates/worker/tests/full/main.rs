//! Files that run out of space, at the file size limit and on a full file system. The limit applies
//! to the whole process, so this program has only one test.

use model::case::{Allocation, Case, Io, Op, Sync, Work, WriteEngine, WriteWork};
use model::content::{Content, ContentKind};
use model::trial::{Job, Outcome};
use model::zoo;
use std::path::{Path, PathBuf};
use std::process::Command;
use worker::perform::perform;
use worker::reporter::Client;

/// The file size limit, in the middle of a block.
const LIMIT: u64 = 100_000;

/// Size of a block.
const BLOCK: u64 = 30_000;

/// Agrees to begin and keeps the outcome.
#[derive(Default)]
struct Listener(Option<Outcome>);

impl Client for Listener {
    fn ready(&mut self) -> bool {
        true
    }

    fn outcome(&mut self, outcome: Outcome) {
        self.0 = Some(outcome);
    }
}

#[expect(clippy::print_stderr, reason = "a skipped test must say so")]
fn skip(what: &str, reason: &str) {
    eprintln!("skipped {what}: {reason}");
}

/// Each way to write or copy that makes the file grow.
fn works() -> Vec<WriteWork> {
    let mut works = Vec::new();
    for engine in WriteEngine::ALL.iter().copied() {
        let is_write =
            !engine.only_copies() && !matches!(engine, WriteEngine::Null | WriteEngine::Mmap);
        let is_copy =
            engine.only_copies() || matches!(engine, WriteEngine::Write | WriteEngine::Uring);
        let plain = WriteWork {
            io: Io { block: BLOCK, ..zoo::plain_write().io },
            engine,
            sync: Sync::None,
            ..zoo::plain_write()
        };
        if is_write {
            works.push(plain);
        }
        if is_copy {
            works.push(WriteWork { op: Op::Copy, ..plain });
        }
    }
    works
}

/// Writes until `folder` is full. The reason states how much was written.
fn check(work: &WriteWork, folder: &Path, source: &Path, errno: i32) {
    assert_eq!(work.allocation, Allocation::None);
    let file = folder.join("target");
    std::fs::File::create(&file).expect("the folder takes an empty file");
    let case = Case::own(Work::Write(*work));
    let source = Some(source.to_path_buf());
    let job = Job { file: Some(file.clone()), source, ..Job::of(case, 3) };
    let mut listener = Listener::default();
    perform(&job, &mut listener);
    let held = std::fs::metadata(&file).expect("it is there").len();
    std::fs::remove_file(&file).expect("it is ours");
    let reason = match listener.0.expect("a job that begins has an outcome") {
        Outcome::Failed { reason } => reason,
        Outcome::Unavailable { reason } => return skip(&job.case.id(), &reason),
        done => panic!("{}: {done:?}", job.case.id()),
    };
    let error = std::io::Error::from_raw_os_error(errno).to_string();
    assert!(reason.contains(&error), "{}: {reason}", job.case.id());
    // The reported bytes were written; the OS may also have taken some of the failed block.
    let told = reason.strip_suffix(" bytes of earlier blocks were written");
    let told = told.and_then(|rest| rest.rsplit(' ').next()?.parse::<u64>().ok());
    let told = told.unwrap_or_else(|| panic!("no bytes are told: {reason}"));
    assert!(told <= held && held < told + 2 * BLOCK, "{}: {held}: {reason}", job.case.id());
    assert!(held <= LIMIT, "{}: {held}", job.case.id());
}

/// A 100 KB tmpfs, if this user may mount one.
struct Small(tempfile::TempDir);

impl Small {
    fn mount() -> Result<Small, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=98304", "tmpfs"]).arg(folder.path());
        match mount.output() {
            Ok(done) if done.status.success() => Ok(Small(folder)),
            Ok(done) => Err(String::from_utf8_lossy(&done.stderr).trim().to_string()),
            Err(error) => Err(format!("mount: {error}")),
        }
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        // Unmount lazily: the OS closes a ring's files a moment after the ring.
        let unmounted = Command::new("umount").arg("--lazy").arg(self.0.path()).status();
        assert!(
            unmounted.is_ok_and(|status| status.success()),
            "a small file system stays mounted"
        );
    }
}

/// A limit of [`LIMIT`] for the files that this process writes. It is lifted at the end: the
/// test's own output may go into a file that is larger.
struct Limited(libc::rlimit);

impl Limited {
    /// From now on, a write beyond the limit fails instead of raising a signal.
    fn new() -> Limited {
        let mut before = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: both limits are valid during the calls. The signal is ignored, so no handler
        // runs.
        unsafe {
            assert_ne!(libc::signal(libc::SIGXFSZ, libc::SIG_IGN), libc::SIG_ERR);
            assert_eq!(libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut before), 0);
            let limit = libc::rlimit { rlim_cur: LIMIT, ..before };
            assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit), 0);
        }
        Limited(before)
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        // SAFETY: the limit is valid during the call.
        unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &raw const self.0) };
    }
}

#[test]
fn a_file_that_takes_no_more_is_said_with_what_was_written() {
    let content = Content { seed: 8, size: 1 << 20, kind: ContentKind::Random };
    let mut bytes = vec![0; content.size as usize];
    content.fill(0, &mut bytes);
    let folder = tempfile::tempdir_in(".").expect("the crate's folder is writable");
    let source: PathBuf = folder.path().join("source");
    std::fs::write(&source, bytes).expect("a small file fits");
    match Small::mount() {
        Ok(small) => {
            for work in works() {
                check(&work, small.0.path(), &source, libc::ENOSPC);
            }
        }
        Err(reason) => skip("writing to a full file system", &reason),
    }
    let _limited = Limited::new();
    for work in works() {
        check(&work, folder.path(), &source, libc::EFBIG);
    }
}
