//! Whatever a record holds: no line names a row that is void, and none names a doubtful one without
//! a mark at a figure.

use crate::answer;
use crate::labels::CaseLabels;
use crate::sentence::{Sentence, lines};
use crate::text::joined;
use crate::words::DOUBTFUL;
use assess::Assessment;
use assess::finding::{Code, Verdict};
use model::case::{Cache, Case, Engine, Io, Isa, Kernel, MemoryWork, Pages, ReadWork, STEP, Work};
use model::plan::{Planned, Role};
use model::record::Record;
use model::trial::{Outcome, Trial};
use model::view::Question;
use model::zoo;
use proptest::prelude::*;
use std::time::Duration;

/// What is wrong with a case.
#[derive(Debug, Clone, Copy)]
enum Fault {
    None,
    /// A quota held it back: doubtful.
    Throttled,
    /// Too few rounds: doubtful.
    Few,
    /// The bytes are not those that were written: void.
    Wrong,
    /// Each round has another rate.
    Noisy,
}

fn fault() -> impl Strategy<Value = Fault> {
    use Fault::{Few, Noisy, None, Throttled, Wrong};
    let wrong = prop_oneof![Just(Throttled), Just(Few), Just(Wrong), Just(Noisy)];
    prop_oneof![Just(None), wrong]
}

/// Memory by one thread and two, direct and warm reads, and one of another engine each.
fn cases() -> Vec<Case> {
    let memory = |threads| {
        let (kernel, isa, pages) = (Kernel::Read, Isa::Avx2, Pages::Huge);
        let (working_set, time) = (128 << 20, Duration::from_millis(200));
        let step = STEP;
        Case::own(Work::Memory(MemoryWork { kernel, isa, working_set, pages, step, threads, time }))
    };
    let file = |engine, cache, depth| {
        Case::own(Work::Read(ReadWork {
            io: Io { cache, depth, ..zoo::plain().io },
            engine,
            ..zoo::plain()
        }))
    };
    vec![
        memory(1),
        memory(2),
        file(Engine::Uring, Cache::Direct, 1),
        file(Engine::Uring, Cache::Direct, 2),
        file(Engine::Uring, Cache::Direct, 8),
        file(Engine::Pread, Cache::Direct, 1),
        file(Engine::Pread, Cache::Warm, 1),
        file(Engine::Mmap, Cache::Warm, 1),
    ]
}

/// A record of these cases, `slowness` times as slow as the zoo's each, with their faults.
fn record(made: &[(f64, Fault)]) -> Record {
    let mut record = zoo::record();
    let template = std::mem::take(&mut record.trials);
    let planned = |case| Planned { case, role: Role::Asked };
    record.header.plan.cases = cases().into_iter().map(planned).collect();
    for (index, (slowness, fault)) in made.iter().enumerate() {
        let cache = record.header.plan.cases[index].case.cache();
        for trial in &template {
            let mut trial = Trial { case: index, ..trial.clone() };
            plant(&mut trial, cache, *slowness, *fault);
            record.trials.push(trial);
        }
    }
    if let Some(few) = made.iter().position(|(_, fault)| matches!(fault, Fault::Few)) {
        record.trials.retain(|trial| trial.case != few || trial.round < 4);
    }
    record
}

fn plant(trial: &mut Trial, cache: Option<Cache>, slowness: f64, fault: Fault) {
    let Outcome::Done(sample) = &mut trial.outcome else { panic!("the zoo's trials are done") };
    let uneven = [0.4, 2.5, 1.0, 0.6, 1.9, 0.5, 1.4, 3.0, 0.8, 1.2][trial.round as usize % 10];
    let factor = if matches!(fault, Fault::Noisy) { slowness * uneven } else { slowness };
    let span = &mut sample.spans[0];
    span.end_ns = span.start_ns + ((span.end_ns - span.start_ns) as f64 * factor) as u64;
    let evidence = &mut trial.evidence;
    match cache {
        Some(Cache::Warm) => {
            for at in [&mut evidence.residency_before, &mut evidence.residency_after] {
                at.as_mut().expect("the zoo knows").cached = at.expect("the zoo knows").pages;
            }
            (evidence.task_read_bytes, evidence.device_read_bytes) = (Some(0), Some(0));
        }
        Some(_) => evidence.residency_after = evidence.residency_before,
        None => evidence.huge_bytes = Some(1 << 30),
    }
    match fault {
        Fault::Throttled => evidence.throttled_ns = Some(90_000_000),
        Fault::Wrong => trial.expected_digest = Some(1),
        _ => {}
    }
}

/// Checks a line in which each row is named by its place in brackets.
fn check(assessment: &Assessment, line: &Sentence) {
    let Some(text) = line.text().map(ToString::to_string) else { return };
    assert_eq!(text.contains(DOUBTFUL), line.is_doubtful(), "{text}");
    for (index, summary) in assessment.cases.iter().enumerate() {
        let is_named = text.contains(&format!("<{index}>"));
        assert!(!is_named || summary.verdict.stands(), "{index} has no figure that stands: {text}");
        let is_told = summary.verdict == Verdict::Sound || line.is_doubtful();
        assert!(!is_named || is_told, "{index} is doubtful: {text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_sentence_hides_what_speaks_against_a_row(
        made in proptest::collection::vec((0.5f64..4.0, fault()), 8),
    ) {
        let assessment = assess::assess(&record(&made));
        let labels = CaseLabels::by(&assessment, |case| {
            let index = assessment.cases.iter().position(|summary| summary.case == *case);
            format!("<{}>", index.expect("a label is of a case of the record"))
        });
        let said = |part: Question| answer::said(part, &assessment, &labels);
        let all: Vec<Sentence> = Question::ALL.iter().flat_map(|part| said(*part)).collect();
        all.iter().for_each(|line| check(&assessment, line));
        let is_explained = lines(&all).iter().any(|line| line.to_string().contains("are doubtful"));
        prop_assert_eq!(is_explained, all.iter().any(|line| !line.is_open() && line.is_doubtful()));
        // Nothing is decided of the disk by what is void or in doubt, by more than its rounds.
        let answer = assessment.conclusions.disk_or_memory.as_ref();
        let device = answer.and_then(|answer| answer.device.as_ref());
        let is_held = |code: &Code| *code == Code::Throttled;
        if let Some(device) = device.filter(|it| it.lead.best().row.doubts.iter().any(is_held)) {
            let said = joined(&lines(&said(Question::DiskOrMemory)), " ").to_string();
            let is_told = said.contains("whether the disk is faster than memory")
                && said.contains("(needs sound figures)");
            prop_assert!(is_told, "{}", said);
            prop_assert_eq!(device.bound.name() == "device", false);
        }
    }
}
