//! Quantities as people write and read them.
//!
//! There are two rules. Input sizes mean the same as in fio, dd and elbencho: `4k` and `4KiB` are
//! 4096 bytes, `4kB` is 4000. Output names its unit: MB is 10⁶ bytes, MiB is 2²⁰.

use std::time::Duration;

/// Nanoseconds in a second.
pub const NS_PER_SECOND: f64 = 1e9;

/// A quantity or name that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// A malformed shape of a loop.
    #[error("'{given}' is no shape of a loop, such as avx2-8x3")]
    Shape {
        /// The given text.
        given: String,
    },
    /// A malformed size.
    #[error("'{given}' is not a size: write a number and a unit, such as 4KiB, 1GiB or 4MB")]
    Size {
        /// The input.
        given: String,
    },
    /// An unknown kind of content.
    #[error("'{given}' is not a kind of content: write random, or ints:20 for integers below 20")]
    Content {
        /// The input.
        given: String,
    },
    /// A malformed time.
    #[error("'{given}' is not a time: write a number and a unit, such as 500ms, 2s or 1m")]
    Time {
        /// The input.
        given: String,
    },
    /// An implausible quantity: sums with it would overflow.
    #[error("'{given}' is too large: the maximum is {most}")]
    TooLarge {
        /// The input.
        given: String,
        /// The maximum.
        most: String,
    },
    /// An invalid peer name.
    #[error(
        "'{}' is not a valid name of a peer: write at most {most} letters, digits and - _ . +, a \
         letter or a digit first",
        given.escape_debug()
    )]
    PeerName {
        /// The input.
        given: String,
        /// Maximum length in bytes.
        most: usize,
    },
    /// Not the names of actors.
    #[error(
        "'{}' does not name actors: write none, or up to {most} different names of letters, digits \
         and - with a + between them",
        given.escape_debug()
    )]
    Actors {
        /// The input.
        given: String,
        /// The maximum number.
        most: usize,
    },
    /// Not a whole number, or too small.
    #[error("{axis} '{given}' is not a whole number of at least {min}")]
    Number {
        /// The axis.
        axis: &'static str,
        /// The input.
        given: String,
        /// The minimum.
        min: u64,
    },
    /// Not sizes with their shares.
    #[error("'{given}' is no list of block sizes and percentages such as 4k/60:64k/40: {why}")]
    BlockSizes {
        /// The given text.
        given: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Not an exponent of Zipf's law.
    #[error("'{given}' is not an exponent from 0.001 to 10, such as 0.99")]
    Theta {
        /// The given text.
        given: String,
    },
    /// Not a rate.
    #[error("'{given}' is not a rate from 1 to 1000000000 per second, such as 500, 40k or 1.5M")]
    Rate {
        /// The given text.
        given: String,
    },
    /// Not a goal.
    #[error(
        "'{given}' is not a goal such as 'p99<1ms', 'sync p99<10ms', 'throughput>500MB/s', \
         'iops>20k', 'gap<500ms', 'time<2s' (of commands) or 'cpu<5us': a rate that must be \
         higher, or a time that must be shorter; percentiles are from p0.01 to p99.99"
    )]
    Goal {
        /// The given text.
        given: String,
    },
    /// An incomplete or inconsistent case.
    #[error("axis '{axis}' {problem}")]
    Axis {
        /// The axis.
        axis: &'static str,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// An unknown name.
    #[error("unknown {axis} '{given}'{}: known are {}", suggestion(nearest), known.join(", "))]
    Name {
        /// The axis.
        axis: &'static str,
        /// The input.
        given: String,
        /// The most similar known name, if any is close.
        nearest: Option<String>,
        /// All known names.
        known: Vec<String>,
    },
}

fn suggestion(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!(" (did you mean '{name}'?)")).unwrap_or_default()
}

