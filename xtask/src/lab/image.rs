//! What all machines of a kernel share: a root image with Debian's tools, and the kernel with its
//! modules. Each is made once and kept.

use anyhow::{Context, Result, ensure};
use std::cmp::Ordering;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use xshell::{Shell, cmd};

/// The kernels, by the versions that scenarios name, with the names of Debian's packages: the
/// newest that the machine's package source offers is taken.
const KERNELS: [(&str, &str); 2] = [
    ("6.1", "^linux-image-6\\.1\\.0-[0-9]+-amd64$"),
    ("6.12", "^linux-image-6\\.12\\.[0-9]+\\+deb1[0-9]-amd64$"),
];

/// Whether there is such a kernel.
#[cfg(test)]
pub(super) fn is_known(version: &str) -> bool {
    KERNELS.iter().any(|(known, _)| *known == version)
}

/// What is in the root image.
const PACKAGES: &str = "bash,mdadm,lvm2,cryptsetup-bin,xfsprogs,btrfs-progs,f2fs-tools,e2fsprogs,\
                        kmod,util-linux,iproute2,procps,gawk,dmsetup";
const SUITE: &str = "bookworm";

/// Programs of the host that make images, with Debian's packages that have them.
const NEEDS: [(&str, &str); 6] = [
    ("qemu-system-x86", "qemu-system-x86_64"),
    ("mmdebstrap", "mmdebstrap"),
    ("busybox-static", "busybox"),
    ("e2fsprogs", "mke2fs"),
    ("kmod", "depmod"),
    ("xz-utils", "unxz"),
];

/// Modules that reach the root image, in their order.
const FIRST: [&str; 14] = [
    "virtio",
    "virtio_ring",
    "virtio_pci_legacy_dev",
    "virtio_pci_modern_dev",
    "virtio_pci",
    "virtio_blk",
    "crc16",
    "crc32c_generic",
    "libcrc32c",
    "mbcache",
    "jbd2",
    "ext4",
    "overlay",
    "virtio_mmio",
];

/// Drivers that no scenario needs, and that are most of a kernel's bytes.
const UNUSED: [&str; 7] = [
    "sound",
    "drivers/gpu",
    "drivers/media",
    "drivers/infiniband",
    "drivers/staging",
    "drivers/hwmon",
    "drivers/net/wireless",
];

/// The disks of the laboratory itself, which the guest finds by their serial numbers.
#[derive(Debug, Clone, Copy)]
pub(super) enum Serial {
    Root,
    Modules,
    Out,
}

impl Serial {
    pub(super) const ALL: [Serial; 3] = [Serial::Root, Serial::Modules, Serial::Out];

    pub(super) fn name(self) -> &'static str {
        match self {
            Serial::Root => "labroot",
            Serial::Modules => "labmods",
            Serial::Out => "labout",
        }
    }
}

/// The folder of all images.
#[derive(Debug)]
pub(super) struct Images {
    pub(super) folder: PathBuf,
}

impl Images {
    pub(super) fn new(folder: &Path) -> Result<Images> {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        Ok(Images { folder: folder.to_owned() })
    }

    pub(super) fn root(&self) -> PathBuf {
        self.folder.join("root.ext4")
    }

    pub(super) fn kernel(&self, version: &str) -> PathBuf {
        self.of(version, "vmlinuz")
    }

    pub(super) fn initrd(&self, version: &str) -> PathBuf {
        self.of(version, "initrd")
    }

    pub(super) fn modules(&self, version: &str) -> PathBuf {
        self.of(version, "modules.ext4")
    }

    fn of(&self, version: &str, name: &str) -> PathBuf {
        self.folder.join(format!("linux-{version}")).join(name)
    }

