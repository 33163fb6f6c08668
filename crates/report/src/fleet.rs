//! Several hosts that should be alike: a table of cases, a table of hosts, the odd hosts, and how
//! the machines differ.

use crate::document::{Block, Document, FindingBlock, Paragraph, Remark, Section};
use crate::findings::note;
use crate::grid::{Grid, GridCell, left, right};
use crate::group::distinct;
use crate::labels::CaseLabels;
use crate::on_hosts::{ServedHost, said_served};
use crate::picture::hosts as pictured;
use crate::style::Paint;
use crate::text::{self, Text, command, figure, text};
use crate::words::{
    self, NAMED_MAX, NONE, count, listed, or_none, say, short, shorter, tally, times,
    times_interval,
};
use assess::finding::Verdict;
use assess::fleet::{Common, Differing, Fleet, FleetHost, HostFigure};
use assess::odd::{HOSTS_LEAST, Odd};
use model::record::End;
use model::units;

/// Facts that differ, which are shown; the others are counted.
const FACTS_MAX: usize = 16;

/// The tables, the odd hosts, and what is not alike.
pub fn fleet(fleet: &Fleet) -> Document<'_> {
    let labels = labels(fleet);
    let (title, alike) = (title(fleet), alike(fleet));
    let mut document = Document {
        origin: title.clone(),
        title,
        about: [alike].into_iter().chain(labels.common_line()).map(Text::from).collect(),
        answer: served(fleet, &labels)
            .into_iter()
            .chain(conclusions(fleet, &labels))
            .map(Paragraph::plain)
            .collect(),
        ..Document::default()
    };
    let has_picture = pictured::rates_beside(fleet).len() > 1;
    document.draw(has_picture, || vec![pictured::fleet(fleet)]);
    document.part(Section::new("Cases", [Block::table(cases(fleet, &labels), [])]));
    let hosts = Block::table(hosts(fleet), [Remark::of_all(LEGEND)]);
    document.part(Section::new("Hosts", [hosts]));
    let differ = |text| FindingBlock::of_kind("differ", Paint::Faint, text);
    let found = differing(fleet).into_iter().map(differ);
    let found = found.chain(notes(fleet).into_iter().map(note)).collect();
    document.part(Section::new("Not alike", Block::findings(found)));
    document
}

/// What the cells of hosts mean.
const LEGEND: &str = "× the median rate of all hosts; !: odd; ?: doubtful, but counted; void, \
                      failed, not run, n/a: not counted";

/// The title: `ioassay 0.1.0 · survey · 6 hosts`.
fn title(fleet: &Fleet) -> String {
    let of = |name: fn(&FleetHost) -> &str| {
        let mut all: Vec<&str> = fleet.hosts.iter().map(name).collect();
        all.dedup();
        match all[..] {
            [one] => one.to_string(),
            _ => String::new(),
        }
    };
    let tool = of(|host| &host.header.tool.name);
    let version = of(|host| &host.header.tool.version);
    let recipe = of(|host| &host.header.plan.recipe);
    let recipe = if recipe.is_empty() { "several recipes".to_string() } else { recipe };
    let hosts = count(fleet.hosts.len(), "host");
    let tool = format!("{tool} {version}");
    [tool.trim(), &recipe, &hosts].join(" · ").trim_start_matches(" · ").to_string()
}

/// What is the same on all hosts.
fn alike(fleet: &Fleet) -> String {
    let Some(first) = fleet.hosts.first() else { return "no host".to_string() };
    let host = &first.header.host;
    let mut facts = vec![
        ("OS", host.os.clone()),
        ("CPU", host.cpu.clone()),
        ("cores", count(host.cores as usize, "core")),
    ];
    let memory = host.memory.map(|bytes| format!("{} of memory", units::bytes_rounded(bytes)));
    facts.extend(memory.map(|memory| ("memory", memory)));
    let storage = first.header.storage.as_ref();
    facts.extend(storage.map(|storage| ("file system", storage.file_system.clone())));
    let differs = |what: &str| fleet.differing.iter().any(|fact| fact.what == what);
    facts.retain(|(what, _)| !differs(what));
    if facts.is_empty() {
        return "the hosts share neither OS nor CPU".to_string();
    }
    let texts: Vec<String> = facts.into_iter().map(|(_, text)| text).collect();
    format!("all hosts: {}", texts.join(" · "))
}

