//! How the machines of several hosts differ.

use crate::surroundings::{Fact, facts, settings, storage_facts};
use model::record::Header;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashMap;

/// A fact of one host, where most others have another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OwnFact {
    /// What it is about.
    pub what: String,
    /// The value on this host alone.
    pub own: String,
    /// The value on most of the others.
    pub most: String,
}

/// A fact that is not alike on all hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Differing {
    /// What it is about.
    pub what: String,
    /// Its values, the most frequent first.
    pub values: Vec<Valued>,
}

/// A value of a fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Valued {
    /// The value.
    pub value: String,
    /// The hosts that have it, by their place in `hosts`.
    pub hosts: Vec<usize>,
}

/// Everything that a record says of its surroundings, except for names that each host gives: its
/// own, and those of its devices.
pub(super) fn facts_of(header: &Header) -> Vec<Fact> {
    let recipe = ("recipe".to_string(), header.plan.recipe.clone());
    let all = facts(header).into_iter().filter(|(what, _)| what != "host");
    let all = all.chain(settings(header)).chain(storage_facts(header)).chain([recipe]);
    let devices = devices(header);
    all.map(|(what, value)| (what, without_names(&value, &devices))).collect()
}

/// The names of the devices that a record's facts tell of.
fn devices(header: &Header) -> Vec<&str> {
    let Some(storage) = &header.storage else { return Vec::new() };
    let own = storage.devices.iter().map(|device| device.name.as_str());
    let mut names = Vec::new();
    for name in own.chain(storage.limits.iter().map(|limit| limit.device.as_str())) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The text with the numbers of devices in place of their names: what is `loop0` here and `loop3`
/// there is alike.
fn without_names(text: &str, devices: &[&str]) -> String {
    let is_in_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '!');
    let piece = |piece: &str| {
        let name = piece.trim_end_matches(|c| !is_in_name(c));
        match devices.iter().position(|device| *device == name) {
            Some(_) if devices.len() == 1 => piece.replacen(name, "the device", 1),
            Some(number) => piece.replacen(name, &format!("device {}", number + 1), 1),
            None => piece.to_string(),
        }
    };
    text.split_inclusive(|c| !is_in_name(c)).map(piece).collect()
}

/// The facts that are not alike on all hosts. A host that does not know one has no value of it.
pub(super) fn differing(hosts: &[&[Fact]]) -> Vec<Differing> {
    let mut order: Vec<&str> = Vec::new();
    let mut all: HashMap<&str, HashMap<&str, Vec<usize>>> = HashMap::new();
    for (host, facts) in hosts.iter().enumerate() {
        for (what, value) in *facts {
            let values = all.entry(what).or_insert_with(|| {
                order.push(what);
                HashMap::new()
            });
            let of_value = values.entry(value).or_default();
            // A name that is there twice counts once.
            if of_value.last() != Some(&host) {
                of_value.push(host);
            }
        }
    }
    let differing = |what: &&str| {
        let values = all.get(what).filter(|values| values.len() > 1)?;
        let value = |(value, hosts): (&&str, &Vec<usize>)| Valued {
            value: (*value).to_string(),
            hosts: hosts.clone(),
        };
        let mut values: Vec<Valued> = values.iter().map(value).collect();
        values.sort_by_key(|it| (std::cmp::Reverse(it.hosts.len()), it.hosts.first().copied()));
        Some(Differing { what: (*what).to_string(), values })
    };
    order.iter().filter_map(differing).collect()
}

/// The facts that this host alone has, where more than half of the others agree.
pub(super) fn own(differing: &[Differing], host: usize) -> Vec<OwnFact> {
    let of = |Differing { what, values }: &Differing| {
        let own = values.iter().find(|it| it.hosts == [host])?;
        let most = values.first().filter(|most| most.value != own.value)?;
        let others = values.iter().map(|it| it.hosts.len()).sum::<usize>() - 1;
        (2 * most.hosts.len() > others).then(|| OwnFact {
            what: what.clone(),
            own: own.value.clone(),
            most: most.value.clone(),
        })
    };
    differing.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_devices_are_no_difference() {
        for (text, devices, expected) in [
            ("loop3", &["loop3"][..], "the device"),
            (
                "15728640 bytes written a second of loop3",
                &["loop3"],
                "15728640 bytes written a second of the device",
            ),
            (
                "none (sda), mq-deadline (sdb)",
                &["sda", "sdb"],
                "none (device 1), mq-deadline (device 2)",
            ),
            ("dm-1 (sda1)", &["dm-1", "sda"], "device 1 (sda1)"),
            ("", &["sda"], ""),
        ] {
            assert_eq!(without_names(text, devices), expected);
        }
    }
}
