//! The assessment as JSON, in the form of [`crate::contract`].

mod host;
mod memory;
mod records;
mod storage;
mod trial;
mod writing;

use crate::contract as wire;
use assess::answer::Answer;
use assess::comparison::Comparison;
use assess::decision::{Lead, Rated};
use assess::disturbance::{Excluded, Gate};
use assess::finding::Finding;
use assess::percentile::Percentile;
use assess::records::RecordComparison;
use assess::repetition::Repetition;
use assess::stats::Estimate;
use assess::summary::{Ceiling, Latency, Loaded, Summary};
use assess::{Assessment, RunFinding};
use model::peer::Peer;
use model::plan::Skip;
use model::record::End;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use std::io::{self, Write};

/// The assessment as pretty JSON, with a line end.
pub fn json(assessment: &Assessment) -> String {
    pretty(&report(assessment))
}

/// Writes two records compared as pretty JSON, with a line end; `paths` are where they are. Of the
/// largest records this is 190 MB, too much to hold in memory.
///
/// # Errors
/// When `out` cannot be written.
pub fn json_of_records(
    versus: &RecordComparison,
    paths: [&str; 2],
    mut out: impl Write,
) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut out, &records::versus(versus, paths))?;
    writeln!(out)
}

fn pretty(contract: &impl serde::Serialize) -> String {
    let text = serde_json::to_string_pretty(contract);
    text.expect("the contract holds plain data only") + "\n"
}

/// The JSON schema (draft 2020-12) of [`json`], pretty, with a line end.
pub fn json_schema() -> String {
    schema_of::<wire::Report<'static>>()
}

/// The JSON schema of [`json_of_records`].
pub fn json_schema_of_records() -> String {
    schema_of::<wire::RecordComparison<'static>>()
}

fn schema_of<T: JsonSchema>() -> String {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let schema = generator.into_root_schema_for::<T>();
    pretty(&schema)
}

fn report(assessment: &Assessment) -> wire::Report<'_> {
    wire::Report {
        format: wire::FORMAT,
        tool: wire::Tool {
            name: &assessment.tool.name,
            version: &assessment.tool.version,
            command: &assessment.tool.command,
        },
        began: &assessment.began,
        end: match assessment.end {
            End::Complete => "complete",
            End::Interrupted => "interrupted",
            End::Missing => "missing",
        },
        damage: &assessment.damage,
        recipe: &assessment.recipe,
        rounds: assessment.rounds,
        repetition: repetition(&assessment.repetition),
        seed: assessment.seed,
        host: host::host(&assessment.host),
        storage: assessment.storage.as_ref().map(storage::storage),
        source_storage: assessment.source_storage.as_ref().map(storage::storage),
        fixtures: assessment.fixtures.iter().map(storage::fixture).collect(),
        peers: assessment.peers.iter().map(peer).collect(),
        cases: assessment.measured().map(case).collect(),
        skips: assessment.skips.iter().map(skip).collect(),
        comparisons: assessment.comparisons.iter().map(comparison).collect(),
        control: assessment.control.as_ref().map(records::control),
        findings: assessment.findings.iter().map(run_finding).collect(),
        overhead_ns: assessment.overhead_ns,
        answer: assessment.answer.as_ref().map(answer),
        levels: assessment.levels.iter().map(memory::levels).collect(),
        saturations: assessment.saturations.iter().map(memory::saturation).collect(),
        counting: assessment.counting.iter().map(memory::counting).collect(),
        writing: assessment.writing.as_ref().map(writing::answer),
        touching: assessment.touching.iter().map(writing::touching).collect(),
        sustain_s: assessment.sustain.map(|time| time.as_secs_f64()),
        memory_limit: assessment.memory_limit,
        bound: wire::Binding { pin: assessment.bound.pin.as_deref(), node: assessment.bound.node },
    }
}

fn case(summary: &Summary) -> wire::Case<'_> {
    wire::Case {
        id: &summary.id,
        case: wire::Axes(&summary.case),
        role: summary.role.name(),
        n: summary.n,
        failures: summary
            .failures
            .iter()
            .map(|(reason, trials)| wire::Failure { reason, trials: *trials })
            .collect(),
        excluded: summary.excluded.as_ref().map(excluded),
        verdict: summary.verdict.name(),
        served_by: summary.served_by.map(|served| served.name()),
        hit_share: summary.hit_share,
        throughput: summary.throughput.as_ref().map(estimate),
        loaded: summary.loaded.as_ref().map(loaded),
        bus: summary.bus.as_ref().map(estimate),
        iops: summary.iops.as_ref().map(estimate),
        ns_per_op: summary.ns_per_op.as_ref().map(estimate),
        latency_ns: latency(&summary.latency),
        latency_ns_intervals: intervals(&summary.latency),
        writing: summary.writing.as_ref().map(writing::writing),
        course: summary.course.as_ref().map(writing::course),
        spent: summary.spent.map(writing::spent),
        imbalance_percent: summary.imbalance_percent,
        start_skew_ns: summary.start_skew_ns,
        setup_ns: summary.setup_ns,
        warm_up_ns: summary.warm_up_ns,
        cpu_ns_per_op: summary.cpu_ns_per_op,
        counters: trial::counters(summary.counters),
        bytes_per_trial: summary.bytes_per_trial,
        device_bytes: summary.device_bytes,
        ceiling: summary.ceiling.map(ceiling),
        is_ceiling: summary.is_ceiling,
        of_memory: summary.of_memory,
        findings: summary.findings.iter().map(finding).collect(),
        digest_verified: summary.digest_verified,
        counted: summary.counted,
        trials: summary.trials.iter().map(trial::trial).collect(),
    }
}

