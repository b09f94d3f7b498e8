//! Text files as bytes and back: encodings that announce themselves, and line endings.
//!
//! Bytes that are not valid UTF-8 are kept as they are, so that an edit elsewhere in an old Latin-1
//! file does not touch them. Deliberately absent: guessing encodings from content.

use std::fs::File;
use std::io::{self, Read as _};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    Utf8Bom,
    Utf16Le,
    Utf16Be,
}

const UTF8_BOM: &[u8] = b"\xef\xbb\xbf";

impl Encoding {
    /// By the byte order mark; without one it is UTF-8.
    pub(crate) fn sniff(head: &[u8]) -> Self {
        if head.starts_with(UTF8_BOM) {
            Self::Utf8Bom
        } else if head.starts_with(b"\xff\xfe") {
            Self::Utf16Le
        } else if head.starts_with(b"\xfe\xff") {
            Self::Utf16Be
        } else {
            Self::Utf8
        }
    }

    pub(crate) fn is_utf16(self) -> bool {
        matches!(self, Self::Utf16Le | Self::Utf16Be)
    }

    pub(crate) fn mark_len(self) -> usize {
        match self {
            Self::Utf8 => 0,
            Self::Utf8Bom => 3,
            Self::Utf16Le | Self::Utf16Be => 2,
        }
    }
}

/// A file's text without its byte order mark.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) encoding: Encoding,
    /// UTF-8, or whatever bytes a file without a mark holds.
    pub(crate) body: Vec<u8>,
    /// False if the bytes cannot be made again from `body`: broken UTF-16.
    pub(crate) faithful: bool,
}

impl Text {
    pub(crate) fn decode(mut bytes: Vec<u8>) -> Self {
        let encoding = Encoding::sniff(&bytes);
        if !encoding.is_utf16() {
            bytes.drain(..encoding.mark_len());
            return Self { encoding, body: bytes, faithful: true };
        }
        let unit = if encoding == Encoding::Utf16Le { u16::from_le_bytes } else { u16::from_be_bytes };
        let (pairs, rest) = bytes[encoding.mark_len()..].as_chunks::<2>();
        let mut faithful = rest.is_empty();
        let mut body = String::with_capacity(bytes.len());
        for decoded in char::decode_utf16(pairs.iter().map(|pair| unit(*pair))) {
            faithful &= decoded.is_ok();
            body.push(decoded.unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        Self { encoding, body: body.into_bytes(), faithful }
    }

    /// The body as clients and diffs see it: characters, and `\n` at the end of every line.
    pub(crate) fn shown(body: &[u8]) -> String {
        let text = String::from_utf8_lossy(body);
        if text.contains("\r\n") { text.replace("\r\n", "\n") } else { text.into_owned() }
    }
}

/// The bytes of a file in `encoding` that holds `body`.
pub(crate) fn encode(encoding: Encoding, body: &[u8]) -> Vec<u8> {
    let utf16 = |unit: fn(u16) -> [u8; 2]| {
        let text = String::from_utf8_lossy(body);
        std::iter::once('\u{feff}').chain(text.chars()).fold(Vec::with_capacity(body.len() * 2), |mut bytes, c| {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|&u| bytes.extend(unit(u)));
            bytes
        })
    };
    match encoding {
        Encoding::Utf8 => body.to_vec(),
        // A model that was shown the mark may send it back; one is enough.
        Encoding::Utf8Bom if body.starts_with(UTF8_BOM) => body.to_vec(),
        Encoding::Utf8Bom => [UTF8_BOM, body].concat(),
        Encoding::Utf16Le => utf16(u16::to_le_bytes),
        Encoding::Utf16Be => utf16(u16::to_be_bytes),
    }
}

/// Whether a new line in this file should end in `\r\n`.
pub(crate) fn mostly_crlf(body: &[u8]) -> bool {
    let crlf = memchr::memmem::find_iter(body, b"\r\n").count();
    crlf > 0 && crlf * 2 > memchr::memchr_iter(b'\n', body).count()
}

/// The whole file, or `None` if it is longer than `max`.
pub(crate) fn load(file: &File, max: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    file.take(max + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= max).then_some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn crlf_is_a_matter_of_majority() {
        for (body, crlf) in [("", false), ("a\nb", false), ("a\r\nb", true), ("a\r\nb\nc\n", false), ("a\rb", false)] {
            assert_eq!(mostly_crlf(body.as_bytes()), crlf, "{body:?}");
        }
    }

    #[test]
    fn broken_utf16_is_noticed() {
        assert!(!Text::decode(vec![0xff, 0xfe, 0x00, 0xd8]).faithful);
        assert!(!Text::decode(vec![0xff, 0xfe, 0x41]).faithful);
    }

    proptest! {
        #[test]
        fn text_survives_every_encoding(body in "[^\u{feff}].*") {
            for encoding in [Encoding::Utf8, Encoding::Utf8Bom, Encoding::Utf16Le, Encoding::Utf16Be] {
                let text = Text::decode(encode(encoding, body.as_bytes()));
                prop_assert_eq!(text, Text { encoding, body: body.clone().into_bytes(), faithful: true });
            }
        }

        #[test]
        fn unmarked_bytes_are_kept(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let text = Text::decode(bytes.clone());
            if text.faithful {
                prop_assert_eq!(encode(text.encoding, &text.body), bytes);
            }
        }
    }
}
