//! Lists of records, and trends from run to run.

use super::{COLOUR, NARROW, PLAIN, build, made, visible, without_colour};
use crate::tests::forms::runs;
use crate::tests::forms::trend;
use crate::{Listed, Style};
use assess::Assessment;
use assess::trend::Trends;
use insta::assert_snapshot;
use model::record::End;
use model::units;

fn listed() -> Vec<Listed> {
    let path =
        |name: &str| format!("/home/me/.local/state/ioassay/2026-11-21T17-40-05Z-{name}.jsonl");
    let mut all = vec![
        Listed::of(path("survey-4242"), &made::rich()),
        Listed::of(path("page-latency-4711"), &made::pages()),
        Listed::of(path("read-methods-4712"), &made::interrupted()),
        Listed::of("more/failed.jsonl".to_string(), &made::all_failed()),
        Listed::of("more/empty.jsonl".to_string(), &build::assessment("empty", Vec::new())),
    ];
    all[1].end = End::Missing;
    all
}

#[test]
fn list_of_records() {
    let unreadable = ["'more/x.jsonl' is no record: it is empty".to_string()];
    assert_snapshot!(runs(&listed(), &unreadable, &NARROW));
}

#[test]
fn list_of_records_in_colour() {
    assert_snapshot!(visible(&runs(&listed()[..1], &[], &COLOUR)));
}

#[test]
fn a_list_is_no_wider_than_asked() {
    for width in [60, 80, 100, 200] {
        let text = without_colour(&runs(&listed(), &[], &Style { colour: true, width }));
        for line in text.lines().filter(|line| !line.trim().starts_with('/')) {
            assert!(line.chars().count() <= width, "{line}");
        }
    }
}

/// Sixteen runs of which the last eight are half as fast, one of them without a figure.
fn sixteen(assessment: &Assessment) -> Trends {
    let mut trends = Trends::default();
    for run in 0..16 {
        let mut this = assessment.clone();
        for (at, summary) in this.cases.iter_mut().enumerate() {
            let factor = if run < 8 { 1.0 } else { 0.5 } * (1.0 + 0.001 * (run * at % 5) as f64);
            for estimate in summary.throughput.iter_mut().chain(&mut summary.ns_per_op) {
                estimate.median *= factor;
                for end in estimate.low.iter_mut().chain(&mut estimate.high) {
                    *end *= factor;
                }
            }
        }
        if run == 3 {
            trends.add_failed();
        } else {
            trends.add(&this);
        }
    }
    trends
}

#[test]
fn trend_of_sixteen_runs() {
    let pages = made::pages();
    assert_snapshot!(trend(&sixteen(&pages), &pages, 16, &NARROW));
}

#[test]
fn trend_of_a_single_run() {
    let survey = made::rich();
    let mut trends = Trends::default();
    trends.add(&survey);
    assert_snapshot!(trend(&trends, &survey, 1, &PLAIN));
}

#[test]
fn a_trend_of_nothing_says_so() {
    let failed = made::all_failed();
    let mut trends = Trends::default();
    trends.add(&failed);
    let text = trend(&trends, &failed, 1, &NARROW);
    assert!(text.contains("No run has a valid figure."), "{text}");
}

#[test]
fn a_trend_is_no_wider_than_asked_and_numbers_runs_from_the_first() {
    let pages = made::pages();
    let trends = sixteen(&pages);
    for width in [60, 80, 100, 200] {
        let text = trend(&trends, &pages, 16, &Style { colour: false, width });
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
    }
    let rate = pages.cases[0].throughput.expect("it has a rate").median;
    let mut one = made::pages();
    one.cases.truncate(1);
    let mut trends = sixteen(&one);
    let text = trend(&trends, &one, 16, &PLAIN);
    assert!(text.contains(&format!("{} until run 8", units::rate(rate))), "{text}");
    // The first of as many runs is no longer kept.
    (0..985).for_each(|_| trends.add_failed());
    let text = trend(&trends, &one, 1001, &Style { colour: false, width: 200 });
    assert!(text.contains("until run 8") && text.contains("from run 9 on"), "{text}");
}
