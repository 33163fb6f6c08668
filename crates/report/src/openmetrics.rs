//! An assessment for monitoring, in the text format that the textfile collector of Prometheus's
//! node exporter reads.
//!
//! With a final `# EOF` line it would also be valid OpenMetrics; names and base units follow the
//! conventions of both. docs/formats.md defines each metric. Unknown values and figures of void
//! cases have no samples.

use crate::MARK;
use crate::goals;
use crate::metric::{self, FAMILIES, Family, GaugeLabels, Metric, label};
use crate::style::printable;
use crate::words;
use assess::Assessment;
use assess::conclusions::fit::MetGoal;
use assess::decision::Decision;
use assess::finding::{Code, Severity, Verdict};
use assess::summary::Summary;
use assess::trials::TrialFigures;
use model::axis::{AXES, Axis, Quantity};
use model::record::End;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::UNIX_EPOCH;

/// The prefix of all names.
const PREFIX: &str = "ioassay_";

/// Makes the samples of a metric.
type Samples = fn(&Assessment, &CaseNames) -> Vec<(GaugeLabels, f64)>;

/// A metric.
struct Gauge {
    name: &'static str,
    help: &'static str,
    samples: Samples,
}

const fn gauge(name: &'static str, samples: Samples) -> Gauge {
    Gauge { name, help: "", samples }
}

impl Gauge {
    const fn help(self, help: &'static str) -> Gauge {
        Gauge { help, ..self }
    }
}

/// A sample of the whole run.
fn one(value: f64) -> Vec<(GaugeLabels, f64)> {
    vec![(GaugeLabels::new(), value)]
}

/// Metrics of the run. All are gauges: the run is over, so nothing counts up.
const OF_RUN: [Gauge; 6] = [
    gauge("run_info", run_info).help("What was run, and where; always 1."),
    gauge("run_timestamp_seconds", run_timestamp)
        .help("When the run began, in seconds since 1970."),
    gauge("run_complete", |run, _| one(flag(run.end == End::Complete))).help(
        "Whether the run was carried out to its end: 0 if it was stopped, or its record is cut \
         off.",
    ),
    gauge("run_invocations", |run, _| one(f64::from(run.repetition.invocations))).help(
        "Fresh starts in the run, with new workers and files. With 1, intervals hold within this \
         run only.",
    ),
    gauge("goal_outcome", goal_outcomes)
        .help("Whether a goal is met: 1 for the outcome that it has, 0 for others."),
    gauge("run_damage", |run, _| one(run.damage.len() as f64)).help(
        "Kinds of problems found in the record; the trials they affect are not in these figures.",
    ),
];

/// Metrics of cases, besides their figures.
const OF_CASES: [Gauge; 4] = [
    gauge("case_verdict", verdicts)
        .help("What the figures of a case are worth: 1 for the verdict that it has, 0 for others."),
    gauge("case_trials", trials).help("Trials of a case, by what became of them."),
    gauge("findings", findings)
        .help("Cases on which a finding was made; 1 if it is about the whole run."),
    gauge("skipped_cases", |run, _| one(run.skips.len() as f64)).help(
        "Requested cases that were not measured, because their figures would mean nothing here.",
    ),
];

/// The names of all metrics, in order.
pub fn metric_names() -> Vec<String> {
    let of = |gauges: &[Gauge]| gauges.iter().map(|gauge| gauge.name).collect::<Vec<_>>();
    let figures = FAMILIES.into_iter().flatten().map(|(name, _)| *name);
    let names = of(&OF_RUN).into_iter().chain(figures).chain(of(&OF_CASES));
    names.map(|name| format!("{PREFIX}{name}")).collect()
}

