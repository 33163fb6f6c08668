//! Builds peers: once, into the cache folder, and again when their source, their compiler or this
//! processor changes.

use crate::peers::{Program, Source};
use anyhow::{Context, Result};
use model::peer::Peer;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// How much of what a compiler said is kept: the end of it.
const SAID_BYTES: usize = 2000;

/// What is known of a built peer is kept beside it, so that it is not looked at again.
const FACTS: &str = "peer.json";

/// What stands between the name of a folder and the process that builds in it.
const SITE: &str = ".building-";

/// A peer that was built, or the reason why not; and the command that starts it.
#[derive(Debug, Clone)]
pub struct Ready {
    /// What is known of it.
    pub peer: Peer,
    run: Vec<String>,
}

impl Ready {
    /// The command that starts it.
    ///
    /// # Errors
    /// The reason why it cannot run here.
    pub fn command(&self) -> Result<Command, String> {
        if let Some(reason) = &self.peer.unavailable {
            return Err(reason.clone());
        }
        let (program, arguments) = self.run.split_first().ok_or("its row has no command to run")?;
        let mut command = Command::new(program);
        command.args(arguments);
        Ok(command)
    }
}

/// Builds `program`, unless that was done before. What is wrong with it or its compiler is told by
/// [`Peer::unavailable`].
///
/// # Errors
/// When there is no cache folder, or it cannot be written.
pub fn ready(program: &Program) -> Result<Ready> {
    let mut peer = program.peer.clone();
    let run = program.run.clone();
    if peer.unavailable.is_some() {
        return Ok(Ready { peer, run });
    }
    if let Some(command) = command_of(&program.version) {
        match version(command) {
            Ok(version) => peer.version = Some(version),
            Err(reason) => peer.unavailable = Some(reason),
        }
    }
    if peer.unavailable.is_some() || program.build.is_empty() {
        let source = program.source.as_ref().map_or(PathBuf::new(), |source| source.path.clone());
        let run = put(&run, Path::new(""), &source);
        return Ok(Ready { peer, run });
    }
    let folder = folder(program, &peer)?;
    let run = put(&run, &folder, Path::new(""));
    let facts = std::fs::read_to_string(folder.join(FACTS));
    match facts.map(|text| serde_json::from_str::<Peer>(&text)) {
        Ok(Ok(Peer { build, vector_bits, .. })) => {
            Ok(Ready { peer: Peer { build, vector_bits, ..peer }, run })
        }
        Ok(Err(_)) | Err(_) => {
            remove_older(&folder)?;
            Ok(Ready { peer: build(program, peer, &folder)?, run })
        }
    }
}

/// Removes older builds of the peer that `folder` is for, and what was left of builds whose
/// process was killed: the cache must not grow for ever.
fn remove_older(folder: &Path) -> Result<()> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let Some((peer, hash)) = name.rsplit_once('-') else { return Ok(()) };
    let is_older = |other: &str| {
        let (other, site) = other.split_once(SITE).unwrap_or((other, ""));
        let of_peer = other.rsplit_once('-').is_some_and(|(name, of)| {
            name == peer && of.len() == hash.len() && (of != hash || !site.is_empty())
        });
        let is_alive = !site.is_empty() && Path::new("/proc").join(site).exists();
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

/// Builds in a folder beside `folder` and moves it there when all is done: what is there is whole.
fn build(program: &Program, mut peer: Peer, folder: &Path) -> Result<Peer> {
    let site = PathBuf::from(format!("{}{SITE}{}", folder.display(), std::process::id()));
    let made = || format!("failed to make the folder '{}'", site.display());
    std::fs::create_dir_all(&site).with_context(made)?;
    let outcome = build_at(program, &site);
    match outcome {
        Ok(build) => {
            peer.build = Some(build);
            peer.vector_bits = program.counting.as_ref().and_then(|function| {
                let run = put(&program.run, &site, Path::new(""));
                vector_bits_of(Path::new(run.first()?), function)
            });
            std::fs::write(site.join(FACTS), serde_json::to_string_pretty(&peer)?)
                .with_context(|| format!("failed to write into '{}'", site.display()))?;
            // Another run may have built it meanwhile: either is as good.
            if std::fs::rename(&site, folder).is_err() {
                std::fs::remove_dir_all(folder).or_else(ignore_missing)?;
                std::fs::rename(&site, folder)
                    .with_context(|| format!("failed to move to '{}'", folder.display()))?;
            }
        }
        Err(reason) => {
            peer.unavailable = Some(reason);
            std::fs::remove_dir_all(&site).or_else(ignore_missing)?;
        }
    }
    Ok(peer)
}

fn ignore_missing(error: std::io::Error) -> std::io::Result<()> {
    if error.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// Runs the build command with `site` as its working directory: so its text is the same wherever
/// the cache folder is. Answers that text.
fn build_at(program: &Program, site: &Path) -> Result<String, String> {
    let name = match &program.source {
        None => PathBuf::new(),
        Some(Source { path, text }) => {
            let name = PathBuf::from(path.file_name().unwrap_or_default());
            std::fs::write(site.join(&name), text).map_err(|error| {
                format!("writing its source into '{}' failed: {error}", site.display())
            })?;
            name
        }
    };
    let words = put(&program.build, Path::new("."), &name);
    let text = words.join(" ");
    let mut command = command_of(&words).ok_or("its row has an empty build command")?;
    command.current_dir(site);
    let output = command.output().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            format!("'{}' is not installed: it is needed to build this", words[0])
        }
        _ => format!("'{text}' failed: {error}"),
    })?;
    if output.status.success() {
        return Ok(text);
    }
    Err(format!("'{text}' failed ({}): {}", output.status, said(&output)))
}

