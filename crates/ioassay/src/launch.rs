//! Hosts, and the launchers that start a command on one: rows of `launchers.toml`, or of a user's
//! file in the same form.
//!
//! Most start a command on one host. Others (`srun`, `mpirun`) start it on all hosts at once; what
//! they start cannot be told apart by its pipes, so it connects back.

use crate::input;
use crate::nodelist;
use anyhow::{Context, Result, bail, ensure};
use model::units;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::process::Command;

/// The built-in table.
const TABLE: &str = include_str!("launchers.toml");

/// The placeholder of a host's name in a prefix.
const HOST: &str = "{host}";

/// The placeholders of all hosts' names, separated by commas, and of their number.
const HOSTS: &str = "{hosts}";
const COUNT: &str = "{count}";

/// What `--hosts` calls the hosts of Slurm's allocation.
const ALLOCATION: &str = "slurm";

/// The variables in which Slurm names the hosts of an allocation; the second is for old versions.
const NODELISTS: [&str; 2] = ["SLURM_JOB_NODELIST", "SLURM_NODELIST"];

/// The variables in which Slurm, Open MPI and MPICH number the tasks that they start together.
const TASK_NUMBERS: [&str; 3] = ["SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"];

/// The maximum size of a table or of a list of hosts.
const TEXT_BYTES_MAX: u64 = 1 << 20;

/// The maximum length of a host's name: that of DNS, with room for a user (`user@host`).
const NAME_BYTES_MAX: usize = 320;

/// The maximum number of hosts.
const HOSTS_MAX: usize = 10_000;

/// A table in its file form.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LauncherTable {
    launcher: Vec<Launcher>,
}

/// A way to start a command on hosts.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launcher {
    name: String,
    /// The words before a command for one host.
    prefix: Option<Vec<String>>,
    /// The words before a command for all hosts.
    all: Option<Vec<String>>,
    #[serde(default)]
    shell: bool,
    #[serde(default)]
    token: TokenBy,
    /// Where the hosts come from, unless the user names them.
    hosts: Option<HostSource>,
}

/// The environment variable with the token of agents that connect back.
pub const TOKEN_VARIABLE: &str = "IOASSAY_TOKEN";

/// How agents that connect back get their token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenBy {
    /// By the environment, which the launcher carries to all hosts.
    #[default]
    Environment,
    /// By a file that only its owner can read, in a folder that all hosts share.
    File,
}

/// Who knows hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum HostSource {
    Slurm,
}

