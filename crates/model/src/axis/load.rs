//! Rows of the table of axes that say how much is asked of the storage: a rate, and other work.

use super::say::{LOADS, Say};
use super::{Across, Axis, Domain, Usual, Word, put, rate};
use crate::actor;
use crate::arrival::Arrival;
use crate::case::Kind;

pub(super) const RATE: Axis = Axis {
    name: "rate",
    flag: "rate",
    meaning: "Operations per second over all threads, on a schedule that no late one moves",
    elsewhere: &["rate_iops", "rate-iops", "limitread", "limitwrite"],
    domain: Domain::Rate,
    column: Some("rate_per_second"),
    symbols: &[("closed", "an operation begins when the last one ends")],
    usual: Usual::files("closed"),
    before: Some("closed"),
    absent: Some("closed"),
    across: Across::Insisted,
    word: Word::After("rate:", None),
    say: Say::of("{} operations per second").text("{}/s").called(LOADS).quiet("closed"),
    get: |case| Some(case.io()?.rate).filter(|rate| *rate > 0).map(|rate| rate.to_string()),
    set: |case, text| put(case.io_mut().map(|io| &mut io.rate), rate(text)),
    ..Axis::PLAIN
};

pub(super) const ARRIVAL: Axis = Axis {
    name: "arrival",
    flag: "arrival",
    meaning: "Gaps between the operations of a rate",
    elsewhere: &["rate_process"],
    domain: Domain::Names(&[(Kind::Read, Arrival::NAMES), (Kind::Write, Arrival::NAMES)]),
    usual: Usual::files("poisson"),
    before: Some("poisson"),
    word: Word::After("", Some("poisson")),
    say: Say::of("{} arrivals").quiet("poisson"),
    get: |case| Some(case.io().filter(|io| io.rate > 0)?.arrival.to_string()),
    set: |case, text| put(case.io_mut().map(|io| &mut io.arrival), text.parse()),
    ..Axis::PLAIN
};

pub(super) const BESIDE: Axis = Axis {
    name: "beside",
    flag: "beside",
    meaning: "Actors of the recipe that use the storage at the same time; several with a +",
    symbols: &[("none", "the case alone")],
    usual: Usual::files("none"),
    before: Some("none"),
    absent: Some("none"),
    domain: Domain::Other,
    word: Word::After("beside:", None),
    say: Say::of("{} beside it").text("beside {}").called(&[("none", "alone")]).quiet("none"),
    get: |case| (!case.beside.is_empty()).then(|| case.beside.join(actor::SEPARATOR)),
    set: |case, text| {
        case.beside = actor::names(text)?;
        Ok(())
    },
    ..Axis::PLAIN
};
