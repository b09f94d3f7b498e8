//! Agents that misbehave, as shell scripts.

use super::*;

fn call(script: &str, transport: Transport) -> Call {
    let env = vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())];
    Call { args: vec!["-c".into(), script.into()], env, talks: transport == Transport::Pipe, transport }
}

const LONG: Duration = Duration::from_secs(30);

fn bounds() -> Bounds {
    Bounds::with_idle(LONG)
}

const BOTH: [Transport; 2] = [Transport::Pipe, Transport::Terminal];

/// Starts a script, does something with it, and hears it out.
fn run_with(
    script: &str,
    transport: Transport,
    bounds: Bounds,
    then: impl FnOnce(&mut AgentProcess),
) -> (Vec<String>, AgentEnd) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let call = call(script, transport);
        let mut running = AgentProcess::start(Path::new("/bin/sh"), call, Path::new("/"), "hi", bounds, None).unwrap();
        then(&mut running);
        all(&mut running).await
    })
}

async fn all(running: &mut AgentProcess) -> (Vec<String>, AgentEnd) {
    let mut lines = Vec::new();
    loop {
        match running.next().await {
            AgentEvent::Line(line) => lines.push(line),
            AgentEvent::TooLong => lines.push("too long".into()),
            AgentEvent::Ended(end) => return (lines, end),
        }
    }
}

fn run(script: &str, transport: Transport, bounds: Bounds) -> (Vec<String>, AgentEnd) {
    run_with(script, transport, bounds, |_| ())
}

/// Killed ones may still be on their way, and wait for somebody to collect them.
fn is_gone(pid: &str) -> bool {
    let until = std::time::Instant::now() + LONG;
    while std::time::Instant::now() < until {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        if stat.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with('Z')) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

#[test]
fn lines_come_whole_and_the_end_is_told_apart() {
    for (script, lines, end) in [
        ("printf 'a\\nb'", vec!["a", "b"], AgentEnd::Exited(0)),
        ("echo x; exit 3", vec!["x"], AgentEnd::Exited(3)),
        ("kill -9 $$", vec![], AgentEnd::Signalled(9)),
        ("printf '\\377\\n'", vec!["\u{fffd}"], AgentEnd::Exited(0)),
        ("sleep 60 & echo left", vec!["left"], AgentEnd::Exited(0)),
        ("printf 'a\\r\\n10%%\\r20%%\\r{}\\n'", vec!["a", "{}"], AgentEnd::Exited(0)),
    ] {
        for transport in BOTH {
            let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            assert_eq!(run(script, transport, bounds()), (lines, end.clone()), "{transport:?} {script}");
        }
    }
}

#[test]
fn the_prompt_and_messages_arrive_as_lines_of_json() {
    let script = "read a; echo \"$a\"; read b; echo \"$b\"; cat; echo end";
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut running = AgentProcess::start(
            Path::new("/bin/sh"),
            call(script, Transport::Pipe),
            Path::new("/"),
            "first",
            bounds(),
            None,
        )
        .unwrap();
        let AgentEvent::Line(line) = running.next().await else { panic!("no line") };
        assert_eq!(line, r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"first"}]}}"#);
        assert!(running.send("second"));
        running.close_input();
        let (lines, end) = all(&mut running).await;
        assert!(lines[0].contains("second") && lines[1] == "end", "{lines:?}");
        assert_eq!(end, AgentEnd::Exited(0));
        assert!(!running.send("too late"));
    });
}

#[test]
fn on_a_terminal_there_is_nothing_to_hear_and_nothing_can_be_said() {
    let script = "test -t 0 && test -t 1 && printf '\\033[1mbold\\033[0m\\n'; cat; echo end";
    let (lines, end) = run_with(script, Transport::Terminal, bounds(), |running| {
        assert!(!running.takes_messages() && !running.send("x"));
        running.close_input();
    });
    assert_eq!((lines, end), (vec!["bold".to_owned(), "end".to_owned()], AgentEnd::Exited(0)));
}

#[test]
fn adversary_45_silence_ends_it_and_all_it_started() {
    for transport in BOTH {
        let script = "trap '' TERM HUP; sleep 60 & echo $$; echo $!; wait; sleep 60";
        let short = Duration::from_millis(300);
        let (lines, end) = run(script, transport, Bounds { idle: short, grace: short, ..bounds() });
        assert!(matches!(end, AgentEnd::Silent(_)), "{end:?}");
        assert!(lines.len() == 2 && lines.iter().all(|pid| is_gone(pid)), "{transport:?} {lines:?}");
    }
}

