//! The middle of values, and their variance.

/// The median. For an even number of values, it is the mean of the middle two; `None` without
/// values.
///
/// # Panics
/// If a value is not finite, which no counter or clock produces.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    middle(&sorted(values))
}

/// The values in ascending order.
///
/// # Panics
/// As for [`median`].
pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    assert!(values.iter().all(|value| value.is_finite()), "a measured value is finite");
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The median of values in ascending order.
pub(crate) fn middle(sorted: &[f64]) -> Option<f64> {
    let n = sorted.len();
    let upper = *sorted.get(n / 2)?;
    Some(if n % 2 == 1 { upper } else { f64::midpoint(sorted[n / 2 - 1], upper) })
}

/// The arithmetic mean; not a number without values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The variance of a sample; 0 for a single value.
pub(crate) fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    squares / (values.len().max(2) - 1) as f64
}
