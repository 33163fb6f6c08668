//! Images that machines share: a root image with Debian's tools for each architecture, and a module
//! image for each kernel. Each is built once and kept.

use super::kernel::{self, LinuxKernel, TABLE};
use crate::arch::Arch;
use crate::install;
use anyhow::{Context, Result, ensure};
use model::random::mix;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use xshell::{Shell, cmd};

/// The serial numbers of the lab's own disks, by which the guest knows the root, the modules and
/// where results go.
pub(super) const SERIALS: [&str; 3] = ["labroot", "labmods", "labout"];

/// The folder with all images.
#[derive(Debug)]
pub(super) struct Images {
    pub(super) folder: PathBuf,
}

impl Images {
    pub(super) fn new(folder: &Path) -> Result<Images> {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        Ok(Images { folder: folder.to_owned() })
    }

    /// The root image. Other packages make another one.
    pub(super) fn root(&self, arch: Arch) -> PathBuf {
        let packages = TABLE.packages.join(",");
        let packages = packages.bytes().fold(0, |sum, byte| mix(sum ^ u64::from(byte)));
        self.folder.join(format!("root-{}-{packages:016x}.ext4", arch.debian()))
    }

    fn busybox(&self, arch: Arch) -> PathBuf {
        self.folder.join(format!("busybox-{}", arch.debian()))
    }

    pub(super) fn kernel(&self, name: &str) -> PathBuf {
        self.of(name, "vmlinuz")
    }

    pub(super) fn initrd(&self, name: &str) -> PathBuf {
        self.of(name, "initrd")
    }

    pub(super) fn modules(&self, name: &str) -> PathBuf {
        self.of(name, "modules.ext4")
    }

    fn of(&self, name: &str, file: &str) -> PathBuf {
        self.folder.join(format!("kernel-{name}")).join(file)
    }

    /// Builds the missing images for kernels with these names.
    ///
    /// # Errors
    /// If a program is missing, or the package source lacks something.
    pub(super) fn make<'a>(&self, kernels: impl Iterator<Item = &'a str>) -> Result<()> {
        let shell = Shell::new()?;
        TABLE.needs.iter().try_for_each(|package| install::ensure(package))?;
        for name in kernels {
            let kernel = kernel::named(name).with_context(|| format!("no kernel is {name}"))?;
            if kernel.arch == Arch::Arm64 {
                TABLE.arm_needs.iter().try_for_each(|package| install::ensure(package))?;
            }
            if !self.root(kernel.arch).exists() {
                println!("making the root image for {}", kernel.arch.debian());
                self.make_root(&shell, kernel.arch)?;
            }
            if !self.modules(name).exists() {
                println!("making the kernel {name}");
                self.make_kernel(&shell, kernel)?;
            }
        }
        Ok(())
    }

    /// Packages are unpacked but not configured. That takes only seconds and needs no processor of
    /// the other architecture, and their scripts would do nothing useful here.
    fn make_root(&self, shell: &Shell, arch: Arch) -> Result<()> {
        let work = TempDir::new_in(&self.folder)?;
        let root = work.path().join("root");
        let name = arch.debian();
        let options = [
            "--quiet",
            "--variant=extract",
            "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr",
            &format!("--architectures={name}"),
            &format!("--include={}", TABLE.packages.join(",")),
        ];
        let suite = &TABLE.suite;
        cmd!(shell, "mmdebstrap {options...} {suite} {root}")
            .quiet()
            .ignore_stdout()
            .ignore_stderr()
            .run()?;
        for folder in ["lab", "data", "lib/modules", "mnt", "srv"] {
            fs::create_dir_all(root.join(folder))?;
        }
        fs::write(root.join("etc/passwd"), "root:x:0:0:root:/root:/bin/bash\n")?;
        fs::write(root.join("etc/group"), "root:x:0:\n")?;
        let script = "cd \"$1\"; [ -e usr/bin/sh ] || ln -s dash usr/bin/sh; \
                      ln -sf gawk usr/bin/awk; ln -sf /proc/mounts etc/mtab; \
                      cp usr/bin/busybox ..; \
                      rm -rf usr/share/doc usr/share/man usr/share/locale";
        cmd!(shell, "bash -e -c {script} root {root}").quiet().run()?;
        fs::copy(work.path().join("busybox"), self.busybox(arch))?;
        image_of(shell, &root, &self.root(arch))
    }

    fn make_kernel(&self, shell: &Shell, kernel: &LinuxKernel) -> Result<()> {
        let work = TempDir::new_in(&self.folder)?;
        let unpacked = work.path().join("unpacked");
        kernel.unpack(shell, work.path(), &unpacked)?;
        let there = ["lib/modules", "usr/lib/modules"].map(|folder| unpacked.join(folder));
        let there = there.iter().find(|folder| folder.exists()).context("it has no modules")?;
        let release = only_entry(there)?;
        let image = work.path().join("image");
        let modules = image.join("lib/modules").join(&release);
        fs::create_dir_all(modules.join("kernel"))?;
        let script = "cd \"$1\"; cp modules.builtin* modules.order \"$2\"; cd kernel; shift 2; \
                      for one; do [ ! -e \"$one\" ] || cp -a --parents \"$one\" \"$TO\"; done";
        let _to = shell.push_env("TO", modules.join("kernel"));
        let from = there.join(&release);
        let folders = &TABLE.folders;
        cmd!(shell, "bash -e -c {script} modules {from} {modules} {folders...}").quiet().run()?;
        cmd!(shell, "depmod -b {image} {release}").quiet().ignore_stderr().run()?;
        let name = &kernel.name;
        fs::create_dir_all(self.folder.join(format!("kernel-{name}")))?;
        let boot = unpacked.join(format!("boot/vmlinuz-{release}"));
        let boot = if boot.exists() { boot } else { from.join("vmlinuz") };
        fs::copy(boot, self.kernel(name))?;
        let busybox = self.busybox(kernel.arch);
        make_initrd(shell, &modules, &busybox, work.path(), &self.initrd(name))?;
        // Built last: its presence shows that the others are complete.
        image_of(shell, &image.join("lib/modules"), &self.modules(name))
    }
}

