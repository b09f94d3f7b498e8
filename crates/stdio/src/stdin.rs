//! Reading stdin, by what it is: prompts as text, or messages line by line.
//!
//! A thread of its own does the blocking reads, so the reader never waits behind a turn. Deliberately
//! absent: any meaning of the lines.

use agent::StdinKind;
use std::io::{BufRead as _, Read as _};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Piped text over this is refused: clear error instead of a lost prompt.
pub const TEXT_MAX: usize = 10 * 1000 * 1000;

/// One message line. The API takes 32 MB a request, so nothing longer could be sent on anyway.
pub const LINE_MAX: usize = 64 * 1024 * 1024;

/// Lines read ahead of the turn. More wait in the pipe, which slows the client down.
const LINES_AHEAD: usize = 256;

/// With a prompt on the command line, a pipe that our own parent holds open may simply have been
/// inherited. So long for a first byte, then we go on without it.
const FIRST_BYTE: Duration = Duration::from_secs(6);

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum StdinError {
    #[error("stdin holds more than 10 MB. Put the text in a file and name it in the prompt as @path.")]
    TooLarge,
    #[error("stdin cannot be read ({0})")]
    Unreadable(String),
    #[error("stdin is not UTF-8 text (first bad byte at offset {0})")]
    NotText(usize),
}

/// What piped text came to.
#[derive(Debug, PartialEq, Eq)]
pub enum Text {
    None,
    Some(String),
    /// Nothing came in time; said on stderr, and the prompt argument goes alone.
    Silent,
}

/// Reads stdin as prompt text. `has_prompt`: the command line has one too.
pub async fn text(kind: StdinKind, has_prompt: bool) -> Result<Text, StdinError> {
    if matches!(kind, StdinKind::Terminal | StdinKind::Closed) {
        return Ok(Text::None);
    }
    let (first_byte, came) = oneshot::channel();
    let (done, all) = oneshot::channel();
    let spawned = std::thread::Builder::new().name("stdin".into()).spawn(move || {
        let _ = done.send(read_capped(first_byte));
    });
    if let Err(error) = spawned {
        return Err(StdinError::Unreadable(error.to_string()));
    }
    if kind == StdinKind::InheritedPipe && has_prompt && tokio::time::timeout(FIRST_BYTE, came).await.is_err() {
        return Ok(Text::Silent);
    }
    let bytes = all.await.map_err(|_| StdinError::Unreadable("the reader ended".into()))??;
    let text = String::from_utf8(bytes).map_err(|error| StdinError::NotText(error.utf8_error().valid_up_to()))?;
    let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
    Ok(if text.is_empty() { Text::None } else { Text::Some(text) })
}

fn read_capped(first_byte: oneshot::Sender<()>) -> Result<Vec<u8>, StdinError> {
    let mut stdin = std::io::stdin().lock();
    let unreadable = |error: std::io::Error| StdinError::Unreadable(error.to_string());
    stdin.fill_buf().map_err(unreadable)?;
    let _ = first_byte.send(());
    let mut bytes = Vec::new();
    stdin.take(TEXT_MAX as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > TEXT_MAX { Err(StdinError::TooLarge) } else { Ok(bytes) }
}

/// What the line reader hands over.
#[derive(Debug)]
pub enum Line {
    Bytes(Vec<u8>),
    /// A line over [`LINE_MAX`], thrown away.
    TooLong,
}

/// Starts reading lines. The channel closes at end of input.
pub fn lines() -> std::io::Result<mpsc::Receiver<Line>> {
    let (lines, receiver) = mpsc::channel(LINES_AHEAD);
    std::thread::Builder::new().name("stdin".into()).spawn(move || {
        let mut stdin = std::io::stdin().lock();
        while let Some(line) = next_line(&mut stdin) {
            if lines.blocking_send(line).is_err() {
                break;
            }
        }
    })?;
    Ok(receiver)
}

fn next_line(stdin: &mut impl std::io::BufRead) -> Option<Line> {
    let mut line = Vec::new();
    let read = stdin.take(LINE_MAX as u64).read_until(b'\n', &mut line).ok()?;
    if read == 0 {
        return None;
    }
    if line.len() < LINE_MAX || line.ends_with(b"\n") {
        return Some(Line::Bytes(line));
    }
    drop(line);
    skip_line(stdin);
    Some(Line::TooLong)
}

fn skip_line(stdin: &mut impl std::io::BufRead) {
    while let Ok(chunk) = stdin.fill_buf() {
        if chunk.is_empty() {
            return;
        }
        let (used, ended) = match memchr::memchr(b'\n', chunk) {
            Some(at) => (at + 1, true),
            None => (chunk.len(), false),
        };
        stdin.consume(used);
        if ended {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_and_the_last_needs_no_newline() {
        let mut input = std::io::Cursor::new(b"a\r\n\nb".to_vec());
        let mut lines = Vec::new();
        while let Some(Line::Bytes(line)) = next_line(&mut input) {
            lines.push(String::from_utf8(line).unwrap());
        }
        assert_eq!(lines, ["a\r\n", "\n", "b"]);
    }

    #[test]
    fn a_line_too_long_is_thrown_away_and_the_next_is_read() {
        let mut bytes = vec![b'x'; LINE_MAX + 10];
        bytes.extend_from_slice(b"\nnext\n");
        let mut input = std::io::BufReader::new(std::io::Cursor::new(bytes));
        assert!(matches!(next_line(&mut input), Some(Line::TooLong)));
        assert!(matches!(next_line(&mut input), Some(Line::Bytes(line)) if line == b"next\n"));
        assert!(next_line(&mut input).is_none());
    }
}
