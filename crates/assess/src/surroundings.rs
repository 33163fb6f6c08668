//! Differences between the surroundings of two runs: the machine, its setup, and the storage.

use crate::commands_apart::facts_of_commands;
use crate::path::path_facts;
use model::host::{Device, Storage, cpus_text};
use model::record::Header;
use model::shape::Calibrated;
use model::units;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// A difference between two records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RecordDifference {
    /// What differs: an axis, or a fact about the machine, the storage or the run.
    pub what: String,
    /// Its value in the first record.
    pub a: String,
    /// Its value in the second record.
    pub b: String,
    /// The number of cases it concerns; 0 for the whole record.
    pub cases: usize,
}

/// Notes that a fact about a case differs; counts repeated differences.
pub(crate) fn note(list: &mut Vec<RecordDifference>, what: &str, a: &str, b: &str) {
    if a == b {
        return;
    }
    let is_known =
        |known: &&mut RecordDifference| known.what == what && known.a == a && known.b == b;
    match list.iter_mut().find(is_known) {
        Some(known) => known.cases += 1,
        None => {
            let (what, a, b) = (what.to_string(), a.to_string(), b.to_string());
            list.push(RecordDifference { what, a, b, cases: 1 });
        }
    }
}

/// A fact in a record: its name and value.
pub(crate) type Fact = (String, String);

/// Notes the facts that differ.
pub(crate) fn note_facts(list: &mut Vec<RecordDifference>, a: &[Fact], b: &[Fact]) {
    let value = |facts: &[Fact], what: &str| {
        let fact = facts.iter().find(|(known, _)| known == what);
        fact.map_or("none".to_string(), |(_, value)| value.clone())
    };
    let mut names: Vec<&String> = a.iter().map(|(what, _)| what).collect();
    names.extend(b.iter().map(|(what, _)| what).filter(|what| value(a, what) == "none"));
    names.dedup();
    for what in names {
        let (in_a, in_b) = (value(a, what), value(b, what));
        let is_known = list.iter().any(|known| known.what == *what);
        if in_a != in_b && !is_known {
            list.push(RecordDifference { what: what.clone(), a: in_a, b: in_b, cases: 0 });
        }
    }
}

/// What differs between the surroundings of two runs: the machine, its setup, the storage, the
/// program and its peers. What only one of them knows is not a difference.
pub fn apart(a: &Header, b: &Header) -> Vec<RecordDifference> {
    let mut list = Vec::new();
    note_facts(&mut list, &storage_facts(a), &storage_facts(b));
    note_facts(&mut list, &facts(a), &facts(b));
    note_known(&mut list, &settings(a), &settings(b));
    note_known(&mut list, &facts_of_commands(a), &facts_of_commands(b));
    list
}

/// The facts about a storage that must agree for figures on files to be comparable.
pub(crate) fn storage_facts(header: &Header) -> Vec<Fact> {
    let target = header.storage.iter().flat_map(|storage| facts_of(storage, ""));
    let source = header.source_storage.iter();
    target.chain(source.flat_map(|storage| facts_of(storage, " copied from"))).collect()
}

fn facts_of(storage: &Storage, whose: &str) -> [Fact; 3] {
    let kinds: BTreeSet<&str> = storage.devices.iter().map(kind).collect();
    let kinds: Vec<&str> = kinds.into_iter().collect();
    [
        (format!("file system{whose}"), storage.file_system.clone()),
        (format!("medium{whose}"), storage.medium.to_string()),
        (format!("kind of device{whose}"), kinds.join(", ")),
    ]
}

fn kind(device: &Device) -> &'static str {
    match (device.loop_direct, device.is_virtual) {
        (Some(true), _) => "loop device past the page cache",
        (Some(false), _) => "loop device through the page cache",
        (None, true) => "virtual",
        (None, false) => "physical",
    }
}

/// Other facts to report if they differ.
pub(crate) fn facts(header: &Header) -> Vec<Fact> {
    let (host, plan) = (&header.host, &header.plan);
    let mut facts = vec![
        ("host", host.name.clone()),
        ("CPU", host.cpu.clone()),
        ("cores", host.cores.to_string()),
        ("memory", host.memory.map_or("not known".to_string(), units::bytes_rounded)),
        ("OS", host.os.clone()),
        ("page", units::bytes(host.page)),
        ("hypervisor", host.hypervisor.clone().unwrap_or("none".to_string())),
        ("CPU quota", host.cpu_quota.map_or("none".to_string(), |quota| quota.to_string())),
        ("memory quota", host.memory_quota.map_or("none".to_string(), units::bytes_rounded)),
        ("version of ioassay", header.tool.version.clone()),
        ("content", plan.content.to_string()),
        ("memory limit", plan.memory_limit.map_or("none".to_string(), units::bytes_rounded)),
        ("sustained", plan.sustain.map_or("no".to_string(), units::time)),
        (
            "pinned to CPUs",
            plan.bound.pin.as_ref().map_or("none".to_string(), |pin| cpus_text(pin)),
        ),
        ("NUMA node", plan.bound.node.map_or("all".to_string(), |node| node.to_string())),
    ];
    if let Some(storage) = &header.storage {
        let device = |device: &Device| match &device.model {
            Some(model) => format!("{} ({model})", device.name),
            None => device.name.clone(),
        };
        let limit = |limit: &model::evidence::Limit| {
            format!("{} {} a second of {}", limit.a_second, limit.what, limit.device)
        };
        let listed = |texts: Vec<String>| texts.join(", ");
        facts.push(("devices", listed(storage.devices.iter().map(device).collect())));
        facts.push(("mount options", storage.mount_options.clone()));
        facts.extend(storage.read_ahead.map(|most| ("read-ahead of files", units::bytes(most))));
        facts.push(("limits", listed(storage.limits.iter().map(limit).collect())));
    }
    let versions = header.peers.iter().map(|peer| {
        let version = peer.version.clone().unwrap_or("unknown".to_string());
        (format!("peer {}", peer.name), version)
    });
    facts.into_iter().map(|(what, value)| (what.to_string(), value)).chain(versions).collect()
}

