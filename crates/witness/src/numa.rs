//! Which NUMA nodes hold a process's pages.

use crate::cpus::parse_cpus;
use crate::root::Root;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::LazyLock;

/// Maximum bytes read about a process's mappings: enough for tens of thousands of them.
const TEXT_MOST: u64 = 4 << 20;

/// Bytes on each node of a process's private memory and its mappings of `file`. `None` without
/// reading anything if there is only one node; also `None` if the OS does not report it.
///
/// Omits programs, libraries and unmapped page cache: no counter shows the node of those pages.
pub(crate) fn node_bytes(pid: u32, file: Option<&File>) -> Option<BTreeMap<u32, u64>> {
    static HAS_SEVERAL: LazyLock<bool> = LazyLock::new(|| has_several(&Root::machine()));
    if !*HAS_SEVERAL {
        return None;
    }
    let mut text = String::new();
    let maps = File::open(format!("/proc/{pid}/numa_maps")).ok()?;
    maps.take(TEXT_MOST).read_to_string(&mut text).ok()?;
    let name = file.and_then(|file| std::fs::read_link(crate::error::descriptor_path(file)).ok());
    Some(parse(&text, name.as_deref())).filter(|bytes| !bytes.is_empty())
}

/// Whether more than one node has memory.
fn has_several(root: &Root) -> bool {
    let nodes = std::fs::read_to_string(root.at("/sys/devices/system/node/has_memory"));
    nodes.ok().and_then(|list| parse_cpus(&list)).is_some_and(|nodes| nodes.len() > 1)
}

/// Parses `numa_maps`: one line per mapping, with pages per node as in `N0=12`.
fn parse(text: &str, file: Option<&Path>) -> BTreeMap<u32, u64> {
    let file = file.map(|path| format!("file={}", escaped(&path.to_string_lossy())));
    let mut bytes = BTreeMap::new();
    for line in text.lines() {
        let words = || line.split_ascii_whitespace();
        let of_file = words().find(|word| word.starts_with("file="));
        if of_file.is_some_and(|word| Some(word) != file.as_deref()) {
            continue;
        }
        let number = |name: &str| words().find_map(|word| word.strip_prefix(name)?.parse().ok());
        let page: u64 = number("kernelpagesize_kB=").unwrap_or(4) << 10;
        for word in words().filter_map(|word| word.strip_prefix('N')) {
            let Some((node, pages)) = word.split_once('=') else { continue };
            let (Ok(node), Ok(pages)) = (node.parse(), pages.parse::<u64>()) else { continue };
            *bytes.entry(node).or_default() += pages.saturating_mul(page);
        }
    }
    bytes
}

/// A path as the OS escapes it in `numa_maps`.
fn escaped(path: &str) -> String {
    let of = |letter: char| match letter {
        ' ' | '\t' | '\n' | '=' => format!("\\{:03o}", u32::from(letter)),
        other => other.to_string(),
    };
    path.chars().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55d0 default file=/usr/bin/ioassay mapped=300 active=0 N0=300 kernelpagesize_kB=4
55d9 default heap anon=5 dirty=5 active=0 N0=4 N1=1 kernelpagesize_kB=4
7f00 default anon=1024 dirty=1024 active=0 N1=1024 kernelpagesize_kB=4
7f50 default huge anon=3 dirty=3 N0=2 N1=1 kernelpagesize_kB=2048
7f90 default file=/data/#12\\040(deleted) mapped=10 N0=3 N1=7 kernelpagesize_kB=4
7fa0 default file=/usr/lib/libc.so.6 mapped=90 N1=90 kernelpagesize_kB=4
7ff0 prefer:1 stack anon=2 dirty=2 N9=x NaN kernelpagesize_kB=4
";

    #[test]
    fn pages_of_a_process_and_of_its_file_are_counted_by_node() {
        let huge = 2 << 20;
        let own = [(0, 4 * 4096 + 2 * huge), (1, 1025 * 4096 + huge)];
        assert_eq!(parse(MAPS, None), BTreeMap::from(own));
        let with_file = [(0, 7 * 4096 + 2 * huge), (1, 1032 * 4096 + huge)];
        let file = Path::new("/data/#12 (deleted)");
        assert_eq!(parse(MAPS, Some(file)), BTreeMap::from(with_file));
        assert_eq!(parse("", None), BTreeMap::new());
    }

    #[test]
    fn nothing_is_asked_where_there_is_one_node() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::of(tree.path());
        assert!(!has_several(&root), "no node is told of");
        let nodes = tree.path().join("sys/devices/system/node");
        std::fs::create_dir_all(&nodes).unwrap();
        for (list, several) in [("0\n", false), ("0-1\n", true), ("0,2\n", true), ("\n", false)] {
            std::fs::write(nodes.join("has_memory"), list).unwrap();
            assert_eq!(has_several(&root), several, "{list}");
        }
    }
}
