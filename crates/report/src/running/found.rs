//! The findings.

use super::say;
use crate::document::{Block, FindingBlock};
use crate::words::{count, severity_paint};
use assess::finding::Severity;
use assess::running::{RunningAssessment, RunningCode, RunningFinding};
use model::running::{OpenFiles, RunningRecord};
use model::units;

pub(super) fn findings(record: &RunningRecord, judged: &RunningAssessment) -> Vec<Block> {
    let open = record.end.as_ref().map(|end| &end.open);
    let all: Vec<FindingBlock> = judged.findings.iter().map(|it| block(it, judged, open)).collect();
    let own = record.end.as_ref().and_then(|end| end.own_cpu_ns);
    let own = own.map(|ns| {
        let share = say::share_of(Some(ns), judged.whole.at_ns);
        let text = format!("watching took {share} of one processor");
        FindingBlock::of_kind("note", severity_paint(Severity::Note), text)
    });
    Block::findings(all.into_iter().chain(own).collect()).into_iter().collect()
}

fn block(
    found: &RunningFinding,
    judged: &RunningAssessment,
    open: Option<&OpenFiles>,
) -> FindingBlock {
    let kind = if found.severity == Severity::Note { "note" } else { "doubt" };
    let text = format!("{}: {}", found.code, said(found, judged, open));
    FindingBlock::of_kind(kind, severity_paint(found.severity), text)
}

fn said(found: &RunningFinding, judged: &RunningAssessment, open: Option<&OpenFiles>) -> String {
    let bytes = units::bytes_rounded(found.amount);
    let number = found.amount as usize;
    match found.code {
        RunningCode::CountersDisagree => {
            let disks = judged.whole.disks.map(|disks| disks.read_bytes);
            format!(
                "{bytes} are counted as read from devices for it, but all disks read {}: its files \
                 are on something else, such as a network",
                say::bytes(disks)
            )
        }
        RunningCode::BytesHidden => format!(
            "the bytes of {number} of its processes are hidden from this user: only their own user \
             and root may see them, and a sandbox may forbid it to them, too"
        ),
        RunningCode::BytesLost => format!(
            "{number} of its processes ended and nobody counted their last bytes: figures are at \
             least what it did"
        ),
        RunningCode::Throttled => format!(
            "a CPU quota stopped it for {} in all: give its control group more, or fewer threads",
            units::nanoseconds(found.amount as f64)
        ),
        RunningCode::DirtyFiles => {
            format!("{bytes} of its open files are only in memory: a power cut now would lose them")
        }
        RunningCode::OtherReads => format!(
            "other programs read {bytes} from the disks meanwhile: they share the devices' time"
        ),
        RunningCode::AskedUnknown => asked_unknown(open),
        RunningCode::OtherSources => format!(
            "its read calls include what came from pipes, sockets, terminals and devices, of \
             which it has {number} open: how much it read from files is unknown"
        ),
        RunningCode::FilesUnseen => format!(
            "the cached pages of {} cannot be seen: other users' files, a file system that does \
             not tell, or too many",
            count(number, "open file")
        ),
    }
}

fn asked_unknown(open: Option<&OpenFiles>) -> String {
    let Some(open) = open else { return String::new() };
    let mapped = open.files.iter().filter(|file| file.mapped).count();
    let parts = [
        (mapped, "mapped file"),
        (open.rings as usize, "ring of io_uring"),
        (open.aio as usize, "queue of asynchronous I/O"),
    ];
    let parts = parts.iter().filter(|(number, _)| *number > 0);
    let parts: Vec<String> = parts.map(|(number, noun)| said_count(*number, noun)).collect();
    format!(
        "it has {}, through which it reads without calls that are counted: how much it asked for \
         is unknown",
        model::list::listed(&parts)
    )
}

/// `2 rings of io_uring`.
fn said_count(number: usize, noun: &str) -> String {
    match (number, noun.split_once(' ')) {
        (1, _) => format!("1 {noun}"),
        (_, Some((first, rest))) if rest.starts_with("of ") => format!("{number} {first}s {rest}"),
        _ => format!("{number} {noun}s"),
    }
}
