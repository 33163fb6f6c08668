//! Builds peers into the cache folder: once, and again when their source, their compiler or this
//! processor changes.
//!
//! Programs in the cache folder are run, so no other user may be able to write there
//! ([`ownership`]).

use crate::ownership;
use crate::peers::{Program, SourceFile};
use crate::stop::Stop;
use crate::tool::{self, Finished, ProgramLimits};
use anyhow::{Context, Result};
use model::peer::Peer;
use std::fs::Permissions;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// Time limit for printing a version: a compiler takes a fraction of a second, a runtime one or
/// two.
const VERSION_TIME: Duration = Duration::from_secs(10);

/// Time limit for a build: this program itself takes less than three minutes on two busy
/// processors.
const BUILD_TIME: Duration = Duration::from_secs(600);

/// Time limit for disassembling a peer, which takes less than a second.
const DISASSEMBLY_TIME: Duration = Duration::from_secs(60);

/// Maximum size of a disassembly to search: a peer's is 100 KiB, or some MiB with its whole
/// runtime.
const DISASSEMBLY_BYTES: usize = 16 << 20;

/// A compiler prints its name and version within this many bytes.
const VERSION_BYTES: usize = 2000;

/// Facts about a built peer, kept beside it so that it need not be inspected again.
const FACTS: &str = "peer.json";

/// Separates a folder's name from the PID that builds in it.
const SITE: &str = ".building-";

/// The remedy if the cache folder cannot be trusted.
const REMEDY: &str = "set XDG_CACHE_HOME to a folder that only you can write to, or remove this \
                      one if another user put it there";

/// A peer that was built, or why it was not, and the command that starts it.
#[derive(Debug, Clone)]
pub struct Ready {
    /// The known facts about it.
    pub peer: Peer,
    run: Vec<String>,
}

impl Ready {
    /// The command that starts it.
    ///
    /// # Errors
    /// Why it cannot run here.
    pub fn command(&self) -> Result<Command, String> {
        if let Some(reason) = &self.peer.unavailable {
            return Err(reason.clone());
        }
        command_of(&self.run).ok_or_else(|| "its row has no command to run".to_string())
    }
}

impl Ready {
    /// A program that cannot be built here, for this reason: its cases are unavailable.
    pub fn unavailable(program: &Program, reason: &anyhow::Error) -> Ready {
        let unavailable = Some(format!("{reason:#}"));
        Ready { peer: Peer { unavailable, ..program.peer.clone() }, run: Vec::new() }
    }
}

/// Builds `program`, unless that was done before: a build may take minutes, so `building` says so
/// first. [`Peer::unavailable`] reports problems with it or its compiler.
///
/// # Errors
/// If there is no cache folder, it cannot be written, or other users can write to it; or that of
/// `building`.
pub fn ready(
    program: &Program,
    stop: &Stop,
    building: impl FnOnce(&str) -> Result<()>,
) -> Result<Ready> {
    let mut peer = program.peer.clone();
    let run = program.run.clone();
    if peer.unavailable.is_some() {
        return Ok(Ready { peer, run });
    }
    let host = witness::host(Vec::new());
    let bench = Bench { memory: ProgramLimits::half_of(host.memory_available), stop };
    if let Some(command) = command_of(&program.version) {
        match bench.version(command) {
            Ok(version) => peer.version = Some(version),
            Err(reason) => peer.unavailable = Some(reason),
        }
    }
    if peer.unavailable.is_some() || program.build.is_empty() {
        let source = program.source.as_ref().map_or(PathBuf::new(), |source| source.path.clone());
        let run = put(&run, Path::new(""), &source);
        return Ok(Ready { peer, run });
    }
    // A build for the native processor is valid only for this one.
    let cpu = host.cpu;
    let cache = cache_home()?;
    let peers = ownership::folder(&cache, &["ioassay", "peers"], REMEDY)?;
    let folder = peers.join(name_of_build(program, &peer, &cpu)?);
    if let Some(known) = built(&folder)? {
        peer = Peer { build: known.build, vector_bits: known.vector_bits, ..peer };
    } else {
        remove_older(&folder)?;
        building(&peer.name)?;
        peer = bench.build(program, peer, &folder)?;
    }
    let run = put(&run, &folder, Path::new(""));
    // A build may create a link, or a program that others can change. If it creates none, starting
    // it reports that.
    let in_folder = run.iter().map(Path::new).filter(|word| word.starts_with(&folder));
    let mut made = in_folder.filter(|path| path.symlink_metadata().is_ok());
    made.try_for_each(|path| ownership::check_own(path, REMEDY))?;
    Ok(Ready { peer, run })
}