impl Launcher {
    /// The launcher `name` of the built-in table or, if given, of the user's table `own`.
    ///
    /// # Errors
    /// If a table is broken, two launchers have the same name, or none has this one.
    pub fn load(name: &str, own: Option<&Path>) -> Result<Launcher> {
        let mut launchers = parse(TABLE).context("the built-in table of launchers")?;
        if let Some(path) = own {
            let text = input::text(path, TEXT_BYTES_MAX)
                .with_context(|| format!("failed to read the launchers of '{}'", path.display()))?;
            launchers.extend(parse(&text).with_context(|| {
                format!("the table of launchers '{}' is broken", path.display())
            })?);
        }
        let mut names = BTreeSet::new();
        if let Some(twice) = launchers.iter().find(|launcher| !names.insert(&launcher.name)) {
            bail!("two launchers have the name '{}'", twice.name);
        }
        let known: Vec<&str> = launchers.iter().map(|launcher| launcher.name.as_str()).collect();
        match launchers.iter().find(|launcher| launcher.name == name) {
            Some(launcher) => Ok(launcher.clone()),
            None => Err(units::unknown_name("launcher", name, &known).into()),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it starts commands on this machine.
    pub fn is_here(&self) -> bool {
        self.prefix.as_ref().is_some_and(Vec::is_empty)
    }

    /// Whether one command starts all agents.
    pub fn starts_all(&self) -> bool {
        self.all.is_some()
    }

    /// How agents that connect back get their token.
    pub fn token_by(&self) -> TokenBy {
        self.token
    }

    /// Whether its hosts are those of an allocation, unless the user names others.
    pub fn knows_hosts(&self) -> bool {
        self.hosts == Some(HostSource::Slurm)
    }

    /// The command that runs `program` with `words` on `host`. No shell interprets a word.
    pub fn command(&self, host: &HostName, program: &OsStr, words: &[OsString]) -> Command {
        let prefix = self.prefix.iter().flatten().map(|word| word.replace(HOST, &host.0));
        self.with(prefix, program, words)
    }

    /// The command that runs `program` with `words` on all `hosts`. No shell interprets a word.
    pub fn command_for_all(&self, hosts: &Hosts, program: &OsStr, words: &[OsString]) -> Command {
        let names: Vec<&str> = hosts.all().iter().map(HostName::name).collect();
        let (names, count) = (names.join(","), hosts.all().len().to_string());
        let filled = |word: &String| word.replace(HOSTS, &names).replace(COUNT, &count);
        self.with(self.all.iter().flatten().map(filled), program, words)
    }

    /// The command after a prefix.
    fn with(
        &self,
        prefix: impl Iterator<Item = String>,
        program: &OsStr,
        words: &[OsString],
    ) -> Command {
        let own = std::iter::once(program).chain(words.iter().map(OsString::as_os_str));
        let mut all: Vec<OsString> = prefix.map(OsString::from).collect();
        if self.shell {
            all.push(quoted(own));
        } else {
            all.extend(own.map(OsStr::to_os_string));
        }
        let (first, rest) = all.split_first().expect("the program is one of the words");
        let mut command = Command::new(first);
        command.args(rest);
        command
    }
}

/// The launchers of a table.
fn parse(text: &str) -> Result<Vec<Launcher>> {
    let table: LauncherTable = toml::from_str(text)?;
    table.launcher.iter().try_for_each(check)?;
    Ok(table.launcher)
}

/// Whether a row is a launcher.
fn check(row: &Launcher) -> Result<()> {
    let Launcher { name, prefix, all, shell, token, hosts } = row;
    ensure!(!name.is_empty(), "a launcher has no name");
    let (words, is_here) = match (prefix, all) {
        (Some(prefix), None) => (prefix, prefix.is_empty()),
        (None, Some(all)) => (all, false),
        (Some(_), Some(_)) => {
            bail!("the launcher '{name}' has both 'prefix', for each host, and 'all', for all")
        }
        (None, None) => bail!("the launcher '{name}' has neither 'prefix' nor 'all'"),
    };
    let is_started = words.first().is_some_and(|word| !word.is_empty());
    ensure!(is_here || is_started, "the launcher '{name}' starts no program");
    ensure!(is_started || !shell, "the launcher '{name}' has a shell but no prefix");
    let is_of_all = *token != TokenBy::default() || hosts.is_some();
    ensure!(
        all.is_some() || !is_of_all,
        "the launcher '{name}' has 'token' or 'hosts', which go with 'all' only"
    );
    Ok(())
}

/// One line for a POSIX shell, in which each word stands for itself: between single quotes, only a
/// single quote has a meaning.
fn quoted<'a>(words: impl Iterator<Item = &'a OsStr>) -> OsString {
    let mut line = Vec::new();
    for word in words {
        if !line.is_empty() {
            line.push(b' ');
        }
        line.push(b'\'');
        for &byte in word.as_bytes() {
            match byte {
                b'\'' => line.extend(br"'\''"),
                _ => line.push(byte),
            }
        }
        line.push(b'\'');
    }
    OsString::from_vec(line)
}

/// The name of a host, as its launcher knows it. No program takes it for an option.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostName(String);

impl HostName {
    fn new(name: &str) -> Result<HostName> {
        ensure!(!name.is_empty(), "a host has no name");
        ensure!(
            name.len() <= NAME_BYTES_MAX,
            "a host's name is longer than {NAME_BYTES_MAX} bytes"
        );
        ensure!(!name.starts_with('-'), "the host '{name}' begins with '-', like an option");
        let is_bad = |c: char| c.is_whitespace() || c.is_control();
        ensure!(!name.contains(is_bad), "the host {name:?} contains a space or control character");
        Ok(HostName(name.to_string()))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0
    }
}

/// One or more hosts, each once, in the order given.
#[derive(Debug)]
pub struct Hosts(Vec<HostName>);

impl Hosts {
    /// The hosts of `a,b,c` or `n[1-4]`, of `@FILE`: one of these a line, with comments after `#`,
    /// or of `slurm`: those of the allocation in which this program runs.
    ///
    /// # Errors
    /// If the file cannot be read, there is no allocation, a name is invalid or there twice, or
    /// there is no host.
    pub fn load(given: &str) -> Result<Hosts> {
        if given == ALLOCATION {
            return Hosts::of_allocation();
        }
        let Some(path) = given.strip_prefix('@') else {
            ensure!(!given.trim().is_empty(), "there is no host");
            return Hosts::new(&expanded(given)?);
        };
        let text = input::text(Path::new(path), TEXT_BYTES_MAX)
            .with_context(|| format!("failed to read the hosts of '{path}'"))?;
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        let names: Result<Vec<Vec<String>>> =
            lines.filter(|line| !line.is_empty()).map(expanded).collect();
        names
            .and_then(|names| Hosts::new(&names.concat()))
            .with_context(|| format!("the list of hosts '{path}' is broken"))
    }

