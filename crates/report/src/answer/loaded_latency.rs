//! How long a load from memory takes while other threads move some of its bandwidth.

use crate::labels::CaseLabels;
use crate::sentence::{Sentence, figure_of, missing, ratio_of, said_ratio_of};
use crate::text::{Text, figure, joined, text};
use crate::words::count;
use assess::Assessment;
use assess::conclusions::loaded_latency::{LatencyUnderLoad, LoadedLatency};
use assess::summary::Summary;
use model::host::cpus_text;
use model::units;

/// The load that is named beside the highest: the one nearest to this share of its bandwidth.
const NAMED_SHARE: f64 = 0.8;

/// A line for each loop that loads memory.
pub(super) fn answer(assessment: &Assessment, _: &CaseLabels) -> Vec<Sentence> {
    let found = &assessment.conclusions.loaded_latencies;
    if found.is_empty() {
        let is_beside = |case: &Summary| !case.beside.is_empty();
        return missing(match assessment.cases.iter().any(is_beside) {
            true => "No chase has a valid figure both alone and beside loads.",
            false => "No chase was measured both alone and beside loads.",
        });
    }
    found.iter().flat_map(said).collect()
}

/// `Memory answers in 95.1 ns unloaded and, while 3 threads read, in 120 ns at 80 % of 14.2 GB/s
/// and 180 ns at all of it; from 11.3 GB/s on, the latency grows faster (the knee)`.
fn said(found: &LoadedLatency) -> Vec<Sentence> {
    let Some(highest) = found.loads.last() else { return Vec::new() };
    let ns =
        |load: &LatencyUnderLoad| figure_of(units::nanoseconds(load.latency_ns.median), &load.case);
    let most = figure_of(units::rate(highest.bandwidth.median), &highest.case);
    let named = near(found, highest);
    let near = named.map_or(Text::default(), |load| {
        let share = load.bandwidth.median / highest.bandwidth.median;
        text!("{} at {} of {} and ", ns(load), figure(units::percent(share)), most.clone())
    });
    let at_most = if near.is_empty() { text!("at {}", most) } else { "at all of it".into() };
    let alone = &found.unloaded;
    let unloaded = figure_of(units::nanoseconds(alone.latency_ns.median), &alone.case);
    let start = text!(
        "Memory answers in {} unloaded and, while {}, in {}{} {}",
        unloaded,
        loading(found),
        near,
        ns(highest),
        at_most
    );
    let loads = named.into_iter().chain([highest]).map(|load| &load.case);
    let start = Sentence::figures(start, loads.chain([&alone.case]));
    let asks = format!("whether memory answers later while {}", loading(found));
    let longer = highest.longer.as_ref().map(|longer| {
        Sentence::decided(longer, asks, |is_longer| match is_longer {
            true => text!("that is {}", ratio_of(longer, "as long")),
            false => "that is no longer".into(),
        })
    });
    let knee = found.knee.as_ref().map(|knee| {
        let from = figure_of(units::rate(knee.bandwidth), &knee.case);
        Sentence::figures(
            text!("from {} on, the latency grows faster (the knee)", from),
            knee.beyond_line.rows(),
        )
    });
    let (open, closed): (Vec<Sentence>, Vec<Sentence>) =
        [start].into_iter().chain(longer).chain(knee).partition(Sentence::is_open);
    let line = Sentence::joined(closed, "; ");
    [line].into_iter().chain(said_around(found)).chain(open).collect()
}

/// The load nearest to [`NAMED_SHARE`] of the highest bandwidth, unless that is the highest.
fn near<'a>(found: &'a LoadedLatency, highest: &LatencyUnderLoad) -> Option<&'a LatencyUnderLoad> {
    let off = |load: &LatencyUnderLoad| {
        (load.bandwidth.median / highest.bandwidth.median - NAMED_SHARE).abs()
    };
    let near = found.loads.iter().min_by(|a, b| off(a).total_cmp(&off(b)))?;
    (near.case != highest.case).then_some(near)
}

/// `3 threads read`, or `1 thread runs triad-nt`.
fn loading(found: &LoadedLatency) -> String {
    let threads = count(found.threads as usize, "thread");
    let is_one = found.threads == 1;
    match found.kernel.name() {
        "read" => format!("{threads} {}", if is_one { "reads" } else { "read" }),
        "copy" => format!("{threads} {}", if is_one { "copies" } else { "copy" }),
        kernel => format!("{threads} {} {kernel}", if is_one { "runs" } else { "run" }),
    }
}

/// What the chase costs the loading threads, and where all ran.
fn said_around(found: &LoadedLatency) -> Option<Sentence> {
    let highest = found.loads.last()?;
    let of_alone = found.of_alone.map(|ratio| {
        let what = said_ratio_of(&ratio, "as much", std::slice::from_ref(&highest.case));
        text!("beside the chase, the load moves {} as without it", what)
    });
    let cpus = found.chase_cpu.filter(|_| !found.load_cpus.is_empty()).map(|cpu| {
        let others = cpus_text(&found.load_cpus);
        let noun = if found.load_cpus.len() == 1 { "CPU" } else { "CPUs" };
        text!("the chase ran on CPU {}, the load on {} {}", cpu.to_string(), noun, others)
    });
    let parts: Vec<Text> = of_alone.into_iter().chain(cpus).collect();
    let text = joined(&parts, "; ").capital();
    (!parts.is_empty()).then(|| Sentence::figures(text, [&highest.case]))
}
