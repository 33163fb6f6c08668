//! Words in capital letters, which stand for paths and sizes in command lines and files.

use std::ffi::OsStr;

/// Words, and what each stands for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Words(Vec<(&'static str, String)>);

impl Words {
    /// These, and another one.
    pub(crate) fn and(mut self, word: &'static str, meaning: impl AsRef<OsStr>) -> Words {
        self.0.push((word, meaning.as_ref().to_string_lossy().into_owned()));
        self
    }

    /// `text` with what its words stand for. What stands for a word is not read again.
    pub(crate) fn put(&self, text: &str) -> String {
        let find = |(word, meaning): &'_ (&str, String)| {
            Some((text.find(word)?, word.len(), meaning.clone()))
        };
        match self.0.iter().filter_map(find).min() {
            Some((at, length, meaning)) => {
                text[..at].to_owned() + &meaning + &self.put(&text[at + length..])
            }
            None => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_replaced_once() {
        let words = Words::default().and("FILE", "/DIR/a").and("DIR", "/b");
        assert_eq!(words.put("cp FILE of=DIR/FILE x"), "cp /DIR/a of=/b//DIR/a x");
        assert_eq!(words.put("nothing"), "nothing");
    }
}
