//! The least that reading a file at random costs: `pread` in a loop, with no clock, no histogram
//! and no protocol in it. `cargo xtask bench` holds the timed loop against it.
//!
//! `bare_pread FILE SEED MILLISECONDS` prints the nanoseconds that an operation of 4 KiB took. The
//! blocks come in the order in which a trial with that seed reads them, into the same kind of
//! buffer.

#![forbid(unsafe_code)]

use model::pattern::{Order, Pattern};
use std::fs::File;
use std::io::{self, Error, Write};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};
use worker::buffer::Buffers;

/// Bytes of an operation.
const BLOCK: u64 = 4096;

/// The clock is looked at once in so many operations: its share of one is below 0.02 ns.
const OPS_BETWEEN_LOOKS: u64 = 4096;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, seed, milliseconds] = arguments.as_slice() else {
        return Err(Error::other("usage: bare_pread FILE SEED MILLISECONDS"));
    };
    let seed = seed.parse().map_err(Error::other)?;
    let time = Duration::from_millis(milliseconds.parse().map_err(Error::other)?);
    let file = File::open(path)?;
    let blocks = file.metadata()?.len() / BLOCK;
    if blocks == 0 {
        return Err(Error::other(format!("'{path}' has less than {BLOCK} bytes")));
    }
    let order = Order::new(Pattern::Random, blocks, 1, seed);
    // On a thread of its own, as a worker reads: where a process has more than one thread, the OS
    // counts the users of an open file with an atomic operation at each call.
    let ns_per_op = std::thread::scope(|scope| {
        #[expect(clippy::disallowed_methods, reason = "without a thread it has nothing to do")]
        let reader = scope.spawn(|| ns_per_op(&file, &order, time));
        reader.join().map_err(|_| Error::other("the reading thread panicked"))?
    })?;
    writeln!(io::stdout(), "{ns_per_op}")
}

/// Reads blocks of `file` in this order, round and round, until `time` is over.
fn ns_per_op(file: &File, order: &Order, time: Duration) -> io::Result<f64> {
    let mut buffers = Buffers::new(1, BLOCK as usize)?;
    let (mut ops, mut step) = (0u64, 0);
    let start = Instant::now();
    while start.elapsed() < time {
        for _ in 0..OPS_BETWEEN_LOOKS {
            file.read_exact_at(buffers.slot_mut(0), order.block(step) * BLOCK)?;
            step += 1;
            if step == order.blocks() {
                step = 0;
            }
        }
        ops += OPS_BETWEEN_LOOKS;
    }
    Ok(start.elapsed().as_nanos() as f64 / ops as f64)
}
