//! Each figure of a case has one value, in every form.

use super::build;
use crate::metric::{self, Metric, Unit};
use crate::tests::forms::{fleet, markdown, page, picture_alone, records, together, trend};
use crate::words::per_second;
use crate::{Style, csv, json, json_of_fleet, json_of_records, json_of_together};
use crate::{openmetrics, table_columns};
use assess::finding::{Code, Severity};
use assess::fleet::FleetRecords;
use assess::records::Judged;
use assess::summary::Summary;
use assess::trend::{FigureUnit, Trends};
use assess::{Assessment, RunFinding};
use model::axis::Axis;
use model::case::{
    Allocation, Cache, Case, CommandWork, Engine, Io, MetadataWork, Op, ReadWork, Sync, Work,
    WriteWork,
};
use model::command::Exit;
use model::pattern::Pattern;
use model::plan::Role;
use model::record::{Header, Record};
use model::sample::{Latencies, Sample, Span};
use model::trial::{HostClock, Outcome, Trial};
use model::units;
use model::view::{Layout, View};
use model::zoo;
use serde_json::Value;
use std::convert::Infallible;
use std::time::Duration;

/// Where the JSON of a case has the figure of a metric, and how many of the metric's units its unit
/// is.
const PLACES: &[(&str, &str, f64)] = &[
    ("throughput", "/throughput/median", 1.0),
    ("acknowledged", "/writing/acknowledged/median", 1.0),
    ("durable", "/writing/durable/median", 1.0),
    ("iops", "/iops/median", 1.0),
    ("operation", "/ns_per_op/median", 1.0),
    ("p50", "/latency_ns/p50", 1.0),
    ("p90", "/latency_ns/p90", 1.0),
    ("p99", "/latency_ns/p99", 1.0),
    ("p99_9", "/latency_ns/p99_9", 1.0),
    ("p99_99", "/latency_ns/p99_99", 1.0),
    ("max", "/latency_ns/max", 1.0),
    ("sync_p50", "/writing/sync_latency_ns/p50", 1.0),
    ("sync_p90", "/writing/sync_latency_ns/p90", 1.0),
    ("sync_p99", "/writing/sync_latency_ns/p99", 1.0),
    ("sync_p99_9", "/writing/sync_latency_ns/p99_9", 1.0),
    ("sync_p99_99", "/writing/sync_latency_ns/p99_99", 1.0),
    ("sync_max", "/writing/sync_latency_ns/max", 1.0),
    ("offered", "/open/offered/median", 1.0),
    ("begun", "/open/achieved", 100.0),
    ("response_p50", "/open/response_ns/p50", 1.0),
    ("response_p90", "/open/response_ns/p90", 1.0),
    ("response_p99", "/open/response_ns/p99", 1.0),
    ("response_p99_9", "/open/response_ns/p99_9", 1.0),
    ("response_p99_99", "/open/response_ns/p99_99", 1.0),
    ("response_max", "/open/response_ns/max", 1.0),
    ("submit_lag", "/open/submit_lag_ns", 1.0),
    ("unsent", "/open/unsent", 1.0),
    ("backlog", "/open/backlog", 1.0),
    ("read_iops", "/mixed/read_iops/median", 1.0),
    ("read_p50", "/mixed/read_ns/p50", 1.0),
    ("read_p99", "/mixed/read_ns/p99", 1.0),
    ("read_p99_9", "/mixed/read_ns/p99_9", 1.0),
    ("write_iops", "/mixed/write_iops/median", 1.0),
    ("write_p50", "/mixed/write_ns/p50", 1.0),
    ("write_p99", "/mixed/write_ns/p99", 1.0),
    ("write_p99_9", "/mixed/write_ns/p99_9", 1.0),
    ("uncached", "/names/brought_share", 100.0),
    ("reads", "/names/device_reads", 1.0),
    ("idle", "/imbalance_percent", 1.0),
    ("cpu_per_op", "/cpu_ns_per_op", 1.0),
    ("wall", "/spent/wall_s", 1e9),
    ("user", "/spent/user_s", 1e9),
    ("system", "/spent/system_s", 1e9),
    ("cpu", "/spent/processors", 100.0),
    ("blocked", "/spent/blocked_share", 100.0),
    ("time", "/ns_per_op/median", 1.0),
    ("cpu_time", "/cpu_ns_per_op", 1.0),
    ("waited", "/command/waited_share", 100.0),
    ("asked", "/command/asked_bytes", 1.0),
    ("from_devices", "/command/device_read_bytes", 1.0),
    ("dirtied", "/command/dirtied_bytes", 1.0),
    ("still_dirty", "/command/dirty_bytes", 1.0),
    ("peak", "/command/peak_bytes", 1.0),
];

