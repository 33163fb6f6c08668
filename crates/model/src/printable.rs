//! Text without control characters: it cannot steer a terminal or change the order of letters.
//!
//! Text from records, peers and file names is untrusted. It is cleaned here before it is shown;
//! records are cleaned as soon as they are read.

use std::borrow::Cow;

/// The visible replacement for a control character.
const MARK: char = '\u{FFFD}';

/// The replacement of a character: a space for separators, and a mark for those that control a
/// terminal (C0 and C1), change text direction or are invisible.
fn shown(c: char) -> char {
    match c {
        '\t' | '\n' | '\u{B}' | '\u{C}' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => ' ',
        c if c.is_control() => MARK,
        // Marks, embeddings, overrides and isolates that change direction.
        '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' => MARK,
        '\u{2066}'..='\u{2069}' => MARK,
        // Zero-width characters, which make different names look alike.
        '\u{AD}' | '\u{200B}'..='\u{200D}' | '\u{2060}'..='\u{2065}' | '\u{FEFF}' => MARK,
        '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}' => MARK,
        c => c,
    }
}

/// Whether a character is shown unchanged.
pub fn is_printable(c: char) -> bool {
    shown(c) == c
}

/// `text` with control characters replaced.
pub fn printable(text: &str) -> Cow<'_, str> {
    match text.chars().all(is_printable) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(text.chars().map(shown).collect()),
    }
}

/// JSON text with control characters in its strings replaced, whether raw or escaped. Text that is
/// not valid JSON stays so.
pub fn printable_json(json: &str) -> Cow<'_, str> {
    // JSON allows raw tabs between strings but not within them.
    let is_plain = |c: char| c != '\\' && (c == '\t' || is_printable(c));
    if json.chars().all(is_plain) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        push_raw(&mut out, before);
        let (text, length) = unescaped(escape);
        out.push_str(&text);
        rest = &escape[length..];
    }
    push_raw(&mut out, rest);
    Cow::Owned(out)
}

/// Appends unescaped text. C0 control characters stay: within a string they make the JSON invalid.
fn push_raw(out: &mut String, text: &str) {
    out.extend(text.chars().map(|c| if c < ' ' { c } else { shown(c) }));
}

/// The replacement for the escape that `text` starts with, and its length in bytes.
fn unescaped(text: &str) -> (String, usize) {
    let mut length = text.len().min(2);
    let decoded = match text.as_bytes().get(1) {
        Some(b'n' | b'r' | b't' | b'f') => Some('\n'),
        Some(b'b') => Some('\u{8}'),
        Some(b'u') => unit(text).and_then(|high| {
            length = 6;
            let low = || unit(&text[6..]);
            match char::from_u32(high) {
                Some(c) => Some(c),
                // Half of a surrogate pair; both halves give a character.
                None => {
                    let pair = char::decode_utf16([u16::try_from(high).ok()?, low()? as u16]);
                    let c = pair.into_iter().next()?.ok()?;
                    length = 12;
                    Some(c)
                }
            }
        }),
        // A quote or slash, the end of the text, or an unknown escape.
        _ => None,
    };
    while !text.is_char_boundary(length) {
        length += 1;
    }
    match decoded {
        Some(c) if !is_printable(c) => (shown(c).to_string(), length),
        _ => (text[..length].to_string(), length),
    }
}

/// The number in the escape `\uXXXX` that `text` starts with.
fn unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_steers_is_marked_and_what_separates_is_a_space() {
        assert_eq!(
            printable("a\x1b]0;x\x07b\u{9b}c\u{202e}d\ne\tf"),
            "a\u{FFFD}]0;x\u{FFFD}b\u{FFFD}c\u{FFFD}d e f"
        );
        let plain = "Größe 4 KiB · µs — 日本 \u{FFFD}";
        assert!(matches!(printable(plain), Cow::Borrowed(_)));
    }

    fn check(json: &str, expected: &str) {
        let json = printable_json(json);
        assert_eq!(serde_json::from_str::<String>(&json).expect(&json), expected);
    }

    #[test]
    fn strings_of_json_are_printable_however_they_are_written() {
        check(r#""a\u001b[1m""#, "a\u{FFFD}[1m");
        check(r#""a\u202eb\u009Bc""#, "a\u{FFFD}b\u{FFFD}c");
        check("\"a\u{202e}b\u{7f}\"", "a\u{FFFD}b\u{FFFD}");
        check(r#""a\nb\tc\rd\be""#, "a b c d\u{FFFD}e");
        check(r#""\\u001b \" \/ \\ \\\u0007""#, "\\u001b \" / \\ \\\u{FFFD}");
        check(r#""\ud83d\ude00 \udb40\udc41 \u00e9 \u0022""#, "\u{1F600} \u{FFFD} é \"");
        for broken in
            [r#""\ud83d""#, r#""\u12"#, r#""\"#, "\"\\é\"", "\"\x1b\"", r#""\ud83d\u0041""#]
        {
            serde_json::from_str::<String>(&printable_json(broken)).unwrap_err();
        }
    }

    proptest! {
        /// The oracle cleans the decoded value.
        #[test]
        fn json_is_cleaned_as_its_value_is(text: String) {
            let json = serde_json::to_string(&text).unwrap();
            let ascii: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
            for json in [json, format!("\"{ascii}\"")] {
                let read: String = serde_json::from_str(&printable_json(&json)).unwrap();
                prop_assert_eq!(read, printable(&text).into_owned());
            }
        }
    }
}