/// Builds an ext4 image of a folder.
fn image_of(shell: &Shell, folder: &Path, image: &Path) -> Result<()> {
    let told = cmd!(shell, "du -sm {folder}").quiet().read()?;
    let mib: u64 = told.split_whitespace().next().context("du prints no size")?.parse()?;
    let size = format!("{}M", mib + mib / 6 + 64);
    let made = image.with_extension("new");
    cmd!(shell, "mke2fs -q -F -t ext4 -O ^has_journal -m 0 -d {folder} {made} {size}")
        .quiet()
        .ignore_stdout()
        .run()?;
    Ok(fs::rename(made, image)?)
}

fn only_entry(folder: &Path) -> Result<String> {
    let entries: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    ensure!(entries.len() == 1, "{} has not one entry", folder.display());
    Ok(entries[0].file_name().to_string_lossy().into_owned())
}

/// The guest's initramfs: a shell, and the modules needed to mount the root image.
fn make_initrd(
    shell: &Shell,
    modules: &Path,
    busybox: &Path,
    work: &Path,
    initrd: &Path,
) -> Result<()> {
    let root = work.join("initrd");
    for folder in ["bin", "proc", "sys", "dev", "new", "low", "up", "m"] {
        fs::create_dir_all(root.join(folder))?;
    }
    fs::copy(busybox, root.join("bin/busybox"))?;
    let mut order = String::new();
    for name in &TABLE.first {
        let file = format!("{name}.ko");
        let like = format!("{file}*");
        let found = cmd!(shell, "find {modules} -name {like}").quiet().read()?;
        // A missing module is built into the kernel.
        let Some(path) = found.lines().next() else { continue };
        let copy = root.join("m").join(path.rsplit('/').next().unwrap_or(path));
        fs::copy(path, &copy)?;
        if path.ends_with(".xz") {
            cmd!(shell, "unxz {copy}").quiet().run()?;
        }
        order += &format!("{file}\n");
    }
    fs::write(root.join("m/order"), order)?;
    let _there = shell.push_dir(&root);
    let script = "find . | busybox cpio -o -H newc 2>/dev/null > \"$1\"";
    Ok(cmd!(shell, "bash -e -o pipefail -c {script} initrd {initrd}").quiet().run()?)
}
