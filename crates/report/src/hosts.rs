//! What hosts are like, before anything is measured on them.

use crate::document::{Block, Document, Paragraph, Section};
use crate::group::grouped;
use crate::style::Paint;
use crate::words::{count, listed, short};
use assess::path::{allowed, narrowest_link};
use model::host::{Host, Medium, Storage};
use model::path::Hop;
use model::units;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A host that was checked.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostCheck {
    /// What the user calls it.
    pub called: String,
    /// What it is like; `None` if it cannot be used.
    pub found: Option<HostFacts>,
    /// Why it cannot be used.
    pub reason: Option<String>,
}

/// What a host is like.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostFacts {
    /// The machine.
    pub host: Host,
    /// The storage of the directory.
    pub storage: Storage,
    /// The random number that its OS has drawn since it started, if it tells it: hosts with the
    /// same one and the same name are one machine.
    pub boot: Option<String>,
    /// The commit that its program was built from, if that is another than this program's.
    pub other_build: Option<String>,
    /// How far its time of day is ahead of that of the machine that asks, in nanoseconds.
    pub clock_ahead_ns: i64,
    /// The most that this may be wrong, in nanoseconds: half of the shortest round trip.
    pub clock_error_ns: u64,
    /// The other hosts that see a file which it created in the directory.
    pub shares_with: Vec<String>,
}

/// The hosts in a few lines each, and what they share.
pub fn hosts(checked: &[HostCheck]) -> Document<'static> {
    let answer = vec![Paragraph::plain(together(checked))];
    let mut document = Document { answer, ..Document::default() };
    let entries = entries(checked).into_iter().map(|(called, each)| entry(&called, each));
    document.part(Section::new("Hosts", entries));
    document
}

/// What a host is like, or why hosts cannot be used.
fn entry(called: &[String], each: &HostCheck) -> Block {
    let paint = if each.found.is_some() { Paint::Strong } else { Paint::Doubt };
    let lines = match (&each.found, &each.reason) {
        (Some(found), _) => vec![machine(found), directory(found)],
        (None, reason) => {
            let reason = reason.as_deref().unwrap_or("the reason is not known");
            vec![format!("cannot be used: {reason}")]
        }
    };
    Block::list(Paragraph { text: listed(called).into(), paint }, lines)
}

