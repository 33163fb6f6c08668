//! Records that are damaged in any way: each form says what is there, and none panics.

use crate::tests::forms::{markdown, markdown_of_records, text};
use crate::{Style, csv, json, openmetrics, shortfall};
use model::plan::{Planned, Role};
use model::record::{End, Record, RecordLine, VERSION};
use model::trial::Trial;
use model::zoo;
use proptest::prelude::*;
use std::sync::LazyLock;

const RECIPES: [&str; 10] = [
    "survey",
    "page-latency",
    "count-tens",
    "compilers",
    "memory",
    "read-methods",
    "write-strategies",
    "touch-pages",
    "sync-latency",
    "anything",
];

/// A record of some cases of each kind, a few rounds of each, as text; for each recipe.
static RECORDS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut record = zoo::record();
    let cases: Vec<_> = zoo::cases().into_iter().step_by(9).take(24).collect();
    record
        .header
        .plan
        .cases
        .extend(cases.into_iter().map(|case| Planned { case, role: Role::Asked }));
    record.header.plan.add_twins();
    let trials = std::mem::take(&mut record.trials);
    for case in 0..record.header.plan.cases.len() {
        let rounds = trials.iter().take(if case == 0 { 10 } else { 2 });
        record.trials.extend(rounds.map(|trial| Trial { case, ..trial.clone() }));
    }
    let of = |recipe: &&str| {
        let mut record = record.clone();
        record.header.plan.recipe = recipe.to_string();
        record.header.plan.view = Some(super::build::view_of(recipe));
        text_of(&record)
    };
    RECIPES.iter().map(of).collect()
});

fn text_of(record: &Record) -> String {
    let mut lines = vec![RecordLine::Header { version: VERSION, header: record.header.clone() }];
    lines.extend(record.trials.iter().cloned().map(RecordLine::Trial));
    lines.push(RecordLine::End(record.end.clone()));
    lines.iter().map(|line| line.encode() + "\n").collect()
}

/// Says in every form what is understood of a text; answers whether anything is.
fn say(bytes: &[u8]) -> bool {
    let Ok(record) = Record::decode(&String::from_utf8_lossy(bytes)) else { return false };
    let assessment = assess::assess(&record);
    for width in [40, 120] {
        assert!(!text(&assessment, &Style { colour: true, width }).is_empty());
    }
    assert!(markdown(&assessment).starts_with("## "));
    assert!(csv(&assessment).starts_with("recipe,"));
    assert!(openmetrics(&assessment).starts_with("# made by"));
    serde_json::from_str::<serde_json::Value>(&json(&assessment)).expect("it is JSON");
    let _ = shortfall(&assessment);
    let versus = super::compare(&zoo::record(), &record);
    assert!(markdown_of_records(&versus, ["a", "b"]).starts_with("## "));
    true
}

#[test]
fn whole_records_are_said() {
    for record in RECORDS.iter() {
        assert!(say(record.as_bytes()));
    }
}

#[test]
fn a_record_without_a_trial_is_said() {
    for record in RECORDS.iter() {
        assert!(say(record.lines().next().expect("a header").as_bytes()));
    }
}

/// Where numbers are, for changing them: the beginning and the end of each.
fn numbers(text: &str) -> Vec<(usize, usize)> {
    let is_digit = |index: usize| text.as_bytes().get(index).is_some_and(u8::is_ascii_digit);
    let starts = (1..text.len()).filter(|&at| is_digit(at) && !is_digit(at - 1));
    starts.map(|at| (at, (at..).find(|&end| !is_digit(end)).expect("it ends"))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_record_cut_anywhere_panics_in_no_form(recipe in 0..RECIPES.len(), cut in 0.0..1.0) {
        let text = &RECORDS[recipe];
        let header = text.find('\n').expect("a header ends its line");
        let cut = (cut * text.len() as f64) as usize;
        prop_assert_eq!(say(&text.as_bytes()[..cut]), cut >= header);
    }

    #[test]
    fn flipped_bits_panic_in_no_form(
        recipe in 0..RECIPES.len(),
        flips in proptest::collection::vec((0.0..1.0, 0..8u32), 1..20)
    ) {
        let mut bytes = RECORDS[recipe].clone().into_bytes();
        // The header is an eighth of all or so: most flips are in trials.
        for (at, bit) in flips {
            let at = (at * bytes.len() as f64) as usize;
            bytes[at] ^= 1 << bit;
        }
        say(&bytes);
    }

    #[test]
    fn numbers_that_cannot_be_panic_in_no_form(
        recipe in 0..RECIPES.len(),
        changes in proptest::collection::vec(
            (0.0..1.0, prop_oneof![
                Just("0"), Just("1"), Just("18446744073709551615"), Just("4294967295"), Just("99")
            ]),
            1..12
        )
    ) {
        let text = &RECORDS[recipe];
        let numbers = numbers(text);
        let mut changes: Vec<(usize, &str)> = changes
            .into_iter()
            .map(|(at, new)| ((at * numbers.len() as f64) as usize, new))
            .collect();
        changes.sort();
        changes.dedup_by_key(|(at, _)| *at);
        let mut changed = text.clone();
        for (at, new) in changes.into_iter().rev() {
            let (start, end) = numbers[at];
            changed.replace_range(start..end, new);
        }
        say(changed.as_bytes());
    }
}

#[test]
fn only_failed_trials_are_said() {
    for record in RECORDS.iter() {
        let mut record = Record::decode(record).expect("it is whole");
        for trial in &mut record.trials {
            trial.outcome = model::trial::Outcome::Failed { reason: "it died".to_string() };
        }
        record.end = End::Interrupted;
        assert!(say(text_of(&record).as_bytes()));
        let assessment = assess::assess(&record);
        let style = Style { colour: false, width: 100 };
        for said in [text(&assessment, &style), markdown(&assessment), csv(&assessment)] {
            assert!(said.contains("it died"), "{said}");
        }
        assert!(openmetrics(&assessment).contains("fate=\"failed\"} 10"));
        assert!(shortfall(&assessment).is_some());
    }
}
