//! A case: one thing to measure, described by its axes.
//!
//! A case has one text form, pairs of an axis and a value, which `axis.rs` writes and parses. The
//! command line, the wire, the record, the tables and the JSON all use it.

use crate::arrival::Arrival;
use crate::buffers;
use crate::memory::{HUGE_PAGE_LEAST, huge_span};
use crate::named;
use crate::part::Part;
use crate::pattern::Pattern;
use crate::shape::Walk;
use crate::taking_part::TakingPart;
use crate::zipf::Theta;
use serde::{Deserialize, Serialize};
use std::time::Duration;

pub use crate::axes::Axes;
pub use crate::cache::{Cache, Populated};
pub use crate::command::CommandWork;
pub use crate::io::{BufferPages, Io};
pub use crate::memory::{Isa, Kernel, LINE, MemoryWork, Pages, STEP};
pub use crate::metadata::{Call, Directories, MetadataWork, NameSync};
pub use crate::reading::{Advice, BlockPlace, Engine, ReadCalls, ReadWork, Submission, Touch};
pub use crate::writing::{Allocation, Atomic, Fill, JournalEnd, Op, Sync, WriteEngine, WriteWork};

/// The name of this program's own worker: the default value of the axis `peer`.
pub const OWN_PEER: &str = "rust";

named! {
    /// The kind of work.
    Kind "kind" {
        /// Reads a file.
        Read "read",
        /// Writes a file; has the axis `op`.
        Write "write",
        /// Runs a loop over memory; has the axis `kernel`.
        Memory "memory",
        /// Works on the names of files; has the axis `call`.
        Metadata "metadata",
        /// Runs a command; has the axis `command`.
        Command "command",
    }
}

/// The work of a case.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Work {
    /// Reads a file.
    Read(ReadWork),
    /// Writes a file.
    Write(WriteWork),
    /// Runs over memory.
    Memory(MemoryWork),
    /// Works on names.
    Metadata(MetadataWork),
    /// Runs a command.
    Command(CommandWork),
}

/// One thing to measure.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "Axes", try_from = "Axes")]
pub struct Case {
    /// The program that does the work.
    pub peer: String,
    /// The work.
    pub work: Work,
    /// The names of the [actors](crate::actor) that use the storage at the same time.
    pub beside: Vec<String>,
}

impl Case {
    /// A case of this kind with default axes, which are set later.
    pub(crate) fn blank(kind: Kind) -> Case {
        Case::own(match kind {
            Kind::Read => Work::Read(ReadWork::default()),
            Kind::Write => Work::Write(WriteWork::default()),
            Kind::Memory => Work::Memory(MemoryWork::default()),
            Kind::Metadata => Work::Metadata(MetadataWork::default()),
            Kind::Command => Work::Command(CommandWork::default()),
        })
    }

    /// Sets axes that do not apply to a case to a fixed value, so that cases that do the same are
    /// equal.
    pub(crate) fn clear_meaningless(&mut self) {
        if let Some(io) = self.io_mut().filter(|io| io.pattern != Pattern::Strided) {
            io.stride = 1;
        }
        if let Some(io) = self.io_mut().filter(|io| io.pattern != Pattern::Zipf) {
            io.theta = Theta::USUAL;
        }
        if let Some(io) = self.io_mut().filter(|io| io.cache != Cache::Warm) {
            io.populated = Populated::ReadAhead;
        }
        // What older records leave open is known of buffers that fill no huge page.
        let writes = self.write().is_some();
        let is_known = |io: &&mut Io| {
            io.pages == BufferPages::Fitting && !buffers::may_fill(io, writes, HUGE_PAGE_LEAST)
        };
        if let Some(io) = self.io_mut().filter(is_known) {
            io.pages = BufferPages::Base;
        }
        if let Some(io) = self.io_mut().filter(|io| io.rate == 0) {
            io.arrival = Arrival::Poisson;
        }
        if let Some(work) = self.memory_mut().filter(|work| !work.kernel.touches_pages()) {
            work.step = STEP;
        }
        // Names that do not exist yet are in no cache.
        if let Some(work) = self.metadata_mut().filter(|work| work.call == Call::Create) {
            work.cache = Cache::AsIs;
        }
        if let Some(work) = self.metadata_mut().filter(|work| !work.call.changes()) {
            work.sync = NameSync::None;
        }
    }

