//! io_uring with registered buffers and files: many blocks in flight, reaped in batches.

use super::{BlockIo, Obstacle, Range, advise, ended_early, io_error};
use crate::buffer::Buffers;
use io_uring::{IoUring, opcode, squeue, types};
use model::case::{Advice, FileWork, Submission};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// A ring of one thread.
pub struct Uring {
    // The ring is dropped before the buffers and the file it works on.
    ring: IoUring,
    buffers: Buffers,
    flights: Box<[Flight]>,
    /// Reads that were queued and have not come back.
    in_flight: usize,
    /// Those of them of which the OS was not told yet.
    untold: usize,
    /// Whether the OS let the buffers be registered.
    registered: bool,
    file: File,
    work: FileWork,
    range: Range,
}

/// What is in flight in a slot.
#[derive(Debug, Clone, Copy, Default)]
struct Flight {
    offset: u64,
    length: usize,
    filled: usize,
}

/// The OS is told of an eighth of the depth at once. To tell it only when nothing is complete any
/// more saves calls but lets the device run dry; to tell it of each read costs a call for each.
const BATCHES_IN_DEPTH: usize = 8;

/// A call for a single read pays only if there is no other to wait for.
const BATCH_MIN: usize = 2;

/// The submission thread sleeps after this long without work.
const SQPOLL_IDLE_MS: u32 = 100;

impl Uring {
    /// A ring for the `range` of `file`. Must be called by the thread that will use it.
    pub fn new(file: File, work: &FileWork, range: Range) -> Result<Uring, Obstacle> {
        let depth = work.depth as usize;
        let ring = build(work).map_err(unavailable("io_uring_setup"))?;
        let buffers = Buffers::new(depth, work.block as usize).map_err(|error| {
            Obstacle::Failed(format!("allocating {depth} buffers failed: {error}"))
        })?;
        ring.submitter()
            .register_files(&[file.as_raw_fd()])
            .map_err(unavailable("registering a file with io_uring"))?;
        let flights = vec![Flight::default(); depth].into_boxed_slice();
        let work = work.clone();
        let mut uring = Uring {
            ring,
            buffers,
            flights,
            in_flight: 0,
            untold: 0,
            registered: false,
            file,
            work,
            range,
        };
        match uring.register_buffers() {
            Ok(()) => uring.registered = true,
            // Without privileges no more than `ulimit -l` allows can be registered, often 8 MiB.
            // Reads into memory that is not are a little slower, and better than none.
            Err(error) if error.raw_os_error() == Some(libc::ENOMEM) => {
                log::warn!("io_uring buffers are not registered: {error}: see 'ulimit -l'");
            }
            Err(error) => return Err(unavailable("registering buffers with io_uring")(error)),
        }
        Ok(uring)
    }

    fn register_buffers(&mut self) -> io::Result<()> {
        let vectors: Vec<libc::iovec> = (0..self.flights.len())
            .map(|slot| {
                let buffer = self.buffers.slot_mut(slot);
                libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() }
            })
            .collect();
        // SAFETY: the vectors describe memory that this struct owns and that is given back only
        // when nothing is in flight any more: see `drop`.
        unsafe { self.ring.submitter().register_buffers(&vectors) }
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

    /// Queues a read of what is still missing in `slot`. Nothing is told to the OS yet.
    #[inline]
    fn queue(&mut self, slot: usize) -> io::Result<()> {
        let Flight { offset, filled, .. } = self.flights[slot];
        let buffer = &mut self.buffers.slot_mut(slot)[filled..];
        let (address, length) = (buffer.as_mut_ptr(), buffer.len() as u32);
        let offset = offset + filled as u64;
        let entry: squeue::Entry = if self.registered {
            opcode::ReadFixed::new(types::Fixed(0), address, length, slot as u16)
                .offset(offset)
                .build()
        } else {
            opcode::Read::new(types::Fixed(0), address, length).offset(offset).build()
        };
        let entry = entry.user_data(slot as u64);
        // SAFETY: the buffer and the file outlive what is in flight (see `drop`), and nobody looks
        // at the buffer of a slot that is: the loop gets its bytes only when it is reaped.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.map_err(|_| io::Error::other("the submission queue is full"))?;
        self.untold += 1;
        self.in_flight += 1;
        Ok(())
    }
}

/// The ring with the newest features that this OS has.
fn build(work: &FileWork) -> io::Result<IoUring> {
    let entries = work.depth.next_power_of_two();
    if work.submission == Submission::Sqpoll {
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

impl BlockIo for Uring {
    const LOADS_ARE_IO: bool = false;

    fn begin_pass(&mut self) -> io::Result<()> {
        advise(&self.file, &self.work, self.range)
    }

    fn loads(&self) -> bool {
        self.work.advice != Advice::None
    }

    #[inline]
    fn submit(&mut self, slot: usize, offset: u64, length: usize) -> io::Result<()> {
        self.flights[slot] = Flight { offset, length, filled: 0 };
        self.queue(slot)?;
        if self.untold >= (self.flights.len() / BATCHES_IN_DEPTH).max(BATCH_MIN) {
            self.tell(0)?;
        }
        Ok(())
    }

    #[inline]
    fn reap(&mut self) -> io::Result<(usize, &[u8])> {
        loop {
            let Some(completion) = self.ring.completion().next() else {
                self.tell(1)?;
                continue;
            };
            self.in_flight -= 1;
            let slot = completion.user_data() as usize;
            let flight = &mut self.flights[slot];
            let Flight { offset, length, filled } = *flight;
            match usize::try_from(completion.result()) {
                Ok(0) => return Err(ended_early(offset, length, filled)),
                Ok(count) => flight.filled += count,
                Err(_) => {
                    let error = io::Error::from_raw_os_error(-completion.result());
                    if error.kind() != io::ErrorKind::Interrupted {
                        return Err(io_error("io_uring read", offset, length, error));
                    }
                }
            }
            if self.flights[slot].filled >= length {
                return Ok((slot, &self.buffers.slot(slot)[..length]));
            }
            self.queue(slot)?;
        }
    }
}

impl Drop for Uring {
    /// Waits for what is in flight after an error: the OS must not write to memory that was given
    /// back.
    fn drop(&mut self) {
        while self.in_flight > 0 {
            if self.ring.completion().next().is_some() {
                self.in_flight -= 1;
            } else if let Err(error) = self.tell(1) {
                // The ring itself is broken. To give the memory back would not be safe.
                log::error!("a ring cannot be waited for: {error}");
                std::process::abort();
            }
        }
    }
}
