//! Cases and findings made by hand, from which assessments are built.

use assess::Assessment;
use assess::RunFinding;
use assess::comparison::{Comparison, Difference};
use assess::conclusions::Conclusions;
use assess::conclusions::commits::commits;
use assess::decision::{Decided, Lead, Rated};
use assess::disturbance::Exclusion;
use assess::failure::Failure;
use assess::finding::{Code, Finding, Severity, Verdict};
use assess::percentile::Percentile;
use assess::repetition::Repetition;
use assess::stats::Estimate;
use assess::summary::{Ceiling, CeilingKind, Counters, Latency, ServedBy, Summary};
use assess::trials::{Fate, Figures, TrialFigures, TrialLatencies};
use model::case::{
    Cache, Case, Engine, Io, Isa, Kernel, MemoryWork, Pages, ReadWork, STEP, Touch, Work,
};
use model::pattern::Pattern;
use model::plan::Role;
use model::record::End;
use model::view::View;
use model::zoo;
use serde::Deserialize;
use std::time::Duration;

pub(crate) fn estimate(median: f64) -> Estimate {
    Estimate {
        n: 10,
        invocations: 1,
        median,
        low: Some(median * 0.977),
        high: Some(median * 1.031),
        mean: median * 1.002,
        min: median * 0.91,
        max: median * 1.06,
        spread: None,
    }
}

/// A case over its base by this ratio, with an interval of its ends; none below six rounds.
pub(crate) fn comparison(
    [case, base]: [&Summary; 2],
    pairs: usize,
    [ratio, low, high]: [f64; 3],
) -> Comparison {
    let interest = if base.served_by == Some(ServedBy::Device) { 0.05 } else { 0.02 };
    let has_interval = pairs >= 6;
    let effect = |ratio: f64| ratio.max(1.0 / ratio) - 1.0;
    let is_in_doubt = [case, base].iter().any(|row| row.verdict != Verdict::Sound);
    let difference = if is_in_doubt {
        Difference::InDoubt
    } else if !has_interval {
        Difference::Inconclusive
    } else if (low > 1.0 || high < 1.0) && effect(ratio) >= interest {
        Difference::Different
    } else if effect(low) <= interest && effect(high) <= interest {
        Difference::Equivalent
    } else {
        Difference::Inconclusive
    };
    Comparison {
        case: case.id.clone(),
        base: base.id.clone(),
        pairs,
        invocations: 1,
        ratio,
        low: has_interval.then_some(low),
        high: has_interval.then_some(high),
        difference,
        interest,
        needs: (difference == Difference::Inconclusive).then_some(pairs + 14),
    }
}

/// Whether a case is faster than its base.
pub(crate) fn is_faster(rows: [&Summary; 2], pairs: usize, ratio: [f64; 3]) -> Decided {
    Decided::is_faster(comparison(rows, pairs, ratio), rows).expect("both stand")
}

/// Whether a case differs from its base.
pub(crate) fn differs(rows: [&Summary; 2], pairs: usize, ratio: [f64; 3]) -> Decided {
    Decided::differs(comparison(rows, pairs, ratio), rows).expect("both stand")
}

/// The first of `rows` as the fastest by this rate: the others are slower by so much, with an
/// interval of 3 % around that.
pub(crate) fn lead(rate: Estimate, best: &Summary, others: &[(&Summary, f64)]) -> Lead {
    let against: Vec<Decided> = others
        .iter()
        .map(|(other, ratio)| is_faster([best, other], 10, [*ratio, ratio * 0.97, ratio * 1.03]))
        .collect();
    Lead::of(Rated::of(best, rate).expect("it stands"), against, 0)
}

pub(crate) fn percentile(ns: f64, solid: bool) -> Option<Percentile> {
    let ns = ns as u64;
    Some(Percentile { ns, low_ns: Some(ns - ns / 50), high_ns: Some(ns + ns / 40), solid })
}

