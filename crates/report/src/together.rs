//! What several hosts did together, in lockstep.

use crate::alone::alone;
use crate::concerned::concerned_names;
use crate::document::{Block, Document, Paragraph, Remark, Section};
use crate::doubts_together::doubts;
use crate::findings::{campaign, note, skips};
use crate::frame::title;
use crate::goals_together;
use crate::grid::{Grid, GridCell, left, right};
use crate::group::grouped;
use crate::joint::{called, finding, paths, rate_of, scaling};
use crate::labels::CaseLabels;
use crate::members::{are_on_one_machine, members};
use crate::on_hosts;
use crate::picture::hosts as pictured;
use crate::style::Paint;
use crate::text::{Text, case, figure, text};
use crate::words::{self, NONE, count, listed, or_none, short};
use assess::finding::Verdict;
use assess::stats::Estimate;
use assess::together::{Clue, Doubt, Ending, Joint, JointHost, StragglerSign, Together};
use model::case::Case;
use model::rank::Rank;
use model::record::End;
use model::units::{self, NS_PER_SECOND};

/// The table of all hosts together, the stragglers, the doubts, and what is wrong on each host.
pub fn together(run: &Together) -> Document<'_> {
    let names = CaseLabels::of(&run.first);
    let name = |id: &str| names.name(id);
    let mut document = Document {
        title: title(&run.first),
        about: heads(run).into_iter().map(Text::from).collect(),
        answer: answer(run, &names),
        origin: title(&run.first),
        ..Document::default()
    };
    let has_picture = pictured::rates_together(run).len() > 1;
    document.draw(has_picture, || vec![pictured::together(run)]);
    let is_void = |joint: &Joint| joint.n > 0 && joint.verdict == Verdict::Void;
    let void = run.cases.iter().any(is_void).then(|| Remark::of_all(words::VOID));
    let (grid, legend) = match on_hosts::are_commands(run) {
        true => (on_hosts::table(run, &names), Some(Remark::of_all(on_hosts::LEGEND))),
        false => (table(run, &names), None),
    };
    let goals = goals_together::table(run, &names);
    document.part(Section::new("Goals", goals));
    document.part(Section::new("Cases", [Block::table(grid, legend.into_iter().chain(void))]));
    let notes = notes(run).into_iter().chain(campaign(&run.first)).map(note);
    let found = run.findings.iter().map(|found| finding(run, found, &names));
    let found = found.chain(skips(&run.first.skips, &name)).chain(notes).collect();
    document.part(Section::new("Findings", Block::findings(found)));
    document
}

/// What served commands where, and what all get together.
fn answer(run: &Together, names: &CaseLabels) -> Vec<Paragraph> {
    let fit = goals_together::answer(run).into_iter();
    let served = fit.chain(on_hosts::served(run, names));
    served.chain(conclusions(run, names)).map(Paragraph::plain).collect()
}

/// The hosts, those that are alike in one line, and what holds for all of them.
fn heads(run: &Together) -> Vec<String> {
    let kind = |JointHost { os, cores, storage, .. }: &&JointHost| {
        let place = storage.as_ref().map_or(String::new(), |storage| {
            format!(" · {} · {}", storage.directory.display(), storage.file_system)
        });
        format!("{os} · {}{place}", count(*cores as usize, "core"))
    };
    let hosts = members(run).count(run.hosts.len() + run.missing.len());
    let all = match on_hosts::are_commands(run) {
        true => format!(
            "{hosts} in lockstep: all start each run at the same moment; each has its own figures"
        ),
        false => format!(
            "{hosts} in lockstep: all begin each trial at the same moment; the figures are those \
             of all together"
        ),
    };
    let line = |(kind, hosts): (String, Vec<&JointHost>)| format!("{}: {kind}", called(&hosts));
    let lines = std::iter::once(all).chain(grouped(&run.hosts, kind).into_iter().map(line));
    lines.chain(shift(run)).chain(missing(run)).collect()
}

