use super::*;
use crate::fixture::{calls, fold_kinds, says, started};
use proptest::prelude::*;
use serde_json::json;

fn long_run(entries: usize) -> ScreenState {
    let text = |at: usize| says(1, &format!("text {at}\n\nmore of {at}"));
    fold_kinds(std::iter::once(started(1)).chain((0..entries).map(text)))
}

fn shown(state: &ScreenState, height: u16) -> Vec<String> {
    Window::new(state, 40, height).rows().iter().map(|row| row.to_string().trim().to_owned()).collect()
}

#[test]
fn the_end_is_followed() {
    let state = long_run(10);
    assert_eq!(shown(&state, 3), ["text 9", "", "more of 9"]);
    assert!(!Window::new(&state, 40, 3).more_below());
}

#[test]
fn a_place_is_kept_while_the_feed_grows() {
    let mut state = long_run(10);
    state.reader.scroll = Window::new(&state, 40, 3).moved(-4);
    let before = shown(&state, 3);
    assert_eq!(before, ["more of 7", "text 8", ""]);
    for _ in 0..5_000 {
        state.apply(&calls(1, "x", "Bash", json!({})).at(0));
    }
    assert!(Window::new(&state, 40, 3).more_below());
    assert_ne!(shown(&state, 3), before, "what was dropped cannot be shown");
    let mut state = long_run(10);
    state.reader.scroll = Window::new(&state, 40, 3).moved(-4);
    state.apply(&says(1, "new").at(0));
    assert_eq!(shown(&state, 3), before);
}

#[test]
fn moving_down_to_the_end_follows_again() {
    let mut state = long_run(10);
    state.reader.scroll = Window::new(&state, 40, 5).moved(-7);
    assert_ne!(state.reader.scroll, Scroll::Follow);
    state.reader.scroll = Window::new(&state, 40, 5).moved(7);
    assert_eq!(state.reader.scroll, Scroll::Follow);
}

#[test]
fn a_feed_shorter_than_the_window_starts_at_its_top() {
    let mut state = long_run(1);
    assert_eq!(shown(&state, 20).len(), 5);
    state.reader.scroll = Window::new(&state, 40, 20).moved(-3);
    assert_eq!(state.reader.scroll, Scroll::Follow);
}

proptest! {
    #[test]
    fn up_and_down_again_is_where_it_was(entries in 1usize..30, height in 1u16..20, up in 1isize..60) {
        let mut state = long_run(entries);
        let window = |state: &ScreenState| Window::new(state, 40, height).top();
        state.reader.scroll = Window::new(&state, 40, height).moved(-up);
        let top = window(&state);
        state.reader.scroll = Window::new(&state, 40, height).moved(-1);
        let higher = window(&state);
        state.reader.scroll = Window::new(&state, 40, height).moved(1);
        prop_assert!(window(&state) == top || higher == top, "{:?} {:?}", top, higher);
        prop_assert_eq!(shown(&state, height).len(), usize::from(height).min(2 + 3 * entries));
    }
}