/// Percentiles of `count` reads around `p50`, as far as that many allow.
pub(crate) fn latency(p50: f64, count: u64) -> Latency {
    let of = |above: u64, factor: f64| {
        let tail = count / above;
        (tail >= 10).then(|| percentile(p50 * factor, tail >= 100)).flatten()
    };
    Latency {
        count,
        p50: of(2, 1.0),
        p90: of(10, 1.4),
        p99: of(100, 2.6),
        p99_9: of(1_000, 5.1),
        p99_99: of(10_000, 9.7),
        max_ns: Some((p50 * 31.0) as u64),
        longer: longer(p50, count),
    }
}

/// The shares that took longer than some multiples of `p50`, as far as `count` reads tell.
fn longer(p50: f64, count: u64) -> Vec<(u64, f64)> {
    let shape = [
        (0.7, 0.97),
        (0.85, 0.8),
        (1.0, 0.5),
        (1.4, 0.1),
        (2.6, 1e-2),
        (5.1, 1e-3),
        (9.7, 1e-4),
        (16.0, 1e-5),
    ];
    let told = shape.into_iter().filter(|(_, share)| share * count as f64 >= 1.0);
    let points = told.map(|(factor, share)| ((p50 * factor) as u64, share));
    points.chain([((p50 * 31.0) as u64, 0.0)]).collect()
}

/// Ten rounds around `rate` bytes a second, each of 1 GiB in blocks of `block` bytes; the fourth
/// was left out.
fn trials(rate: f64, block: u64, p50: f64) -> Vec<TrialFigures> {
    let trial = |round: u32| {
        let drift = [0.91, 1.0, 1.02, 0.78, 0.98, 1.03, 1.0, 0.99, 1.06, 1.01][round as usize];
        let (bytes, rate) = (1 << 30, rate * drift);
        TrialFigures {
            invocation: 0,
            round,
            fate: if round == 3 { Fate::Excluded(Exclusion::Steal) } else { Fate::Counted },
            figures: Some(Figures {
                bytes,
                ops: bytes / block,
                elapsed_ns: (bytes as f64 / rate * 1e9) as u64,
                synced_ns: None,
                throughput: Some(rate),
                acknowledged: None,
                durable: None,
                iops: Some(rate / block as f64),
                latencies: TrialLatencies {
                    p50_ns: Some((p50 / drift) as u64),
                    p99_ns: Some((2.6 * p50 / drift) as u64),
                    p99_9_ns: None,
                    max_ns: Some((31.0 * p50) as u64),
                },
                syncs: TrialLatencies::default(),
                responses: TrialLatencies::default(),
                unsent: None,
                read_ops: None,
                reads: TrialLatencies::default(),
                writes: TrialLatencies::default(),
                pages: None,
                span_cpu_ns: Some(120_000_000),
                working_cpu_ns: None,
                span_user_ns: Some(20_000_000),
                span_system_ns: Some(100_000_000),
                exit: None,
                evidence: zoo::record().trials[0].evidence.clone(),
            }),
        }
    };
    (0..10).map(trial).collect()
}

pub(crate) fn file(engine: Engine, cache: Cache, pattern: Pattern, block: u64) -> ReadWork {
    let size = 1 << 30;
    let time = Duration::from_millis(500);
    ReadWork {
        io: Io { cache, pattern, block, size, time, ..zoo::plain().io },
        engine,
        ..zoo::plain()
    }
}

