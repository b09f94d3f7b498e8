//! Frames of a WebSocket (RFC 6455), from the side that only listens. Pure.
//!
//! Deliberately absent: extensions (none is offered, so no reserved bit may be set), and messages of ours beside the answers
//! that the protocol wants.

/// A message that is longer ends the watch: nobody reads it, and it would have to be held.
pub const MESSAGE_MAX: usize = 1024 * 1024;
/// What a control frame may hold.
const CONTROL_MAX: usize = 125;

/// What a peer has sent, put together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Received {
    Text(String),
    /// How many bytes it had.
    Binary(usize),
    Ping(Vec<u8>),
    /// The code, where the peer gave one.
    Close(Option<u16>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error("a message was larger than {} KiB", MESSAGE_MAX / 1024)]
    TooLarge,
    #[error("the server broke the protocol: {0}")]
    Broken(&'static str),
}

/// The kinds of frames that are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opcode {
    Continuation = 0,
    Text = 1,
    Binary = 2,
    Close = 8,
    Ping = 9,
    Pong = 10,
}

impl Opcode {
    fn read(bits: u8) -> Option<Self> {
        [Self::Continuation, Self::Text, Self::Binary, Self::Close, Self::Ping, Self::Pong]
            .into_iter()
            .find(|opcode| *opcode as u8 == bits)
    }

    fn is_control(self) -> bool {
        matches!(self, Self::Close | Self::Ping | Self::Pong)
    }
}

/// Bytes that have come, up to the next whole message.
#[derive(Debug, Default)]
pub struct Frames {
    bytes: Vec<u8>,
    /// The message that has begun: whether it is text, and what there is of it.
    begun: Option<(bool, Vec<u8>)>,
}

struct Frame {
    is_last: bool,
    opcode: Opcode,
    payload: Vec<u8>,
}

impl Frames {
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next thing that is whole; `None` until more bytes come.
    pub fn receive(&mut self) -> Result<Option<Received>, FrameError> {
        while let Some(frame) = self.frame()? {
            if let Some(received) = self.take(frame)? {
                return Ok(Some(received));
            }
        }
        Ok(None)
    }

    fn take(&mut self, frame: Frame) -> Result<Option<Received>, FrameError> {
        let (is_text, mut message) = match (frame.opcode, self.begun.take()) {
            (Opcode::Ping, begun) => {
                self.begun = begun;
                return Ok(Some(Received::Ping(frame.payload)));
            }
            (Opcode::Pong, begun) => {
                self.begun = begun;
                return Ok(None);
            }
            (Opcode::Close, _) => return Ok(Some(Received::Close(code(&frame.payload)))),
            (Opcode::Continuation, Some(begun)) => begun,
            (Opcode::Continuation, None) => return Err(FrameError::Broken("a message went on that had not begun")),
            (Opcode::Text | Opcode::Binary, Some(_)) => {
                return Err(FrameError::Broken("a message began inside of another"));
            }
            (Opcode::Text, None) => (true, Vec::new()),
            (Opcode::Binary, None) => (false, Vec::new()),
        };
        if message.len() + frame.payload.len() > MESSAGE_MAX {
            return Err(FrameError::TooLarge);
        }
        message.extend_from_slice(&frame.payload);
        if !frame.is_last {
            self.begun = Some((is_text, message));
            return Ok(None);
        }
        if !is_text {
            return Ok(Some(Received::Binary(message.len())));
        }
        let text = String::from_utf8(message).map_err(|_| FrameError::Broken("a text is no UTF-8"))?;
        Ok(Some(Received::Text(text)))
    }

    /// Takes the first whole frame off the bytes.
    fn frame(&mut self) -> Result<Option<Frame>, FrameError> {
        let &[first, second, ..] = self.bytes.as_slice() else { return Ok(None) };
        if first & 0b0111_0000 != 0 {
            return Err(FrameError::Broken("a reserved bit is set"));
        }
        if second & 0b1000_0000 != 0 {
            return Err(FrameError::Broken("a frame of a server is masked"));
        }
        let opcode = Opcode::read(first & 0b1111).ok_or(FrameError::Broken("an unknown kind of frame"))?;
        let is_last = first & 0b1000_0000 != 0;
        let rest = &self.bytes[2..];
        let (header, length) = match second & 0b0111_1111 {
            126 => match rest.first_chunk::<2>() {
                Some(length) => (4, u64::from(u16::from_be_bytes(*length))),
                None => return Ok(None),
            },
            127 => match rest.first_chunk::<8>() {
                Some(length) => (10, u64::from_be_bytes(*length)),
                None => return Ok(None),
            },
            length => (2, u64::from(length)),
        };
        let length =
            usize::try_from(length).ok().filter(|length| *length <= MESSAGE_MAX).ok_or(FrameError::TooLarge)?;
        if opcode.is_control() && (length > CONTROL_MAX || !is_last) {
            return Err(FrameError::Broken("a control frame is long or in pieces"));
        }
        if self.bytes.len() < header + length {
            return Ok(None);
        }
        let payload = self.bytes[header..header + length].to_vec();
        self.bytes.drain(..header + length);
        Ok(Some(Frame { is_last, opcode, payload }))
    }
}