    /// Makes what is not there yet.
    ///
    /// # Errors
    /// When a program is missing, or the package source does not have what is needed.
    pub(super) fn make<'a>(&self, kernels: impl Iterator<Item = &'a str>) -> Result<()> {
        let shell = Shell::new()?;
        for (package, program) in NEEDS {
            crate::install::program(&shell, package, program)?;
        }
        if !self.root().exists() {
            println!("making the root image");
            self.make_root(&shell)?;
        }
        for version in kernels {
            if !self.modules(version).exists() {
                println!("making the kernel {version}");
                self.make_kernel(&shell, version)?;
            }
        }
        Ok(())
    }

    fn make_root(&self, shell: &Shell) -> Result<()> {
        let work = TempDir::new_in(&self.folder)?;
        let root = work.path().join("root");
        cmd!(shell, "mmdebstrap --quiet --variant=minbase --include={PACKAGES} {SUITE} {root}")
            .quiet()
            .run()?;
        for folder in ["lab", "data", "lib/modules"] {
            fs::create_dir_all(root.join(folder))?;
        }
        image_of(shell, &root, &self.root())
    }

    fn make_kernel(&self, shell: &Shell, version: &str) -> Result<()> {
        let (_, pattern) = KERNELS
            .iter()
            .find(|(known, _)| *known == version)
            .with_context(|| format!("no kernel is called {version}"))?;
        let work = TempDir::new_in(&self.folder)?;
        let unpacked = work.path().join("unpacked");
        unpack(shell, pattern, work.path(), &unpacked)?;
        let release = only_entry(&unpacked.join("lib/modules"))?;
        let modules = unpacked.join("lib/modules").join(&release);
        for unused in UNUSED {
            let _ = fs::remove_dir_all(modules.join("kernel").join(unused));
        }
        let script = "find \"$1\" -name '*.ko.xz' -print0 | xargs -0 -r -n 64 unxz; \
                      depmod -b \"$2\" \"$3\"";
        cmd!(shell, "bash -e -o pipefail -c {script} modules {modules} {unpacked} {release}")
            .quiet()
            .run()?;
        fs::create_dir_all(self.folder.join(format!("linux-{version}")))?;
        fs::copy(unpacked.join(format!("boot/vmlinuz-{release}")), self.kernel(version))?;
        make_initrd(shell, &modules, work.path(), &self.initrd(version))?;
        // Last, for it says that the others are there.
        image_of(shell, &unpacked.join("lib/modules"), &self.modules(version))
    }
}

/// Downloads and unpacks the newest package whose name is like `pattern`.
fn unpack(shell: &Shell, pattern: &str, work: &Path, into: &Path) -> Result<()> {
    let names = cmd!(shell, "apt-cache search --names-only {pattern}").quiet().read()?;
    let names = names.lines().filter_map(|line| line.split_whitespace().next());
    let newest = names.max_by(|a, b| by_version(a, b));
    let newest = newest.with_context(|| format!("the package source has no {pattern}"))?;
    let _there = shell.push_dir(work);
    cmd!(shell, "apt-get download {newest}").quiet().ignore_stdout().ignore_stderr().run()?;
    let script = "dpkg-deb -x \"$1\"_*.deb \"$2\"";
    Ok(cmd!(shell, "bash -e -c {script} unpack {newest} {into}").quiet().run()?)
}

/// Numbers in names are held against each other as numbers.
fn by_version(a: &str, b: &str) -> Ordering {
    let numbers = |name: &str| -> Vec<u64> {
        name.split(|letter: char| !letter.is_ascii_digit())
            .filter_map(|digits| digits.parse().ok())
            .collect()
    };
    numbers(a).cmp(&numbers(b))
}

/// An ext4 image of a folder.
fn image_of(shell: &Shell, folder: &Path, image: &Path) -> Result<()> {
    let told = cmd!(shell, "du -sm {folder}").quiet().read()?;
    let mib: u64 = told.split_whitespace().next().context("du tells a size")?.parse()?;
    let size = format!("{}M", mib + mib / 6 + 64);
    let made = image.with_extension("new");
    cmd!(shell, "mke2fs -q -F -t ext4 -O ^has_journal -m 0 -d {folder} {made} {size}")
        .quiet()
        .run()?;
    Ok(fs::rename(made, image)?)
}

fn only_entry(folder: &Path) -> Result<String> {
    let entries: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    ensure!(entries.len() == 1, "{} has not one entry", folder.display());
    Ok(entries[0].file_name().to_string_lossy().into_owned())
}

/// The first file system of a guest: a shell, and the modules that reach the root image.
fn make_initrd(shell: &Shell, modules: &Path, work: &Path, initrd: &Path) -> Result<()> {
    let root = work.join("initrd");
    for folder in ["bin", "proc", "sys", "dev", "new", "low", "up", "m"] {
        fs::create_dir_all(root.join(folder))?;
    }
    let busybox = cmd!(shell, "which busybox").quiet().read()?;
    fs::copy(busybox.trim(), root.join("bin/busybox"))?;
    let mut order = String::new();
    for name in FIRST {
        let file = format!("{name}.ko");
        let found = cmd!(shell, "find {modules} -name {file}").quiet().read()?;
        // One that is missing is a part of the kernel itself.
        let Some(path) = found.lines().next() else { continue };
        fs::copy(path, root.join("m").join(&file))?;
        order += &format!("{file}\n");
    }
    fs::write(root.join("m/order"), order)?;
    let _there = shell.push_dir(&root);
    let script = "find . | busybox cpio -o -H newc 2>/dev/null | gzip -1 > \"$1\"";
    Ok(cmd!(shell, "bash -e -o pipefail -c {script} initrd {initrd}").quiet().run()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_kernel_is_newer_by_number() {
        assert_eq!(by_version("linux-image-6.1.0-9", "linux-image-6.1.0-56"), Ordering::Less);
        assert_eq!(by_version("6.12.117", "6.12.9"), Ordering::Greater);
    }
}
