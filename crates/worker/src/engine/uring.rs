//! io_uring with registered buffers and files: many blocks in flight, reaped in batches.

use super::{BlockIo, Obstacle, Range, advise, ended_early, io_error};
use crate::buffer::Buffers;
use io_uring::{IoUring, opcode, squeue, types};
use model::case::{FileWork, Submission};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// A ring of one thread.
pub struct Uring {
    // The ring is dropped before the buffers and the file it works on.
    ring: IoUring,
    buffers: Buffers,
    flights: Box<[Flight]>,
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
        let mut uring = Uring { ring, buffers, flights, file, work, range };
        uring.register_buffers().map_err(unavailable(
            "registering buffers with io_uring (does 'ulimit -l' allow as much?)",
        ))?;
        Ok(uring)
    }

    fn register_buffers(&mut self) -> io::Result<()> {
        let vectors: Vec<libc::iovec> = (0..self.flights.len())
            .map(|slot| {
                let buffer = self.buffers.slot_mut(slot);
                libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() }
            })
            .collect();
        // SAFETY: the vectors describe memory that this struct owns. The OS pins its pages until
        // the ring is gone, so that even what is in flight after an error writes to no page that
        // was given to somebody else.
        unsafe { self.ring.submitter().register_buffers(&vectors) }
    }

    /// Queues a read of what is still missing in `slot`. Nothing is told to the OS yet.
    #[inline]
    fn queue(&mut self, slot: usize) -> io::Result<()> {
        let Flight { offset, filled, .. } = self.flights[slot];
        let buffer = &mut self.buffers.slot_mut(slot)[filled..];
        let entry: squeue::Entry = opcode::ReadFixed::new(
            types::Fixed(0),
            buffer.as_mut_ptr(),
            buffer.len() as u32,
            slot as u16,
        )
        .offset(offset + filled as u64)
        .build()
        .user_data(slot as u64);
        // SAFETY: the buffer and the file outlive the ring, and nobody looks at the buffer of a
        // slot that is in flight: the loop gets a slot's bytes only when it is reaped.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.map_err(|_| io::Error::other("the submission queue is full"))
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

    #[inline]
    fn submit(&mut self, slot: usize, offset: u64, length: usize) -> io::Result<()> {
        self.flights[slot] = Flight { offset, length, filled: 0 };
        self.queue(slot)
    }

    #[inline]
    fn reap(&mut self) -> io::Result<(usize, &[u8])> {
        loop {
            let Some(completion) = self.ring.completion().next() else {
                // All that was queued since the last time goes to the OS in one call.
                match self.ring.submit_and_wait(1) {
                    Ok(_) => continue,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => return Err(error),
                }
            };
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