/// The error for a name of `axis` that is not in `known`; suggests the most similar one.
pub fn unknown_name(axis: &'static str, given: &str, known: &[&str]) -> ParseError {
    ParseError::Name {
        axis,
        given: given.to_string(),
        nearest: nearest(given, known).map(str::to_string),
        known: known.iter().map(|name| name.to_string()).collect(),
    }
}

/// The member of `known` that a user who typed `given` most likely meant.
pub fn nearest<'a>(given: &str, known: &[&'a str]) -> Option<&'a str> {
    let given = given.to_lowercase();
    known
        .iter()
        .map(|name| (strsim::jaro_winkler(&given, name), *name))
        .filter(|(likeness, _)| *likeness > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// Declares an enum whose values have names, used in input, records and output.
#[macro_export]
macro_rules! named {
    ($(#[$doc:meta])* $kind:ident $axis:literal {
        $($(#[$value_doc:meta])* $value:ident $name:literal),+ $(,)?
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(::serde::Serialize, ::serde::Deserialize)]
        pub enum $kind {
            $($(#[$value_doc])* #[serde(rename = $name)] $value),+
        }

        impl $kind {
            /// Every value, in the order of declaration.
            pub const ALL: &'static [$kind] = &[$($kind::$value),+];

            /// Their names.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// The name of this value.
            pub const fn name(self) -> &'static str {
                match self {
                    $($kind::$value => $name),+
                }
            }
        }

        impl ::schemars::JsonSchema for $kind {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                stringify!($kind).into()
            }

            fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                ::schemars::json_schema!({ "type": "string", "enum": $kind::NAMES })
            }
        }

        impl ::std::fmt::Display for $kind {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl ::std::str::FromStr for $kind {
            type Err = $crate::units::ParseError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text.trim() {
                    $($name => Ok($kind::$value),)+
                    other => Err($crate::units::unknown_name($axis, other, $kind::NAMES)),
                }
            }
        }
    };
}

/// The maximum size: 8 PiB. Products of a few sizes fit into 128 bits, sums fit into 64, and each
/// is exact as a double.
pub const BYTES_MAX: u64 = 1 << 53;

/// The maximum time: 30 days. Adding it to a clock cannot overflow.
pub const TIME_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Parses a size from 1 to [`BYTES_MAX`]: `4096`, `512B`, `4k`, `4KiB`, `4MB`, `1.5GiB`. A bare
/// letter is a power of 1024, as in fio, dd and elbencho.
pub fn parse_bytes(text: &str) -> Result<u64, ParseError> {
    let given = text.trim();
    let error = || ParseError::Size { given: given.to_string() };
    let unit = given.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').trim_start();
    let unit = unit.to_ascii_lowercase();
    let is_bare = ["k", "m", "g", "t"].contains(&unit.as_str());
    let exact = if is_bare { format!("{given}iB") } else { given.to_string() };
    let unit = if is_bare { format!("{unit}ib") } else { unit };
    let known = ["", "b", "kb", "mb", "gb", "tb", "kib", "mib", "gib", "tib"];
    if !known.contains(&unit.as_str()) {
        return Err(error());
    }
    match exact.parse::<bytesize::ByteSize>() {
        Ok(size) if size.as_u64() > BYTES_MAX => {
            Err(ParseError::TooLarge { given: given.to_string(), most: bytes(BYTES_MAX) })
        }
        Ok(size) if size.as_u64() > 0 => Ok(size.as_u64()),
        _ => Err(error()),
    }
}

/// Parses a time above zero and up to [`TIME_MAX`]: `500ms`, `2s`, `1m 30s`.
pub fn parse_time(text: &str) -> Result<Duration, ParseError> {
    let given = text.trim();
    let no_time = || ParseError::Time { given: given.to_string() };
    let mut sum = Duration::ZERO;
    for part in parts(given) {
        sum = sum.saturating_add(part_of_time(part).ok_or_else(no_time)?);
    }
    if sum.is_zero() {
        return Err(no_time());
    }
    if sum > TIME_MAX {
        return Err(ParseError::TooLarge { given: given.to_string(), most: time(TIME_MAX) });
    }
    Ok(sum)
}

/// Parses a number with its unit. The library adds several without checking for overflow, so each
/// is parsed separately.
#[expect(clippy::disallowed_methods, reason = "one part has no sum that could overflow")]
fn part_of_time(part: &str) -> Option<Duration> {
    humantime::parse_duration(part).ok()
}

/// Splits a time into numbers with units: `1m 30s` has two.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let unit = rest.find(char::is_alphabetic).unwrap_or(rest.len());
        let next = rest[unit..].find(|c: char| c.is_ascii_digit());
        let (part, after) = rest.split_at(next.map_or(rest.len(), |next| unit + next));
        rest = after;
        (!part.is_empty()).then_some(part)
    })
}

