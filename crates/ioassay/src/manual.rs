//! Help with examples, manual pages and completions, all generated from the definition of the
//! commands in [`crate::args`].

use crate::args::Cli;
use crate::args::axes::HEADING;
use crate::args::form::RESULT_FORMS;
use crate::recipe::BUILT_IN;
use anyhow::{Context, Result, anyhow};
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use model::axis::Axis;
use model::units;

/// A description and its command line.
type Example = (&'static str, &'static str);

/// Additional help for a command.
struct CommandHelp {
    /// The command's name; the program's for the program as a whole.
    command: &'static str,
    examples: &'static [Example],
    /// Its exit statuses; `None` if they are the program's.
    exit: Option<&'static [ExitStatus]>,
}

/// An exit status and its meaning.
type ExitStatus = (&'static str, &'static str);

/// The exit statuses of the program, and of commands that measure or judge.
const JUDGED: &[ExitStatus] = &[
    ("0", "every requested case is sound or doubtful, or the command did its work"),
    ("1", "a requested case has no valid figure, or a goal is missed; the report says why"),
    ("3", "with --strict: it cannot tell whether all goals are met"),
    ("2", "nothing could be run, or the command line is wrong"),
    ("128+N", "stopped by signal N (130: SIGINT, 143: SIGTERM); completed trials are kept"),
];

/// Those of `plan`.
const PLANNED: &[ExitStatus] = &[
    ("0", "there is a case to measure; its figures may still be void"),
    ("2", "there is none, or the command line is wrong"),
];

/// Those of `compare`.
const COMPARED: &[ExitStatus] = &[
    ("0", "the records were compared; no loss is proved to exceed a limit of --fail-if"),
    ("1", "a loss exceeds its limit"),
    ("3", "with --strict: no loss is proved, but the records cannot rule one out"),
    ("2", "they measure different things, have nothing in common, or cannot be read"),
];

/// Those of `gate`.
const GATED: &[ExitStatus] = &[
    ("0", "no loss is proved to exceed its limit"),
    ("1", "a loss exceeds its limit"),
    ("3", "with --strict: no loss is proved, but the rounds cannot rule one out"),
    ("2", "a side could not be measured, or the command line is wrong"),
    ("128+N", "stopped by signal N (130: SIGINT, 143: SIGTERM); completed trials are kept"),
];

/// Those of `open`.
const OPENED: &[ExitStatus] = &[
    ("0", "the page is written; it may not be opened, and a note says why"),
    ("2", "there is no such record, or the page cannot be written"),
];

/// Those of `merge`.
const MERGED: &[ExitStatus] = &[
    ("0", "the records are in one file"),
    ("2", "one is not a record, or the file cannot be written"),
];

