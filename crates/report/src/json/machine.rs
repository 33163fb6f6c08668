//! The machine: a record has only what was seen, not what follows from it.

use model::host;
use model::setup::Setup;
use schemars::JsonSchema;
use serde::Serialize;

/// The machine.
#[derive(Serialize, JsonSchema)]
#[serde(remote = "host::Host")]
pub(super) struct HostForm {
    /// Its name.
    name: String,
    /// The OS and its release.
    os: String,
    /// The processor's model.
    cpu: String,
    /// CPUs that the program may use.
    cores: u32,
    /// Instruction sets the memory kernels can use.
    #[serde(getter = "isas")]
    isas: Vec<&'static str>,
    /// Total size in bytes of all last-level caches, as the OS reports it.
    last_level_cache: Option<u64>,
    /// Size in bytes of the largest of them.
    largest_cache: Option<u64>,
    /// Sizes in bytes of the first processor's data caches, from the first level to the last.
    caches: Vec<u64>,
    /// Size of memory in bytes, as the OS reports it.
    memory: Option<u64>,
    /// Bytes of memory available at the start of the run.
    memory_available: Option<u64>,
    /// Size of a page in bytes.
    page: u64,
    /// Size of a huge page in bytes.
    #[serde(getter = "host::Host::huge_page_bytes")]
    huge_page: Option<u64>,
    /// The hypervisor; `unknown` if it has no name, null if none is reported.
    hypervisor: Option<String>,
    /// The OS's clock source.
    clock_source: Option<String>,
    /// How many processors' time control groups allow; null without a quota.
    cpu_quota: Option<f64>,
    /// Bytes of memory that control groups allow, page cache included; null without a limit.
    memory_quota: Option<u64>,
    /// How many threads can run at a time: the CPUs, or what a quota leaves of them.
    #[serde(getter = "host::Host::parallelism")]
    parallelism: u32,
    /// Its configuration.
    setup: Setup,
    /// Notes for the reader.
    notes: Vec<String>,
}

fn isas(host: &host::Host) -> Vec<&'static str> {
    host.isas.iter().map(|isa| isa.name()).collect()
}
