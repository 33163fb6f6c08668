//! Names in a sentence.

use std::fmt::Display;

/// `a`, `a and b`, `a, b and c`.
pub fn listed(names: &[impl AsRef<str>]) -> String {
    joined(names, "and")
}

/// `a`, `a or b`, `a, b or c`.
pub fn either(names: &[impl AsRef<str>]) -> String {
    joined(names, "or")
}

/// Those of `all` that are so, or one of them.
pub(crate) fn those<T: Copy + Display>(all: &[T], are: fn(T) -> bool) -> String {
    let those = all.iter().filter(|one| are(**one));
    either(&those.map(T::to_string).collect::<Vec<_>>())
}

fn joined(names: &[impl AsRef<str>], word: &str) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match &names[..] {
        [] => String::new(),
        [one] => (*one).to_string(),
        [head @ .., last] => format!("{} {word} {last}", head.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_name_has_an_and() {
        for (names, expected) in [
            (&[][..], ""),
            (&["a"], "a"),
            (&["a", "b"], "a and b"),
            (&["a", "b", "c"], "a, b and c"),
        ] {
            assert_eq!(listed(names), expected);
            assert_eq!(those(names, |_| true), expected.replace(" and ", " or "));
            assert_eq!(those(names, |name| name == "b"), if names.len() > 1 { "b" } else { "" });
        }
    }
}
