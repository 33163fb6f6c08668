//! Where a plan runs, and which cases are impossible there.

use crate::cache;
use crate::case::{Advice, Atomic, BlockPlace, BufferPages, Cache, Case, Engine, Io, Isa};
use crate::case::{MemoryWork, OWN_PEER, Op, ReadCalls, ReadWork, Submission, Touch, Work};
use crate::case::{WriteEngine, WriteWork};
use crate::host::{Host, Storage};
use crate::list::those;
use crate::memory::{ARRAY_GRANULE, HUGE_PAGE_LEAST, LINE};
use crate::pattern::{Pattern, Share};
use crate::peer::Peer;
use crate::refusal;
use crate::units;

/// Where a plan runs, which determines the possible cases.
#[derive(Debug)]
pub struct Environment<'a> {
    /// The machine.
    pub host: &'a Host,
    /// The test file's file system; `None` if no file is used.
    pub storage: Option<&'a Storage>,
    /// The file system of a copy's source; `None` if it is the test file's.
    pub source: Option<&'a Storage>,
    /// The other programs that can measure, besides this program's own worker.
    pub peers: &'a [Peer],
}

/// One part in this many of the available memory is left to other processes.
const MEMORY_RESERVE_PARTS: u64 = 4;

impl Environment<'_> {
    /// Why `case` cannot be measured here, or would not measure what it claims.
    pub fn refusal(&self, case: &Case) -> Option<String> {
        let any = self.peer_refusal(case).or_else(|| threads_refusal(case));
        let any = any.or_else(|| refusal::of_shared(case)).or_else(|| refusal::of_sizes(case));
        let any = any.or_else(|| self.pages_refusal(case));
        any.or_else(|| rate_refusal(case)).or_else(|| match &case.work {
            Work::Read(work) => cut_refusal(&work.io)
                .or_else(|| zipf_refusal(work))
                .or_else(|| engine_refusal(work))
                .or_else(|| self.isa_refusal(work.isa))
                .or_else(|| self.load_refusal(work))
                .or_else(|| self.buffer_refusal(case))
                .or_else(|| self.offset_refusal(&work.io))
                .or_else(|| self.storage_refusal(&work.io))
                .or_else(|| self.poll_refusal(work)),
            Work::Write(work) => cut_refusal(&work.io)
                .or_else(|| work.refusal())
                .or_else(|| self.buffer_refusal(case))
                .or_else(|| self.written_refusal(work))
                .or_else(|| self.atomic_refusal(work)),
            Work::Metadata(work) => {
                work.refusal().or_else(|| refusal::of_names(work, self.storage?))
            }
            Work::Command(_) => None,
            Work::Memory(work) => self
                .isa_refusal(work.isa)
                .or_else(|| kernel_refusal(work))
                .or_else(|| self.memory_refusal("a working set", self.footprint(work))),
        })
    }

    fn peer_refusal(&self, case: &Case) -> Option<String> {
        if case.peer == OWN_PEER {
            return None;
        }
        match self.peers.iter().find(|peer| peer.name == case.peer) {
            Some(peer) => peer.refusal(case),
            None => Some(format!("there is no peer '{}'", case.peer)),
        }
    }

    fn isa_refusal(&self, isa: Isa) -> Option<String> {
        let known = isa == Isa::Auto || self.host.isas.contains(&isa);
        (!known).then(|| format!("this processor has no {isa}"))
    }

    /// Bytes that the arrays of `work` occupy here.
    pub(crate) fn footprint(&self, work: &MemoryWork) -> u64 {
        work.footprint(self.host.page, self.host.huge_page_bytes())
    }

    /// Refuses excessive memory in advance: allocating it would make the OS kill this program or
    /// another. If the size of memory is unknown, nothing is refused.
    pub(crate) fn memory_refusal(&self, what: &str, bytes: u64) -> Option<String> {
        let available = self.host.memory_available?;
        let reserve = available / MEMORY_RESERVE_PARTS;
        (bytes > available - reserve).then(|| {
            format!(
                "{what} of {} does not fit: {} of memory are available, and {} must stay free for \
                 other programs",
                units::bytes(bytes),
                units::bytes_rounded(available),
                units::bytes_rounded(reserve),
            )
        })
    }

    fn load_refusal(&self, work: &ReadWork) -> Option<String> {
        if work.engine.place() != BlockPlace::Memory {
            return None;
        }
        self.memory_refusal("a file loaded into memory", work.io.size)
    }

    /// Why the file of `case` cannot be in the page cache as a whole. For files that the run
    /// creates: pages of others may count as the memory of other control groups. `remedy` is what
    /// the user can do.
    pub fn warm_refusal(&self, case: &Case, remedy: &str) -> Option<String> {
        let size = case.file_size().filter(|_| case.cache() == Some(Cache::Warm))?;
        let available = self.host.memory_available.filter(|available| size > *available)?;
        let whose = match self.host.memory_quota {
            Some(_) => "this control group",
            None => "this machine",
        };
        Some(format!(
            "a file of {} cannot be warm: {whose} has {} of memory for it; {remedy}",
            units::bytes(size),
            units::bytes_rounded(available),
        ))
    }

    fn pages_refusal(&self, case: &Case) -> Option<String> {
        let buffers = case.buffers();
        match case.io()?.pages {
            BufferPages::Base => None,
            BufferPages::Fitting => {
                Some("only older records have pages 'fitting': use 'base' or 'huge'".to_string())
            }
            BufferPages::Huge if buffers.is_empty() => Some(
                "pages 'huge' are of buffers, and this case has none: use pages 'base'; for \
                 mappings and loaded files, there is advice 'hugepage'"
                    .to_string(),
            ),
            BufferPages::Huge => {
                // Buffers fill small huge pages, however short they are.
                let huge = self.host.huge_page_bytes().filter(|huge| *huge > HUGE_PAGE_LEAST)?;
                let short = buffers.into_iter().find(|bytes| *bytes < huge)?;
                Some(format!(
                    "buffers of {} fill no huge page, which has {} here: use pages 'base'",
                    units::bytes(short),
                    units::bytes(huge)
                ))
            }
        }
    }

    /// The blocks in flight may take a quarter of the memory. The data to write is in memory before
    /// the clock starts.
    fn buffer_refusal(&self, case: &Case) -> Option<String> {
        let (available, io) = (self.host.memory_available?, case.io()?);
        let slots = u64::from(io.threads) * u64::from(io.depth);
        let bytes = case.buffer_bytes(self.host.huge_page_bytes());
        let (blocks, what) = match &case.work {
            Work::Write(_) => (slots.saturating_mul(io.block), "the data to write"),
            _ => (bytes, "buffers"),
        };
        if !case.buffers().is_empty() && blocks > available / 4 {
            let huge = if io.pages == BufferPages::Huge { " in huge pages" } else { "" };
            return Some(format!(
                "{slots} buffers of {}{huge} need more than a quarter of the {} of available \
                 memory",
                units::bytes(io.block),
                units::bytes_rounded(available),
            ));
        }
        self.memory_refusal(what, bytes)
    }

    /// Refuses parts of a file that begin within a page: files are cached and evicted by pages.
    fn offset_refusal(&self, io: &Io) -> Option<String> {
        let page = self.host.page.max(1);
        (!io.offset.is_multiple_of(page)).then(|| {
            format!(
                "the offset {} is not a multiple of a page of {}, by which files are cached",
                units::bytes(io.offset),
                units::bytes(page)
            )
        })
    }

    /// Refuses to poll queues that have no polling, where the OS would fail each read.
    fn poll_refusal(&self, work: &ReadWork) -> Option<String> {
        let devices = self.storage.filter(|_| work.submission == Submission::Iopoll)?;
        let device = devices.devices.iter().find(|device| device.io_poll == Some(false))?;
        Some(format!("the queue of {} does not poll (its queue/io_poll is 0)", device.name))
    }

    fn atomic_refusal(&self, work: &WriteWork) -> Option<String> {
        let storage = self.storage.filter(|_| work.atomic == Atomic::Yes)?;
        refusal::of_atomic(work.io.block, storage)
    }

    /// Refuses a cache state that what is written, or the source of a copy, cannot have.
    fn written_refusal(&self, work: &WriteWork) -> Option<String> {
        let source = self.source.filter(|_| work.op == Op::Copy);
        let of_source = source.and_then(|source| {
            let reason = refusal::of_storage(&work.io, source)?;
            Some(format!("the source in '{}': {reason}", source.directory.display()))
        });
        // A copy's cache state is that of its source, but both ends are opened with O_DIRECT.
        let target = self.storage.filter(|_| source.is_none() || work.io.cache == Cache::Direct);
        of_source.or_else(|| refusal::of_storage(&work.io, target?))
    }

    fn storage_refusal(&self, io: &Io) -> Option<String> {
        self.storage.and_then(|storage| refusal::of_storage(io, storage))
    }
}