/// Metrics whose text says more than their figure, or another one.
const IN_WORDS: [&str; 4] = ["timed", "flushes", "ceiling", "hits"];

/// Wide enough for all columns.
const WIDE: Style = Style { colour: false, width: 4_000 };

/// Operations of a trial in blocks of 4 KiB, and every how many there is a sync.
const OPS: u64 = 20_000;
const EVERY: u64 = 16;

fn io() -> Io {
    Io { size: 1 << 30, cache: Cache::Direct, time: Duration::from_secs(1), ..zoo::plain().io }
}

fn writing(sync: Sync, read_share: u8) -> Work {
    let every = if sync == Sync::None { 0 } else { EVERY };
    Work::Write(WriteWork {
        io: Io { pattern: Pattern::Random, ..io() },
        op: Op::Write,
        sync,
        every,
        read_share,
        allocation: Allocation::Overwrite,
        ..zoo::plain_write()
    })
}

/// Work of each kind that has figures of its own.
pub(super) fn works() -> Vec<Work> {
    let reading = Work::Read(ReadWork { io: io(), ..zoo::plain() });
    let open = Work::Read(ReadWork { io: Io { rate: OPS, depth: 1, ..io() }, ..zoo::plain() });
    let names = MetadataWork { entries: OPS, ..zoo::plain_metadata() };
    let command = CommandWork { command: "wc input".to_string(), ..CommandWork::default() };
    vec![
        reading,
        open,
        writing(Sync::None, 0),
        writing(Sync::Fdatasync, 0),
        writing(Sync::None, 70),
        writing(Sync::Fdatasync, 70),
        Work::Metadata(names),
        Work::Command(command),
    ]
}

/// Operations of which most take `usual_ns`, and a few much longer.
fn latencies(usual_ns: u64, count: u64) -> Latencies {
    let (slow, slowest) = (count / 50, count / 400);
    let counts = vec![
        (usual_ns, count - slow - slowest),
        (5 * usual_ns, slow),
        (20 * usual_ns, slowest - 1),
        (31 * usual_ns, 1),
    ];
    Latencies { counts, max_ns: 31 * usual_ns }
}

fn sample(work: &Work, elapsed_ns: u64) -> Sample {
    let (write, open) = match work {
        Work::Write(work) => (Some(work), false),
        Work::Read(work) => (None, work.io.rate > 0),
        _ => (None, false),
    };
    let reads = write.map_or(0, |work| OPS * u64::from(work.read_share) / 100);
    let is_synced = write.is_some_and(|work| work.sync != Sync::None);
    let (ops, bytes) = match work {
        Work::Metadata(_) => (OPS, OPS),
        Work::Command(_) => (1, 0),
        _ => (OPS, OPS * 4096),
    };
    let is_command = matches!(work, Work::Command(_));
    let spans = vec![Span {
        start_ns: 5,
        end_ns: 5 + elapsed_ns,
        bytes,
        ops,
        digest: Some(77),
        read_ops: reads,
        read_bytes: reads * 4096,
        synced_ns: is_synced.then_some(5 + elapsed_ns + 40_000_000),
        paused_ns: open.then_some(elapsed_ns / 2),
        lag_ns: open.then_some(OPS * 700),
        // Two of three trials have another backlog than the third.
        backlog: if open { vec![3 + elapsed_ns % 2; 9] } else { Vec::new() },
        ..Span::default()
    }];
    let none = Latencies::default;
    Sample {
        setup_ns: 100_000,
        spans,
        latencies: if is_command { none() } else { latencies(40_000, OPS) },
        exit: is_command.then(|| Exit { peak_bytes: Some(5 << 20), ..Exit::default() }),
        syncs: if is_synced { latencies(900_000, OPS / EVERY) } else { none() },
        responses: if open { latencies(47_000, OPS) } else { none() },
        // They are among the latencies.
        reads: if reads > 0 { latencies(40_000, reads) } else { none() },
        ..Sample::default()
    }
}

