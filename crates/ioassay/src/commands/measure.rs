//! `survey`, `run` and `plan`: from a question to its answer.

mod calibrate;
mod shapes;
pub mod both;
pub mod judge;

use super::kept::{Kept, tell_building, tell_how_to_go_on, tell_kept, tell_remains};
use super::question::fit::tell_smaller;
use super::question::{self, RunQuestion, Setting};
use super::{command_line, dry, form, tell};
use crate::args::{OutputArgs, RunArgs, SurveyArgs};
use crate::builder::{self, Ready};
use crate::files::{Files, Maker, Target};
use crate::fixture::{OwnFile, Stay};
use crate::orphans;
use crate::peers::{Peers, Program};
use crate::progress::Progress;
use crate::resume::{self, Interrupted, ResumedRun};
use crate::schedule::Run;
use crate::site::Site;
use crate::status::Status;
use crate::stop::Stop;
use crate::store::{self, Place, RecordFate, Store};
use crate::version;
use crate::worker_process;
use anyhow::{Context, Result, bail};
use calibrate::Calibrator;
use model::case::OWN_PEER;
use model::environment::Environment;
use model::peer::Peer;
use model::plan::Plan;
use model::record::{Header, Record, Resumed, Tool};
use report::Style;
use shapes::shapes_of;
use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};
use witness::MemoryGroup;

/// `ioassay run`.
///
/// # Errors
/// If the question is not understood or cannot be answered here.
pub fn run(args: &RunArgs, style: &Style) -> Result<Status> {
    answer(question::of_run(args)?, &args.output, style)
}

/// `ioassay survey`.
///
/// # Errors
/// As for [`run`].
pub fn survey(args: &SurveyArgs, style: &Style) -> Result<Status> {
    answer(question::of_survey(args)?, &args.output, style)
}

/// `ioassay plan`.
///
/// # Errors
/// As for [`run`].
pub fn plan(args: &RunArgs, style: &Style) -> Result<Status> {
    dry::check_form(&args.output.form)?;
    if args.output.resume.is_some() {
        bail!("--resume measures, and a plan does not: leave it out");
    }
    dry::show(&question::of_run(args)?, &args.output, style)
}

/// Measures the question, keeps the record and prints the report; a dry run prints the plan.
/// Returns the exit status.
fn answer(mut question: RunQuestion, output: &OutputArgs, style: &Style) -> Result<Status> {
    if output.dry_run {
        return dry::show(&question, output, style);
    }
    let interrupted = output.resume.as_deref().map(Interrupted::open).transpose()?;
    if let Some(interrupted) = &interrupted {
        // By default it comes from the clock, which would give another plan.
        question.changes.seed.get_or_insert(interrupted.record.header.plan.seed);
        question.read_as_then(interrupted)?;
    }
    let stop = Stop::on_signals().context("failed to listen for signals")?;
    stop.status(keep(&question, interrupted, output, &stop).and_then(|kept| match kept {
        // Nothing was measured: there is no record to judge.
        None => Ok(Status::DONE),
        Some(kept) => judge(&kept, question.is_strict, output, style),
    }))
}

