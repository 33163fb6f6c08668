//! Programs of another processor, by QEMU's emulation of a single program.

use super::needs;
use crate::arch::Arch;
use crate::install;
use anyhow::{Context, Result};
use std::path::Path;
use xshell::{Cmd, Shell, cmd};

/// Runs what follows `$0`, `$1` and `$2` where the kernel starts the other processor's programs by
/// itself: the survey's worker is one. `$0` is the kernel's rule for them, and `$1` a folder to
/// mount what reads it. A namespace keeps the rule from the rest of the machine (Linux 6.7).
const RUN: &str = "mount -t binfmt_misc none \"$1\"; printf %s \"$0\" > \"$1/register\"; \
                   shift; exec \"$@\"";

/// The first bytes of a 64-bit program of Linux, with the number of its processor; and which bits
/// of them count.
const HEAD: &str = r"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00";
const MASK: &str =
    r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff";

/// The number of `arch` in its programs.
fn number(arch: Arch) -> &'static str {
    match arch {
        Arch::Amd64 => r"\x3e\x00",
        Arch::Arm64 => r"\xb7\x00",
    }
}

/// The kernel's rule to run programs of `arch` by the emulator at `path`.
fn rule(arch: Arch, path: &Path) -> String {
    let (name, number) = (arch.name(), number(arch));
    format!(":ioassay-{name}:M::{HEAD}{number}:{MASK}:{}:F", path.display())
}

/// A command line that runs programs of `arch`, with no network. It mounts something on `folder`.
pub(super) fn command<'a>(shell: &'a Shell, arch: Arch, folder: &Path) -> Result<Cmd<'a>> {
    let emulator = needs::emulator(arch);
    let found = install::find(&emulator).with_context(|| format!("{emulator} is missing"))?;
    let rule = rule(arch, &found);
    let spaces = ["--user", "--map-root-user", "--mount", "--net"];
    Ok(cmd!(shell, "unshare {spaces...} sh -e -c {RUN} {rule} {folder}").quiet())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch;

    /// The kernel reads the rule: as many bytes count as the head has.
    #[test]
    fn a_rule_counts_all_bytes_of_a_programs_head() {
        for arch in arch::ALL {
            let rule = rule(arch, Path::new("/usr/bin/qemu"));
            let parts: Vec<&str> = rule.split(':').collect();
            let bytes = |part: &str| part.replace("ELF", r"\x45\x4c\x46").matches("\\x").count();
            assert_eq!((bytes(parts[4]), bytes(parts[5])), (20, 20), "{rule}");
            assert_eq!(parts[6..], ["/usr/bin/qemu", "F"], "{rule}");
        }
    }
}
