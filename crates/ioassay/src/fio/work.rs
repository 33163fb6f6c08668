//! What one job asks, in the axes of ioassay.

use super::asked::{Asked, Direction};
use super::blocks;
use super::engines::{self, EngineFate, EngineRow, Queues};
use super::extent::{self, Extent};
use super::facts::{Axes, Facts, Value};
use super::order::{Sequence, order};
use super::writes;
use model::arrival::RATE_MAX;

/// What a job asks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Work {
    /// The axes that do not depend on how many jobs there are.
    pub axes: Axes,
    /// The file of each copy.
    pub extent: Extent,
    /// How many operations a second each copy begins, if it has a rate.
    pub rate: Option<u64>,
    /// The copies of the job.
    pub copies: u64,
    /// Whether each copy has a file, or a part of one, of its own.
    pub has_own_files: bool,
}

/// What the job asks, with the facts that decide what fooled its author; `None` if it is refused.
pub(super) fn work(asked: &Asked) -> Option<(Work, Option<Facts>)> {
    let name = asked.text("ioengine").unwrap_or("psync");
    let name = name.split(',').next().unwrap_or_default();
    let engine = match engines::fate(name) {
        EngineFate::Refused(why) => {
            asked.refuse("ioengine", why);
            return None;
        }
        EngineFate::Names(call) => return Some((of_names(asked, call)?, None)),
        EngineFate::Moves(engine) => engine,
    };
    let facts = facts(asked, engine)?;
    let extent = extent::extent(asked, &facts.blocks.sizes, &facts.order, facts.copies)?;
    let facts = Facts { bytes: extent.bytes, ..facts };
    let mut axes = shared(asked, &facts)?;
    match facts.order.writes() {
        true => axes.extend(writes::axes(asked, &facts)?),
        false => axes.extend(reads(asked, &facts)),
    }
    let rate = rate(asked, &facts)?;
    if rate.is_some() {
        let arrival = match asked.text("rate_process").unwrap_or("linear") {
            "poisson" => "poisson",
            _ => "even",
        };
        axes.insert("arrival", arrival.into());
    }
    if asked.is_refused() {
        return None;
    }
    let ends = extent::ends(asked, &facts, &axes, rate);
    axes.extend(ends);
    let has_own_files = !asked.has("filename") || asked.has("offset_increment");
    Some((Work { axes, extent, rate, copies: facts.copies, has_own_files }, Some(facts)))
}

/// The most copies of a job.
const COPIES_MOST: u64 = 4096;

fn copies(asked: &Asked) -> Option<u64> {
    let copies = asked.whole("numjobs").unwrap_or(1);
    if !(1..=COPIES_MOST).contains(&copies) {
        asked.refuse("numjobs", format!("a job has 1 to {COPIES_MOST} copies"));
        return None;
    }
    Some(copies)
}

fn facts(asked: &Asked, engine: &'static EngineRow) -> Option<Facts> {
    let order = order(asked)?;
    let blocks = blocks::blocks(asked, &order)?;
    let atomic = asked.flag("atomic") == Some(true);
    let buffered = asked.flag("buffered").map(|buffered| !buffered);
    let mut facts = Facts {
        is_direct: atomic || asked.flag("direct").or(buffered).unwrap_or(false),
        order,
        blocks,
        engine,
        cache: "as-is",
        is_time_based: asked.flag("time_based").unwrap_or(false),
        copies: copies(asked)?,
        bytes: 0,
    };
    facts.cache = cache(asked, &facts);
    if let Some(instead) = engine.instead.filter(|_| engine.queues == Queues::No || facts.is_direct)
    {
        asked.instead("ioengine", instead);
    }
    if asked.text("filename").is_some_and(|name| ["/dev/null", "/dev/zero"].contains(&name))
        && !facts.is_null()
    {
        asked.refuse("filename", "it stores nothing: name a directory, or take ioengine=null");
    }
    Some(facts)
}

/// The state of the cache in which a trial starts. fio evicts a file before it reads it.
fn cache(asked: &Asked, facts: &Facts) -> &'static str {
    let draws = matches!(facts.order.sequence, Sequence::Zipf(_));
    match () {
        () if facts.is_null() => "as-is",
        () if asked.flag("uncached") == Some(true) => "dontcache",
        () if facts.is_direct && !facts.is_mapped() => "direct",
        () if facts.order.writes() => "as-is",
        () if asked.flag("pre_read") == Some(true) => "warm",
        () if asked.flag("invalidate") == Some(false) || draws => "as-is",
        () => "cold",
    }
}

/// The most operations in flight.
const DEPTH_MOST: u64 = 4096;