/// Measures the question, or what is left of an interrupted run, and keeps the record; none if
/// stopped before the first trial.
///
/// # Errors
/// If nothing could be measured: a place that does not exist, is not writable or is too small; or
/// if the interrupted run was another one.
pub fn keep(
    question: &RunQuestion,
    interrupted: Option<Interrupted>,
    output: &OutputArgs,
    stop: &Stop,
) -> Result<Option<Kept>> {
    orphans::adopt();
    let RunQuestion { target, peers, .. } = question;
    let mut setting = Setting::of(question)?;
    setting.check_any_asked()?;
    let memory = question.memory.map(MemoryGroup::create).transpose()?;
    let place = Place::of(output.record.as_deref());
    place.check()?;
    form::check(&output.form, &place)?;
    let progress = &Progress::unless(output.quiet);
    let ready = ready_peers(peers, &setting.plan, progress, stop);
    let is_pinned = setting.plan.bound.pin.is_some();
    let worker = |peer: &str| pinned_command(peer, &ready, is_pinned);
    if let Some(interrupted) = &interrupted {
        let loads = interrupted.loads(&setting.loads);
        setting.add_loads(question, loads)?;
    } else if !setting.loads.is_empty() {
        if !output.quiet {
            dry::tell_time_of_search(question, &mut setting)?;
        }
        let found = Calibrator {
            question,
            setting: &setting,
            worker: &worker,
            memory: memory.as_ref(),
            progress,
            stop,
        };
        match found.cases(&setting.loads) {
            Ok(loads) => setting.add_loads(question, loads)?,
            Err(error) if stop.explains(&error) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    if interrupted.is_none() && !output.quiet {
        tell_smaller(question, &setting)?;
        dry::tell_time(&[(question, &setting)])?;
    }
    let (source, environment) = (setting.source.as_ref(), &setting.environment());
    let peers = ready.values().map(|ready| ready.peer.clone()).collect();
    let mut header = header_of(&setting.plan, environment, peers)?;
    let then = interrupted.as_ref().map(|it| &it.record.header.calibrated);
    header.calibrated = shapes_of(then, &[&header], worker(OWN_PEER), stop)?;
    if let Some(interrupted) = &interrupted {
        interrupted.check(&header, own_file(target))?;
    }
    // The order of its cases is that of the record.
    let plan = interrupted.as_ref().map_or(&header.plan, |it| &it.record.header.plan).clone();
    let stay = if output.keep { Stay::Kept } else { Stay::Removed };
    let maker = &Maker { plan: &plan, target, source, environment, stay };
    for remains in maker.remove_dead() {
        tell_remains(&remains, output.quiet)?;
    }
    let since = Instant::now();
    let files = match maker.make((progress, stop)) {
        // Nothing was measured: there is no record.
        Err(error) if stop.explains(&error) => return Ok(None),
        other => other?,
    };
    let into = Destination::of(interrupted, place, header, since.elapsed());
    let made = PreparedRun { memory: memory.as_ref(), ..PreparedRun::of(maker, files, &worker) };
    let (record, files) = carry_out(made, into, progress, stop)?;
    let stays = files.read().filter(|_| output.keep);
    Ok(Some(Kept { record, files: stays.map(|file| file.fixture().path.clone()).collect() }))
}

/// Runs `plan` with workers that `worker` starts. Returns the kept record.
///
/// # Errors
/// As for [`keep`].
pub fn measure_record(
    plan: &Plan,
    target: &Target,
    environment: &Environment,
    worker: &dyn Fn(&str) -> Result<Command, String>,
    stop: &Stop,
) -> Result<Record> {
    let progress = &Progress::new();
    let maker = &Maker { plan, target, source: None, environment, stay: Stay::Removed };
    for remains in maker.remove_dead() {
        tell_remains(&remains, false)?;
    }
    let files = maker.make((progress, stop))?;
    let header = header_of(plan, environment, environment.peers.to_vec())?;
    let made = PreparedRun::of(maker, files, worker);
    let into = Destination::New { place: Place::Usual, header };
    let (kept, _) = carry_out(made, into, progress, stop)?;
    store::read(kept.path())
}

/// Everything needed to carry out a run.
struct PreparedRun<'a> {
    maker: &'a Maker<'a>,
    files: Files,
    worker: WorkerOf<'a>,
    memory: Option<&'a MemoryGroup>,
    /// The numbers of storages by devices, if files of commands are on them.
    numbers: BTreeMap<u64, usize>,
}

impl<'a> PreparedRun<'a> {
    /// One without a limit of memory, of no commands.
    fn of(maker: &'a Maker<'a>, files: Files, worker: WorkerOf<'a>) -> PreparedRun<'a> {
        PreparedRun { maker, files, worker, memory: None, numbers: BTreeMap::new() }
    }
}

/// The command that starts the worker of a peer.
type WorkerOf<'a> = &'a dyn Fn(&str) -> Result<Command, String>;

/// Where a run is recorded.
#[expect(clippy::large_enum_variant, reason = "a run has one")]
enum Destination {
    /// In a new record with this header.
    New { place: Place, header: Header },
    /// In a record in memory, which only this process reads.
    Passing { header: Header },
    /// In that of an interrupted run.
    Resumed { store: Store, before: ResumedRun },
}

impl Destination {
    /// In that of an interrupted run, which goes on as in the header `now`, or in a new one at
    /// `place`. Creating its files took `made`.
    fn of(interrupted: Option<Interrupted>, place: Place, now: Header, made: Duration) -> Self {
        let Some(Interrupted { store, record }) = interrupted else {
            return Destination::New { place, header: now };
        };
        let resumed = Resumed { began: now.began, tool: now.tool };
        Destination::Resumed { store, before: ResumedRun { record, resumed, made } }
    }

    /// Begins the record of a run with these files, or goes on with it.
    fn begin(self, files: &Files) -> Result<(Store, Option<ResumedRun>)> {
        Ok(match self {
            Destination::Resumed { store, before } => (store, Some(before)),
            Destination::New { place, header } => (begin_record(&place, header, files)?, None),
            Destination::Passing { header } => {
                (Store::in_memory(begun(header, files)?.0, RecordFate::Passing)?, None)
            }
        })
    }
}

/// Runs it. Returns the record and the last files.
fn carry_out(
    made: PreparedRun,
    into: Destination,
    progress: &Progress,
    stop: &Stop,
) -> Result<(Store, Files)> {
    let header = match &into {
        Destination::New { header, .. } | Destination::Passing { header } => header,
        Destination::Resumed { before, .. } => &before.record.header,
    };
    let (calibrated, further) = (&header.calibrated.clone(), &header.further_storages.clone());
    let numbers = &made.numbers;
    let (mut store, before) = into.begin(&made.files)?;
    let site = Site::new(made.maker, made.worker, progress, stop);
    let site = Site { memory: made.memory, calibrated, further, numbers, ..site };
    let run = Run::new((site, made.files), &mut store, before.as_ref());
    let files = run.carry_out().with_context(|| {
        format!("the run ended early; completed trials are {}", store.whereabouts())
    })?;
    Ok((store, files))
}

/// The header of a run with `files` that begins now.
fn begun(header: Header, files: &Files) -> Result<(Header, SystemTime)> {
    let now = SystemTime::now();
    let fixtures = files.all().map(|file| file.fixture().clone()).collect();
    Ok((Header { began: store::date(now)?, fixtures, ..header }, now))
}

/// Begins the record of a run with `files`, and warns if it will not be kept.
fn begin_record(place: &Place, header: Header, files: &Files) -> Result<Store> {
    let (header, began) = begun(header, files)?;
    let store = place.create(header, began)?;
    if let Some(reason) = store.why_unkept() {
        tell(&format!(
            "warning: the record of this run will not be kept: {reason}. --record names a file or \
             a folder for it, and --record - writes it to stdout"
        ))?;
    }
    Ok(store)
}

/// The user's own file, if that is measured.
fn own_file(target: &Target) -> Option<&OwnFile> {
    match target {
        Target::File(own) => Some(own),
        Target::Memory | Target::Directory(_) | Target::Device(_) => None,
    }
}

/// The header of a run's record, now and without its files.
pub(super) fn header_of(
    plan: &Plan,
    environment: &Environment,
    peers: Vec<Peer>,
) -> Result<Header> {
    Ok(Header {
        tool: tool(),
        began: store::date(SystemTime::now())?,
        host: environment.host.clone(),
        called: None,
        hosts: Vec::new(),
        storage: environment.storage.cloned(),
        source_storage: environment.source.cloned(),
        further_storages: Vec::new(),
        storage_numbers: BTreeMap::new(),
        fixtures: Vec::new(),
        plan: plan.clone(),
        alternates: None,
        side: None,
        calibrated: Vec::new(),
        rehearsals: Vec::new(),
        peers,
    })
}

/// Builds the peers of `plan`.
fn ready_peers(
    peers: &Peers,
    plan: &Plan,
    progress: &Progress,
    stop: &Stop,
) -> BTreeMap<String, Ready> {
    let is_asked = |program: &&Program| plan.cases.iter().any(|p| p.case.peer == program.peer.name);
    let asked: Vec<&Program> = peers.programs().iter().filter(is_asked).collect();
    let mut ready = BTreeMap::new();
    for (done, program) in asked.iter().enumerate().take_while(|_| !stop.is_asked()) {
        let building = |name: &str| {
            progress.building(done, asked.len(), name);
            if progress.is_hidden() { tell_building(name) } else { Ok(()) }
        };
        let name = program.peer.name.clone();
        // Where there is nowhere to build it, the other programs can still be measured.
        let built = builder::ready(program, stop, building);
        ready.insert(name, built.unwrap_or_else(|error| Ready::unavailable(program, &error)));
    }
    ready
}

/// The command that starts the worker of `peer`, which may pin its threads.
fn pinned_command(
    peer: &str,
    ready: &BTreeMap<String, Ready>,
    is_pinned: bool,
) -> Result<Command, String> {
    let mut command = worker_command(peer, ready)?;
    if is_pinned && peer == OWN_PEER {
        command.arg("--pin");
    }
    Ok(command)
}

/// The command that starts the worker of `peer`: this program again, or the built one.
///
/// # Errors
/// The reason why it cannot be.
pub fn worker_command(peer: &str, ready: &BTreeMap<String, Ready>) -> Result<Command, String> {
    ready.get(peer).map_or_else(worker_process::own_command, Ready::command)
}

/// Reads the record back, judges it and prints the report.
fn judge(kept: &Kept, is_strict: bool, output: &OutputArgs, style: &Style) -> Result<Status> {
    let record = store::read(kept.record.path())?;
    let assessment = assess::assess(&record);
    let document = || report::run(&assessment);
    let delivered = match kept.record.is_printed() {
        true => form::write_files(&assessment, document, &output.form),
        false => form::deliver(&assessment, document, &output.form, style),
    };
    // Whatever happens to the report, the record exists.
    tell_kept(kept, output)?;
    if delivered.is_ok() && !output.quiet {
        form::tell_files(&output.form)?;
    }
    if kept.record.is_kept() && resume::can_go_on(&record) {
        tell_how_to_go_on(kept.record.path(), output)?;
    }
    Ok(delivered?.or_open(&assessment, is_strict))
}

/// This program.
pub(super) fn tool() -> Tool {
    Tool {
        name: "ioassay".to_string(),
        version: version::VERSION.to_string(),
        commit: version::commit(),
        command: command_line(),
    }
}
