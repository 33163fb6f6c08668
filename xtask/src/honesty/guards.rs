//! Competing load on the machine, which ends when it is dropped.

use anyhow::{Context, Result};
use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Threads of this process, which is not the one being measured; they end when this is dropped.
#[derive(Debug)]
pub(super) struct Neighbours {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// Bytes that a neighbor reads at once.
const READ_BYTES: usize = 1 << 20;

/// Alignment of buffers for direct I/O.
const ALIGN: usize = 4096;

impl Neighbours {
    /// Starts `n` threads that repeat `work`.
    fn start(n: usize, work: impl Fn(usize) + Clone + Send + 'static) -> Neighbours {
        let stop = Arc::new(AtomicBool::new(false));
        let start = |_| {
            let (stop, work) = (Arc::clone(&stop), work.clone());
            thread::spawn(move || {
                let mut times = 0;
                while !stop.load(Ordering::Relaxed) {
                    work(times);
                    times += 1;
                }
            })
        };
        Neighbours { threads: (0..n).map(start).collect(), stop }
    }

    /// Two CPU-bound threads per CPU.
    pub(super) fn busy() -> Neighbours {
        let cpus = thread::available_parallelism().map_or(1, usize::from);
        Neighbours::start(2 * cpus, |times| {
            std::hint::black_box(times);
        })
    }

    /// Two threads that read the file at `path` with O_DIRECT.
    pub(super) fn readers(path: &Path) -> Result<Neighbours> {
        let flags = i32::try_from(rustix::fs::OFlags::DIRECT.bits()).expect("flags are an int");
        let file = File::options().read(true).custom_flags(flags).open(path);
        let file = file.with_context(|| format!("'{}'", path.display()))?;
        let blocks = file.metadata().map_or(0, |data| data.len()) / READ_BYTES as u64;
        let file = Arc::new(file);
        Ok(Neighbours::start(2, move |times| {
            let mut buffer = vec![0; READ_BYTES + ALIGN];
            let start = buffer.as_ptr().align_offset(ALIGN);
            let offset = times as u64 % blocks.max(1) * READ_BYTES as u64;
            // Whether these reads succeed does not matter.
            let _ = file.read_at(&mut buffer[start..start + READ_BYTES], offset);
        }))
    }

    /// A thread that calls `then` once, after the device has moved `bytes` more than `moved`
    /// reports now.
    pub(super) fn watch(
        moved: impl Fn() -> u64 + Clone + Send + 'static,
        bytes: u64,
        then: impl Fn() + Clone + Send + 'static,
    ) -> Neighbours {
        let (from, is_done) = (moved(), Arc::new(AtomicBool::new(false)));
        Neighbours::start(1, move |_| {
            thread::sleep(Duration::from_millis(10));
            if moved() >= from + bytes && !is_done.swap(true, Ordering::Relaxed) {
                then();
            }
        })
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A thread that failed has already reported it.
            let _ = thread.join();
        }
    }
}
