//! A line of the protocol: a verb and `key=value` pairs, escaped to fit on one line of ASCII.

/// A line that violates the protocol.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem} in the line '{line}'")]
pub struct ProtocolError {
    /// What is wrong.
    pub problem: String,
    /// The line, truncated to 200 characters.
    pub line: String,
}

/// A line to write.
pub(crate) struct LineBuilder {
    pub(crate) text: String,
}

impl LineBuilder {
    pub(crate) fn new(verb: &str) -> LineBuilder {
        LineBuilder { text: verb.to_string() }
    }

    pub(crate) fn with(self, key: &str, value: impl ToString) -> LineBuilder {
        self.with_bytes(key, value.to_string().as_bytes())
    }

    /// Omits a number that is 0.
    pub(crate) fn with_if(self, key: &str, number: u64) -> LineBuilder {
        if number > 0 { self.with(key, number) } else { self }
    }

    pub(crate) fn with_bytes(mut self, key: &str, value: &[u8]) -> LineBuilder {
        self.text.push(' ');
        self.text.push_str(key);
        self.text.push('=');
        for &byte in value {
            if byte.is_ascii_graphic() && byte != b'%' && byte != b'=' {
                self.text.push(byte.into());
            } else {
                self.text.push_str(&format!("%{byte:02X}"));
            }
        }
        self
    }
}

/// A line to parse.
pub(crate) struct Fields<'a> {
    line: &'a str,
    pub(crate) verb: &'a str,
    pub(crate) pairs: Vec<(String, Vec<u8>)>,
}

impl<'a> Fields<'a> {
    pub(crate) fn parse(line: &'a str) -> Result<Fields<'a>, ProtocolError> {
        let mut words = line.split_ascii_whitespace();
        let verb = words.next().unwrap_or_default();
        let mut fields = Fields { line, verb, pairs: Vec::new() };
        for word in words {
            let Some((key, value)) = word.split_once('=') else {
                return Err(fields.error(format!("'{word}', which is not key=value,")));
            };
            let value = unescape(value).ok_or_else(|| fields.error("a broken % escape"))?;
            fields.pairs.push((key.to_string(), value));
        }
        Ok(fields)
    }

    pub(crate) fn take(&mut self, key: &str) -> Option<Vec<u8>> {
        let index = self.pairs.iter().position(|(name, _)| name == key)?;
        Some(self.pairs.swap_remove(index).1)
    }

    pub(crate) fn text(&mut self, key: &str) -> Result<String, ProtocolError> {
        let value = self.take(key).ok_or_else(|| self.error(format!("no '{key}'")))?;
        self.utf8(value)
    }

    pub(crate) fn number(&mut self, key: &str) -> Result<u64, ProtocolError> {
        let text = self.text(key)?;
        text.parse().map_err(|_| self.error(format!("'{key}' that is not a number")))
    }

    pub(crate) fn number_or(&mut self, key: &str, usual: u64) -> Result<u64, ProtocolError> {
        if self.has(key) { self.number(key) } else { Ok(usual) }
    }

    pub(crate) fn number_if(&mut self, key: &str) -> Result<Option<u64>, ProtocolError> {
        if self.has(key) { self.number(key).map(Some) } else { Ok(None) }
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.pairs.iter().any(|(name, _)| name == key)
    }

    pub(crate) fn thread(&mut self) -> Result<u32, ProtocolError> {
        u32::try_from(self.number("thread")?)
            .map_err(|_| self.error("a thread number out of range"))
    }

    pub(crate) fn numbers(&mut self, key: &str) -> Result<Vec<u64>, ProtocolError> {
        let text = self.text(key)?;
        let numbers: Result<Vec<u64>, _> = text.split(',').map(str::parse).collect();
        numbers.map_err(|_| self.error(format!("'{key}' that is not a list of numbers")))
    }

    pub(crate) fn utf8(&self, value: Vec<u8>) -> Result<String, ProtocolError> {
        String::from_utf8(value).map_err(|_| self.error("a value that is not UTF-8"))
    }

    pub(crate) fn error(&self, problem: impl ToString) -> ProtocolError {
        let line = self.line.chars().take(200).collect();
        ProtocolError { problem: problem.to_string(), line }
    }
}

fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    Some(bytes)
}
