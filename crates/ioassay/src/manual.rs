//! What can be typed, told: help with examples, manual pages and completions, all made from the one
//! definition of the commands in [`crate::args`].

use crate::args::Cli;
use crate::args::axes::AXES;
use crate::recipe::BUILT_IN;
use anyhow::{Context, Result, anyhow};
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use model::units;

/// What a command line does, and the command line.
type Example = (&'static str, &'static str);

/// What is told of a command beyond its arguments.
struct Told {
    /// Its name; that of the program, for all of it.
    command: &'static str,
    examples: &'static [Example],
    /// What its exit status can be; none where that of the program says it.
    exit: Option<&'static [ExitStatus]>,
}

/// An exit status and what it says.
type ExitStatus = (&'static str, &'static str);

/// The exit statuses of what measures or judges, which are those of the program.
const JUDGED: &[ExitStatus] = &[
    ("0", "every asked case is sound or doubtful, or the command did what it was told"),
    ("1", "an asked case is void, failed or unavailable; the report says which, and why"),
    ("2", "it could not be done: nothing could be run, or what was typed is not understood"),
    ("128+N", "it was stopped by signal N (130: SIGINT, 143: SIGTERM); what was measured is kept"),
];

/// Those of what says how two records differ.
const COMPARED: &[ExitStatus] = &[
    ("0", "the records were compared, whatever came of it"),
    ("2", "they do not measure the same, have nothing in common, or cannot be read"),
];

const TOLD: &[Told] = &[
    Told {
        command: "ioassay",
        examples: &[
            ("How fast are this memory, page cache and disk?", "ioassay survey"),
            ("The questions it knows", "ioassay recipes"),
            ("How long does a page take, warm and cold, on that disk?", RUN_PAGES),
            ("What was kept of earlier runs", "ioassay runs"),
            ("What does a finding mean?", "ioassay explain CacheLeak"),
        ],
        exit: Some(JUDGED),
    },
    Told {
        command: "survey",
        examples: &[
            ("Of the current directory", "ioassay survey"),
            ("Of another disk, in half the time", "ioassay survey --quick /mnt/data"),
            ("What would it do?", "ioassay survey --dry-run"),
            ("How small a difference can this machine decide today?", "ioassay survey --control"),
        ],
        exit: Some(JUDGED),
    },
    Told {
        command: "run",
        examples: &[
            ("A question as it is", RUN_PAGES),
            ("With other axes", RUN_AXES),
            ("A file of your own, which is only read", "ioassay run read-methods --file BIG.DAT"),
            ("What would it do?", "ioassay run read-methods /mnt/data --dry-run"),
            ("A question of your own", "ioassay recipes show page-latency > mine.toml"),
            ("and", "ioassay run mine.toml /mnt/data"),
        ],
        exit: Some(JUDGED),
    },
    Told {
        command: "watch",
        examples: &[
            ("Every ten minutes, until it is stopped", WATCH),
            ("Six runs", "ioassay watch sync-latency /mnt/data --every 1h --count 6"),
        ],
        exit: Some(JUDGED),
    },
    Told {
        command: "report",
        examples: &[
            ("Judge a record again", "ioassay report FILE.jsonl"),
            ("The figures of one case, by jq", REPORT_JQ),
        ],
        exit: Some(JUDGED),
    },
    Told {
        command: "compare",
        examples: &[
            ("Was it faster before?", "ioassay compare before.jsonl after.jsonl"),
            ("Of two sizes", "ioassay compare small.jsonl large.jsonl --anyway"),
        ],
        exit: Some(COMPARED),
    },
    Told {
        command: "runs",
        examples: &[
            ("The last one", "ioassay runs | head -3"),
            ("Those of one recipe", "ioassay runs --recipe page-latency"),
        ],
        exit: None,
    },
    Told {
        command: "completions",
        examples: &[
            ("For this bash", "source <(ioassay completions bash)"),
            ("For fish", "ioassay completions fish > ~/.config/fish/completions/ioassay.fish"),
        ],
        exit: None,
    },
    Told {
        command: "man",
        examples: &[
            ("Read the page of a command", "ioassay man run | man -l -"),
            ("Install all of them", "ioassay man --all /usr/local/share/man/man1"),
        ],
        exit: None,
    },
];

