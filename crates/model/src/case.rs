//! A case: one thing to be measured, said by its axes.
//!
//! A case has one text form, [`Case::axes`]: pairs of an axis and a value. The command line, the
//! wire, the record, the tables and the JSON all speak in those words.

use crate::axes::Given;
use crate::named;
use crate::pattern::{Order, Pattern, Share, Steps, Visits};
use crate::peer_name::PeerName;
use crate::units::{self, ParseError};
use serde::{Deserialize, Serialize};
use std::time::Duration;

pub use crate::axes::Axes;
pub use crate::cache::Cache;
pub use crate::memory::{Isa, Kernel, MemoryWork, Pages, STEP};
pub use crate::writing::{Allocation, Fill, Op, Sync, WriteEngine, WriteWork};

/// The name of this program's own worker: the usual value of the axis `peer`.
pub const OWN_PEER: &str = "rust";

named! {
    /// A way to move a block from a file to the program.
    Engine "engine" {
        /// Moves nothing: what is left is the tool's own overhead.
        Null "null",
        /// `read(2)` at the file's own offset, one open file a thread.
        Read "read",
        /// `pread(2)`.
        Pread "pread",
        /// `mmap(2)`: the block is touched in the page cache itself.
        Mmap "mmap",
        /// io_uring with registered buffers and files.
        Uring "uring",
        /// Loads the file into anonymous memory, then touches it there.
        Load "load",
        /// Through a buffer of the program's own of 4 KiB that each seek empties, as C's stdio.
        Buffered "buffered",
    }
}

named! {
    /// What is done with the bytes of a block.
    Touch "touch" {
        /// Nothing: they were delivered, nobody looked.
        None "none",
        /// One word in every 4 KiB is read.
        Page "page",
        /// Every byte is added up, and the sum is checked.
        Sum "sum",
        /// The 4-byte value 10 is counted, and the count is checked.
        Count "count",
    }
}

named! {
    /// What the OS is told about the use of the file.
    Advice "advice" {
        /// Nothing.
        None "none",
        /// It will be read in order.
        Sequential "sequential",
        /// It will be read in no order: no readahead.
        Random "random",
        /// It will be needed soon: begin to read it now.
        WillNeed "willneed",
        /// Map every page at once, before the first touch (mmap only).
        Populate "populate",
        /// Use huge pages (mmap and load only).
        HugePage "hugepage",
        /// Not said to the OS: six other threads touch a byte of every page ahead of the one
        /// that reads (mmap only).
        TouchAhead "touch-ahead",
    }
}

named! {
    /// How io_uring learns of new requests.
    Submission "submission" {
        /// By a system call.
        Enter "enter",
        /// By a thread of the OS that polls the queue.
        Sqpoll "sqpoll",
    }
}

/// Reads a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileWork {
    /// How a block is moved.
    pub engine: Engine,
    /// Where the data is at the start.
    pub cache: Cache,
    /// In which order.
    pub pattern: Pattern,
    /// Blocks from one step of a strided pattern to the next.
    pub stride: u64,
    /// Bytes of the file.
    pub size: u64,
    /// Bytes an operation.
    pub block: u64,
    /// Operations in flight, for each thread.
    pub depth: u32,
    /// Threads at work.
    pub threads: u32,
    /// How blocks are dealt out to the threads.
    pub share: Share,
    /// What is done with the bytes.
    pub touch: Touch,
    /// The instruction set of a sum or a count.
    pub isa: Isa,
    /// What the OS is told.
    pub advice: Advice,
    /// How io_uring learns of requests.
    pub submission: Submission,
    /// The most operations of a trial, over all threads; 0 is no limit.
    pub ops: u64,
    /// The longest a trial lasts. Cold files end sooner: when every block was read once.
    pub time: Duration,
}

/// What a case does.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Work {
    /// Reads a file.
    File(FileWork),
    /// Writes a file.
    Write(WriteWork),
    /// Runs over memory.
    Memory(MemoryWork),
}

/// One thing to be measured.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "Axes", try_from = "Axes")]
pub struct Case {
    /// The program that does it.
    pub peer: String,
    /// What it does.
    pub work: Work,
}