/// The facts about the build in `folder`; `None` if there is none, or it is broken.
fn built(folder: &Path) -> Result<Option<Peer>> {
    if folder.symlink_metadata().is_err() {
        return Ok(None);
    }
    ownership::check_own(folder, REMEDY)?;
    let facts = std::fs::read_to_string(folder.join(FACTS));
    Ok(facts.ok().and_then(|text| serde_json::from_str(&text).ok()))
}

/// Removes older builds of this peer, and leftovers of builds whose process was killed: the cache
/// must not grow forever.
fn remove_older(folder: &Path) -> Result<()> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let Some((peer, hash)) = name.rsplit_once('-') else { return Ok(()) };
    let is_older = |other: &str| {
        let (other, site) = other.split_once(SITE).unwrap_or((other, ""));
        let of_peer = other.rsplit_once('-').is_some_and(|(name, of)| {
            name == peer && of.len() == hash.len() && (of != hash || !site.is_empty())
        });
        let builder = site.split('-').next().unwrap_or_default();
        let is_alive = !builder.is_empty() && Path::new("/proc").join(builder).exists();
        of_peer && !is_alive
    };
    let beside = folder.parent().map(std::fs::read_dir).into_iter().flatten().flatten();
    for entry in beside.flatten() {
        if entry.file_name().to_str().is_some_and(is_older) {
            std::fs::remove_dir_all(entry.path()).or_else(ignore_missing).with_context(|| {
                format!("failed to remove the older build '{}'", entry.path().display())
            })?;
        }
    }
    Ok(())
}

fn ignore_missing(error: std::io::Error) -> std::io::Result<()> {
    if error.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// The limits for compilers.
struct Bench<'a> {
    memory: Option<u64>,
    stop: &'a Stop,
}

impl Bench<'_> {
    fn run(
        &self,
        command: Command,
        time: Duration,
        first_bytes: usize,
    ) -> Result<Finished, String> {
        tool::run(command, ProgramLimits { time, memory: self.memory, first_bytes }, self.stop)
    }

    /// The first line that a compiler or runtime prints about its version.
    fn version(&self, command: Command) -> Result<String, String> {
        let program = command.get_program().to_string_lossy().into_owned();
        let told = self.run(command, VERSION_TIME, VERSION_BYTES)?;
        let streams = [&told.stdout, &told.stderr];
        let texts = streams.map(|stream| String::from_utf8_lossy(stream.first().0));
        let first = texts.iter().flat_map(|text| text.lines()).find(|line| !line.trim().is_empty());
        match first {
            Some(line) if told.status.success() => Ok(line.trim().to_string()),
            _ => Err(format!("'{program}' does not work ({}): {}", told.status, said(&told))),
        }
    }

    /// Builds in a fresh folder beside `folder` and moves it there when complete, so `folder` never
    /// holds a partial build.
    fn build(&self, program: &Program, mut peer: Peer, folder: &Path) -> Result<Peer> {
        let site = site_beside(folder)?;
        match self.build_at(program, site.path()) {
            Ok(build) => {
                peer.build = Some(build);
                peer.vector_bits = program.counting.as_ref().and_then(|function| {
                    let run = put(&program.run, site.path(), Path::new(""));
                    self.vector_bits_of(Path::new(run.first()?), function)
                });
                std::fs::write(site.path().join(FACTS), serde_json::to_string_pretty(&peer)?)
                    .with_context(|| format!("failed to write to '{}'", site.path().display()))?;
                move_to(site, folder)?;
            }
            Err(reason) => peer.unavailable = Some(reason),
        }
        Ok(peer)
    }

    /// Runs the build command with `site` as its working directory, so that its text does not
    /// depend on the cache folder's path. Returns that text.
    fn build_at(&self, program: &Program, site: &Path) -> Result<String, String> {
        let mut name = PathBuf::new();
        for SourceFile { path, text } in program.headers.iter().chain(&program.source) {
            name = PathBuf::from(path.file_name().unwrap_or_default());
            std::fs::write(site.join(&name), text).map_err(|error| {
                format!("writing its source to '{}' failed: {error}", site.display())
            })?;
        }
        let words = put(&program.build, Path::new("."), &name);
        let text = words.join(" ");
        let mut command = command_of(&words).ok_or("its row has an empty build command")?;
        // Files that a killed compiler leaves are removed with the folder.
        command.current_dir(site).env("TMPDIR", site);
        let told = self.run(command, BUILD_TIME, 0)?;
        if told.status.success() {
            return Ok(text);
        }
        Err(format!("'{text}' failed ({}): {}", told.status, said(&told)))
    }

    /// Width in bits of the vectors that `function` compares; `None` if it cannot be inspected.
    fn vector_bits_of(&self, binary: &Path, function: &str) -> Option<u32> {
        let mut command = Command::new("objdump");
        command.args(["-d", "--no-show-raw-insn"]).arg(binary);
        let told = self.run(command, DISASSEMBLY_TIME, DISASSEMBLY_BYTES).ok()?;
        let (text, is_all) = told.stdout.first();
        is_all.then(|| vector_bits(&String::from_utf8_lossy(text), function)).flatten()
    }
}

