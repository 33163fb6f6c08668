//! The table of axes.

use super::say::{LOOPS, POPULATED, Say, TOUCHES};
use super::{
    Across, Axis, Domain, IdWord, Usual, command, count, hosts, load, metadata, place, put, small,
    writing,
};
use crate::case::{
    Advice, BufferPages, Cache, Engine, Isa, Kernel, Kind, OWN_PEER, Op, Pages, Populated,
};
use crate::case::{Submission, Touch, WriteEngine};
use crate::command::CACHES;
use crate::pattern::Pattern;
use crate::peer_name::PeerName;
use crate::units;

/// All axes, in their order in an id.
pub const AXES: &[Axis] = &[
    Axis {
        name: "peer",
        meaning: "Program that measures: rust is ioassay's own worker; 'ioassay peers list' shows \
                  the others",
        symbols: &[("compilers", "all peers built with a compiler that is installed here")],
        usual: Usual::every(OWN_PEER),
        before: Usual::every(OWN_PEER),
        baseline: Some(Usual::every(OWN_PEER)),
        word: IdWord::After("", Some(OWN_PEER)),
        say: Say::of("{}").quiet(OWN_PEER),
        get: |case| Some(case.peer.clone()),
        set: |case, text| {
            case.peer = text.parse::<PeerName>()?.to_string();
            Ok(())
        },
        ..Axis::PLAIN
    },
    Axis {
        name: "op",
        meaning: "Write operation",
        domain: Domain::Names(&[(Kind::Write, Op::NAMES)]),
        usual: Usual::write("write"),
        across: Across::Insisted,
        say: Say::of("{}").called(&[("sync", "nothing written")]).quiet("write"),
        ..name_of!(write, write_mut, op)
    },
    Axis {
        name: "kernel",
        meaning: "Loop over memory",
        domain: Domain::Names(&[(Kind::Memory, Kernel::NAMES)]),
        usual: Usual::memory("read"),
        word: IdWord::Own(|case| {
            let work = case.memory()?;
            Some(format!("memory {} {}", work.kernel, work.isa))
        }),
        say: Say::of("{}").called(LOOPS),
        ..name_of!(memory, memory_mut, kernel)
    },
    Axis {
        name: "working_set",
        flag: Some("working-set"),
        meaning: "Bytes of all arrays of a memory case",
        domain: Domain::Bytes,
        symbols: &[
            ("dram", "four times the last-level caches"),
            ("sweep", "8KiB, 16KiB … up to that"),
            ("modest", "256MiB, or a quarter of the available memory if that is less"),
        ],
        usual: Usual::memory("dram"),
        across: Across::Insisted,
        ..bytes_of!(memory, memory_mut, working_set)
    },
    metadata::CALL,
    command::COMMAND,
    command::PARAMETERS,
    metadata::DIRECTORIES,
    Axis {
        name: "engine",
        meaning: "How the bytes are moved",
        elsewhere: &["ioengine"],
        domain: Domain::Names(&[(Kind::Read, Engine::NAMES), (Kind::Write, WriteEngine::NAMES)]),
        aliases: &[("io_uring", "uring"), ("io-uring", "uring")],
        usual: Usual::by_file("pread", "pwrite"),
        baseline: Some(Usual::by_file("pread", "pwrite")),
        get: |case| match case.kind() {
            Kind::Read => Some(case.read()?.engine.to_string()),
            Kind::Write => Some(case.write()?.engine.to_string()),
            Kind::Memory | Kind::Metadata | Kind::Command => None,
        },
        set: |case, text| match case.kind() {
            Kind::Read => put(case.read_mut().map(|work| &mut work.engine), text.parse()),
            Kind::Write => put(case.write_mut().map(|work| &mut work.engine), text.parse()),
            Kind::Memory | Kind::Metadata | Kind::Command => Ok(()),
        },
        ..Axis::PLAIN
    },
    Axis {
        name: "cache",
        meaning: "Cache state of the file, or of the names, at the start of a trial",
        elsewhere: &["direct", "buffered", "invalidate"],
        domain: Domain::Names(&[
            (Kind::Read, Cache::NAMES),
            (Kind::Write, Cache::NAMES),
            (Kind::Metadata, metadata::CACHES),
            (Kind::Command, CACHES),
        ]),
        usual: Usual::by_file("warm", "as-is").and_metadata("warm").and_command("as-is"),
        across: Across::Insisted,
        say: Say::of("{}").quiet("as-is"),
        get: |case| Some(case.cache()?.to_string()),
        set: |case, text| put(case.cache_mut(), text.parse()),
        ..Axis::PLAIN
    },
    Axis {
        name: "populated",
        meaning: "How a warm file came into the page cache; 'others' leaves what is cached there",
        domain: Domain::Names(&[(Kind::Read, Populated::ASKED), (Kind::Write, Populated::ASKED)]),
        usual: Usual::files("readahead"),
        before: Usual::every("unknown"),
        baseline: Some(Usual::files("readahead")),
        across: Across::Insisted,
        word: IdWord::Own(|case| match case.populated()? {
            // So cases have the ids that they had before there was a choice (see `ids`).
            Populated::ReadAhead | Populated::Unknown => None,
            populated => Some(format!("populated:{populated}")),
        }),
        say: Say::of("cached by {}")
            .text("cached by {}")
            .phrased(POPULATED)
            .called(POPULATED)
            .quiet("readahead")
            .and_quiet("unknown"),
        get: |case| Some(case.populated()?.to_string()),
        set: |case, text| put(case.io_mut().map(|io| &mut io.populated), text.parse()),
        ..Axis::PLAIN
    },
    Axis {
        name: "pattern",
        meaning: "Order of the blocks",
        elsewhere: &["rw", "readwrite"],
        domain: Domain::Names(&[(Kind::Read, Pattern::NAMES), (Kind::Write, Pattern::PASSES)]),
        usual: Usual::files("sequential"),
        word: IdWord::Own(|case| {
            let io = case.io()?;
            Some(match io.pattern {
                Pattern::Strided => format!("{}:{}", io.pattern, io.stride),
                Pattern::Zipf => format!("{}:{}", io.pattern, io.theta),
                pattern => pattern.to_string(),
            })
        }),
        ..name_of!(io, io_mut, pattern)
    },
    Axis {
        name: "stride",
        meaning: "Stride of a strided pattern, in blocks",
        domain: Domain::Count(1),
        column: Some("stride_blocks"),
        symbols: &[("page", "as many blocks as a page has bytes")],
        usual: Usual::files("16"),
        word: IdWord::Silent,
        say: Say::of("stride {}").text("by {}"),
        get: |case| Some(case.io()?.stride.to_string()),
        set: |case, text| put(case.io_mut().map(|io| &mut io.stride), count("stride", text, 1)),
        ..Axis::PLAIN
    },
    Axis {
        name: "theta",
        meaning: "Exponent of a zipf pattern, from 0.001 to 10",
        elsewhere: &["random-distribution", "random_distribution"],
        domain: Domain::Exponent,
        usual: Usual::read("0.99"),
        before: Usual::every("0.99"),
        word: IdWord::Silent,
        say: Say::of("theta {}").quiet("0.99"),
        get: |case| Some(case.io().filter(|io| io.pattern == Pattern::Zipf)?.theta.to_string()),
        set: |case, text| put(case.io_mut().map(|io| &mut io.theta), text.parse()),
        ..Axis::PLAIN
    },
    place::BLOCK,
    Axis {
        name: "depth",
        meaning: "Operations in flight per thread",
        elsewhere: &["iodepth", "queue-depth", "qd"],
        domain: Domain::Count(1),
        usual: Usual::files("1"),
        across: Across::Insisted,
        saturates: true,
        word: IdWord::After("d", None),
        say: Say::of("depth {}").text("depth {}").short("d{}").quiet("1"),
        get: |case| Some(case.io()?.depth.to_string()),
        set: |case, text| put(case.io_mut().map(|io| &mut io.depth), small("depth", text)),
        ..Axis::PLAIN
    },
    Axis {
        name: "pages",
        meaning: "Pages that map the arrays, or the buffers of a file's blocks",
        elsewhere: &["iomem"],
        domain: Domain::Names(&[
            (Kind::Memory, Pages::NAMES),
            (Kind::Read, BufferPages::ASKED),
            (Kind::Write, BufferPages::ASKED),
        ]),
        usual: Usual::files("base").and_memory("huge"),
        before: Usual::files("fitting").and_memory("huge"),
        baseline: Some(Usual::files("base")),
        across: Across::Insisted,
        word: IdWord::Own(|case| match case.memory() {
            Some(work) => (work.pages != Pages::Huge).then(|| format!("pages:{}", work.pages)),
            // So cases have the ids that they had before there was a choice (see `ids`).
            None => (case.io()?.pages == BufferPages::Huge).then(|| "pages:huge".to_string()),
        }),
        say: Say::of("{} pages")
            .text("{} pages")
            .quiet_by(Usual::files("base").and_memory("huge"))
            .and_quiet("fitting"),
        get: |case| match case.memory() {
            Some(work) => Some(work.pages.to_string()),
            None => Some(case.io()?.pages.to_string()),
        },
        set: |case, text| match case.kind() {
            Kind::Memory => put(case.memory_mut().map(|work| &mut work.pages), text.parse()),
            _ => put(case.io_mut().map(|io| &mut io.pages), text.parse()),
        },
        ..Axis::PLAIN
    },
    Axis {
        name: "step",
        meaning: "Bytes between two touches, for kernels that touch pages",
        domain: Domain::Bytes,
        symbols: &[("page", "the page size of this machine")],
        usual: Usual::memory("page"),
        before: Usual::every("4KiB"),
        across: Across::Insisted,
        word: IdWord::After("step:", Some("4KiB")),
        say: Say::of("step {}").text("step {}").quiet("4KiB"),
        get: |case| {
            let work = case.memory().filter(|work| work.kernel.touches_pages())?;
            Some(units::bytes(work.step))
        },
        set: |case, text| {
            put(case.memory_mut().map(|work| &mut work.step), units::parse_bytes(text))
        },
        ..Axis::PLAIN
    },
    Axis {
        name: "threads",
        meaning: "Threads",
        elsewhere: &["numjobs", "jobs"],
        domain: Domain::Count(1),
        symbols: &[
            ("cores", "one for each processor you can use"),
            ("apart", "one for each that shares no core with the first"),
            ("ramp", "1, 2, 4 … up to that"),
            ("sweep", "1, 2, 4 … up to twice that"),
        ],
        usual: Usual::own("1"),
        across: Across::Insisted,
        saturates: true,
        word: IdWord::After("t", None),
        say: Say::of("{} threads").text("{} threads").short("t{}").quiet("1"),
        get: |case| case.command().is_none().then(|| case.threads().to_string()),
        set: |case, text| put(case.threads_mut(), small("threads", text)),
        ..Axis::PLAIN
    },
    load::RATE,
    load::ARRIVAL,
    Axis {
        name: "touch",
        meaning: "Operation on the bytes read; count looks for the 4-byte value 10",
        domain: Domain::Names(&[(Kind::Read, Touch::NAMES)]),
        usual: Usual::read("sum"),
        say: Say::of("touch {}").phrased(TOUCHES).text("touch {}"),
        ..name_of!(read, read_mut, touch)
    },
    Axis {
        name: "isa",
        meaning: "Instruction set of sums, counts and kernels",
        domain: Domain::Names(&[(Kind::Read, Isa::NAMES), (Kind::Memory, Isa::NAMES)]),
        symbols: &[("best", "auto, the fastest loop here"), ("each", "each one it has")],
        usual: Usual::read("auto").and_memory("auto"),
        before: Usual::every("auto"),
        word: IdWord::Own(|case| {
            let isa = case.read()?.isa;
            (isa != Isa::Auto).then(|| isa.to_string())
        }),
        say: Say::of("{}").quiet("auto"),
        get: |case| {
            let of_read = case.read().map(|work| work.isa);
            Some(of_read.or(case.memory().map(|work| work.isa))?.to_string())
        },
        set: |case, text| match case.kind() {
            Kind::Read => put(case.read_mut().map(|work| &mut work.isa), text.parse()),
            Kind::Memory => put(case.memory_mut().map(|work| &mut work.isa), text.parse()),
            Kind::Write | Kind::Metadata | Kind::Command => Ok(()),
        },
        ..Axis::PLAIN
    },
    Axis {
        name: "advice",
        meaning: "Advice to the OS; with touch-ahead, six threads touch each page of a mapping \
                  ahead of the reader instead",
        domain: Domain::Names(&[(Kind::Read, Advice::NAMES)]),
        usual: Usual::read("none"),
        baseline: Some(Usual::read("none")),
        word: IdWord::After("advice:", Some("none")),
        say: Say::of("advice {}").text("advice {}").called(&[("none", "no advice")]).quiet("none"),
        ..name_of!(read, read_mut, advice)
    },
    writing::ALLOCATION,
    writing::SYNC,
    writing::EVERY,
    writing::FILL,
    load::READ_SHARE,
    writing::ATOMIC,
    hosts::SHARE,
    hosts::HOSTS,
    hosts::FILES,
    load::BESIDE,
    Axis {
        name: "submission",
        meaning: "How io_uring is used: plain, batch, fixed, enter and iopoll each add an option",
        domain: Domain::Names(&[(Kind::Read, Submission::NAMES)]),
        usual: Usual::read("enter"),
        baseline: Some(Usual::read("plain")),
        word: IdWord::After("", Some("enter")),
        say: Say::of("submission {}").quiet("enter"),
        ..name_of!(read, read_mut, submission)
    },
    Axis {
        name: "ops",
        meaning: "Operations of a trial, over all threads; 0 for no limit",
        elsewhere: &["number_ios", "number-ios"],
        domain: Domain::Count(0),
        column: Some("ops_limit"),
        symbols: &[("all", "each block once"), ("lane", "the first block of each stride, once")],
        usual: Usual::files("0"),
        across: Across::Insisted,
        word: IdWord::After("ops:", Some("0")),
        say: Say::of("{} operations").text("{} ops").called(&[("0", "no limit of ops")]).quiet("0"),
        get: |case| Some(case.io()?.ops.to_string()),
        set: |case, text| put(case.io_mut().map(|io| &mut io.ops), count("ops", text, 0)),
        ..Axis::PLAIN
    },
    metadata::ENTRIES,
    Axis {
        name: "size",
        meaning: "Bytes of the test file",
        elsewhere: &["filesize", "file-size"],
        domain: Domain::Bytes,
        usual: Usual::files("1GiB"),
        across: Across::Insisted,
        word: IdWord::After("of ", None),
        say: Say::of("a file of {}").text("of {}"),
        ..bytes_of!(io, io_mut, size)
    },
    place::OFFSET,
    Axis {
        name: "time",
        meaning: "Maximum time of a trial",
        elsewhere: &["runtime", "duration"],
        domain: Domain::Time,
        column: Some("time_limit_seconds"),
        usual: Usual::files("1s").and_metadata("1s").and_memory("200ms"),
        across: Across::Same,
        word: IdWord::Silent,
        say: Say::of("trials of {}").text("for {}"),
        get: |case| case.command().is_none().then(|| units::time(case.time())),
        set: |case, text| put(case.time_mut(), units::parse_time(text)),
        ..Axis::PLAIN
    },
];
