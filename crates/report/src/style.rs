//! The width and the colors of text. The caller chooses both; nothing here queries a terminal or
//! the environment.

/// The style of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether to use colors; the text is the same without.
    pub colour: bool,
    /// The maximum columns of a line. Only a single longer word exceeds it.
    pub width: usize,
}

/// The role of a piece of text, which determines its color.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Paint {
    #[default]
    Plain,
    Strong,
    Faint,
    Doubt,
    Void,
    /// A background of a heat map, from 0 (palest) to [`SHADES`] - 1.
    Shade(u8),
}

/// The number of backgrounds of a heat map.
pub(crate) const SHADES: u8 = 5;

/// From pale to deep blue. Both text and background are set, so it is readable on any terminal.
const SHADE_CODES: [&str; SHADES as usize] = [
    "38;5;16;48;5;195",
    "38;5;16;48;5;153",
    "38;5;16;48;5;75",
    "38;5;231;48;5;27",
    "38;5;231;48;5;18",
];

/// Dark orange, which is readable on white and on black. Yellow is lost on white.
const DOUBT: &str = "38;5;130";

impl Paint {
    /// The ANSI "select graphic rendition" parameters.
    fn code(self) -> Option<&'static str> {
        match self {
            Paint::Plain => None,
            Paint::Strong => Some("1"),
            Paint::Faint => Some("2"),
            Paint::Doubt => Some(DOUBT),
            Paint::Void => Some("31"),
            Paint::Shade(shade) => Some(SHADE_CODES[usize::from(shade.min(SHADES - 1))]),
        }
    }
}

impl Style {
    pub(crate) fn paint(&self, text: &str, paint: Paint) -> String {
        match paint.code() {
            Some(code) if self.colour && !text.is_empty() => format!("\x1b[{code}m{text}\x1b[0m"),
            _ => text.to_string(),
        }
    }

    /// Wraps `text` to the width, in lines of one color.
    pub(crate) fn painted(&self, text: &str, paint: Paint) -> String {
        let lines = fold(text, self.width.max(20));
        lines.iter().map(|line| self.paint(line, paint) + "\n").collect()
    }

    /// Wraps `text` to the width: the first line starts with `lead`, and the others are indented by
    /// its length.
    pub(crate) fn wrap(&self, lead: &str, paint: Paint, text: &str) -> String {
        let indent = lead.chars().count();
        let room = self.width.saturating_sub(indent).max(20);
        let lines = fold(text, room);
        let mut out = String::new();
        for (index, line) in lines.iter().enumerate() {
            if index == 0 {
                out.push_str(&self.paint(lead, paint));
            } else {
                out.push_str(&" ".repeat(indent));
            }
            out.push_str(line);
            out.push('\n');
        }
        out
    }
}

/// A line below a heading, indented, on as many lines as it needs.
pub fn indented(text: &str, style: &Style) -> String {
    style.wrap("  ", Paint::Plain, text)
}

/// A line of a list: the text beside its name, of which the longest has `widest` characters. The
/// text wraps beside the names or, in a narrow terminal, below its own.
pub fn entry(name: &str, widest: usize, text: &str, style: &Style) -> String {
    if widest + TEXT_LEAST > style.width {
        return format!("{name}\n{}", indented(text, style));
    }
    style.wrap(&format!("{name:<widest$}  "), Paint::Plain, text)
}

/// Names of a list that leave less room than this have a line of their own.
const TEXT_LEAST: usize = 30;

/// `text` in paragraphs, of which those with a line that is too wide are wrapped; the items of a
/// list are indented.
pub fn paragraphs(text: &str, style: &Style) -> String {
    let is_wide = |text: &str| text.lines().any(|line| line.chars().count() > style.width);
    let wrapped = |paragraph: &str| match is_wide(paragraph) {
        false => paragraph.to_string(),
        true => {
            let items = paragraph.replace("\n- ", "\n\n- ");
            let said = items.split("\n\n").map(|item| match item.strip_prefix("- ") {
                Some(item) => style.wrap("- ", Paint::Plain, item),
                None => style.wrap("", Paint::Plain, item),
            });
            said.collect::<String>().trim_end().to_string()
        }
    };
    text.split("\n\n").map(wrapped).collect::<Vec<_>>().join("\n\n")
}

