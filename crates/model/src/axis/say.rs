//! The words for a value in labels and sentences.

use super::usual::{NEVER, Usual};
use crate::case::Kind;

/// The words for the values of an axis.
#[derive(Debug, Clone, Copy)]
pub(super) struct Say {
    /// The text in a sentence; the value replaces `{}`, here and below.
    phrase: &'static str,
    /// Values with special words in a sentence.
    phrased: &'static [(&'static str, &'static str)],
    /// The text in a label.
    text: &'static str,
    /// The text in a short label.
    short: &'static str,
    /// Values with special names in labels.
    called: &'static [(&'static str, &'static str)],
    /// The words for values that are too many to list; `None` for the others.
    own: fn(&str) -> Option<String>,
    /// The values that labels omit, by kind of work.
    quiet: [Usual; 2],
}

impl Say {
    pub(super) const fn of(phrase: &'static str) -> Say {
        let (text, own, quiet): (_, fn(&str) -> Option<String>, _) = ("{}", |_| None, [NEVER; 2]);
        Say { phrase, phrased: &[], text, short: text, called: &[], own, quiet }
    }
    pub(super) const fn phrased(self, phrased: &'static [(&'static str, &'static str)]) -> Say {
        Say { phrased, ..self }
    }
    pub(super) const fn text(self, text: &'static str) -> Say {
        Say { text, short: text, ..self }
    }
    pub(super) const fn short(self, short: &'static str) -> Say {
        Say { short, ..self }
    }
    pub(super) const fn called(self, called: &'static [(&'static str, &'static str)]) -> Say {
        Say { called, ..self }
    }
    pub(super) const fn own(self, own: fn(&str) -> Option<String>) -> Say {
        Say { own, ..self }
    }
    pub(super) const fn quiet(self, value: &'static str) -> Say {
        self.quiet_by(Usual::every(value))
    }
    /// Labels omit these values, by kind of work.
    pub(super) const fn quiet_by(self, values: Usual) -> Say {
        Say { quiet: [values, NEVER], ..self }
    }
    pub(super) const fn and_quiet(self, value: &'static str) -> Say {
        Say { quiet: [self.quiet[0], Usual::every(value)], ..self }
    }
    pub(super) fn phrase(&self, value: &str) -> String {
        (self.own)(value).unwrap_or_else(|| worded(self.phrased, self.phrase, value))
    }
    pub(super) fn label(&self, value: &str) -> String {
        (self.own)(value).unwrap_or_else(|| worded(self.called, self.text, value))
    }
    pub(super) fn short_label(&self, value: &str) -> String {
        (self.own)(value).unwrap_or_else(|| worded(self.called, self.short, value))
    }
    pub(super) fn is_quiet(&self, kind: Kind, value: &str) -> bool {
        self.quiet.iter().any(|quiet| quiet.of(kind) == Some(value))
    }
}

/// The value's own words, or the text with the value in it.
fn worded(own: &[(&str, &str)], text: &'static str, value: &str) -> String {
    let own = own.iter().find(|(known, _)| *known == value);
    own.map_or_else(|| singular(text, value).replace("{}", value), |(_, own)| own.to_string())
}

/// The text for this value: without the final `s` for 1.
fn singular<'a>(text: &'a str, value: &str) -> &'a str {
    let one = if value == "1" { text.strip_suffix('s') } else { None };
    one.unwrap_or(text)
}

/// Loops with special names in labels.
pub(super) const LOOPS: &[(&str, &str)] = &[
    ("chase", "random load"),
    ("first-touch", "first touch"),
    ("touch-pages", "second touch"),
    ("read-pages", "page reads"),
];

/// What is done with the bytes read, in sentences.
pub(super) const TOUCHES: &[(&str, &str)] = &[
    ("none", "no byte looked at (touch none)"),
    ("page", "a word of each page read (touch page)"),
    ("sum", "all bytes summed (touch sum)"),
    ("count", "10s counted (touch count)"),
];

/// The initial states of a written file, in sentences.
pub(super) const ALLOCATIONS: &[(&str, &str)] = &[
    ("none", "a new file (allocation none)"),
    ("fallocate", "a preallocated file (allocation fallocate)"),
    ("overwrite", "an old file overwritten (allocation overwrite)"),
    ("append", "an old file appended to (allocation append)"),
];

/// The labels of how a warm file came into the page cache.
pub(super) const POPULATED: &[(&str, &str)] = &[
    ("random", "cached by random reads"),
    ("written", "cached by writing"),
    ("unknown", "cached"),
];

/// The labels of the initial states of a written file.
pub(super) const BEGINNINGS: &[(&str, &str)] = &[
    ("none", "new file"),
    ("fallocate", "preallocated"),
    ("overwrite", "overwritten"),
    ("append", "appended"),
];

/// The labels of what keeps a write whole.
pub(super) const ATOMICITY: &[(&str, &str)] = &[
    ("no", "not atomic"),
    ("yes", "atomic"),
    ("journal-delete", "journal deleted"),
    ("journal-truncate", "journal truncated"),
    ("journal-persist", "journal kept"),
];

/// The label of a case without a rate, beside others with one.
pub(super) const LOADS: &[(&str, &str)] = &[("closed", "closed loop")];

/// The labels of sync methods, as in the manual.
pub(super) const SYNCS: &[(&str, &str)] =
    &[("none", "no sync"), ("dsync", "O_DSYNC"), ("sync-file-range", "sync_file_range")];

/// The labels of the written data.
pub(super) const FILLS: &[(&str, &str)] = &[("constant", "constant byte"), ("zero", "zeros")];
