//! The closing answer of a survey: is this disk faster than memory, and what bounds it?

use crate::ceiling::{MemoryReads, is_beyond_caches, plateau};
use crate::decision::{Contestant, Decided, Decision, Lead, Named, Rated, is_faster, lead};
use crate::finding::{Code, Severity};
use crate::form::{As, FormOf};
use crate::link_use::LinkUse;
use crate::row::{self, Row};
use crate::summary::ServedBy;
use model::case::{Kernel, ReadWork};
use model::evidence::Limit;
use model::layer::Layer;
use model::pattern::Pattern;
use schemars::JsonSchema;
use serde::Serialize;

/// The figures behind the answer to "is this disk faster than memory?". Throughputs are medians in
/// bytes per second.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Answer")]
pub struct DiskOrMemory {
    /// One thread reading memory.
    #[serde(with = "As::<Median>")]
    pub memory: Rated,
    /// The fastest non-void row that the page cache served, if any.
    #[serde(with = "As::<Option<Median>>")]
    pub page_cache: Option<Rated>,
    /// The fastest non-void row that a device served, if any.
    #[serde(with = "As::<Option<FastestForm>>")]
    pub device: Option<FastestOfDevice>,
    /// Nanoseconds of a random 4 KiB read from the device at depth 1: the median of the fastest
    /// such row.
    #[serde(rename = "device_latency_ns", with = "As::<Option<WholeNs>>")]
    pub device_latency: Option<RowLatency>,
    /// Nanoseconds of a load from memory that misses all caches, if measured.
    #[serde(rename = "memory_latency_ns")]
    pub memory_latency: Option<RowLatency>,
}

/// The time of a row's operation.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct RowLatency {
    /// The row.
    #[serde(skip)]
    pub row: Named,
    /// Nanoseconds at the median.
    pub ns: f64,
}

/// The fastest row that a device served.
#[derive(Debug, Clone, PartialEq)]
pub struct FastestOfDevice {
    /// The row, and those that the data cannot distinguish from it.
    pub lead: Lead,
    /// Whether it is faster than one thread reading memory.
    pub of_memory: Decided,
    /// Whether it is faster than memory read by the most threads, if more than one did.
    pub of_most: Option<Decided>,
    /// The number of those threads.
    pub most_threads: u32,
    /// Its bottleneck.
    pub bound: Bottleneck,
}

/// The bottleneck of the fastest device row.
#[derive(Debug, Clone, PartialEq)]
pub enum Bottleneck {
    /// A limit of a control group.
    Limit,
    /// The tool's own overhead.
    Tool,
    /// The reading threads used all of their CPUs.
    Cpu,
    /// A link on the path to the device carries no more.
    Link(Box<LinkUse>),
    /// The device, or the path to it: this row shows that more I/Os in flight are not faster.
    Device(Box<Decided>),
    /// Unknown: a control group limits devices that move an unknown share of the bytes.
    LimitOfPart,
    /// Unknown: no sound row shows that more I/Os in flight are not faster, or the row polls.
    Unknown,
}

impl Bottleneck {
    /// All names in the JSON.
    pub const NAMES: [&str; 7] =
        ["limit", "tool", "cpu", "link", "device", "limit of a part", "unknown"];

    /// Its name in the JSON.
    pub fn name(&self) -> &'static str {
        let [limit, tool, cpu, link, device, limit_of_part, unknown] = Bottleneck::NAMES;
        match self {
            Bottleneck::Limit => limit,
            Bottleneck::Tool => tool,
            Bottleneck::Cpu => cpu,
            Bottleneck::Link(_) => link,
            Bottleneck::Device(_) => device,
            Bottleneck::LimitOfPart => limit_of_part,
            Bottleneck::Unknown => unknown,
        }
    }
}

/// The median of a rate.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct Median(f64);

