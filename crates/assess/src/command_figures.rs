//! The figures of a command.

use crate::commands::{asked_bytes, dirty_bytes, sum, waited_share};
use crate::counted::Counted;
use crate::durable_commands::CommandDurability;
use crate::measured::Measured;
use crate::stats::median;
use model::command::Exit;
use model::evidence::{Evidence, StorageTraffic};
use model::rehearsal::FactSheet;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// What a run of a command asked for, what devices did for it, and what it left.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CommandFigures {
    /// Bytes that its read calls returned, whatever served them: median of the rounds. Null if
    /// calls do not show all that it read: with mappings, rings or copies by the OS; or if they may
    /// have read more than files: with pipes, sockets, terminals and the like.
    pub asked_bytes: Option<u64>,
    /// Its calls that read, from anything: median of the rounds. Null if not counted.
    pub read_calls: Option<u64>,
    /// Its calls that write, to anything: median of the rounds.
    pub write_calls: Option<u64>,
    /// Bytes that such a call that reads returned on average: median of the rounds. Null if not
    /// counted.
    pub read_call_bytes: Option<u64>,
    /// Bytes that such a call that writes took on average: median of the rounds.
    pub write_call_bytes: Option<u64>,
    /// Bytes that devices read for it: median of the rounds.
    pub device_read_bytes: Option<u64>,
    /// Bytes that the devices read for any process: median of the rounds.
    pub all_read_bytes: Option<u64>,
    /// Bytes of the page cache that it made dirty, and bytes that it wrote directly: median of the
    /// rounds. They need not have reached a device.
    pub dirtied_bytes: Option<u64>,
    /// Bytes that the devices wrote for any process: median of the rounds.
    pub all_written_bytes: Option<u64>,
    /// Cache flushes that the devices completed for any process: median of the rounds.
    pub flushes: Option<u64>,
    /// Sync calls that make data durable, in the rehearsal; null if some may be unseen.
    pub syncs: Option<u64>,
    /// Data files that it read in the rehearsal; null without a rehearsal.
    pub files_read: Option<u64>,
    /// The sizes of these files, added up.
    pub files_read_bytes: Option<u64>,
    /// Data files that it wrote in the rehearsal and did not remove; null without a rehearsal.
    pub files_written: Option<u64>,
    /// The sizes of these files at the end, added up.
    pub files_written_bytes: Option<u64>,
    /// Bytes of the files that it wrote which were only in the page cache when it had ended:
    /// median of the rounds. Null if unseen, or if it wrote none.
    pub dirty_bytes: Option<u64>,
    /// Whether what it wrote was durable when it had ended; null if it wrote no file that is still
    /// there, and without a rehearsal.
    pub durability: Option<CommandDurability>,
    /// The share of its time in which no processor ran it, 0 to 1, at least: it waited for a
    /// device, for a processor, or for something else. Median of the rounds.
    pub waited_share: Option<f64>,
    /// The most memory of one of its processes, in bytes: median of the rounds. Null if it needs
    /// less than ioassay itself.
    pub peak_bytes: Option<u64>,
    /// Processes that went on after its end: median of the rounds.
    pub left_running: Option<u64>,
    /// Bytes that it wrote to the pipe on its standard output: median of the rounds. Null without a
    /// pipe.
    pub output_bytes: Option<u64>,
    /// CPU time that ioassay took to read its output while it ran, in nanoseconds, which is not in
    /// the command's: median of the rounds. Null if nobody read it.
    pub reading_cpu_ns: Option<u64>,
    /// The storages of its data files, if there are several that were watched.
    pub storages: Vec<StorageFigures>,
}

/// What the devices of a storage did in a run, for any process.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StorageFigures {
    /// A directory on it, with the largest file.
    pub directory: String,
    /// Bytes that they read: median of the rounds. Null if not counted.
    pub read_bytes: Option<u64>,
    /// Bytes that they wrote: median of the rounds.
    pub written_bytes: Option<u64>,
    /// Cache flushes that they completed: median of the rounds.
    pub flushes: Option<u64>,
}

impl StorageFigures {
    /// Those of a case.
    fn of(measured: &Measured) -> Vec<StorageFigures> {
        let places = measured.places;
        let files = measured.facts.iter().flat_map(|it| it.read_files().chain(it.written_files()));
        let numbers: BTreeSet<usize> = files.filter_map(|file| places.number(file)).collect();
        let of = |number: usize| {
            let count = |of: fn(StorageTraffic) -> Option<u64>| {
                measured.median_count(|trial| of(places.traffic(trial, number)?))
            };
            Some(StorageFigures {
                directory: places.storage(number)?.directory.display().to_string(),
                read_bytes: count(|it| it.read_bytes),
                written_bytes: count(|it| it.write_bytes),
                flushes: count(|it| it.flushes),
            })
        };
        let all = numbers.iter().filter_map(|number| of(*number));
        if numbers.len() > 1 { all.collect() } else { Vec::new() }
    }
}

impl CommandFigures {
    /// The figures of a case, if it is a command and a trial counts.
    pub(crate) fn of(measured: &Measured) -> Option<CommandFigures> {
        measured.case.command().filter(|_| measured.n() > 0)?;
        let count = |of: &dyn Fn(&Counted) -> Option<u64>| measured.median_count(of);
        let exit =
            |of: &dyn Fn(&Exit) -> Option<u64>| count(&|trial| of(trial.sample.exit.as_ref()?));
        let read = || measured.facts.map(FactSheet::read_files);
        let written = || measured.facts.map(FactSheet::written_files);
        Some(CommandFigures {
            asked_bytes: count(&|trial| asked_bytes(measured, trial)),
            read_calls: count(&|trial| trial.evidence.task_read_calls),
            write_calls: count(&|trial| trial.evidence.task_write_calls),
            read_call_bytes: count(&|trial| {
                let Evidence { task_rchar_bytes: bytes, task_read_calls: calls, .. } =
                    *trial.evidence;
                bytes?.checked_div(calls?)
            }),
            write_call_bytes: count(&|trial| {
                let Evidence { task_wchar_bytes: bytes, task_write_calls: calls, .. } =
                    *trial.evidence;
                bytes?.checked_div(calls?)
            }),
            device_read_bytes: count(&|trial| trial.evidence.task_read_bytes),
            all_read_bytes: count(&|trial| trial.evidence.device_read_bytes),
            dirtied_bytes: count(&|trial| trial.evidence.task_write_bytes),
            all_written_bytes: count(&|trial| trial.evidence.device_write_bytes),
            flushes: count(&|trial| trial.evidence.device_flushes),
            syncs: measured.facts.and_then(FactSheet::durable_syncs),
            files_read: read().map(|files| files.count() as u64),
            files_read_bytes: read().map(|files| sum(files, |file| file.bytes_before)),
            files_written: written().map(|files| files.count() as u64),
            files_written_bytes: written().map(|files| sum(files, |file| file.bytes_after)),
            dirty_bytes: count(&|trial| dirty_bytes(measured, trial)),
            durability: CommandDurability::of(measured),
            waited_share: median(&measured.values(waited_share)),
            peak_bytes: exit(&|exit| exit.peak_bytes),
            left_running: exit(&|exit| Some(exit.left_running)),
            output_bytes: exit(&|exit| exit.output_bytes),
            reading_cpu_ns: exit(&|exit| Some(exit.reading?.cpu_ns)),
            storages: StorageFigures::of(measured),
        })
    }
}
