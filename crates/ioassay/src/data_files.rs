//! The files of others that a command reads and writes: their cache state is set before a run, and
//! seen before and after.
//!
//! They are opened for reading only, and anew for each run: a command may replace them. What is
//! cached of another user's file may be hidden from this one. Its state is set nevertheless, and
//! what devices read in the run proves it, or nothing does.

use crate::file_storages::FileStorages;
use crate::input;
use crate::keeper;
use crate::stop::Stop;
use model::case::Cache;
use model::command::JudgedCommand;
use model::evidence::{Probe, Residency};
use model::host::Storage;
use model::rehearsal::FactSheet;
use rustix::fs::{Access, access};
use rustix::process::geteuid;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use witness::page_cache::{self, WHOLE};

/// The data files of a command.
#[derive(Debug, Default)]
pub struct DataFiles<'a> {
    /// Those that it reads; none if not all could be opened.
    read: Vec<ReadFile>,
    storages: FileStorages<'a>,
}

/// A data file that a command reads.
#[derive(Debug)]
struct ReadFile {
    path: PathBuf,
    file: File,
    /// The probe that shows what is cached of it, if one does.
    probe: Option<Probe>,
}

impl<'a> DataFiles<'a> {
    /// The files of `command` as they are now, on these storages, to set this cache state.
    ///
    /// # Errors
    /// If one that it reads is gone or cannot be read, so that its state cannot be set. As it is,
    /// nothing is set: what is cached is not known then.
    pub fn open(
        command: &JudgedCommand,
        cache: Cache,
        storages: FileStorages<'a>,
    ) -> Result<DataFiles<'a>, String> {
        let open = |path: &PathBuf| {
            let file = input::regular(path).map_err(|error| not_opened(path, &error))?;
            let probe = probe_of(path, &file, storages).ok();
            Ok(ReadFile { path: path.clone(), file, probe })
        };
        match command.reads.iter().map(open).collect::<Result<Vec<_>, String>>() {
            Ok(read) => Ok(DataFiles { read, storages }),
            Err(reason) if cache == Cache::AsIs => {
                log::debug!("{reason}");
                Ok(DataFiles { read: Vec::new(), storages })
            }
            Err(reason) => Err(reason),
        }
    }

    /// Brings all of them into this state, and verifies that of those of which a probe shows it.
    ///
    /// # Errors
    /// If one cannot be brought there.
    pub fn set(&self, cache: Cache, stop: &Stop) -> Result<(), String> {
        if !matches!(cache, Cache::Warm | Cache::Cold) {
            return Ok(());
        }
        for ReadFile { path, file, probe } in &self.read {
            if stop.is_asked() {
                return Err("the run was stopped".to_string());
            }
            let set = match (cache, *probe) {
                (Cache::Cold, Some(probe)) => page_cache::evict(file, WHOLE, probe).map(drop),
                (Cache::Cold, None) => page_cache::evict_unseen(file),
                (_, Some(probe)) => page_cache::warm(file, WHOLE, probe).map(drop),
                (_, None) => page_cache::warm_unseen(file),
            };
            set.map_err(|error| format!("'{}' is not {cache}: {error}", path.display()))?;
        }
        Ok(())
    }

    /// The open files that it reads, each with the probe that shows what is cached of it; none if
    /// one has none.
    pub fn seen(&self) -> Vec<(&File, Probe)> {
        let each = self.read.iter().map(|it| Some((&it.file, it.probe?)));
        each.collect::<Option<Vec<_>>>().unwrap_or_default()
    }

    /// The pages of the files that `command` wrote which are cached, and dirty, now; `None` if
    /// nothing shows it, or if it wrote none.
    pub fn written(&self, command: &JudgedCommand) -> Option<Residency> {
        let mut sum: Option<Residency> = None;
        for path in &command.writes {
            // One that a run removed has no pages.
            let Ok(file) = input::regular(path) else { continue };
            let probe = self.storages.of_file(&file)?.residency_probe?;
            let seen = page_cache::residency(&file, probe).ok()?;
            sum = Some(sum.map_or(seen, |sum| sum.and(seen)));
        }
        sum
    }
}

