//! The protocol between the tool and a worker: lines of text on stdin and stdout.
//!
//! ```text
//! worker  > hello protocol=2 name=rust version=0.1.0
//! tool    < job seed=7 engine=pread cache=cold … file=/data/test
//! worker  > ready                      threads wait at the barrier; evidence is taken
//! tool    < go
//! worker  > span thread=0 start_ns=… end_ns=… bytes=… ops=… digest=…
//! worker  > progress thread=0 bytes=…,…,…
//! worker  > latency ns=1200 count=17
//! worker  > sync ns=290000 count=1
//! worker  > done setup_ns=… max_ns=…   evidence is taken again
//! tool    < go                         threads end, arrays are given back
//! ```
//! A host's part of a shared file comes with the job: `part=1/4` is the second of four; and so does
//! the shape of the loop that is the fastest for the case: `shape=avx2-16x1`; and for loops over
//! memory side by side, the CPUs of the threads and how much of the time they run: `cpus=1,2
//! duty=50%`. Peers get none of these.
//! This program's own worker also measures which that is:
//!
//! ```text
//! tool    < calibrate kernels=read,copy pages=huge threads=2 array=134217728 time_ns=200000000
//! worker  > timed kernel=read shape=avx512-8x3 bytes=67108864 ns=1900000,1880000,…
//! worker  > calibrated
//! ```
//! A job that is a command has its arguments, and what stdin and stdout are: `argument=dd
//! argument1=of=x …`. Its worker also sends `exit status=0 left_running=0` and, if a number is
//! looked for in its output, `figure number=6.38 unit=GB/s`.
//!
//! A worker may send `unavailable reason=…` or `failed reason=…` instead of `ready` or
//! `done`. Each line is a verb with `key=value` pairs. In a value, spaces, `=`, `%` and all bytes
//! that are not printable ASCII are written as `%` and two hexadecimal digits.

mod calibration;
mod command;
mod company;
mod gather;

use crate::case::Case;
use crate::command::Exit;
use crate::figure::PrintedFigure;
use crate::line::{Fields, LineBuilder};
use crate::memory::Kernel;
use crate::optional::{fields_of_span, pages, seat, usage, with_known};
use crate::sample::{Histogram, Span, Usage};
use crate::shape::{Calibrate, ShapePasses};
use crate::trial::{Job, Outcome};
use crate::units::ParseError;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

pub use crate::line::ProtocolError;
pub use gather::Gather;

/// The version that both sides must use.
pub const PROTOCOL: u64 = 2;

/// A message from the tool to a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "nearly all requests are jobs, one at a time")]
pub enum Request {
    /// Prepare this job, then send `ready`.
    Job(Job),
    /// Open the barrier; after an outcome: release the finished job.
    Go,
    /// Measure the candidates of loops, and send their times.
    Calibrate(Calibrate),
}

/// A message from a worker to the tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The first line: the worker's identity.
    Hello {
        /// The protocol version.
        protocol: u64,
        /// The worker's name.
        name: String,
        /// The worker's version.
        version: String,
    },
    /// All threads are waiting at the barrier.
    Ready,
    /// One thread's results.
    Span(Span),
    /// How often a latency occurred.
    Latency {
        /// The histogram that counts it.
        of: Histogram,
        /// Nanoseconds.
        ns: u64,
        /// How often.
        count: u64,
    },
    /// More progress of a thread whose span was already sent.
    Progress {
        /// The thread's number.
        thread: u32,
        /// Bytes in each of the next steps.
        bytes: Vec<u64>,
    },
    /// More of the backlog of a thread whose span was already sent.
    Backlog {
        /// The thread's number.
        thread: u32,
        /// Operations due but not completed at the end of each of the next steps.
        ops: Vec<u64>,
    },
    /// How the command ended.
    Exit(Exit),
    /// A number that the command printed.
    Figure(PrintedFigure),
    /// The passes of a candidate.
    Timed {
        /// The loop.
        kernel: Kernel,
        /// Its shape, and how long its passes took.
        timed: ShapePasses,
    },
    /// All candidates were measured.
    Calibrated,
    /// The trial is over, and everything was sent.
    Done {
        /// Time from the job to the barrier, in nanoseconds.
        setup_ns: u64,
        /// The part in which a runtime warmed up.
        warm_up_ns: u64,
        /// The longest latency of each histogram, in their order, exact.
        longest_ns: [u64; 4],
        /// What the worker used while its threads were timed, as far as it reports it.
        usage: Usage,
    },
    /// This machine does not support the job.
    Unavailable {
        /// What was tried, and what the OS answered.
        reason: String,
    },
    /// The job failed.
    Failed {
        /// What was tried, and what happened.
        reason: String,
    },
}