/// The axes that reads and writes share.
fn shared(asked: &Asked, facts: &Facts) -> Option<Axes> {
    let mut axes = Axes::new();
    axes.insert("cache", facts.cache.into());
    let sizes = facts.blocks.sizes.iter().map(|size| model::units::bytes(*size));
    axes.insert(
        "block",
        match (facts.blocks.mix, sizes.collect::<Vec<_>>().as_slice()) {
            (Some(mix), _) => Value::Text(mix.to_string()),
            (None, [one]) => Value::Text(one.clone()),
            (None, sizes) => Value::Texts(sizes.to_vec()),
        },
    );
    match &facts.order.sequence {
        Sequence::Sequential => drop(axes.insert("pattern", "sequential".into())),
        Sequence::Random => drop(axes.insert("pattern", "random".into())),
        Sequence::Zipf(theta) => {
            axes.insert("pattern", "zipf".into());
            axes.insert("theta", Value::Text(theta.clone()));
        }
        Sequence::Skipping(skipped) => {
            let [block] = facts.blocks.sizes[..] else {
                asked.refuse("rw", "with several sizes of blocks, ioassay skips none");
                return None;
            };
            if !skipped.is_multiple_of(block) {
                asked.refuse("rw", "ioassay skips whole blocks: skip a multiple of the block");
                return None;
            }
            axes.insert("pattern", "strided".into());
            axes.insert("stride", Value::Number(1 + skipped / block));
        }
    }
    let depth = asked.whole("iodepth").unwrap_or(1).max(1);
    if depth > DEPTH_MOST {
        asked.refuse("iodepth", format!("ioassay has at most {DEPTH_MOST} operations in flight"));
    }
    if depth > 1 && facts.queues() {
        axes.insert("depth", Value::Number(depth));
    }
    if asked.text("mem").is_some_and(|mem| mem.contains("huge")) && !facts.is_mapped() {
        axes.insert("pages", "huge".into());
    }
    let polls = ["hipri", "sqthread_poll"].into_iter().find(|it| asked.flag(it) == Some(true));
    let can_poll = !facts.order.writes() && facts.engine.queues == Queues::Yes;
    if let Some(option) = polls.filter(|_| !can_poll) {
        asked.instead(option, "ioassay polls only for reads by io_uring");
    }
    if asked.text("mem").is_some_and(|mem| mem.starts_with("cuda")) {
        asked.refuse("mem", "ioassay has no buffers in the memory of a graphics processor");
    }
    Some(axes)
}

/// The axes of reads alone.
fn reads(asked: &Asked, facts: &Facts) -> Axes {
    let mut axes = Axes::new();
    let engine = if facts.is_buffered() && !facts.queues() && facts.engine.engines.0 == "uring" {
        "pread"
    } else {
        facts.engine.engines.0
    };
    axes.insert("engine", engine.into());
    // fio looks at no byte, except that its engine mmap copies each.
    axes.insert("touch", if facts.is_mapped() { "sum" } else { "none" }.into());
    if engine == "uring" {
        axes.insert("submission", submission(asked).into());
    }
    let advises = !matches!(asked.text("fadvise_hint"), Some("0" | "none"));
    if advises && matches!(facts.cache, "cold" | "as-is" | "warm") && !facts.is_null() {
        let advice = match asked.text("fadvise_hint") {
            Some("random") => "random",
            Some("sequential") => "sequential",
            _ if facts.order.is_random() => "random",
            _ => "sequential",
        };
        axes.insert("advice", advice.into());
    }
    axes
}

/// How fio uses io_uring.
fn submission(asked: &Asked) -> &'static str {
    let is_on = |option: &str| asked.flag(option) == Some(true);
    match () {
        () if is_on("sqthread_poll") => "sqpoll",
        () if is_on("hipri") => "iopoll",
        () if is_on("fixedbufs") || is_on("registerfiles") => "fixed",
        () if asked.whole("iodepth_batch").is_some_and(|batch| batch > 1) => "batch",
        () => "plain",
    }
}

/// Operations a second of each copy. The outer `None`: the job is refused.
fn rate(asked: &Asked, facts: &Facts) -> Option<Option<u64>> {
    let option = if asked.has("rate_iops") { "rate_iops" } else { "rate" };
    let direction = if facts.order.writes() { Direction::Write } else { Direction::Read };
    let Some(part) = asked.directed(option, direction) else { return Some(None) };
    if facts.order.is_mixed() {
        asked.refuse(
            option,
            "reads among writes have no schedule in ioassay: make a job that reads, and one that \
             writes",
        );
        return None;
    }
    let number = asked.bytes(option, part)?;
    let rate = match (option, &facts.blocks.sizes[..]) {
        _ if number == 0 => return Some(None),
        ("rate_iops", _) => number,
        (_, [block]) => number / block,
        _ => {
            asked.refuse("rate", "bytes a second of several sizes of blocks: use rate_iops");
            return None;
        }
    };
    if rate > RATE_MAX / facts.copies {
        asked.refuse(option, format!("ioassay begins at most {RATE_MAX} operations a second"));
        return None;
    }
    if rate == 0 {
        asked.refuse(
            option,
            "it is less than one block a second: without a unit, fio takes bytes, not kilobytes",
        );
        return None;
    }
    Some(Some(rate))
}

/// What a job asks of names. Each copy has names of its own, in one directory.
fn of_names(asked: &Asked, call: &'static str) -> Option<Work> {
    let mut axes = Axes::new();
    axes.insert("call", call.into());
    axes.insert("directories", "shared".into());
    axes.insert("entries", Value::Number(asked.whole("nrfiles").unwrap_or(1).max(1)));
    if asked.has("filesize") && call != "create" {
        asked.instead("filesize", "the files of ioassay's names are empty");
    }
    let copies = copies(asked)?;
    if asked.is_refused() {
        return None;
    }
    let extent = Extent { bytes: 0, ops: None };
    Some(Work { axes, extent, rate: None, copies, has_own_files: true })
}
