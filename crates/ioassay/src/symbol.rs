//! Symbolic axis values, which depend on this machine. `model::axis::AXES` lists them with their
//! meanings.

use anyhow::{Result, bail};
use model::case::{Case, OWN_PEER};
use model::company;
use model::environment::Environment;
use model::host::Host;
use model::units;

/// The values that `text` stands for; usually itself.
///
/// # Errors
/// If it names an unknown peer.
pub fn resolve(axis: &str, text: &str, environment: &Environment) -> Result<Vec<String>> {
    let host = environment.host;
    let cores = host.parallelism();
    let one = |value: String| vec![value];
    Ok(match (axis, text) {
        // On several hosts, this is resolved before (`recipe/hosts.rs`).
        ("hosts", "doubling" | "each") => one("1".to_string()),
        ("threads", "cores") => one(cores.to_string()),
        // Where none can run, the case beside which they would is skipped.
        ("threads", "apart") => one(company::threads_apart(host).unwrap_or(1).max(1).to_string()),
        ("threads", "ramp") => doublings(1, cores.into(), |threads| threads.to_string()),
        ("threads", "sweep") => doublings(1, 2 * u64::from(cores), |threads| threads.to_string()),
        ("stride", "page") => one(host.page.to_string()),
        ("step", "page") => one(units::bytes(host.page)),
        ("ops", "all") => one(OPS_ALL.to_string()),
        ("ops", "lane") => one(OPS_LANE.to_string()),
        // The worker's own: the fastest, which a calibration finds before the run.
        ("isa", "best") => one("auto".to_string()),
        ("isa", "each") => host.isas.iter().map(ToString::to_string).collect(),
        ("working_set", "dram") => one(units::bytes(dram(host))),
        ("working_set", "modest") => one(units::bytes(modest(host))),
        ("working_set", "sweep") => doublings(8192, dram(host), units::bytes),
        ("peer", name) => peers(name, environment)?,
        _ => one(text.to_string()),
    })
}

/// Stands for as many operations as the file has blocks, which depends on other axes.
const OPS_ALL: u64 = u64::MAX;

/// Stands for as many operations as the file has blocks at multiples of the stride.
const OPS_LANE: u64 = u64::MAX - 1;

/// Sets the number of operations to that of all blocks, or of a lane, if requested.
pub fn count_blocks(case: &mut Case) {
    let Some(io) = case.io_mut() else { return };
    io.ops = match io.ops {
        OPS_ALL => io.blocks(),
        OPS_LANE => io.blocks().div_ceil(io.stride),
        given => given,
    };
}

/// min(`most`, a quarter of the available memory), rounded down to whole `granule`s; `most` if that
/// is unknown.
fn quarter(host: &Host, most: u64, granule: u64) -> u64 {
    host.memory_available.map_or(most, |bytes| most.min(bytes / 4 / granule * granule))
}

fn modest(host: &Host) -> u64 {
    quarter(host, MODEST, host.page.max(1))
}

/// Doublings from `first` up to `last`, including both.
pub fn doublings(first: u64, last: u64, text: impl Fn(u64) -> String) -> Vec<String> {
    let below = std::iter::successors(Some(first), |n| n.checked_mul(2));
    below.take_while(|n| *n < last).chain([last]).map(text).collect()
}

/// STREAM's rule: at least four times the last-level caches. If their size is unknown, it is four
/// times the largest cache on sale, limited by the available memory, and a finding reports that
/// (docs/method).
fn dram(host: &Host) -> u64 {
    // If the OS reports nothing, the available memory is unknown, too.
    let most = if host.memory_available.is_some() { DRAM_UNKNOWN } else { MODEST };
    let unknown = || quarter(host, most, MIB);
    let bytes = host.last_level_cache.map_or_else(unknown, |bytes| bytes.saturating_mul(4));
    bytes.max(DRAM_LEAST).checked_next_multiple_of(MIB).unwrap_or(u64::MAX)
}