    /// The hosts of Slurm's allocation.
    ///
    /// # Errors
    /// If there is none.
    pub fn of_allocation() -> Result<Hosts> {
        let list = NODELISTS.iter().find_map(|name| std::env::var(name).ok());
        let list = list.filter(|list| !list.is_empty()).with_context(|| {
            format!(
                "there is no allocation of Slurm ({} is not set): start this in a job, with sbatch \
                 or salloc, or name hosts with --hosts a,b",
                NODELISTS[0]
            )
        })?;
        let names = nodelist::expand(&list, HOSTS_MAX)
            .with_context(|| format!("the hosts of Slurm's allocation, '{list}', are unknown"))?;
        Hosts::new(&names)
    }

    fn new(names: &[String]) -> Result<Hosts> {
        let hosts: Vec<HostName> =
            names.iter().map(|name| HostName::new(name)).collect::<Result<_>>()?;
        ensure!(!hosts.is_empty(), "there is no host");
        ensure!(hosts.len() <= HOSTS_MAX, "there are more than {HOSTS_MAX} hosts");
        let mut known = BTreeSet::new();
        if let Some(twice) = hosts.iter().find(|host| !known.insert(*host)) {
            // Lists of tasks, such as those of PBS, name a host once for each.
            bail!(
                "the host '{}' is there twice: name it once, because one agent measures a host, \
                 with as many threads as --threads says",
                twice.0
            );
        }
        Ok(Hosts(hosts))
    }