    /// What its loop runs over, if the worker chooses the shape: with `isa auto`, in this program's
    /// own worker. Blocks that are read into buffers are in the caches when the loop runs.
    pub fn walk(&self) -> Option<Walk> {
        if self.peer != OWN_PEER {
            return None;
        }
        match &self.work {
            Work::Memory(work) if work.isa == Isa::Auto && work.kernel.has_vectors() => {
                let MemoryWork { kernel, pages, threads, working_set, .. } = *work;
                Some(Walk { kernel, pages, threads, working_set })
            }
            Work::Read(work) if work.isa == Isa::Auto && work.engine != Engine::Null => {
                let kernel = match work.touch {
                    Touch::Sum => Kernel::Read,
                    Touch::Count => Kernel::Count,
                    Touch::None | Touch::Page => return None,
                };
                let pages = match work.io.pages {
                    BufferPages::Huge => Pages::Huge,
                    BufferPages::Base | BufferPages::Fitting => Pages::Base,
                };
                let in_flight = u64::from(work.io.depth) * u64::from(work.io.threads);
                let working_set = match work.engine.place() {
                    BlockPlace::Mapping | BlockPlace::Memory => work.io.size,
                    _ => work.io.block.saturating_mul(in_flight),
                };
                Some(Walk { kernel, pages, threads: work.io.threads, working_set })
            }
            Work::Memory(_) | Work::Read(_) => None,
            Work::Write(_) | Work::Metadata(_) | Work::Command(_) => None,
        }
    }

    /// A case for this program's own worker.
    pub fn own(work: Work) -> Case {
        Case { peer: OWN_PEER.to_string(), work, beside: Vec::new() }
    }

    /// The same without actors beside it.
    pub fn alone(&self) -> Case {
        Case { beside: Vec::new(), ..self.clone() }
    }

    /// The kind of its work.
    pub fn kind(&self) -> Kind {
        match self.work {
            Work::Read(_) => Kind::Read,
            Work::Write(_) => Kind::Write,
            Work::Memory(_) => Kind::Memory,
            Work::Metadata(_) => Kind::Metadata,
            Work::Command(_) => Kind::Command,
        }
    }

    /// Number of threads. Those of a command are its own affair: ioassay starts it once.
    pub fn threads(&self) -> u32 {
        match &self.work {
            Work::Read(ReadWork { io, .. }) | Work::Write(WriteWork { io, .. }) => io.threads,
            Work::Memory(work) => work.threads,
            Work::Metadata(work) => work.threads,
            Work::Command(_) => 1,
        }
    }

    /// The maximum duration of a trial; without a limit for a command, which ends by itself.
    pub fn time(&self) -> Duration {
        match &self.work {
            Work::Read(ReadWork { io, .. }) | Work::Write(WriteWork { io, .. }) => io.time,
            Work::Memory(work) => work.time,
            Work::Metadata(work) => work.time,
            Work::Command(_) => Duration::MAX,
        }
    }

    /// Whether a trial does its work more than once if time allows, so that only time ends it.
    pub fn repeats(&self) -> bool {
        match &self.work {
            Work::Read(work) => work.repeats(),
            Work::Write(work) => work.repeats(),
            Work::Memory(_) => true,
            Work::Metadata(work) => work.repeats(),
            Work::Command(_) => false,
        }
    }

