//! The meaning of a key. Pure: a state and a key give a state and perhaps something to do.

use crate::feed::{Body, Entry};
use crate::reader::{Filter, Hit, Input, Mode, Purpose, Reader, Scroll};
use crate::replay::Control;
use crate::scroll::Window;
use crate::state::{Phase, ScreenState};
use crate::view::Areas;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What a person wants of the loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Hold after this iteration.
    Pause,
    /// Go on, or forget about holding.
    Resume,
    /// End after this iteration (the first Ctrl-C).
    Finish,
    /// End now (the second Ctrl-C).
    Stop,
    /// Tell the running agent.
    Steer(String),
    /// Answer the question that waits.
    Answer(String),
}

/// What the screen has to do about a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    Tell(Command),
    Play(Control),
    /// Somebody else wrote over the screen.
    Redraw,
    /// Back to the shell for a while.
    Suspend,
    Leave,
}

pub fn press(state: &mut ScreenState, key: KeyEvent) -> Option<Action> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c') if control => return Some(interrupt(state)),
        KeyCode::Char('l') if control => return Some(Action::Redraw),
        KeyCode::Char('z') if control => return Some(Action::Suspend),
        _ => {}
    }
    match std::mem::take(&mut state.reader.mode) {
        Mode::Typing(purpose, input) => typing(state, purpose, input, key),
        Mode::Stopping if key.code == KeyCode::Char('x') => Some(Action::Tell(Command::Stop)),
        // Whatever was pressed closed the question or the help.
        Mode::Stopping | Mode::Help => None,
        Mode::Reading => reading(state, key),
    }
}

/// Text from the clipboard: only where somebody is typing.
pub fn paste(state: &mut ScreenState, text: &str) {
    if let Mode::Typing(_, input) = &mut state.reader.mode {
        input.insert(text);
    }
}

fn interrupt(state: &mut ScreenState) -> Action {
    if state.playing.is_some() || state.attached || state.ended_run() {
        return Action::Leave;
    }
    let again = std::mem::replace(&mut state.reader.finish_wanted, true);
    Action::Tell(if again { Command::Stop } else { Command::Finish })
}

fn reading(state: &mut ScreenState, key: KeyEvent) -> Option<Action> {
    if let Some(action) = state.playing.is_some().then(|| playing(key)).flatten() {
        return Some(action);
    }
    match key.code {
        KeyCode::Char('?' | 'h') => state.reader.mode = Mode::Help,
        KeyCode::Char('/') => begin(state, Purpose::Search),
        KeyCode::Char('n') => find(state, true),
        KeyCode::Char('N') => find(state, false),
        KeyCode::Char('f') => set_filter(state),
        KeyCode::Char('e') => unfold_all(state),
        KeyCode::Up | KeyCode::Char('k') => scroll(state, |window| window.moved(-1)),
        KeyCode::Down | KeyCode::Char('j') => scroll(state, |window| window.moved(1)),
        KeyCode::PageUp => page(state, -1),
        KeyCode::PageDown => page(state, 1),
        KeyCode::Home | KeyCode::Char('g') => scroll(state, |window| window.at_entry(0)),
        KeyCode::End | KeyCode::Char('G') => state.reader.scroll = Scroll::Follow,
        KeyCode::Tab => select(state, true),
        KeyCode::BackTab => select(state, false),
        KeyCode::Enter => unfold(state),
        KeyCode::Char('[') => go_to_iteration(state, true),
        KeyCode::Char(']') => go_to_iteration(state, false),
        KeyCode::Esc => {
            state.reader.selected = None;
            state.reader.search.clear();
            state.reader.hit = None;
            state.reader.filter = Filter::All;
        }
        _ => return running(state, key),
    }
    None
}

/// Keys that reach the loop; nobody is there to be told after its end or in a replay.
fn running(state: &mut ScreenState, key: KeyEvent) -> Option<Action> {
    if state.playing.is_some() || state.ended_run() {
        return (key.code == KeyCode::Char('q')).then_some(Action::Leave);
    }
    match key.code {
        KeyCode::Char('p') => return Some(Action::Tell(toggle_pause(state))),
        KeyCode::Char('s') => begin(state, Purpose::Steer),
        KeyCode::Char('a') if state.question.is_some() => begin(state, Purpose::Answer),
        KeyCode::Char('q') if state.attached => return Some(Action::Leave),
        // The question comes before quitting, too.
        KeyCode::Char('x' | 'q') => state.reader.mode = Mode::Stopping,
        _ => {}
    }
    None
}

