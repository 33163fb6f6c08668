//! The kinds of input, and the properties that must hold for any input.

use super::machine::MachineFiles;
use crate::files;
use assess::path::{JudgedPath, judge_path};
use assess::records::Judged;
use model::case::Case;
use model::environment::Environment;
use model::path::{HopKind, MediumPath};
use model::printable::is_printable;
use model::record::{Record, RecordLine, VERSION};
use model::trial::Job;
use model::wire::{Reply, Request};
use model::{units, zoo};
use report::{Document, Style};
use std::convert::Infallible;
use std::fs;
use std::path::Path;

/// A kind of input.
pub(super) struct InputKind {
    /// Its name.
    pub(super) name: &'static str,
    /// Its share of the time, relative to the others.
    pub(super) share: u128,
    /// Valid inputs.
    pub(super) seeds: fn(&Path) -> Vec<String>,
    /// Checks the properties and returns what is wrong.
    pub(super) check: fn(&str) -> Result<(), String>,
}

/// All kinds.
pub(super) const KINDS: [InputKind; 9] = [
    InputKind { name: "time", share: 1, seeds: times, check: time },
    InputKind { name: "size", share: 1, seeds: sizes, check: size },
    InputKind { name: "case", share: 1, seeds: cases, check: case },
    InputKind { name: "wire", share: 1, seeds: wires, check: wire },
    InputKind { name: "recipe", share: 2, seeds: recipes, check: recipe },
    InputKind { name: "jobs", share: 1, seeds: jobs, check: job },
    InputKind { name: "peers", share: 1, seeds: tables, check: table },
    InputKind { name: "path", share: 2, seeds: machines, check: machine_path },
    InputKind { name: "record", share: 8, seeds: records, check: record },
];

fn ensure(holds: bool, what: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what.to_owned()) }
}

fn times(_: &Path) -> Vec<String> {
    ["1s 500ms", "2s", "1m 30s", "30days", "1h 1m 1s 1ms 1us 1ns", "0.5s", "1month 2weeks"]
        .map(str::to_owned)
        .to_vec()
}

fn time(text: &str) -> Result<(), String> {
    let Ok(time) = units::parse_time(text) else { return Ok(()) };
    ensure(time <= units::TIME_MAX, "a time above the most")?;
    ensure(units::parse_time(&units::time(time)) == Ok(time), "a time is not read back")
}

fn sizes(_: &Path) -> Vec<String> {
    ["1", "512B", "4KiB", "1.5GiB", "8192TiB", "4 MB", "9007199254740991"]
        .map(str::to_owned)
        .to_vec()
}

fn size(text: &str) -> Result<(), String> {
    let Ok(size) = units::parse_bytes(text) else { return Ok(()) };
    ensure((1..=units::BYTES_MAX).contains(&size), "a size outside of its range")?;
    ensure(units::parse_bytes(&units::bytes(size)) == Ok(size), "a size is not read back")
}

fn cases(_: &Path) -> Vec<String> {
    let cases = zoo::cases();
    cases.iter().map(|case| serde_json::to_string(case).expect("it is plain data")).collect()
}

fn case(text: &str) -> Result<(), String> {
    let Ok(case) = serde_json::from_str::<Case>(text) else { return Ok(()) };
    ensure(Case::from_axes(&case.axes()) == Ok(case.clone()), "a case is not read back")?;
    let (host, storage) = (zoo::host(), zoo::storage());
    let environment =
        Environment { host: &host, storage: Some(&storage), source: None, peers: &[] };
    let refusal = environment.refusal(&case);
    ensure(refusal != Some(String::new()) && !case.id().is_empty(), "an empty text")
}

fn wires(_: &Path) -> Vec<String> {
    let record = zoo::record();
    let replies = record.trials.iter().flat_map(|trial| Reply::of(&trial.outcome));
    let replies = replies.take(50).map(|reply| reply.encode());
    let job =
        |case: Case| Request::Job(Job { file: Some("/tmp/x".into()), ..Job::of(case, 3) }).encode();
    replies.chain(zoo::cases().into_iter().map(job)).collect()
}

fn wire(text: &str) -> Result<(), String> {
    if let Ok(request) = Request::decode(text) {
        let again = Request::decode(&request.encode());
        ensure(again.is_ok_and(|again| again == request), "a request is not read back")?;
    }
    if let Ok(reply) = Reply::decode(text) {
        let again = Reply::decode(&reply.encode());
        ensure(again.is_ok_and(|again| again == reply), "a reply is not read back")?;
    }
    Ok(())
}

