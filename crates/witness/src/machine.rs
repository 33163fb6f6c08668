//! Machine-wide counters: CPU time, pressure, dirty pages, cached names.

/// The OS's memory statistics.
pub(crate) const MEMINFO: &str = "/proc/meminfo";

/// The state of the OS's cache of names (dentries).
pub(crate) const NAMES: &str = "/proc/sys/fs/dentry-state";

/// Values from the first line of `/proc/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcStat {
    pub(crate) steal_ticks: u64,
    pub(crate) all_ticks: u64,
}

/// Parses `cpu user nice system idle iowait irq softirq steal guest guest_nice`. Guest time is
/// included in user and nice.
pub(crate) fn parse_machine(text: &str) -> Option<ProcStat> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Option<Vec<u64>> =
        line.split_ascii_whitespace().take(8).map(|field| field.parse().ok()).collect();
    let ticks = ticks.filter(|ticks| ticks.len() == 8)?;
    Some(ProcStat { steal_ticks: ticks[7], all_ticks: ticks.iter().sum() })
}

/// The total of the line that starts with `some`, in microseconds.
pub(crate) fn parse_pressure(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    line.split(' ').find_map(|field| field.strip_prefix("total=")?.parse().ok())
}

/// Bytes that are dirty or being written back, from [`MEMINFO`].
pub(crate) fn parse_dirty(meminfo: &str) -> Option<u64> {
    let [dirty, writeback] = ["Dirty", "Writeback"].map(|name| parse_kilobytes(meminfo, name));
    dirty?.checked_add(writeback?)
}

/// Bytes that may be dirty before the OS throttles writers to the device's speed, from
/// `/proc/vmstat`. It starts to slow them down halfway above `nr_dirty_background_threshold`.
pub(crate) fn parse_dirty_limit(vmstat: &str, page: u64) -> Option<u64> {
    let name = "nr_dirty_threshold ";
    let pages = vmstat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    u64::checked_mul(pages?, page)
}

/// Bytes swapped in or out since boot, from `/proc/vmstat`.
pub(crate) fn parse_swapped(vmstat: &str, page: u64) -> Option<u64> {
    let pages = |name: &str| -> Option<u64> {
        vmstat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
    };
    pages("pswpin ")?.checked_add(pages("pswpout ")?)?.checked_mul(page)
}

/// The number of names in the cache, of all file systems: the first of [`NAMES`]. The others say
/// how many of them are unused.
pub(crate) fn parse_names(state: &str) -> Option<u64> {
    state.split_ascii_whitespace().next()?.parse().ok()
}

/// Bytes from a line like `Dirty:   224 kB`, in units of 1024 bytes.
pub(crate) fn parse_kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The first value of `name` in `/proc/cpuinfo`.
pub(crate) fn cpuinfo_value<'a>(cpuinfo: &'a str, name: &str) -> Option<&'a str> {
    cpuinfo.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        (found.trim() == name).then(|| value.trim())
    })
}

/// Bytes of anonymous memory in huge pages. Slow: the OS walks the page tables.
pub(crate) fn huge_bytes(pid: u32) -> Option<u64> {
    let smaps = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    parse_kilobytes(&smaps, "AnonHugePages")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_the_eighth_field_and_guests_are_not_counted_twice() {
        let stat = "cpu  100 1 50 800 20 3 4 22 70 1\ncpu0 50 0 25 400 10 1 2 11 35 0\nintr 5\n";
        assert_eq!(parse_machine(stat), Some(ProcStat { steal_ticks: 22, all_ticks: 1000 }));
        assert_eq!(parse_machine("cpu  1 2 3\n"), None);
        assert_eq!(parse_machine(""), None);
    }

    #[test]
    fn the_first_number_is_that_of_all_names() {
        assert_eq!(parse_names("40063\t20032\t45\t0\t11\t0\n"), Some(40_063));
        for other in ["", "\n", "-1 2", "many"] {
            assert_eq!(parse_names(other), None, "{other}");
        }
    }

    #[test]
    fn pressure_is_the_total_of_some() {
        let text = "some avg10=49.92 avg60=29.60 avg300=11.71 total=59540724\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=5\n";
        assert_eq!(parse_pressure(text), Some(59_540_724));
        assert_eq!(parse_pressure(""), None);
    }

    #[test]
    fn bytes_are_told_in_kilobytes_under_their_whole_name() {
        let text = "Rss:  900 kB\nAnonHugePages:      4096 kB\nWritebackTmp:  7 kB\nMany: x kB\n";
        assert_eq!(parse_kilobytes(text, "AnonHugePages"), Some(4 << 20));
        for name in ["Writeback", "HugePages", "Many", "Pss"] {
            assert_eq!(parse_kilobytes(text, name), None, "{name}");
        }
    }

    #[test]
    fn what_is_being_written_is_not_on_a_device_yet() {
        let meminfo = "MemTotal: 9 kB\nDirty:    224 kB\nWriteback:    16 kB\nWritebackTmp: 8 kB\n";
        assert_eq!(parse_dirty(meminfo), Some(240 << 10));
        assert_eq!(parse_dirty("Dirty: 224 kB\n"), None);
        assert_eq!(parse_dirty("Writeback: 16 kB\n"), None);
    }

    #[test]
    fn what_is_swapped_counts_in_both_directions() {
        let vmstat = "pgpgin 7\npswpin 2\npswpout 3\npswpout_other 9\n";
        assert_eq!(parse_swapped(vmstat, 4096), Some(5 * 4096));
        assert_eq!(parse_swapped("pswpin 2\n", 4096), None);
    }

    #[test]
    fn the_limit_is_that_of_writers_and_not_of_the_background() {
        let vmstat = "nr_dirty 56\nnr_dirty_background_threshold 598921\n\
                      nr_dirty_threshold 1199307\n";
        assert_eq!(parse_dirty_limit(vmstat, 4096), Some(1_199_307 * 4096));
        assert_eq!(parse_dirty_limit("nr_dirty 56\n", 4096), None);
    }
}
