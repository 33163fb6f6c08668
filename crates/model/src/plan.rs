//! What will be measured, and what will not be, and why not.

use crate::case::{Advice, Cache, Case, Engine, FileWork, Submission, Touch, Work};
use crate::host::{Direct, Host, Medium, Storage};
use crate::named;
use crate::units::{self, ParseError};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// Each axis with the values to try: the cases are their product.
pub type Sweep = Vec<(String, Vec<String>)>;

named! {
    /// Why a case is in a plan.
    Role "role" {
        /// It answers the question.
        Asked "asked",
        /// It bounds the answers: a ceiling, or the tool's own overhead.
        Control "control",
    }
}

/// A case that will be measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    /// The case.
    pub case: Case,
    /// Why it is there.
    pub role: Role,
}

/// A case that was asked for and will not be measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Skip {
    /// The case.
    pub case: Case,
    /// Why it would mean nothing.
    pub reason: String,
}

/// What will be done, what not, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The recipe's name.
    pub recipe: String,
    /// Passes over all cases; a case has at most one trial in each.
    pub rounds: u32,
    /// A case is done before the last round when the half-width of its interval is at most this
    /// share of its median.
    pub precision: f64,
    /// Decides the data, the random orders and the order of cases in each round.
    pub seed: u64,
    /// What is measured.
    pub cases: Vec<Planned>,
    /// What is not.
    pub skips: Vec<Skip>,
}

/// Fewer rounds than this have no usable 95 % interval, so no case ends before.
pub const ROUNDS_MIN: u32 = 7;

impl Plan {
    /// An empty plan.
    pub fn new(recipe: &str, rounds: u32, precision: f64, seed: u64) -> Plan {
        let (cases, skips) = (Vec::new(), Vec::new());
        Plan { recipe: recipe.to_string(), rounds, precision, seed, cases, skips }
    }

    /// Adds `cases`; those that `place` refuses become skips, those already there are left out.
    pub fn add(&mut self, cases: impl IntoIterator<Item = Case>, role: Role, place: &Place) {
        let mut known: HashSet<Case> = self.cases.iter().map(|p| p.case.clone()).collect();
        known.extend(self.skips.iter().map(|skip| skip.case.clone()));
        for case in cases {
            if !known.insert(case.clone()) {
                continue;
            }
            match place.refusal(&case) {
                Some(reason) => self.skips.push(Skip { case, reason }),
                None => self.cases.push(Planned { case, role }),
            }
        }
    }
}

/// Every case of the product of the sweep's axes, the last axis changing fastest.
pub fn product(sweep: &Sweep) -> Result<Vec<Case>, ParseError> {
    let count = sweep.iter().map(|(_, values)| values.len()).product();
    (0..count).map(|index| Case::from_axes(&nth(sweep, index))).collect()
}

/// The `index`-th combination of values.
fn nth(sweep: &Sweep, mut index: usize) -> Vec<(&str, &str)> {
    let mut axes: Vec<(&str, &str)> = sweep
        .iter()
        .rev()
        .map(|(axis, values)| {
            let value = values[index % values.len()].as_str();
            index /= values.len();
            (axis.as_str(), value)
        })
        .collect();
    axes.reverse();
    axes
}

/// Where a plan is to run: what decides which cases can be.
#[derive(Debug)]
pub struct Place<'a> {
    /// The machine.
    pub host: &'a Host,
    /// The file system of the test file; none where no file is read.
    pub storage: Option<&'a Storage>,
}

impl Place<'_> {
    /// Why `case` cannot be measured here, or would mean something else than it says.
    pub fn refusal(&self, case: &Case) -> Option<String> {
        match &case.work {
            Work::File(work) => shape_refusal(work)
                .or_else(|| engine_refusal(work))
                .or_else(|| self.buffer_refusal(work))
                .or_else(|| self.storage.and_then(|storage| storage_refusal(work, storage))),
            Work::Memory(work) if !self.host.isas.contains(&work.isa) => {
                Some(format!("this processor has no {}", work.isa))
            }
            Work::Memory(work) if work.working_set > self.host.memory_available / 2 => {
                Some(format!(
                    "a working set of {} is more than half of the {} of memory available",
                    units::bytes(work.working_set),
                    units::bytes_rounded(self.host.memory_available),
                ))
            }
            Work::Memory(_) => None,
        }
    }

    fn buffer_refusal(&self, work: &FileWork) -> Option<String> {
        let slots = u64::from(work.threads) * u64::from(work.depth);
        let bytes = if work.engine == Engine::Mmap { 0 } else { slots.saturating_mul(work.block) };
        (bytes > self.host.memory_available / 4).then(|| {
            format!(
                "{slots} buffers of {} are more than a quarter of the {} of memory available",
                units::bytes(work.block),
                units::bytes_rounded(self.host.memory_available),
            )
        })
    }
}

fn shape_refusal(work: &FileWork) -> Option<String> {
    if work.block > work.size {
        let (block, size) = (units::bytes(work.block), units::bytes(work.size));
        return Some(format!("a block of {block} is larger than the file of {size}"));
    }
    if work.blocks() < u64::from(work.threads) {
        return Some(format!(
            "the file has {} blocks, fewer than {} threads: some would have nothing to do",
            work.blocks(),
            work.threads
        ));
    }
    if work.ops > work.blocks() {
        return Some(format!(
            "{} operations need as many different blocks, the file has {}",
            work.ops,
            work.blocks()
        ));
    }
    (work.depth > 4096).then(|| format!("depth {} is above 4096", work.depth))
}