fn toggle_pause(state: &mut ScreenState) -> Command {
    let Reader { pause_wanted, .. } = &mut state.reader;
    let held = state.phase == Phase::Paused || *pause_wanted;
    *pause_wanted = !held;
    if held { Command::Resume } else { Command::Pause }
}

fn playing(key: KeyEvent) -> Option<Action> {
    let control = match key.code {
        KeyCode::Char(' ') => Control::Toggle,
        KeyCode::Left => Control::Back,
        KeyCode::Right => Control::On,
        KeyCode::Char('[') => Control::PreviousIteration,
        KeyCode::Char(']') => Control::NextIteration,
        KeyCode::Char(c) if c.is_ascii_digit() => Control::Tenth(c as u8 - b'0'),
        KeyCode::Char('-') => Control::Slower,
        KeyCode::Char('+' | '=') => Control::Faster,
        _ => return None,
    };
    Some(Action::Play(control))
}

fn begin(state: &mut ScreenState, purpose: Purpose) {
    state.reader.mode = Mode::Typing(purpose, Input::default());
}

fn typing(state: &mut ScreenState, purpose: Purpose, mut input: Input, key: KeyEvent) -> Option<Action> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Esc => return None,
        KeyCode::Enter => return typed(state, purpose, input.text.trim()),
        KeyCode::Char('u') if control => input = Input::default(),
        KeyCode::Char('w') if control => input.delete_word(),
        KeyCode::Char('a') if control => input.home(),
        KeyCode::Char('e') if control => input.end(),
        KeyCode::Char(c) if !control => input.insert(c.encode_utf8(&mut [0; 4])),
        KeyCode::Backspace => input.backspace(),
        KeyCode::Delete => input.delete(),
        KeyCode::Left => input.left(),
        KeyCode::Right => input.right(),
        KeyCode::Home => input.home(),
        KeyCode::End => input.end(),
        _ => {}
    }
    state.reader.mode = Mode::Typing(purpose, input);
    None
}

fn typed(state: &mut ScreenState, purpose: Purpose, text: &str) -> Option<Action> {
    match purpose {
        Purpose::Search => {
            text.clone_into(&mut state.reader.search);
            // From the end again: what was chosen before belongs to another search.
            state.reader.selected = None;
            state.reader.hit = None;
            find(state, true);
            None
        }
        _ if text.is_empty() => None,
        Purpose::Steer => Some(Action::Tell(Command::Steer(text.to_owned()))),
        Purpose::Answer => Some(Action::Tell(Command::Answer(chosen(state, text)))),
    }
}

/// The number of an option stands for its words.
fn chosen(state: &ScreenState, text: &str) -> String {
    let options = state.question.as_ref().map_or(&[][..], |question| &question.options);
    let number = text.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    number.and_then(|at| options.get(at)).cloned().unwrap_or_else(|| text.to_owned())
}

fn window(state: &ScreenState) -> Window<'_> {
    let areas = Areas::of(state, state.reader.size);
    Window::new(state, areas.feed.width, areas.feed.height)
}

