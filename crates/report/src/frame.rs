//! What is around the figures, the same in every view: where the run was made, and what is missing.

use crate::document::Remark;
use crate::group::grouped;
use crate::part;
use crate::ratio_words::share_of_links;
use crate::words::{self, count, listed};
use crate::writes;
use assess::Assessment;
use assess::invocations::Spread;
use assess::link_use::LinkUse;
use assess::repetition::Repetition;
use model::host::{Affinity, Device, Fixture, Host, Medium, Storage, cpus_text};
use model::record::End;
use model::setup::Node;
use model::shape::{Calibrated, LoopShape};
use model::units;

/// The title of a run: `ioassay 0.1.0 · survey · 2026-11-21T10:00:00Z`.
pub(crate) fn title(assessment: &Assessment) -> String {
    let tool = &assessment.header.tool;
    format!(
        "{} {} · {} · {}",
        tool.name, tool.version, assessment.header.plan.recipe, assessment.header.began
    )
}

/// The machine, the storage and the settings of the whole run, in lines.
pub(crate) fn surroundings(assessment: &Assessment) -> Vec<String> {
    let mut lines = vec![machine(assessment)];
    lines.extend(assessment.header.storage.as_ref().map(|storage| place(storage, assessment)));
    lines.extend(links(assessment));
    if let Some(source) = &assessment.header.source_storage {
        lines.push(format!("copied from {}", on(source, assessment).join(" · ")));
    } else if writes::any_copy(assessment) {
        lines.push("the source of the copy is on the same file system".to_string());
    }
    lines.extend(loops(&assessment.header.calibrated));
    lines.extend(limits(assessment));
    lines.push(repetition(assessment));
    lines
}

/// What the links to the storage carry, and how much of that the fastest case gets.
fn links(assessment: &Assessment) -> Option<String> {
    let path = assessment.header.storage.as_ref()?.path.as_deref()?;
    let hops: Vec<&str> = path.all().into_iter().map(|hop| hop.name.as_str()).collect();
    // The files of a command may be elsewhere.
    let is_here =
        |link: &LinkUse| link.allows.hops.iter().all(|name| hops.contains(&name.as_str()));
    let cases = assessment.cases.iter().filter(|it| it.verdict.stands());
    let uses = cases.filter_map(|it| Some((it, it.link.as_deref().filter(|it| is_here(it))?)));
    let (case, link) = uses.max_by(|(_, a), (_, b)| a.share.total_cmp(&b.share))?;
    let who = if case.case.command().is_some() { "command" } else { "case" };
    let (words, share) = (link.allows.words(), share_of_links(link));
    Some(format!("its path gets {words}; the fastest {who} gets {share} of that"))
}

/// The machine and the storage, in one line.
pub(crate) fn in_a_line(assessment: &Assessment) -> String {
    let storage = assessment.header.storage.iter().flat_map(|storage| on(storage, assessment));
    [machine(assessment)].into_iter().chain(storage).collect::<Vec<_>>().join(" · ")
}

/// How the run was repeated within itself, and what its intervals are valid for.
fn repetition(assessment: &Assessment) -> String {
    let Repetition { invocations, rounds: all, .. } = assessment.repetition;
    let (rounds, all) =
        (count(assessment.header.plan.rounds as usize, "round"), count(all as usize, "round"));
    if assessment.header.plan.sustain.is_some() {
        return "one invocation: intervals hold within this run".to_string();
    }
    if invocations == 1 {
        return format!("one invocation of up to {rounds}: intervals hold within this run");
    }
    format!(
        "{invocations} invocations, {all} in all: intervals hold from invocation to invocation{}",
        spread(&assessment.repetition)
    )
}

/// How much a typical row varies between invocations and within them.
fn spread(repetition: &Repetition) -> String {
    let Some(Spread { between, within }) = repetition.spread else { return String::new() };
    let within = within.map_or(String::new(), |within| match between {
        0.0 => format!(" than rounds explain, which vary by {}", units::percent(within)),
        _ => format!(", {} between the rounds of one", units::percent(within)),
    });
    let between = match between {
        0.0 => "no more".to_string(),
        between => format!("by {}", units::percent(between)),
    };
    format!("; the typical row varies {between} between invocations{within}")
}