/// What a reader of the records should know of the run.
fn notes(run: &Together) -> Vec<String> {
    let with = |end: End, what: &str| {
        let hosts: Vec<&JointHost> = run.hosts.iter().filter(|host| host.end == end).collect();
        (!hosts.is_empty()).then(|| format!("{}: {what}", called(&hosts)))
    };
    let mut lines = Vec::new();
    let times: Vec<String> = run.hosts.first().map_or(Vec::new(), |first| {
        first.resumed.iter().map(|resumed| resumed.began.clone()).collect()
    });
    if !times.is_empty() {
        lines.push(format!("the run was interrupted, and resumed at {}", listed(&times)));
    }
    for JointHost { called, end, .. } in &run.hosts {
        if let End::Lost { at_ms, reason } = end {
            lines.push(format!("{called} {}", words::lost(*at_ms, reason)));
        }
    }
    lines.extend(with(End::Interrupted, "the run was interrupted"));
    lines.extend(with(End::Missing, "the record has no end"));
    for JointHost { called, damage, .. } in &run.hosts {
        lines.extend(damage.iter().map(|problem| format!("{called}: {problem}")));
    }
    lines
}

/// Whose records are not given.
fn missing(run: &Together) -> Option<String> {
    let records = if run.missing.len() == 1 { "record" } else { "records" };
    (!run.missing.is_empty()).then(|| {
        format!(
            "RecordMissing: without the {records} of {}, cases in which {} took part have no \
             figures; give all records",
            short(&run.missing),
            if run.missing.len() == 1 { "it" } else { "they" }
        )
    })
}

/// Which files hosts read.
fn shift(run: &Together) -> Option<String> {
    let has = |is_of: fn(&Case) -> bool| run.first.cases.iter().any(|it| is_of(&it.case));
    let (reads, names) = (has(|it| it.read().is_some()), has(|it| it.metadata().is_some()));
    let several = |rank: &Rank| rank.of > 1 && !are_on_one_machine(Some(*rank));
    let rank = run.rank.filter(|rank| (reads || names) && several(rank))?;
    let said = match rank.shares {
        true if reads => "all share the directory: each host reads what the next one wrote",
        true => "all share the directory: each host uses cold names that the next one created",
        false if names => {
            "the directory is not shared: each host uses names that it created itself"
        }
        false => "the directory is not shared: each host reads what it wrote itself",
    };
    Some(said.to_string())
}

/// A row for each case.
fn table(run: &Together, names: &CaseLabels) -> Grid {
    // A column that a sentence tells to read is never left out.
    let has =
        |is_it: fn(&Doubt) -> bool| run.cases.iter().flat_map(|joint| &joint.doubts).any(is_it);
    let rank = |is_told: bool, rank| if is_told { 0 } else { rank };
    let is_lost = has(|doubt| matches!(doubt, Doubt::HostLost { .. }));
    let is_apart = has(|doubt| matches!(doubt, Doubt::StartSkew { .. }));
    let slowest = if are_on_one_machine(run.rank) { "slowest" } else { "slowest host" };
    let mut grid = Grid::new(vec![
        left("case", 0),
        right(members(run).plural(), rank(is_lost, 1)),
        right("together", 0),
        right("95 %", 3),
        right("all active", rank(is_apart, 2)),
        right("op/s", 4),
        right("p99", 2),
        right("efficiency", 1),
        left(slowest, 1),
        right("balance", 3),
        right("skew", 3),
        left("ended by", 4),
        left("", 0),
    ]);
    for joint in &run.cases {
        let (unit, main) = rate_of(joint);
        let rate = |estimate: Option<Estimate>| estimate.map(|estimate| unit(estimate.median));
        let interval = words::with_interval(main, unit).1;
        let per_second = joint.iops.map(|iops| words::per_second(iops.median));
        let slowest = joint
            .slowest
            .as_ref()
            .map(|slowest| format!("{} {}", slowest.host, words::times(slowest.ratio.median)));
        let efficiency = joint.scaling.as_ref().map(|it| efficiency(&it.efficiency));
        let plain = |text: String| GridCell::new(text, Paint::Plain);
        let paint = words::verdict_paint(joint.verdict);
        // A void figure is not to be read alone.
        let figure = |text: Option<String>| match text {
            None => NONE.to_string(),
            Some(text) if joint.verdict.stands() => text,
            Some(text) => format!("({text})"),
        };
        grid.row(vec![
            plain(name_of(joint, names)),
            plain(joint.hosts.len().to_string()),
            GridCell::new(figure(rate(main)), paint),
            plain(interval),
            plain(figure(rate(joint.common))),
            plain(figure(per_second)),
            plain(figure(joint.p99_ns.map(|ns| units::nanoseconds(ns as f64)))),
            plain(figure(efficiency)),
            plain(or_none(slowest)),
            plain(or_none(joint.balance.map(words::times))),
            plain(or_none(joint.start_skew_ns.map(units::nanoseconds))),
            plain(or_none(joint.ended_by.map(|ending| ending.name().to_string()))),
            GridCell::new(joint.verdict.name(), paint),
        ]);
    }
    grid
}

