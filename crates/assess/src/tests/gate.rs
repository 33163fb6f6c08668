//! A gate: of records made apart, and of runs whose rounds alternated.

use super::records::record;
use super::*;
use crate::decision::Decision;
use crate::gate::{Check, Gate, gate};
use crate::records::Judged;
use model::plan::Skip;
use model::record::{Header, Side};
use model::zoo::commands::record_of_commands;

/// A record in which everything is `slowness` times as slow, and each invocation is disturbed as
/// the other side's is.
fn side(slowness: f64, began: &str, alternates: Option<&str>) -> Record {
    let mut record = record(slowness);
    record.header.began = began.to_string();
    record.header.alternates = alternates.map(str::to_string);
    each(&mut record, |trial| {
        let disturbed = [1.0, 1.6, 0.7, 1.3, 0.8][trial.invocation as usize];
        for span in &mut sample(trial).spans {
            let took_ns = (span.end_ns - span.start_ns) as f64;
            span.end_ns = span.start_ns + (took_ns * disturbed) as u64;
        }
    });
    record
}

/// The checks of `slower > 5%` in the first case.
fn check(slowness: f64, names: [Option<&str>; 2]) -> Check {
    let a = side(1.0, "2026-11-24T10:00:00Z", names[0]);
    let b = side(slowness, "2026-11-24T10:00:01Z", names[1]);
    let versus = crate::compare(Judged::of(a), Judged::of(b), &[]);
    let rule = "slower > 5%".parse().expect("it is a limit");
    let checks = gate(&versus, &[rule]).checks;
    assert_eq!(checks.len(), 2, "{checks:#?}");
    checks[0].clone()
}

#[test]
fn what_disturbs_both_sides_cancels_out_where_their_rounds_alternated() {
    let pair = [Some("a1b2"), Some("a1b2")];
    let found = check(1.0 / 0.9, pair);
    assert_eq!(found.within, Decision::No, "{found:#?}");
    assert!(found.ratio.is_some_and(|ratio| (ratio - 0.9).abs() < 1e-3), "{found:#?}");
    assert_eq!(check(1.0, pair).within, Decision::Yes);
    assert_eq!(check(1.0 / 0.96, pair).within, Decision::Yes);
    // Between runs of other pairs, or made apart, the same disturbance hides the same loss.
    for names in [[None, None], [Some("a1b2"), Some("c3d4")], [Some("a1b2"), None]] {
        let found = check(1.0 / 0.9, names);
        assert_eq!(found.within, Decision::Undecided, "{names:?}: {found:#?}");
        assert!(found.needs.is_some_and(|needs| needs > 5), "{found:#?}");
    }
}

#[test]
fn rounds_without_a_partner_do_not_count() {
    let pair = Some("a1b2");
    let a = side(1.0, "2026-11-24T10:00:00Z", pair);
    let mut b = side(1.0, "2026-11-24T10:00:01Z", pair);
    // All that is left of it are the rounds of one invocation, which show no variation.
    b.trials.retain(|trial| trial.invocation == 0);
    let versus = crate::compare(Judged::of(a), Judged::of(b), &[]);
    let rule = "slower > 5%".parse().expect("it is a limit");
    let checks = gate(&versus, &[rule]).checks;
    assert!(checks.iter().all(|check| check.within == Decision::Undecided), "{checks:#?}");
    assert!(checks.iter().all(|check| check.interval.is_none()), "{checks:#?}");
}

/// Gates of two equal runs, one of which had few operations in its first round.
fn of_latency(few: [bool; 2], rule: &str) -> Gate {
    let pair = Some("a1b2");
    let [a, b] = [(0, few[0]), (1, few[1])].map(|(second, is_few)| {
        let mut record = side(1.0, &format!("2026-11-24T10:00:0{second}Z"), pair);
        each(&mut record, |trial| {
            let count = if is_few && trial.round == 0 { 999 } else { 2_000 };
            sample(trial).latencies = Latencies { counts: vec![(5_000, count)], max_ns: 5_000 };
        });
        Judged::of(record)
    });
    gate(&crate::compare(a, b, &[]), &[rule.parse().expect("it is a limit")])
}

#[test]
fn a_round_without_the_figure_leaves_the_gate_open() {
    let whole = of_latency([false, false], "p99 > 5%");
    assert_eq!(whole.within, Decision::Yes, "{whole:#?}");
    for few in [[true, false], [false, true]] {
        let found = of_latency(few, "p99 > 5%");
        assert_eq!(found.within, Decision::Undecided, "{found:#?}");
        assert!(found.checks.iter().all(|check| check.unmeasured == 1), "{found:#?}");
    }
}

