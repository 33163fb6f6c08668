//! Files and file systems with known properties.

use model::content::{Content, ContentKind};
use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A directory on the file system for temporary files.
pub(crate) fn directory() -> TempDir {
    TempDir::new().unwrap()
}

/// A directory in memory; `None` without `/dev/shm`.
pub(crate) fn directory_in_memory() -> Option<TempDir> {
    TempDir::new_in("/dev/shm").ok()
}

/// A new, synced file at `path` with `size` bytes of incompressible data.
pub(crate) fn file(path: &Path, size: u64) -> File {
    let file = File::options().read(true).write(true).create_new(true).open(path).unwrap();
    file.write_all_at(&content(size), 0).unwrap();
    file.sync_all().unwrap();
    file
}

/// Incompressible bytes.
pub(crate) fn content(size: u64) -> Vec<u8> {
    let mut bytes = vec![0; size as usize];
    Content { seed: 1, size, kind: ContentKind::Random }.fill(0, &mut bytes);
    bytes
}

/// Reports by name which test is skipped, and why.
pub(crate) fn skip(test: &str, reason: &str) {
    eprintln!("skipped {test}: {reason}");
}

/// Runs a test of what is cached. If it fails, it runs again, at most twice: the OS may have taken
/// memory back meanwhile. A fault fails it each time.
pub(crate) fn tried(test: impl Fn()) {
    let passes = || catch_unwind(AssertUnwindSafe(&test)).is_ok();
    if !passes() && !passes() {
        test();
    }
}

/// Whether this is root; if not, reports that `test` needs it.
pub(crate) fn is_root(test: &str) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        skip(test, "it needs root");
    }
    is_root
}

