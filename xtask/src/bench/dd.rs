//! dd: how it is called, and what it answers.

use anyhow::{Context, Result, ensure};
use std::process::Output;

/// The command that writes `blocks` blocks of 1 MiB of zeros to a file, for which the word `FILE`
/// stands, and has them made durable. Its answer is in the language of `LC_ALL`.
pub(super) fn command(blocks: u64) -> Vec<String> {
    let count = format!("count={blocks}");
    let words =
        ["env", "LC_ALL=C", "dd", "if=/dev/zero", "of=FILE", "bs=1M", &count, "conv=fdatasync"];
    words.map(str::to_owned).to_vec()
}

/// Reads bytes a second out of what GNU dd says on stderr. Its time begins when the files are open
/// and ends after `fdatasync`; the rate that it prints is rounded, so it is taken from both.
pub(super) fn parse(output: &Output) -> Result<f64> {
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| line.contains(" copied, ")).context("dd told no time")?;
    let (bytes, seconds) = line.split_once(" copied, ").expect("the line was found by it");
    let bytes = bytes.split(' ').next().expect("a split has a first part");
    let (seconds, _) = seconds.split_once(" s, ").context("dd told no seconds")?;
    let (bytes, seconds): (f64, f64) = (bytes.parse()?, seconds.parse()?);
    ensure!(bytes > 0.0 && seconds > 0.0, "dd wrote nothing");
    Ok(bytes / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::ExitStatus;

    /// What dd of coreutils 9.1 says.
    const ANSWER: &str = "256+0 records in\n256+0 records out\n\
                          268435456 bytes (268 MB, 256 MiB) copied, 0.951511 s, 282 MB/s\n";

    fn check(text: &str) -> Result<f64> {
        let stderr = text.as_bytes().to_vec();
        parse(&Output { status: ExitStatus::default(), stdout: Vec::new(), stderr })
    }

    #[test]
    fn an_answer_is_read() {
        assert_eq!(check(ANSWER).expect("it is an answer of dd"), 268_435_456.0 / 0.951_511);
        let short = ANSWER.replace(" (268 MB, 256 MiB)", "").replace("0.951511", "9.5e-05");
        assert_eq!(check(&short).expect("it may be short"), 268_435_456.0 / 9.5e-5);
    }

    #[test]
    fn an_answer_that_tells_nothing_is_an_error() {
        for (from, to, expected) in [
            (" copied, ", " kopiert, ", "no time"),
            (" s, ", " Sekunden, ", "no seconds"),
            ("0.951511", "0", "wrote nothing"),
            ("268435456", "many", "invalid float"),
        ] {
            let error = check(&ANSWER.replace(from, to)).expect_err(to);
            assert!(format!("{error:#}").contains(expected), "'{from}' as '{to}': {error:#}");
        }
    }

    #[test]
    fn blocks_are_counted() {
        let expected = "env LC_ALL=C dd if=/dev/zero of=FILE bs=1M count=1024 conv=fdatasync";
        assert_eq!(command(1024).join(" "), expected);
    }
}
