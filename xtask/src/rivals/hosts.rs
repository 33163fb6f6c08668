//! Hosts of one machine: each has its own disk at the common directory, and its own limits.

use crate::fixture::{Mounted, PLAIN, Setup};
use crate::limit::{Group, PlantedLimit};
use crate::stage::Experiment;
use crate::unable::Unable;
use anyhow::Result;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// What each host may read and write a second, in MiB: the last one is slow.
pub(super) const LIMITS_MIB: [u64; 3] = [60, 60, 15];

/// A host. The order of the fields is the order in which they end.
struct RivalHost {
    name: String,
    _group: Group,
    disk: Mounted,
}

/// All hosts, and how a command is started on one.
pub(super) struct RivalHosts {
    all: Vec<RivalHost>,
    /// The directory that each sees as its own disk.
    pub(super) common: PathBuf,
    /// The folder of the programs that start a command on a host, each with the host's name.
    doors: PathBuf,
}

/// Runs its further words in a mount namespace of their own, in which the directory `$1` is `$0`.
const ENTER: &str = r#"mount --bind "$0" "$1" && cd "$1" && shift && exec "$@""#;

impl RivalHosts {
    /// Sets up hosts with disks of `bytes` each.
    ///
    /// # Errors
    /// Why this machine cannot have them.
    pub(super) fn new(stage: &Experiment, bytes: u64) -> Result<RivalHosts> {
        let (common, doors) = (stage.path("common"), stage.path("hosts"));
        fs::create_dir(&common)?;
        fs::create_dir(&doors)?;
        let mut hosts = RivalHosts { all: Vec::new(), common, doors };
        for (place, mib) in LIMITS_MIB.into_iter().enumerate() {
            let host = hosts.set_up(format!("h{}", place + 1), mib << 20, bytes, stage)?;
            hosts.all.push(host);
        }
        Ok(hosts)
    }

    fn set_up(&self, name: String, rate: u64, bytes: u64, stage: &Experiment) -> Result<RivalHost> {
        let folder = TempDir::new_in(stage.folder())?;
        let setup = Setup { size: bytes, ..PLAIN };
        let disk = Mounted::on_loop(folder, "ext4", &setup).map_err(Unable::error)?;
        let limits = [PlantedLimit::ReadBytes(rate), PlantedLimit::WriteBytes(rate)];
        let group = Group::new(&limits, Some(disk.loop_name()))?;
        self.write_door(&name, &group, &disk.point, stage)?;
        Ok(RivalHost { name, _group: group, disk })
    }

    /// Writes the program that runs its arguments on a host.
    fn write_door(
        &self,
        name: &str,
        group: &Group,
        point: &Path,
        stage: &Experiment,
    ) -> Result<()> {
        let (point, common) = (point.display().to_string(), self.common.display().to_string());
        let mut words = group.enter();
        words.extend(["unshare", "--mount", "--propagation", "private"].map(str::to_owned));
        words.extend(["sh", "-c", ENTER, &point, &common].map(str::to_owned));
        let quoted = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
        stage.script(&format!("hosts/{name}"), &format!("exec {quoted} \"$@\""))
    }

    /// The hosts' names.
    pub(super) fn names(&self) -> Vec<&str> {
        self.all.iter().map(|host| host.name.as_str()).collect()
    }

    /// The mount point of each host's disk, as seen without entering the host.
    pub(super) fn points(&self) -> impl Iterator<Item = &Path> {
        self.all.iter().map(|host| host.disk.point.as_path())
    }

    /// A command that starts `program` on the host of this name.
    pub(super) fn on(&self, name: &str, program: &str) -> Command {
        let mut command = Command::new(self.doors.join(name));
        command.arg(program);
        command
    }

    /// A table with a launcher of ioassay that starts agents on these hosts.
    pub(super) fn launcher(&self, name: &str) -> String {
        let door = self.doors.join("{host}").display().to_string();
        format!("[[launcher]]\nname = \"{name}\"\nprefix = [\"{door}\"]\n")
    }

    /// A command for a shell that runs its arguments on the host whose turn the MPI rank is.
    pub(super) fn by_rank(&self) -> String {
        let doors = self.doors.display();
        format!("exec '{doors}'/h$((OMPI_COMM_WORLD_RANK + 1)) \"$@\"")
    }
}
