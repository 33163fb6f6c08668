//! A record of commands.

use crate::case::{Cache, Case, Work};
use crate::command::{Exit, JudgedCommand};
use crate::environment::Environment;
use crate::evidence::{Evidence, Probe, Residency};
use crate::plan::{Plan, Role};
use crate::record::Record;
use crate::rehearsal::{
    CommandEnd, FactSheet, FileRole, FileUse, Opens, OtherSources, SyncCalls, Totals,
};
use crate::sample::{Sample, Span, Usage};
use crate::task_io::TaskIo;
use crate::trial::{Outcome, Trial};
use crate::view::{Question, View};

/// The size of the file that both commands read.
pub const INPUT: u64 = 64 << 20;
/// The size of the file that the second writes.
pub const OUTPUT: u64 = 32 << 20;

/// A data file of this size, opened once for reading.
fn input() -> FileUse {
    FileUse {
        path: std::path::Path::new("/data/input").into(),
        device: 1,
        inode: 2,
        bytes_before: Some(INPUT),
        bytes_after: Some(INPUT),
        opens: Opens { times: 1, reading: 1, ..Opens::default() },
        ..FileUse::default()
    }
}

/// A data file that a command creates.
fn output() -> FileUse {
    FileUse {
        path: std::path::Path::new("/data/output").into(),
        inode: 3,
        bytes_before: None,
        bytes_after: Some(OUTPUT),
        created: true,
        opens: Opens { times: 1, writing: 1, truncate: 1, ..Opens::default() },
        ..input()
    }
}

/// The rehearsal of a command of one process that used these files.
fn facts(files: Vec<FileUse>, syncs: SyncCalls) -> FactSheet {
    let program = FileUse {
        path: std::path::Path::new("/usr/bin/program").into(),
        role: FileRole::Program,
        device: 1,
        inode: 9,
        bytes_before: Some(100_000),
        bytes_after: Some(100_000),
        executed: true,
        ..FileUse::default()
    };
    let io = TaskIo { rchar: INPUT, syscr: INPUT >> 17, ..TaskIo::default() };
    FactSheet {
        files: [program].into_iter().chain(files).collect(),
        other_sources: Some(OtherSources::default()),
        syncs,
        processes: 1,
        threads: 1,
        end: Some(CommandEnd::Exited(0)),
        totals: Some(Totals { wall_ns: 90_000_000, io: Some(io), ..Totals::default() }),
        ..FactSheet::default()
    }
}

/// A command that only reads, and one that also writes a file and syncs it.
fn commands() -> [JudgedCommand; 2] {
    let of = |words: &[&str], writes: &[&str]| JudgedCommand {
        name: words.join(" "),
        arguments: words.iter().map(|word| word.to_string()).collect(),
        directory: "/data".into(),
        reads: vec!["/data/input".into()],
        writes: writes.iter().map(|path| path.into()).collect(),
        ..JudgedCommand::default()
    };
    [of(&["wc", "input"], &[]), of(&["sort", "-o", "output", "input"], &["/data/output"])]
}

/// Both commands, warm and cold, in ten rounds without a flaw: cold, a device read all that they
/// asked for, and warm nothing. What the second wrote is durable.
pub fn record_of_commands() -> Record {
    let mut record = super::record();
    let mut plan = Plan::new("judge", 10, 0.0, 1);
    let header = &record.header;
    let here = &Environment {
        host: &header.host,
        storage: header.storage.as_ref(),
        source: None,
        peers: &[],
    };
    let commands = commands();
    for command in &commands {
        let of = |cache| Case::own(Work::Command(command.work(cache)));
        plan.add([Cache::Warm, Cache::Cold].map(of), Role::Asked, here);
    }
    plan.commands = commands.to_vec();
    let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
    plan.view = Some(View {
        columns: names(&["time", "cpu_time", "asked", "from_devices", "served_by"]),
        answer: vec![Question::Commands],
        ..View::default()
    });
    record.header.plan = plan;
    record.header.fixtures.clear();
    record.header.tool.command = ["ioassay", "judge", "wc input"].map(str::to_string).to_vec();
    let fdatasync = 1;
    record.header.rehearsals = vec![
        facts(vec![input()], SyncCalls::default()),
        facts(vec![input(), output()], SyncCalls { fdatasync, ..SyncCalls::default() }),
    ];
    let rounds = 0..10;
    let all = rounds.flat_map(|round| (0..4).map(move |case| trial(case, round)));
    record.trials = all.collect();
    record
}

/// A run of a case of [`record_of_commands`].
fn trial(case: usize, round: u32) -> Trial {
    let (writes, is_cold) = (case / 2 == 1, case % 2 == 1);
    let (computes_ns, waits_ns) = match (writes, is_cold) {
        (false, false) => (80_000_000, 1_000_000),
        (false, true) => (80_000_000, 60_000_000),
        (true, false) => (190_000_000, 20_000_000),
        (true, true) => (190_000_000, 80_000_000),
    };
    let elapsed_ns = computes_ns + waits_ns + u64::from((round * 7 + case as u32) % 10) * 100_000;
    let pages = INPUT / 4096;
    let of_input = |cached| Residency { probe: Probe::Cachestat, pages, cached, dirty: Some(0) };
    let pages = OUTPUT / 4096;
    let of_output = Residency { pages, cached: pages, ..of_input(0) };
    let (read, written) = (if is_cold { INPUT } else { 0 }, if writes { OUTPUT } else { 0 });
    let usage = Usage {
        cpu_ns: Some(computes_ns),
        user_ns: Some(computes_ns - 10_000_000),
        system_ns: Some(10_000_000),
        minor_faults: Some(100),
        major_faults: Some(0),
        switches_voluntary: Some(7),
        switches_involuntary: Some(2),
    };
    let span = Span { start_ns: 5, end_ns: 5 + elapsed_ns, ops: 1, ..Span::default() };
    let exit = Exit { status: Some(0), peak_bytes: Some(3 << 20), ..Exit::default() };
    let sample = Sample { spans: vec![span], usage, exit: Some(exit), ..Sample::default() };
    let plain = super::trial(round).evidence;
    let all = INPUT / 4096;
    let evidence = Evidence {
        window_ns: elapsed_ns + 200_000,
        residency_before: Some(of_input(if is_cold { 0 } else { all })),
        residency_after: Some(of_input(all)),
        written_after: writes.then_some(of_output),
        task_read_bytes: Some(read),
        task_rchar_bytes: Some(INPUT + 3_000),
        task_wchar_bytes: Some(written + 100),
        task_read_calls: Some((INPUT >> 17) + 20),
        task_write_calls: Some((written >> 17) + 2),
        task_write_bytes: Some(written),
        device_read_bytes: Some(read),
        device_reads: Some(read >> 17),
        device_write_bytes: Some(written),
        device_writes: Some(written >> 17),
        device_flushes: Some(u64::from(writes)),
        machine_cpu_ns: Some(2 * elapsed_ns),
        pressure_io_ns: Some(waits_ns),
        ..plain
    };
    let at_ms = u64::from(round) * 1_000 + case as u64 * 250;
    let trial = Trial::without_data((case, 0, round), at_ms, Outcome::Done(sample));
    Trial { evidence, ..trial }
}
