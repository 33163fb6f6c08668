//! What a gate says of two records.

use super::{NARROW, compare, two_records};
use assess::finding::Verdict;
use assess::records::RecordComparison;
use insta::assert_snapshot;
use model::record::End;

/// What a gate of `slower > 5%` says of a loss of a fifth, on a terminal and as Markdown.
fn said(change: fn(&mut RecordComparison)) -> [String; 2] {
    let (a, b) = two_records(1.25);
    let mut versus = compare(&a, &b);
    for summary in versus.a.cases.iter_mut().chain(&mut versus.b.cases) {
        summary.verdict = Verdict::Sound;
    }
    change(&mut versus);
    let checks = assess::gate::gate(&versus, &["slower > 5%".parse().expect("it is a limit")]);
    let paths = ["a.jsonl", "b.jsonl"];
    [
        crate::gate_of_run(&versus, &checks, paths, &NARROW),
        crate::markdown_of_gate_run(&versus, &checks, paths),
    ]
}

#[test]
fn a_gate_says_what_it_holds_against_what() {
    let [text, markdown] = said(|_| {});
    assert_snapshot!(text);
    assert_snapshot!(markdown);
}

#[test]
fn a_run_that_was_stopped_and_a_doubtful_figure_are_marked() {
    for text in said(|_| {}) {
        assert!(!text.contains("stopped") && !text.contains('?'), "{text}");
    }
    let texts = said(|versus| {
        versus.b.end = End::Interrupted;
        versus.a.cases[0].verdict = Verdict::Doubtful;
    });
    for text in texts {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("B: the run was stopped before all was measured"), "{text}");
        assert!(text.contains("0.80×?"), "{text}");
        assert!(text.contains("1 check rests on a doubtful figure (?)"), "{text}");
    }
}
