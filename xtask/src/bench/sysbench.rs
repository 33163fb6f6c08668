//! `sysbench memory`: how it is called, and what it answers.

use anyhow::{Context, Result};
use std::time::Duration;

/// The command with `options`, for `time`. The total size is no limit then; what is measured does
/// not depend on it.
pub(super) fn command(options: &[&str], time: Duration) -> Vec<String> {
    let seconds = format!("--time={}", time.as_secs());
    let common = ["sysbench", "memory", "--memory-total-size=1000T", &seconds];
    common.iter().chain(options).chain(&["run"]).map(|word| (*word).to_owned()).collect()
}

/// Reads how many bytes a second it says went by: its MiB are of 2²⁰ bytes.
pub(super) fn parse(text: &str) -> Result<f64> {
    let rate = between(text, " MiB transferred (", " MiB/sec)");
    let mebibytes: f64 = rate.context("sysbench told no MiB/sec")?.parse()?;
    Ok(mebibytes * f64::from(1 << 20))
}

/// Where the time of a run went, as it tells itself. An event is one block, by one thread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Events {
    /// The time of a run divided by its events, in nanoseconds.
    pub(super) ns: f64,
    /// The part of it that was within the event.
    pub(super) inside_ns: f64,
}

/// Reads where the time of a run with one thread went.
pub(super) fn parse_events(text: &str) -> Result<Events> {
    let number = |before: &str, after: &str| -> Result<f64> {
        let number = between(text, before, after).map(str::trim);
        let number = number.with_context(|| format!("sysbench told no '{}'", before.trim()))?;
        Ok(number.parse()?)
    };
    let events = number("total number of events:", "\n")?;
    let total_ns = number("total time:", "s\n")? * 1e9;
    let inside_ns = number(" sum:", "\n")? * 1e6;
    Ok(Events { ns: total_ns / events, inside_ns: inside_ns / events })
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    Some(rest.split_once(after)?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What sysbench 1.0.20 prints.
    const ANSWER: &str = "\
sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: 1
Initializing random number generator from current time


Running memory speed test with the following options:
  block size: 1KiB
  total size: 102400MiB
  operation: write
  scope: global

Initializing worker threads...

Threads started!

Total operations: 11457063 (5723394.76 per second)

11188.54 MiB transferred (5589.25 MiB/sec)


General statistics:
    total time:                          2.0008s
    total number of events:              11457063

Latency (ms):
         min:                                    0.00
         avg:                                    0.00
         max:                                    4.26
         95th percentile:                        0.00
         sum:                                  758.55

Threads fairness:
    events (avg/stddev):           11457063.0000/0.00
    execution time (avg/stddev):   0.7586/0.00
";

    #[test]
    fn an_answer_is_read() {
        let rate = parse(ANSWER).expect("it is an answer of sysbench");
        assert_eq!(rate, 5589.25 * 1_048_576.0);
        let events = parse_events(ANSWER).expect("it is an answer of sysbench");
        let expected = Events { ns: 2.0008e9 / 11_457_063.0, inside_ns: 758.55e6 / 11_457_063.0 };
        assert_eq!(events, expected);
    }

    #[test]
    fn an_answer_that_tells_nothing_is_an_error() {
        for (from, to) in [(" MiB/sec)", ")"), ("MiB transferred", ""), ("5589.25", "x")] {
            assert!(parse(&ANSWER.replace(from, to)).is_err(), "'{from}' as '{to}'");
        }
        for (from, to) in [("total time:", ""), ("number of events", ""), ("sum:", "")] {
            assert!(parse_events(&ANSWER.replace(from, to)).is_err(), "'{from}' as '{to}'");
        }
    }

    #[test]
    fn options_stand_before_the_command() {
        let words = command(&["--memory-block-size=1G"], Duration::from_secs(2));
        let expected =
            "sysbench memory --memory-total-size=1000T --time=2 --memory-block-size=1G run";
        assert_eq!(words.join(" "), expected);
    }
}