const HELP: &[CommandHelp] = &[
    CommandHelp {
        command: "ioassay",
        examples: &[
            ("How fast are this memory, page cache and disk?", "ioassay survey"),
            ("List the recipes", "ioassay recipes"),
            ("How long does a page take, warm and cold, on that disk?", RUN_PAGES),
            ("List the records of earlier runs", "ioassay runs"),
            ("What does a finding mean?", "ioassay explain CacheLeak"),
        ],
        exit: Some(JUDGED),
    },
    CommandHelp {
        command: "survey",
        examples: &[
            ("The current directory", "ioassay survey"),
            ("Another disk, in half a minute", "ioassay survey --quick /mnt/data"),
            ("Show the plan without measuring", "ioassay survey --dry-run"),
            ("How small a difference can this machine resolve today?", "ioassay survey --control"),
            ("Which of these machines is the odd one out?", SURVEY_HOSTS),
        ],
        exit: Some(JUDGED),
    },
    CommandHelp {
        command: "run",
        examples: &[
            ("Run a recipe", RUN_PAGES),
            ("Choose other axes", RUN_AXES),
            ("Read your own file; it is never written", "ioassay run read-methods --file BIG.DAT"),
            ("Show the plan without measuring", "ioassay run read-methods /mnt/data --dry-run"),
            ("Write your own recipe", "ioassay recipes show page-latency > mine.toml"),
            ("and", "ioassay run mine.toml /mnt/data"),
        ],
        exit: Some(JUDGED),
    },
    CommandHelp {
        command: "plan",
        examples: &[
            ("See the cases, the time and the space of a run", "ioassay plan read-methods"),
            ("The same with other axes", "ioassay plan read-methods --cache cold --block 4k,1MiB"),
        ],
        exit: Some(PLANNED),
    },
    CommandHelp {
        command: "watch",
        examples: &[
            ("Every ten minutes, until you stop it", WATCH),
            ("Six runs", "ioassay watch sync-latency /mnt/data --every 1h --count 6"),
        ],
        exit: Some(JUDGED),
    },
    CommandHelp {
        command: "report",
        examples: &[
            ("Show the report of a record", "ioassay report FILE.jsonl"),
            (
                "Records of several hosts: which is the odd one out?",
                "ioassay report RECORDS/*.jsonl",
            ),
            ("The figures of one case, with jq", REPORT_JQ),
        ],
        exit: Some(JUDGED),
    },
    CommandHelp {
        command: "open",
        examples: &[
            ("See the last run as a page", "ioassay open"),
            ("Another record", "ioassay open survey.jsonl"),
        ],
        exit: Some(OPENED),
    },
    CommandHelp {
        command: "merge",
        examples: &[
            ("Collect records of many hosts", "ioassay merge RECORDS/*.jsonl --record all.jsonl"),
            ("and judge them together", "ioassay report all.jsonl"),
        ],
        exit: Some(MERGED),
    },
    CommandHelp {
        command: "compare",
        examples: &[
            ("Was it faster before?", "ioassay compare before.jsonl after.jsonl"),
            ("A gate for CI", "ioassay compare base.jsonl new.jsonl --fail-if 'slower > 5%'"),
            ("Compare two sizes", "ioassay compare small.jsonl large.jsonl --anyway"),
        ],
        exit: Some(COMPARED),
    },
    CommandHelp {
        command: "gate",
        examples: &[
            ("Is the new disk slower?", "ioassay gate read-methods /new --against /old"),
            (
                "Is a new build of a peer slower?",
                "ioassay gate read-methods /data --peers new.toml --peer mine --against old/mine",
            ),
            (
                "Against a record of another time",
                "ioassay gate sync-latency /data --against base.jsonl --fail-if 'sync p99 > 20%'",
            ),
        ],
        exit: Some(GATED),
    },
    CommandHelp {
        command: "runs",
        examples: &[
            ("The latest", "ioassay runs | head -3"),
            ("Only one recipe", "ioassay runs --recipe page-latency"),
        ],
        exit: None,
    },
    CommandHelp {
        command: "completions",
        examples: &[
            ("Load it into this bash", "source <(ioassay completions bash)"),
            ("For fish", "ioassay completions fish > ~/.config/fish/completions/ioassay.fish"),
        ],
        exit: None,
    },
    CommandHelp {
        command: "man",
        examples: &[
            ("Read the manual page of a command", "ioassay man run | man -l -"),
            ("Install all of them", "ioassay man --all /usr/local/share/man/man1"),
        ],
        exit: None,
    },
];

const SURVEY_HOSTS: &str = "ioassay survey /data --hosts node1,node2,node3,node4";
const RUN_PAGES: &str = "ioassay run page-latency /mnt/data";
const RUN_AXES: &str = "ioassay run read-methods . --engine pread,mmap --cache cold --threads 1,2";
const WATCH: &str = "ioassay watch page-latency /mnt/data --every 10m";
const REPORT_JQ: &str = "ioassay report FILE.jsonl --json | jq '.cases[0]'";

/// The end of the short help for commands with axes; only the long help lists their values.
fn axes_below() -> String {
    let flags: Vec<String> = Axis::settable().map(|axis| format!("--{}", axis.flag())).collect();
    format!(
        "Axes, each with one value or several with commas (--help lists their values):\n  {}",
        flags.join(" ")
    )
}