/// A case of one thread reading at `rate` bytes a second.
pub(crate) fn measured(work: ReadWork, served_by: ServedBy, rate: f64) -> Summary {
    let block = work.io.block as f64;
    let ns_per_op = block * 1e9 * f64::from(work.io.threads) / rate;
    let in_flight = f64::from(work.io.depth);
    let has_threads = work.io.threads > 1;
    let count = if work.io.ops > 0 { work.io.ops * 10 } else { 400_000 };
    let trials = trials(rate, work.io.block, ns_per_op * in_flight);
    let counters = Counters {
        minor_faults: Some(131),
        major_faults: Some(0),
        switches_voluntary: Some(2_048),
        switches_involuntary: Some(17),
    };
    let case = Case::own(Work::Read(work));
    Summary {
        id: case.id(),
        case,
        role: Role::Asked,
        n: 10,
        failures: Vec::new(),
        excluded: None,
        verdict: Verdict::Sound,
        served_by: Some(served_by),
        level: None,
        hit_share: Some(if served_by == ServedBy::Device { 0.0 } else { 1.0 }),
        hit_share_most: Some(if served_by == ServedBy::Device { 0.0 } else { 1.0 }),
        cacheable_share: None,
        throughput: Some(estimate(rate)),
        loaded: None,
        bus: None,
        iops: Some(estimate(rate / block)),
        ns_per_op: Some(estimate(ns_per_op)),
        latency: latency(ns_per_op * in_flight * 0.96, count),
        open: None,
        mixed: None,
        shared: None,
        beside: Vec::new(),
        names: None,
        told: None,
        command: None,
        writing: None,
        course: None,
        spent: None,
        imbalance_percent: has_threads.then_some(3.4),
        start_skew_ns: has_threads.then_some(42_000.0),
        setup_ns: Some(100_000.0),
        warm_up_ns: None,
        cpu_ns_per_op: Some(ns_per_op.min(4_100.0) * 0.97),
        bytes_per_trial: Some(1 << 30),
        device_bytes: Some(if served_by == ServedBy::Device { 1 << 30 } else { 0 }),
        folio_bytes: None,
        ceiling: Some(Ceiling { kind: CeilingKind::Memory, share: rate / 11.2e9 }),
        link: None,
        is_ceiling: false,
        of_memory: Some(rate / 11.2e9),
        findings: Vec::new(),
        digest_verified: Some(true),
        counted: None,
        counters,
        trials,
    }
}

pub(crate) fn memory(kernel: Kernel, threads: u32, rate: f64) -> Summary {
    let isa = if kernel == Kernel::Chase { Isa::Scalar } else { Isa::Avx2 };
    let time = Duration::from_millis(200);
    let work = MemoryWork {
        kernel,
        isa,
        working_set: 128 << 20,
        pages: Pages::Huge,
        step: STEP,
        threads,
        time,
    };
    let case = Case::own(Work::Memory(work));
    let is_chase = kernel == Kernel::Chase;
    Summary {
        id: case.id(),
        case,
        latency: Latency::default(),
        ns_per_op: Some(estimate(if is_chase { 98.1 } else { 1e6 })),
        cpu_ns_per_op: None,
        is_ceiling: kernel == Kernel::Read,
        of_memory: (!is_chase).then_some(rate / 11.2e9),
        ceiling: None,
        bus: kernel
            .bus_arrays()
            .map(|arrays| estimate(rate * arrays as f64 / kernel.arrays() as f64)),
        device_bytes: Some(0),
        folio_bytes: None,
        hit_share: None,
        hit_share_most: None,
        cacheable_share: None,
        ..measured(zoo::plain(), ServedBy::Ram, rate)
    }
}

pub(crate) fn null() -> Summary {
    let work =
        ReadWork { touch: Touch::None, ..file(Engine::Null, Cache::AsIs, Pattern::Random, 4096) };
    Summary {
        role: Role::Baseline,
        ns_per_op: Some(estimate(16.4)),
        ceiling: None,
        of_memory: None,
        digest_verified: None,
        ..measured(work, ServedBy::NoIo, 250e9)
    }
}

/// Adds a finding to a case; the verdict follows.
pub(crate) fn found(mut summary: Summary, finding: &Finding) -> Summary {
    summary.verdict = summary.verdict.max(match finding.severity {
        Severity::Note => Verdict::Sound,
        Severity::Doubt => Verdict::Doubtful,
        Severity::Void => Verdict::Void,
    });
    summary.findings.insert(0, finding.clone());
    summary
}

pub(crate) fn finding(code: Code, severity: Severity, message: &str, remedy: &str) -> Finding {
    let (message, remedy) = (message.to_string(), remedy.to_string());
    Finding { code, severity, size: None, message, remedy }
}

pub(crate) fn steal() -> Finding {
    finding(
        Code::Steal,
        Severity::Doubt,
        "the hypervisor took 7.20 % of the CPU time of this machine in 4 of 10 trials",
        "run again when the host is quieter, and compare within a run",
    )
}

pub(crate) fn leak() -> Finding {
    finding(
        Code::CacheLeak,
        Severity::Void,
        "37.2 % of the bytes caused no device read although the file was not in the page cache",
        "use a file of incompressible data that nobody else reads, or cache 'direct'",
    )
}

