//! The product of axes with several values each.

use crate::case::Case;
use crate::units::ParseError;

/// Each axis with its values. The cases are their product.
pub type Sweep = Vec<(String, Vec<String>)>;

/// The number of cases in the sweep's product; saturates at 128 bits.
pub fn count(sweep: &Sweep) -> u128 {
    sweep.iter().fold(1, |count, (_, values)| count.saturating_mul(values.len() as u128))
}

/// Every case in the sweep's product; the last axis changes fastest.
///
/// # Panics
/// If there are more cases than memory can address; callers enforce a lower limit.
pub fn product(sweep: &Sweep) -> Result<Vec<Case>, ParseError> {
    let count = usize::try_from(count(sweep)).expect("the caller has a limit");
    (0..count).map(|index| Case::from_axes(&nth(sweep, index))).collect()
}

/// The `index`-th combination of values.
fn nth(sweep: &Sweep, mut index: usize) -> Vec<(&str, &str)> {
    let mut axes: Vec<(&str, &str)> = sweep
        .iter()
        .rev()
        .map(|(axis, values)| {
            let value = values[index % values.len()].as_str();
            index /= values.len();
            (axis.as_str(), value)
        })
        .collect();
    axes.reverse();
    axes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Work;
    use crate::zoo;

    #[test]
    fn no_product_is_so_large_that_its_count_wraps() {
        let axis = |values| ("axis".to_string(), vec![String::new(); values]);
        assert_eq!(count(&vec![axis(16); 16]), 1 << 64);
        assert_eq!(count(&vec![axis(1 << 10); 100]), u128::MAX);
        assert_eq!(count(&vec![axis(7), axis(0)]), 0);
    }

    #[test]
    fn a_product_has_every_combination() {
        let mut sweep: Sweep = Vec::new();
        for (axis, value) in Case::own(Work::Read(zoo::plain())).axes() {
            let values = match axis {
                "engine" => vec!["read".to_string(), "mmap".to_string()],
                "block" => vec!["4KiB".to_string(), "1MiB".to_string()],
                _ => vec![value],
            };
            sweep.push((axis.to_string(), values));
        }
        let cases = product(&sweep).expect("all values are known");
        let ids: Vec<String> = cases
            .iter()
            .map(|case| case.id().split(' ').take(4).collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(
            ids,
            [
                "read as-is sequential 4KiB",
                "read as-is sequential 1MiB",
                "mmap as-is sequential 4KiB",
                "mmap as-is sequential 1MiB",
            ]
        );
    }
}