/// The labels of the common cases.
fn labels(fleet: &Fleet) -> CaseLabels<'_> {
    CaseLabels::of_cases(fleet.cases.iter().map(|common| &common.case))
}

/// A row for each case.
fn cases(fleet: &Fleet, labels: &CaseLabels) -> Grid {
    let mut grid = Grid::new(vec![
        left("case", 0),
        right("hosts", 1),
        right("median", 0),
        right("spread", 1),
        right("odd below", 2),
        left("odd hosts", 0),
    ]);
    for (number, common) in (1..).zip(&fleet.cases) {
        let median = common.median.map(say(common.quantity));
        let spread = common.spread.map(units::percent);
        let odd = pictured::odd_hosts(fleet, common);
        let paint = if odd.is_empty() { Paint::Plain } else { Paint::Doubt };
        let texts = [
            format!("{number}. {}", labels.label(&common.case)),
            common.n.to_string(),
            or_none(median),
            or_none(spread),
            common.odd_below.map_or(NONE.to_string(), times),
            short(&odd),
        ];
        grid.row(texts.map(|text| GridCell::new(text, paint)).to_vec());
    }
    grid
}

/// A row for each host, and a column for each case.
fn hosts(fleet: &Fleet) -> Grid {
    let columns = (1..=fleet.cases.len()).map(|number| right(&format!("{number}."), 0));
    let ends = (left("host", 0), left("its cases", 0));
    let mut grid = Grid::split([ends.0].into_iter().chain(columns).chain([ends.1]).collect());
    for (place, host) in fleet.hosts.iter().enumerate() {
        let name = if is_odd(fleet, place) { Paint::Doubt } else { Paint::Plain };
        let mut row = vec![GridCell::new(host.called.clone(), name)];
        row.extend(fleet.cases.iter().map(|common| cell(common.figures[place].as_ref())));
        row.push(GridCell::new(tally(&host.tally), Paint::Faint));
        grid.row(row);
    }
    grid
}

/// A host's figure: relative to the median of all, or why it does not count.
fn cell(figure: Option<&HostFigure>) -> GridCell {
    let Some(figure) = figure else { return GridCell::new(NONE, Paint::Faint) };
    let Some(ratio) = figure.ratio else {
        let (word, paint) = match figure.verdict {
            Verdict::Unavailable => ("n/a", Paint::Void),
            Verdict::Sound | Verdict::Doubtful => (NONE, Paint::Doubt),
            verdict => (verdict.name(), Paint::Void),
        };
        return GridCell::new(word, paint);
    };
    let odd = if figure.odd.is_some() { "!" } else { "" };
    let (doubt, paint) = match figure.verdict {
        Verdict::Doubtful => ("?", Paint::Doubt),
        _ => ("", Paint::Plain),
    };
    let paint = if figure.odd.is_some() { Paint::Void } else { paint };
    GridCell::new(format!("{}{odd}{doubt}", times(ratio)), paint)
}

/// What served each command on which hosts.
fn served(fleet: &Fleet, labels: &CaseLabels) -> Vec<Text> {
    let said = |common: &Common| {
        common.case.command()?;
        let figures = fleet.hosts.iter().zip(&common.figures);
        let of = |(host, figure): (&FleetHost, &Option<HostFigure>)| {
            let figure = figure.as_ref()?;
            Some(ServedHost {
                host: host.called.clone(),
                served_by: figure.served_by.filter(|_| figure.verdict.stands()),
                read_bytes: figure.device_read_bytes,
            })
        };
        let hosts: Vec<ServedHost> = figures.filter_map(of).collect();
        said_served(Text::from(labels.label(&common.case)), &hosts)
    };
    fleet.cases.iter().filter_map(said).collect()
}

