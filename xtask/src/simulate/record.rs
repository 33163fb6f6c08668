//! Simulated records, whose rounds have given rates.

use model::case::{Cache, Engine, Io, ReadWork, Work};
use model::plan::{Planned, Role};
use model::record::Record;
use model::trial::Outcome;
use model::zoo;

const FILE: u64 = 1 << 30;
/// The throughput of rate 1, in bytes per second.
pub(super) const RATE: f64 = FILE as f64;
/// Two cases differ only in their engines, so they are compared. Further cases differ in a stride
/// that they do not use.
const ENGINES: [Engine; 2] = [Engine::Pread, Engine::Read];

/// A record of cases that read a cold file from a device at these rates.
pub(super) fn of(cases: &[&[f64]]) -> Record {
    let work = ReadWork {
        io: Io { cache: Cache::Cold, size: FILE, block: 1 << 20, ..zoo::plain().io },
        ..zoo::plain()
    };
    let rounds = cases.first().map_or(0, |rates| rates.len());
    let mut record = zoo::record_of(work, rounds as u32);
    let trials = std::mem::take(&mut record.trials);
    record.header.plan.cases.clear();
    for (index, rates) in cases.iter().enumerate() {
        let mut case = zoo::record_of(work, 1).header.plan.cases.remove(0).case;
        let (engine, stride) = (ENGINES[index % 2], work.io.stride + (index / 2) as u64);
        case.work = Work::Read(ReadWork { io: Io { stride, ..work.io }, engine, ..work });
        record.header.plan.cases.push(Planned { case, role: Role::Asked });
        for (trial, rate) in trials.iter().zip(rates.iter()) {
            let mut trial = trial.clone();
            trial.case = index;
            let ns = 1e9 / rate;
            if let Outcome::Done(sample) = &mut trial.outcome {
                for span in &mut sample.spans {
                    span.end_ns = span.start_ns + ns as u64;
                }
            }
            trial.evidence.window_ns = ns as u64;
            trial.evidence.machine_cpu_ns = Some((2.0 * ns) as u64);
            record.trials.push(trial);
        }
    }
    record
}

/// The same, with the rounds divided among several invocations.
pub(super) fn of_invocations(cases: &[&[f64]], invocations: u32) -> Record {
    let mut record = of(cases);
    record.header.plan.invocations = invocations;
    let dealt = record.header.plan.rounds_by_invocation().collect::<Vec<_>>();
    for trial in &mut record.trials {
        let of = dealt.iter().position(|rounds| rounds.contains(&trial.round));
        trial.invocation = of.unwrap_or_default() as u32;
    }
    record
}