fn excluded(excluded: &Excluded) -> wire::Excluded {
    let Excluded { trials, reasons, rate_with_them } = excluded;
    let reason =
        |(gate, trials): &(Gate, usize)| wire::Reason { reason: gate.name(), trials: *trials };
    wire::Excluded {
        trials: *trials,
        reasons: reasons.iter().map(reason).collect(),
        rate_with_them: estimate(rate_with_them),
    }
}

fn ceiling(ceiling: Ceiling) -> wire::Ceiling {
    wire::Ceiling { kind: ceiling.kind.name(), share: ceiling.share }
}

fn loaded(loaded: &Loaded) -> wire::Loaded {
    wire::Loaded {
        throughput: estimate(&loaded.throughput),
        load_ns: estimate(&loaded.load_ns),
        served_by: loaded.served_by.name(),
        of_memory: loaded.of_memory,
        ceiling: loaded.ceiling.map(ceiling),
    }
}

fn peer(peer: &Peer) -> wire::Peer<'_> {
    wire::Peer {
        name: &peer.name,
        version: peer.version.as_deref(),
        build: peer.build.as_deref(),
        vector_bits: peer.vector_bits,
        unavailable: peer.unavailable.as_deref(),
    }
}

fn repetition(repetition: &Repetition) -> wire::Repetition {
    wire::Repetition {
        invocations: repetition.invocations,
        has_new_files: repetition.has_new_files,
        is_dependence_checked: repetition.is_dependence_checked,
        invocation_s: repetition.costs.map(|costs| costs.invocation_s),
        round_s: repetition.costs.map(|costs| costs.round_s),
        advised_rounds: repetition.advised_rounds,
    }
}

fn estimate(estimate: &Estimate) -> wire::Estimate {
    let Estimate { n: _, invocations, median, low, high, mean, min, max, spread } = *estimate;
    let holds = estimate.holds().name();
    let between = spread.map(|spread| spread.between);
    let within = spread.and_then(|spread| spread.within);
    wire::Estimate { median, low, high, min, max, mean, invocations, holds, between, within }
}

fn latency(latency: &Latency) -> wire::Latency {
    let ns = |percentile: Option<Percentile>| percentile.map(|p| p.ns);
    wire::Latency {
        p50: ns(latency.p50),
        p90: ns(latency.p90),
        p99: ns(latency.p99),
        p99_9: ns(latency.p99_9),
        p99_99: ns(latency.p99_99),
        max: latency.max_ns,
        count: latency.count,
    }
}

fn intervals(latency: &Latency) -> wire::LatencyIntervals {
    let interval = |percentile: Option<Percentile>| {
        percentile.map(|p| wire::Interval { low: p.low_ns, high: p.high_ns, solid: p.solid })
    };
    wire::LatencyIntervals {
        p50: interval(latency.p50),
        p90: interval(latency.p90),
        p99: interval(latency.p99),
        p99_9: interval(latency.p99_9),
        p99_99: interval(latency.p99_99),
    }
}

fn finding(finding: &Finding) -> wire::Finding<'_> {
    wire::Finding {
        code: finding.code.name(),
        severity: finding.severity.name(),
        message: &finding.message,
        remedy: &finding.remedy,
    }
}

fn run_finding(found: &RunFinding) -> wire::RunFinding<'_> {
    wire::RunFinding {
        code: found.finding.code.name(),
        severity: found.finding.severity.name(),
        message: &found.finding.message,
        remedy: &found.finding.remedy,
        cases: &found.cases,
    }
}

fn skip(skip: &Skip) -> wire::Skip<'_> {
    wire::Skip { id: skip.case.id(), case: wire::Axes(&skip.case), reason: &skip.reason }
}

fn comparison(comparison: &Comparison) -> wire::Comparison<'_> {
    wire::Comparison {
        case: &comparison.case,
        base: &comparison.base,
        pairs: comparison.pairs,
        invocations: comparison.invocations,
        ratio: comparison.ratio,
        low: comparison.low,
        high: comparison.high,
        difference: comparison.difference.name(),
        interest: comparison.interest,
        needs: comparison.needs,
    }
}

fn answer(answer: &Answer) -> wire::Answer<'_> {
    let median = |rated: &Rated| rated.rate.median;
    wire::Answer {
        memory: median(&answer.memory),
        page_cache: answer.page_cache.as_ref().map(median),
        device: answer.device.as_ref().map(|fastest| {
            let (lead, ratio) = (&fastest.lead, fastest.of_memory.ratio());
            wire::Fastest {
                id: &lead.best().row.id,
                throughput: median(lead.best()),
                of_memory: ratio.median,
                low: ratio.low,
                high: ratio.high,
                is_faster: fastest.of_memory.decision().name(),
                alike: alike(lead),
                bound: fastest.bound.name(),
            }
        }),
        device_latency_ns: answer.device_latency.as_ref().map(|waited| waited.ns.round() as u64),
        memory_latency_ns: answer.memory_latency.as_ref().map(|waited| waited.ns),
    }
}

/// The ids of what cannot be told apart from the fastest.
fn alike(lead: &Lead) -> Vec<&str> {
    lead.alike().iter().map(|row| row.id.as_str()).collect()
}
