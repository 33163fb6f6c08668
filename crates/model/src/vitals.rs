//! What may change on the path and on the machine while a run goes on, as the OS and the drives
//! told it before the first trial and right after the last. It is never asked between trials: too
//! many questions keep a drive warm (lm-sensors issue 511).

use crate::evidence::IdleState;
use crate::path::{Bus, Hop, HopKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was seen before and after a part of a run: an invocation, or what was left of one when the
/// run went on after an interruption.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartVitals {
    /// The invocation, from 0.
    pub invocation: u32,
    /// Before its first trial.
    pub before: Vitals,
    /// Right after its last trial, while links and drives are still awake.
    pub after: Vitals,
}

/// What was seen at one moment. What the OS does not tell is null or not listed, never 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Vitals {
    /// When, in milliseconds since the start of the run.
    pub at_ms: u64,
    /// The path from each storage of the run down to its medium: the speed of links, the
    /// temperature of drives, what arrays and file systems do beside their work.
    pub paths: Vec<Hop>,
    /// What NVMe drives count. Empty without root.
    pub drives: Vec<DriveLog>,
    /// How often the CPUs slowed themselves down; null if not told, as in virtual machines.
    pub throttles: Option<Throttles>,
    /// Errors of memory; null if nothing counts them.
    pub memory_errors: Option<MemoryErrors>,
    /// The idle states of the CPUs. Empty if not told.
    pub idle_states: Vec<IdleState>,
}

/// What an NVMe drive counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DriveLog {
    /// The disk: `nvme0n1`.
    pub name: String,
    /// Its SMART page; null if it does not answer.
    pub smart: Option<SmartPage>,
    /// How long a limit of the cloud held it back; null if it is no volume that tells it.
    pub capped: Option<CapPage>,
}

/// The SMART page of an NVMe drive (log page 0x02). Its counters never go back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SmartPage {
    /// Its critical warnings, one bit each: 1 spare is low, 2 too hot or too cold, 4 unreliable, 8
    /// read only, 16 the backup of its cache failed.
    pub critical_warning: u8,
    /// Its temperature in kelvins; null if it does not tell.
    pub temperature_k: Option<u16>,
    /// Spare blocks that are left, in percent.
    pub spare_percent: u8,
    /// How much of its life is used, in percent, by its maker's estimate; it may be more than 100.
    pub used_percent: u8,
    /// Errors of its medium, or of data on its way.
    pub media_errors: u64,
    /// Minutes at or above the temperature of its warning.
    pub warning_minutes: u32,
    /// Minutes at or above its critical temperature.
    pub critical_minutes: u32,
    /// How often it slowed itself down lightly because of heat, and heavily.
    pub slowed_times: [u32; 2],
    /// Seconds in which it did.
    pub slowed_s: [u32; 2],
}

/// How long the limits of a cloud's volume held it back, in microseconds since it was attached
/// (log page 0xD0 of Amazon's volumes).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CapPage {
    /// The volume's own limits; null for a drive of the instance, which has none.
    pub volume: Option<CapTimes>,
    /// The limits of the instance.
    pub instance: CapTimes,
}

/// How long limits held a volume back, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CapTimes {
    /// The limit of I/Os a second.
    pub iops_us: u64,
    /// The limit of bytes a second.
    pub throughput_us: u64,
}

/// How often CPUs slowed themselves down because of heat or power, since they started. Each event
/// counts on each CPU that it concerns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Throttles {
    /// The number of CPUs that tell it.
    pub cpus: u64,
    /// Events of cores, added up over CPUs.
    pub core: u64,
    /// Events of packages, added up over CPUs; null if one of them does not tell.
    pub package: Option<u64>,
    /// Milliseconds in which cores were slow, added up over CPUs; null before Linux 5.5.
    pub core_ms: Option<u64>,
}

/// Errors of memory since the OS started, as EDAC counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryErrors {
    /// The number of memory controllers that count.
    pub controllers: u64,
    /// Errors that the hardware corrected.
    pub corrected: u64,
    /// Errors that it could not correct.
    pub uncorrected: u64,
}

/// A path as it is when it is used: each link of PCIe with the fastest rate that was seen, because
/// one that is idle may lower its rate, other links with the slowest, and each drive with its
/// highest temperature.
pub fn in_use(path: &Hop, parts: &[PartVitals]) -> Hop {
    let looks = || parts.iter().flat_map(|part| [&part.before, &part.after]);
    let seen: Vec<&Hop> = looks().flat_map(|look| &look.paths).flat_map(Hop::all).collect();
    merged(path, &seen)
}

fn merged(hop: &Hop, seen: &[&Hop]) -> Hop {
    let mut kind = hop.kind.clone();
    for same in seen.iter().filter(|same| same.name == hop.name) {
        match (&mut kind, &same.kind) {
            (HopKind::Link(link), HopKind::Link(other))
                if link.bus == other.bus && link.now.lanes == other.now.lanes =>
            {
                let rates = [link.now.rate, other.now.rate].into_iter().flatten();
                // Only PCIe rests: another link that was slow for once was negotiated down.
                link.now.rate = if link.bus == Bus::Pcie { rates.max() } else { rates.min() };
            }
            (HopKind::Disk(disk), HopKind::Disk(other)) => {
                disk.temperature = disk.temperature.max(other.temperature);
            }
            _ => (),
        }
    }
    let below = hop.below.iter().map(|below| merged(below, seen)).collect();
    Hop { limits: hop.limits.clone(), ..Hop::new(&*hop.name, kind, below) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::{DiskHop, LinkHop, LinkSpeed};

    fn path(rate: u64, lanes: u64, temperature: Option<i64>) -> Hop {
        let now = LinkSpeed { rate: Some(rate), lanes: Some(lanes) };
        let link = HopKind::Link(LinkHop { bus: Bus::Pcie, now, ..LinkHop::default() });
        let disk = DiskHop { temperature, ..DiskHop::default() };
        let below = vec![Hop::new("0000:01:00.0", link, Vec::new())];
        Hop::new("nvme0n1", HopKind::Disk(Box::new(disk)), below)
    }

    fn seen(before: Hop, after: Hop) -> Vec<PartVitals> {
        let [before, after] =
            [before, after].map(|path| Vitals { paths: vec![path], ..Vitals::default() });
        vec![PartVitals { invocation: 0, before, after }]
    }

    /// A link that rests is slow, and a drive that works is warm.
    #[test]
    fn a_path_in_use_has_the_fastest_links_and_the_hottest_drives() {
        let idle = path(2_500, 4, Some(35_000));
        let awake = path(16_000, 4, Some(71_000));
        assert_eq!(in_use(&idle, &seen(idle.clone(), awake.clone())), awake);
        assert_eq!(in_use(&awake, &seen(awake.clone(), idle.clone())), awake);
        assert_eq!(in_use(&idle, &[]), idle);
    }

    /// No rest takes lanes: with others, it is another link.
    #[test]
    fn a_link_with_other_lanes_is_not_the_same() {
        let narrow = path(2_500, 2, None);
        assert_eq!(in_use(&narrow, &seen(narrow.clone(), path(16_000, 4, None))), narrow);
        let mut other = path(16_000, 2, None);
        other.below[0].name = "0000:02:00.0".to_string();
        assert_eq!(in_use(&narrow, &seen(narrow.clone(), other)), narrow);
    }
}
