//! Rows of the table of axes that work on names has alone.

use super::say::Say;
use super::{Across, Axis, Domain, IdWord, Usual, count, put};
use crate::case::{Call, Directories, Kind};

/// The cache states that names can have.
pub(super) const CACHES: &[&str] = &["warm", "cold", "as-is"];

pub(super) const CALL: Axis = Axis {
    name: "call",
    meaning: "What is done to each name of a file",
    domain: Domain::Names(&[(Kind::Metadata, Call::NAMES)]),
    usual: Usual::metadata("stat"),
    word: IdWord::Own(|case| Some(format!("metadata {}", case.metadata()?.call))),
    ..name_of!(metadata, metadata_mut, call)
};

pub(super) const DIRECTORIES: Axis = Axis {
    name: "directories",
    meaning: "Where the names are",
    domain: Domain::Names(&[(Kind::Metadata, Directories::NAMES)]),
    usual: Usual::metadata("own"),
    word: IdWord::After("dir:", Some("own")),
    say: Say::of("{} directory")
        .called(&[("own", "own directories"), ("shared", "shared directory")])
        .quiet("own"),
    ..name_of!(metadata, metadata_mut, place)
};

pub(super) const ENTRIES: Axis = Axis {
    name: "entries",
    meaning: "Names of each thread",
    elsewhere: &["nrfiles"],
    domain: Domain::Count(1),
    usual: Usual::metadata("10000"),
    across: Across::Insisted,
    word: IdWord::After("of ", None),
    say: Say::of("{} names for each thread").text("{} names"),
    get: |case| Some(case.metadata()?.entries.to_string()),
    set: |case, text| {
        put(case.metadata_mut().map(|work| &mut work.entries), count("entries", text, 1))
    },
    ..Axis::PLAIN
};
