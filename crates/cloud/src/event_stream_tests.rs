use super::*;
use base64::Engine as _;
use proptest::prelude::*;
use serde_json::Value;

const RECORDED: &str = include_str!("../testdata/bedrock-eventstream.json");

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[at * 2..at * 2 + 2], 16).unwrap()).collect()
}

fn frames() -> Vec<(Vec<u8>, Value)> {
    let data: Value = serde_json::from_str(RECORDED).unwrap();
    let frames = data["frames"].as_array().unwrap().clone();
    frames.into_iter().map(|frame| (bytes(frame["hex"].as_str().unwrap()), frame["event"].clone())).collect()
}

fn event(frame: &Frame) -> Value {
    let payload: Value = serde_json::from_slice(&frame.payload).unwrap();
    let inner = base64::engine::general_purpose::STANDARD.decode(payload["bytes"].as_str().unwrap()).unwrap();
    serde_json::from_slice(&inner).unwrap()
}

#[test]
fn recorded_frames_give_their_events_however_they_are_cut() {
    let frames = frames();
    assert!(frames.len() > 3);
    let all: Vec<u8> = frames.iter().flat_map(|(bytes, _)| bytes.clone()).collect();
    for piece in [1, 3, 7, 100, all.len()] {
        let mut decoder = Decoder::default();
        let mut events = Vec::new();
        for chunk in all.chunks(piece) {
            decoder.push(chunk);
            while let Some(frame) = decoder.next_frame().unwrap() {
                if frame.text(":message-type") == Some("event") {
                    events.push(event(&frame));
                }
            }
        }
        decoder.finish().unwrap();
        let expected: Vec<Value> =
            frames.iter().filter(|(_, event)| !event.is_null()).map(|(_, event)| event.clone()).collect();
        assert_eq!(events, expected, "pieces of {piece}");
    }
}

#[test]
fn a_changed_byte_is_noticed() {
    let (frame, _) = frames().remove(0);
    for at in 0..frame.len() {
        let mut changed = frame.clone();
        changed[at] ^= 0x10;
        let mut decoder = Decoder::default();
        decoder.push(&changed);
        let read = decoder.next_frame();
        assert!(read.is_err() || (read == Ok(None) && decoder.finish().is_err()), "byte {at}: {read:?}");
    }
}

#[test]
fn lengths_are_bounded() {
    let prelude = |total: u32, headers: u32| {
        let mut out = total.to_be_bytes().to_vec();
        out.extend(headers.to_be_bytes());
        out.extend(crc32fast::hash(&out).to_be_bytes());
        out
    };
    for (total, headers, expected) in [
        (15, 0, FrameError::Length(15)),
        (u32::MAX, 0, FrameError::Length(u32::MAX as usize)),
        (16, 1, FrameError::HeaderLength(1)),
        (1 << 20, 200 * 1024, FrameError::HeaderLength(200 * 1024)),
    ] {
        let mut decoder = Decoder::default();
        decoder.push(&prelude(total, headers));
        assert_eq!(decoder.next_frame(), Err(expected));
    }
}

#[test]
fn numbers_keep_their_sign() {
    assert_eq!(
        (signed([0xff]), signed([0xff, 0xfe]), signed([0x7f]), signed([0x80, 0, 0, 0])),
        (-1, -2, 127, i64::from(i32::MIN))
    );
}

proptest! {
    #[test]
    fn what_is_written_can_be_read(name in "[a-z:-]{1,20}", text in ".{0,40}", number: i64, payload in proptest::collection::vec(any::<u8>(), 0..300), cut in 1usize..50) {
        let headers = vec![
            (name, HeaderValue::Text(text)),
            ("n".into(), HeaderValue::Int(number)),
            ("t".into(), HeaderValue::Timestamp(number)),
            ("b".into(), HeaderValue::Bytes(payload.clone())),
            ("u".into(), HeaderValue::Uuid([7; 16])),
            ("yes".into(), HeaderValue::Bool(true)),
        ];
        let frame = Frame { headers, payload };
        let mut decoder = Decoder::default();
        let mut read = None;
        for chunk in frame.encode().chunks(cut) {
            decoder.push(chunk);
            read = read.or(decoder.next_frame().unwrap());
        }
        prop_assert_eq!(read, Some(frame));
    }

    #[test]
    fn any_bytes_end_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut decoder = Decoder::default();
        decoder.push(&bytes);
        while let Ok(Some(_)) = decoder.next_frame() {}
    }
}