fn help_of(command: &str) -> Option<&'static CommandHelp> {
    HELP.iter().find(|told| told.command == command)
}

/// The definition of all commands, with their examples.
pub fn command() -> Command {
    let mut program = with_examples(Cli::command(), "ioassay");
    let names: Vec<String> =
        program.get_subcommands().map(|command| command.get_name().to_string()).collect();
    for name in names {
        program = program.mut_subcommand(&name, |command| with_examples(command, &name));
    }
    // A watch resumes no run and keeps no file; a plan has no results. So these options are refused
    // there.
    let program = hide(program, "watch", &["resume", "keep"]);
    hide(program, "plan", &[&["resume"][..], &RESULT_FORMS].concat())
}

/// Hides options of a command.
fn hide(program: Command, of: &str, options: &[&'static str]) -> Command {
    program.mut_subcommand(of, |command| {
        options.iter().fold(command, |command, name| command.mut_arg(name, |arg| arg.hide(true)))
    })
}

fn with_examples(command: Command, name: &str) -> Command {
    let is_axis = |arg: &clap::Arg| arg.get_help_heading() == Some(HEADING);
    let has_axes = command.get_arguments().any(is_axis);
    let command = match help_of(name) {
        Some(told) => command.after_long_help(told.text()),
        None => command,
    };
    if !has_axes {
        return command;
    }
    let command = command.after_help(axes_below());
    command.mut_args(|arg| {
        let hidden = is_axis(&arg) || arg.is_hide_short_help_set();
        arg.hide_short_help(hidden)
    })
}

impl CommandHelp {
    /// The text below the help.
    fn text(&self) -> String {
        let mut out = "Examples:".to_string();
        for (what, line) in self.examples {
            out.push_str(&format!("\n  {what}\n      {line}"));
        }
        if let Some(exit) = self.exit {
            out.push_str("\n\nExit status:");
            for (status, what) in exit {
                out.push_str(&format!("\n  {status:<6} {what}"));
            }
        }
        out
    }

    /// The section of a manual page.
    fn roff(&self) -> Roff {
        let mut roff = Roff::new();
        roff.control("SH", ["EXAMPLES"]);
        for (what, line) in self.examples {
            roff.control("TP", []).text([roman(*what)]).text([bold(*line)]);
        }
        roff.control("SH", ["EXIT STATUS"]);
        for (status, what) in self.exit.unwrap_or(JUDGED) {
            roff.control("TP", []).text([bold(*status)]).text([roman(*what)]);
        }
        roff
    }
}

/// The manual page of the command with these words; the program's page without any.
///
/// # Errors
/// If there is no such command.
pub fn page(words: &[String]) -> Result<String> {
    let program = built();
    let mut at = &program;
    for word in words {
        let known: Vec<&str> = at.get_subcommands().filter(shown).map(Command::get_name).collect();
        at = at
            .get_subcommands()
            .filter(shown)
            .find(|command| command.get_name() == word)
            .ok_or_else(|| match known.as_slice() {
                [] => anyhow!("'{}' has no commands of its own", at.get_name()),
                known => units::unknown_name("command", word, known).into(),
            })?;
    }
    roff(at)
}

/// All manual pages, each with its file name.
///
/// # Errors
/// If a page cannot be generated.
pub fn pages() -> Result<Vec<(String, String)>> {
    let program = built();
    let mut left = vec![&program];
    let mut pages = Vec::new();
    while let Some(command) = left.pop() {
        pages.push((format!("{}.1", file_name(command)), roff(command)?));
        left.extend(command.get_subcommands().filter(shown));
    }
    pages.sort();
    Ok(pages)
}

/// The definition with the commands' names for manual pages: `ioassay-run`.
fn built() -> Command {
    // `ioassay help` does not need a page.
    let mut program = command().disable_help_subcommand(true);
    program.build();
    program
}

fn shown(command: &&Command) -> bool {
    !command.is_hide_set()
}

fn file_name(command: &Command) -> &str {
    command.get_display_name().unwrap_or_else(|| command.get_name())
}

fn roff(command: &Command) -> Result<String> {
    let version = env!("CARGO_PKG_VERSION");
    let man = Man::new(command.clone())
        .source(format!("ioassay {version}"))
        .manual("ioassay manual".to_string());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.get_subcommands().any(|command| shown(&command)) {
        man.render_subcommands_section(&mut page)?;
    }
    if let Some(told) = help_of(command.get_name()) {
        told.roff().to_writer(&mut page)?;
    }
    if command.get_name() != "ioassay" {
        let mut also = Roff::new();
        also.control("SH", ["SEE ALSO"]).text([bold("ioassay"), roman("(1)")]);
        also.to_writer(&mut page)?;
    }
    String::from_utf8(page).context("a manual page is text")
}

/// The completion script for `shell`.
pub fn completions(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "ioassay", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    if shell == Shell::Fish { script + &recipes_in_fish() } else { script }
}

/// Completions that clap does not generate for fish: values of positional arguments.
fn recipes_in_fish() -> String {
    let names: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
    let names = names.join(" ");
    let run = "__fish_seen_subcommand_from run plan watch";
    let show = "__fish_seen_subcommand_from recipes; and __fish_seen_subcommand_from show";
    [run, show].map(|when| format!("complete -c ioassay -n \"{when}\" -a \"{names}\"\n")).concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::FromArgMatches;

    #[test]
    fn the_definition_is_whole() {
        command().debug_assert();
    }

    /// The words of a line, up to a pipe or a redirection. Quotes keep words together.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut is_quoted) = (vec![String::new()], false);
        for letter in line.chars() {
            match letter {
                '\'' => is_quoted = !is_quoted,
                '|' | '>' if !is_quoted => break,
                ' ' if !is_quoted => words.push(String::new()),
                other => words.last_mut().expect("it begins with one").push(other),
            }
        }
        words.retain(|word| !word.is_empty());
        words
    }

    /// Examples are for copying: each must be valid as printed.
    #[test]
    fn every_example_is_understood() {
        for told in HELP {
            for (_, line) in told.examples {
                let line = line.trim_start_matches("source <(").trim_end_matches(')');
                let matches = command().try_get_matches_from(words(line));
                let matches = matches.unwrap_or_else(|error| panic!("{line}: {error}"));
                Cli::from_arg_matches(&matches).unwrap_or_else(|error| panic!("{line}: {error}"));
            }
        }
    }

    #[test]
    fn every_command_that_is_told_of_is_there() {
        for told in HELP {
            let is_it = |command: &Command| command.get_name() == told.command;
            assert!(told.command == "ioassay" || command().get_subcommands().any(is_it));
        }
    }

    #[test]
    fn a_page_has_every_option_and_command() {
        let program = built();
        let mut left = vec![(&program, Vec::new())];
        while let Some((command, words)) = left.pop() {
            // roff escapes hyphens so that they can be searched for.
            let page = page(&words).expect("it is a command").replace("\\-", "-");
            for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
                let name = arg.get_long().map(|long| format!("--{long}"));
                let name =
                    name.unwrap_or_else(|| arg.get_value_names().unwrap_or_default().concat());
                assert!(page.contains(&name), "{words:?}: {name} is missing in {page}");
            }
            for child in command.get_subcommands().filter(shown) {
                assert!(page.contains(&format!("{}(1)", file_name(child))), "{page}");
                let mut words = words.clone();
                words.push(child.get_name().to_string());
                left.push((child, words));
            }
        }
    }

    #[test]
    fn a_page_of_no_command_is_refused() {
        let error = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            page(&words).expect_err("there is none").to_string()
        };
        assert!(error(&["rum"]).contains("unknown command 'rum' (did you mean 'run'?)"));
        assert_eq!(error(&["run", "x"]), "'run' has no commands of its own");
    }
}
