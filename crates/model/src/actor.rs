//! The names of actors: other work on the same storage during the trials of a case.
//!
//! A recipe defines actors, and a plan has them as [`Actor`](crate::plan::Actor). A case only names
//! them.

use crate::units::ParseError;

/// Separates the names of several actors.
pub const SEPARATOR: &str = "+";

/// The most actors beside a case.
pub const MOST: usize = 3;

/// The text for no actors.
const NONE: &str = "none";

/// Maximum length of a name in bytes.
const NAME_BYTES_MAX: usize = 32;

/// Parses the names of the actors beside a case: `none`, `writer` or `writer+reader`.
///
/// # Errors
/// If a name is given twice, has characters other than letters, digits and `-`, or there are more
/// than [`MOST`].
pub fn names(text: &str) -> Result<Vec<String>, ParseError> {
    if text.trim() == NONE {
        return Ok(Vec::new());
    }
    let names: Vec<String> = text.split(SEPARATOR).map(|name| name.trim().to_string()).collect();
    let is_twice = (1..names.len()).any(|index| names[..index].contains(&names[index]));
    if is_twice || names.len() > MOST || !names.iter().all(|name| is_name(name)) {
        let given = text.chars().take(NAME_BYTES_MAX * MOST).collect();
        return Err(ParseError::Actors { given, most: MOST });
    }
    Ok(names)
}

/// Whether an actor can have this name.
pub fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let starts_well = name.starts_with(|first: char| first.is_ascii_alphanumeric());
    starts_well && name.len() <= NAME_BYTES_MAX && name != NONE && name.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        assert_eq!(names("none"), Ok(Vec::new()));
        assert_eq!(names("writer"), Ok(vec!["writer".to_string()]));
        assert_eq!(names("a + b-2"), Ok(vec!["a".to_string(), "b-2".to_string()]));
        let long = "x".repeat(33);
        for text in ["", "+", "a+", "a+a", "none+a", "a b", "a,b", "../x", "-a", "a+b+c+d", &long] {
            let error = names(text).expect_err(text).to_string();
            assert!(error.contains("does not name actors"), "{error}");
        }
    }
}
