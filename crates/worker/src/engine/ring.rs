//! A thread's io_uring: the part that reading, writing and copying share.

use super::Obstacle;
use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{IoUring, squeue};
use model::case::Submission;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr;
use std::time::{Duration, Instant};

/// A ring and its operations in flight. Dropping it waits for them, so it must be dropped before
/// the memory and files they use: make it its owner's first field.
pub struct Ring {
    ring: IoUring,
    /// Operations that were queued and have not completed.
    in_flight: usize,
    /// Those of them that were not yet submitted to the OS.
    untold: usize,
    /// How many operations are submitted per call.
    batch: usize,
    /// Whether files are registered.
    has_files: bool,
    /// Whether buffers are registered.
    has_buffers: bool,
    /// The ring's place among the thread's registered rings. A call with it needs no descriptor.
    place: Option<u32>,
}

/// The operation in flight in a slot.
#[derive(Debug, Clone, Copy, Default)]
pub struct Flight {
    /// The block's offset.
    pub offset: u64,
    /// The block's length in bytes.
    pub length: usize,
    /// How many of them were moved so far.
    pub moved: usize,
}

/// Submits an eighth of the depth at once. Submitting only when nothing has completed saves calls
/// but lets the device run dry; submitting each block costs a call each.
const BATCHES_IN_DEPTH: usize = 8;

/// Submitting a single block is worth a call only if there is nothing to wait for.
const BATCH_MIN: usize = 2;

/// How long operations in flight may take to complete when `io_uring_enter` no longer works.
const DRAIN: Duration = Duration::from_secs(5);

/// How often to check for completions meanwhile.
const DRAIN_STEP: Duration = Duration::from_millis(1);

/// The submission thread sleeps after this long without work.
const SQPOLL_IDLE_MS: u32 = 100;

// Constants of `<linux/io_uring.h>`.
const IORING_ENTER_GETEVENTS: u32 = 1;
const IORING_ENTER_REGISTERED_RING: u32 = 16;
const IORING_REGISTER_RING_FDS: u32 = 20;
const IORING_UNREGISTER_RING_FDS: u32 = 21;

/// `struct io_uring_rsrc_update` of `<linux/io_uring.h>`.
#[repr(C)]
struct RingPlace {
    place: u32,
    reserved: u32,
    descriptor: u64,
}

/// The place of a ring that the OS may put anywhere.
const ANY_PLACE: u32 = u32::MAX;

impl Ring {
    /// A ring for `depth` operations in flight on `files`, which it registers in this order if
    /// `submission` does. The thread that will use it must call this.
    pub fn new(depth: u32, submission: Submission, files: &[&File]) -> Result<Ring, Obstacle> {
        let ring = open(depth, submission)?;
        let files: Vec<_> = files.iter().map(|file| file.as_raw_fd()).collect();
        let has_files = submission.registers();
        if has_files {
            ring.submitter()
                .register_files(&files)
                .map_err(unavailable("registering a file with io_uring"))?;
        }
        // With a polling thread there are few calls, and they may have to wake it.
        let is_called = has_files && submission != Submission::Sqpoll;
        let place = if is_called { register_ring(&ring) } else { None };
        let batch = match submission {
            Submission::Plain => 1,
            _ => (depth as usize / BATCHES_IN_DEPTH).max(BATCH_MIN),
        };
        Ok(Ring { ring, in_flight: 0, untold: 0, batch, has_files, has_buffers: false, place })
    }

