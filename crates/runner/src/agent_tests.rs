//! Agents that misbehave, as shell scripts.

use super::*;

fn call(script: &str, talks: bool) -> Call {
    let env = vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())];
    Call { args: vec!["-c".into(), script.into()], env, talks }
}

async fn all(running: &mut Running) -> (Vec<String>, AgentEnd) {
    let mut lines = Vec::new();
    loop {
        match running.next().await {
            Said::Line(line) => lines.push(line),
            Said::TooLong => lines.push("too long".into()),
            Said::Ended(end) => return (lines, end),
        }
    }
}

fn run(script: &str, idle: Duration) -> (Vec<String>, AgentEnd) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut running = Running::start(Path::new("/bin/sh"), call(script, true), Path::new("/"), "hi", idle).unwrap();
        all(&mut running).await
    })
}

const LONG: Duration = Duration::from_secs(30);

#[test]
fn lines_come_whole_and_the_end_is_told_apart() {
    for (script, lines, end) in [
        ("printf 'a\\nb'", vec!["a", "b"], AgentEnd::Exited(0)),
        ("echo x; exit 3", vec!["x"], AgentEnd::Exited(3)),
        ("kill -9 $$", vec![], AgentEnd::Signalled(9)),
        ("printf '\\377\\n'", vec!["\u{fffd}"], AgentEnd::Exited(0)),
        ("sleep 60 & echo left", vec!["left"], AgentEnd::Exited(0)),
    ] {
        assert_eq!(run(script, LONG), (lines.iter().map(|line| (*line).to_owned()).collect(), end), "{script}");
    }
}

#[test]
fn the_prompt_and_messages_arrive_as_lines_of_json() {
    let script = "read a; echo \"$a\"; read b; echo \"$b\"; cat; echo end";
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut running =
            Running::start(Path::new("/bin/sh"), call(script, true), Path::new("/"), "first", LONG).unwrap();
        let Said::Line(line) = running.next().await else { panic!("no line") };
        assert_eq!(line, r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"first"}]}}"#);
        assert!(running.say("second"));
        running.close_input();
        let (lines, end) = all(&mut running).await;
        assert!(lines[0].contains("second") && lines[1] == "end", "{lines:?}");
        assert_eq!(end, AgentEnd::Exited(0));
        assert!(!running.say("too late"));
    });
}

#[test]
fn adversary_45_silence_ends_it_and_all_it_started() {
    let (lines, end) = run("echo $$; sleep 60", Duration::from_millis(300));
    assert_eq!(end, AgentEnd::Silent);
    let pid: i32 = lines[0].parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    assert!(rustix::process::test_kill_process(pid).is_err(), "it is gone");
}

#[test]
fn a_line_beyond_all_bounds_is_skipped() {
    let (lines, end) = run("head -c 20000000 /dev/zero | tr '\\0' x; echo; echo after", LONG);
    assert_eq!((lines, end), (vec!["too long".to_owned(), "after".to_owned()], AgentEnd::Exited(0)));
}

#[test]
fn adversary_45_a_flood_is_stopped() {
    assert_eq!(
        run("yes xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx | tr -d '\\n'", LONG).1,
        AgentEnd::Flooded
    );
}

#[test]
fn a_program_that_is_not_there_says_so() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let error = Running::start(Path::new("/no/such"), call("", true), Path::new("/"), "", LONG).unwrap_err();
        assert!(error.contains("/no/such"), "{error}");
    });
}
