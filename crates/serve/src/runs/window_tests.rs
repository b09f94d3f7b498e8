use super::*;
use cycle::{AgentText, EventKind, Verbatim};

const PLAIN: Selection = Selection { derived: false, is_live: true };
const DERIVED: Selection = Selection { derived: true, is_live: true };
const BACKLOG: Selection = Selection { derived: true, is_live: false };

fn event(seq: u64, index: u32, kind: EventKind) -> NumberedEvent {
    NumberedEvent { seq, index, event: kind.at(1) }
}

fn said(seq: u64, text: &str, partial: bool) -> [NumberedEvent; 2] {
    let line = Verbatim::new(&format!("{{\"text\":\"{text}\"}}"));
    let speech = AgentText { iteration: 1, text: text.into(), partial, parent: None };
    [event(seq, 0, EventKind::Agent { iteration: 1, line }), event(seq, 1, EventKind::AgentText(speech))]
}

/// Two lines with a piece and the whole of a text, and an event of the loop.
fn window() -> Window {
    let mut window = Window::default();
    window.open((3, 0));
    let events = [said(3, "he", true), said(4, "hello", false)];
    events.iter().flatten().chain([&event(5, 0, EventKind::Paused)]).for_each(|event| window.push(event));
    window
}

fn ids(piece: &Piece) -> Vec<String> {
    let Piece::Events { text, .. } = piece else { panic!("{piece:?}") };
    let text = String::from_utf8(text.to_vec()).unwrap();
    text.lines().filter_map(|line| line.strip_prefix("id: ")).map(str::to_owned).collect()
}

#[test]
fn each_reader_gets_its_selection_from_its_position() {
    let window = window();
    for (position, selection, expected) in [
        ((3, 0), PLAIN, vec!["3", "4", "5"]),
        ((3, 1), PLAIN, vec!["4", "5"]),
        ((3, 0), DERIVED, vec!["3.1", "4.1", "5.0"]),
        ((3, 0), BACKLOG, vec!["4.1", "5.0"]),
        ((4, 2), DERIVED, vec!["5.0"]),
        ((9, 0), DERIVED, vec![]),
    ] {
        let piece = window.piece(position, selection);
        assert_eq!(ids(&piece), expected, "{position:?} {selection:?}");
        let Piece::Events { next, rest, .. } = piece else { unreachable!() };
        assert_eq!((next, rest), (position.max((5, 1)), Rest::Nothing));
    }
}

#[test]
fn a_reader_behind_the_window_is_told_so() {
    assert_eq!(Window::default().piece((1, 0), PLAIN), Piece::Later);
    assert_eq!(window().piece((2, 7), PLAIN), Piece::Forgotten);
}

#[test]
fn old_events_are_forgotten_and_the_rest_comes_in_pieces() {
    let mut window = Window::default();
    window.open((1, 0));
    let text = "x".repeat(10_000);
    let last = 2 * WINDOW_MAX as u64 / 10_000;
    (1..=last).flat_map(|seq| said(seq, &text, false)).for_each(|event| window.push(&event));
    assert!(window.bytes <= WINDOW_MAX, "{}", window.bytes);
    assert_eq!(window.piece((1, 0), PLAIN), Piece::Forgotten);
    let mut position = window.from.unwrap();
    let mut seen = Vec::new();
    loop {
        let piece = window.piece(position, DERIVED);
        seen.extend(ids(&piece));
        let Piece::Events { text, next, rest } = piece else { unreachable!() };
        assert!(text.len() <= PIECE_MAX, "{}", text.len());
        position = next;
        if rest == Rest::Nothing {
            break;
        }
    }
    let from = window.from.unwrap().0;
    let expected: Vec<String> = (from..=last).map(|seq| format!("{seq}.1")).collect();
    assert!(seen == expected || seen == expected[1..], "{seen:?}");
}

#[test]
fn the_end_comes_behind_everything() {
    let mut window = window();
    window.end("over".into());
    let Piece::Events { rest, .. } = window.piece((3, 0), PLAIN) else { unreachable!() };
    assert_eq!(rest, Rest::End("over".into()));
    assert!(window.is_over());
}
