//! What the path to a medium allows at most, and what is odd on it. Nothing is measured here: the
//! limits are arithmetic, and what is unknown limits nothing.

mod allowance;
mod flow;
mod oddities;
mod changes;
mod shared;
mod compared;

use crate::finding::Finding;
use model::list::listed;
use model::path::{Hop, HopKind};
use model::units::rate;
use schemars::JsonSchema;
use serde::Serialize;

use allowance::Direction;

pub use allowance::{is_contradictory, link_words};
pub(crate) use changes::of as changes;
pub use compared::narrowest_link;
pub(crate) use compared::path_facts;
pub use oddities::may_rest;
pub use shared::{SharedHops, shared_hops};

/// A path, judged.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct JudgedPath {
    /// The hops from the top down: each before what is below it.
    pub hops: Vec<JudgedHop>,
    /// What the whole path allows reads at most; null if no hop's limit is known. In a virtual
    /// machine, links are made up, and only control groups limit it.
    pub allows: Option<Allowance>,
    /// The same of writes. Only control groups limit them otherwise than reads.
    pub allows_writes: Option<Allowance>,
}

/// A hop, judged.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct JudgedHop {
    /// How many hops are above it.
    pub depth: usize,
    /// Its name.
    pub name: String,
    /// What it allows reads at most, in bytes a second; null if unknown.
    pub allows: Option<f64>,
    /// The same of writes.
    pub allows_writes: Option<f64>,
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
    /// The same hops in words: `PCIe 3.0 x2 of 0000:01:00.0`.
    #[serde(skip)]
    pub hop_words: String,
}

impl Allowance {
    /// What a single hop allows.
    fn of_one(hop: &Hop, bytes_per_second: f64) -> Allowance {
        let hop_words = allowance::words_of(hop, bytes_per_second);
        Allowance { bytes_per_second, hops: vec![hop.name.clone()], hop_words }
    }

    /// `at most 1.97 GB/s: PCIe 3.0 x2 of 0000:01:00.0`.
    pub fn words(&self) -> String {
        format!("at most {}: {}", rate(self.bytes_per_second), self.hop_words)
    }
}

/// Judges a path, on a machine that is virtual or not.
pub fn judge_path(top: &Hop, is_guest: bool) -> JudgedPath {
    let mut hops = Vec::new();
    let told = top.all();
    walk(top, &[], &told, is_guest, &mut hops);
    let allows =
        |direction| narrowest(&[top], |_| true, |hop| allowance::of_hop(hop, direction, is_guest));
    let (allows, allows_writes) = (allows(Direction::Read), allows(Direction::Write));
    JudgedPath { hops, allows, allows_writes }
}

/// What the links of the whole path carry at most, whatever control groups allow; `None` in a
/// virtual machine.
pub fn allowed(top: &Hop, is_guest: bool) -> Option<Allowance> {
    if is_guest { None } else { narrowest(&[top], |_| true, |hop| allowance::of(&hop.kind)) }
}

fn walk(hop: &Hop, above: &[&Hop], told: &[&Hop], is_guest: bool, hops: &mut Vec<JudgedHop>) {
    hops.push(JudgedHop {
        depth: above.len(),
        name: hop.name.clone(),
        allows: allowance::of_hop(hop, Direction::Read, false),
        allows_writes: allowance::of_hop(hop, Direction::Write, false),
        findings: match hop.kind {
            HopKind::Again => {
                first_told(told, hop).map_or_else(Vec::new, |hop| oddities::of_place(hop, above))
            }
            _ => oddities::of(hop, above, is_guest),
        },
    });
    let above = [above, &[hop]].concat();
    hop.below.iter().for_each(|below| walk(below, &above, told, is_guest, hops));
}

/// The least of the hops that count that must be passed on the ways down. Nothing is known if one
/// of several ways tells nothing.
fn narrowest(
    tops: &[&Hop],
    counts: impl Fn(&Hop) -> bool,
    carries: impl Fn(&Hop) -> Option<f64>,
) -> Option<Allowance> {
    let parts = flow::narrowest(tops, counts, carries)?;
    let are_links = parts.iter().all(|(hop, _)| allowance::of(&hop.kind).is_some());
    let noun = if are_links { "links" } else { "limits" };
    Some(together(
        noun,
        parts.into_iter().map(|(hop, most)| Allowance::of_one(hop, most)).collect(),
    ))
}

/// What parts side by side allow.
fn together(noun: &str, mut parts: Vec<Allowance>) -> Allowance {
    if parts.len() == 1 {
        return parts.remove(0);
    }
    let words: Vec<&str> = parts.iter().map(|part| part.hop_words.as_str()).collect();
    Allowance {
        bytes_per_second: parts.iter().map(|part| part.bytes_per_second).sum(),
        hop_words: format!("{} {noun} together: {}", parts.len(), listed(&words)),
        hops: parts.iter().flat_map(|part| part.hops.clone()).collect(),
    }
}

/// What is below a hop and can give its bytes.
fn in_use(hop: &Hop) -> impl Iterator<Item = &Hop> {
    let is_spare = |below: &Hop| match &hop.kind {
        HopKind::Array(array) => array.spares.contains(&below.name),
        _ => false,
    };
    hop.below.iter().filter(move |below| !is_down(below) && !is_spare(below))
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

/// Of the hops `told`, the one that says what `hop` is: itself, unless another way told it first.
fn first_told<'h>(told: &[&'h Hop], hop: &'h Hop) -> Option<&'h Hop> {
    match hop.kind {
        HopKind::Again => {
            let says = |it: &&&Hop| it.name == hop.name && it.kind != HopKind::Again;
            told.iter().find(says).copied()
        }
        _ => Some(hop),
    }
}

/// Devices of one machine have names of their own, each in its kind. A link of PCIe belongs to its
/// port: functions of one card have names of their own, and share it.
fn is_same(one: &Hop, other: &Hop) -> bool {
    if let (HopKind::Link(link), HopKind::Link(of_other)) = (&one.kind, &other.kind)
        && let (Some(port), Some(other)) = (&link.port, &of_other.port)
    {
        return port == other;
    }
    let are_alike = std::mem::discriminant(&one.kind) == std::mem::discriminant(&other.kind);
    are_alike && one.name == other.name
}
