//! How a trial spent its time.

use crate::counted::Counted;
use crate::form::{As, Seconds};
use crate::measured::Measured;
use crate::stats::median;
use schemars::JsonSchema;
use serde::Serialize;

/// How a trial spent its time: medians of the rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Spent {
    /// Seconds from the first thread's start to the last thread's end, including syncs.
    #[serde(rename = "wall_s", with = "As::<Seconds>")]
    pub wall_ns: f64,
    /// CPU seconds in user mode; null if no tick of the OS fell into it.
    #[serde(rename = "user_s", with = "As::<Option<Seconds>>")]
    pub user_ns: Option<f64>,
    /// CPU seconds in the kernel.
    #[serde(rename = "system_s", with = "As::<Option<Seconds>>")]
    pub system_ns: Option<f64>,
    /// CPU time of the whole worker divided by wall time: 1 is one processor.
    pub processors: f64,
    /// The share of the threads' time in which they neither ran nor waited for a processor, 0 to 1.
    /// They waited for I/O, or for each other.
    pub blocked_share: Option<f64>,
    /// The share of its CPU time that other threads than the case's own spent, 0 to 1: those of the
    /// kernel that work for it. Only for a sentence, so not in the JSON.
    #[serde(skip)]
    pub helped_share: Option<f64>,
}

/// A trial's CPU nanoseconds in user mode and in the kernel. The OS counts the total exactly but
/// splits it in ticks, so this splits the worker's exact time in the same proportion.
pub(crate) fn split(trial: &Counted) -> Option<(f64, f64)> {
    let (told, seen) = (trial.sample.usage, &trial.evidence);
    let user_ns = trial.in_span(told.user_ns, seen.cpu_user_ns)? as f64;
    let system_ns = trial.in_span(told.system_ns, seen.cpu_system_ns)? as f64;
    let (cpu_ns, all_ns) = (trial.cpu_ns()? as f64, user_ns + system_ns);
    (all_ns > 0.0).then(|| (cpu_ns * user_ns / all_ns, cpu_ns * system_ns / all_ns))
}

impl Spent {
    /// How a case's trials spent their time, if the OS reports their CPU time.
    pub(crate) fn of(measured: &Measured) -> Option<Spent> {
        let threads = f64::from(measured.case.threads());
        let median_of = |value: &dyn Fn(&Counted) -> Option<f64>| median(&measured.values(value));
        let wall_ns = |trial: &Counted| {
            let wall_ns = trial.wall_ns() as f64;
            (wall_ns > 0.0).then_some(wall_ns)
        };
        let cpu_ns = |trial: &Counted| Some(trial.cpu_ns()? as f64);
        Some(Spent {
            wall_ns: median_of(&wall_ns)?,
            user_ns: median_of(&|trial| Some(split(trial)?.0)),
            system_ns: median_of(&|trial| Some(split(trial)?.1)),
            processors: median_of(&|trial| Some(cpu_ns(trial)? / wall_ns(trial)?))?,
            blocked_share: median_of(&|trial| {
                // How long a command's processes were ready to run is unseen.
                if measured.case.command().is_some() {
                    return None;
                }
                let idle_ns = trial.sample.spin_ns().saturating_add(trial.sample.overslept_ns());
                let ran_ns = trial.own_cpu_ns()?.saturating_add(trial.run_delay_ns()?);
                let all_ns = threads * trial.without_pauses(trial.wall_ns())? as f64;
                let ran = ran_ns.saturating_sub(idle_ns) as f64 / all_ns;
                (all_ns > 0.0).then(|| (1.0 - ran).clamp(0.0, 1.0))
            }),
            helped_share: median_of(&|trial| {
                // What the threads themselves report, or else nothing tells them from the others.
                let own_ns = trial.sum_of_spans(|span| span.cpu_ns)? as f64;
                let all_ns = cpu_ns(trial).filter(|all_ns| *all_ns > 0.0)?;
                Some((1.0 - own_ns / all_ns).clamp(0.0, 1.0))
            }),
        })
    }
}
