//! How sentences name commands.

use crate::text::{Text, case};
use assess::Assessment;
use assess::summary::Summary;
use model::case::{Cache, CommandWork};
use model::plan::Role;
use std::collections::HashSet;

/// How sentences name commands.
pub(super) struct CommandNames {
    /// The length to which their texts are shortened; none if they would not be unique.
    most: Option<usize>,
    /// Whether there are several cache states, so that each is named.
    pub(super) has_states: bool,
}

/// A command in a sentence has at most so many characters.
const NAME_MOST: usize = 40;

impl CommandNames {
    pub(super) fn of(assessment: &Assessment) -> CommandNames {
        let asked = || assessment.cases.iter().filter(|summary| summary.role == Role::Asked);
        let all = || asked().filter_map(|summary| summary.case.command());
        let whole: HashSet<&str> = all().map(|work| work.command.as_str()).collect();
        let short: HashSet<String> = whole.iter().map(|name| shortened(name, NAME_MOST)).collect();
        let caches: HashSet<Cache> = all().map(|work| work.cache).collect();
        let most = (short.len() == whole.len()).then_some(NAME_MOST);
        CommandNames { most, has_states: caches.len() > 1 || !caches.contains(&Cache::AsIs) }
    }

    #[cfg(test)]
    pub(super) fn of_states() -> CommandNames {
        CommandNames { most: None, has_states: true }
    }

    /// `sort big.txt (size=4k)`.
    pub(super) fn command(&self, work: &CommandWork) -> String {
        let name = match self.most {
            Some(most) => shortened(&work.command, most),
            None => work.command.clone(),
        };
        match work.parameters.as_str() {
            "" => name,
            parameters => format!("{name} ({parameters})"),
        }
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

/// The beginning and the end of a long text.
pub(super) fn shortened(text: &str, most: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= most {
        return text.to_string();
    }
    let of = |part: &[char]| part.iter().collect::<String>();
    let (head, tail) = (most / 2, most - most / 2 - 1);
    format!("{}…{}", of(&letters[..head]), of(&letters[letters.len() - tail..]))
}
