//! Lists of hosts: Slurm's short form, `a,node[01-03,7],rack[1-2]x[1-4]`, and that of a line.
//!
//! `scontrol show hostnames` expands the first, too, but is not on every host where a job may run.

use anyhow::{Context, Result, bail, ensure};

/// Names that a line shows; the others are counted.
const NAMED_MAX: usize = 6;

/// The maximum number of digits of a number in brackets.
const DIGITS_MAX: usize = 18;

/// The names of a list, in its order: at most `most`.
///
/// # Errors
/// If the list is broken, or too long.
pub fn expand(list: &str, most: usize) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for item in items(list)? {
        ensure!(!item.is_empty(), "a name is empty");
        names.extend(expand_one(item, most)?);
        ensure!(names.len() <= most, "there are more than {most} names");
    }
    Ok(names)
}

/// Names for a line, which shows the first; the others are counted.
pub fn some(names: &[impl AsRef<str>]) -> String {
    let (shown, more) = names.split_at(names.len().min(NAMED_MAX));
    let shown: Vec<&str> = shown.iter().map(AsRef::as_ref).collect();
    let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    format!("{}{more}", shown.join(", "))
}

/// The parts of a list between the commas outside brackets.
fn items(list: &str) -> Result<Vec<&str>> {
    let (mut items, mut begin, mut is_inside) = (Vec::new(), 0, false);
    for (at, character) in list.char_indices() {
        match character {
            '[' if is_inside => bail!("a bracket is inside another"),
            '[' => is_inside = true,
            ']' if !is_inside => bail!("']' has no '['"),
            ']' => is_inside = false,
            ',' if !is_inside => {
                items.push(&list[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    ensure!(!is_inside, "'[' has no ']'");
    items.push(&list[begin..]);
    Ok(items)
}

/// The names of one item: all combinations of its brackets, of which the last changes fastest.
fn expand_one(item: &str, most: usize) -> Result<Vec<String>> {
    let mut names = vec![String::new()];
    let mut rest = item;
    while let Some((before, after)) = rest.split_once('[') {
        let (inside, after) = after.split_once(']').context("'[' has no ']'")?;
        let numbers = numbers(inside, most)?;
        let count = names.len().saturating_mul(numbers.len());
        ensure!(count <= most, "there are more than {most} names");
        let longer = |name: &String| -> Vec<String> {
            numbers.iter().map(|number| format!("{name}{before}{number}")).collect()
        };
        names = names.iter().flat_map(longer).collect();
        rest = after;
    }
    names.iter_mut().for_each(|name| name.push_str(rest));
    Ok(names)
}

/// The numbers in a bracket, such as `01-03,7`. Each range has the digits of its first number.
fn numbers(inside: &str, most: usize) -> Result<Vec<String>> {
    let mut numbers = Vec::new();
    for range in inside.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let width = first.len();
        let (first, last) = (number(first)?, number(last)?);
        ensure!(first <= last, "the range '{range}' ends before it begins");
        let count = usize::try_from(last - first).unwrap_or(usize::MAX).saturating_add(1);
        ensure!(numbers.len().saturating_add(count) <= most, "there are more than {most} names");
        numbers.extend((first..=last).map(|number| format!("{number:0width$}")));
    }
    Ok(numbers)
}

fn number(digits: &str) -> Result<u64> {
    let is_number = (1..=DIGITS_MAX).contains(&digits.len());
    ensure!(
        is_number && digits.bytes().all(|byte| byte.is_ascii_digit()),
        "'{digits}' is no number"
    );
    Ok(digits.parse()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(list: &str, expected: &str) {
        assert_eq!(expand(list, 1000).unwrap().join(" "), expected, "{list}");
    }

    #[test]
    fn lists_are_expanded_as_slurm_does() {
        check("n1", "n1");
        check("n[1-4]", "n1 n2 n3 n4");
        check("b,a,n[08-10,3]x", "b a n08x n09x n10x n3x");
        check("r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2");
        check("n[99-101]", "n99 n100 n101");
    }

    #[test]
    fn a_broken_or_endless_list_is_refused() {
        for (list, expected) in [
            ("n[1", "'[' has no ']'"),
            ("n1]", "']' has no '['"),
            ("n[[1]]", "a bracket is inside another"),
            ("n[2-1]", "the range '2-1' ends before it begins"),
            ("n[a]", "'a' is no number"),
            ("n[]", "'' is no number"),
            ("n[+1]", "'+1' is no number"),
            ("n[1-2-3]", "'2-3' is no number"),
            ("a,,b", "a name is empty"),
            ("", "a name is empty"),
            ("n[1-999999999999999999]", "more than 1000 names"),
            ("n[1-1001]", "more than 1000 names"),
            ("n[1-100]x[1-100]", "more than 1000 names"),
            ("n[1-600],m[1-600]", "more than 1000 names"),
            ("n[1-600,1-600]", "more than 1000 names"),
        ] {
            let error = expand(list, 1000).unwrap_err().to_string();
            assert!(error.contains(expected), "{list}: {error}");
        }
    }

    proptest! {
        /// The oracle is the list before it was shortened.
        #[test]
        fn a_list_that_was_shortened_is_as_before(
            groups in prop::collection::vec(
                ("[a-z]{1,4}", 0u64..1000, 1u64..20, 1usize..5, "[a-z]{0,2}"), 1..6),
        ) {
            let (mut list, mut names) = (Vec::new(), Vec::new());
            for (name, first, count, width, end) in &groups {
                let last = first + count - 1;
                list.push(format!("{name}[{first:0width$}-{last:0width$}]{end}"));
                // As wide as the first number is written.
                let width = first.to_string().len().max(*width);
                names.extend((*first..=last).map(|it| format!("{name}{it:0width$}{end}")));
            }
            prop_assert_eq!(expand(&list.join(","), 1000).unwrap(), names);
        }

        #[test]
        fn no_text_takes_more_than_its_limit(text in r"[a-c0-9\[\],-]{0,40}") {
            if let Ok(names) = expand(&text, 50) {
                prop_assert!(names.len() <= 50);
            }
        }
    }
}