/// What the OS counted around a trial that did nothing else.
fn seen(mut trial: Trial, work: &Work, sample: Sample) -> Trial {
    let is_write = matches!(work, Work::Write(_));
    let moves = !matches!(work, Work::Metadata(_) | Work::Command(_));
    let read = if is_write { sample.read_bytes() } else { sample.bytes() * u64::from(moves) };
    let written = if is_write { sample.written_bytes() } else { 0 };
    let evidence = &mut trial.evidence;
    evidence.window_ns = sample.elapsed_ns() + 41_000_000;
    evidence.residency_after = evidence.residency_before;
    (evidence.task_read_bytes, evidence.device_read_bytes) = (Some(read), Some(read));
    (evidence.task_write_bytes, evidence.device_write_bytes) = (Some(written), Some(written));
    (evidence.device_reads, evidence.device_writes) = (Some(read / 4096), Some(written / 4096));
    evidence.device_flushes = Some(sample.syncs.count());
    if !moves {
        (evidence.residency_before, evidence.residency_after) = (None, None);
    }
    if is_write {
        trial.expected_digest = None;
    }
    trial.outcome = Outcome::Done(sample);
    trial.clock = Some(HostClock { ahead_ns: 0, drift_ns: 0, error_ns: 20_000 });
    trial
}

/// A record of `work` with one thread and with two, in three invocations of three rounds.
pub(super) fn record(work: &Work, host: &str) -> Record {
    let mut record = zoo::record_of_invocations(3, 3);
    record.header.host.name = host.to_string();
    let first = record.header.plan.cases[0].clone();
    let mut cases = vec![first.clone(), first];
    for (threads, planned) in (1..).zip(&mut cases) {
        let mut case = Case::own(work.clone());
        match &mut case.work {
            Work::Metadata(work) => work.threads = threads,
            Work::Command(work) => work.parameters = format!("n={threads}"),
            _ => case.io_mut().expect("it is on a file").threads = threads,
        }
        (planned.case, planned.role) = (case, Role::Asked);
    }
    record.header.plan.cases = cases;
    let trials = std::mem::take(&mut record.trials);
    for trial in trials {
        for case in 0..2 {
            // Invocations differ by 5 %, their rounds by 1 %, and the second case is slower.
            let (invocation, round) = (u64::from(trial.invocation), u64::from(trial.round));
            let percent = 90 + 5 * invocation + round % 3 + 11 * case;
            let elapsed_ns = 10_000_000 * percent + u64::from(round % 3 > 0);
            let made = seen(trial.clone(), work, sample(work, elapsed_ns));
            record.trials.push(Trial { case: case as usize, ..made });
        }
    }
    record
}

/// The figure of a metric, from the JSON of its case.
fn one_value(metric: &str, case: &Value) -> Option<f64> {
    let (_, place, factor) = PLACES.iter().find(|(name, ..)| *name == metric)?;
    Some(case.pointer(place)?.as_f64()? * factor)
}

/// How people read the figure of a metric.
fn said(metric: &Metric, case: &Value, summary: &Summary) -> Option<String> {
    if metric.name == "throughput" && FigureUnit::of(&summary.case) == FigureUnit::NsPerOp {
        let ns = one_value("operation", case)?;
        return Some(format!("{}/op", units::nanoseconds(ns)));
    }
    let value = one_value(metric.name, case)?;
    Some(match metric.unit {
        Unit::Nanoseconds => units::nanoseconds(value),
        Unit::BytesPerSecond => units::rate(value),
        Unit::PerSecond => per_second(value),
        Unit::Percent => units::percent(value / 100.0),
        Unit::Bytes => units::bytes_rounded(value as u64),
        _ => value.to_string(),
    })
}

