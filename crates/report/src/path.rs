//! The path to a medium: each hop, what it allows at most, and what is odd.

use crate::document::{Block, Document, FindingBlock, Paragraph, Remark, Section};
use crate::grid::{Grid, GridCell, left, right};
use crate::hop::{said_shared, what};
use crate::json::{pretty, schema_of};
use crate::picture::of_paths;
use crate::platform;
use crate::style::{BRANCH, Paint};
use crate::text::{Text, figure, text};
use crate::words::{NONE, count, listed};
use assess::finding::Finding;
use assess::path::{Allowance, JudgedPath, may_rest};
use assess::platform::JudgedPlatform;
use model::path::{Hop, HopKind, MediumPath};
use model::units::rate;
use schemars::JsonSchema;
use serde::Serialize;

/// Paths with what was judged of each, in the order in which they were asked for.
pub fn paths(all: &[(MediumPath, JudgedPath)]) -> Document<'_> {
    let title = listed(&all.iter().map(|(path, _)| path.asked.clone()).collect::<Vec<String>>());
    let answer = all.iter().flat_map(|(path, judged)| answer(path, judged));
    let answer = answer.chain(shared(all)).collect();
    let mut document =
        Document { title: format!("The path of {title}"), answer, ..Document::default() };
    let has_picture = all.iter().any(|(_, judged)| judged.allows.is_some());
    document.draw(has_picture, || of_paths(all));
    let tables = all.iter().map(|(path, judged)| table(path, judged));
    document.part(Section::new("Path", tables));
    let mut found = found(all);
    // All paths of a call are of one machine.
    let tops: Vec<&Hop> = all.iter().map(|(path, _)| &path.top).collect();
    if let Some((path, _)) = all.first() {
        let judged = platform::judged_of(path, &tops);
        document.part(platform::section(path));
        document.answer.extend(platform_answer(judged.findings.len()));
        found.extend(platform::found(&judged));
    }
    document.part(Section::new("Findings", Block::findings(found)));
    document
}

/// What the path allows, and how much is odd.
fn answer(path: &MediumPath, judged: &JudgedPath) -> Vec<Paragraph> {
    let asked = &path.asked;
    let is_memory = path.top.all().iter().any(|hop| matches!(hop.kind, HopKind::Memory));
    let allows = match (&judged.allows, &path.hypervisor) {
        (None, _) if is_memory => text!("{} is in memory: no link limits it.", asked),
        (Some(_), _) if judged.allows != judged.allows_writes => by_direction(asked, judged),
        (None, _) if judged.allows_writes.is_some() => by_direction(asked, judged),
        (Some(most), _) => text!(
            "{} gets at most {} in one direction: {}.",
            asked,
            figure(rate(most.bytes_per_second)),
            &most.hop_words
        ),
        (None, Some(hypervisor)) => text!(
            "What the path of {} allows is unknown: in a virtual machine ({}), links are made up.",
            asked,
            hypervisor
        ),
        (None, None) => {
            let who = match judged.hops.iter().any(|hop| hop.allows.is_some()) {
                true => "not every way down tells its speed",
                false => "no hop tells its speed",
            };
            text!("What the path of {} allows is unknown: {}.", asked, who)
        }
    };
    let odd = match odd_things(judged).len() {
        0 if path.hypervisor.is_some() => Text::from(
            "Links are not judged there. Nothing else on it is odd, as far as the OS tells.",
        ),
        0 => Text::from("No hop is odd, as far as the OS tells."),
        odd => Text::from(format!("{} on it.", count(odd, "odd thing"))),
    };
    let rests = path.top.all().into_iter().any(|hop| match &hop.kind {
        HopKind::Link(link) => judged.allows.is_some() && may_rest(link),
        _ => false,
    });
    let rests = rests.then_some("If a link saves power now, it is faster when it is used.");
    let rests = rests.map(|text| Paragraph::plain(Text::from(text)));
    [Paragraph::strong(allows)].into_iter().chain(rests).chain([Paragraph::plain(odd)]).collect()
}

/// What a path allows of which control groups limit reads and writes differently.
fn by_direction(asked: &str, judged: &JudgedPath) -> Text {
    let most = |allows: &Option<Allowance>| {
        let unknown = || "what no hop tells".to_string();
        allows.as_ref().map_or_else(unknown, Allowance::words)
    };
    let (reads, writes) = (most(&judged.allows), most(&judged.allows_writes));
    text!("Reads of {} get {}. Writes get {}.", asked, reads, writes)
}

/// What several of them have in common.
fn shared(all: &[(MediumPath, JudgedPath)]) -> Vec<Paragraph> {
    let tops: Vec<&Hop> = all.iter().map(|(path, _)| &path.top).collect();
    let is_guest = all.iter().any(|(path, _)| path.hypervisor.is_some());
    let name = |path: usize| all[path].0.asked.as_str();
    let said = |text| Paragraph::plain(Text::from(text));
    said_shared(&tops, is_guest, &name).into_iter().map(said).collect()
}

