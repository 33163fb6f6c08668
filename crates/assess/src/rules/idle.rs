//! Whether CPUs that fell asleep between operations made a slow rate look slower than a fast one.

use super::context::Draft;
use super::schedule::Generators;
use crate::counted::Counted;
use crate::finding::{Severity, Verdict};
use crate::measured::Measured;
use crate::open_loop::without_rate;
use crate::percentile::Percentile;
use crate::row::Row;
use crate::significance::{LEVEL, median_test};
use crate::stats::median;
use model::evidence::IdleState;
use model::list::listed;
use model::units::{nanoseconds, scaled};

/// A state can explain a longer response time if waking up from it takes at least this part of the
/// difference (docs/method).
const WAKE_LEAST: f64 = 0.5;
/// At least this many entries an operation: only what happens to half of the operations moves
/// their median (docs/method).
const ENTRIES_LEAST: f64 = 0.5;
/// At the higher rate, there are at most this many times as many (docs/method).
const FEWER_MOST: f64 = 0.5;

/// A lower rate has longer response times than a higher one, because the CPUs of its threads sleep
/// deeply while operations are in flight (docs/method).
///
/// What is entered while nothing is in flight makes no response longer. The null engine on the same
/// schedule has the same pauses, and the same neighbors, so only what exceeds it counts.
pub(super) fn deep_idle(row: &Row, rows: &[Row], generators: &Generators) -> Option<Draft> {
    let own = response(row)?;
    let null = generators.row(row.measured.case)?;
    let faster = |other: &&Row| {
        let apart = response(other).is_some_and(|it| it.high_ns < own.low_ns);
        apart && rate_of(other) > rate_of(row) && is_same_load(row, other)
    };
    let mut all: Vec<&Row> = rows.iter().filter(faster).collect();
    all.sort_by_key(|other| rate_of(other));
    all.into_iter().find_map(|other| {
        let longer_ns = own.ns.checked_sub(response(other)?.ns)? as f64;
        let deep = DeepStates { wake_least_us: longer_ns / 1e3 * WAKE_LEAST };
        let here = deep.in_flight(row, null)?;
        let there = deep.in_flight(other, generators.row(other.measured.case)?)?;
        let is_proved = here.is_certain && there.entries <= here.entries * FEWER_MOST;
        is_proved.then(|| draft(row, own, (longer_ns, rate_of(other)), (&deep, &here, &there)))?
    })
}

fn draft(
    row: &Row,
    own: Percentile,
    (longer_ns, rate): (f64, u64),
    (deep, here, there): (&DeepStates, &InFlight, &InFlight),
) -> Option<Draft> {
    let (names, wake_us) = deep.told(&row.measured)?;
    let message = format!(
        "the median response time is {}, which is {} longer than at {}/s: the CPUs of its threads \
         sleep while operations are in flight. They enter {names} {:.2} times an operation more \
         often than without any I/O, and {:.2} times at {}/s. Waking up takes up to {}",
        nanoseconds(own.ns as f64),
        nanoseconds(longer_ns),
        scaled(rate as f64).trim_end(),
        here.entries,
        there.entries,
        scaled(rate as f64).trim_end(),
        nanoseconds(wake_us as f64 * 1e3)
    );
    let remedy = "measure at the rate that matters; to see the storage alone, keep the CPUs awake: \
                  with the profile latency-performance, or while a program holds \
                  /dev/cpu_dma_latency open at 0";
    Draft::sized(longer_ns, Severity::Note, message, remedy)
}

/// The median response time of a sound row of an open loop on a bare machine, with an interval.
/// Nobody knows what a virtual CPU does when it sleeps.
fn response(row: &Row) -> Option<Percentile> {
    let is_sound = row.summary.verdict == Verdict::Sound && !row.measured.case.is_null();
    let is_bare = row.measured.host.hypervisor.is_none();
    // What runs beside it wakes CPUs, too.
    let is_alone = row.measured.case.beside.is_empty();
    let open = row.summary.open.as_ref().filter(|_| is_sound && is_bare && is_alone)?;
    open.response.p50.filter(|p50| p50.low_ns.is_some() && p50.high_ns.is_some())
}

fn rate_of(row: &Row) -> u64 {
    row.measured.case.io().map_or(0, |io| io.rate)
}

/// Whether two rows differ only in their rate.
fn is_same_load(one: &Row, other: &Row) -> bool {
    let load =
        |row: &Row| (without_rate(row.measured.case), row.measured.case.io().map(|io| io.arrival));
    load(one) == load(other)
}

/// States that take so long to wake up from that they can explain a difference.
struct DeepStates {
    wake_least_us: f64,
}

/// How often CPUs entered deep states while operations were in flight.
struct InFlight {
    /// For each operation.
    entries: f64,
    /// Whether it was often enough, beyond chance.
    is_certain: bool,
}

impl DeepStates {
    fn has(&self, state: &IdleState) -> bool {
        state.wake_us.is_some_and(|us| us as f64 >= self.wake_least_us)
    }

    /// The entries of each trial for one operation.
    fn entries(&self, measured: &Measured) -> Vec<f64> {
        measured.values(|trial| {
            let ops = trial.sample.ops();
            let states = Some(&trial.evidence.idle_states).filter(|all| !all.is_empty() && ops > 0);
            let deep = states?.iter().filter(|state| self.has(state));
            Some(deep.map(|state| state.entries as f64).sum::<f64>() / ops as f64)
        })
    }

    /// What a row has more than the same schedule without any I/O; `None` if it is unknown.
    fn in_flight(&self, row: &Row, null: &Row) -> Option<InFlight> {
        let [own, idle] = [row, null].map(|row| self.entries(&row.measured));
        let enough: Vec<f64> = own.iter().map(|entries| entries - ENTRIES_LEAST).collect();
        let entries = median(&own)? - median(&idle)?;
        let is_certain = entries >= ENTRIES_LEAST && median_test(&enough, &idle) <= LEVEL;
        Some(InFlight { entries: entries.max(0.0), is_certain })
    }

    /// The names of the states that were entered, and how long it takes at most to wake up.
    fn told(&self, measured: &Measured) -> Option<(String, u64)> {
        let all = measured.trials.iter().flat_map(|trial: &Counted| &trial.evidence.idle_states);
        let deep = || all.clone().filter(|state| state.entries > 0 && self.has(state));
        let mut names: Vec<&str> = Vec::new();
        for state in deep() {
            if !names.contains(&state.name.as_str()) {
                names.push(&state.name);
            }
        }
        Some((listed(&names), deep().filter_map(|state| state.wake_us).max()?))
    }
}
