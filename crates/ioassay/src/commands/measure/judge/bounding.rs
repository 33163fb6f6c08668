//! What is measured beside commands because it bounds them: the time of a program that does
//! nothing, what the device of their files gives and takes, and what memory gives.

mod ceilings;

use crate::commands::kept::tell_remains;
use crate::commands::tell;
use crate::directory::Directory;
use crate::files::{Files, Maker, Target};
use crate::fixture::Stay;
use crate::peers::missing;
use crate::progress::Progress;
use crate::space::check_free;
use crate::stop::Stop;
use anyhow::Result;
use ceilings::{FILE_BYTES, ceilings_of};
use model::case::{Cache, Case, Work};
use model::command::JudgedCommand;
use model::environment::Environment;
use model::host::{Medium, Storage};
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

/// `plan` with its loops over memory alone. Of the other cases, none bounds a command by its loop.
pub(super) fn only_loops(plan: &Plan) -> Plan {
    let mut loops = plan.clone();
    loops.cases.retain(|planned| planned.case.memory().is_some());
    loops
}

/// What decides what is measured beside commands because it bounds them.
pub(super) struct Beside<'a> {
    pub(super) rehearsals: &'a [FactSheet],
    pub(super) largest: Option<&'a Path>,
    /// The header of the run that goes on.
    pub(super) then: Option<&'a Header>,
    /// Whether what killed runs left is removed without a word.
    pub(super) is_quiet: bool,
}

impl Beside<'_> {
    /// Adds that to `plan`, and makes its test files. None if stopped.
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
        // A run that goes on measures what it did.
        let mut cases = match self.then {
            Some(then) => beside_commands(&then.plan),
            None => ceilings_of(&plan, self.rehearsals, environment),
        };
        let target = self.target(&cases, &plan, environment);
        if matches!(target, Target::Memory) {
            cases.retain(|case| !case.uses_storage());
        }
        plan.add(cases, Role::Baseline, environment);
        let maker = maker_of(&plan, &target, environment);
        if matches!(target, Target::Directory(_)) {
            for remains in maker.remove_dead() {
                tell_remains(&remains, self.is_quiet)?;
            }
        }
        match maker.make(told) {
            Ok(files) => Ok(Some((plan, target, files))),
            Err(error) if told.1.explains(&error) => Ok(None),
            Err(error) => {
                tell(&format!("warning: what the device gives is not measured: {error:#}"))?;
                remove_device(&mut plan);
                Ok(Some((plan, Target::Memory, Files::default())))
            }
        }
    }

    /// Where the test files of `cases` are made: in the directory where commands run, if that is
    /// on the storage of their largest file. Nowhere if none needs one.
    fn target(&self, cases: &[Case], plan: &Plan, environment: &Environment) -> Target {
        let reads = cases.iter().any(|case| case.read().is_some());
        let writes = cases.iter().any(|case| case.write().is_some());
        let bytes = FILE_BYTES * (u64::from(reads) + u64::from(writes));
        let place = self.largest.zip(environment.storage).filter(|_| bytes > 0);
        let place = place.and_then(|(largest, storage)| place_of(storage, largest, plan, bytes));
        place.map_or(Target::Memory, |directory| Target::Directory(Rc::new(directory)))
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

/// Whether `plan` has what [`add_start`] adds.
fn has_start(plan: &Plan) -> bool {
    plan.judged_commands().count() < plan.commands.len()
}

/// What `plan` measures beside commands, and is none.
fn beside_commands(plan: &Plan) -> Vec<Case> {
    let cases = plan.cases.iter().map(|planned| &planned.case);
    cases.filter(|case| case.command().is_none()).cloned().collect()
}

/// Removes what needs test files.
fn remove_device(plan: &mut Plan) {
    let is_kept = |case: &Case| case.command().is_some() || !case.uses_storage();
    plan.cases.retain(|planned| is_kept(&planned.case));
}

/// The directory where commands run, if test files of `bytes` can be made there, and what the
/// device gives for them says something of the file `largest`.
fn place_of(storage: &Storage, largest: &Path, plan: &Plan, bytes: u64) -> Option<Directory> {
    let directory = Directory::open(&plan.commands.first()?.directory).ok()?;
    let is_there = largest.metadata().ok()?.dev() == directory.file_system().ok()?;
    let fits = check_free(storage, storage.free, bytes).is_ok();
    let is_usable = storage.medium == Medium::Block && is_there && fits;
    (is_usable && directory.create_nameless().is_some()).then_some(directory)
}
