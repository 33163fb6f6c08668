//! `ioassay gate`: a recipe on two sides, and whether one is slower than the other.

use super::kept::{tell_how_to_go_on, tell_kept};
use super::measure::both::{MeasuredGate, check_rates, keep_both};
use super::measure::{header_of, keep};
use super::question::{self, RunQuestion, Setting};
use super::reference::ReferenceRecord;
use super::{compare, form, say, tell};
use crate::args::OutputArgs;
use crate::args::gate::GateArgs;
use crate::recipe::seed_of_now;
use crate::resume::Interrupted;
use crate::resume::gate::InterruptedGate;
use crate::status::Status;
use crate::stop::Stop;
use crate::store::{self, Place, Store};
use anyhow::{Context, Result, bail};
use assess::gate::gate;
use assess::records::{Judged, RecordComparison};
use model::case::OWN_PEER;
use model::plan::Role;
use model::record::{End, Header};
use report::Style;
use rustix::fs::{Access, access};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What a recipe is held against.
enum Reference {
    Directory(PathBuf),
    Program(PathBuf),
    Record(PathBuf),
}

/// Measures what is asked, and what it is held against. The exit status is that of `compare
/// --fail-if`.
///
/// # Errors
/// If the question is not understood, or a side cannot be measured.
pub fn execute(args: &GateArgs, style: &Style) -> Result<Status> {
    let place = Place::of(args.record.as_deref());
    if !matches!(place, Place::Usual | Place::Folder(_)) {
        bail!(
            "--record names a folder here, with a / at its end if it is new: there are two records"
        );
    }
    form::check_files(&args.document)?;
    let stop = Stop::on_signals().context("failed to listen for signals")?;
    let reference = reference(&args.against)?;
    if let Reference::Record(path) = &reference {
        return stop.status(against_record(args, path, &stop, style));
    }
    let interrupted = args.resume.as_deref().map(InterruptedGate::open).transpose()?;
    // Both sides do the same.
    let seed = seed_of(args, interrupted.as_ref().map(|InterruptedGate([a, _])| a));
    let b = question::of_gate(args, args.directory.as_deref(), seed)?;
    question::warn(&b.recipe)?;
    let a = match &reference {
        Reference::Program(path) => with_program(args, path, seed)?,
        Reference::Directory(path) | Reference::Record(path) => {
            question::of_gate(args, Some(path), seed)?
        }
    };
    stop.status((|| {
        let kept = keep_both([&a, &b], interrupted, (&place, args.quiet), &stop)?;
        let Some(MeasuredGate { records, end }) = kept else { return Ok(Status::DONE) };
        let paths = records.each_ref().map(Store::path);
        let status = match end {
            End::Complete => compare::read(paths, assess::compare)
                .and_then(|versus| judge(args, &versus, paths, style)),
            _ => Ok(Status::DONE),
        };
        // Whatever the outcome, the records exist.
        for (side, store) in ["A", "B"].iter().zip(&records) {
            if store.is_kept() && !args.quiet {
                tell(&format!("record of {side}: {}", store.path().display()))?;
            }
        }
        if end != End::Complete {
            tell_stopped(args, &records[1])?;
        }
        status
    })())
}

/// The seed of both sides: that of the run that goes on, which by default came from the clock.
fn seed_of(args: &GateArgs, interrupted: Option<&Interrupted>) -> u64 {
    let then = interrupted.map(|interrupted| interrupted.record.header.plan.seed);
    args.seed.or(then).unwrap_or_else(seed_of_now)
}

/// Says that a gate that was stopped has no outcome, and how it goes on. What is known by then may
/// be what made its user stop it.
fn tell_stopped(args: &GateArgs, record: &Store) -> Result<()> {
    if args.quiet {
        return Ok(());
    }
    tell("the gate was stopped before its end, so nothing is judged")?;
    if record.is_kept() { tell_how_to_go_on(record.path(), &output_of(args)) } else { Ok(()) }
}