impl Request {
    /// Formats the line without its newline.
    pub fn encode(&self) -> String {
        match self {
            Request::Go => "go".to_string(),
            Request::Calibrate(asked) => calibration::of_request(asked),
            Request::Job(job) => {
                let mut line = LineBuilder::new("job").with("seed", job.seed);
                for (axis, value) in job.case.axes() {
                    line = line.with(axis, value);
                }
                let part = job.case.part().filter(|part| !part.is_whole());
                if let Some(part) = part {
                    line = line.with("part", part);
                }
                if let Some(shape) = job.shape {
                    line = line.with("shape", shape);
                }
                line = company::with_place(line, job);
                let paths = [("file", &job.file), ("source", &job.source), ("folder", &job.folder)];
                for (key, file) in paths {
                    if let Some(file) = file {
                        line = line.with_bytes(key, file.as_os_str().as_bytes());
                    }
                }
                let line = with_known(line, &[("shared", job.shared)]);
                command::with_launch(line, job.launch.as_deref()).text
            }
        }
    }

    /// Parses a line.
    pub fn decode(line: &str) -> Result<Request, ProtocolError> {
        let mut fields = Fields::parse(line)?;
        match fields.verb {
            "go" => Ok(Request::Go),
            "calibrate" => calibration::request(&mut fields).map(Request::Calibrate),
            "job" => {
                let seed = fields.number("seed")?;
                let part = if fields.has("part") { Some(fields.text("part")?) } else { None };
                let mut path = |key| fields.take(key).map(|f| OsString::from_vec(f).into());
                let (file, source, folder) = (path("file"), path("source"), path("folder"));
                let shared = fields.number_if("shared")?;
                let shape = calibration::shape(&mut fields)?;
                let launch = command::launch(&mut fields)?.map(Box::new);
                let (cpus, duty) = company::place(&mut fields)?;
                let axes: Result<Vec<_>, _> = std::mem::take(&mut fields.pairs)
                    .into_iter()
                    .map(|(key, value)| Ok((key, fields.utf8(value)?)))
                    .collect();
                let mut case =
                    Case::from_axes(&axes?).map_err(|error: ParseError| fields.error(error))?;
                if let (Some(part), Some(own)) = (part, case.part_mut()) {
                    *own = part.parse().map_err(|error: ParseError| fields.error(error))?;
                }
                Ok(Request::Job(Job {
                    case,
                    seed,
                    file,
                    source,
                    folder,
                    shared,
                    shape,
                    launch,
                    cpus,
                    duty,
                }))
            }
            _ => Err(fields.error("an unknown verb")),
        }
    }
}

