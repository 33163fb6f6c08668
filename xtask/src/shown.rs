//! Rewrites the output and pictures of records in the documents, using the current `ioassay
//! report`.

use crate::document::Purpose;
use crate::extent::Extent;
use crate::{document, fields, files, programs};
use anyhow::{Context, Result, ensure};
use std::process::Command;

/// The documents that show output from records, besides the pages in folders that do.
const DOCUMENTS: [&str; 3] = ["README.md", "docs/tutorial.md", "docs/judge.md"];
const PAGES: [&str; 2] = ["docs/recipes", "docs/judge"];

/// A comment above each output block names its record.
struct RecordComment {
    /// The start of the comment.
    start: &'static str,
    /// The width of the report.
    columns: u16,
    /// The part of the report to show instead of what is shown.
    excerpt: fn(&str, &str) -> Result<String>,
}

const MARKS: [RecordComment; 3] = [
    RecordComment { start: "<!-- records/", columns: 120, excerpt: whole },
    // It is too narrow for operations a second.
    RecordComment { start: "<!-- table of records/", columns: 112, excerpt: table },
    RecordComment { start: "<!-- conclusion of records/", columns: 100, excerpt: conclusion },
];

/// The report of the record with this name, in as many columns.
type Report<'a> = &'a dyn Fn(&str, u16) -> Result<String>;

/// The pictures and their records.
const PICTURES: [(&str, &str); 2] =
    [("ladder", "2026-11-24-survey.jsonl"), ("compared", "2026-11-22-slow.jsonl")];

/// The folder of pictures.
const FOLDER: &str = "docs/pictures";

/// What surrounds a picture's rules for dark pages.
const DARK: [&str; 2] = ["@media screen and (prefers-color-scheme:dark){\n", "\n}\n"];

/// Rewrites the output and pictures in the documents. The smoke form compares them: they
/// are the same whenever they are made.
///
/// # Errors
/// If a record cannot be read, a block is missing, or a document that is compared differs.
pub(crate) fn run(extent: Extent) -> Result<()> {
    let purpose = extent.pick(Purpose::Write, Purpose::Compare);
    fields::put(purpose)?;
    let program = programs::ioassay(extent.build())?;
    let report = |record: &str, columns: u16, options: &[&str]| {
        let mut command = Command::new(&program);
        command.env("COLUMNS", columns.to_string());
        command.arg("report").arg(crate::root().join("records").join(record)).args(options);
        programs::read(command, 0..=1)
    };
    for name in DOCUMENTS.map(str::to_owned).into_iter().chain(pages()?) {
        let old = document::read(&name)?;
        let text = |record: &str, columns| report(record, columns, &[]);
        let new = with_blocks(&old, &text).with_context(|| name.clone())?;
        document::put(&name, &new, purpose)?;
    }
    for (name, record) in PICTURES {
        let [light, dark] = schemes(&report(record, 120, &["--svg", name])?).context(name)?;
        document::put(&format!("{FOLDER}/{name}-light.svg"), &light, purpose)?;
        document::put(&format!("{FOLDER}/{name}-dark.svg"), &dark, purpose)?;
    }
    Ok(())
}

/// The pages that show output from a record.
fn pages() -> Result<Vec<String>> {
    let mut pages = Vec::new();
    for folder in PAGES {
        for path in files::in_folder(&crate::root().join(folder), "md")? {
            let name = path.file_name().context("a page has a name")?.display().to_string();
            let page = format!("{folder}/{name}");
            if is_of_records(&document::read(&page)?) {
                pages.push(page);
            }
        }
    }
    Ok(pages)
}

fn is_of_records(document: &str) -> bool {
    MARKS.iter().any(|mark| document.contains(mark.start))
}

/// `document` with the current report in each block.
fn with_blocks(document: &str, report: Report) -> Result<String> {
    ensure!(is_of_records(document), "it shows no record");
    let mut new = document.to_owned();
    for RecordComment { start, columns, excerpt } in MARKS {
        let excerpt = |record: &str, shown: &str| excerpt(&report(record, columns)?, shown);
        new = with_excerpts(&new, start, &excerpt)?;
    }
    Ok(new)
}

/// `document` with an `excerpt` of the record's report in each block below `mark`.
fn with_excerpts(
    document: &str,
    mark: &str,
    excerpt: &dyn Fn(&str, &str) -> Result<String>,
) -> Result<String> {
    let mut parts = document.split(mark);
    let mut new = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let no_block = || format!("no text block follows '{mark}{}'", first_line(part));
        let (name, rest) = part.split_once(" -->\n```text\n").with_context(no_block)?;
        let (shown, after) = rest.split_once("\n```\n").with_context(no_block)?;
        let text = excerpt(name, shown)?;
        new += &format!("{mark}{name} -->\n```text\n{}\n```\n{after}", text.trim_end());
    }
    Ok(new)
}

fn whole(report: &str, _: &str) -> Result<String> {
    Ok(report.to_owned())
}

