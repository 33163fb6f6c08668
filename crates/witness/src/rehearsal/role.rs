//! What a file is to a command: its data, or a part of the programs and the system.

use model::rehearsal::{FileRole, FileUse};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The most arguments of one program that are looked up, and of all programs.
const ARGUMENTS_MAX: usize = 64;
const NAMED_MAX: usize = 4096;

/// What the programs of a command say of files.
#[derive(Debug, Default)]
pub(crate) struct CommandPlaces {
    /// Files that arguments name.
    named: HashSet<PathBuf>,
    /// Scripts that were an argument of their interpreter.
    scripts: HashSet<PathBuf>,
    /// Directories with the files that belong to a program.
    of_programs: HashSet<PathBuf>,
}

/// Directories of the system. What a command only reads there is not its data, unless an argument
/// names it.
const SYSTEM: [&str; 11] = [
    "/bin",
    "/boot",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/nix/store",
    "/run",
    "/sbin",
    "/snap",
    "/usr",
];

/// Directories that belong to a program in `bin` beside them.
const BESIDE: [&str; 7] = ["lib", "lib32", "lib64", "libexec", "share", "conf", "jmods"];

/// Programs whose first argument that is no option is a program, too: their names without
/// versions, one on a line.
const INTERPRETERS: &str = include_str!("interpreters.txt");

impl CommandPlaces {
    /// A program began, with its arguments, its own name first, in a working directory.
    pub(crate) fn began(&mut self, program: &Path, arguments: &[Vec<u8>], directory: &Path) {
        if let Some(prefix) = program.parent().filter(|bin| bin.ends_with("bin"))
            && let Some(prefix) = prefix.parent().filter(is_its_own)
        {
            self.of_programs.extend(BESIDE.map(|name| prefix.join(name)));
        }
        let mut script = is_interpreter(program);
        for argument in arguments.iter().skip(1).take(ARGUMENTS_MAX) {
            let is_option = argument.starts_with(b"-");
            script &= !replaces_script(argument);
            let equals = argument.iter().position(|byte| *byte == b'=');
            let value = equals.map(|at| &argument[at + 1..]);
            let whole = (!is_option).then_some(argument.as_slice());
            let found = [whole, value].into_iter().flatten();
            let found = found.filter_map(|text| resolved(directory, text));
            if script && !is_option {
                script = false;
                self.scripts.extend(found.take(NAMED_MAX.saturating_sub(self.scripts.len())));
            } else {
                self.named.extend(found.take(NAMED_MAX.saturating_sub(self.named.len())));
            }
        }
    }

    /// Whether an argument names this file.
    pub(crate) fn is_named(&self, path: &Path) -> bool {
        self.named.contains(path)
    }
}

/// The path that an argument may mean, of a file that is there or whose directory is there.
fn resolved(directory: &Path, text: &[u8]) -> Option<PathBuf> {
    if text.is_empty() || text.len() >= libc::PATH_MAX as usize || text.contains(&b'\n') {
        return None;
    }
    let path = directory.join(OsStr::from_bytes(text));
    if let Ok(path) = std::fs::canonicalize(&path) {
        return Some(path);
    }
    let parent = std::fs::canonicalize(path.parent()?).ok()?;
    Some(parent.join(path.file_name()?))
}

/// Whether a directory with `bin` is that of one program and not of the system.
fn is_its_own(prefix: &&Path) -> bool {
    ![Path::new("/"), Path::new("/usr")].contains(prefix)
}

/// Whether an option of an interpreter replaces a script: `-c`, `-lc`, `-ne`, `-m`.
fn replaces_script(option: &[u8]) -> bool {
    let is_short = option.starts_with(b"-") && !option.starts_with(b"--");
    is_short && matches!(option.last(), Some(b'c' | b'e' | b'm'))
}

/// Whether a program runs scripts: its name, without a version, is that of an interpreter.
fn is_interpreter(program: &Path) -> bool {
    let name = program.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    INTERPRETERS.lines().any(|known| known == name)
}

/// The role of a file, in this order: what is written is data, what is executed is a program, and
/// what an argument or a standard stream names is data, wherever it is. The rest is decided by
/// where it is.
pub(crate) fn role(facts: &FileUse, path: &Path, places: &CommandPlaces) -> FileRole {
    let is_compiled = path.extension().is_some_and(|extension| extension == "pyc");
    let is_written = facts.opens.writing > 0 || facts.mappings.writable > 0;
    if is_written && !is_compiled || facts.is_block_device {
        return FileRole::Data;
    }
    let is_program = facts.executed || facts.mappings.executable > 0;
    if is_program || is_compiled || places.scripts.contains(path) {
        return FileRole::Program;
    }
    if facts.named || facts.inherited {
        return FileRole::Data;
    }
    if places.of_programs.iter().any(|directory| path.starts_with(directory)) {
        return FileRole::Program;
    }
    match SYSTEM.iter().any(|directory| path.starts_with(directory)) {
        true => FileRole::System,
        false => FileRole::Data,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::rehearsal::Opens;

    fn check(path: &str, change: fn(&mut FileUse), expected: FileRole) {
        let mut places = CommandPlaces::default();
        places.began(Path::new("/opt/tool/bin/tool"), &[], Path::new("/"));
        let arguments = ["python3", "-u", "/tmp", "/etc"].map(|text| text.as_bytes().to_vec());
        places.began(Path::new("/usr/bin/python3.11"), &arguments, Path::new("/"));
        let read = Opens { times: 1, reading: 1, ..Opens::default() };
        let mut facts = FileUse { opens: read, ..FileUse::default() };
        facts.named = places.is_named(Path::new(path));
        change(&mut facts);
        assert_eq!(role(&facts, Path::new(path), &places), expected, "{path}");
    }

    #[test]
    fn the_role_of_a_file_follows_from_its_use_and_then_from_its_place() {
        let as_it_is = |_: &mut FileUse| {};
        check("/home/me/a", as_it_is, FileRole::Data);
        check("/var/lib/db/a", as_it_is, FileRole::Data);
        check("/usr/share/locale/a", as_it_is, FileRole::System);
        check("/usr/share/locale/a", |facts| facts.opens.writing = 1, FileRole::Data);
        check("/usr/share/locale/a", |facts| facts.inherited = true, FileRole::Data);
        check("/etc", as_it_is, FileRole::Data);
        check("/tmp", as_it_is, FileRole::Program);
        check("/opt/tool/lib/a", as_it_is, FileRole::Program);
        check("/opt/tool/data/a", as_it_is, FileRole::Data);
        check("/home/me/a", |facts| facts.executed = true, FileRole::Program);
        check("/home/me/a.pyc", |facts| facts.opens.writing = 1, FileRole::Program);
        check("/home/me/a.so", |facts| facts.mappings.executable = 1, FileRole::Program);
    }
}
