//! The options of one job, and what is said of them.

use super::job_file::{Given, Section};
use super::note::{Note, NoteKind};
use super::options::{Fate, known};
use super::quantity::{Amount, amount, bytes, time, whole};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

/// A direction of operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// Reads.
    Read,
    /// Writes.
    Write,
}

/// The options of a job. Of several with a name, the last counts.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    /// The job.
    pub section: &'a Section,
    options: BTreeMap<&'static str, &'a Given>,
    kb_base: u64,
    notes: RefCell<Vec<Note>>,
    quiet: Vec<String>,
}

impl<'a> Asked<'a> {
    /// The options of `section`, with notes on those that are left out, refused or unknown.
    pub(super) fn of(section: &'a Section) -> Asked<'a> {
        let mut options: BTreeMap<&'static str, (&'a Given, &'static Fate, bool)> = BTreeMap::new();
        let mut unknown = Vec::new();
        for given in &section.options {
            match known(&given.name) {
                Ok(known) => {
                    let is_idle = known.is_idle(given.value.as_deref());
                    options.insert(&known.name, (given, &known.fate, is_idle));
                }
                Err(nearest) => unknown.push((given, nearest)),
            }
        }
        let mut asked = Asked {
            section,
            options: options.iter().map(|(name, (given, _, _))| (*name, *given)).collect(),
            kb_base: 1024,
            notes: RefCell::default(),
            quiet: Vec::new(),
        };
        if let Some(base) = asked.number("kb_base", asked.number_of("kb_base")) {
            match base {
                1000 | 1024 => asked.kb_base = base,
                _ => asked.refuse("kb_base", "it is 1000 or 1024"),
            }
        }
        for (given, nearest) in unknown {
            let hint = nearest.map(|name| format!(" (did you mean '{name}'?)"));
            let says = format!("fio has no such option{}", hint.unwrap_or_default());
            asked.add(NoteKind::Refused, given.line, given.text(), says);
        }
        for (given, fate, is_idle) in options.into_values() {
            match fate {
                _ if given.problem.is_some() => {}
                Fate::LeftOut(why) if !is_idle => {
                    asked.add(NoteKind::Instead, given.line, given.text(), why.clone());
                }
                Fate::Refused(why) if !is_idle => {
                    asked.add(NoteKind::Refused, given.line, given.text(), why.clone());
                }
                Fate::Quiet => asked.quiet.push(given.name.clone()),
                Fate::Taken | Fate::LeftOut(_) | Fate::Refused(_) | Fate::OfEngine => {}
            }
        }
        for given in asked.options.values() {
            let Some(problem) = &given.problem else { continue };
            asked.add(NoteKind::Refused, given.line, given.text(), problem.clone());
        }
        asked
    }

    /// All that was said of the job, and the names of options that change nothing that is measured.
    pub(super) fn into_notes(self) -> (Vec<Note>, Vec<String>) {
        (self.notes.into_inner(), self.quiet)
    }

    /// Whether something refuses the job.
    pub(super) fn is_refused(&self) -> bool {
        self.notes.borrow().iter().any(|note| note.kind == NoteKind::Refused)
    }

    fn add(&self, kind: NoteKind, line: usize, about: String, says: String) {
        self.notes.borrow_mut().push(Note { kind, line, about, says });
    }

    /// Says something of an option, or of the job if it does not have it.
    pub(super) fn note(&self, kind: NoteKind, option: &str, says: impl Into<String>) {
        let (line, about) = match self.options.get(option) {
            Some(given) => (given.line, given.text()),
            None => (self.section.line, format!("[{}]", self.section.name)),
        };
        self.add(kind, line, about, says.into());
    }

    /// Refuses the job for an option, or for what it lacks.
    pub(super) fn refuse(&self, option: &str, says: impl Into<String>) {
        self.note(NoteKind::Refused, option, says);
    }

    /// Says what fio's figure is not.
    pub(super) fn fooled(&self, option: &str, says: impl Into<String>) {
        self.note(NoteKind::Fooled, option, says);
    }

    /// Says what ioassay does in place of an option.
    pub(super) fn instead(&self, option: &str, says: impl Into<String>) {
        self.note(NoteKind::Instead, option, says);
    }

    /// The option, whose value is known.
    fn given(&self, name: &str) -> Option<&'a Given> {
        debug_assert!(known(name).is_ok_and(|known| known.name == name), "no option '{name}'");
        self.options.get(name).copied().filter(|given| given.problem.is_none())
    }

    /// Whether the job has the option.
    pub(super) fn has(&self, name: &str) -> bool {
        self.given(name).is_some()
    }

    /// The value as written.
    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.given(name)?.value.as_deref()
    }

    /// The part of a value for a direction: `reads,writes,trims`. A single value is for all, and
    /// the last one is also for those that follow.
    pub(super) fn directed(&self, name: &str, direction: Direction) -> Option<&'a str> {
        let mut parts = self.text(name)?.split(',').map(str::trim);
        let first = parts.next()?;
        let part = match direction {
            Direction::Read => first,
            Direction::Write => parts.next().unwrap_or(first),
        };
        (!part.is_empty()).then_some(part)
    }

    /// Whether a switch is on: `option`, `option=1`.
    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        match self.given(name)?.value.as_deref() {
            None | Some("1") => Some(true),
            Some("0") => Some(false),
            Some(value) => match whole(value) {
                Ok(number) => Some(number != 0),
                Err(_) => {
                    self.refuse(name, "it is on (1) or off (0)");
                    None
                }
            },
        }
    }

    /// The number that `read` makes of the value; refuses the job if it makes none.
    fn number<T>(&self, name: &str, read: Option<Result<T, String>>) -> Option<T> {
        match read? {
            Ok(number) => Some(number),
            Err(problem) => {
                self.refuse(name, problem);
                None
            }
        }
    }

    fn number_of(&self, name: &str) -> Option<Result<u64, String>> {
        Some(whole(self.text(name)?))
    }

    /// A whole number.
    pub(super) fn whole(&self, name: &str) -> Option<u64> {
        self.number(name, self.number_of(name))
    }

    /// A size.
    pub(super) fn amount(&self, name: &str) -> Option<Amount> {
        self.number(name, Some(amount(self.text(name)?, self.kb_base)))
    }

    /// The bytes that a part of an option's value stands for.
    pub(super) fn bytes(&self, name: &str, part: &str) -> Option<u64> {
        if part.to_ascii_lowercase().ends_with("ib") && self.kb_base == 1024 {
            self.fooled(
                name,
                "to fio, KiB and MiB are powers of 1000 unless the job has kb_base=1000: write k \
                 or m for powers of 1024",
            );
        }
        self.number(name, Some(bytes(part, self.kb_base)))
    }

    /// A time; without a unit, of seconds.
    pub(super) fn time(&self, name: &str) -> Option<Duration> {
        self.number(name, Some(time(self.text(name)?, Duration::from_secs(1))))
    }
}
