//! An assessment made by hand: a closed loop, a rate that is held, and one that is not.

use super::build;
use super::build::*;
use assess::Assessment;
use assess::conclusions::depth::{Depth, Depths};
use assess::conclusions::load::{AtLeast, Bounds, Load, Rate};
use assess::decision::{Decision, Named};
use assess::finding::{Code, Severity};
use assess::latency::UNSENT_NS;
use assess::open_loop::OpenLoop;
use assess::summary::{Latency, ServedBy, Summary};
use model::case::{Cache, Engine, Io};
use model::pattern::Pattern;
use model::view::Question;
use model::view::View;

/// Reads at `rate`, with a response time of `p50` nanoseconds and this share begun in time.
fn at(rate: u64, p50: f64, achieved: f64) -> Summary {
    let plain = file(Engine::Pread, Cache::Direct, Pattern::Random, 4096);
    let work = model::case::ReadWork { io: Io { rate, ..plain.io }, ..plain };
    let mut summary = measured(work, ServedBy::Device, rate as f64 * achieved * 4096.0);
    let mut response = latency(p50, rate * 5);
    let unsent = ((1.0 - achieved) * rate as f64 * 5.0) as u64;
    if unsent > 0 {
        let late = |percentile: &mut Option<assess::percentile::Percentile>| {
            percentile.as_mut().expect("there are many operations").ns = UNSENT_NS;
        };
        late(&mut response.p99);
        late(&mut response.p99_9);
        response.max_ns = Some(UNSENT_NS);
    }
    summary.latency = Latency { longer: Vec::new(), ..latency(82e3, rate * 5) };
    summary.open = Some(Box::new(OpenLoop {
        offered: estimate(rate as f64),
        achieved,
        response,
        submit_lag_ns: Some(p50 / 20.0),
        unsent,
        backlog: Some(((1.0 - achieved) * rate as f64).round() as u64),
        spin_share: Some(0.31),
    }));
    summary
}

/// Gives a case a rate: an operation in 10 ms, each answered in 210 µs at the median.
pub(super) fn give_rate(summary: &mut Summary) {
    let held = at(100, 210e3, 1.0);
    summary.case.io_mut().expect("it reads or writes a file").rate = 100;
    (summary.open, summary.ns_per_op) = (held.open, None);
}

/// Direct reads in a closed loop, at a rate below its own and at one above.
pub(super) fn rates() -> Assessment {
    let closed = file(Engine::Pread, Cache::Direct, Pattern::Random, 4096);
    let over = finding(
        Code::LoadNotHeld,
        Severity::Doubt,
        "23.1 % of the operations that were due had not begun when the time was up: the longer a \
         trial, the longer its response times",
        "read the rate that it achieved; for response times, ask for a lower rate",
    );
    let cases = vec![
        measured(closed, ServedBy::Device, 48.2e6),
        at(10_000, 97e3, 1.0),
        found(at(15_000, 410e6, 0.769), &over),
    ];
    let rate = |index: usize, rate: u64, keeps_up, meets| Rate {
        case: Named::of(&cases[index]).expect("it is valid"),
        rate,
        of_closed: Some(rate as f64 / 11_768.0),
        keeps_up,
        meets: Some(meets),
    };
    let rates = vec![
        rate(1, 10_000, Decision::Yes, Decision::Yes),
        rate(2, 15_000, Decision::No, Decision::No),
    ];
    let bounds = Bounds { holds: Some(10_000), fails: Some(15_000), ..Bounds::default() };
    let load = Load {
        closed: Named::of(&cases[0]),
        closed_iops: cases[0].iops,
        rates,
        kept_up: bounds.clone(),
        held: Some(bounds),
        goals: vec!["p99<1ms".parse().expect("it is a goal")],
        at_least: Some(AtLeast { rate: 10_000, met: Decision::Yes }),
    };
    let mut assessment = assessment("rates", cases);
    assessment = build::in_view(
        View { answer: vec![Question::Load], ..assessment.view().clone() },
        assessment,
    );
    assessment.conclusions.loads = vec![load];
    assessment
}

/// The same, with nothing decided, and a second load that is faster at a higher rate.
pub(super) fn undecided() -> Assessment {
    let mut assessment = rates();
    let load = &mut assessment.conclusions.loads[0];
    let none = Bounds { undecided: vec![10_000, 15_000], ..Bounds::default() };
    (load.kept_up, load.held) = (none.clone(), Some(none));
    load.at_least = Some(AtLeast { rate: 10_000, met: Decision::Undecided });
    let mut other = load.clone();
    other.kept_up = Bounds { fails: Some(10_000), holds_above: vec![15_000], ..Bounds::default() };
    let undecided = vec![11_000, 12_000, 13_000, 15_000];
    other.held = Some(Bounds { holds: Some(10_000), undecided, ..Bounds::default() });
    other.at_least = Some(AtLeast { rate: 15_000, met: Decision::No });
    assessment.conclusions.loads.push(other);
    assessment
}

/// Direct reads at three depths, of which the one named `enough` suffices.
pub(super) fn depths(enough: Option<u32>) -> Assessment {
    let cases: Vec<Summary> = [(1u32, 48.2e6), (8, 260e6), (64, 270e6)]
        .map(|(depth, rate)| {
            let plain = file(Engine::Uring, Cache::Direct, Pattern::Random, 4096);
            let work = model::case::ReadWork { io: Io { depth, ..plain.io }, ..plain };
            let mut summary = measured(work, ServedBy::Device, rate);
            summary.latency = latency(62e3 * f64::from(depth), 400_000);
            summary
        })
        .into();
    let depth = |summary: &Summary| Depth {
        case: Named::of(summary).expect("it is valid"),
        depth: summary.case.io().expect("it is a file").depth,
        iops: summary.iops.expect("it has operations").median,
        p50_ns: summary.latency.p50.map(|p50| p50.ns),
        p99_ns: summary.latency.p99.map(|p99| p99.ns),
        p99_interval: summary.latency.p99,
    };
    let depths = cases.iter().map(depth).collect();
    let of = Depths { depths, enough, fastest: 64, open: None };
    let mut assessment = assessment("depth", cases);
    assessment = build::in_view(
        View { answer: vec![Question::Depth], ..assessment.view().clone() },
        assessment,
    );
    assessment.conclusions.depths = vec![of];
    assessment
}