/// A new folder beside `folder`, with an unpredictable name, for this user only.
fn site_beside(folder: &Path) -> Result<TempDir> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let prefix = format!("{name}{SITE}{}-", std::process::id());
    let peers = folder.parent().context("a build is in a folder")?;
    let mut builder = tempfile::Builder::new();
    let own = Permissions::from_mode(0o700);
    let site = builder.prefix(&prefix).permissions(own).tempdir_in(peers);
    site.with_context(|| format!("failed to create a folder in '{}'", peers.display()))
}

/// Moves a finished build into place. Another run may have built it meanwhile; both are equally
/// good.
fn move_to(site: TempDir, folder: &Path) -> Result<()> {
    if std::fs::rename(site.path(), folder).is_err() {
        std::fs::remove_dir_all(folder).or_else(ignore_missing)?;
        std::fs::rename(site.path(), folder)
            .with_context(|| format!("failed to move the build to '{}'", folder.display()))?;
    }
    // It was moved, so there is nothing left to remove.
    let _ = site.keep();
    Ok(())
}

/// The end of stderr, or of stdout if stderr is empty.
fn said(told: &Finished) -> String {
    let [stdout, stderr] = [&told.stdout, &told.stderr].map(|stream| stream.last());
    if stderr.is_empty() { stdout } else { stderr }
}

/// The command with these words, if there are any.
fn command_of(words: &[String]) -> Option<Command> {
    let (program, arguments) = words.split_first()?;
    let mut command = Command::new(program);
    command.args(arguments);
    Some(command)
}

fn put(words: &[String], build: &Path, source: &Path) -> Vec<String> {
    let (build, source) = (build.to_string_lossy(), source.to_string_lossy());
    words.iter().map(|word| word.replace("{build}", &build).replace("{source}", &source)).collect()
}

fn cache_home() -> Result<PathBuf> {
    std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| std::env::home_dir().map(|home| home.join(".cache")))
        .context("there is no home folder to build peers in: set XDG_CACHE_HOME")
}

/// The name of a build's folder, which depends on everything that affects the build.
fn name_of_build(program: &Program, peer: &Peer, cpu: &str) -> Result<String> {
    let mut hash = DefaultHasher::new();
    match &program.source {
        Some(source) => {
            source.text.hash(&mut hash);
            program.headers.iter().for_each(|header| header.text.hash(&mut hash));
        }
        // A peer built from sources elsewhere is assumed to change when this program does.
        None => own_identity()?.hash(&mut hash),
    }
    (&program.build, &program.run, &program.counting, &peer.version).hash(&mut hash);
    cpu.hash(&mut hash);
    env!("CARGO_PKG_VERSION").hash(&mut hash);
    Ok(format!("{}-{:016x}", program.name, hash.finish()))
}

