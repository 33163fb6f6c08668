//! fio: how it is called, and what it answers.

use super::worker::Measured;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::process::Command;
use std::time::Duration;

/// What stands for the test file in the command lines of a document.
const FILE: &str = "FILE";

/// The arguments of a run of fio: what all have in common, the file if one is read, and `own`.
pub(super) fn arguments(own: &str, file: &str, size: u64, time: Duration) -> Vec<String> {
    let mut arguments = vec![
        "--name=bench".to_owned(),
        format!("--size={size}"),
        "--time_based".to_owned(),
        format!("--runtime={}ms", time.as_millis()),
        "--randrepeat=0".to_owned(),
        "--output-format=json".to_owned(),
    ];
    if !own.contains("--ioengine=null") {
        arguments.extend([
            format!("--filename={file}"),
            "--readonly".to_owned(),
            "--invalidate=0".to_owned(),
        ]);
    }
    arguments.extend(own.split(' ').map(str::to_owned));
    arguments
}

/// The command line as it is told to a reader.
pub(super) fn command_line(own: &str, size: u64, time: Duration) -> String {
    format!("fio {}", arguments(own, FILE, size, time).join(" "))
}

/// Runs fio; a run that takes a minute longer than `time` is ended.
pub(super) fn run(own: &str, file: &str, size: u64, time: Duration) -> Result<Measured> {
    let limit = (time.as_secs() + 60).to_string();
    let mut command = Command::new("timeout");
    command.args([limit.as_str(), "fio"]).args(arguments(own, file, size, time));
    let output = command.output().context("starting fio")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "fio ended with {}: {}", output.status, errors.trim());
    parse(&String::from_utf8_lossy(&output.stdout)).context("fio's answer")
}

/// Reads what fio prints with `--output-format=json`, of a run of one reading job.
fn parse(text: &str) -> Result<Measured> {
    // Notes and warnings may stand before the object.
    let start = text.find('{').context("there is no JSON")?;
    let answer: Value = serde_json::from_str(&text[start..])?;
    let job = &answer["jobs"][0];
    let number = |pointer: &str| {
        job.pointer(pointer).and_then(Value::as_f64).with_context(|| format!("no {pointer}"))
    };
    let error = number("/error")?;
    ensure!(error == 0.0, "its job failed with error {error}");
    let (iops, ops) = (number("/read/iops")?, number("/read/total_ios")?);
    ensure!(iops > 0.0 && ops > 0.0, "it read nothing");
    // usr_cpu and sys_cpu are shares of job_runtime, in percent, out of getrusage.
    let percent = number("/usr_cpu")? + number("/sys_cpu")?;
    let cpu_ns = percent / 100.0 * number("/job_runtime")? * 1e6;
    Ok(Measured { iops, cpu_ns_per_op: Some(cpu_ns / ops) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What fio 3.33 prints, without what is not read.
    const ANSWER: &str = r#"note: both iodepth >= 1 and synchronous I/O engine are selected
{
  "fio version" : "fio-3.33",
  "jobs" : [
    {
      "jobname" : "bench",
      "error" : 0,
      "read" : {
        "io_bytes" : 1950265344,
        "iops" : 476139.000000,
        "runtime" : 1000,
        "total_ios" : 476139
      },
      "job_runtime" : 1000,
      "usr_cpu" : 17.000000,
      "sys_cpu" : 33.000000
    }
  ]
}
"#;

    #[test]
    fn an_answer_is_read() {
        let measured = parse(ANSWER).expect("it is an answer of fio");
        let cpu_ns_per_op = Some(0.5 * 1e9 / 476_139.0);
        assert_eq!(measured, Measured { iops: 476_139.0, cpu_ns_per_op });
    }

    #[test]
    fn an_answer_that_tells_nothing_is_an_error() {
        for (from, to, expected) in [
            ("\"error\" : 0", "\"error\" : 5", "failed with error 5"),
            ("\"total_ios\" : 476139", "\"total_ios\" : 0", "read nothing"),
            ("\"usr_cpu\"", "\"usr\"", "no /usr_cpu"),
            ("{", "", "there is no JSON"),
        ] {
            let error = parse(&ANSWER.replace(from, to)).expect_err(to);
            let error = format!("{error:#}");
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_file_is_named_where_one_is_read() {
        let time = Duration::from_secs(2);
        let read = command_line("--ioengine=psync --rw=randread", 4096, time);
        assert!(read.starts_with("fio --name=bench --size=4096 --time_based --runtime=2000ms"));
        assert!(read.contains("--filename=FILE --readonly --invalidate=0 --ioengine=psync"));
        assert!(!command_line("--ioengine=null --rw=read", 4096, time).contains("FILE"));
    }
}