impl Reply {
    /// Formats the line without its newline.
    pub fn encode(&self) -> String {
        let line = match self {
            Reply::Hello { protocol, name, version } => LineBuilder::new("hello")
                .with("protocol", protocol)
                .with("name", name)
                .with("version", version),
            Reply::Ready => LineBuilder::new("ready"),
            Reply::Span(span) => {
                let line = LineBuilder::new("span")
                    .with("thread", span.thread)
                    .with("start_ns", span.start_ns)
                    .with("end_ns", span.end_ns)
                    .with("bytes", span.bytes)
                    .with("ops", span.ops)
                    .with("load_ns", span.load_ns)
                    .with("sync_ns", span.sync_ns)
                    .with_if("read_ops", span.read_ops)
                    .with_if("read_bytes", span.read_bytes)
                    .with_if("unsent", span.unsent)
                    .with_if("spin_ns", span.spin_ns)
                    .with_if("overslept_ns", span.overslept_ns);
                with_known(line, &fields_of_span(span))
            }
            Reply::Progress { thread, bytes } => {
                LineBuilder::new("progress").with("thread", thread).with("bytes", joined(bytes))
            }
            Reply::Backlog { thread, ops } => {
                LineBuilder::new("backlog").with("thread", thread).with("ops", joined(ops))
            }
            Reply::Timed { kernel, timed } => calibration::of_timed(*kernel, timed),
            Reply::Calibrated => LineBuilder::new("calibrated"),
            Reply::Exit(exit) => command::of_exit(exit),
            Reply::Figure(figure) => command::of_figure(figure),
            Reply::Latency { of, ns, count } => {
                LineBuilder::new(of.name()).with("ns", ns).with("count", count)
            }
            Reply::Done { setup_ns, warm_up_ns, longest_ns, usage } => {
                let [longest, sync, response, read] = *longest_ns;
                let line = LineBuilder::new("done")
                    .with("setup_ns", setup_ns)
                    .with("warm_up_ns", warm_up_ns)
                    .with("max_ns", longest)
                    .with("sync_max_ns", sync)
                    .with_if("response_max_ns", response)
                    .with_if("read_max_ns", read);
                with_known(line, &{ *usage }.counters().map(|(key, number)| (key, *number)))
            }
            Reply::Unavailable { reason } => LineBuilder::new("unavailable").with("reason", reason),
            Reply::Failed { reason } => LineBuilder::new("failed").with("reason", reason),
        };
        line.text
    }

    /// Parses a line.
    pub fn decode(line: &str) -> Result<Reply, ProtocolError> {
        let mut fields = Fields::parse(line)?;
        let reply = match fields.verb {
            "hello" => Reply::Hello {
                protocol: fields.number("protocol")?,
                name: fields.text("name")?,
                version: fields.text("version")?,
            },
            "ready" => Reply::Ready,
            "span" => Reply::Span(Span {
                thread: fields.thread()?,
                start_ns: fields.number("start_ns")?,
                end_ns: fields.number("end_ns")?,
                bytes: fields.number("bytes")?,
                ops: fields.number("ops")?,
                digest: fields.number_if("digest")?,
                load_ns: fields.number_or("load_ns", 0)?,
                synced_ns: fields.number_if("synced_ns")?,
                sync_ns: fields.number_or("sync_ns", 0)?,
                progress: Vec::new(),
                read_ops: fields.number_or("read_ops", 0)?,
                read_bytes: fields.number_or("read_bytes", 0)?,
                pages: pages(&mut fields)?,
                unsent: fields.number_or("unsent", 0)?,
                spin_ns: fields.number_or("spin_ns", 0)?,
                paused_ns: fields.number_if("paused_ns")?,
                overslept_ns: fields.number_or("overslept_ns", 0)?,
                lag_ns: fields.number_if("lag_ns")?,
                backlog: Vec::new(),
                cpu_ns: fields.number_if("cpu_ns")?,
                run_delay_ns: fields.number_if("run_delay_ns")?,
                start_seat: seat(&mut fields, "start_cpu", "start_node")?,
                end_seat: seat(&mut fields, "end_cpu", "end_node")?,
            }),
            "progress" => {
                Reply::Progress { thread: fields.thread()?, bytes: fields.numbers("bytes")? }
            }
            "backlog" => Reply::Backlog { thread: fields.thread()?, ops: fields.numbers("ops")? },
            "timed" => calibration::timed(&mut fields)?,
            "calibrated" => Reply::Calibrated,
            "exit" => Reply::Exit(command::exit(&mut fields)?),
            "figure" => Reply::Figure(command::figure(&mut fields)?),
            "done" => Reply::Done {
                setup_ns: fields.number("setup_ns")?,
                warm_up_ns: fields.number_or("warm_up_ns", 0)?,
                longest_ns: [
                    fields.number("max_ns")?,
                    fields.number_or("sync_max_ns", 0)?,
                    fields.number_or("response_max_ns", 0)?,
                    fields.number_or("read_max_ns", 0)?,
                ],
                usage: usage(&mut fields)?,
            },
            "unavailable" => Reply::Unavailable { reason: fields.text("reason")? },
            "failed" => Reply::Failed { reason: fields.text("reason")? },
            verb => match verb.parse() {
                Ok(of) => {
                    Reply::Latency { of, ns: fields.number("ns")?, count: fields.number("count")? }
                }
                Err(_) => return Err(fields.error("an unknown verb")),
            },
        };
        Ok(reply)
    }

