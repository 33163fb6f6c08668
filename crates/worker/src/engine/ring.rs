//! An io_uring of one thread, and what of it is the same for those that read, write and copy.

use super::Obstacle;
use io_uring::{IoUring, squeue};
use model::case::Submission;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// A ring, and how much is in flight in it. When it is dropped it waits for that, so it is to be
/// dropped before the memory and the files that it works on: as the first field of its owner.
pub struct Ring {
    ring: IoUring,
    /// Operations that were queued and have not come back.
    in_flight: usize,
    /// Those of them of which the OS was not told yet.
    untold: usize,
    /// The OS is told of so many at once.
    batch: usize,
    /// Whether buffers are registered.
    has_buffers: bool,
}

/// What is in flight in a slot.
#[derive(Debug, Clone, Copy, Default)]
pub struct Flight {
    /// Where the block begins.
    pub offset: u64,
    /// Bytes of the block.
    pub length: usize,
    /// How many of them were moved.
    pub moved: usize,
}

/// Submits an eighth of the depth at once. Submitting only when nothing has completed saves calls
/// but lets the device run dry; submitting each block costs a call each.
const BATCHES_IN_DEPTH: usize = 8;

/// A call for a single block pays only if there is no other to wait for.
const BATCH_MIN: usize = 2;

/// How long what is in flight may take to end where the OS cannot be asked to wait for it.
const DRAIN: Duration = Duration::from_secs(5);

/// So often it is looked whether it has.
const DRAIN_STEP: Duration = Duration::from_millis(1);

/// The submission thread sleeps after this long without work.
const SQPOLL_IDLE_MS: u32 = 100;

impl Ring {
    /// A ring for `depth` operations in flight on `files`, which are registered in this order.
    /// Must be called by the thread that will use it.
    pub fn new(depth: u32, submission: Submission, files: &[&File]) -> Result<Ring, Obstacle> {
        let ring = build(depth, submission).map_err(unavailable("io_uring_setup"))?;
        // Where the OS forbids that alone, it is known before anything is in flight.
        // SAFETY: no memory is handed over, and nothing is queued.
        unsafe { ring.submitter().enter::<libc::sigset_t>(0, 0, 0, None) }
            .map_err(unavailable("io_uring_enter"))?;
        let files: Vec<_> = files.iter().map(|file| file.as_raw_fd()).collect();
        ring.submitter()
            .register_files(&files)
            .map_err(unavailable("registering a file with io_uring"))?;
        let batch = (depth as usize / BATCHES_IN_DEPTH).max(BATCH_MIN);
        Ok(Ring { ring, in_flight: 0, untold: 0, batch, has_buffers: false })
    }

    /// Registers `buffers` in this order. Answers whether the OS let them be.
    ///
    /// # Safety
    /// They are valid, and given back only when the ring was dropped.
    pub unsafe fn register<'a>(
        &mut self,
        buffers: impl Iterator<Item = &'a [u8]>,
    ) -> Result<bool, Obstacle> {
        let vector = |buffer: &[u8]| libc::iovec {
            iov_base: buffer.as_ptr().cast_mut().cast(),
            iov_len: buffer.len(),
        };
        let vectors: Vec<libc::iovec> = buffers.map(vector).collect();
        // SAFETY: the caller vouches for the buffers; the OS has read the list when this returns.
        match unsafe { self.ring.submitter().register_buffers(&vectors) } {
            Ok(()) => {
                self.has_buffers = true;
                Ok(true)
            }
            // Without privileges no more than `ulimit -l` allows can be registered, often 8 MiB.
            // To work on memory that is not is a little slower, and better than not at all.
            Err(error) if error.raw_os_error() == Some(libc::ENOMEM) => {
                log::warn!("registering io_uring buffers failed: {error}: raise 'ulimit -l'");
                Ok(false)
            }
            Err(error) => Err(unavailable("registering buffers with io_uring")(error)),
        }
    }

    /// Queues the operation of `slot`. Nothing is told to the OS yet.
    ///
    /// # Safety
    /// The memory of `entry` is valid until the ring is dropped, and nobody uses it in a way that
    /// the operation forbids until it came back.
    #[inline]
    pub unsafe fn queue(&mut self, slot: usize, entry: squeue::Entry) -> io::Result<()> {
        let entry = entry.user_data(slot as u64);
        // SAFETY: the caller vouches for the memory; files are registered, which holds them.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.map_err(|_| io::Error::other("the submission queue is full"))?;
        self.untold += 1;
        self.in_flight += 1;
        Ok(())
    }

    /// Tells the OS of what is queued, if that is enough for a call.
    #[inline]
    pub fn tell_batch(&mut self) -> io::Result<()> {
        if self.untold >= self.batch { self.tell(0) } else { Ok(()) }
    }

    /// Waits for an operation: its slot, and how many bytes it moved.
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

    /// Tells the OS of all that is queued, and waits until at least `completions` are there.
    #[inline]
    fn tell(&mut self, completions: usize) -> io::Result<()> {
        match self.ring.submit_and_wait(completions) {
            Ok(_) => self.untold = 0,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Operations in flight of which the OS knows: it takes none that it was not told of.
    fn told(&mut self) -> usize {
        let is_polled = self.ring.params().is_setup_sqpoll();
        let submission = self.ring.submission();
        // A thread of the OS that is awake may just be taking them.
        let is_still = !is_polled || submission.need_wakeup();
        self.in_flight.saturating_sub(if is_still { submission.len() } else { 0 })
    }

    /// Gives back what was registered. The OS takes a ring apart some time after it was closed; if
    /// that still had files, nobody could unmount their file system until then.
    fn unregister(&self) {
        let submitter = self.ring.submitter();
        let buffers = if self.has_buffers { submitter.unregister_buffers() } else { Ok(()) };
        if let Err(error) = buffers.and_then(|()| submitter.unregister_files()) {
            log::debug!(
                "cannot release a ring's registered buffers before the OS ends it: {error}"
            );
        }
    }
}

/// The ring with the newest features that this OS has.
fn build(depth: u32, submission: Submission) -> io::Result<IoUring> {
    let entries = depth.next_power_of_two();
    if submission == Submission::Sqpoll {
        return IoUring::builder().setup_sqpoll(SQPOLL_IDLE_MS).build(entries);
    }
    // DEFER_TASKRUN came with Linux 6.1, SINGLE_ISSUER with 6.0: older systems answer EINVAL.
    let deferred = IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(entries);
    match deferred {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            IoUring::builder().build(entries)
        }
        other => other,
    }
}

fn unavailable(tried: &str) -> impl Fn(io::Error) -> Obstacle + '_ {
    move |error| Obstacle::Unavailable(format!("{tried}: {error}"))
}

impl Drop for Ring {
    /// Waits for what is in flight after an error: the OS must not use memory that was given back.
    fn drop(&mut self) {
        let began = Instant::now();
        while self.told() > 0 {
            if self.ring.completion().next().is_some() {
                self.in_flight -= 1;
            } else if let Err(error) = self.tell(1) {
                if began.elapsed() > DRAIN {
                    // The ring itself is broken. To give the memory back would not be safe.
                    log::error!("cannot wait for a ring: {error}");
                    std::process::abort();
                }
                // What was told may end without a call.
                std::thread::sleep(DRAIN_STEP);
            }
        }
        self.unregister();
    }
}
