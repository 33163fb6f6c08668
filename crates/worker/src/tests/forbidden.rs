//! Outcomes of jobs when the OS forbids a system call, as container sandboxes do.

use super::Listener;
use crate::engine::ring::Ring;
use crate::perform::perform;
use io_uring::{opcode, types};
use libc::{SYS_clone, SYS_clone3, SYS_io_uring_enter, c_long, sock_filter, sock_fprog};
use model::case::{Cache, Case, Engine, Io, ReadWork, Submission, Work};
use model::trial::{Job, Outcome};
use model::zoo;
use std::fs::File;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Makes the OS fail `calls` with EPERM, in this thread and those it starts.
fn forbid(calls: &[c_long]) {
    let line = |code, jf, k| sock_filter { code, jt: 0, jf, k };
    // Load the system call's number, return an error if it is in the list, and allow it otherwise.
    let mut program = vec![line(0x20, 0, 0)];
    for call in calls {
        let number = u32::try_from(*call).expect("numbers of calls are small");
        program.push(line(0x15, 1, number));
        program.push(line(0x06, 0, 0x0005_0000 | libc::EPERM as u32));
    }
    program.push(line(0x06, 0, 0x7fff_0000));
    let len = program.len() as u16;
    let program = sock_fprog { len, filter: program.as_mut_ptr() };
    // SAFETY: the OS reads the program during the call only, while it is valid.
    let outcome = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
    };
    assert_eq!(outcome, 0, "{}", std::io::Error::last_os_error());
}

/// Runs `test` on its own thread, where calls can be forbidden.
fn apart(test: impl FnOnce() + Send + 'static) {
    thread::Builder::new().spawn(test).unwrap().join().unwrap();
}

/// Checks the outcome of a job of three threads with `calls` forbidden.
fn check(
    engine: Engine,
    calls: &'static [c_long],
    expected: impl Fn(&Outcome) -> bool + Send + 'static,
) {
    apart(move || {
        let path = std::env::current_exe().unwrap();
        let work = ReadWork {
            io: Io { cache: Cache::AsIs, threads: 3, size: 1 << 20, ..zoo::plain().io },
            engine,
            ..zoo::plain()
        };
        let case = Case::own(Work::Read(work));
        let job = Job { file: Some(path), ..Job::of(case, 1) };
        let mut listener = Listener { file: None, outcome: None };
        forbid(calls);
        perform(&job, &mut listener);
        let outcome = listener.outcome.expect("every job has an outcome");
        assert!(expected(&outcome), "{outcome:?}");
    });
}

#[test]
fn a_ring_that_may_not_be_entered_is_unavailable() {
    let says = |reason: &str| reason.starts_with("io_uring_enter: ");
    check(
        Engine::Uring,
        &[SYS_io_uring_enter],
        move |outcome| matches!(outcome, Outcome::Unavailable { reason } if says(reason)),
    );
}

#[test]
fn a_thread_that_cannot_be_started_is_a_failure() {
    let says = |reason: &str| reason.starts_with("starting thread 1 of 3 failed: ");
    check(
        Engine::Pread,
        &[SYS_clone, SYS_clone3],
        move |outcome| matches!(outcome, Outcome::Failed { reason } if says(reason)),
    );
}

/// Waits until the OS's polling thread for the ring of this thread has fallen asleep.
fn until_asleep() {
    let name = format!("iou-sqp-{}", rustix::thread::gettid().as_raw_nonzero());
    let is_asleep = |task: &Path| {
        let stat = std::fs::read_to_string(task.join("stat")).ok()?;
        let (_, state) = stat.split_once(&format!("({name}) "))?;
        Some(state.starts_with('S'))
    };
    for _ in 0..1_000 {
        thread::sleep(Duration::from_millis(150));
        let mut tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        // Before Linux 5.12, it is no thread of this process.
        if tasks.find_map(|task| is_asleep(&task.path())).unwrap_or(true) {
            return;
        }
    }
    panic!("{name} does not sleep");
}

/// Operations that were never submitted are not in flight.
#[test]
fn a_ring_that_can_no_longer_be_entered_is_given_back() {
    for submission in [Submission::Plain, Submission::Enter, Submission::Sqpoll] {
        apart(move || {
            let file = File::open("/proc/self/exe").unwrap();
            let mut buffer = vec![0u8; 4096];
            let Ok(mut ring) = Ring::new(8, submission, &[&file]) else { return };
            if submission == Submission::Sqpoll {
                until_asleep();
            }
            forbid(&[SYS_io_uring_enter]);
            for slot in 0..4 {
                let entry = opcode::Read::new(types::Fixed(0), buffer.as_mut_ptr(), 4096).build();
                // SAFETY: the buffer is dropped after the ring.
                unsafe { ring.queue(slot, entry) }.unwrap();
            }
            let error = ring.wait().map(drop).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EPERM));
            drop(ring);
            drop(buffer);
        });
    }
}
