//! A program that was running already.

use crate::evidence::Probe;
use crate::file_path::FilePath;
use crate::record::Tool;
use crate::running::{
    CachedPages, DiskCounts, Interval, OpenFile, OpenFiles, OpenMedium, RunningRecord, Subject,
    ThreadLooks, WatchEnd, WatchEnding, WatchedProgram,
};
use std::path::Path;

const SECOND: u64 = 1_000_000_000;

/// A program that reads a cached file with calls for three seconds, and computes half of the time.
pub fn running() -> RunningRecord {
    let file = OpenFile {
        path: FilePath::from(Path::new("/data/table")),
        removed: false,
        bytes: Some(64 << 20),
        file_system: Some("ext4".to_string()),
        medium: OpenMedium::Device,
        reading: true,
        writing: false,
        mapped: false,
        direct: false,
        sync: false,
        before: Some(pages(16 << 10, 0)),
        after: Some(pages(16 << 10, 0)),
    };
    let open = OpenFiles { files: vec![file], ..OpenFiles::default() };
    RunningRecord {
        watched: WatchedProgram {
            tool: Tool {
                name: "ioassay".to_string(),
                version: "0.1.0".to_string(),
                commit: None,
                command: vec!["ioassay".to_string(), "judge".to_string()],
            },
            began: "2026-11-27T12:00:00Z".to_string(),
            host: "here".to_string(),
            subject: Subject::Process { pid: 7, name: "server".to_string(), other_user: None },
            processors: 2,
            page_bytes: 4096,
            counts_device_waits: false,
            lists_children: true,
            disks: vec!["vda".to_string()],
        },
        intervals: (1..=3).map(second).collect(),
        end: Some(WatchEnd { ending: WatchEnding::Time, open, own_cpu_ns: Some(20_000_000) }),
    }
}

fn pages(cached: u64, dirty: u64) -> CachedPages {
    CachedPages { probe: Probe::Cachestat, pages: 16 << 10, cached, dirty: Some(dirty) }
}

fn second(number: u64) -> Interval {
    Interval {
        at_ns: number * SECOND,
        length_ns: SECOND,
        processes: 1,
        threads: 1,
        hidden: 0,
        lost: 0,
        read_bytes: Some(0),
        write_bytes: Some(0),
        cancelled_bytes: Some(0),
        read_call_bytes: Some(100 << 20),
        write_call_bytes: Some(0),
        read_calls: Some(25_600),
        write_calls: Some(0),
        user_ns: Some(SECOND / 4),
        system_ns: Some(SECOND / 4),
        busiest_thread_ns: Some(SECOND / 2),
        threads_cpu_ns: Some(SECOND / 2),
        run_delay_ns: Some(1_000_000),
        device_wait_ns: None,
        major_faults: Some(0),
        throttled_ns: Some(0),
        group_read_bytes: None,
        group_write_bytes: None,
        group_dirty_bytes: None,
        looks: ThreadLooks { count: 10, running: 5, blocked: 0, stopped: 0 },
        disks: Some(DiskCounts { flushes: Some(0), ..DiskCounts::default() }),
        machine_dirty_bytes: Some(1 << 20),
    }
}
