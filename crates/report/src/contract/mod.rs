//! The form of the JSON: a contract that others rely on.
//!
//! These structures are the contract, not the ones in memory: a change here is a change for
//! every reader. Quantities are plain numbers in the unit that the field's name or text states.
//! What is not known is null, never 0 and never absent.

/// All names of a set, for the schema.
macro_rules! names {
    ($kind:ty) => {
        <$kind>::ALL.iter().map(|value| value.name()).collect::<Vec<_>>()
    };
}

/// All names of a set, or null.
macro_rules! names_or_null {
    ($kind:ty) => {
        <$kind>::ALL.iter().map(|value| Some(value.name())).chain([None]).collect::<Vec<_>>()
    };
}

mod axes;
mod estimate;
mod host;
mod memory;
mod writing;
mod trial;
mod case;
mod records;

pub(crate) use axes::Axes;
pub(crate) use case::{Case, Ceiling, Excluded, Failure, Finding, Loaded, Reason};
pub(crate) use estimate::{Estimate, Interval, Latency, LatencyIntervals, Ratio, Repetition};
pub(crate) use host::{CoreKind, Host, Node, Setup};
pub(crate) use memory::{Claim, Counting, Fair, Level, Levels, RowRate, Saturation};
pub(crate) use records::{Apart, Control, LeftOut, Origin, Pair, RecordComparison};
pub(crate) use trial::{Counters, Figures, Trial};
pub(crate) use writing::{Change, Rated, Spent, TimeSeries, Touching, Writing, WritingAnswer};

use assess::answer::Bottleneck;
use assess::comparison::Difference;
use assess::decision::Decision;
use assess::finding::{Code, Severity};
use model::host::{Limited, Medium, WriteCache};
use schemars::JsonSchema;
use serde::Serialize;

/// The version of the form.
pub(crate) const FORMAT: u32 = 2;

/// The judgement of a run by ioassay. Quantities are in the unit their name or description
/// states; null is "not known" or "cannot be said".
#[derive(Serialize, JsonSchema)]
#[schemars(title = "ioassay assessment", rename = "Assessment")]
pub(crate) struct Report<'a> {
    /// Version of this form. It rises when a field changes its meaning or goes; new fields may
    /// come without.
    pub(crate) format: u32,
    /// The program that made the record.
    pub(crate) tool: Tool<'a>,
    /// When the run began: RFC 3339, UTC.
    pub(crate) began: &'a str,
    /// How the run ended. `missing`: the record is cut off, or the run still goes on.
    #[schemars(extend("enum" = ["complete", "interrupted", "missing"]))]
    pub(crate) end: &'static str,
    /// What of the record could not be read.
    pub(crate) damage: &'a [String],
    /// The recipe's name.
    pub(crate) recipe: &'a str,
    /// Rounds that were planned, over all invocations.
    pub(crate) rounds: u32,
    /// How the run was repeated within itself.
    pub(crate) repetition: Repetition,
    /// Decides the data, the random orders and the order of cases.
    pub(crate) seed: u64,
    /// The machine.
    pub(crate) host: Host<'a>,
    /// The storage; null if no file was read or written.
    pub(crate) storage: Option<Storage<'a>>,
    /// The storage of the file that copies read, if it is another; else null.
    pub(crate) source_storage: Option<Storage<'a>>,
    /// The files that were read.
    pub(crate) fixtures: Vec<Fixture>,
    /// Programs that measured besides this one's own worker.
    pub(crate) peers: Vec<Peer<'a>>,
    /// Each case, baselines and then those that were measured a second time last.
    pub(crate) cases: Vec<Case<'a>>,
    /// What was not measured, and why.
    pub(crate) skips: Vec<Skip<'a>>,
    /// Cases that differ in their engine, their peer or their advice only, compared by their paired
    /// rounds.
    pub(crate) comparisons: Vec<Comparison<'a>>,
    /// What the cases say that were measured a second time; null where none was.
    pub(crate) control: Option<Control<'a>>,
    /// All that was found, one entry a code, gravest first.
    pub(crate) findings: Vec<RunFinding<'a>>,
    /// The tool's own overhead in nanoseconds an operation, measured with the null engine.
    pub(crate) overhead_ns: Option<f64>,
    /// Is this storage faster than memory, and what bounds it? Null where not both were measured.
    pub(crate) answer: Option<Answer<'a>>,
    /// The levels of memory that chases show, for each page size.
    pub(crate) levels: Vec<Levels<'a>>,
    /// How many threads it takes until memory gives no more.
    pub(crate) saturations: Vec<Saturation<'a>>,
    /// Is disk faster than memory? For each size of data that was counted.
    pub(crate) counting: Vec<Counting<'a>>,
    /// Which way to write is fastest; null where none writes.
    pub(crate) writing: Option<WritingAnswer<'a>>,
    /// What touching a page of a file costs, where pages of memory were touched too.
    pub(crate) touching: Vec<Touching<'a>>,
    /// Seconds that the trials of each case followed each other for at most, until the rate was
    /// steady; null where cases took turns.
    pub(crate) sustain_s: Option<f64>,
    /// Bytes of memory, page cache included, that a control group gave the workers; null where
    /// none limited them.
    pub(crate) memory_limit: Option<u64>,
    /// What the workers were bound to.
    pub(crate) bound: Binding<'a>,
}

