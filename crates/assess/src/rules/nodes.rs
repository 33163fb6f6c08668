//! Whether memory or the disk was on another NUMA node than the thread that used it.

use super::context::{Context, Draft, RuleTable};
use crate::counted::Counted;
use crate::finding::{Code, Severity};
use crate::significance::{LEVEL, median_test};
use crate::stats::median;
use model::case::{BlockPlace, Work};
use model::list::listed;
use model::path::{Hop, HopKind};
use model::units::{percent, rate};
use std::collections::BTreeSet;

/// The rules of this module.
pub(super) const RULES: RuleTable =
    &[(Code::RemotePages, remote_pages), (Code::CrossNode, cross_node)];

/// From this share on other nodes, there is a finding; shares this far apart are two places
/// (docs/method).
const REMOTE_LEAST: f64 = 0.10;
/// Rates of two places this far apart make the median a lottery (docs/method).
const APART_DOUBT: f64 = 0.20;
/// The worker's own memory hides smaller arrays (docs/method).
const ARRAYS_LEAST: u64 = 16 << 20;

/// A trial: the share of its pages on other nodes, and its rate.
type NodeTrial = (f64, f64);

/// Arrays of one thread were on other nodes than the thread (docs/method).
fn remote_pages(context: &Context) -> Option<Draft> {
    let measured = context.measured;
    let bytes = match &measured.case.work {
        Work::Memory(work) => work.working_set,
        Work::Read(work) if work.engine.place() == BlockPlace::Memory => work.io.size,
        Work::Read(_) | Work::Write(_) | Work::Metadata(_) | Work::Command(_) => return None,
    };
    // With several threads, it is unknown whose a page was.
    if measured.case.threads() > 1 || bytes < ARRAYS_LEAST {
        return None;
    }
    let told = measured.trials.iter().map(|trial| Some((remote_share(trial)?, trial.rate)));
    let mut trials: Vec<NodeTrial> = told.collect::<Option<_>>()?;
    trials.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (least, most) = (trials.first()?.0, trials.last()?.0);
    if most < REMOTE_LEAST {
        return None;
    }
    let lay = match most - least {
        span if span < REMOTE_LEAST => format!("{} of the pages lay", percent(most)),
        _ => format!(
            "{} to {} of the pages lay, depending on the trial,",
            percent(least),
            percent(most)
        ),
    };
    let seen = format!("{lay} on another NUMA node than the thread that used them");
    let remedy = "bind the run to a node with --node, and measure the others separately";
    match near_and_far(&trials) {
        Some((near, far)) => {
            let message = format!(
                "{seen}: {} with fewer such pages and {} with more, so the median depends on where \
                 the OS placed them",
                rate(near),
                rate(far)
            );
            Draft::sized(near / far, Severity::Doubt, message, remedy)
        }
        None => Draft::sized(most, Severity::Note, seen, remedy),
    }
}

/// No thread ran on a node of the disk that it used (docs/method). In a virtual machine, nodes are
/// made up.
fn cross_node(context: &Context) -> Option<Draft> {
    let measured = context.measured;
    if measured.host.hypervisor.is_some() || !context.crosses_devices() {
        return None;
    }
    let disks = nodes_of_disks(measured.storage?.path.as_deref()?)?;
    let spans = measured.trials.iter().flat_map(|trial| &trial.sample.spans);
    let seats = spans.flat_map(|span| [span.start_seat, span.end_seat]);
    let threads: BTreeSet<u32> = seats.map(|seat| Some(seat?.node)).collect::<Option<_>>()?;
    if threads.is_empty() || !threads.is_disjoint(&disks) {
        return None;
    }
    let told = |nodes: &BTreeSet<u32>| {
        let numbers: Vec<String> = nodes.iter().map(u32::to_string).collect();
        format!("{} {}", if nodes.len() == 1 { "node" } else { "nodes" }, listed(&numbers))
    };
    let message = format!(
        "the threads began and ended on NUMA {}, but the disk is at {}: what they move crosses \
         from one to the other",
        told(&threads),
        told(&disks)
    );
    Draft::new(Severity::Note, message, "bind the run to the disk's node with --node")
}

/// The NUMA nodes of all disks below `top`; `None` if that of one is unknown.
fn nodes_of_disks(top: &Hop) -> Option<BTreeSet<u32>> {
    let disks = top.all().into_iter().filter(|hop| matches!(hop.kind, HopKind::Disk(_)));
    let nodes: Option<Vec<BTreeSet<u32>>> = disks
        .map(|disk| {
            let nodes: BTreeSet<u32> = disk.all().into_iter().filter_map(Hop::node).collect();
            (!nodes.is_empty()).then_some(nodes)
        })
        .collect();
    let all: BTreeSet<u32> = nodes?.into_iter().flatten().collect();
    (!all.is_empty()).then_some(all)
}

/// The share of a trial's pages on other nodes than its thread's; if the OS moved the thread, by
/// the worse of both nodes.
fn remote_share(trial: &Counted) -> Option<f64> {
    let bytes = trial.evidence.node_bytes.as_ref()?;
    let all: u64 = bytes.values().sum();
    let seats = trial.sample.spans.iter().flat_map(|span| [span.start_seat, span.end_seat]);
    let nodes: BTreeSet<u32> = seats.map(|seat| Some(seat?.node)).collect::<Option<_>>()?;
    let here = nodes.iter().map(|node| bytes.get(node).copied().unwrap_or(0)).min()?;
    (all > 0).then(|| 1.0 - here as f64 / all as f64)
}

/// The median rates of trials with fewer and with more remote pages, cut at the widest gap, if it
/// is wide enough and the rates follow it. Each trial allocates new memory, so trials of one
/// invocation count individually.
fn near_and_far(trials: &[NodeTrial]) -> Option<(f64, f64)> {
    let gap = |cut: &usize| trials[*cut].0 - trials[*cut - 1].0;
    let cut = (1..trials.len()).max_by(|a, b| gap(a).total_cmp(&gap(b)))?;
    if gap(&cut) < REMOTE_LEAST {
        return None;
    }
    let rates = |part: &[NodeTrial]| part.iter().map(|(_, rate)| *rate).collect::<Vec<f64>>();
    let (near, far) = (rates(&trials[..cut]), rates(&trials[cut..]));
    let is_told = median_test(&near, &far) <= LEVEL;
    let (near, far) = (median(&near)?, median(&far)?);
    (is_told && near / far - 1.0 > APART_DOUBT).then_some((near, far))
}
