//! An assessment made by hand: reads alone and beside others, with a rate and without.

use super::build::*;
use assess::Assessment;
use assess::actors::ActorFigures;
use assess::conclusions::interference::{Disturbed, Interference, InterferenceSide, LatencyKind};
use assess::decision::Named;
use assess::latency::UNSENT_NS;
use assess::open_loop::OpenLoop;
use assess::shared::SharedFile;
use assess::summary::{Latency, ServedBy, Summary};
use model::case::{Cache, Case, Engine, Io};
use model::pattern::Pattern;
use model::view::Question;

/// Random reads beside these actors, each with its rate in bytes per second.
fn reads(rate: u64, bytes_per_second: f64, actors: &[(&str, f64)]) -> Summary {
    let plain = file(Engine::Uring, Cache::Direct, Pattern::Random, 4096);
    let work = model::case::ReadWork { io: Io { rate, depth: 32, ..plain.io }, ..plain };
    let mut summary = measured(work, ServedBy::Device, bytes_per_second);
    let names = actors.iter().map(|(name, _)| (*name).to_string()).collect();
    summary.case = Case { beside: names, ..summary.case };
    summary.id = summary.case.id();
    let figures = |(name, throughput): &(&str, f64)| ActorFigures {
        name: (*name).to_string(),
        does: format!("pwrite {name}"),
        throughput: Some(*throughput).filter(|rate| *rate > 0.0),
        iops: Some(if *throughput > 0.0 { throughput / 1e6 } else { 1_210.0 }),
        // A log that only syncs does not tell when.
        of_whole_run: *throughput == 0.0,
        latency_ns: latency(2.4e6, 4_000),
        sync_latency_ns: Latency::default(),
    };
    summary.beside = actors.iter().map(figures).collect();
    summary.shared = actors.iter().any(|(name, _)| *name == "writer").then_some(SharedFile {
        pages: 812_345,
        new_share: 0.873,
        torn_pages: 12,
        wrong_pages: 0,
        mixed_ops: 12,
    });
    if rate > 0 {
        summary.open = Some(Box::new(OpenLoop {
            offered: estimate(rate as f64),
            achieved: 1.0,
            response: latency(130e3, rate * 10),
            submit_lag_ns: Some(9e3),
            unsent: 0,
            backlog: Some(3),
            spin_share: Some(0.4),
        }));
    }
    summary
}

fn side(summary: &Summary, p99_ns: u64) -> InterferenceSide {
    let latency = summary.open.as_ref().map_or(&summary.latency, |open| &open.response);
    InterferenceSide {
        case: Named::of(summary).expect("it is valid"),
        iops: summary.iops.expect("it has operations").median,
        p50_ns: latency.p50.map(|p50| p50.ns),
        p99_ns: Some(p99_ns),
    }
}

/// A case alone, beside a writer that slows it down, beside a log that does not, and beside both,
/// about which nothing is decided.
pub(super) fn interference() -> Assessment {
    let of = |rate: u64| {
        let actors: [&[(&str, f64)]; 4] =
            [&[], &[("writer", 412e6)], &[("log", 0.0)], &[("writer", 398e6), ("log", 0.0)]];
        let rates = [340e6, 96e6, 338e6, 90e6];
        let each = actors.iter().zip(rates);
        let own = |all| if rate > 0 { rate as f64 * 4096.0 } else { all };
        each.map(|(actors, all)| reads(rate, own(all), actors)).collect::<Vec<_>>()
    };
    let cases: Vec<Summary> = [of(0), of(8_000)].concat();
    let compared = |cases: &[Summary], is_closed: bool| {
        let beside = |index: usize, p99_ns: u64, ratio: [f64; 3], pairs| {
            let rows = [&cases[0], &cases[index]];
            let is_known = p99_ns != UNSENT_NS;
            Disturbed {
                side: side(&cases[index], p99_ns),
                actors: cases[index].beside.clone(),
                p99: is_known.then(|| is_faster(rows, pairs, ratio)),
                rate: is_closed.then(|| is_faster(rows, pairs, ratio)),
            }
        };
        let timed = if is_closed { LatencyKind::Service } else { LatencyKind::Response };
        let late = if is_closed { 9_000_000 } else { UNSENT_NS };
        Interference {
            timed,
            alone: side(&cases[0], 1_100_000),
            beside: vec![
                beside(1, 3_900_000, [3.54, 3.21, 3.88], 10),
                beside(2, 1_110_000, [1.01, 0.98, 1.03], 10),
                beside(3, late, [8.2, 7.1, 9.4], 3),
            ],
        }
    };
    let found = vec![compared(&cases[..4], true), compared(&cases[4..], false)];
    let mut assessment = assessment("interference", cases);
    assessment.header.plan.view = Some(view_of("interference"));
    assert_eq!(assessment.view().answer, [Question::Interference]);
    assessment.conclusions.interferences = found;
    assessment
}
