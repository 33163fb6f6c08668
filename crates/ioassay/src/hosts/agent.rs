//! `ioassay agent`: carries out orders on this host until its input ends.

use super::link::{AgentLink, beat};
use super::part::{self, AfterPart, Ground};
use crate::clock;
use crate::directory::{DATA, Directory, OwnName};
use crate::files::Target;
use crate::fixture::OwnFile;
use crate::judging;
use crate::keeper::LeftServers;
use crate::machine::{boot, this_host};
use crate::orphans;
use crate::stop::{Stop, keep_children};
use crate::version::{VERSION, commit};
use anyhow::{Context, Result, bail};
use model::agent::{Answer, Order, PROTOCOL};
use model::host::Storage;
use model::judging::{AskedCommands, ReadyCommands};
use model::record::Header;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::mpsc::channel;
use std::thread;

/// The prefix of files by which hosts see whether they share a directory.
const MARK: &str = "ioassay-mark-";

/// Carries out the orders of `input`, and answers them into `output`, until the input ends or a
/// signal arrives.
///
/// # Errors
/// If either fails, or the coordinator speaks something else.
pub fn serve(
    input: impl Read + Send + 'static,
    output: impl Write + Send,
    stop: &Stop,
) -> Result<()> {
    let link = AgentLink::new(input, output, stop)?;
    link.say(&hello())?;
    let mut agent = Agent::default();
    let (goes_on, over) = channel();
    let (output, is_at_work) = (link.output(), link.is_at_work());
    let watched = (link.heard(), link.stop());
    let served = thread::scope(|scope| {
        thread::Builder::new()
            .spawn_scoped(scope, move || beat(output, is_at_work, watched, &over))
            .context("failed to start the thread that says that this host is there")?;
        let served = obey_all(&link, &mut agent);
        drop(goes_on);
        served
    });
    // Now the coordinator's silence stops nothing any more.
    served.and(agent.clean_up(link.stop()))
}

fn hello() -> Answer {
    Answer::Hello { protocol: PROTOCOL, version: VERSION.to_owned(), commit: commit() }
}

/// Carries out orders until none will follow.
fn obey_all<W: Write>(link: &AgentLink<W>, agent: &mut Agent) -> Result<()> {
    while let Some(order) = link.next()? {
        match order {
            Order::Begin { plan, directory, calibrated } => {
                // The others have seen them.
                agent.marks.clear();
                let ground = match &agent.judged {
                    Some(judged) => judged.ground(),
                    None => Ground::Place(&directory),
                };
                if part::take(link, &plan, ground, calibrated)? == AfterPart::CleanUp {
                    link.answer(agent.clean_up(link.stop()).map(|()| Answer::Done))?;
                }
            }
            Order::Rehearse { directory, asked, then } => {
                let ready = agent.rehearse(&directory, *asked, then.as_deref(), link.stop());
                link.answer(ready.map(|ready| Answer::ReadyCommands(Box::new(ready))))?;
            }
            Order::CleanUp => {
                link.answer(agent.clean_up(link.stop()).map(|()| Answer::Done))?;
            }
            order => link.answer(agent.obey(&order))?,
        }
    }
    Ok(())
}

/// What an agent holds between orders.
#[derive(Debug, Default)]
struct Agent {
    /// The files by which other hosts may see its directories, removed when it ends.
    marks: Vec<OwnName>,
    /// The commands that are timed next.
    judged: Option<JudgedHere>,
}

/// Commands that are judged on this host.
#[derive(Debug)]
struct JudgedHere {
    asked: AskedCommands,
    /// The storage of their files.
    storage: Option<Storage>,
    /// Others, on other disks, in the order of the record.
    further: Vec<Storage>,
    /// The numbers of both by devices.
    numbers: BTreeMap<u64, usize>,
    /// What their setup left running.
    servers: Vec<LeftServers>,
}

impl JudgedHere {
    /// What their trials use.
    fn ground(&self) -> Ground<'_> {
        let JudgedHere { storage, further, numbers, .. } = self;
        Ground::Commands { storage: storage.as_ref(), further, numbers }
    }
}

