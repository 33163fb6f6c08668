//! What an import needs to know of the place where it happens.

use crate::input;
use anyhow::Result;
use std::path::{Path, PathBuf};

/// What fio's job files can refer to.
#[derive(Debug, Clone)]
pub struct Here {
    /// Bytes of memory, if the OS tells them.
    pub memory: Option<u64>,
    /// Processors that are online.
    pub processors: u32,
    /// Bytes of a page.
    pub page: u64,
    /// The value of a variable of the environment.
    pub variable: fn(&str) -> Option<String>,
    /// The folder of the job file, below which it may include others; `None` if it has none.
    pub folder: Option<PathBuf>,
}

impl Here {
    /// This machine, and the folder of the job file at `path`.
    pub fn of(path: &Path) -> Here {
        let host = witness::host(Vec::new());
        Here {
            memory: host.memory,
            processors: host.cores,
            page: host.page,
            variable: |name| std::env::var(name).ok(),
            folder: path.parent().map(Path::to_path_buf),
        }
    }

    /// A place of which nothing but a page is known, and without variables and files.
    pub fn nowhere() -> Here {
        Here { memory: None, processors: 1, page: 4096, variable: |_| None, folder: None }
    }

    /// The text of an included file: as named, or beside the job file.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(super) fn included(&self, name: &str) -> Result<String> {
        let folder = self.folder.as_ref();
        let Some(folder) = folder else { anyhow::bail!("nothing can be included here") };
        let named = Path::new(name);
        let path = if named.exists() { named.to_path_buf() } else { folder.join(named) };
        input::text(&path, INCLUDED_BYTES_MAX)
    }
}

/// The maximum size of an included file.
const INCLUDED_BYTES_MAX: u64 = 1 << 16;