fn recipes(_: &Path) -> Vec<String> {
    ioassay::recipe::BUILT_IN.iter().map(|(_, text)| text.to_string()).collect()
}

fn recipe(text: &str) -> Result<(), String> {
    let Ok(recipe) = ioassay::recipe::parse(text) else { return Ok(()) };
    let (host, storage, peers) = (zoo::host(), zoo::storage(), [zoo::peer()]);
    let environment =
        Environment { host: &host, storage: Some(&storage), source: None, peers: &peers };
    let changes = ioassay::recipe::Changes { seed: Some(1), ..Default::default() };
    let Ok(plan) = recipe.plan(&changes, &environment) else { return Ok(()) };
    let asked = plan.cases.len() + plan.skips.len();
    ensure(asked <= 2 * model::plan::CASES_MAX, "more cases than can be planned")
}

fn jobs(_: &Path) -> Vec<String> {
    [
        "[global]\nioengine=libaio\ndirect=1\niodepth=32\n[a]\nrw=randread\nbs=4k\nsize=1g\n",
        "[a]\nrw=write:8k\nbs=4k,8k\nfdatasync=1\nsize=10%\nbuffer_pattern=0xab\n[b]\nstonewall\n",
        "; two at once\n[a]\nrw=randrw\nbssplit=4k/60:8k/40\n[b]\nrate_iops=50\nsize=$ncpus*4k\n",
        "[a]\nioengine=filestat\nnrfiles=9\n[b]\nwait_for=a\nrandom_distribution=zipf:1.1\n",
    ]
    .map(str::to_owned)
    .to_vec()
}

fn job(text: &str) -> Result<(), String> {
    let Ok(imported) = ioassay::fio::import(text, "jobs.fio", &ioassay::fio::Here::nowhere())
    else {
        return Ok(());
    };
    ioassay::recipe::parse(&imported.text)
        .map_err(|error| format!("a broken recipe: {error:#}"))?;
    recipe(&imported.text)
}

fn tables(root: &Path) -> Vec<String> {
    let table = fs::read_to_string(root.join("peers/peers.toml")).expect("it is ours");
    let rows = table.split("[[peer]]").skip(1);
    rows.map(|row| format!("[[peer]]{row}")).collect()
}

fn table(text: &str) -> Result<(), String> {
    // A peer table determines which programs run, so this only parses it.
    let _ = ioassay::peers::is_table(text);
    Ok(())
}

fn machines(root: &Path) -> Vec<String> {
    let paths = files::in_folder(&root.join("crates/witness/tests/trees"), "txt");
    let paths = paths.expect("they are ours");
    paths.iter().map(|path| fs::read_to_string(path).expect("it is ours")).collect()
}

/// The most hops of a path of a changed machine. Those of the tests have far fewer.
const HOPS_MOST: usize = 2_000;

/// The paths from all mounts of a machine.
fn machine_path(text: &str) -> Result<(), String> {
    // In memory, where hundreds of files take no time, whatever else the disk does.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let folder = folder.map_err(|error| error.to_string())?;
    MachineFiles::of(text).write(folder.path()).map_err(|error| error.to_string())?;
    let mounts = fs::read_to_string(folder.path().join("proc/self/mountinfo")).unwrap_or_default();
    let points = mounts.lines().filter_map(|line| line.split(' ').nth(4)).take(MOUNTS_MOST);
    let found = points.filter_map(|at| witness::path_of_machine(folder.path(), Path::new(at)).ok());
    let judged = found.map(|path| {
        let judged = judge_path(&path.top, path.hypervisor.is_some());
        (path, judged)
    });
    let paths: Vec<(MediumPath, JudgedPath)> = judged.collect();
    for (path, judged) in &paths {
        ensure(judged.hops.len() <= HOPS_MOST, "a path without an end")?;
        ensure(judged.hops.len() == path.top.all().len(), "a hop is not judged")?;
        let limits = judged.hops.iter().filter_map(|hop| hop.allows);
        let mut limits = limits.chain(judged.allows.iter().map(|most| most.bytes_per_second));
        ensure(limits.all(f64::is_finite), "a limit is no number")?;
        let hops = path.top.all();
        let is_limited = hops.iter().any(|hop| !hop.limits.is_empty());
        let may_be = path.hypervisor.is_none() || is_limited;
        ensure(judged.allows.is_none() || may_be, "a guest's link limits it")?;
        for (hop, judged) in hops.into_iter().zip(&judged.hops) {
            let has_cause = has_speed(&hop.kind) || !hop.limits.is_empty();
            ensure(judged.allows.is_none() || has_cause, "a limit without a cause")?;
        }
    }
    if paths.is_empty() {
        return Ok(());
    }
    let document = report::paths(&paths);
    let text = document.text(&Style { colour: false, width: 100 });
    let forms = [text, document.markdown(), document.page(), report::json_of_paths(&paths)];
    ensure(serde_json::from_str::<serde_json::Value>(&forms[3]).is_ok(), "JSON that is none")?;
    ensure(!forms[2].contains("--><script>"), "a page has a script")?;
    let is_still = |form: &String| form.chars().all(|c| c == '\n' || is_printable(c));
    ensure(forms.iter().all(is_still), "a form steers")
}

