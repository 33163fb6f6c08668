//! Memory and processors of a path's machine, in a small table.

use crate::document::{Block, FindingBlock, Remark, Section};
use crate::grid::{Grid, GridCell, left, right};
use crate::style::Paint;
use crate::text::Text;
use crate::words::{NONE, count, listed};
use assess::platform::{JudgedPlatform, judge_platform};
use model::path::{Hop, MediumPath};
use model::platform::{MemoryController, MemorySlot, NodeClaim, Platform, Processors};
use model::setup::Node;
use model::units::{bytes_rounded, nanoseconds, rate, scaled};
use std::collections::BTreeMap;

/// What is judged of the machine of `path`, and of the paths from `tops` down on it.
pub(crate) fn judged_of(path: &MediumPath, tops: &[&Hop]) -> JudgedPlatform {
    judge_platform(&path.platform, tops, path.hypervisor.is_some())
}

/// The table of the machine of `path`; empty if nothing is known of it.
pub(crate) fn section<'a>(path: &MediumPath) -> Section<'a> {
    Section::new("Memory and processors", table(path).into_iter().chain(with_root(path)))
}

/// What root would add, if anything.
fn with_root(path: &MediumPath) -> Option<Block> {
    let is_asked = path.platform.slots_need_root && path.hypervisor.is_none();
    is_asked.then(|| Block::aside("With root: the modules of memory and their speed (DMI)."))
}

/// What is odd about it.
pub(crate) fn found(judged: &JudgedPlatform) -> impl Iterator<Item = FindingBlock> {
    judged.findings.iter().map(|finding| FindingBlock {
        code: Some(finding.code.to_string()),
        rows: Text::from("this machine"),
        brief_rows: Text::from("this machine"),
        remedy: Some(Text::from(&finding.remedy)),
        ..FindingBlock::of_kind("odd", Paint::Doubt, &finding.message)
    })
}

fn table(path: &MediumPath) -> Option<Block> {
    let judged = judged_of(path, &[]);
    let columns = [left("part", 0), right("at most", 0), left("what it is", 0)];
    let mut grid = Grid::new(columns.to_vec());
    let mut row = |part: &str, most: Option<f64>, words: Vec<String>| {
        let most = most.map_or(NONE.to_string(), rate);
        let cells = [part.to_string(), most, words.join(", ")];
        grid.row(cells.map(|text| GridCell::new(text, Paint::Plain)).to_vec());
    };
    let (memory, processors) = (of_memory(path), of_processors(path));
    if memory.is_empty() && processors.is_empty() {
        return None;
    }
    let mut legend = Vec::new();
    if !memory.is_empty() {
        row("memory", judged.memory_allows.map(|allows| allows.bytes_per_second), memory);
        legend.push(at_most(&judged));
    }
    for node in nodes(path) {
        row(&format!("node {}", node.number), None, of_node(node, &path.platform));
    }
    if !processors.is_empty() {
        row("processors", None, processors);
    }
    let claims = "claimed: what the firmware says (HMAT), which may be a guess";
    legend.extend((!path.platform.claims.is_empty()).then(|| claims.to_string()));
    Some(Block::table(grid, legend.into_iter().map(Remark::of_all)))
}

/// From what the limit of memory follows, or why it is unknown.
fn at_most(judged: &JudgedPlatform) -> String {
    match (judged.memory_allows, &judged.memory_unknown) {
        (Some(allows), _) => format!(
            "memory, at most: {} with modules, 8 bytes each, {} MT/s",
            count(allows.channels as usize, "channel"),
            allows.speed
        ),
        (None, why) => {
            format!("memory, at most: unknown, because {}", why.as_deref().unwrap_or("untold"))
        }
    }
}

/// The nodes, if there are several, or if something is claimed of one.
fn nodes(path: &MediumPath) -> impl Iterator<Item = &Node> {
    let is_told = path.nodes.len() > 1 || !path.platform.claims.is_empty();
    path.nodes.iter().filter(move |_| is_told)
}

