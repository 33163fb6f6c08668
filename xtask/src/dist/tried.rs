//! Tries each package as a new user would: in a fresh root, without a network, up to the answer of
//! a survey.

use super::package::find;
use super::room::{self, DATA, RootFolder};
use super::{emulated, notices, sums};
use crate::arch::{self, Arch};
use crate::programs::lossy;
use crate::python;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;
use xshell::{Cmd, Shell, cmd};

/// A way to try something.
type Attempt = fn(&PackageTrial<'_>) -> Result<()>;

/// What is tried, and how.
const ATTEMPTS: [(&str, Attempt); 6] = [
    ("checksums", |trial| trial.checksums()),
    ("archive, in an empty root", |trial| trial.archive()),
    (".deb, in a fresh Debian", |trial| trial.deb()),
    (".rpm", |trial| trial.rpm()),
    ("wheel, in a fresh environment", |trial| trial.wheel()),
    ("archives for other processors, emulated", |trial| trial.others()),
];

/// Tries the packages in the folder `dist`. What surveys and inspections print is kept in `place`.
///
/// # Errors
/// If one of them does not do what it must.
pub(super) fn all(shell: &Shell, dist: &Path, place: &Path) -> Result<()> {
    shell.create_dir(place)?;
    let trial = PackageTrial { shell, dist, place, here: Arch::of_this_machine()? };
    for (name, run) in ATTEMPTS {
        println!("trying: {name}");
        run(&trial).with_context(|| format!("trying: {name}"))?;
    }
    println!("what they print is in {}", place.display());
    Ok(())
}

struct PackageTrial<'a> {
    shell: &'a Shell,
    dist: &'a Path,
    place: &'a Path,
    here: Arch,
}

impl PackageTrial<'_> {
    fn checksums(&self) -> Result<()> {
        let _there = self.shell.push_dir(self.dist);
        let name = sums::NAME;
        Ok(cmd!(self.shell, "sha256sum --check --quiet --strict {name}").quiet().run()?)
    }

    fn archive(&self) -> Result<()> {
        let room = RootFolder::empty(self.shell, &self.place.join("empty"))?;
        self.unpack(self.here, &room.folder)?;
        let has_notices = room.folder.join(notices::NAME).is_file();
        ensure!(has_notices, "the archive has no {}", notices::NAME);
        self.survey("archive", room.command(&["/ioassay", "survey", "--quick", DATA]))
    }

    fn deb(&self) -> Result<()> {
        for arch in arch::ALL {
            let file = find(self.dist, &[arch.debian(), ".deb"])?;
            // Remarks below a warning are guesses: it finds misspelled words across two texts.
            let options = ["--fail-on=error,warning", "--allow-root"];
            let said = cmd!(self.shell, "lintian {options...} {file}").quiet();
            self.keep(&format!("lintian-{}", arch.name()), said, 0)?;
        }
        let room = RootFolder::debian(self.shell, &self.place.join("debian"))?;
        let file = find(self.dist, &[self.here.debian(), ".deb"])?;
        self.shell.copy_file(file, room.folder.join("it.deb"))?;
        room.command(&["dpkg", "--install", "/it.deb"]).ignore_stdout().run()?;
        self.survey("deb", room.command(&["ioassay", "survey", "--quick", DATA]))?;
        self.keep("deb-files", room.command(&["dpkg", "--listfiles", "ioassay"]), 0)?;
        room.command(&["dpkg", "--purge", "ioassay"]).ignore_stdout().run()?;
        let left = room.command(&["find", "/usr", "/etc", "/var", "-name", "*ioassay*"]).read()?;
        ensure!(left.is_empty(), "removing the package leaves {left}");
        Ok(())
    }

    /// There is no root of such a system here, so it is only inspected.
    fn rpm(&self) -> Result<()> {
        for arch in arch::ALL {
            let file = find(self.dist, &[arch.name(), ".rpm"])?;
            let query =
                |what: &str| cmd!(self.shell, "rpm --query --package {what} {file}").quiet();
            self.keep(&format!("rpm-info-{}", arch.name()), query("--info"), 0)?;
            let files = self.keep(&format!("rpm-files-{}", arch.name()), query("--list"), 0)?;
            for file in [
                "/usr/bin/ioassay",
                "/usr/share/man/man1/ioassay-survey.1.gz",
                "/usr/share/licenses/ioassay/THIRD-PARTY",
            ] {
                ensure!(files.lines().any(|line| line == file), "it lacks {file}");
            }
            let needed = query("--requires").read()?;
            let needs_only_rpm = needed.lines().all(|line| line.starts_with("rpmlib("));
            ensure!(needs_only_rpm, "a static program needs nothing, but this needs {needed}");
        }
        Ok(())
    }

    fn wheel(&self) -> Result<()> {
        let environment = self.place.join("environment");
        python::create(&environment)?;
        let pip = environment.join("bin/python");
        let options = ["--quiet", "--no-index", "--disable-pip-version-check", "--find-links"];
        let install = room::offline(self.shell).arg(pip).args(["-m", "pip", "install"]);
        install.args(options).arg(self.dist).arg("ioassay").run()?;
        let data = self.place.join("data");
        self.shell.create_dir(&data)?;
        let ioassay = room::offline(self.shell).arg(environment.join("bin/ioassay"));
        let ioassay = ioassay.env("XDG_STATE_HOME", self.place.join("state"));
        self.survey("wheel", ioassay.args(["survey", "--quick"]).arg(data))
    }

    fn others(&self) -> Result<()> {
        for arch in arch::ALL.into_iter().filter(|arch| *arch != self.here) {
            let [folder, mount] =
                ["", "-rules"].map(|end| self.place.join(format!("{}{end}", arch.name())));
            self.shell.remove_path(&folder)?;
            self.shell.create_dir(&folder)?;
            self.shell.create_dir(&mount)?;
            self.unpack(arch, &folder)?;
            let ioassay = emulated::command(self.shell, arch, &mount)?;
            let ioassay = ioassay.arg(folder.join("ioassay"));
            let ioassay = ioassay.env("XDG_STATE_HOME", self.place.join("state"));
            self.survey(arch.name(), ioassay.args(["survey", "--quick"]).arg(folder))?;
        }
        Ok(())
    }

    /// Unpacks the archive for `arch` into `folder`.
    fn unpack(&self, arch: Arch, folder: &Path) -> Result<()> {
        let file = find(self.dist, &[&arch.target(), ".tar.gz"])?;
        let tar = ["--extract", "--strip-components=1", "--directory"];
        Ok(cmd!(self.shell, "tar {tar...} {folder} --file {file}").quiet().run()?)
    }

    /// Runs a survey and checks that it answers.
    fn survey(&self, name: &str, command: Cmd<'_>) -> Result<()> {
        // Status 1 means that a row is void: this machine may be busy.
        let said = self.keep(&format!("survey-{name}"), command, 1)?;
        for word in ["memory", "page cache", "storage", "verdict"] {
            ensure!(said.contains(word), "the survey says nothing of '{word}':\n{said}");
        }
        Ok(())
    }

    /// Runs `command`, which may end with a status up to `most`. Keeps and returns what it prints.
    fn keep(&self, name: &str, command: Cmd<'_>, most: i32) -> Result<String> {
        let output = command.ignore_status().output()?;
        let (said, errors) = (lossy(&output.stdout), lossy(&output.stderr));
        fs::write(self.place.join(name).with_extension("txt"), format!("{said}{errors}"))?;
        let is_good = output.status.code().is_some_and(|code| code <= most);
        ensure!(is_good, "{name} ended with {}: {said}{errors}", output.status);
        Ok(said)
    }
}
