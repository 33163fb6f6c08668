//! Advice that its reader can follow: the flags that it names are those of the reader's command, or
//! it says which command has them.
//!
//! A rule, a refusal or an error does not know which command its reader typed. `ioassay run` has
//! all flags that advice names; other commands that measure lack some.

use crate::axis::Axis;
use crate::list::listed;

/// What `ioassay run` has and `ioassay survey` lacks, besides the axes. Its recipe and its size are
/// those of every survey, so that surveys can be compared.
const NOT_OF_SURVEY: [&str; 17] = [
    "at-least",
    "destroy",
    "device",
    "each",
    "file",
    "goal",
    "hold",
    "invocations",
    "length",
    "memory",
    "no-ceilings",
    "peers",
    "prune",
    "rounds",
    "source",
    "strict",
    "sustain",
];

/// What `ioassay run` has and `ioassay gate` lacks: it measures two sides in directories.
const NOT_OF_GATE: [&str; 23] = [
    "at-least",
    "at-once",
    "control",
    "csv",
    "destroy",
    "device",
    "dry-run",
    "each",
    "file",
    "goal",
    "hold",
    "hosts",
    "keep",
    "launcher",
    "launchers",
    "length",
    "listen",
    "memory",
    "no-ceilings",
    "openmetrics",
    "program",
    "source",
    "sustain",
];

/// The command among the words of a command line.
pub fn command_of(words: &[String]) -> Option<&str> {
    let mut words = words.iter().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--color" => drop(words.next()),
            word if word.starts_with('-') => {}
            command => return Some(command),
        }
    }
    None
}

/// Whether `command` lacks a flag of `ioassay run`; `flag` is without dashes.
pub fn lacks(command: &str, flag: &str) -> bool {
    let is_axis = || Axis::settable().any(|axis| axis.flag() == flag);
    match command {
        "survey" => NOT_OF_SURVEY.contains(&flag) || is_axis(),
        "gate" => NOT_OF_GATE.contains(&flag),
        _ => false,
    }
}

/// The flags that a text names, without dashes.
pub fn flags(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_ascii_lowercase() && c != '-');
    words.filter_map(|word| word.strip_prefix("--")).filter(|flag| !flag.is_empty())
}

/// `advice` about measuring again for a reader who typed `command`.
pub fn fitted(advice: &str, command: &str) -> String {
    fitted_by(advice, |flag| lacks(command, flag).then(|| instead_of(command)))
}

/// The command that has the flags of `run` and measures what `command` does.
pub fn instead_of(command: &str) -> String {
    if command == "survey" { "run survey".to_string() } else { "run".to_string() }
}

/// `advice` for a reader whose command lacks a flag if there is a command that `has_it`.
pub fn fitted_by(advice: &str, has_it: impl Fn(&str) -> Option<String>) -> String {
    let mut lacking: Vec<(String, Vec<String>)> = Vec::new();
    for flag in flags(advice) {
        let (Some(command), flag) = (has_it(flag), format!("--{flag}")) else { continue };
        // Some advice says by itself where the flag is.
        let is_said = |command: &str| advice.contains(&format!("{command} {flag}"));
        if is_said("run") || is_said(&command) {
            continue;
        }
        match lacking.iter_mut().find(|(known, _)| *known == command) {
            Some((_, flags)) if flags.contains(&flag) => {}
            Some((_, flags)) => flags.push(flag),
            None => lacking.push((command, vec![flag])),
        }
    }
    let told = |(command, flags): (String, Vec<String>)| {
        format!("'ioassay {command}' has {}", listed(&flags))
    };
    let told: Vec<String> = lacking.into_iter().map(told).collect();
    if told.is_empty() { advice.to_string() } else { format!("{advice} ({})", told.join("; ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_found_among_options() {
        let command = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
            command_of(&words).map(str::to_string)
        };
        assert_eq!(command(&["ioassay", "run", "survey"]).as_deref(), Some("run"));
        assert_eq!(command(&["i", "--color", "never", "survey"]).as_deref(), Some("survey"));
        assert_eq!(command(&["i", "--color=never", "gate"]).as_deref(), Some("gate"));
        assert_eq!(command(&["ioassay"]), None);
        assert_eq!(command(&[]), None);
    }

    #[test]
    fn advice_names_flags_that_its_reader_has_or_says_who_has_them() {
        for (command, advice, expected) in [
            ("run", "choose a smaller --size", "choose a smaller --size"),
            (
                "survey",
                "choose a smaller --size",
                "choose a smaller --size ('ioassay run survey' has --size)",
            ),
            (
                "survey",
                "a larger file (--size, --time), or --size again",
                "a larger file (--size, --time), or --size again ('ioassay run survey' has --size \
                 and --time)",
            ),
            ("survey", "choose one with --node", "choose one with --node"),
            ("survey", "read it with 'run --file'", "read it with 'run --file'"),
            ("survey", "'losetup --direct-io=on'", "'losetup --direct-io=on'"),
            ("gate", "with --sustain", "with --sustain ('ioassay run' has --sustain)"),
            ("gate", "choose a smaller --size", "choose a smaller --size"),
        ] {
            assert_eq!(fitted(advice, command), expected);
        }
    }
}
