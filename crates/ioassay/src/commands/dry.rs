//! `ioassay plan`, and `--dry-run`: what would be done, and what it needs.

use super::question::{Question, Setting};
use super::{DONE, say};
use crate::args::OutputArgs;
use crate::files;
use crate::store;
use anyhow::Result;
use model::case::{Cache, Case, Engine, Work, WriteEngine};
use model::plan::Plan;
use report::{Needs, Style};
use std::time::Duration;

/// Says what would be measured and what not, and what that needs. Nothing is measured, and no file
/// is made but a canary of 1 MiB without a name, by which the storage is looked at.
///
/// # Errors
/// When the place is not there, the plan cannot be made, or the record has a name that is taken.
pub fn show(question: &Question, output: &OutputArgs, style: &Style) -> Result<u8> {
    let setting = Setting::of(question)?;
    output.record.as_deref().map_or(Ok(()), store::check_free)?;
    let needs = needs(question, &setting, output)?;
    let text = if output.form.json {
        serde_json::to_string_pretty(&serde_json::json!({"plan": setting.plan, "needs": needs}))?
    } else {
        report::plan(&setting.plan, style) + &report::needs(&needs, style)
    };
    say(&text)?;
    Ok(DONE)
}

fn needs(question: &Question, setting: &Setting, output: &OutputArgs) -> Result<Needs> {
    let Setting { host, storage, source, plan, .. } = setting;
    let cases = || plan.cases.iter().map(|planned| &planned.case);
    let is_warm = |case: &&Case| case.cache() == Some(Cache::Warm);
    let record = match &output.record {
        Some(record) => record.clone(),
        None => store::folder()?,
    };
    Ok(Needs {
        trials: plan.sustain.is_none().then(|| u64::from(plan.rounds) * plan.cases.len() as u64),
        measuring: measuring(plan),
        ends_by_operations: cases().any(is_counted),
        disk: files::room(plan, &question.target, storage.as_ref(), source.as_ref()),
        memory_bytes: cases().map(memory_bytes).max().unwrap_or(0),
        page_cache_bytes: cases().filter(is_warm).filter_map(Case::file_size).max().unwrap_or(0),
        available_bytes: host.memory_available,
        record,
        record_is_named: output.record.is_some(),
    })
}

/// How long the trials are, if each lasts as long as it may and no case ends before the last round.
fn measuring(plan: &Plan) -> Duration {
    let each = |case: &Case| match plan.sustain {
        Some(budget) => budget.saturating_add(case.time()),
        None => case.time().saturating_mul(plan.rounds),
    };
    let times = plan.cases.iter().map(|planned| each(&planned.case));
    times.fold(Duration::ZERO, Duration::saturating_add)
}

fn is_counted(case: &Case) -> bool {
    match &case.work {
        Work::Read(work) => work.io.ops > 0,
        Work::Write(work) => work.io.ops > 0,
        Work::Memory(_) => false,
    }
}

/// What a worker takes for its arrays, for a file that it loads, or for what it has in flight.
fn memory_bytes(case: &Case) -> u64 {
    let in_flight = |block: u64, depth: u32, threads: u32| {
        block.saturating_mul(depth.into()).saturating_mul(threads.into())
    };
    match &case.work {
        Work::Memory(work) => work.working_set,
        Work::Read(work) => match work.engine {
            Engine::Load => work.io.size,
            Engine::Mmap => 0,
            _ => in_flight(work.io.block, work.io.depth, work.io.threads),
        },
        Work::Write(work) => match work.engine {
            WriteEngine::Mmap => 0,
            _ => in_flight(work.io.block, work.io.depth, work.io.threads),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::case::Io;
    use model::plan::{Place, Role};
    use model::zoo;

    #[test]
    fn trials_last_at_most_so_long() {
        let (host, storage) = (zoo::host(), zoo::storage());
        let place = Place { host: &host, storage: Some(&storage), peers: &[] };
        let mut plan = Plan::new("zoo", 10, 0.025, 1);
        plan.add(zoo::cases(), Role::Asked, &place);
        let trial: Duration = plan.cases.iter().map(|planned| planned.case.time()).sum();
        assert!(trial > Duration::ZERO);
        assert_eq!(measuring(&plan), trial * 10);
        plan.sustain = Some(Duration::from_secs(60));
        let cases = plan.cases.len() as u32;
        assert_eq!(measuring(&plan), trial + Duration::from_secs(60) * cases);
    }

    #[test]
    fn what_is_loaded_takes_memory_and_what_is_mapped_none() {
        let of = |engine| {
            let work = model::case::ReadWork {
                io: Io { block: 4096, depth: 8, ..zoo::plain().io },
                engine,
                ..zoo::plain()
            };
            memory_bytes(&Case::own(Work::Read(work)))
        };
        assert_eq!(of(Engine::Load), zoo::plain().io.size);
        assert_eq!(of(Engine::Mmap), 0);
        assert_eq!(of(Engine::Uring), 8 * 4096 * u64::from(zoo::plain().io.threads));
    }
}
