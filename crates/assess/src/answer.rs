//! The closing answer of a survey: is this disk faster than memory, and what bounds it?

/// The figures the answer rests on. All are throughputs in bytes per second.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// One thread reading memory.
    pub memory: f64,
    /// The fastest row that the page cache served, if any is not void.
    pub page_cache: Option<f64>,
    /// The fastest row that a device served, if any is not void.
    pub device: Option<Fastest>,
    /// Random 4 KiB reads from the device one at a time: nanoseconds at the median, if measured.
    pub device_latency_ns: Option<u64>,
    /// A load from memory that hits no cache, in nanoseconds, if measured.
    pub memory_latency_ns: Option<f64>,
}

/// The fastest row of a kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Fastest {
    /// Its case id.
    pub id: String,
    /// Its throughput.
    pub throughput: f64,
    /// Its share of memory's throughput: median of the paired ratios.
    pub of_memory: f64,
    /// Lower end of the 95 % interval of that share.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// What bounds it.
    pub bound: Bound,
}

/// What bounds the fastest device row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// More depth or threads gave no more: the device, or the path to it.
    Device,
    /// The reading threads used their CPUs up.
    Cpu,
    /// The tool's own overhead.
    Tool,
}