fn engine_refusal(work: &FileWork) -> Option<String> {
    let reason = match work.engine {
        Engine::Read | Engine::Pread | Engine::Mmap if work.depth > 1 => format!(
            "{} waits for each block: one thread has one in flight, never {}",
            work.engine, work.depth
        ),
        Engine::Mmap if work.cache == Cache::Direct => {
            "a mapping is the page cache: O_DIRECT has no effect on mmap".to_string()
        }
        Engine::Mmap if work.touch == Touch::None => {
            "a mapping moves nothing until it is touched".to_string()
        }
        Engine::Null if work.cache != Cache::AsIs || work.touch != Touch::None => {
            "null moves no data: it has cache 'as-is' and touch 'none' only".to_string()
        }
        _ if work.submission == Submission::Sqpoll && work.engine != Engine::Uring => {
            format!("only io_uring has a submission thread, {} has none", work.engine)
        }
        _ => return advice_refusal(work),
    };
    Some(reason)
}

fn advice_refusal(work: &FileWork) -> Option<String> {
    let mapping_only = matches!(work.advice, Advice::Populate | Advice::HugePage);
    if mapping_only && work.engine != Engine::Mmap {
        return Some(format!("advice '{}' is about a mapping: mmap only", work.advice));
    }
    if work.advice != Advice::None && work.engine == Engine::Null {
        return Some("null opens no file that advice could be given about".to_string());
    }
    (work.advice != Advice::None && work.cache == Cache::Direct)
        .then(|| "advice is about the page cache, which O_DIRECT passes by".to_string())
}

fn storage_refusal(work: &FileWork, storage: &Storage) -> Option<String> {
    match work.cache {
        Cache::Cold if storage.medium == Medium::Ram && !storage.evictable => Some(format!(
            "{} keeps its files in memory: they cannot be evicted, so nothing is cold here",
            storage.file_system
        )),
        Cache::Cold if !storage.evictable => Some(format!(
            "a test file on {} could not be evicted from the page cache",
            storage.file_system
        )),
        Cache::Cold | Cache::Warm if storage.residency_probe.is_none() => Some(format!(
            "neither cachestat nor mincore tells the truth about {} here: '{}' cannot be proved",
            storage.file_system, work.cache
        )),
        Cache::Direct => direct_refusal(work, &storage.direct, &storage.file_system),
        _ => None,
    }
}

fn direct_refusal(work: &FileWork, direct: &Direct, file_system: &str) -> Option<String> {
    match *direct {
        Direct::Refused => Some(format!("{file_system} refuses O_DIRECT here")),
        Direct::Accepted { offset_align, .. } => {
            let align = u64::from(offset_align);
            (!work.block.is_multiple_of(align)).then(|| {
                format!(
                    "O_DIRECT here needs blocks in multiples of {}, {} is not",
                    units::bytes(align),
                    units::bytes(work.block)
                )
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zoo;

    fn reason(work: FileWork) -> String {
        let (host, storage) = (zoo::host(), zoo::storage());
        let place = Place { host: &host, storage: Some(&storage) };
        place.refusal(&Case { work: Work::File(work) }).unwrap_or_default()
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_reason() {
        let plain = zoo::plain();
        let mmap = FileWork { engine: Engine::Mmap, ..plain.clone() };
        let direct = FileWork { cache: Cache::Direct, ..plain.clone() };
        for (work, expected) in [
            (FileWork { cache: Cache::Direct, ..mmap.clone() }, "O_DIRECT has no effect on mmap"),
            (FileWork { touch: Touch::None, ..mmap.clone() }, "moves nothing until it is touched"),
            (FileWork { depth: 2, ..plain.clone() }, "pread waits for each block"),
            (FileWork { block: 100, ..direct.clone() }, "multiples of 512B, 100B is not"),
            (FileWork { advice: Advice::Random, ..direct }, "which O_DIRECT passes by"),
            (FileWork { advice: Advice::Populate, ..plain.clone() }, "mmap only"),
            (FileWork { block: 2 << 20, ..plain.clone() }, "larger than the file of 1MiB"),
            (FileWork { ops: 257, ..plain.clone() }, "different blocks, the file has 256"),
            (FileWork { threads: 257, ..plain.clone() }, "256 blocks, fewer than 257 threads"),
            (FileWork { submission: Submission::Sqpoll, ..plain.clone() }, "only io_uring"),
            (FileWork { engine: Engine::Null, ..plain.clone() }, "null moves no data"),
        ] {
            let reason = reason(work);
            assert!(reason.contains(expected), "'{reason}' does not say '{expected}'");
        }
        assert_eq!(reason(plain), "");
        assert_eq!(reason(mmap), "");
    }

    #[test]
    fn a_plan_has_each_case_once() {
        let host = zoo::host();
        let place = Place { host: &host, storage: None };
        let mut plan = Plan::new("test", 10, 0.025, 1);
        plan.add(zoo::cases(), Role::Asked, &place);
        let before = plan.clone();
        plan.add(zoo::cases(), Role::Control, &place);
        assert_eq!(plan, before);
        assert!(!plan.cases.is_empty() && !plan.skips.is_empty());
    }

    #[test]
    fn a_product_has_every_combination() {
        let mut sweep: Sweep = Vec::new();
        for (axis, value) in (Case { work: Work::File(zoo::plain()) }).axes() {
            let values = match axis {
                "engine" => vec!["read".to_string(), "mmap".to_string()],
                "block" => vec!["4KiB".to_string(), "1MiB".to_string()],
                _ => vec![value],
            };
            sweep.push((axis.to_string(), values));
        }
        let cases = product(&sweep).expect("all values are known");
        let ids: Vec<String> = cases
            .iter()
            .map(|case| case.id().split(' ').take(4).collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(
            ids,
            [
                "read as-is sequential 4KiB",
                "read as-is sequential 1MiB",
                "mmap as-is sequential 4KiB",
                "mmap as-is sequential 1MiB",
            ]
        );
    }
}
