//! How ratios are printed.

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