/// The findings of all cases, one entry for each code and severity, gravest first.
pub(crate) fn gathered(cases: &[Summary]) -> Vec<RunFinding> {
    let mut all: Vec<RunFinding> = Vec::new();
    for summary in cases {
        for finding in &summary.findings {
            let is_same = |known: &RunFinding| {
                (known.finding.code, known.finding.severity) == (finding.code, finding.severity)
            };
            let index = all.iter().position(is_same).unwrap_or_else(|| {
                all.push(of_run(finding.clone()));
                all.len() - 1
            });
            let known = &mut all[index];
            let is_asked = summary.role == Role::Asked;
            let ids = if is_asked { &mut known.cases } else { &mut known.baselines };
            ids.push(summary.id.clone());
        }
    }
    all.sort_by_key(|found| std::cmp::Reverse(found.finding.severity));
    all
}

/// The view of a recipe of this name; the usual one if there is none.
pub(crate) fn view_of(recipe: &str) -> View {
    #[derive(Deserialize)]
    struct Recipe {
        view: View,
    }
    let path = format!("{}/../../recipes/{recipe}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path);
    text.map_or_else(|_| View::default(), |text| toml::from_str::<Recipe>(&text).unwrap().view)
}

/// The assessment in another view.
pub(crate) fn in_view(view: View, mut assessment: Assessment) -> Assessment {
    assessment.header.plan.view = Some(view);
    assessment
}

/// An assessment of these cases on the zoo's machine.
pub(crate) fn assessment(recipe: &str, cases: Vec<Summary>) -> Assessment {
    let mut header = zoo::record().header;
    header.tool.command = ["ioassay", "run", recipe].map(str::to_string).to_vec();
    header.plan.recipe = recipe.to_string();
    header.plan.view = Some(view_of(recipe));
    header.fixtures[0].layout = None;
    Assessment {
        header,
        repetition: Repetition {
            invocations: 1,
            rounds: 10,
            has_new_files: false,
            spread: None,
            costs: None,
            advised_rounds: None,
            is_dependence_checked: true,
        },
        conclusions: Conclusions { commits: commits(cases.iter()), ..Conclusions::default() },
        findings: gathered(&cases),
        cases,
        twins: Vec::new(),
        control: None,
        skips: Vec::new(),
        comparisons: Vec::new(),
        overhead_ns: None,
        one_host: None,
        resumed: Vec::new(),
        campaign: None,
        vitals: Vec::new(),
        end: End::Complete,
        damage: Vec::new(),
    }
}

/// The case where this machine cannot do it.
pub(crate) fn unavailable(summary: &Summary, reason: &str, trials: usize) -> Summary {
    Summary {
        failures: vec![(Failure::Unavailable(reason.to_string()), trials)],
        verdict: Verdict::Unavailable,
        ..without_figures(summary)
    }
}

/// The case if so many trials failed for this reason, which are all.
pub(crate) fn failed(summary: &Summary, reason: &str, trials: usize) -> Summary {
    Summary {
        failures: vec![(Failure::Failed(reason.to_string()), trials)],
        verdict: Verdict::Failed,
        ..without_figures(summary)
    }
}

pub(crate) fn without_figures(summary: &Summary) -> Summary {
    Summary {
        n: 0,
        verdict: Verdict::NotRun,
        served_by: None,
        level: None,
        hit_share: None,
        hit_share_most: None,
        cacheable_share: None,
        throughput: None,
        loaded: None,
        bus: None,
        start_skew_ns: None,
        setup_ns: None,
        warm_up_ns: None,
        counted: None,
        iops: None,
        ns_per_op: None,
        latency: Latency::default(),
        writing: None,
        course: None,
        spent: None,
        imbalance_percent: None,
        cpu_ns_per_op: None,
        bytes_per_trial: None,
        device_bytes: None,
        folio_bytes: None,
        ceiling: None,
        is_ceiling: false,
        of_memory: None,
        findings: Vec::new(),
        digest_verified: None,
        counters: Counters::default(),
        trials: Vec::new(),
        ..summary.clone()
    }
}

/// A finding of a whole run.
pub(crate) fn of_run(finding: Finding) -> RunFinding {
    RunFinding { finding, cases: Vec::new(), baselines: Vec::new() }
}
