//! What a gate says of two records.

use super::{NARROW, compare, two_records};
use assess::campaign::Campaign;
use assess::failure::Failure;
use assess::finding::Verdict;
use assess::invocations::RunToRun;
use assess::records::{Basis, LeftOut, RecordComparison};
use assess::trials::Fate;
use insta::assert_snapshot;
use model::plan::Skip;
use model::record::End;

/// What a gate of `slower > 5%` says of a loss of a fifth, on a terminal and as Markdown.
fn said(change: impl Fn(&mut RecordComparison)) -> [String; 2] {
    said_of("slower > 5%", 1.25, change)
}

/// What a gate of `rule` says if B takes `slowness` times as long.
fn said_of(rule: &str, slowness: f64, change: impl Fn(&mut RecordComparison)) -> [String; 2] {
    let (a, b) = two_records(slowness);
    let mut versus = compare(&a, &b);
    for summary in versus.a.cases.iter_mut().chain(&mut versus.b.cases) {
        summary.verdict = Verdict::Sound;
    }
    change(&mut versus);
    let checks = assess::gate::gate(&versus, &[rule.parse().expect("it is a limit")]);
    let paths = ["a.jsonl", "b.jsonl"];
    [
        crate::tests::forms::gate_of_run(&versus, &checks, paths, &NARROW),
        crate::tests::forms::markdown_of_gate_run(&versus, &checks, paths),
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

/// Checks that a gate, on a terminal and as Markdown, says all of these.
fn check_says(texts: [String; 2], all: &[&str]) {
    for text in texts {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        // Markdown has commands in backticks.
        let text = text.replace('`', "'");
        for expected in all {
            assert!(text.contains(expected), "'{expected}' is not in\n{text}");
        }
    }
}

#[test]
fn what_leaves_a_gate_open_is_said() {
    let fails = said_of("slower > 50%", 1.0, |versus| {
        let trial = &mut versus.b.cases[0].trials[0];
        (trial.fate, trial.figures) = (Fate::Lost(Failure::Failed("it died".to_string())), None);
    });
    check_says(
        fails,
        &[
            "The gate cannot tell.",
            "cannot tell: 1 trial failed in B",
            "Trials that fail are often the slow ones",
        ],
    );
    let varies = said_of("slower > 5%", 1.25, |versus| {
        for pair in &mut versus.pairs {
            pair.basis = Basis::RunToRun(RunToRun { deviation: 0.2, runs: 6 });
        }
    });
    check_says(
        varies,
        &[
            "cannot tell: earlier runs vary",
            "6 kept runs of this recipe vary by up to 20.0 %",
            "as 'ioassay gate --against'",
        ],
    );
    let nothing = said_of("slower > 0%", 1.0, |_| {});
    check_says(nothing, &["Only a gain is within a limit of 0 %"]);
}

#[test]
fn a_case_that_works_in_a_alone_is_no_check() {
    let broken = said(|versus| {
        versus.pairs.clear();
        let (id, reason) = ("a case".to_string(), "it is void in B".to_string());
        versus.left_out = vec![LeftOut { id, reason, is_broken: true }];
    });
    check_says(broken, &["The gate fails. 1 case works in A and fails in B. 1 case could not be"]);
}

/// Both sides share a time, and the figure of a pruned case is one of fewer rounds.
#[test]
fn what_a_gate_did_with_its_time_and_what_it_pruned_is_said() {
    for text in said(|_| {}) {
        assert!(!text.contains("was enough") && !text.contains("pruned"), "{text}");
    }
    let campaign = |planned_rounds| Campaign {
        for_s: 3600.0,
        planned_rounds,
        further_rounds: 0,
        is_full: false,
    };
    let of_both = |versus: &mut RecordComparison, planned: [usize; 2]| {
        versus.a.campaign = Some(campaign(planned[0]));
        versus.b.campaign = Some(campaign(planned[1]));
        versus.a.header.plan.prune = true;
        versus.b.header.plan.prune = true;
    };
    let alike = said(move |versus| {
        of_both(versus, [10, 10]);
        for side in [&mut versus.a, &mut versus.b] {
            let case = side.cases[1].case.clone();
            side.skips.push(Skip { case, reason: "pruned: it gives no more".to_string() });
        }
    });
    check_says(alike, &["1h was enough for 10 of the 10 planned rounds; pruned: mmap"]);
    let apart = said(move |versus| of_both(versus, [2, 1]));
    let of_a = "A: 1h was enough for 2 of the 10 planned rounds; no case was pruned.";
    check_says(apart, &[of_a, "B: 1h was enough for 1 of the 10 planned rounds;"]);
}

/// Two commands in five invocations.
fn commands() -> model::record::Record {
    let mut record = model::zoo::commands::record_of_commands();
    record.header.plan.invocations = 5;
    record.trials.iter_mut().for_each(|trial| trial.invocation = trial.round / 2);
    record
}

#[test]
fn a_gate_of_commands_names_both_sides_and_their_states() {
    let versus = assess::compare_commands(&commands());
    let checks = assess::gate::gate(&versus, &["time > 5%".parse().expect("it is a limit")]);
    let names = ["wc input", "sort -o output input"];
    let text = super::forms::gate_of_run(&versus, &checks, names, &NARROW);
    assert_snapshot!(text);
}

#[test]
fn two_records_of_commands_are_compared_by_their_times() {
    let (a, mut b) = (commands(), commands());
    b.header.began = "2026-11-27T10:00:00Z".to_string();
    b.header.plan.commands[0].arguments[0] = "./wc".to_string();
    let text = super::forms::records(&compare(&a, &b), ["a.jsonl", "b.jsonl"], &NARROW);
    assert_snapshot!(text);
}
