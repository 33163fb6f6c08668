//! `ioassay peers`: programs in other languages that can measure.

use super::kept::tell_building;
use super::measure::{measure_record, worker_command};
use super::{list, say};
use crate::args::tools::{PeersArgs, PeersCommand};
use crate::builder::{self, Ready};
use crate::directory::Directory;
use crate::files::Target;
use crate::orphans;
use crate::peers::{Peers, Program};
use crate::status::Status;
use crate::stop::Stop;
use anyhow::{Context, Result};
use model::case::{Cache, Case, Engine, Io, Isa, Kernel, MemoryWork, OWN_PEER, ReadWork};
use model::case::{Pages, STEP, Touch, Work};
use model::content::ContentKind;
use model::environment::Environment;
use model::peer::Peer;
use model::plan::{Plan, Role};
use model::record::Record;
use model::trial::{Outcome, Trial};
use model::{units, zoo};
use report::Style;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

/// Runs the command. Returns the exit status.
///
/// # Errors
/// If a table is broken, a name is unknown or the cache folder cannot be written.
pub fn execute(command: &PeersCommand, style: &Style) -> Result<Status> {
    match command {
        PeersCommand::List(args) => list_all(args, style),
        PeersCommand::Build(args) => build(args, style),
        PeersCommand::Verify { args, directory } => {
            let stop = Stop::on_signals().context("failed to listen for signals")?;
            stop.status(verify(args, directory, &stop, style))
        }
    }
}

/// The named peers, or all.
fn chosen<'a>(args: &PeersArgs, peers: &'a Peers) -> Result<Vec<&'a Program>> {
    if args.names.is_empty() {
        return Ok(peers.programs().iter().collect());
    }
    let known: Vec<&str> = peers.programs().iter().map(|p| p.peer.name.as_str()).collect();
    let find = |name: &String| {
        peers.find(name).ok_or_else(|| units::unknown_name("peer", name, &known).into())
    };
    args.names.iter().filter(|name| *name != OWN_PEER).map(find).collect()
}

/// The names of these, and of this program's own worker, have at most so many characters.
fn widest(programs: &[&Program]) -> usize {
    let names = programs.iter().map(|program| program.peer.name.chars().count());
    names.chain([OWN_PEER.len()]).max().unwrap_or(0)
}

fn list_all(args: &PeersArgs, style: &Style) -> Result<Status> {
    let peers = Peers::load(args.peers.as_deref())?;
    let mut entries = vec![(OWN_PEER, "this program's own worker".to_string())];
    for program in chosen(args, &peers)? {
        let peer = &program.peer;
        let can = [
            all("reads by", peer.engines.iter().map(|engine| engine.name())),
            all("writes by", peer.write_engines.iter().map(|engine| engine.name())),
            all("kernels", peer.kernels.iter().map(|kernel| kernel.name())),
        ];
        let state = match &peer.unavailable {
            Some(reason) => Some(format!("unavailable: {reason}")),
            None if program.build.is_empty() => None,
            None => Some(format!("built by {}", program.build.join(" "))),
        };
        let said = can.into_iter().flatten().chain(state).collect::<Vec<String>>().join("; ");
        entries.push((&peer.name, said));
    }
    list(entries, style)?;
    Ok(Status::DONE)
}

/// The names after their `title`; nothing without names.
fn all<'a>(title: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let names: Vec<&str> = names.collect();
    (!names.is_empty()).then(|| format!("{title} {}", names.join(", ")))
}