    /// The replies for an outcome, the closing one last.
    pub fn of(outcome: &Outcome) -> Vec<Reply> {
        let sample = match outcome {
            Outcome::Done(sample) => sample,
            Outcome::Unavailable { reason } => {
                return vec![Reply::Unavailable { reason: reason.clone() }];
            }
            Outcome::Failed { reason } => return vec![Reply::Failed { reason: reason.clone() }],
        };
        let mut replies = Vec::new();
        for span in &sample.spans {
            let (progress, backlog) = (Vec::new(), Vec::new());
            replies.push(Reply::Span(Span { progress, backlog, ..span.clone() }));
            let thread = span.thread;
            let parts = span.progress.chunks(PROGRESS_STEPS);
            replies.extend(parts.map(|part| Reply::Progress { thread, bytes: part.to_vec() }));
            let parts = span.backlog.chunks(PROGRESS_STEPS);
            replies.extend(parts.map(|part| Reply::Backlog { thread, ops: part.to_vec() }));
        }
        for (of, latencies) in sample.histograms() {
            let counts = latencies.counts.iter();
            replies.extend(counts.map(|&(ns, count)| Reply::Latency { of, ns, count }));
        }
        replies.extend(sample.exit.map(Reply::Exit));
        replies.extend(sample.figure.clone().map(Reply::Figure));
        replies.push(Reply::Done {
            setup_ns: sample.setup_ns,
            warm_up_ns: sample.warm_up_ns,
            longest_ns: sample.histograms().map(|(_, latencies)| latencies.max_ns),
            usage: sample.usage,
        });
        replies
    }
}

/// Steps of progress per line, which keeps it below 64 KiB.
const PROGRESS_STEPS: usize = 1000;

