//! Student's t distribution, for intervals and tests of few values.

/// The two-sided probability that a value of the t distribution is as far from 0 as `t`. `freedom`,
/// the degrees of freedom, need not be whole.
///
/// # Panics
/// If `freedom` is not positive.
pub(crate) fn two_sided(t: f64, freedom: f64) -> f64 {
    assert!(freedom > 0.0, "{freedom} degrees of freedom are none");
    if t.is_infinite() {
        return 0.0;
    }
    incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t))
}

/// The `t` whose two tails together have this `probability`.
///
/// # Panics
/// If `freedom` is not positive, or `probability` is not strictly between 0 and 1.
pub(crate) fn quantile(probability: f64, freedom: f64) -> f64 {
    assert!(probability > 0.0 && probability < 1.0, "{probability} is not inside 0 to 1");
    let mut high = 1.0;
    while two_sided(high, freedom) > probability && high < MOST {
        high *= 2.0;
    }
    let mut low = 0.0;
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if two_sided(middle, freedom) > probability { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// Larger than any quantile in use.
const MOST: f64 = 1e12;
/// After this many halvings, a double no longer changes.
const HALVINGS: usize = 100;

/// The regularized incomplete beta function, from its continued fraction (Abramowitz and Stegun,
/// 26.5.8), evaluated with Lentz's method.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let front =
        (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(a, b, x) / a
    } else {
        1.0 - front * fraction(b, a, 1.0 - x) / b
    }
}

/// Maximum number of terms; no fraction here needs more.
const TERMS: u32 = 10_000;

fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let away = |value: f64| if value.abs() < f64::MIN_POSITIVE { f64::MIN_POSITIVE } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut product = d;
    for term in 1..TERMS {
        let m = f64::from(term);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut factor = 1.0;
        for coefficient in [even, odd] {
            d = 1.0 / away(1.0 + coefficient * d);
            c = away(1.0 + coefficient / c);
            factor = c * d;
            product *= factor;
        }
        if (factor - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    product
}

/// The logarithm of the gamma function for positive values: Stirling's series, after raising the
/// argument above 8.
fn ln_gamma(mut x: f64) -> f64 {
    let mut below = 0.0;
    while x < 8.0 {
        below += x.ln();
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1_260.0, -1.0 / 1_680.0, 1.0 / 1_188.0];
    let rest = series.iter().rev().fold(0.0, |sum, term| sum * square + term) / x;
    (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + rest - below
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From any table of the t distribution.
    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (probability, freedom, expected) in [
            (0.05, 1.0, 12.706_2),
            (0.05, 2.0, 4.302_7),
            (0.05, 4.0, 2.776_4),
            (0.05, 9.0, 2.262_2),
            (0.05, 30.0, 2.042_3),
            (0.01, 4.0, 4.604_1),
            (0.001, 8.0, 5.041_3),
            (0.05, 1e6, 1.959_97),
        ] {
            let found = quantile(probability, freedom);
            assert!((found / expected - 1.0).abs() < 2e-5, "{probability} {freedom}: {found}");
        }
    }

    #[test]
    fn probabilities_are_those_that_are_known() {
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found}");
        near(two_sided(0.0, 3.0), 1.0);
        // With one degree of freedom it is the Cauchy distribution; with two it is algebraic.
        for t in [0.1f64, 1.0, 3.0, 50.0] {
            near(two_sided(t, 1.0), 1.0 - 2.0 / std::f64::consts::PI * t.atan());
            near(two_sided(t, 2.0), 1.0 - t / (2.0 + t * t).sqrt());
        }
        near(two_sided(f64::INFINITY, 3.0), 0.0);
    }
}
