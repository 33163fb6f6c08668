//! What may change on the path and on the machine while a run goes on. It is read before the first
//! trial and after the last, never between trials.

mod nvme;

use crate::cpus;
use crate::idle;
use crate::path;
use crate::platform::edac;
use crate::root::Root;
use crate::sysfs::{entries, number, text};
use model::evidence::IdleState;
use model::path::{Hop, HopKind};
use model::vitals::{DriveLog, MemoryErrors, Throttles, Vitals};
use nvme::Page;
use std::collections::BTreeSet;
use std::path::Path;

/// What can be seen now of this machine and of the paths from these directories, files or devices.
/// With root, NVMe drives of this machine are asked for what they count; no other drive is asked
/// anything, because that could end its rest. The moment is for the caller to say.
pub fn vitals(places: &[&Path]) -> Vitals {
    let root = Root::machine();
    let drives = rustix::process::geteuid().is_root();
    seen(&root, places, |controller, page| drives.then(|| nvme::ask(controller, page)).flatten())
}

/// The same below `root`; `ask` gets a page of an NVMe controller.
fn seen(root: &Root, places: &[&Path], ask: impl Fn(&Path, Page) -> Option<Vec<u8>>) -> Vitals {
    let mut paths: Vec<Hop> = Vec::new();
    for place in places {
        let top = path::top(root, place).ok();
        paths.extend(top.filter(|top| !paths.contains(top)));
    }
    Vitals {
        at_ms: 0,
        drives: nvme_disks(&paths).iter().filter_map(|disk| log(root, disk, &ask)).collect(),
        paths,
        throttles: throttles(root),
        memory_errors: memory_errors(root),
        idle_states: idle_states(root),
    }
}

/// The names of the NVMe disks on these paths.
fn nvme_disks(paths: &[Hop]) -> BTreeSet<String> {
    let disks = paths.iter().flat_map(Hop::all);
    let disks = disks.filter(|hop| matches!(hop.kind, HopKind::Disk(_)));
    disks.filter(|hop| hop.name.starts_with("nvme")).map(|hop| hop.name.clone()).collect()
}

/// What an NVMe disk counts, if its controller is one of this machine's and works.
fn log(root: &Root, name: &str, ask: impl Fn(&Path, Page) -> Option<Vec<u8>>) -> Option<DriveLog> {
    let controller = nvme::controller(&root.at("/sys/class/block").join(name))?;
    let smart = ask(&controller, Page::Smart).as_deref().and_then(nvme::smart);
    // A number of a vendor means something else to another one's drive.
    let model = text(&controller.join("model")).unwrap_or_default();
    let is_of_cloud = nvme::CAPPED_MODELS.contains(&model.as_str());
    let page = is_of_cloud.then(|| ask(&controller, Page::Caps)).flatten();
    let capped = page.as_deref().and_then(nvme::caps);
    (smart.is_some() || capped.is_some()).then(|| DriveLog {
        name: name.to_string(),
        smart,
        capped,
    })
}

fn throttles(root: &Root) -> Option<Throttles> {
    let folders = cpus::directories(root).map(|cpu| cpu.join("thermal_throttle"));
    let mut all = Throttles { package: Some(0), core_ms: Some(0), ..Throttles::default() };
    for folder in folders {
        let of = |name: &str| number(&folder.join(name));
        // Some CPUs of one machine may not tell.
        let Some(core) = of("core_throttle_count") else { continue };
        all.cpus += 1;
        all.core = all.core.saturating_add(core);
        let package = of("package_throttle_count");
        all.package = all.package.zip(package).map(|(sum, more)| sum.saturating_add(more));
        let ms = of("core_throttle_total_time_ms");
        all.core_ms = all.core_ms.zip(ms).map(|(sum, ms)| sum.saturating_add(ms));
    }
    (all.cpus > 0).then_some(all)
}

fn memory_errors(root: &Root) -> Option<MemoryErrors> {
    let mut all = MemoryErrors::default();
    for controller in edac::directories(root) {
        let (corrected, uncorrected) = edac::errors(&controller);
        let Some((corrected, uncorrected)) = corrected.zip(uncorrected) else { continue };
        all.controllers += 1;
        all.corrected = all.corrected.saturating_add(corrected);
        all.uncorrected = all.uncorrected.saturating_add(uncorrected);
    }
    (all.controllers > 0).then_some(all)
}

fn idle_states(root: &Root) -> Vec<IdleState> {
    let directories = cpus::directories(root).flat_map(|cpu| entries(&cpu.join("cpuidle")));
    idle::by_name(directories.filter_map(|directory| idle::idle_state(&directory)))
}

#[cfg(test)]
mod tests;