/// What `path` names.
fn reference(path: &Path) -> Result<Reference> {
    if path.is_dir() {
        return Ok(Reference::Directory(path.to_path_buf()));
    }
    // Some file systems let everybody execute everything, even a record.
    let is_program = || access(path, Access::EXEC_OK).is_ok() && store::header(path).is_err();
    if path.is_file() && is_program() {
        let path = std::path::absolute(path)
            .with_context(|| format!("failed to find '{}'", path.display()))?;
        return Ok(Reference::Program(path));
    }
    Ok(Reference::Record(path.to_path_buf()))
}

/// The question with `program` in place of its peer's.
fn with_program(args: &GateArgs, program: &Path, seed: u64) -> Result<RunQuestion> {
    let mut question = question::of_gate(args, args.directory.as_deref(), seed)?;
    let plan = Setting::of(&question)?.plan;
    let asked = plan.cases.iter().filter(|planned| planned.role == Role::Asked);
    let peers: BTreeSet<&str> = asked.map(|planned| planned.case.peer.as_str()).collect();
    let mut own: Vec<&str> = peers.into_iter().filter(|peer| *peer != OWN_PEER).collect();
    let (Some(peer), None) = (own.pop(), own.pop()) else {
        bail!(
            "'{}' is a program, which takes the place of a peer: name the peer with --peer, and \
             its table with --peers if it is your own",
            program.display()
        );
    };
    question.peers.replace(peer, program)?;
    Ok(question)
}

/// Measures what is asked now, and holds it against a record of another time.
fn against_record(args: &GateArgs, base: &Path, stop: &Stop, style: &Style) -> Result<Status> {
    let interrupted = args.resume.as_deref().map(Interrupted::open).transpose()?;
    let seed = seed_of(args, interrupted.as_ref());
    let question = &question::of_gate(args, args.directory.as_deref(), seed)?;
    question::warn(&question.recipe)?;
    // It may be a pipe, which is read once.
    let record = store::read(base).context("--against names a directory, a program or a record")?;
    let reference = ReferenceRecord {
        path: base,
        record,
        limits: &args.fail_if,
        folder: args.record.as_deref(),
    };
    reference.check(&asked_now(question)?)?;
    let judged = Judged::of(reference.record);
    let output = output_of(args);
    let kept = keep(question, interrupted, &output, stop)?;
    let Some(kept) = kept else { return Ok(Status::DONE) };
    if stop.is_asked() {
        tell_kept(&kept, &output)?;
        tell_stopped(args, &kept.record)?;
        return Ok(Status::DONE);
    }
    let paths = [base, kept.record.path()];
    let status = compare::against(judged, paths, assess::compare)
        .and_then(|versus| judge(args, &versus, paths, style));
    tell_kept(&kept, &output)?;
    status
}

/// The header of the run that `question` asks for.
fn asked_now(question: &RunQuestion) -> Result<Header> {
    let setting = Setting::of(question)?;
    check_rates(question, &setting)?;
    header_of(&setting.plan, &setting.environment(), Vec::new())
}

/// The options of a run with those of a gate.
fn output_of(args: &GateArgs) -> OutputArgs {
    OutputArgs {
        pin: args.pin.clone(),
        node: args.node,
        record: args.record.clone(),
        quiet: args.quiet,
        ..OutputArgs::default()
    }
}

/// Applies the limits to the records of both sides, the reference first.
fn judge(
    args: &GateArgs,
    versus: &RecordComparison,
    paths: [&Path; 2],
    style: &Style,
) -> Result<Status> {
    let paths = paths.map(compare::shown);
    let paths = paths.each_ref().map(String::as_str);
    compare::check_gate(versus, paths)?;
    let gate = gate(versus, &args.fail_if);
    let document = || report::gate_run(versus, &gate, paths);
    let json = || say(report::json_of_gate(versus, &gate, paths).trim_end());
    form::hand_out(document, &args.document, style, args.json.then_some(json))?;
    if !args.quiet {
        form::tell_document(&args.document)?;
    }
    Ok(compare::status_of(versus, &gate, args.strict))
}
