//! How ratios are printed.

use assess::link_use::LinkUse;
use model::units;

/// A ratio: `1.31×`, `0.091×`, `0.0043×`.
pub(crate) fn times(ratio: f64) -> String {
    match ratio.abs() {
        r if r >= 99.95 => format!("{ratio:.0}×"),
        r if r >= 9.995 => format!("{ratio:.1}×"),
        r if r >= 0.0995 => format!("{ratio:.2}×"),
        r if r >= 0.00995 => format!("{ratio:.3}×"),
        r if r > 0.0 => format!("{ratio:.4}×"),
        _ => "0×".to_string(),
    }
}

/// The most decimals of an end of an interval.
const DECIMALS_MOST: usize = 9;

/// The interval of a ratio: `1.25-1.38`. One that excludes 1 does not reach it by rounding:
/// `1.0004-1.38`.
pub(crate) fn times_interval(low: Option<f64>, high: Option<f64>) -> Option<String> {
    let (low, high) = (low?, high?);
    let excludes_one = low > 1.0 || high < 1.0;
    let bare = |ratio: f64| {
        let text = times(ratio).trim_end_matches('×').to_string();
        let is_one = |text: &String| text.parse() == Ok(1.0);
        if !(excludes_one && is_one(&text)) {
            return text;
        }
        let longer = (3..=DECIMALS_MOST).map(|decimals| format!("{ratio:.decimals$}"));
        longer.into_iter().find(|text| !is_one(text)).unwrap_or(text)
    };
    Some(format!("{}-{}", bare(low), bare(high)))
}

/// How much of what its links carry a row got. More than all of it is not said without how sure
/// that is: `173 % (at least 90.0 %)`.
pub(crate) fn share_of_links(link: &LinkUse) -> String {
    let said = units::percent(link.share);
    if link.share <= 1.0 || link.is_exceeded() {
        return said;
    }
    match link.share_low {
        Some(least) => format!("{said} (at least {})", units::percent(least)),
        None => format!("{said} (how sure is unknown)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assess::path::Allowance;

    #[test]
    fn an_interval_that_excludes_one_does_not_reach_it_by_rounding() {
        let said = |low, high| times_interval(Some(low), Some(high)).unwrap();
        assert_eq!(said(1.0004, 1.381), "1.0004-1.38");
        assert_eq!(said(0.91, 0.99996), "0.91-0.99996");
        assert_eq!(said(1.00002, 1.00049), "1.00002-1.0005");
        // One that includes it may.
        assert_eq!(said(0.9, 1.0004), "0.90-1.00");
        assert_eq!(said(1.0, 1.2), "1.00-1.20");
    }

    #[test]
    fn more_than_all_of_a_link_says_how_sure_that_is() {
        let said = |share, share_low| {
            let hops = vec!["ata1".to_string()];
            let hop_words = "SATA 1.5 Gb/s of ata1".to_string();
            let allows = Allowance { bytes_per_second: 150e6, hops, hop_words };
            share_of_links(&LinkUse { allows, share, share_low })
        };
        assert_eq!(said(0.9, Some(0.8)), "90.0 %");
        assert_eq!(said(1.73, Some(0.9)), "173 % (at least 90.0 %)");
        assert_eq!(said(1.73, None), "173 % (how sure is unknown)");
        // That it cannot be is a finding.
        assert_eq!(said(1.73, Some(1.2)), "173 %");
    }
}