/// What is anew in each invocation, whether there were enough to check that they are independent,
/// and how many rounds in each give the narrowest intervals in the same time.
pub(crate) fn repetition_in_detail(assessment: &Assessment) -> Vec<(&'static str, String)> {
    let Repetition { invocations, has_new_files, is_dependence_checked, .. } =
        assessment.repetition;
    let units = if invocations == 1 { "rounds" } else { "invocations" };
    let anew = match has_new_files {
        true => "new workers and new test files",
        false => "new workers",
    };
    let costs = assessment.repetition.costs;
    let advice = assessment.repetition.advised_rounds.zip(costs).map(|(rounds, costs)| {
        format!(
            "{} in each: an invocation costs {:.1} s and a round {:.1} s",
            count(rounds as usize, "round"),
            costs.invocation_s,
            costs.round_s,
        )
    });
    let unchecked = format!("not checked: that needs 10 {units}");
    [
        ("each invocation has", (invocations > 1).then(|| anew.to_string())),
        ("narrowest intervals with", advice),
        ("dependence", (!is_dependence_checked).then_some(unchecked)),
    ]
    .into_iter()
    .filter_map(|(what, said)| Some((what, said?)))
    .collect()
}

fn machine(assessment: &Assessment) -> String {
    let host = &assessment.header.host;
    let mut machine = vec![host.cpu.clone(), cores(host)];
    machine.extend(memory(host));
    machine.push(host.os.clone());
    machine.extend(unusual(host));
    machine.extend(host.hypervisor.as_ref().map(|hypervisor| match hypervisor.as_str() {
        "unknown" => "in a virtual machine".to_string(),
        name => format!("in a virtual machine ({name})"),
    }));
    machine.join(" · ")
}

/// The usable CPUs, out of how many if there is a quota.
fn cores(host: &Host) -> String {
    let (usable, all) = (host.parallelism(), host.cores);
    let kinds: Vec<String> =
        host.setup.core_kinds.iter().map(|kind| format!("{} {}", kind.count, kind.name)).collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
    match usable == all {
        true => format!("{}{kinds}", count(all as usize, "core")),
        false => format!("{usable} of {}{kinds} by quota", count(all as usize, "core")),
    }
}

/// The size of memory, or what control groups allow of it.
fn memory(host: &Host) -> Option<String> {
    let [all, allowed] = [host.memory, host.memory_quota].map(|it| it.map(units::bytes_rounded));
    match (all, allowed) {
        (None, None) => None,
        (Some(all), None) => Some(format!("{all} of memory")),
        (Some(all), Some(allowed)) => Some(format!("{allowed} of {all} of memory by quota")),
        (None, Some(allowed)) => Some(format!("{allowed} of memory by quota")),
    }
}

/// Unusual settings that influence figures.
fn unusual(host: &Host) -> Vec<String> {
    let setup = &host.setup;
    let nodes = (setup.nodes.len() > 1).then(|| nodes(&setup.nodes));
    let governor = setup.governor.as_ref().filter(|name| *name != GOVERNOR_USUAL);
    let governor = governor.map(|name| format!("governor {name}"));
    // A lower load leaves CPUs free for the run's own threads.
    let load = setup.load.filter(|load| *load >= 0.5 * f64::from(host.cores));
    let load = load.map(|load| format!("load {load:.1} when it began"));
    nodes.into_iter().chain(governor).chain(load).collect()
}

/// If there are more, only their number is shown.
const NODES_TOLD: usize = 4;

/// NUMA nodes with their CPUs and memory: `2 NUMA nodes (node 0: CPUs 0-1, 512 MiB; …)`.
fn nodes(nodes: &[Node]) -> String {
    let number = count(nodes.len(), "NUMA node");
    if nodes.len() > NODES_TOLD {
        return number;
    }
    let each: Vec<String> = nodes.iter().map(Node::to_string).collect();
    format!("{number} ({})", each.join("; "))
}

/// With this governor, no trial pays for raising the CPU frequency.
const GOVERNOR_USUAL: &str = "performance";

/// What ends a case of `--sustain`, before its time.
const STEADY_OR: &str = "until its rate is steady, or ";

/// Limits and settings of the whole run that influence what its figures mean.
fn limits(assessment: &Assessment) -> Vec<String> {
    let memory = assessment.header.plan.memory_limit.map(|bytes| {
        let bytes = units::bytes_rounded(bytes);
        format!(
            "the workers together have at most {bytes} of memory, the page cache they fill included"
        )
    });
    let sustain = assessment.header.plan.sustain.map(|time| {
        let time = units::time(time);
        let until = if assessment.header.plan.whole_time { "" } else { STEADY_OR };
        format!(
            "the trials of a case follow each other, with no pause but their syncs, {until}for \
             {time}"
        )
    });
    memory.into_iter().chain(sustain).chain(bound(&assessment.header.plan.bound)).collect()
}

