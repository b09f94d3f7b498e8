//! Keys that reach the loop and its agent.

use crate::world::{
    CTRL_C, ENTER, ESCAPE, PROMISE, agent, assert_restored, eventually, folder, heard, leave, looped, open, ralph,
};
use testkit::{Terminal, World};

fn count(world: &World) -> String {
    std::fs::read_to_string(world.home().join("count")).unwrap_or_default().trim().to_owned()
}

#[test]
fn the_demo_is_a_loop_live_on_the_screen() {
    let world = folder();
    let terminal = Terminal::start(&ralph(&world, &["demo"]), 100, 30).unwrap();
    terminal.wait_for("iteration 1 of 5").unwrap();
    terminal.wait(|screen| screen.rows.iter().any(|row| row.contains('▌'))).unwrap();
    terminal.wait_for("✗ check   sh test.sh  exit 1").unwrap();
    let end = terminal.wait_for("done: q leaves").unwrap();
    for part in ["iteration 3 of 5", "- [ $# -gt 1 ]", "+ [ $# -gt 0 ]", "✓ check   sh test.sh", "  3 ✓ done"] {
        assert!(end.shows(part), "{part}:\n{}", end.text());
    }
    let left = leave(terminal);
    assert_eq!(left.code, Some(0));
    assert!(
        left.screen.shows("done: the agent says so") && left.screen.shows("&& ralph --replay"),
        "{:?}",
        left.screen
    );
}

#[test]
fn what_is_steered_reaches_the_running_agent() {
    let world = folder();
    let terminal = looped(&world, &format!("hear; work; say started; hear; result '{PROMISE}'"), &[]);
    terminal.wait_for("started").unwrap();
    terminal.press("suse tabx\u{7f}s, pleasX").unwrap();
    terminal.wait(|screen| screen.footer().starts_with(" steer ▸ use tabs, pleasX")).unwrap();
    terminal.press("\u{7f}e").unwrap();
    terminal.press(ENTER).unwrap();
    terminal.wait_for("▸ use tabs, please").unwrap();
    leave(terminal);
    let heard = heard(&world);
    assert!(heard.len() == 2 && heard[1].contains("use tabs, please"), "{heard:?}");
}

#[test]
fn what_is_pasted_into_a_message_is_one_line_of_it() {
    let world = folder();
    let terminal = looped(&world, &format!("hear; work; say started; hear; result '{PROMISE}'"), &[]);
    terminal.wait_for("started").unwrap();
    // Pasted where nobody is typing it is no string of keys: this one would stop the run.
    terminal.press("\u{1b}[200~xx\u{1b}[201~s\u{1b}[200~one\ntwo\u{1b}[201~").unwrap();
    terminal.wait(|screen| screen.footer().starts_with(" steer ▸ one two")).unwrap();
    terminal.press(ENTER).unwrap();
    leave(terminal);
    assert!(heard(&world)[1].contains("one two"), "{:?}", heard(&world));
}

#[test]
fn a_pause_holds_after_the_iteration_until_it_is_taken_back() {
    let world = folder();
    let script = format!(
        "hear; work; say \"call $n\"; gate go; if [ $n = 1 ]; then result 'a step'; else result '{PROMISE}'; fi"
    );
    let terminal = looped(&world, &script, &[]);
    terminal.wait_for("call 1").unwrap();
    terminal.press("p").unwrap();
    terminal.wait_for("pauses after this iteration").unwrap();
    open(&world, "go");
    terminal.wait_for("paused: p goes on").unwrap();
    assert_eq!(count(&world), "1");
    terminal.press("p").unwrap();
    terminal.wait_for("call 2").unwrap();
    leave(terminal);
}

#[test]
fn stopping_is_asked_once_and_then_done_at_once() {
    let world = folder();
    let terminal = looped(&world, "hear; work; echo $$ > \"$HOME/pid\"; say started; gate never", &[]);
    terminal.wait_for("started").unwrap();
    for keys in ["x", "q"] {
        terminal.press(keys).unwrap();
        terminal.wait(|screen| screen.footer().contains("stop now?")).unwrap();
        terminal.press("n").unwrap();
        terminal.wait(|screen| screen.footer().contains("p pause")).unwrap();
    }
    terminal.press("xx").unwrap();
    let left = terminal.finish().unwrap();
    assert_restored(&left);
    assert_eq!(left.code, Some(130));
    assert!(left.screen.shows("interrupted: "), "{:?}", left.screen.rows);
    let pid = std::fs::read_to_string(world.home().join("pid")).unwrap();
    eventually("the end of the agent", || !std::path::Path::new(&format!("/proc/{}", pid.trim())).exists());
}

