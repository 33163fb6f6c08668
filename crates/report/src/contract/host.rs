//! The machine.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The machine.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Host<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// The OS and its release.
    pub(crate) os: &'a str,
    /// The processor's model.
    pub(crate) cpu: &'a str,
    /// CPUs the program may run on.
    pub(crate) cores: u32,
    /// Instruction sets the memory kernels can use.
    pub(crate) isas: Vec<&'static str>,
    /// Bytes of all last-level caches together, as the OS reports them; null where it does not.
    pub(crate) last_level_cache: Option<u64>,
    /// Bytes of the largest one of them.
    pub(crate) largest_cache: Option<u64>,
    /// Bytes of the data caches that the first processor uses, from the first level to the last.
    pub(crate) caches: &'a [u64],
    /// Bytes of memory; null where the OS does not tell.
    pub(crate) memory: Option<u64>,
    /// Bytes of memory that could be had when the run began; null where the OS does not tell.
    pub(crate) memory_available: Option<u64>,
    /// Bytes of a page.
    pub(crate) page: u64,
    /// Bytes of a huge page.
    pub(crate) huge_page: Option<u64>,
    /// The hypervisor, `unknown` if there is one without a name, null if none is told of.
    pub(crate) hypervisor: Option<&'a str>,
    /// The clock source of the OS.
    pub(crate) clock_source: Option<&'a str>,
    /// How many processors' time control groups allowed; null without a quota.
    pub(crate) cpu_quota: Option<f64>,
    /// How many threads could run at a time: CPUs, or what a quota leaves of them.
    pub(crate) parallelism: u32,
    /// How it was set up.
    pub(crate) setup: Setup<'a>,
    /// What was found out about it.
    pub(crate) notes: &'a [String],
}

/// How a machine was set up. What the OS did not tell is null or empty.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Setup<'a> {
    /// The cpufreq governor.
    pub(crate) governor: Option<&'a str>,
    /// The cpufreq driver.
    pub(crate) frequency_driver: Option<&'a str>,
    /// Who gets transparent huge pages: `always`, `madvise` or `never`.
    pub(crate) huge_pages: Option<&'a str>,
    /// How hard the OS tries to find one.
    pub(crate) huge_pages_defrag: Option<&'a str>,
    /// Whether DAMON watched memory.
    pub(crate) damon: Option<bool>,
    /// What the command line of the OS says of mitigations.
    pub(crate) mitigations: Option<&'a str>,
    /// Each vulnerability that the OS knows of, and what it does about it.
    pub(crate) vulnerabilities: &'a BTreeMap<String, String>,
    /// The revision of the processor's microcode.
    pub(crate) microcode: Option<&'a str>,
    /// Whether two threads share a core.
    pub(crate) smt: Option<bool>,
    /// The kinds of cores, where there is more than one.
    pub(crate) core_kinds: Vec<CoreKind<'a>>,
    /// The NUMA nodes.
    pub(crate) nodes: Vec<Node<'a>>,
    /// The load average of the minute before the run.
    pub(crate) load: Option<f64>,
    /// The C library that the program ran with.
    pub(crate) libc: Option<&'a str>,
}

/// Cores of one kind.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CoreKind<'a> {
    /// What the OS calls it.
    pub(crate) name: &'a str,
    /// How many CPUs are of it.
    pub(crate) count: u32,
    /// Which, as the OS lists them.
    pub(crate) cpus: &'a str,
}

/// A NUMA node.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Node<'a> {
    /// Its number.
    pub(crate) number: u32,
    /// Its CPUs, as the OS lists them.
    pub(crate) cpus: &'a str,
    /// Bytes of its memory.
    pub(crate) memory: Option<u64>,
}