/// The most mounts of a changed machine whose paths are looked at.
const MOUNTS_MOST: usize = 8;

fn has_speed(kind: &HopKind) -> bool {
    match kind {
        HopKind::Link(link) => link.now.rate.is_some(),
        HopKind::Interface(interface) => interface.speed.is_some(),
        _ => false,
    }
}

/// Lines of a kept record to use in a seed: few enough to judge in no time.
const LINES_MOST: usize = 40;

fn records(root: &Path) -> Vec<String> {
    let paths = files::in_folder(&root.join("records"), "jsonl").expect("it is ours");
    let head = |path: &std::path::PathBuf| {
        let text = fs::read_to_string(path).expect("it is ours");
        text.split_inclusive('\n').take(LINES_MOST).collect()
    };
    let whole = paths.iter().map(head);
    whole.chain([small()]).collect()
}

/// A record with one case.
fn small() -> String {
    let record = zoo::record();
    let mut lines = vec![RecordLine::Header { version: VERSION, header: record.header }];
    lines.extend(record.trials.into_iter().map(RecordLine::Trial));
    lines.push(RecordLine::End(record.end));
    lines.iter().map(|line| line.encode() + "\n").collect()
}

fn record(text: &str) -> Result<(), String> {
    let Ok(mut record) = Record::decode(text) else { return Ok(()) };
    record.header.plan.view = Some(ioassay::recipe::view_of(&record.header.plan));
    let assessment = assess::assess(&record);
    let hosts = assess::together(2, |_| Ok::<Record, Infallible>(record.clone()));
    let hosts = hosts.ok().flatten();
    let versus = assess::compare(Judged::of(record), Judged::of(zoo::record()), &[]);
    let limits = ["slower > 5%", "p99 > 200%"].map(|limit| limit.parse().expect("it is one"));
    let gate = assess::gate::gate(&versus, &limits);
    let (paths, style) = (["a", "b"], Style { colour: false, width: 100 });
    let run = report::run(&assessment);
    let coloured = run.text(&Style { colour: true, width: 40 });
    ensure(report::to_terminal(&coloured) == coloured, "coloured text steers")?;
    let of_hosts = hosts.as_ref().map(report::together);
    let of_two = report::records(&versus, Some(&gate), paths);
    let documents = [run, of_two, report::gate_run(&versus, &gate, paths)];
    let documents: Vec<Document> = documents.into_iter().chain(of_hosts).collect();
    let mut forms = vec![report::csv(&assessment), report::openmetrics(&assessment)];
    let mut pages = Vec::new();
    for document in &documents {
        forms.extend([document.text(&style), document.markdown()]);
        pages.push(document.page());
        for picture in document.pictures() {
            pages.push(document.picture_alone(&picture.name).map_err(|e| e.to_string())?);
        }
    }
    let mut of_two = Vec::new();
    report::json_of_records(&versus, paths, &mut of_two).map_err(|error| error.to_string())?;
    let of_two = String::from_utf8(of_two).map_err(|error| error.to_string())?;
    let json = [report::json(&assessment), of_two, report::json_of_gate(&versus, &gate, paths)];
    let is_json = |text: &String| serde_json::from_str::<serde_json::Value>(text).is_ok();
    ensure(json.iter().all(is_json), "JSON that is none")?;
    ensure(pages.iter().all(|page| !page.contains("--><script>")), "a page has a script")?;
    let is_still = |form: &String| form.chars().all(|c| c == '\n' || is_printable(c));
    ensure(forms.iter().chain(&json).chain(&pages).all(is_still), "a form steers")
}
