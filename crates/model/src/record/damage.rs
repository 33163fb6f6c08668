//! What is wrong in a record. A damaged record may have thousands of lines with one problem: it is
//! told of the first, and the others are counted.

/// A kind of problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Problem {
    /// It is no JSON.
    Broken,
    /// It is another JSON than that of a record.
    Unknown,
    /// It comes after the end.
    Late,
    /// It is another header.
    SecondHeader,
    /// It is about a case that the plan lacks.
    NoCase,
    /// It prunes a case that is pruned already.
    PrunedAgain,
    /// It is the same trial again.
    Repeated,
    /// It is another trial of the same case and round.
    Conflicting,
}

/// A problem, and what is said of the line that has it.
pub(super) type Wrong = (Problem, String);

/// The problems of the lines of a record.
#[derive(Debug, Default)]
pub(super) struct Damage(Vec<Repeated>);

/// A problem that lines have.
#[derive(Debug)]
struct Repeated {
    problem: Problem,
    /// What is said of the first line.
    first: String,
    /// How many lines have it.
    count: usize,
}

impl Damage {
    /// Adds a line with its problem.
    pub(super) fn add(&mut self, number: usize, (problem, text): Wrong) {
        match self.0.iter_mut().find(|told| told.problem == problem) {
            Some(told) => told.count += 1,
            None => {
                self.0.push(Repeated { problem, first: format!("line {number} {text}"), count: 1 })
            }
        }
    }

    /// Takes the last line with this problem back.
    pub(super) fn take_back(&mut self, problem: Problem) {
        let Some(at) = self.0.iter().position(|told| told.problem == problem) else { return };
        self.0[at].count -= 1;
        if self.0[at].count == 0 {
            self.0.remove(at);
        }
    }

    /// A text for each kind of problem.
    pub(super) fn texts(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|told| with_others(&told.first, told.count - 1, "line"))
    }
}

/// What is said of the first `noun`, and how many others are like it.
pub(super) fn with_others(first: &str, others: usize, noun: &str) -> String {
    match others {
        0 => first.to_string(),
        1 => format!("{first} (and 1 more such {noun})"),
        _ => format!("{first} (and {others} more such {noun}s)"),
    }
}
