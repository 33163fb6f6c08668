//! What is undecided of commands, in as few words as there are things that would decide it.

use super::command_names::CommandNames;
use crate::sentence::{Sentence, needs};
use crate::words::{NEEDS_MOST, count, listed};
use assess::Assessment;
use assess::conclusions::commands::BoundedCommand;
use assess::decision::{Decided, Named, Open};
use assess::summary::Summary;
use model::case::Cache;

/// Two commands in one cache state, and the decision whether they differ.
pub(super) type ComparedPair<'a> = (Decided, [&'a Summary; 2]);

/// If there are more, only their number is told.
const NAMED_MOST: usize = 2;

/// Commands, or pairs of them, with the cache states in which the same is unknown of them.
struct States {
    of: String,
    caches: Vec<Cache>,
}

/// Adds a cache state to those of `of`.
fn add(all: &mut Vec<States>, of: String, cache: Cache) {
    match all.iter_mut().find(|known| known.of == of) {
        Some(known) if known.caches.contains(&cache) => {}
        Some(known) => known.caches.push(cache),
        None => all.push(States { of, caches: vec![cache] }),
    }
}

/// `, as-is and warm`.
fn of_states(caches: &[Cache], names: &CommandNames) -> String {
    if !names.has_states {
        return String::new();
    }
    let said: Vec<&str> = caches.iter().map(|cache| cache.name()).collect();
    format!(", {}", listed(&said))
}

/// Whether commands differ, in a question for each thing that they need. Of numbers of repetitions,
/// the largest one decides all.
pub(super) fn comparisons(open: &[ComparedPair], names: &CommandNames) -> Vec<Sentence> {
    let mut groups: Vec<(String, Vec<&ComparedPair>)> = Vec::new();
    for pair in open {
        let kind = match pair.0.open() {
            Some(Open::Wide(_, Some(number))) if number <= NEEDS_MOST => String::new(),
            other => needs(other),
        };
        match groups.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, pairs)) => pairs.push(pair),
            None => groups.push((kind, vec![pair])),
        }
    }
    groups.iter().map(|(_, pairs)| group_of_comparisons(pairs, names)).collect()
}

fn group_of_comparisons(pairs: &[&ComparedPair], names: &CommandNames) -> Sentence {
    let mut all: Vec<States> = Vec::new();
    for (_, [one, other]) in pairs {
        let (Some(one), Some(other)) = (one.case.command(), other.case.command()) else { continue };
        let of = format!("{} and {}", names.command(one), names.command(other));
        add(&mut all, of, one.cache);
    }
    let told = all
        .iter()
        .take(NAMED_MOST)
        .map(|States { of, caches }| format!("whether {of} differ{}", of_states(caches, names)));
    let told: Vec<String> = told.collect();
    let more = match all.len() - told.len() {
        0 => String::new(),
        more => format!("; whether {} more differ", count(more, "pair")),
    };
    let longest = pairs
        .iter()
        .filter_map(|(decided, _)| decided.open())
        .max_by_key(|open| if let Open::Wide(_, Some(number)) = open { *number } else { 0 });
    let rows: Vec<&Named> = pairs.iter().flat_map(|(decided, _)| decided.rows()).collect();
    Sentence::open(told.join("; ") + &more, needs(longest), rows)
}

/// What bounds commands of which it is unknown for the same reason.
pub(super) fn bounds(
    assessment: &Assessment,
    (why, unknown): (&str, &[&BoundedCommand]),
    names: &CommandNames,
) -> Option<Sentence> {
    let mut states: Vec<States> = Vec::new();
    let rows = unknown.iter().filter_map(|one| assessment.row(&one.case.id));
    for work in rows.filter_map(|row| row.case.command()) {
        add(&mut states, names.command(work), work.cache);
    }
    let asks = of_commands(&states, names)?;
    Some(Sentence::open(format!("what bounds {asks}"), why, unknown.iter().map(|one| &one.case)))
}

/// `cat a and cat b, cold; cat c, warm`: those with the same states together.
fn of_commands(all: &[States], names: &CommandNames) -> Option<String> {
    let mut groups: Vec<(&[Cache], Vec<&str>)> = Vec::new();
    for States { of, caches } in all {
        match groups.iter_mut().find(|(known, _)| known == caches) {
            Some((_, commands)) => commands.push(of),
            None => groups.push((caches, vec![of])),
        }
    }
    let said = groups.iter().map(|(caches, commands)| {
        let told = &commands[..commands.len().min(NAMED_MOST)];
        let more = match commands.len() - told.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let between = if more.is_empty() { " and " } else { ", " };
        format!("{}{more}{}", told.join(between), of_states(caches, names))
    });
    let said: Vec<String> = said.collect();
    (!said.is_empty()).then(|| said.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::case::Cache::{AsIs, Cold, Warm};

    #[test]
    fn commands_with_the_same_states_are_named_together() {
        let check = |all: &[(&str, &[Cache])], expected: Option<&str>| {
            let states = |(of, caches): &(&str, &[Cache])| States {
                of: of.to_string(),
                caches: caches.to_vec(),
            };
            let all: Vec<States> = all.iter().map(states).collect();
            let names = CommandNames::of_states();
            assert_eq!(of_commands(&all, &names).as_deref(), expected);
        };
        check(&[], None);
        check(&[("a", &[Cold])], Some("a, cold"));
        let three: [(&str, &[Cache]); 3] = [("a", &[Cold]), ("b", &[Cold]), ("c", &[AsIs, Warm])];
        check(&three, Some("a and b, cold; c, as-is and warm"));
        let five: [(&str, &[Cache]); 5] = ["a", "b", "c", "d", "e"].map(|name| (name, &[Cold][..]));
        check(&five, Some("a, b and 3 more, cold"));
    }
}