    pub(crate) fn threads_mut(&mut self) -> Option<&mut u32> {
        Some(match &mut self.work {
            Work::Read(ReadWork { io, .. }) | Work::Write(WriteWork { io, .. }) => &mut io.threads,
            Work::Memory(work) => &mut work.threads,
            Work::Metadata(work) => &mut work.threads,
            Work::Command(_) => return None,
        })
    }

    /// Sets the maximum duration of a trial. A command has none.
    pub fn set_time(&mut self, time: Duration) {
        self.time_mut().into_iter().for_each(|own| *own = time);
    }

    pub(crate) fn time_mut(&mut self) -> Option<&mut Duration> {
        Some(match &mut self.work {
            Work::Read(ReadWork { io, .. }) | Work::Write(WriteWork { io, .. }) => &mut io.time,
            Work::Memory(work) => &mut work.time,
            Work::Metadata(work) => &mut work.time,
            Work::Command(_) => return None,
        })
    }

    /// How it reads or writes a file, if it does.
    pub fn io(&self) -> Option<&Io> {
        match &self.work {
            Work::Read(ReadWork { io, .. }) | Work::Write(WriteWork { io, .. }) => Some(io),
            Work::Memory(_) | Work::Metadata(_) | Work::Command(_) => None,
        }
    }

    /// Sizes in bytes of the buffers that ioassay's own worker allocates for each thread.
    pub fn buffers(&self) -> Vec<u64> {
        match &self.work {
            Work::Read(work) => buffers::of_read(work),
            Work::Write(work) => buffers::of_write(work),
            Work::Memory(_) | Work::Metadata(_) | Work::Command(_) => Vec::new(),
        }
    }

    /// Bytes that the buffers of all threads occupy, in whole huge pages of `huge` bytes if it asks
    /// for those and their size is known.
    pub fn buffer_bytes(&self, huge: Option<u64>) -> u64 {
        let huge = huge.filter(|_| self.io().is_some_and(|io| io.pages == BufferPages::Huge));
        let span = |bytes: u64| huge.map_or(Some(bytes), |huge| huge_span(bytes, huge));
        let each = self.buffers().into_iter().map(|bytes| span(bytes).unwrap_or(u64::MAX));
        each.fold(0, u64::saturating_add).saturating_mul(self.threads().into())
    }

    /// Whether it uses the null engine, which moves no bytes.
    pub fn is_null(&self) -> bool {
        match &self.work {
            Work::Read(work) => work.engine == Engine::Null,
            Work::Write(work) => work.engine == WriteEngine::Null,
            Work::Memory(_) | Work::Metadata(_) | Work::Command(_) => false,
        }
    }

    /// Whether it uses io_uring.
    pub fn is_queued(&self) -> bool {
        match &self.work {
            Work::Read(work) => work.engine.calls() == ReadCalls::Queued,
            Work::Write(work) => work.engine == WriteEngine::Uring,
            Work::Memory(_) | Work::Metadata(_) | Work::Command(_) => false,
        }
    }

    /// Whether its operations follow a schedule (an open loop).
    pub fn is_open(&self) -> bool {
        self.io().is_some_and(|io| io.rate > 0)
    }

    /// Whether some of its operations read and the others write.
    pub fn is_mixed(&self) -> bool {
        self.write().is_some_and(|work| work.read_share > 0)
    }

    /// The same with `rate` operations per second; 0 is a closed loop. Memory has no rate.
    pub fn at_rate(&self, rate: u64) -> Case {
        let mut case = self.clone();
        case.io_mut().into_iter().for_each(|io| io.rate = rate);
        case.clear_meaningless();
        case
    }

    /// Like [`Case::io`], but mutable.
    pub fn io_mut(&mut self) -> Option<&mut Io> {
        match &mut self.work {
            Work::Read(ReadWork { io, .. }) | Work::Write(WriteWork { io, .. }) => Some(io),
            Work::Memory(_) | Work::Metadata(_) | Work::Command(_) => None,
        }
    }

    /// The work, if it reads a file.
    pub fn read(&self) -> Option<&ReadWork> {
        if let Work::Read(work) = &self.work { Some(work) } else { None }
    }

