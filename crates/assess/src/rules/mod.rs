//! One small function for each finding on a case. Each module has a table of its own.

mod context;
mod names;
mod commands;
mod writing_commands;
mod cache;
mod direct;
mod sharing;
mod origin;
mod neighbors;
mod unseen;
mod effort;
mod schedule;
mod idle;
mod depth;
mod pages;
mod writing;
mod throttled;
mod above;
mod links;
mod caches;
mod host;
mod limits;
mod loops;
mod unmapped;
mod environment;
mod course;
mod placement;
mod nodes;
mod runs_of_commands;
mod told_figures;

use context::RuleTable;
pub(crate) use context::{Context, Overhead};
pub(crate) use schedule::Generators;

use crate::ceiling::RowCeilings;
use crate::finding::{Code, Finding, Severity};
use crate::row::Row;
use crate::summary::ServedBy;
use model::host::Storage;
use std::collections::BTreeSet;

/// The rules of each finding on a case, by module.
const RULES: &[RuleTable] = &[
    names::RULES,
    cache::RULES,
    direct::RULES,
    sharing::RULES,
    origin::RULES,
    neighbors::RULES,
    unseen::RULES,
    effort::RULES,
    schedule::RULES,
    depth::RULES,
    pages::RULES,
    writing::RULES,
    throttled::RULES,
    links::RULES,
    loops::RULES,
    unmapped::RULES,
    environment::RULES,
    course::RULES,
    placement::RULES,
    nodes::RULES,
    runs_of_commands::RULES,
    told_figures::RULES,
];

/// All findings on a case, in the order of their codes; none without a trial.
pub(crate) fn find(context: &Context) -> Vec<Finding> {
    if context.measured.n() == 0 {
        return Vec::new();
    }
    let rules = RULES.iter().copied().flatten();
    let found = rules.filter_map(|(code, rule)| Some(rule(context)?.named(*code)));
    let mut found: Vec<Finding> = found.collect();
    found.sort_by_key(|finding| finding.code);
    found
}

/// The findings on a row compared with others, which were judged before: void ones bound nothing.
pub(crate) fn find_among(
    row: &Row,
    rows: &[Row],
    generators: &Generators,
    bounds: &RowCeilings,
) -> Vec<Finding> {
    let above = above::above_ceiling(row, bounds).map(|fault| fault.named(Code::AboveCeiling));
    let host = host::host_cache(row, rows).map(|fault| fault.named(Code::HostCache));
    let behind = schedule::generator_behind(row, generators);
    let behind = behind.map(|fault| fault.named(Code::GeneratorBehind));
    let unknown = caches::cache_size_unknown(row);
    let unknown = unknown.map(|fault| fault.named(Code::CacheSizeUnknown));
    let start = runs_of_commands::startup_bound(row, rows);
    let start = start.map(|fault| fault.named(Code::StartupBound));
    unknown.into_iter().chain(start).chain(above).chain(host).chain(behind).collect()
}

/// The finding on a row of a load compared with its other rates, after all other findings: only
/// sound rows are compared.
pub(crate) fn find_idle(row: &Row, rows: &[Row], generators: &Generators) -> Option<Finding> {
    idle::deep_idle(row, rows, generators).map(|fault| fault.named(Code::DeepIdle))
}

/// The one finding about the whole run: a hypervisor presents the device that served a case
/// (docs/method). `served` are the sources of all cases.
pub(crate) fn virtual_device(
    storage: Option<&Storage>,
    mut served: impl Iterator<Item = ServedBy>,
) -> Option<Finding> {
    let disks = storage?.disks().into_iter();
    let devices: BTreeSet<&str> =
        disks.filter(|disk| disk.is_virtual).map(|disk| disk.name.as_str()).collect();
    let matters = served.any(|by| matches!(by, ServedBy::Device | ServedBy::Mixed));
    (matters && !devices.is_empty()).then(|| Finding {
        code: Code::VirtualDevice,
        severity: Severity::Note,
        size: None,
        message: format!(
            "a hypervisor presents {}: this machine cannot see what is below, such as the host's \
             caches",
            Vec::from_iter(devices).join(", ")
        ),
        remedy: "read 'device' as 'this virtual device'; to know the disk, measure on the host"
            .to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_rule() {
        for code in Code::ALL {
            let rules = RULES.iter().copied().flatten();
            let rules = rules.filter(|(known, _)| known == code).count();
            // These are about the run, and about a row among others.
            let is_apart = matches!(
                code,
                Code::VirtualDevice
                    | Code::LinkDowngraded
                    | Code::SlowPort
                    | Code::Degraded
                    | Code::Rebuilding
                    | Code::Misaligned
                    | Code::CopyOnWrite
                    | Code::WriteCacheOff
                    | Code::Hot
                    | Code::SharedPath
                    | Code::Capped
                    | Code::HardwareErrors
                    | Code::ChannelsEmpty
                    | Code::MemoryErrors
                    | Code::SoftwareAes
                    | Code::CacheSizeUnknown
                    | Code::AboveCeiling
                    | Code::HostCache
                    | Code::GeneratorBehind
                    | Code::DeepIdle
                    | Code::StartupBound
            );
            let is_of_control = *code == Code::ControlDiffers;
            let expected = usize::from(!is_apart && !is_of_control);
            assert_eq!(rules, expected, "{code}");
        }
    }
}
