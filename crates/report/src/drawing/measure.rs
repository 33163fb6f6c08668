//! The width of texts; wraps and shortens them to fit.

use super::canvas::TEXT;

/// The width of a character relative to the font size, in DejaVu Sans. It is wider than most
/// readers' fonts, so what fits here fits there.
fn share(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | '\'' => 0.28,
        ' ' | ',' | '.' | '·' => 0.32,
        '/' | ':' | ';' | '|' | 'I' => 0.34,
        'f' | 't' | '-' | '(' | ')' | 'r' => 0.41,
        'c' | 's' | 'k' | 'v' | 'x' | 'y' | 'z' | 'J' => 0.59,
        'm' | '%' | 'M' | 'W' => 0.98,
        'w' | '×' | '≥' | '≤' | '≈' | '→' | '+' | '=' => 0.84,
        'a'..='z' | '0'..='9' | 'µ' | '?' => 0.64,
        'N' | 'O' | 'Q' | 'D' | 'G' | 'H' | 'U' => 0.79,
        'A'..='Z' => 0.7,
        _ => 0.9,
    }
}

/// Bold text is wider by this factor.
pub(crate) const BOLD: f64 = 1.12;

/// The width of a text in pixels.
pub(crate) fn width(text: &str) -> f64 {
    text.chars().map(share).sum::<f64>() * TEXT
}

/// The width of the widest text; 0 if there are none.
pub(crate) fn widest<'a>(texts: impl IntoIterator<Item = &'a str>) -> f64 {
    texts.into_iter().map(width).fold(0.0, f64::max)
}

/// `text` in lines of at most `room` pixels, broken at spaces; wider words are cut.
pub(crate) fn wrapped(text: &str, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in crate::style::printable(text).split_whitespace() {
        let word = shortened(word, room);
        match lines.last_mut() {
            Some(line) if width(line) + width(" ") + width(&word) <= room => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

/// `text`, shortened with an ellipsis if it is wider than `room`.
pub(crate) fn shortened(text: &str, room: f64) -> String {
    if width(text) <= room {
        return text.to_string();
    }
    let mut short = String::new();
    for c in text.chars() {
        if width(&short) + width("…") + share(c) * TEXT > room {
            break;
        }
        short.push(c);
    }
    short + "…"
}

/// A quantity without trailing zeros: `1 GB/s` for `1.00 GB/s`.
pub(crate) fn round(text: &str) -> String {
    if let Some(ratio) = text.strip_suffix('×') {
        return round(ratio) + "×";
    }
    let (number, unit) = text.split_once(' ').map_or((text, None), |(a, b)| (a, Some(b)));
    let number = match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    };
    match unit {
        Some(_) if number == "0" => number.to_string(),
        Some(unit) => format!("{number} {unit}"),
        None => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_and_lose_no_word() {
        let text = "one two three four five six seven eight nine ten";
        let lines = wrapped(text, 90.0);
        assert!(lines.len() > 2 && lines.iter().all(|line| width(line) <= 90.0), "{lines:?}");
        assert_eq!(lines.join(" "), text);
        let long = wrapped("a-word-that-is-far-too-long-for-it", 60.0);
        assert!(long.len() == 1 && long[0].ends_with('…') && width(&long[0]) <= 60.0, "{long:?}");
        assert_eq!(wrapped("", 60.0), Vec::<String>::new());
    }

    #[test]
    fn round_quantities_lose_their_zeros() {
        for (text, expected) in [
            ("1.00 GB/s", "1 GB/s"),
            ("2.50 s", "2.5 s"),
            ("100 ns", "100 ns"),
            ("0 B/s", "0"),
            ("1.00×", "1×"),
        ] {
            assert_eq!(round(text), expected);
        }
    }
}