/// Runs a command and returns its output, or what it printed as an error.
pub(crate) fn run(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .map_err(|error| format!("'{program}' cannot be run: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_string()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_string()),
    }
}

/// A mounted file system; unmounted when dropped.
pub(crate) struct Mounted {
    pub(crate) point: PathBuf,
    loop_device: Option<LoopDevice>,
    /// Changed sysfs files, with their original content.
    changed: RefCell<Vec<(PathBuf, String)>>,
    _other: Option<(LoopDevice, TempDir)>,
    // Dropped last, because it contains the mount point and the image.
    _directory: TempDir,
}

impl Mounted {
    /// A new file system of `kind` on a loop device with its image in `directory`.
    pub(crate) fn on_loop(
        directory: TempDir,
        kind: &str,
        setup: &Setup,
    ) -> Result<Mounted, String> {
        let image = directory.path().join("image");
        File::create(&image)
            .and_then(|file| file.set_len(setup.size))
            .map_err(|e| e.to_string())?;
        let device = LoopDevice::new(&image, setup.losetup)?;
        Mounted::new(directory, kind, &device.node.clone(), setup.mount, Some(device))
    }

    /// A file system on two loop devices of `size` bytes, whose images are in `directory` and
    /// `other`. `make` makes it on their nodes and returns the options to mount it with.
    pub(crate) fn on_two(
        [directory, other]: [TempDir; 2],
        size: u64,
        make_on: impl FnOnce(&str, &str) -> Result<String, String>,
    ) -> Result<Mounted, String> {
        let image_in = |directory: &TempDir| {
            let image = directory.path().join("image");
            File::create(&image).and_then(|file| file.set_len(size)).map_err(|e| e.to_string())?;
            LoopDevice::new(&image, PLAIN.losetup)
        };
        let (first, second) = (image_in(&directory)?, image_in(&other)?);
        let options = make_on(&first.node, &second.node)?;
        let point = make(directory.path(), "mount");
        run("mount", &["-o", &options, &first.node, text(&point)])?;
        let (changed, _other) = (RefCell::default(), Some((second, other)));
        Ok(Mounted { point, loop_device: Some(first), changed, _other, _directory: directory })
    }

    /// A new file system of `kind` on the block device `node`.
    pub(crate) fn new(
        directory: TempDir,
        kind: &str,
        node: &str,
        options: &str,
        loop_device: Option<LoopDevice>,
    ) -> Result<Mounted, String> {
        // By default, ext4 initializes tables after mounting, which would look like other
        // processes' writes.
        let at_once: &[&str] = match kind {
            "ext4" => &["-E", "lazy_itable_init=0,lazy_journal_init=0"],
            _ => &[],
        };
        run(&format!("mkfs.{kind}"), &[at_once, &["-q", node]].concat())?;
        let point = make(directory.path(), "mount");
        run("mount", &["-t", kind, "-o", options, node, text(&point)])?;
        let changed = RefCell::default();
        Ok(Mounted { point, loop_device, changed, _other: None, _directory: directory })
    }

    /// An overlay with its layers in `directory`, mounted with `options`.
    pub(crate) fn overlay(directory: TempDir, options: &str) -> Result<Mounted, String> {
        let layer = |name| make(directory.path(), name);
        let (lower, upper, work) = (layer("lower"), layer("upper"), layer("work"));
        let point = layer("mount");
        let options = format!(
            "{options},lowerdir={},upperdir={},workdir={}",
            lower.display(),
            upper.display(),
            work.display()
        );
        run("mount", &["-t", "overlay", "overlay", "-o", &options, text(&point)])?;
        let (loop_device, changed) = (None, RefCell::default());
        Ok(Mounted { point, loop_device, changed, _other: None, _directory: directory })
    }

    /// An overlay whose lower layer is the directory `lower`, with its other layers in `directory`.
    pub(crate) fn overlay_above(directory: TempDir, lower: &Path) -> Result<Mounted, String> {
        let layer = |name| make(directory.path(), name);
        let (upper, work, point) = (layer("upper"), layer("work"), layer("mount"));
        let layers = [("lowerdir", lower), ("upperdir", &upper), ("workdir", &work)];
        let options = layers.map(|(name, path)| format!("{name}={}", path.display())).join(",");
        run("mount", &["-t", "overlay", "overlay", "-o", &options, text(&point)])?;
        let (loop_device, changed) = (None, RefCell::default());
        Ok(Mounted { point, loop_device, changed, _other: None, _directory: directory })
    }

    /// An in-memory file system without a size.
    pub(crate) fn sizeless(directory: TempDir) -> Result<Mounted, String> {
        let point = make(directory.path(), "mount");
        run("mount", &["-t", "ramfs", "none", text(&point)])?;
        let (loop_device, changed) = (None, RefCell::default());
        Ok(Mounted { point, loop_device, changed, _other: None, _directory: directory })
    }

    /// A FUSE file system that mirrors a directory in `directory`, mounted with `options`.
    pub(crate) fn pass_through(directory: TempDir, options: &[&str]) -> Result<Mounted, String> {
        let (below, point) = (make(directory.path(), "below"), make(directory.path(), "mount"));
        run("bindfs", &[options, &[text(&below), text(&point)]].concat())?;
        let (loop_device, changed) = (None, RefCell::default());
        Ok(Mounted { point, loop_device, changed, _other: None, _directory: directory })
    }

    /// Unmounts it, changes its loop device by `change`, which gets the node, and mounts it again.
    pub(crate) fn again(
        &self,
        options: &str,
        change: impl FnOnce(&str) -> Result<String, String>,
    ) -> Result<(), String> {
        let node = format!("/dev/{}", self.loop_name());
        run("umount", &[text(&self.point)])?;
        change(&node)?;
        run("mount", &["-o", options, &node, text(&self.point)]).map(drop)
    }

    /// Sets the OS's view of its loop device's cache.
    pub(crate) fn write_cache(&self, kind: &str) -> Result<(), String> {
        self.queue("write_cache", kind)
    }

    /// Sets a queue property of its loop device until this is dropped: the OS would keep it for the
    /// device's next user.
    pub(crate) fn queue(&self, name: &str, value: &str) -> Result<(), String> {
        let path = PathBuf::from(format!("/sys/block/{}/queue/{name}", self.loop_name()));
        let failed = |error| format!("{}: {error}", path.display());
        let before = std::fs::read_to_string(&path).map_err(failed)?;
        std::fs::write(&path, value).map_err(failed)?;
        self.changed.borrow_mut().push((path, before));
        Ok(())
    }

    /// The name of its loop device.
    pub(crate) fn loop_name(&self) -> &str {
        let device = self.loop_device.as_ref().expect("it is on a loop device");
        device.node.strip_prefix("/dev/").expect("losetup answers a node in /dev")
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        for (path, before) in self.changed.get_mut().drain(..).rev() {
            if let Err(error) = std::fs::write(&path, before) {
                eprintln!("'{}' stays changed: {error}", path.display());
            }
        }
        if let Err(error) = run("umount", &["-l", text(&self.point)]) {
            eprintln!("'{}' stays mounted: {error}", self.point.display());
        }
    }
}

/// How to create a file system on a loop device.
pub(crate) struct Setup<'a> {
    /// Size of the image in bytes; it is sparse.
    pub(crate) size: u64,
    pub(crate) losetup: &'a [&'a str],
    /// Mount options.
    pub(crate) mount: &'a str,
}

