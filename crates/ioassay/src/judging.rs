//! What a host does before and after its commands are timed: it sets up, rehearses them, finds
//! their files, and cleans up.

mod rehearse;
mod storages;

pub use storages::WatchedStorages;

use crate::data_files;
use crate::keeper::{self, LeftServers};
use crate::stop::Stop;
use anyhow::{Result, anyhow};
use model::case::Cache;
use model::command::JudgedCommand;
use model::host::Medium;
use model::judging::{AskedCommands, ReadyCommand, ReadyCommands};
use model::record::Header;
use model::rehearsal::FactSheet;
use rehearse::RehearsedCommands;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Files from this size on are worth a cache state of their own.
const DATA_LEAST: u64 = 1 << 20;

/// Runs what is to run before anything else. What it leaves running lives as long as the result.
///
/// # Errors
/// If that cannot be started or fails.
pub fn set_up(asked: &AskedCommands, stop: &Stop) -> Result<Vec<LeftServers>> {
    let start = |words: &Vec<String>| {
        let started = keeper::start(words, stop);
        started.map_err(|reason| anyhow!("--setup '{}': {reason}", words.join(" ")))
    };
    asked.setups.iter().map(start).collect()
}

/// Runs what is to run after everything else, also after a signal; another one stops it.
///
/// # Errors
/// If that cannot be started or fails.
pub fn clean_up(asked: &AskedCommands, stop: &Stop) -> Result<()> {
    let stopped = stop.take();
    let run = |words: &Vec<String>| {
        keeper::run(words, stop)
            .map_err(|reason| anyhow!("--cleanup '{}': {reason}", words.join(" ")))
    };
    let cleaned = asked.cleanups.iter().try_for_each(run);
    stop.give_back(stopped);
    cleaned
}

/// Says something to the user.
pub type Tell<'a> = &'a dyn Fn(&str) -> Result<()>;

/// Rehearses the commands, and finds out what can be done with their files, and where these are.
/// `tell` is given the name of each that begins.
///
/// # Errors
/// If one cannot be run, or the storage cannot be inspected.
pub fn rehearse(
    asked: &AskedCommands,
    tell: Tell,
    stop: &Stop,
) -> Result<(ReadyCommands, WatchedStorages)> {
    ready(asked, rehearse::all(asked, tell, stop)?)
}

/// The same for a run that goes on: commands whose files are as they were are not rehearsed again.
/// `note` is given the reason if they are.
///
/// # Errors
/// The same, or if it was a run of other commands.
pub fn as_then(
    asked: &AskedCommands,
    then: &Header,
    (tell, note): (Tell, Tell),
    stop: &Stop,
) -> Result<(ReadyCommands, WatchedStorages)> {
    ready(asked, rehearse::as_then(asked, then, (tell, note), stop)?)
}

fn ready(
    asked: &AskedCommands,
    rehearsed: RehearsedCommands,
) -> Result<(ReadyCommands, WatchedStorages)> {
    let RehearsedCommands { commands, rehearsals, warnings } = rehearsed;
    let storages = WatchedStorages::of(&commands)?;
    let ready = |(number, command): (usize, JudgedCommand)| {
        let known = (storages.all(), rehearsals.get(number));
        let refusal = |cache| data_files::refusal(&command, cache, known, asked.evicts_others);
        let (not_warm, not_cold) = (refusal(Cache::Warm), refusal(Cache::Cold));
        let reads_data = command.reads.iter().any(|path| has_states(path, &storages));
        ReadyCommand { command, reads_data, not_warm, not_cold }
    };
    let commands = commands.into_iter().enumerate().map(ready).collect();
    let mut ready = ReadyCommands { commands, rehearsals, warnings, ..ReadyCommands::default() };
    storages.note_in(&mut ready);
    Ok((ready, storages))
}

/// Whether cache states matter for a file: one in memory is always cached, and never cold.
fn has_states(path: &Path, storages: &WatchedStorages) -> bool {
    let Ok(found) = path.metadata() else { return false };
    let is_in_memory = storages.of_device(found.dev()).is_some_and(|it| it.medium == Medium::Ram);
    found.len() >= DATA_LEAST && !is_in_memory
}

/// How long all runs take, by the rehearsals: `runs` in each of which one of them is run.
pub fn expected_ns(rehearsals: &[FactSheet], runs: u64) -> Option<u64> {
    let times = rehearsals.iter().filter_map(|facts| Some(facts.totals?.wall_ns));
    let (sum, count) = times.fold((0u64, 0u64), |(sum, count), ns| (sum + ns, count + 1));
    Some(sum.checked_div(count)?.saturating_mul(runs))
}
