//! What bounds the disk of a survey.

use crate::ratio_words::share_of_links;
use crate::sentence::{Sentence, marked};
use crate::text::{Text, figure, text};
use crate::words::{fitted, listed};
use assess::Assessment;
use assess::conclusions::disk_or_memory::{Bottleneck, FastestOfDevice};
use assess::finding::{Code, Finding, Verdict};
use assess::path::{JudgedHop, judge_path};
use assess::summary::{ServedBy, Summary};
use model::path::Hop;
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
        Bottleneck::Cpu => cpu(assessment, fastest),
        Bottleneck::Link(link) => text!(
            "its link, {}, which carries at most {}: the disk got {} of that",
            &link.allows.hop_words,
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
    let besides = path_words(assessment, fastest).into_iter().chain(arrays(assessment));
    let besides: String = besides.map(|words| format!("; {words}")).collect();
    let text = text!("What bounds the disk: {}{}.", said, besides);
    match &fastest.bound {
        Bottleneck::Device(shown) => Sentence::figures(text, shown.rows()),
        _ => Sentence::plain(text),
    }
}

/// Which processors are used up, and what may get more.
fn cpu(assessment: &Assessment, fastest: &FastestOfDevice) -> Text {
    let threads = assessment.row(&fastest.lead.best().row.id).map_or(1, |best| best.case.threads());
    let (read, uses) = match threads {
        1 => ("one thread that reads".to_string(), "uses"),
        _ => (format!("{threads} threads that read"), "use"),
    };
    let (all, more) = match threads < assessment.header.host.parallelism() {
        true if threads == 1 => ("a whole processor", "more threads"),
        true => ("whole processors", "more threads"),
        false => ("all processors", "more or faster ones"),
    };
    text!("the CPU (CpuBound): the {} {} {}; {} may get more from the disk", read, uses, all, more)
}

/// What the links say of a server's files, of which no counter shows what served them.
pub(super) fn of_unseen(assessment: &Assessment) -> String {
    let reads =
        assessment.cases.iter().filter(|it| it.verdict.stands() && it.case.read().is_some());
    let links = reads.filter_map(|it| it.link.as_deref());
    let fastest = links.max_by(|one, other| one.share.total_cmp(&other.share));
    fastest.map_or_else(String::new, |link| {
        let bounds = if link.bounds() { ": that bounds them" } else { "" };
        let (most, share) = (link.allows.words(), share_of_links(link));
        format!(" The path to it gets {most}; the fastest reads got {share} of that{bounds}.")
    })
}

/// What the links say beside the bottleneck: how much of them was used or, if that might have told
/// an unknown bottleneck, what is missing.
fn path_words(assessment: &Assessment, fastest: &FastestOfDevice) -> Option<String> {
    let is_unknown = match &fastest.bound {
        Bottleneck::Link(_) => return None,
        Bottleneck::Unknown | Bottleneck::LimitOfPart => true,
        Bottleneck::Limit | Bottleneck::Tool | Bottleneck::Cpu | Bottleneck::Device(_) => false,
    };
    let best = assessment.row(&fastest.lead.best().row.id);
    if let Some(link) = best.and_then(|best| best.link.as_deref()) {
        let (most, share) = (link.allows.words(), share_of_links(link));
        return Some(format!("the path to it gets {most}, of which the disk got {share}"));
    }
    // Records older than paths do not have them.
    path(assessment).filter(|_| is_unknown)?;
    let missing = match &assessment.header.host.hypervisor {
        Some(_) => "in a virtual machine, they are made up",
        None => "not each hop of its path tells its speed",
    };
    Some(format!("what its links carry is unknown: {missing}"))
}

fn path(assessment: &Assessment) -> Option<&Hop> {
    assessment.header.storage.as_ref()?.path.as_deref()
}

/// The arrays below the files that lack a disk or are busy with themselves, which costs speed.
fn arrays(assessment: &Assessment) -> Vec<String> {
    let Some(top) = path(assessment) else { return Vec::new() };
    let is_guest = assessment.header.host.hypervisor.is_some();
    let of = |hop: JudgedHop| {
        let costs = |found: &&Finding| matches!(found.code, Code::Degraded | Code::Rebuilding);
        let codes = hop.findings.iter().filter(costs).map(|found| found.code.name());
        let codes: Vec<&str> = codes.collect();
        (!codes.is_empty())
            .then(|| format!("{} may be slower for now ({})", hop.name, listed(&codes)))
    };
    judge_path(top, is_guest).hops.into_iter().filter_map(of).collect()
}

/// What would tell whether more in flight gives more.
fn unknown(assessment: &Assessment, fastest: &FastestOfDevice) -> Text {
    let best = &fastest.lead.best().row;
    let Some(top) = assessment.row(&best.id) else {
        return "unknown".into();
    };
    let polls = top.case.read().is_some_and(|work| work.submission.polls());
    if polls && top.findings.iter().any(|found| found.code == Code::CpuBound) {
        return "unknown; what polls keeps the CPU busy in any case (CpuBound), so reads with \
                submission 'enter' would tell"
            .into();
    }
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