/// Formats a time so that [`parse_time`] can read it: `1s 500ms`.
pub fn time(time: Duration) -> String {
    humantime::format_duration(time).to_string()
}

/// Formats a size exactly and briefly: `4KiB`, `1GiB`, `1000B`. [`parse_bytes`] reads it back.
pub fn bytes(count: u64) -> String {
    for (unit, name) in [(1u64 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")]
    {
        if count >= unit && count.is_multiple_of(unit) {
            return format!("{}{name}", count / unit);
        }
    }
    format!("{count}B")
}

/// Formats a rounded size for people: `17.3 GiB`.
pub fn bytes_rounded(count: u64) -> String {
    let count = count as f64;
    for (unit, name) in [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")] {
        let scaled = count / f64::from(unit).exp2();
        if scaled >= 1.0 {
            return format!("{} {name}", three_digits(scaled));
        }
    }
    format!("{count} B")
}

/// Formats bytes per second in decimal units: `612 MB/s`, `11.2 GB/s`.
pub fn rate(bytes_per_second: f64) -> String {
    format!("{}B/s", scaled(bytes_per_second))
}

/// Formats a rate or count with a decimal prefix: `11.0 k`, `3.80 M`.
pub fn scaled(value: f64) -> String {
    for (unit, prefix) in [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")] {
        // Values that would round to 1000 use the next prefix.
        if value >= unit * 0.9995 {
            return format!("{} {prefix}", three_digits(value / unit));
        }
    }
    format!("{} ", three_digits(value))
}

/// Three digits of a number whose unit may have a prefix: `1610` of MiB/s, not `1.61 k`.
pub fn in_its_unit(number: f64) -> String {
    if number < 999.5 {
        return scaled(number).trim_end().to_string();
    }
    let unit = 10f64.powf(number.log10().floor() - 2.0);
    format!("{:.0}", (number / unit).round() * unit)
}

/// Formats nanoseconds: `83.2 µs`, `1.37 s`.
pub fn nanoseconds(ns: f64) -> String {
    for (unit, name) in [(1e9, "s"), (1e6, "ms"), (1e3, "µs")] {
        if ns >= unit * 0.9995 {
            return format!("{} {name}", three_digits(ns / unit));
        }
    }
    format!("{} ns", three_digits(ns))
}

/// Formats a share as a percentage: `99.3 %`, `0.12 %`.
pub fn percent(share: f64) -> String {
    format!("{} %", three_digits(share * 100.0))
}

/// Formats with three significant digits and no exponent.
fn three_digits(value: f64) -> String {
    match value.abs() {
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        v if v > 0.0 => format!("{value:.2}"),
        _ => "0".to_string(),
    }
}

/// A temperature in thousandths of a degree Celsius, rounded to degrees as sensors show them.
pub fn degrees(thousandths: i64) -> String {
    format!("{} °C", (thousandths as f64 / 1000.0).round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_mean_what_they_say() {
        for (text, size) in [
            ("1", 1),
            ("512B", 512),
            ("4KiB", 4096),
            ("4kB", 4000),
            ("4KB", 4000),
            ("4MB", 4_000_000),
            ("4 MiB", 4 << 20),
            ("1.5GiB", 3 << 29),
            ("2TiB", 2 << 40),
        ] {
            assert_eq!(parse_bytes(text), Ok(size), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["0", "0KiB", "12XB", "", "KiB", "-1", "1e3", "4 4", "NaN"] {
            let error = parse_bytes(text).unwrap_err();
            assert!(matches!(error, ParseError::Size { .. }), "{text}: {error}");
        }
        for text in ["4K", "4k", "4KiB", "4 k"] {
            assert_eq!(parse_bytes(text), Ok(4096), "{text}");
        }
        assert_eq!(parse_bytes("128M"), Ok(128 << 20));
        assert_eq!(parse_bytes("1.5g"), Ok(3 << 29));
    }

    #[test]
    fn what_is_too_large_is_refused_with_the_most() {
        for text in ["18446744073709551615", "1e99TiB", "99999999999999999999TiB", "8193TiB"] {
            parse_bytes(text).unwrap_err();
        }
        let error = parse_bytes("18446744073709551615").unwrap_err().to_string();
        assert_eq!(error, "'18446744073709551615' is too large: the maximum is 8192TiB");
        assert_eq!(parse_bytes("8192TiB"), Ok(BYTES_MAX));
        for text in [
            "18446744073709551615.5s 0.5s",
            "18446744073709551615s 18446744073709551615s",
            "300000000000years",
            "31days",
            "30days 1ns",
        ] {
            let error = parse_time(text).unwrap_err();
            assert_eq!(error.to_string(), format!("'{text}' is too large: the maximum is 30days"));
        }
        assert_eq!(parse_time("30days"), Ok(TIME_MAX));
        // The library itself rejects such a year.
        parse_time("18446744073709551615years").unwrap_err();
    }

    #[test]
    fn the_parts_of_a_time_are_added() {
        for (text, ms) in [("1m 30s", 90_000), ("1m30s", 90_000), ("1 m 0.5s", 60_500)] {
            assert_eq!(parse_time(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", " ", "s", "1", "1m 30", "1s s", "0s", "-1s", "1.s", "1m, 30s"] {
            parse_time(text).unwrap_err();
        }
    }

    #[test]
    fn an_unknown_name_suggests_the_nearest() {
        let error = unknown_name("engine", "perad", &["read", "pread", "mmap"]);
        assert_eq!(
            error.to_string(),
            "unknown engine 'perad' (did you mean 'pread'?): known are read, pread, mmap"
        );
        assert_eq!(nearest("zzz", &["read", "mmap"]), None);
    }

    #[test]
    fn printed_quantities_name_their_unit() {
        assert_eq!(rate(612.4e6), "612 MB/s");
        assert_eq!(rate(999.96e6), "1.00 GB/s");
        assert_eq!(rate(0.0), "0 B/s");
        assert_eq!(nanoseconds(83_210.0), "83.2 µs");
        assert_eq!(nanoseconds(16.04), "16.0 ns");
        assert_eq!(nanoseconds(1.37e9), "1.37 s");
        assert_eq!(scaled(11_042.0), "11.0 k");
        assert_eq!(percent(0.993), "99.3 %");
        // 318 K and 272 K, as an NVMe drive has them.
        assert_eq!((degrees(44_850), degrees(-1_150)), ("45 °C".into(), "-1 °C".into()));
        assert_eq!((degrees(-500), degrees(-150)), ("-1 °C".into(), "0 °C".into()));
        assert_eq!(bytes_rounded(18_576_182_000), "17.3 GiB");
    }

    proptest! {
        #[test]
        fn sizes_round_trip(count in 1u64..1 << 53) {
            prop_assert_eq!(parse_bytes(&bytes(count)), Ok(count));
        }

        #[test]
        fn times_round_trip(ms in 1u64..=30 * 86_400_000) {
            let asked = Duration::from_millis(ms);
            prop_assert_eq!(parse_time(&time(asked)), Ok(asked));
        }
    }
}