#[test]
fn a_limit_that_watches_nothing_leaves_the_gate_open() {
    let found = of_latency([false, false], "sync p99 > 5%");
    assert_eq!((found.checks.len(), found.idle.len()), (0, 1));
    assert_eq!(found.within, Decision::Undecided);
}

#[test]
fn a_case_that_one_side_of_a_gate_cannot_do_is_held_against_no_other() {
    let compared = |pair: Option<&str>| {
        let a = side(1.0, "2026-11-24T10:00:00Z", pair);
        let mut b = side(1.0, "2026-11-24T10:00:01Z", pair);
        b.header.plan.cases[0].case.io_mut().expect("it reads a file").block *= 2;
        let versus = crate::compare(Judged::of(a), Judged::of(b), &[]);
        let rule = "slower > 5%".parse().expect("it is a limit");
        (versus.pairs.len(), versus.left_out.len(), gate(&versus, &[rule]).within)
    };
    assert_eq!(compared(Some("a1b2")), (1, 2, Decision::Undecided));
    // Of records made apart, the nearest are matched, which are compared if the user asks for it.
    assert_eq!(compared(None), (1, 1, Decision::Undecided));
}

/// A gate of cases with a rate, whose second side was changed.
fn of_open(rule: &str, change: impl Fn(&mut Sample)) -> Gate {
    let pair = Some("a1b2");
    let [a, b] = [false, true].map(|is_second| {
        let began = format!("2026-11-24T10:00:0{}Z", u8::from(is_second));
        let mut record = side(1.0, &began, pair);
        for planned in &mut record.header.plan.cases {
            planned.case.io_mut().into_iter().for_each(|io| io.rate = 1_000);
        }
        each(&mut record, |trial| {
            let sample = sample(trial);
            sample.latencies = Latencies { counts: vec![(5_000, 2_000)], max_ns: 5_000 };
            sample.responses = Latencies { counts: vec![(9_000, 2_000)], max_ns: 9_000 };
            sample.usage.cpu_ns = Some(10_000_000);
            sample.spans[0].spin_ns = 8_000_000;
            if is_second {
                change(sample);
            }
        });
        Judged::of(record)
    });
    gate(&crate::compare(a, b, &[]), &[rule.parse().expect("it is a limit")])
}

#[test]
fn with_a_rate_a_gate_watches_response_times_and_cpu_time_without_waiting() {
    for rule in ["p99 > 10%", "cpu > 10%"] {
        assert_eq!(of_open(rule, |_| {}).within, Decision::Yes, "{rule}");
    }
    // Each operation takes as long as before, and waits for its turn.
    let queues = |sample: &mut Sample| {
        sample.responses = Latencies { counts: vec![(90_000, 2_000)], max_ns: 90_000 };
    };
    assert_eq!(of_open("p99 > 10%", queues).within, Decision::No);
    // Work takes the place of waiting.
    let works = |sample: &mut Sample| sample.spans[0].spin_ns = 0;
    assert_eq!(of_open("cpu > 10%", works).within, Decision::No);
    // What never began is slower by nobody knows how much.
    let late = of_open("p99 > 10%", |sample| sample.spans[0].unsent = 60);
    assert_eq!(late.within, Decision::Undecided);
    assert!(late.checks.iter().all(|check| check.unmeasured > 0), "{late:#?}");
}

/// A gate of two equal sides, some of whose trials failed: `failed` of each invocation of each.
fn of_failing(failed: [u32; 2]) -> Gate {
    let [a, b] = [0, 1].map(|number: usize| {
        let mut record = side(1.0, &format!("2026-11-24T10:00:0{number}Z"), Some("a1b2"));
        each(&mut record, |trial| {
            if trial.invocation < failed[number] && trial.round.is_multiple_of(2) {
                trial.outcome = Outcome::Failed { reason: "it died".to_string() };
            }
        });
        Judged::of(record)
    });
    gate(&crate::compare(a, b, &[]), &["slower > 30%".parse().expect("it is a limit")])
}

#[test]
fn trials_that_fail_in_b_leave_the_gate_open_and_those_in_a_do_not() {
    let whole = of_failing([0, 0]);
    assert_eq!(whole.within, Decision::Yes, "{whole:#?}");
    let found = of_failing([0, 2]);
    assert_eq!(found.within, Decision::Undecided, "{found:#?}");
    for check in &found.checks {
        assert!(check.failed > 0 && check.interval.is_some(), "{check:#?}");
        assert_eq!(check.needs, None, "more invocations would fail, too");
    }
    for failed in [[2, 0], [2, 2]] {
        assert!(of_failing(failed).checks.iter().all(|check| check.failed == 0));
        assert_eq!(of_failing(failed).within, Decision::Yes);
    }
}

