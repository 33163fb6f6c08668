//! Where files are, in the JSON.

use crate::contract as wire;
use model::host::{Device, Direct, Fixture, Limit, Storage};
use model::layer::{Amplification, Counts, Layer};

fn layer(layer: &Layer) -> wire::Layer<'_> {
    let times = |times: Amplification| wire::Amplification { least: times.least, most: times.most };
    let Counts { reads, writes, flushes } = layer.counts;
    wire::Layer {
        nodes: &layer.nodes,
        reads: times(layer.reads),
        writes: times(layer.writes),
        counts: wire::Counts { reads, writes, flushes },
    }
}

pub(super) fn storage(storage: &Storage) -> wire::Storage<'_> {
    let (direct_accepted, direct_align, direct_bypasses) = match storage.direct {
        Direct::Refused => (false, None, None),
        Direct::Accepted { offset_align, bypasses } => (true, Some(offset_align), bypasses),
    };
    wire::Storage {
        directory: storage.directory.display().to_string(),
        file_system: &storage.file_system,
        mount_point: storage.mount_point.display().to_string(),
        mount_options: &storage.mount_options,
        medium: storage.medium.name(),
        devices: storage.devices.iter().map(device).collect(),
        layers: storage.layers.iter().map(layer).collect(),
        read_ahead: storage.read_ahead,
        barriers_off: &storage.barriers_off,
        limits: storage.limits.iter().map(limit).collect(),
        capacity: storage.capacity,
        free: storage.room().map(|(_, free)| free),
        residency_probe: storage.residency_probe.map(|probe| probe.name()),
        evictable: storage.evictable,
        keeps_pages: storage.keeps_pages,
        direct_accepted,
        direct_align,
        direct_bypasses,
        notes: &storage.notes,
    }
}

fn limit(limit: &Limit) -> wire::Limit<'_> {
    let Limit { device, what, a_second, group } = limit;
    wire::Limit { device, what: what.name(), a_second: *a_second, group }
}

fn device(device: &Device) -> wire::Device<'_> {
    wire::Device {
        name: &device.name,
        model: device.model.as_deref(),
        firmware: device.firmware.as_deref(),
        rotational: device.rotational,
        scheduler: device.scheduler.as_deref(),
        nr_requests: device.nr_requests,
        is_virtual: device.is_virtual,
        read_ahead: device.read_ahead,
        write_cache: device.write_cache.map(|cache| cache.name()),
        loop_direct: device.loop_direct,
    }
}

pub(super) fn fixture(fixture: &Fixture) -> wire::Fixture {
    wire::Fixture {
        path: fixture.path.display().to_string(),
        size: fixture.size,
        seed: fixture.seed,
        layout: fixture.layout.as_ref().map(|layout| wire::Layout {
            unwritten: layout.unwritten,
            encoded: layout.encoded,
            extents: layout.extents,
        }),
    }
}