/// The main figure of a case.
fn main_said(case: &Value, summary: &Summary) -> String {
    let rate = if summary.case.is_mixed() || summary.writing.is_none() {
        "throughput"
    } else if summary.case.write().is_some_and(|work| work.sync != Sync::None) {
        "durable"
    } else {
        "acknowledged"
    };
    said(Metric::named("throughput"), case, summary)
        .filter(|_| rate == "throughput")
        .or_else(|| said(Metric::named(rate), case, summary))
        .expect("each case has one")
}

/// The words of a line of a table, each with its end.
fn words(line: &str) -> Vec<(String, usize)> {
    let mut words = Vec::new();
    let (mut word, mut spaces) = (String::new(), 0);
    for (at, letter) in line.chars().chain("  ".chars()).enumerate() {
        spaces = if letter == ' ' { spaces + 1 } else { 0 };
        word.push(letter);
        if spaces == 2 {
            let text = word.trim().to_string();
            if !text.is_empty() {
                words.push((text, at - 1));
            }
            (word, spaces) = (String::new(), 0);
        }
    }
    words
}

/// The cells of figures of a text's table whose header has these titles: for each row, the text
/// below each title.
fn cells_of_text(text: &str, first: &[&str]) -> Vec<Vec<(String, String)>> {
    cells_of_lines(text, first, 2)
}

/// The same of the first lines, of which some may be headings.
fn cells_of_lines(text: &str, first: &[&str], most: usize) -> Vec<Vec<(String, String)>> {
    let mut lines = text.lines().skip_while(|line| {
        let titles = words(line);
        !first.iter().all(|title| titles.iter().any(|(it, _)| it == title))
    });
    let header = words(lines.next().expect("the table is there"));
    let row = |line: &str| {
        let cells = words(line);
        let below = |(title, end): &(String, usize)| {
            let (text, _) = cells.iter().find(|(_, at)| at == end)?;
            Some((title.clone(), text.clone()))
        };
        header.iter().filter_map(below).collect()
    };
    lines.take(most).map(row).collect()
}

/// The same of all tables of a page.
fn cells_of_page(page: &str) -> Vec<(Vec<String>, Vec<Vec<String>>)> {
    let bare = |html: &str| {
        let mut text = String::new();
        let mut is_tag = false;
        for letter in html.chars() {
            is_tag = letter == '<' || is_tag;
            if !is_tag {
                text.push(letter);
            }
            is_tag = is_tag && letter != '>';
        }
        text.trim().to_string()
    };
    let cells = |row: &str| -> Vec<String> {
        let begins = |part: &&str| part.starts_with(['h', 'd']) && !part.starts_with("head");
        let cells = row.split("<t").filter(begins);
        cells.map(|cell| bare(cell.split_once('>').map_or("", |(_, text)| text))).collect()
    };
    let table = |table: &str| {
        let table = table.split("</table>").next().expect("a split has a first part");
        let mut rows = table.split("<tr").skip(1).map(cells).collect::<Vec<_>>();
        let header = if rows.is_empty() { Vec::new() } else { rows.remove(0) };
        (header, rows)
    };
    page.split("<table").skip(1).map(table).collect()
}

/// Checks the figures of a row, given as titles and texts.
fn check_row<'a>(
    form: &str,
    row: impl Iterator<Item = (&'a str, &'a str)>,
    case: &Value,
    summary: &Summary,
) {
    let mut checked = 0;
    for (title, text) in row {
        let titled = |metric: &&Metric| metric.title == title && !IN_WORDS.contains(&metric.name);
        let Some(metric) = metric::all().find(titled) else { continue };
        let bare = text.trim_start_matches(['~', '(']).trim_end_matches(')');
        let expected = if metric.name == "throughput" {
            Some(main_said(case, summary))
        } else {
            said(metric, case, summary)
        };
        let Some(expected) = expected else { continue };
        assert_eq!(bare, expected, "{form}: {title} of {}", summary.id);
        checked += 1;
    }
    assert!(checked > 2, "{form} shows {checked} figures of {}", summary.id);
}