/// Which hosts are odd, in what and by how much, or why that cannot be told.
fn conclusions(fleet: &Fleet, labels: &CaseLabels) -> Vec<Text> {
    let told = fleet.cases.iter().filter(|common| common.is_told()).count();
    if told == 0 {
        return vec![untold(fleet)];
    }
    let odd: Vec<usize> = (0..fleet.hosts.len()).filter(|host| is_odd(fleet, *host)).collect();
    if odd.is_empty() {
        return vec![text!(
            "Of {}, none has an odd host: what differs is within what chance makes of hosts that \
             vary this much. A host below the shares of 'odd below' would be called odd.",
            count(told, "case")
        )];
    }
    let word = if odd.len() == 1 { "the odd one out" } else { "odd" };
    let many = odd.len().saturating_sub(NAMED_MAX);
    let more = text!("{} more are odd: the tables mark them.", count(many, "host"));
    let said = odd.iter().take(NAMED_MAX).map(|place| odd_host(fleet, *place, word, labels));
    said.chain((many > 0).then_some(more)).collect()
}

/// Whether a host is odd in any case.
fn is_odd(fleet: &Fleet, host: usize) -> bool {
    fleet.cases.iter().any(|common| common.odd().any(|(odd, ..)| odd == host))
}

/// Why no host is called odd.
fn untold(fleet: &Fleet) -> Text {
    let compare = match fleet.hosts.len() {
        2 => text!(" {} says whether two records differ.", command("ioassay compare A B")),
        _ => Text::default(),
    };
    text!(
        "No host can be called odd: to tell it from chance, at least {} hosts must have a figure \
         of the same case that is not void.{}",
        HOSTS_LEAST,
        compare
    )
}

/// What a host is odd in, and what may be why.
fn odd_host(fleet: &Fleet, place: usize, word: &str, labels: &CaseLabels) -> Text {
    let member = &fleet.hosts[place];
    let mut found: Vec<(&Common, &HostFigure, &Odd)> = Vec::new();
    for common in &fleet.cases {
        let own = common.odd().filter(|(host, ..)| *host == place);
        found.extend(own.map(|(_, figure, odd)| (common, figure, odd)));
    }
    found.sort_by(|a, b| b.2.ratio.ln().abs().total_cmp(&a.2.ratio.ln().abs()));
    let of = |(common, _, odd): &(&Common, &HostFigure, &Odd)| {
        let range = times_interval(Some(odd.low), Some(odd.high)).unwrap_or_default();
        text!("{} {} ({})", labels.label(&common.case), figure(times(odd.ratio)), range)
    };
    let mut cases: Vec<Text> = found.iter().take(NAMED_MAX).map(of).collect();
    let more = found.len() - cases.len();
    cases.extend((more > 0).then(|| text!("{} more", more)));
    let codes = found.iter().flat_map(|(_, figure, _)| &figure.own_doubts);
    let codes = distinct(codes.map(|code| code.name().to_string()));
    let evidence = match &codes[..] {
        [] => String::new(),
        codes => format!(" Its own evidence says {}.", listed(codes)),
    };
    text!(
        "{} is {} in {}, relative to the other hosts (95 % interval): {}.{} {}",
        &member.called,
        word,
        count(found.len(), "case"),
        text::listed(&cases),
        evidence,
        own_facts(member)
    )
}

/// What a machine has, and the others have not. Whether that is the cause, a record cannot tell.
fn own_facts(member: &FleetHost) -> String {
    let of = |fact: &assess::fleet::OwnFact| {
        format!("{}: {} (most others: {})", fact.what, shown(&fact.own), shown(&fact.most))
    };
    let facts: Vec<String> = member.own.iter().map(of).collect();
    match &facts[..] {
        [] => "Nothing that the records say of the machines is on this host alone.".to_string(),
        facts => format!("On this host alone, which may be why: {}.", shorter(facts, "; ")),
    }
}

/// What is not alike on all hosts, in lines.
fn differing(fleet: &Fleet) -> Vec<String> {
    let of = |Differing { what, values }: &Differing| {
        let value = |value: &assess::fleet::Valued| {
            let hosts: Vec<String> =
                value.hosts.iter().map(|host| fleet.hosts[*host].called.clone()).collect();
            format!("{} ({})", shown(&value.value), short(&hosts))
        };
        let values: Vec<String> = values.iter().map(value).collect();
        format!("{what}: {}", shorter(&values, "; "))
    };
    let mut lines: Vec<String> = fleet.differing.iter().take(FACTS_MAX).map(of).collect();
    let more = fleet.differing.len() - lines.len();
    if more > 0 {
        lines.push(format!("and {more} more: --json has all"));
    }
    lines
}

