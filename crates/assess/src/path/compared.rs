//! What of a path can differ between machines, without the names of their devices.

use super::{allowance, allowed};
use model::list::listed;
use model::path::{ArrayHop, Hop, HopKind};

/// The narrowest link in words, without its name: `PCIe 3.0 x2 (1.97 GB/s)`. `None` if it is
/// unknown, and in a virtual machine.
pub fn narrowest_link(top: &Hop, is_guest: bool) -> Option<String> {
    Some(allowance::kinds(top, &allowed(top, is_guest)?))
}

/// The facts about a path that are to be alike on machines which are: its narrowest link, and its
/// arrays.
pub(crate) fn path_facts(top: &Hop, is_guest: bool) -> Vec<(String, String)> {
    let link = narrowest_link(top, is_guest).map(|link| ("narrowest link".to_string(), link));
    let arrays: Vec<String> = top.all().into_iter().filter_map(array).collect();
    let arrays = (!arrays.is_empty()).then(|| ("array".to_string(), listed(&arrays)));
    link.into_iter().chain(arrays).collect()
}

/// `raid1 of 2, lacks 1, recover`.
fn array(hop: &Hop) -> Option<String> {
    let HopKind::Array(ArrayHop { level, disks, degraded, action, .. }) = &hop.kind else {
        return None;
    };
    let mut words = vec![match disks {
        Some(disks) => format!("{} of {disks}", level.as_deref()?),
        None => level.clone()?,
    }];
    words.extend(degraded.filter(|missing| *missing > 0).map(|it| format!("lacks {it}")));
    words.extend(action.clone().filter(|action| action != "idle"));
    Some(words.join(", "))
}