impl Case {
    /// The case's axes by name. [`Case::from_axes`] reads them back.
    pub fn axes(&self) -> Vec<(&'static str, String)> {
        let mut axes = vec![("peer", self.peer.clone())];
        axes.extend(match &self.work {
            Work::File(work) => vec![
                ("engine", work.engine.to_string()),
                ("cache", work.cache.to_string()),
                ("pattern", work.pattern.to_string()),
                ("stride", work.stride.to_string()),
                ("size", units::bytes(work.size)),
                ("block", units::bytes(work.block)),
                ("depth", work.depth.to_string()),
                ("threads", work.threads.to_string()),
                ("share", work.share.to_string()),
                ("touch", work.touch.to_string()),
                ("isa", work.isa.to_string()),
                ("advice", work.advice.to_string()),
                ("submission", work.submission.to_string()),
                ("ops", work.ops.to_string()),
                ("time", units::time(work.time)),
            ],
            Work::Write(work) => work.axes(),
            Work::Memory(work) => {
                let step = work.kernel.touches_pages().then(|| ("step", units::bytes(work.step)));
                let axes = [
                    ("kernel", work.kernel.to_string()),
                    ("isa", work.isa.to_string()),
                    ("working_set", units::bytes(work.working_set)),
                    ("pages", work.pages.to_string()),
                    ("threads", work.threads.to_string()),
                    ("time", units::time(work.time)),
                ];
                axes.into_iter().chain(step).collect()
            }
        });
        axes
    }

    /// Reads a case from its axes, in any order; every axis must be there, once. The axes `peer`,
    /// `pages`, `step`, and `isa` of a file may be missing, as they are in records of the first
    /// version of this program: then they have the value that it had for all.
    pub fn from_axes<K: AsRef<str>, V: AsRef<str>>(axes: &[(K, V)]) -> Result<Case, ParseError> {
        let given = Given(axes);
        let work = if given.has("kernel") {
            let kernel: Kernel = given.name("kernel")?;
            let step = units::parse_bytes(given.text_or("step", "4KiB")?)?;
            Work::Memory(MemoryWork {
                kernel,
                isa: given.name("isa")?,
                working_set: units::parse_bytes(given.text("working_set")?)?,
                pages: given.text_or("pages", "huge")?.parse()?,
                step: if kernel.touches_pages() { step } else { STEP },
                threads: given.small("threads")?,
                time: units::parse_time(given.text("time")?)?,
            })
        } else if given.has("op") {
            Work::Write(WriteWork::from_axes(&given)?)
        } else {
            Work::File(FileWork {
                engine: given.name("engine")?,
                cache: given.name("cache")?,
                pattern: given.name("pattern")?,
                stride: given.number("stride", 1)?,
                size: units::parse_bytes(given.text("size")?)?,
                block: units::parse_bytes(given.text("block")?)?,
                depth: given.small("depth")?,
                threads: given.small("threads")?,
                share: given.name("share")?,
                touch: given.name("touch")?,
                isa: given.text_or("isa", "auto")?.parse()?,
                advice: given.name("advice")?,
                submission: given.name("submission")?,
                ops: given.number("ops", 0)?,
                time: units::parse_time(given.text("time")?)?,
            })
        };
        let peer: PeerName = given.text_or("peer", OWN_PEER)?.parse()?;
        Ok(Case { peer: peer.to_string(), work })
    }

    /// A case of this program's own worker.
    pub fn own(work: Work) -> Case {
        Case { peer: OWN_PEER.to_string(), work }
    }

    /// A short name that no other case of a plan has: `pread warm random 4KiB d1 t1 sum`.
    ///
    /// What is at its usual value is left out, so that what is unusual stands out.
    pub fn id(&self) -> String {
        let work = match &self.work {
            Work::File(work) => work.id(),
            Work::Write(work) => work.id(),
            Work::Memory(work) => {
                let MemoryWork { kernel, isa, threads, .. } = work;
                let working_set = units::bytes(work.working_set);
                let pages = if work.pages == Pages::Base { " pages:base" } else { "" };
                let step = match work.step {
                    STEP => String::new(),
                    step => format!(" step:{}", units::bytes(step)),
                };
                format!("memory {kernel} {isa} {working_set}{pages}{step} t{threads}")
            }
        };
        if self.peer == OWN_PEER { work } else { format!("{} {work}", self.peer) }
    }

    /// How many threads are at work.
    pub fn threads(&self) -> u32 {
        match &self.work {
            Work::File(work) => work.threads,
            Work::Write(work) => work.threads,
            Work::Memory(work) => work.threads,
        }
    }

    /// The longest a trial lasts.
    pub fn time(&self) -> Duration {
        match &self.work {
            Work::File(work) => work.time,
            Work::Write(work) => work.time,
            Work::Memory(work) => work.time,
        }
    }

    /// The work that reads a file, if it is such.
    pub fn file(&self) -> Option<&FileWork> {
        match &self.work {
            Work::File(work) => Some(work),
            Work::Write(_) | Work::Memory(_) => None,
        }
    }

    /// The work that writes a file, if it is such.
    pub fn write(&self) -> Option<&WriteWork> {
        match &self.work {
            Work::Write(work) => Some(work),
            Work::File(_) | Work::Memory(_) => None,
        }
    }

    /// Bytes of the file that is read or written, if any is.
    pub fn file_size(&self) -> Option<u64> {
        match &self.work {
            Work::File(work) => Some(work.size),
            Work::Write(work) => Some(work.size),
            Work::Memory(_) => None,
        }
    }

