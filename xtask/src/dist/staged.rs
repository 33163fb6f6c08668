//! What packages have besides the program: manual pages, completions, a changelog.

use super::source::SourceClone;
use anyhow::Result;
use std::path::Path;
use xshell::cmd;

/// The shells, each with the name that its completions have.
pub(super) const COMPLETIONS: [(&str, &str); 3] =
    [("bash", "ioassay.bash"), ("zsh", "_ioassay"), ("fish", "ioassay.fish")];

/// Writes it below the package's own folder, where its metadata looks for it. `program` prints it,
/// so it describes exactly this program.
pub(super) fn write(source: &SourceClone, program: &Path) -> Result<()> {
    let shell = &source.shell;
    let staged = source.staged();
    let [plain, packed, completions] = ["man", "gz", "complete"].map(|name| staged.join(name));
    for folder in [&plain, &packed, &completions] {
        shell.create_dir(folder)?;
    }
    cmd!(shell, "{program} man --all {plain}").quiet().ignore_stdout().run()?;
    for page in shell.read_dir(&plain)? {
        shell.copy_file(&page, &packed)?;
    }
    let pages = shell.read_dir(&packed)?;
    cmd!(shell, "gzip --no-name --best {pages...}").quiet().run()?;
    for (of, name) in COMPLETIONS {
        let script = cmd!(shell, "{program} completions {of}").quiet().read()?;
        shell.write_file(completions.join(name), script + "\n")?;
    }
    shell.write_file(staged.join("changelog"), changelog(&source.version, &source.date))?;
    Ok(())
}

/// Debian's form of a changelog, with the version and the date of the package.
fn changelog(version: &str, date: &str) -> String {
    format!(
        "ioassay ({version}-1) unstable; urgency=medium\n\n  \
         * Version {version}. CHANGELOG.md in the repository says what changed.\n\n \
         -- ioassay maintainers <ioassay@users.noreply.github.com>  {date}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changelog_has_the_form_that_debian_reads() {
        let text = changelog("1.2.3", "Tue, 24 Nov 2026 13:48:00 +0000");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "ioassay (1.2.3-1) unstable; urgency=medium");
        assert!(lines[2].starts_with("  * "), "{text}");
        assert!(lines[4].starts_with(" -- "), "{text}");
        assert!(lines[4].ends_with(">  Tue, 24 Nov 2026 13:48:00 +0000"), "{text}");
    }
}
