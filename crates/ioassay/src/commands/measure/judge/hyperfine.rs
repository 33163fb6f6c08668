//! The results as hyperfine exports them, for scripts that read that.

use assess::Assessment;
use assess::summary::Summary;
use assess::trials::Fate;
use model::case::Cache;
use model::command::filled;
use model::plan::Role;
use model::record::Record;
use model::sample::Sample;
use serde::Serialize;
use std::collections::BTreeMap;

/// What hyperfine writes with `--export-json`.
#[derive(Debug, Serialize)]
struct Export {
    /// Tells the file from one of hyperfine's.
    generator: &'static str,
    results: Vec<Timed>,
}

/// The runs of one command with one value of each parameter. Times are in seconds.
#[derive(Debug, Serialize)]
struct Timed {
    command: String,
    mean: f64,
    stddev: Option<f64>,
    median: f64,
    user: f64,
    system: f64,
    min: f64,
    max: f64,
    times: Vec<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    memory_usage_byte: Vec<u64>,
    exit_codes: Vec<Option<u32>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<String, String>,
}

/// The text of the export: an entry for each command in each cache state that has a valid time. Of
/// several states, each is a parameter `cache`.
pub(super) fn export(record: &Record, assessment: &Assessment) -> String {
    let asked = || assessment.cases.iter().filter(|summary| summary.role == Role::Asked);
    let states = asked().filter_map(|summary| summary.case.cache());
    let is_one_state = states.collect::<std::collections::HashSet<Cache>>().len() < 2;
    let timed = |summary: &Summary| timed(record, summary, is_one_state);
    let results = asked().filter_map(timed).collect();
    let export = Export { generator: report::MARK, results };
    serde_json::to_string_pretty(&export).expect("the export has only text and numbers")
}

fn timed(record: &Record, summary: &Summary, is_one_state: bool) -> Option<Timed> {
    let work = summary.case.command()?;
    let samples = counted(record, summary);
    let mut times: Vec<f64> = samples.iter().map(|it| seconds(it.elapsed_ns())).collect();
    let mean_of = |of: &dyn Fn(&Sample) -> Option<u64>| {
        let known: Vec<f64> = samples.iter().filter_map(|it| of(it)).map(seconds).collect();
        mean(&known)
    };
    let peak = |sample: &&Sample| sample.exit?.peak_bytes;
    let mut parameters = record.header.plan.command(&summary.case)?.parameters.clone();
    // As hyperfine has it.
    let command = filled(&work.command, &parameters);
    if !is_one_state {
        parameters.insert("cache".to_string(), work.cache.to_string());
    }
    let timed = Timed {
        command,
        mean: mean(&times)?,
        stddev: deviation(&times),
        user: mean_of(&|sample| sample.usage.user_ns)?,
        system: mean_of(&|sample| sample.usage.system_ns)?,
        times: times.clone(),
        memory_usage_byte: samples.iter().filter_map(peak).collect(),
        exit_codes: samples.iter().map(|it| it.exit.and_then(|exit| exit.status)).collect(),
        parameters,
        median: 0.0,
        min: 0.0,
        max: 0.0,
    };
    times.sort_by(f64::total_cmp);
    let median = f64::midpoint(times[(times.len() - 1) / 2], times[times.len() / 2]);
    Some(Timed { median, min: times[0], max: times[times.len() - 1], ..timed })
}

/// The samples of a case that count, in the order of rounds.
fn counted<'r>(record: &'r Record, summary: &Summary) -> Vec<&'r Sample> {
    let plan = &record.header.plan;
    let Some(case) = plan.cases.iter().position(|planned| planned.case == summary.case) else {
        return Vec::new();
    };
    let counts = summary.trials.iter().filter(|trial| trial.fate == Fate::Counted);
    let of = |invocation: u32, round: u32| {
        record
            .trials
            .iter()
            .find(|trial| (trial.case, trial.invocation, trial.round) == (case, invocation, round))
    };
    counts.filter_map(|trial| of(trial.invocation, trial.round)?.sample()).collect()
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / model::units::NS_PER_SECOND
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The standard deviation of a sample; `None` of fewer than two.
fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() > 1)?;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}
