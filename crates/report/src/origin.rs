//! Where and how a record was made, and how to repeat it.

use crate::document::Block;
use crate::frame;
use crate::words::{count, listed, or_none};
use assess::Assessment;
use model::evidence::Limit;
use model::host::{Device, Direct, FilePart, Fixture, Host, Storage};
use model::peer::Peer;
use model::record::Tool;
use model::setup::Setup;
use model::shell::quoted;
use model::units;

const METHOD: &str = "A round measures each case once, in random order. With one \
                      invocation a figure is the median of its rounds, and its 95 % \
                      interval is from their order, within this run. With several it is \
                      the median of the invocations' medians, and the interval is from one \
                      to the next. Cases are compared by the ratios of their rates in the \
                      same rounds: they are different if the 95 % interval excludes 1 and the \
                      effect is at least the least of interest, equivalent if the interval lies \
                      within that, and doubtful if a figure of either is, by more than how it \
                      varies from round to round. What served the bytes is told from what the \
                      OS counted around each trial, never from what was asked for. MB is 10⁶ \
                      bytes, and MiB is 2²⁰. The folder docs/method of ioassay has the rules, \
                      and where each comes from.";

/// The machine, the storage and the method.
pub(crate) fn origin(assessment: &Assessment) -> Vec<Block> {
    let storages = [
        ("Storage", &assessment.header.storage),
        ("Storage of the copied file", &assessment.header.source_storage),
    ];
    let mut blocks = titled("Host", Block::Facts(host(&assessment.header.host)));
    for (title, storage) in storages {
        let facts = storage.iter().map(|storage| Block::Facts(self::storage(storage, assessment)));
        blocks.extend(facts.flat_map(|facts| titled(title, facts)));
    }
    for storage in &assessment.header.further_storages {
        let facts = Block::Facts(self::storage(storage, assessment));
        blocks.extend(titled("Another storage of files of commands", facts));
    }
    let (files, peers) = (&assessment.header.fixtures, &assessment.header.peers);
    let files = (!files.is_empty()).then(|| Block::list_apart("Files", files.iter().map(fixture)));
    let peers = (!peers.is_empty())
        .then(|| Block::list_apart("Other programs that measured", peers.iter().map(peer)));
    blocks.extend(files.into_iter().chain(peers));
    blocks.extend(titled("Method", Block::Facts(method(assessment))));
    blocks.push(Block::plain(METHOD));
    blocks
}

/// A block below a heading.
fn titled(title: &str, block: Block) -> Vec<Block> {
    vec![Block::list_apart(title, [""; 0]), block]
}

fn host(host: &Host) -> Vec<(&'static str, String)> {
    let isas: Vec<String> = host.isas.iter().map(ToString::to_string).collect();
    let caches: Vec<String> = host.caches.iter().map(|bytes| units::bytes(*bytes)).collect();
    let known = |bytes: Option<u64>| bytes.map_or("not known".to_string(), units::bytes);
    let rounded = |bytes: Option<u64>| bytes.map_or("not known".to_string(), units::bytes_rounded);
    let mut said = vec![
        ("name", host.name.clone()),
        ("OS", host.os.clone()),
        ("processor", host.cpu.clone()),
        ("cores", host.cores.to_string()),
        ("instruction sets", listed(&isas)),
        ("data caches", listed(&caches)),
        ("last-level caches together", known(host.last_level_cache)),
        ("memory", rounded(host.memory)),
        ("available when it began", rounded(host.memory_available)),
        ("memory quota", host.memory_quota.map(units::bytes_rounded).unwrap_or_default()),
        ("page", units::bytes(host.page)),
        ("huge page", known(host.huge_page_bytes())),
        ("hypervisor", host.hypervisor.clone().unwrap_or("none reported".to_string())),
        ("clock", host.clock_source.clone().unwrap_or_default()),
        (
            "CPU quota",
            host.cpu_quota.map(|quota| format!("{quota} processors")).unwrap_or_default(),
        ),
    ];
    said.extend(setup(&host.setup));
    said
}

/// The known settings of the machine.
fn setup(setup: &Setup) -> Vec<(&'static str, String)> {
    let affected = setup.affected();
    let named = |what, names: &[&str]| {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        (!names.is_empty()).then(|| (what, listed(&names)))
    };
    let mut said = setup.facts();
    said.extend(named("mitigated", &affected.mitigated));
    said.extend(named("vulnerable", &affected.others));
    said.extend(setup.load.map(|load| ("load average when it began", load.to_string())));
    said
}

fn storage(storage: &Storage, assessment: &Assessment) -> Vec<(&'static str, String)> {
    let direct = match storage.direct {
        Direct::Refused => "refused".to_string(),
        Direct::Accepted { offset_align, bypasses } => {
            let passes = match bypasses {
                Some(true) => "bypasses the page cache",
                Some(false) => "uses the page cache all the same",
                None => "unknown whether it bypasses the page cache",
            };
            format!("in multiples of {}; {passes}", units::bytes(offset_align.into()))
        }
    };
    let probe =
        storage.residency_probe.map_or("none is reliable".to_string(), |probe| probe.to_string());
    let limit =
        |limit: &Limit| format!("{} {} a second of {}", limit.a_second, limit.what, limit.device);
    let limits: Vec<String> = storage.limits.iter().map(limit).collect();
    let unknown = if storage.is_raw() { "" } else { "not known" };
    let free = storage.room().map_or(unknown.to_string(), |(capacity, free)| {
        format!("{} of {}", units::bytes_rounded(free), units::bytes_rounded(capacity))
    });
    vec![
        ("where", frame::on(storage, assessment).join(" · ")),
        ("mounted at", storage.mount_point.display().to_string()),
        ("mount options", storage.mount_options.clone()),
        ("free", free),
        ("set up as", storage.devices.iter().map(set_up).collect::<Vec<_>>().join(" · ")),
        ("O_DIRECT", direct),
        ("page cache probed by", probe),
        ("files can be evicted", if storage.evictable { "yes" } else { "no" }.to_string()),
        ("limits", listed(&limits)),
    ]
}