const RUN_PAGES: &str = "ioassay run page-latency /mnt/data";
const RUN_AXES: &str = "ioassay run read-methods . --engine pread,mmap --cache cold --threads 1,2";
const WATCH: &str = "ioassay watch page-latency /mnt/data --every 10m";
const REPORT_JQ: &str = "ioassay report FILE.jsonl --json | jq '.cases[0]'";

/// What is below the short help of a command with axes, which are only in the long one.
const AXES_BELOW: &str = "Axes of the cases, such as --engine, --cache, --block, --depth and \
                          --threads, and examples: --help";

fn told(command: &str) -> Option<&'static Told> {
    TOLD.iter().find(|told| told.command == command)
}

/// The definition of all commands, with what their help says besides.
pub fn command() -> Command {
    let mut program = with_examples(Cli::command(), "ioassay");
    let names: Vec<String> =
        program.get_subcommands().map(|command| command.get_name().to_string()).collect();
    for name in names {
        program = program.mut_subcommand(&name, |command| with_examples(command, &name));
    }
    // Each run of a watch has a record of its own, and keeps no file: these are refused there.
    program.mut_subcommand("watch", |watch| {
        watch.mut_arg("record", |arg| arg.hide(true)).mut_arg("keep", |arg| arg.hide(true))
    })
}

fn with_examples(command: Command, name: &str) -> Command {
    let is_axis = |arg: &clap::Arg| arg.get_help_heading() == Some(AXES);
    let has_axes = command.get_arguments().any(is_axis);
    let command = match told(name) {
        Some(told) => command.after_long_help(told.text()),
        None => command,
    };
    if !has_axes {
        return command;
    }
    let command = command.after_help(AXES_BELOW);
    command.mut_args(|arg| {
        let hidden = is_axis(&arg);
        arg.hide_short_help(hidden)
    })
}

impl Told {
    /// As it stands below a help.
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

    /// As it stands in a manual page.
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

/// The manual page of the command with these words, of the program where there are none.
///
/// # Errors
/// When there is no such command.
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

/// All manual pages, each with the name of its file.
///
/// # Errors
/// When one cannot be made.
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

/// The definition with the names by which commands stand in manual pages: `ioassay-run`.
fn built() -> Command {
    // What `ioassay help` does is no command of its own.
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
    if let Some(told) = told(command.get_name()) {
        told.roff().to_writer(&mut page)?;
    }
    if command.get_name() != "ioassay" {
        let mut also = Roff::new();
        also.control("SH", ["SEE ALSO"]).text([bold("ioassay"), roman("(1)")]);
        also.to_writer(&mut page)?;
    }
    String::from_utf8(page).context("a manual page is text")
}

/// The script that makes `shell` complete what is typed.
pub fn completions(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "ioassay", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    if shell == Shell::Fish { script + &recipes_in_fish() } else { script }
}

/// What clap does not generate for fish: the values of what is no option.
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

    /// Examples are for people to copy: each can be typed as it stands.
    #[test]
    fn every_example_is_understood() {
        for told in TOLD {
            for (_, line) in told.examples {
                let line = line.trim_start_matches("source <(").trim_end_matches(')');
                let line = line.split(['|', '>']).next().expect("a line has a beginning");
                let words = line.split_whitespace();
                let matches = command().try_get_matches_from(words);
                let matches = matches.unwrap_or_else(|error| panic!("{line}: {error}"));
                Cli::from_arg_matches(&matches).unwrap_or_else(|error| panic!("{line}: {error}"));
            }
        }
    }

    #[test]
    fn every_command_that_is_told_of_is_there() {
        for told in TOLD {
            let is_it = |command: &Command| command.get_name() == told.command;
            assert!(told.command == "ioassay" || command().get_subcommands().any(is_it));
        }
    }

    #[test]
    fn a_page_has_every_option_and_command() {
        let program = built();
        let mut left = vec![(&program, Vec::new())];
        while let Some((command, words)) = left.pop() {
            // Hyphens are escaped in roff, so that they can be searched for.
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