/// The comparisons, if there are any, and the answer.
fn conclusion(report: &str, _: &str) -> Result<String> {
    let parts: Vec<&str> = report.trim_end().split("\n\n").collect();
    let (answer, above) = parts.split_last().context("it has no answer")?;
    let compared = above.iter().filter(|part| part.starts_with("paired by round"));
    Ok(compared.chain([answer]).copied().collect::<Vec<&str>>().join("\n\n"))
}

/// Between these columns are those of latencies, if the terminal is wide enough.
const CEILING: &str = " of ceiling";
const SERVED: &str = " served by";

/// The first table without the columns of latencies and the legend, for a narrow page. It has the
/// rows that are shown, or all if none is.
fn table(report: &str, shown: &str) -> Result<String> {
    let lines = report.lines().skip_while(|line| !line.contains(CEILING));
    let lines: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    let header = lines.first().context("it has no table with shares of a ceiling")?;
    let start_of =
        |name: &str| header.find(name).with_context(|| format!("its table has no column '{name}'"));
    let (from, to) = (start_of(CEILING)? + CEILING.len(), start_of(SERVED)?);
    let is_row = |line: &str| line.starts_with("  ");
    let narrow = |line: &&str| {
        if is_row(line) {
            line.chars().take(from).chain(line.chars().skip(to)).collect()
        } else {
            (*line).to_owned()
        }
    };
    let last = lines.iter().rposition(|line| is_row(line)).context("its table has no rows")?;
    let label = |line: &str| line.trim_start().split("  ").next().unwrap_or_default().to_owned();
    let labels: Vec<String> = shown.lines().filter(|line| is_row(line)).map(label).collect();
    let is_shown = |line: &&&str| {
        labels.is_empty() || !is_row(line) || *line == header || labels.contains(&label(line))
    };
    let rows = lines[..=last].iter().filter(is_shown).map(narrow);
    Ok(rows.collect::<Vec<String>>().join("\n"))
}

/// A light and a dark version of a picture. The original follows the reader's system setting, which
/// may differ from the website's.
fn schemes(svg: &str) -> Result<[String; 2]> {
    let [start, end] = DARK;
    let (before, rest) = svg.split_once(start).context("it has no rules for dark pages")?;
    let (rules, after) = rest.split_once(end).context("its rules have no end")?;
    Ok([format!("{before}{after}"), format!("{before}{rules}\n{after}")])
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_is_what_is_said_of_its_record() {
        let report = |record: &str, _| Ok(format!("of {record}\n\n"));
        let document = "a\n<!-- records/x -->\n```text\nold\n```\nb\n<!-- records/y -->\n\
                        ```text\nolder\nstill\n```\nc ``` d\n";
        let new = with_blocks(document, &report).expect("it is whole");
        let expected = "a\n<!-- records/x -->\n```text\nof x\n```\nb\n<!-- records/y -->\n\
                        ```text\nof y\n```\nc ``` d\n";
        assert_eq!(new, expected);
        for broken in ["a", "<!-- records/x -->\n", "<!-- records/x -->\n```text\nold\n"] {
            assert!(with_blocks(broken, &report).is_err(), "{broken}");
        }
    }

    #[test]
    fn a_table_loses_the_columns_of_latencies() {
        let report = "head\n\n   of ceiling   p50     p99 served by\nmemory (a long title)\n  \
                      µ rows 1 %  2 µs    3 µs device\np50: a note\n\nnote\n";
        let document = "a\n<!-- table of records/x -->\n```text\nold\n```\n";
        let new = with_blocks(document, &|_, _| Ok(report.to_owned())).expect("it has a table");
        let expected = "a\n<!-- table of records/x -->\n```text\n   of ceiling served by\n\
                        memory (a long title)\n  µ rows 1 % device\n```\n";
        assert_eq!(new, expected);
        assert!(with_blocks(document, &|_, _| Ok(" of ceiling  p50\n".to_owned())).is_err());
    }

    #[test]
    fn a_table_keeps_the_rows_that_are_shown() {
        let report = "   of ceiling served by\nmemory\n  one 1   1 %\n  two     2 %\n";
        let table = |shown| table(report, shown).expect("it has rows");
        assert_eq!(table("old"), report.trim_end());
        let one = "   of ceiling served by\nmemory\n  one 1   1 %";
        assert_eq!(table("memory\n  one 1   9 %\n  three   2 %"), one);
    }

    #[test]
    fn a_conclusion_is_the_comparisons_and_the_answer() {
        let shown = |report: &str| conclusion(report, "").expect("it has an answer");
        assert_eq!(shown("head\n\ntable\n\nnote\n\nanswer\nand more\n"), "answer\nand more");
        let report = "head\n\ntable\n\npaired by round  x\na vs b\n\nnote\n\nanswer\n";
        assert_eq!(shown(report), "paired by round  x\na vs b\n\nanswer");
    }

    #[test]
    fn a_picture_has_the_rules_of_one_scheme() {
        let svg = format!("<style>\n{}.a{{b:c}}\n.d{{e:f}}{}</style>\n", DARK[0], DARK[1]);
        let [light, dark] = schemes(&svg).expect("it has both schemes");
        assert_eq!(light, "<style>\n</style>\n");
        assert_eq!(dark, "<style>\n.a{b:c}\n.d{e:f}\n</style>\n");
        assert!(schemes("<style></style>").is_err());
    }
}
