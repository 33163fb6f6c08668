//! How sentences name commands.

use crate::text::{Text, case};
use assess::Assessment;
use assess::summary::Summary;
use model::case::{Cache, CommandWork};
use model::command::{self, JudgedCommand, parameters_text, place_of};
use model::plan::Role;
use std::collections::{HashMap, HashSet};

/// How sentences name commands.
pub(super) struct CommandNames {
    /// By their names and parameters in the plan.
    names: HashMap<(String, String), String>,
    /// Whether there are several cache states, so that each is named.
    pub(super) has_states: bool,
}

/// A command in a sentence has at most so many characters, unless two would have one name.
const NAME_MOST: usize = 40;

impl CommandNames {
    pub(super) fn of(assessment: &Assessment) -> CommandNames {
        let asked = || assessment.cases.iter().filter(|summary| summary.role == Role::Asked);
        let all = || asked().filter_map(|summary| summary.case.command());
        let planned = &assessment.header.plan.commands;
        let whole: Vec<(&CommandWork, String)> =
            all().map(|work| (work, filled(work, planned))).collect();
        let unique = |names: &mut dyn Iterator<Item = String>| names.collect::<HashSet<_>>().len();
        let is_short_unique = unique(&mut whole.iter().map(|(_, name)| shortened(name, NAME_MOST)))
            == unique(&mut whole.iter().map(|(_, name)| name.clone()));
        let most = if is_short_unique { NAME_MOST } else { usize::MAX };
        let named = |(work, name): (&CommandWork, String)| {
            ((work.command.clone(), work.parameters.clone()), readable(shortened(&name, most)))
        };
        let caches: HashSet<Cache> = all().map(|work| work.cache).collect();
        let has_states = caches.len() > 1 || !caches.contains(&Cache::AsIs);
        CommandNames { names: whole.into_iter().map(named).collect(), has_states }
    }

    #[cfg(test)]
    pub(super) fn of_states() -> CommandNames {
        CommandNames { names: HashMap::new(), has_states: true }
    }

    /// `sort big.txt`.
    pub(super) fn command(&self, work: &CommandWork) -> String {
        let key = (work.command.clone(), work.parameters.clone());
        self.names.get(&key).cloned().unwrap_or_default()
    }

    /// `sort big.txt, cold`.
    pub(super) fn name(&self, summary: &Summary) -> Text {
        let said = summary.case.command().map_or(String::new(), |work| match self.has_states {
            true => format!("{}, {}", self.command(work), work.cache),
            false => self.command(work),
        });
        case(&summary.id, &|_| said.clone())
    }
}

/// `sort -S 4k big.txt (threads=2)`: a command with the values of its parameters, of which those
/// that its name has no place for follow it.
fn filled(work: &CommandWork, planned: &[JudgedCommand]) -> String {
    let is_it = |command: &&JudgedCommand| {
        command.name == work.command && parameters_text(&command.parameters) == work.parameters
    };
    let all = planned.iter().find(is_it).map(|it| it.parameters.clone()).unwrap_or_default();
    let mut others = all.clone();
    others.retain(|parameter, _| !work.command.contains(&place_of(parameter)));
    let name = command::filled(&work.command, &all);
    match parameters_text(&others) {
        none if none.is_empty() => name,
        others => format!("{name} ({others})"),
    }
}

/// In quotes if it has what sentences separate names with.
fn readable(name: String) -> String {
    match name.contains([',', ';']) {
        true => format!("“{name}”"),
        false => name,
    }
}

/// The beginning and the end of a long text.
fn shortened(text: &str, most: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= most {
        return text.to_string();
    }
    let of = |part: &[char]| part.iter().collect::<String>();
    let (head, tail) = (most / 2, most - most / 2 - 1);
    format!("{}…{}", of(&letters[..head]), of(&letters[letters.len() - tail..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_filled_in_where_a_name_has_a_place_for_them() {
        let parameters = [("size", "4k"), ("threads", "2")].map(|(a, b)| (a.into(), b.into()));
        let text = "size=4k,threads=2";
        let check = |name: &str, expected: &str| {
            let planned = JudgedCommand {
                name: name.to_string(),
                parameters: parameters.clone().into(),
                ..JudgedCommand::default()
            };
            let (command, parameters) = (name.to_string(), text.to_string());
            let work = CommandWork { command, parameters, cache: Cache::AsIs };
            assert_eq!(filled(&work, &[planned]), expected);
        };
        check("sort -S {size} {size}", "sort -S 4k 4k (threads=2)");
        check("sort -S {size} -t {threads}", "sort -S 4k -t 2");
        check("sort", "sort (size=4k,threads=2)");
    }

    #[test]
    fn a_name_with_a_comma_is_quoted_and_another_one_is_not() {
        assert_eq!(readable("cut -d, -f1 a".to_string()), "“cut -d, -f1 a”");
        assert_eq!(readable("sh -c a;b".to_string()), "“sh -c a;b”");
        assert_eq!(readable("sort a".to_string()), "sort a");
    }
}
