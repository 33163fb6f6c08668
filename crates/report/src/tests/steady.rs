//! The lines of the question whether writing is steady.

use super::{build, made_writing};
use crate::answer::answer;
use crate::text::Text;
use assess::Assessment;
use assess::cliff::Cliff;
use assess::conclusions::steady::{SteadySince, SteadyState};
use assess::course::Change;
use assess::decision::{Decision, Named};

const MIB: u64 = 1 << 20;
const SECOND: u64 = 1_000_000_000;

/// A run of the recipe with these states of its first case.
fn assessment(states: Vec<SteadyState>) -> Assessment {
    let mut assessment = build::in_view(build::view_of("steady"), made_writing::sustained());
    assessment.header.plan.recipe = "steady".to_string();
    assessment.header.plan.whole_time = true;
    assessment.conclusions.steady = states;
    assessment
}

/// Steady since its seventh round, after a burst.
fn burst() -> SteadyState {
    let case = Named::of(&made_writing::sustained().cases[0]).expect("it has a figure");
    let change =
        Change { before: 1.2e9, after: 4.12e8, at_bytes: 2_150 * MIB, at_ns: 1_900_000_000 };
    SteadyState {
        case,
        steady: Decision::Yes,
        bytes: 24 << 30,
        rounds: 60,
        round_ns: Some(SECOND),
        preconditioning_bytes: 2 << 30,
        counts_from: Some(3),
        since: Some(SteadySince { round: 7, at_bytes: 3_584 * MIB, rate: 4.12e8 }),
        range: Some(0.04),
        slope: Some(-0.01),
        cliff: Some(Cliff { change, within_bytes: 512 * MIB, saved_bytes: Some(1_400 * MIB) }),
    }
}

fn check(state: SteadyState, expected: &[&str]) {
    let said = answer(&assessment(vec![state])).lines;
    let said: Vec<String> = said.iter().map(Text::to_string).collect();
    assert_eq!(said, expected);
}

#[test]
fn a_cliff_is_named_with_both_rates_and_what_was_saved_up() {
    check(
        burst(),
        &[
            "Steady since round 7 of 60 (after 3.50 GiB): 412 MB/s; the first 2.10 GiB (1.90 s) \
             ran at 1.20 GB/s, then it fell to 412 MB/s (34.3 % of that) within 512 MiB.",
            "Until then it wrote about 1.37 GiB more than it would have at the later rate: what a \
             cache or credits had saved up, as an estimate.",
        ],
    );
}

/// Credits count small blocks.
#[test]
fn of_small_blocks_operations_are_told_too() {
    let mut assessment = assessment(vec![burst()]);
    assessment.cases[0].case.io_mut().expect("it writes a file").block = 16 << 10;
    let said = answer(&assessment).lines[1].to_string();
    assert!(said.contains("about 1.37 GiB, 89.6 k operations, more than"), "{said}");
}

#[test]
fn what_has_no_cliff_may_have_one_later() {
    let expected = "Steady since round 7 of 60 (after 3.50 GiB): 412 MB/s; no cliff in 24.0 GiB, \
                    but --for 1h may find one.";
    check(SteadyState { cliff: None, ..burst() }, &[expected]);
}

#[test]
fn what_becomes_faster_saved_nothing_up() {
    let change = Change { before: 5e7, after: 2e8, at_bytes: 300 * MIB, at_ns: 6 * SECOND };
    let cliff = Some(Cliff { change, within_bytes: 20 * MIB, saved_bytes: None });
    let expected = "Steady since round 7 of 60 (after 3.50 GiB): 412 MB/s; it became faster: 50.0 \
                    MB/s for the first 300 MiB (6.00 s), then 200 MB/s.";
    check(SteadyState { cliff, ..burst() }, &[expected]);
}

#[test]
fn what_is_not_steady_says_how_to_go_on() {
    let not = SteadyState {
        steady: Decision::No,
        since: None,
        bytes: 4 << 30,
        range: Some(0.35),
        slope: Some(-0.12),
        cliff: None,
        ..burst()
    };
    let expected = "Not steady after 4.00 GiB: the last five rounds differ by 35.0 % of their \
                    mean, and their line falls by 12.0 %; go on with --for 1h.";
    check(not, &[expected]);
}

#[test]
fn too_few_rounds_cannot_tell() {
    let few = SteadyState {
        steady: Decision::Undecided,
        since: None,
        bytes: 1 << 30,
        counts_from: None,
        range: None,
        slope: None,
        cliff: None,
        ..burst()
    };
    let expected = "Undecided: whether it is steady (needs five rounds after the first 2.00 GiB, \
                    which precondition the file, and 1.00 GiB were written: give it more time \
                    with --for, or a smaller file with run --size).";
    check(few.clone(), &[expected]);
    let none = SteadyState { rounds: 0, round_ns: None, ..few };
    let expected = "Undecided: whether it is steady (1.00 GiB were too few operations for a time \
                    series: give it more time with --for).";
    check(none, &[expected]);
    let both = SteadyState { steady: Decision::Undecided, since: None, ..burst() };
    let lines = answer(&assessment(vec![both])).lines;
    assert!(lines[0].to_string().starts_with("The first 2.10 GiB (1.90 s) ran at"), "{lines:?}");
    assert!(lines[2].to_string().starts_with("Undecided: whether it is steady"), "{lines:?}");
}

/// With several cases, each line names its own.
#[test]
fn several_cases_are_named() {
    let lines = answer(&assessment(vec![burst(), burst()])).lines;
    assert_eq!(lines.len(), 4);
    assert!(lines[2].to_string().contains(": Steady since round 7"), "{lines:?}");
}
