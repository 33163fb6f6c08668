//! How a command ends: its exit status, and why it is not 0.

/// The exit status of a command. One that says that something is missing has the reason, so that
/// no command can fail in silence.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Status {
    code: u8,
    why: Option<String>,
}

impl Status {
    /// The command did its work, and everything is as asked.
    pub const DONE: Status = Status { code: 0, why: None };

    /// Not everything is as asked, for this reason.
    pub fn not_all(why: impl Into<String>) -> Status {
        Status { code: 1, why: Some(why.into()) }
    }

    /// Whether everything is as asked could not be decided, for this reason.
    pub fn open(why: impl Into<String>) -> Status {
        Status { code: 3, why: Some(why.into()) }
    }

    /// A signal stopped the command: 128 plus its number. Who sent it knows why.
    pub(crate) fn of_signal(number: u8) -> Status {
        Status { code: 128 + number, why: None }
    }

    /// The status of an assessment.
    pub fn of(assessment: &assess::Assessment) -> Status {
        report::shortfall(assessment).map_or(Status::DONE, Status::not_all)
    }

    /// This one; or, if nothing is missing but `is_strict` asks for goals that are met for sure,
    /// that it cannot be told.
    pub fn or_open(self, assessment: &assess::Assessment, is_strict: bool) -> Status {
        self.or_left_open(report::goals_open(assessment), is_strict)
    }

    /// The same of several hosts.
    pub fn or_open_together(self, run: &assess::together::Together, is_strict: bool) -> Status {
        self.or_left_open(report::goals_open_together(run), is_strict)
    }

    fn or_left_open(self, open: Option<String>, is_strict: bool) -> Status {
        let open = open.filter(|_| is_strict && self == Status::DONE);
        open.map_or(self, Status::open)
    }

    /// The more severe one; of two alike, this one.
    pub fn or_worse(self, other: Status) -> Status {
        if other.code > self.code { other } else { self }
    }

    /// The exit status.
    pub fn code(&self) -> u8 {
        self.code
    }

    /// Why it is not 0.
    pub fn why(&self) -> Option<&str> {
        self.why.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_statuses_the_first_of_the_more_severe_stays() {
        let (one, other) = (Status::not_all("one"), Status::not_all("other"));
        assert_eq!(Status::DONE.or_worse(one.clone()), one);
        assert_eq!(one.clone().or_worse(Status::DONE), one);
        assert_eq!(one.clone().or_worse(other), one);
    }
}
