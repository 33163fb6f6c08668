//! How a machine is set up: what may differ between two machines of one model, or between two
//! days of one machine.

use crate::units;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// How the machine is set up. What the OS does not tell is none or empty.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Setup {
    /// The cpufreq governor; several where the CPUs have different ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// The cpufreq driver: `intel_pstate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency_driver: Option<String>,
    /// Who gets transparent huge pages: `always`, `madvise` or `never`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub huge_pages: Option<String>,
    /// How hard the OS tries to find one: `defer`, `madvise`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub huge_pages_defrag: Option<String>,
    /// Whether DAMON watches memory, and may reclaim it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damon: Option<bool>,
    /// What the command line of the OS says of mitigations: `off`, `auto,nosmt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mitigations: Option<String>,
    /// Each vulnerability that the OS knows of, and what it does about it: `Not affected`,
    /// `Vulnerable`, `Mitigation: PTI`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub vulnerabilities: BTreeMap<String, String>,
    /// The revision of the processor's microcode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub microcode: Option<String>,
    /// Whether two threads share a core.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smt: Option<bool>,
    /// The kinds of cores, where there is more than one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub core_kinds: Vec<CoreKind>,
    /// The NUMA nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<Node>,
    /// The load average of the minute before the run: how many threads wanted to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
    /// The C library that the program runs with: `glibc 2.39`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub libc: Option<String>,
}

/// Cores of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoreKind {
    /// What the OS calls it: `cpu_core`, or `capacity 1024`.
    pub name: String,
    /// How many CPUs are of it.
    pub count: u32,
    /// Which, as the OS lists them: `0-15`.
    pub cpus: String,
}

/// A NUMA node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its number.
    pub number: u32,
    /// Its CPUs, as the OS lists them; empty for memory without any.
    pub cpus: String,
    /// Bytes of its memory.
    pub memory: Option<u64>,
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cpus = match self.cpus.as_str() {
            "" => "no CPUs".to_string(),
            cpus => format!("CPUs {cpus}"),
        };
        let memory = self.memory.map(|bytes| format!(", {}", units::bytes_rounded(bytes)));
        write!(f, "node {}: {cpus}{}", self.number, memory.unwrap_or_default())
    }
}

/// What the OS says where a processor has no such vulnerability.
const NOT_AFFECTED: &str = "Not affected";

impl Setup {
    /// What is known of it, each with its name; without the load and what vulnerabilities there
    /// are, which a reader wants in another form.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let yes = |is: bool| if is { "on" } else { "off" }.to_string();
        let all = |texts: Vec<String>| (!texts.is_empty()).then(|| texts.join("; "));
        let kinds = self.core_kinds.iter().map(|kind| format!("{} are {}", kind.cpus, kind.name));
        let facts = [
            ("CPU governor", self.governor.clone()),
            ("cpufreq driver", self.frequency_driver.clone()),
            ("kinds of cores", all(kinds.collect())),
            ("SMT", self.smt.map(yes)),
            ("NUMA nodes", all(self.nodes.iter().map(Node::to_string).collect())),
            ("microcode", self.microcode.clone()),
            ("mitigations", self.mitigations.clone()),
            ("transparent huge pages", self.huge_pages.clone()),
            ("huge page defrag", self.huge_pages_defrag.clone()),
            ("DAMON", self.damon.map(yes)),
            ("libc", self.libc.clone()),
        ];
        facts.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// The vulnerabilities that the processor has, by what is done about them.
    pub fn affected(&self) -> Affected<'_> {
        let named = |is_wanted: &dyn Fn(&str) -> bool| -> Vec<&str> {
            let wanted = self.vulnerabilities.iter().filter(|(_, state)| is_wanted(state));
            wanted.map(|(name, _)| name.as_str()).collect()
        };
        let is_mitigated = |state: &str| state.starts_with("Mitigation");
        Affected {
            mitigated: named(&is_mitigated),
            others: named(&|state| state != NOT_AFFECTED && !is_mitigated(state)),
        }
    }
}

/// The vulnerabilities that a processor has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Affected<'a> {
    /// Those that the OS mitigates, which costs time.
    pub mitigated: Vec<&'a str>,
    /// Those that it does not, or says something else of.
    pub others: Vec<&'a str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_no_fact() {
        assert_eq!(Setup::default().facts(), []);
        let node = |number, cpus: &str, memory| Node { number, cpus: cpus.to_string(), memory };
        let setup = Setup {
            smt: Some(false),
            damon: Some(true),
            nodes: vec![node(0, "0-3", Some(64 << 30)), node(1, "", None)],
            ..Setup::default()
        };
        let expected = [
            ("SMT", "off"),
            ("NUMA nodes", "node 0: CPUs 0-3, 64.0 GiB; node 1: no CPUs"),
            ("DAMON", "on"),
        ];
        assert_eq!(setup.facts(), expected.map(|(name, value)| (name, value.to_string())));
    }

    #[test]
    fn vulnerabilities_are_told_apart_by_what_is_done() {
        let states = [
            ("meltdown", "Mitigation: PTI"),
            ("mds", "Not affected"),
            ("retbleed", "Vulnerable"),
            ("itlb_multihit", "Processor vulnerable"),
        ];
        let vulnerabilities =
            states.iter().map(|(name, state)| (name.to_string(), state.to_string())).collect();
        let setup = Setup { vulnerabilities, ..Setup::default() };
        let others = vec!["itlb_multihit", "retbleed"];
        assert_eq!(setup.affected(), Affected { mitigated: vec!["meltdown"], others });
    }
}