/// Records made apart may have other numbers of rounds: the share of failed trials counts.
#[test]
fn a_larger_share_of_failed_trials_leaves_the_gate_open() {
    let fails = |record: &mut Record, few: usize| {
        let trials = record.trials.iter_mut().filter(|trial| trial.case == 0);
        for trial in trials.take(few) {
            trial.outcome = Outcome::Failed { reason: "it died".to_string() };
        }
    };
    let failed = |of_a: usize, of_b: usize| {
        let [mut a, mut b] = [0, 1].map(|second| {
            let mut record = record(1.0);
            record.header.began = format!("2026-11-24T10:00:0{second}Z");
            record
        });
        let last = b.trials.iter().map(|trial| trial.round).max().expect("it has trials");
        b.trials.retain(|trial| trial.round <= last / 2);
        fails(&mut a, of_a);
        fails(&mut b, of_b);
        let versus = crate::compare(Judged::of(a), Judged::of(b), &[]);
        gate(&versus, &["slower > 50%".parse().expect("it is a limit")]).checks[0].failed
    };
    assert_eq!((failed(0, 0), failed(0, 1), failed(1, 1), failed(2, 1)), (0, 1, 1, 0));
}

#[test]
fn no_number_of_invocations_shows_that_nothing_was_lost() {
    let a = side(1.0, "2026-11-24T10:00:00Z", Some("a1b2"));
    let mut b = side(1.0, "2026-11-24T10:00:01Z", Some("a1b2"));
    each(&mut b, |trial| {
        let more = [1.01, 0.99, 1.02, 0.98, 1.0][trial.invocation as usize];
        for span in &mut sample(trial).spans {
            span.end_ns = span.start_ns + ((span.end_ns - span.start_ns) as f64 * more) as u64;
        }
    });
    let [a, b] = [a, b].map(Judged::of);
    let found = gate(&crate::compare(a, b, &[]), &["slower > 0%".parse().expect("it is a limit")]);
    for check in &found.checks {
        assert_eq!((check.within, check.needs), (Decision::Undecided, None), "{check:#?}");
    }
}

/// Between runs made apart, what kept runs show may be more than what two of them do.
#[test]
fn a_gate_names_the_kept_runs_that_leave_it_open() {
    let of = |slowness: f64, began: &str| {
        let mut record = record(slowness);
        record.header.began = began.to_string();
        record
    };
    let wide: Vec<Record> = (1..7)
        .zip([1.0, 1.2, 0.9, 1.1, 0.8, 1.15])
        .map(|(day, slowness)| of(slowness, &format!("2025-12-0{day}T00:00:00Z")))
        .collect();
    let judged = || [of(1.0, "2026-11-24T10:00:00Z"), of(1.25, "2026-11-25T10:00:00Z")];
    let check = |kept: &[Record]| {
        let [a, b] = judged().map(Judged::of);
        let rule = "slower > 5%".parse().expect("it is a limit");
        gate(&crate::compare(a, b, kept), &[rule]).checks[0].clone()
    };
    let alone = check(&[]);
    assert_eq!((alone.within, alone.runs), (Decision::No, None), "{alone:#?}");
    let found = check(&wide);
    assert_eq!(found.within, Decision::Undecided, "{found:#?}");
    assert!(found.runs.is_some_and(|runs| runs.runs == 6), "{found:#?}");
}

#[test]
fn a_gate_knows_which_record_is_held_against_which() {
    let [a, b] = [Side::A, Side::B].map(|which| {
        let mut record = side(1.0, "2026-11-24T10:00:00Z", Some("a1b2"));
        record.header.side = Some(which);
        record
    });
    let is_reversed = |a: &Record, b: &Record| {
        crate::compare(Judged::of(a.clone()), Judged::of(b.clone()), &[]).is_reversed()
    };
    assert!(is_reversed(&b, &a) && !is_reversed(&a, &b));
    // Of another pair, or made apart, any may be held against any.
    let mut other = a.clone();
    other.header.alternates = Some("c3d4".to_string());
    assert!(!is_reversed(&b, &other));
}

