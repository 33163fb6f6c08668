//! Two records compared: their differences, each case in both, and the conclusions.

use crate::frame::{self, on};
use crate::grid::{Cell, Grid, LAST, left, right};
use crate::labels::{Labels, common_line};
use crate::sentence::said_ratio;
use crate::style::{Paint, Style};
use crate::words::{NONE, count, difference, difference_paint, listed, per_second, times};
use crate::words::{sentence, times_interval};
use assess::Assessment;
use assess::decision::{Decided, Decision, Open};
use assess::finding::Verdict;
use assess::invocations::{INVOCATIONS_LEAST, RUNS_LEAST};
use assess::records::{Apart, Basis, LeftOut, Pair, RecordComparison};
use assess::summary::Summary;
use assess::trend::Quantity;
use model::units;

/// If there are more cases with the same reason, only the first are named.
const NAMED_MAX: usize = 3;

/// Differences that make the records incomparable, in lines: `size (2 cases): 1MiB in A, 2MiB in
/// B`.
pub fn obstacles(all: &[Apart]) -> Vec<String> {
    all.iter().map(apart).collect()
}

/// A comparison of two records; `paths` are the records' paths.
pub fn records(versus: &RecordComparison, paths: [&str; 2], style: &Style) -> String {
    let mut out = head(versus, paths, style);
    out.push_str(&table(versus).render(style));
    out.push('\n');
    out.push_str(&left_lines(versus, style));
    out.push_str(&style.wrap("", Paint::Plain, &closing(versus)));
    out
}

/// The cases that are not compared, in lines.
pub(crate) fn left_lines(versus: &RecordComparison, style: &Style) -> String {
    let line = |text: String| style.wrap("left   ", Paint::Faint, &sentence(&text));
    left_out(&versus.left_out).into_iter().map(line).collect()
}

/// The lines above a table: both records, and how they differ.
pub(crate) fn head(versus: &RecordComparison, paths: [&str; 2], style: &Style) -> String {
    let [a, b] = origins(versus, paths);
    let mut out = style.wrap("A  ", Paint::Strong, &a);
    out.push_str(&style.wrap("B  ", Paint::Strong, &b));
    for text in missing(versus).into_iter().chain(obstacles(&versus.obstacles)) {
        out.push_str(&style.wrap("! ", Paint::Doubt, &text));
    }
    for text in others(versus) {
        out.push_str(&style.wrap("also   ", Paint::Faint, &text));
    }
    out.push_str(&common_line(&names(versus), style));
    out.push('\n');
    out
}

/// The paths and the runs of both records.
pub(crate) fn origins(versus: &RecordComparison, paths: [&str; 2]) -> [String; 2] {
    [origin(paths[0], &versus.a), origin(paths[1], &versus.b)]
}

/// What is missing in either record, in lines: it was stopped, cut off or damaged.
pub fn missing(versus: &RecordComparison) -> Vec<String> {
    let of = |(side, assessment)| {
        let texts = frame::missing(assessment).into_iter();
        texts.map(move |text| format!("{side}: {text}")).collect::<Vec<_>>()
    };
    [("A", &versus.a), ("B", &versus.b)].into_iter().flat_map(of).collect()
}

/// Other differences, in lines.
pub(crate) fn others(versus: &RecordComparison) -> Vec<String> {
    versus.others.iter().map(apart).collect()
}

/// The labels of the cases in both records.
pub(crate) fn names(versus: &RecordComparison) -> Labels<'_> {
    Labels::of_cases(versus.pairs.iter().map(|pair| &versus.of(pair)[0].case))
}

/// A record's path and run: `a.jsonl · survey of 2026-11-21T10:00:00Z · ext4 on vda`.
pub(crate) fn origin(path: &str, assessment: &Assessment) -> String {
    let run = format!("{} of {} on {}", assessment.recipe, assessment.began, assessment.host.name);
    let mut parts = vec![path.to_string(), run];
    parts.extend(assessment.storage.iter().flat_map(|storage| on(storage, assessment)));
    parts.join(" · ")
}

pub(crate) fn apart(apart: &Apart) -> String {
    let Apart { what, a, b, cases } = apart;
    let whom = match cases {
        0 => String::new(),
        cases => format!(" ({})", count(*cases, "case")),
    };
    let shown = |value: &str| if value.is_empty() { "none".to_string() } else { value.to_string() };
    format!("{what}{whom}: {} in A, {} in B", shown(a), shown(b))
}