/// Writes what `command` may have left dirty of the files that it writes. What cannot be written
/// remains for a finding: a run counts without it.
pub fn write_back(command: &JudgedCommand, stop: &Stop) {
    for path in command.writes.iter().take_while(|_| !stop.is_asked()) {
        // One that was removed has nothing to write.
        let Ok(file) = input::regular(path) else { continue };
        if let Err(error) = page_cache::write_back(&file) {
            log::debug!("writing '{}' back: {error}", path.display());
        }
    }
}

/// Why this cache state of the files of `command`, on these storages, is not set; `None` if it can
/// be. `facts` is what it did in its rehearsal.
pub fn refusal(
    command: &JudgedCommand,
    cache: Cache,
    (storages, facts): (FileStorages, Option<&FactSheet>),
    evicts_others: bool,
) -> Option<String> {
    if !matches!(cache, Cache::Warm | Cache::Cold) {
        return None;
    }
    if command.reads.is_empty() {
        return Some("no data file is known that the command reads: --file names one".to_string());
    }
    // A sum over all files proves nothing if those of one storage are missing in it.
    let are_counted = || {
        let storage = |path: &PathBuf| storages.of_device(path.metadata().ok()?.dev());
        command.reads.iter().all(|path| storage(path).is_some_and(Storage::counts_reads))
    };
    let runs_prove =
        facts.is_some_and(|facts| !facts.sampled && facts.unlisted_files == 0) && are_counted();
    command.reads.iter().find_map(|path| {
        let file = match input::regular(path) {
            Ok(file) => file,
            Err(error) => return Some(not_opened(path, &error)),
        };
        let path_name = path.display();
        if cache == Cache::Cold && is_others(&file) && !evicts_others {
            return Some(format!(
                "'{path_name}' belongs to another user, who may need it cached: --evict-others \
                 evicts it"
            ));
        }
        let hidden = probe_of(path, &file, storages).err()?;
        (!runs_prove).then(|| {
            format!(
                "nothing shows what is cached of '{path_name}' ({hidden}). Only on ext2, ext3, \
                 ext4 and xfs, and after a traced rehearsal, what devices read can prove its state"
            )
        })
    })
}

fn is_others(file: &File) -> bool {
    file.metadata().is_ok_and(|found| found.uid() != geteuid().as_raw())
}

/// The probe that shows what is cached of a file.
///
/// # Errors
/// Why none does.
fn probe_of(path: &Path, file: &File, storages: FileStorages) -> Result<Probe, String> {
    let storage = storages.of_file(file).ok_or("its storage is not watched")?;
    let probe = storage.residency_probe.ok_or("no probe works there")?;
    hidden(path, file, probe).map_or(Ok(probe), Err)
}

/// Why `probe` does not show what is cached of a file, if so.
fn hidden(path: &Path, file: &File, probe: Probe) -> Option<String> {
    // Of a file that one may only read, mincore calls every page cached.
    if probe == Probe::Mincore && is_others(file) && access(path, Access::WRITE_OK).is_err() {
        return Some("it belongs to another user".to_string());
    }
    page_cache::residency(file, probe).err().map(|error| error.to_string())
}

fn not_opened(path: &Path, error: &anyhow::Error) -> String {
    format!("opening '{}', which the command reads: {error}", path.display())
}

/// Runs what `command` needs before each of its runs.
///
/// # Errors
/// If that cannot be started, fails, or the run is stopped.
pub fn prepare(command: &JudgedCommand, stop: &Stop) -> Result<(), String> {
    let Some(prepare) = &command.prepare else { return Ok(()) };
    // What it did before it failed, or was stopped, is undone.
    keeper::run(prepare, stop)
        .map_err(|reason| format!("--prepare: {reason}"))
        .inspect_err(|_| undo(command, stop))
}

