//! The secret by which a coordinator and the agents that connect to it know each other.
//!
//! It has a half for each side, so that neither takes orders or answers from a stranger: an agent
//! shows its half first, the coordinator answers with the other. Nobody else sees it: it is passed
//! in the environment or in a file that only its owner can read, never in an argument, which every
//! user of a host can list.

use crate::input;
use crate::launch::TOKEN_VARIABLE;
use anyhow::{Context, Result, ensure};
use rustix::process::geteuid;
use std::fs::File;
use std::hint::black_box;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use tempfile::NamedTempFile;

/// The random bytes of a half.
const HALF_BYTES: usize = 32;

/// The hexadecimal digits of a half.
const HALF_DIGITS: usize = 2 * HALF_BYTES;

/// A token, in hexadecimal digits.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// A new one, which nobody can guess.
    ///
    /// # Errors
    /// If the OS gives no random bytes.
    pub fn random() -> Result<Token> {
        let mut bytes = [0; 2 * HALF_BYTES];
        File::open("/dev/urandom")
            .and_then(|mut source| source.read_exact(&mut bytes))
            .context("failed to read random bytes for a token from /dev/urandom")?;
        Ok(Token(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// The token of a text.
    ///
    /// # Errors
    /// If it is none. The error does not show it.
    fn parse(text: &str) -> Result<Token> {
        let text = text.trim();
        let is_whole = text.len() == 2 * HALF_DIGITS;
        ensure!(
            is_whole && text.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "it is no token of ioassay, which has {} hexadecimal digits",
            2 * HALF_DIGITS
        );
        Ok(Token(text.to_owned()))
    }

    /// The one in the environment.
    ///
    /// # Errors
    /// If there is none.
    pub fn of_environment() -> Result<Token> {
        let text = std::env::var(TOKEN_VARIABLE).with_context(|| {
            format!(
                "{TOKEN_VARIABLE} is not set here: the launcher must carry this variable to all \
                 hosts, or pass the token in a file (token = \"file\")"
            )
        })?;
        Token::parse(&text).with_context(|| format!("{TOKEN_VARIABLE} is wrong"))
    }

    /// The one in a file, which nobody but its owner, this user, can read.
    ///
    /// # Errors
    /// If it cannot be read, others could, or there is no token in it.
    pub fn of_file(path: &Path) -> Result<Token> {
        let read = || {
            let file = input::regular(path)?;
            let about = file.metadata()?;
            ensure!(about.uid() == geteuid().as_raw(), "it belongs to another user");
            let mode = about.mode() & 0o777;
            ensure!(mode & 0o077 == 0, "others may read it (mode {mode:o}): it must have mode 600");
            let mut text = String::new();
            file.take(4 * HALF_DIGITS as u64).read_to_string(&mut text)?;
            Token::parse(&text)
        };
        read().with_context(|| format!("failed to read the token in '{}'", path.display()))
    }

    /// Writes it to a new file in `folder`, of mode 600, which is removed on drop.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn keep(&self, folder: &Path) -> Result<NamedTempFile> {
        let write = || {
            std::fs::create_dir_all(folder)?;
            let mut file = tempfile::Builder::new().prefix("agents-").tempfile_in(folder)?;
            writeln!(file, "{}", self.0)?;
            file.flush()?;
            Ok::<_, std::io::Error>(file)
        };
        write().with_context(|| format!("failed to write a token in '{}'", folder.display()))
    }

    /// The whole, for the environment.
    pub fn whole(&self) -> &str {
        &self.0
    }

    /// What an agent shows.
    pub fn of_agent(&self) -> &str {
        &self.0[..HALF_DIGITS]
    }

    /// What the coordinator answers.
    pub fn of_coordinator(&self) -> &str {
        &self.0[HALF_DIGITS..]
    }
}

/// Errors and logs never show it.
impl std::fmt::Debug for Token {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.write_str("Token")
    }
}

/// Whether a stranger's text is `half`. The time that this takes does not depend on where they
/// differ, so nobody can find it digit by digit.
pub fn is_same(half: &str, text: &str) -> bool {
    let (half, text) = (half.as_bytes(), text.as_bytes());
    let differing = half.iter().zip(text).fold(0, |all, (a, b)| black_box(all | (a ^ b)));
    half.len() == text.len() && black_box(differing) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_token_is_known_by_each_half_and_shown_to_nobody() {
        let token = Token::random().unwrap();
        assert_ne!(token, Token::random().unwrap());
        assert_eq!(Token::parse(token.whole()).unwrap(), token);
        assert_ne!(token.of_agent(), token.of_coordinator());
        assert!(is_same(token.of_agent(), token.of_agent()));
        for other in [token.of_coordinator(), "", &token.of_agent()[1..], token.whole()] {
            assert!(!is_same(token.of_agent(), other));
        }
        assert_eq!(format!("{token:?}"), "Token");
        let error = Token::parse(&token.whole()[1..]).unwrap_err().to_string();
        assert!(!error.contains(&token.whole()[2..9]), "{error}");
    }

    #[test]
    fn a_file_that_others_may_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let token = Token::random().unwrap();
        let file = token.keep(&folder.path().join("new")).unwrap();
        assert_eq!(Token::of_file(file.path()).unwrap(), token);
        std::fs::set_permissions(file.path(), PermissionsExt::from_mode(0o640)).unwrap();
        let error = format!("{:#}", Token::of_file(file.path()).unwrap_err());
        assert!(error.contains("others may read it (mode 640)"), "{error}");
        let path = file.path().to_path_buf();
        drop(file);
        assert!(!path.exists());
        let error = format!("{:#}", Token::of_file(&path).unwrap_err());
        assert!(error.contains("failed to read the token in"), "{error}");
    }
}
