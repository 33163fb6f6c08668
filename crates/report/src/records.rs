//! Two records compared: their differences, each case in both, and the conclusions.

use crate::document::{Block, Document, FindingBlock, Paragraph, Remark, Section};
use crate::evidence;
use crate::findings;
use crate::frame::{self, on};
use crate::gate;
use crate::grid::{Grid, GridCell, LAST, left, right};
use crate::group::grouped;
use crate::labels::CaseLabels;
use crate::origin;
use crate::pair::{name, names};
use crate::picture::compared::compared_records;
use crate::sentence::said_ratio;
use crate::style::Paint;
use crate::text::{Text, command, figure, joined, listed, text};
use crate::words::times_interval;
use crate::words::{NONE, count, difference, difference_paint, if_any, or_none, per_second, times};
use assess::Assessment;
use assess::decision::{Decided, Decision, Open};
use assess::finding::Verdict;
use assess::gate::Gate;
use assess::invocations::{INVOCATIONS_LEAST, RUNS_LEAST};
use assess::records::{Basis, CasePair, LeftOut, RecordComparison, RecordDifference};
use assess::summary::Summary;
use assess::trend::FigureUnit;
use model::units;

/// If there are more cases with the same reason, only the first are named.
const NAMED_MAX: usize = 3;

/// Differences that make the records incomparable, in lines: `size (2 cases): 1MiB in A, 2MiB in
/// B`.
pub fn obstacles(all: &[RecordDifference]) -> Vec<String> {
    all.iter().map(apart).collect()
}

/// A comparison of two records made apart, and what a gate decides of them, if one is asked for;
/// `paths` are the records' paths.
pub fn records<'a>(
    versus: &'a RecordComparison,
    gate: Option<&Gate>,
    paths: [&str; 2],
) -> Document<'a> {
    let compared = format!(
        "{} · {} · B compared with A",
        versus.a.header.tool.name, versus.a.header.plan.recipe
    );
    let mut document = Document {
        title: gate.map_or(compared, |gate| gate::title(gate).to_string()),
        answer: vec![Paragraph::plain(closing(versus))],
        ..of_both(versus, paths)
    };
    let legend = if are_commands(versus) { LEGEND_OF_COMMANDS } else { LEGEND };
    let legend = Remark { text: legend.to_string(), columns: vec!["p"] };
    document.part(Section::new("Cases", [Block::table(table(versus), [legend])]));
    if let Some(gate) = gate {
        document.part(gate::checks(versus, gate));
        document.answer.push(gate::answer(versus, gate));
    }
    also(versus, &mut document);
    document
}

/// A run of a gate: what it decides of two sides that were measured for it.
pub fn gate_run<'a>(versus: &'a RecordComparison, gate: &Gate, paths: [&str; 2]) -> Document<'a> {
    let mut document = Document {
        title: gate::title(gate).to_string(),
        answer: vec![gate::answer(versus, gate)],
        ..of_both(versus, paths)
    };
    document.part(gate::checks(versus, gate));
    document.part(gate::time_and_pruning(versus));
    also(versus, &mut document);
    document
}

/// What a reader must know of both records, and the pictures.
fn of_both<'a>(versus: &'a RecordComparison, paths: [&str; 2]) -> Document<'a> {
    let [a, b] = [origin(paths[0], &versus.a), origin(paths[1], &versus.b)];
    let about = [format!("A: {a}"), format!("B: {b}")].into_iter();
    let warnings = missing(versus).into_iter().chain(obstacles(&versus.obstacles));
    let mut document = Document {
        about: about.chain(names(versus).common_line()).map(Text::from).collect(),
        warnings: warnings.map(Text::from).collect(),
        origin: format!("{a} · {b}"),
        ..Document::default()
    };
    let has_ratios = versus.pairs.iter().any(|pair| pair.comparison.ratio > 0.0);
    document.draw(has_ratios, || Vec::from_iter(compared_records(versus)));
    document
}

