//! A recording back into events: our own, or the agent lines that other loops log, one a line or pretty
//! printed. A torn or broken piece is stepped over.

use cycle::{EventKind, LoopEvent, OutputReader, Price, Verbatim};
use serde_json::value::RawValue;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error("{} cannot be read: {source}", file.display())]
    Read { file: PathBuf, source: std::io::Error },
    #[error("{} holds no events", file.display())]
    Empty { file: PathBuf },
}

/// Gives every event of a recording to `each`, with what is derived from agents' lines in its place.
pub fn replay(file: &Path, price: Price, mut each: impl FnMut(&LoopEvent)) -> Result<(), ReplayError> {
    let bytes = std::fs::read(file).map_err(|source| ReplayError::Read { file: file.into(), source })?;
    let text = String::from_utf8_lossy(&bytes);
    let mut player = Player { reader: OutputReader::priced(1, "", price), price, at: 0 };
    let mut count = 0;
    for piece in pieces(&text) {
        let event = LoopEvent::parse(piece).unwrap_or_else(|_| player.foreign(piece));
        player.play(&event, &mut each);
        count += 1;
    }
    if count == 0 { Err(ReplayError::Empty { file: file.into() }) } else { Ok(()) }
}

struct Player {
    reader: OutputReader,
    price: Price,
    at: u64,
}

impl Player {
    /// Logs of others have no times; order is all there is. What they wrote over many lines becomes one.
    fn foreign(&self, piece: &str) -> LoopEvent {
        let one_line = if piece.contains('\n') {
            serde_json::from_str::<serde_json::Value>(piece)
                .map_or_else(|_| piece.to_owned(), |value| value.to_string())
        } else {
            piece.to_owned()
        };
        EventKind::Agent { iteration: 1, line: Verbatim::new(&one_line) }.at(self.at + 1)
    }

    fn play(&mut self, event: &LoopEvent, each: &mut impl FnMut(&LoopEvent)) {
        self.at = event.at;
        match &event.kind {
            EventKind::IterationStarted(start) => {
                self.reader = OutputReader::priced(start.iteration, &start.model, self.price);
            }
            EventKind::IterationEnded { .. } => {
                for derived in self.reader.end() {
                    each(&derived.at(event.at));
                }
            }
            _ => {}
        }
        each(event);
        if let EventKind::Agent { line, .. } = &event.kind {
            for derived in self.reader.read_line(&recorded_text(line)) {
                each(&derived.at(event.at));
            }
        }
    }
}

/// A line that was no JSON is recorded as a string of it.
pub(crate) fn recorded_text(line: &Verbatim) -> String {
    if line.get().starts_with('"') {
        return serde_json::from_str(line.get()).unwrap_or_else(|_| line.get().to_owned());
    }
    line.get().to_owned()
}

/// The JSON objects of a text, however they are laid out.
fn pieces(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while !rest.trim_start().is_empty() {
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
        let good = stream.by_ref().map_while(Result::ok).map(RawValue::get);
        found.extend(good.filter(|piece| piece.starts_with('{')));
        let at = rest.floor_char_boundary(stream.byte_offset());
        let bad = &rest[at..];
        let bad = bad.trim_start();
        rest = bad.split_once('\n').map_or("", |(_, rest)| rest);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("log");
        std::fs::write(&file, text).unwrap();
        let mut kinds = Vec::new();
        let read = replay(&file, cycle::unpriced, |event| {
            assert!(!event.to_line().contains('\n'), "an event is one line");
            let value: serde_json::Value = serde_json::from_str(&event.to_line()).unwrap();
            kinds.push(value["type"].as_str().unwrap().to_owned());
        });
        assert_eq!(read.is_ok(), !kinds.is_empty());
        kinds
    }

    const TEXT: &str = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"hi"}]}}"#;

    #[test]
    fn our_recordings_and_those_of_others_play() {
        let ours = EventKind::Agent { iteration: 1, line: Verbatim::new(TEXT) }.at(1).to_line();
        let paused = EventKind::Paused.at(2).to_line();
        assert_eq!(kinds(&format!("{ours}\n{paused}\n")), ["agent", "agent_text", "paused"]);
        assert_eq!(kinds(&format!("{TEXT}\n{TEXT}\n")), ["agent", "agent_text", "agent", "agent_text"]);
        let pretty = serde_json::to_string_pretty(&serde_json::from_str::<serde_json::Value>(TEXT).unwrap()).unwrap();
        assert_eq!(kinds(&format!("{pretty}\n\n{pretty}\n")), ["agent", "agent_text", "agent", "agent_text"]);
    }

    #[test]
    fn adversary_52_a_torn_recording_plays_up_to_the_tear_and_on_after_it() {
        let paused = EventKind::Paused.at(2).to_line();
        for cut in 1..paused.len() {
            assert_eq!(kinds(&format!("{paused}\n{}", &paused[..cut])), ["paused"], "{cut}");
            assert_eq!(kinds(&format!("{paused}\n{}\n{paused}\n", &paused[..cut])), ["paused"; 2], "{cut}");
        }
        assert_eq!(kinds(""), [""; 0]);
        assert_eq!(kinds("no json\n"), [""; 0]);
    }
}