/// Makes an ext4 on `own` with its journal on `journal`.
pub(crate) fn ext4_with_journal_on(own: &str, journal: &str) -> Result<String, String> {
    run("mke2fs", &["-q", "-O", "journal_dev", "-b", "4096", journal])?;
    let at_once = "lazy_itable_init=0,lazy_journal_init=0";
    let journal = format!("device={journal}");
    run("mkfs.ext4", &["-q", "-b", "4096", "-E", at_once, "-J", &journal, own])?;
    Ok("rw".to_string())
}

/// 48 MiB, with direct I/O to the image, and defaults otherwise.
pub(crate) const PLAIN: Setup = Setup { size: 48 << 20, losetup: &["--direct-io=on"], mount: "rw" };

/// Ways in which ext4 writes data to its journal first, without a mount option that says so: a
/// name, the mount options, and what changes the file system on this node.
pub(crate) type Journaled = (&'static str, &'static str, fn(&str) -> Result<String, String>);

/// The default mount options; the flag of the root directory (`chattr +j`), which new files have
/// from it, and which counts only without delayed allocation. `chattr` needs a capability that
/// containers lack.
pub(crate) const JOURNALED: [Journaled; 2] = [
    ("tune2fs -o journal_data", "rw", |node| run("tune2fs", &["-o", "journal_data", node])),
    ("chattr +j", "nodelalloc", flag_root),
];

/// Sets the flags of the root directory to extents and data in the journal.
pub(crate) fn flag_root(node: &str) -> Result<String, String> {
    run("debugfs", &["-w", "-R", "set_inode_field / flags 0x84000", node])
}

/// A loop device; detached when dropped.
pub(crate) struct LoopDevice {
    pub(crate) node: String,
}

impl LoopDevice {
    pub(crate) fn new(image: &Path, options: &[&str]) -> Result<LoopDevice, String> {
        let mut arguments = vec!["--find", "--show"];
        arguments.extend(options);
        arguments.push(text(image));
        Ok(LoopDevice { node: run("losetup", &arguments)? })
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        if let Err(error) = run("losetup", &["--detach", &self.node]) {
            eprintln!("{} stays: {error}", self.node);
        }
        // While another program looks at it, the OS detaches it when that closes it.
        let name = self.node.trim_start_matches("/dev/");
        let backing = PathBuf::from(format!("/sys/block/{name}/loop/backing_file"));
        for _ in 0..50 {
            if !backing.exists() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        eprintln!("{} stays while another program has it open", self.node);
    }
}

/// A compressed RAM disk; removed when dropped.
pub(crate) struct Zram {
    number: String,
}

impl Zram {
    /// A RAM disk of `size` bytes.
    pub(crate) fn new(size: u64) -> Result<Zram, String> {
        let control = "/sys/class/zram-control/hot_add";
        let number = std::fs::read_to_string(control).map_err(|e| format!("{control}: {e}"))?;
        let zram = Zram { number: number.trim().to_string() };
        let disksize = format!("/sys/block/zram{}/disksize", zram.number);
        std::fs::write(disksize, size.to_string()).map_err(|error| error.to_string())?;
        Ok(zram)
    }

    pub(crate) fn node(&self) -> String {
        format!("/dev/zram{}", self.number)
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        // The OS releases an unmounted device a moment later.
        for _ in 0..50 {
            if std::fs::write("/sys/class/zram-control/hot_remove", &self.number).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        eprintln!("zram{} stays", self.number);
    }
}

/// A version 1 control group; removed when dropped, once it has no members.
pub(crate) struct Group {
    directory: PathBuf,
}

impl Group {
    pub(crate) fn new(controller: &str, limit: (&str, &str)) -> Result<Group, String> {
        let parent = Path::new("/sys/fs/cgroup").join(controller);
        if !parent.join("cgroup.procs").exists() {
            return Err(format!("there is no control group '{controller}' of version 1"));
        }
        let directory = parent.join(format!("witness-test-{}", std::process::id()));
        std::fs::create_dir(&directory).map_err(|error| error.to_string())?;
        let group = Group { directory };
        group.write(limit.0, limit.1)?;
        Ok(group)
    }

    pub(crate) fn add(&self, pid: u32) -> Result<(), String> {
        self.write("cgroup.procs", &pid.to_string())
    }

    fn write(&self, name: &str, text: &str) -> Result<(), String> {
        std::fs::write(self.directory.join(name), text).map_err(|error| error.to_string())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Its members have ended, but the OS may need a moment to notice.
        for _ in 0..50 {
            if std::fs::remove_dir(&self.directory).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        eprintln!("'{}' stays", self.directory.display());
    }
}

fn make(directory: &Path, name: &str) -> PathBuf {
    let path = directory.join(name);
    std::fs::create_dir(&path).unwrap();
    path
}

fn text(path: &Path) -> &str {
    path.to_str().expect("temporary paths are text")
}
