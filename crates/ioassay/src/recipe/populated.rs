//! The axis `populated`: how warm files came into the page cache, where the command line leaves it
//! open.

use super::relative::take_percents;
use super::{Changes, hosts};
use model::case::{Cache, Case, Op, Populated};
use model::environment::Environment;
use model::host::Storage;
use model::plan::CASES_MAX;
use model::sweep::{self, Sweep};

/// The axis.
const POPULATED: &str = "populated";

/// Sets the axis where files cannot be cached anew, or must not be: a user's own file is evicted
/// only if the run asks for that, by this axis or by a cache state of a case that is measured.
/// `complete` makes a case the one that is measured.
pub(super) fn settle(
    sweeps: &mut [Sweep],
    changes: &Changes,
    environment: &Environment,
    complete: &dyn Fn(&mut Case),
) {
    if changes.axes.contains_key(POPULATED) {
        return;
    }
    let kept = environment.storage.and_then(|storage| storage.kept());
    let is_measured = |mut case: Case| {
        complete(&mut case);
        hosts::refusal_alone(&case).is_none() && environment.refusal(&case).is_none()
    };
    let is_evicted = changes.is_own_file && sweeps.iter().any(|sweep| evicts(sweep, &is_measured));
    for sweep in sweeps {
        // The source of a copy is cached, and its target is not.
        let source = environment.source.filter(|_| copies(sweep));
        let kept = source.map_or(kept, Storage::kept);
        let only = match changes.is_own_file {
            true => (kept.is_some() || !is_evicted).then_some(Populated::Others),
            false => kept,
        };
        let values = sweep.iter_mut().filter(|(axis, _)| axis == POPULATED);
        for ((_, values), only) in values.zip(only) {
            *values = vec![only.to_string()];
        }
    }
}

/// Whether all cases of the sweep copy a file.
fn copies(sweep: &Sweep) -> bool {
    let ops = sweep.iter().filter(|(axis, _)| axis == "op").flat_map(|(_, values)| values);
    let is_copy = |op: &String| op == Op::Copy.name();
    ops.clone().count() > 0 && ops.into_iter().all(is_copy)
}

/// Whether a case of the sweep that is measured evicts the file. A user's own file is never
/// written, nor read beside others.
fn evicts(sweep: &Sweep, is_measured: &dyn Fn(Case) -> bool) -> bool {
    let evicting = [Cache::Cold, Cache::Direct, Cache::DontCache].map(Cache::name);
    let mut of_states = sweep.clone();
    let states = of_states.iter_mut().find(|(axis, _)| axis == "cache");
    let Some((_, states)) = states else { return false };
    states.retain(|state| evicting.contains(&state.as_str()));
    // What is wrong with the sweep is told when its cases are made.
    if take_percents(&mut of_states).is_err() || sweep::count(&of_states) > CASES_MAX as u128 {
        return true;
    }
    let reads = |case: &Case| case.write().is_none() && case.beside.is_empty();
    let cases = sweep::product(&of_states).unwrap_or_default();
    cases.into_iter().any(|case| reads(&case) && is_measured(case))
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;
    use crate::group::ValueList;
    use model::host::{Direct, Medium, Storage};
    use model::zoo;
    use std::collections::BTreeSet;

    /// How the files of warm cases are cached.
    fn check(states: &str, given: Option<&str>, is_own_file: bool, storage: &Storage) -> String {
        let text = format!(
            "name = 'x'\nquestion = '?'\n[[cases]]\ncache = {states}\n\
             populated = ['readahead', 'random']"
        );
        let recipe = parse(&text).expect("it is whole");
        let value = |text: &str| ValueList::from_texts(vec![text.to_string()]);
        let axes = given.map(|given| (POPULATED.to_string(), value(given))).into_iter().collect();
        let changes = Changes { axes, is_own_file, ..Changes::default() };
        let host = zoo::host();
        let environment =
            Environment { host: &host, storage: Some(storage), source: None, peers: &[] };
        let cases = recipe.cases(&changes, &environment).expect("it is whole");
        let ways: BTreeSet<&str> =
            cases.iter().filter_map(|case| Some(case.populated()?.name())).collect();
        ways.into_iter().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_users_file_is_cached_anew_only_if_the_run_asks_for_that() {
        let disk = zoo::storage();
        assert_eq!(check("['warm']", None, false, &disk), "random readahead");
        assert_eq!(check("['warm', 'as-is']", None, true, &disk), "others");
        assert_eq!(check("['warm']", Some("random"), true, &disk), "random");
        for evicting in ["['warm', 'cold']", "['direct', 'warm']", "['warm', 'dontcache']"] {
            assert_eq!(check(evicting, None, true, &disk), "random readahead");
        }
    }

    /// A case that is refused reads nothing, so nothing is evicted for it.
    #[test]
    fn a_users_file_is_not_evicted_for_cases_that_are_refused() {
        let refused = Storage { direct: Direct::Refused, ..zoo::storage() };
        assert_eq!(check("['direct', 'warm']", None, true, &refused), "others");
        assert_eq!(check("['direct', 'cold', 'warm']", None, true, &refused), "random readahead");
        // A mapping cannot be direct.
        let mapped = "['direct', 'warm']\nengine = 'mmap'";
        assert_eq!(check(mapped, None, true, &zoo::storage()), "others");
        // Those of a file that the run creates may be evicted.
        assert_eq!(check("['direct', 'warm']", None, false, &refused), "random readahead");
        let rates = "['warm', 'cold']\nrate = ['50%', '90%']";
        assert_eq!(check(rates, None, true, &zoo::storage()), "random readahead");
    }

    #[test]
    fn what_cannot_be_evicted_is_cached_in_the_only_way() {
        let memory = Storage { medium: Medium::Ram, evictable: false, ..zoo::storage() };
        assert_eq!(check("['warm']", None, false, &memory), "written");
        assert_eq!(check("['warm']", None, true, &memory), "others");
        let odd = Storage { evictable: false, ..zoo::storage() };
        assert_eq!(check("['warm']", None, false, &odd), "others");
        // What is asked for in spite of that is a skip.
        let host = zoo::host();
        for (storage, expected) in [(&memory, "use populated 'written'"), (&odd, "'others'")] {
            let environment =
                Environment { host: &host, storage: Some(storage), source: None, peers: &[] };
            let plain = zoo::plain().io;
            let reason = |populated| {
                let io = model::case::Io { cache: Cache::Warm, populated, ..plain };
                let work = model::case::ReadWork { io, ..zoo::plain() };
                environment.refusal(&model::case::Case::own(model::case::Work::Read(work)))
            };
            let said = reason(Populated::ReadAhead).expect("nothing is evicted there");
            assert!(said.contains(expected), "{said}");
            assert_eq!(reason(Populated::Others), None);
        }
    }
}
