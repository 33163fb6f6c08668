//! fio's numbers: sizes, times and small sums.

use super::here::Here;
use std::time::Duration;

/// What a size stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Amount {
    /// So many bytes.
    Bytes(u64),
    /// A share of a file, a device or the free space, in percent.
    Percent(u64),
}

/// A size. A unit like `KiB` has the base that is not `kb_base`: fio 1 gave it that meaning, and
/// fio 3 keeps it.
///
/// # Errors
/// What is wrong with it, if it is no size.
pub(super) fn amount(text: &str, kb_base: u64) -> Result<Amount, String> {
    let (number, unit) = split(text)?;
    let unit = unit.to_ascii_lowercase();
    if unit == "%" {
        return Ok(Amount::Percent(number));
    }
    let other_base = if kb_base == 1024 { 1000 } else { 1024 };
    let (prefix, base) = match unit.strip_suffix("ib") {
        Some(prefix) => (prefix, other_base),
        // Of another unit, fio looks at the first letter.
        None => (unit.strip_suffix(['b', 'i']).unwrap_or(&unit), kb_base),
    };
    let power = match prefix {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return Err(format!("'{unit}' is no unit of a size")),
    };
    let bytes = u64::checked_pow(base, power).and_then(|unit| number.checked_mul(unit));
    bytes.map(Amount::Bytes).ok_or_else(|| "it is too large".to_string())
}

/// The same, where only bytes have a meaning.
///
/// # Errors
/// What is wrong with it.
pub(super) fn bytes(text: &str, kb_base: u64) -> Result<u64, String> {
    match amount(text, kb_base)? {
        Amount::Bytes(bytes) => Ok(bytes),
        Amount::Percent(_) => Err("it is a percentage, not a size".to_string()),
    }
}

/// A time; without a unit, of `unit`.
///
/// # Errors
/// What is wrong with it.
pub(super) fn time(text: &str, unit: Duration) -> Result<Duration, String> {
    let (number, given) = split(text)?;
    let nanoseconds = match given.to_ascii_lowercase().as_str() {
        "" => unit.as_nanos(),
        "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return Err(format!("'{given}' is no unit of a time")),
    };
    let all = u64::try_from(nanoseconds).ok().and_then(|unit| number.checked_mul(unit));
    all.map(Duration::from_nanos).ok_or_else(|| "it is too long".to_string())
}

/// A whole number without a unit.
///
/// # Errors
/// What is wrong with it.
pub(super) fn whole(text: &str) -> Result<u64, String> {
    match split(text)? {
        (number, "") => Ok(number),
        (_, rest) => Err(format!("'{rest}' is no part of a whole number")),
    }
}

/// A number and its unit.
fn split(text: &str) -> Result<(u64, &str), String> {
    let text = text.trim();
    if text.starts_with('(') {
        return Err("it is a sum in brackets: write its result".to_string());
    }
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let (digits, radix) = hex.map_or((text, 10), |digits| (digits, 16));
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let (number, unit) = digits.split_at(end);
    if unit.starts_with(['.', ',']) {
        let what = "fio reads only the digits before the point and drops the rest and the unit";
        return Err(format!("{what}: write a whole number"));
    }
    let number = u64::from_str_radix(number, radix);
    Ok((number.map_err(|_| "it is no number".to_string())?, unit.trim()))
}

/// Replaces fio's keywords and calculates with them: `$ncpus*2`.
///
/// # Errors
/// What is wrong with it.
pub(super) fn replace_keywords(value: &str, here: &Here) -> Result<String, String> {
    let memory = here.memory.map(|bytes| bytes >> 20);
    let keywords = [
        ("$pagesize", Some(here.page)),
        ("$mb_memory", memory),
        ("$ncpus", Some(here.processors.into())),
    ];
    let mut text = value.to_string();
    for (keyword, number) in keywords.into_iter().filter(|(keyword, _)| value.contains(keyword)) {
        let number = number.ok_or_else(|| format!("the OS does not tell {keyword}"))?;
        text = text.replace(keyword, &number.to_string());
    }
    let is_changed = text != value;
    Ok(if is_changed && text.contains(['+', '-', '*', '/']) { sum(&text)? } else { text })
}

