//! A machine's configuration: what can differ between two machines of one model, or over time.

use crate::units;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The machine's configuration. Unknown values are null or empty.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Setup {
    /// The cpufreq governor; several if CPUs differ.
    pub governor: Option<String>,
    /// The cpufreq driver: `intel_pstate`.
    pub frequency_driver: Option<String>,
    /// Where transparent huge pages are used: `always`, `madvise` or `never`.
    pub huge_pages: Option<String>,
    /// Whether the program may use transparent huge pages; a program that starts it can turn them
    /// off for it. Unknown in older records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub huge_pages_allowed: Option<bool>,
    /// How hard the OS tries to find a huge page: `defer`, `madvise`.
    pub huge_pages_defrag: Option<String>,
    /// Whether DAMON monitors memory and may reclaim it.
    pub damon: Option<bool>,
    /// The `mitigations=` setting on the kernel command line: `off`, `auto,nosmt`.
    pub mitigations: Option<String>,
    /// The vulnerabilities that the OS knows, with its response: `Not affected`, `Vulnerable`,
    /// `Mitigation: PTI`.
    pub vulnerabilities: BTreeMap<String, String>,
    /// The revision of the CPU microcode.
    pub microcode: Option<String>,
    /// Whether SMT is on: two threads share a core.
    pub smt: Option<bool>,
    /// The kinds of cores, if there are several.
    pub core_kinds: Vec<CoreKind>,
    /// The NUMA nodes.
    pub nodes: Vec<Node>,
    /// The load average of the minute before the run.
    pub load: Option<f64>,
    /// The C library that the program uses: `glibc 2.39` or `musl 1.2.5`.
    pub libc: Option<String>,
    /// The libraries that are loaded into every program first, and may replace its calls, such as
    /// `libeatmydata.so`: from `LD_PRELOAD` and `/etc/ld.so.preload`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preloaded: Option<String>,
}

/// A kind of core.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CoreKind {
    /// The OS's name for it: `cpu_core`, or `capacity 1024`.
    pub name: String,
    /// Number of CPUs.
    pub count: u32,
    /// The CPUs, as the OS lists them: `0-15`.
    pub cpus: String,
}

/// A NUMA node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Node {
    /// Its number.
    pub number: u32,
    /// Its CPUs, as the OS lists them; empty for a node with only memory.
    pub cpus: String,
    /// Size of its memory in bytes.
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

/// The OS's text for a vulnerability that the processor does not have.
const NOT_AFFECTED: &str = "Not affected";

impl Setup {
    /// Whether memory that asks for huge pages gets them, as far as is known.
    pub fn gives_huge_pages(&self) -> bool {
        let is_on = matches!(self.huge_pages.as_deref(), Some("always" | "madvise"));
        is_on && self.huge_pages_allowed != Some(false)
    }

    /// The known settings, by name. Excludes the load and the vulnerabilities, which are presented
    /// differently.
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
            (
                "transparent huge pages for this program",
                self.huge_pages_allowed.filter(|is_allowed| !is_allowed).map(yes),
            ),
            ("huge page defrag", self.huge_pages_defrag.clone()),
            ("DAMON", self.damon.map(yes)),
            ("libc", self.libc.clone()),
            ("preloaded libraries", self.preloaded.clone()),
        ];
        facts.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// The processor's vulnerabilities, by the OS's response.
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

/// A processor's vulnerabilities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Affected<'a> {
    /// Those that the OS mitigates, at a cost in time.
    pub mitigated: Vec<&'a str>,
    /// Those that it does not mitigate, or describes otherwise.
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
