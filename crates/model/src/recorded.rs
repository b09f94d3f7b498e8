//! A stream that was recorded, read without a network: the bytes of an answer in, the message out.
//!
//! The same decoder and assembler as for a live answer. Deliberately absent: deadlines and retries, which need
//! a network to be about.

use crate::assemble::{Assembler, FrameOutcome};
use crate::frame;
use crate::sse::{Decoder, EVENT_MAX};
use bytes::Bytes;
use serde_json::Value;

/// What came of a stream.
#[derive(Debug, Default, PartialEq)]
pub struct Recorded {
    /// Each event's JSON as it would be passed on.
    pub partials: Vec<Bytes>,
    pub blocks: Vec<Value>,
    pub stop_reason: Option<String>,
    pub usage: wire::Usage,
    /// It ended with its last event.
    pub whole: bool,
    /// Why reading stopped early.
    pub damage: Option<String>,
}

/// Reads it in pieces of `piece` bytes, which must make no difference.
pub fn read_recorded(stream: &[u8], piece: usize) -> Recorded {
    let mut decoder = Decoder::new(EVENT_MAX);
    let mut assembler = Assembler::default();
    let mut read = Recorded::default();
    let mut pieces = stream.chunks(piece.max(1));
    let ended = loop {
        match decoder.next() {
            Ok(Some(data)) => {
                if let Some(end) = take(&data, &mut assembler, &mut read) {
                    break end;
                }
            }
            Ok(None) => match pieces.next() {
                Some(piece) => decoder.feed(Bytes::copy_from_slice(piece)),
                None => break Ok(false),
            },
            Err(error) => break Err(Damage(error.to_string())),
        }
    };
    (read.whole, read.damage) = match ended {
        Ok(whole) => (whole, None),
        Err(Damage(why)) => (false, Some(why)),
    };
    let reply = assembler.into_reply();
    Recorded { blocks: reply.blocks, stop_reason: reply.stop_reason, usage: reply.usage, ..read }
}

/// Why reading stops early, in words.
struct Damage(String);

/// One event; `Some` where the stream is over with it.
fn take(data: &[u8], assembler: &mut Assembler, read: &mut Recorded) -> Option<Result<bool, Damage>> {
    let text = String::from_utf8_lossy(data);
    let taken = match frame::plain_piece(data) {
        Some(piece) => assembler.take_text(&piece),
        None => frame::parse(&text).map_err(Into::into).and_then(|frame| assembler.take(&frame)),
    };
    let taken = taken.map_err(|damage| Damage(damage.to_string()));
    let end = match taken {
        Ok(FrameOutcome::Stopped) => Some(Ok(true)),
        Ok(FrameOutcome::Error { kind, message }) => return Some(Err(Damage(format!("{kind}: {message}")))),
        Ok(_) => None,
        Err(damage) => return Some(Err(damage)),
    };
    read.partials.push(frame::compact(&Bytes::from(text.into_owned())));
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_server::ANSWER;

    #[test]
    fn a_recorded_answer_is_the_same_in_any_pieces() {
        let whole = read_recorded(ANSWER.as_bytes(), usize::MAX);
        assert!(whole.whole && whole.blocks.len() == 2 && whole.damage.is_none(), "{whole:?}");
        for piece in [1, 2, 3, 7, 64] {
            assert_eq!(read_recorded(ANSWER.as_bytes(), piece), whole, "{piece}");
        }
    }
}
