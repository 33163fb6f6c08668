//! What is said about writing, and about a rate over time, as JSON.

use super::memory::ratio;
use super::{alike, estimate, intervals, latency};
use crate::contract as wire;
use assess::course::{Change, TimeSeries};
use assess::decision::Lead;
use assess::strategies::WritingAnswer;
use assess::touching::Touching;
use assess::writing::{Spent, Writing};

const NS_PER_SECOND: f64 = 1e9;

pub(super) fn writing(writing: &Writing) -> wire::Writing {
    wire::Writing {
        acknowledged: writing.acknowledged.as_ref().map(estimate),
        durable: writing.durable.as_ref().map(estimate),
        sync_latency_ns: latency(&writing.sync),
        sync_latency_ns_intervals: intervals(&writing.sync),
        syncs_per_trial: writing.syncs_per_trial,
        flushes_per_trial: writing.flushes_per_trial,
        device_write_bytes: writing.device_write_bytes,
        dirty_left_bytes: writing.dirty_left,
        read_back_verified: writing.read_back,
        read_back_past_cache: writing.read_back_past_cache,
    }
}

pub(super) fn course(course: &TimeSeries) -> wire::TimeSeries<'_> {
    wire::TimeSeries {
        step_s: course.step_ns as f64 / NS_PER_SECOND,
        rates: &course.rates,
        snia_5_at_step: course.snia.flatten(),
        is_steady: course.is_steady,
        sustained: course.sustained,
        change: course.change.map(change),
    }
}

fn change(change: Change) -> wire::Change {
    let Change { before, after, at_bytes, at_ns } = change;
    wire::Change { before, after, at_bytes, at_s: at_ns as f64 / NS_PER_SECOND }
}

pub(super) fn spent(spent: Spent) -> wire::Spent {
    let seconds = |ns: f64| ns / NS_PER_SECOND;
    wire::Spent {
        wall_s: seconds(spent.wall_ns),
        user_s: spent.user_ns.map(seconds),
        system_s: spent.system_ns.map(seconds),
        processors: spent.processors,
        blocked_share: spent.blocked_share,
    }
}

pub(super) fn answer(answer: &WritingAnswer) -> wire::WritingAnswer<'_> {
    wire::WritingAnswer {
        acknowledged: answer.acknowledged.as_ref().map(rated),
        durable: answer.durable.as_ref().map(rated),
        cost: answer.cost.as_ref().map(|cost| ratio(&cost.ratio())),
    }
}

fn rated(lead: &Lead) -> wire::Rated<'_> {
    let best = lead.best();
    wire::Rated {
        id: &best.row.id,
        rate: estimate(&best.rate),
        verdict: best.row.verdict.name(),
        is_fastest: lead.decision().name(),
        alike: alike(lead),
    }
}

pub(super) fn touching(touching: &Touching) -> wire::Touching<'_> {
    wire::Touching {
        phase: touching.phase.name(),
        file: &touching.file.id,
        memory: &touching.memory.id,
        ratio: ratio(&touching.ratio),
    }
}
