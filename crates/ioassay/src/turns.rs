//! The order in which cases take turns, on one host or on several.

use model::case::Cache;
use model::plan::Plan;
use model::random::{Rng, mix};
use std::time::Duration;

/// The pause before each invocation except the first (METHODOLOGY.md).
pub const PAUSE: Duration = Duration::from_secs(1);

/// After this many consecutive failures, a case is not tried again: a full disk or a hanging peer
/// would take the others' time. Its remaining trials are recorded as failed.
const FAILED_MOST: u32 = 3;

/// Why a case that `failed` so often in a row is not tried again, if it is not.
pub fn refusal(failed: u32) -> Option<String> {
    (failed >= FAILED_MOST)
        .then(|| format!("not tried: the case failed {FAILED_MOST} times in a row"))
}

/// The open cases in the random order of a round, grouped by cache state and by whether they write.
/// So a file is warmed and evicted at most once per round, and writes do not disturb reads. The
/// order of the groups is random, too. It depends on the seed and the round only, so that a resumed
/// run goes on in the same order.
pub fn order_of_round(plan: &Plan, open: &[usize], round: u32) -> Vec<usize> {
    let rng = &mut Rng::new(mix(plan.seed ^ mix(u64::from(round))));
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