/// What was said on stderr, or else on stdout: the end of it.
fn said(output: &Output) -> String {
    let stream = if output.stderr.is_empty() { &output.stdout } else { &output.stderr };
    let start = stream.len().saturating_sub(SAID_BYTES);
    String::from_utf8_lossy(&stream[start..]).trim().to_string()
}

/// The first line that a compiler or a runtime says of its version.
fn version(mut command: Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!("'{program}' is not installed"),
        _ => format!("'{program}' cannot be started: {error}"),
    })?;
    let lines = [&output.stdout, &output.stderr].map(|stream| String::from_utf8_lossy(stream));
    let first = lines.iter().flat_map(|text| text.lines()).find(|line| !line.trim().is_empty());
    match first {
        Some(line) if output.status.success() => Ok(line.trim().to_string()),
        _ => Err(format!("'{program}' does not work ({}): {}", output.status, said(&output))),
    }
}

/// The command of these words, if there are any.
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

/// The folder of a build: its name changes with all that decides what is built.
fn folder(program: &Program, peer: &Peer) -> Result<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| std::env::home_dir().map(|home| home.join(".cache")))
        .context("there is no home to build peers in: set XDG_CACHE_HOME")?;
    let mut hash = DefaultHasher::new();
    match &program.source {
        Some(source) => source.text.hash(&mut hash),
        // What is built from elsewhere changes when this program does, as far as can be told.
        None => own_identity()?.hash(&mut hash),
    }
    (&program.build, &program.run, &program.counting, &peer.version).hash(&mut hash);
    // What is built for the native processor is for this one.
    witness::host(Vec::new()).cpu.hash(&mut hash);
    env!("CARGO_PKG_VERSION").hash(&mut hash);
    let name = format!("{}-{:016x}", peer.name, hash.finish());
    Ok(cache.join("ioassay").join("peers").join(name))
}

/// What changes with every build of this program.
fn own_identity() -> Result<(u64, Option<std::time::SystemTime>)> {
    let own = std::env::current_exe().context("failed to find this program's own file")?;
    let metadata = own.metadata()?;
    Ok((metadata.len(), metadata.modified().ok()))
}

/// Bits of the widest vectors that `function` compares in; none where nobody can look.
fn vector_bits_of(binary: &Path, function: &str) -> Option<u32> {
    let output =
        Command::new("objdump").args(["-d", "--no-show-raw-insn"]).arg(binary).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    vector_bits(&text, function)
}

/// Reads a disassembly: a packed compare for equality is what makes a counting loop a vector loop;
/// its registers tell how wide. None where the function is not there.
fn vector_bits(disassembly: &str, function: &str) -> Option<u32> {
    // The compiler may split a function into parts: `count_tens.part.0`.
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

/// Bits of the packed compare in a line of a disassembly; 0 if there is none.
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
            (&format!("c-00000000000000aa.building-{own}"), true),
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