/// What stands before the name of something that is below something else.
pub(crate) const BRANCH: &str = "└";

/// Units that stay on the same line as their numbers.
const UNITS: [&str; 13] =
    ["%", "ns", "µs", "ms", "s", "B/s", "kB/s", "MB/s", "GB/s", "TB/s", "KiB", "MiB", "GiB"];

/// Wraps `text` to lines of at most `room` characters, at spaces but not before a unit. Control
/// characters become spaces, because text from a record must not control a terminal.
pub(crate) fn fold(text: &str, room: usize) -> Vec<String> {
    // A number stays with its unit, and what is below something with its branch.
    let is_bound = |last: &str, word: &str| {
        let is_unit = UNITS.contains(&word.trim_end_matches([',', '.', ';', ':', ')']));
        last == BRANCH || (is_unit && last.ends_with(|c: char| c.is_ascii_digit()))
    };
    let mut words: Vec<String> = Vec::new();
    for word in printable(text).split_whitespace() {
        match words.last_mut() {
            Some(last) if is_bound(last, word) => {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_string()),
        }
    }
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in &words {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

/// `text` without characters that control a terminal.
pub(crate) fn printable(text: &str) -> String {
    model::printable::printable(text).into_owned()
}

/// Codes in clap's messages, besides those of [`Paint`].
const CLAP_CODES: [&str; 3] = ["4", "32", "0"];

/// Text that is safe for a terminal: lines, in the colors of this program and of clap. Removes all
/// other control characters. All output passes through here last, in case earlier code forgot.
pub fn to_terminal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = own_code(rest).unwrap_or(c.len_utf8());
        match c {
            '\n' | '\t' => out.push(c),
            '\x1b' if length > 1 => out.push_str(&rest[..length]),
            _ => out.push_str(&model::printable::printable(&rest[..length])),
        }
        rest = &rest[length..];
    }
    out
}

