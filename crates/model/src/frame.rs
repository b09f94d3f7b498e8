//! One event of the Messages stream, read in a single pass and borrowing from the bytes received.
//!
//! This is the hot path: a long answer is tens of thousands of these. Only the fields that build a message
//! are looked at; whatever else an event holds travels on untouched in [`compact`]'s output.

use bytes::Bytes;
use serde::de::{Deserialize, Deserializer, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// Events that carry the message. One of these that cannot be read is damage; any other is the future.
const CARRYING: [&str; 7] = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "error",
];

#[derive(Debug, Default, serde::Deserialize)]
pub(crate) struct Frame<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(crate) kind: Text<'a>,
    #[serde(default)]
    pub(crate) index: usize,
    #[serde(borrow)]
    pub(crate) delta: Option<Delta<'a>>,
    #[serde(borrow)]
    pub(crate) content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) message: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) error: Option<&'a RawValue>,
}

/// A piece of a block of text. Its event holds no blanks between its tokens.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PlainPiece<'a> {
    pub(crate) index: usize,
    pub(crate) text: &'a str,
}

/// The fields of every delta there is; a delta has one or two of them.
#[derive(Debug, Default, serde::Deserialize)]
pub(crate) struct Delta<'a> {
    #[serde(borrow, default)]
    pub(crate) text: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) partial_json: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) thinking: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) signature: Text<'a>,
    #[serde(borrow)]
    pub(crate) citation: Option<&'a RawValue>,
    pub(crate) stop_reason: Option<String>,
    pub(crate) stop_sequence: Option<String>,
    pub(crate) stop_details: Option<Value>,
}

/// A string that is borrowed wherever JSON's escapes allow it. Null counts as empty.
#[derive(Debug, Default)]
pub(crate) struct Text<'a>(pub(crate) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;
            fn expecting(&self, to: &mut fmt::Formatter) -> fmt::Result {
                to.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Text::default())
            }
        }
        from.deserialize_any(TextVisitor)
    }
}

/// Almost all of a stream is pieces of text in just this form, as the API writes them: taken apart without a
/// parser, or left to it (`None`) at the first thing that is not just so.
pub(crate) fn plain_piece(data: &[u8]) -> Option<PlainPiece<'_>> {
    const HEAD: &[u8] = br#"{"type":"content_block_delta","index":"#;
    const TEXT: &[u8] = br#","delta":{"type":"text_delta","text":""#;
    const TAIL: &[u8] = br#""}}"#;
    const INDEX_DIGITS: usize = 4;
    let rest = data.strip_prefix(HEAD)?;
    let digits = rest.iter().take(INDEX_DIGITS).take_while(|byte| byte.is_ascii_digit()).count();
    let (index, rest) = rest.split_at(digits);
    let text = rest.strip_prefix(TEXT)?.strip_suffix(TAIL)?;
    // All of it is looked at, which takes less time than stopping early would.
    let is_special = |byte: u8| matches!(byte, 0..b' ' | b'"' | b'\\');
    if text.iter().fold(false, |any, &byte| any | is_special(byte)) || (digits > 1 && index[0] == b'0') {
        return None;
    }
    let index = std::str::from_utf8(index).ok()?.parse().ok()?;
    Some(PlainPiece { index, text: std::str::from_utf8(text).ok()? })
}

/// The event in this data; one of a kind we do not know may come out empty. An error only for one that we
/// need and cannot read.
pub(crate) fn parse(data: &str) -> Result<Frame<'_>, serde_json::Error> {
    serde_json::from_str(data).or_else(|error| {
        let value: Value = serde_json::from_str(data)?;
        let carries = value["type"].as_str().is_some_and(|kind| CARRYING.contains(&kind));
        if carries { Err(error) } else { Ok(Frame::default()) }
    })
}

/// The same JSON without blanks between its tokens: it becomes part of a line, and blanks may be newlines.
/// The caller has parsed it, so quotes are balanced.
pub(crate) fn compact(data: &Bytes) -> Bytes {
    let blank = |byte: u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    let mut out: Option<Vec<u8>> = None;
    let mut at = 0;
    while at < data.len() {
        let end = if data[at] == b'"' { string_end(data, at) } else { at + 1 };
        if blank(data[at]) {
            out.get_or_insert_with(|| data[..at].to_vec());
        } else if let Some(out) = &mut out {
            out.extend_from_slice(&data[at..end]);
        }
        at = end;
    }
    out.map_or_else(|| data.clone(), Bytes::from)
}

/// One past the closing quote of the string that opens at `start`.
fn string_end(data: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(found) = data.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found;
        if data[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    data.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plain_text_is_borrowed() {
        let data = r#"{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"hé"}}"#;
        assert_eq!(plain_piece(data.as_bytes()), Some(PlainPiece { index: 3, text: "hé" }));
        assert!(matches!(parse(data).unwrap().delta.unwrap().text.0, Cow::Borrowed("hé")));
        let broken = data.as_bytes().iter().map(|&byte| if byte == 0xa9 { b'x' } else { byte });
        assert_eq!(plain_piece(&broken.collect::<Vec<u8>>()), None, "no text at all");
    }

    #[test]
    fn the_future_is_passed_over_and_damage_is_not() {
        for (data, expected) in [
            (r#"{"type":"ping"}"#, Ok(false)),
            (r#"{"type":"brand_new","index":"x","delta":7}"#, Ok(false)),
            (r#"{"no":"type"}"#, Ok(false)),
            ("[1,2]", Ok(false)),
            (r#"{"type":"message_stop","extra":[1]}"#, Ok(true)),
            (r#"{"type":"content_block_delta","index":0,"delta":{"text":null}}"#, Ok(true)),
            (r#"{"type":"content_block_delta","index":0,"delta":{"text":7}}"#, Err(())),
            (r#"{"type":"message_st"#, Err(())),
        ] {
            assert_eq!(parse(data).map(|frame| CARRYING.contains(&&*frame.kind.0)).map_err(|_| ()), expected, "{data}");
        }
    }

    #[test]
    fn blanks_go_and_strings_stay() {
        let data = Bytes::from_static(b"{ \"a b\" : [1 , \"\\\" \\\\\"],\n\"c\":{} }");
        assert_eq!(compact(&data), Bytes::from_static(b"{\"a b\":[1,\"\\\" \\\\\"],\"c\":{}}"));
        let dense = Bytes::from_static(b"{\"a\":\"b c\"}");
        assert_eq!(compact(&dense).as_ptr(), dense.as_ptr());
    }

    proptest! {
        #[test]
        fn a_plain_piece_is_what_the_parser_would_have_read(
            data in r#"\{"type":"content_block_delta","index":[0-9]{0,6},"delta":\{"type":"text_delta","text":"[a-é"\\\n }]{0,4}"\}[ ]?\}"#,
        ) {
            if let Some(plain) = plain_piece(data.as_bytes()) {
                let parsed: Frame = serde_json::from_str(&data).unwrap();
                prop_assert_eq!("content_block_delta", parsed.kind.0);
                prop_assert_eq!(plain.index, parsed.index);
                prop_assert_eq!(plain.text, parsed.delta.unwrap().text.0);
                let data = Bytes::from(data);
                prop_assert_eq!(compact(&data), data);
            }
        }

        #[test]
        fn compacting_changes_no_meaning(text in ".*", key in ".*") {
            let value = serde_json::json!({ key: [text, {"n": 1.5, "b": [true, null]}] });
            let pretty = Bytes::from(serde_json::to_vec_pretty(&value).unwrap());
            prop_assert_eq!(compact(&pretty), serde_json::to_vec(&value).unwrap());
        }
    }
}