/// A row for each case in both records.
pub(crate) fn table(versus: &RecordComparison) -> Grid {
    let names = names(versus);
    let mut grid = Grid::new(vec![
        left("case", 0),
        right("A", 0),
        right("B", 0),
        right("B/A", 0),
        left("95 % CI", LAST),
        right("invocations", 1),
        left("verdict", 0),
    ]);
    for pair in &versus.pairs {
        let found = &pair.comparison;
        let [a, b] = versus.of(pair);
        let paint = difference_paint(found.difference);
        let texts = [
            name([a, b], &names),
            speed(a),
            speed(b),
            times(found.ratio),
            times_interval(found.low, found.high).unwrap_or(NONE.to_string()),
            found.invocations.to_string(),
            difference(found),
        ];
        grid.row(texts.map(|text| Cell::new(text, paint)).to_vec());
    }
    grid
}

/// The name of a case; both names if they differ.
pub(crate) fn name(pair: [&Summary; 2], names: &Labels) -> String {
    let [a, b] = pair.map(|summary| names.label(&summary.case));
    if a == b { a } else { format!("{a} → {b}") }
}

/// The median of the compared quantity, bytes or operations per second; with a question mark if it
/// is doubtful.
pub(crate) fn speed(summary: &Summary) -> String {
    let said = match Quantity::of(&summary.case) {
        Quantity::BytesPerSecond => summary.throughput.map(|found| units::rate(found.median)),
        Quantity::NsPerOp => summary.iops.map(|found| per_second(found.median)),
    };
    let doubt = if summary.verdict == Verdict::Doubtful { "?" } else { "" };
    said.map_or(NONE.to_string(), |said| said + doubt)
}

/// Cases that are not compared, by reason.
pub(crate) fn left_out(all: &[LeftOut]) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for LeftOut { id, reason, .. } in all {
        match reasons.iter_mut().find(|(known, _)| known == reason) {
            Some((_, ids)) => ids.push(id.clone()),
            None => reasons.push((reason, vec![id.clone()])),
        }
    }
    let say = |(reason, ids): (&str, Vec<String>)| {
        let named: Vec<String> = ids.iter().take(NAMED_MAX).cloned().collect();
        let more = ids.len() - named.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("not compared, because {reason}: {}{more}", named.join("; "))
    };
    reasons.into_iter().map(say).collect()
}

/// The conclusions in plain words.
pub(crate) fn closing(versus: &RecordComparison) -> String {
    if versus.is_same {
        return "A and B are one record: there is nothing to compare.".to_string();
    }
    if versus.pairs.is_empty() {
        return "No case can be compared.".to_string();
    }
    let said = [verdicts(versus, &names(versus)), basis(versus), controls(versus)];
    said.into_iter().chain(apart_too(versus)).collect::<Vec<_>>().join(" ")
}

/// How to compare the cases that measure different things too.
fn apart_too(versus: &RecordComparison) -> Option<String> {
    let apart = versus.left_out.iter().filter(|case| case.is_apart()).count();
    let what = match apart {
        0 => return None,
        1 => "a case that measures",
        _ => "cases that measure",
    };
    Some(format!("With --anyway, it also compares {what} different things in A and B."))
}

/// The basis of the comparison, and its blind spots.
fn basis(versus: &RecordComparison) -> String {
    let of = |is: fn(&Basis) -> bool| versus.pairs.iter().filter(|pair| is(&pair.basis)).count();
    let by_runs = |basis: &Basis| matches!(basis, Basis::RunToRun(_));
    let spread = |pair: &Pair| match pair.basis {
        Basis::RunToRun(spread) => Some(spread),
        Basis::Invocations(_) | Basis::Nothing => None,
    };
    let nothing = of(|basis| *basis == Basis::Nothing);
    if nothing > 0 {
        return format!(
            "{} cannot be decided: a record has fewer than {INVOCATIONS_LEAST} invocations, and \
             the variation between runs of this recipe here is unknown. Run both with more \
             invocations (a survey: without --quick), or keep at least {RUNS_LEAST} runs.",
            count(nothing, "case")
        );
    }
    let widest =
        versus.pairs.iter().filter_map(spread).max_by(|a, b| a.deviation.total_cmp(&b.deviation));
    match widest {
        None => format!(
            "The intervals are from invocation to invocation. Each ratio includes changes of the \
             machine between the two runs{}.",
            match versus.pairs.iter().all(|pair| pair.basis != Basis::Invocations(None)) {
                true => "; kept runs of this recipe vary no more",
                false => ", and no kept run shows how large they are",
            }
        ),
        Some(widest) => format!(
            "{} by the variation between kept runs of this recipe, up to {} ({} runs): smaller \
             differences cannot be decided.",
            match of(by_runs) {
                all if all == versus.pairs.len() => "All are judged".to_string(),
                some => format!("{some} of them are judged"),
            },
            units::percent(widest.deviation),
            widest.runs
        ),
    }
}