/// Adds what differs besides the cases, and both records.
fn also<'a>(versus: &'a RecordComparison, document: &mut Document<'a>) {
    document.part(Section::new("What else differs", not_compared(versus)));
    for (title, side) in [("Record A", &versus.a), ("Record B", &versus.b)] {
        document.on_page(title, true, || one(side));
    }
}

/// Other differences, and the cases that are not compared.
fn not_compared(versus: &RecordComparison) -> Option<Block> {
    let of = |kind, text| FindingBlock::of_kind(kind, Paint::Faint, text);
    let others = versus.others.iter().map(|other| of("also", apart(other)));
    let left = left_out(&versus.left_out).into_iter().map(|text| of("left", text));
    Block::findings(others.chain(left).collect())
}

/// One of the records: its verdicts, its findings, its origin and its command.
fn one(assessment: &Assessment) -> Vec<Block> {
    let labels = CaseLabels::of(assessment);
    let mut blocks = vec![Block::plain(evidence::tally(assessment))];
    blocks.extend(findings::findings(assessment, false, &|id| labels.name(id)));
    blocks.extend(origin::origin(assessment));
    blocks.extend(origin::again(assessment));
    blocks
}

/// The meaning of the columns.
const LEGEND: &str = "A and B: medians, as in the reports of the records; B/A: the ratio of the \
                      medians; p: the probability, corrected over all rows, that figures of one \
                      distribution are as far apart";

/// The same of commands.
const LEGEND_OF_COMMANDS: &str = "A and B: the median time of a run, as in the reports of the \
                                  records; speed: that of B by that of A, so that more is \
                                  faster; p: the probability, corrected over all rows, that \
                                  figures of one distribution are as far apart";

/// Whether the records judge commands, whose figure is a time.
fn are_commands(versus: &RecordComparison) -> bool {
    versus.pairs.first().is_some_and(|pair| versus.of(pair)[0].case.command().is_some())
}

/// What is missing in either record, in lines: it was stopped, cut off or damaged.
pub fn missing(versus: &RecordComparison) -> Vec<String> {
    let of = |(side, assessment)| {
        let texts = frame::missing(assessment).into_iter();
        texts.map(move |text| format!("{side}: {text}")).collect::<Vec<_>>()
    };
    [("A", &versus.a), ("B", &versus.b)].into_iter().flat_map(of).collect()
}

/// A record's path and run: `a.jsonl · survey of 2026-11-21T10:00:00Z · ext4 on vda`.
fn origin(path: &str, assessment: &Assessment) -> String {
    let run = format!(
        "{} of {} on {}",
        assessment.header.plan.recipe, assessment.header.began, assessment.header.host.name
    );
    let mut parts = vec![path.to_string(), run];
    parts.extend(assessment.header.storage.iter().flat_map(|storage| on(storage, assessment)));
    parts.join(" · ")
}

fn apart(apart: &RecordDifference) -> String {
    let RecordDifference { what, a, b, cases } = apart;
    let whom = if_any(*cases, |cases| format!(" ({})", count(cases, "case")));
    let shown = |value: &str| if value.is_empty() { "none".to_string() } else { value.to_string() };
    format!("{what}{whom}: {} in A, {} in B", shown(a), shown(b))
}

/// A row for each case in both records.
fn table(versus: &RecordComparison) -> Grid {
    let names = names(versus);
    let mut grid = Grid::new(vec![
        left("case", 0),
        right("A", 0),
        right("B", 0),
        right(if are_commands(versus) { "speed" } else { "B/A" }, 0),
        left("95 % CI", LAST),
        right("invocations", 1),
        right("p", 2),
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
            or_none(times_interval(found.low, found.high)),
            found.invocations.to_string(),
            pair.p.map_or(NONE.to_string(), probability),
            difference(found),
        ];
        grid.row(texts.map(|text| GridCell::new(text, paint)).to_vec());
    }
    grid
}

/// `0.012`, `< 0.001`.
fn probability(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_string() } else { format!("{p:.3}") }
}

