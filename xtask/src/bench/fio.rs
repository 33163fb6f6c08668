//! fio: how it is called, and what it answers.

use super::worker::Measured;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::process::{Command, Output};
use std::time::Duration;

/// What stands for the test file in the command lines of a document.
const FILE: &str = "FILE";

/// The arguments of a run of fio for some time: what all have in common, the file if there is one,
/// and `own`.
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
        arguments.push(format!("--filename={file}"));
        if !own.contains("--rw=randwrite") {
            arguments.push("--readonly".to_owned());
        }
        arguments.push("--invalidate=0".to_owned());
    }
    arguments.extend(own.split(' ').map(str::to_owned));
    arguments
}

/// The command line as it is told to a reader.
pub(super) fn command_line(own: &str, size: u64, time: Duration) -> String {
    format!("fio {}", arguments(own, FILE, size, time).join(" "))
}

/// The command that writes `size` bytes to a new file, for which the word `FILE` stands, in order
/// and in blocks of 1 MiB, and has them made durable. Like ioassay and dd it allocates nothing
/// beforehand; `own` decides what it writes.
pub(super) fn write_command(own: &[&str], size: u64) -> Vec<String> {
    let size = format!("--size={size}");
    let words = [
        "fio",
        "--name=bench",
        &size,
        "--filename=FILE",
        "--rw=write",
        "--bs=1M",
        "--ioengine=psync",
        "--end_fsync=1",
        "--fallocate=none",
        "--randrepeat=0",
        "--output-format=json",
    ];
    words.iter().chain(own).map(|word| (*word).to_owned()).collect()
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

/// Reads what fio prints with `--output-format=json`, of a run of one job that reads or writes.
fn parse(text: &str) -> Result<Measured> {
    let job = job(text)?;
    let (iops, ops) = match number(&job, "/read/total_ios")? {
        0.0 => (number(&job, "/write/iops")?, number(&job, "/write/total_ios")?),
        ops => (number(&job, "/read/iops")?, ops),
    };
    ensure!(iops > 0.0 && ops > 0.0, "it did nothing");
    // usr_cpu and sys_cpu are shares of job_runtime, in percent, out of getrusage.
    let percent = number(&job, "/usr_cpu")? + number(&job, "/sys_cpu")?;
    let cpu_ns = percent / 100.0 * number(&job, "/job_runtime")? * 1e6;
    Ok(Measured { iops, cpu_ns_per_op: Some(cpu_ns / ops) })
}

/// Reads bytes a second out of what fio prints of a run of [`write_command`]. The time that they
/// are divided by is `runtime` of the job's writes, in whole milliseconds: it begins before the
/// file is opened and ends after the fsync of `--end_fsync`, as a trace of fio 3.33 shows.
pub(super) fn parse_written(output: &Output) -> Result<f64> {
    let job = job(&String::from_utf8_lossy(&output.stdout)).context("fio's answer")?;
    let (bytes, ms) = (number(&job, "/write/io_bytes")?, number(&job, "/write/runtime")?);
    ensure!(bytes > 0.0 && ms > 0.0, "fio wrote nothing");
    Ok(bytes * 1e3 / ms)
}

/// The first job of what fio prints, which did not fail.
fn job(text: &str) -> Result<Value> {
    // Notes and warnings may stand before the object.
    let start = text.find('{').context("there is no JSON")?;
    let mut answer: Value = serde_json::from_str(&text[start..])?;
    let job = answer["jobs"][0].take();
    let error = number(&job, "/error")?;
    ensure!(error == 0.0, "its job failed with error {error}");
    Ok(job)
}

fn number(job: &Value, pointer: &str) -> Result<f64> {
    job.pointer(pointer).and_then(Value::as_f64).with_context(|| format!("no {pointer}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::ExitStatus;

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
      "write" : {
        "io_bytes" : 0,
        "iops" : 0.000000,
        "runtime" : 0,
        "total_ios" : 0
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
        assert_eq!(parse(&written()).expect("it wrote as many"), measured);
    }

    #[test]
    fn what_was_written_is_read_by_its_runtime() {
        let rate = rate(&written()).expect("it is an answer of fio");
        assert_eq!(rate, 1_950_265_344.0);
        for (text, expected) in [
            (ANSWER.to_owned(), "wrote nothing"),
            (written().replace("\"error\" : 0", "\"error\" : 28"), "failed with error 28"),
            (written().replace("runtime", "time"), "no /write/runtime"),
        ] {
            let error = self::rate(&text).expect_err(expected);
            assert!(format!("{error:#}").contains(expected), "{error:#}");
        }
    }

    /// The same answer of a job that wrote.
    fn written() -> String {
        let swapped = ANSWER.replace("\"read\"", "\"other\"").replace("\"write\"", "\"read\"");
        swapped.replace("\"other\"", "\"write\"")
    }

    fn rate(text: &str) -> Result<f64> {
        let stdout = text.as_bytes().to_vec();
        parse_written(&Output { status: ExitStatus::default(), stdout, stderr: Vec::new() })
    }

    #[test]
    fn an_answer_that_tells_nothing_is_an_error() {
        for (from, to, expected) in [
            ("\"error\" : 0", "\"error\" : 5", "failed with error 5"),
            ("\"total_ios\" : 476139", "\"total_ios\" : 0", "did nothing"),
            ("\"usr_cpu\"", "\"usr\"", "no /usr_cpu"),
            ("{", "", "there is no JSON"),
        ] {
            let error = parse(&ANSWER.replace(from, to)).expect_err(to);
            let error = format!("{error:#}");
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_file_is_named_where_there_is_one() {
        let time = Duration::from_secs(2);
        let read = command_line("--ioengine=psync --rw=randread", 4096, time);
        assert!(read.starts_with("fio --name=bench --size=4096 --time_based --runtime=2000ms"));
        assert!(read.contains("--filename=FILE --readonly --invalidate=0 --ioengine=psync"));
        let written = command_line("--ioengine=psync --rw=randwrite", 4096, time);
        assert!(written.contains("--filename=FILE --invalidate=0 --ioengine=psync"), "{written}");
        assert!(!command_line("--ioengine=null --rw=read", 4096, time).contains("FILE"));
        let new = write_command(&["--zero_buffers"], 4096).join(" ");
        assert!(
            new.starts_with("fio --name=bench --size=4096 --filename=FILE --rw=write"),
            "{new}"
        );
        assert!(new.ends_with(" --zero_buffers"), "{new}");
    }
}
