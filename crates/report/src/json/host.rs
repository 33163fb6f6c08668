//! The machine.

use crate::contract as wire;
use model::host::Host;
use model::setup::Setup;

/// The machine, and how it was set up.
pub(super) fn host(host: &Host) -> wire::Host<'_> {
    wire::Host {
        name: &host.name,
        os: &host.os,
        cpu: &host.cpu,
        cores: host.cores,
        isas: host.isas.iter().map(|isa| isa.name()).collect(),
        last_level_cache: host.last_level_cache,
        largest_cache: host.largest_cache,
        caches: &host.caches,
        memory: host.memory,
        memory_available: host.memory_available,
        page: host.page,
        huge_page: host.huge_page_bytes(),
        hypervisor: host.hypervisor.as_deref(),
        clock_source: host.clock_source.as_deref(),
        cpu_quota: host.cpu_quota,
        parallelism: host.parallelism(),
        setup: setup(&host.setup),
        notes: &host.notes,
    }
}

fn setup(setup: &Setup) -> wire::Setup<'_> {
    wire::Setup {
        governor: setup.governor.as_deref(),
        frequency_driver: setup.frequency_driver.as_deref(),
        huge_pages: setup.huge_pages.as_deref(),
        huge_pages_defrag: setup.huge_pages_defrag.as_deref(),
        damon: setup.damon,
        mitigations: setup.mitigations.as_deref(),
        vulnerabilities: &setup.vulnerabilities,
        microcode: setup.microcode.as_deref(),
        smt: setup.smt,
        core_kinds: setup
            .core_kinds
            .iter()
            .map(|kind| wire::CoreKind { name: &kind.name, count: kind.count, cpus: &kind.cpus })
            .collect(),
        nodes: setup
            .nodes
            .iter()
            .map(|node| wire::Node { number: node.number, cpus: &node.cpus, memory: node.memory })
            .collect(),
        load: setup.load,
        libc: setup.libc.as_deref(),
    }
}