/// Why a file cannot be divided like this, for any kind of work.
fn cut_refusal(io: &Io) -> Option<String> {
    let blocks = io.blocks();
    if io.block > io.size {
        let (block, size) = (units::bytes(io.block), units::bytes(io.size));
        return Some(format!("the block of {block} is larger than the file of {size}"));
    }
    if blocks < u64::from(io.threads) {
        return Some(format!(
            "the file has {blocks} blocks, fewer than {} threads: some threads would have no work",
            io.threads
        ));
    }
    if io.ops > blocks && io.pattern != Pattern::Zipf {
        return Some(format!(
            "{} operations need as many different blocks, but the file has {blocks}",
            io.ops
        ));
    }
    (io.depth > 4096).then(|| format!("depth {} is above the maximum of 4096", io.depth))
}

/// Maximum number of threads: more are a mistake, and each costs memory.
const THREADS_MAX: u32 = 4096;

fn threads_refusal(case: &Case) -> Option<String> {
    let threads = case.threads();
    (threads > THREADS_MAX).then(|| {
        format!(
            "{threads} threads are more than the maximum of \
                                             {THREADS_MAX}"
        )
    })
}

/// With fewer operations due in a trial, chance may leave it without any.
const DUE_LEAST: u128 = 20;

/// Why this work cannot follow a schedule.
fn rate_refusal(case: &Case) -> Option<String> {
    let io = case.io().filter(|_| case.is_open())?;
    let gathers = match &case.work {
        Work::Read(work) => work.engine.calls() == ReadCalls::Gathered,
        Work::Write(work) => work.engine == WriteEngine::Buffered,
        Work::Memory(_) | Work::Metadata(_) | Work::Command(_) => false,
    };
    if gathers {
        return Some(
            "this engine does not do each operation by itself: it has no rate".to_string(),
        );
    }
    if case.write().is_some_and(|work| work.op == Op::Copy && work.engine == WriteEngine::Uring) {
        // What is due would wait for the write of an earlier block.
        return Some("a copy by uring has two steps for a block, and no schedule".to_string());
    }
    if case.write().is_some_and(|work| work.op == Op::Sync) {
        return Some("op sync has no rate: use op write with a sync after every block".to_string());
    }
    let due = u128::from(io.rate) * io.time.as_nanos() / 1_000_000_000;
    (due < u128::from(io.threads).max(DUE_LEAST)).then(|| {
        format!(
            "at {}/s, only about {due} operations are due in {}: use more time or a higher rate",
            io.rate,
            units::time(io.time)
        )
    })
}

