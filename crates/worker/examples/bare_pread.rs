//! The minimum cost of random reads: `pread` in a loop, without a clock or histogram. `cargo xtask
//! bench` compares the timed loop with it.
//!
//! It is a peer that can run only this case. It reads blocks in the same order as a trial with the
//! job's seed, into the same kind of buffer. It neither times single operations nor sums anything.

#![forbid(unsafe_code)]

use model::case::{BufferPages, Engine, Touch, Work};
use model::pattern::Visits;
use model::sample::{Latencies, Sample, Span};
use model::trial::{Job, Outcome};
use model::wire::{PROTOCOL, Reply, Request};
use std::fs::File;
use std::io::{self, Error, Write};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};
use worker::buffer::Buffers;

/// Operations between two clock readings, which makes a reading's share below 0.02 ns each.
const OPS_BETWEEN_LOOKS: u64 = 4096;

fn main() -> io::Result<()> {
    say(&Reply::Hello { protocol: PROTOCOL, name: "bare-pread".into(), version: "1".into() })?;
    let mut ready = None;
    for line in io::stdin().lines() {
        match (Request::decode(&line?).map_err(Error::other)?, ready.take()) {
            (Request::Job(job), _) if is_known(&job) => {
                ready = Some(job);
                say(&Reply::Ready)?;
            }
            (Request::Job(_), _) => {
                say(&Reply::Unavailable { reason: "it has pread without a touch only".into() })?;
            }
            (Request::Go, Some(job)) => {
                let outcome = perform(&job).unwrap_or_else(|error| Outcome::Failed {
                    reason: format!("reading failed: {error}"),
                });
                Reply::of(&outcome).iter().try_for_each(say)?;
            }
            (Request::Calibrate(_), _) => {
                say(&Reply::Failed { reason: "it has no loops over memory".into() })?;
            }
            (Request::Go, None) => {}
        }
    }
    Ok(())
}

fn say(reply: &Reply) -> io::Result<()> {
    let mut out = io::stdout();
    writeln!(out, "{}", reply.encode())?;
    out.flush()
}

fn is_known(job: &Job) -> bool {
    let Work::Read(work) = &job.case.work else { return false };
    work.engine == Engine::Pread && work.touch == Touch::None && job.case.threads() == 1
}

fn perform(job: &Job) -> io::Result<Outcome> {
    let Work::Read(work) = &job.case.work else { return Err(Error::other("no file is read")) };
    let path = job.file.as_deref().ok_or_else(|| Error::other("the job has no file"))?;
    let (file, visits) = (File::open(path)?, work.io.visits(0, job.seed));
    // Read on a separate thread, as a worker does. In a multithreaded process, each call updates
    // the open file's reference count atomically.
    let span = std::thread::scope(|scope| {
        #[expect(clippy::disallowed_methods, reason = "without a thread it has nothing to do")]
        let reader = scope.spawn(|| read(&file, &visits, work.io.block, job.case.time()));
        reader.join().map_err(|_| Error::other("the reading thread panicked"))?
    })?;
    let latencies = Latencies::default();
    Ok(Outcome::Done(Sample { spans: vec![span], latencies, ..Sample::default() }))
}

/// Reads blocks of `file` in this order, repeatedly, until `time` is up.
fn read(file: &File, visits: &Visits, block: u64, time: Duration) -> io::Result<Span> {
    let mut buffers = Buffers::new(1, block as usize, BufferPages::Base)?;
    let (mut ops, mut bytes, mut step) = (0, 0, 0);
    let start = Instant::now();
    while start.elapsed() < time {
        for _ in 0..OPS_BETWEEN_LOOKS {
            let (offset, length) = visits.block(step);
            file.read_exact_at(&mut buffers.slot_mut(0)[..length as usize], offset)?;
            bytes += length;
            step += 1;
            if step == visits.count() {
                step = 0;
            }
        }
        ops += OPS_BETWEEN_LOOKS;
    }
    let end_ns = start.elapsed().as_nanos() as u64;
    Ok(Span { start_ns: 1, end_ns: 1 + end_ns, bytes, ops, ..Span::default() })
}
