//! A trial by itself, and what the OS counted, as JSON.

use crate::contract as wire;
use crate::words::fate;
use assess::summary::Counters;
use assess::trials::TrialFigures;

pub(super) fn trial(trial: &TrialFigures) -> wire::Trial<'_> {
    let (fate, reason) = fate(&trial.fate);
    let (invocation, round) = (trial.invocation, trial.round);
    let figures = trial.figures.as_ref().map(wire::Figures);
    wire::Trial { invocation, round, fate, reason, figures }
}

pub(super) fn counters(counters: Counters) -> wire::Counters {
    let Counters { minor_faults, major_faults, switches_voluntary, switches_involuntary } =
        counters;
    wire::Counters { minor_faults, major_faults, switches_voluntary, switches_involuntary }
}