/// Two commands in five invocations: the second takes 2.6 times as long warm, 1.9 times cold.
fn commands() -> Record {
    let mut record = record_of_commands();
    record.header.plan.invocations = 5;
    record.trials.iter_mut().for_each(|trial| trial.invocation = trial.round / 2);
    record
}

/// What these limits decide of the commands of a record.
fn of_commands(record: &Record, limits: &str) -> Gate {
    let rules: Vec<_> = limits.split(',').map(|limit| limit.parse().expect("a limit")).collect();
    gate(&crate::compare_commands(record), &rules)
}

#[test]
fn each_other_command_is_held_against_the_first() {
    let slower = of_commands(&commands(), "time > 5%,cpu > 5%");
    assert_eq!(slower.within, Decision::No);
    assert_eq!(slower.checks.len(), 4, "{:#?}", slower.checks);
    let warm = &slower.checks[0];
    assert!(warm.ratio.is_some_and(|ratio| (ratio - 2.59).abs() < 0.02), "{warm:#?}");
    assert_eq!(of_commands(&commands(), "time > 200%").within, Decision::Yes);
    let mut reversed = commands();
    reversed.header.plan.commands.swap(0, 1);
    reversed.header.rehearsals.swap(0, 1);
    assert_eq!(of_commands(&reversed, "time > 5%").within, Decision::Yes);
}

#[test]
fn a_run_of_a_command_has_a_time_and_no_percentile() {
    let found = of_commands(&commands(), "p99 > 5%,sync p99 > 5%");
    assert_eq!((found.checks.len(), found.idle.len()), (0, 2), "{found:#?}");
    assert_eq!(found.within, Decision::Undecided);
    // What is no command has no time of a run.
    let (a, b) = (side(1.0, "2026-11-24T10:00:00Z", None), side(1.0, "2026-11-24T10:00:01Z", None));
    let versus = crate::compare(Judged::of(a), Judged::of(b), &[]);
    assert_eq!(gate(&versus, &["time > 5%".parse().expect("a limit")]).idle.len(), 1);
}

#[test]
fn a_command_that_the_first_has_in_no_such_state_or_that_fails_is_told() {
    let mut record = commands();
    record.header.plan.cases.remove(0);
    record.trials.retain(|trial| trial.case > 0);
    record.trials.iter_mut().for_each(|trial| trial.case -= 1);
    let versus = crate::compare_commands(&record);
    let alone: Vec<&str> = versus.left_out.iter().map(|case| case.reason.as_str()).collect();
    assert_eq!(alone, ["only B has it"], "{:#?}", versus.left_out);
    assert_eq!(of_commands(&record, "time > 200%").within, Decision::Undecided);
    let mut record = commands();
    let (case, reason) = (record.header.plan.cases[0].case.clone(), "no probe works".to_string());
    record.header.plan.skips.push(Skip { case, reason });
    let skipped = of_commands(&record, "time > 200%");
    assert_eq!(skipped.within, Decision::Undecided);
    let mut record = commands();
    for trial in record.trials.iter_mut().filter(|trial| trial.case >= 2) {
        trial.outcome = Outcome::Failed { reason: "it ended with status 1".to_string() };
    }
    assert_eq!(of_commands(&record, "time > 200%").within, Decision::No);
}

#[test]
fn what_else_tells_commands_of_one_name_apart_is_told() {
    let differences = |change: &dyn Fn(&mut Header)| {
        let (a, mut b) = (commands(), commands());
        change(&mut b.header);
        let versus = crate::compare(Judged::of(a), Judged::of(b), &[]);
        assert_eq!(versus.pairs.len(), 4);
        versus.others.into_iter().map(|it| (it.what, it.a, it.b)).collect::<Vec<_>>()
    };
    assert_eq!(differences(&|_| ()), []);
    let words = differences(&|header| header.plan.commands[0].arguments[0] = "./wc".to_string());
    let expected = ["words of 'wc input'", "wc input", "./wc input"].map(str::to_string);
    assert_eq!(words, [expected.into()]);
    let larger = |header: &mut Header| {
        let files = header.rehearsals.iter_mut().flat_map(|sheet| &mut sheet.files);
        files.for_each(|file| file.bytes_before = Some(1 << 30));
    };
    let found = differences(&larger);
    let expected =
        ["data files read by 'wc input'", "1 with 64MiB", "1 with 1GiB"].map(str::to_string);
    assert_eq!(found[0], expected.into(), "{found:#?}");
    // A record without rehearsals says nothing of files.
    assert_eq!(differences(&|header| header.rehearsals.clear()), []);
}
