//! Values of axes that stand for others, in terms of this machine.
//!
//! | axis | symbol | stands for |
//! |---|---|---|
//! | threads | `cores` | as many as there are processors |
//! | threads | `ramp` | 1, 2, 4 … up to that |
//! | threads | `sweep` | 1, 2, 4 … up to twice that |
//! | isa | `best` | the widest instruction set of the processor |
//! | isa | `each` | each that it has |
//! | working_set | `dram` | four times the last-level cache |
//! | working_set | `modest` | 256 MiB, or a quarter of the available memory if that is less |
//! | ops | `all` | each block once |
//! | ops | `lane` | of a strided pattern, each block that is strides from the first |
//! | working_set | `sweep` | 8 KiB, 16 KiB … up to that |
//! | peer | `compilers` | every compiler found, with each set of flags and each form of the loop |

use anyhow::{Result, bail};
use model::case::OWN_PEER;
use model::host::Host;
use model::plan::Place;
use model::units;

/// The values that `text` stands for: mostly itself.
///
/// # Errors
/// When it names a peer that is not known.
pub fn resolve(axis: &str, text: &str, place: &Place) -> Result<Vec<String>> {
    let host = place.host;
    let one = |value: String| vec![value];
    Ok(match (axis, text) {
        ("threads", "cores") => one(host.cores.to_string()),
        ("threads", "ramp") => doublings(1, host.cores.into(), |threads| threads.to_string()),
        ("threads", "sweep") => {
            doublings(1, 2 * u64::from(host.cores), |threads| threads.to_string())
        }
        ("ops", "all") => one(OPS_ALL.to_string()),
        ("ops", "lane") => one(OPS_LANE.to_string()),
        ("isa", "best") => {
            one(host.isas.last().map_or("scalar".to_string(), |isa| isa.to_string()))
        }
        ("isa", "each") => host.isas.iter().map(ToString::to_string).collect(),
        ("working_set", "dram") => one(units::bytes(dram(host))),
        ("working_set", "modest") => one(units::bytes(modest(host))),
        ("working_set", "sweep") => doublings(8192, dram(host), units::bytes),
        ("peer", name) => peers(name, place)?,
        _ => one(text.to_string()),
    })
}

/// As many operations as the file has blocks: how many that is depends on other axes.
pub const OPS_ALL: u64 = u64::MAX;

/// As many as it has blocks that are a stride from each other.
pub const OPS_LANE: u64 = u64::MAX - 1;

/// What nobody misses.
fn modest(host: &Host) -> u64 {
    (256 << 20).min(host.memory_available / 4 / 4096 * 4096)
}

/// From `first` on, each twice the one before, and `last`.
fn doublings(first: u64, last: u64, text: impl Fn(u64) -> String) -> Vec<String> {
    let below = std::iter::successors(Some(first), |n| n.checked_mul(2));
    below.take_while(|n| *n < last).chain([last]).map(text).collect()
}

/// STREAM's rule: at least four times what the last-level cache holds.
fn dram(host: &Host) -> u64 {
    (4 * host.last_level_cache).max(64 << 20).next_multiple_of(1 << 20)
}

fn peers(name: &str, place: &Place) -> Result<Vec<String>> {
    let is_known = |name: &str| place.peers.iter().any(|peer| peer.name == name);
    if name == "compilers" {
        let matrix = place.peers.iter().filter(|peer| peer.is_of_matrix);
        let names: Vec<String> = matrix.map(|peer| peer.name.clone()).collect();
        if names.is_empty() {
            bail!("no compiler of the table of peers is on the PATH: install gcc or clang");
        }
        return Ok(names);
    }
    if name != OWN_PEER && !is_known(name) {
        let mut known = vec![OWN_PEER, "compilers"];
        known.extend(place.peers.iter().map(|peer| peer.name.as_str()));
        bail!(units::unknown_name("peer", name, &known));
    }
    Ok(vec![name.to_string()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::zoo;

    fn check(axis: &str, text: &str, expected: &[&str]) {
        let (host, peers) = (zoo::host(), [zoo::peer()]);
        let place = Place { host: &host, storage: None, peers: &peers };
        assert_eq!(resolve(axis, text, &place).expect(text), expected, "{axis} {text}");
    }

    #[test]
    fn symbols_are_of_this_machine() {
        check("threads", "ramp", &["1", "2"]);
        check("threads", "sweep", &["1", "2", "4"]);
        check("isa", "each", &["scalar", "sse2", "avx2"]);
        check("isa", "best", &["avx2"]);
        check("working_set", "dram", &["128MiB"]);
        check("block", "cores", &["cores"]);
        check("peer", "compilers", &["zebra"]);
        check("peer", "rust", &["rust"]);
    }

    #[test]
    fn a_sweep_goes_from_two_pages_to_memory() {
        let host = zoo::host();
        let place = Place { host: &host, storage: None, peers: &[] };
        let sets = resolve("working_set", "sweep", &place).expect("it is known");
        assert_eq!(sets[..2], ["8KiB", "16KiB"]);
        assert_eq!(sets.last().map(String::as_str), Some("128MiB"));
        assert_eq!(sets.len(), 15);
    }

    #[test]
    fn an_unknown_peer_is_told_with_the_nearest() {
        let (host, peers) = (zoo::host(), [zoo::peer()]);
        let place = Place { host: &host, storage: None, peers: &peers };
        let error = resolve("peer", "zebr", &place).expect_err("nobody has it").to_string();
        assert!(error.contains("did you mean 'zebra'?"), "{error}");
    }
}
