//! Records that try to steer who reads a form of them: whatever field says so, none can.

use crate::tests::forms::{
    markdown, markdown_of_records, page, page_of_records, picture_alone, pictures, records, text,
};
use crate::{Style, csv, json};
use crate::{openmetrics, to_terminal};
use model::printable::is_printable;
use model::record::Record;
use model::zoo;
use serde_json::Value;

const HOSTILE: &str =
    "\u{1b}]0;x\u{7}\u{1b}[2J\u{9b}5m\u{202e}\n\r--><script>alert(1)</script>|`=1+1\"&<b>";

/// Every text of a value that is no name of a field.
fn texts<'a>(value: &'a mut Value, all: &mut Vec<&'a mut String>) {
    match value {
        Value::String(text) => all.push(text),
        Value::Array(list) => list.iter_mut().for_each(|value| texts(value, all)),
        Value::Object(fields) => fields.values_mut().for_each(|value| texts(value, all)),
        _ => {}
    }
}

fn decoded(lines: &[Value]) -> Option<Record> {
    let text: String = lines.iter().map(|line| line.to_string() + "\n").collect();
    Record::decode(&text).ok().filter(|record| record.damage.is_empty())
}

/// The record with the hostile text wherever it may say what it likes, found by trying; and in how
/// many places that is.
fn hostile(record: &str) -> (Record, usize) {
    let mut lines: Vec<Value> =
        record.lines().map(|line| serde_json::from_str(line).expect("it is whole")).collect();
    let mut places = 0;
    for line in 0..lines.len() {
        let count = {
            let mut all = Vec::new();
            texts(&mut lines[line], &mut all);
            all.len()
        };
        // Alone with the header, each line is decided fast.
        for index in 0..count {
            let before = lines[line].clone();
            let mut all = Vec::new();
            texts(&mut lines[line], &mut all);
            all[index].push_str(HOSTILE);
            let tried =
                if line == 0 { &lines[..1] } else { &[lines[0].clone(), lines[line].clone()] };
            match decoded(tried) {
                Some(_) => places += 1,
                None => lines[line] = before,
            }
        }
    }
    (decoded(&lines).expect("each change was accepted"), places)
}

fn record_text() -> String {
    let record = zoo::record();
    let mut lines = vec![model::record::RecordLine::Header {
        version: model::record::VERSION,
        header: record.header.clone(),
    }];
    let mut trials = record.trials.clone();
    let failed = model::trial::Outcome::Failed { reason: "it died".to_string() };
    trials.truncate(3);
    trials[2].outcome = failed;
    lines.extend(trials.into_iter().map(model::record::RecordLine::Trial));
    lines.iter().map(|line| line.encode() + "\n").collect()
}

#[test]
fn no_field_of_a_record_steers_who_reads_it() {
    let (record, places) = hostile(&record_text());
    assert!(places > 20, "only {places} fields are text");
    let assessment = assess::assess(&record);
    let versus = super::compare(&zoo::record(), &record);
    let style = Style { colour: false, width: 100 };
    let paths = ["a", "b"];
    let mut forms = vec![
        ("text", text(&assessment, &style)),
        ("Markdown", markdown(&assessment)),
        ("CSV", csv(&assessment)),
        ("OpenMetrics", openmetrics(&assessment)),
        ("JSON", json(&assessment)),
        ("page", page(&assessment)),
        ("records", records(&versus, paths, &style)),
        ("records as Markdown", markdown_of_records(&versus, paths)),
        ("records as JSON", super::json_of_records(&versus, paths)),
        ("page of records", page_of_records(&versus, paths)),
        ("obstacles", crate::obstacles(&versus.obstacles).join("\n")),
    ];
    for picture in pictures(&assessment) {
        let svg = picture_alone(&assessment, &picture.name).expect("it is one of them");
        roxmltree::Document::parse(&svg).expect("it is XML");
        forms.push(("picture", svg));
    }
    for (form, said) in &forms {
        let steers = said.chars().find(|&c| c != '\n' && !is_printable(c));
        assert_eq!(steers, None, "{form}");
        assert_eq!(&to_terminal(said), said, "{form}");
        let is_markup = ["page", "picture", "page of records"].contains(form);
        assert!(!is_markup || !said.contains("<script>alert"), "{form}");
        assert!(form != &"CSV" || !said.lines().any(|line| line.starts_with("=")), "{form}");
    }
}
