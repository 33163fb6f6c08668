//! Whether syncs on a ZFS do anything: its property `sync=disabled` is no mount option.
//!
//! ZFS counts for each dataset how often a sync came to its intent log. With that property, none
//! does.

use crate::root::Root;
use crate::sysfs::{entries, file_name};
use std::io;
use std::path::Path;

/// A sync may pass the log by while ZFS has suspended it, such as for a snapshot, so one proves
/// nothing.
const SYNCS: u32 = 3;

/// Whether calls of `sync` on the dataset `name` come to no intent log. `None` if ZFS does not
/// count them, as before OpenZFS 2.2, or if a call fails.
pub(crate) fn ignores_syncs(
    root: &Root,
    name: &Path,
    sync: impl Fn() -> io::Result<()>,
) -> Option<bool> {
    let before = commits(root, name)?;
    for _ in 0..SYNCS {
        sync().ok()?;
    }
    Some(commits(root, name)? == before)
}

/// How many syncs of the dataset `name` came to its intent log.
fn commits(root: &Root, name: &Path) -> Option<u64> {
    let pool = root.at("/proc/spl/kstat/zfs").join(name.components().next()?);
    let datasets = entries(&pool).filter(|path| file_name(path).starts_with("objset-"));
    let told = datasets.filter_map(|path| std::fs::read_to_string(path).ok());
    let name = name.to_str()?;
    told.filter(|text| value(text, "dataset_name") == Some(name))
        .find_map(|text| value(&text, "zil_commit_count")?.parse().ok())
}

/// The value in a line such as `zil_commit_count 4 28`: a name, a type and a value.
fn value<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| {
        let rest = line.strip_prefix(name)?.strip_prefix(char::is_whitespace)?.trim_start();
        Some(rest.split_once(char::is_whitespace)?.1.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What OpenZFS 2.2 shows of a dataset.
    fn shown(name: &str, commits: &str) -> String {
        format!(
            "36 1 0x01 7 2160 5214787391 73405258558961\n\
             name                            type data\n\
             dataset_name                    7    {name}\n\
             writes                          4    10\n{commits}\
             zil_commit_writer_count         4    99\n"
        )
    }

    fn counted(commits: u64) -> String {
        format!("zil_commit_count                4    {commits}\n")
    }

    #[test]
    fn syncs_that_come_to_no_log_are_ignored() {
        let machine = tempfile::tempdir().unwrap();
        let pool = machine.path().join("proc/spl/kstat/zfs/tank");
        std::fs::create_dir_all(&pool).unwrap();
        let place = |file: &str, text: String| std::fs::write(pool.join(file), text).unwrap();
        place("state", "ONLINE\n".to_string());
        place("objset-0x36", shown("tank", &counted(7)));
        let own = |commits: String| place("objset-0x42", shown("tank/my data", &commits));
        let check = |sync: &dyn Fn(), expected| {
            let root = Root::of(machine.path());
            let told = ignores_syncs(&root, Path::new("tank/my data"), || {
                sync();
                Ok(())
            });
            assert_eq!(told, expected);
        };
        own(counted(28));
        check(&|| (), Some(true));
        check(&|| own(counted(29)), Some(false));
        own(String::new());
        check(&|| (), None);
        std::fs::remove_dir_all(&pool).unwrap();
        check(&|| (), None);
    }
}
