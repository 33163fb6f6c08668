//! Several that do the same work, one after another in each round, in an order that is random in
//! each; rows compare them two by two.

use super::figure::{Question, Row};
use super::matrix::Build;
use super::numbers::{Numbers, TIME_MAX};
use super::stage::Stage;
use crate::programs;
use anyhow::{Result, ensure};
use model::case::{Advice, Case, MemoryWork, Work, WriteWork};
use model::random::Rng;
use model::sample::Sample;
use model::trial::Job;
use std::path::Path;
use std::process::{Command, Output};
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
    /// ioassay's worker, with an engine that moves nothing.
    Null(Work),
    /// ioassay's worker, which writes a new file.
    Write(WriteWork),
    /// ioassay's worker, which writes over this file, all of it in the page cache.
    Overwrite(WriteWork, &'a Path),
    /// Another program: its command line, and how its figure is read out of what it prints. The
    /// word `SEED` in it stands for a number that is another in each round.
    Program(Vec<String>, fn(&str) -> Result<f64>),
    /// Another program, which writes so many bytes to a new file. The word `FILE` in its command
    /// line stands for the file's path.
    Writer { words: Vec<String>, size: u64, parse: fn(&Output) -> Result<f64> },
}

/// What came of a trial.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "few are made, and each is taken apart at once")]
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
    /// Until the sync at the end had returned.
    DurableBytesPerSecond,
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
            Quantity::DurableBytesPerSecond => {
                let synced_ns = sample.synced_ns().expect("a trial without a sync is an error");
                bytes * 1e9 / synced_ns as f64
            }
            Quantity::NsPerOp => ns / sample.ops() as f64,
        }
    }
}

/// A row to be: two of the entrants by their places, and what is asked about them.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) ours: usize,
    pub(super) theirs: usize,
    /// The entrant whose figure is taken from ours: what would be there without what is asked for.
    pub(super) less: Option<usize>,
    pub(super) quantity: Quantity,
    pub(super) question: Question,
}

impl Asked {
    /// Our figures and theirs, round by round.
    fn figures(&self, answers: &[Vec<Answer>]) -> (Vec<f64>, Vec<f64>) {
        let of = |place: usize| answers[place].iter().map(|answer| self.quantity.of(answer));
        let ours = match self.less {
            Some(less) => of(self.ours).zip(of(less)).map(|(ours, less)| ours - less).collect(),
            None => of(self.ours).collect(),
        };
        (ours, of(self.theirs).collect())
    }
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
            let (ours, theirs) = asked.figures(answers);
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
                let job = job(Work::Memory(*work), seed, None);
                let (sample, _) = stage.worker(work.time)?.sample(&job)?;
                let expected = work.expected_digest(seed, &sample);
                let is_right = expected.is_none_or(|expected| sample.digest() == Some(expected));
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
            Entrant::Null(work) => {
                let job = job(*work, seed, None);
                Ok(Answer::Sample(stage.worker(job.case.time())?.sample(&job)?.0))
            }
            Entrant::Write(work) => {
                stage.fresh()?.written(work.io.size, |path| write(stage, work, seed, path))
            }
            Entrant::Overwrite(work, path) => {
                stage.warm(path)?;
                stage.settle(path)?;
                let answer = write(stage, work, seed, path)?;
                // What it left dirty would be written while another is measured.
                stage.settle(path)?;
                Ok(answer)
            }
            Entrant::Program(words, parse) => {
                let limit = stage.time.saturating_mul(4).saturating_add(PATIENCE);
                let command = command(words, ("SEED", &seed.to_string()), limit);
                Ok(Answer::Figure(parse(&programs::read(command, 0..=0)?)?))
            }
            Entrant::Writer { words, size, parse } => stage.fresh()?.written(*size, |path| {
                let path = path.display().to_string();
                let command = command(words, ("FILE", &path), TIME_MAX);
                Ok(Answer::Figure(parse(&programs::output(command, 0..=0)?)?))
            }),
        }
    }
}

/// A job of ioassay's own worker.
fn job(work: Work, seed: u64, file: Option<&Path>) -> Job {
    Job { case: Case::own(work), seed, file: file.map(Path::to_owned), source: None }
}

/// Has ioassay's worker write the file at `path`: durably, if it is to sync it.
fn write(stage: &Stage, work: &WriteWork, seed: u64, path: &Path) -> Result<Answer> {
    let job = job(Work::Write(*work), seed, Some(path));
    let (sample, _) = stage.worker(work.io.time)?.sample(&job)?;
    let is_synced = sample.synced_ns().is_some_and(|ns| ns > 0);
    ensure!(is_synced || !work.sync.claims_durable(), "ioassay's worker did not sync the file");
    Ok(Answer::Sample(sample))
}

/// The command of `words`, in which a word stands for a value. It is ended after `limit`.
fn command(words: &[String], (word, value): (&str, &str), limit: Duration) -> Command {
    let mut command = Command::new("timeout");
    command.arg(limit.as_secs().to_string());
    command.args(words.iter().map(|known| known.replace(word, value)));
    command
}

#[cfg(test)]
mod tests {
    use super::super::figure::Goal;
    use super::super::figure::tests::row;
    use super::*;
    use model::sample::Span;

    #[test]
    fn a_quantity_is_of_all_threads_and_of_the_whole_time() {
        let span = Span { start_ns: 1000, end_ns: 3000, bytes: 6000, ops: 10, ..Span::default() };
        let late = Span { thread: 1, end_ns: 4000, ..span.clone() };
        let loaded = Span { load_ns: 500, ..span.clone() };
        let synced = Span { synced_ns: Some(5000), ..span.clone() };
        for (quantity, spans, expected) in [
            (Quantity::BytesPerSecond, vec![span.clone()], 3e9),
            (Quantity::BytesPerSecond, vec![span.clone(), late], 4e9),
            (Quantity::BytesPerSecond, vec![loaded.clone()], 3e9),
            (Quantity::BytesPerSecondLoaded, vec![loaded], 4e9),
            (Quantity::DurableBytesPerSecond, vec![synced], 1.5e9),
            (Quantity::NsPerOp, vec![span], 200.0),
        ] {
            let answer = Answer::Sample(Sample { spans, ..Sample::default() });
            assert_eq!(quantity.of(&answer), expected, "{quantity:?} of {answer:?}");
        }
        assert_eq!(Quantity::NsPerOp.of(&Answer::Figure(5.0)), 5.0);
    }

    #[test]
    fn what_is_there_anyway_is_taken_away_round_by_round() {
        let answers = [[30.0, 50.0], [10.0, 40.0], [100.0, 200.0]];
        let answers: Vec<Vec<Answer>> =
            answers.map(|figures| figures.map(Answer::Figure).into()).into();
        for (less, expected) in [(None, vec![30.0, 50.0]), (Some(1), vec![20.0, 10.0])] {
            let question = row([0.0; 7], Goal::Nothing).question;
            let quantity = Quantity::NsPerOp;
            let asked = Asked { ours: 0, theirs: 2, less, quantity, question };
            assert_eq!(asked.figures(&answers), (expected, vec![100.0, 200.0]));
        }
    }

    #[test]
    fn a_word_stands_for_a_value() {
        let words = ["dd".to_owned(), "of=FILE".to_owned()];
        let command = command(&words, ("FILE", "/a b"), Duration::from_secs(9));
        let told: Vec<_> = command.get_args().collect();
        assert_eq!(told, ["9", "dd", "of=/a b"]);
    }
}
