//! Several hosts, limited unequally, measured by ioassay and by the programs that others use for
//! this: IOR, mdtest, and fio's client and server.
//!
//! The modules are listed from lowest to highest; a module uses only those listed above it.

mod hosts;
mod row;
mod tools;

use crate::document::{self, Part};
use crate::extent::Extent;
use crate::options::at_least;
use crate::stage::Experiment;
use crate::words::Words;
use crate::{install, programs};
use anyhow::{Context, Result};
use clap::Args;
use hosts::{LIMITS_MIB, RivalHosts};
use model::list::listed;
use row::{RivalRow, ToolAnswers};
use std::path::{Path, PathBuf};
use tools::{Ranks, Servers};

/// The document, relative to the workspace, and its part with the table.
const DOCUMENT: &str = "docs/hosts.md";
const PART: Part = Part::Marked("rivals");

/// The command's options.
#[derive(Debug, PartialEq, Args)]
pub(crate) struct Options {
    /// How often each tool is asked each question, in turn
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = at_least::<1>)]
    #[arg(conflicts_with = "is_smoke")]
    turns: usize,
    /// The program of IOR, built with Open MPI; its questions are skipped without
    #[arg(long, value_name = "PATH")]
    ior: Option<PathBuf>,
    /// The program of mdtest, which is built with IOR
    #[arg(long, value_name = "PATH")]
    mdtest: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) extent: Extent,
}

/// Asks all tools all questions, and writes the table into the document.
///
/// # Errors
/// If a tool that is there gives no figure, or the user interrupts it.
pub(crate) fn run(options: &Options) -> Result<()> {
    let extent = options.extent;
    let stage = Experiment::new(&crate::target(), "rivals", extent)?;
    let hosts = RivalHosts::new(&stage, extent.pick(768 << 20, 256 << 20))?;
    let words = words(&stage, &hosts);
    let inquiry = Inquiry::new(options, &stage, &hosts, &words)?;
    for point in hosts.points() {
        create(&stage, point, &words, hosts.names().len())?;
    }
    let mut all = Vec::new();
    for row in row::all()? {
        all.extend(inquiry.ask(&row, extent.pick(options.turns, 1))?);
    }
    let text = inquiry.circumstances()? + &row::table(&all);
    println!("{text}");
    if !extent.is_smoke() && !inquiry.is_whole() {
        println!("did not write {DOCUMENT}: not all tools are there");
        return Ok(());
    }
    stage.put(DOCUMENT, &[(PART, text)])
}

/// What the words of the questions stand for.
fn words(stage: &Experiment, hosts: &RivalHosts) -> Words {
    let mib = |whole: u64, least: u64| (stage.extent.pick(whole, least) << 20).to_string();
    let words = stage.words().and("DIR", &hosts.common);
    let words = words.and("BYTES", mib(64, 4)).and("MANY", mib(320, 80));
    let words = words.and("SECONDS", stage.extent.pick("4", "1"));
    words.and("ENTRIES", stage.extent.pick("5000", "100"))
}

/// Creates a file in a host's disk, under the names that IOR's ranks give to it, too.
fn create(stage: &Experiment, point: &Path, words: &Words, ranks: usize) -> Result<()> {
    let path = point.join("data");
    let words = words.clone().and("FILE", &path);
    stage.ioassay("ioassay data create FILE --size MANY", &words)?;
    for rank in 0..ranks {
        let name = path.with_extension(format!("{rank:08}"));
        std::fs::hard_link(&path, &name).with_context(|| name.display().to_string())?;
    }
    Ok(())
}

/// The tools that are there.
struct Inquiry<'a> {
    options: &'a Options,
    stage: &'a Experiment,
    hosts: &'a RivalHosts,
    words: &'a Words,
    servers: Option<Servers>,
}

impl<'a> Inquiry<'a> {
    fn new(
        options: &'a Options,
        stage: &'a Experiment,
        hosts: &'a RivalHosts,
        words: &'a Words,
    ) -> Result<Self> {
        let has_fio = install::is_there("fio");
        let servers = has_fio.then(|| Servers::start(stage, hosts)).transpose()?;
        for (name, is_there) in
            [("fio", has_fio), ("IOR", options.ior.is_some()), ("mdtest", options.mdtest.is_some())]
        {
            if !is_there {
                println!("skipped: {name} is not there");
            }
        }
        Ok(Inquiry { options, stage, hosts, words, servers })
    }

