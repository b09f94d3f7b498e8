//! The terminal itself: whole pictures, not too many, and given back on every way out.

use crate::world::{DEADLINE, PROMISE, agent, assert_restored, binary, eventually, folder, leave, looped, open, ralph};
use std::cell::RefCell;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};
use testkit::{Run, Terminal};

const TERM: i32 = 15;
const HUP: i32 = 1;
const SLOW: &str = "hear; work; say started; gate never";
/// 30 a second, and one for each end of the time that is looked at.
const DRAWS_A_SECOND: f64 = 30.0;
const ENDS: f64 = 2.0;
/// A flood that has not moved for so long is held up.
const STANDS: Duration = Duration::from_secs(1);

#[test]
fn signals_give_the_terminal_back() {
    for signal in [TERM, HUP] {
        let world = folder();
        let terminal = looped(&world, SLOW, &[]);
        terminal.wait_for("started").unwrap();
        terminal.signal(signal);
        let left = terminal.finish().unwrap();
        assert_restored(&left);
        assert_eq!(left.code, Some(143), "{signal}");
        assert!(left.screen.shows("terminated: "), "{:?}", left.screen.rows);
    }
}

#[test]
fn a_signal_ends_a_screen_that_waits_for_a_look() {
    let world = folder();
    let terminal = looped(&world, &format!("hear; work; result '{PROMISE}'"), &[]);
    terminal.wait_for("done: q leaves").unwrap();
    terminal.signal(TERM);
    let left = terminal.finish().unwrap();
    assert_restored(&left);
    assert_eq!(left.code, Some(0), "the run was done");
}

#[test]
fn an_error_is_read_on_the_terminal_it_belongs_to() {
    let world = folder();
    let first = looped(&world, SLOW, &[]);
    first.wait_for("started").unwrap();
    let second = Terminal::start(&ralph(&world, &["--backend", "builtin"]), 100, 30).unwrap();
    let left = second.finish().unwrap();
    assert_restored(&left);
    assert_eq!(left.code, Some(1));
    assert!(left.screen.shows("another ralph is at work"), "{:?}", left.screen.rows);
    first.wait_for("started").unwrap();
}

/// No test: what the next one runs in a terminal.
#[test]
#[ignore = "needs a terminal"]
fn a_screen_that_panics() {
    let (sender, pressed) = channel::<()>();
    let events = std::iter::from_fn(move || -> Option<cycle::LoopEvent> {
        pressed.recv().ok()?;
        panic!("a bug of the screen's own");
    });
    let options = tui::Options { clock: || 0, suspend: || (), hold: true, attached: false };
    let tell = move |_| sender.send(()).unwrap();
    tui::run(events, tell, options).unwrap();
}

#[test]
fn a_panic_gives_the_terminal_back_and_is_read_on_it() {
    let this = std::env::current_exe().unwrap();
    let run = Run::new(&this, std::path::Path::new("/"))
        .args(["--exact", "terminal::a_screen_that_panics", "--ignored", "--nocapture"])
        .deadline(Duration::from_secs(20));
    let terminal = Terminal::start(&run, 100, 30).unwrap();
    terminal.wait(|screen| screen.alternate && screen.footer().contains("p pause")).unwrap();
    terminal.press("p").unwrap();
    let left = terminal.finish().unwrap();
    assert_restored(&left);
    assert!(left.screen.shows("a bug of the screen's own"), "{:?}", left.screen.rows);
}

/// The parts of what was written to the borrowed screen that lie outside of synchronised updates.
fn outside_of_updates(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let (_, ours) = text.split_once("\u{1b}[?1049h").expect("a screen was entered");
    let (ours, _) = ours.rsplit_once("\u{1b}[?1049l").expect("and left");
    let mut outside = String::new();
    for part in ours.split("\u{1b}[?2026h") {
        outside.push_str(part.split_once("\u{1b}[?2026l").map_or(part, |(_, after)| after));
    }
    outside
}

#[test]
fn a_flood_is_drawn_in_whole_pictures_and_not_too_often() {
    let world = folder();
    let flood = "hear; work; i=0; while [ $i -lt 100 ]; do
        j=0; while [ $j -lt 20 ]; do say \"line $i.$j of many\"; j=$((j + 1)); done
        i=$((i + 1)); sleep 0.01; done";
    let terminal = looped(&world, &format!("{flood}; result '{PROMISE}'"), &[]);
    let left = leave(terminal);
    let (first, last) = (left.updates.first().unwrap(), left.updates.last().unwrap());
    let most = last.duration_since(*first).as_secs_f64() * DRAWS_A_SECOND + ENDS;
    assert!(left.updates.len() > 10 && left.updates.len() as f64 <= most, "{} of {most}", left.updates.len());
    let outside = outside_of_updates(&left.bytes);
    let sequences = ["\u{1b}[?2004h", "\u{1b}[?25l", "\u{1b}[?2026l", "\u{1b}[?2004l"];
    let rest = sequences.iter().fold(outside.clone(), |rest, sequence| rest.replace(sequence, ""));
    assert_eq!(rest, "", "half pictures: {outside:?}");
}

