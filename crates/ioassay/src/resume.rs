//! An interrupted run that goes on: only with the same plan, on the same machine and storage.

pub mod gate;

use crate::agenda::Agenda;
use crate::fixture::OwnFile;
use crate::recipe::Relative;
use crate::store::Store;
use anyhow::{Result, bail};
use assess::records::{RecordDifference, apart};
use model::axis::of_older;
use model::case::Case;
use model::host::{FileLayout, Fixture};
use model::plan::Plan;
use model::record::{End, Header, Record, RecordLine, Resumed};
use model::units;
use std::path::Path;
use std::time::Duration;

/// A run that was interrupted.
#[derive(Debug)]
pub struct Interrupted {
    /// Its record, open and locked.
    pub store: Store,
    /// What the record says.
    pub record: Record,
}

/// What an interrupted run measured, and how it goes on.
#[derive(Debug)]
pub struct ResumedRun {
    /// The record up to now.
    pub record: Record,
    /// What resumes it.
    pub resumed: Resumed,
    /// How long creating its new files took.
    pub made: Duration,
}

/// At most this many differences are named.
const NAMED_MAX: usize = 8;

impl Interrupted {
    /// Opens the record of an interrupted run and locks it. If all of its trials are there and only
    /// the end is missing, this adds the end.
    ///
    /// # Errors
    /// If it is no such record, or nothing is left to measure.
    pub fn open(path: &Path) -> Result<Interrupted> {
        let mut interrupted = Interrupted::reopen(path)?;
        let Interrupted { store, record } = &mut interrupted;
        if let Some(reason) = unresumable(record) {
            bail!("the record '{}' {reason}", path.display());
        }
        if is_whole(record) {
            store.append(&RecordLine::End(End::Complete))?;
            bail!(
                "nothing is left to measure: the record '{}' lacked only its end",
                path.display()
            );
        }
        Ok(interrupted)
    }

    /// Opens a record and locks it, whatever is left to measure.
    ///
    /// # Errors
    /// As for [`Store::reopen`].
    pub fn reopen(path: &Path) -> Result<Interrupted> {
        let (store, record) = Store::reopen(path)?;
        Ok(Interrupted { store, record })
    }

    /// The cases at rates that were found for `loads` when the run began.
    pub fn loads(&self, loads: &[Relative]) -> Vec<Case> {
        let is_at_found_rate = |case: &Case| {
            let rate = case.io().map_or(0, |io| io.rate);
            let same = |load: &Relative| {
                // Found rates may have longer trials.
                let mut found = load.at(rate);
                found.set_time(case.time());
                found == *case
            };
            rate > 0 && loads.iter().any(same)
        };
        let cases = self.record.header.plan.cases.iter().map(|planned| &planned.case);
        cases.filter(|case| is_at_found_rate(case)).cloned().collect()
    }

    /// The file as it was then, if `own` is the same one, with as many bytes or more: what others
    /// added is not read.
    pub fn as_then(&self, own: OwnFile) -> OwnFile {
        let then = self
            .own_file()
            .filter(|then| then.identity.as_ref() == Some(&own.identity) && then.size <= own.size);
        OwnFile { size: then.map_or(own.size, |then| then.size), ..own }
    }

    /// The user's own file, or the first part of it that was read.
    fn own_file(&self) -> Option<&Fixture> {
        self.record.header.fixtures.iter().find(|file| file.seed.is_none())
    }

    /// Refuses to go on with the plan and the surroundings of `now`, and with the user's own file,
    /// if they are not those of the record.
    ///
    /// # Errors
    /// What differs.
    pub fn check(&self, now: &Header, own: Option<&OwnFile>) -> Result<()> {
        let part = self.own_file().map(|file| file.range());
        self.check_with(now, own, own.zip(part).and_then(|(own, part)| own.layout(part)))
    }