/// A run as metrics; each has the recipe and the directory as labels.
pub fn openmetrics(assessment: &Assessment) -> String {
    let mut out = format!("# {MARK} {}\n", printable(&assessment.header.tool.version));
    let (common, names) = (common(assessment), names(assessment));
    let mut put = |name: &str, help: &str, samples: Vec<(GaugeLabels, f64)>| {
        if samples.is_empty() {
            return;
        }
        out.push_str(&format!("# HELP {PREFIX}{name} {help}\n# TYPE {PREFIX}{name} gauge\n"));
        for (labels, value) in samples {
            let labels = said(common.iter().chain(&labels));
            let value = if value == f64::INFINITY { "+Inf".to_string() } else { value.to_string() };
            out.push_str(&format!("{PREFIX}{name}{{{labels}}} {value}\n"));
        }
    };
    for Gauge { name, help, samples } in OF_RUN {
        put(name, help, samples(assessment, &names));
    }
    for family in FAMILIES {
        for (end, (name, help)) in family.iter().enumerate() {
            put(name, help, figures(assessment, &names, family, end));
        }
    }
    for Gauge { name, help, samples } in OF_CASES {
        put(name, help, samples(assessment, &names));
    }
    out
}

/// The samples of a family: the figures (`end` 0), or one end of their intervals.
fn figures(
    assessment: &Assessment,
    names: &CaseNames,
    family: Family,
    end: usize,
) -> Vec<(GaugeLabels, f64)> {
    let sample = |summary: &Summary, metric: &Metric| {
        let (_, labels) = metric.gauge.filter(|(of, _)| *of == family)?;
        let all =
            of_case(summary, names).into_iter().chain(axes(summary)).chain(labels.of(summary)?);
        Some((all.collect(), metric.based(summary)[end]?))
    };
    let standing = assessment.measured().filter(|summary| summary.verdict.stands());
    standing
        .flat_map(|summary| metric::all().filter_map(move |metric| sample(summary, metric)))
        .collect()
}

/// Labels of all samples; they tell the samples of several files apart.
fn common(assessment: &Assessment) -> GaugeLabels {
    let directory = assessment.header.storage.as_ref().map(|storage| storage.directory.display());
    let directory = directory.map_or(String::new(), |directory| directory.to_string());
    vec![label("recipe", &assessment.header.plan.recipe), label("directory", directory)]
}

fn said<'a>(labels: impl Iterator<Item = &'a (Cow<'static, str>, String)>) -> String {
    let label = |(name, value): &(Cow<str>, String)| format!("{name}=\"{}\"", escaped(value));
    labels.map(label).collect::<Vec<_>>().join(",")
}

/// Escapes the value of a label; control characters become spaces.
fn escaped(value: &str) -> String {
    printable(value).replace('\\', r"\\").replace('"', "\\\"")
}

fn flag(is_so: bool) -> f64 {
    f64::from(u8::from(is_so))
}

fn run_info(assessment: &Assessment, _: &CaseNames) -> Vec<(GaugeLabels, f64)> {
    let host = &assessment.header.host;
    let mut labels = vec![
        label("version", &assessment.header.tool.version),
        label("host", &host.name),
        label("os", &host.os),
        label("cpu", &host.cpu),
    ];
    if let Some(storage) = &assessment.header.storage {
        let devices: Vec<&str> = storage.devices.iter().map(|each| each.name.as_str()).collect();
        labels.push(label("file_system", &storage.file_system));
        labels.push(label("devices", devices.join(",")));
    }
    if let Some(host) = &assessment.one_host {
        labels.push(label("of_hosts", host.of.to_string()));
    }
    vec![(labels, 1.0)]
}

fn goal_outcomes(assessment: &Assessment, _: &CaseNames) -> Vec<(GaugeLabels, f64)> {
    let goals = assessment.conclusions.fit.iter().flat_map(|fit| &fit.goals);
    let of = |goal: &MetGoal| {
        let sample = |outcome: &Decision| {
            let labels = [
                label("goal", goal.goal.must.to_string()),
                label("says", goal.goal.says.as_deref().unwrap_or_default()),
                label("outcome", goals::outcome(*outcome)),
            ];
            (labels.to_vec(), flag(goal.fit == *outcome))
        };
        Decision::ALL.iter().map(sample).collect::<Vec<_>>()
    };
    goals.flat_map(of).collect()
}

fn run_timestamp(assessment: &Assessment, _: &CaseNames) -> Vec<(GaugeLabels, f64)> {
    let began = humantime::parse_rfc3339_weak(&assessment.header.began).ok();
    let since = began.and_then(|began| began.duration_since(UNIX_EPOCH).ok());
    since.map(|since| one(since.as_secs_f64())).unwrap_or_default()
}