#[test]
fn adversary_45_after_its_last_result_it_may_not_linger() {
    for transport in BOTH {
        let script = "trap '' TERM HUP; echo $$; while :; do sleep 60; done";
        let short = Duration::from_millis(300);
        let bounds = Bounds { leave: short, grace: short, ..bounds() };
        let (lines, end) = run_with(script, transport, bounds, AgentProcess::close_input);
        assert_eq!(end, AgentEnd::Lingered);
        assert!(is_gone(&lines[0]), "{transport:?}");
    }
}

#[test]
fn an_agent_whose_own_agents_work_may_stay_after_its_result() {
    for transport in BOTH {
        let bounds = Bounds { leave: Duration::from_millis(200), ..bounds() };
        let (lines, end) = run_with("sleep 1; echo end", transport, bounds, |running| {
            running.set_busy(true);
            running.close_input();
        });
        assert_eq!((lines, end), (vec!["end".to_owned()], AgentEnd::Exited(0)), "{transport:?}");
    }
}

#[test]
fn adversary_47_time_that_was_slept_through_is_not_silence() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let call = call("sleep 60", Transport::Pipe);
        let mut running = AgentProcess::start(Path::new("/bin/sh"), call, Path::new("/"), "", bounds(), None).unwrap();
        let now = Instant::now();
        running.on_deadline(now - LONG, now);
        assert_eq!((running.ending.take(), running.silent_at), (None, now + LONG));
        running.close_input();
        running.on_deadline(now - LONG, now);
        assert_eq!((running.ending.take(), running.leave_by), (None, Some(now + running.bounds.leave)));
        running.on_deadline(now, now);
        assert!(matches!(running.ending.take(), Some(AgentEnd::Silent(_))));
    });
}

#[test]
fn a_line_beyond_all_bounds_is_skipped() {
    for transport in BOTH {
        let script = "head -c 20000000 /dev/zero | tr '\\0' x; echo; echo after";
        let (lines, end) = run(script, transport, bounds());
        assert_eq!((lines, end), (vec!["too long".to_owned(), "after".to_owned()], AgentEnd::Exited(0)));
    }
}

#[test]
fn adversary_45_a_flood_is_stopped() {
    for transport in BOTH {
        let few = Bounds { bytes: 4_000_000, noise: 1_000, ..bounds() };
        assert_eq!(run("yes xxxxxxxx | tr -d '\\n'", transport, few).1, AgentEnd::Flooded, "bytes");
        let (lines, end) = run("yes", transport, few);
        assert_eq!((lines.len(), end), (1_001, AgentEnd::Flooded), "lines that are no events");
        let (lines, end) = run("yes '{}' | head -n 2000", transport, few);
        assert_eq!((lines.len(), end), (2_000, AgentEnd::Exited(0)), "events");
    }
}

#[test]
fn a_program_that_is_not_there_says_so() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let error =
            AgentProcess::start(Path::new("/no/such"), call("", Transport::Pipe), Path::new("/"), "", bounds(), None)
                .unwrap_err();
        assert!(error.to_string().contains("/no/such"), "{error}");
    });
}

#[test]
fn the_first_word_is_waited_for_as_long_as_somebody_says_it_is_worth() {
    let bounds = Bounds { first_word: Some(Duration::from_secs(3)), ..bounds() };
    // A word, on whichever side, and it has all the time that agents have.
    let cases = [
        ("sleep 60", AgentEnd::Silent(u64::try_from(bounds.idle.as_millis()).unwrap())),
        ("echo hi; sleep 4", AgentEnd::Exited(0)),
        ("echo loading >&2; sleep 4", AgentEnd::Exited(0)),
    ];
    std::thread::scope(|scope| {
        for (script, end) in &cases {
            for transport in BOTH {
                scope.spawn(move || {
                    let began = std::time::Instant::now();
                    assert_eq!(run(script, transport, bounds).1, *end, "{transport:?} {script}");
                    assert!(began.elapsed() < LONG, "{transport:?} {script}");
                });
            }
        }
    });
}