    fn check_with(
        &self,
        now: &Header,
        own: Option<&OwnFile>,
        layout: Option<FileLayout>,
    ) -> Result<()> {
        let then = &self.record.header;
        let mut list = plans_apart(&then.plan, &now.plan);
        let text = |path: Option<&Path>| {
            path.map_or("none".to_string(), |path| path.to_string_lossy().into_owned())
        };
        let place = |header: &Header| {
            text(header.storage.as_ref().map(|storage| storage.directory.as_path()))
        };
        note(&mut list, "directory", place(then), place(now));
        let own_then = self.own_file();
        let path_of = own_then.map(|file| file.path.as_path());
        note(&mut list, "your own file", text(path_of), text(own.map(|own| own.path.as_path())));
        let identity = own_then.and_then(|file| file.identity.clone());
        if let Some((then, own)) = identity.zip(own) {
            note(&mut list, "which file of this name", then, own.identity.clone());
        }
        if let Some((file, own)) = own_then.zip(own) {
            let size = |bytes: u64| units::bytes(bytes);
            note(&mut list, "bytes of your own file", size(file.size), size(own.size));
            let layouts = file.layout.as_ref().zip(layout.as_ref());
            if let Some([then, now]) = layouts.map(|(then, now)| [then, now].map(stored)) {
                note(&mut list, "how your own file is stored", then, now);
            }
        }
        list.extend(apart(&lasting(then), &lasting(now)));
        if list.is_empty() {
            return Ok(());
        }
        let named = list.iter().take(NAMED_MAX).map(|RecordDifference { what, a, b, .. }| {
            format!("\n  {what}: {a} in the record, {b} now")
        });
        let more = match list.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            more => format!("\n  and {more} more"),
        };
        bail!(
            "the record '{}' cannot be resumed, because this run would differ from it. Repeat its \
             command on its machine, or begin a new run{}{more}",
            self.store.path().display(),
            named.collect::<String>()
        )
    }
}

/// Whether the run of `record` was interrupted and can go on. In lockstep, no case ends before the
/// others, so what is left depends on all hosts.
pub fn can_go_on(record: &Record) -> bool {
    unresumable(record).is_none() && (record.header.plan.rank.is_some() || !is_whole(record))
}

/// Why the run of `record` cannot go on, whatever is left of it.
fn unresumable(record: &Record) -> Option<&'static str> {
    if record.header.alternates.is_some() {
        return Some(
            "is one side of a gate, whose rounds alternated with the other's: 'ioassay gate \
             --resume' goes on with both",
        );
    }
    let plan = &record.header.plan;
    if record.end == End::Complete {
        return Some("is complete: nothing is left to measure");
    }
    let is_sustained = plan.sustain.is_some();
    is_sustained.then_some("is of --sustain, which measures without a pause: begin a new run")
}

/// Whether all trials of the plan were measured.
fn is_whole(record: &Record) -> bool {
    let plan = &record.header.plan;
    let is_limited = plan.sustain.is_some() || plan.budget.is_some();
    !is_limited && Agenda::of_records(&[record]).is_whole()
}

/// How a file is stored, in words.
fn stored(layout: &FileLayout) -> String {
    let FileLayout { unwritten, encoded, extents } = layout;
    let extents = extents.map_or(String::new(), |count| format!(" in {count} extents"));
    let [unwritten, encoded] = [unwritten, encoded].map(|bytes| units::bytes(*bytes));
    format!("{unwritten} never written and {encoded} encoded{extents}")
}

/// The header without what changes by itself: a hypervisor gives a machine more memory while it
/// runs, or takes some, and a service turns DAMON on and off. It remains the same machine, and each
/// trial's evidence says how much of its file was in memory.
fn lasting(header: &Header) -> Header {
    let mut header = header.clone();
    header.host.memory = None;
    header.host.setup.damon = None;
    header.host.setup.nodes.iter_mut().for_each(|node| node.memory = None);
    header
}

fn note(list: &mut Vec<RecordDifference>, what: &str, a: String, b: String) {
    if a != b {
        list.push(RecordDifference { what: what.to_string(), a, b, cases: 0 });
    }
}

/// Whether hosts share the directory.
fn shared(plan: &Plan) -> String {
    if plan.rank.is_some_and(|rank| rank.shares) { "yes" } else { "no" }.to_string()
}

