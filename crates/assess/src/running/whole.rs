//! Several intervals as one.

use model::running::{DiskCounts, Interval, ThreadLooks};

/// The sum of `intervals`. What is unknown in one is unknown in the sum.
pub(super) fn joined(intervals: &[Interval]) -> Interval {
    let mut all = intervals.iter().cloned();
    let Some(first) = all.next() else { return Interval::default() };
    all.fold(first, both)
}

fn both(a: Interval, b: Interval) -> Interval {
    let sum = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
    Interval {
        at_ns: b.at_ns,
        length_ns: a.length_ns.saturating_add(b.length_ns),
        processes: b.processes,
        threads: b.threads,
        hidden: a.hidden.max(b.hidden),
        lost: a.lost.saturating_add(b.lost),
        read_bytes: sum(a.read_bytes, b.read_bytes),
        write_bytes: sum(a.write_bytes, b.write_bytes),
        cancelled_bytes: sum(a.cancelled_bytes, b.cancelled_bytes),
        read_call_bytes: sum(a.read_call_bytes, b.read_call_bytes),
        write_call_bytes: sum(a.write_call_bytes, b.write_call_bytes),
        read_calls: sum(a.read_calls, b.read_calls),
        write_calls: sum(a.write_calls, b.write_calls),
        user_ns: sum(a.user_ns, b.user_ns),
        system_ns: sum(a.system_ns, b.system_ns),
        busiest_thread_ns: sum(a.busiest_thread_ns, b.busiest_thread_ns),
        threads_cpu_ns: sum(a.threads_cpu_ns, b.threads_cpu_ns),
        run_delay_ns: sum(a.run_delay_ns, b.run_delay_ns),
        device_wait_ns: sum(a.device_wait_ns, b.device_wait_ns),
        major_faults: sum(a.major_faults, b.major_faults),
        throttled_ns: sum(a.throttled_ns, b.throttled_ns),
        group_read_bytes: sum(a.group_read_bytes, b.group_read_bytes),
        group_write_bytes: sum(a.group_write_bytes, b.group_write_bytes),
        group_dirty_bytes: b.group_dirty_bytes,
        looks: ThreadLooks {
            count: a.looks.count.saturating_add(b.looks.count),
            running: a.looks.running.saturating_add(b.looks.running),
            blocked: a.looks.blocked.saturating_add(b.looks.blocked),
            stopped: a.looks.stopped.saturating_add(b.looks.stopped),
        },
        disks: a.disks.zip(b.disks).map(|(a, b)| of_disks(a, b)),
        machine_dirty_bytes: b.machine_dirty_bytes,
    }
}

fn of_disks(a: DiskCounts, b: DiskCounts) -> DiskCounts {
    DiskCounts {
        read_bytes: a.read_bytes.saturating_add(b.read_bytes),
        write_bytes: a.write_bytes.saturating_add(b.write_bytes),
        reads: a.reads.saturating_add(b.reads),
        writes: a.writes.saturating_add(b.writes),
        flushes: a.flushes.zip(b.flushes).map(|(a, b)| a.saturating_add(b)),
    }
}