fn build(args: &PeersArgs, style: &Style) -> Result<Status> {
    let peers = Peers::load(args.peers.as_deref())?;
    let stop = Stop::on_signals().context("failed to listen for signals")?;
    let mut status = Status::DONE;
    let programs = chosen(args, &peers)?;
    let widest = widest(&programs);
    for program in programs {
        let Ready { peer, .. } = builder::ready(program, &stop, tell_building)?;
        if stop.is_asked() {
            break;
        }
        let said = match (&peer.unavailable, peer.vector_bits) {
            (Some(reason), _) => format!("unavailable: {reason}"),
            (None, Some(0)) => "built; its counting loop is scalar".to_string(),
            (None, Some(bits)) => format!("built; its counting loop has vectors of {bits} bits"),
            (None, None) => "built".to_string(),
        };
        say(&report::entry(&peer.name, widest, &said, style))?;
        // A missing peer that you did not name is not a failure.
        if let Some(reason) = peer.unavailable.filter(|_| !args.names.is_empty()) {
            let why = format!("the peer '{}' cannot be built: {reason}", peer.name);
            status = status.or_worse(Status::not_all(why));
        }
    }
    Ok(stop.exit_status().unwrap_or(status))
}

fn verify(args: &PeersArgs, directory: &Path, stop: &Stop, style: &Style) -> Result<Status> {
    orphans::adopt();
    let peers = Peers::load(args.peers.as_deref())?;
    let mut ready = BTreeMap::new();
    let programs = chosen(args, &peers)?;
    let widest = widest(&programs);
    for program in programs {
        let name = program.peer.name.clone();
        ready.insert(name, builder::ready(program, stop, tell_building)?);
        if let Some(status) = stop.exit_status() {
            return Ok(status);
        }
    }
    let facts: Vec<Peer> = ready.values().map(|ready| ready.peer.clone()).collect();
    let host = witness::host(kernel::available());
    let target = Target::Directory(Rc::new(Directory::open(directory)?));
    let storage = witness::storage(directory)
        .with_context(|| format!("failed to inspect the storage of '{}'", directory.display()))?;
    let environment =
        Environment { host: &host, storage: Some(&storage), source: None, peers: &facts };
    let mut plan = Plan::new("verify", 1, 0.025, 1);
    plan.content = ContentKind::Ints(20);
    plan.add(awkward_cases(&facts), Role::Asked, &environment);
    let worker = |peer: &str| worker_command(peer, &ready);
    let record = measure_record(&plan, &target, &environment, &worker, stop)?;
    // An incomplete run does not judge a peer.
    if stop.is_asked() {
        return Ok(Status::DONE);
    }
    let mut status = Status::DONE;
    for name in [OWN_PEER].into_iter().chain(ready.keys().map(String::as_str)) {
        let verdict = PeerResults::of(name, &record);
        say(&verdict.text((name, widest), style))?;
        // A peer that can do none of the cases is not wrong.
        if let Some(wrong) = verdict.wrong.first() {
            let why = format!("the peer '{name}' is wrong: {wrong}");
            status = status.or_worse(Status::not_all(why));
        }
    }
    Ok(status)
}

/// Boundary cases of every engine and kernel that a peer has, for the peers and ioassay's own
/// worker.
fn awkward_cases(peers: &[Peer]) -> Vec<Case> {
    let own = (OWN_PEER, Engine::ALL, Kernel::ALL);
    let others = peers.iter().map(|peer| (&*peer.name, &*peer.engines, &*peer.kernels));
    let mut cases = Vec::new();
    for (peer, engines, kernels) in [own].into_iter().chain(others) {
        let mut add = |work| cases.push(Case { peer: peer.to_string(), ..Case::own(work) });
        for engine in engines.iter().copied().filter(|engine| *engine != Engine::Null) {
            awkward_reads(engine).into_iter().for_each(|work| add(Work::Read(work)));
        }
        for kernel in kernels.iter().copied() {
            for threads in [1, 3] {
                let (isa, pages, time) = (Isa::Auto, Pages::Huge, Duration::from_millis(10));
                let working_set = 16 << 20;
                add(Work::Memory(MemoryWork {
                    kernel,
                    isa,
                    working_set,
                    pages,
                    step: STEP,
                    threads,
                    time,
                }));
            }
        }
    }
    cases
}