/// Identifies the build of this program.
fn own_identity() -> Result<(u64, Option<std::time::SystemTime>)> {
    let own = std::env::current_exe().context("failed to find this program's own file")?;
    let metadata = own.metadata()?;
    Ok((metadata.len(), metadata.modified().ok()))
}

/// Parses a disassembly: a packed compare for equality makes a counting loop a vector loop, and its
/// registers show the width. `None` if the function is missing.
fn vector_bits(disassembly: &str, function: &str) -> Option<u32> {
    // The compiler may split a function into parts, such as `count_tens.part.0`.
    let heads = [format!("<{function}>:"), format!("<{function}.")];
    let mut bits = None;
    let mut inside = false;
    for line in disassembly.lines() {
        if line.ends_with(">:") {
            inside = heads.iter().any(|head| line.contains(head.as_str()));
            bits = if inside { bits.or(Some(0)) } else { bits };
        } else if inside {
            bits = bits.max(Some(compare_bits(line)));
        }
    }
    bits
}

/// Width in bits of the packed compare in a line of a disassembly; 0 if there is none.
fn compare_bits(line: &str) -> u32 {
    let Some((_, instruction)) = line.split_once(":\t") else { return 0 };
    let mnemonic = instruction.split_whitespace().next().unwrap_or_default();
    let is_x86 =
        mnemonic.trim_start_matches('v').starts_with("pcmpeq") || mnemonic.starts_with("vpcmp");
    match () {
        () if is_x86 && instruction.contains("%zmm") => 512,
        () if is_x86 && instruction.contains("%ymm") => 256,
        () if is_x86 && instruction.contains("%xmm") => 128,
        () if mnemonic == "cmeq" => 128,
        () => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_builds_are_removed_and_no_others() {
        let cache = tempfile::tempdir().unwrap();
        let own = std::process::id();
        let folders = [
            ("c-00000000000000aa", true),
            ("c-00000000000000bb", false),
            ("c-00000000000000aa.building-4194305", false),
            ("c-00000000000000aa.building-4194305-xYz1", false),
            (&format!("c-00000000000000aa.building-{own}"), true),
            (&format!("c-00000000000000aa.building-{own}-xYz1"), true),
            ("c-fast-00000000000000bb", true),
            ("other", true),
        ];
        for (name, _) in folders {
            std::fs::create_dir(cache.path().join(name)).unwrap();
        }
        remove_older(&cache.path().join("c-00000000000000aa")).unwrap();
        for (name, stays) in folders {
            assert_eq!(cache.path().join(name).exists(), stays, "{name}");
        }
    }

    #[test]
    fn the_widest_compare_of_the_function_counts() {
        let code = "
0000000000001280 <count_tens>:
    1280:\tvpcmpeqd (%rdi),%ymm1,%ymm0
    1284:\tpcmpeqd %xmm2,%xmm0
    1288:\tret

0000000000001290 <count_tens.part.0>:
    1290:\tcmpl   $0xa,(%rdi)

00000000000012a0 <other>:
    12a0:\tvpcmpeqd (%rdi),%zmm1,%k1
";
        assert_eq!(vector_bits(code, "count_tens"), Some(256));
        assert_eq!(vector_bits(code, "other"), Some(512));
        assert_eq!(vector_bits(code, "nowhere"), None);
    }

    #[test]
    fn a_scalar_loop_has_no_vectors() {
        let code = "0000000000001280 <f>:\n    1280:\tcmpl   $0xa,(%rdi)\n    1283:\tsete   %cl\n";
        assert_eq!(vector_bits(code, "f"), Some(0));
        let zeroing = "0000000000001280 <f>:\n    1280:\tpxor   %xmm0,%xmm0\n";
        assert_eq!(vector_bits(zeroing, "f"), Some(0));
    }
}
