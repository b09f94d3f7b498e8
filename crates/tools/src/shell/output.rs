//! The output of a command: its file, and the part that comes back.
//!
//! A file, not a pipe: nothing can hang on a pipe that somebody holds open, and 100 MB of output use
//! no memory. Small results are read back and the file removed; large ones stay and are named.

use crate::bounded::{first_chars, last_chars};
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _};
use std::path::{Path, PathBuf};
use tempfile::{NamedTempFile, TempPath};

/// What is kept of an output that stays on disk.
pub(crate) const KEPT: u64 = 64 * 1024 * 1024;

/// A command that writes more than this is ended before it fills the disk.
pub(crate) const FLOOD: u64 = 5 * 1024 * 1024 * 1024;

/// Characters shown of a failed command: enough for the first and the last errors.
pub(crate) const FAILURE_CHARS: usize = 10_000;

/// Characters shown of an output that is too long to be shown whole.
pub(crate) const PREVIEW_CHARS: usize = 4_000;

/// No character takes more bytes in UTF-8.
const CHAR_BYTES: usize = 4;

/// Created with a random name, for us alone, never over something that is there. Removed when dropped,
/// unless kept.
pub(crate) struct OutputFile {
    file: File,
    path: TempPath,
}

impl OutputFile {
    /// In `wanted`, which is made if need be, or in `fallback`, which exists.
    pub(crate) fn create(wanted: &Path, fallback: &Path) -> io::Result<Self> {
        let (file, path) = Self::create_in(wanted).or_else(|_| Self::create_in(fallback))?.into_parts();
        Ok(Self { file, path })
    }

    fn create_in(folder: &Path) -> io::Result<NamedTempFile> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        tempfile::Builder::new().prefix("b").rand_bytes(8).suffix(".output").append(true).tempfile_in(folder)
    }

    /// Also the name of the task, should the command become one.
    pub(crate) fn id(&self) -> String {
        self.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A neighbour for a file that lives as long as the command.
    pub(crate) fn beside(&self, extension: &str) -> PathBuf {
        self.path.with_extension(extension)
    }

    pub(crate) fn writer(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    pub(crate) fn size(&self) -> u64 {
        self.file.metadata().map_or(0, |metadata| metadata.len())
    }

    /// Leaves the file on disk from now on, even if what holds it is dropped.
    pub(crate) fn keep(&mut self) {
        self.path.disable_cleanup(true);
    }

    /// Cuts what is kept to its limit; for when the command has ended. Says whether something was lost.
    pub(crate) fn cut(&self) -> bool {
        self.size() > KEPT && self.file.set_len(KEPT).is_ok()
    }

    /// What stands from a place on, as far as it goes.
    pub(crate) fn read_from(&self, offset: u64, most: usize) -> Vec<u8> {
        read_at(&self.file, offset, most).unwrap_or_default()
    }

    pub(crate) fn read(&self, max_chars: usize) -> Excerpt {
        excerpt(&self.file, max_chars).unwrap_or_default()
    }
}

/// An output as far as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Excerpt {
    pub(crate) text: String,
    /// Whether `text` is all of it.
    pub(crate) whole: bool,
    pub(crate) bytes: u64,
}

/// All of the output if it has at most `max_chars`, else [`PREVIEW_CHARS`] of it.
fn excerpt(file: &File, max_chars: usize) -> io::Result<Excerpt> {
    let bytes = file.metadata()?.len();
    if bytes <= (max_chars * CHAR_BYTES) as u64 {
        let text = tidy(&read_at(file, 0, bytes as usize)?);
        if text.chars().count() <= max_chars {
            return Ok(Excerpt { text, whole: true, bytes });
        }
        return Ok(Excerpt { text: ends(&text, PREVIEW_CHARS.min(max_chars)), whole: false, bytes });
    }
    let half = PREVIEW_CHARS.min(max_chars) / 2;
    let window = half * CHAR_BYTES;
    let head = tidy(&read_at(file, 0, window)?);
    let head = first_chars(&head, half);
    let tail = last_chars(&tidy(&read_at(file, bytes - window as u64, window)?), half).to_owned();
    let left_out = bytes.saturating_sub((head.len() + tail.len()) as u64);
    Ok(Excerpt { text: join(head, left_out, &tail), whole: false, bytes })
}

/// The last `max_chars` of a file that somebody may still be writing.
pub(crate) fn tail(path: &Path, max_chars: usize) -> io::Result<Excerpt> {
    let file = File::open(path)?;
    let bytes = file.metadata()?.len();
    let window = bytes.min((max_chars * CHAR_BYTES) as u64);
    let text = tidy(&read_at(&file, bytes - window, window as usize)?);
    let shown = last_chars(&text, max_chars).to_owned();
    let whole = window == bytes && shown.len() == text.len();
    Ok(Excerpt { text: shown, whole, bytes })
}

