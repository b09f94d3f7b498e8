//! Bytes into lines, with a bound: a line that is too long is skipped to its end, and said.

/// What was found in the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// A line without its newline.
    Line(Vec<u8>),
    /// A line that was longer than the bound.
    TooLong,
}

#[derive(Debug)]
pub struct Frames {
    buffer: Vec<u8>,
    max: usize,
    skips: bool,
}

impl Frames {
    pub fn new(max: usize) -> Self {
        Self { buffer: Vec::new(), max, skips: false }
    }

    /// The lines that end in these bytes.
    pub fn push(&mut self, mut bytes: &[u8]) -> Vec<Frame> {
        let mut frames = Vec::new();
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.append(&bytes[..end]);
            frames.push(self.take());
            bytes = &bytes[end + 1..];
        }
        self.append(bytes);
        frames
    }

    /// What is left without a newline, at the end of the input.
    pub fn end(&mut self) -> Option<Frame> {
        (self.skips || !self.buffer.is_empty()).then(|| self.take())
    }

    fn append(&mut self, bytes: &[u8]) {
        if self.skips || self.buffer.len() + bytes.len() > self.max {
            self.skips = true;
            self.buffer = Vec::new();
        } else {
            self.buffer.extend_from_slice(bytes);
        }
    }

    fn take(&mut self) -> Frame {
        let line = std::mem::take(&mut self.buffer);
        if std::mem::take(&mut self.skips) { Frame::TooLong } else { Frame::Line(line) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Frame {
        Frame::Line(text.into())
    }

    #[test]
    fn lines_come_whole_however_the_bytes_are_cut() {
        let text = b"one\n\ntwo long\nthree";
        for size in 1..text.len() {
            let mut frames = Frames::new(16);
            let mut found: Vec<Frame> = text.chunks(size).flat_map(|chunk| frames.push(chunk)).collect();
            found.extend(frames.end());
            assert_eq!(found, [line("one"), line(""), line("two long"), line("three")], "{size}");
        }
    }

    #[test]
    fn a_long_line_is_skipped_and_the_next_one_is_read() {
        for size in 1..12 {
            let mut frames = Frames::new(4);
            let found: Vec<Frame> = b"0123456789\nok\n".chunks(size).flat_map(|chunk| frames.push(chunk)).collect();
            assert_eq!(found, [Frame::TooLong, line("ok")], "{size}");
        }
    }
}
