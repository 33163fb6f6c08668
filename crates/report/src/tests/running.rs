//! Programs that were running already.

use crate::{Style, json_of_running, json_schema_of_running, running, running_line};
use assess::running::{RunningCode, running as judge};
use model::running::{Interval, RunningRecord, Subject, WatchEnding};
use model::zoo;
use serde_json::Value;

fn text(record: &RunningRecord) -> String {
    let judged = judge(record);
    running(record, &judged).text(&Style { colour: false, width: 120 })
}

/// A program with everything that can be found.
fn troubled() -> RunningRecord {
    let mut record = zoo::running();
    for interval in &mut record.intervals {
        (interval.hidden, interval.lost) = (1, 1);
        interval.read_bytes = Some(64 << 20);
        interval.throttled_ns = Some(400_000_000);
    }
    record.watched.subject =
        Subject::Process { pid: 7, name: "server".into(), other_user: Some("user 0".into()) };
    let end = record.end.as_mut().expect("it has an end");
    end.ending = WatchEnding::Ended;
    (end.open.rings, end.open.aio, end.open.other_sources) = (2, 1, 3);
    let file = &mut end.open.files[0];
    (file.mapped, file.writing, file.removed) = (true, true, true);
    file.after.as_mut().expect("it is seen").dirty = Some(1024);
    record
}

#[test]
fn a_running_program_and_one_in_trouble() {
    insta::assert_snapshot!("a_running_program", text(&zoo::running()));
    insta::assert_snapshot!("a_running_program_in_trouble", text(&troubled()));
}

#[test]
fn each_finding_has_its_words() {
    let said = text(&troubled());
    let judged = judge(&troubled());
    assert!(judged.findings.len() >= 6, "{:?}", judged.findings);
    for found in &judged.findings {
        assert!(said.contains(found.code.name()), "{}: {said}", found.code);
    }
    assert!(!text(&zoo::running()).contains(RunningCode::BytesLost.name()));
    let mut stopped = zoo::running();
    stopped.intervals.iter_mut().for_each(|it| (it.looks.running, it.looks.stopped) = (0, 10));
    assert!(text(&stopped).contains("stopped all its threads in 100 %"), "{}", text(&stopped));
}

#[test]
fn its_json_keeps_its_schema() {
    let schema: Value = serde_json::from_str(&json_schema_of_running()).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is a schema");
    let mut cut_off = zoo::running();
    cut_off.end = None;
    let mut empty = cut_off.clone();
    empty.intervals.clear();
    for record in [zoo::running(), troubled(), cut_off, empty] {
        let text = json_of_running(&record, &judge(&record));
        let json: Value = serde_json::from_str(&text).expect("the output is JSON");
        let problem = validator.validate(&json).map_err(|error| error.to_string());
        assert_eq!(problem, Ok(()), "{text}");
        let mut broken = json.clone();
        broken["reads"]["by"] = Value::from("magic");
        assert!(!validator.is_valid(&broken));
    }
}

/// Markdown and the page say what the terminal says, and only the page has the picture.
#[test]
fn all_forms_have_the_same_answer() {
    for record in [zoo::running(), troubled()] {
        let judged = judge(&record);
        let document = running(&record, &judged);
        let page = document.page();
        let answers: Vec<String> = document.answer.iter().map(|it| it.text.to_string()).collect();
        assert!(answers.len() >= 2, "{answers:?}");
        let markdown = document.markdown();
        for answer in answers {
            let words: Vec<&str> = answer.split(' ').take(4).collect();
            assert!(markdown.contains(&words.join(" ")), "{answer}: {markdown}");
        }
        assert!(page.contains("running-over-time"), "the page has the picture");
    }
}

#[test]
fn a_line_for_the_live_view_tells_unknown_from_nothing() {
    let record = zoo::running();
    let line = running_line(&record.intervals[0]);
    assert!(line.contains("from devices 0 B/s, by read calls 105 MB/s"), "{line}");
    let unknown = Interval { read_bytes: None, ..record.intervals[0].clone() };
    assert!(running_line(&unknown).contains("from devices unknown"), "{}", running_line(&unknown));
}
