//! Rows of the table of axes that say where in a file the blocks are, and their sizes.

use super::number::offset;
use super::say::Say;
use super::{Across, Axis, Domain, IdWord, Usual, put};
use crate::block_sizes::BlockSizes;
use crate::case::Case;
use crate::units::{self, ParseError};

pub(super) const BLOCK: Axis = Axis {
    name: "block",
    meaning: "Bytes per operation, or several sizes, each with its percentage of the operations",
    elsewhere: &["bs", "blocksize", "block-size", "bssplit", "record-size"],
    domain: Domain::Blocks,
    usual: Usual::by_file("4KiB", "1MiB"),
    across: Across::Insisted,
    saturates: true,
    say: Say::of("blocks of {}"),
    get: |case| Some(case.io()?.block_text()),
    set: set_block,
    ..Axis::PLAIN
};

/// Sets the size of blocks, or their sizes: `4k/60:64k/40`.
fn set_block(case: &mut Case, text: &str) -> Result<(), ParseError> {
    let sizes = text.contains(['/', ':']).then(|| text.parse::<BlockSizes>()).transpose()?;
    let block = sizes.map_or_else(|| units::parse_bytes(text), |sizes| Ok(sizes.most()))?;
    if let Some(io) = case.io_mut() {
        (io.block, io.sizes) = (block, sizes);
    }
    Ok(())
}

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