/// The row's name, and which of its hosts its figures are not of.
fn name_of(joint: &Joint, names: &CaseLabels) -> String {
    let name = names.name(&joint.id);
    if joint.without.is_empty() {
        name
    } else {
        format!("{name}, without {}", short(&joint.without))
    }
}

/// The efficiency in per cent, with its interval.
fn efficiency(estimate: &Estimate) -> String {
    let whole = |share: f64| format!("{:.0}", 100.0 * share);
    let interval = words::interval(estimate.low, estimate.high, whole);
    format!("{} ({interval})", words::percent(100.0 * estimate.median))
}

/// What all get together, the stragglers, and the reasons to doubt what is said of all.
fn conclusions(run: &Together, names: &CaseLabels) -> Vec<Text> {
    let lines = scaling(run, names).into_iter().chain(alone(run, names));
    let lines = lines.chain(paths(run, names)).chain(stragglers(run, names));
    lines.chain(ends(run, names)).chain(doubts(run, names)).collect()
}

/// Which rows are of trials that time ended, if the others are not: figures of two kinds.
fn ends(run: &Together, names: &CaseLabels) -> Option<Text> {
    let (by_time, by_work): (Vec<&Joint>, Vec<&Joint>) = run
        .cases
        .iter()
        .filter(|joint| !matches!(joint.ended_by, None | Some(Ending::Cut)))
        .partition(|joint| joint.ended_by == Some(Ending::Time));
    let ids: Vec<String> = by_time.iter().map(|joint| joint.id.clone()).collect();
    let are_mixed = !by_time.is_empty() && !by_work.is_empty();
    are_mixed.then(|| {
        text!(
            "{}: time ended their trials. The other rows ended with their work, for which all wait \
             for the slowest host, so they are not compared with these.",
            concerned_names(&ids, &|id| names.name(id))
        )
    })
}

/// The stragglers, with what their own evidence says.
fn stragglers(run: &Together, names: &CaseLabels) -> Vec<Text> {
    // Directories may be on disks of any kinds.
    let straggles = |joint: &&Joint| {
        let is_host = !are_on_one_machine(run.rank);
        joint.slowest.as_ref().is_some_and(|it| it.is_straggler && is_host)
    };
    let said = |joint: &Joint| {
        let slowest = joint.slowest.as_ref()?;
        let signs = slowest.signs.iter().map(sign).collect::<Vec<_>>();
        let codes = slowest.doubts.iter().map(|code| code.name().to_string());
        let why = match codes.chain(signs).collect::<Vec<_>>() {
            none if none.is_empty() => "its own evidence does not say why".to_string(),
            said => format!("its own evidence says: {}", said.join("; ")),
        };
        let range = words::times_interval(slowest.ratio.low, slowest.ratio.high)?;
        Some(text!(
            "{} is a straggler in {}: it had {} the median rate of the other hosts ({}); {}.",
            &slowest.host,
            case(&joint.id, &|id| names.name(id)),
            figure(words::times(slowest.ratio.median)),
            range,
            why,
        ))
    };
    run.cases.iter().filter(straggles).filter_map(said).collect()
}

