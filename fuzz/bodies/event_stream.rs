//! The event stream of AWS: any bytes, and good frames with something changed in them.

use cloud::event_stream::{Decoder, Frame, FrameError};

/// Frames until the bytes end or cannot be trusted, and how it ended.
fn read(bytes: &[u8], piece: usize) -> (Vec<Frame>, Result<(), FrameError>) {
    let (mut decoder, mut frames) = (Decoder::default(), Vec::new());
    for chunk in bytes.chunks(piece.max(1)) {
        decoder.push(chunk);
        loop {
            match decoder.next_frame() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => return (frames, Err(error)),
            }
        }
    }
    (frames, decoder.finish())
}

/// Pieces of any size give the same frames and the same end; what was read can be written and read again.
pub fn frames(bytes: &[u8]) {
    let whole = read(bytes, bytes.len());
    for piece in [1, 3, 16] {
        assert_eq!(read(bytes, piece), whole, "in pieces of {piece}");
    }
    for frame in &whole.0 {
        assert_eq!(read(&frame.encode(), 7), (vec![frame.clone()], Ok(())), "{frame:?}");
    }
}

/// The first two bytes say which byte of a frame is changed and how; the rest is the frame's payload. A frame with a wrong
/// checksum is never passed on.
pub fn checksums(bytes: &[u8]) {
    let Some((head, payload)) = bytes.split_at_checked(3) else { return };
    let frame = Frame { headers: Vec::new(), payload: payload.to_vec() };
    let good = frame.encode();
    assert_eq!(read(&good, 5).0, vec![frame]);
    let at = usize::from(u16::from_be_bytes([head[0], head[1]])) % good.len();
    let mut bad = good;
    bad[at] ^= head[2].max(1);
    let (frames, end) = read(&bad, 5);
    assert!(frames.is_empty() && end.is_err(), "a changed byte at {at} was not noticed: {end:?}");
}
