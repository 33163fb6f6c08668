//! The row of the table of axes that says where in a file the blocks are.

use super::number::offset;
use super::say::Say;
use super::{Across, Axis, Domain, IdWord, Usual, put};
use crate::units;

pub(super) const OFFSET: Axis = Axis {
    name: "offset",
    meaning: "Where in --file the part begins that is read, such as the inner tracks of a disk",
    domain: Domain::Bytes,
    usual: Usual::read(START),
    before: Usual::every(START),
    absent: Some(START),
    across: Across::Insisted,
    word: IdWord::After("from ", None),
    say: Say::of("from {} on").text("from {}").called(&[(START, "from the start")]).quiet(START),
    get: |case| {
        let offset = case.read()?.io.offset;
        (offset > 0).then(|| units::bytes(offset))
    },
    set: |case, text| put(case.read_mut().map(|work| &mut work.io.offset), offset(text)),
    ..Axis::PLAIN
};

/// The start of a file.
const START: &str = "0B";
