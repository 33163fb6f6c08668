//! Finds a number in what a command prints.

use crate::usage::of_this_thread_ns;
use model::command::OutputReading;
use model::figure::{FigurePattern, PrintedFigure};
use regex::{Captures, Regex};
use std::io::{self, Read};
use std::sync::{Mutex, PoisonError};

/// How much of the end of an output is kept: programs sum up at their end.
const LAST_BYTES: usize = 64 << 10;
/// How much of that is told, in bytes.
const LAST_WORDS: usize = 2000;
/// Bytes read at once.
const CHUNK: usize = 64 << 10;
/// The longest text that is taken for a unit, in bytes.
const UNIT_BYTES_MAX: usize = 32;

/// Finds figures of one pattern.
#[derive(Debug, Clone)]
pub struct FigureFinder {
    regex: Regex,
    unit: Option<String>,
}

impl FigureFinder {
    /// The finder of `pattern`.
    ///
    /// # Errors
    /// Why it is not a regular expression with a group.
    pub fn of(pattern: &FigurePattern) -> Result<FigureFinder, String> {
        let regex = Regex::new(&pattern.pattern).map_err(|error| error.to_string())?;
        if regex.captures_len() < 2 {
            return Err(format!(
                "'{}' has no group: put parentheses around the number, as in 'total ([0-9.]+) ms'",
                pattern.pattern
            ));
        }
        Ok(FigureFinder { regex, unit: pattern.unit.clone() })
    }

    /// The last figure in an output.
    pub fn find(&self, output: &[u8]) -> Option<PrintedFigure> {
        let text = String::from_utf8_lossy(output);
        let figures = self.regex.captures_iter(&text).filter_map(|captures| self.figure(&captures));
        figures.last()
    }

    fn figure(&self, captures: &Captures) -> Option<PrintedFigure> {
        let number = captures.get(1)?;
        let whole = captures.get(0)?;
        let after = &whole.as_str()[number.end() - whole.start()..];
        let unit = captures.get(2).map(|unit| unit.as_str());
        let unit = unit.or(self.unit.as_deref()).unwrap_or(after).trim();
        let is_unit = !unit.is_empty() && unit.len() <= UNIT_BYTES_MAX;
        let unit = is_unit.then(|| unit.to_string());
        let figure = PrintedFigure { number: number.as_str().to_string(), unit };
        figure.value().is_some().then_some(figure)
    }
}

/// What came out of a stream.
#[derive(Debug, Default)]
pub struct OutputEnd {
    /// What it took to read them.
    pub reading: OutputReading,
    /// The last of them.
    pub last: Vec<u8>,
}

impl OutputEnd {
    /// Adds what came next.
    fn take(&mut self, chunk: &[u8]) {
        self.reading.bytes += chunk.len() as u64;
        self.last.extend_from_slice(chunk);
        let excess = self.last.len().saturating_sub(LAST_BYTES);
        self.last.drain(..excess);
    }

    /// Its end in words, at most 2000 bytes.
    pub fn last_words(&self) -> String {
        let last = &self.last[self.last.len().saturating_sub(LAST_WORDS)..];
        String::from_utf8_lossy(last).trim().to_string()
    }
}

/// Reads a stream to its end, and keeps the end.
pub fn heard(stream: impl Read) -> OutputEnd {
    let heard = Mutex::default();
    let before_ns = of_this_thread_ns();
    hear(stream, &heard);
    let mut heard: OutputEnd = heard.into_inner().unwrap_or_else(PoisonError::into_inner);
    heard.reading.cpu_ns = of_this_thread_ns() - before_ns;
    heard
}

/// The same for others who look at what came until now.
pub fn hear(mut stream: impl Read, into: &Mutex<OutputEnd>) {
    let mut chunk = vec![0; CHUNK];
    let locked = || into.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let read = stream.read(&mut chunk);
        locked().reading.calls += 1;
        match read {
            Ok(0) => return,
            Ok(count) => locked().take(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, unit: Option<&str>, output: &str, expected: Option<(&str, &str)>) {
        let pattern =
            FigurePattern { pattern: pattern.to_string(), unit: unit.map(str::to_string) };
        let found = FigureFinder::of(&pattern).unwrap().find(output.as_bytes());
        let found = found.map(|it| (it.number, it.unit.unwrap_or_default()));
        let expected = expected.map(|(number, unit)| (number.to_string(), unit.to_string()));
        assert_eq!(found, expected, "{pattern:?} in '{output}'");
    }

    #[test]
    fn a_figure_has_its_number_and_the_unit_that_is_known() {
        let output = "run 1: total 1.5 ms\nrun 2: total 2.25 ms\n";
        check("total ([0-9.]+) ms", None, output, Some(("2.25", "ms")));
        check("total ([0-9.]+)", None, output, Some(("2.25", "")));
        check("total ([0-9.]+)", Some("ms"), output, Some(("2.25", "ms")));
        check("total ([0-9.]+) (\\w+)", Some("s"), output, Some(("2.25", "ms")));
        check("none ([0-9.]+)", None, output, None);
        check("(\\w+) 2", None, output, None);
        check("([0-9.]+)", None, "1.5 and 1.5.5", Some(("1.5", "")));
    }

    #[test]
    fn a_pattern_needs_a_group() {
        let of = |pattern: &str| {
            FigureFinder::of(&FigurePattern { pattern: pattern.to_string(), unit: None })
                .unwrap_err()
        };
        assert!(of("total [0-9]+").contains("no group"));
        assert!(of("total ([0-9]+").contains("unclosed group"));
    }

    #[test]
    fn only_the_end_of_a_long_output_is_kept() {
        let long = vec![b'x'; 3 * LAST_BYTES];
        let heard = heard([&long[..], b"total 7"].concat().as_slice());
        assert_eq!((heard.reading.bytes, heard.last.len()), (long.len() as u64 + 7, LAST_BYTES));
        assert_eq!(heard.reading.calls, 5, "three chunks, the rest, and the end");
        assert!(heard.last.ends_with(b"total 7"));
    }
}
