//! What a question is about: a directory, a file of the user's own, a device, or memory.

use crate::args::RunArgs;
use crate::device;
use crate::files::Target;
use crate::fixture::{OwnFile, is_block_device};
use crate::group::ValueList;
use crate::recipe::{Changes, Recipe};
use anyhow::{Result, bail};
use model::axis;
use model::units;
use std::collections::BTreeSet;
use std::path::Path;

/// The axis that says where the part begins that is read.
const OFFSET: &str = "offset";

/// The target of `run`, which may change the axes.
///
/// # Errors
/// If it is not there, or may not be measured.
pub(super) fn target_of(args: &RunArgs, recipe: &Recipe, changes: &mut Changes) -> Result<Target> {
    let has_place = args.file.is_some() || !args.directories.is_empty() || args.device.is_some();
    check_place(recipe, has_place)?;
    // A block device has no directory: it is read as it is.
    let read_device = args.directories.first().filter(|path| is_block_device(path));
    if let Some(file) = args.file.as_ref().or(read_device) {
        args.directory()?;
        let length = args.length.as_deref().map(units::parse_bytes).transpose()?;
        let own = OwnFile { length, ..OwnFile::of(file)? };
        read_parts(changes, &own)?;
        changes.is_own_file = true;
        return Ok(Target::File(own));
    }
    if args.length.is_some() {
        bail!("--length reads a part of a file or a block device: name one with --file");
    }
    if let Some(device) = &args.device {
        let disk = device::claim(device, args.destroy.as_deref())?;
        let one = |text: &str| ValueList::from_texts(vec![text.to_string()]);
        changes.axes.entry("allocation".to_string()).or_insert_with(|| one("overwrite"));
        return Ok(Target::Device(disk));
    }
    in_directory(recipe, args.directory()?)
}

/// Reads the user's own file from each offset of the command line on.
///
/// # Errors
/// If an offset is invalid or too large, or the parts overlap.
pub(in crate::commands) fn read_parts(changes: &mut Changes, own: &OwnFile) -> Result<()> {
    let texts = changes.axes.get(OFFSET).map_or(Vec::new(), ValueList::texts);
    let offsets = texts.iter().map(|text| axis::parse_offset(text));
    let length = own.length_from(&offsets.collect::<Result<BTreeSet<u64>, _>>()?)?;
    changes.axes.insert("size".to_string(), ValueList::from_texts(vec![units::bytes(length)]));
    Ok(())
}

/// Refuses a place for a recipe that uses none.
///
/// # Errors
/// If it is one.
pub(in crate::commands) fn check_place(recipe: &Recipe, has_place: bool) -> Result<()> {
    if has_place && !recipe.uses_storage() {
        bail!("the recipe '{}' uses no files, so no directory can be measured", recipe.name);
    }
    Ok(())
}

/// A directory, by default the current one; memory if the recipe uses no files.
///
/// # Errors
/// If it cannot be opened.
pub(super) fn in_directory(recipe: &Recipe, directory: Option<&Path>) -> Result<Target> {
    if directory.is_none() && !recipe.uses_storage() {
        return Ok(Target::Memory);
    }
    Target::directory(recipe.directory(directory)?)
}