impl Agent {
    /// Sets up commands in `directory`, and rehearses what the record of the run that goes on does
    /// not know of them.
    ///
    /// # Errors
    /// Why they cannot be timed here.
    fn rehearse(
        &mut self,
        directory: &Path,
        asked: AskedCommands,
        then: Option<&Header>,
        stop: &Stop,
    ) -> Result<ReadyCommands> {
        self.clean_up(stop)?;
        orphans::adopt();
        keep_children().context("failed to handle SIGCHLD")?;
        std::env::set_current_dir(directory)
            .with_context(|| format!("failed to run commands in '{}'", directory.display()))?;
        let (further, numbers, servers) = (Vec::new(), BTreeMap::new(), Vec::new());
        let judged = JudgedHere { asked, storage: None, further, numbers, servers };
        // Whatever fails from now on, it is cleaned up.
        let judged = self.judged.insert(judged);
        judged.servers = judging::set_up(&judged.asked, stop)?;
        let notes = RefCell::new(Vec::new());
        let note = |text: &str| {
            notes.borrow_mut().push(text.to_owned());
            Ok(())
        };
        let (mut ready, _) = match then {
            Some(then) => judging::as_then(&judged.asked, then, (&|_| Ok(()), &note), stop)?,
            None => judging::rehearse(&judged.asked, &|_| Ok(()), stop)?,
        };
        ready.warnings.append(&mut notes.take());
        judged.storage.clone_from(&ready.storage);
        judged.further.clone_from(then.map_or(&ready.further_storages, |it| &it.further_storages));
        judged.numbers = ready.numbers_as_in(then);
        Ok(ready)
    }

    /// Runs what is to run after the commands, if there are any, and ends what their setup left.
    ///
    /// # Errors
    /// If that fails.
    fn clean_up(&mut self, stop: &Stop) -> Result<()> {
        let Some(JudgedHere { asked, servers, .. }) = self.judged.take() else { return Ok(()) };
        let cleaned = judging::clean_up(&asked, stop);
        drop(servers);
        cleaned
    }

    /// Carries out an order.
    ///
    /// # Errors
    /// Why it cannot be carried out.
    fn obey(&mut self, order: &Order) -> Result<Answer> {
        match order {
            Order::Ping => Ok(Answer::Clocks(clock::now())),
            Order::Look { directory } => look(&Target::directory(directory)?),
            Order::LookAtDevice { device } => look(&Target::File(OwnFile::of(device)?)),
            Order::Mark { directory, name } => {
                let (_, name) = Directory::open(directory)?.create_visible(&mark(name)?)?;
                self.marks.push(name);
                Ok(Answer::Done)
            }
            Order::Find { directory, name } => {
                let directory = Directory::open(directory)?;
                let path = directory.held().join(mark(name)? + DATA);
                Ok(Answer::Found(path.symlink_metadata().is_ok()))
            }
            Order::First { directory, prefix } => first(directory, prefix).map(Answer::First),
            Order::Alive => bail!("a sign of life is no order"),
            Order::Begin { .. } | Order::Anew | Order::Meet { .. } => no_plan(),
            Order::Vitals | Order::Trial { .. } => no_plan(),
            Order::Rehearse { .. } | Order::CleanUp => no_plan(),
            Order::Go { .. } | Order::Close | Order::Cancel { .. } | Order::End => no_plan(),
        }
    }
}

fn no_plan() -> Result<Answer> {
    bail!("there is no plan of which this could be a part")
}

/// The name of a mark. An order may only name files of this kind.
fn mark(name: &str) -> Result<String> {
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_hexdigit()) {
        bail!("'{name}' is no name of a mark: hexadecimal digits are");
    }
    Ok(format!("{MARK}{name}"))
}

