//! What a job that writes asks: durability, the file at the start, and what is written.

use super::asked::Asked;
use super::facts::{Axes, Facts, Value};

/// The axes of a job that writes; `None` if it is refused.
pub(super) fn axes(asked: &Asked, facts: &Facts) -> Option<Axes> {
    let mut axes = Axes::new();
    axes.insert("op", "write".into());
    axes.insert("engine", engine(asked, facts)?.into());
    let (sync, every) = sync(asked, facts)?;
    axes.insert("sync", sync.into());
    if every > 0 {
        axes.insert("every", Value::Number(every));
    }
    axes.insert("allocation", allocation(asked, facts)?.into());
    if let Some(fill) = fill(asked) {
        axes.insert("fill", fill.into());
    }
    if facts.order.is_mixed() {
        axes.insert("read_share", Value::Number(facts.order.read_share.into()));
    }
    if asked.flag("atomic") == Some(true) {
        axes.insert("atomic", "yes".into());
    }
    Some(axes)
}

fn engine(asked: &Asked, facts: &Facts) -> Option<&'static str> {
    let engine = facts.engine.engines.1;
    if facts.order.is_mixed() && facts.is_mapped() {
        asked.refuse("ioengine", "ioassay mixes reads and writes by pwrite and io_uring alone");
        return None;
    }
    if facts.order.is_mixed() && facts.is_buffered() {
        asked.refuse(
            "direct",
            "ioassay mixes reads and writes only past the page cache, where it knows what served \
             the reads: add direct=1",
        );
        return None;
    }
    let is_appended = asked.flag("file_append") == Some(true);
    let is_on = |option: &str| asked.flag(option) == Some(true);
    if engine == "uring" && facts.queues() && !(is_on("fixedbufs") && is_on("registerfiles")) {
        asked.instead(
            "ioengine",
            "ioassay's writes by io_uring register buffers and files, as fio's with fixedbufs and \
             registerfiles",
        );
    }
    Some(match engine {
        "write" if facts.order.is_mixed() => "pwrite",
        "uring" if !facts.queues() => "pwrite",
        "pwrite" if is_appended => "write",
        engine => engine,
    })
}

/// The call that makes data durable, and after how many blocks it comes; 0 for once at the end.
fn sync(asked: &Asked, facts: &Facts) -> Option<(&'static str, u64)> {
    let every = |option: &str| asked.whole(option).filter(|every| *every > 0);
    let is_at_end =
        || ["end_fsync", "fsync_on_close"].iter().any(|it| asked.flag(it) == Some(true));
    let (sync, every, option) = match () {
        () if facts.is_null() => return Some(("none", 0)),
        () if is_synchronous(asked) => ("dsync", 0, "sync"),
        () if every("fdatasync").is_some() => ("fdatasync", every("fdatasync")?, "fdatasync"),
        () if every("fsync").is_some() => ("fsync", every("fsync")?, "fsync"),
        () if asked.has("sync_file_range") => {
            ("sync-file-range", of_range(asked), "sync_file_range")
        }
        () if is_at_end() => ("fsync", 0, "end_fsync"),
        () => return Some(("none", 0)),
    };
    let sync = match sync {
        "dsync" if facts.is_mapped() => {
            asked.refuse("sync", "O_SYNC has no effect on a mapping: use fsync=N");
            return None;
        }
        "fsync" | "fdatasync" if facts.is_mapped() => "msync",
        sync => sync,
    };
    if facts.order.is_mixed() && every > 0 {
        if every > 1 {
            asked.refuse(
                option,
                "among reads, ioassay syncs each write or once at the end: use sync=dsync or \
                 end_fsync=1",
            );
            return None;
        }
        asked.instead(
            option,
            "among reads, each write is durable when it returns (O_DSYNC), without a sync of its \
             own",
        );
        return Some(("dsync", 0));
    }
    Some((sync, every))
}

/// Whether the file is opened so that each write is durable when it returns.
fn is_synchronous(asked: &Asked) -> bool {
    match asked.text("sync") {
        None => asked.flag("sync") == Some(true),
        Some("none" | "0") => false,
        Some("dsync") => true,
        Some(_) => {
            asked.instead("sync", "ioassay opens with O_DSYNC, which need not write the times");
            true
        }
    }
}

/// The blocks between two calls of `sync_file_range(2)`: `write:8`.
fn of_range(asked: &Asked) -> u64 {
    let last = asked.text("sync_file_range").and_then(|text| text.rsplit_once(':'));
    last.and_then(|(_, every)| every.trim().parse().ok()).filter(|every| *every > 0).unwrap_or(1)
}

/// The file at the start.
fn allocation(asked: &Asked, facts: &Facts) -> Option<&'static str> {
    if facts.is_null() {
        return Some("none");
    }
    if asked.flag("file_append") == Some(true) {
        let is_alone = facts.copies == 1 && !facts.queues() && !facts.order.is_mixed();
        if facts.order.is_random() || !is_alone || facts.is_mapped() {
            asked.refuse("file_append", "ioassay appends in order, by one job that waits");
            return None;
        }
        return Some("append");
    }
    let is_device = asked.text("filename").is_some_and(|name| name.starts_with("/dev/"));
    let is_overwritten = asked.flag("overwrite") == Some(true) || is_device;
    if is_overwritten || facts.order.is_mixed() {
        return Some("overwrite");
    }
    if facts.is_time_based {
        asked.instead(
            "time_based",
            "ioassay overwrites a file that has content; fio's first pass writes a new one, and \
             only later passes overwrite it",
        );
        return Some("overwrite");
    }
    Some(match asked.text("fallocate") {
        Some("none" | "0" | "truncate") if !facts.is_mapped() => "none",
        _ => "fallocate",
    })
}

fn fill(asked: &Asked) -> Option<&'static str> {
    if asked.flag("zero_buffers") == Some(true) {
        return Some("zero");
    }
    let pattern = asked.text("buffer_pattern")?;
    if pattern.trim_start_matches("0x").chars().all(|digit| digit == '0') {
        return Some("zero");
    }
    asked.instead("buffer_pattern", "ioassay repeats a byte of its own");
    Some("constant")
}

/// Whether a job that writes syncs each so many blocks.
pub(super) fn syncs_often(asked: &Asked) -> bool {
    ["fsync", "fdatasync"].iter().any(|it| asked.whole(it).is_some_and(|every| every > 0))
}

/// Whether anything makes what a job writes durable.
pub(super) fn is_durable(asked: &Asked) -> bool {
    let is_on = |option: &&str| asked.flag(option) == Some(true);
    let is_synced = matches!(asked.text("sync"), Some(sync) if !["0", "none"].contains(&sync));
    let is_synced = is_synced || (asked.has("sync") && asked.text("sync").is_none());
    syncs_often(asked) || is_synced || ["end_fsync", "fsync_on_close"].iter().any(is_on)
}