fn of_node(node: &Node, platform: &Platform) -> Vec<String> {
    let mut words = vec![match node.cpus.as_str() {
        "" => "no CPUs".to_string(),
        cpus => format!("CPUs {cpus}"),
    }];
    words.extend(node.memory.map(bytes_rounded));
    let usable = &platform.processors.usable_nodes;
    let is_shut = !node.cpus.is_empty() && !usable.is_empty() && !usable.contains(&node.number);
    words.extend(is_shut.then(|| "this process may not run here".to_string()));
    let claim = platform.claims.iter().find(|claim| claim.node == node.number);
    words.extend(claim.map(of_claim));
    words
}

fn of_claim(claim: &NodeClaim) -> String {
    let told = |name: &str, bandwidth: Option<u64>, latency: Option<u64>| {
        let bandwidth = bandwidth.map(|megabytes| rate(megabytes as f64 * 1e6));
        let latency = latency.map(|ns| nanoseconds(ns as f64));
        let both: Vec<String> = bandwidth.into_iter().chain(latency).collect();
        (!both.is_empty()).then(|| format!("{name} {}", both.join(" in ")))
    };
    let reads = told("reads", claim.read_bandwidth, claim.read_latency);
    let writes = told("writes", claim.write_bandwidth, claim.write_latency);
    let both: Vec<String> = reads.into_iter().chain(writes).collect();
    format!("claimed: {}", both.join(" and "))
}

/// The modules, as the firmware tells them, or else as the driver of the controllers does.
fn of_memory(path: &MediumPath) -> Vec<String> {
    let Platform { slots, controllers, .. } = &path.platform;
    let mut words = match slots {
        Some(slots) => of_slots(slots),
        None => of_controllers(controllers),
    };
    words.extend(channels(controllers));
    words.extend(path.memory.map(|all| format!("{} for the OS", bytes_rounded(all))));
    words
}

/// Counts what is alike: `16 modules of 32 GiB, Registered-DDR4`.
fn alike(of_each: impl Iterator<Item = String>) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    of_each.for_each(|one| *counts.entry(one).or_default() += 1);
    counts.into_iter().collect()
}

fn of_slots(slots: &[MemorySlot]) -> Vec<String> {
    let filled = slots.iter().filter(|slot| slot.filled == Some(true));
    let each = filled.clone().map(|slot| {
        let size = slot.size.map_or("unknown size".to_string(), bytes_rounded);
        let mut words = vec![size];
        words.extend(slot.technology.clone());
        words.extend(slot.speed.map(|speed| format!("at {speed} MT/s")));
        let more = slot.speed_most.filter(|most| Some(*most) != slot.speed);
        words.extend(more.map(|most| format!("(made for {most} MT/s)")));
        words.join(" ")
    });
    let told = alike(each).into_iter();
    let mut words: Vec<String> =
        told.map(|(one, number)| format!("{} of {one}", count(number, "module"))).collect();
    words.push(format!("{} of {} filled", filled.count(), count(slots.len(), "slot")));
    let unknown = slots.iter().filter(|slot| slot.filled.is_none()).count();
    words.extend((unknown > 0).then(|| format!("{unknown} unknown")));
    words
}

fn of_controllers(controllers: &[MemoryController]) -> Vec<String> {
    let modules = controllers.iter().flat_map(|controller| &controller.modules);
    let each = modules.map(|module| {
        let is_rank = module.name.starts_with("rank");
        let size = module.size.map_or("unknown size".to_string(), bytes_rounded);
        let mut words = vec![size];
        words.extend(module.technology.clone());
        // A space sorts before all letters, so that the kinds stay apart.
        format!("{} {}", if is_rank { "rank" } else { "module" }, words.join(" "))
    });
    let told = alike(each).into_iter().map(|(one, number)| {
        let (kind, one) = one.split_once(' ').unwrap_or(("module", &one));
        format!("{} of {one}", count(number, kind))
    });
    told.collect()
}

