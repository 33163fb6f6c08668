//! The A/A control: results when a case and its twin agree, and when they differ.

use super::*;
use crate::control::ControlOutcome;
use crate::decision::{Decision, Lead};
use crate::finding::Code;
use crate::summary::{ServedBy, Summary};

/// A warm case, and its twin `slowness` times as slow.
fn twins(slowness: f64) -> Record {
    let mut record = flawless(work(Cache::Warm));
    record.trials.clear();
    record.header.plan.cases.clear();
    add(&mut record, file_case(work(Cache::Warm)), Role::Asked, FILE, 1.0, 0);
    add(&mut record, file_case(work(Cache::Warm)), Role::Twin, FILE, slowness, 0);
    record
}

fn has_finding(summary: &Summary) -> bool {
    summary.findings.iter().any(|finding| finding.code == Code::ControlDiffers)
}

#[test]
fn a_twin_that_differs_is_told_on_both() {
    let assessment = assess(&twins(1.1));
    let control = assessment.control.as_ref().expect("there is a twin");
    assert_eq!(control.outcome, ControlOutcome::Differs);
    let decides = control.decides.expect("ten rounds have an interval");
    assert!((decides - 0.1).abs() < 0.001, "{decides}");
    assert!(assessment.measured().all(has_finding));
    let found = assessment.findings.iter().find(|f| f.finding.code == Code::ControlDiffers);
    let found = found.expect("it is told of the run too");
    let id = &assessment.cases[0].id;
    assert_eq!(found.cases, std::slice::from_ref(id));
    assert_eq!(found.baselines, [format!("{id} again")]);
    assert!(
        found.finding.message.contains("up to 10.0 % may be the machine"),
        "{}",
        found.finding.message
    );
}

#[test]
fn a_twin_that_agrees_is_told_and_is_no_finding() {
    let assessment = assess(&twins(1.001));
    let control = assessment.control.as_ref().expect("there is a twin");
    assert_eq!(control.outcome, ControlOutcome::Agrees);
    assert!(!assessment.measured().any(has_finding));
    assert_eq!(assess(&flawless(work(Cache::Warm))).control, None);
}

#[test]
fn a_twin_that_varies_says_what_cannot_be_decided() {
    let mut record = twins(1.0);
    for trial in record.trials.iter_mut().filter(|trial| trial.case == 1) {
        let factor = if trial.round.is_multiple_of(2) { 1.2 } else { 0.85 };
        for span in &mut sample(trial).spans {
            span.end_ns = span.start_ns + ((span.end_ns - span.start_ns) as f64 * factor) as u64;
        }
    }
    let control = assess(&record).control.expect("there is a twin");
    assert_eq!(control.outcome, ControlOutcome::Wide);
    assert!(control.decides.expect("there is an interval") > 0.15);
    record.trials.retain(|trial| trial.round < 5);
    let control = assess(&record).control.expect("there is a twin");
    assert_eq!((control.outcome, control.decides), (ControlOutcome::Wide, None));
    record.trials.clear();
    let control = assess(&record).control.expect("there is a twin");
    assert_eq!((control.outcome, control.comparisons.len()), (ControlOutcome::Wide, 0));
}

/// A fast twin is never an answer, a ceiling or a comparison.
#[test]
fn a_twin_takes_part_in_nothing_else() {
    let judged = |with_twin: bool| {
        let mut record = flawless(work(Cache::Direct));
        let mmap = ReadWork { engine: Engine::Mmap, ..work(Cache::Warm) };
        for threads in [1, 2] {
            add(&mut record, memory_case(Kernel::Read, threads), Role::Baseline, 8 * FILE, 1.0, 0);
        }
        add(&mut record, file_case(mmap), Role::Asked, FILE, 1.0, 0);
        add(&mut record, file_case(work(Cache::Warm)), Role::Asked, FILE, 1.0, 0);
        if with_twin {
            add(&mut record, file_case(mmap), Role::Twin, 7 * FILE, 1.0, 0);
            add(&mut record, memory_case(Kernel::Read, 1), Role::Twin, 90 * FILE, 1.0, 0);
            add(&mut record, file_case(work(Cache::Direct)), Role::Twin, 5 * FILE, 1.0, 5 * FILE);
        }
        let mut assessment = assess(&record);
        assert_eq!(assessment.twins.len(), if with_twin { 3 } else { 0 });
        // Only the finding on the control itself may differ.
        for summary in &mut assessment.cases {
            summary.findings.retain(|finding| finding.code != Code::ControlDiffers);
            summary.judge(Vec::new());
        }
        let best = |(by, lead): &(ServedBy, Lead)| (*by, lead.best().row.id.clone());
        let fastest: Vec<(ServedBy, String)> =
            assessment.conclusions.fastest.iter().map(best).collect();
        let answer = assessment.conclusions.disk_or_memory.expect("memory and files were measured");
        let of_memory = answer.device.map(|device| device.of_memory.ratio());
        let rates = [Some(answer.memory), answer.page_cache].map(|rated| rated.map(|it| it.rate));
        // It also leaves the comparisons of the row that it repeats in doubt.
        let compared = assessment.comparisons.into_iter();
        let compared: Vec<_> = compared.map(|it| (it.case, it.base, it.ratio, it.low)).collect();
        (assessment.cases, compared, fastest, of_memory, rates)
    };
    assert_eq!(judged(true), judged(false));
}

/// A case that differs from its twin is doubtful, so it decides nothing.
#[test]
fn what_differs_from_itself_decides_nothing() {
    let decision = |slowness: f64| {
        let mut record = twins(slowness);
        let mmap = ReadWork { engine: Engine::Mmap, ..work(Cache::Warm) };
        add(&mut record, file_case(mmap), Role::Asked, FILE, 2.0, 0);
        assess(&record).conclusions.fastest.remove(0).1.decision()
    };
    assert_eq!(decision(1.001), Decision::Yes);
    assert_eq!(decision(1.3), Decision::Undecided);
}
