//! Events as bytes: compact JSON, one line each, under a size every client can take.

use crate::Event;
use serde_json::Value;
use std::io::Write as _;

/// The official Python SDK gives up on a longer line, so none may be longer, newline included.
pub const LINE_MAX: usize = 1024 * 1024;

/// Long strings of an oversized event are first cut to this, then to ever less.
const FIRST_CUT: usize = 256 * 1024;

/// One line for stdout: the event with its `session_id` and `uuid`, newline included.
///
/// `/`, `<` and `>` stay unescaped because clients grep the raw stream; U+2028 and U+2029 are escaped
/// because line readers of JavaScript split there; `ascii` escapes all the rest for terminals whose
/// readers cut in the middle of a character.
pub fn encode(event: &Event, session_id: &str, uuid: &str, ascii: bool) -> Vec<u8> {
    let line = bounded_body(event).map(|body| finish(body, session_id, uuid, ascii));
    line.filter(|line| line.len() <= LINE_MAX).unwrap_or_else(|| shortened(event, session_id, uuid, ascii))
}

/// As much as a partial message's line has beside the event and the session's id.
pub const PARTIAL_FRAME: usize = 192;

/// The same for a `stream_event` whose JSON is at hand as the API sent it, put at the end of `out`: no parse,
/// no copy of the tree, no allocation. An answer can be a hundred thousand of these.
pub fn encode_partial(out: &mut Vec<u8>, raw: &[u8], session_id: &str, uuid: &str, ttft_ms: Option<u64>, ascii: bool) {
    let start = out.len();
    out.reserve(raw.len() + session_id.len() + PARTIAL_FRAME);
    out.extend_from_slice(br#"{"type":"stream_event","event":"#);
    out.extend_from_slice(raw);
    out.extend_from_slice(br#","parent_tool_use_id":null"#);
    if let Some(ms) = ttft_ms {
        let _ = write!(out, r#","ttft_ms":{ms}"#);
    }
    out.push(b',');
    sign(out, session_id, uuid);
    if !(raw.is_ascii() && session_id.is_ascii()) && holds_what_is_escaped(&out[start..], ascii) {
        let line = escaped(out.split_off(start), ascii);
        out.extend_from_slice(&line);
    }
}

/// A `transcript_mirror` line for one entry of a transcript, given as the line that was written. It has
/// neither id: it is for the client's library, not for its user.
pub fn encode_mirror(file: &str, entry: &[u8], ascii: bool) -> Vec<u8> {
    let line = mirror(file, entry.trim_ascii_end(), ascii);
    if line.len() <= LINE_MAX {
        return line;
    }
    let mut value = serde_json::from_slice(entry).unwrap_or_default();
    let mut keep = FIRST_CUT;
    loop {
        cut_strings(&mut value, keep);
        let line = mirror(file, &body(&value), ascii);
        if line.len() <= LINE_MAX || keep == 0 {
            return line;
        }
        keep /= 2;
    }
}

fn mirror(file: &str, entry: &[u8], ascii: bool) -> Vec<u8> {
    let mut line = Vec::with_capacity(entry.len() + file.len() + 64);
    let _ = write!(line, r#"{{"type":"transcript_mirror","filePath":{},"entries":["#, Value::from(file));
    line.extend_from_slice(entry);
    line.extend_from_slice(b"]}\n");
    escaped(line, ascii)
}

/// Nothing for an event that is longer than any line: the rest of it is not even written.
fn bounded_body(event: &Event) -> Option<Vec<u8>> {
    let mut body = Bounded(Vec::with_capacity(FIRST_ROOM));
    match serde_json::to_writer(&mut body, event) {
        Ok(()) => Some(body.0),
        Err(error) if error.is_io() => None,
        Err(_) => Some(b"{}".to_vec()),
    }
}

/// Most events are shorter.
const FIRST_ROOM: usize = 1024;

/// Takes no more bytes than a line may have.
struct Bounded(Vec<u8>);

impl std::io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0.len() + bytes.len() > LINE_MAX {
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.write(bytes).map(drop)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// About how long a value is as JSON, so that megabytes are written into room that need not grow. Escapes are guessed.
pub fn expected_length(value: &Value) -> usize {
    const QUOTES: usize = 4;
    match value {
        Value::String(text) => text.len() + text.len() / 16 + QUOTES,
        Value::Array(items) => items.iter().map(|item| expected_length(item) + 1).sum::<usize>() + QUOTES,
        Value::Object(map) => {
            map.iter().map(|(key, item)| key.len() + QUOTES + expected_length(item)).sum::<usize>() + 2
        }
        _ => 8,
    }
}

fn body<T: serde::Serialize>(event: &T) -> Vec<u8> {
    // Our events hold only strings, numbers, lists and string-keyed maps, so this cannot fail; and if a
    // later field could, an empty object is still a line that a client can read past.
    serde_json::to_vec(event).unwrap_or_else(|_| b"{}".to_vec())
}

fn finish(mut line: Vec<u8>, session_id: &str, uuid: &str, ascii: bool) -> Vec<u8> {
    line.pop();
    if line.len() > 1 {
        line.push(b',');
    }
    sign(&mut line, session_id, uuid);
    escaped(line, ascii)
}

/// Both ids and the end of the line.
fn sign(line: &mut Vec<u8>, session_id: &str, uuid: &str) {
    for part in [r#""session_id":""#, session_id, r#"","uuid":""#, uuid, "\"}\n"] {
        line.extend_from_slice(part.as_bytes());
    }
}

fn escaped(line: Vec<u8>, ascii: bool) -> Vec<u8> {
    match (holds_what_is_escaped(&line, ascii), ascii) {
        (false, _) => line,
        (true, true) => escape(&line, |c| !c.is_ascii()),
        (true, false) => escape(&line, |c| matches!(c, '\u{2028}' | '\u{2029}')),
    }
}

/// Looked at first, because almost no line does.
fn holds_what_is_escaped(line: &[u8], ascii: bool) -> bool {
    const SEPARATOR_HEAD: [u8; 2] = [0xE2, 0x80];
    let separator = |at: usize| matches!(line.get(at + SEPARATOR_HEAD.len()), Some(0xA8 | 0xA9));
    !line.is_ascii() && (ascii || memchr::memmem::find_iter(line, &SEPARATOR_HEAD).any(separator))
}

/// Escapes what `which` names. Only called on JSON, where such characters stand in strings alone.
fn escape(line: &[u8], which: fn(char) -> bool) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(line) else { return line.to_vec() };
    let mut out = Vec::with_capacity(line.len() + 64);
    for c in text.chars() {
        if which(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    out
}

fn shortened(event: &Event, session_id: &str, uuid: &str, ascii: bool) -> Vec<u8> {
    let mut value = serde_json::to_value(event).unwrap_or_default();
    let mut keep = FIRST_CUT;
    loop {
        cut_strings(&mut value, keep);
        let line = finish(body(&value), session_id, uuid, ascii);
        if line.len() <= LINE_MAX || keep == 0 {
            return line;
        }
        keep /= 2;
    }
}

fn cut_strings(value: &mut Value, keep: usize) {
    match value {
        Value::String(text) if text.len() > keep => {
            let end = text.floor_char_boundary(keep);
            let dropped = text.len() - end;
            text.truncate(end);
            text.push_str(&format!("… [{dropped} bytes cut: the line would be over 1 MiB]"));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| cut_strings(item, keep)),
        Value::Object(map) => map.values_mut().for_each(|item| cut_strings(item, keep)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{System, User};
    use serde_json::json;

    fn line(event: &Event, ascii: bool) -> String {
        String::from_utf8(encode(event, "s", "u", ascii)).unwrap()
    }

    fn info(content: &str) -> Event {
        Event::System(System::informational(content, "info"))
    }

    /// What passes through us has the number it came with, to the last bit.
    #[test]
    fn numbers_stay_what_they_were() {
        for number in ["4.444444444444445e+44", "0.1", "1.7976931348623157e+308", "5e-324", "9007199254740993"] {
            let value: Value = serde_json::from_str(number).unwrap();
            assert_eq!(value.to_string(), number);
        }
    }

    #[test]
    fn the_room_for_a_value_is_enough_and_not_much_more() {
        let text = "a \"word\" in a line\n".repeat(1000);
        for value in [json!([]), json!({"a": [true, 1, null, {"b": "c"}]}), json!([text, {"text": text}])] {
            let (expected, length) = (expected_length(&value), value.to_string().len());
            assert!(expected * 8 >= length * 7 && expected <= length * 2 + 64, "{expected} for {length}");
        }
    }

    #[test]
    fn type_comes_first_and_angle_brackets_stay() {
        assert_eq!(
            line(&info("<promise>a/b</promise>"), false),
            "{\"type\":\"system\",\"subtype\":\"informational\",\"content\":\"<promise>a/b</promise>\",\"level\":\"info\",\"session_id\":\"s\",\"uuid\":\"u\"}\n"
        );
    }

    #[test]
    fn line_separators_are_escaped_and_a_terminal_gets_ascii() {
        assert!(line(&info("a\u{2028}b\u{2029}é"), false).contains(r"a\u2028b\u2029é"));
        assert!(line(&info("é😀"), true).contains(r"\u00e9\ud83d\ude00"));
    }

    #[test]
    fn partial_bytes_pass_through() {
        let mut bytes = Vec::new();
        encode_partial(&mut bytes, br#"{"type":"ping"}"#, "s", "u", Some(7), false);
        assert_eq!(
            String::from_utf8(bytes).unwrap(),
            "{\"type\":\"stream_event\",\"event\":{\"type\":\"ping\"},\"parent_tool_use_id\":null,\"ttft_ms\":7,\"session_id\":\"s\",\"uuid\":\"u\"}\n"
        );
    }

    #[test]
    fn partial_bytes_follow_those_before_and_are_escaped_alone() {
        let mut bytes = "kept \u{2028}\n".as_bytes().to_vec();
        encode_partial(&mut bytes, "{\"a\":\"\u{2028}“é\"}".as_bytes(), "s", "u", None, false);
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.starts_with("kept \u{2028}\n{") && text.contains(r#"{"a":"\u2028“é"}"#), "{text}");
        let mut bytes = Vec::new();
        encode_partial(&mut bytes, "{\"a\":\"é\"}".as_bytes(), "s", "u", None, true);
        assert!(String::from_utf8(bytes).unwrap().contains(r#"{"a":"\u00e9"}"#));
    }

    #[test]
    fn no_line_is_over_a_mebibyte() {
        for text in ["x".repeat(5 << 20), "\u{1}".repeat(2 << 20), "é".repeat(3 << 20)] {
            let event = Event::User(Box::new(User {
                message: json!({"content":[{"content":text}]}).into(),
                tool_use_result: Some(json!({"stdout":text})),
                ..User::default()
            }));
            for ascii in [false, true] {
                let bytes = encode(&event, "s", "u", ascii);
                assert!(bytes.len() <= LINE_MAX, "{}", bytes.len());
                assert!(serde_json::from_slice::<Value>(&bytes).is_ok());
            }
        }
    }

    #[test]
    fn a_mirrored_entry_is_the_line_that_was_written_and_fits() {
        let bytes = encode_mirror("/p/s.jsonl", b"{\"type\":\"user\",\"a\":\"<b>\"}\n", false);
        let expected = "{\"type\":\"transcript_mirror\",\"filePath\":\"/p/s.jsonl\",\"entries\":[{\"type\":\"user\",\"a\":\"<b>\"}]}\n";
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
        let long = json!({"type": "user", "text": "x".repeat(3 << 20)}).to_string();
        let bytes = encode_mirror("/p/s.jsonl", long.as_bytes(), false);
        let value: Value = serde_json::from_slice(&bytes).unwrap();
        assert!(bytes.len() <= LINE_MAX && value["entries"][0]["type"] == "user");
    }
}