    /// Whether all tools are there.
    fn is_whole(&self) -> bool {
        self.servers.is_some() && self.options.ior.is_some() && self.options.mdtest.is_some()
    }

    /// What all answer to a question; nothing if no other tool is there.
    fn ask(&self, row: &RivalRow, turns: usize) -> Result<Option<ToolAnswers>> {
        let (question, is_of_names) = (row.question.clone(), row.is_of_names());
        let mut answers = ToolAnswers { question, is_of_names, ..ToolAnswers::default() };
        for _ in 0..turns {
            for (tool, rate) in self.others(row)? {
                match answers.others.iter_mut().find(|(name, _)| *name == tool) {
                    Some((_, rates)) => rates.push(rate),
                    None => answers.others.push((tool, vec![rate])),
                }
            }
            if answers.others.is_empty() {
                return Ok(None);
            }
            let ours = tools::ioassay(self.stage, self.hosts, row, self.words)?;
            answers.ioassay.push(ours.rate);
            answers.ended_by.push(ours.ended_by);
        }
        print!("{}", row::table(std::slice::from_ref(&answers)));
        Ok(Some(answers))
    }

    /// What the other tools answer.
    fn others(&self, row: &RivalRow) -> Result<Vec<(&'static str, f64)>> {
        let (stage, hosts) = (self.stage, self.hosts);
        let mut rates = Vec::new();
        if let (Some(program), Some(options)) = (&self.options.ior, &row.ior) {
            let ranks = Ranks { program, stage, hosts };
            rates.push(("IOR", ranks.ior(&self.words.put(options))?));
        }
        if let (Some(program), Some([options, line])) = (&self.options.mdtest, &row.mdtest) {
            let ranks = Ranks { program, stage, hosts };
            rates.push(("mdtest", ranks.mdtest(&self.words.put(options), line)?));
        }
        if let (Some(servers), Some(settings)) = (&self.servers, &row.fio) {
            rates.push(("fio", servers.ask(&self.words.put(settings))?));
        }
        stage.go_on()?;
        Ok(rates)
    }

    /// When, where, how and with what this was measured.
    fn circumstances(&self) -> Result<String> {
        let mut here = self.stage.circumstances(&["fio"])?;
        let Options { ior, mdtest, .. } = self.options;
        for (program, options) in [(ior, "-w -o"), (mdtest, "-n 1 -d")] {
            let version = program.as_ref().map(|program| version(self.stage, program, options));
            here.versions.extend(version.transpose()?);
        }
        let limits = listed(&LIMITS_MIB.map(|mib| mib.to_string()));
        let cores = here.host["host"]["cores"].clone();
        Ok(here.text()
            + &document::paragraph(&format!(
                "Three hosts of one machine, each with an ext4 of its own on a loop device and a \
                 control group that lets it read and write {limits} MiB a second. Each tool \
                 measured once in each turn; the ratio is ioassay's figure divided by the other's. \
                 mdtest's ranks wait for each other in a loop, on {cores} cores."
            )))
    }
}

/// What IOR or mdtest calls itself, which it prints before its results.
fn version(stage: &Experiment, program: &Path, options: &str) -> Result<String> {
    let words = stage.words().and("TOOL", program);
    let words = stage.split(&format!("TOOL {options} FOLDER/version"), &words);
    let printed = programs::read(stage.command(&words), 0..=0)?;
    let is_version = |word: &&str| word.starts_with("IOR-") || word.starts_with("mdtest-");
    let found = printed.split([' ', ':', '\n']).find(is_version);
    found.map(str::to_owned).with_context(|| format!("{program:?} tells no version: {printed}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options;

    #[test]
    fn options_are_read() {
        let (ior, mdtest, extent) = (None, None, Extent::default());
        options::check("", &Options { turns: 7, ior, mdtest, extent });
        let (ior, mdtest) = (Some("/a/ior".into()), Some("/a/mdtest".into()));
        let line = "--turns 3 --ior /a/ior --mdtest /a/mdtest";
        options::check(line, &Options { turns: 3, ior, mdtest, extent });
        options::refused::<Options>(&["--turns 0", "--smoke --turns 3"]);
    }

    #[test]
    fn the_document_has_every_question() {
        let part = document::part(DOCUMENT, PART);
        let mut rows = document::rows(&part);
        rows.dedup();
        let questions: Vec<String> =
            row::all().expect("the table is right").into_iter().map(|row| row.question).collect();
        assert_eq!(rows, questions);
    }
}