fn kernel_refusal(work: &MemoryWork) -> Option<String> {
    let arrays = work.kernel.arrays() * u64::from(work.threads);
    if work.working_set < ARRAY_GRANULE.saturating_mul(arrays) {
        return Some(format!(
            "a working set of {} is too small: each of the {arrays} arrays needs 4KiB",
            units::bytes(work.working_set)
        ));
    }
    if !work.step.is_multiple_of(LINE) {
        return Some(format!("the step of {} is not a multiple of {LINE} bytes", work.step));
    }
    let without = !work.kernel.has_vectors() && !matches!(work.isa, Isa::Auto | Isa::Scalar);
    without.then(|| format!("{} uses no vectors: use isa scalar", work.kernel))
}

/// Blocks that are drawn come more than once, and without an end.
fn zipf_refusal(work: &ReadWork) -> Option<String> {
    if work.io.pattern != Pattern::Zipf {
        return None;
    }
    let reason = match work.engine.place() {
        _ if work.io.cache == Cache::Cold => {
            "zipf reads blocks again, which are cached by then: use cache 'direct', 'warm' or \
             'as-is'"
        }
        BlockPlace::Memory => {
            "a load reads the whole file, whichever blocks are drawn: use another engine"
        }
        _ if !work.io.size.is_multiple_of(work.io.block) => {
            "zipf draws whole blocks: use a size that is a multiple of the block"
        }
        _ => return None,
    };
    Some(reason.to_string())
}