/// Each host that can be used; those that cannot for one reason, as a launcher of all says it of
/// each, once.
fn entries<'a>(checked: &'a [HostCheck]) -> Vec<(Vec<String>, &'a HostCheck)> {
    let alone = |(place, each): &(usize, &HostCheck)| each.reason.is_none().then_some(*place);
    let groups = grouped(checked.iter().enumerate(), |one| (&one.1.reason, alone(one)));
    let called = |(_, all): (_, Vec<(usize, &'a HostCheck)>)| {
        (all.iter().map(|(_, each)| each.called.clone()).collect(), all[0].1)
    };
    groups.into_iter().map(called).collect()
}

fn machine(found: &HostFacts) -> String {
    let Host { os, cores, cpu, no_io_uring, .. } = &found.host;
    let ns = units::nanoseconds(found.clock_ahead_ns.unsigned_abs() as f64);
    let error = units::nanoseconds(found.clock_error_ns as f64);
    let is_ahead = if found.clock_ahead_ns < 0 { "behind" } else { "ahead" };
    let ring = match no_io_uring {
        None => "io_uring".to_string(),
        Some(reason) => format!("no io_uring: {reason}"),
    };
    let cores = count(*cores as usize, "core");
    let build = found.other_build.as_ref().map(|commit| {
        format!(" · another build of ioassay (commit {commit}), which may measure differently")
    });
    let build = build.unwrap_or_default();
    format!("{os} · {cores} · {cpu} · {ring} · clock {ns} {is_ahead} (±{error}){build}")
}

fn directory(found: &HostFacts) -> String {
    let Storage { directory, file_system, medium, devices, residency_probe, .. } = &found.storage;
    let names: Vec<String> = devices.iter().map(|device| device.name.clone()).collect();
    let below = match medium {
        Medium::Ram => " in memory".to_string(),
        Medium::Unseen => ", what is below cannot be seen from there".to_string(),
        Medium::Block if names.is_empty() => String::new(),
        Medium::Block => format!(" on {}", listed(&names)),
    };
    let mut parts = vec![format!("{}: {file_system}{below}", directory.display())];
    let room = found.storage.room();
    parts.extend(room.map(|(_, free)| format!("{} free", units::bytes_rounded(free))));
    let allows = storage_link(found, allowed);
    parts.extend(allows.map(|allows| format!("its path gets {}", allows.words())));
    parts.push(match residency_probe {
        Some(probe) => format!("its page cache is seen ({probe})"),
        None => "its page cache cannot be seen".to_string(),
    });
    parts.push(match &found.shares_with[..] {
        [] => "no other host sees it".to_string(),
        others => format!("shared with {}", listed(others)),
    });
    parts.join(" · ")
}

/// Whether all hosts share the directory.
fn together(checked: &[HostCheck]) -> String {
    let found: Vec<&HostFacts> = checked.iter().filter_map(|each| each.found.as_ref()).collect();
    let lost = checked.len() - found.len();
    let lost = match lost {
        lost if lost == 0 || found.is_empty() => String::new(),
        lost => format!(" {} cannot be used.", count(lost, "host")),
    };
    let others = found.len().saturating_sub(1);
    let share = match found.iter().map(|found| found.shares_with.len()).min() {
        None if checked.len() > 1 => format!("None of {} hosts can be used.", checked.len()),
        None => "No host can be used.".to_string(),
        Some(0) if checked.len() > 1 && others == 0 => {
            "Only one host can be used, so nothing is shared.".to_string()
        }
        Some(0) if others == 0 => "One host shares nothing.".to_string(),
        Some(least) if least == others => {
            format!("All {} share the directory: a file of one is seen by all.", found.len())
        }
        Some(_) if found.iter().all(|found| found.shares_with.is_empty()) => {
            "Each host has a directory of its own.".to_string()
        }
        Some(_) => "Only some of the hosts share the directory.".to_string(),
    };
    let machines: String =
        of_one_machine(checked).iter().map(|names| format!(" {names}")).collect();
    format!("{share}{lost}{machines}{}", links(checked))
}

/// What `of` says of the path to the directory of a host.
fn storage_link<T>(found: &HostFacts, of: impl Fn(&Hop, bool) -> Option<T>) -> Option<T> {
    of(found.storage.path.as_deref()?, found.host.hypervisor.is_some())
}

/// How the narrowest links of the hosts differ, the most frequent first: that is why one is slow.
fn links(checked: &[HostCheck]) -> String {
    let known = checked.iter().filter_map(|each| {
        let link = storage_link(each.found.as_ref()?, narrowest_link)?;
        Some((link, each.called.clone()))
    });
    let mut groups = grouped(known, |(link, _)| link.clone());
    if groups.len() < 2 {
        return String::new();
    }
    groups.sort_by_key(|(_, all)| Reverse(all.len()));
    let said = |(link, all): (String, Vec<(String, String)>)| {
        let names: Vec<String> = all.into_iter().map(|(_, called)| called).collect();
        format!("{link} ({})", short(&names))
    };
    let said: Vec<String> = groups.into_iter().map(said).collect();
    format!(" The narrowest links of their paths differ: {}.", said.join("; "))
}

/// Which names are those of one machine, in sentences.
fn of_one_machine(checked: &[HostCheck]) -> Vec<String> {
    let mut machines: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for HostCheck { called, found, .. } in checked {
        let boot = found.as_ref().and_then(|found| Some((found.boot.as_deref()?, &found.host)));
        if let Some((boot, host)) = boot {
            machines.entry((boot, &host.name)).or_default().push(called.clone());
        }
    }
    let several = machines.into_values().filter(|names| names.len() > 1);
    several.map(|names| format!("{} are one machine.", listed(&names))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::Style;
    use model::path::{HopKind, LinkHop, LinkSpeed};
    use model::zoo;

    fn one(called: &str, shares_with: &[&str]) -> HostCheck {
        let found = HostFacts {
            host: zoo::host(),
            storage: zoo::storage(),
            boot: Some(called.to_string()),
            other_build: None,
            clock_ahead_ns: -12_000_000,
            clock_error_ns: 40_000,
            shares_with: shares_with.iter().map(|name| name.to_string()).collect(),
        };
        HostCheck { called: called.to_string(), found: Some(found), reason: None }
    }

    /// What a launcher of all says of each is shown once, and one machine with two names is told.
    #[test]
    fn what_is_alike_is_said_once() {
        let mut all = [one("a", &["b"]), one("b", &["a"]), lost("c"), lost("d")];
        let style = Style { colour: false, width: 200 };
        let said = hosts(&all).text(&style);
        assert!(said.contains("c and d\n  cannot be used: it is down\n"), "{said}");
        assert!(!said.contains("one machine") && !said.contains("another build"), "{said}");
        for each in &mut all[..2] {
            let found = each.found.as_mut().expect("it can be used");
            (found.boot, found.other_build) = (Some("same".to_string()), Some("abc".to_string()));
        }
        let said = hosts(&all).text(&style);
        assert!(said.contains("a and b are one machine."), "{said}");
        assert!(said.contains("another build of ioassay (commit abc)"), "{said}");
    }

    fn lost(called: &str) -> HostCheck {
        let reason = Some("it is down".to_string());
        HostCheck { called: called.to_string(), found: None, reason }
    }

    #[test]
    fn hosts_and_what_they_share() {
        let all = [one("a", &["b"]), one("b", &["a"]), lost("c")];
        insta::assert_snapshot!(hosts(&all).text(&Style { colour: false, width: 100 }));
    }

    /// A narrower link is why a host is slow. Nothing is said of a guest's.
    #[test]
    fn links_that_differ_are_said() {
        let with = |called: &str, lanes: u64| {
            let mut one = one(called, &[]);
            let now = LinkSpeed { rate: Some(8_000), lanes: Some(lanes) };
            let link = HopKind::Link(LinkHop { now, ..LinkHop::default() });
            let found = one.found.as_mut().expect("it can be used");
            found.storage.path = Some(Box::new(Hop::new(format!("0000:{called}"), link, vec![])));
            one
        };
        let mut all = [with("a", 4), with("b", 2), with("c", 4)];
        let differ = "The narrowest links of their paths differ: PCIe 3.0 x4 (3.94 GB/s) (a and \
                      c); PCIe 3.0 x2 (1.97 GB/s) (b).";
        assert!(together(&all).contains(differ), "{}", together(&all));
        let said = hosts(&all).text(&Style { colour: false, width: 200 });
        assert!(said.contains("at most 1.97 GB/s: PCIe 3.0 x2 of 0000:b"), "{said}");
        assert!(!together(&[with("a", 4), with("b", 4)]).contains("differ"));
        let guest = all[1].found.as_mut().expect("it can be used");
        guest.host.hypervisor = Some("KVM".to_string());
        assert!(!together(&all).contains("differ"));
    }

    #[test]
    fn what_is_shared_is_said() {
        let check = |all: &[HostCheck], expected: &str| {
            assert!(together(all).starts_with(expected), "{}", together(all));
        };
        check(&[one("a", &["b"]), one("b", &["a"])], "All 2 share the directory");
        check(&[one("a", &[]), one("b", &[])], "Each host has a directory of its own.");
        check(&[one("a", &["b"]), one("b", &["a"]), one("c", &[])], "Only some");
        check(&[one("a", &[])], "One host shares nothing.");
        check(
            &[one("a", &[]), lost("b")],
            "Only one host can be used, so nothing is shared. 1 host",
        );
        assert_eq!(together(&[lost("a")]), "No host can be used.");
        assert_eq!(together(&[lost("a"), lost("b")]), "None of 2 hosts can be used.");
    }
}
