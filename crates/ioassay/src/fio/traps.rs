//! Where a job's figure is not what its author may take it for.

use super::asked::Asked;
use super::facts::Facts;
use super::here::Here;
use super::writes::{is_durable, syncs_often};
use model::units;

/// What is known when a trap is looked for.
struct Scene<'a> {
    asked: &'a Asked<'a>,
    facts: &'a Facts,
    here: &'a Here,
}

/// A trap: the options that it is about, of which a job has one or none, and what to say if the job
/// is in it.
type Trap = (&'static [&'static str], fn(&Scene) -> Option<String>);

/// All traps.
const TRAPS: &[Trap] = &[
    (&["iodepth"], ignored_depth),
    (&["direct", "buffered"], buffered_reads),
    (&["direct", "buffered"], buffered_writes),
    (&["direct", "buffered"], volatile_writes),
    (&["direct"], mapped_direct),
    (&["time_based"], no_ramp),
    (&["runtime"], no_time_base),
    (&["norandommap"], repeated_blocks),
    (&["randrepeat"], repeated_order),
    (&["zero_buffers"], zeros),
    (&["scramble_buffers"], same_buffers),
    (&["numjobs"], same_blocks),
    (&["fdatasync", "fsync"], untold_syncs),
    (&["overwrite"], first_run),
    (&["rate_iops", "rate"], late_operations),
    (&["filename"], device),
];

/// Says of a job in which traps it is.
pub(super) fn tell(asked: &Asked, facts: &Facts, here: &Here) {
    let scene = Scene { asked, facts, here };
    if facts.is_null() {
        return;
    }
    for (options, trap) in TRAPS {
        if let Some(says) = trap(&scene) {
            let option = options.iter().find(|option| asked.has(option)).unwrap_or(&options[0]);
            asked.fooled(option, says);
        }
    }
}

fn ignored_depth(scene: &Scene) -> Option<String> {
    let depth = scene.asked.whole("iodepth").filter(|depth| *depth > 1)?;
    let engine = scene.asked.text("ioengine").unwrap_or("psync");
    let why = match engine {
        _ if scene.facts.queues() => return None,
        "libaio" => "libaio waits for each operation unless direct=1".to_string(),
        "posixaio" => "glibc does the operations of a file one after another".to_string(),
        _ => format!("{engine} waits for each operation"),
    };
    Some(format!(
        "{why}, so one is in flight, not {depth}, and so it is here. For {depth}, take \
         ioengine=io_uring{}",
        if engine == "libaio" { " or add direct=1" } else { "" }
    ))
}

fn buffered_reads(scene: &Scene) -> Option<String> {
    let Scene { asked, facts, here } = scene;
    if !facts.is_buffered() || facts.order.read_share == 0 {
        return None;
    }
    if facts.cache != "cold" {
        return Some(
            "without direct=1, the page cache serves the reads that it can: the figure is of \
             memory as much as of the disk"
                .to_string(),
        );
    }
    let again = facts.is_time_based || asked.whole("loops").is_some_and(|loops| loops > 1);
    let all = facts.bytes.saturating_mul(facts.copies);
    let memory = here.memory.filter(|memory| all < *memory);
    match memory {
        Some(memory) if again => Some(format!(
            "the file of {} fits into the {} of memory, and without direct=1 only its first pass \
             reads the disk: fio's figure is mostly of the page cache. ioassay reads it cold, once \
             in each trial",
            units::bytes(all),
            units::bytes_rounded(memory),
        )),
        _ => Some(
            "without direct=1, reads go through the page cache, which may hold the file or read \
             it ahead. ioassay reads it cold, and says what served it"
                .to_string(),
        ),
    }
}

fn buffered_writes(scene: &Scene) -> Option<String> {
    let is_such = scene.facts.is_buffered() && scene.facts.order.writes();
    (is_such && !is_durable(scene.asked)).then(|| {
        "without direct=1 and end_fsync=1, a write is done once it is in memory: fio's figure is \
         that of the page cache, and nothing says when the data is on the disk. Add end_fsync=1"
            .to_string()
    })
}

fn volatile_writes(scene: &Scene) -> Option<String> {
    let is_such = !scene.facts.is_buffered() && scene.facts.order.writes();
    (is_such && !is_durable(scene.asked)).then(|| {
        "nothing makes the writes durable: a drive with a volatile cache loses them in a power \
         cut, and its cache may be all that was measured. Add fdatasync=1, sync=dsync or \
         end_fsync=1"
            .to_string()
    })
}

