//! Valid names of peers.

use crate::units::ParseError;
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::str::FromStr;

/// Maximum length in bytes.
const NAME_BYTES_MAX: usize = 64;

/// A peer's name: letters, digits and `- _ . +`, starting with a letter or digit. It is used in
/// folder names, options and lines of text, and has no special meaning in any of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerName(String);

impl PeerName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PeerName {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<PeerName, ParseError> {
        let starts_well = text.starts_with(|first: char| first.is_ascii_alphanumeric());
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.+".contains(&byte);
        if starts_well && text.len() <= NAME_BYTES_MAX && text.bytes().all(is_plain) {
            return Ok(PeerName(text.to_string()));
        }
        // Messages shorten names that are far too long.
        let given = text.chars().take(NAME_BYTES_MAX + 1).collect();
        Err(ParseError::PeerName { given, most: NAME_BYTES_MAX })
    }
}

impl fmt::Display for PeerName {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Parses a name in a record, for `#[serde(deserialize_with)]`.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    text.parse().map(|PeerName(name)| name).map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_lead_anywhere() {
        let longest = "x".repeat(64);
        for name in ["c", "rust-dev", "gcc-12-O3_v3", "g++-O2", "2.0", "a..b", &longest] {
            assert_eq!(name.parse::<PeerName>().map(|name| name.to_string()).as_deref(), Ok(name));
        }
        let too_long = "x".repeat(65);
        for name in [
            "",
            ".",
            "..",
            ".hidden",
            "-rf",
            "+1",
            "../../x",
            "a/b",
            "a b",
            "a\nb",
            "a\0b",
            "é",
            "\u{1b}[2J",
            "\u{202e}x",
            "<b>",
            &too_long,
        ] {
            let error = name.parse::<PeerName>().expect_err(name).to_string();
            assert!(
                error.contains("is not a valid name of a peer: write at most 64 letters"),
                "{error}"
            );
            assert!(!error.contains(|c: char| c.is_control() || c == '\u{202e}'), "{error}");
        }
    }
}
