//! Pictures of several hosts: what they did together, and each beside the others.

use super::alike::limited;
use crate::drawing::{
    Colour, DrawnAxis, Key, Mark, Picture, PictureBlock, SERIES, Shape, Strip, VOID, in_strip,
    legend, range, strips,
};
use crate::labels::CaseLabels;
use crate::words::{count, say, short, times};
use assess::finding::Verdict;
use assess::fleet::{Common, Fleet, HostFigure};
use assess::odd::Odd;
use assess::stats::Estimate;
use assess::together::{Joint, Together};
use assess::trend::FigureUnit;
use model::units;

/// If there are more cases, only the first are drawn.
const CASES_MOST: usize = 40;

/// How much a figure is worth.
fn shape(verdict: Verdict) -> (Mark, Colour) {
    match verdict {
        Verdict::Sound => (Mark::Dot, SERIES[0]),
        Verdict::Doubtful => (Mark::Ring, SERIES[1]),
        _ => (Mark::Cross, VOID),
    }
}

/// The marks of these verdicts.
fn marks(verdicts: &[Verdict]) -> PictureBlock<'static> {
    let all = [Verdict::Sound, Verdict::Doubtful, Verdict::Void];
    legend(all.into_iter().filter(|verdict| verdicts.contains(verdict)).map(|verdict| {
        let (mark, colour) = shape(verdict);
        (Key::Point(colour, mark), verdict.to_string())
    }))
}

/// The cases of bytes with a rate of all hosts together.
pub(crate) fn rates_together(run: &Together) -> Vec<(&Joint, Estimate)> {
    let rate = |joint: &Joint| -> Option<Estimate> {
        let is_rate = FigureUnit::of(&joint.case) == FigureUnit::BytesPerSecond;
        joint.throughput.filter(|rate| is_rate && rate.median > 0.0)
    };
    run.cases.iter().filter_map(|joint| Some((joint, rate(joint)?))).collect()
}

/// The rate of all hosts together in each of these cases, of which there is one at least.
pub(crate) fn together(run: &Together) -> Picture {
    let names = CaseLabels::of(&run.first);
    let mut rows = rates_together(run);
    let title = limited("Rate of all hosts together", &mut rows, CASES_MOST);
    let ends =
        |rate: &Estimate| [rate.low.unwrap_or(rate.median), rate.high.unwrap_or(rate.median)];
    let (least, most) = range(rows.iter().flat_map(|(_, rate)| ends(rate))).unwrap_or((1.0, 1.0));
    let verdicts: Vec<Verdict> = rows.iter().map(|(joint, _)| joint.verdict).collect();
    let standing = rows.iter().filter(|(joint, _)| joint.verdict.stands());
    let best = standing.max_by(|a, b| a.1.median.total_cmp(&b.1.median));
    let best = best.map_or(String::new(), |(joint, rate)| {
        format!(" The highest is {} of {}.", units::rate(rate.median), names.name(&joint.id))
    });
    let strip = |(joint, rate): &(&Joint, Estimate)| {
        let (mark, colour) = shape(joint.verdict);
        let said = match joint.verdict.stands() {
            true => units::rate(rate.median),
            false => format!("({})", units::rate(rate.median)),
        };
        let shapes = in_strip(rate.median, rate.low.zip(rate.high), mark, colour);
        let beside = format!("{said}, {}", joint.verdict);
        Strip { beside, ..Strip::of(&names.name(&joint.id), shapes) }
    };
    let axis = DrawnAxis::log(least * 0.8, most * 1.2, units::rate)
        .of_what("all bytes by the time of the trial");
    let alt = format!("The rates of {} with their intervals.{best}", count(rows.len(), "case"));
    let strips = strips(axis, None, rows.iter().map(strip).collect());
    let blocks = vec![PictureBlock::note(&["with 95 % intervals"]), strips, marks(&verdicts)];
    Picture::of("together", &title, alt, blocks)
}

/// The cases with figures of two hosts at least.
pub(crate) fn rates_beside(fleet: &Fleet) -> Vec<(&Common, Vec<HostFigure>)> {
    let figures = |common: &Common| -> Vec<HostFigure> {
        common.figures.iter().flatten().filter(|it| it.ratio > Some(0.0)).cloned().collect()
    };
    let all = fleet.cases.iter().map(|common| (common, figures(common)));
    all.filter(|(_, figures)| figures.len() > 1).collect()
}

/// Each host's rate by the median of all, in each of these cases.
pub(crate) fn fleet(fleet: &Fleet) -> Picture {
    let labels = CaseLabels::of_cases(fleet.cases.iter().map(|common| &common.case));
    let mut rows = rates_beside(fleet);
    let title = limited("Each host beside the others", &mut rows, CASES_MOST);
    let all = || rows.iter().flat_map(|(_, figures)| figures);
    let ratios = all().filter_map(|figure| figure.ratio);
    let verdicts: Vec<Verdict> = all().map(|figure| figure.verdict).collect();
    let odd = all().filter(|figure| figure.odd.is_some()).count();
    let odd = if odd == 1 { "1 mark is".to_string() } else { format!("{odd} marks are") };
    let alt = format!(
        "A mark for each host in {}, at its rate by the median of all; {odd} odd.",
        count(rows.len(), "case")
    );
    let axis =
        DrawnAxis::of_ratios(ratios, times).of_what("rate of each host by the median of all hosts");
    let lines = rows.iter().map(|(common, figures)| strip(fleet, common, figures, &labels));
    let strips = strips(axis, Some(1.0), lines.collect());
    Picture::of("hosts", &title, alt, vec![strips, marks(&verdicts)])
}

/// The odd hosts of a case, each with its ratio to the others.
pub(crate) fn odd_hosts(fleet: &Fleet, common: &Common) -> Vec<String> {
    let said = |(host, _, odd): (usize, _, &Odd)| {
        format!("{} {}", fleet.hosts[host].called, times(odd.ratio))
    };
    common.odd().map(said).collect()
}

fn strip(fleet: &Fleet, common: &Common, figures: &[HostFigure], labels: &CaseLabels) -> Strip {
    let say = say(common.quantity);
    let median = common.median.map_or(String::new(), |median| format!("median {}", say(median)));
    let odd = odd_hosts(fleet, common);
    let odd = if odd.is_empty() { String::new() } else { format!("; odd: {}", short(&odd)) };
    let mark = |figure: &HostFigure| {
        let (mark, colour) = shape(figure.verdict);
        Shape::Mark((figure.ratio.unwrap_or(1.0), 0.5), mark, colour)
    };
    let shapes = figures.iter().map(mark).collect();
    Strip { beside: median + &odd, ..Strip::of(&labels.label(&common.case), shapes) }
}
