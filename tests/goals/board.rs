//! The board in a terminal.

use crate::world::{Goals, binary};
use testkit::Terminal;

#[test]
fn the_board_shows_goals_by_state_and_opens_a_run() {
    let goals = Goals::new();
    goals.add("write shown.txt", &[]);
    goals.drain(&[]);
    goals.add("the second one", &["--draft"]);
    let state = goals.state().display().to_string();
    let run = goals
        .world
        .run(&binary())
        .named("ralph")
        .args(["board"])
        .env("RALPH_STATE", &state)
        .env("TERM", "xterm-256color");
    let terminal = Terminal::start(&run, 120, 30).unwrap();
    let screen = terminal.wait_for("the second one").unwrap();
    assert!(
        screen.shows("waiting 1") && screen.shows("done 1") && screen.shows("write shown.txt"),
        "{}",
        screen.text()
    );
    terminal.press("\r").unwrap();
    // The run of goal 1 on the loop's own screen.
    terminal.wait(|screen| !screen.shows("the second one") && screen.shows("shown.txt")).unwrap();
    terminal.press("q").unwrap();
    terminal.wait_for("the second one").unwrap();
    terminal.press("q").unwrap();
    assert_eq!(terminal.finish().unwrap().code, Some(0));
}
