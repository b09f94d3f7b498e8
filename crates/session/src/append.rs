//! Lines at the end of a file, whatever the disk says: one write a line, and a failure costs a warning.
//!
//! Deliberately absent: `fsync` (a conversation is not worth a disk's pause a line) and truncation (others
//! append to the same file; a torn line is isolated, never cut off).

use rustix::fs::OFlags;
use std::collections::VecDeque;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// What waits for a disk that is full for a while. More is dropped: memory must stay flat.
const PENDING_MAX: usize = 4 * 1024 * 1024;

/// A file to append to, and whether it ends in the middle of a line.
pub(crate) struct Opened {
    pub(crate) file: Box<dyn Write + Send>,
    pub(crate) torn: bool,
}

type Opener = Box<dyn Fn() -> io::Result<Opened> + Send>;

/// Appends lines; opens its file with the first.
pub(crate) struct Appender {
    name: PathBuf,
    open: Opener,
    file: Option<Box<dyn Write + Send>>,
    /// The file ends in the middle of a line, so the next one starts with a newline.
    torn: bool,
    pending: VecDeque<Vec<u8>>,
    pending_bytes: usize,
    warning: Option<String>,
    warned: bool,
}

impl Appender {
    /// For a file that must not exist yet.
    pub(crate) fn create(path: &Path) -> Self {
        let target = path.to_owned();
        Self::with(path, Box::new(move || create(&target)))
    }

    /// For a file that exists, written by an earlier run or by someone else.
    pub(crate) fn resume(path: &Path) -> Self {
        let target = path.to_owned();
        Self::with(path, Box::new(move || resume(&target)))
    }

    fn with(name: &Path, open: Opener) -> Self {
        Self {
            name: name.to_owned(),
            open,
            file: None,
            torn: false,
            pending: VecDeque::new(),
            pending_bytes: 0,
            warning: None,
            warned: false,
        }
    }

    /// `false` if the line is lost: the disk takes nothing and too much is waiting already.
    pub(crate) fn append(&mut self, line: Vec<u8>) -> bool {
        let fits = |appender: &Self| {
            appender.pending.is_empty() || appender.pending_bytes.saturating_add(line.len()) <= PENDING_MAX
        };
        if !fits(self) {
            self.flush();
            if !fits(self) {
                return false;
            }
        }
        self.pending_bytes += line.len();
        self.pending.push_back(line);
        self.flush();
        true
    }

    pub(crate) fn path(&self) -> &Path {
        &self.name
    }

    /// The first failure, once.
    pub(crate) fn take_warning(&mut self) -> Option<String> {
        self.warning.take()
    }

    fn flush(&mut self) {
        while let Some(line) = self.pending.pop_front() {
            if let Err(error) = self.write(&line) {
                self.pending.push_front(line);
                self.warn(&error);
                return;
            }
            self.pending_bytes -= line.len();
        }
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        let file = if let Some(file) = &mut self.file {
            file
        } else {
            let Opened { file, torn } = (self.open)()?;
            self.torn = torn;
            self.file.insert(file)
        };
        let isolated;
        let bytes = if self.torn {
            isolated = [b"\n", line].concat();
            &isolated
        } else {
            line
        };
        let mut written = 0;
        while written < bytes.len() {
            match file.write(&bytes[written..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    written += count;
                    self.torn = written < bytes.len();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn warn(&mut self, error: &io::Error) {
        if !self.warned {
            self.warned = true;
            self.warning = Some(format!(
                "cannot write the conversation to {}: {error}; the run goes on, but resuming it may miss messages",
                self.name.display()
            ));
        }
    }
}

impl Drop for Appender {
    fn drop(&mut self) {
        self.flush();
    }
}

fn create(path: &Path) -> io::Result<Opened> {
    let file = create_private(path)?;
    Ok(Opened { file: Box::new(file), torn: false })
}

/// A new file that only we can read, in folders that only we can enter. Whatever stands there already,
/// a link included, is an error.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    OpenOptions::new().append(true).create_new(true).mode(0o600).custom_flags(flags).open(path)
}

fn resume(path: &Path) -> io::Result<Opened> {
    // Without NONBLOCK a pipe planted here would hang the run.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut file = OpenOptions::new().read(true).append(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let torn = ends_torn(&mut file)?;
    Ok(Opened { file: Box::new(file), torn })
}

fn ends_torn(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

#[cfg(test)]
#[path = "append_tests.rs"]
mod tests;