    /// Where that file is to be at the start.
    pub fn cache(&self) -> Option<Cache> {
        match &self.work {
            Work::File(work) => Some(work.cache),
            Work::Write(work) => Some(work.cache),
            Work::Memory(_) => None,
        }
    }

    /// The memory work, if it is one.
    pub fn memory(&self) -> Option<&MemoryWork> {
        match &self.work {
            Work::File(_) | Work::Write(_) => None,
            Work::Memory(work) => Some(work),
        }
    }
}

impl FileWork {
    /// Blocks in the file; the last may be short.
    pub fn blocks(&self) -> u64 {
        self.size.div_ceil(self.block)
    }

    /// Whether the file is passed more than once if time allows. A cold file is not, for the
    /// second time it would be warm; nor is any where the number of operations is given.
    pub fn repeats(&self) -> bool {
        self.cache != Cache::Cold && self.ops == 0
    }

    /// The blocks that `thread` visits in a trial with `seed`; the same in every pass.
    pub fn visits(&self, thread: u32, seed: u64) -> Visits {
        let order = Order::new(self.pattern, self.blocks(), self.stride, seed);
        Visits::new(order, self.steps(thread), self.block, self.size)
    }

    /// The steps of a pass that are `thread`'s.
    pub fn steps(&self, thread: u32) -> Steps {
        let blocks = if self.ops > 0 { self.ops.min(self.blocks()) } else { self.blocks() };
        Steps::of(self.share, blocks, u64::from(thread), u64::from(self.threads))
    }

    fn id(&self) -> String {
        let mut words = vec![self.engine.to_string(), self.cache.to_string()];
        words.push(match self.pattern {
            Pattern::Strided => format!("strided:{}", self.stride),
            pattern => pattern.to_string(),
        });
        words.push(units::bytes(self.block));
        words.push(format!("d{}", self.depth));
        words.push(format!("t{}", self.threads));
        words.push(self.touch.to_string());
        if self.isa != Isa::Auto {
            words.push(self.isa.to_string());
        }
        if self.advice != Advice::None {
            words.push(format!("advice:{}", self.advice));
        }
        if self.share != Share::Contiguous {
            words.push(self.share.to_string());
        }
        if self.submission != Submission::Enter {
            words.push(self.submission.to_string());
        }
        if self.ops > 0 {
            words.push(format!("ops:{}", self.ops));
        }
        words.push(format!("of {}", units::bytes(self.size)));
        words.join(" ")
    }
}

impl From<Case> for Axes {
    fn from(case: Case) -> Axes {
        case.axes().into_iter().map(|(axis, value)| (axis.to_string(), value)).collect()
    }
}

impl TryFrom<Axes> for Case {
    type Error = ParseError;

    fn try_from(axes: Axes) -> Result<Case, ParseError> {
        Case::from_axes(&axes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zoo;

    #[test]
    fn axes_round_trip() {
        for case in zoo::cases() {
            assert_eq!(Case::from_axes(&case.axes()).as_ref(), Ok(&case));
            let json = serde_json::to_string(&case).expect("a case is plain data");
            assert_eq!(serde_json::from_str::<Case>(&json).expect("it was just written"), case);
        }
    }

    #[test]
    fn ids_differ_where_cases_differ() {
        let cases = zoo::cases();
        let mut ids: Vec<String> = cases.iter().map(Case::id).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), cases.len());
    }

    #[test]
    fn an_axis_that_is_missing_or_doubled_is_named() {
        let mut axes = zoo::cases()[0].axes();
        axes.push(axes[1].clone());
        let twice = Case::from_axes(&axes).unwrap_err().to_string();
        assert_eq!(twice, "axis 'engine' is given twice");
        let missing = Case::from_axes(&axes[2..4]).unwrap_err().to_string();
        assert_eq!(missing, "axis 'engine' is missing");
    }

    #[test]
    fn a_peer_whose_name_could_lead_elsewhere_is_refused() {
        let mut axes = zoo::cases()[0].axes();
        axes[0].1 = "../../x".to_string();
        let error = Case::from_axes(&axes).unwrap_err().to_string();
        assert!(error.contains("'../../x' is no name of a peer"), "{error}");
        let mut peer = serde_json::to_value(zoo::peer()).expect("a peer is plain data");
        peer["name"] = "../x".into();
        let error = serde_json::from_value::<crate::peer::Peer>(peer).unwrap_err().to_string();
        assert!(error.contains("'../x' is no name of a peer"), "{error}");
    }

    #[test]
    fn a_case_of_the_first_version_is_read() {
        let newer = ["peer", "isa"];
        let case = zoo::cases().remove(0);
        let axes: Vec<_> =
            case.axes().into_iter().filter(|(axis, _)| !newer.contains(axis)).collect();
        assert_eq!(Case::from_axes(&axes), Ok(case));
    }
}