/// What workers are bound to.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Binding<'a> {
    /// The CPUs that threads were bound to, one each, in turn; null where the OS placed them.
    pub(crate) pin: Option<&'a [u32]>,
    /// The NUMA node that gave processors and memory; null where all did.
    pub(crate) node: Option<u32>,
}

/// The program that made the record.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Tool<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// Its version.
    pub(crate) version: &'a str,
    /// Its command line.
    pub(crate) command: &'a [String],
}

/// The file system the files are on, and what is below it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Storage<'a> {
    /// The directory that was asked for.
    pub(crate) directory: String,
    /// Such as `ext4` or `tmpfs`.
    pub(crate) file_system: &'a str,
    /// Where it is mounted.
    pub(crate) mount_point: String,
    /// Its mount options.
    pub(crate) mount_options: &'a str,
    /// What is at the bottom.
    #[schemars(extend("enum" = names!(Medium)))]
    pub(crate) medium: &'static str,
    /// The block devices it is on.
    pub(crate) devices: Vec<Device<'a>>,
    /// The way down to them, the bottom first; empty in a record that was made before it was kept.
    pub(crate) layers: Vec<Layer<'a>>,
    /// Bytes that the OS reads ahead of a file here at most; null where it does not tell.
    pub(crate) read_ahead: Option<u64>,
    /// What is mounted so that a sync flushes nothing.
    pub(crate) barriers_off: &'a [String],
    /// What control groups allowed of them.
    pub(crate) limits: Vec<Limit<'a>>,
    /// Bytes of the file system; null where it has no size.
    pub(crate) capacity: Option<u64>,
    /// Bytes that could still be written when the run began; null where that is not known.
    pub(crate) free: Option<u64>,
    /// How residency in the page cache was proved: `cachestat`, `mincore`, or null.
    pub(crate) residency_probe: Option<&'static str>,
    /// Whether a canary file could be evicted from the page cache.
    pub(crate) evictable: bool,
    /// Whether what is read stays in the page cache; null where no probe can tell.
    pub(crate) keeps_pages: Option<bool>,
    /// Whether a file can be opened with O_DIRECT.
    pub(crate) direct_accepted: bool,
    /// What offsets and lengths of direct reads must be multiples of, in bytes.
    pub(crate) direct_align: Option<u32>,
    /// Whether a direct read left nothing in the page cache.
    pub(crate) direct_bypasses: Option<bool>,
    /// What was found out about it.
    pub(crate) notes: &'a [String],
}

/// Block devices side by side, which all bytes of a file system cross.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Layer<'a> {
    /// Their names.
    pub(crate) nodes: &'a [String],
    /// How often they read each byte that is read, all together.
    pub(crate) reads: Amplification,
    /// How often they write each byte that is written, all together.
    pub(crate) writes: Amplification,
    /// Whether their counters moved when a canary file was read, written and synced.
    pub(crate) counts: Counts,
}

/// How often bytes are read or written.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Amplification {
    /// At least.
    pub(crate) least: u32,
    /// At most, but for metadata; null where nothing bounds it.
    pub(crate) most: Option<u32>,
}

/// Which counters count; null where that could not be tried.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Counts {
    /// Those of reads.
    pub(crate) reads: Option<bool>,
    /// Those of writes.
    pub(crate) writes: Option<bool>,
    /// That of flushes.
    pub(crate) flushes: Option<bool>,
}

/// A block device.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Device<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// The model it reports.
    pub(crate) model: Option<&'a str>,
    /// The revision of its firmware.
    pub(crate) firmware: Option<&'a str>,
    /// Whether the OS takes it for a disk that turns.
    pub(crate) rotational: Option<bool>,
    /// The I/O scheduler that was chosen.
    pub(crate) scheduler: Option<&'a str>,
    /// Requests that its queue holds before who sends more has to wait.
    pub(crate) nr_requests: Option<u64>,
    /// Whether a hypervisor presents it: what is below is unknown.
    pub(crate) is_virtual: bool,
    /// Readahead in bytes.
    pub(crate) read_ahead: Option<u64>,
    /// Whether it may keep what is written in a cache that a power cut empties, as the OS has it.
    #[schemars(extend("enum" = names_or_null!(WriteCache)))]
    pub(crate) write_cache: Option<&'static str>,
    /// For a loop device, whether it goes past the page cache to its file; null for any other.
    pub(crate) loop_direct: Option<bool>,
}