impl FormOf<Rated> for Median {
    fn of(rated: &Rated) -> Median {
        Median(rated.rate.median)
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct WholeNs(u64);

impl FormOf<RowLatency> for WholeNs {
    fn of(latency: &RowLatency) -> WholeNs {
        WholeNs(latency.ns.round() as u64)
    }
}

/// The fastest row that a device served.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FastestOfDevice")]
struct FastestForm {
    /// Its id.
    id: Named,
    /// Bytes per second.
    throughput: f64,
    /// Its throughput divided by that of one thread reading memory: median of the paired ratios.
    of_memory: f64,
    /// Lower end of the 95 % interval of that ratio.
    low: Option<f64>,
    /// Upper end of the interval.
    high: Option<f64>,
    /// Whether it is faster than one thread reading memory.
    is_faster: Decision,
    /// Ids of the other device rows that the data cannot distinguish from it.
    alike: Vec<Named>,
    /// Its bottleneck. `limit`: a limit of a control group; `link`: the narrowest link
    /// on the path to the device; `limit of a part`: unknown, because a
    /// control group limits devices that move an unknown share of the bytes; `unknown`: no sound
    /// row shows that more I/Os in flight are not faster, or the row polls, which keeps its CPUs
    /// busy in any case.
    #[schemars(extend("enum" = Bottleneck::NAMES))]
    bound: &'static str,
}

impl FormOf<FastestOfDevice> for FastestForm {
    fn of(fastest: &FastestOfDevice) -> FastestForm {
        let (Rated { row, rate }, ratio) = (fastest.lead.best(), fastest.of_memory.ratio());
        FastestForm {
            id: row.clone(),
            throughput: rate.median,
            of_memory: ratio.median,
            low: ratio.low,
            high: ratio.high,
            is_faster: fastest.of_memory.decision(),
            alike: fastest.lead.alike().to_vec(),
            bound: fastest.bound.name(),
        }
    }
}

/// The block size of the random reads whose latency is reported.
const LATENCY_BLOCK: u64 = 4096;

/// The answer, if one thread reading memory and a file were both measured.
pub(crate) fn disk_or_memory(rows: &[Row]) -> Option<DiskOrMemory> {
    let reads = MemoryReads::of(rows);
    let memory = reads.with(1)?;
    rows.iter().find(|row| row.read().is_some())?;
    let served = |by| rows.iter().filter(move |row| row.read().is_some() && row.is_served(by));
    let rated = |row: &Row| Rated::of(&row.summary, row.summary.throughput?);
    let devices: Vec<Contestant> = served(ServedBy::Device).filter_map(Contestant::of).collect();
    Some(DiskOrMemory {
        memory: rated(memory)?,
        page_cache: row::fastest(served(ServedBy::PageCache).filter(|row| row.has_own_rate()))
            .and_then(rated),
        device: lead(&devices).and_then(|(row, lead)| fastest(row, lead, &reads, rows)),
        device_latency: device_latency(served(ServedBy::Device)),
        memory_latency: memory_latency(rows),
    })
}

fn device_latency<'a, 'r: 'a>(rows: impl Iterator<Item = &'a Row<'r>>) -> Option<RowLatency> {
    let reads_one_at_a_time = |work: &ReadWork| {
        let one = work.io.depth == 1 && work.io.threads == 1 && work.io.has_block(LATENCY_BLOCK);
        one && work.io.pattern == Pattern::Random
    };
    let waited = |row: &Row| waited(row, row.summary.latency.p50?.ns as f64);
    least(rows.filter(|row| row.read().is_some_and(reads_one_at_a_time)).filter_map(waited))
}

fn memory_latency(rows: &[Row]) -> Option<RowLatency> {
    let is_far_chase = |row: &&Row| {
        let work = row.measured.case.memory().filter(|_| row.measured.case.beside.is_empty());
        work.is_some_and(|work| {
            let is_far = is_beyond_caches(work.working_set, &row.measured);
            work.kernel == Kernel::Chase && work.threads == 1 && is_far
        })
    };
    let waited = |row: &Row| waited(row, row.summary.ns_per_op?.median);
    least(rows.iter().filter(is_far_chase).filter_map(waited))
}

fn waited(row: &Row, ns: f64) -> Option<RowLatency> {
    Some(RowLatency { row: Named::of(&row.summary)?, ns })
}

/// The shortest time, from sound rows if there are any.
fn least(all: impl Iterator<Item = RowLatency>) -> Option<RowLatency> {
    all.min_by(|a, b| {
        let by_doubt = a.row.is_doubtful().cmp(&b.row.is_doubtful());
        by_doubt.then(a.ns.total_cmp(&b.ns))
    })
}

fn fastest(row: &Row, lead: Lead, reads: &MemoryReads, rows: &[Row]) -> Option<FastestOfDevice> {
    let (most, of_most) = reads.of_most_threads()?;
    Some(FastestOfDevice {
        of_memory: is_faster(row, reads.with(1)?)?,
        of_most: (most > 1).then(|| is_faster(row, of_most)).flatten(),
        most_threads: most,
        bound: bound(row, rows),
        lead,
    })
}

/// Whether a limit whose use nobody counted applies to some devices of a mirror that is read, or of
/// an array with an unknown amplification. Then the used share of the limit is unknown.
fn is_limited_in_part(row: &Row) -> bool {
    let Some(storage) = row.measured.storage else { return false };
    let is_in_part = |layer: &Layer| {
        let once = Some(1);
        layer.nodes.len() > 1 && (layer.reads.exact(), layer.writes.exact()) != (once, once)
    };
    let layer_of =
        |limit: &Limit| storage.layers.iter().find(|layer| layer.nodes.contains(&limit.device));
    let trials = &row.measured.trials;
    let is_seen = |limit: &Limit| trials.iter().any(|it| limit.used(&it.evidence).is_some());
    let all = trials.iter().flat_map(|trial| trial.limits(storage));
    all.filter(|limit| !is_seen(limit)).filter_map(layer_of).any(is_in_part)
}

/// The bottleneck of the fastest device row. It is the device only if more I/Os in flight were
/// measured as not faster, and no finding of the row names another bottleneck (docs/method).
fn bound(row: &Row, rows: &[Row]) -> Bottleneck {
    let found =
        |code, least| row.summary.findings.iter().any(|f| f.code == code && f.severity >= least);
    if found(Code::Throttled, Severity::Doubt) {
        return Bottleneck::Limit;
    }
    if found(Code::OverheadBound, Severity::Doubt) {
        return Bottleneck::Tool;
    }
    let is_busy = found(Code::CpuBound, Severity::Note);
    // Whoever polls is always busy, also while the device is slow.
    let polls = row.read().is_some_and(|work| work.submission.polls());
    if is_busy && !polls {
        return Bottleneck::Cpu;
    }
    if is_limited_in_part(row) {
        return Bottleneck::LimitOfPart;
    }
    if let Some(link) = row.summary.link.as_ref().filter(|link| link.bounds()) {
        return Bottleneck::Link(link.clone());
    }
    if is_busy {
        return Bottleneck::Unknown;
    }
    plateau(rows, row).map_or(Bottleneck::Unknown, |shown| Bottleneck::Device(Box::new(shown)))
}
