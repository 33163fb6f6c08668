//! Paths that a record can keep, whatever bytes are in them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A path, also if it is not UTF-8.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct FilePath {
    /// The path as text. Bytes that are not UTF-8 are replaced.
    pub text: String,
    /// Its bytes, if the text differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bytes: Option<Vec<u8>>,
}

impl FilePath {
    /// The path for the OS.
    pub fn to_path(&self) -> PathBuf {
        match &self.bytes {
            Some(bytes) => PathBuf::from(OsString::from_vec(bytes.clone())),
            None => PathBuf::from(&self.text),
        }
    }
}

impl From<&Path> for FilePath {
    fn from(path: &Path) -> FilePath {
        let name: &OsStr = path.as_os_str();
        match name.to_str() {
            Some(text) => FilePath { text: text.to_string(), bytes: None },
            None => FilePath {
                text: name.to_string_lossy().into_owned(),
                bytes: Some(name.as_bytes().to_vec()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_not_utf_8_returns_as_it_was() {
        for name in [&b"/plain"[..], b"/g\xfcnther", "/größe".as_bytes()] {
            let path = Path::new(OsStr::from_bytes(name));
            let json = serde_json::to_string(&FilePath::from(path)).unwrap();
            let read: FilePath = serde_json::from_str(&json).unwrap();
            assert_eq!(read.to_path(), path, "{json}");
        }
    }
}