fn engine_refusal(work: &ReadWork) -> Option<String> {
    let (place, is_queued) = (work.engine.place(), work.engine.calls() == ReadCalls::Queued);
    let waits = place != BlockPlace::Nowhere && !is_queued;
    let is_one_run = work.io.pattern == Pattern::Sequential && work.io.share == Share::Contiguous;
    let reason = match place {
        _ if waits && work.io.depth > 1 => format!(
            "{} waits for each block: a thread has one in flight, not {}; use depth 1",
            work.engine, work.io.depth
        ),
        BlockPlace::Mapping if work.io.cache == Cache::Direct => {
            "a mapping is the page cache: O_DIRECT has no effect on mmap".to_string()
        }
        BlockPlace::Mapping if work.touch == Touch::None => {
            "a mapping moves nothing until it is touched: use another touch".to_string()
        }
        BlockPlace::Memory if work.touch == Touch::None => {
            "loading a file without touching it answers no question: use pread".to_string()
        }
        BlockPlace::Memory if work.io.threads > 1 && !is_one_run => {
            "each thread loads what it touches, which must be one contiguous part of the file: use \
             pattern 'sequential' and share 'contiguous'"
                .to_string()
        }
        BlockPlace::Buffer
            if work.io.cache == Cache::Direct && work.engine.calls() == ReadCalls::Gathered =>
        {
            "a program's own buffer is not aligned for O_DIRECT: use read".to_string()
        }
        BlockPlace::Nowhere if work.io.cache != Cache::AsIs || work.touch != Touch::None => {
            "null moves no data: use cache 'as-is' and touch 'none'".to_string()
        }
        _ if work.io.cache == Cache::DontCache && !work.engine.has_flags() => {
            cache::dontcache_refusal(work.engine.name(), &those(Engine::ALL, Engine::has_flags))
        }
        _ if work.submission == Submission::Sqpoll && !is_queued => {
            format!("only io_uring has a submission thread; {} has none", work.engine)
        }
        _ if work.submission != Submission::Enter && !is_queued => {
            format!("submission '{}' is of io_uring, not of {}", work.submission, work.engine)
        }
        _ if work.submission == Submission::Iopoll && work.io.cache != Cache::Direct => {
            "polling a device needs direct I/O: use cache 'direct'".to_string()
        }
        _ if work.submission == Submission::Iopoll && work.io.rate > 0 => {
            "polling a device leaves no time to wait for a schedule: omit the rate".to_string()
        }
        _ => return touch_refusal(work).or_else(|| advice_refusal(work)),
    };
    Some(reason)
}

fn touch_refusal(work: &ReadWork) -> Option<String> {
    match work.touch {
        Touch::Count if !work.io.block.is_multiple_of(4) => Some(format!(
            "touch 'count' counts integers of 4 bytes, and blocks of {} would cut some in two",
            units::bytes(work.io.block)
        )),
        Touch::None | Touch::Page if work.isa != Isa::Auto => {
            Some(format!("touch '{}' computes nothing: use isa auto", work.touch))
        }
        _ => None,
    }
}

