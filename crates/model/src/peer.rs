//! Programs that speak the protocol: this program's own worker, and others in other languages.

use crate::case::{
    Atomic, BufferPages, Cache, Case, Engine, Isa, Kernel, MemoryWork, Op, Work, WriteEngine,
};
use crate::list::listed;
use crate::pattern::Pattern;
use crate::units;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Minimum array size for peers, in bytes: smaller arrays give no fair comparison.
const PEER_ARRAY_LEAST: u64 = 4 << 20;

/// A program that can be a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    /// Its name: the value of the axis `peer`, a [`PeerName`](crate::peer_name::PeerName).
    #[serde(deserialize_with = "crate::peer_name::deserialize")]
    pub name: String,
    /// Whether it belongs to the compiler matrix: the same source, built in many ways.
    pub is_of_matrix: bool,
    /// The version that its compiler or runtime prints: `gcc (Debian 12.2.0-14) 12.2.0`.
    pub version: Option<String>,
    /// The command that built it.
    pub build: Option<String>,
    /// Width in bits of the vectors in its counting loop, according to its object code. 0 means
    /// scalar, `None` not inspected.
    pub vector_bits: Option<u32>,
    /// The engines that it supports.
    pub engines: Vec<Engine>,
    /// The engines that it supports for writing.
    #[serde(default)]
    pub write_engines: Vec<WriteEngine>,
    /// The kernels that it supports.
    pub kernels: Vec<Kernel>,
    /// The values that it supports of some axes; it supports all values of others.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub axes: BTreeMap<String, Vec<String>>,
    /// Why it cannot run here, if it cannot: a missing program, or its error.
    pub unavailable: Option<String>,
}

impl Peer {
    /// Why this peer cannot run `case`, or cannot run on this machine at all.
    pub fn refusal(&self, case: &Case) -> Option<String> {
        if let Some(reason) = &self.unavailable {
            return Some(format!("the peer {}: {reason}", self.name));
        }
        let (isa, lacks) = match &case.work {
            Work::Read(work) => {
                let lacks = !self.engines.contains(&work.engine);
                (work.isa, lacks.then(|| format!("engine {}", work.engine)))
            }
            Work::Write(work) => {
                let lacks = work.op != Op::Write || !self.write_engines.contains(&work.engine);
                (Isa::Auto, lacks.then(|| format!("engine {} for op {}", work.engine, work.op)))
            }
            Work::Metadata(work) => (Isa::Auto, Some(format!("call {}", work.call))),
            Work::Command(_) => (Isa::Auto, Some("way to run commands".to_string())),
            Work::Memory(work) => {
                let lacks = !self.kernels.contains(&work.kernel);
                (work.isa, lacks.then(|| format!("kernel {}", work.kernel)))
            }
        };
        if let Some(lacks) = lacks {
            return Some(format!("the peer {} has no {lacks}", self.name));
        }
        // Unlike other axes: a peer gets no huge pages that it does not ask for.
        let asks =
            || self.axes.get("pages").is_some_and(|known| known.iter().any(|it| it == "huge"));
        if case.io().is_some_and(|io| io.pages == BufferPages::Huge) && !asks() {
            return Some(format!("the peer {} has no huge pages for its buffers", self.name));
        }
        if case.is_open() {
            return Some(format!("the peer {} has no open loop: omit the rate", self.name));
        }
        if case.cache() == Some(Cache::DontCache) {
            return Some(format!("the peer {} has no cache dontcache", self.name));
        }
        if case.write().is_some_and(|work| work.atomic != Atomic::No) {
            return Some(format!("the peer {} has no atomic writes", self.name));
        }
        if case.write().is_some_and(|work| work.read_share > 0) {
            return Some(format!("the peer {} has no read share", self.name));
        }
        if case.io().is_some_and(|io| io.pattern == Pattern::Zipf) {
            return Some(format!("the peer {} has no pattern zipf", self.name));
        }
        if case.io().is_some_and(|io| io.offset > 0) {
            return Some(format!("the peer {} reads files from their start", self.name));
        }
        for (axis, value) in case.axes() {
            let Some(known) = self.axes.get(axis).filter(|known| !known.contains(&value)) else {
                continue;
            };
            let (name, known) = (&self.name, listed(known));
            return Some(format!("the peer {name} has only {axis} {known}, not {value}"));
        }
        let least = |work: &MemoryWork| PEER_ARRAY_LEAST * u64::from(work.threads);
        if case.memory().is_some_and(|work| work.working_set < least(work)) {
            return Some(format!(
                "the peer {} reads the clock after each pass, which costs too much below {} per \
                 thread",
                self.name,
                units::bytes(PEER_ARRAY_LEAST)
            ));
        }
        (isa != Isa::Auto).then(|| {
            format!("the compiler of the peer {} chooses the instructions: use isa auto", self.name)
        })
    }
}
