//! One loop as many compilers make it: how wide its vectors are, and what that comes to.

use crate::frame;
use crate::grid::{Cell, Grid, left, right};
use crate::style::{Paint, Style};
use crate::words::{self, NONE, figure, times, times_interval};
use assess::Assessment;
use assess::comparison::Comparison;
use assess::finding::Verdict;
use assess::summary::Summary;
use model::case::{Isa, OWN_PEER};
use model::peer::Peer;

/// A row for each build of the counting loop, with the vectors that its object code has.
pub fn compilers(assessment: &Assessment, style: &Style) -> String {
    let mut out = frame::head(assessment, style);
    for version in versions(assessment) {
        out.push_str(&style.wrap("", Paint::Plain, &version));
    }
    out.push('\n');
    out.push_str(&rows(assessment).render(style));
    let answer =
        answer(assessment).map(|text| format!("\n{}", style.wrap("", Paint::Plain, &text)));
    out.extend(answer);
    out.push_str(&frame::below(assessment, style, &|id| id.to_string()));
    out
}

/// From what to what the same loop goes by how it was built; none where only one was.
pub(crate) fn answer(assessment: &Assessment) -> Option<String> {
    let of = |id: &str| assessment.cases.iter().find(|case| case.id == id);
    let built: Vec<(&Comparison, &Summary)> = assessment
        .comparisons
        .iter()
        .filter_map(|found| Some((found, of(&found.case)?)))
        .filter(|(found, case)| found.ratio > 0.0 && case.verdict != Verdict::Void)
        .collect();
    let slowest = built.iter().min_by(|(a, _), (b, _)| a.ratio.total_cmp(&b.ratio))?;
    let fastest = built.iter().max_by(|(a, _), (b, _)| a.ratio.total_cmp(&b.ratio))?;
    let base = of(&slowest.0.base)?;
    if built.len() < 2 {
        return None;
    }
    Some(format!(
        "The same question by {} builds comes to {} ({}) to {} ({}) of {}, which does {}: the \
         compiler and its options alone are worth {}.",
        built.len(),
        times(slowest.0.ratio),
        label(slowest.1),
        times(fastest.0.ratio),
        label(fastest.1),
        label(base),
        words::main_figure(base).0,
        times(fastest.0.ratio / slowest.0.ratio)
    ))
}

/// What each compiler says of itself, once.
fn versions(assessment: &Assessment) -> Vec<String> {
    let mut versions: Vec<String> =
        assessment.peers.iter().filter_map(|peer| peer.version.clone()).collect();
    versions.sort();
    versions.dedup();
    versions
}

/// What the others are held against: this program's own worker, or where that was not measured the
/// peer that is.
fn base(assessment: &Assessment) -> &str {
    let bases = assessment.comparisons.iter().map(|found| &found.base);
    let cases = bases.filter_map(|id| assessment.cases.iter().find(|case| case.id == *id));
    cases.map(|case| case.case.peer.as_str()).next().unwrap_or(OWN_PEER)
}

fn rows(assessment: &Assessment) -> Grid {
    let mut grid = Grid::new(vec![
        left("", 0),
        left("built with", 3),
        left("vectors", 0),
        right("throughput", 0),
        left("95 % CI", 0),
        right(&format!("of {}", base(assessment)), 1),
        right("ceiling", 2),
        left("verdict", 0),
    ]);
    for summary in &assessment.cases {
        let peer = assessment.peers.iter().find(|peer| peer.name == summary.case.peer);
        let ratio = assessment.comparisons.iter().find(|c| c.case == summary.id);
        grid.row(cells(summary, peer, ratio));
    }
    grid
}

fn cells(summary: &Summary, peer: Option<&Peer>, ratio: Option<&Comparison>) -> Vec<Cell> {
    let paint = words::verdict_paint(summary);
    let said = |text: String| Cell::new(figure(summary, text), paint);
    let (median, interval) = words::main_figure(summary);
    let plain = |text: String| Cell::new(text, Paint::Plain);
    vec![
        plain(label(summary)),
        plain(peer.and_then(flags).unwrap_or_default()),
        plain(vectors(summary, peer)),
        said(median),
        said(interval),
        said(ratio.map_or(NONE.to_string(), said_ratio)),
        said(words::ceiling(summary)),
        Cell::new(words::verdict(summary), paint),
    ]
}

fn label(summary: &Summary) -> String {
    let Some(work) = summary.case.memory() else { return summary.id.clone() };
    if summary.case.peer == OWN_PEER {
        return format!("rust, {} {}", work.kernel, work.isa);
    }
    summary.case.peer.clone()
}

/// The options of a build, without what is in every one.
fn flags(peer: &Peer) -> Option<String> {
    let words = peer.build.as_deref()?.split(' ');
    let told: Vec<&str> = words
        .filter(|word| word.starts_with("-O") || word.starts_with("-m") || word.starts_with("-D"))
        .collect();
    Some(told.join(" "))
}

fn vectors(summary: &Summary, peer: Option<&Peer>) -> String {
    let bits = match (peer, summary.case.memory()) {
        (Some(peer), _) => peer.vector_bits,
        (None, Some(work)) => bits(work.isa),
        (None, None) => None,
    };
    match bits {
        Some(0) => "none".to_string(),
        Some(bits) => format!("{bits} bits"),
        None => NONE.to_string(),
    }
}

/// Bits of the vectors that a loop of this program's own is written for.
fn bits(isa: Isa) -> Option<u32> {
    match isa {
        Isa::Auto => None,
        Isa::Scalar => Some(0),
        Isa::Sse2 | Isa::Neon => Some(128),
        Isa::Avx2 => Some(256),
        Isa::Avx512 => Some(512),
    }
}

fn said_ratio(comparison: &Comparison) -> String {
    let interval = times_interval(comparison.low, comparison.high);
    let interval = interval.map_or(String::new(), |interval| format!(" ({interval})"));
    format!("{}{interval}", times(comparison.ratio))
}
