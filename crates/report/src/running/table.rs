//! The tables: over time, what may bound it, and open files.

use super::say;
use crate::document::{Block, Remark};
use crate::grid::{Grid, GridCell, LAST, left, right};
use crate::style::Paint;
use crate::words::{NONE, count};
use assess::decision::Decision;
use assess::running::{BoundBy, RunningAssessment};
use model::running::{CachedPages, Interval, OpenFile, OpenMedium, RunningRecord};
use model::units;

/// If there are more files, only their number is told.
const FILES_MOST: usize = 12;

fn row(texts: impl IntoIterator<Item = String>) -> Vec<GridCell> {
    texts.into_iter().map(|text| GridCell::new(text, Paint::Plain)).collect()
}

/// What was counted in at most twelve parts of the time, and in all of it.
pub(super) fn over_time(record: &RunningRecord, judged: &RunningAssessment) -> Vec<Block> {
    if record.intervals.is_empty() {
        return vec![Block::plain("Nothing was counted: the time was too short.")];
    }
    let mut grid = Grid::new(vec![
        left("until", 0),
        right("from devices", 0),
        right("read calls", 0),
        right("made dirty", 1),
        right("group read", 5),
        right("group wrote", 5),
        right("CPU", 0),
        right("device wait", 2),
        right("asleep", 3),
        right("disks read", 4),
        right("disks wrote", 4),
        right("flushes", 4),
        right("dirty, machine", LAST),
    ]);
    for part in &judged.parts {
        grid.row(row(cells(part, format!("{:.1} s", part.at_ns as f64 / 1e9))));
    }
    if judged.parts.len() > 1 {
        grid.row(row(cells(&judged.whole, "all".to_string())));
    }
    let mut legend = vec![
        Remark::of_all("from devices, made dirty: for this program"),
        Remark::of_all("read calls: what calls such as read returned, pipes and sockets included"),
        Remark::of_all("disks and flushes: for everyone"),
    ];
    if !record.watched.counts_device_waits {
        legend.push(Remark::of_all(
            "device wait and asleep: shares of looks at its threads, because the kernel does not \
             count waits here (kernel.task_delayacct)",
        ));
    }
    vec![Block::table(grid, legend)]
}

fn cells(part: &Interval, name: String) -> Vec<String> {
    let rate = |bytes| say::rate(bytes, part.length_ns);
    let cpu = part.user_ns.zip(part.system_ns).map(|(user, system)| user.saturating_add(system));
    let looks = part.looks;
    let seen = looks.running.saturating_add(looks.blocked).saturating_add(looks.stopped);
    let of_disks = |of: fn(&model::running::DiskCounts) -> u64| rate(part.disks.as_ref().map(of));
    let flushes = part.disks.and_then(|disks| disks.flushes);
    let mark = if part.lost > 0 || part.hidden > 0 { "≥ " } else { "" };
    let at_least = |said: String| if said == NONE { said } else { format!("{mark}{said}") };
    vec![
        name,
        at_least(rate(part.read_bytes)),
        at_least(rate(part.read_call_bytes)),
        at_least(rate(part.write_bytes)),
        rate(part.group_read_bytes),
        rate(part.group_write_bytes),
        say::share_of(cpu, part.length_ns),
        say::share_of_looks(looks.blocked, looks.count),
        say::share_of_looks(looks.count.saturating_sub(seen), looks.count),
        of_disks(|disks| disks.read_bytes),
        of_disks(|disks| disks.write_bytes),
        flushes.map_or(NONE.to_string(), |flushes| flushes.to_string()),
        say::bytes(part.machine_dirty_bytes),
    ]
}

/// What may bound it.
pub(super) fn bounds(judged: &RunningAssessment) -> Vec<Block> {
    let mut grid =
        Grid::new(vec![left("by", 0), left("bounded", 0), right("share", 0), left("of", 0)]);
    for bound in &judged.bounds {
        let (by, of) = match bound.by {
            BoundBy::Quota => ("a CPU quota", "of the time it was stopped"),
            BoundBy::Processors => ("computing, on all processors", "of their time"),
            BoundBy::Computing => ("computing, on one thread", "of the time, its busiest thread"),
            BoundBy::OtherPrograms => {
                ("other programs", "of its time with or ready for a processor")
            }
            BoundBy::Device => ("waiting for a device", "of the looks"),
        };
        let paint = match bound.decision {
            Decision::Yes => Paint::Strong,
            Decision::No => Paint::Faint,
            Decision::Undecided => Paint::Plain,
        };
        let share = say::share(bound.share);
        let of = if share == NONE { "" } else { of };
        let texts = [by.to_string(), bound.decision.to_string(), share, of.to_string()];
        grid.row(texts.map(|text| GridCell::new(text, paint)).to_vec());
    }
    vec![Block::table(grid, [])]
}

/// Its data files.
pub(super) fn files(record: &RunningRecord) -> Vec<Block> {
    let Some(open) = record.end.as_ref().map(|end| &end.open) else { return Vec::new() };
    if open.files.is_empty() && open.unseen_processes > 0 {
        return vec![Block::plain("This user may not see which files it has open.")];
    }
    if open.files.is_empty() {
        return vec![Block::plain(
            "No data file was open in any look; one that is open only for a moment may be missed.",
        )];
    }
    let mut grid = Grid::new(vec![
        left("file", 0),
        right("size", 0),
        left("open for", 1),
        right("cached before", 2),
        right("cached", 0),
        right("dirty", 0),
        left("on", 1),
    ]);
    let page = record.watched.page_bytes;
    for file in open.files.iter().take(FILES_MOST) {
        grid.row(row(file_cells(file, page)));
    }
    let mut blocks = vec![Block::table(grid, [])];
    let more = (open.files.len() as u64).saturating_add(open.unlisted);
    let more = more.saturating_sub(FILES_MOST as u64);
    if more > 0 {
        blocks.push(Block::aside(format!(
            "{} more, each smaller than these",
            count(more as usize, "file")
        )));
    }
    blocks
}

fn file_cells(file: &OpenFile, page: u64) -> Vec<String> {
    let cached = |pages: Option<CachedPages>| {
        pages.map_or(NONE.to_string(), |seen| match seen.pages {
            0 => NONE.to_string(),
            pages => units::percent(seen.cached as f64 / pages as f64),
        })
    };
    let dirty = file.after.and_then(|seen| seen.dirty).map(|pages| pages.saturating_mul(page));
    let on = file.file_system.clone().unwrap_or_else(|| "unknown".to_string());
    let on = match file.medium {
        OpenMedium::Device => on,
        OpenMedium::Memory => format!("{on} (memory)"),
        OpenMedium::Unseen => format!("{on} (unseen)"),
    };
    let removed = if file.removed { " (removed)" } else { "" };
    vec![
        format!("{}{removed}", file.path.text),
        say::bytes(file.bytes),
        uses(file),
        cached(file.before),
        cached(file.after),
        say::bytes(dirty),
        on,
    ]
}

/// `reading, writing, O_DIRECT`.
fn uses(file: &OpenFile) -> String {
    let uses = [
        (file.reading && !file.mapped, "reading"),
        (file.mapped, "mapping"),
        (file.writing, "writing"),
        (file.direct, "O_DIRECT"),
        (file.sync, "O_SYNC"),
    ];
    let uses: Vec<&str> = uses.iter().filter(|(is, _)| *is).map(|(_, name)| *name).collect();
    uses.join(", ")
}