/// How many channels of each controller have a module, where that is known.
fn channels(controllers: &[MemoryController]) -> Option<String> {
    let filled = |controller: &MemoryController| Some(controller.filled_channels()?.len());
    let each: Vec<usize> = controllers.iter().map(filled).collect::<Option<_>>()?;
    let first = *each.first()?;
    let in_each = each.iter().all(|one| *one == first);
    Some(match each.len() {
        1 => format!("{} with modules", count(first, "channel")),
        number if in_each => format!("{number} controllers with modules in {first} channels each"),
        number => {
            let each: Vec<String> = each.iter().map(usize::to_string).collect();
            format!("{number} controllers with modules in {} channels", listed(&each))
        }
    })
}

fn of_processors(path: &MediumPath) -> Vec<String> {
    let Processors { packages, cores, threads, isolated, aes, boost, .. } =
        &path.platform.processors;
    // Some models pad their names.
    let cpu = path.cpu.as_ref().map(|cpu| cpu.split_whitespace().collect::<Vec<_>>().join(" "));
    let model = cpu.map(|cpu| match packages {
        Some(packages) if *packages > 1 => format!("{packages} x {cpu}"),
        _ => cpu,
    });
    let mut words: Vec<String> = model.into_iter().collect();
    words.extend(cores.map(|cores| count(cores as usize, "core")));
    words.extend(threads.map(|threads| count(threads as usize, "thread")));
    words.extend(frequency(&path.platform.processors));
    words.extend(boost.filter(|is_on| !is_on).map(|_| "boost off".to_string()));
    words.extend(path.governor.as_ref().map(|governor| format!("governor {governor}")));
    words.extend(aes.filter(|has| *has).map(|_| "AES instructions".to_string()));
    words.extend(isolated.as_ref().map(|cpus| format!("CPUs {cpus} isolated")));
    words
}

/// The most that the fastest core may do, and what it could.
fn frequency(processors: &Processors) -> Option<String> {
    let hertz = |kilohertz: u64| format!("{}Hz", scaled(kilohertz as f64 * 1e3));
    let most = processors.frequency_most?;
    Some(match processors.frequency_limit {
        Some(limit) if limit < most => {
            format!("limited to {} of {}", hertz(limit), hertz(most))
        }
        _ => format!("up to {}", hertz(most)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Style;
    use assess::path::judge_path;
    use model::path::HopKind;

    /// What is printed of a machine with this platform.
    fn printed(platform: Platform, hypervisor: Option<&str>) -> String {
        let path = MediumPath {
            asked: "/srv".to_string(),
            top: Hop::new("/srv", HopKind::Memory, Vec::new()),
            hypervisor: hypervisor.map(str::to_string),
            cpu: Some("Zebra 9000".to_string()),
            memory: Some(24 << 30),
            governor: None,
            nodes: Vec::new(),
            platform,
        };
        let judged = judge_path(&path.top, hypervisor.is_some());
        crate::paths(&[(path, judged)]).text(&Style { colour: false, width: 120 })
    }

    #[test]
    fn what_root_would_add_is_said_where_root_would_add_it() {
        let refused = || Platform { slots_need_root: true, ..Platform::default() };
        let said = "With root: the modules of memory and their speed (DMI).";
        assert!(printed(refused(), None).contains(said));
        // A hypervisor makes its modules up.
        assert!(!printed(refused(), Some("kvm")).contains("root"));
        assert!(!printed(Platform::default(), None).contains("root"));
    }

    #[test]
    fn modules_that_differ_are_counted_apart() {
        let slot = |gib: u64, speed: Option<u64>| MemorySlot {
            filled: Some(gib > 0),
            size: Some(gib << 30).filter(|bytes| *bytes > 0),
            technology: Some("DDR4".to_string()),
            speed,
            speed_most: Some(3200),
            ..MemorySlot::default()
        };
        let slots = [slot(8, Some(3200)), slot(16, Some(2933)), slot(8, Some(3200)), slot(0, None)];
        let unknown = MemorySlot::default();
        let all = slots.into_iter().chain([unknown]).collect::<Vec<_>>();
        let words = of_slots(&all);
        let expected = [
            "1 module of 16.0 GiB DDR4 at 2933 MT/s (made for 3200 MT/s)",
            "2 modules of 8.00 GiB DDR4 at 3200 MT/s",
            "3 of 5 slots filled",
            "1 unknown",
        ];
        assert_eq!(words, expected);
    }
}
