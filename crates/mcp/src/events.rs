//! Server-sent events out of bytes that come in any pieces. Pure.
//!
//! Deliberately absent: connecting again, which belongs to the caller, who knows what a broken stream means.

use bytes::{Buf as _, BytesMut};
use memchr::memchr2;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) name: Option<String>,
    pub(crate) data: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) retry: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it sent an event of more than {0} bytes")]
pub(crate) struct TooLong(usize);

#[derive(Debug)]
pub(crate) struct Decoder {
    read: BytesMut,
    searched: usize,
    /// The last line ended in CR: a LF right behind it belongs to it.
    after_cr: bool,
    first: bool,
    event: Event,
    /// Bytes of the event so far.
    size: usize,
    limit: usize,
}

impl Decoder {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            read: BytesMut::new(),
            searched: 0,
            after_cr: false,
            first: true,
            event: Event::default(),
            size: 0,
            limit,
        }
    }

    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.read.extend_from_slice(bytes);
    }

    /// The next whole event, or `None` until more is fed. One that the stream's end cuts never comes.
    pub(crate) fn next(&mut self) -> Result<Option<Event>, TooLong> {
        while let Some(line) = self.line() {
            if line.is_empty() {
                self.size = 0;
                let event = std::mem::take(&mut self.event);
                if event != Event::default() {
                    return Ok(Some(event));
                }
                continue;
            }
            self.size += line.len();
            if self.size > self.limit {
                return Err(TooLong(self.limit));
            }
            self.field(&line);
        }
        if self.size + self.read.len() > self.limit {
            return Err(TooLong(self.limit));
        }
        Ok(None)
    }

    fn line(&mut self) -> Option<BytesMut> {
        if self.after_cr && !self.read.is_empty() {
            self.after_cr = false;
            if self.read[0] == b'\n' {
                self.read.advance(1);
            }
        }
        let Some(length) = memchr2(b'\n', b'\r', &self.read[self.searched..]).map(|at| at + self.searched) else {
            self.searched = self.read.len();
            return None;
        };
        self.searched = 0;
        self.after_cr = self.read[length] == b'\r';
        let mut line = self.read.split_to(length);
        self.read.advance(1);
        if std::mem::take(&mut self.first) && line.starts_with(BYTE_ORDER_MARK) {
            line.advance(BYTE_ORDER_MARK.len());
        }
        Some(line)
    }

    fn field(&mut self, line: &[u8]) {
        let line = String::from_utf8_lossy(line);
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        // One space behind the colon belongs to the colon.
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" => match &mut self.event.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                none => *none = Some(value.to_owned()),
            },
            "event" => self.event.name = Some(value.to_owned()),
            "id" => self.event.id = Some(value.to_owned()),
            "retry" => self.event.retry = value.parse().ok(),
            // A comment, or a field of the future.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode(pieces: &[&[u8]]) -> Vec<Event> {
        let mut decoder = Decoder::new(1000);
        let mut events = Vec::new();
        for piece in pieces {
            decoder.feed(piece);
            while let Some(event) = decoder.next().unwrap() {
                events.push(event);
            }
        }
        events
    }

    fn data(text: &str) -> Event {
        Event { data: Some(text.into()), ..Event::default() }
    }

    #[test]
    fn the_format_in_all_its_shapes() {
        let endpoint = Event { name: Some("endpoint".into()), ..data("/m?x=1") };
        let whole = Event { id: Some("7".into()), retry: Some(9), ..data("a\nb\n") };
        for (bytes, expected) in [
            ("event: endpoint\ndata: /m?x=1\n\n", vec![endpoint]),
            ("data:1\r\rdata:2\r\n\r\n", vec![data("1"), data("2")]),
            ("\u{feff}data: x\n\n", vec![data("x")]),
            (": ping\nid: 7\nretry: 9\nodd: no\ndata: a\ndata: b\ndata\n\n", vec![whole]),
            ("data: cut", vec![]),
            ("data: cut\n", vec![]),
            (": only\n\n\n\n", vec![]),
        ] {
            assert_eq!(decode(&[bytes.as_bytes()]), expected, "{bytes:?}");
        }
    }

    #[test]
    fn a_line_or_an_event_without_end_is_refused() {
        for bytes in ["data: 0123456789", "data: 012\ndata: 345\n"] {
            let mut decoder = Decoder::new(15);
            decoder.feed(bytes.as_bytes());
            assert_eq!(decoder.next(), Err(TooLong(15)), "{bytes:?}");
        }
        let mut decoder = Decoder::new(15);
        decoder.feed(b"data: 0123\n\ndata: 0123\n\ndata: 0123\n\n");
        assert_eq!(std::iter::from_fn(|| decoder.next().unwrap()).count(), 3);
    }

    proptest! {
        #[test]
        fn any_pieces_give_the_same_events(
            lines in prop::collection::vec(("(data: ?|event: ?|: |)[a-zé😀{}\"]{0,6}", "(\n|\r\n|\r)"), 0..20),
            cut in any::<prop::sample::Index>(),
        ) {
            let whole: String = lines.iter().flat_map(|(line, end)| [line.as_str(), end]).collect();
            let (left, right) = whole.as_bytes().split_at(cut.index(whole.len() + 1));
            let single: Vec<&[u8]> = whole.as_bytes().chunks(1).collect();
            let expected = decode(&[whole.as_bytes()]);
            prop_assert_eq!(&decode(&[left, right]), &expected);
            prop_assert_eq!(&decode(&single), &expected);
        }
    }
}
