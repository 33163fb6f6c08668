//! The path to a medium: a bar for what each hop carries at most, and a line for what was measured.

use super::alike::limited;
use crate::drawing::{
    Colour, Dash, DrawnAxis, INK, Key, Picture, SERIES, Shape, Strip, legend, strips,
};
use crate::hop::what;
use crate::words::count;
use assess::Assessment;
use assess::path::{JudgedHop, JudgedPath, judge_path};
use model::path::Hop;
use model::units::rate;

/// With more hops, nobody sees the chain.
const HOPS_MOST: usize = 40;

const NARROWEST: Colour = SERIES[1];
const OTHER: Colour = SERIES[0];

/// The hops from the top down. `measured`: the highest rate that a run got through all of them.
pub(crate) fn chain(
    asked: &str,
    top: &Hop,
    judged: &JudgedPath,
    measured: Option<f64>,
) -> Option<Picture> {
    let narrowest = judged.allows.as_ref()?;
    let mut hops: Vec<(&Hop, &JudgedHop)> = top.all().into_iter().zip(&judged.hops).collect();
    let limits = hops.iter().filter_map(|(_, hop)| hop.allows);
    let most = limits.chain(measured).reduce(f64::max)?;
    let title = limited(&format!("The path of {asked}"), &mut hops, HOPS_MOST);
    let axis = DrawnAxis::from_zero(most * 1.05, rate).of_what("at most, bytes a second");
    let is_narrow = |hop: &JudgedHop| narrowest.hops.contains(&hop.name);
    let strip = |(hop, judged): &(&Hop, &JudgedHop)| {
        let colour = if is_narrow(judged) { NARROWEST } else { OTHER };
        let bar = |most: f64| Shape::Area([(0.0, 0.0), (most, 1.0)], colour);
        let line = measured.map(|rate| Shape::Upright(rate, Dash::Long, INK));
        let shapes = judged.allows.map(|most| [bar(most)].into_iter().chain(line).collect());
        Strip {
            beside: what(hop, false),
            figure: judged.allows.map_or_else(String::new, rate),
            ..Strip::of(&hop.name, shapes.unwrap_or_default())
        }
    };
    let rows = hops.iter().map(strip).collect();
    let words = narrowest.words();
    let got = measured.map(|rate_of| format!("the fastest case: {}", rate(rate_of)));
    let line = got.clone().map(|text| (Key::Line(INK, Dash::Long, None), text));
    let is_other = |(_, hop): &(&Hop, &JudgedHop)| hop.allows.is_some() && !is_narrow(hop);
    let others = hops.iter().any(is_other);
    let others = others.then(|| (Key::Fill(OTHER), "other hops with a known limit".to_string()));
    let keys = [(Key::Fill(NARROWEST), "the narrowest".to_string())].into_iter().chain(others);
    let got = got.map_or_else(String::new, |got| format!(" A line shows {got}."));
    let alt =
        format!("{} from the top down. All of them allow {words}.{got}", count(hops.len(), "hop"));
    let blocks = vec![strips(axis, Some(0.0), rows), legend(keys.chain(line))];
    Some(Picture::of("path", &title, alt, blocks))
}

/// The path to the storage of a run.
pub(super) fn of_run(assessment: &Assessment) -> Option<Picture> {
    let storage = assessment.header.storage.as_ref()?;
    let top = storage.path.as_deref()?;
    let judged = judge_path(top, assessment.header.host.hypervisor.is_some());
    let passing = assessment.cases.iter().filter(|it| it.link.is_some() && it.verdict.stands());
    let fastest = passing.filter_map(|it| Some(it.throughput?.median)).reduce(f64::max);
    chain(&storage.directory.display().to_string(), top, &judged, fastest)
}