fn scroll(state: &mut ScreenState, to: impl FnOnce(&Window<'_>) -> Scroll) {
    state.reader.scroll = to(&window(state));
}

/// One row of the old page stays, for the eye.
fn page(state: &mut ScreenState, direction: isize) {
    let rows = isize::try_from(Areas::of(state, state.reader.size).feed.height).unwrap_or(1);
    scroll(state, |window| window.moved(direction * (rows - 1).max(1)));
}

fn set_filter(state: &mut ScreenState) {
    state.reader.filter = state.reader.filter.next();
    state.reader.scroll = Scroll::Follow;
}

/// To the next row with the words searched for, from the last one that was found, or from the end.
fn find(state: &mut ScreenState, older: bool) {
    let wanted = state.reader.search.to_ascii_lowercase();
    if wanted.is_empty() {
        return;
    }
    unfold_hits(state, &wanted);
    let hits = all_hits(state, &wanted);
    let before = state.reader.hit.map(|hit| (hit.entry, hit.row));
    // Hits are newest first.
    let next = match (older, before) {
        (true, None) => hits.first().map(|_| 0),
        (true, Some(before)) => hits.iter().position(|hit| *hit < before),
        (false, None) => None,
        (false, Some(before)) => hits.iter().rposition(|hit| *hit > before),
    };
    state.reader.missed = next.is_none();
    let Some(at) = next else { return };
    let (entry, row) = hits[at];
    state.reader.hit = Some(Hit { entry, row, number: at + 1, of: hits.len() });
    state.reader.selected = Some(entry);
    scroll(state, |window| window.at_row(entry, row));
}

/// What is searched for may be folded away.
fn unfold_hits(state: &mut ScreenState, wanted: &str) {
    let folded: Vec<u64> = {
        let window = window(state);
        let says = |entry: &&Entry| entry.plain().to_ascii_lowercase().contains(wanted);
        let entries = state.feed.entries().iter().filter(|entry| state.reader.filter.shows(entry)).filter(says);
        entries.filter(|entry| window.hits(entry, wanted).is_empty()).map(|entry| entry.id).collect()
    };
    for id in folded {
        if let Some(entry) = state.feed.get_mut(id) {
            entry.open = Some(true);
        }
    }
}

/// Every row with the words, newest first, as entry and row.
fn all_hits(state: &ScreenState, wanted: &str) -> Vec<(u64, usize)> {
    let window = window(state);
    let mut hits = Vec::new();
    for entry in state.feed.entries().iter().rev().filter(|entry| state.reader.filter.shows(entry)) {
        // Laying out is slow; most entries do not have the words at all.
        if entry.plain().to_ascii_lowercase().contains(wanted) {
            hits.extend(window.hits(entry, wanted).into_iter().rev().map(|row| (entry.id, row)));
        }
    }
    hits
}

fn select(state: &mut ScreenState, older: bool) {
    jump(state, older, |entry| matches!(&entry.body, Body::Tool(_) | Body::Check(_)) || is_thought(&entry.body));
}

/// Chooses the receipt of an iteration before or after the chosen one, and shows where that iteration begins.
fn go_to_iteration(state: &mut ScreenState, older: bool) {
    if !jump(state, older, |entry| matches!(entry.body, Body::Receipt(_))) {
        return;
    }
    let chosen = state.reader.selected.and_then(|id| state.feed.entries().get(state.feed.position(id)));
    let Some(iteration) = chosen.map(|entry| entry.iteration) else { return };
    let begins = |entry: &&Entry| entry.iteration == iteration && matches!(entry.body, Body::Iteration { .. });
    let first = state.feed.entries().iter().rev().find(begins).map(|entry| entry.id);
    if let Some(first) = first {
        scroll(state, |window| window.at_entry(first));
    }
    let chosen = state.reader.selected.unwrap_or_default();
    if !window(state).shows(chosen) {
        scroll(state, |window| window.at_entry(chosen));
    }
}

fn is_thought(body: &Body) -> bool {
    matches!(body, Body::Speech(speech) if speech.thinking)
}

/// Chooses the next entry that fits; `false` where there is none.
fn jump(state: &mut ScreenState, older: bool, fits: impl Fn(&Entry) -> bool) -> bool {
    let filter = state.reader.filter;
    let from = state.reader.selected;
    let fits = |entry: &&Entry| filter.shows(entry) && fits(entry);
    let entries = state.feed.entries();
    let found = match (older, from) {
        (true, Some(from)) => entries.iter().rev().filter(|entry| entry.id < from).find(fits),
        (true, None) => entries.iter().rev().find(fits),
        (false, Some(from)) => entries.iter().filter(|entry| entry.id > from).find(fits),
        (false, None) => None,
    };
    let Some(id) = found.map(|entry| entry.id) else { return false };
    state.reader.selected = Some(id);
    if !window(state).shows(id) {
        scroll(state, |window| window.at_entry(id));
    }
    true
}

/// What was chosen one by one gives way.
fn unfold_all(state: &mut ScreenState) {
    state.reader.open_all = !state.reader.open_all;
    state.feed.entries_mut().for_each(|entry| entry.open = None);
}

fn unfold(state: &mut ScreenState) {
    let all = state.reader.open_all;
    let Some(id) = state.reader.selected else { return };
    if let Some(entry) = state.feed.get_mut(id) {
        entry.open = Some(!entry.open.unwrap_or(all));
    }
}

#[cfg(test)]
#[path = "keys_tests.rs"]
mod tests;
