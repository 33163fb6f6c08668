//! How often the rest of an axis is pruned, by how throughput grows along it.

use super::noise::normal;
use super::rounds::share;
use super::table::MarkdownTable;
use assess::invocations::Round;
use assess::prune::prunable;
use model::case::{Case, Engine, Io, ReadWork, Work};
use model::plan::{Plan, Planned, Role};
use model::random::Rng;
use model::zoo;

/// The values of the axis.
const VALUES: u32 = 7;

/// How a run is divided, and how much the rounds of a case vary, as a share.
struct PrunedRun {
    invocations: u32,
    rounds: u32,
    noise: f64,
}

const RUNS: [(&str, PrunedRun); 5] = [
    ("5 × 2, 1 %", PrunedRun { invocations: 5, rounds: 2, noise: 0.01 }),
    ("5 × 2, 3 %", PrunedRun { invocations: 5, rounds: 2, noise: 0.03 }),
    ("20 × 2, 1 %", PrunedRun { invocations: 20, rounds: 2, noise: 0.01 }),
    ("20 × 2, 3 %", PrunedRun { invocations: 20, rounds: 2, noise: 0.03 }),
    ("1 × 28, 3 %", PrunedRun { invocations: 1, rounds: 28, noise: 0.03 }),
];

/// How throughput grows along an axis.
type Curve = fn(u32) -> f64;

const CURVES: [(&str, Curve); 5] = [
    ("10 % more a step", |at| 1.1_f64.powi(at as i32)),
    ("2 % more a step", |at| 1.02_f64.powi(at as i32)),
    ("no more after the third, but 10 % with the last", |at| {
        f64::from(1 << at.min(2)) * if at + 1 == VALUES { 1.1 } else { 1.0 }
    }),
    ("no more after the third", |at| f64::from(1 << at.min(2))),
    ("10 % less a step after the third", |at| {
        f64::from(1 << at.min(2)) * 0.9_f64.powi(at.saturating_sub(2) as i32)
    }),
];

/// The share of runs that pruned any value before their last round.
pub(super) fn pruned(sessions: usize) -> MarkdownTable {
    MarkdownTable::grid("throughput by an axis", &RUNS, &CURVES, |number, curve, run| {
        let plan = plan(run);
        share(sessions, 400 + number, |rng| is_pruned(&plan, run, *curve, rng))
    })
}

/// Cases that differ in their depth.
fn plan(run: &PrunedRun) -> Plan {
    let mut plan = Plan::new("simulated", run.invocations * run.rounds, 0.025, 1);
    (plan.invocations, plan.prune) = (run.invocations, true);
    let case = |at: u32| {
        let io = Io { depth: 1 << at, ..zoo::plain().io };
        let work = Work::Read(ReadWork { io, engine: Engine::Uring, ..zoo::plain() });
        Planned { case: Case::own(work), role: Role::Asked }
    };
    plan.cases = (0..VALUES).map(case).collect();
    plan
}

/// Whether a case is pruned after any round but the last, as in a run. A case varies from one
/// invocation to the next half as much as from round to round.
fn is_pruned(plan: &Plan, run: &PrunedRun, curve: Curve, rng: &mut Rng) -> bool {
    let mut rounds: Vec<Vec<Round>> = vec![Vec::new(); VALUES as usize];
    for invocation in 0..run.invocations {
        let levels: Vec<f64> =
            (0..VALUES).map(|at| curve(at) * (run.noise / 2.0 * normal(rng)).exp()).collect();
        for in_invocation in 0..run.rounds {
            let round = invocation * run.rounds + in_invocation;
            for (of_case, level) in rounds.iter_mut().zip(&levels) {
                let value = level * (run.noise * normal(rng)).exp();
                of_case.push(Round { invocation, round, is_further: false, value });
            }
            if round + 1 < plan.rounds && !prunable(plan, &[&rounds]).is_empty() {
                return true;
            }
        }
    }
    false
}