/// Undoes what was prepared for a run that there is none of.
pub fn undo(command: &JudgedCommand, stop: &Stop) {
    if let Err(reason) = conclude(command, stop) {
        log::warn!("{reason}");
    }
}

/// Runs what `command` needs after each of its runs, also after a signal; another one stops it.
///
/// # Errors
/// If that cannot be started or fails.
pub fn conclude(command: &JudgedCommand, stop: &Stop) -> Result<(), String> {
    let Some(conclude) = &command.conclude else { return Ok(()) };
    let stopped = stop.take();
    let concluded = keeper::run(conclude, stop);
    stop.give_back(stopped);
    concluded.map_err(|reason| format!("--conclude: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn on(directory: PathBuf) -> Storage {
        Storage { directory, ..Storage::default() }
    }

    /// What a probe shows of the first storage says nothing of the second.
    #[test]
    fn a_file_on_a_second_storage_is_judged_by_what_that_one_shows() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir_in("/dev/shm"));
        let Ok(there) = there else { return };
        let device = |path: &Path| path.metadata().unwrap().dev();
        let devices = [device(here.path()), device(there.path())];
        let reads = [&here, &there].map(|folder| folder.path().join("file"));
        reads.iter().for_each(|path| std::fs::write(path, [7; 8192]).unwrap());
        let numbers = std::collections::BTreeMap::from([(devices[0], 0), (devices[1], 1)]);
        let shows = |probe| Storage { residency_probe: probe, ..on(PathBuf::new()) };
        let command = JudgedCommand { reads: reads.to_vec(), ..JudgedCommand::default() };
        let refused = |probes: [Option<Probe>; 2]| {
            let [first, second] = probes.map(shows);
            let further = [second];
            let storages =
                FileStorages { first: Some(&first), further: &further, numbers: &numbers };
            refusal(&command, Cache::Warm, (storages, None), false)
        };
        // Every user may ask mincore about files of its own.
        let mincore = Some(Probe::Mincore);
        assert_eq!(refused([mincore, mincore]), None);
        let second = refused([mincore, None]).unwrap();
        assert!(second.contains("/dev/shm") && second.contains("no probe works"), "{second}");
        let first = refused([None, mincore]).unwrap();
        assert!(!first.contains("/dev/shm"), "{first}");
        let numbers = std::collections::BTreeMap::from([(devices[0], 0)]);
        let first = shows(mincore);
        let storages = FileStorages { first: Some(&first), further: &[], numbers: &numbers };
        let other = refusal(&command, Cache::Warm, (storages, None), false).unwrap();
        assert!(other.contains("its storage is not watched"), "{other}");
    }

    #[test]
    #[expect(clippy::print_stderr, reason = "a test that cannot run here says so")]
    fn what_a_command_wrote_is_written_before_the_next_run() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("output");
        let mut file = File::create(&path).unwrap();
        file.write_all(&vec![7; 4 << 20]).unwrap();
        let writes = vec![folder.path().join("removed"), path];
        let command = JudgedCommand { writes, ..JudgedCommand::default() };
        let first =
            Storage { residency_probe: Some(Probe::Cachestat), ..on(folder.path().to_path_buf()) };
        let storages = FileStorages { first: Some(&first), ..FileStorages::default() };
        let data = DataFiles { storages, ..DataFiles::default() };
        let skip = |why| eprintln!("skipped what_a_command_wrote_is_written…: {why}");
        let Some(before) = data.written(&command) else { return skip("no cachestat here") };
        if page_cache::is_kept_in_memory(&file) || before.dirty == Some(0) {
            return skip("nothing stays dirty here, or everything does");
        }
        write_back(&command, &Stop::default());
        assert_eq!(data.written(&command).and_then(|seen| seen.dirty), Some(0));
    }
}
