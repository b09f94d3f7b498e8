//! Bodies of requests and answers that the user released (`OTEL_LOG_RAW_API_BODIES`): whether, and as files.
//!
//! Only bodies: headers, and with them every key, never come here. A file that cannot be written is left out without a word,
//! because telemetry never changes how a run ends.

use rustix::fs::OFlags;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// A name from a server that is longer than this is no name of a file.
const NAME_MAX: usize = 100;
const INDEX: &str = "index.jsonl";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum RawBodies {
    #[default]
    Off,
    /// In the record, as much as its limit allows.
    Inline,
    /// As files in this folder.
    Files(PathBuf),
}

impl RawBodies {
    /// `is_on` is the value as a switch. What is neither a switch nor `file:` with a folder shows nothing.
    pub(crate) fn read(value: Option<&str>, is_on: bool) -> Self {
        match value.and_then(|value| value.strip_prefix("file:")) {
            Some(folder) if !folder.is_empty() => Self::Files(PathBuf::from(folder)),
            _ if is_on => Self::Inline,
            _ => Self::Off,
        }
    }

    pub fn is_on(&self) -> bool {
        *self != Self::Off
    }

    /// With the folder's whole path.
    #[must_use]
    pub fn anchored(self, base: &Path) -> Self {
        match self {
            Self::Files(folder) => Self::Files(base.join(folder)),
            other => other,
        }
    }

    fn folder(&self) -> Option<&Path> {
        match self {
            Self::Files(folder) => Some(folder),
            Self::Off | Self::Inline => None,
        }
    }

    /// The file of a request's body; `None` where bodies are no files, or it could not be written.
    pub fn write_request(&self, id: &str, body: &str) -> Option<PathBuf> {
        write_new(self.folder()?, &format!("{id}.request.json"), body).ok()
    }

    /// The file of an answer's body. It has the name that the server gave to the request, if that can be one and nobody has
    /// it yet; else the one of the request's body.
    pub fn write_response(&self, request_id: Option<&str>, id: &str, body: &str) -> Option<PathBuf> {
        let folder = self.folder()?;
        let write = |name: &str| write_new(folder, &format!("{name}.response.json"), body);
        let named = request_id.filter(|name| is_plain(name)).map(write);
        match named {
            Some(Ok(path)) => Some(path),
            Some(Err(error)) if error.kind() != ErrorKind::AlreadyExists => None,
            _ => write(id).ok(),
        }
    }

    /// One more line in the index of all bodies.
    pub fn append_index(&self, line: &serde_json::Value) {
        if let Some(folder) = self.folder() {
            let _ = append(&folder.join(INDEX), &format!("{line}\n"));
        }
    }
}

/// A name of a file and no path.
fn is_plain(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    !name.is_empty() && name.len() <= NAME_MAX && name.bytes().all(is_plain)
}

/// A new file that only this user can read. Whatever stands there already, a link included, is an error.
fn write_new(folder: &Path, name: &str, text: &str) -> io::Result<PathBuf> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let path = folder.join(name);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    if let Err(error) = file.write_all(text.as_bytes()) {
        // Half a body is none.
        let _ = std::fs::remove_file(&path);
        return Err(error);
    }
    Ok(path)
}

/// The line is written at once, so that sessions with the same folder do not mix theirs.
fn append(path: &Path, line: &str) -> io::Result<()> {
    // Without NONBLOCK a pipe that somebody put there would hang the run.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut file: File = OpenOptions::new().create(true).append(true).mode(0o600).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(ErrorKind::InvalidInput.into());
    }
    file.write_all(line.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_released_by_a_switch_or_a_folder() {
        let files = |folder: &str| RawBodies::Files(PathBuf::from(folder));
        for (value, is_on, expected) in [
            (None, false, RawBodies::Off),
            (Some("1"), true, RawBodies::Inline),
            (Some("perhaps"), false, RawBodies::Off),
            (Some("file:"), false, RawBodies::Off),
            (Some("FILE:/a"), false, RawBodies::Off),
            (Some("file:/a/b"), false, files("/a/b")),
        ] {
            assert_eq!(RawBodies::read(value, is_on), expected, "{value:?}");
        }
        assert_eq!(files("b").anchored(Path::new("/a")), files("/a/b"));
        assert_eq!(files("/b").anchored(Path::new("/a")), files("/b"));
    }

    #[test]
    fn a_servers_name_is_never_a_path() {
        for name in ["", ".", "..", "../x", "/etc/x", "a/b", "a.b", "a\0b", &"x".repeat(NAME_MAX + 1)] {
            assert!(!is_plain(name), "{name:?}");
        }
        assert!(is_plain("req_011CT-x"));
    }
}
