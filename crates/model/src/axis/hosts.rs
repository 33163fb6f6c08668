//! Rows of the table of axes that say how threads and hosts divide the work.

use super::say::Say;
use super::{Across, Axis, Domain, IdWord, Usual, put};
use crate::case::Kind;
use crate::part::Whose;
use crate::pattern::Share;
use crate::taking_part::TakingPart;

pub(super) const SHARE: Axis = Axis {
    name: "share",
    meaning: "How threads share the blocks",
    domain: Domain::Names(&[(Kind::Read, Share::NAMES), (Kind::Write, Share::NAMES)]),
    usual: Usual::files("contiguous"),
    word: IdWord::After("", Some("contiguous")),
    say: Say::of("share {}").quiet("contiguous"),
    ..name_of!(io, io_mut, share)
};

pub(super) const HOSTS: Axis = Axis {
    name: "hosts",
    flag: Some("host-count"),
    meaning: "Which hosts measure the case: the first so many, or one (only-2). In a recipe: hosts",
    elsewhere: &["num-hosts"],
    domain: Domain::Hosts,
    symbols: &[
        ("all", "every host of the run"),
        ("doubling", "1, 2, 4 … up to all of them"),
        ("each", "each alone: only-1, only-2 …"),
    ],
    usual: Usual::files("all").and_metadata("all"),
    before: Usual::every("all"),
    absent: Some("all"),
    across: Across::Insisted,
    word: IdWord::After("hosts:", None),
    say: Say::of("{} hosts")
        .text("{} hosts")
        .called(&[("all", "all hosts")])
        .own(alone)
        .quiet("all"),
    get: |case| {
        let hosts = case.hosts();
        (hosts != TakingPart::All).then(|| hosts.to_string())
    },
    set: |case, text| put(case.hosts_mut(), text.parse()),
    ..Axis::PLAIN
};

/// Reports that know its name say it instead of the number.
fn alone(value: &str) -> Option<String> {
    Some(format!("no. {} alone", value.strip_prefix("only-")?))
}

pub(super) const FILES: Axis = Axis {
    name: "files",
    meaning: "Which files several hosts use",
    elsewhere: &["file-per-process"],
    symbols: &[
        ("own", "each host has a file of its own (N-N)"),
        ("shared", "all have one, and each a part of it (N-1)"),
    ],
    usual: Usual::files("own"),
    before: Usual::every("own"),
    absent: Some("own"),
    word: IdWord::After("", None),
    say: Say::of("{} files")
        .called(&[("own", "own files"), ("shared", "shared file")])
        .quiet("own"),
    get: |case| {
        let files = case.io()?.files;
        (files == Whose::Shared).then(|| files.to_string())
    },
    set: |case, text| put(case.io_mut().map(|io| &mut io.files), text.parse()),
    ..Axis::PLAIN
};
