//! One loop as many compilers make it: how wide its vectors are, and what that comes to.

use crate::frame;
use crate::grid::{Cell, Grid, left, right};
use crate::labels::{Labels, common_line};
use crate::phrases::joined;
use crate::sentence::{Sentence, paragraph, said_ratio, why_open};
use crate::style::{Paint, Style};
use crate::words::{self, NONE, figure};
use assess::Assessment;
use assess::builds::Builds;
use assess::comparison::Comparison;
use assess::decision::Decision;
use assess::ratio::Ratio;
use assess::summary::Summary;
use model::case::{Isa, OWN_PEER};
use model::peer::Peer;

/// A row for each build of the counting loop, with the vectors that its object code has.
pub(crate) fn compilers(assessment: &Assessment, style: &Style) -> String {
    let labels = Labels::of(assessment);
    let mut out = frame::head(assessment, style);
    out.push_str(&common_line(&labels, style));
    for version in versions(assessment) {
        out.push_str(&style.wrap("", Paint::Plain, &version));
    }
    out.push('\n');
    out.push_str(&rows(assessment, &labels).render(style));
    out.push_str(&frame::below(assessment, style, &|id| labels.name(id)));
    out
}

/// How far builds of the same loop are apart; none where only one was measured.
pub(crate) fn answer(assessment: &Assessment) -> Option<String> {
    let labels = Labels::of(assessment);
    let name = |id: &str| labels.name(id);
    let all = assessment.builds.iter().filter_map(|builds| said(assessment, builds, &name));
    let sentences: Vec<Sentence> = all.collect();
    (!sentences.is_empty()).then(|| paragraph(&sentences, &name))
}

fn said(
    assessment: &Assessment,
    builds: &Builds,
    name: &dyn Fn(&str) -> String,
) -> Option<Sentence> {
    let figure = |id: &str| {
        let summary = assessment.cases.iter().find(|case| case.id == id)?;
        Some(format!("{} ({})", words::main_figure(summary).0, name(id)))
    };
    let [fastest, slowest] = builds.apart.rows();
    let figures = format!(
        "{} builds of the same loop go from {} to {}",
        builds.count,
        figure(&slowest.id)?,
        figure(&fastest.id)?
    );
    let ratio = said_ratio(&builds.apart.ratio());
    Some(Sentence::decided(&builds.apart, |decision| match decision {
        Decision::Yes => {
            format!("{figures}, {ratio}: so much the compiler and its options are worth here.")
        }
        Decision::No => format!("{figures}, {ratio}: that is no difference that matters."),
        Decision::Undecided => {
            format!("{figures}, {ratio}: whether they differ is not decided ({}).", {
                why_open(&builds.apart)
            })
        }
    }))
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

fn rows(assessment: &Assessment, labels: &Labels) -> Grid {
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
        grid.row(cells(summary, peer, ratio, labels));
    }
    grid
}

fn cells(
    summary: &Summary,
    peer: Option<&Peer>,
    ratio: Option<&Comparison>,
    labels: &Labels,
) -> Vec<Cell> {
    let paint = words::verdict_paint(summary);
    let said = |text: String| Cell::new(figure(summary, text), paint);
    let (median, interval) = words::main_figure(summary);
    let plain = |text: String| Cell::new(text, Paint::Plain);
    vec![
        plain(label(summary, labels)),
        plain(peer.and_then(flags).unwrap_or_default()),
        plain(vectors(summary, peer)),
        said(median),
        said(interval),
        said(ratio.map_or(NONE.to_string(), of_base)),
        said(words::ceiling(summary)),
        Cell::new(words::verdict(summary), paint),
    ]
}

/// The program, and what else differs among its rows.
fn label(summary: &Summary, labels: &Labels) -> String {
    let phrases = labels.phrases(&summary.case).into_iter().filter(|p| p.axis != "peer");
    let peer = std::iter::once(summary.case.peer.clone());
    joined(peer.chain(phrases.map(|phrase| phrase.short)))
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

fn of_base(found: &Comparison) -> String {
    let Comparison { pairs, invocations, ratio, low, high, .. } = *found;
    said_ratio(&Ratio { pairs, invocations, median: ratio, low, high })
}
