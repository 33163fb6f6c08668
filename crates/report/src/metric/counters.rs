//! What the OS counted around a trial.

use super::{CaseMetric, Metric, PLAIN, TrialMetric, Unit};
use assess::trials::Figures;

const fn counter(
    column: &'static str,
    unit: Unit,
    meaning: &'static str,
    of: fn(&Figures) -> Option<u64>,
) -> Metric {
    let json = ("evidence", column);
    Metric { name: column, unit, meaning, trial: TrialMetric::Whole(of), column, json, ..PLAIN }
}

/// In the order of the CSV columns.
pub(crate) const COUNTERS: &[Metric] = &[
    Metric {
        name: "window_ns",
        unit: Unit::Nanoseconds,
        meaning: "time covered by the OS counters below",
        trial: TrialMetric::Always(|it| it.evidence.window_ns),
        column: "window_ns",
        json: ("evidence", "window_ns"),
        ..PLAIN
    },
    counter("file_pages", Unit::Pages, "size of the file", |it| {
        Some(it.evidence.residency_before?.pages)
    }),
    counter(
        "cached_pages_before",
        Unit::Pages,
        "of the file, in the page cache before the trial",
        |it| Some(it.evidence.residency_before?.cached),
    ),
    counter("cached_pages_after", Unit::Pages, "the same after the trial", |it| {
        Some(it.evidence.residency_after?.cached)
    }),
    Metric {
        title: "folio",
        legend: "mean size of the OS's units of memory in which the file is cached",
        case: CaseMetric::Plain(|it| it.folio_bytes.map(|bytes| bytes as f64)),
        ..counter(
            "folio_bytes",
            Unit::Bytes,
            "mean size of the OS's units of memory (folios) in which a warm file was cached",
            |it| it.evidence.folio_bytes,
        )
    },
    counter("task_read_bytes", Unit::Bytes, "read from devices on behalf of the worker", |it| {
        it.evidence.task_read_bytes
    }),
    counter(
        "task_rchar_bytes",
        Unit::Bytes,
        "returned to the worker and its descendants by their read calls, from any source; without \
         mappings and io_uring",
        |it| it.evidence.task_rchar_bytes,
    ),
    counter(
        "task_write_bytes",
        Unit::Bytes,
        "dirtied by the worker, or written past the page cache",
        |it| it.evidence.task_write_bytes,
    ),
    counter("device_read_bytes", Unit::Bytes, "read by the devices, for any process", |it| {
        it.evidence.device_read_bytes
    }),
    counter("device_reads", Unit::Number, "read requests", |it| it.evidence.device_reads),
    counter("device_read_ns", Unit::Nanoseconds, "the times of those requests, added up", |it| {
        it.evidence.device_read_ns
    }),
    counter("device_write_bytes", Unit::Bytes, "written by the devices, for any process", |it| {
        it.evidence.device_write_bytes
    }),
    counter("device_writes", Unit::Number, "write requests", |it| it.evidence.device_writes),
    counter("device_write_ns", Unit::Nanoseconds, "the times of those requests, added up", |it| {
        it.evidence.device_write_ns
    }),
    counter(
        "device_flushes",
        Unit::Number,
        "flushes that the devices completed, for any process",
        |it| it.evidence.device_flushes,
    ),
    counter(
        "disk_read_bytes",
        Unit::Bytes,
        "read by the disks below loop devices, for any process",
        |it| it.evidence.disk_read_bytes,
    ),
    counter(
        "disk_write_bytes",
        Unit::Bytes,
        "written by the disks below loop devices, for any process",
        |it| it.evidence.disk_write_bytes,
    ),
    counter(
        "disk_flushes",
        Unit::Number,
        "flushes that those disks completed, for any process",
        |it| it.evidence.disk_flushes,
    ),
    counter(
        "shared_bytes",
        Unit::Bytes,
        "of a copy that it shares with another file, so that no data was copied",
        |it| it.evidence.shared_bytes,
    ),
    counter(
        "dirty_before_bytes",
        Unit::Bytes,
        "dirty data of the whole machine before the trial",
        |it| it.evidence.dirty_before,
    ),
    counter("dirty_after_bytes", Unit::Bytes, "the same after the trial", |it| {
        it.evidence.dirty_after
    }),
    counter(
        "dirty_limit_bytes",
        Unit::Bytes,
        "dirty data at which the OS makes the worker wait",
        |it| it.evidence.dirty_limit,
    ),
    counter("cpu_ns", Unit::Nanoseconds, "CPU time of the worker's threads in that window", |it| {
        it.evidence.cpu_ns
    }),
    counter("cpu_user_ns", Unit::Nanoseconds, "in user mode", |it| it.evidence.cpu_user_ns),
    counter("cpu_system_ns", Unit::Nanoseconds, "in the kernel", |it| it.evidence.cpu_system_ns),
    counter("minor_faults", Unit::Number, "page faults served from memory", |it| {
        it.evidence.minor_faults
    }),
    counter("major_faults", Unit::Number, "page faults that waited for a device", |it| {
        it.evidence.major_faults
    }),
    counter(
        "switches_voluntary",
        Unit::Number,
        "context switches because the worker waited",
        |it| it.evidence.switches_voluntary,
    ),
    counter(
        "switches_involuntary",
        Unit::Number,
        "context switches because another task got the CPU",
        |it| it.evidence.switches_involuntary,
    ),
    counter(
        "run_delay_ns",
        Unit::Nanoseconds,
        "time that runnable threads waited for a CPU",
        |it| it.evidence.run_delay_ns,
    ),
    counter("steal_ns", Unit::Nanoseconds, "CPU time that the hypervisor gave to others", |it| {
        it.evidence.steal_ns
    }),
    counter(
        "machine_cpu_ns",
        Unit::Nanoseconds,
        "CPU time of the whole machine, idle time included",
        |it| it.evidence.machine_cpu_ns,
    ),
    counter(
        "pressure_cpu_ns",
        Unit::Nanoseconds,
        "time in which some task waited for a CPU",
        |it| it.evidence.pressure_cpu_ns,
    ),
    counter("pressure_io_ns", Unit::Nanoseconds, "time in which some task waited for I/O", |it| {
        it.evidence.pressure_io_ns
    }),
    counter(
        "pressure_memory_ns",
        Unit::Nanoseconds,
        "time in which some task waited for memory",
        |it| it.evidence.pressure_memory_ns,
    ),
    counter("swapped_bytes", Unit::Bytes, "swapped by the machine", |it| it.evidence.swapped_bytes),
    counter("huge_bytes", Unit::Bytes, "of the worker's memory in huge pages", |it| {
        it.evidence.huge_bytes
    }),
    Metric {
        name: "node_bytes",
        unit: Unit::Text,
        meaning: "memory of the worker, and of its mappings of the file, on \
                  each NUMA node: `0:4096 1:0`",
        trial: TrialMetric::Nodes(|it| it.evidence.node_bytes.as_ref()),
        column: "node_bytes",
        json: ("evidence", "node_bytes"),
        ..PLAIN
    },
    counter(
        "names_before",
        Unit::Number,
        "names in the OS's cache of the whole machine (dentries) before; only of work on names",
        |it| it.evidence.names_before,
    ),
    counter("names_after", Unit::Number, "the same after", |it| it.evidence.names_after),
    counter(
        "throttled_ns",
        Unit::Nanoseconds,
        "time in which a CPU quota throttled the worker",
        |it| it.evidence.throttled_ns,
    ),
];