fn mapped_direct(scene: &Scene) -> Option<String> {
    let is_such = scene.facts.is_mapped() && scene.facts.is_direct;
    is_such.then(|| "a mapping is the page cache: direct=1 has no effect on mmap".to_string())
}

fn no_ramp(scene: &Scene) -> Option<String> {
    (scene.facts.is_time_based && !scene.asked.has("ramp_time")).then(|| {
        "without ramp_time, fio's average includes the first seconds, in which caches fill and \
         queues are empty; ioassay's figure is the median of trials"
            .to_string()
    })
}

fn no_time_base(scene: &Scene) -> Option<String> {
    (scene.asked.has("runtime") && !scene.facts.is_time_based).then(|| {
        "without time_based, fio ends once it is through with the size, which may be long before \
         this time"
            .to_string()
    })
}

fn repeated_blocks(scene: &Scene) -> Option<String> {
    let is_on = scene.asked.flag("norandommap") == Some(true);
    (is_on && scene.facts.order.is_random()).then(|| {
        "fio reads or writes some blocks several times and others never, and a cache serves the \
         repeated ones; in ioassay, each comes once in a pass"
            .to_string()
    })
}

fn repeated_order(scene: &Scene) -> Option<String> {
    let is_off = scene.asked.flag("randrepeat") == Some(false);
    let is_random = scene.facts.order.is_random() && scene.facts.order.read_share > 0;
    (is_random && !is_off).then(|| {
        "without randrepeat=0, each run of fio takes the same blocks in the same order, so a cache \
         of the device or below it may know them; ioassay draws a new order for each trial"
            .to_string()
    })
}

fn zeros(scene: &Scene) -> Option<String> {
    let is_on = scene.asked.flag("zero_buffers") == Some(true);
    (is_on && scene.facts.order.writes()).then(|| {
        "zeros compress to nothing, and some storage does not even write them: the figure is not \
         that of data"
            .to_string()
    })
}

fn same_buffers(scene: &Scene) -> Option<String> {
    let refills = scene.asked.flag("refill_buffers") == Some(true);
    let is_off = scene.asked.flag("scramble_buffers") == Some(false);
    (is_off && !refills && scene.facts.order.writes()).then(|| {
        "all blocks then have the same content, which storage may keep once: add refill_buffers=1"
            .to_string()
    })
}

fn same_blocks(scene: &Scene) -> Option<String> {
    let Scene { asked, facts, .. } = scene;
    let is_shared = asked.has("filename") && !asked.has("offset_increment");
    (facts.copies > 1 && is_shared && !facts.order.is_random()).then(|| {
        format!(
            "all {} jobs go through the same blocks of one file, so the first finds them on the \
             disk, and the others in a cache. ioassay's threads divide the file",
            facts.copies
        )
    })
}

fn untold_syncs(scene: &Scene) -> Option<String> {
    let is_such = scene.facts.order.writes() && syncs_often(scene.asked);
    is_such.then(|| {
        "fio's clat percentiles are those of the writes alone, and those of the syncs are in a \
         table of their own; ioassay's sync p99 is that of the syncs"
            .to_string()
    })
}

fn first_run(scene: &Scene) -> Option<String> {
    let Scene { asked, facts, .. } = scene;
    let is_kept = asked.flag("unlink") != Some(true);
    let is_device = asked.text("filename").is_some_and(|name| name.starts_with("/dev/"));
    let is_named = asked.has("overwrite") || asked.flag("file_append") == Some(true) || is_device;
    let is_new = facts.order.writes() && !facts.order.is_mixed() && !facts.is_time_based;
    (is_new && is_kept && !is_named).then(|| {
        "fio leaves its file behind, so its first run writes a new file and each later one \
         overwrites it, which takes another time. ioassay writes a new one in each trial; \
         overwrite=1 asks for the other"
            .to_string()
    })
}

fn late_operations(scene: &Scene) -> Option<String> {
    let has_rate = scene.asked.has("rate_iops") || scene.asked.has("rate");
    (has_rate && scene.asked.text("rate_process") != Some("poisson")).then(|| {
        "a late operation of fio delays the next ones, so its latencies lack the time in which \
         they waited; ioassay's schedule does not move, and its response times have it"
            .to_string()
    })
}

fn device(scene: &Scene) -> Option<String> {
    let writes = scene.facts.order.writes();
    let is_device = scene.asked.text("filename").is_some_and(|name| name.starts_with("/dev/"));
    (is_device && writes).then(|| {
        "fio overwrites what is on this device. ioassay does not touch it: it writes to a test \
         file of its own in the directory that you name"
            .to_string()
    })
}