/// A case in both records, and the decision whether they differ.
struct Asked<'a> {
    pair: &'a Pair,
    decided: Decided,
}

/// The number of cases in which B is faster, slower or equivalent.
fn verdicts(versus: &RecordComparison, names: &Labels) -> String {
    let asked = versus.pairs.iter().filter_map(|pair| {
        let decided = {
            let [a, b] = versus.of(pair);
            Decided::differs(pair.comparison.clone(), [b, a])?
        };
        Some(Asked { pair, decided })
    });
    let asked: Vec<Asked> = asked.collect();
    let is = |wanted: Decision| asked.iter().filter(move |one| one.decided.decision() == wanted);
    let (faster, slower): (Vec<&Asked>, Vec<&Asked>) =
        is(Decision::Yes).partition(|one| one.pair.comparison.ratio > 1.0);
    let most = |all: &[&Asked], word: &str| {
        let effect = |one: &&&Asked| one.pair.comparison.ratio.ln().abs();
        let largest = all.iter().max_by(|a, b| effect(a).total_cmp(&effect(b)))?;
        let ratio = said_ratio(&largest.decided.ratio());
        let most = if all.len() > 1 { "most: " } else { "" };
        Some(format!(
            "{word} in {} ({most}{}, {ratio})",
            all.len(),
            name(versus.of(largest.pair), names)
        ))
    };
    let alike = is(Decision::No).count();
    let alike = (alike > 0).then(|| format!("equivalent in {alike}"));
    let parts = [most(&faster, "faster"), most(&slower, "slower"), alike];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let of = count(versus.pairs.len(), "case");
    let open: Vec<&Asked> = is(Decision::Undecided).collect();
    let reasons = reasons(&open);
    match (parts.is_empty(), open.len()) {
        (true, _) => format!("Of {of} none is decided{reasons}."),
        (false, 0) => format!("Of {of} B is {}.", listed(&parts)),
        (false, open) => format!("Of {of} B is {}; {open} not decided{reasons}.", listed(&parts)),
    }
}

/// Why cases are undecided: `: 2 have a doubtful figure (?), 1 takes up to 24 invocations`.
fn reasons(open: &[&Asked]) -> String {
    let (doubtful, wide): (Vec<&Asked>, Vec<&Asked>) =
        open.iter().partition(|one| one.decided.open() == Some(Open::InDoubt));
    let verb = |number: usize, one: &'static str, many| if number == 1 { one } else { many };
    let doubts = (!doubtful.is_empty()).then(|| {
        let has = verb(doubtful.len(), "has", "have");
        format!("{} {has} a doubtful figure (?), and a report of each record says why", {
            doubtful.len()
        })
    });
    let needs: Vec<usize> = wide.iter().filter_map(|one| one.pair.comparison.needs).collect();
    let rounds = needs.iter().max().map(|most| {
        let takes = verb(needs.len(), "takes", "take");
        format!("{} {takes} up to {most} invocations", needs.len())
    });
    let all: Vec<String> = doubts.into_iter().chain(rounds).collect();
    if all.is_empty() { String::new() } else { format!(": {}", all.join("; ")) }
}

/// How far a case was from itself in each record, according to the controls.
fn controls(versus: &RecordComparison) -> String {
    let decides = |assessment: &Assessment| assessment.control.as_ref()?.decides;
    match (decides(&versus.a), decides(&versus.b)) {
        (Some(a), Some(b)) => format!(
            "Within each record the same case measured twice was up to {} and {} apart: the \
             machine may change at least as much from A to B.",
            units::percent(a),
            units::percent(b)
        ),
        _ if versus.a.control.is_some() && versus.b.control.is_some() => {
            "How far one case can be from itself here is not known: not each pair of the same case \
             has an interval."
                .to_string()
        }
        _ => "Measure both with 'run --control' to see how far one case can be from itself here."
            .to_string(),
    }
}