    /// The hosts, in the order given.
    pub fn all(&self) -> &[HostName] {
        &self.0
    }
}

/// The names of a list, in which brackets mean what they mean to Slurm. No host's name has one.
fn expanded(given: &str) -> Result<Vec<String>> {
    if !given.contains('[') {
        return Ok(given.split(',').map(|name| name.trim().to_owned()).collect());
    }
    let names = nodelist::expand(given, HOSTS_MAX)
        .with_context(|| format!("'{given}' is no list of hosts"))?;
    Ok(names.iter().map(|name| name.trim().to_owned()).collect())
}

/// Checks that this program, which is about to lead hosts, is the first of the tasks that a
/// launcher started, if it is one: each of them would start agents, and measure beside the others.
/// `variable` is the environment.
///
/// # Errors
/// If it is another one.
pub fn check_is_first(variable: impl Fn(&str) -> Option<String>) -> Result<()> {
    let numbered = TASK_NUMBERS.iter().filter_map(|name| Some((name, variable(name)?)));
    let mut others = numbered.filter(|(_, number)| number.parse().is_ok_and(|it: u64| it > 0));
    let Some((name, number)) = others.next() else { return Ok(()) };
    bail!(
        "{name}={number} says that this is one of several tasks that were started together, and \
         only the first of them leads the hosts: start ioassay once, without srun or mpirun; it \
         starts an agent on each host itself, and --threads says with how many threads each \
         measures"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn own(text: &str) -> Launcher {
        parse(text).expect("the table is whole").remove(0)
    }

    fn words_of(command: &Command) -> Vec<String> {
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        words.map(|word| word.to_string_lossy().into_owned()).collect()
    }

    fn started(launcher: &str) -> String {
        let launcher = Launcher::load(launcher, None).unwrap();
        let words = ["a b".into(), "{host}".into()];
        words_of(&launcher.command(&HostName::new("h1").unwrap(), OsStr::new("x"), &words))
            .join("|")
    }

    #[test]
    fn a_built_in_launcher_adds_only_its_prefix() {
        let ssh = "ssh|-o|BatchMode=yes|-o|ConnectTimeout=10|--|h1|'x' 'a b' '{host}'";
        assert_eq!(started("ssh"), ssh);
        assert_eq!(started("kubectl"), "kubectl|exec|-i|h1|--|x|a b|{host}");
        assert_eq!(started("here"), "x|a b|{host}");
    }

    #[test]
    fn one_command_for_all_names_them_all() {
        let hosts = Hosts::load("h1,h2").unwrap();
        let started = |launcher: &Launcher| {
            let words = ["a b".into(), "{hosts}".into()];
            words_of(&launcher.command_for_all(&hosts, OsStr::new("x"), &words)).join("|")
        };
        let srun = Launcher::load("srun", None).unwrap();
        let text = started(&srun);
        assert!(text.starts_with("srun|--nodes=2|--ntasks=2|"), "{text}");
        assert!(text.contains("|--nodelist=h1,h2|") && text.ends_with("|x|a b|{hosts}"), "{text}");
        assert!(srun.starts_all() && srun.knows_hosts() && !srun.is_here());
        let mpirun = Launcher::load("mpirun", None).unwrap();
        let text = started(&mpirun);
        assert!(text.starts_with("mpirun|-np|2|--host|h1,h2|"), "{text}");
        assert!(mpirun.starts_all() && !mpirun.knows_hosts());
        let pdsh = own("[[launcher]]\nname='p'\nall=['pdsh','-w','{hosts}']\nshell=true");
        assert_eq!(started(&pdsh), "pdsh|-w|h1,h2|'x' 'a b' '{hosts}'");
    }

    #[test]
    fn an_own_launcher_knows_the_host() {
        let launcher = own("[[launcher]]\nname = 'e'\nprefix = ['env', 'HOST={host}']");
        let words = ["-c".into(), "printf %s \"$HOST\"".into()];
        let mut command =
            launcher.command(&HostName::new("h$1").unwrap(), OsStr::new("sh"), &words);
        assert_eq!(command.output().unwrap().stdout, b"h$1");
    }

    #[test]
    fn an_unknown_or_broken_launcher_is_refused() {
        let error = Launcher::load("kubctl", None).unwrap_err().to_string();
        assert!(error.contains("unknown launcher 'kubctl' (did you mean 'kubectl'?)"), "{error}");
        let refused = |text: &str| parse(text).unwrap_err().to_string();
        let text = "[[launcher]]\nname = 'e'\nprefix = []\nshell = true";
        assert_eq!(refused(text), "the launcher 'e' has a shell but no prefix");
        let text = "[[launcher]]\nname = 'e'\nprefix = ['']";
        assert_eq!(refused(text), "the launcher 'e' starts no program");
        let text = "[[launcher]]\nname = 'e'\nall = []";
        assert_eq!(refused(text), "the launcher 'e' starts no program");
        let text = "[[launcher]]\nname = 'e'";
        assert_eq!(refused(text), "the launcher 'e' has neither 'prefix' nor 'all'");
        let both = refused("[[launcher]]\nname = 'e'\nall = ['x']\nprefix = ['x']");
        assert!(both.contains("has both"), "{both}");
        let wrong = refused("[[launcher]]\nname = 'e'\nprefix = ['x']\ntoken = 'file'");
        assert!(wrong.contains("go with 'all' only"), "{wrong}");
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "[[launcher]]\nname = 'ssh'\nprefix = ['false']").unwrap();
        let error = Launcher::load("ssh", Some(file.path())).unwrap_err().to_string();
        assert_eq!(error, "two launchers have the name 'ssh'");
    }

    #[test]
    fn hosts_keep_their_order_and_bad_ones_are_refused() {
        let names = |given: &str| -> Vec<String> {
            Hosts::load(given).unwrap().all().iter().map(|host| host.name().to_string()).collect()
        };
        assert_eq!(names("b, a,n1-3"), ["b", "a", "n1-3"]);
        assert_eq!(names("n[08-10,2], a"), ["n08", "n09", "n10", "n2", "a"]);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "# all\nb\n\n a # the first\nn[1-2]").unwrap();
        assert_eq!(names(&format!("@{}", file.path().display())), ["b", "a", "n1", "n2"]);
        let refused = |given: &str| Hosts::load(given).unwrap_err().to_string();
        assert_eq!(refused(""), "there is no host");
        assert_eq!(refused("a,,b"), "a host has no name");
        assert_eq!(refused("n[2-1]"), "'n[2-1]' is no list of hosts");
        let twice = refused("a,b,a");
        assert!(twice.starts_with("the host 'a' is there twice: name it once"), "{twice}");
        assert!(twice.ends_with("as many threads as --threads says"), "{twice}");
        // As the file of PBS, which names a host once for each task.
        std::fs::write(file.path(), "a\na\n").unwrap();
        let error = Hosts::load(&format!("@{}", file.path().display())).unwrap_err();
        assert_eq!(error.root_cause().to_string(), twice);
        let option = "the host '-oProxyCommand=x' begins with '-', like an option";
        assert_eq!(refused("a,-oProxyCommand=x"), option);
        assert_eq!(refused("a b"), "the host \"a b\" contains a space or control character");
        assert_eq!(refused("@/nowhere/x"), "failed to read the hosts of '/nowhere/x'");
    }