/// Each shape for one pass, also with O_DIRECT, and repeated for a while.
fn awkward_reads(engine: Engine) -> Vec<ReadWork> {
    let mut reads = Vec::new();
    for shape in zoo::shapes() {
        for touch in Touch::ALL.iter().copied() {
            let io = Io { ops: shape.io.operations(), ..shape.io };
            let once = ReadWork { io, engine, touch, ..shape };
            reads.push(ReadWork { io: Io { cache: Cache::Direct, ..once.io }, ..once });
            reads.push(once);
        }
        let (touch, time) = (Touch::Sum, Duration::from_millis(20));
        reads.push(ReadWork { io: Io { ops: 0, time, ..shape.io }, engine, touch, ..shape });
    }
    reads
}

/// The results of a peer.
#[derive(Debug, Default)]
struct PeerResults {
    right: usize,
    /// Trials without a value that could be checked.
    unchecked: usize,
    /// The number of trials that it cannot do here, by the reason.
    unavailable: BTreeMap<String, usize>,
    /// The number of cases that were left out, by the reason.
    skipped: BTreeMap<String, usize>,
    wrong: Vec<String>,
}

/// The maximum number of wrong trials printed in full.
const WRONG_TOLD: usize = 5;

impl PeerResults {
    fn of(name: &str, record: &Record) -> PeerResults {
        let mut verdict = PeerResults::default();
        for trial in &record.trials {
            let case = &record.header.plan.cases[trial.case].case;
            if case.peer == name {
                verdict.take(case, trial);
            }
        }
        for skip in record.header.plan.skips.iter().filter(|skip| skip.case.peer == name) {
            *verdict.skipped.entry(skip.reason.clone()).or_default() += 1;
        }
        verdict
    }

    fn take(&mut self, case: &Case, trial: &Trial) {
        match (&trial.outcome, trial.expected_digest) {
            (Outcome::Done(_), None) => self.unchecked += 1,
            (Outcome::Done(sample), Some(expected)) if sample.digest() == Some(expected) => {
                self.right += 1;
            }
            (Outcome::Done(sample), Some(expected)) => self.wrong.push(format!(
                "{}: its digest is {:#x}, expected {expected:#x}",
                case.id(),
                sample.digest().unwrap_or_default()
            )),
            (Outcome::Unavailable { reason }, _) => {
                *self.unavailable.entry(reason.clone()).or_default() += 1;
            }
            (Outcome::Failed { reason }, _) => self.wrong.push(format!("{}: {reason}", case.id())),
        }
    }

    /// Whether it had nothing to do.
    fn is_idle(&self) -> bool {
        self.right + self.unchecked + self.wrong.len() + self.unavailable.len() == 0
    }

    fn text(&self, (name, widest): (&str, usize), style: &Style) -> String {
        let PeerResults { right, wrong, unchecked, .. } = self;
        let counts = format!("{right} right, {} wrong, {unchecked} without a check", wrong.len());
        let mut text = report::entry(name, widest, &counts, style);
        let mut below = |line: String| text.push_str(&report::indented(&line, style));
        for (reason, trials) in &self.unavailable {
            below(format!("unavailable, {trials} trials: {reason}"));
        }
        let skipped: usize = self.skipped.values().sum();
        let commonest = self.skipped.iter().max_by_key(|(_, cases)| **cases);
        match commonest {
            Some((reason, cases)) if self.is_idle() => {
                below(format!("unavailable, {cases} of {skipped} cases: {reason}"));
            }
            Some(_) => {
                let such = "that mean nothing here, such as mmap with O_DIRECT";
                below(format!("left out {skipped} cases {such}"));
            }
            None => {}
        }
        for wrong in self.wrong.iter().take(WRONG_TOLD) {
            below(format!("wrong: {wrong}"));
        }
        if self.wrong.len() > WRONG_TOLD {
            below(format!("and {} more", self.wrong.len() - WRONG_TOLD));
        }
        text
    }
}