/// What is missing, in lines.
fn notes(fleet: &Fleet) -> Vec<String> {
    let mut lines = Vec::new();
    for (place, host) in fleet.hosts.iter().enumerate() {
        let alone: Vec<String> = (fleet.alone.iter().filter(|alone| alone.host == place))
            .map(|alone| alone.id.clone())
            .collect();
        if !alone.is_empty() {
            lines.push(format!("{}: no other host has {}", host.called, short(&alone)));
        }
        match &host.end {
            End::Complete => {}
            End::Interrupted => lines.push(format!("{}: its run was interrupted", host.called)),
            End::Missing => lines.push(format!("{}: its record has no end", host.called)),
            End::Lost { at_ms, reason } => {
                lines.push(format!("{} {}", host.called, words::lost(*at_ms, reason)));
            }
        }
        lines.extend(host.damage.iter().map(|problem| format!("{}: {problem}", host.called)));
    }
    lines.extend(copies(fleet));
    lines
}

/// The records that are left out, in lines.
pub fn copies(fleet: &Fleet) -> impl Iterator<Item = String> {
    fleet.copies.iter().map(|path| format!("{path} is a copy of another record, and left out"))
}

fn shown(value: &str) -> &str {
    if value.is_empty() { "none" } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::Style;
    use assess::fleet::FleetRecords;
    use model::record::Record;
    use model::trial::Outcome;
    use model::zoo;

    /// A host whose trials last this many per cent of what they usually do.
    fn host(name: &str, seed: u64, percent: u64) -> Record {
        let mut record = zoo::record_of_invocations(5, 2);
        record.header.host.name = name.to_string();
        record.header.plan.seed = seed;
        for trial in &mut record.trials {
            let Outcome::Done(sample) = &mut trial.outcome else { continue };
            for span in &mut sample.spans {
                span.end_ns = span.start_ns + (span.end_ns - span.start_ns) * percent / 100;
            }
        }
        record
    }

    fn check(records: &[Record], width: usize) -> String {
        let mut gathering = FleetRecords::default();
        for (number, record) in records.iter().enumerate() {
            gathering.add(record, &format!("{number}.jsonl")).expect("they are few");
        }
        fleet(&gathering.judge()).text(&Style { colour: false, width })
    }

    fn hosts(number: u64) -> Vec<Record> {
        (0..number).map(|at| host(&format!("node{at}"), at, 97 + at * 3 % 7)).collect()
    }

    #[test]
    fn equal_hosts() {
        insta::assert_snapshot!(check(&hosts(6), 100));
    }

    #[test]
    fn one_is_odd_and_its_machine_differs() {
        let mut records = hosts(7);
        records[4] = host("node4", 4, 300);
        for trial in &mut records[4].trials {
            trial.evidence.throttled_ns = Some(900_000_000);
        }
        records[4].header.host.os = "Linux 5.10.0".to_string();
        records[4].header.host.setup.governor = Some("powersave".to_string());
        for at in [0, 1, 2, 3, 5] {
            records[at].header.host.setup.governor = Some("performance".to_string());
        }
        for trial in &mut records[1].trials {
            trial.evidence.residency_before = trial.evidence.residency_after;
            trial.evidence.task_read_bytes = Some(0);
            trial.evidence.device_read_bytes = Some(0);
        }
        records[2].trials.clear();
        records[2].end = End::Missing;
        insta::assert_snapshot!(check(&records, 100));
    }

    #[test]
    fn two_hosts_of_one_name_and_a_record_of_another_recipe() {
        let mut other = zoo::record_of(zoo::plain(), 3);
        other.header.plan.recipe = "other".to_string();
        other.damage.push("line 9 is not JSON".to_string());
        let mut records = hosts(1);
        records.extend([host("node0", 9, 100), other, host("node0", 9, 100)]);
        insta::assert_snapshot!(check(&records, 80));
        assert!(check(&[], 80).contains("No host can be called odd"));
    }
}