/// How much is odd about the machine, if anything is.
fn platform_answer(odd: usize) -> Option<Paragraph> {
    let odd = (odd > 0).then(|| count(odd, "odd thing"))?;
    Some(Paragraph::plain(format!("{odd} about its memory or processors.")))
}

fn table(path: &MediumPath, judged: &JudgedPath) -> Block {
    let columns = [left("hop", 0), right("at most", 0), left("what it is", 0)];
    let mut grid = Grid::new(columns.to_vec());
    for (hop, judged) in path.top.all().into_iter().zip(&judged.hops) {
        let is_odd = !judged.findings.is_empty();
        let indent = match judged.depth {
            0 => String::new(),
            depth => format!("{}{BRANCH} ", "  ".repeat(depth - 1)),
        };
        let what = what(hop, path.hypervisor.is_some());
        let odd = judged.findings.iter().map(|finding| format!("! {}", finding.code));
        let what = [what].into_iter().chain(odd).collect::<Vec<String>>().join(" ");
        let most = judged.allows.map_or(NONE.to_string(), rate);
        let paint = if is_odd { Paint::Doubt } else { Paint::Plain };
        grid.row(vec![
            GridCell::new(format!("{indent}{}", hop.name), Paint::Plain),
            GridCell::new(most, Paint::Plain),
            GridCell::new(what, paint),
        ]);
    }
    let legend = "at most: bytes a second in one direction, after the coding of the line and \
                  before its protocol; dash: unknown, or no limit; !: odd, see below";
    Block::table(grid, [Remark::of_all(legend)])
}

/// What is odd on a path, with the name of the hop. A hop that is below several disks of the path
/// is odd only once.
fn odd_things(judged: &JudgedPath) -> Vec<(&str, &Finding)> {
    let mut odd = Vec::new();
    for hop in &judged.hops {
        for finding in &hop.findings {
            let thing = (hop.name.as_str(), finding);
            if !odd.contains(&thing) {
                odd.push(thing);
            }
        }
    }
    odd
}

/// What is odd, each thing once and, of several paths, with those that it is on.
fn found(all: &[(MediumPath, JudgedPath)]) -> Vec<FindingBlock> {
    let mut odd: Vec<((&str, &Finding), Vec<&str>)> = Vec::new();
    for (path, judged) in all {
        for thing in odd_things(judged) {
            match odd.iter_mut().find(|(known, _)| *known == thing) {
                Some((_, paths)) => paths.push(&path.asked),
                None => odd.push((thing, vec![&path.asked])),
            }
        }
    }
    let block = |((hop, finding), paths): ((&str, &Finding), Vec<&str>)| {
        let rows = match all.len() {
            1 => hop.to_string(),
            _ => format!("{hop}, on {}", paths_of(&paths)),
        };
        FindingBlock {
            code: Some(finding.code.to_string()),
            rows: Text::from(&rows),
            brief_rows: Text::from(&rows),
            remedy: Some(Text::from(&finding.remedy)),
            ..FindingBlock::of_kind("odd", Paint::Doubt, &finding.message)
        }
    };
    odd.into_iter().map(block).collect()
}

/// `the path of /srv`, `the paths of / and /boot`.
fn paths_of(asked: &[&str]) -> String {
    let noun = if asked.len() == 1 { "path" } else { "paths" };
    format!("the {noun} of {}", listed(asked))
}

/// The version of the JSON form.
const FORMAT: u32 = 1;

/// The paths from files down to their media, by ioassay. Null means unknown, never 0.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "ioassay path", rename = "Paths")]
struct PathsForm<'a> {
    /// Version of this form. It increases when a field changes its meaning or goes away; new fields
    /// may appear without.
    format: u32,
    /// The paths, in the order in which they were asked for.
    paths: Vec<PathForm<'a>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PathOfOne")]
struct PathForm<'a> {
    #[serde(flatten)]
    path: &'a MediumPath,
    /// What was judged of it.
    judged: &'a JudgedPath,
    /// What was judged of the machine's memory and processors.
    judged_platform: JudgedPlatform,
}

/// Paths as indented JSON, with a final newline.
pub fn json_of_paths(all: &[(MediumPath, JudgedPath)]) -> String {
    let paths = all.iter().map(|(path, judged)| PathForm {
        path,
        judged,
        judged_platform: platform::judged_of(path, &[&path.top]),
    });
    pretty(&PathsForm { format: FORMAT, paths: paths.collect() })
}

/// The JSON schema of [`json_of_paths`].
pub fn json_schema_of_paths() -> String {
    schema_of::<PathsForm<'static>>()
}