/// The first mark in a directory, by name, whose name begins so.
fn first(directory: &Path, prefix: &str) -> Result<Option<String>> {
    let begin = mark(prefix)?;
    let held = Directory::open(directory)?;
    let failed = || format!("failed to read '{}'", directory.display());
    let mut first = None;
    for entry in std::fs::read_dir(held.held()).with_context(failed)? {
        let name = entry.with_context(failed)?.file_name();
        let name = name.to_str().filter(|name| name.starts_with(&begin));
        let Some(name) = name.and_then(|name| name.strip_suffix(DATA)) else { continue };
        if first.as_ref().is_none_or(|first: &String| name < first.as_str()) {
            first = Some(name.to_owned());
        }
    }
    Ok(first.map(|name: String| name[MARK.len()..].to_owned()))
}

/// This machine, and the storage of what is to be measured.
fn look(target: &Target) -> Result<Answer> {
    let storage = target.storage()?.context("memory has no storage")?;
    Ok(Answer::Place { host: this_host(), storage, boot: boot() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::agent::{decode, encode};

    /// The answers to `orders`, after the greeting.
    fn check(orders: &[Order]) -> Vec<Answer> {
        let lines: String = orders.iter().map(|order| encode(order) + "\n").collect();
        let mut output = Vec::new();
        serve(std::io::Cursor::new(lines), &mut output, &Stop::default()).expect("it serves");
        let output = String::from_utf8(output).expect("it answers in JSON");
        let mut answers = output.lines().map(|line| decode(line).expect("it is an answer"));
        assert_eq!(answers.next(), Some(hello()));
        // It may take longer than a second.
        answers.filter(|answer| *answer != Answer::Alive).collect()
    }

    #[test]
    fn marks_are_seen_and_removed_at_the_end() {
        let folder = tempfile::tempdir_in(".").expect("the crate's folder is writable");
        let directory = folder.path().to_path_buf();
        let mark = |name: &str| Order::Mark { directory: directory.clone(), name: name.to_owned() };
        let find = |name: &str| Order::Find { directory: directory.clone(), name: name.to_owned() };
        let answers = check(&[find("a1"), mark("a1"), find("a1"), find("a2"), mark("a1")]);
        let found = [Answer::Found(false), Answer::Done, Answer::Found(true), Answer::Found(false)];
        assert_eq!(answers[..4], found);
        assert!(matches!(&answers[4], Answer::Failed { .. }), "it is there: {answers:?}");
        assert_eq!(folder.path().read_dir().expect("it is there").count(), 0);
        let first =
            |prefix: &str| Order::First { directory: directory.clone(), prefix: prefix.to_owned() };
        let answers = check(&[mark("a2"), mark("a1"), mark("b0"), first("a"), first("c")]);
        let expected = [Answer::First(Some("a1".to_owned())), Answer::First(None)];
        assert_eq!(answers[3..], expected);
        for name in ["", "../a1", "a/1", "x"] {
            let answer = check(&[mark(name)]).remove(0);
            let Answer::Failed { reason } = answer else { panic!("{answer:?}") };
            assert!(reason.contains("is no name of a mark"), "{reason}");
        }
    }

    #[test]
    fn a_place_is_inspected_and_clocks_go_on() {
        let look = |directory: &str| Order::Look { directory: directory.into() };
        let answers = check(&[Order::Ping, look("."), look("/nowhere/at/all"), Order::Ping]);
        let [Answer::Clocks(first), place, nowhere, Answer::Clocks(last)] = &answers[..] else {
            panic!("{answers:?}")
        };
        assert!(first.monotonic_ns < last.monotonic_ns && first.utc_ns > 0);
        let Answer::Place { host, storage, boot } = place else { panic!("{place:?}") };
        assert_eq!(host.name, this_host().name);
        assert!(!storage.file_system.is_empty());
        assert!(boot.as_ref().is_none_or(|boot| boot.len() > 8), "it is a long random number");
        let Answer::Failed { reason } = nowhere else { panic!("{nowhere:?}") };
        assert!(reason.contains("there is no directory '/nowhere/at/all'"), "{reason}");
    }

    #[test]
    fn a_line_that_is_no_order_ends_it() {
        let error = serve(&b"dance\n"[..], Vec::new(), &Stop::default()).unwrap_err();
        assert!(error.to_string().contains("'dance' is no line of the protocol"), "{error}");
    }
}
