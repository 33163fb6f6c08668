//! Escapes texts from records for CommonMark: they cannot end a cell, start a block or become HTML.

use crate::style::printable;

/// Characters with a meaning within a line of CommonMark or of GitHub's extensions.
const MARKS: &str = r"\`*_[]<>|~&#$";

/// `text` within a line: control characters become spaces, and every mark is escaped.
pub(crate) fn inline(text: &str) -> String {
    let mut out = String::new();
    for c in one_line(text).chars() {
        if MARKS.contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// `text` at the start of a block, where more characters have a meaning.
pub(crate) fn block(text: &str) -> String {
    let text = inline(text);
    let after_number = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = after_number.len() < text.len() && after_number.starts_with(['.', ')']);
    if numbered {
        let (number, rest) = text.split_at(text.len() - after_number.len());
        return format!("{number}\\{rest}");
    }
    if text.starts_with(['-', '+', '=']) { format!("\\{text}") } else { text }
}

/// `code` in a fence that is longer than any within it.
pub(crate) fn fenced(code: &str, language: &str) -> String {
    let code = one_line(code);
    let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    format!("{fence}{language}\n{code}\n{fence}\n")
}

/// `text` on one line, without control characters.
pub(crate) fn one_line(text: &str) -> String {
    printable(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::GITHUB;
    use proptest::prelude::*;
    use pulldown_cmark::{Event, Parser, Tag, TagEnd};

    fn events(markdown: &str) -> Vec<Event<'_>> {
        Parser::new_ext(markdown, GITHUB).collect()
    }

    /// The text that a CommonMark parser reads from `markdown`.
    fn read_back(markdown: &str) -> String {
        let events = events(markdown);
        let [Event::Start(Tag::Paragraph), inner @ .., Event::End(TagEnd::Paragraph)] = &events[..]
        else {
            panic!("{markdown:?} is {events:?}");
        };
        let text = |event: &Event| match event {
            Event::Text(text) => text.to_string(),
            other => panic!("{markdown:?} has {other:?}"),
        };
        inner.iter().map(text).collect()
    }

    fn is_nothing(text: &str) -> bool {
        one_line(text).is_empty()
    }

    proptest! {
        #[test]
        fn a_block_is_text_and_nothing_else(
            text in r"[ -~]{0,24}|[-+=*_~`#<>|$\[\]()!&;:.0-9 a\n]{0,16}|\PC{0,12}"
        ) {
            prop_assume!(!is_nothing(&text));
            prop_assert_eq!(read_back(&block(&text)), one_line(&text));
        }

        #[test]
        fn code_is_in_its_fence(text in "[`~ a\n<>|]{0,20}") {
            let markdown = fenced(&text, "sh");
            let events = events(&markdown);
            prop_assert!(matches!(events.first(), Some(Event::Start(Tag::CodeBlock(_)))));
            prop_assert_eq!(events.last(), Some(&Event::End(TagEnd::CodeBlock)));
            let blocks = events.iter().filter(|e| matches!(e, Event::Start(_))).count();
            prop_assert_eq!(blocks, 1);
        }
    }

    #[test]
    fn what_begins_a_block_begins_none() {
        for text in
            ["- a", "+ a", "1. a", "12) a", "# a", "===", "---", "> a", "    a", "~~~", "$a$"]
        {
            assert_eq!(read_back(&block(text)), text.trim());
        }
    }
}
