//! Text for people, in spans. What a renderer shows in its own way, such as a figure, is told from
//! the words around it where it is written, so that no renderer must guess it.

use std::fmt::{self, Display, Formatter};

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TextSpan {
    Words(String),
    /// A figure with its unit, such as `1.89 GB/s` or `0.11×`, without its interval.
    Figure(String),
    /// The name of a case in this report, and its id.
    Case {
        id: String,
        name: String,
    },
    /// What somebody may type, such as `ioassay compare A B`.
    Command(String),
}

impl TextSpan {
    /// Its text alone.
    pub(crate) fn words(&self) -> &str {
        match self {
            TextSpan::Words(text) | TextSpan::Figure(text) | TextSpan::Command(text) => text,
            TextSpan::Case { name, .. } => name,
        }
    }
}

/// Spans that follow each other without anything between them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Text(Vec<TextSpan>);

/// A text of this template, in which each `{}` stands for the next of the parts: words, numbers,
/// figures, cases or texts.
macro_rules! text {
    ($template:literal $(, $part:expr)* $(,)?) => {{
        const PARTS: &[&str] = &[$(stringify!($part)),*];
        const { assert!($crate::text::places($template) == PARTS.len(), "a part for each place") };
        $crate::text::Text::filled($template, [$($crate::text::Text::from($part)),*])
    }};
}
pub(crate) use text;

/// The number of `{}` in a template.
pub(crate) const fn places(template: &str) -> usize {
    let bytes = template.as_bytes();
    let (mut at, mut places) = (0, 0);
    while at + 1 < bytes.len() {
        if bytes[at] == b'{' && bytes[at + 1] == b'}' {
            places += 1;
        }
        at += 1;
    }
    places
}

/// A figure with its unit.
pub(crate) fn figure(text: impl Into<String>) -> Text {
    Text(vec![TextSpan::Figure(text.into())])
}

/// A case with its name in this report.
pub(crate) fn case(id: &str, name: &dyn Fn(&str) -> String) -> Text {
    Text(vec![TextSpan::Case { id: id.to_string(), name: name(id) }])
}

/// A command to type.
pub(crate) fn command(text: impl Into<String>) -> Text {
    Text(vec![TextSpan::Command(text.into())])
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn listed(texts: &[Text]) -> Text {
    match texts {
        [] => Text::default(),
        [one] => one.clone(),
        [head @ .., last] => text!("{} and {}", joined(head, ", "), last),
    }
}

/// The texts with `between` between them.
pub(crate) fn joined(texts: &[Text], between: &str) -> Text {
    let mut all = Text::default();
    for (index, text) in texts.iter().enumerate() {
        if index > 0 {
            all.push(between);
        }
        all.push(text);
    }
    all
}

impl Text {
    /// The template with these parts at its `{}`, of which it has as many: see [`text!`].
    pub(crate) fn filled<const N: usize>(template: &str, parts: [Text; N]) -> Text {
        let mut all = Text::default();
        let mut parts = parts.into_iter();
        for (index, words) in template.split("{}").enumerate() {
            if index > 0 {
                all.push(parts.next().unwrap_or_default());
            }
            all.push(words);
        }
        all
    }

    /// Adds `text` at the end.
    pub(crate) fn push(&mut self, text: impl Into<Text>) {
        for span in text.into().0 {
            match (self.0.last_mut(), span) {
                (_, TextSpan::Words(words)) if words.is_empty() => {}
                (Some(TextSpan::Words(before)), TextSpan::Words(words)) => before.push_str(&words),
                (_, span) => self.0.push(span),
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn spans(&self) -> &[TextSpan] {
        &self.0
    }

    /// Puts a mark at the end of its last figure, or at its own.
    pub(crate) fn mark(&mut self, mark: char) {
        let is_figure = |span: &&mut TextSpan| matches!(span, TextSpan::Figure(_));
        match self.0.iter_mut().rev().find(is_figure) {
            Some(TextSpan::Figure(figure)) => figure.push(mark),
            _ => self.push(mark.to_string()),
        }
    }

    /// The text with an initial capital, if it starts with words.
    pub(crate) fn capital(mut self) -> Text {
        if let Some(TextSpan::Words(words)) = self.0.first_mut() {
            *words = crate::words::capital(words);
        }
        self
    }

    /// The text with a final period.
    pub(crate) fn sentence(mut self) -> Text {
        let ends = match self.0.last() {
            // It may end with the mark of doubtful ones.
            Some(TextSpan::Figure(_)) => false,
            Some(last) => last.words().trim_end().ends_with(['.', '!', '?']),
            None => true,
        };
        if !ends {
            self.push(".");
        }
        self
    }
}

/// The words alone.
impl Display for Text {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|span| match span {
            TextSpan::Command(command) => write!(to, "'{command}'"),
            span => to.write_str(span.words()),
        })
    }
}

impl From<&str> for Text {
    fn from(words: &str) -> Text {
        Text::from(words.to_string())
    }
}

impl From<String> for Text {
    fn from(words: String) -> Text {
        Text(if words.is_empty() { Vec::new() } else { vec![TextSpan::Words(words)] })
    }
}

impl From<&String> for Text {
    fn from(words: &String) -> Text {
        Text::from(words.clone())
    }
}

impl From<&Text> for Text {
    fn from(text: &Text) -> Text {
        text.clone()
    }
}

impl From<char> for Text {
    fn from(letter: char) -> Text {
        Text::from(letter.to_string())
    }
}

impl From<usize> for Text {
    fn from(number: usize) -> Text {
        Text::from(number.to_string())
    }
}

impl From<u32> for Text {
    fn from(number: u32) -> Text {
        Text::from(number.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_takes_a_part_for_each_of_its_places() {
        let said = text!("it moves {}, {} of memory.", figure("1.89 GB/s"), figure("0.11×"));
        let words = |text: &str| TextSpan::Words(text.to_string());
        let figure = |text: &str| TextSpan::Figure(text.to_string());
        assert_eq!(
            said.spans(),
            [
                words("it moves "),
                figure("1.89 GB/s"),
                words(", "),
                figure("0.11×"),
                words(" of memory.")
            ]
        );
        assert_eq!(said.to_string(), "it moves 1.89 GB/s, 0.11× of memory.");
        assert_eq!(text!("{}{}", "a", 2_u32).spans(), [words("a2")]);
        assert_eq!((places("{} {"), places("{}{}"), places("")), (1, 2, 0));
    }

    #[test]
    fn texts_are_listed_and_end_as_sentences() {
        let [a, b, c] = ["a", "b", "c"].map(Text::from);
        let all = [a.clone(), b, c];
        assert_eq!(listed(&all).to_string(), "a, b and c");
        assert_eq!(listed(&[]).to_string(), "");
        assert_eq!(listed(std::slice::from_ref(&a)), a);
        assert_eq!(a.capital().sentence().to_string(), "A.");
        assert_eq!(Text::from("Done!").sentence().to_string(), "Done!");
        assert_eq!(text!("see {}", command("man")).sentence().to_string(), "see 'man'.");
    }
}
