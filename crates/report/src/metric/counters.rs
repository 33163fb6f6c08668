//! What the OS counted around a trial.

use super::TrialMetric::{Always, Nodes, Whole};
use super::{CaseMetric, Metric, Unit, metric};
use assess::trials::Figures;

const fn counter(name: &'static str, unit: Unit, of: fn(&Figures) -> Option<u64>) -> Metric {
    metric(name, "", unit).trial(name, ("evidence", name), Whole(of))
}

/// In the order of the CSV columns.
pub(crate) const COUNTERS: &[Metric] = &[
    metric("window_ns", "", Unit::Nanoseconds)
        .meaning("time covered by the OS counters below")
        .trial("window_ns", ("evidence", "window_ns"), Always(|it| it.evidence.window_ns)),
    counter("file_pages", Unit::Pages, |it| Some(it.evidence.residency_before?.pages))
        .meaning("size of the file"),
    counter("cached_pages_before", Unit::Pages, |it| Some(it.evidence.residency_before?.cached))
        .meaning("of the file, in the page cache before the trial"),
    counter("cached_pages_after", Unit::Pages, |it| Some(it.evidence.residency_after?.cached))
        .meaning("the same after the trial"),
    metric("folio_bytes", "folio", Unit::Bytes)
        .meaning("mean size of the OS's units of memory (folios) in which a warm file was cached")
        .legend("mean size of the OS's units of memory in which the file is cached")
        .case(CaseMetric::Plain(|it| Some(it.folio_bytes? as f64)))
        .trial("folio_bytes", ("evidence", "folio_bytes"), Whole(|it| it.evidence.folio_bytes)),
    counter("written_pages", Unit::Pages, |it| Some(it.evidence.written_after?.pages))
        .meaning("size of the files that a command wrote, when it had ended"),
    counter("written_cached_pages", Unit::Pages, |it| Some(it.evidence.written_after?.cached))
        .meaning("of these files, in the page cache then"),
    counter("written_dirty_pages", Unit::Pages, |it| it.evidence.written_after?.dirty)
        .meaning("of these, dirty then: on no device"),
    counter("task_read_bytes", Unit::Bytes, |it| it.evidence.task_read_bytes)
        .meaning("read from devices on behalf of the worker"),
    counter("task_rchar_bytes", Unit::Bytes, |it| it.evidence.task_rchar_bytes).meaning(
        "returned to the worker and its descendants by their read calls, from any source; without \
         mappings and io_uring",
    ),
    counter("task_wchar_bytes", Unit::Bytes, |it| it.evidence.task_wchar_bytes)
        .meaning("taken from them by their write calls, to anything"),
    counter("task_read_calls", Unit::Number, |it| it.evidence.task_read_calls)
        .meaning("those read calls"),
    counter("task_write_calls", Unit::Number, |it| it.evidence.task_write_calls)
        .meaning("those write calls"),
    counter("task_write_bytes", Unit::Bytes, |it| it.evidence.task_write_bytes)
        .meaning("dirtied by the worker, or written past the page cache"),
    counter("device_read_bytes", Unit::Bytes, |it| it.evidence.device_read_bytes)
        .meaning("read by the devices, for any process"),
    counter("device_reads", Unit::Number, |it| it.evidence.device_reads).meaning("read requests"),
    counter("device_read_ns", Unit::Nanoseconds, |it| it.evidence.device_read_ns)
        .meaning("the times of those requests, added up"),
    counter("device_busy_ns", Unit::Nanoseconds, |it| it.evidence.device_busy_ns)
        .meaning("the times in which the devices had requests in flight, added up"),
    counter("device_write_bytes", Unit::Bytes, |it| it.evidence.device_write_bytes)
        .meaning("written by the devices, for any process"),
    counter("device_writes", Unit::Number, |it| it.evidence.device_writes)
        .meaning("write requests"),
    counter("device_write_ns", Unit::Nanoseconds, |it| it.evidence.device_write_ns)
        .meaning("the times of those requests, added up"),
    counter("device_flushes", Unit::Number, |it| it.evidence.device_flushes)
        .meaning("flushes that the devices completed, for any process"),
    counter("disk_read_bytes", Unit::Bytes, |it| it.evidence.disk_read_bytes)
        .meaning("read by the disks below loop devices, for any process"),
    counter("disk_write_bytes", Unit::Bytes, |it| it.evidence.disk_write_bytes)
        .meaning("written by the disks below loop devices, for any process"),
    counter("disk_flushes", Unit::Number, |it| it.evidence.disk_flushes)
        .meaning("flushes that those disks completed, for any process"),
    counter("shared_bytes", Unit::Bytes, |it| it.evidence.shared_bytes)
        .meaning("of a copy that it shares with another file, so that no data was copied"),
    counter("dirty_before_bytes", Unit::Bytes, |it| it.evidence.dirty_before)
        .meaning("dirty data of the whole machine before the trial"),
    counter("dirty_after_bytes", Unit::Bytes, |it| it.evidence.dirty_after)
        .meaning("the same after the trial"),
    counter("dirty_limit_bytes", Unit::Bytes, |it| it.evidence.dirty_limit)
        .meaning("dirty data at which the OS makes the worker wait"),
    counter("cpu_ns", Unit::Nanoseconds, |it| it.evidence.cpu_ns)
        .meaning("CPU time of the worker's threads in that window"),
    counter("cpu_user_ns", Unit::Nanoseconds, |it| it.evidence.cpu_user_ns).meaning("in user mode"),
    counter("cpu_system_ns", Unit::Nanoseconds, |it| it.evidence.cpu_system_ns)
        .meaning("in the kernel"),
    counter("minor_faults", Unit::Number, |it| it.evidence.minor_faults)
        .meaning("page faults served from memory"),
    counter("major_faults", Unit::Number, |it| it.evidence.major_faults)
        .meaning("page faults that waited for a device"),
    counter("switches_voluntary", Unit::Number, |it| it.evidence.switches_voluntary)
        .meaning("context switches because the worker waited"),
    counter("switches_involuntary", Unit::Number, |it| it.evidence.switches_involuntary)
        .meaning("context switches because another task got the CPU"),
    counter("run_delay_ns", Unit::Nanoseconds, |it| it.evidence.run_delay_ns)
        .meaning("time that runnable threads waited for a CPU"),
    counter("steal_ns", Unit::Nanoseconds, |it| it.evidence.steal_ns)
        .meaning("CPU time that the hypervisor gave to others"),
    counter("machine_cpu_ns", Unit::Nanoseconds, |it| it.evidence.machine_cpu_ns)
        .meaning("CPU time of the whole machine, idle time included"),
    counter("pressure_cpu_ns", Unit::Nanoseconds, |it| it.evidence.pressure_cpu_ns)
        .meaning("time in which some task waited for a CPU"),
    counter("pressure_io_ns", Unit::Nanoseconds, |it| it.evidence.pressure_io_ns)
        .meaning("time in which some task waited for I/O"),
    counter("pressure_memory_ns", Unit::Nanoseconds, |it| it.evidence.pressure_memory_ns)
        .meaning("time in which some task waited for memory"),
    counter("swapped_bytes", Unit::Bytes, |it| it.evidence.swapped_bytes)
        .meaning("swapped by the machine"),
    counter("huge_bytes", Unit::Bytes, |it| it.evidence.huge_bytes)
        .meaning("of the worker's memory in huge pages"),
    metric("node_bytes", "", Unit::Text)
        .meaning(
            "memory of the worker, and of its mappings of the file, on \
                  each NUMA node: `0:4096 1:0`",
        )
        .trial(
            "node_bytes",
            ("evidence", "node_bytes"),
            Nodes(|it| it.evidence.node_bytes.as_ref()),
        ),
    counter("names_before", Unit::Number, |it| it.evidence.names_before).meaning(
        "names in the OS's cache of the whole machine (dentries) before; only of work on names",
    ),
    counter("names_after", Unit::Number, |it| it.evidence.names_after).meaning("the same after"),
    counter("throttled_ns", Unit::Nanoseconds, |it| it.evidence.throttled_ns)
        .meaning("time in which a CPU quota throttled the worker"),
];