fn code(payload: &[u8]) -> Option<u16> {
    payload.first_chunk::<2>().map(|code| u16::from_be_bytes(*code))
}

/// A frame of ours; those of a client are masked. Control frames only, so the payload is short.
pub fn control(opcode: Opcode, payload: &[u8], mask: [u8; 4]) -> Vec<u8> {
    let payload = &payload[..payload.len().min(CONTROL_MAX)];
    let mut frame = vec![0b1000_0000 | opcode as u8, 0b1000_0000 | payload.len() as u8];
    frame.extend(mask);
    frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(frames: &mut Frames) -> Result<Vec<Received>, FrameError> {
        let mut seen = Vec::new();
        while let Some(received) = frames.receive()? {
            seen.push(received);
        }
        Ok(seen)
    }

    fn read(bytes: &[u8]) -> Result<Vec<Received>, FrameError> {
        let mut whole = Frames::default();
        whole.push(bytes);
        let at_once = all(&mut whole);
        // The same, however it is cut.
        let mut pieces = Frames::default();
        let mut seen = Vec::new();
        for byte in bytes {
            pieces.push(&[*byte]);
            match all(&mut pieces) {
                Ok(more) => seen.extend(more),
                Err(error) => {
                    assert_eq!(at_once, Err(error));
                    return Err(error);
                }
            }
        }
        assert_eq!(at_once.as_ref(), Ok(&seen));
        at_once
    }

    #[test]
    fn messages_are_put_together() {
        let text = |words: &str| Received::Text(words.into());
        let long = [&[0x81, 126, 1, 0][..], &[b'a'; 256]].concat();
        for (bytes, expected) in [
            // The examples of RFC 6455, section 5.7.
            (&b"\x81\x05Hello"[..], vec![text("Hello")]),
            (b"\x01\x03Hel\x80\x02lo", vec![text("Hello")]),
            (b"\x01\x03Hel\x89\x05Hello\x80\x02lo", vec![Received::Ping(b"Hello".to_vec()), text("Hello")]),
            (&long, vec![text(&"a".repeat(256))]),
            (b"\x82\x03abc\x8a\x00\x88\x02\x03\xe8", vec![Received::Binary(3), Received::Close(Some(1000))]),
            (b"\x88\x00", vec![Received::Close(None)]),
            (b"\x81\x00", vec![text("")]),
            (b"\x81", vec![]),
            (b"\x81\x05Hel", vec![]),
        ] {
            assert_eq!(read(bytes), Ok(expected), "{bytes:?}");
        }
    }

    #[test]
    fn what_breaks_the_protocol_ends_it() {
        for bytes in [
            &b"\xc1\x00"[..],
            b"\x81\x85\x00\x00\x00\x00Hello",
            b"\x83\x00",
            b"\x80\x01a",
            b"\x01\x01a\x01\x01b",
            b"\x09\x00",
            b"\x89\x7e\x01\x00",
            b"\x81\x01\xff",
        ] {
            assert!(matches!(read(bytes), Err(FrameError::Broken(_))), "{bytes:?}");
        }
    }

    #[test]
    fn a_message_has_a_limit_whole_or_in_pieces() {
        assert_eq!(read(b"\x81\x7f\x00\x00\x00\x00\x00\x10\x00\x01"), Err(FrameError::TooLarge));
        assert_eq!(read(b"\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xff"), Err(FrameError::TooLarge));
        let mut frames = Frames::default();
        let half = [&[0x01, 0x7f, 0, 0, 0, 0, 0, 8, 0, 1][..], &vec![b'a'; 512 * 1024 + 1]].concat();
        frames.push(&half);
        assert_eq!(frames.receive(), Ok(None));
        frames.push(&[&[0x80][..], &half[1..]].concat());
        assert_eq!(frames.receive(), Err(FrameError::TooLarge));
    }

    #[test]
    fn our_frames_are_masked() {
        // The masked example of the RFC, as a pong.
        let frame = control(Opcode::Pong, b"Hello", [0x37, 0xfa, 0x21, 0x3d]);
        assert_eq!(frame, [0x8a, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58]);
        assert_eq!(control(Opcode::Close, &[0; 500], [0; 4]).len(), 6 + CONTROL_MAX);
    }
}