#[test]
fn ctrl_c_once_ends_after_the_iteration() {
    let world = folder();
    let terminal = looped(&world, "hear; work; say started; gate go; result 'a step'", &[]);
    terminal.wait_for("started").unwrap();
    terminal.press(CTRL_C).unwrap();
    terminal.wait_for("ends after this iteration; Ctrl-C again stops now").unwrap();
    open(&world, "go");
    let left = terminal.finish().unwrap();
    assert_restored(&left);
    assert_eq!((left.code, count(&world)), (Some(130), "1".into()));
}

#[test]
fn ctrl_c_twice_stops_now() {
    let world = folder();
    let terminal = looped(&world, "hear; work; say started; gate never", &[]);
    terminal.wait_for("started").unwrap();
    terminal.press(CTRL_C).unwrap();
    terminal.wait_for("Ctrl-C again stops now").unwrap();
    terminal.press(CTRL_C).unwrap();
    let left = terminal.finish().unwrap();
    assert_restored(&left);
    assert_eq!(left.code, Some(130));
}

#[test]
fn a_question_is_answered_where_it_is_asked() {
    let world = folder();
    let script = format!(
        "hear; work; case $n in 1) result 'I need help.\\n<blocked>Which port?</blocked>';; *) result '{PROMISE}';; esac"
    );
    let terminal = looped(&world, &script, &[]);
    let asked = terminal.wait_for("a question waits for you: a answers").unwrap();
    assert!(asked.shows("? Which port?") && asked.footer().contains("a answer"), "{}", asked.text());
    terminal.press("aPort 80").unwrap();
    terminal.press(ESCAPE).unwrap();
    terminal.wait(|screen| screen.footer().contains("a answer")).unwrap();
    terminal.press("aPort 8080\r").unwrap();
    leave(terminal);
    let prompt = heard(&world).pop().unwrap();
    assert!(prompt.contains("Which port?") && prompt.contains("Port 8080"), "{prompt}");
}

#[test]
fn a_limit_is_waited_for_with_a_countdown() {
    let world = folder();
    let script = format!(
        r#"hear; work
        if [ $n = 1 ]; then
          printf '{{"type":"rate_limit_event","rate_limit_info":{{"status":"rejected","resetsAt":%s}}}}\n' $(($(date +%s) + 5))
          result "You've hit your limit"; exit 1
        fi
        result '{PROMISE}'"#
    );
    let terminal = looped(&world, &script, &[]);
    let first = terminal.wait_for("── waits ").unwrap();
    let words = |screen: &testkit::Screen| screen.rows.iter().find(|row| row.contains("── waits ")).cloned();
    terminal.wait(|screen| words(screen).is_some_and(|row| Some(row) != words(&first))).unwrap();
    let end = terminal.wait_for("done: q leaves").unwrap();
    assert!(end.shows("attempt 2") && end.shows("put off"), "{}", end.text());
    leave(terminal);
}

#[test]
fn a_watch_ends_with_its_screen() {
    let world = folder();
    let terminal = looped(&world, &format!("hear; work; result '{PROMISE}'"), &["--watch"]);
    terminal.wait_for("watching for new work").unwrap();
    let left = leave(terminal);
    assert_eq!(left.code, Some(0));
}

#[test]
fn issue_10_1_10_a_run_that_is_over_leaves_the_screen_and_stay_keeps_it() {
    let world = folder();
    let script = format!("hear; work; say hi; result '{PROMISE}'");
    let left = looped(&world, &script, &["--stay=false"]).finish().unwrap();
    assert_restored(&left);
    assert!(
        left.screen.shows("done (unchecked): ") && left.screen.text().replace('\n', "").contains("ralph show"),
        "{}",
        left.screen.text()
    );
    let stays = looped(&world, &script, &[]);
    stays.wait_for("q leaves").unwrap();
    leave(stays);
}

#[test]
fn issue_10_2_9_a_resumed_run_shows_its_earlier_iterations() {
    let world = folder();
    let script = "hear; work; say \"words of call $n\"; result 'a step'";
    leave(looped(&world, script, &["1"]));
    let backend = format!("--backend={}", agent(&world, script).display());
    let run = ralph(&world, &["resume", "--max", "2", &backend, "--sandbox", "off", "--stay"]);
    let terminal = Terminal::start(&run, 100, 30).unwrap();
    terminal.wait(|screen| screen.shows("words of call 1") && screen.shows("words of call 2")).unwrap();
    leave(terminal);
}