/// The median of the compared quantity, bytes or operations per second, or the time of a run of a
/// command; with a question mark if it is doubtful.
fn speed(summary: &Summary) -> String {
    let said = match FigureUnit::of(&summary.case) {
        _ if summary.case.command().is_some() => {
            summary.ns_per_op.map(|found| units::nanoseconds(found.median))
        }
        FigureUnit::BytesPerSecond => summary.throughput.map(|found| units::rate(found.median)),
        FigureUnit::NsPerOp => summary.iops.map(|found| per_second(found.median)),
    };
    let doubt = if summary.verdict == Verdict::Doubtful { "?" } else { "" };
    said.map_or(NONE.to_string(), |said| said + doubt)
}

/// Cases that are not compared, by reason.
fn left_out(all: &[LeftOut]) -> Vec<String> {
    let say = |(reason, cases): (&String, Vec<&LeftOut>)| {
        let named: Vec<&str> = cases.iter().take(NAMED_MAX).map(|case| case.id.as_str()).collect();
        let more = cases.len() - named.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("not compared, because {reason}: {}{more}", named.join("; "))
    };
    grouped(all, |case| &case.reason).into_iter().map(say).collect()
}

/// The conclusions in plain words.
fn closing(versus: &RecordComparison) -> Text {
    if versus.is_same {
        return "A and B are one record: there is nothing to compare.".into();
    }
    if versus.pairs.is_empty() {
        return "No case can be compared.".into();
    }
    let said = [verdicts(versus, &names(versus)), basis(versus)];
    // Commands have no control.
    let controls = (!are_commands(versus)).then(|| controls(versus));
    let said = said.into_iter().chain(controls).chain(apart_too(versus));
    joined(&said.collect::<Vec<_>>(), " ")
}

/// How to compare the cases that measure different things too.
fn apart_too(versus: &RecordComparison) -> Option<Text> {
    let apart = versus.left_out.iter().filter(|case| case.is_apart()).count();
    let what = match apart {
        0 => return None,
        1 => "a case that measures",
        _ => "cases that measure",
    };
    Some(text!("With {}, it also compares {} different things in A and B.", "--anyway", what))
}

/// The basis of the comparison, and its blind spots.
fn basis(versus: &RecordComparison) -> Text {
    let of = |is: fn(&Basis) -> bool| versus.pairs.iter().filter(|pair| is(&pair.basis)).count();
    let by_runs = |basis: &Basis| matches!(basis, Basis::RunToRun(_));
    let spread = |pair: &CasePair| match pair.basis {
        Basis::RunToRun(spread) => Some(spread),
        Basis::Invocations(_) | Basis::Nothing => None,
    };
    let nothing = of(|basis| *basis == Basis::Nothing);
    if nothing > 0 {
        return text!(
            "{} cannot be decided: a record has fewer than {} invocations, and the variation \
             between runs of this recipe here is unknown. Run both with more invocations (a \
             survey: without --quick), or keep at least {} runs.",
            count(nothing, "case"),
            INVOCATIONS_LEAST,
            RUNS_LEAST
        );
    }
    let widest =
        versus.pairs.iter().filter_map(spread).max_by(|a, b| a.deviation.total_cmp(&b.deviation));
    match widest {
        None => text!(
            "The intervals are from invocation to invocation. Each ratio includes changes of the \
             machine between the two runs{}.",
            match versus.pairs.iter().all(|pair| pair.basis != Basis::Invocations(None)) {
                true => "; kept runs of this recipe vary no more",
                false => ", and no kept run shows how large they are",
            }
        ),
        Some(widest) => text!(
            "{} by the variation between kept runs of this recipe, up to {} ({} runs): smaller \
             differences cannot be decided.",
            match of(by_runs) {
                all if all == versus.pairs.len() => "All are judged".to_string(),
                some => format!("{some} of them are judged"),
            },
            figure(units::percent(widest.deviation)),
            widest.runs
        ),
    }
}

/// A case in both records, and the decision whether they differ.
type ComparedCase<'a> = (&'a CasePair, Decided);

