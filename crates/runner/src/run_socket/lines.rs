//! Lines of a bounded length from an asynchronous reader.

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// The buffer has a line, without its end.
    Whole,
    TooLong,
    /// The other side has closed; a line without its end is none.
    End,
}

/// Reads into `buffer` up to the end of a line. May be cancelled and called again with the same buffer; the caller clears it
/// when it has taken a line.
pub(super) async fn read(
    reader: &mut (impl AsyncBufRead + Unpin),
    buffer: &mut Vec<u8>,
    most: usize,
) -> std::io::Result<Line> {
    loop {
        let available = reader.fill_buf().await?;
        if available.is_empty() {
            return Ok(Line::End);
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let taken = end.unwrap_or(available.len());
        if buffer.len() + taken > most {
            return Ok(Line::TooLong);
        }
        buffer.extend_from_slice(&available[..taken]);
        reader.consume(end.map_or(taken, |end| end + 1));
        if end.is_some() {
            return Ok(Line::Whole);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(text: &str, most: usize) -> Vec<String> {
        // Pieces of three bytes: lines do not come whole.
        let mut reader = tokio::io::BufReader::with_capacity(3, text.as_bytes());
        let mut found = Vec::new();
        let mut buffer = Vec::new();
        loop {
            match read(&mut reader, &mut buffer, most).await.unwrap() {
                Line::Whole => found.push(String::from_utf8(std::mem::take(&mut buffer)).unwrap()),
                Line::TooLong => found.push("too long".into()),
                Line::End => return found,
            }
            if found.last().is_some_and(|line| line == "too long") {
                return found;
            }
        }
    }

    #[tokio::test]
    async fn lines_are_whole_and_bounded() {
        assert_eq!(all("one\ntwo\n", 10).await, ["one", "two"]);
        assert_eq!(all("one\n\ntorn", 10).await, ["one", ""]);
        assert_eq!(all("1234567890\n", 10).await, ["1234567890"]);
        assert_eq!(all("12345678901\n", 10).await, ["too long"]);
        assert_eq!(all(&"x".repeat(1000), 10).await, ["too long"]);
    }
}
