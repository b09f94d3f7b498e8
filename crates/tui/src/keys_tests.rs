use super::*;
use crate::fixture::{asks, at_work, fold, fold_kinds, run_started, screen, started, verdict};
use crate::replay::{About, Player, Recording};
use cycle::{EventKind, VerdictKind};

fn key(state: &mut State, code: KeyCode) -> Option<Action> {
    press(state, KeyEvent::new(code, KeyModifiers::NONE))
}

fn control(state: &mut State, c: char) -> Option<Action> {
    press(state, KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL))
}

fn write(state: &mut State, text: &str) -> Option<Action> {
    text.chars().map(|c| key(state, if c == '\n' { KeyCode::Enter } else { KeyCode::Char(c) })).last().flatten()
}

fn at_80x24() -> State {
    let mut state = fold(&at_work());
    state.reader.size = (80, 24);
    state
}

#[test]
fn keys_that_reach_the_loop() {
    let tell = |command| Some(Action::Tell(command));
    for (typed, last) in [
        ("p", tell(Command::Pause)),
        ("pp", tell(Command::Resume)),
        ("x", None),
        ("xx", tell(Command::Stop)),
        ("xpx", None),
        ("suse tabs\n", tell(Command::Steer("use tabs".into()))),
        ("s  \n", None),
        ("a", None),
        ("q", None),
        ("?x", None),
    ] {
        assert_eq!(write(&mut at_80x24(), typed), last, "{typed:?}");
    }
}

#[test]
fn going_on_after_a_pause() {
    let mut state = fold_kinds([run_started(), started(1), EventKind::Paused]);
    assert_eq!(write(&mut state, "p"), Some(Action::Tell(Command::Resume)));
}

#[test]
fn ctrl_c_ends_gently_first() {
    let mut state = at_80x24();
    assert_eq!(control(&mut state, 'c'), Some(Action::Tell(Command::Finish)));
    assert!(screen(&mut state, 80, 24).contains("ends after this iteration"));
    write(&mut state, "s");
    assert_eq!(control(&mut state, 'c'), Some(Action::Tell(Command::Stop)), "whatever is being typed");
}

#[test]
fn keys_of_every_terminal_work_whatever_is_being_typed() {
    let mut state = at_80x24();
    write(&mut state, "shello");
    assert_eq!(control(&mut state, 'z'), Some(Action::Suspend));
    assert_eq!(control(&mut state, 'l'), Some(Action::Redraw));
    assert_eq!(write(&mut state, "\n"), Some(Action::Tell(Command::Steer("hello".into()))));
}

#[test]
fn an_answer_may_be_a_number() {
    for (typed, answer) in [("a2\n", "postgres"), ("a9\n", "9"), ("amysql\n", "mysql")] {
        let mut state = fold_kinds([run_started(), started(1), asks(1, "q")]);
        assert_eq!(write(&mut state, typed), Some(Action::Tell(Command::Answer(answer.into()))), "{typed:?}");
    }
}

#[test]
fn after_the_end_nobody_is_told() {
    let mut state = fold_kinds([run_started(), verdict(VerdictKind::Done, "ok")]);
    assert_eq!(write(&mut state, "p"), None);
    assert_eq!(write(&mut state, "s"), None);
    assert_eq!(write(&mut state, "q"), Some(Action::Leave));
    assert_eq!(control(&mut state, 'c'), Some(Action::Leave));
}

#[test]
fn a_replay_has_its_own_keys() {
    let recording = Recording::read(at_work()[0].to_line().as_bytes(), About::default()).unwrap();
    let mut state = State::default();
    Player::new(recording).step(&mut state, 0);
    for (code, action) in [
        (KeyCode::Char(' '), Some(Action::Play(Control::Toggle))),
        (KeyCode::Char('7'), Some(Action::Play(Control::Tenth(7)))),
        (KeyCode::Left, Some(Action::Play(Control::Back))),
        (KeyCode::Char('p'), None),
        (KeyCode::Char('x'), None),
        (KeyCode::Char('q'), Some(Action::Leave)),
    ] {
        assert_eq!(key(&mut state, code), action, "{code:?}");
    }
}

#[test]
fn a_call_unfolds() {
    let mut state = at_80x24();
    assert!(!screen(&mut state, 80, 40).contains("fn lex() {}"));
    for _ in 0..6 {
        key(&mut state, KeyCode::Tab);
    }
    key(&mut state, KeyCode::Enter);
    let shown = screen(&mut state, 80, 40);
    assert!(shown.contains("› ● Read    src/lexer.rs") && shown.contains("fn lex() {}"), "{shown}");
    key(&mut state, KeyCode::Enter);
    assert!(!screen(&mut state, 80, 40).contains("fn lex() {}"));
    write(&mut state, "e");
    assert!(screen(&mut state, 80, 40).contains("fn lex() {}"));
}

#[test]
fn a_search_goes_to_what_it_finds() {
    let mut state = at_80x24();
    screen(&mut state, 80, 15);
    assert!(!screen(&mut state, 80, 15).contains("I read the parser first"));
    write(&mut state, "/READ THE\n");
    assert!(screen(&mut state, 80, 15).contains("I read the parser first"));
    let before = state.reader.scroll;
    write(&mut state, "/nowhere\n");
    assert_eq!(state.reader.scroll, before);
    assert!(screen(&mut state, 80, 15).contains("/nowhere: no more found"));
    key(&mut state, KeyCode::Esc);
    assert!(state.reader.search.is_empty());
}

#[test]
fn what_is_found_in_a_folded_answer_is_unfolded() {
    let mut state = at_80x24();
    assert!(!screen(&mut state, 80, 40).contains("fn lex() {}"));
    write(&mut state, "/fn lex\n");
    assert!(screen(&mut state, 80, 40).contains("fn lex() {}"));
}

#[test]
fn filters_keep_iterations() {
    let mut state = at_80x24();
    write(&mut state, "ff");
    let shown = screen(&mut state, 80, 40);
    assert!(
        shown.contains("iteration 2") && shown.contains("cargo test") && !shown.contains("The lexer now"),
        "{shown}"
    );
    write(&mut state, "f");
    let shown = screen(&mut state, 80, 40);
    assert!(shown.contains("no such file") && !shown.contains("src/parser.rs"), "{shown}");
}

#[test]
fn what_is_pasted_is_typed_only_where_typing_goes_on() {
    let mut state = at_80x24();
    paste(&mut state, "xx");
    assert_eq!(state.reader.mode, Mode::Reading);
    write(&mut state, "s");
    paste(&mut state, "two\nlines");
    assert_eq!(write(&mut state, "\n"), Some(Action::Tell(Command::Steer("two lines".into()))));
}
