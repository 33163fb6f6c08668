//! The order in which cases take turns.

use model::case::{Cache, Populated};
use model::plan::Plan;
use model::random::{Rng, mix};

/// The open cases in the random order of a round, grouped by cache state, by whether they write,
/// and if warm by how the file is cached. So a file is cached in each way and evicted at most once
/// per round, and writes do not disturb reads. The order of the groups is random, too. It depends
/// on the seed and the round only, so that a resumed run goes on in the same order.
pub(super) fn order_of_round(plan: &Plan, open: &[usize], round: u32) -> Vec<usize> {
    let rng = &mut Rng::new(mix(plan.seed ^ mix(u64::from(round))));
    let mut order = open.to_vec();
    rng.shuffle(&mut order);
    let reads = Cache::ALL.iter().map(|cache| (Some(*cache), false));
    let writes = Cache::ALL.iter().map(|cache| (Some(*cache), true));
    let mut states: Vec<_> = [(None, false)].into_iter().chain(reads).chain(writes).collect();
    rng.shuffle(&mut states);
    let mut ways = Populated::ALL.to_vec();
    rng.shuffle(&mut ways);
    order.sort_by_key(|case| {
        let case = &plan.cases[*case].case;
        let state = (case.cache(), case.write().is_some());
        let way = case.populated();
        let way = way.and_then(|way| ways.iter().position(|known| *known == way));
        (states.iter().position(|known| *known == state), way)
    });
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::case::{Case, Io, ReadWork, Work};
    use model::plan::{Planned, Role};
    use model::zoo;

    #[test]
    fn warm_cases_whose_file_is_cached_alike_stay_together() {
        let mut plan = Plan::new("test", 10, 0.025, 1);
        let case = |cache, populated, block| {
            let io = Io { cache, populated, block, ..zoo::plain().io };
            Case::own(Work::Read(ReadWork { io, ..zoo::plain() }))
        };
        for block in [512, 1024, 4096] {
            for way in Populated::ALL {
                let case = case(Cache::Warm, *way, block);
                plan.cases.push(Planned { case, role: Role::Asked });
            }
            let case = case(Cache::Cold, Populated::ReadAhead, block);
            plan.cases.push(Planned { case, role: Role::Asked });
        }
        let open: Vec<usize> = (0..plan.cases.len()).collect();
        let mut firsts = Vec::new();
        for round in 0..20 {
            let state = |case: &usize| {
                let case = &plan.cases[*case].case;
                (case.cache(), case.populated())
            };
            let mut states: Vec<_> =
                order_of_round(&plan, &open, round).iter().map(state).collect();
            states.dedup();
            assert_eq!(states.len(), Populated::ALL.len() + 1, "{states:?}");
            firsts.extend(states.into_iter().filter_map(|(_, way)| way).next());
        }
        // Their order is random.
        assert!(Populated::ALL.iter().all(|way| firsts.contains(way)), "{firsts:?}");
    }
}