fn read_at(file: &File, mut offset: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    let mut filled = 0;
    while filled < length {
        match file.read_at(&mut bytes[filled..], offset)? {
            0 => break,
            read => {
                filled += read;
                offset += read as u64;
            }
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// As text, without the newlines at its end. Bytes that are no UTF-8 become replacement characters,
/// except where a window cut a character in two.
fn tidy(bytes: &[u8]) -> String {
    let cut = bytes.iter().take(CHAR_BYTES - 1).take_while(|byte| (**byte & 0b1100_0000) == 0b1000_0000).count();
    let bytes = if cut == bytes.len() { bytes } else { &bytes[cut..] };
    let end = match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    };
    let mut text = String::from_utf8_lossy(&bytes[..end]).into_owned();
    text.truncate(text.trim_end_matches(['\n', '\r']).len());
    text
}

/// Both ends of a text with a note between them, when it has more than `max_chars`.
pub(crate) fn ends(text: &str, max_chars: usize) -> String {
    let count = text.chars().count();
    if count <= max_chars {
        return text.to_owned();
    }
    let half = max_chars / 2;
    join(first_chars(text, half), (count - 2 * half) as u64, last_chars(text, half))
}

fn join(head: &str, left_out: u64, tail: &str) -> String {
    format!("{head}\n\n... [{left_out} characters truncated] ...\n\n{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;

    fn with(bytes: &[u8]) -> (tempfile::TempDir, OutputFile) {
        let folder = tempfile::tempdir().unwrap();
        let output = OutputFile::create(&folder.path().join("deep/er"), folder.path()).unwrap();
        output.writer().unwrap().write_all(bytes).unwrap();
        (folder, output)
    }

    #[test]
    fn adversary_34_the_file_is_ours_alone_and_goes_away() {
        let (_folder, output) = with(b"x");
        let path = output.path().to_path_buf();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(path.parent().unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o700);
        assert!(output.id().starts_with('b') && output.id().len() == 9, "{}", output.id());
        drop(output);
        assert!(!path.exists());
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let output = OutputFile::create(Path::new("/dev/null/x"), folder.path()).unwrap();
        assert_eq!(output.path().parent(), Some(folder.path()));
    }

    #[test]
    fn small_outputs_are_whole_and_trimmed() {
        for (bytes, text) in [
            (b"".as_slice(), ""),
            (b"a\n\n", "a"),
            (b"a\r\n", "a"),
            (b"  a\nb", "  a\nb"),
            (b"\xffa", "\u{fffd}a"),
            (b"\x1b[31mred\x1b[0m\n", "\x1b[31mred\x1b[0m"),
        ] {
            let excerpt = with(bytes).1.read(100);
            assert_eq!((excerpt.text.as_str(), excerpt.whole), (text, true), "{bytes:?}");
        }
    }

    #[test]
    fn large_outputs_show_both_ends() {
        for size in [200_usize, 100_000] {
            let mut bytes = vec![b'm'; size];
            bytes[0] = b'A';
            bytes[size - 1] = b'Z';
            let excerpt = with(&bytes).1.read(100);
            assert_eq!((excerpt.whole, excerpt.bytes), (false, size as u64));
            assert!(excerpt.text.starts_with('A') && excerpt.text.ends_with('Z'), "{}", excerpt.text);
            assert!(excerpt.text.contains(&format!("[{} characters truncated]", size - 100)), "{}", excerpt.text);
        }
    }

    #[test]
    fn characters_are_never_cut_in_two() {
        let text = "é".repeat(50_000);
        let (_folder, output) = with(text.as_bytes());
        assert!(!output.read(101).text.contains('\u{fffd}'));
        for chars in [0, 1, 10, 11] {
            assert_eq!(tail(output.path(), chars).unwrap().text, "é".repeat(chars));
        }
    }

    #[test]
    fn the_tail_says_whether_it_is_all() {
        let (_folder, output) = with(b"one\ntwo\n");
        assert_eq!(tail(output.path(), 100).unwrap(), Excerpt { text: "one\ntwo".into(), whole: true, bytes: 8 });
        assert_eq!(tail(output.path(), 3).unwrap(), Excerpt { text: "two".into(), whole: false, bytes: 8 });
    }

    proptest! {
        #[test]
        fn ends_keeps_what_it_says(text in "\\PC{0,200}", max in 0_usize..60) {
            let shown = ends(&text, max);
            if text.chars().count() <= max {
                prop_assert_eq!(shown, text);
            } else {
                let half: String = text.chars().take(max / 2).collect();
                prop_assert!(shown.starts_with(&half));
            }
        }
    }
}