/// Checks the forms of one record.
fn check(record: &Record) {
    let view = View {
        columns: table_columns().iter().map(ToString::to_string).collect(),
        ..build::view_of("survey")
    };
    let assessment = assess::assess(record);
    let wide = build::in_view(view, assessment.clone());
    let whole: Value = serde_json::from_str(&json(&assessment)).unwrap();
    // A command has no latencies.
    let is_command = assessment.cases[0].case.command().is_some();
    let timed = if is_command { "time/op" } else { "p50" };
    let table = cells_of_text(&crate::tests::forms::table(&wide, &WIDE), &["throughput", timed]);
    let marked = markdown(&assessment);
    let marked: Vec<Vec<&str>> = marked
        .lines()
        .filter(|line| line.starts_with("| "))
        .map(|line| line.trim_matches(['|', ' ']).split(" | ").collect())
        .collect();
    let page = cells_of_page(&page(&assessment));
    let of_cases = |header: &[String]| header.first().is_some_and(|first| first == "case");
    let (titles, rows) = page.iter().find(|(header, _)| of_cases(header)).expect("cases");
    for (index, summary) in assessment.cases.iter().enumerate() {
        let case = &whole["cases"][index];
        assert!(summary.verdict.stands(), "{}: {:#?}", summary.id, summary.findings);
        check_machines(&assessment, summary, case);
        let row = table[index].iter().map(|(title, text)| (title.as_str(), text.as_str()));
        check_row("the table", row, case, summary);
        let titles_marked = marked[0].iter().copied();
        let row = titles_marked.zip(marked[index + 2].iter().copied());
        check_row("Markdown", row, case, summary);
        let cells = rows[index].iter().map(String::as_str);
        check_row("the page", titles.iter().map(String::as_str).zip(cells), case, summary);
    }
    check_trials(&assessment, &whole, &page);
    check_picture(&assessment, &whole);
    check_runs(record, &assessment, &whole);
}

/// Checks the forms for programs of a case, of which `case` is the JSON.
fn check_machines(assessment: &Assessment, summary: &Summary, case: &Value) {
    let metrics = openmetrics(assessment);
    let id = crate::openmetrics::names(assessment)[summary.id.as_str()].clone();
    for metric in metric::all().filter(|metric| !IN_WORDS.contains(&metric.name)) {
        let [own, ..] = metric.based(summary);
        let one = one_value(metric.name, case);
        let base = if metric.unit == Unit::Nanoseconds { 1e9 } else { 1.0 };
        let is_near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs();
        assert!(
            own.is_some() == one.is_some()
                && own.zip(one).is_none_or(|(own, one)| is_near(own * base, one)),
            "{} of {}: {own:?} is not {one:?}",
            metric.name,
            summary.id
        );
        let (Some(one), Some((family, labels))) = (one, metric.gauge) else { continue };
        let Some(labels) = labels.of(summary) else { continue };
        let has = |line: &&str| {
            let all = labels.iter().map(|(name, value)| format!(",{name}=\"{value}\""));
            line.starts_with(&format!("ioassay_{}{{", family[0].0))
                && line.contains(&format!(",case=\"{id}\","))
                && all.into_iter().all(|label| line.contains(&label))
                // Other operations have this label besides.
                && (labels.iter().any(|(name, _)| name == "of") || !line.contains(",of=\""))
        };
        let found: Vec<&str> = metrics.lines().filter(has).collect();
        let [line] = found[..] else { panic!("{} of {id}: {found:#?}", metric.name) };
        let sample: f64 = line.rsplit(' ').next().unwrap().parse().unwrap();
        assert!(is_near(sample * base, one), "{line} is not {one}");
    }
}