    /// Registers `buffers` in this order. Returns whether the OS accepted them.
    ///
    /// # Safety
    /// The buffers must stay valid until the ring is dropped.
    pub unsafe fn register<'a>(
        &mut self,
        buffers: impl Iterator<Item = &'a [u8]>,
    ) -> Result<bool, Obstacle> {
        let vector = |buffer: &[u8]| libc::iovec {
            iov_base: buffer.as_ptr().cast_mut().cast(),
            iov_len: buffer.len(),
        };
        let vectors: Vec<libc::iovec> = buffers.map(vector).collect();
        // SAFETY: the caller guarantees that the buffers stay valid. The OS has copied `vectors` by
        // the time the call returns.
        match unsafe { self.ring.submitter().register_buffers(&vectors) } {
            Ok(()) => {
                self.has_buffers = true;
                Ok(true)
            }
            // Unprivileged processes can register only as much as `ulimit -l` allows, often 8 MiB.
            // Unregistered memory is a little slower, but works.
            Err(error) if error.raw_os_error() == Some(libc::ENOMEM) => {
                log::warn!("registering io_uring buffers failed: {error}: raise 'ulimit -l'");
                Ok(false)
            }
            Err(error) => Err(unavailable("registering buffers with io_uring")(error)),
        }
    }

    /// Queues the operation for `slot` without submitting it.
    ///
    /// # Safety
    /// The memory of `entry` must stay valid until the ring is dropped. Until the operation
    /// completes, nobody may read memory that it writes, or write memory that it reads.
    #[inline]
    pub unsafe fn queue(&mut self, slot: usize, entry: squeue::Entry) -> io::Result<()> {
        let entry = entry.user_data(slot as u64);
        // SAFETY: the caller guarantees the memory. The OS keeps the file of an operation open.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.map_err(|_| io::Error::other("the submission queue is full"))?;
        self.untold += 1;
        self.in_flight += 1;
        Ok(())
    }

    /// Submits the queue once it holds a batch.
    #[inline]
    pub fn tell_batch(&mut self) -> io::Result<()> {
        if self.untold >= self.batch { self.tell(0) } else { Ok(()) }
    }

    /// Waits for a completion. Returns its slot and how many bytes it moved.
    #[inline]
    pub fn wait(&mut self) -> io::Result<(usize, io::Result<usize>)> {
        loop {
            let Some(completion) = self.ring.completion().next() else {
                self.tell(1)?;
                continue;
            };
            self.in_flight -= 1;
            let moved = usize::try_from(completion.result())
                .map_err(|_| io::Error::from_raw_os_error(-completion.result()));
            return Ok((completion.user_data() as usize, moved));
        }
    }

    /// Submits the whole queue and waits up to `most_ns` for a completion. Returns whether there is
    /// one.
    #[inline]
    pub fn is_ready(&mut self, most_ns: u64) -> io::Result<bool> {
        if self.untold > 0 || self.ring.completion().is_empty() {
            self.poll(most_ns)?;
        }
        Ok(!self.ring.completion().is_empty())
    }

    fn poll(&mut self, most_ns: u64) -> io::Result<()> {
        let params = self.ring.params();
        let (is_polled, can_wait) = (params.is_setup_sqpoll(), params.is_feature_ext_arg());
        let submitter = self.ring.submitter();
        let entered = if most_ns > 0 && can_wait {
            let (seconds, rest) = (most_ns / 1_000_000_000, most_ns % 1_000_000_000);
            let time = Timespec::new().sec(seconds).nsec(rest as u32);
            submitter.submit_with_args(1, &SubmitArgs::new().timespec(&time))
        } else if is_polled {
            submitter.submit()
        } else {
            // With deferred task work, completions arrive only during such a call.
            // SAFETY: the call passes no memory of its own. `queue`'s caller guarantees the memory
            // of the queued operations.
            unsafe {
                let flags = IORING_ENTER_GETEVENTS;
                submitter.enter::<libc::sigset_t>(self.untold as u32, 0, flags, None)
            }
        };
        match entered {
            Ok(_) => self.untold = 0,
            // The queue was submitted, even if the wait ended without a completion.
            Err(error) if error.raw_os_error() == Some(libc::ETIME) => self.untold = 0,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Submits the whole queue and waits for at least `completions` completions.
    #[inline]
    fn tell(&mut self, completions: usize) -> io::Result<()> {
        let entered = match self.place {
            Some(place) => self.enter(place, completions),
            None => self.ring.submit_and_wait(completions).map(drop),
        };
        match entered {
            Ok(()) => self.untold = 0,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// The same for a registered ring. `IoUring` forgets that a ring is registered after each call,
    /// so this calls the OS itself.
    #[inline]
    fn enter(&mut self, place: u32, completions: usize) -> io::Result<()> {
        let queued = self.ring.submission().len();
        let waits = completions > 0 || self.ring.params().is_setup_iopoll();
        let flags = if waits { IORING_ENTER_GETEVENTS } else { 0 } | IORING_ENTER_REGISTERED_RING;
        let no_signals = ptr::null::<libc::sigset_t>();
        let call = libc::SYS_io_uring_enter;
        // SAFETY: the call passes no memory of its own. `queue`'s caller guarantees the memory of
        // the queued operations.
        let entered =
            unsafe { libc::syscall(call, place, queued, completions, flags, no_signals, 0) };
        if entered < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Operations that the OS may be working on: submitted, but not completed.
    fn told(&mut self) -> usize {
        let is_polled = self.ring.params().is_setup_sqpoll();
        let submission = self.ring.submission();
        // The OS's polling thread may be taking entries while it is awake.
        let is_still = !is_polled || submission.need_wakeup();
        self.in_flight.saturating_sub(if is_still { submission.len() } else { 0 })
    }

    /// Unregisters buffers, files and the ring. The OS tears down a closed ring later; until then,
    /// registered files would keep their file system from being unmounted.
    fn unregister(&self) {
        let submitter = self.ring.submitter();
        let buffers = if self.has_buffers { submitter.unregister_buffers() } else { Ok(()) };
        let files = || if self.has_files { submitter.unregister_files() } else { Ok(()) };
        let ring = || match self.place {
            Some(place) => change_rings(&self.ring, IORING_UNREGISTER_RING_FDS, place, 0).map(drop),
            None => Ok(()),
        };
        if let Err(error) = buffers.and_then(|()| files()).and_then(|()| ring()) {
            log::debug!("cannot release what a ring registered before the OS ends it: {error}");
        }
    }
}

/// Why this OS refuses io_uring to this process; `None` if it does not.
pub fn refusal() -> Option<String> {
    match open(1, Submission::Enter) {
        Ok(_) => None,
        Err(Obstacle::Unavailable(reason) | Obstacle::Failed(reason)) => Some(reason),
    }
}

/// A ring that works, without files.
fn open(depth: u32, submission: Submission) -> Result<IoUring, Obstacle> {
    let ring = build(depth, submission).map_err(unavailable("io_uring_setup"))?;
    // Some sandboxes forbid only `io_uring_enter`: find out before anything is in flight.
    // SAFETY: the call passes no memory, and nothing is queued.
    unsafe { ring.submitter().enter::<libc::sigset_t>(0, 0, 0, None) }
        .map_err(unavailable("io_uring_enter"))?;
    Ok(ring)
}

/// A ring with the newest features that this OS supports.
fn build(depth: u32, submission: Submission) -> io::Result<IoUring> {
    let entries = depth.next_power_of_two();
    if submission == Submission::Sqpoll {
        // The polling thread may complete a batch before it frees the batch's entries, so there can
        // be as many entries again.
        return IoUring::builder().setup_sqpoll(SQPOLL_IDLE_MS).build(2 * entries);
    }
    let builder = || {
        let mut builder = IoUring::builder();
        if submission == Submission::Iopoll {
            builder.setup_iopoll();
        }
        builder
    };
    if !matches!(submission, Submission::Enter | Submission::Iopoll) {
        return builder().build(entries);
    }
    // DEFER_TASKRUN needs Linux 6.1 and SINGLE_ISSUER 6.0; older kernels fail with EINVAL.
    match builder().setup_single_issuer().setup_defer_taskrun().build(entries) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => builder().build(entries),
        other => other,
    }
}

/// Registers `ring` itself with this thread and returns its place, or `None` before Linux 5.18.
fn register_ring(ring: &IoUring) -> Option<u32> {
    let descriptor = ring.as_raw_fd() as u64;
    let place = change_rings(ring, IORING_REGISTER_RING_FDS, ANY_PLACE, descriptor);
    place.inspect_err(|error| log::debug!("registering a ring failed: {error}")).ok()
}

/// Changes this thread's registered rings at `place` and returns the place that the OS chose.
fn change_rings(ring: &IoUring, change: u32, place: u32, descriptor: u64) -> io::Result<u32> {
    let mut update = RingPlace { place, reserved: 0, descriptor };
    let (call, ring) = (libc::SYS_io_uring_register, ring.as_raw_fd());
    // SAFETY: the OS reads and writes one `RingPlace` during the call only, while it is valid.
    let changed = unsafe { libc::syscall(call, ring, change, &raw mut update, 1) };
    if changed < 0 { Err(io::Error::last_os_error()) } else { Ok(update.place) }
}

fn unavailable(tried: &str) -> impl Fn(io::Error) -> Obstacle + '_ {
    move |error| Obstacle::Unavailable(format!("{tried}: {error}"))
}

impl Drop for Ring {
    /// Waits for operations in flight, even after an error: the OS must not use freed memory.
    fn drop(&mut self) {
        let began = Instant::now();
        while self.told() > 0 {
            if self.ring.completion().next().is_some() {
                self.in_flight -= 1;
            } else if let Err(error) = self.tell(1) {
                if began.elapsed() > DRAIN {
                    // The ring itself is broken, so freeing its memory would be unsound.
                    log::error!("cannot wait for a ring: {error}");
                    std::process::abort();
                }
                // Submitted operations can complete without another call.
                std::thread::sleep(DRAIN_STEP);
            }
        }
        self.unregister();
    }
}
