//! What is said about memory, as JSON.

use super::estimate;
use crate::contract as wire;
use assess::counting::{Claim, CountingAnswer, Fair, RowRate};
use assess::decision::{Decided, Decision};
use assess::levels::{Level, Levels};
use assess::ratio::Ratio;
use assess::saturation::Saturation;

pub(super) fn levels(levels: &Levels) -> wire::Levels<'_> {
    wire::Levels {
        peer: &levels.peer,
        pages: levels.pages.name(),
        levels: levels.levels.iter().map(level).collect(),
    }
}

fn level(level: &Level) -> wire::Level {
    wire::Level {
        from: level.from,
        to: level.to,
        ns: level.ns,
        least_ns: level.least_ns,
        greatest_ns: level.greatest_ns,
        cache_level: level.cache.map(|cache| cache.number),
        cache_bytes: level.cache.map(|cache| cache.bytes),
    }
}

pub(super) fn saturation(saturation: &Saturation) -> wire::Saturation<'_> {
    wire::Saturation {
        peer: &saturation.peer,
        kernel: saturation.kernel.name(),
        isa: saturation.isa.name(),
        pages: saturation.pages.name(),
        working_set: saturation.working_set,
        decision: saturation.decision.name(),
        threads: saturation.threads,
        most_threads: saturation.most_threads,
        highest: saturation.highest,
    }
}

pub(super) fn counting(answer: &CountingAnswer) -> wire::Counting<'_> {
    wire::Counting {
        size: answer.size,
        fits_caches: answer.fits_caches,
        memory_reads: answer.memory_reads.iter().map(figure).collect(),
        in_memory: answer.in_memory.iter().map(figure).collect(),
        page_cache: answer.page_cache.as_ref().map(figure),
        device: answer.device.as_ref().map(figure),
        disk_is_faster: (answer.disk_is_faster.as_ref())
            .map_or(Decision::Undecided, Decided::decision)
            .name(),
        claims: answer.claims.iter().map(claim).collect(),
    }
}

fn claim(claim: &Claim) -> wire::Claim<'_> {
    wire::Claim {
        cache: claim.cache.name(),
        mmap: figure(&claim.mmap),
        uring: figure(&claim.uring),
        ratio: ratio(&claim.holds.ratio()),
        holds: claim.holds.decision().name(),
        fair: claim.fair.iter().map(fair).collect(),
    }
}

fn fair(fair: &Fair) -> wire::Fair<'_> {
    let holds = fair.holds.decision().name();
    wire::Fair { figure: figure(&fair.figure), ratio: ratio(&fair.holds.ratio()), holds }
}

fn figure(figure: &RowRate) -> wire::RowRate<'_> {
    wire::RowRate {
        id: &figure.row.id,
        threads: figure.threads,
        throughput: estimate(&figure.throughput),
        of_read: figure.of_read.as_ref().map(ratio),
        of_count: figure.of_count.as_ref().map(ratio),
    }
}

pub(super) fn ratio(ratio: &Ratio) -> wire::Ratio {
    let Ratio { pairs, invocations, median, low, high } = *ratio;
    wire::Ratio { median, low, high, pairs, invocations }
}