/// The labels that identify a case.
fn of_case(summary: &Summary, names: &CaseNames) -> GaugeLabels {
    let name = names.get(summary.id.as_str()).unwrap_or(&summary.id);
    vec![label("case", name), label("role", summary.role.name())]
}

/// What to call each case in metrics, by its id.
pub(crate) type CaseNames<'a> = HashMap<&'a str, String>;

/// Axes whose values a recipe leaves to the machine. With them, a case would have another name on
/// each host, and no query could be about all of them. Each has a label of its own.
const OF_MACHINE: [&str; 3] = ["isa", "working_set", "size"];

/// The ids without the axes of the machine, or only without some of them if cases of the run would
/// share a name.
pub(crate) fn names(assessment: &Assessment) -> CaseNames<'_> {
    let without = |axes: &[&str]| -> CaseNames<'_> {
        let summaries = assessment.measured();
        summaries.map(|summary| (summary.id.as_str(), stripped(summary, axes))).collect()
    };
    let is_unique = |names: &CaseNames| {
        let different: HashSet<&String> = names.values().collect();
        different.len() == names.len()
    };
    let shorter = [without(&OF_MACHINE), without(&OF_MACHINE[..1])];
    shorter.into_iter().find(is_unique).unwrap_or_default()
}

/// The id of a case without the values of `axes`.
fn stripped(summary: &Summary, axes: &[&str]) -> String {
    let value = |name: &&str| Axis::named(name)?.value(&summary.case);
    let values: Vec<String> = axes.iter().filter_map(value).collect();
    let mut words: Vec<&str> = Vec::new();
    for word in summary.id.split(' ') {
        if !values.iter().any(|value| value == word) {
            words.push(word);
        } else if words.last() == Some(&"of") {
            words.pop();
        }
    }
    words.join(" ")
}

/// The axes of a case, with the same names as in CSV.
fn axes(summary: &Summary) -> impl Iterator<Item = (Cow<'static, str>, String)> {
    AXES.iter().filter_map(|axis| {
        let value = match axis.quantity(&summary.case)? {
            Quantity::Text(text) => text,
            Quantity::Whole(whole) => whole.to_string(),
            Quantity::Real(real) => real.to_string(),
        };
        Some((axis.column(), value))
    })
}

fn verdicts(assessment: &Assessment, names: &CaseNames) -> Vec<(GaugeLabels, f64)> {
    let of = |summary: &Summary| {
        let sample = |verdict: &Verdict| {
            let mut labels = of_case(summary, names);
            labels.push(label("verdict", verdict.name()));
            (labels, flag(summary.verdict == *verdict))
        };
        Verdict::ALL.iter().map(sample).collect::<Vec<_>>()
    };
    assessment.measured().flat_map(of).collect()
}

fn trials(assessment: &Assessment, names: &CaseNames) -> Vec<(GaugeLabels, f64)> {
    let mut samples = Vec::new();
    for summary in assessment.measured() {
        for fate in ["counted", "excluded", "unavailable", "failed"] {
            let is_such = |trial: &&TrialFigures| words::fate(&trial.fate).0 == fate;
            let mut labels = of_case(summary, names);
            labels.push(label("fate", fate));
            samples.push((labels, summary.trials.iter().filter(is_such).count() as f64));
        }
    }
    samples
}

fn findings(assessment: &Assessment, _: &CaseNames) -> Vec<(GaugeLabels, f64)> {
    let mut counts: BTreeMap<(Severity, Code), u32> = BTreeMap::new();
    let of_cases = assessment.measured().flat_map(|summary| &summary.findings);
    let of_run = assessment.findings.iter().filter(|found| found.is_of_run());
    for finding in of_cases.chain(of_run.map(|found| &found.finding)) {
        *counts.entry((finding.severity, finding.code)).or_default() += 1;
    }
    let sample = |((severity, code), count): ((Severity, Code), u32)| {
        let (severity, code) = (severity.name(), code.name());
        (vec![label("code", code), label("severity", severity)], f64::from(count))
    };
    counts.into_iter().map(sample).collect()
}