/// `sda: scheduler none, nr_requests 1023, read-ahead 128KiB`.
fn set_up(device: &Device) -> String {
    let facts: Vec<String> =
        device.facts().into_iter().map(|(what, value)| format!("{what} {value}")).collect();
    format!("{}: {}", device.name, facts.join(", "))
}

/// `/data/zoo: 1.0 GiB, seed 1, 3 extents`.
fn fixture(file: &Fixture) -> String {
    let mut said = vec![units::bytes_rounded(file.size)];
    said.push(file.seed.map_or("your own, content unknown".into(), |seed| format!("seed {seed}")));
    if let Some(FilePart { offset, length }) = file.part {
        said.push(format!("{} from {} on", units::bytes(length), units::bytes(offset)));
    }
    if let Some(layout) = &file.layout {
        said.extend(layout.extents.map(|extents| count(extents as usize, "extent")));
        let unwritten = units::bytes_rounded(layout.unwritten);
        said.extend((layout.unwritten > 0).then(|| format!("{unwritten} never written")));
        let encoded = units::bytes_rounded(layout.encoded);
        said.extend(
            (layout.encoded > 0).then(|| format!("{encoded} compressed or inside metadata")),
        );
    }
    format!("{}: {}", file.path.display(), said.join(", "))
}

fn peer(peer: &Peer) -> String {
    match &peer.version {
        Some(version) => format!("{}: {version}", peer.name),
        None => peer.name.clone(),
    }
}

fn method(assessment: &Assessment) -> Vec<(&'static str, String)> {
    let overhead = assessment.overhead_ns.map(|ns| {
        format!("{} an operation, by the null engine in the same loop", units::nanoseconds(ns))
    });
    let mut facts = vec![
        ("recipe", assessment.header.plan.recipe.clone()),
        ("rounds", format!("up to {}", assessment.header.plan.rounds)),
        ("seed", assessment.header.plan.seed.to_string()),
        ("the tool's own cost", or_none(overhead)),
        (
            "made with",
            format!("{} {}", assessment.header.tool.name, assessment.header.tool.version),
        ),
    ];
    facts.extend(frame::repetition_in_detail(assessment));
    facts
}

/// The command that repeats the run.
pub(crate) fn again(assessment: &Assessment) -> Vec<Block> {
    match assessment.header.tool.command.is_empty() {
        true => Vec::new(),
        false => vec![Block::Code(repeating(assessment))],
    }
}

/// Options with a value that affect only the output.
const OF_OUTPUT: [&str; 7] =
    ["--record", "--html", "--openmetrics", "--svg", "--svg-dir", "--color", "--export-json"];

/// The same without a value.
const OF_OUTPUT_ALONE: [&str; 7] =
    ["--json", "--markdown", "--csv", "--keep", "--quiet", "-q", "--dry-run"];

/// What is after this are the words of a judged command.
const LAST: &str = "--";

/// Commands that measure and accept a seed.
const SEEDED: [&str; 2] = ["survey", "run"];

/// The shell command that repeats the run: without output options, and with the seed, which
/// determines the data and the orders.
pub(crate) fn repeating(assessment: &Assessment) -> String {
    let Tool { name, command, .. } = &assessment.header.tool;
    let mut words = vec![name.clone()];
    let mut given = command.iter().skip(1);
    while let Some(word) = given.next() {
        let option = word.split_once('=').map_or(word.as_str(), |(option, _)| option);
        match word {
            word if word == LAST => {
                words.push(word.clone());
                words.extend(given.by_ref().cloned());
            }
            _ if OF_OUTPUT_ALONE.contains(&option) => {}
            _ if OF_OUTPUT.contains(&option) => {
                if option == word {
                    given.next();
                }
            }
            word => words.push(word.clone()),
        }
    }
    let is_seeded = words.get(1).is_some_and(|command| SEEDED.contains(&command.as_str()));
    if is_seeded && !words.iter().any(|word| word == "--seed" || word.starts_with("--seed=")) {
        words.extend(["--seed".to_string(), assessment.header.plan.seed.to_string()]);
    }
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::zoo;

    fn check(command: &[&str], expected: &str) {
        let mut record = zoo::record();
        record.header.tool.command = command.iter().map(|word| word.to_string()).collect();
        assert_eq!(repeating(&assess::assess(&record)), expected);
    }

    #[test]
    fn a_run_is_made_again_with_its_seed_and_no_output() {
        check(
            &["/x/ioassay", "survey", "/my data", "--json"],
            "ioassay survey '/my data' --seed 1",
        );
        check(
            &["ioassay", "run", "zoo", "--record=a", "--html", "b", "--size", "1GiB", "--csv"],
            "ioassay run zoo --size 1GiB --seed 1",
        );
        check(
            &["ioassay", "--color", "never", "run", "z", "--seed", "7"],
            "ioassay run z --seed 7",
        );
        check(&["ioassay", "peers", "verify"], "ioassay peers verify");
        check(
            &["ioassay", "judge", "-q", "--export-json", "a.json", "--", "x", "-q", "--json"],
            "ioassay judge -- x -q --json",
        );
        check(&["ioassay", "run", "it's", "--record"], r"ioassay run 'it'\''s' --seed 1");
        check(&["ioassay", "run", "z", r"$'a\012b'"], r"ioassay run z $'a\012b' --seed 1");
        check(&[], "ioassay");
    }
}
