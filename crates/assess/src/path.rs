//! What the path to a medium allows at most, and what is odd on it. Nothing is measured here: the
//! limits are arithmetic, and what is unknown limits nothing.

mod allowance;
mod oddities;

use crate::finding::Finding;
use model::path::{Hop, HopKind};
use schemars::JsonSchema;
use serde::Serialize;

pub use allowance::link_words;

/// A path, judged.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct JudgedPath {
    /// The hops from the top down: each before what is below it.
    pub hops: Vec<JudgedHop>,
    /// What the whole path allows at most; null if no hop's limit is known, and in a virtual
    /// machine, where links are made up.
    pub allows: Option<Allowance>,
}

/// A hop, judged.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct JudgedHop {
    /// How many hops are above it.
    pub depth: usize,
    /// Its name.
    pub name: String,
    /// What it allows at most, in bytes a second; null if unknown.
    pub allows: Option<f64>,
    /// What is odd.
    pub findings: Vec<Finding>,
}

/// What a path allows.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Allowance {
    /// Bytes a second in one direction, after the coding of the line, before its protocol.
    pub bytes_per_second: f64,
    /// The names of the narrowest hops: several, if bytes are spread over them.
    pub hops: Vec<String>,
}

/// Judges a path, on a machine that is virtual or not.
pub fn judge_path(top: &Hop, is_guest: bool) -> JudgedPath {
    let mut hops = Vec::new();
    walk(top, &[], is_guest, &mut hops);
    let allows = (!is_guest).then(|| narrowest(top)).flatten();
    JudgedPath { hops, allows }
}

fn walk(hop: &Hop, above: &[&Hop], is_guest: bool, hops: &mut Vec<JudgedHop>) {
    hops.push(JudgedHop {
        depth: above.len(),
        name: hop.name.clone(),
        allows: allowance::of(&hop.kind),
        findings: oddities::of(hop, above, is_guest),
    });
    let above = [above, &[hop]].concat();
    hop.below.iter().for_each(|below| walk(below, &above, is_guest, hops));
}

/// The least that must be passed on the way down. Hops side by side allow the sum of what each
/// allows, and nothing is known if one of them is not; what all of them share allows no more than
/// once.
fn narrowest(top: &Hop) -> Option<Allowance> {
    let shared = shared(top).into_iter().filter_map(own);
    shared
        .chain(below(top))
        .min_by(|one, other| one.bytes_per_second.total_cmp(&other.bytes_per_second))
}

fn own(hop: &Hop) -> Option<Allowance> {
    let bytes_per_second = allowance::of(&hop.kind)?;
    Some(Allowance { bytes_per_second, hops: vec![hop.name.clone()] })
}

fn below(hop: &Hop) -> Option<Allowance> {
    let parts = hop.below.iter().filter(|below| !is_down(below)).map(below);
    let parts: Option<Vec<Allowance>> = parts.collect();
    let sum = parts.filter(|parts| !parts.is_empty()).map(|parts| Allowance {
        bytes_per_second: parts.iter().map(|part| part.bytes_per_second).sum(),
        hops: parts.into_iter().flat_map(|part| part.hops).collect(),
    });
    match (own(hop), sum) {
        (Some(own), Some(sum)) if sum.bytes_per_second < own.bytes_per_second => Some(sum),
        (own, sum) => own.or(sum),
    }
}

/// Whether it is a disk that the OS has given up, such as one path to a disk that has several.
fn is_down(hop: &Hop) -> bool {
    match &hop.kind {
        HopKind::Disk(disk) => {
            matches!(disk.state.as_deref(), Some("offline" | "transport-offline"))
        }
        _ => false,
    }
}

/// The links that every way down passes.
fn shared(top: &Hop) -> Vec<&Hop> {
    fn ways<'h>(hop: &'h Hop, above: &[&'h Hop], all: &mut Vec<Vec<&'h Hop>>) {
        let way = [above, &[hop]].concat();
        match hop.below.is_empty() {
            true => all.push(way),
            false => hop.below.iter().for_each(|below| ways(below, &way, all)),
        }
    }
    let mut all = Vec::new();
    ways(top, &[], &mut all);
    let Some((first, others)) = all.split_first() else { return Vec::new() };
    let is_on = |way: &[&Hop], name: &str| way.iter().any(|hop| hop.name == name);
    let links = first.iter().copied().filter(|hop| matches!(hop.kind, HopKind::Link(_)));
    links.filter(|hop| others.iter().all(|way| is_on(way, &hop.name))).collect()
}