/// Checks that the median of the invocations' medians of the trials in CSV is the figure of the
/// case, and that JSON and the page have the same trials.
fn check_trials(assessment: &Assessment, whole: &Value, page: &[(Vec<String>, Vec<Vec<String>>)]) {
    let table = csv(assessment);
    let mut reader = ::csv::Reader::from_reader(table.as_bytes());
    let header = reader.headers().unwrap().clone();
    let rows: Vec<::csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let at = |name: &str| header.iter().position(|it| it == name).unwrap();
    let median = |values: &[f64]| {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let of_trials = |header: &[String]| header.first().is_some_and(|first| first == "round");
    let tables: Vec<_> = page.iter().filter(|(header, _)| of_trials(header)).collect();
    for (index, summary) in assessment.cases.iter().enumerate() {
        let case = &whole["cases"][index];
        let own: Vec<_> = rows.iter().filter(|row| row[at("case")] == summary.id).collect();
        assert_eq!(own.len(), 9);
        for name in ["throughput", "acknowledged", "durable", "iops"] {
            let metric = Metric::named(name);
            let Some(one) = one_value(name, case) else { continue };
            let value = |row: &::csv::StringRecord| row[at(metric.column)].parse::<f64>().unwrap();
            let values: Vec<f64> = own.iter().map(|row| value(row)).collect();
            let medians: Vec<f64> = values.chunks(3).map(median).collect();
            let told = median(&medians);
            assert!((told - one).abs() <= 1e-9 * one, "{name} of {}: {told} {one}", summary.id);
            let (titles, trials) = tables[index];
            let column = titles.iter().position(|title| title == metric.title);
            for (round, value) in values.iter().enumerate() {
                let figures = &case["trials"][round]["figures"];
                assert_eq!(figures[metric.json.1].as_f64(), Some(*value), "{name}");
                let Some(column) = column else { continue };
                let said = if metric.unit == Unit::PerSecond { per_second } else { units::rate };
                assert_eq!(trials[round][column], said(*value), "{name} of {}", summary.id);
            }
        }
    }
}

/// Checks the bars of the ladder.
fn check_picture(assessment: &Assessment, whole: &Value) {
    let Ok(picture) = picture_alone(assessment, "ladder") else {
        let is_timed = FigureUnit::of(&assessment.cases[0].case) == FigureUnit::NsPerOp;
        assert!(is_timed, "only rates have bars");
        return;
    };
    for (index, summary) in assessment.cases.iter().enumerate() {
        let said = main_said(&whole["cases"][index], summary);
        assert!(picture.contains(&said), "the ladder has no {said} for {}", summary.id);
    }
}

/// Checks the forms of several records: from run to run, of two of them, and of hosts.
fn check_runs(record: &Record, assessment: &Assessment, whole: &Value) {
    let mut trends = Trends::default();
    trends.add(assessment);
    let runs = cells_of_text(&trend(&trends, assessment, 1, &WIDE), &["last"]);
    let twice = || Judged::of(record.clone());
    let versus = assess::compare(twice(), twice(), &[]);
    let compared = cells_of_text(&records(&versus, ["a", "b"], &WIDE), &["A", "B"]);
    let mut both = Vec::new();
    json_of_records(&versus, ["a", "b"], &mut both).unwrap();
    let both: Value = serde_json::from_slice(&both).unwrap();
    let mut gathering = FleetRecords::default();
    for host in ["one", "two", "three"] {
        let mut alike = record.clone();
        alike.header.host.name = host.to_string();
        gathering.add(&alike, &format!("{host}.jsonl")).unwrap();
    }
    let hosts = gathering.judge();
    let alike = cells_of_text(&fleet(&hosts, &WIDE), &["median"]);
    let mut all = Vec::new();
    json_of_fleet(&hosts, &mut all).unwrap();
    let all: Value = serde_json::from_slice(&all).unwrap();
    let read = |_| Ok::<_, Infallible>(with_name(record));
    let run = assess::together(1, read).unwrap().unwrap();
    let is_command = run.cases.iter().any(|joint| joint.case.command().is_some());
    let in_lockstep = match is_command {
        true => {
            // Each case has a heading and a row.
            let all = cells_of_lines(&together(&run, &WIDE), &["host", "time"], 4);
            all.into_iter().skip(1).step_by(2).collect()
        }
        false => cells_of_text(&together(&run, &WIDE), &["together"]),
    };
    let mut joint = Vec::new();
    json_of_together(&run, &mut joint).unwrap();
    let joint: Value = serde_json::from_slice(&joint).unwrap();
    for (index, summary) in assessment.cases.iter().enumerate() {
        let case = &whole["cases"][index];
        let is = |form: &str, cells: &[(String, String)], title: &str, expected: &str| {
            let found = cells.iter().find(|(it, _)| it == title).map(|(_, text)| text);
            let found = found.map(|text| text.trim_end_matches('?'));
            assert_eq!(found, Some(expected), "{form}: {title} of {}", summary.id);
        };
        let main = main_said(case, summary);
        is("watch", &runs[index], "last", &main);
        is("the fleet", &alike[index], "median", &main);
        // A name moves no bytes: what is compared is how many there are in a second.
        let time = main.trim_end_matches("/op").to_string();
        let rate = match FigureUnit::of(&summary.case) {
            FigureUnit::BytesPerSecond => main,
            FigureUnit::NsPerOp => per_second(one_value("iops", case).unwrap()),
        };
        let of_two = if summary.case.command().is_some() { &time } else { &rate };
        is("compare", &compared[index], "A", of_two);
        is("compare", &compared[index], "B", of_two);
        match summary.case.command() {
            Some(_) => is("lockstep", &in_lockstep[index], "time", &time),
            None => is("lockstep", &in_lockstep[index], "together", &rate),
        }
        for (name, place, _) in PLACES {
            let of_pair = both["pairs"][index]["a"].pointer(place);
            assert_eq!(of_pair, case.pointer(place), "{name} in compare");
        }
        let quantity = match FigureUnit::of(&summary.case) {
            FigureUnit::BytesPerSecond => "throughput",
            FigureUnit::NsPerOp => "operation",
        };
        let near = |form: &str, found: &Value, name: &str| {
            let (found, one) = (found.as_f64(), one_value(name, case));
            let is_near = |(a, b): (f64, f64)| (a - b).abs() <= 1e-9 * b;
            assert!(found.zip(one).is_some_and(is_near), "{form}: {name} {found:?} {one:?}");
        };
        near("the fleet", &all["cases"][index]["median"], quantity);
        near("lockstep", &joint["cases"][index]["iops"]["median"], "iops");
        if quantity == "throughput" {
            near("lockstep", &joint["cases"][index]["throughput"]["median"], quantity);
        }
    }
}

fn with_name(record: &Record) -> Record {
    let header = Header { called: Some("one".to_string()), ..record.header.clone() };
    Record { header, ..record.clone() }
}

#[test]
fn every_form_has_one_value_of_a_figure() {
    for work in works() {
        check(&record(&work, "zoo"));
    }
}

/// The verdict of a case, or why it has no figure, is the same word in all forms.
#[test]
fn every_form_has_one_verdict() {
    let reason = || "it died".to_string();
    let outcomes = [
        ("failed", Some(Outcome::Failed { reason: reason() })),
        ("unavailable", Some(Outcome::Unavailable { reason: reason() })),
        ("not run", None),
    ];
    for (verdict, outcome) in outcomes {
        let mut record = zoo::record();
        match outcome {
            Some(outcome) => {
                record.trials.iter_mut().for_each(|trial| trial.outcome = outcome.clone());
            }
            None => record.trials.clear(),
        }
        let assessment = assess::assess(&record);
        let whole: Value = serde_json::from_str(&json(&assessment)).unwrap();
        assert_eq!(whole["cases"][0]["verdict"], verdict);
        let table = csv(&assessment);
        let mut reader = ::csv::Reader::from_reader(table.as_bytes());
        let at = reader.headers().unwrap().iter().position(|name| name == "verdict").unwrap();
        assert!(reader.records().all(|row| &row.unwrap()[at] == verdict), "{table}");
        let metrics = openmetrics(&assessment);
        let is_it = |line: &&str| line.contains(",verdict=") && line.ends_with(" 1");
        let told: Vec<&str> = metrics.lines().filter(is_it).collect();
        assert!(told.len() == 1 && told[0].contains(&format!("\"{verdict}\"")), "{told:?}");
        let listed = crate::Listed::of("a.jsonl".to_string(), &assessment);
        let mut gathering = FleetRecords::default();
        gathering.add(&record, "a.jsonl").unwrap();
        for text in [
            crate::tests::forms::text(&assessment, &WIDE),
            page(&assessment),
            markdown(&assessment),
            crate::runs(&[listed], &[]).text(&WIDE),
            fleet(&gathering.judge(), &WIDE),
        ] {
            assert!(text.contains(verdict), "no '{verdict}': {text}");
        }
    }
}

/// What the texts of a run say that its figures are.
fn said_of_figures(record: &Record) -> String {
    let mut record = record.clone();
    let view = View {
        layout: Layout::Pivot,
        rows: Axis::named("threads"),
        cells: vec!["throughput".to_string()],
        ..View::default()
    };
    record.header.plan.view = Some(view);
    let assessment = assess::assess(&record);
    let pictures: String =
        crate::tests::forms::pictures(&assessment).iter().map(|picture| picture.svg()).collect();
    crate::tests::forms::text(&assessment, &WIDE) + &page(&assessment) + &pictures
}

#[test]
fn figures_are_called_what_they_are() {
    let work = Work::Read(ReadWork { io: io(), ..zoo::plain() });
    let of_invocations = record(&work, "zoo");
    let said = said_of_figures(&of_invocations);
    assert!(said.contains("figures: the median of the invocations' medians"), "{said}");
    assert!(!said.contains("the median of the rounds"), "{said}");
    let mut of_rounds = of_invocations;
    of_rounds.header.plan.invocations = 1;
    of_rounds.trials.iter_mut().for_each(|trial| trial.invocation = 0);
    of_rounds.invocations.clear();
    let said = said_of_figures(&of_rounds);
    assert!(said.contains("figures: the median of the rounds"), "{said}");
}

/// The name of a kind of work is also that of an engine.
#[test]
fn a_column_of_a_single_engine_has_its_name() {
    let mut of_mmap = record(&Work::Read(ReadWork { io: io(), ..zoo::plain() }), "zoo");
    for planned in &mut of_mmap.header.plan.cases {
        let Work::Read(work) = &mut planned.case.work else { panic!("it reads") };
        (work.engine, work.io.cache) = (Engine::Mmap, Cache::Cold);
    }
    of_mmap.header.plan.view = Some(View {
        layout: Layout::Pivot,
        rows: Axis::named("threads"),
        cells: vec!["throughput".to_string()],
        ..View::default()
    });
    let said = crate::tests::forms::text(&assess::assess(&of_mmap), &WIDE);
    let header = said.lines().find(|line| line.starts_with("threads ")).expect("a table");
    assert_eq!(header.split_whitespace().collect::<Vec<_>>(), ["threads", "mmap"], "{said}");
}

/// A campaign goes on after the planned rounds.
#[test]
fn all_rounds_of_a_campaign_are_counted() {
    let mut longer = record(&Work::Read(ReadWork { io: io(), ..zoo::plain() }), "zoo");
    longer.header.plan.rounds = 3;
    longer.header.plan.invocations = 3;
    longer.header.plan.budget = Some(Duration::from_secs(60));
    let said = crate::tests::forms::text(&assess::assess(&longer), &WIDE);
    assert!(said.contains("3 invocations, 9 rounds"), "{said}");
}

/// The steps of a mix are those of all its operations.
#[test]
fn the_end_of_a_mix_is_not_called_acknowledged() {
    let mut assessment = super::made_writing::sustained();
    let said = crate::tests::forms::text(&assessment, &WIDE);
    assert!(said.contains("acknowledged at"), "{said}");
    for summary in &mut assessment.cases {
        if let Work::Write(work) = &mut summary.case.work {
            work.read_share = 70;
        }
    }
    let said = crate::tests::forms::text(&assessment, &WIDE);
    assert!(said.contains("reads and writes at"), "{said}");
    assert!(!said.contains("acknowledged at"), "{said}");
}

/// A code may have been found at two severities.
#[test]
fn a_list_of_findings_has_each_code_once() {
    let mut assessment = assess::assess(&zoo::record());
    let steal = |severity| {
        let finding = build::finding(Code::Steal, severity, "it was stolen", "");
        RunFinding { finding, cases: Vec::new(), baselines: Vec::new() }
    };
    let other = build::of_run(build::finding(Code::Foreign, Severity::Doubt, "others", ""));
    assessment.findings = vec![steal(Severity::Doubt), other, steal(Severity::Note)];
    assert_eq!(assessment.codes(), [Code::Steal, Code::Foreign]);
    let listed = crate::Listed::of("a.jsonl".to_string(), &assessment);
    assert_eq!(listed.findings, ["Steal", "Foreign"]);
    let mut trends = Trends::default();
    trends.add(&assessment);
    let said = trend(&trends, &assessment, 1, &WIDE);
    assert!(said.contains("Steal, Foreign\n"), "{said}");
}
