//! What was read of a file that was overwritten meanwhile.

use crate::counted::Counted;
use crate::measured::Measured;
use model::case::{Case, Io};
use model::generation::PagesRead;
use model::list::listed;
use model::plan::ActorFile;
use schemars::JsonSchema;
use serde::Serialize;
use std::iter;

/// What the case, or actors beside it, read of a file that was overwritten meanwhile, over all
/// trials.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct SharedFile {
    /// Pages of 4 KiB that were read.
    pub pages: u64,
    /// The share of them that were whole and had been written in the same trial, 0 to 1.
    pub new_share: f64,
    /// Pages with parts of several writes.
    pub torn_pages: u64,
    /// Pages with what nobody wrote there.
    pub wrong_pages: u64,
    /// Operations that returned parts of several writes. If the writer's blocks are smaller, that
    /// is no fault of one write.
    pub mixed_ops: u64,
}

impl SharedFile {
    /// The figures of a case; `None` if nobody looked at such pages.
    pub(crate) fn of(measured: &Measured) -> Option<SharedFile> {
        let all = sum(measured)?;
        let pages = all.count();
        (pages > 0).then(|| SharedFile {
            pages,
            new_share: all.written() as f64 / pages as f64,
            torn_pages: all.torn,
            wrong_pages: all.wrong,
            mixed_ops: all.mixed_ops,
        })
    }
}

/// The pages of all trials that count.
pub(crate) fn sum(measured: &Measured) -> Option<PagesRead> {
    let each = measured.trials.iter().filter_map(Counted::pages);
    each.reduce(|sum, pages| sum.plus(&pages))
}

/// Who uses the file of a case.
#[derive(Debug)]
pub(crate) struct Sides<'a> {
    writer: &'a Io,
    readers: Vec<&'a Io>,
}

impl<'a> Sides<'a> {
    /// Those of a case whose file is shared.
    pub(crate) fn of(measured: &Measured<'a>) -> Option<Sides<'a>> {
        let is_beside = |name: &String| measured.case.beside.contains(name);
        let actors = measured.actors.iter().filter(|actor| is_beside(&actor.name));
        let sharing = actors.filter(|actor| actor.file == ActorFile::Case);
        let all: Vec<&Case> = iter::once(measured.case).chain(sharing.map(|it| &it.case)).collect();
        let writer = all.iter().find_map(|case| case.write())?;
        let readers = all.iter().filter_map(|case| Some(&case.read()?.io)).collect();
        Some(Sides { writer: &writer.io, readers })
    }

    /// Whether each block that is read lies within one that is written at once.
    pub(crate) fn writes_whole_blocks(&self) -> bool {
        let is_whole = |reader: &&Io| {
            let has_one_size = self.writer.sizes.is_none() && reader.sizes.is_none();
            has_one_size && self.writer.block.is_multiple_of(reader.block.max(1))
        };
        self.readers.iter().all(is_whole)
    }

    /// `reads of 8KiB, writes of 1MiB`
    pub(crate) fn said(&self) -> String {
        let mut readers = self.readers.clone();
        readers.sort_by_key(|io| io.block);
        let mut blocks: Vec<String> = readers.iter().map(|io| io.block_text()).collect();
        blocks.dedup();
        format!("reads of {}, writes of {}", listed(&blocks), self.writer.block_text())
    }
}
