//! Completions in a shell, and manual pages in their readers.

use crate::sandbox::{Sandbox, skip, text};
use clap::Command as Clap;
use ioassay::manual;
use ioassay::recipe::BUILT_IN;
use std::process::{Command, Output, Stdio};

/// Runs `program` with `args`; if it is missing, reports the skipped `test`.
fn tried(test: &str, program: &str, args: &[&str]) -> Option<Output> {
    match Command::new(program).args(args).stdin(Stdio::null()).output() {
        Ok(output) => Some(output),
        Err(error) => {
            skip(test, &format!("{program}: {error}"));
            None
        }
    }
}

/// The completions that bash offers for the last of `words`.
fn offered(sandbox: &Sandbox, words: &[&str]) -> Option<Vec<String>> {
    std::fs::write(sandbox.path("ioassay.bash"), sandbox.says(&["completions", "bash"])).unwrap();
    let script = "source \"$1\"; shift; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); \
                  _ioassay ioassay \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD-1]}\"; \
                  printf '%s\\n' \"${COMPREPLY[@]}\"";
    let path = sandbox.path("ioassay.bash").display().to_string();
    let args = [&["--norc", "-c", script, "bash", &path], words].concat();
    let output = tried("completions in bash", "bash", &args)?;
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    Some(text(&output.stdout).lines().map(str::to_string).collect())
}

#[test]
fn bash_completes_commands_options_and_recipes() {
    let sandbox = Sandbox::new();
    let check = |words: &[&str], expected: &[&str]| {
        if let Some(offered) = offered(&sandbox, words) {
            assert_eq!(offered, expected, "{words:?}");
        }
    };
    check(&["ioassay", "su"], &["survey"]);
    check(&["ioassay", "comp"], &["compare", "completions"]);
    check(&["ioassay", "run", "page"], &["page-latency"]);
    check(&["ioassay", "watch", "sync"], &["sync-latency"]);
    check(&["ioassay", "recipes", "show", "mem"], &["memory"]);
    check(&["ioassay", "run", "memory", "--work"], &["--working-set"]);
    check(&["ioassay", "--color", "a"], &["auto", "always"]);
    check(&["ioassay", "completions", "f"], &["fish"]);
    for (name, _) in BUILT_IN {
        let begins = BUILT_IN.iter().map(|(other, _)| *other).filter(|it| it.starts_with(name));
        check(&["ioassay", "run", name], &begins.collect::<Vec<_>>());
    }
}

#[test]
fn every_shell_reads_its_completions() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = sandbox.says(&["completions", shell]);
        for word in ["survey", "page-latency", "working-set", "completions"] {
            assert!(script.contains(word), "{shell}: {word} is missing");
        }
        let path = sandbox.path(shell);
        std::fs::write(&path, script).unwrap();
        let path = path.display().to_string();
        if let Some(output) = tried("completions are read", shell, &["-n", &path]) {
            assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        }
    }
}

#[test]
fn manual_pages_are_written_without_a_warning() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("man1")).unwrap();
    sandbox.says(&["man", "--all", "man1"]);
    let mut names: Vec<_> = std::fs::read_dir(sandbox.path("man1")).unwrap().flatten().collect();
    names.sort_by_key(std::fs::DirEntry::file_name);
    let all = 1 + commands(&manual::command());
    assert_eq!(names.len(), all, "{names:?}");
    for entry in names {
        let path = entry.path().display().to_string();
        let name = entry.file_name().into_string().unwrap();
        let words: Vec<&str> = name.trim_end_matches(".1").split('-').skip(1).collect();
        let page = std::fs::read_to_string(&path).unwrap();
        assert_eq!(sandbox.says(&[&["man"], &words[..]].concat()).trim(), page.trim());
        for (program, args) in [
            ("groff", &["-man", "-Tutf8", "-ww", "-z", &path][..]),
            // mandoc warns about the library's line break macros, so warnings are not errors.
            ("mandoc", &["-Tlint", "-Werror", &path]),
        ] {
            if let Some(output) = tried("manual pages are read", program, args) {
                let said = text(&output.stdout) + &text(&output.stderr);
                assert!(output.status.success() && said.is_empty(), "{program} {name}: {said}");
            }
        }
    }
    // Existing pages are not overwritten.
    let again = sandbox.ioassay(&["man", "--all", "man1"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("File exists"), "{again:?}");
}

/// The number of commands, including subcommands.
fn commands(of: &Clap) -> usize {
    of.get_subcommands().filter(|command| !command.is_hide_set()).map(|c| 1 + commands(c)).sum()
}

#[test]
fn help_is_short_or_long_and_the_long_one_has_examples() {
    let sandbox = Sandbox::new();
    for command in ["", "survey", "run", "watch", "report", "compare"] {
        let with = |flag| {
            let args: Vec<&str> =
                [command, flag].into_iter().filter(|arg| !arg.is_empty()).collect();
            sandbox.says(&args)
        };
        let (short, long) = (with("-h"), with("--help"));
        assert!(short.lines().count() < long.lines().count(), "{command}");
        assert!(!short.contains("Examples:"), "{short}");
        assert!(long.contains("Examples:") && long.contains("Exit status:"), "{long}");
        for line in short.lines().chain(long.lines()) {
            assert!(line.chars().count() <= 100, "{line}");
        }
    }
    let (short, long) = (sandbox.says(&["run", "-h"]), sandbox.says(&["run", "--help"]));
    assert!(!short.contains("--block <") && short.contains("--block"), "{short}");
    assert!(long.contains("--block <"), "{long}");
    assert!(short.lines().count() <= 70, "{short}");
}
