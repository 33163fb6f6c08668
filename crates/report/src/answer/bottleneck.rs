//! What bounds the disk of a survey.

use crate::hop::hop_words;
use crate::sentence::{Sentence, marked};
use crate::text::{Text, figure, text};
use crate::words::{fitted, listed};
use assess::Assessment;
use assess::conclusions::disk_or_memory::{Bottleneck, FastestOfDevice};
use assess::finding::{Code, Verdict};
use assess::summary::{ServedBy, Summary};
use model::plan::Role;
use model::units;

/// What bounds the fastest row of the disk; if that is unknown, what would tell.
pub(super) fn answer(assessment: &Assessment, fastest: &FastestOfDevice) -> Sentence {
    let said: Text = match &fastest.bound {
        Bottleneck::Limit => {
            "a limit of a control group (Throttled); without it, the disk may be faster".into()
        }
        Bottleneck::Tool => text!(
            "{} itself, whose overhead is large here; the disk may be faster",
            &assessment.header.tool.name
        ),
        Bottleneck::Cpu => "the CPU (CpuBound); more processors may get more from the disk".into(),
        Bottleneck::Link(link) => text!(
            "its link, {}, which carries at most {}: the disk got {} of that",
            narrowest(assessment, &link.allows.hops),
            figure(units::rate(link.allows.bytes_per_second)),
            figure(units::percent(link.share))
        ),
        Bottleneck::Device(shown) => {
            let no_more = marked("more reads in flight gave no more", shown.rows());
            text!("the device, or the path to it: {}", no_more)
        }
        Bottleneck::LimitOfPart => {
            "unknown; a control group limits a part of the array, whose share is unknown".into()
        }
        Bottleneck::Unknown if assessment.codes().contains(&Code::Capped) => {
            "unknown; a limit of the cloud held the disk back for a part of the run (Capped)".into()
        }
        Bottleneck::Unknown => unknown(assessment, fastest),
    };
    let text = text!("What bounds the disk: {}.", said);
    match &fastest.bound {
        Bottleneck::Device(shown) => Sentence::figures(text, shown.rows()),
        _ => Sentence::plain(text),
    }
}

/// The narrowest hops of the path to the disk, in words.
fn narrowest(assessment: &Assessment, hops: &[String]) -> String {
    let top = assessment.header.storage.as_ref().and_then(|storage| storage.path.as_deref());
    top.map_or_else(|| listed(hops), |top| hop_words(top, hops))
}

/// What would tell whether more in flight gives more.
fn unknown(assessment: &Assessment, fastest: &FastestOfDevice) -> Text {
    let best = &fastest.lead.best().row;
    let Some(top) = assessment.row(&best.id) else {
        return "unknown".into();
    };
    let deeper = || assessment.cases.iter().filter(|summary| is_deeper(summary, top));
    let is_sound = |summary: &Summary| summary.verdict == Verdict::Sound;
    match (deeper().next(), deeper().any(is_sound) && !best.is_doubtful()) {
        (Some(_), true) => {
            let units =
                if assessment.repetition.invocations > 1 { "invocations" } else { "rounds" };
            text!("unknown; more {} would tell whether more reads in flight give more", units)
        }
        (Some(_), false) => {
            "unknown; sound figures would tell whether more reads in flight give more".into()
        }
        (None, _) => {
            let depth = top.case.io().map_or(1, |io| io.depth);
            let (twice, tool) = (depth.saturating_mul(2), &assessment.header.tool);
            let deeper = fitted(&format!("use --depth {depth},{twice}"), tool);
            text!("unknown; reads with more in flight would tell: {}", deeper)
        }
    }
}

/// Whether a row is of the same kind of reads as `top`, with at least twice as much in flight.
fn is_deeper(summary: &Summary, top: &Summary) -> bool {
    let kind = |summary: &Summary| {
        let io = summary.case.io().filter(|_| summary.case.read().is_some())?;
        let in_flight = u64::from(io.depth).saturating_mul(u64::from(io.threads));
        Some(((io.cache, io.pattern, io.pages), io.block.saturating_mul(in_flight)))
    };
    let is_of_device = summary.served_by == Some(ServedBy::Device) && summary.verdict.stands();
    let are_alike = kind(summary)
        .zip(kind(top))
        .is_some_and(|((of, flight), (top, most))| of == top && flight >= most.saturating_mul(2));
    summary.role == Role::Asked && is_of_device && are_alike
}
