//! Files for what is too long or no text: written once, never over another, readable by us alone.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::cell::Cell;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;

/// Names tried before giving up: another session may have used the folder before.
const TRIES: usize = 10_000;

/// Of a file's name, so that no file system refuses it.
const STEM_MAX: usize = 80;

/// Why what a server sent is in no file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SpillError {
    #[error("its base64 is broken: {0}")]
    Base64(#[from] base64::DecodeError),
    #[error("it could not be saved: {0}")]
    Save(#[from] io::Error),
}

#[derive(Debug)]
pub(crate) struct Spill {
    folder: PathBuf,
    next: Cell<usize>,
}

impl Spill {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, next: Cell::new(1) }
    }

    /// Writes a new file named after `words` and tells where it is.
    pub(crate) fn save(&self, words: &[&str], extension: &str, bytes: &[u8]) -> io::Result<PathBuf> {
        let (mut file, path) = self.fresh(words, extension)?;
        file.write_all(bytes)?;
        Ok(path)
    }

    /// The same for base64 of some media type.
    pub(crate) fn save_base64(&self, words: &[&str], media: &str, data: &str) -> Result<PathBuf, SpillError> {
        let bytes = STANDARD.decode(data)?;
        Ok(self.save(words, extension(media), &bytes)?)
    }

    fn fresh(&self, words: &[&str], extension: &str) -> io::Result<(File, PathBuf)> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let clean = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        let stem: String = words.join("-").chars().map(clean).take(STEM_MAX).collect();
        for _ in 0..TRIES {
            let number = self.next.replace(self.next.get() + 1);
            let path = self.folder.join(format!("mcp-{stem}-{number}.{extension}"));
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                opened => return opened.map(|file| (file, path)),
            }
        }
        Err(io::Error::other(format!("{} is full of files of that name", self.folder.display())))
    }
}

/// A file's ending says to a model how to read it.
fn extension(media: &str) -> &'static str {
    match media.split(';').next().unwrap_or_default().trim() {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        "application/pdf" => "pdf",
        "application/json" => "json",
        "application/zip" => "zip",
        "audio/wav" | "audio/x-wav" => "wav",
        "audio/mpeg" => "mp3",
        "audio/ogg" => "ogg",
        "text/html" => "html",
        "text/csv" => "csv",
        "text/markdown" => "md",
        text if text.starts_with("text/") => "txt",
        _ => "bin",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_is_written_over_and_no_name_leaves_the_folder() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("not/there yet");
        let (first, again) = (Spill::new(folder.clone()), Spill::new(folder.clone()));
        let mut paths = vec![first.save(&["../..", "/etc/x"], "txt", b"1").unwrap()];
        paths.push(first.save(&["../..", "/etc/x"], "txt", b"2").unwrap());
        paths.push(again.save(&["../..", "/etc/x"], "txt", b"3").unwrap());
        for (path, expected) in paths.iter().zip(["1", "2", "3"]) {
            assert_eq!(std::fs::read_to_string(path).unwrap(), expected);
            assert_eq!(path.parent(), Some(folder.as_path()));
        }
    }

    #[test]
    fn what_cannot_be_saved_says_why() {
        let spill = Spill::new("/proc/no/such".into());
        let why = |data: &str| spill.save_base64(&["s"], "image/png", data).unwrap_err().to_string();
        assert!(why("AAAA").contains("saved") && why("*").contains("base64"));
    }
}