/// The settings of the machine and its devices, as far as a record has them.
pub(crate) fn settings(header: &Header) -> Vec<Fact> {
    let host = &header.host;
    let mut settings = vec![
        ("clock source", host.clock_source.clone()),
        ("last-level caches", host.last_level_cache.map(units::bytes)),
        ("huge page", host.huge_page_bytes().map(units::bytes)),
    ];
    settings.extend(host.setup.facts().into_iter().map(|(what, value)| (what, Some(value))));
    let known = settings.into_iter().filter_map(|(what, value)| Some((what.to_string(), value?)));
    let vulnerabilities = host.setup.vulnerabilities.clone();
    let devices = header.storage.iter().flat_map(|storage| of_devices(&storage.devices));
    let top = header.storage.as_ref().and_then(|storage| storage.path.as_deref());
    let path = top.map(|top| path_facts(top, host.hypervisor.is_some())).unwrap_or_default();
    known.chain(vulnerabilities).chain(devices).chain(path).collect()
}

/// Notes the load before two runs if it differs by at least one thread: it is never exactly
/// equal.
pub(crate) fn note_load(list: &mut Vec<RecordDifference>, a: &Header, b: &Header) {
    let (Some(in_a), Some(in_b)) = (a.host.setup.load, b.host.setup.load) else { return };
    if (in_a - in_b).abs() >= 1.0 {
        let (what, a, b) = ("load average".to_string(), in_a.to_string(), in_b.to_string());
        list.push(RecordDifference { what, a, b, cases: 0 });
    }
}

/// Notes the loops over memory that both measured and for which they chose different shapes.
pub(crate) fn note_loops(list: &mut Vec<RecordDifference>, a: &Header, b: &Header) {
    let in_b = |one: &Calibrated| b.calibrated.iter().find(|other| other.walk == one.walk);
    let pairs = a.calibrated.iter().filter_map(|one| Some([one, in_b(one)?]));
    let apart: Vec<_> = pairs.filter(|[one, other]| one.chosen != other.chosen).collect();
    if apart.is_empty() {
        return;
    }
    let [a, b] = [0, 1].map(|side: usize| {
        let said =
            apart.iter().map(|pair| format!("{} {}", pair[side].walk.words(), pair[side].chosen));
        said.collect::<Vec<_>>().join(", ")
    });
    list.push(RecordDifference { what: "fastest loops".to_string(), a, b, cases: 0 });
}

/// Facts that all devices share, once; facts that differ, with each device's name.
fn of_devices(devices: &[Device]) -> Vec<Fact> {
    let mut all: Vec<(&'static str, Vec<(&str, String)>)> = Vec::new();
    for device in devices {
        for (what, value) in device.facts() {
            match all.iter_mut().find(|(known, _)| *known == what) {
                Some((_, values)) => values.push((&device.name, value)),
                None => all.push((what, vec![(&device.name, value)])),
            }
        }
    }
    let told = |(what, values): (&str, Vec<(&str, String)>)| {
        let is_common = values.iter().all(|(_, value)| *value == values[0].1);
        let each = || values.iter().map(|(name, value)| format!("{value} ({name})"));
        let text =
            if is_common { values[0].1.clone() } else { each().collect::<Vec<_>>().join(", ") };
        (what.to_string(), text)
    };
    all.into_iter().map(told).collect()
}

/// Notes the facts that both have and that differ. A fact that only one has is unknown for the
/// other, which may come from an older version.
pub(crate) fn note_known(list: &mut Vec<RecordDifference>, a: &[Fact], b: &[Fact]) {
    let is_in = |facts: &[Fact], what: &str| facts.iter().any(|(known, _)| known == what);
    let shared = |facts: &[Fact], others: &[Fact]| -> Vec<Fact> {
        facts.iter().filter(|(what, _)| is_in(others, what)).cloned().collect()
    };
    note_facts(list, &shared(a, b), &shared(b, a));
}
