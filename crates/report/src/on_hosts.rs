//! Commands on several hosts: a table with each host's figures, and what served them where.

use crate::grid::{Grid, GridCell, left, right};
use crate::labels::CaseLabels;
use crate::style::Paint;
use crate::text::{Text, case, figure, joined, text};
use crate::words::{self, NONE, count, or_none, short};
use assess::summary::ServedBy;
use assess::together::{CommandOnHost, Joint, Together};
use model::units;

/// Whether the hosts ran commands.
pub(crate) fn are_commands(run: &Together) -> bool {
    run.cases.iter().any(|joint| joint.case.command().is_some())
}

/// A heading for each command in each state, and a row for each host.
pub(crate) fn table(run: &Together, names: &CaseLabels) -> Grid {
    let mut grid = Grid::new(vec![
        left("host", 0),
        right("time", 0),
        right("95 % CI", 3),
        right("late", 2),
        right("asked for", 4),
        right("from devices", 0),
        right("cached before", 1),
        left("served by", 0),
        left("", 0),
    ]);
    for joint in &run.cases {
        grid.heading(&heading(joint, names));
        joint.commands.iter().for_each(|command| grid.row(row(command)));
    }
    grid
}

/// `cold wc input: 2 hosts, from the first start to the last end 140 ms`.
fn heading(joint: &Joint, names: &CaseLabels) -> String {
    let hosts = count(joint.hosts.len(), "host");
    let time = joint.time_ns.map_or(String::new(), |it| {
        format!(", from the first start to the last end {}", units::nanoseconds(it.median))
    });
    let without = match joint.without.is_empty() {
        true => String::new(),
        false => format!(", without {}", short(&joint.without)),
    };
    format!("{}: {hosts}{time}{without}", names.name(&joint.id))
}

fn row(command: &CommandOnHost) -> Vec<GridCell> {
    let plain = |text: String| GridCell::new(text, Paint::Plain);
    let paint = words::verdict_paint(command.verdict);
    let (time, interval) = words::with_interval(command.time_ns, units::nanoseconds);
    let bytes = |bytes: Option<u64>| or_none(bytes.map(units::bytes_rounded));
    // A void figure is not to be read alone.
    let time = match command.verdict.stands() || time == NONE {
        true => time,
        false => format!("({time})"),
    };
    vec![
        plain(command.host.clone()),
        GridCell::new(time, paint),
        plain(interval),
        plain(or_none(command.late_ns.map(units::nanoseconds))),
        plain(bytes(command.asked_bytes)),
        plain(bytes(command.device_read_bytes)),
        plain(or_none(command.cached_share.map(|share| words::percent(100.0 * share)))),
        plain(or_none(command.served_by.map(|served| served.name().to_string()))),
        GridCell::new(command.verdict.name(), paint),
    ]
}

/// What the columns mean.
pub(crate) const LEGEND: &str = "time: of a run on the host; late: how much later than on the \
                                 first host it ended; cached before: share of its files that was \
                                 in the page cache when a run began; dash: unseen";

/// What served each command on which hosts.
pub(crate) fn served(run: &Together, names: &CaseLabels) -> Vec<Text> {
    let said = |joint: &Joint| {
        let of = |it: &CommandOnHost| ServedHost {
            host: it.host.clone(),
            served_by: it.served_by.filter(|_| it.verdict.stands()),
            read_bytes: it.device_read_bytes,
        };
        let hosts: Vec<ServedHost> = joint.commands.iter().map(of).collect();
        said_served(case(&joint.id, &|id| names.name(id)), &hosts)
    };
    run.cases.iter().filter_map(said).collect()
}

/// What served a command on a host.
pub(crate) struct ServedHost {
    pub(crate) host: String,
    /// None without a figure that stands.
    pub(crate) served_by: Option<ServedBy>,
    /// What devices read for it.
    pub(crate) read_bytes: Option<u64>,
}

