//! Server-sent events out of bytes that come in any pieces.
//!
//! Lines may end in LF, CRLF or CR; a byte-order mark is skipped. Only `data` is looked at: the API repeats
//! an event's name inside it. Deliberately absent: reconnecting. Asking a model again costs money, so that
//! is decided in [`crate::retry`], not by a parser.

use bytes::{Bytes, BytesMut};
use memchr::memchr2;
use std::ops::Range;

/// No event of the API comes near this; a server that never ends a line must not fill the memory.
pub(crate) const EVENT_MAX: usize = 16 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("one event is longer than {0} bytes")]
pub(crate) struct TooLong(usize);

#[derive(Debug)]
pub(crate) struct Decoder {
    /// What was fed last, and how much of it is used up. Lines are views into it.
    chunk: Bytes,
    used: usize,
    /// The beginning of a line whose end has not come.
    begun: BytesMut,
    /// The last line ended in CR: a LF right behind it belongs to it.
    after_cr: bool,
    first_line: bool,
    data: Option<Data>,
    limit: usize,
}

#[derive(Debug)]
enum Data {
    Line(Bytes),
    Lines(BytesMut),
}

/// A line without its end. Only one that holds data is worth a handle of its own.
enum Line {
    /// Its place in the chunk.
    Here(Range<usize>),
    /// It came in several chunks.
    Joined(Bytes),
}

impl Decoder {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            chunk: Bytes::new(),
            used: 0,
            begun: BytesMut::new(),
            after_cr: false,
            first_line: true,
            data: None,
            limit,
        }
    }

    /// To be called once [`Self::next`] has nothing more to give.
    pub(crate) fn feed(&mut self, chunk: Bytes) {
        debug_assert_eq!(self.used, self.chunk.len(), "fed before the last chunk was used up");
        self.chunk = chunk;
        self.used = 0;
    }

    /// The data of the next whole event, or `None` until more bytes are fed. An event that the stream's
    /// end cuts short never comes out, as the format demands.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, TooLong> {
        while let Some(line) = self.line()? {
            let bytes = match &line {
                Line::Here(place) => &self.chunk[place.clone()],
                Line::Joined(bytes) => bytes,
            };
            if !bytes.is_empty() {
                if let Some(start) = data_start(bytes) {
                    let value = match line {
                        Line::Here(place) => self.chunk.slice(place.start + start..place.end),
                        Line::Joined(bytes) => bytes.slice(start..),
                    };
                    self.add(value)?;
                }
                continue;
            }
            match self.data.take() {
                Some(Data::Line(data)) => return Ok(Some(data)),
                Some(Data::Lines(data)) => return Ok(Some(data.freeze())),
                None => {}
            }
        }
        Ok(None)
    }

    fn line(&mut self) -> Result<Option<Line>, TooLong> {
        if self.after_cr && self.used < self.chunk.len() {
            self.after_cr = false;
            self.used += usize::from(self.chunk[self.used] == b'\n');
        }
        let rest = &self.chunk[self.used..];
        let Some(length) = memchr2(b'\n', b'\r', rest) else {
            self.begun.extend_from_slice(rest);
            self.used = self.chunk.len();
            return if self.begun.len() > self.limit { Err(TooLong(self.limit)) } else { Ok(None) };
        };
        self.after_cr = rest[length] == b'\r';
        let mut line = if self.begun.is_empty() {
            Line::Here(self.used..self.used + length)
        } else {
            self.begun.extend_from_slice(&rest[..length]);
            Line::Joined(self.begun.split().freeze())
        };
        self.used += length + 1;
        if std::mem::take(&mut self.first_line) {
            match &mut line {
                Line::Here(place) if self.chunk[place.clone()].starts_with(BYTE_ORDER_MARK) => {
                    place.start += BYTE_ORDER_MARK.len();
                }
                Line::Joined(bytes) if bytes.starts_with(BYTE_ORDER_MARK) => {
                    drop(bytes.split_to(BYTE_ORDER_MARK.len()));
                }
                _ => {}
            }
        }
        Ok(Some(line))
    }

    fn add(&mut self, value: Bytes) -> Result<(), TooLong> {
        let so_far = match &self.data {
            None => 0,
            Some(Data::Line(first)) => first.len(),
            Some(Data::Lines(all)) => all.len(),
        };
        if so_far + value.len() > self.limit {
            return Err(TooLong(self.limit));
        }
        self.data = Some(match self.data.take() {
            None => Data::Line(value),
            Some(Data::Line(first)) => Data::Lines(joined(BytesMut::from(&*first), &value)),
            Some(Data::Lines(all)) => Data::Lines(joined(all, &value)),
        });
        Ok(())
    }
}

fn joined(mut all: BytesMut, line: &[u8]) -> BytesMut {
    all.extend_from_slice(b"\n");
    all.extend_from_slice(line);
    all
}

/// Where the line's value starts if it is data; one space behind the colon belongs to the colon.
fn data_start(line: &[u8]) -> Option<usize> {
    const FIELD: &[u8] = b"data";
    match line.strip_prefix(FIELD)? {
        [] => Some(FIELD.len()),
        [b':', b' ', ..] => Some(FIELD.len() + 2),
        [b':', ..] => Some(FIELD.len() + 1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode(chunks: &[&[u8]]) -> Vec<String> {
        let mut decoder = Decoder::new(EVENT_MAX);
        let mut out = Vec::new();
        for chunk in chunks {
            decoder.feed(Bytes::copy_from_slice(chunk));
            while let Some(data) = decoder.next().unwrap() {
                out.push(String::from_utf8(data.to_vec()).unwrap());
            }
        }
        out
    }

    #[test]
    fn the_format_in_all_its_shapes() {
        for (bytes, expected) in [
            ("event: a\ndata: 1\n\n", vec!["1"]),
            ("data:1\r\rdata:2\r\n\r\n", vec!["1", "2"]),
            ("\u{feff}data: x\n\n", vec!["x"]),
            ("data: \u{feff}\n\n\u{feff}data: not a mark here\n\n", vec!["\u{feff}"]),
            ("data: a\ndata: b\ndata\n\n", vec!["a\nb\n"]),
            (": comment\nid: 7\nretry: 9\ndatum: no\ndata:  two\n\n", vec![" two"]),
            ("event: lonely\n\ndata: x\n\n", vec!["x"]),
            ("data: {\"cut\":", vec![]),
            ("data: whole\n", vec![]),
            ("\n\n\n", vec![]),
        ] {
            assert_eq!(decode(&[bytes.as_bytes()]), expected, "{bytes:?}");
        }
    }

    #[test]
    fn a_line_or_an_event_without_end_is_refused() {
        let mut decoder = Decoder::new(10);
        decoder.feed(Bytes::from_static(b"data: 0123456789"));
        assert_eq!(decoder.next(), Err(TooLong(10)));
        let mut decoder = Decoder::new(10);
        decoder.feed(Bytes::from_static(b"data: 0123\ndata: 4567\ndata: 89\n"));
        assert_eq!(decoder.next(), Err(TooLong(10)));
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_events(
            lines in prop::collection::vec(("(data: ?|event: ?|: |)[a-zé😀{}\"]{0,6}", "(\n|\r\n|\r)"), 0..20),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let whole: String = lines.iter().flat_map(|(line, end)| [line.as_str(), end]).collect();
            let bytes = whole.as_bytes();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            let expected = decode(&[bytes]);
            prop_assert_eq!(&decode(&pieces), &expected);
            prop_assert_eq!(&decode(&single), &expected);
        }
    }
}