fn advice_refusal(work: &ReadWork) -> Option<String> {
    let place = work.engine.place();
    let fits = match work.advice {
        Advice::Populate | Advice::TouchAhead => place == BlockPlace::Mapping,
        Advice::HugePage => matches!(place, BlockPlace::Mapping | BlockPlace::Memory),
        _ => true,
    };
    if !fits {
        return Some(format!(
            "advice '{}' is about a mapping, and {} has none",
            work.advice, work.engine
        ));
    }
    if work.advice != Advice::None && place == BlockPlace::Nowhere {
        return Some("null opens no file, so it can't take advice".to_string());
    }
    let about_cache = !matches!(work.advice, Advice::None | Advice::HugePage);
    (about_cache && work.io.cache == Cache::Direct)
        .then(|| "advice is about the page cache, which O_DIRECT bypasses".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Allocation, Fill, MetadataWork, Op, Sync, WriteEngine};
    use crate::host::{AtomicWrites, Medium};
    use crate::zoo;

    fn reason(work: ReadWork) -> String {
        let (host, storage) = (zoo::host(), zoo::storage());
        let environment =
            Environment { host: &host, storage: Some(&storage), source: None, peers: &[] };
        environment.refusal(&Case::own(Work::Read(work))).unwrap_or_default()
    }

    #[test]
    fn huge_pages_are_for_buffers_that_can_be_in_them() {
        let in_pages = |pages, work: ReadWork, host: &Host| {
            let work = ReadWork { io: Io { pages, ..work.io }, ..work };
            let environment =
                Environment { host, storage: None, source: None, peers: &[zoo::peer()] };
            environment.refusal(&Case::own(Work::Read(work))).unwrap_or_default()
        };
        let (plain, host) = (zoo::plain(), zoo::host());
        let huge = |work, host: &Host| in_pages(BufferPages::Huge, work, host);
        assert_eq!(huge(plain, &host), "");
        for engine in [Engine::Mmap, Engine::Load] {
            let found = huge(ReadWork { engine, ..plain }, &host);
            assert!(found.contains("this case has none: use pages 'base'"), "{engine}: {found}");
        }
        let found = in_pages(BufferPages::Fitting, plain, &host);
        assert!(found.contains("only older records have pages 'fitting'"), "{found}");
        // Those of 64-bit ARM with base pages of 64 KiB.
        let arm = Host { huge_page: Some(512 << 20), ..zoo::host() };
        let found = huge(plain, &arm);
        assert_eq!(
            found,
            "buffers of 4KiB fill no huge page, which has 512MiB here: use pages 'base'"
        );
        // A thread's buffers fill a whole one, however small they are.
        let many = ReadWork { io: Io { threads: 200, ..plain.io }, ..plain };
        let tight =
            Host { memory_available: Some(1 << 30), huge_page: Some(2 << 20), ..zoo::host() };
        assert_eq!(in_pages(BufferPages::Base, many, &tight), "");
        let found = huge(many, &tight);
        assert!(found.starts_with("200 buffers of 4KiB in huge pages need more than a"), "{found}");
        let peers = Case { peer: zoo::peer().name, ..Case::own(Work::Read(plain)) };
        let mut peers_huge = peers.clone();
        peers_huge.io_mut().expect("it reads a file").pages = BufferPages::Huge;
        let all = [zoo::peer()];
        let environment = Environment { host: &host, storage: None, source: None, peers: &all };
        assert_eq!(environment.refusal(&peers), None);
        let found = environment.refusal(&peers_huge).unwrap_or_default();
        assert_eq!(found, "the peer zebra has no huge pages for its buffers");
        let both = ["base", "huge"].map(str::to_string).to_vec();
        let asks = Peer { axes: [("pages".to_string(), both)].into(), ..zoo::peer() };
        let environment = Environment { peers: &[asks], ..environment };
        assert_eq!(environment.refusal(&peers_huge), None);
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_reason() {
        let plain = zoo::plain();
        let mmap = ReadWork { engine: Engine::Mmap, ..plain };
        let direct = ReadWork { io: Io { cache: Cache::Direct, ..plain.io }, ..plain };
        for (work, expected) in [
            (
                ReadWork { io: Io { cache: Cache::Direct, ..mmap.io }, ..mmap },
                "O_DIRECT has no effect on mmap",
            ),
            (ReadWork { touch: Touch::None, ..mmap }, "moves nothing until it is touched"),
            (ReadWork { io: Io { depth: 2, ..plain.io }, ..plain }, "pread waits for each block"),
            (
                ReadWork { io: Io { block: 100, ..direct.io }, ..direct },
                "multiples of 512B, and 100B is not",
            ),
            (ReadWork { advice: Advice::Random, ..direct }, "which O_DIRECT bypasses"),
            (ReadWork { advice: Advice::Populate, ..plain }, "pread has none"),
            (
                ReadWork { io: Io { depth: 2, ..plain.io }, engine: Engine::Load, ..plain },
                "load waits for",
            ),
            (ReadWork { engine: Engine::Load, touch: Touch::None, ..plain }, "use pread"),
            (
                ReadWork {
                    io: Io { threads: 2, pattern: Pattern::Random, ..plain.io },
                    engine: Engine::Load,
                    ..plain
                },
                "one contiguous part of the file",
            ),
            (
                ReadWork { io: Io { block: 6, ..plain.io }, touch: Touch::Count, ..plain },
                "cut some in two",
            ),
            (ReadWork { touch: Touch::Page, isa: Isa::Scalar, ..plain }, "isa auto"),
            (
                ReadWork { io: Io { block: 2 << 20, ..plain.io }, ..plain },
                "larger than the file of 1MiB",
            ),
            (
                ReadWork { io: Io { ops: 257, ..plain.io }, ..plain },
                "different blocks, but the file has 256",
            ),
            (
                ReadWork { io: Io { threads: 257, ..plain.io }, ..plain },
                "256 blocks, fewer than 257 threads",
            ),
            (ReadWork { submission: Submission::Sqpoll, ..plain }, "only io_uring"),
            (ReadWork { submission: Submission::Plain, ..plain }, "is of io_uring, not of pread"),
            (
                ReadWork { submission: Submission::Iopoll, engine: Engine::Uring, ..plain },
                "use cache 'direct'",
            ),
            (ReadWork { engine: Engine::Null, ..plain }, "null moves no data"),
            (
                ReadWork { io: Io { cache: Cache::DontCache, ..mmap.io }, ..mmap },
                "'dontcache' is a flag of each call, and mmap has none",
            ),
        ] {
            let reason = reason(work);
            assert!(reason.contains(expected), "'{reason}' does not say '{expected}'");
        }
        assert_eq!(reason(plain), "");
        assert_eq!(reason(mmap), "");
    }

    /// On tmpfs, nothing is cold; on a file system in compressed memory, names are.
    #[test]
    fn names_that_are_nowhere_but_in_the_cache_are_never_cold() {
        let cold = |storage: &Storage, cache| {
            let work = MetadataWork { cache, ..zoo::plain_metadata() };
            let (host, storage) = (zoo::host(), Some(storage));
            let environment = Environment { host: &host, storage, source: None, peers: &[] };
            environment.refusal(&Case::own(Work::Metadata(work)))
        };
        let (medium, file_system) = (Medium::Ram, "tmpfs".to_string());
        let tmpfs = Storage { medium, file_system, evictable: false, ..zoo::storage() };
        let reason = cold(&tmpfs, Cache::Cold).expect("it is refused");
        assert!(reason.starts_with("tmpfs keeps its names in the OS's cache of names"), "{reason}");
        assert_eq!(cold(&tmpfs, Cache::Warm), None);
        assert_eq!(cold(&Storage { medium, ..zoo::storage() }, Cache::Cold), None);
        assert_eq!(cold(&zoo::storage(), Cache::Cold), None);
    }

    #[test]
    fn a_queue_that_does_not_poll_is_not_polled() {
        let host = zoo::host();
        let io = Io { cache: Cache::Direct, ..zoo::plain().io };
        let submission = Submission::Iopoll;
        let work = ReadWork { io, engine: Engine::Uring, submission, ..zoo::plain() };
        let reason = |io_poll| {
            let mut storage = zoo::storage();
            storage.devices.iter_mut().for_each(|device| device.io_poll = io_poll);
            let environment =
                Environment { host: &host, storage: Some(&storage), source: None, peers: &[] };
            environment.refusal(&Case::own(Work::Read(work))).unwrap_or_default()
        };
        assert!(reason(Some(false)).contains("does not poll"));
        assert_eq!((reason(Some(true)), reason(None)), (String::new(), String::new()));
    }

    #[test]
    fn nothing_is_warm_where_no_page_is_kept() {
        let warm = ReadWork { io: Io { cache: Cache::Warm, ..zoo::plain().io }, ..zoo::plain() };
        let reason = |keeps_pages, cache| {
            let (host, storage) = (zoo::host(), Storage { keeps_pages, ..zoo::storage() });
            let environment =
                Environment { host: &host, storage: Some(&storage), source: None, peers: &[] };
            let case = Case::own(Work::Read(ReadWork { io: Io { cache, ..warm.io }, ..warm }));
            environment.refusal(&case).unwrap_or_default()
        };
        let said = reason(Some(false), Cache::Warm);
        assert!(said.contains("keeps nothing in the page cache"), "{said}");
        assert_eq!(reason(Some(false), Cache::AsIs), "");
        for known in [Some(true), None] {
            assert_eq!(reason(known, Cache::Warm), "");
        }
    }

    #[test]
    fn what_nobody_tells_is_no_limit() {
        let huge = ReadWork {
            io: Io { size: 1 << 50, ..zoo::plain().io },
            engine: Engine::Load,
            ..zoo::plain()
        };
        let reason = |memory_available| {
            let (host, storage) = (Host { memory_available, ..zoo::host() }, zoo::storage());
            let environment =
                Environment { host: &host, storage: Some(&storage), source: None, peers: &[] };
            environment.refusal(&Case::own(Work::Read(huge))).unwrap_or_default()
        };
        assert!(reason(Some(20 << 30)).contains("does not fit"));
        assert!(reason(Some(0)).contains("does not fit"));
        assert_eq!(reason(None), "");
    }

    #[test]
    fn writing_that_cannot_be_is_refused_with_its_reason() {
        let reason = |work: WriteWork| {
            let (host, storage) = (zoo::host(), zoo::storage());
            let environment =
                Environment { host: &host, storage: Some(&storage), source: None, peers: &[] };
            environment.refusal(&Case::own(Work::Write(work))).unwrap_or_default()
        };
        let plain = zoo::plain_write();
        let mmap = WriteWork { engine: WriteEngine::Mmap, ..plain };
        let copy = WriteWork { op: Op::Copy, engine: WriteEngine::Sendfile, ..plain };
        let over = WriteWork { allocation: Allocation::Overwrite, ..plain };
        let append = WriteWork { allocation: Allocation::Append, ..plain };
        let journaled = WriteWork { atomic: Atomic::JournalDelete, every: 2, ..over };
        for (work, expected) in [
            (WriteWork { io: Io { depth: 2, ..plain.io }, ..plain }, "pwrite waits for each block"),
            (WriteWork { engine: WriteEngine::Splice, ..plain }, "op copy"),
            (WriteWork { engine: WriteEngine::Pwrite, ..copy }, "pwrite does not copy"),
            (WriteWork { fill: Fill::Zero, ..copy }, "what its source holds"),
            (
                WriteWork { io: Io { cache: Cache::Direct, ..copy.io }, ..copy },
                "inside the page cache",
            ),
            (WriteWork { allocation: Allocation::Overwrite, ..copy }, "a new file"),
            (mmap, "cannot grow a file"),
            (WriteWork { sync: Sync::Dsync, ..over }, ""),
            (
                WriteWork { engine: WriteEngine::Mmap, sync: Sync::Dsync, ..over },
                "no effect on stores",
            ),
            (WriteWork { sync: Sync::Msync, ..plain }, "pwrite maps nothing"),
            (WriteWork { every: 4, sync: Sync::None, ..plain }, "is not a call"),
            (
                WriteWork { io: Io { cache: Cache::Warm, ..plain.io }, ..plain },
                "is empty at the start",
            ),
            (append, "pwrite writes at offsets"),
            (
                WriteWork {
                    io: Io { threads: 2, ..append.io },
                    engine: WriteEngine::Write,
                    ..append
                },
                "",
            ),
            (
                WriteWork {
                    io: Io { threads: 2, size: plain.io.size + 1, ..append.io },
                    engine: WriteEngine::Write,
                    ..append
                },
                "blocks of one size",
            ),
            (
                WriteWork {
                    io: Io { pattern: Pattern::Random, ..append.io },
                    engine: WriteEngine::Write,
                    ..append
                },
                "one order",
            ),
            (
                WriteWork { io: Io { cache: Cache::Direct, size: 4097, ..over.io }, ..over },
                "whole blocks",
            ),
            (WriteWork { op: Op::Sync, ..plain }, "an existing file"),
            (WriteWork { op: Op::Sync, sync: Sync::None, ..over }, "op sync only calls a sync"),
            (
                WriteWork { io: Io { block: 2 << 20, ..plain.io }, ..plain },
                "larger than the file of 1MiB",
            ),
            (WriteWork { engine: WriteEngine::Null, ..plain }, "null moves no data"),
            (
                WriteWork {
                    io: Io { cache: Cache::DontCache, ..plain.io },
                    engine: WriteEngine::Write,
                    ..plain
                },
                "write has none: use pwrite or uring",
            ),
            (
                WriteWork { io: Io { cache: Cache::DontCache, ..copy.io }, ..copy },
                "op copy has no 'dontcache'",
            ),
            (WriteWork { io: Io { cache: Cache::DontCache, ..plain.io }, ..plain }, ""),
            (journaled, ""),
            (WriteWork { every: 0, ..journaled }, "one block at least"),
            (WriteWork { every: 1 << 20, ..journaled }, "64MiB at most"),
            (WriteWork { allocation: Allocation::None, ..journaled }, "keeps what is overwritten"),
            (WriteWork { sync: Sync::Msync, ..journaled }, "pwrite maps nothing"),
            (WriteWork { sync: Sync::FileRange, ..journaled }, "use sync fdatasync or fsync"),
            (WriteWork { io: Io { threads: 2, ..over.io }, ..journaled }, "one writer"),
            (WriteWork { engine: WriteEngine::Write, ..journaled }, "write of op write has no"),
            (
                WriteWork { io: Io { cache: Cache::Direct, ..over.io }, ..journaled },
                "written through the page cache",
            ),
            (plain, ""),
            (over, ""),
            (copy, ""),
        ] {
            let id = Case::own(Work::Write(work)).id();
            let reason = reason(work);
            let is_right = reason.contains(expected) && reason.is_empty() == expected.is_empty();
            assert!(is_right, "{id}: '{reason}' does not say '{expected}'");
        }
    }

    #[test]
    fn memory_that_is_not_there_is_refused() {
        let host = zoo::host();
        let environment = Environment { host: &host, storage: None, source: None, peers: &[] };
        let refusal = |size| {
            let load = ReadWork {
                io: Io { size, ..zoo::plain().io },
                engine: Engine::Load,
                ..zoo::plain()
            };
            environment.refusal(&Case::own(Work::Read(load))).unwrap_or_default()
        };
        assert_eq!(refusal(15 << 30), "");
        let reason = refusal(16 << 30);
        assert!(reason.contains("16GiB does not fit: 20.0 GiB of memory"), "{reason}");
    }

    #[test]
    fn writes_are_atomic_where_the_storage_promises_it() {
        let refusal = |atomic: Option<(u32, u32)>, block: u64| {
            let atomic = atomic.map(|(least, most)| AtomicWrites { least, most });
            let (host, storage) = (zoo::host(), Storage { atomic, ..zoo::storage() });
            let environment =
                Environment { host: &host, storage: Some(&storage), source: None, peers: &[] };
            let io = Io { cache: Cache::Direct, block, size: 48 * block, ..zoo::plain_write().io };
            let work = WriteWork { io, atomic: Atomic::Yes, ..zoo::plain_write() };
            environment.refusal(&Case::own(Work::Write(work)))
        };
        let offers = Some((4096, 16_384));
        for block in [4096, 8192, 16_384] {
            assert_eq!(refusal(offers, block), None);
        }
        for (offers, block, reason) in [
            (None, 4096, "the OS does not say"),
            (Some((0, 0)), 4096, "ext4 here offers no atomic writes (statx"),
            (offers, 2048, "atomic writes here have 4KiB to 16KiB, not 2KiB"),
            (offers, 32_768, "atomic writes here have 4KiB to 16KiB, not 32KiB"),
            (offers, 12_288, "a power of two"),
        ] {
            let refused = refusal(offers, block).expect(reason);
            assert!(refused.contains(reason), "{refused}");
        }
    }

    #[test]
    fn a_peer_is_asked_for_what_it_has_only() {
        let (host, peers) = (zoo::host(), [zoo::peer()]);
        let environment = Environment { host: &host, storage: None, source: None, peers: &peers };
        let refusal = |peer: &str, work: ReadWork| {
            let case = Case { peer: peer.to_string(), ..Case::own(Work::Read(work)) };
            environment.refusal(&case).unwrap_or_default()
        };
        assert_eq!(refusal("zebra", zoo::plain()), "");
        let uring = ReadWork { engine: Engine::Uring, ..zoo::plain() };
        assert_eq!(refusal("zebra", uring), "the peer zebra has no engine uring");
        let vectors = ReadWork { isa: Isa::Avx2, ..zoo::plain() };
        assert!(refusal("zebra", vectors).contains("isa auto"));
        assert_eq!(refusal("gnu", zoo::plain()), "there is no peer 'gnu'");
    }
}
