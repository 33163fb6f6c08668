//! The counters of block devices: completed requests and requests in flight.

use std::path::{Path, PathBuf};

/// Size of a sector in `/sys/block/X/stat`, in bytes, regardless of the device's own sectors.
pub(crate) const SECTOR: u64 = 512;
/// Devices report times in milliseconds.
const NS_OF_MS: u64 = 1_000_000;

/// The file with the counters of disk `name`.
pub(crate) fn stat_of(name: &str) -> PathBuf {
    Path::new("/sys/block").join(name).join("stat")
}

/// The file with the requests in flight of disk `name`.
pub(crate) fn in_flight_of(name: &str) -> PathBuf {
    Path::new("/sys/block").join(name).join("inflight")
}

/// Values from `/sys/block/X/stat`, summed over devices.
///
/// A partition has its own counters except for flushes, which only the whole disk counts. A write
/// that reaches the medium by itself (`REQ_FUA`), if the device supports that, counts as a write,
/// not as a flush. A write-through device never receives a flush.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    pub(crate) reads: u64,
    /// In units of 512 bytes, regardless of the device's own sectors.
    pub(crate) sectors_read: u64,
    /// The times of the reads, added up.
    pub(crate) read_ns: u64,
    pub(crate) writes: u64,
    /// In units of 512 bytes.
    pub(crate) sectors_written: u64,
    /// The times of the writes, added up.
    pub(crate) write_ns: u64,
    /// The time in which anything was in flight.
    pub(crate) busy_ns: u64,
    /// Needs Linux 4.18.
    pub(crate) discards: Option<u64>,
    /// Needs Linux 5.5.
    pub(crate) flushes: Option<u64>,
}

impl Traffic {
    /// The sum of two devices; unknown if either does not count it.
    pub(crate) fn plus(self, other: Traffic) -> Traffic {
        let both = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
        Traffic {
            reads: self.reads.saturating_add(other.reads),
            sectors_read: self.sectors_read.saturating_add(other.sectors_read),
            read_ns: self.read_ns.saturating_add(other.read_ns),
            writes: self.writes.saturating_add(other.writes),
            sectors_written: self.sectors_written.saturating_add(other.sectors_written),
            write_ns: self.write_ns.saturating_add(other.write_ns),
            busy_ns: self.busy_ns.saturating_add(other.busy_ns),
            discards: both(self.discards, other.discards),
            flushes: both(self.flushes, other.flushes),
        }
    }
}

/// The sum over `devices`; `None` if there are none or one of them cannot be read.
pub(crate) fn sum(mut devices: impl Iterator<Item = Option<Traffic>>) -> Option<Traffic> {
    let first = devices.next()??;
    devices.try_fold(first, |sum, device| Some(sum.plus(device?)))
}

/// Parses fields by number: 1 reads, 3 sectors read, 4 their milliseconds, 5 writes, 7 sectors
/// written, 8 their milliseconds, 10 milliseconds with anything in flight, 12 discards, 16 flushes.
pub(crate) fn parse_stat(text: &str) -> Option<Traffic> {
    let fields: Option<Vec<u64>> =
        text.split_ascii_whitespace().map(|field| field.parse().ok()).collect();
    let fields = fields?;
    let field = |number: usize| fields.get(number - 1).copied();
    Some(Traffic {
        reads: field(1)?,
        sectors_read: field(3)?,
        read_ns: field(4)?.saturating_mul(NS_OF_MS),
        writes: field(5)?,
        sectors_written: field(7)?,
        write_ns: field(8)?.saturating_mul(NS_OF_MS),
        busy_ns: field(10)?.saturating_mul(NS_OF_MS),
        discards: field(12),
        flushes: field(16),
    })
}

/// Reads plus writes in flight, including flushes and discards: `       2        0`.
pub(crate) fn parse_in_flight(text: &str) -> Option<u64> {
    let (reads, writes) = text.trim().split_once(' ')?;
    reads.parse::<u64>().ok()?.checked_add(writes.trim().parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_in_flight_are_those_to_read_and_those_to_write() {
        for (text, expected) in [
            ("       2        30\n", Some(32)),
            ("       0        0\n", Some(0)),
            ("7\n", None),
            ("", None),
            ("1 x", None),
        ] {
            assert_eq!(parse_in_flight(text), expected, "{text}");
        }
    }

    #[test]
    fn each_field_of_a_device_is_where_the_os_has_it() {
        let stat = "  68810  10302 10135834  90005  12213  19984  4687712  16382  0  28320  1 \
                    132042 0 149336472 0 2182 50691\n";
        let expected = Traffic {
            reads: 68810,
            sectors_read: 10_135_834,
            read_ns: 90_005_000_000,
            writes: 12213,
            sectors_written: 4_687_712,
            write_ns: 16_382_000_000,
            busy_ns: 28_320_000_000,
            discards: Some(132_042),
            flushes: Some(2182),
        };
        assert_eq!(parse_stat(stat), Some(expected));
        for (fields, discards, flushes) in
            [(11, None, None), (15, Some(132_042), None), (16, Some(132_042), Some(2182))]
        {
            let older: Vec<&str> = stat.split_ascii_whitespace().take(fields).collect();
            let expected = Traffic { discards, flushes, ..expected };
            assert_eq!(parse_stat(&older.join(" ")), Some(expected), "{fields} fields");
        }
        assert_eq!(parse_stat("1 2 3"), None);
        assert_eq!(parse_stat("1 2 x 4 5 6 7"), None);
        assert_eq!(parse_stat(""), None);
    }

    #[test]
    fn a_sum_knows_only_what_every_device_counts() {
        let device = |reads, flushes| Some(Traffic { reads, flushes, ..Traffic::default() });
        let check = |devices: &[Option<Traffic>], expected| {
            assert_eq!(sum(devices.iter().copied()), expected, "{devices:?}");
        };
        check(&[device(1, Some(2))], device(1, Some(2)));
        check(&[device(1, Some(2)), device(10, Some(20))], device(11, Some(22)));
        check(&[device(1, Some(2)), device(10, None)], device(11, None));
        check(&[device(1, Some(2)), None], None);
        check(&[], None);
    }
}
