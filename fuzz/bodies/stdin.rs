//! A line of a client, and a line to one.

/// Any line is understood, skipped or refused; what is passed on is one whole line.
pub fn line(bytes: &[u8]) {
    // Refused or not, it must not break anything.
    let _ = wire::Input::parse(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    reads_back(text);
    let Ok(value) = serde_json::from_str::<serde_json::Value>(text) else { return };
    if !value.is_object() {
        return;
    }
    let raw = value.to_string();
    for ascii in [false, true] {
        let mut line = Vec::new();
        wire::encode_partial(&mut line, raw.as_bytes(), "s", "u", None, ascii);
        assert!(line.ends_with(b"\n") && !line[..line.len() - 1].contains(&b'\n'), "{raw}");
        assert!(line.len() <= wire::LINE_MAX, "{}", line.len());
        let read: serde_json::Value = serde_json::from_slice(&line).expect("a line of JSON");
        assert!(read["event"] == value || line.len() > wire::LINE_MAX / 2, "{read} is not {value}");
        assert!(!ascii || line.is_ascii(), "{read}");
    }
}

/// A line of an agent, of any version, is the same after it was written again.
fn reads_back(text: &str) {
    if let Ok(Some(line)) = wire::Line::parse(text) {
        let bytes = line.to_bytes();
        let again = wire::Line::parse(std::str::from_utf8(&bytes).expect("text"));
        assert_eq!(again, Ok(Some(line)), "{text}");
    }
}