/// The number of cases in which B is faster, slower or equivalent.
fn verdicts(versus: &RecordComparison, names: &CaseLabels) -> Text {
    let asked = versus.pairs.iter().filter_map(|pair| {
        let [a, b] = versus.of(pair);
        Some((pair, Decided::differs(pair.comparison.clone(), [b, a])?))
    });
    let asked: Vec<ComparedCase> = asked.collect();
    let is =
        |wanted: Decision| asked.iter().filter(move |(_, decided)| decided.decision() == wanted);
    let (faster, slower): (Vec<&ComparedCase>, Vec<&ComparedCase>) =
        is(Decision::Yes).partition(|(pair, _)| pair.comparison.ratio > 1.0);
    let most = |all: &[&ComparedCase], word: &str| {
        let effect = |(pair, _): &&&ComparedCase| pair.comparison.ratio.ln().abs();
        let (pair, decided) = all.iter().max_by(|a, b| effect(a).total_cmp(&effect(b)))?;
        let ratio = said_ratio(&decided.ratio());
        let most = if all.len() > 1 { "most: " } else { "" };
        Some(text!(
            "{} in {} ({}{}, {})",
            word,
            all.len(),
            most,
            name(versus.of(pair), names),
            ratio
        ))
    };
    let alike = is(Decision::No).count();
    let alike = (alike > 0).then(|| text!("equivalent in {}", alike));
    let parts = [most(&faster, "faster"), most(&slower, "slower"), alike];
    let parts: Vec<Text> = parts.into_iter().flatten().collect();
    let of = count(versus.pairs.len(), "case");
    let open: Vec<&ComparedCase> = is(Decision::Undecided).collect();
    let reasons = reasons(&open);
    match (parts.is_empty(), open.len()) {
        (true, _) => text!("Of {} none is decided{}.", of, reasons),
        (false, 0) => text!("Of {} B is {}.", of, listed(&parts)),
        (false, open) => {
            text!("Of {} B is {}; {} not decided{}.", of, listed(&parts), open, reasons)
        }
    }
}

/// Why cases are undecided: `: 2 have a doubtful figure (?), 1 takes up to 24 invocations`.
fn reasons(open: &[&ComparedCase]) -> String {
    let (doubtful, wide): (Vec<&ComparedCase>, Vec<&ComparedCase>) =
        open.iter().partition(|(_, decided)| decided.open() == Some(Open::InDoubt));
    let verb = |number: usize, one: &'static str, many| if number == 1 { one } else { many };
    let doubts = (!doubtful.is_empty()).then(|| {
        let has = verb(doubtful.len(), "has", "have");
        format!("{} {has} a doubtful figure (?), and a report of each record says why", {
            doubtful.len()
        })
    });
    let needs: Vec<usize> = wide.iter().filter_map(|(pair, _)| pair.comparison.needs).collect();
    let rounds = needs.iter().max().map(|most| {
        let takes = verb(needs.len(), "takes", "take");
        format!("{} {takes} up to {most} invocations", needs.len())
    });
    let all: Vec<String> = doubts.into_iter().chain(rounds).collect();
    if all.is_empty() { String::new() } else { format!(": {}", all.join("; ")) }
}

/// How far a case was from itself in each record, according to the controls.
fn controls(versus: &RecordComparison) -> Text {
    let decides = |assessment: &Assessment| assessment.control.as_ref()?.decides;
    match (decides(&versus.a), decides(&versus.b)) {
        (Some(a), Some(b)) => text!(
            "Within each record the same case measured twice was up to {} and {} apart: the \
             machine may change at least as much from A to B.",
            figure(units::percent(a)),
            figure(units::percent(b))
        ),
        _ if versus.a.control.is_some() && versus.b.control.is_some() => {
            "How far one case can be from itself here is not known: not each pair of the same case \
             has an interval."
                .into()
        }
        _ => text!(
            "Measure both with {} to see how far one case can be from itself here.",
            command("run --control")
        ),
    }
}