/// The CPUs and the node that workers are bound to, if any.
fn bound(bound: &Affinity) -> Option<String> {
    let pin = bound.pin.as_ref().map(|cpus| {
        format!(
            "the threads of ioassay's own worker are bound to CPUs {}, one each, in turn",
            cpus_text(cpus)
        )
    });
    let node = bound
        .node
        .map(|node| format!("processors, and memory that is taken, are of NUMA node {node} only"));
    let parts: Vec<String> = pin.into_iter().chain(node).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The storage and its free space; for runs that write, also how full it is.
fn place(storage: &Storage, assessment: &Assessment) -> String {
    let mut parts = on(storage, assessment);
    parts.extend(storage.room().map(|(capacity, free)| {
        let (all, said) = (units::bytes_rounded(capacity), units::bytes_rounded(free));
        if !writes::any(assessment) {
            return format!("{said} free");
        }
        let taken = units::percent(1.0 - free as f64 / capacity as f64);
        format!("{said} of {all} free: {taken} is taken or reserved")
    }));
    parts.extend(own_file(storage, &assessment.header.fixtures));
    parts.join(" · ")
}

/// The user's own file or device, and what of it is read.
fn own_file(storage: &Storage, fixtures: &[Fixture]) -> Option<String> {
    let own: Vec<&Fixture> = fixtures.iter().filter(|fixture| fixture.seed.is_none()).collect();
    let first = own.first()?;
    let (path, size) = (first.path.display(), units::bytes_rounded(first.size));
    let offsets: Vec<String> =
        own.iter().filter_map(|fixture| Some(units::bytes(fixture.part?.offset))).collect();
    let read = first.part.map_or(String::new(), |part| {
        format!(": {} are read from {} on", units::bytes(part.length), listed(&offsets))
    });
    Some(match storage.is_raw() {
        true if first.path == storage.directory => {
            format!("{size}, only read, content not known{read}")
        }
        true => format!("{path} of {size}, only read, content not known{read}"),
        false => format!("your own file {path} of {size}, whose content is not known{read}"),
    })
}

/// The directory, and the file system with its devices.
pub(crate) fn on(storage: &Storage, assessment: &Assessment) -> Vec<String> {
    let is_written = writes::any(assessment);
    let bottom = match storage.medium {
        Medium::Ram => ", which is kept in memory",
        Medium::Unseen => ", what is below cannot be seen from here",
        Medium::Block => "",
    };
    let below = format!("{}{}{bottom}", layers(storage), on_devices(&storage.devices, is_written));
    vec![storage.directory.display().to_string(), format!("{}{below}", storage.file_system)]
}

/// What a loop device's file system is called if its file is a block device.
const BLOCK_DEVICE: &str = "block device";

/// The devices that are made of the bottom ones, the top first: ` on dm-0 on md127`.
fn layers(storage: &Storage) -> String {
    let above = storage.layers.iter().skip(1).rev();
    above.map(|layer| format!(" on {}", listed(&layer.nodes))).collect()
}

/// The devices at the bottom, if any, and what is below those that are files.
fn on_devices(devices: &[Device], is_written: bool) -> String {
    if devices.is_empty() {
        return String::new();
    }
    let each: Vec<String> = devices.iter().map(|each| device(each, is_written)).collect();
    format!(" on {}", listed(&each))
}

/// A device and what is known about it; its write cache only if something is written.
fn device(device: &Device, is_written: bool) -> String {
    let is_virtual = device.is_virtual.then(|| "virtual".to_string());
    let cache = device.write_cache.filter(|_| is_written).map(|cache| cache.to_string());
    let about: Vec<String> =
        is_virtual.into_iter().chain(device.model.clone()).chain(cache).collect();
    let about = if about.is_empty() { String::new() } else { format!(" ({})", about.join(", ")) };
    let file = device.file.as_ref().map(|file| match file.file_system.as_str() {
        BLOCK_DEVICE => on_devices(&file.devices, is_written),
        on => format!(", a file on {on}{}", on_devices(&file.devices, is_written)),
    });
    format!("{}{about}{}", device.name, file.unwrap_or_default())
}

/// Warnings about an incomplete record, in lines; none if it is complete.
pub(crate) fn missing(assessment: &Assessment) -> Vec<String> {
    let end = match &assessment.end {
        End::Complete => String::new(),
        End::Interrupted => "the run was stopped before all was measured".to_string(),
        End::Missing => "the record has no end: the run was cut off, or still goes on".to_string(),
        End::Lost { at_ms, reason } => format!("this host {}", words::lost(*at_ms, reason)),
    };
    let end = Some(end).filter(|end| !end.is_empty());
    let texts = end.into_iter().chain(assessment.damage.iter().cloned());
    assessment.one_host.iter().map(part::warning).chain(texts).collect()
}

/// Says in the legend of a table what its figures are.
pub(crate) fn figures_are(assessment: &Assessment) -> Remark {
    let text = format!("throughput: {}", words::figures_are(assessment));
    Remark { text, columns: vec!["throughput"] }
}

/// Of more shapes, only the number is shown.
const SHAPES_TOLD: usize = 3;

/// The shapes of loops that were found to be the fastest: `memory: avx2, 8 ways, 3 streams, no
/// prefetch`, or how many loops have which.
fn loops(calibrated: &[Calibrated]) -> Option<String> {
    let mut shapes = grouped(calibrated, |one| one.chosen);
    if let [(shape, _)] = &shapes[..] {
        return Some(format!("memory: {}", shape.words()));
    }
    shapes.sort_by_key(|(_, loops)| std::cmp::Reverse(loops.len()));
    let said = |(shape, loops): &(LoopShape, Vec<_>)| {
        format!("{} for {}", shape.words(), count(loops.len(), "loop"))
    };
    let mut told: Vec<String> = shapes.iter().take(SHAPES_TOLD).map(said).collect();
    let more = shapes.len().saturating_sub(SHAPES_TOLD);
    told.extend((more > 0).then(|| format!("{more} more for others")));
    (!told.is_empty()).then(|| format!("memory: {}", told.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::case::{Kernel, Pages};
    use model::setup::{CoreKind, Setup};
    use model::shape::Walk;
    use model::zoo;

    #[test]
    fn processors_that_a_quota_takes_away_are_told() {
        let check = |cores_of, cpu_quota, expected: &str| {
            let host = Host { cores: cores_of, cpu_quota, ..zoo::host() };
            assert_eq!(cores(&host), expected);
        };
        check(64, None, "64 cores");
        check(64, Some(128.0), "64 cores");
        check(64, Some(1.5), "2 of 64 cores by quota");
        let kind = |name: &str| CoreKind { name: name.to_string(), count: 8, cpus: String::new() };
        let core_kinds = vec![kind("cpu_core"), kind("cpu_atom")];
        let setup = Setup { core_kinds, ..Setup::default() };
        let host = Host { cores: 16, setup, ..zoo::host() };
        assert_eq!(cores(&host), "16 cores (8 cpu_core, 8 cpu_atom)");
    }

    #[test]
    fn memory_that_a_quota_takes_away_is_told() {
        let check = |all, memory_quota, expected: Option<&str>| {
            let host = Host { memory: all, memory_quota, ..zoo::host() };
            assert_eq!(memory(&host).as_deref(), expected);
        };
        check(Some(24 << 30), None, Some("24.0 GiB of memory"));
        check(Some(24 << 30), Some(1 << 30), Some("1.00 GiB of 24.0 GiB of memory by quota"));
        check(None, Some(1 << 30), Some("1.00 GiB of memory by quota"));
        check(None, None, None);
    }

    #[test]
    fn only_what_is_unusual_is_in_the_header() {
        let none: [String; 0] = [];
        assert_eq!(unusual(&zoo::host()), none);
        let node = |number, cpus: &str| Node { number, cpus: cpus.to_string(), memory: None };
        let setup = Setup {
            governor: Some("performance".to_string()),
            load: Some(0.9),
            nodes: vec![node(0, "0-1")],
            ..Setup::default()
        };
        assert_eq!(unusual(&Host { setup: setup.clone(), ..zoo::host() }), none);
        let setup = Setup {
            governor: Some("powersave".to_string()),
            load: Some(9.68),
            nodes: vec![Node { memory: Some(1 << 29), ..node(0, "0") }, node(1, "")],
            ..setup
        };
        let expected = [
            "2 NUMA nodes (node 0: CPUs 0, 512 MiB; node 1: no CPUs)",
            "governor powersave",
            "load 9.7 when it began",
        ];
        assert_eq!(unusual(&Host { setup, ..zoo::host() }), expected);
    }

    #[test]
    fn the_fastest_loops_are_told_by_their_shapes() {
        let check = |shapes: &[&str]| {
            let calibrated = |text: &&str| {
                let walk = Walk {
                    kernel: Kernel::Read,
                    pages: Pages::Huge,
                    threads: 1,
                    working_set: 1 << 27,
                };
                let chosen = text.parse().expect(text);
                Calibrated { walk, chosen, candidates: Vec::new() }
            };
            loops(&shapes.iter().map(calibrated).collect::<Vec<_>>())
        };
        assert_eq!(check(&[]), None);
        let one = "memory: avx2, 8 ways, 3 streams, no prefetch";
        assert_eq!(check(&["avx2-8x3", "avx2-8x3"]).as_deref(), Some(one));
        let two = "memory: sse2, 8 ways, 1 stream, prefetch 2KiB ahead for 2 loops; avx2, 8 ways, \
                   3 streams, no prefetch for 1 loop";
        let shapes = ["avx2-8x3", "sse2-8x1+2048", "sse2-8x1+2048"];
        assert_eq!(check(&shapes).as_deref(), Some(two));
        let many = check(&["avx2-8x3", "avx2-8x1", "avx2-16x1", "sse2-8x1"]).expect("it has loops");
        assert!(many.ends_with("for 1 loop; 1 more for others"), "{many}");
    }
}