fn joined(numbers: &[u64]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{CommandOutput, Launch, OutputReading};
    use crate::figure::FigurePattern;
    use crate::generation::PagesRead;
    use crate::memory::Pages;
    use crate::part::{Part, Whose};
    use crate::sample::{Latencies, Sample, Seat};
    use crate::task_io::TaskIo;
    use crate::zoo;
    use proptest::prelude::*;
    use std::time::Duration;

    #[test]
    fn every_case_travels() {
        for case in zoo::cases() {
            let file = Some(OsString::from_vec(b"/a b=c%/\xff\n".to_vec()).into());
            let source = Some("/source".into());
            let shared = Some(u64::MAX);
            let folder = Some("/folder".into());
            let job = Job { file, source, folder, shared, ..Job::of(case, u64::MAX) };
            let request = Request::Job(job);
            let line = request.encode();
            assert!(!line.contains('\n'));
            assert_eq!(Request::decode(&line), Ok(request));
        }
        assert_eq!(Request::decode(&Request::Go.encode()), Ok(Request::Go));
    }

    #[test]
    fn what_to_start_travels() {
        let case = zoo::cases().pop().expect("the last are commands' or others'");
        let outputs = [
            CommandOutput::Null,
            CommandOutput::Pipe,
            CommandOutput::Inherit,
            CommandOutput::File("/o p".into()),
        ];
        for output in outputs {
            let launch = Some(Box::new(Launch {
                arguments: ["dd", "", "of=a b%", "\n\u{e9}"].map(str::to_string).to_vec(),
                input: Some(OsString::from_vec(b"\xff ".to_vec()).into()),
                any_exit: output == CommandOutput::Pipe,
                figure: (output == CommandOutput::Pipe).then(|| FigurePattern {
                    pattern: "t = ([0-9.]+)%".to_string(),
                    unit: Some("%".to_string()),
                }),
                syncs: vec!["/a b".into(), OsString::from_vec(b"\xfe".to_vec()).into()],
                exits: if output == CommandOutput::Null { vec![1, 255] } else { Vec::new() },
                output,
            }));
            let case = case.clone();
            let (cpus, duty) = (vec![0, 63, 4095], "7%".parse().expect("it is a percentage"));
            let job = Job { launch, cpus, duty, ..Job::of(case, 1) };
            let line = Request::Job(job.clone()).encode();
            assert_eq!(Request::decode(&line), Ok(Request::Job(job)));
        }
    }

    #[test]
    fn a_part_of_a_shared_file_travels() {
        let mut case = zoo::cases().remove(0);
        let io = case.io_mut().expect("it reads");
        (io.files, io.part) = (Whose::Shared, Part { number: 1, of: 4 });
        let request = Request::Job(Job::of(case, 1));
        let line = request.encode();
        assert_eq!(Request::decode(&line), Ok(request));
        let error = Request::decode(&line.replace("part=1/4", "part=4/4")).unwrap_err();
        assert!(error.problem.contains("part"), "{error}");
    }

    #[test]
    fn a_calibration_travels() {
        let request = Request::Calibrate(Calibrate {
            kernels: vec![Kernel::Read, Kernel::CopyNt],
            pages: Pages::Base,
            threads: 2,
            array: 1 << 27,
            time: Duration::from_millis(200),
        });
        assert_eq!(Request::decode(&request.encode()), Ok(request));
        let shape = "avx2-8x1+2048".parse().expect("it is a shape");
        let timed = ShapePasses { shape, bytes: 5, pass_ns: vec![1, 2] };
        for reply in [Reply::Timed { kernel: Kernel::Count, timed }, Reply::Calibrated] {
            assert_eq!(Reply::decode(&reply.encode()), Ok(reply));
        }
        let (case, shared) = (zoo::cases().remove(0), None);
        let shape = Some(shape);
        let job = Job { shared, shape, ..Job::of(case, 1) };
        let line = Request::Job(job.clone()).encode();
        assert_eq!(Request::decode(&line), Ok(Request::Job(job)));
        let error = Request::decode(&line.replace("8x1", "8x")).unwrap_err();
        assert!(error.problem.contains("no shape of a loop"), "{error}");
    }

    #[test]
    fn a_broken_line_says_what_is_broken() {
        for (line, problem) in [
            ("", "an unknown verb"),
            ("dance", "an unknown verb"),
            ("span thread", "'thread', which is not key=value,"),
            ("span thread=0", "no 'start_ns'"),
            ("latency ns=x count=1", "'ns' that is not a number"),
            ("progress thread=0 bytes=1,x", "'bytes' that is not a list of numbers"),
            ("failed reason=%zz", "a broken % escape"),
            ("failed reason=%ff", "a value that is not UTF-8"),
        ] {
            assert_eq!(Reply::decode(line).unwrap_err().problem, problem, "{line}");
        }
    }

    fn outcomes() -> impl Strategy<Value = Outcome> {
        let seat =
            any::<Option<(u32, u32)>>().prop_map(|seat| seat.map(|(cpu, node)| Seat { cpu, node }));
        let told = (any::<[Option<u64>; 5]>(), [seat.clone(), seat]);
        let usage = any::<[Option<u64>; 7]>().prop_map(|u| Usage {
            cpu_ns: u[0],
            user_ns: u[1],
            system_ns: u[2],
            minor_faults: u[3],
            major_faults: u[4],
            switches_voluntary: u[5],
            switches_involuntary: u[6],
        });
        let span = (any::<[u64; 6]>(), told, 0usize..2500);
        let spans = proptest::collection::vec(span, 0..5);
        let counts = proptest::collection::btree_map(any::<u64>(), any::<u64>(), 0..20);
        let latencies = (counts, any::<u64>()).prop_map(|(counts, max_ns)| Latencies {
            counts: counts.into_iter().collect(),
            max_ns,
        });
        let four = [latencies.clone(), latencies.clone(), latencies.clone(), latencies];
        let done = (spans, four, any::<[u64; 2]>(), usage).prop_map(
            |(spans, [latencies, syncs, responses, reads], [setup_ns, warm_up_ns], usage)| {
                let spans = (0..).zip(spans).map(|(thread, (s, (told, seats), steps))| Span {
                    thread,
                    start_ns: s[0],
                    end_ns: s[1],
                    bytes: s[2],
                    ops: s[3],
                    digest: told[3],
                    load_ns: s[4],
                    sync_ns: s[5],
                    synced_ns: told[0],
                    progress: vec![s[0]; steps],
                    read_ops: s[5],
                    read_bytes: s[0],
                    pages: told[3].map(|before| PagesRead {
                        before,
                        torn: s[4],
                        ..PagesRead::default()
                    }),
                    unsent: s[1],
                    spin_ns: s[2],
                    paused_ns: told[1],
                    overslept_ns: s[4],
                    lag_ns: told[4],
                    backlog: vec![s[3]; steps / 2],
                    cpu_ns: told[1],
                    run_delay_ns: told[2],
                    start_seat: seats[0],
                    end_seat: seats[1],
                });
                let spans = spans.collect();
                Outcome::Done(Sample {
                    setup_ns,
                    warm_up_ns,
                    spans,
                    latencies,
                    syncs,
                    responses,
                    reads,
                    exit: setup_ns.is_multiple_of(2).then_some(Exit {
                        status: warm_up_ns.is_multiple_of(2).then_some(7),
                        signal: warm_up_ns.is_multiple_of(3).then_some(9),
                        peak_bytes: usage.cpu_ns,
                        left_running: setup_ns,
                        output_bytes: usage.user_ns,
                        reading: usage.user_ns.map(|bytes| OutputReading {
                            bytes,
                            calls: warm_up_ns,
                            cpu_ns: setup_ns,
                        }),
                        io: usage.user_ns.map(|rchar| TaskIo {
                            rchar,
                            wchar: 1,
                            syscr: warm_up_ns,
                            syscw: 2,
                            read_bytes: setup_ns,
                            write_bytes: 3,
                            cancelled_write_bytes: 4,
                        }),
                    }),
                    figure: setup_ns.is_multiple_of(4).then(|| PrintedFigure {
                        number: format!("{warm_up_ns}.5"),
                        unit: warm_up_ns.is_multiple_of(2).then(|| "% of a=b".to_string()),
                    }),
                    usage,
                })
            },
        );
        prop_oneof![
            done,
            "\\PC*".prop_map(|reason| Outcome::Failed { reason }),
            any::<String>().prop_map(|reason| Outcome::Unavailable { reason }),
        ]
    }

    proptest! {
        #[test]
        fn every_outcome_travels(outcome in outcomes()) {
            let mut gather = Gather::default();
            let mut arrived = None;
            for reply in Reply::of(&outcome) {
                let line = reply.encode();
                prop_assert!(!line.contains('\n') && line.is_ascii());
                prop_assert!(arrived.is_none(), "the closing reply came too early");
                arrived = gather.take(Reply::decode(&line)?)?;
            }
            prop_assert_eq!(arrived, Some(outcome));
        }

        #[test]
        fn babble_is_an_error_not_a_panic(line in any::<String>()) {
            let _ = Request::decode(&line);
            let _ = Reply::decode(&line);
        }
    }
}
