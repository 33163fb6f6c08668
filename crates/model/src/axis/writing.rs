//! Rows of the table of axes that say how changes are made, and made durable.

use super::say::{ALLOCATIONS, ATOMICITY, BEGINNINGS, FILLS, SYNCS, Say};
use super::{Across, Axis, Domain, IdWord, Usual, count, put};
use crate::case::{Allocation, Atomic, Fill, Kind, NameSync, Sync};

pub(super) const ALLOCATION: Axis = Axis {
    name: "allocation",
    meaning: "Initial allocation of the written file",
    domain: Domain::Names(&[(Kind::Write, Allocation::NAMES)]),
    usual: Usual::write("none"),
    word: IdWord::After("alloc:", None),
    say: Say::of("allocation {}").phrased(ALLOCATIONS).called(BEGINNINGS).quiet("none"),
    ..name_of!(write, write_mut, allocation)
};

pub(super) const SYNC: Axis = Axis {
    name: "sync",
    meaning: "Call that makes written data durable",
    elsewhere: &["fsync", "end_fsync", "fdatasync"],
    domain: Domain::Names(&[(Kind::Write, Sync::NAMES), (Kind::Metadata, NameSync::NAMES)]),
    usual: Usual::write("fdatasync").and_metadata("none"),
    before: Usual::every("none"),
    across: Across::Insisted,
    word: IdWord::After("sync:", None),
    say: Say::of("sync {}").called(SYNCS),
    get: |case| {
        let of_write = case.write().map(|work| work.sync.to_string());
        // Only a change can be made durable.
        let of_names = case.metadata().filter(|work| work.call.changes());
        of_write.or(of_names.map(|work| work.sync.to_string()))
    },
    set: |case, text| match case.kind() {
        Kind::Metadata => put(case.metadata_mut().map(|work| &mut work.sync), text.parse()),
        _ => put(case.write_mut().map(|work| &mut work.sync), text.parse()),
    },
    ..Axis::PLAIN
};

pub(super) const EVERY: Axis = Axis {
    name: "every",
    flag: Some("sync-every"),
    meaning: "Blocks between syncs; 0 for a single sync at the end. In a recipe: every",
    elsewhere: &["sync_every"],
    domain: Domain::Count(0),
    column: Some("every_blocks"),
    usual: Usual::write("0"),
    across: Across::Insisted,
    word: IdWord::After("every:", Some("0")),
    say: Say::of("a sync every {} blocks")
        .text("every {}")
        .called(&[("0", "at the end"), ("1", "each")])
        .quiet("0"),
    get: |case| Some(case.write()?.every.to_string()),
    set: |case, text| put(case.write_mut().map(|work| &mut work.every), count("every", text, 0)),
    ..Axis::PLAIN
};

pub(super) const FILL: Axis = Axis {
    name: "fill",
    meaning: "Content of the written data",
    domain: Domain::Names(&[(Kind::Write, Fill::NAMES)]),
    usual: Usual::write("random"),
    word: IdWord::After("fill:", Some("random")),
    say: Say::of("fill {}").text("fill {}").called(FILLS).quiet("random"),
    ..name_of!(write, write_mut, fill)
};

pub(super) const ATOMIC: Axis = Axis {
    name: "atomic",
    meaning: "What keeps a write whole after a power cut: the storage, or a rollback journal",
    domain: Domain::Names(&[(Kind::Write, Atomic::NAMES)]),
    usual: Usual::write("no"),
    before: Usual::every("no"),
    word: IdWord::After("atomic:", Some("no")),
    say: Say::of("atomic {}").called(ATOMICITY).quiet("no"),
    ..name_of!(write, write_mut, atomic)
};
