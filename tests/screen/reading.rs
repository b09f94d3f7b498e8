//! Reading a run: a recording on the real screen, with scrolling, search, filters, and the player's keys.

use crate::world::{ENTER, ESCAPE, assert_restored, folder, replayed};
use testkit::{Screen, Terminal};

const PAGE_UP: &str = "\u{1b}[5~";
const PAGE_DOWN: &str = "\u{1b}[6~";
const HOME: &str = "\u{1b}[H";
const END: &str = "\u{1b}[F";
const LEFT: &str = "\u{1b}[D";
const RIGHT: &str = "\u{1b}[C";

/// To the end of the recording.
fn at_end(recording: &str, columns: u16, rows: u16) -> Terminal {
    let folder = folder();
    let terminal = replayed(&folder, recording, columns, rows);
    terminal.wait_for("── replay ").unwrap();
    terminal.press(&"]".repeat(12)).unwrap();
    terminal.wait_for("end of the recording").unwrap();
    terminal
}

fn leave(terminal: Terminal) {
    terminal.press("q").unwrap();
    let left = terminal.finish().unwrap();
    assert_restored(&left);
    assert_eq!(left.code, Some(0));
}

#[test]
fn scrolling_holds_its_place_and_end_follows_again() {
    let terminal = at_end("trouble.ndjson", 80, 24);
    terminal.wait_for("■ done").unwrap();
    terminal.press(PAGE_UP).unwrap();
    let up = terminal.wait(|screen| screen.shows("more below: End") && !screen.shows("■ done")).unwrap();
    terminal.press(HOME).unwrap();
    terminal.wait_for("I read the parser and look for its callers.").unwrap();
    terminal.press(END).unwrap();
    terminal.wait_for("■ done").unwrap();
    terminal.press(PAGE_UP).unwrap();
    terminal.wait(|screen| screen.rows[2..20] == up.rows[2..20]).unwrap();
    terminal.press(PAGE_DOWN).unwrap();
    terminal.wait_for("■ done").unwrap();
    leave(terminal);
}

#[test]
fn a_search_goes_back_through_what_it_finds() {
    let terminal = at_end("trouble.ndjson", 80, 24);
    terminal.press("/RFIND").unwrap();
    terminal.wait(|screen| screen.footer().starts_with(" search ▸ RFIND")).unwrap();
    terminal.press(ENTER).unwrap();
    terminal.wait_for("/RFIND: 1 of 4, n older, N newer").unwrap();
    // What another call read is unfolded, because the word is in it.
    terminal.press("nn").unwrap();
    terminal
        .wait(|screen| screen.shows("› ● Read    src/parser.rs") && screen.shows("text.rfind('#').unwrap_or"))
        .unwrap();
    terminal.press(&"n".repeat(20)).unwrap();
    terminal.wait_for("/RFIND: 4 of 4, no more").unwrap();
    terminal.press(ESCAPE).unwrap();
    terminal.wait(|screen| !screen.shows("RFIND")).unwrap();
    leave(terminal);
}

#[test]
fn a_filter_leaves_only_its_kind() {
    let terminal = at_end("trouble.ndjson", 200, 50);
    terminal.press("ff").unwrap();
    let tools = terminal.wait_for("only tools").unwrap();
    assert!(tools.shows("● Grep    fn line") && !tools.shows("What I found"), "{}", tools.text());
    terminal.press("f").unwrap();
    let problems = terminal.wait_for("only problems").unwrap();
    assert!(problems.shows("src/missing.rs") && !problems.shows("● Grep"), "{}", problems.text());
    leave(terminal);
}

#[test]
fn a_call_is_unfolded_where_it_stands() {
    let terminal = at_end("trouble.ndjson", 200, 50);
    let hidden = "test comments ... ok";
    assert!(!terminal.wait_for("■ done").unwrap().shows(hidden));
    // The last check, and before it the last call.
    terminal.press("\t\t\r").unwrap();
    let open = terminal.wait(|screen| screen.shows("› ● Bash") && screen.shows(hidden)).unwrap();
    assert!(open.shows("all passed"), "{}", open.text());
    terminal.press(ENTER).unwrap();
    terminal.wait(|screen| !screen.shows(hidden)).unwrap();
    leave(terminal);
}

#[test]
fn help_lists_the_keys() {
    let terminal = at_end("demo.ndjson", 60, 15);
    terminal.press("?").unwrap();
    let help = terminal.wait_for("┌ keys ").unwrap();
    assert!(help.shows("space") && help.shows("slower, faster"), "{}", help.text());
    terminal.press(ESCAPE).unwrap();
    terminal.wait(|screen| !screen.shows("┌ keys ")).unwrap();
    leave(terminal);
}

/// Where the player says it is, in seconds.
fn position(screen: &Screen) -> Option<u64> {
    let row = screen.rows.iter().find(|row| row.contains(" of ") && row.contains('×'))?;
    let words: Vec<&str> = row.split_whitespace().collect();
    let of = words.iter().position(|word| *word == "of")?;
    words.get(of.checked_sub(1)?)?.strip_suffix('s')?.parse().ok()
}

#[test]
fn a_replay_pauses_seeks_and_changes_its_speed() {
    let folder = folder();
    let terminal = replayed(&folder, "trouble.ndjson", 100, 30);
    terminal.wait_for("── replay ").unwrap();
    terminal.press(" ").unwrap();
    let paused = terminal.wait_for("── paused ").unwrap();
    let at = position(&paused).expect("a position");
    terminal.press("++").unwrap();
    terminal.wait_for("×4").unwrap();
    terminal.press("----").unwrap();
    let slow = terminal.wait_for("×¼").unwrap();
    assert_eq!(position(&slow), Some(at), "a paused recording stands still");
    terminal.press(RIGHT).unwrap();
    let on = terminal.wait(|screen| position(screen) == Some(at + 10)).unwrap();
    assert!(on.text() != slow.text());
    terminal.press(LEFT).unwrap();
    terminal.wait(|screen| position(screen) == Some(at)).unwrap();
    terminal.press("5").unwrap();
    terminal.wait(|screen| position(screen).is_some_and(|now| now > at + 2)).unwrap();
    terminal.press("0").unwrap();
    terminal.wait(|screen| position(screen) == Some(0)).unwrap();
    // The first iteration had two attempts.
    terminal.press("]]]").unwrap();
    terminal.wait_for("iteration 2 of 8").unwrap();
    terminal.press("++++++++ ").unwrap();
    terminal.wait_for("end of the recording").unwrap();
    leave(terminal);
}
