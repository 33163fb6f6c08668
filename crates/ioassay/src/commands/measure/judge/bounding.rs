//! What is measured beside commands because it bounds them: the time of a program that does
//! nothing, and what the device of their files gives.

use crate::commands::tell;
use crate::directory::Directory;
use crate::files::{Files, Maker, Target};
use crate::fixture::Stay;
use crate::peers::missing;
use crate::progress::Progress;
use crate::recipe::fallback;
use crate::space::check_free;
use crate::stop::Stop;
use anyhow::Result;
use model::case::{BufferPages, Cache, Case, Engine, Io, ReadWork, Work};
use model::command::JudgedCommand;
use model::environment::Environment;
use model::host::{Host, Medium, Storage};
use model::pattern::Pattern;
use model::plan::{Plan, Role};
use model::record::Header;
use model::rehearsal::FactSheet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

/// The program that does nothing.
const NOTHING: &str = "true";
/// What the reports call it.
const NAME: &str = "a program that does nothing";

/// What makes the files of `plan`, which are removed at its end.
pub(super) fn maker_of<'a>(
    plan: &'a Plan,
    target: &'a Target,
    environment: &'a Environment,
) -> Maker<'a> {
    Maker { plan, target, source: None, environment, stay: Stay::Removed }
}

/// What decides what is measured beside commands because it bounds them.
pub(super) struct Beside<'a> {
    pub(super) rehearsals: &'a [FactSheet],
    pub(super) largest: Option<&'a Path>,
    /// The header of the run that goes on.
    pub(super) then: Option<&'a Header>,
}

impl Beside<'_> {
    /// Adds that to `plan`, and makes its test file. None if stopped.
    pub(super) fn add(
        &self,
        mut plan: Plan,
        environment: &Environment,
        told: (&Progress, &Stop),
    ) -> Result<Option<(Plan, Target, Files)>> {
        if plan.cases.is_empty() {
            return Ok(Some((plan, Target::Memory, Files::default())));
        }
        if self.then.map_or_else(|| is_short(self.rehearsals), |then| has_start(&then.plan)) {
            add_start(&mut plan, environment);
        }
        let measures = self.then.is_none_or(|then| has_device(&then.plan));
        let target = match self.largest.filter(|_| measures) {
            Some(largest) => add_device(&mut plan, self.rehearsals, environment, largest),
            None => Target::Memory,
        };
        let made = maker_of(&plan, &target, environment).make(told);
        match made {
            Ok(files) => Ok(Some((plan, target, files))),
            Err(error) if told.1.explains(&error) => Ok(None),
            Err(error) => {
                tell(&format!("warning: what the device gives is not measured: {error:#}"))?;
                remove_device(&mut plan);
                Ok(Some((plan, Target::Memory, Files::default())))
            }
        }
    }
}

/// Commands that take longer are not bound by their start, which takes a few milliseconds at most.
const SHORT_MOST: Duration = Duration::from_millis(200);

/// Whether a command is so short that its start may matter, or it is unknown how long it takes.
fn is_short(rehearsals: &[FactSheet]) -> bool {
    let wall_ns = |facts: &FactSheet| facts.totals.map(|totals| u128::from(totals.wall_ns));
    let is_short = |ns: u128| ns <= SHORT_MOST.as_nanos();
    rehearsals.is_empty() || rehearsals.iter().any(|facts| wall_ns(facts).is_none_or(is_short))
}

/// Adds the program that does nothing to the commands of `plan`, if there is one.
fn add_start(plan: &mut Plan, environment: &Environment) {
    let arguments = vec![NOTHING.to_string()];
    let is_there = missing(&arguments).is_none();
    let directory = plan.commands.first().map(|command| command.directory.clone());
    let Some(directory) = directory.filter(|_| is_there) else { return };
    let start =
        JudgedCommand { name: NAME.to_string(), arguments, directory, ..JudgedCommand::default() };
    let before = plan.cases.len();
    plan.add([Case::own(Work::Command(start.work(Cache::AsIs)))], Role::Baseline, environment);
    // After the others, whose numbers are those of their rehearsals; not if one has its name.
    if plan.cases.len() > before {
        plan.commands.push(start);
    }
}

/// Adds direct reads of a test file, if devices read for a command, and the directory where
/// commands run is on the storage of their `largest` file. Returns where the file is made.
fn add_device(
    plan: &mut Plan,
    rehearsals: &[FactSheet],
    environment: &Environment,
    largest: &Path,
) -> Target {
    let reads_device = plan.cases.iter().any(|planned| planned.case.cache() == Some(Cache::Cold))
        || rehearsals.iter().any(read_device);
    let place = environment.storage.filter(|_| reads_device);
    let place = place.and_then(|storage| place_of(storage, largest, plan));
    let Some(directory) = place else { return Target::Memory };
    let mut reads = direct_reads(environment.host);
    reads.retain(|case| environment.refusal(case).is_none());
    plan.add(reads, Role::Baseline, environment);
    Target::Directory(Rc::new(directory))
}

/// Whether `plan` has what [`add_start`] adds.
fn has_start(plan: &Plan) -> bool {
    plan.judged_commands().count() < plan.commands.len()
}

/// Whether `plan` has what [`add_device`] adds.
fn has_device(plan: &Plan) -> bool {
    plan.cases.iter().any(|planned| planned.case.command().is_none())
}

/// Removes what [`add_device`] added.
fn remove_device(plan: &mut Plan) {
    plan.cases.retain(|planned| planned.case.command().is_some());
}

/// Reads of less are of programs.
const READ_LEAST: u64 = 1 << 20;

fn read_device(facts: &FactSheet) -> bool {
    let io = facts.totals.and_then(|totals| totals.io);
    io.is_some_and(|io| io.read_bytes >= READ_LEAST)
}

/// The size of the test file.
const FILE_BYTES: u64 = 32 << 20;

/// The directory where commands run, if a file without a name can be made there, and what the
/// device gives for it says something of the file `largest`.
fn place_of(storage: &Storage, largest: &Path, plan: &Plan) -> Option<Directory> {
    let directory = Directory::open(&plan.commands.first()?.directory).ok()?;
    let is_there = largest.metadata().ok()?.dev() == directory.file_system().ok()?;
    let fits = check_free(storage, storage.free, FILE_BYTES).is_ok();
    let is_usable = storage.medium == Medium::Block && is_there && fits;
    (is_usable && directory.create_nameless().is_some()).then_some(directory)
}

/// A trial is this long: short beside most commands, and long beside a time slice.
const TRIAL: Duration = Duration::from_millis(110);

/// Large reads, many at once, as a ceiling; and single reads of a page.
fn direct_reads(host: &Host) -> Vec<Case> {
    // The page cache has large pages, of which one request can cover more.
    let pages = match host.setup.gives_huge_pages() {
        true => BufferPages::Huge,
        false => BufferPages::Base,
    };
    let io = Io { cache: Cache::Direct, size: FILE_BYTES, time: TRIAL, ..Io::default() };
    let bulk = Io { block: 1 << 20, depth: 8, pages, ..io };
    let single = Io { block: 4096, pattern: Pattern::Random, ..io };
    let read = |(engine, io)| Case::own(Work::Read(ReadWork { io, engine, ..ReadWork::default() }));
    let mut cases = [(Engine::Uring, bulk), (Engine::Pread, single)].map(read).to_vec();
    fallback::replace(&mut cases, host);
    cases
}