/// The length of the color code at the start of `text`, if it is one of ours.
fn own_code(text: &str) -> Option<usize> {
    let code = text.strip_prefix("\x1b[")?;
    let code = &code[..code.find('m')?];
    let paints = [Paint::Strong, Paint::Faint, Paint::Doubt, Paint::Void];
    let is_own = paints.iter().any(|paint| paint.code() == Some(code))
        || SHADE_CODES.contains(&code)
        || CLAP_CODES.contains(&code);
    is_own.then_some("\x1b[".len() + code.len() + "m".len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_fits_into_a_narrow_terminal() {
        let style = |width| Style { colour: false, width };
        let text = "what a sync costs, and whether it reaches the device at all";
        let wide = "sync-latency    what a sync costs, and whether it reaches the device at all\n";
        assert_eq!(entry("sync-latency", 14, text, &style(80)), wide);
        let narrow = "sync-latency    what a sync costs, and whether\n                it reaches \
                      the device at all\n";
        assert_eq!(entry("sync-latency", 14, text, &style(48)), narrow);
        let below = "sync-latency\n  what a sync costs, and whether it\n  reaches the device at \
                     all\n";
        assert_eq!(entry("sync-latency", 14, text, &style(40)), below);
    }

    #[test]
    fn only_paragraphs_that_are_too_wide_are_wrapped() {
        let style = Style { colour: false, width: 30 };
        let text = "Short lines\nstay.\n\nA list of things that are wide:\n- the first of them, \
                    with words\n- the second";
        let expected = "Short lines\nstay.\n\nA list of things that are\nwide:\n- the first of \
                        them, with\n  words\n- the second";
        assert_eq!(paragraphs(text, &style), expected);
        assert_eq!(paragraphs(text, &Style { width: 80, ..style }), text);
    }

    #[test]
    fn lines_are_no_wider_than_asked_and_lose_no_word() {
        let text = "one two three four five six seven eight nine ten eleven twelve";
        let style = Style { colour: false, width: 30 };
        let wrapped = style.wrap("note  ", Paint::Faint, text);
        assert!(wrapped.lines().all(|line| line.chars().count() <= 30), "{wrapped}");
        assert!(wrapped.lines().skip(1).all(|line| line.starts_with("      ")), "{wrapped}");
        let words: Vec<&str> = wrapped.split_whitespace().skip(1).collect();
        assert_eq!(words.join(" "), text);
    }

    #[test]
    fn of_what_steers_a_terminal_only_own_colours_are_left() {
        let style = Style { colour: true, width: 80 };
        let own = style.paint("void", Paint::Void) + &style.paint("heat", Paint::Shade(3)) + "\n";
        assert_eq!(to_terminal(&own), own);
        let hostile = "a\x1b]0;x\x07b\x1b[2Jc\x1b[8md\u{9b}5me\u{202e}f\rg";
        let left = to_terminal(hostile);
        assert!(left.chars().all(model::printable::is_printable), "{left:?}");
        assert!(left.starts_with("a\u{FFFD}]0;x\u{FFFD}b\u{FFFD}[2Jc"), "{left:?}");
    }

    #[test]
    fn colour_is_used_only_where_it_may_be() {
        let text = "void";
        assert_eq!(Style { colour: false, width: 80 }.paint(text, Paint::Void), "void");
        assert_eq!(
            Style { colour: true, width: 80 }.paint(text, Paint::Void),
            "\x1b[31mvoid\x1b[0m"
        );
        assert_eq!(Style { colour: true, width: 80 }.paint(text, Paint::Plain), "void");
    }

    /// Red, green and blue of one of xterm's 256 colors, from 0 to 1.
    fn rgb(colour: u8) -> [f64; 3] {
        let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
        let [r, g, b] = match colour {
            0..=15 => panic!("the first 16 are what the user's terminal makes of them"),
            16..=231 => {
                let cube = colour - 16;
                [cube / 36, cube / 6 % 6, cube % 6].map(level)
            }
            232.. => [8 + 10 * (colour - 232); 3],
        };
        [r, g, b].map(|part| f64::from(part) / 255.0)
    }

    /// Relative luminance (WCAG 2.2).
    fn luminance(colour: u8) -> f64 {
        let linear = |part: f64| match part {
            ..=0.040_45 => part / 12.92,
            _ => ((part + 0.055) / 1.055).powf(2.4),
        };
        let [r, g, b] = rgb(colour).map(linear);
        0.2126 * r + 0.7152 * g + 0.0722 * b
    }

    fn contrast(one: u8, other: u8) -> f64 {
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    /// Cells of a heat map set both their colors, so they look the same on light and dark
    /// terminals: with the contrast that WCAG requires for text (AA), and each shade darker than
    /// the last.
    #[test]
    fn shades_are_readable_on_any_terminal() {
        let colours = |code: &str| -> (u8, u8) {
            let parts: Vec<&str> = code.split(';').collect();
            let [_, "5", text, "48", "5", ground] = parts[..] else { panic!("{code}") };
            (text.parse().expect("a colour"), ground.parse().expect("a colour"))
        };
        let all = SHADE_CODES.map(colours);
        for (text, ground) in all {
            let found = contrast(text, ground);
            assert!(found >= 4.5, "{text} on {ground}: {found:.1}");
        }
        for pair in all.windows(2) {
            let (paler, deeper) = (pair[0].1, pair[1].1);
            assert!(luminance(paler) > luminance(deeper));
            let found = contrast(paler, deeper);
            assert!(found >= 1.2, "{paler} beside {deeper}: {found:.2}");
        }
    }

    #[test]
    fn a_doubt_is_readable_on_white_and_on_black() {
        let code = DOUBT.strip_prefix("38;5;").expect("it is one of xterm's 256 colors");
        let colour = code.parse().expect("a number");
        let (white, black) = (231, 16);
        assert!(contrast(colour, white) >= 4.5 && contrast(colour, black) >= 4.4);
        // Yellow, as many terminals show it.
        assert!(contrast(226, white) < 4.5);
    }

    #[test]
    fn a_unit_stays_with_its_number() {
        assert_eq!(fold("it takes 83.2 µs, or 2 ms.", 14), ["it takes", "83.2 µs, or", "2 ms."]);
    }

    #[test]
    fn a_record_cannot_steer_the_terminal() {
        assert_eq!(fold("a\x1b[2Jb\r\nc", 80), ["a\u{fffd}[2Jb c"]);
    }
}
