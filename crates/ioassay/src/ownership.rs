//! Checks that no other user can change a folder or file, because we run programs from there as
//! this user.
//!
//! A path is safe if this user or root owns every folder on the way and only they can write to it.
//! A world-writable folder such as `/tmp` is fine if its sticky bit keeps users from moving others'
//! files.

use anyhow::{Context, Result, bail};
use rustix::process::geteuid;
use std::fs::{DirBuilder, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Write permission for the group and for others.
const WRITE_BY_OTHERS: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// Returns the folder `inner`, name by name, in the folder `outer`. Creates missing ones for this
/// user only. `remedy` is the advice if a folder cannot be trusted.
///
/// # Errors
/// The owner and permissions that make it unsafe, or that it cannot be created.
pub fn folder(outer: &Path, inner: &[&str], remedy: &str) -> Result<PathBuf> {
    let failed = || format!("failed to create the folder '{}'", outer.display());
    // Resolve links on the way now, once.
    let there = outer.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    let rest = outer.strip_prefix(there).unwrap_or(Path::new(""));
    let mut path = there.canonicalize().with_context(failed)?;
    check_way(&path, remedy)?;
    let rest: Vec<&Path> = rest.iter().map(Path::new).collect();
    for name in rest.into_iter().chain(inner.iter().map(Path::new)) {
        path.push(name);
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(error).with_context(failed);
            }
            _ => check_own(&path, remedy)?,
        }
    }
    Ok(path)
}

/// Checks that no other user can change `path`, which contains no links, or a folder on the way.
fn check_way(path: &Path, remedy: &str) -> Result<()> {
    // Whoever owns the root folder owns everything; in a container, that need not be root.
    let trusted = [geteuid().as_raw(), 0, look(Path::new("/"))?.uid()];
    for folder in path.ancestors() {
        let found = look(folder)?;
        if !trusted.contains(&found.uid()) {
            bail!(distrust(folder, &found, remedy));
        }
        if found.mode() & WRITE_BY_OTHERS != 0 && found.mode() & STICKY == 0 {
            bail!(distrust(folder, &found, remedy));
        }
    }
    Ok(())
}

/// Checks that a folder or file belongs to this user, is not a link, and that no other user can
/// write to it.
///
/// # Errors
/// The owner and permissions found.
pub fn check_own(path: &Path, remedy: &str) -> Result<()> {
    let found = look(path)?;
    if found.is_symlink() {
        bail!("'{}' is a link and may lead to another user's files: {remedy}", path.display());
    }
    let is_own = found.uid() == geteuid().as_raw();
    if !(found.is_dir() || found.is_file()) || !is_own || found.mode() & WRITE_BY_OTHERS != 0 {
        bail!(distrust(path, &found, remedy));
    }
    Ok(())
}

fn look(path: &Path) -> Result<Metadata> {
    path.symlink_metadata()
        .with_context(|| format!("cannot read the metadata of '{}'", path.display()))
}

/// Describes the owner and permissions, and the remedy.
fn distrust(path: &Path, found: &Metadata, remedy: &str) -> String {
    format!(
        "'{}' belongs to user {} with mode {:04o}, and ioassay runs as user {}: another user could \
         put a program there that would run as you: {remedy}",
        path.display(),
        found.uid(),
        found.mode() & 0o7777,
        geteuid().as_raw()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    const REMEDY: &str = "set XDG_CACHE_HOME";

    fn make(outer: &Path) -> Result<PathBuf, String> {
        folder(outer, &["ioassay", "peers"], REMEDY).map_err(|error| format!("{error:#}"))
    }

    fn check_refused(outer: &Path, expected: &str) {
        let error = make(outer).expect_err(expected);
        assert!(error.contains(expected) && error.ends_with(REMEDY), "{error}");
    }

    fn set_mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn what_is_made_is_for_this_user_alone() {
        let home = tempfile::tempdir().unwrap();
        let cache = home.path().join("none/yet");
        for _ in 0..2 {
            let made = make(&cache).unwrap();
            assert_eq!(made, cache.canonicalize().unwrap().join("ioassay/peers"));
            for folder in made.ancestors().take(4) {
                assert_eq!(look(folder).unwrap().mode() & 0o7777, 0o700);
            }
        }
        // A link that this user made to their own folder is resolved.
        symlink(&cache, home.path().join("link")).unwrap();
        assert_eq!(make(&home.path().join("link")).unwrap(), make(&cache).unwrap());
    }

    #[test]
    fn what_others_can_write_to_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let cache = home.path().join("cache");
        let made = make(&cache).unwrap();
        for folder in [home.path(), &cache, &cache.join("ioassay"), &made] {
            for mode in [0o720, 0o702, 0o777] {
                set_mode(folder, mode);
                check_refused(&cache, &format!("with mode {mode:04o}"));
            }
            set_mode(folder, 0o755);
        }
        set_mode(home.path(), 0o1777);
        make(&cache).unwrap();
        std::fs::remove_dir(&made).unwrap();
        symlink(home.path(), &made).unwrap();
        check_refused(&cache, "is a link");
        std::fs::remove_file(&made).unwrap();
        std::fs::write(&made, "").unwrap();
        set_mode(&made, 0o644);
        check_own(&made, REMEDY).unwrap();
        set_mode(&made, 0o664);
        let error = check_own(&made, REMEDY).unwrap_err().to_string();
        assert!(error.contains("with mode 0664"), "{error}");
    }

    #[test]
    fn what_belongs_to_another_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let cache = home.path().join("cache");
        let made = make(&cache).unwrap();
        for folder in [home.path(), &cache, &cache.join("ioassay"), &made] {
            let set_owner = |uid| chown(folder, Some(uid), None);
            if set_owner(1234).is_err() {
                // Only root can change a file's owner, so this user's own folder acts as another's.
                return;
            }
            check_refused(&cache, "belongs to user 1234 with mode");
            set_owner(0).unwrap();
        }
        make(&cache).unwrap();
    }
}