#[test]
fn a_terminal_that_takes_no_bytes_holds_up_neither_the_loop_nor_its_end() {
    let world = folder();
    let flood = "i=0; while [ $i -lt 3000 ]; do say \"line $i of many that nobody reads\"; i=$((i + 1)); done";
    let script =
        format!("hear; work; say started; gate go; case $n in 1) {flood}; result 'a step';; *) gate never;; esac");
    let terminal = looped(&world, &script, &[]);
    terminal.wait_for("started").unwrap();
    terminal.freeze();
    open(&world, "go");
    eventually("a second iteration", || {
        std::fs::read_to_string(world.home().join("count")).is_ok_and(|count| count.trim() == "2")
    });
    terminal.signal(TERM);
    let left = terminal.finish().unwrap();
    assert_eq!((left.code, left.cooked), (Some(143), true));
}

/// The loop itself writes there, so that it is held up; its end is not.
#[test]
fn events_in_a_terminal_that_takes_no_bytes_do_not_hold_up_the_end() {
    let world = folder();
    let flood = "i=0; while [ $i -lt 9000 ]; do say \"line $i of many\"; echo $i > \"$HOME/said\"; i=$((i + 1)); done";
    let script = format!("echo $$ > \"$HOME/pid\"; hear; work; say started; gate go; {flood}; gate never");
    let terminal = looped(&world, &script, &["--json"]);
    terminal.wait_for("started").unwrap();
    terminal.freeze();
    open(&world, "go");
    let seen = RefCell::new((String::new(), Instant::now()));
    eventually("everything between the agent and the terminal is full", || {
        let now = std::fs::read_to_string(world.home().join("said")).unwrap_or_default();
        let mut seen = seen.borrow_mut();
        if now.is_empty() || now != seen.0 {
            *seen = (now, Instant::now());
        }
        seen.1.elapsed() > STANDS
    });
    let agent = std::fs::read_to_string(world.home().join("pid")).unwrap();
    terminal.signal(TERM);
    let left = terminal.finish().unwrap();
    assert_eq!((left.code, left.cooked), (Some(143), true));
    eventually("the end of the agent", || !std::path::Path::new("/proc").join(agent.trim()).exists());
}

#[test]
fn a_new_size_is_drawn_at_once_and_the_smallest_works() {
    let world = folder();
    let terminal = looped(&world, SLOW, &[]);
    terminal.wait_for("started").unwrap();
    for (columns, rows, side) in [(60, 15, false), (200, 50, true), (300, 80, true), (80, 24, true)] {
        terminal.resize(columns, rows).unwrap();
        let rule = "─".repeat(usize::from(columns));
        terminal
            .wait(|screen| {
                let drawn = screen.rows.len() == usize::from(rows) && screen.footer().contains("? help");
                let whole = screen.rows.get(usize::from(rows) - 2).is_some_and(|row| row.replace('┴', "─") == rule);
                drawn && whole && screen.shows("started") && screen.shows("todo 2/2") == side
            })
            .unwrap();
    }
    // Somebody wrote over it: Ctrl-L draws it anew, also where the terminal answers no questions.
    terminal.press("\u{c}").unwrap();
    terminal.press("?").unwrap();
    terminal.wait_for("┌ keys ").unwrap();
    terminal.press("?xx").unwrap();
    assert_eq!(terminal.finish().unwrap().code, Some(130));
}

#[test]
fn ctrl_z_goes_back_to_the_shell_and_fg_to_the_run() {
    let world = folder();
    let agent = agent(&world, "hear; work; echo $$ > \"$HOME/pid\"; say started; gate go; result 'COMPLETE'");
    let shell = world.run(std::path::Path::new("/bin/bash")).named("bash").env("PS1", "shell> ").deadline(DEADLINE);
    let terminal = Terminal::start(&shell.args(["--norc", "--noprofile", "-i"]), 100, 30).unwrap();
    terminal.wait_for("shell>").unwrap();
    let command = format!("{} 1 --stay --sandbox off --backend {}\r", binary().display(), agent.display());
    terminal.press(&command).unwrap();
    terminal.wait(|screen| screen.alternate && screen.shows("started")).unwrap();
    terminal.press("\u{1a}").unwrap();
    let shell = terminal.wait(|screen| !screen.alternate && screen.shows("Stopped")).unwrap();
    assert!(!shell.cursor_hidden, "{}", shell.text());
    let pid = std::fs::read_to_string(world.home().join("pid")).unwrap();
    let stat = format!("/proc/{}/stat", pid.trim());
    eventually("the agent's stop", || std::fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") T ")));
    terminal.press("fg\r").unwrap();
    terminal.wait(|screen| screen.alternate && screen.shows("started") && screen.footer().contains("p pause")).unwrap();
    open(&world, "go");
    terminal.wait_for("q leaves").unwrap();
    terminal.press("q").unwrap();
    terminal.wait(|screen| !screen.alternate && screen.shows("limit: ")).unwrap();
    terminal.press("exit\r").unwrap();
    assert_restored(&terminal.finish().unwrap());
}