/// What a control group allowed of a device.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Limit<'a> {
    /// The device's name.
    pub(crate) device: &'a str,
    /// What was limited.
    #[schemars(extend("enum" = names!(Limited)))]
    pub(crate) what: &'static str,
    /// How much of it in a second: bytes, or requests.
    pub(crate) a_second: u64,
    /// The directory of the group.
    pub(crate) group: &'a str,
}

/// A file that was read.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Fixture {
    /// Where it was.
    pub(crate) path: String,
    /// Its size in bytes.
    pub(crate) size: u64,
    /// The seed of its content; null for a user's own file.
    pub(crate) seed: Option<u64>,
    /// How it lies; null where the file system does not tell.
    pub(crate) layout: Option<Layout>,
}

/// How a file lies on its storage.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Layout {
    /// Bytes for which nothing is stored.
    pub(crate) unwritten: u64,
    /// Bytes stored in another form: compressed, or inside metadata.
    pub(crate) encoded: u64,
    /// Its extents; null where the file system does not tell.
    pub(crate) extents: Option<u64>,
}

/// A program that measured besides this one's own worker.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Peer<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// What its compiler or runtime says of itself.
    pub(crate) version: Option<&'a str>,
    /// The command that built it.
    pub(crate) build: Option<&'a str>,
    /// Bits of the widest vectors in its counting loop by its object code; 0 if that is scalar,
    /// null if nobody looked.
    pub(crate) vector_bits: Option<u32>,
    /// Why it could not run, if it could not.
    pub(crate) unavailable: Option<&'a str>,
}

/// A finding with the cases it was made on.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RunFinding<'a> {
    /// What kind; METHODOLOGY.md defines each.
    #[schemars(extend("enum" = names!(Code)))]
    pub(crate) code: &'static str,
    /// The gravest severity.
    #[schemars(extend("enum" = names!(Severity)))]
    pub(crate) severity: &'static str,
    /// What was seen in the gravest case.
    pub(crate) message: &'a str,
    /// What to do about it.
    pub(crate) remedy: &'a str,
    /// Ids of the cases; empty if it is about the whole run.
    pub(crate) cases: &'a [String],
}

/// A case that was asked for and not measured.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Skip<'a> {
    /// Its short name.
    pub(crate) id: String,
    /// Its axes by name.
    pub(crate) case: Axes<'a>,
    /// Why it would mean nothing.
    pub(crate) reason: &'a str,
}

/// The ratio of the throughputs of two cases.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Comparison<'a> {
    /// Id of the case that is compared.
    pub(crate) case: &'a str,
    /// Id of the case it is compared with.
    pub(crate) base: &'a str,
    /// Rounds in which both were measured; 0 of two records, whose rounds are no pairs.
    pub(crate) pairs: usize,
    /// Of how many invocations, of two records the fewer; with one the interval holds within this
    /// run.
    pub(crate) invocations: usize,
    /// Median of the paired ratios, case over base; of two records the ratio of their medians.
    pub(crate) ratio: f64,
    /// Lower end of its 95 % interval; null where nothing tells one.
    pub(crate) low: Option<f64>,
    /// Upper end of it.
    pub(crate) high: Option<f64>,
    /// What can be said.
    #[schemars(extend("enum" = names!(Difference)))]
    pub(crate) difference: &'static str,
    /// The least effect of interest, as a share.
    pub(crate) interest: f64,
    /// Of what is inconclusive, about how many pairs it takes, or invocations where there are
    /// several; else null.
    pub(crate) needs: Option<usize>,
}

/// The figures that the closing answer rests on. Throughputs are in bytes a second.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Answer<'a> {
    /// One thread reading memory.
    pub(crate) memory: f64,
    /// The fastest row that the page cache served.
    pub(crate) page_cache: Option<f64>,
    /// The fastest row that a device served.
    pub(crate) device: Option<Fastest<'a>>,
    /// A random 4 KiB read from the device at the median, in nanoseconds.
    pub(crate) device_latency_ns: Option<u64>,
    /// A load from memory that hits no cache, in nanoseconds.
    pub(crate) memory_latency_ns: Option<f64>,
}

/// The fastest row of a kind.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Fastest<'a> {
    /// Its id.
    pub(crate) id: &'a str,
    /// Bytes a second.
    pub(crate) throughput: f64,
    /// Its share of memory's throughput: median of the paired ratios.
    pub(crate) of_memory: f64,
    /// Lower end of the 95 % interval of that share.
    pub(crate) low: Option<f64>,
    /// Upper end of it.
    pub(crate) high: Option<f64>,
    /// Whether it is faster than one thread reading memory.
    #[schemars(extend("enum" = names!(Decision)))]
    pub(crate) is_faster: &'static str,
    /// Ids of the other rows that a device served which cannot be told apart from it.
    pub(crate) alike: Vec<&'a str>,
    /// What bounds it; `limit`: one of a control group; `unknown`: no sound row shows that more in
    /// flight gives no more.
    #[schemars(extend("enum" = Bottleneck::NAMES))]
    pub(crate) bound: &'static str,
}
