//! `ioassay data`: files with known content.

use super::say;
use crate::args::tools::DataCommand;
use crate::fixture::{self, OwnFile};
use crate::input;
use crate::progress::Progress;
use crate::space;
use crate::status::Status;
use crate::stop::Stop;
use anyhow::{Context, Result, bail};
use model::content::{Content, ContentKind};
use model::units;
use std::io::Read;
use std::path::Path;

/// Runs the command.
///
/// # Errors
/// If the file cannot be written or read, or has wrong content.
pub fn execute(command: &DataCommand) -> Result<Status> {
    match command {
        DataCommand::Create { file, size, seed, content } => {
            let (seed, size, kind) = (*seed, units::parse_bytes(size)?, *content);
            create(file, Content { seed, size, kind })
        }
        DataCommand::Verify { file, seed, content } => verify(file, *seed, *content),
    }
}

fn create(path: &Path, content: Content) -> Result<Status> {
    let stop = Stop::on_signals().context("failed to listen for signals")?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let host = witness::host(kernel::available());
    let storage = witness::storage(folder.unwrap_or(Path::new(".")))?;
    space::check_space(&storage, &host, &[content.size])?;
    let file = fixture::create_new(path)?;
    let progress = Progress::new();
    let written = fixture::write_range(&file, content, 0..content.size, (&progress, &stop));
    progress.end();
    if let Err(error) = written {
        // Removing it is safe: this command just created it.
        std::fs::remove_file(path)
            .with_context(|| format!("failed to remove the unfinished '{}'", path.display()))?;
        if let Some(status) = stop.exit_status() {
            return Ok(status);
        }
        return Err(error.context(format!("failed to write '{}'", path.display())));
    }
    let Content { seed, kind, size } = content;
    let size = units::bytes(size);
    say(&format!("{}: {size} written, content {kind}, seed {seed}", path.display()))?;
    Ok(Status::DONE)
}

fn verify(path: &Path, seed: u64, kind: ContentKind) -> Result<Status> {
    let size = OwnFile::of(path)?.size;
    let content = Content { seed, size, kind };
    let mut file =
        input::regular(path).with_context(|| format!("failed to open '{}'", path.display()))?;
    let (mut held, mut expected) = (vec![0; 4 << 20], vec![0; 4 << 20]);
    let mut offset = 0;
    while offset < size {
        let length = (size - offset).min(held.len() as u64) as usize;
        file.read_exact(&mut held[..length])
            .with_context(|| format!("failed to read '{}' at {offset}", path.display()))?;
        content.fill(offset, &mut expected[..length]);
        let differs = held[..length].iter().zip(&expected[..length]).position(|(a, b)| a != b);
        if let Some(place) = differs {
            bail!(
                "'{}' does not hold {kind} data of seed {seed}: byte {} is {:#04x} instead of \
                 {:#04x}",
                path.display(),
                offset + place as u64,
                held[place],
                expected[place]
            );
        }
        offset += length as u64;
    }
    say(&format!(
        "{}: all {} are correct, content {kind}, seed {seed}",
        path.display(),
        units::bytes(size)
    ))?;
    Ok(Status::DONE)
}
