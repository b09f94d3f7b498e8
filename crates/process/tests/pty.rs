//! Helpers on a terminal of their own.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking, in its helpers too")]

mod common;

use common::PATIENCE;
use ralph_process::{Piped, Spec, Terminal};
use std::time::{Duration, Instant};

fn shell(script: &str) -> Spec {
    common::shell(script, ("TERM", "xterm-256color"))
}

/// Everything up to the hang-up.
async fn all(terminal: &mut Terminal) -> String {
    let mut text = Vec::new();
    let reading = async { while terminal.read(&mut text).await.unwrap() > 0 {} };
    tokio::time::timeout(PATIENCE, reading).await.expect("it hangs up");
    String::from_utf8(text).unwrap()
}

#[tokio::test]
async fn it_has_a_terminal_that_is_its_own_and_complains_elsewhere() {
    let script = "test -t 0 && test -t 1 && ! test -t 2 && echo yes; stty size; echo there > /dev/tty; \
                  set -- $(cat /proc/$$/stat); test $1 = $6 && test $7 != 0 && echo leads; echo trouble >&2; exit 4";
    let (mut piped, mut terminal) = Piped::on_terminal(shell(script), None).unwrap();
    assert!(piped.take_pipes().is_none());
    assert_eq!(all(&mut terminal).await, "yes\n50 200\nthere\nleads\n");
    assert_eq!(piped.wait().await.code, Some(4));
    assert_eq!(piped.stderr_tail(), "trouble");
}

#[tokio::test]
async fn what_it_draws_is_read_as_text_and_nothing_is_echoed() {
    let script = r#"printf '\033[2J\033[31m{"a":1}\033[0m\n\033]0;title\007two\n'; cat; echo end"#;
    let (mut piped, mut terminal) = Piped::on_terminal(shell(script), None).unwrap();
    let mut text = Vec::new();
    while !text.ends_with(b"two\n") {
        assert!(terminal.read(&mut text).await.unwrap() > 0);
    }
    terminal.end_input();
    assert_eq!(String::from_utf8(text).unwrap() + &all(&mut terminal).await, "{\"a\":1}\ntwo\nend\n");
    assert_eq!(piped.wait().await.code, Some(0));
}

#[tokio::test]
async fn a_great_deal_of_output_comes_whole_even_where_a_child_holds_the_terminal() {
    let script = "(trap '' HUP; exec sleep 1) & head -c 3000000 /dev/zero | tr '\\0' x; printf END";
    let (mut piped, mut terminal) = Piped::on_terminal(shell(script), None).unwrap();
    let text = all(&mut terminal).await;
    assert_eq!((text.len(), &text[text.len() - 4..]), (3_000_003, "xEND"));
    assert_eq!(piped.wait().await.code, Some(0));
}

#[tokio::test]
async fn dropping_it_kills_what_ignores_every_hint() {
    let script = "trap '' TERM HUP INT; sleep 600 & echo $$ $!; wait; sleep 600";
    for stopping in [false, true] {
        let (mut piped, mut terminal) = Piped::on_terminal(shell(script), None).unwrap();
        let mut text = Vec::new();
        while !text.ends_with(b"\n") {
            assert!(terminal.read(&mut text).await.unwrap() > 0);
        }
        let text = String::from_utf8(text).unwrap();
        if stopping {
            assert_eq!(piped.stop(Duration::from_millis(100)).await.signal, Some(9));
        }
        drop(piped);
        for pid in text.split_whitespace() {
            gone(pid).await;
        }
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let missing = Spec { program: "no-such-program-here".into(), ..shell("") };
    let error = Piped::on_terminal(missing, None).unwrap_err().to_string();
    assert!(error.contains("no-such-program-here in /"), "{error}");
}

async fn gone(pid: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        if stat.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with('Z')) {
            return;
        }
        assert!(Instant::now() < deadline, "process {pid} is still there");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