/// `cold wc input: the page cache served it on b, where devices read 0 B; devices served it on a,
/// where devices read 64.0 MiB.` Nothing, if no host has a figure that stands.
pub(crate) fn said_served(name: Text, hosts: &[ServedHost]) -> Option<Text> {
    let groups = groups(hosts);
    let known: usize = groups.iter().map(|(_, hosts)| hosts.len()).sum();
    let part = |(served, hosts): &(ServedBy, Vec<&ServedHost>)| {
        let called: Vec<String> = hosts.iter().map(|it| it.host.clone()).collect();
        let on = match groups.len() == 1 && known > 1 {
            true => format!("on all hosts ({})", short(&called)),
            false => format!("on {}", short(&called)),
        };
        phrase(*served, &on, read_of(hosts))
    };
    let parts: Vec<Text> = groups.iter().map(part).collect();
    (!parts.is_empty()).then(|| text!("{}: {}.", name, joined(&parts, "; ")))
}

/// The hosts by what served them, those that no device served first.
fn groups(hosts: &[ServedHost]) -> Vec<(ServedBy, Vec<&ServedHost>)> {
    let mut groups: Vec<(ServedBy, Vec<&ServedHost>)> = Vec::new();
    for host in hosts {
        let Some(served) = host.served_by else { continue };
        match groups.iter_mut().find(|(known, _)| *known == served) {
            Some((_, hosts)) => hosts.push(host),
            None => groups.push((served, vec![host])),
        }
    }
    groups.sort_by_key(|(served, _)| matches!(served, ServedBy::Device | ServedBy::Mixed));
    groups
}

/// The bytes that devices read on these hosts, if that is known of all: the least and the most.
fn read_of(hosts: &[&ServedHost]) -> Option<String> {
    let read = hosts.iter().map(|it| it.read_bytes).collect::<Option<Vec<u64>>>()?;
    let [least, most] =
        [read.iter().min()?, read.iter().max()?].map(|it| units::bytes_rounded(*it));
    Some(if least == most { least } else { format!("{least} to {most}") })
}

/// `the page cache served it on b, where devices read 0 B`.
fn phrase(served: ServedBy, on: &str, read: Option<String>) -> Text {
    let read = read.map_or(Text::default(), |read| text!(", where devices read {}", figure(read)));
    let what = match served {
        ServedBy::PageCache => "the page cache served it",
        ServedBy::Device => "devices served it",
        ServedBy::Mixed => "devices served a part of it",
        ServedBy::Ram => "its files are in memory",
        ServedBy::NoIo => "it read no data file",
        ServedBy::Unverified => "what served it is unseen",
        ServedBy::CpuCache | ServedBy::CpuCacheOrRam | ServedBy::NameCache => "caches served it",
    };
    match served {
        ServedBy::PageCache | ServedBy::Device | ServedBy::Mixed => {
            text!("{} {}{}", what, on, read)
        }
        _ => text!("{} {}", what, on),
    }
}

#[cfg(test)]
mod tests {
    use crate::style::Style;
    use model::record::Record;
    use model::trial::HostClock;
    use model::zoo::commands::record_of_commands;
    use std::convert::Infallible;

    /// Two hosts, of which the second is as `plant` makes it.
    fn said(plant: impl Fn(&mut Record)) -> String {
        let read = |host: usize| {
            let mut record = record_of_commands();
            record.header.called = Some(["a", "b"][host].to_string());
            for trial in &mut record.trials {
                trial.clock = Some(HostClock { ahead_ns: 0, drift_ns: 0, error_ns: 20_000 });
            }
            if host == 1 {
                plant(&mut record);
            }
            Ok::<_, Infallible>(record)
        };
        let run = assess::together(2, read).expect("memory is read").expect("there are hosts");
        crate::together(&run).text(&Style { colour: false, width: 100 })
    }

    #[test]
    fn commands_on_hosts_that_are_alike() {
        insta::assert_snapshot!(said(|_| ()));
    }

    #[test]
    fn the_host_that_read_nothing_is_named() {
        let said = said(|record| {
            let first = |case: usize| record.trials.iter().find(|it| it.case == case);
            let warm = first(2).expect("it ran").evidence.clone();
            for trial in record.trials.iter_mut().filter(|it| it.case == 3) {
                trial.evidence = warm.clone();
            }
        });
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        // Of what is void, nothing is said.
        for expected in [
            "cold sort -o output input: devices served it on a, where devices read 64.0 MiB.",
            "ServedDiffers: not the same served it on all hosts",
            "CacheLeak (on b: cold sort -o output input)",
        ] {
            assert!(said.contains(expected), "no '{expected}': {said}");
        }
    }
}
