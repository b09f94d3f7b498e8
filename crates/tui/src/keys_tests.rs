use super::*;
use crate::fixture::{asks, at_work, fold, fold_kinds, run_started, screen, started, verdict};
use crate::replay::{Player, Recording, RecordingContext};
use cycle::{EventKind, VerdictKind};

fn key(state: &mut ScreenState, code: KeyCode) -> Option<Action> {
    press(state, KeyEvent::new(code, KeyModifiers::NONE))
}

fn control(state: &mut ScreenState, c: char) -> Option<Action> {
    press(state, KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL))
}

fn write(state: &mut ScreenState, text: &str) -> Option<Action> {
    text.chars().map(|c| key(state, if c == '\n' { KeyCode::Enter } else { KeyCode::Char(c) })).last().flatten()
}

fn at_80x24() -> ScreenState {
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
    let recording = Recording::read(at_work()[0].to_line().as_bytes(), RecordingContext::default()).unwrap();
    let mut state = ScreenState::default();
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

fn long_text(lines: usize) -> ScreenState {
    let text: Vec<String> =
        (0..lines).map(|at| if at % 10 == 0 { format!("needle {at}") } else { format!("hay {at}") }).collect();
    let mut state = fold_kinds([run_started(), started(1), crate::fixture::says(1, &text.join("\n"))]);
    state.reader.size = (80, 24);
    state
}

#[test]
fn issue_10_2_1_a_search_walks_the_hits_inside_a_block_and_counts_them() {
    let mut state = long_text(100);
    write(&mut state, "/needle\n");
    let shown = screen(&mut state, 80, 24);
    assert!(shown.contains("needle 90") && shown.contains("/needle: 1 of 10, n older, N newer"), "{shown}");
    for (typed, row, place) in
        [("n", "needle 80", "2 of 10"), ("nnnnnnnn", "needle 0", "10 of 10"), ("N", "needle 10", "9 of 10")]
    {
        write(&mut state, typed);
        let shown = screen(&mut state, 80, 24);
        assert!(shown.contains(row) && shown.contains(place), "{typed}: {shown}");
    }
    write(&mut state, "nn");
    assert!(screen(&mut state, 80, 24).contains("10 of 10, no more"));
}

#[test]
fn issue_10_2_2_a_long_text_is_searched_and_read_from_its_start() {
    let mut state = long_text(12_000);
    write(&mut state, "/hay 1\n");
    key(&mut state, KeyCode::Home);
    let shown = screen(&mut state, 80, 24);
    assert!(shown.contains("needle 0") && shown.contains("hay 1"), "{shown}");
    assert!(shown.contains(" of "), "{shown}");
}

#[test]
fn issue_10_2_3_a_whole_command_and_its_whole_output_are_unfolded() {
    let command = format!("first line\n{}\nlast line of it", "x".repeat(500));
    let output: String = (0..3_000).map(|at| format!("row {at}\n")).collect();
    let mut state = fold_kinds([
        run_started(),
        started(1),
        crate::fixture::calls(1, "a", "Bash", serde_json::json!({"command": command})),
        crate::fixture::returns(1, "a", false, &output),
    ]);
    state.reader.size = (80, 24);
    write(&mut state, "e");
    assert!(screen(&mut state, 80, 24).contains("row 2999"));
    write(&mut state, "/last line of it\n");
    assert!(screen(&mut state, 80, 24).contains("last line of it"));
}

#[test]
fn issue_10_2_6_iterations_are_chosen_while_the_run_goes_on() {
    let files = vec![cycle::FileChange { path: "src/door.rs".into(), added: 3, removed: 1 }];
    let receipt = cycle::Receipt {
        summary: "Mended the door.\nIt squeaked.".into(),
        changed: cycle::Changes { known: true, files, ..cycle::Changes::default() },
        evidence: vec!["passed: cargo test".into()],
        ..cycle::Receipt::default()
    };
    let end = |iteration| EventKind::IterationEnded { iteration, receipt: Box::new(receipt.clone()) };
    let hay: String = (0..60).map(|at| format!("hay {at}\n")).collect();
    let mut state = fold_kinds([
        run_started(),
        started(1),
        end(1),
        started(2),
        crate::fixture::says(2, &hay),
        end(2),
        started(3),
        crate::fixture::says(3, &hay),
    ]);
    state.reader.size = (80, 24);
    write(&mut state, "[");
    write(&mut state, "[");
    key(&mut state, KeyCode::Enter);
    let shown = screen(&mut state, 80, 24);
    for part in ["iteration 1", "It squeaked.", "src/door.rs  +3 −1", "passed: cargo test"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    write(&mut state, "]");
    assert_eq!(
        state.feed.entries().iter().find(|entry| Some(entry.id) == state.reader.selected).map(|entry| entry.iteration),
        Some(2)
    );
}

#[test]
fn issue_10_2_7_a_done_run_has_a_full_bar_and_a_failure_its_failing_line() {
    let mut state = fold_kinds([run_started(), started(1), verdict(VerdictKind::Done, "all")]);
    assert!(screen(&mut state, 120, 24).lines().next().is_some_and(|line| line.contains("████████████")));
    let output = "Exit code 101\n   Compiling a\n   Compiling b\n   Compiling c\nerror[E0308]: mismatched types\n  --> src/lib.rs:3";
    let mut state = fold_kinds([
        run_started(),
        started(1),
        crate::fixture::calls(1, "a", "Bash", serde_json::json!({"command": "cargo build"})),
        crate::fixture::returns(1, "a", true, output),
    ]);
    let shown = screen(&mut state, 80, 24);
    assert!(shown.contains("error[E0308]") && !shown.contains("Compiling a"), "{shown}");
}

#[test]
fn issue_10_2_8_header_and_side_name_the_same_cost() {
    let mut state = fold_kinds([
        run_started(),
        started(1),
        crate::fixture::ended(1, 0.5),
        started(2),
        crate::fixture::ended(2, 0.25),
    ]);
    let shown = screen(&mut state, 120, 30);
    assert_eq!(shown.matches("$0.75").count(), 2, "{shown}");
}

#[test]
fn issue_10_2_4_a_running_check_shows_its_last_lines_and_is_folded_at_its_end() {
    let begins = EventKind::CheckStarted { iteration: 1, command: "cargo test".into() };
    let prints = |text: String| EventKind::CheckOutput { iteration: 1, text };
    let lines = |from: u32| (from..from + 10).map(|number| format!("line {number}\n")).collect::<String>();
    let mut state = fold_kinds([run_started(), started(1), begins, prints(lines(1)), prints(lines(11))]);
    let shown = screen(&mut state, 80, 24);
    assert!(shown.contains("line 20") && shown.contains("line 16"), "the last lines, live: {shown}");
    assert!(!shown.contains("line 15"), "only the last ones: {shown}");
    state.apply(&crate::fixture::check_failed(1).at(9_000));
    let shown = screen(&mut state, 80, 24);
    assert!(!shown.contains("line 20") && shown.contains("test parser ... FAILED"), "{shown}");
}
