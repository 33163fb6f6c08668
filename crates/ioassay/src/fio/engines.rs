//! fio's engines, and those of ioassay that make the same calls.

/// How an engine that ioassay has a counterpart for moves blocks.
#[derive(Debug)]
pub(super) struct EngineRow {
    /// Its names.
    names: &'static [&'static str],
    /// The engine that reads, and the one that writes.
    pub engines: (&'static str, &'static str),
    /// Whether it has several operations of a job in flight.
    pub queues: Queues,
    /// What ioassay does instead.
    pub instead: Option<&'static str>,
}

/// Whether an engine has several operations in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Queues {
    /// Always.
    Yes,
    /// Only past the page cache: otherwise the call that submits waits for the operation.
    IfDirect,
    /// Never.
    No,
}

const fn waits(
    names: &'static [&'static str],
    engines: (&'static str, &'static str),
    instead: Option<&'static str>,
) -> EngineRow {
    EngineRow { names, engines, queues: Queues::No, instead }
}

const ENGINES: &[EngineRow] = &[
    waits(&["psync"], ("pread", "pwrite"), None),
    waits(&["sync"], ("read", "write"), None),
    waits(&["mmap"], ("mmap", "mmap"), None),
    waits(
        &["pvsync", "pvsync2"],
        ("pread", "pwrite"),
        Some("ioassay calls pread or pwrite, without a vector of one block"),
    ),
    waits(
        &["vsync"],
        ("pread", "pwrite"),
        Some("fio gathers neighboring blocks in one call; ioassay makes a call for each"),
    ),
    waits(
        &["posixaio"],
        ("pread", "pwrite"),
        Some("ioassay calls pread or pwrite itself, where glibc hands each call to a thread"),
    ),
    EngineRow {
        names: &["io_uring"],
        engines: ("uring", "uring"),
        queues: Queues::Yes,
        instead: None,
    },
    EngineRow {
        names: &["libaio"],
        engines: ("uring", "uring"),
        queues: Queues::IfDirect,
        instead: Some(
            "ioassay has no libaio: io_uring keeps as many operations in flight, by other calls",
        ),
    },
    waits(
        &["null", "cpp_null"],
        ("null", "null"),
        Some(
            "the null engine moves nothing: fio's figure is fio's own overhead, ioassay's its own",
        ),
    ),
];

/// Engines for names of files, with ioassay's calls.
const NAMES: &[(&str, &str)] =
    &[("filecreate", "create"), ("filestat", "stat"), ("filedelete", "unlink")];

/// Why ioassay has no counterpart, and for which engines.
const REFUSED: &[(&str, &[&str])] = &[
    (
        "it moves bytes over a network, not to storage",
        &[
            "net",
            "netsplice",
            "rdma",
            "librpma_apm_client",
            "librpma_apm_server",
            "librpma_gpspm_client",
            "librpma_gpspm_server",
        ],
    ),
    (
        "it reaches its storage past the OS's files: mount the storage, and take an engine \
        for files",
        &[
            "rados",
            "rbd",
            "http",
            "gfapi",
            "gfapi_async",
            "libhdfs",
            "dfs",
            "nfs",
            "libiscsi",
            "nbd",
            "ime_psync",
            "ime_psyncv",
            "ime_aio",
        ],
    ),
    (
        "it sends commands to a device, and ioassay measures files",
        &["sg", "io_uring_cmd", "libzbc", "libblkio", "xnvme", "mtd"],
    ),
    (
        "it maps persistent memory by a library: take ioengine=mmap on a file system with DAX",
        &["dev-dax", "libpmem", "pmemblk"],
    ),
    ("it reads into the memory of a graphics processor", &["libcufile", "libhipfile"]),
    ("it uses processors and no storage: 'ioassay run memory' measures memory", &["cpuio"]),
    ("it starts a program: 'ioassay judge COMMAND' measures one", &["exec"]),
    ("it moves no bytes, and only changes where a file is", &["falloc", "ftruncate", "e4defrag"]),
    ("ioassay has no such call on names", &["dircreate", "dirdelete", "dirstat"]),
    ("it moves pages through a pipe: take psync", &["splice"]),
    ("it is not an engine of Linux", &["windowsaio", "solarisaio", "guasi"]),
];

/// What becomes of an engine.
#[derive(Debug)]
pub(super) enum EngineFate {
    /// It moves blocks.
    Moves(&'static EngineRow),
    /// It calls this for each name.
    Names(&'static str),
    /// ioassay has no counterpart.
    Refused(&'static str),
}

/// What becomes of the engine with this name.
pub(super) fn fate(name: &str) -> EngineFate {
    let name = name.strip_prefix("external:").map_or(name, |_| "external");
    if let Some(row) = ENGINES.iter().find(|row| row.names.contains(&name)) {
        return EngineFate::Moves(row);
    }
    if let Some((_, call)) = NAMES.iter().find(|(engine, _)| *engine == name) {
        return EngineFate::Names(call);
    }
    let refused = REFUSED.iter().find(|(_, names)| names.contains(&name));
    EngineFate::Refused(refused.map_or("ioassay does not know this engine", |(why, _)| *why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::case::{Call, Engine, WriteEngine};
    use std::process::Command;

    #[test]
    fn counterparts_are_engines_and_calls() {
        for row in ENGINES {
            let (reads, writes) = row.engines;
            assert!(reads.parse::<Engine>().is_ok() && writes.parse::<WriteEngine>().is_ok());
        }
        assert!(NAMES.iter().all(|(_, call)| call.parse::<Call>().is_ok()));
    }

    #[test]
    #[expect(clippy::print_stderr, reason = "a test that cannot run here says so")]
    fn each_engine_of_the_installed_fio_is_known() {
        let Ok(fio) = Command::new("fio").arg("--enghelp").output() else {
            eprintln!("skipped: the package fio is not installed");
            return;
        };
        let listed = String::from_utf8_lossy(&fio.stdout).into_owned();
        let names: Vec<&str> = listed.lines().skip(1).map(str::trim).collect();
        assert!(!names.is_empty(), "{listed}");
        for name in names {
            let fate = fate(name);
            let is_unknown = matches!(fate, EngineFate::Refused(why) if why.contains("not know"));
            assert!(!is_unknown, "{name}");
        }
    }
}
