//! A recipe as text: TOML with comments.

use super::facts::{Axes, Value};
use super::stages::{Group, Groups};
use model::axis::AXES;
use model::printable::printable;
use std::fmt::Write;

/// The length of a comment's line.
const COLUMNS: usize = 98;

/// A paragraph of comments: a heading, and sentences below it.
pub(super) struct Remarks<'a> {
    /// What the sentences have in common.
    pub heading: &'a str,
    /// The sentences.
    pub sentences: &'a [String],
}

/// Text as a comment, broken into lines.
pub(super) fn comment(text: &str, lead: &str) -> String {
    let mut comment = String::new();
    let mut line = format!("# {lead}");
    let indent = " ".repeat(lead.chars().count());
    let mut is_empty = true;
    for word in printable(text).split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > COLUMNS {
            let _ = writeln!(comment, "{}", line.trim_end());
            line = format!("# {indent}");
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    let _ = writeln!(comment, "{}", line.trim_end());
    comment
}

/// The remarks as comments, without those that have no sentences.
pub(super) fn remarks(all: &[Remarks]) -> String {
    let mut text = String::new();
    for Remarks { heading, sentences } in all.iter().filter(|it| !it.sentences.is_empty()) {
        text += "#\n";
        text += &comment(heading, "");
        text.extend(sentences.iter().map(|sentence| comment(sentence, "- ")));
    }
    text
}

/// The recipe without its comments at the top.
pub(super) fn recipe(name: &str, question: &str, groups: &Groups) -> String {
    let quoted = |text: &str| toml::Value::String(printable(text).into_owned()).to_string();
    let mut text = format!("name = {}\nquestion = {}\n", quoted(name), quoted(question));
    let has = |axis: &str, value: &str| {
        groups.cases.iter().any(|group| group.axes.get(axis) == Some(&value.into()))
    };
    let is_of_names = groups.cases.iter().all(|group| group.axes.contains_key("call"));
    if has("engine", "uring") {
        text += "# Where the OS refuses io_uring, threads of pread do as much at once.\n";
        text += "fallback = true\n";
    }
    if is_of_names {
        text += "ceilings = false\n";
    }
    let _ = writeln!(text, "\n[view]\ncolumns = [{}]", columns(&groups.cases).join(", "));
    for (name, axes) in &groups.actors {
        let _ = writeln!(text, "\n[actors.{name}]\n{}", table(axes).trim_end());
    }
    for group in &groups.cases {
        text.push('\n');
        let jobs = group.jobs.iter().map(|(job, line)| format!("[{job}] in line {line}"));
        text += &comment(&jobs.collect::<Vec<_>>().join(", "), "");
        text += "[[cases]]\n";
        text += &table(&group.axes);
    }
    text
}

/// The columns that tell what fio's report would.
fn columns(groups: &[Group]) -> Vec<String> {
    let any = |axis: &str| groups.iter().any(|group| group.axes.contains_key(axis));
    let syncs = ["fsync", "fdatasync", "msync"].map(Value::from);
    let has_syncs =
        groups.iter().any(|group| group.axes.get("sync").is_some_and(|sync| syncs.contains(sync)));
    let mut columns = vec!["iops"];
    if !any("call") {
        columns.push("throughput");
    }
    columns.extend(["p50", "p99", "p99_9"]);
    if any("rate") {
        columns.extend(["response_p50", "response_p99"]);
    }
    if any("read_share") {
        columns.extend(["read_p99", "write_p99"]);
    }
    if has_syncs {
        columns.extend(["sync_p50", "sync_p99"]);
    }
    if any("op") {
        columns.push("durable");
    }
    if any("beside") {
        columns.push("beside");
    }
    columns.push("served_by");
    columns.into_iter().map(|column| format!("\"{column}\"")).collect()
}

/// The axes in the order of an id.
fn table(axes: &Axes) -> String {
    let order = |name: &str| AXES.iter().position(|axis| axis.name == name);
    let mut axes: Vec<_> = axes.iter().collect();
    // What is no axis, such as the file of an actor, comes first.
    axes.sort_by_key(|(name, _)| order(name).map_or(0, |place| place + 1));
    let quoted = |text: &String| toml::Value::String(text.clone()).to_string();
    let line = |(name, value): (&&str, &Value)| match value {
        Value::Text(text) => format!("{name} = {}\n", quoted(text)),
        Value::Number(number) => format!("{name} = {number}\n"),
        Value::Texts(texts) => {
            format!("{name} = [{}]\n", texts.iter().map(quoted).collect::<Vec<_>>().join(", "))
        }
    };
    axes.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_broken_into_lines_and_cannot_end() {
        let text = comment(&format!("a\n[[cases]]\u{1b}[2J {}", "word ".repeat(40)), "- ");
        assert!(text.lines().all(|line| line.starts_with("# ") && line.len() <= COLUMNS), "{text}");
        assert!(text.starts_with("# - a [[cases]]\u{FFFD}[2J word"), "{text}");
        assert!(text.lines().nth(1).is_some_and(|line| line.starts_with("#   word")), "{text}");
        assert_eq!(comment("", ""), "#\n");
    }
}