/// What a straggler's counters show.
fn sign(sign: &StragglerSign) -> String {
    let StragglerSign { clue, own, others } = *sign;
    let share = |what: &str| {
        format!(
            "{what} for {} of the time ({} on the others)",
            words::percent(100.0 * own),
            words::percent(100.0 * others)
        )
    };
    match clue {
        Clue::Throttled => share("throttled by its control group's CPU quota"),
        Clue::Steal => share("its hypervisor gave its processors to others"),
        Clue::Waited => share("its threads waited for a processor"),
        Clue::Cpu => format!(
            "it needed {} the CPU time of the others for a byte",
            words::times(own / others)
        ),
        Clue::Limit if others == 0.0 => {
            format!("it is limited to {}, and the others are not", units::rate(NS_PER_SECOND / own))
        }
        Clue::Limit => format!(
            "it is limited to {} ({} on the others)",
            units::rate(NS_PER_SECOND / own),
            units::rate(NS_PER_SECOND / others)
        ),
        Clue::Device => format!(
            "a request to its devices took {} ({} on the others)",
            units::nanoseconds(own),
            units::nanoseconds(others)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::Style;
    use model::evidence::{Limit, Limited};
    use model::part::Whose;
    use model::plan::{Role, Skip};
    use model::record::{Header, Record};
    use model::sample::PROGRESS_NS;
    use model::taking_part::TakingPart;
    use model::trial::{HostClock, Outcome, Trial};
    use model::zoo;
    use std::convert::Infallible;

    /// Hosts of which the second takes longer by this factor, and begins this much later.
    fn hosts(factor: u64, later_ns: u64) -> Vec<(String, Record)> {
        let mut hosts = Vec::new();
        for (name, is_odd) in [("node1", false), ("node2", true), ("node3", false)] {
            let mut record = zoo::record();
            record.header.host.name = name.to_owned();
            for trial in &mut record.trials {
                trial.clock = Some(HostClock { ahead_ns: 0, drift_ns: 0, error_ns: 20_000 });
                let Outcome::Done(sample) = &mut trial.outcome else { continue };
                for span in sample.spans.iter_mut().filter(|_| is_odd) {
                    span.end_ns = span.start_ns + factor * (span.end_ns - span.start_ns) + later_ns;
                    span.start_ns += later_ns;
                }
            }
            hosts.push((name.to_owned(), record));
        }
        hosts
    }

    fn check(records: &[(String, Record)]) -> String {
        check_in(records, 100)
    }

    fn check_in(records: &[(String, Record)], width: usize) -> String {
        let read = |host: usize| {
            let (called, record) = records[host].clone();
            let header = Header { called: Some(called), ..record.header };
            Ok::<_, Infallible>(Record { header, ..record })
        };
        let run = assess::together(records.len(), read);
        let run = run.expect("memory can be read").expect("there are hosts");
        together(&run).text(&Style { colour: false, width })
    }

    #[test]
    fn equal_hosts() {
        insta::assert_snapshot!(check(&hosts(1, 0)));
    }

    #[test]
    fn where_nothing_is_concluded_there_is_no_gap() {
        let mut records = hosts(1, 0);
        for (_, record) in &mut records {
            record.end = model::record::End::Interrupted;
            record.trials.clear();
        }
        let said = check(&records);
        assert!(
            said.contains("\n\nnote   node1, node2 and node3: the run was interrupted.\n"),
            "{said}"
        );
        assert!(!said.contains("\n\n\n"), "{said}");
    }

    /// Two hosts that share a directory: both read a shared file, and the first one alone. The
    /// second one has half the rate, and a quota that says why.
    #[test]
    fn one_host_and_two() {
        let mut records = hosts(2, 0);
        records.truncate(2);
        for (number, (_, record)) in (0..).zip(&mut records) {
            let plan = &mut record.header.plan;
            plan.rank = Some(Rank { number, of: 2, seed: 1, shares: true, ..Rank::default() });
            plan.cases[0].case.io_mut().expect("it reads").files = Whose::Shared;
            let mut alone = plan.cases[0].clone();
            alone.case.io_mut().expect("it reads").hosts = TakingPart::First(1);
            let mut none = alone.case.clone();
            none.io_mut().expect("it reads").hosts = TakingPart::First(3);
            let reason = "it needs 3 hosts, and there are 2".to_owned();
            plan.skips.push(Skip { case: none, reason });
            if number > 0 {
                alone.role = Role::Elsewhere;
            }
            plan.cases.push(alone);
            let own: Vec<Trial> = record.trials.iter().filter(|_| number == 0).cloned().collect();
            record.trials.extend(own.into_iter().map(|trial| Trial { case: 1, ..trial }));
            for trial in &mut record.trials {
                trial.evidence.throttled_ns = Some(u64::from(number) * 900_000_000);
            }
        }
        let said = check(&records).split_whitespace().collect::<Vec<_>>().join(" ");
        for expected in [
            "all share the directory: each host reads what the next one wrote",
            "node2 is a straggler in",
            "throttled by its control group's CPU quota for",
            "it needs 3 hosts, and there are 2",
        ] {
            assert!(said.contains(expected), "no '{expected}': {said}");
        }
    }

    /// A limit is that of a host: the others have another one, or one like it.
    #[test]
    fn what_throttles_several_hosts_is_each_ones_own() {
        let said = |limits: [u64; 3]| {
            let mut records = hosts(1, 0);
            for ((name, record), a_second) in records.iter_mut().zip(limits) {
                let storage = record.header.storage.as_mut().expect("it has files");
                storage.limits = vec![Limit {
                    device: format!("loop-{name}"),
                    what: Limited::ReadBytes,
                    a_second,
                    group: format!("/{name}"),
                }];
                for trial in &mut record.trials {
                    trial.evidence.throttled_ns = Some(900_000_000);
                }
            }
            check(&records).split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let alike = said([60_000_000_000; 3]);
        assert!(alike.contains("): on node1, a control group's CPU quota held"), "{alike}");
        assert!(alike.contains("queues without bound; each host has its own"), "{alike}");
        let apart = said([60_000_000_000, 60_000_000_000, 15_000_000_000]);
        let expected = "; limits of devices differ: 60.0 GB/s of read bytes on node1 and node2; \
                        15.0 GB/s of read bytes on node3";
        assert!(apart.contains(expected), "{apart}");
    }

    #[test]
    fn a_straggler_a_late_host_and_a_lost_one() {
        let mut records = hosts(2, 40_000_000);
        records[2].1.trials.truncate(7);
        insta::assert_snapshot!(check(&records));
    }

    /// The record of one of several hosts says in every form that its figures are a part.
    #[test]
    fn a_part_does_not_look_like_the_whole() {
        let record = |of: u32| {
            let (_, mut record) = hosts(1, 0).remove(0);
            record.header.called = Some("h1".to_string());
            let plan = &mut record.header.plan;
            plan.rank = Some(Rank { number: 0, of, seed: 1, shares: false, ..Rank::default() });
            let mut alone = plan.cases[0].clone();
            alone.case.io_mut().expect("it reads").hosts = TakingPart::First(1);
            plan.cases[0].case.io_mut().expect("it reads").hosts = TakingPart::First(of);
            plan.cases.push(alone);
            let own: Vec<Trial> = record.trials.clone();
            record.trials.extend(own.into_iter().map(|trial| Trial { case: 1, ..trial }));
            assess::assess(&record)
        };
        let forms = |of: u32| {
            let assessment = record(of);
            let style = Style { colour: false, width: 400 };
            let text = crate::run(&assessment).text(&style);
            [text, crate::run(&assessment).markdown(), crate::run(&assessment).page()]
        };
        let words = "the record of h1 alone, host 1 of 4 in lockstep: its figures are a part";
        for form in forms(4) {
            assert!(form.contains(words), "no '{words}': {form}");
            assert!(form.contains("h1's part of 4 hosts"), "{form}");
            assert!(form.contains("1 host"), "{form}");
            assert!(!form.contains("part of 1 host"), "{form}");
        }
        assert!(forms(1).iter().all(|form| !form.contains("part of")));
        let said: serde_json::Value =
            serde_json::from_str(&crate::json(&record(4))).expect("it is JSON");
        let known = serde_json::json!({ "called": "h1", "number": 1, "of": 4 });
        assert_eq!(said["one_host"], known);
        assert!(crate::csv(&record(4)).contains("of_hosts"));
        assert!(crate::openmetrics(&record(4)).contains("of_hosts=\"4\""));
        assert!(!crate::openmetrics(&record(1)).contains("of_hosts"));
    }

    /// Which host was lost, when, and which rows are without it.
    #[test]
    fn a_lost_host_is_named_with_the_moment() {
        let mut records = hosts(1, 0);
        records[1].1.trials.truncate(2);
        let reason = "the agent on node2 died".to_string();
        records[1].1.end = End::Lost { at_ms: 2_500, reason };
        let said = check(&records).split_whitespace().collect::<Vec<_>>().join(" ");
        for expected in [
            "of 1GiB, without node2 2 ",
            "HostLost: node2 was lost 2.50 s after the run began; up to 2 rounds are left out",
            "note node2 was lost 2.50 s after the run began: the agent on node2 died",
        ] {
            assert!(said.contains(expected), "no '{expected}': {said}");
        }
        let mut records = hosts(1, 0);
        records[1].1.trials.truncate(9);
        let said = check(&records).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("one round is left out"), "{said}");
    }

    /// What two of three hosts did is not what all did.
    #[test]
    fn a_host_whose_record_is_not_given_leaves_no_figures() {
        let mut records = hosts(1, 0);
        for (number, (_, record)) in (0..).zip(&mut records) {
            let names = ["node1", "node2", "node3"].map(str::to_string);
            record.header.hosts = names.to_vec();
            record.header.plan.rank =
                Some(Rank { number, of: 3, seed: 1, shares: false, ..Rank::default() });
        }
        let shown = |records: &[(String, Record)]| {
            let read = |host: usize| Ok::<_, Infallible>(records[host].1.clone());
            let run = assess::together(records.len(), read);
            let run = run.expect("memory can be read").expect("there are hosts");
            let said = together(&run).text(&Style { colour: false, width: 400 });
            (said, crate::shortfall_of_together(&run))
        };
        let (said, lacks) = shown(&records);
        assert!(!said.contains("RecordMissing") && lacks.is_none(), "{said}");
        records.remove(1);
        let (said, lacks) = shown(&records);
        for expected in ["3 hosts in lockstep", "without the record of node2, cases in which it"] {
            assert!(said.contains(expected), "no '{expected}': {said}");
        }
        assert!(!said.contains("MB/s") && !said.contains("GB/s"), "{said}");
        assert!(lacks.is_some());
    }

    /// No advice to read a column that is empty.
    #[test]
    fn a_column_is_advised_where_it_is_shown() {
        let mut records = hosts(1, 40_000_000);
        let in_width = |records: &[(String, Record)], width: usize| {
            check_in(records, width).split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let said = |records: &[(String, Record)]| in_width(records, 120);
        assert!(said(&records).contains("after the first; use a longer --time"));
        for (_, record) in &mut records {
            for trial in &mut record.trials {
                let Outcome::Done(sample) = &mut trial.outcome else { continue };
                for span in &mut sample.spans {
                    let steps = (span.end_ns - span.start_ns).div_ceil(PROGRESS_NS);
                    let each = span.bytes / steps;
                    span.progress = vec![each; steps as usize];
                    span.bytes = each * steps;
                }
            }
        }
        assert!(said(&records).contains("after the first; read 'all active', or use a longer"));
        // It has room at any width.
        let narrow = in_width(&records, 60);
        assert!(narrow.contains("all active") && narrow.contains("read 'all active'"), "{narrow}");
        // A case may be known only in part.
        for (_, record) in &mut records {
            let mut other = record.header.plan.cases[0].clone();
            other.case.io_mut().expect("it reads").size *= 2;
            record.header.plan.cases.push(other);
            for mut trial in record.trials.clone() {
                trial.case = 1;
                let Outcome::Done(sample) = &mut trial.outcome else { continue };
                sample.spans.iter_mut().for_each(|span| span.progress.clear());
                record.trials.push(trial);
            }
        }
        let both = in_width(&records, 120);
        assert!(both.contains("; read 'all active' where it is known, or use a"), "{both}");
        records[2].1.trials.truncate(7);
        let narrow = in_width(&records, 40);
        assert!(narrow.contains("case hosts") && narrow.contains("the column 'hosts'"), "{narrow}");
    }
}