/// The least arrays of `threads` threads that exceed the caches they can use, as [`dram`] exceeds
/// all; `None` if the size of no cache is known, or they need more than a sixteenth of the
/// available memory: each trial allocates them again, and others may need more by then.
pub fn beyond_caches(host: &Host, threads: u32) -> Option<u64> {
    let largest = host.largest_cache.map(|each| each.saturating_mul(threads.into()));
    let theirs = [largest, host.last_level_cache].into_iter().flatten().min()?;
    let bytes = theirs.saturating_mul(4).max(DRAM_LEAST).checked_next_multiple_of(MIB)?;
    let most = host.memory_available? / 16;
    (bytes <= most).then_some(bytes)
}

const MIB: u64 = 1 << 20;
/// Few machines are short of this much.
const MODEST: u64 = 256 << 20;
/// Smaller arrays do not measure memory, whatever the caches.
const DRAM_LEAST: u64 = 64 << 20;
/// Used if the size of the caches is unknown.
const DRAM_UNKNOWN: u64 = 2 << 30;

fn peers(name: &str, environment: &Environment) -> Result<Vec<String>> {
    let is_known = |name: &str| environment.peers.iter().any(|peer| peer.name == name);
    if name == "compilers" {
        let matrix = environment.peers.iter().filter(|peer| peer.is_of_matrix);
        let names: Vec<String> = matrix.map(|peer| peer.name.clone()).collect();
        if names.is_empty() {
            bail!("no compiler of the table of peers is on the PATH: install gcc or clang");
        }
        return Ok(names);
    }
    if name != OWN_PEER && !is_known(name) {
        let mut known = vec![OWN_PEER, "compilers"];
        known.extend(environment.peers.iter().map(|peer| peer.name.as_str()));
        bail!(units::unknown_name("peer", name, &known));
    }
    Ok(vec![name.to_string()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::axis::AXES;
    use model::case::Kind;
    use model::zoo;

    fn check(axis: &str, text: &str, expected: &[&str]) {
        let (host, peers) = (zoo::host(), [zoo::peer()]);
        let environment = Environment { host: &host, storage: None, source: None, peers: &peers };
        assert_eq!(resolve(axis, text, &environment).expect(text), expected, "{axis} {text}");
    }

    #[test]
    fn symbols_are_of_this_machine() {
        check("threads", "ramp", &["1", "2"]);
        check("threads", "sweep", &["1", "2", "4"]);
        check("isa", "each", &["scalar", "sse2", "avx2"]);
        check("isa", "best", &["auto"]);
        check("working_set", "dram", &["128MiB"]);
        check("block", "cores", &["cores"]);
        check("peer", "compilers", &["zebra"]);
        check("peer", "rust", &["rust"]);
    }

    /// Checks the values that `text` stands for on a modified machine of the zoo.
    fn check_on(change: impl Fn(&mut Host), axis: &str, text: &str, expected: &[&str]) {
        let mut host = zoo::host();
        change(&mut host);
        let environment = Environment { host: &host, storage: None, source: None, peers: &[] };
        assert_eq!(resolve(axis, text, &environment).expect(text), expected, "{axis} {text}");
    }

    #[test]
    fn arrays_exceed_the_caches_of_their_threads_and_leave_memory_to_others() {
        let check = |threads: u32, change: fn(&mut Host), expected: Option<u64>| {
            let mut host = zoo::host();
            (host.last_level_cache, host.largest_cache) = (Some(256 << 20), Some(32 << 20));
            change(&mut host);
            assert_eq!(beyond_caches(&host, threads), expected, "{threads} {host:?}");
        };
        check(1, |_| {}, Some(128 << 20));
        check(4, |_| {}, Some(512 << 20));
        check(64, |_| {}, Some(1 << 30));
        check(1, |host| host.largest_cache = None, Some(1 << 30));
        check(1, |host| host.largest_cache = Some(1 << 20), Some(64 << 20));
        check(1, |host| (host.last_level_cache, host.largest_cache) = (None, None), None);
        check(1, |host| host.memory_available = Some(2 << 30), Some(128 << 20));
        check(1, |host| host.memory_available = Some((2 << 30) - 1), None);
    }

    #[test]
    fn a_quota_of_two_processors_on_64_runs_two_threads() {
        let pod = |host: &mut Host| (host.cores, host.cpu_quota) = (64, Some(2.0));
        check_on(pod, "threads", "cores", &["2"]);
        check_on(pod, "threads", "ramp", &["1", "2"]);
        check_on(pod, "threads", "sweep", &["1", "2", "4"]);
        let odd = |host: &mut Host| (host.cores, host.cpu_quota) = (64, Some(2.5));
        check_on(odd, "threads", "cores", &["3"]);
    }

    #[test]
    fn arrays_for_memory_have_a_size_where_that_of_the_caches_is_not_known() {
        let unknown = |host: &mut Host| host.last_level_cache = None;
        check_on(unknown, "working_set", "dram", &["2GiB"]);
        let small = |host: &mut Host| {
            (host.last_level_cache, host.memory_available) = (None, Some((1 << 30) + 5));
        };
        check_on(small, "working_set", "dram", &["256MiB"]);
        let tiny = |host: &mut Host| {
            (host.last_level_cache, host.memory_available) = (None, Some(100 << 20));
        };
        check_on(tiny, "working_set", "dram", &["64MiB"]);
        let untold =
            |host: &mut Host| (host.last_level_cache, host.memory_available) = (None, None);
        check_on(untold, "working_set", "dram", &["256MiB"]);
    }

    #[test]
    fn a_page_is_that_of_the_machine() {
        let arm = |host: &mut Host| host.page = 64 << 10;
        check_on(arm, "stride", "page", &["65536"]);
        check_on(arm, "step", "page", &["64KiB"]);
        check("stride", "page", &["4096"]);
        check("step", "page", &["4KiB"]);
    }

    #[test]
    fn a_sweep_goes_from_two_pages_to_memory() {
        let host = zoo::host();
        let environment = Environment { host: &host, storage: None, source: None, peers: &[] };
        let sets = resolve("working_set", "sweep", &environment).expect("it is known");
        assert_eq!(sets[..2], ["8KiB", "16KiB"]);
        assert_eq!(sets.last().map(String::as_str), Some("128MiB"));
        assert_eq!(sets.len(), 15);
    }

    #[test]
    fn an_unknown_peer_is_told_with_the_nearest() {
        let (host, peers) = (zoo::host(), [zoo::peer()]);
        let environment = Environment { host: &host, storage: None, source: None, peers: &peers };
        let error = resolve("peer", "zebr", &environment).expect_err("nobody has it").to_string();
        assert!(error.contains("did you mean 'zebra'?"), "{error}");
    }

    #[test]
    fn each_symbol_of_the_table_stands_for_values() {
        let (host, peers) =
            (zoo::host(), [model::peer::Peer { is_of_matrix: true, ..zoo::peer() }]);
        let environment = Environment { host: &host, storage: None, source: None, peers: &peers };
        for axis in AXES {
            for (symbol, _) in axis.symbols {
                let values = resolve(axis.name, symbol, &environment).expect(symbol);
                // Some are values themselves.
                let is_value = Kind::ALL.iter().filter(|kind| axis.is_of(**kind)).all(|kind| {
                    let mut case = zoo::cases().into_iter().find(|case| case.kind() == *kind);
                    case.as_mut().is_some_and(|case| axis.set(case, symbol).is_ok())
                });
                let is_resolved = values.first().is_some_and(|value| value != symbol);
                assert!(is_resolved || is_value, "{} {symbol}", axis.name);
            }
        }
    }
}