    #[test]
    fn only_the_first_of_several_tasks_leads_hosts() {
        let checked = |pairs: &[(&str, &str)]| {
            let variable = |name: &str| {
                pairs.iter().find(|(it, _)| *it == name).map(|(_, value)| (*value).to_owned())
            };
            check_is_first(variable).map_err(|error| error.to_string())
        };
        // None at all, a script of sbatch, and the terminal of `srun --ntasks=4 --pty`.
        assert_eq!(checked(&[]), Ok(()));
        assert_eq!(checked(&[("SLURM_PROCID", "0"), ("SLURM_STEP_NUM_TASKS", "4")]), Ok(()));
        assert_eq!(checked(&[("PMI_RANK", "none")]), Ok(()));
        for name in TASK_NUMBERS {
            let error = checked(&[(name, "3")]).unwrap_err();
            assert!(error.starts_with(&format!("{name}=3 says")), "{error}");
            assert!(error.contains("start ioassay once, without srun or mpirun"), "{error}");
        }
        // mpirun within a script of sbatch.
        let both = checked(&[("SLURM_PROCID", "0"), ("OMPI_COMM_WORLD_RANK", "1")]);
        assert!(both.unwrap_err().starts_with("OMPI_COMM_WORLD_RANK=1"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_shell_gives_back_each_word_as_it_was(
            given in prop::collection::vec(r"[ a-z'`$()\\*;&|<>!#{}\n\t-]{0,9}|\$\(exit 7\)", 1..5),
        ) {
            let launcher = own("[[launcher]]\nname='s'\nprefix=['sh','-c']\nshell=true");
            let mut words = vec![OsString::from(r"%s\0")];
            words.extend(given.iter().map(OsString::from));
            let host = HostName::new("h").unwrap();
            let output = launcher.command(&host, OsStr::new("printf"), &words).output().unwrap();
            let expected: String = given.iter().map(|word| format!("{word}\0")).collect();
            prop_assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
            prop_assert!(output.status.success());
        }
    }
}