/// What differs between two plans, besides what [`apart`] knows.
fn plans_apart(then: &Plan, now: &Plan) -> Vec<RecordDifference> {
    let mut list = Vec::new();
    let text = |case: &Case| {
        // Ids do not tell this, and records of older programs differ in it.
        let older: String = of_older(case).map(|word| format!(" {word}")).collect();
        // A command takes what it takes.
        let time = case.command().is_none().then(|| format!(" for {}", units::time(case.time())));
        format!("{}{older}{}", case.id(), time.unwrap_or_default())
    };
    let listed = |texts: Vec<String>| match &texts[..] {
        [] => "none".to_string(),
        texts => texts.join(", "),
    };
    let facts = |plan: &Plan| {
        let actors =
            plan.actors.iter().map(|actor| format!("{} {}", actor.name, text(&actor.case)));
        [
            ("recipe", plan.recipe.clone()),
            ("seed", plan.seed.to_string()),
            ("rounds", plan.rounds.to_string()),
            ("invocations", plan.invocations.to_string()),
            ("hosts", plan.rank.map_or("one".to_string(), |rank| rank.of.to_string())),
            ("directory that all hosts share", shared(plan)),
            ("time given", plan.budget.map_or("none".to_string(), units::time)),
            ("pruning", if plan.prune { "yes" } else { "no" }.to_string()),
            ("precision", units::percent(plan.precision)),
            ("goals to hold", listed(plan.hold.iter().map(ToString::to_string).collect())),
            ("actors", listed(actors.collect())),
            ("rate to hold", plan.at_least.map_or("none".to_string(), |rate| rate.to_string())),
            ("goals", listed(plan.goals.iter().map(|goal| goal.must.to_string()).collect())),
        ]
    };
    for ((what, a), (_, b)) in facts(then).into_iter().zip(facts(now)) {
        note(&mut list, what, a, b);
    }
    let only = |here: &Plan, there: &Plan| -> Vec<String> {
        let missing = here.cases.iter().filter(|planned| !there.cases.contains(planned));
        missing.map(|planned| text(&planned.case)).collect()
    };
    let said = |cases: Vec<String>| match &cases[..] {
        [] => "none".to_string(),
        [one] => one.clone(),
        [first, others @ ..] => format!("{first} and {} more", others.len()),
    };
    note(&mut list, "other cases", said(only(then, now)), said(only(now, then)));
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::rank::Rank;
    use model::setup::Node;
    use model::zoo;

    /// An interrupted record in a folder.
    fn interrupted(of: Record) -> (tempfile::TempDir, Result<Interrupted>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record");
        let mut store = Store::create(&path, of.header).unwrap();
        of.trials.into_iter().for_each(|trial| store.append(&RecordLine::Trial(trial)).unwrap());
        if of.end != End::Missing {
            store.append(&RecordLine::End(of.end)).unwrap();
        }
        drop(store);
        let opened = Interrupted::open(&path);
        (folder, opened)
    }

    fn own_file(path: &str, size: u64, identity: &str) -> OwnFile {
        let (path, identity) = (path.into(), identity.to_string());
        OwnFile { path, size, identity, modified: None, is_device: false, length: None }
    }

    fn cut() -> Record {
        let mut record = zoo::record();
        (record.end, _) = (End::Missing, record.trials.pop());
        record
    }

    #[test]
    fn what_differs_is_named() {
        let (_folder, interrupted) = interrupted(cut());
        let interrupted = interrupted.unwrap();
        let header = &interrupted.record.header;
        interrupted.check(header, None).unwrap();
        let check = |change: &dyn Fn(&mut Header), expected: &str| {
            let mut now = header.clone();
            change(&mut now);
            let error = interrupted.check(&now, None).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        let named = own_file("/x", 1, "2");
        let own = interrupted.check(header, Some(&named)).unwrap_err().to_string();
        assert!(own.contains("your own file: none in the record, /x now"), "{own}");
        check(&|now| now.plan.recipe = "other".to_string(), "recipe: ");
        check(&|now| now.plan.seed += 1, "seed: ");
        check(&|now| now.plan.rounds += 1, "rounds: 10 in the record, 11 now");
        check(&|now| now.plan.invocations += 1, "invocations: ");
        let rank = Rank { number: 0, of: 2, seed: 1, shares: true, ..Rank::default() };
        check(&|now| now.plan.rank = Some(rank), "hosts: one in the record, 2 now");
        check(&|now| now.plan.rank = Some(rank), "hosts share: no in the record, yes now");
        check(&|now| now.plan.cases[0].case.io_mut().unwrap().size /= 2, "of 512MiB for 1m now");
        check(&|now| now.plan.cases[0].case.io_mut().unwrap().time *= 2, "for 2m now");
        check(&|now| now.plan.cases.clear(), "other cases: pread cold");
        check(&|now| now.host.name.push('x'), "host: ");
        check(&|now| now.host.os.push('x'), "OS: ");
        check(&|now| now.tool.version.push('x'), "version of ioassay: ");
        check(&|now| now.storage.as_mut().unwrap().directory.push("x"), "directory: ");
        check(&|now| now.storage.as_mut().unwrap().devices.clear(), "devices: ");
        check(&|now| now.storage.as_mut().unwrap().file_system.push('x'), "file system: ");
    }

    /// Another file under the same name, such as a log that was rotated.
    #[test]
    fn another_file_under_the_name_is_refused() {
        let mut then = cut();
        let seven = "inode 7 of 1".to_string();
        let named = own_file("/log", 1 << 30, &seven);
        let fixture = &mut then.header.fixtures[0];
        (fixture.path, fixture.seed, fixture.identity) = (named.path.clone(), None, Some(seven));
        fixture.size = named.size;
        let header = then.header.clone();
        let (_folder, interrupted) = interrupted(then);
        let mut interrupted = interrupted.unwrap();
        interrupted.check(&header, Some(&named)).unwrap();
        // The file system gave it the number of the old one.
        let other = OwnFile { identity: "inode 7 of 2".to_string(), ..named };
        let error = interrupted.check(&header, Some(&other)).unwrap_err().to_string();
        let expected = "which file of this name: inode 7 of 1 in the record, inode 7 of 2 now";
        assert!(error.contains(expected), "{error}");
        // An older record does not know it.
        interrupted.record.header.fixtures[0].identity = None;
        interrupted.check(&header, Some(&other)).unwrap();
    }

    /// Rewritten in place, it has other extents, or holes where it had data.
    #[test]
    fn the_same_file_is_refused_if_it_is_stored_in_another_way() {
        let mut then = cut();
        let named = own_file("/log", 1 << 20, "inode 7");
        let identity = Some(named.identity.clone());
        let layout = FileLayout { unwritten: 0, encoded: 0, extents: Some(1) };
        let (path, size, layout_then) = (named.path.clone(), named.size, Some(layout.clone()));
        then.header.fixtures[0] = Fixture {
            path,
            size,
            part: None,
            zeros: None,
            seed: None,
            identity,
            layout: layout_then,
        };
        let header = then.header.clone();
        let (_folder, interrupted) = interrupted(then);
        let interrupted = interrupted.unwrap();
        let check = |own: &OwnFile, layout| interrupted.check_with(&header, Some(own), layout);
        check(&named, Some(layout.clone())).unwrap();
        // A file system that does not tell it refuses nothing.
        check(&named, None).unwrap();
        let refused = |own: &OwnFile, layout: &FileLayout| {
            check(own, Some(layout.clone())).unwrap_err().to_string()
        };
        let error = refused(&named, &FileLayout { unwritten: 4096, extents: Some(3), ..layout });
        let expected = "how your own file is stored: 0B never written and 0B encoded in 1 extents \
                        in the record, 4KiB never written and 0B encoded in 3 extents now";
        assert!(error.contains(expected), "{error}");
        let error = refused(&OwnFile { size: 1 << 10, ..named }, &layout);
        let expected = "bytes of your own file: 1MiB in the record, 1KiB now";
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn what_changes_by_itself_differs_in_nothing() {
        let mut then = cut();
        let setup = &mut then.header.host.setup;
        setup.damon = Some(false);
        setup.nodes = vec![Node { number: 0, cpus: "0-1".to_string(), memory: Some(8 << 30) }];
        let header = then.header.clone();
        let (_folder, interrupted) = interrupted(then);
        let interrupted = interrupted.unwrap();
        let check = |change: &dyn Fn(&mut Header)| {
            let mut now = header.clone();
            change(&mut now);
            assert_ne!(&now.host, &header.host);
            interrupted.check(&now, None).unwrap();
        };
        check(&|now| now.host.memory = now.host.memory.map(|bytes| bytes + (1 << 30)));
        check(&|now| now.host.setup.nodes[0].memory = Some(7 << 30));
        check(&|now| now.host.setup.damon = Some(true));
        check(&|now| now.host.setup.damon = None);
    }

    #[test]
    fn what_is_complete_or_without_pauses_is_not_resumed() {
        let refused = |record| interrupted(record).1.unwrap_err().to_string();
        assert!(refused(zoo::record()).contains("nothing is left"));
        let mut sustained = cut();
        sustained.header.plan.sustain = Some(Duration::from_secs(60));
        assert!(refused(sustained).contains("--sustain"));
        // It was killed between its last trial and its end.
        let (folder, opened) = interrupted(Record { end: End::Missing, ..zoo::record() });
        assert!(opened.unwrap_err().to_string().contains("lacked only its end"));
        let path = folder.path().join("record");
        assert_eq!(crate::store::read(&path).unwrap().end, End::Complete);
    }
}
