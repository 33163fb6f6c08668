//! The order in which cases take turns.

use model::case::Cache;
use model::plan::Plan;
use model::random::Rng;

/// The open cases in random order, grouped by cache state and by whether they write. So a file is
/// warmed and evicted at most once per round, and writes do not disturb reads. The order of the
/// groups is random, too.
pub fn order_of_round(plan: &Plan, open: &[usize], rng: &mut Rng) -> Vec<usize> {
    let mut order = open.to_vec();
    rng.shuffle(&mut order);
    let reads = Cache::ALL.iter().map(|cache| (Some(*cache), false));
    let writes = Cache::ALL.iter().map(|cache| (Some(*cache), true));
    let mut states: Vec<_> = [(None, false)].into_iter().chain(reads).chain(writes).collect();
    rng.shuffle(&mut states);
    let state = |case: &usize| {
        let case = &plan.cases[*case].case;
        (case.cache(), case.write().is_some())
    };
    order.sort_by_key(|case| states.iter().position(|known| *known == state(case)));
    order
}
