//! Which hosts are on one machine and share a disk.

use model::host::Storage;
use std::collections::BTreeSet;

/// The boot of a host's machine, and its storage, as far as known.
pub(super) type HostPlace<'a> = (Option<&'a str>, Option<&'a Storage>);

/// For each host, the number of the first other one that is on its machine and has a disk of it.
pub(super) fn neighbors(places: &[HostPlace]) -> Vec<Option<u32>> {
    let names = |storage: Option<&Storage>| -> BTreeSet<String> {
        let disks = storage.into_iter().flat_map(Storage::disks);
        disks.map(|disk| disk.name.clone()).collect()
    };
    let is_beside = |one: &HostPlace, other: &HostPlace| {
        one.0.is_some() && one.0 == other.0 && !names(one.1).is_disjoint(&names(other.1))
    };
    let first_beside = |number: usize| {
        let mut others = (0..places.len()).filter(|other| *other != number);
        others.find(|other| is_beside(&places[number], &places[*other])).map(|it| it as u32)
    };
    (0..places.len()).map(first_beside).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::host::Device;
    use model::zoo;

    #[test]
    fn hosts_on_one_machine_with_one_device_are_neighbors() {
        let on = |name: &str| {
            let device = Device { name: name.to_string(), ..Device::default() };
            Storage { devices: vec![device], ..zoo::storage() }
        };
        let (vda, vdb) = (on("vda"), on("vdb"));
        let (vda, vdb) = (Some(&vda), Some(&vdb));
        let check = |places: &[HostPlace], expected: &[Option<u32>]| {
            assert_eq!(neighbors(places), expected);
        };
        check(&[(Some("a"), vda), (Some("a"), vda)], &[Some(1), Some(0)]);
        check(&[(Some("a"), vda), (Some("b"), vda), (Some("a"), vda)], &[Some(2), None, Some(0)]);
        check(&[(Some("a"), vda), (Some("a"), vdb)], &[None, None]);
        check(&[(None, vda), (None, vda)], &[None, None]);
    }
}
