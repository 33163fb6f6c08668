//! likwid-bench: how it is called, and what it answers.

use anyhow::{Context, Result};
use std::time::Duration;

/// The command that runs `test` over arrays of `bytes` altogether, for `time` at the least: it
/// doubles its passes until they take that long. `-W` has each thread first touch its own part of
/// the arrays, as ioassay's threads do; `N` is all cores, which it pins its threads to.
///
/// `bytes` is a multiple of 1000: it takes kB of that many.
pub(super) fn command(test: &str, bytes: u64, threads: u32, time: Duration) -> Vec<String> {
    let group = format!("N:{}kB:{threads}", bytes / 1000);
    let seconds = time.as_secs().to_string();
    ["likwid-bench", "-t", test, "-W", &group, "-s", &seconds].map(str::to_owned).to_vec()
}

/// Reads how many bytes a second went by. It counts each explicit load and store, so of an element
/// of 8 bytes a copy has 16 and a triad 24.
pub(super) fn parse(text: &str) -> Result<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MByte/s:"));
    let megabytes: f64 = line.context("likwid-bench told no MByte/s")?.trim().parse()?;
    Ok(megabytes * 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What likwid-bench 5.2.2 prints of a copy by two threads.
    const ANSWER: &str = "\
Allocate: Process running on hwthread 0 (Domain N) - Vector length 16768000/134144000 \
Offset 0 Alignment 512
Initialization: Each thread in domain initializes its own stream chunks
--------------------------------------------------------------------------------
LIKWID MICRO BENCHMARK
Test: copy_mem_avx
--------------------------------------------------------------------------------
Using 1 work groups
Using 2 threads
--------------------------------------------------------------------------------
Group: 0 Thread 0 Global Thread 0 running on hwthread 0 - Vector length 16000000 Offset 0
--------------------------------------------------------------------------------
Cycles:\t\t\t3257771619
CPU Clock:\t\t2445367666
Cycle Clock:\t\t2445367666
Time:\t\t\t1.332222e+00 sec
Iterations:\t\t64
Iterations per thread:\t64
Inner loop executions:\t2000000
Size (Byte):\t\t512000000
Size per thread:\t512000000
Number of Flops:\t0
MFlops/s:\t\t0.00
Data volume (Byte):\t32768000000
MByte/s:\t\t24596.51
Cycles per update:\t1.590709
Load bytes per element:\t8
Store bytes per elem.:\t8
";

    #[test]
    fn an_answer_is_read() {
        let rate = parse(ANSWER).expect("it is an answer of likwid-bench");
        assert_eq!(rate, 24_596_510_000.0);
        // 64 passes over two arrays of 256 MB, each counted once.
        let (volume, time) = (64.0 * 512e6, 1.332222);
        assert!((rate * time / volume - 1.0).abs() < 1e-5, "MByte is 10⁶ bytes, of both arrays");
    }

    #[test]
    fn an_answer_that_tells_nothing_is_an_error() {
        for text in ["", "Error: Unknown test case nosuch\n", "MByte/s:\t\tnothing\n"] {
            assert!(parse(text).is_err(), "'{text}'");
        }
    }

    #[test]
    fn sizes_are_in_kilobytes_of_1000() {
        let words = command("load_avx", 134_144_000, 2, Duration::from_secs(1));
        assert_eq!(words.join(" "), "likwid-bench -t load_avx -W N:134144kB:2 -s 1");
    }
}