    pub(crate) fn read_mut(&mut self) -> Option<&mut ReadWork> {
        if let Work::Read(work) = &mut self.work { Some(work) } else { None }
    }

    /// The work, if it writes a file.
    pub fn write(&self) -> Option<&WriteWork> {
        if let Work::Write(work) = &self.work { Some(work) } else { None }
    }

    pub(crate) fn write_mut(&mut self) -> Option<&mut WriteWork> {
        if let Work::Write(work) = &mut self.work { Some(work) } else { None }
    }

    /// The work, if it is on memory.
    pub fn memory(&self) -> Option<&MemoryWork> {
        if let Work::Memory(work) = &self.work { Some(work) } else { None }
    }

    pub(crate) fn memory_mut(&mut self) -> Option<&mut MemoryWork> {
        if let Work::Memory(work) = &mut self.work { Some(work) } else { None }
    }

    /// Size in bytes of the file that is read or written, if any.
    pub fn file_size(&self) -> Option<u64> {
        self.io().map(|io| io.size)
    }

    /// The work, if it is on names.
    pub fn metadata(&self) -> Option<&MetadataWork> {
        if let Work::Metadata(work) = &self.work { Some(work) } else { None }
    }

    pub(crate) fn metadata_mut(&mut self) -> Option<&mut MetadataWork> {
        if let Work::Metadata(work) = &mut self.work { Some(work) } else { None }
    }

    /// The work, if it is a command.
    pub fn command(&self) -> Option<&CommandWork> {
        if let Work::Command(work) = &self.work { Some(work) } else { None }
    }

    pub(crate) fn command_mut(&mut self) -> Option<&mut CommandWork> {
        if let Work::Command(work) = &mut self.work { Some(work) } else { None }
    }

    /// The cache state of the file, of the names, or of the files of a command, at the start.
    pub fn cache(&self) -> Option<Cache> {
        match &self.work {
            Work::Metadata(work) => Some(work.cache),
            Work::Command(work) => Some(work.cache),
            Work::Read(_) | Work::Write(_) | Work::Memory(_) => Some(self.io()?.cache),
        }
    }

    pub(crate) fn cache_mut(&mut self) -> Option<&mut Cache> {
        match self.kind() {
            Kind::Metadata => Some(&mut self.metadata_mut()?.cache),
            Kind::Command => Some(&mut self.command_mut()?.cache),
            _ => Some(&mut self.io_mut()?.cache),
        }
    }

    /// How its file came into the page cache, if that is where it must be.
    pub fn populated(&self) -> Option<Populated> {
        Some(self.io().filter(|io| io.cache == Cache::Warm)?.populated)
    }

    /// Which of the hosts of a run measure it.
    pub fn hosts(&self) -> TakingPart {
        self.io().map(|io| io.hosts).or(self.metadata().map(|work| work.hosts)).unwrap_or_default()
    }

    /// The same, to be changed; `None` if hosts cannot share such work.
    pub fn hosts_mut(&mut self) -> Option<&mut TakingPart> {
        match self.kind() {
            Kind::Metadata => Some(&mut self.metadata_mut()?.hosts),
            _ => Some(&mut self.io_mut()?.hosts),
        }
    }

    /// The host's part of the work, if several can divide it.
    pub fn part(&self) -> Option<Part> {
        self.io().map(|io| io.part).or(self.metadata().map(|work| work.part))
    }

    /// The same, to be changed.
    pub fn part_mut(&mut self) -> Option<&mut Part> {
        match self.kind() {
            Kind::Metadata => Some(&mut self.metadata_mut()?.part),
            _ => Some(&mut self.io_mut()?.part),
        }
    }

    /// Whether it uses storage: a file, or the names of files.
    pub fn uses_storage(&self) -> bool {
        !matches!(self.work, Work::Memory(_)) && !self.is_null()
    }
}
