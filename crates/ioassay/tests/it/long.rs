//! Tests that take minutes: `cargo xtask test --all` runs them, as before a release. Shorter forms
//! of each are among the others.

use crate::axes::check_everywhere;
use crate::comparing::check_large;
use crate::containers::check_quick_survey;
use crate::honesty::machine::comparing::check_twins;
use crate::judge_stopped::check_stopped;
use crate::launchers::ALL_QUESTIONS;
use crate::pages::check_all_windows;
use crate::peers::check_peers;
use crate::{namespaces, slurm};

#[test]
#[ignore = "slow: a part of cargo xtask test --all"]
fn a_program_with_one_more_axis_has_it_everywhere() {
    check_everywhere();
}

#[test]
#[ignore = "slow: a part of cargo xtask test --all"]
fn the_largest_records_are_compared_in_half_a_gibibyte() {
    check_large(15_500, 512 << 10);
}

/// For equal cases, an interval of ten rounds wrongly differs in 2.1 % of the cases. More than 4 of
/// 40 do with a probability of 0.2 %.
#[test]
#[ignore = "slow: a part of cargo xtask test --all"]
fn the_same_twice_seldom_differs() {
    check_twins("the_same_twice_seldom_differs", 37, 4);
}

#[test]
#[ignore = "slow: a part of cargo xtask test --all"]
fn hosts_answer_every_question_over_mpirun() {
    namespaces::check_mpirun("hosts_answer_every_question_over_mpirun", &ALL_QUESTIONS);
}

#[test]
#[ignore = "slow: a part of cargo xtask test --all"]
fn hosts_answer_every_question_over_ssh() {
    namespaces::check_ssh("hosts_answer_every_question_over_ssh", &ALL_QUESTIONS);
}

#[test]
#[ignore = "slow: a part of cargo xtask test --all"]
fn hosts_answer_every_question_under_slurm() {
    slurm::check_slurm("hosts_answer_every_question_under_slurm", &ALL_QUESTIONS);
}

#[test]
#[ignore = "slow: a part of cargo xtask test --all"]
fn a_quick_survey_answers_in_a_container() {
    check_quick_survey("a_quick_survey_answers_in_a_container");
}

#[test]
#[ignore = "slow: a part of cargo xtask test --all"]
fn pages_are_whole_in_all_windows() {
    check_all_windows("pages_are_whole_in_all_windows");
}

#[test]
#[ignore = "slow: a part of cargo xtask test --all"]
fn what_compilers_made_of_a_peer_counts_every_awkward_case_rightly() {
    let test = "what_compilers_made_of_a_peer_counts_every_awkward_case_rightly";
    check_peers(test, &["gcc-O0-loop", "gcc-O3-native-unrolled"]);
}

#[test]
#[ignore = "slow: a part of cargo xtask test --all"]
fn commands_that_are_stopped_at_a_hundred_moments_leave_nothing() {
    check_stopped(120);
}
