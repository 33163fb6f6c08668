//! Several that do the same work, one after another in each round, in an order that is random in
//! each; rows compare them two by two.

use super::figure::{Question, Row};
use super::matrix::Build;
use super::numbers::{Numbers, TIME_MAX};
use super::stage::{self, Stage};
use anyhow::{Result, ensure};
use model::case::{Advice, Case, MemoryWork, Work};
use model::random::Rng;
use model::sample::Sample;
use model::trial::Job;
use std::process::Command;
use std::time::Duration;

/// How long another program may take beyond the time of a trial, for what it does before.
const PATIENCE: Duration = Duration::from_secs(60);

/// Who takes part. Each is started anew for each trial, so that none keeps memory from another.
#[derive(Debug)]
pub(super) enum Entrant<'a> {
    /// ioassay's worker, with a loop over memory.
    Memory(MemoryWork),
    /// ioassay's worker, which counts in a mapping of the file.
    Count(&'a Numbers, Advice),
    /// A build of the peer in C, which does the same without advice.
    CountInC(&'a Numbers, &'a Build),
    /// Another program: its command line, and how its figure is read out of what it prints. The
    /// word `SEED` in it stands for a number that is another in each round.
    Program(Vec<String>, fn(&str) -> Result<f64>),
}

/// What came of a trial.
#[derive(Debug)]
enum Answer {
    Sample(Sample),
    /// In the unit of the question.
    Figure(f64),
}

/// What is taken from a trial.
#[derive(Debug, Clone, Copy)]
pub(super) enum Quantity {
    BytesPerSecond,
    /// Without the time that went before the first block: that of mapping. Of one thread.
    BytesPerSecondLoaded,
    NsPerOp,
}

impl Quantity {
    fn of(self, answer: &Answer) -> f64 {
        let sample = match answer {
            Answer::Sample(sample) => sample,
            Answer::Figure(figure) => return *figure,
        };
        let (bytes, ns) = (sample.bytes() as f64, sample.elapsed_ns() as f64);
        let load_ns: u64 = sample.spans.iter().map(|span| span.load_ns).sum();
        match self {
            Quantity::BytesPerSecond => bytes * 1e9 / ns,
            Quantity::BytesPerSecondLoaded => bytes * 1e9 / (ns - load_ns as f64),
            Quantity::NsPerOp => ns / sample.ops() as f64,
        }
    }
}

/// A row to be: two of the entrants by their places, and what is asked about them.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) ours: usize,
    pub(super) theirs: usize,
    pub(super) quantity: Quantity,
    pub(super) question: Question,
}

/// Entrants, and what is asked about them.
#[derive(Debug)]
pub(super) struct Contest<'a> {
    /// Those who take part, or why they cannot.
    pub(super) entrants: Result<Vec<Entrant<'a>>, String>,
    pub(super) asked: Vec<Asked>,
}

/// Holds `contest` in `rounds` rounds. What could not be measured is a row that says why.
///
/// # Errors
/// When somebody interrupted it.
pub(super) fn hold(
    contest: Contest<'_>,
    stage: &Stage,
    rounds: usize,
    rng: &mut Rng,
) -> Result<Vec<Row>> {
    let answers = match &contest.entrants {
        Ok(entrants) => measure(entrants, stage, rounds, rng).map_err(|error| format!("{error:#}")),
        Err(reason) => Err(reason.clone()),
    };
    // Whoever interrupts this ends the programs that it runs as well: that is no answer of theirs.
    stage.go_on()?;
    let row = |asked: Asked| match &answers {
        Ok(answers) => {
            let figures = |place: usize| answers[place].iter().map(|a| asked.quantity.of(a));
            let (ours, theirs) = (figures(asked.ours).collect(), figures(asked.theirs).collect());
            Row::measured(asked.question, ours, theirs)
        }
        Err(reason) => Row { question: asked.question, answer: Err(reason.clone()) },
    };
    Ok(contest.asked.into_iter().map(row).collect())
}

/// The answers of each entrant, one a round.
fn measure(
    entrants: &[Entrant<'_>],
    stage: &Stage,
    rounds: usize,
    rng: &mut Rng,
) -> Result<Vec<Vec<Answer>>> {
    let mut answers: Vec<Vec<Answer>> = entrants.iter().map(|_| Vec::new()).collect();
    let mut order: Vec<usize> = (0..entrants.len()).collect();
    for _ in 0..rounds {
        let seed = rng.next_u64();
        rng.shuffle(&mut order);
        for &place in &order {
            answers[place].push(entrants[place].measure(stage, seed)?);
            stage.go_on()?;
        }
    }
    Ok(answers)
}

impl Entrant<'_> {
    fn measure(&self, stage: &Stage, seed: u64) -> Result<Answer> {
        match self {
            Entrant::Memory(work) => {
                let job = Job {
                    case: Case::own(Work::Memory(work.clone())),
                    seed,
                    file: None,
                    source: None,
                };
                let (sample, _) = stage.worker(work.time)?.sample(&job)?;
                let expected = work.expected_digest(seed, &sample);
                let is_right = expected.is_none_or(|expected| sample.digest() == expected);
                ensure!(is_right, "{} did not do its work", work.kernel);
                Ok(Answer::Sample(sample))
            }
            Entrant::Count(numbers, advice) => {
                numbers.warm(stage)?;
                let mut worker = stage.worker(TIME_MAX)?;
                Ok(Answer::Sample(numbers.count(&mut worker, *advice)?))
            }
            Entrant::CountInC(numbers, build) => {
                numbers.warm(stage)?;
                Ok(Answer::Sample(numbers.count(&mut build.start()?, Advice::None)?))
            }
            Entrant::Program(words, parse) => {
                let limit = 4 * stage.time + PATIENCE;
                let mut command = Command::new("timeout");
                command.arg(limit.as_secs().to_string());
                command.args(words.iter().map(|word| word.replace("SEED", &seed.to_string())));
                Ok(Answer::Figure(parse(&stage::read(command, 0..=0)?)?))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::sample::Span;

    #[test]
    fn a_quantity_is_of_all_threads_and_of_the_whole_time() {
        let span = Span { start_ns: 1000, end_ns: 3000, bytes: 6000, ops: 10, ..Span::default() };
        let late = Span { thread: 1, end_ns: 4000, ..span.clone() };
        let loaded = Span { load_ns: 500, ..span.clone() };
        for (quantity, spans, expected) in [
            (Quantity::BytesPerSecond, vec![span.clone()], 3e9),
            (Quantity::BytesPerSecond, vec![span.clone(), late], 4e9),
            (Quantity::BytesPerSecond, vec![loaded.clone()], 3e9),
            (Quantity::BytesPerSecondLoaded, vec![loaded], 4e9),
            (Quantity::NsPerOp, vec![span], 200.0),
        ] {
            let answer = Answer::Sample(Sample { spans, ..Sample::default() });
            assert_eq!(quantity.of(&answer), expected, "{quantity:?} of {answer:?}");
        }
        assert_eq!(Quantity::NsPerOp.of(&Answer::Figure(5.0)), 5.0);
    }
}
