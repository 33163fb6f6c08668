//! Words of a command as text: for a record, whose text has no control characters, and for a shell.

use crate::printable::is_printable;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// What a word starts with that has codes for some of its bytes, as in `$'a\012b'`. Bash, zsh, ksh
/// and POSIX since 2024 read it.
const CODED: &str = "$'";

/// A word of a command line for a record: as it is, or with codes, if it has control characters,
/// bytes that are not UTF-8, or looks as if it had codes.
pub fn recorded(word: &OsStr) -> String {
    match word.to_str() {
        Some(text) if text.chars().all(is_printable) && !text.starts_with(CODED) => text.into(),
        _ => coded(word.as_bytes()),
    }
}

fn coded(word: &[u8]) -> String {
    let mut text = CODED.to_string();
    let push_codes = |text: &mut String, bytes: &[u8]| {
        bytes.iter().for_each(|byte| text.push_str(&format!("\\{byte:03o}")));
    };
    for chunk in word.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\'' | '\\' => text.extend(['\\', c]),
                c if is_printable(c) => text.push(c),
                c => push_codes(&mut text, c.to_string().as_bytes()),
            }
        }
        push_codes(&mut text, chunk.invalid());
    }
    text.push('\'');
    text
}

/// Whether a recorded word has codes. A record may come from anywhere: what ends before its last
/// letter is not one word.
fn has_codes(word: &str) -> bool {
    let inside = word.strip_prefix(CODED).and_then(|rest| rest.strip_suffix('\''));
    let Some(mut rest) = inside else { return false };
    while let Some(at) = rest.find(['\'', '\\']) {
        let code = &rest.as_bytes()[at..];
        rest = match code {
            [b'\\', b'\'' | b'\\', ..] => &rest[at + 2..],
            [b'\\', b'0'..=b'3', b'0'..=b'7', b'0'..=b'7', ..] => &rest[at + 4..],
            _ => return false,
        };
    }
    true
}

/// A recorded word for a shell: quoted, unless it has only plain characters.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,+@%".contains(c);
    if has_codes(word) || !word.is_empty() && word.chars().all(is_plain) {
        return word.to_string();
    }
    if word.chars().all(is_printable) {
        return format!("'{}'", word.replace('\'', r"'\''"));
    }
    coded(word.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_without_control_characters_is_recorded_as_it_is() {
        for (word, expected) in [
            (&b"--size=64MiB"[..], "--size=64MiB"),
            (b"two words", "two words"),
            (b"it's", "it's"),
            (b"a\nb\tc", r"$'a\012b\011c'"),
            ("a\u{202e}b".as_bytes(), r"$'a\342\200\256b'"),
            (b"\xff'\\", r"$'\377\'\\'"),
            // It must not be taken for one with codes.
            (br"$'a\012b'", r"$'$\'a\\012b\''"),
        ] {
            let recorded = recorded(OsStr::from_bytes(word));
            assert_eq!(recorded, expected);
            assert!(recorded.chars().all(is_printable));
        }
    }

    #[test]
    fn a_shell_reads_the_same_words() {
        for (word, expected) in [
            ("--size=64MiB", "--size=64MiB"),
            ("", "''"),
            ("two words", "'two words'"),
            ("$(reboot)", "'$(reboot)'"),
            ("~", "'~'"),
            ("größe", "'größe'"),
            (r"$'a\012b\'\\'", r"$'a\012b\'\\'"),
            // Words of a forged record that would end early stay one word.
            ("$'a'; reboot; echo 'b'", r"'$'\''a'\''; reboot; echo '\''b'\'''"),
            (r"$'a\'", r"'$'\''a\'\'''"),
            (r"$'\x41'", r"'$'\''\x41'\'''"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
