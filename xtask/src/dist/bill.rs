//! The bill of materials: the packages that are in a program, in CycloneDX.

use super::archive;
use super::source::SourceClone;
use crate::arch::Arch;
use anyhow::{Result, ensure};
use std::path::Path;

/// Makes the bill of the program for `arch` in the folder `out`.
pub(super) fn make(source: &SourceClone, arch: Arch, out: &Path) -> Result<()> {
    let shell = &source.shell;
    let name = format!("{}.cdx", archive::name(&source.version, arch));
    let options = ["cyclonedx", "--quiet", "--format=json", "--spec-version=1.5"];
    let cargo = source.cargo().args(options).args(["--target", &arch.target()]);
    cargo
        .args(["--manifest-path=crates/ioassay/Cargo.toml", "--override-filename", &name])
        .run()?;
    let name = format!("{name}.json");
    // It makes one for each package of the workspace; that of the program has all others.
    let text = shell.read_file(Path::new("crates/ioassay").join(&name))?;
    let text = without_place(&text, &source.folder);
    ensure!(text.contains("pkg:cargo/io-uring@"), "{name} lacks what the program is made of");
    shell.write_file(out.join(name), text)?;
    Ok(())
}

/// The bill without the folder of the source: paths in it begin at the repository's root.
fn without_place(bill: &str, folder: &Path) -> String {
    let folder = folder.display().to_string();
    // In the URLs of a bill, a space has another form.
    bill.replace(&folder.replace(' ', "%20"), "").replace(&folder, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bill_does_not_name_the_folder_that_it_was_made_in() {
        let bill = |folder: &str| format!("\"path+file://{folder}/crates/model#0.1.0\"");
        let [one, other] = ["/a", "/a/b"].map(|at| without_place(&bill(at), Path::new(at)));
        assert_eq!(one, "\"path+file:///crates/model#0.1.0\"");
        assert_eq!(one, other);
        let spaced = "\"path+file:///a/the%20other/crates/model#0.1.0\"";
        assert_eq!(one, without_place(spaced, Path::new("/a/the other")));
    }
}