/// The value of a chain of products and quotients, with sums of them.
fn sum(text: &str) -> Result<String, String> {
    let wrong = || format!("'{text}' cannot be calculated: write its result");
    let mut total: i128 = 0;
    // A minus is a plus of a negative term.
    for term in text.replace('-', "+-").split('+') {
        let (sign, term) = term.trim().strip_prefix('-').map_or((1, term), |rest| (-1, rest));
        let mut product: i128 = sign;
        let mut divides = false;
        for part in term.split_inclusive(['*', '/']) {
            let digits = part.trim_end_matches(['*', '/']).trim();
            let number: i128 = digits.parse::<u64>().map_err(|_| wrong())?.into();
            let next =
                if divides { product.checked_div(number) } else { product.checked_mul(number) };
            product = next.ok_or_else(wrong)?;
            divides = part.ends_with('/');
        }
        total = total.checked_add(product).ok_or_else(wrong)?;
    }
    u64::try_from(total).map(|total| total.to_string()).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_have_fios_units() {
        let check = |text: &str, base, bytes| {
            assert_eq!(amount(text, base), Ok(Amount::Bytes(bytes)), "{text} with {base}");
        };
        for (text, bytes) in [
            ("4k", 4096),
            ("4K", 4096),
            ("4kb", 4096),
            ("512", 512),
            ("512b", 512),
            ("0x1000", 4096),
            ("1g", 1 << 30),
            ("1Gi", 1 << 30),
            // The opposite base: 4KiB is 4000 bytes in fio 3.33, too.
            ("4KiB", 4000),
        ] {
            check(text, 1024, bytes);
        }
        check("4k", 1000, 4000);
        check("4KiB", 1000, 4096);
        assert_eq!(amount("50%", 1024), Ok(Amount::Percent(50)));
        for text in ["", "k", "1.5g", "4x", "(4*2)", "-1", "99999999999999999999", "99999999p"] {
            assert!(amount(text, 1024).is_err(), "{text}");
        }
    }

    #[test]
    fn times_have_units() {
        let second = Duration::from_secs(1);
        for (text, millis) in
            [("5", 5000), ("5s", 5000), ("2m", 120_000), ("7ms", 7), ("1h", 3_600_000)]
        {
            assert_eq!(time(text, second), Ok(Duration::from_millis(millis)), "{text}");
        }
        assert_eq!(time("5", Duration::from_micros(1)), Ok(Duration::from_micros(5)));
        for text in ["", "s", "5x", "99999999999999d"] {
            assert!(time(text, second).is_err(), "{text}");
        }
    }

    #[test]
    fn keywords_stand_for_this_machine() {
        let here = Here { memory: Some(8 << 30), processors: 4, page: 4096, ..Here::nowhere() };
        let replaced = |text: &str| replace_keywords(text, &here);
        assert_eq!(replaced("$ncpus").as_deref(), Ok("4"));
        assert_eq!(replaced("$mb_memory/2-1").as_deref(), Ok("4095"));
        assert_eq!(replaced("$pagesize*2+$ncpus").as_deref(), Ok("8196"));
        // Without a keyword, nothing is calculated.
        assert_eq!(replaced("a-b/c").as_deref(), Ok("a-b/c"));
        for text in ["$ncpus/0", "$ncpus*x", "1-$ncpus", "$ncpus*99999999999999999999"] {
            assert!(replaced(text).is_err(), "{text}");
        }
        assert!(replace_keywords("$mb_memory", &Here { memory: None, ..here }).is_err());
    }

    proptest! {
        #[test]
        fn a_size_in_bytes_is_itself(bytes: u32) {
            prop_assert_eq!(amount(&bytes.to_string(), 1024), Ok(Amount::Bytes(bytes.into())));
            prop_assert_eq!(amount(&format!("{bytes:#x}"), 1024), Ok(Amount::Bytes(bytes.into())));
        }

        #[test]
        fn no_text_makes_it_panic(text in ".{0,12}") {
            let _ = (amount(&text, 1000), time(&text, Duration::from_secs(1)), whole(&text));
            let _ = replace_keywords(&format!("$ncpus{text}"), &Here::nowhere());
        }
    }
}
