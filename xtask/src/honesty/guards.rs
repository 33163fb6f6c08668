//! Neighbours of a tool that is measured, which end when they are dropped.

use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Tries until it works, for a second. Whether it did.
pub(super) fn soon(try_it: impl Fn() -> bool) -> bool {
    for _ in 0..50 {
        if try_it() {
            return true;
        }
        thread::sleep(Duration::from_millis(20));
    }
    false
}

/// Threads of this process, which is none that is measured; they end when it is dropped.
#[derive(Debug)]
pub(super) struct Neighbours {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// Bytes that a neighbour reads at once.
const READ_BYTES: usize = 1 << 20;

/// What a buffer for direct I/O is aligned to.
const ALIGN: usize = 4096;

impl Neighbours {
    /// `n` that do `work` again and again.
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

    /// Twice as many as there are CPUs, which need the CPU.
    pub(super) fn busy() -> Neighbours {
        let cpus = thread::available_parallelism().map_or(1, usize::from);
        Neighbours::start(2 * cpus, |times| {
            std::hint::black_box(times);
        })
    }

    /// Two that read the file at `path` past the page cache.
    pub(super) fn readers(path: &Path) -> Result<Neighbours, String> {
        let flags = i32::try_from(rustix::fs::OFlags::DIRECT.bits()).expect("flags are an int");
        let open = File::options().read(true).custom_flags(flags).open(path);
        let file = open.map_err(|error| format!("'{}': {error}", path.display()))?;
        let blocks = file.metadata().map_or(0, |data| data.len()) / READ_BYTES as u64;
        let file = Arc::new(file);
        Ok(Neighbours::start(2, move |times| {
            let mut buffer = vec![0; READ_BYTES + ALIGN];
            let start = buffer.as_ptr().align_offset(ALIGN);
            let offset = times as u64 % blocks.max(1) * READ_BYTES as u64;
            // What they read, and whether they could, is nobody's figure.
            let _ = file.read_at(&mut buffer[start..start + READ_BYTES], offset);
        }))
    }

    /// One that waits until the device has moved `bytes` more than `moved` says now, and then does
    /// `then`, once.
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
            // One that failed has said so itself.
            let _ = thread.join();
        }
    }
}
