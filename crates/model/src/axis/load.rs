//! Rows of the table of axes that say how much is asked of the storage: a rate, and other work.

use super::say::{LOADS, Say};
use super::{Across, Axis, Domain, IdWord, Usual, count, put, rate};
use crate::actor;
use crate::arrival::Arrival;
use crate::case::Kind;
use crate::mix;
use crate::units::ParseError;

pub(super) const RATE: Axis = Axis {
    name: "rate",
    meaning: "Operations per second over all threads, on a schedule that no late one moves",
    elsewhere: &["rate_iops", "rate-iops", "limitread", "limitwrite"],
    domain: Domain::Rate,
    column: Some("rate_per_second"),
    symbols: &[("closed", "an operation begins when the last one ends")],
    usual: Usual::files("closed"),
    before: Usual::every("closed"),
    absent: Some("closed"),
    across: Across::Insisted,
    word: IdWord::After("rate:", None),
    say: Say::of("{} operations per second").text("{}/s").called(LOADS).quiet("closed"),
    get: |case| Some(case.io()?.rate).filter(|rate| *rate > 0).map(|rate| rate.to_string()),
    set: |case, text| put(case.io_mut().map(|io| &mut io.rate), rate(text)),
    ..Axis::PLAIN
};

pub(super) const ARRIVAL: Axis = Axis {
    name: "arrival",
    meaning: "Gaps between the operations of a rate",
    elsewhere: &["rate_process"],
    domain: Domain::Names(&[(Kind::Read, Arrival::NAMES), (Kind::Write, Arrival::NAMES)]),
    usual: Usual::files("poisson"),
    before: Usual::every("poisson"),
    word: IdWord::After("", Some("poisson")),
    say: Say::of("{} arrivals").quiet("poisson"),
    get: |case| Some(case.io().filter(|io| io.rate > 0)?.arrival.to_string()),
    set: |case, text| put(case.io_mut().map(|io| &mut io.arrival), text.parse()),
    ..Axis::PLAIN
};

pub(super) const READ_SHARE: Axis = Axis {
    name: "read_share",
    flag: Some("read-share"),
    meaning: "Percent of the operations that read a block in place of writing it, drawn anew for \
              each",
    elsewhere: &["rwmixread", "rwmixwrite"],
    domain: Domain::Count(0),
    column: Some("read_share_percent"),
    usual: Usual::write("0"),
    before: Usual::every("0"),
    absent: Some("0"),
    across: Across::Insisted,
    word: IdWord::After("reads:", None),
    say: Say::of("{} % reads").text("{} % reads").called(&[("0", "writes alone")]).quiet("0"),
    get: |case| {
        let share = case.write()?.read_share;
        (share > 0).then(|| share.to_string())
    },
    set: |case, text| {
        let share = count("read_share", text, 0)?;
        let share = u8::try_from(share).ok().filter(|share| *share <= mix::MOST);
        let problem = "is a percentage from 0 to 99: some operations must write";
        let share = share.ok_or(ParseError::Axis { axis: "read_share", problem });
        put(case.write_mut().map(|work| &mut work.read_share), share)
    },
    ..Axis::PLAIN
};

pub(super) const BESIDE: Axis = Axis {
    name: "beside",
    meaning: "Actors of the recipe that use the storage, or memory, at the same time; several with \
              a +",
    symbols: &[("none", "the case alone")],
    usual: Usual::files("none").and_memory("none"),
    before: Usual::every("none"),
    absent: Some("none"),
    word: IdWord::After("beside:", None),
    say: Say::of("{} beside it").text("beside {}").called(&[("none", "alone")]).quiet("none"),
    get: |case| (!case.beside.is_empty()).then(|| case.beside.join(actor::SEPARATOR)),
    set: |case, text| {
        case.beside = actor::names(text)?;
        Ok(())
    },
    ..Axis::PLAIN
};
