//! What loses a night: outages, claims with nothing done, limits that nobody measures, logs in commits.

use crate::common::{finish, say};
use crate::world::{PROMISE, agent, folder, heard, looped, of, outcomes, ralph, told, verdict, with_model};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const REFUSED: &str = "API Error: cannot reach api.test: Connection refused (os error 111)";

#[test]
fn an_outage_is_waited_out_and_uses_up_no_iteration() {
    let world = folder();
    let script = format!("hear; if [ $n = 1 ]; then failure '{REFUSED}'; exit 1; fi; work; result '{PROMISE}'");
    let (outcome, events) = told(looped(&world, &script, &["1", "--max-outage", "2s"]));
    assert_eq!((outcome.code, outcomes(&events)), (Some(0), vec!["deferred".to_owned(), "done".into()]));
    let wait = of(&events, "waiting")[0];
    assert!(wait["reason"].as_str().unwrap().starts_with("the API is unavailable: API Error: cannot reach"), "{wait}");
}

#[test]
fn an_outage_that_does_not_end_fails_with_the_last_error() {
    let world = folder();
    let (outcome, events) =
        told(looped(&world, &format!("hear; failure '{REFUSED}'; exit 1"), &["--max-outage", "1s"]));
    assert_eq!((outcome.code, verdict(&events).0), (Some(1), "failed".into()), "{}", outcome.stderr);
    let reason = of(&events, "verdict")[0]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("never reached") && reason.contains("Connection refused"), "{reason}");
    assert_eq!(of(&events, "verdict")[0]["iterations"], 0);
}

#[test]
fn the_built_in_agent_shows_how_it_waits_for_the_api() {
    let world = with_model(json!([]));
    let nowhere = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let run = ralph(&world, &["1", "--no-tui", "--backend", "builtin", "--max-outage", "1s"])
        .env("ANTHROPIC_BASE_URL", &format!("http://{nowhere}"))
        .env("CLAUDE_CODE_MAX_RETRIES", "1");
    let (outcome, _) = told(run);
    let text = outcome.lines.join("\n");
    assert_eq!(outcome.code, Some(1), "{text} {}", outcome.stderr);
    assert!(text.contains("the API cannot be reached; the agent tries again in "), "{text}");
    assert!(text.contains("  waits 1s: the API is unavailable: "), "{text}");
    assert!(text.contains("failed: the API was never reached in "), "{text}");
}

#[test]
fn a_claim_with_open_items_is_refused_and_then_a_question() {
    let world = folder();
    std::fs::write(world.wd().join(".ralph/todo.md"), "- [ ] paint the door\n- [x] two\n").unwrap();
    let (outcome, events) = told(looped(&world, &format!("hear; work; result '{PROMISE}'"), &[]));
    assert_eq!((outcome.code, outcomes(&events)), (Some(3), vec!["not_done".to_owned(), "blocked".into()]));
    assert!(
        heard(&world)[1].contains("You said that all is done, but this is open:\\n- paint the door"),
        "{:?}",
        heard(&world)
    );
    let question = of(&events, "verdict")[0]["question"]["text"].as_str().unwrap().to_owned();
    assert!(question.contains("- paint the door"), "{question}");
}

#[test]
fn a_claim_with_nothing_changed_is_done_when_it_is_made_again_and_says_unchecked() {
    let world = folder();
    let (outcome, events) = told(looped(&world, &format!("hear; result '{PROMISE}'"), &[]));
    assert_eq!((outcome.code, outcomes(&events)), (Some(0), vec!["not_done".to_owned(), "done".into()]));
    assert_eq!(of(&events, "verdict")[0]["unchecked"], true);
    let backend = format!("--backend={}", agent(&world, &format!("hear; work; result '{PROMISE}'")).display());
    let (plain, _) = told(ralph(&world, &["--no-tui", &backend]));
    let last = plain.lines.iter().find(|line| line.starts_with("done")).unwrap();
    assert!(last.starts_with("done (unchecked): the agent says that all is done, and no check was run"), "{last}");
    let (runs, _) = told(ralph(&world, &["runs"]));
    assert!(runs.lines[0].contains("done (unchecked)"), "{:?}", runs.lines);
}

#[test]
fn templates_of_init_are_an_error_that_says_what_to_edit() {
    let world = testkit::World::empty(mock::Script::from_value(json!([])).unwrap()).unwrap();
    let (made, _) = told(ralph(&world, &["init"]));
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let (outcome, _) = told(ralph(&world, &["1", "--json"]));
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("Write the first task into .ralph/todo.md"), "{}", outcome.stderr);
    assert!(!world.wd().join(".ralph/runs").exists());
}

#[test]
fn agents_do_not_commit_logs_where_nobody_ran_init() {
    let world = folder();
    assert!(!world.wd().join(".ralph/.gitignore").exists());
    let script = format!("hear; work; git add -A; git ls-files .ralph > \"$HOME/tracked\"; result '{PROMISE}'");
    let (outcome, _) = told(looped(&world, &script, &[]));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let tracked = std::fs::read_to_string(world.home().join("tracked")).unwrap();
    assert!(tracked.contains(".ralph/prompt.md") && tracked.contains(".ralph/.gitignore"), "{tracked}");
    assert!(!tracked.contains("runs/") && !tracked.contains(".log") && !tracked.contains("lock"), "{tracked}");
}

#[test]
fn a_rehearsal_is_on_nobodys_account_and_a_run_is_on_the_persons() {
    let world = with_model(json!([]));
    let account = world.home().join(".claude/ralph/day.json");
    std::fs::write(world.wd().join("script.json"), json!([say("a step")]).to_string()).unwrap();
    let (rehearsed, _) = told(ralph(&world, &["1", "--json", "--rehearse", "script.json"]));
    assert_eq!(rehearsed.code, Some(2), "{}", rehearsed.stderr);
    assert!(!account.exists());
    told(looped(&world, "hear; work; result 'a step'", &["2"]));
    let text = std::fs::read_to_string(&account).unwrap();
    let spent: Value = serde_json::from_str(&text).unwrap();
    assert!((spent["spent"]["usd"].as_f64().unwrap() - 0.02).abs() < 1e-9, "{text}");
    // Another run of the same day, in whatever folder, has used the rest.
    std::fs::write(&account, text.replace("0.02", "0.99")).unwrap();
    let (outcome, _) = told(looped(&world, "hear; work; result 'a step'", &["--day-cost", "1"]));
    assert_eq!(outcome.code, Some(2));
}

#[test]
fn a_limit_that_the_agent_does_not_measure_is_no_silent_none() {
    let world = folder();
    let script = r#"hear; work; printf '{"type":"result","is_error":false,"result":"a step"}\n'"#;
    let (outcome, events) = told(looped(&world, script, &["--max-cost", "5"]));
    assert_eq!((outcome.code, outcomes(&events).len()), (Some(2), 1), "{}", outcome.stderr);
    let reason = of(&events, "verdict")[0]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("the agent reports no usage") && reason.contains("--duration"), "{reason}");
    let (refused, _) = told(looped(&world, script, &["--max-cost", "5", "--output-format", "text"]));
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("cannot hold with output_format = \"text\""), "{}", refused.stderr);
}

#[test]
fn the_issue_that_woke_the_loop_is_in_the_prompt() {
    let world = folder();
    let beads = world.wd().join(".beads");
    std::fs::create_dir(&beads).unwrap();
    let issues = beads.join("issues.jsonl");
    std::fs::write(&issues, "").unwrap();
    let close = "sed -i s/open/closed/ .beads/issues.jsonl";
    let script = format!("hear; work; if [ $n = 2 ]; then {close}; fi; result '{PROMISE}'");
    let watching = json!({"type": "warning", "text": "watching for new work; Ctrl-C ends it"});
    let run = looped(&world, &script, &["--watch"]).wait(watching.clone()).wait(watching).signal(2);
    let (outcome, events) = std::thread::scope(|scope| {
        let running = scope.spawn(|| told(run));
        let until = Instant::now() + Duration::from_secs(40);
        while !world.read(".ralph/lock").is_some_and(|owner| owner.contains("watching")) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(50));
        }
        let (listing, _) = told(ralph(&world, &["runs"]));
        assert!(listing.lines[0].contains(" waiting "), "{:?}", listing.lines);
        // The watch looks at what is open when it begins; a moment later it is new.
        std::thread::sleep(Duration::from_secs(1));
        let issue = json!({"id": "bd-7", "title": "Mend the door", "description": "It squeaks.", "status": "open"});
        std::fs::write(&issues, format!("{issue}\n")).unwrap();
        running.join().unwrap()
    });
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let prompt = &heard(&world)[1];
    for part in ["bd-7: Mend the door", "It squeaks.", "issues.jsonl when it is done"] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    assert_eq!(of(&events, "work")[0]["id"], "bd-7");
}

#[test]
fn an_issue_of_the_run_that_is_still_open_speaks_against_done() {
    let world = folder();
    let beads = world.wd().join(".beads");
    std::fs::create_dir(&beads).unwrap();
    let issue = |id: &str, status: &str| json!({"id": id, "title": "t", "status": status}).to_string();
    std::fs::write(beads.join("issues.jsonl"), format!("{}\n", issue("bd-1", "in_progress"))).unwrap();
    let script =
        format!("hear; work; echo '{}' >> .beads/issues.jsonl; result '{PROMISE}'", issue("bd-2", "in_progress"));
    let (outcome, events) = told(looped(&world, &script, &["1"]));
    assert_eq!((outcome.code, outcomes(&events)), (Some(2), vec!["not_done".to_owned()]), "{}", outcome.stderr);
    let items = of(&events, "iteration_ended")[0]["receipt"]["refused"]["items"].to_string();
    assert!(items.contains("bd-2") && !items.contains("bd-1"), "somebody else's are not ours: {items}");
}

#[test]
fn a_foreign_agent_with_an_open_call_is_not_silent_and_silence_names_its_option() {
    let world = folder();
    let call = json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]}});
    let result =
        json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]}});
    let script = format!("hear; echo '{call}'; sleep 4; echo '{result}'; work; result '{PROMISE}'");
    let (outcome, events) = told(looped(&world, &script, &["--idle", "2s"]));
    assert_eq!((outcome.code, outcomes(&events)), (Some(0), vec!["done".to_owned()]), "{}", outcome.stderr);
    let script = format!("hear; echo '{call}'; echo '{result}'; sleep 60");
    let (outcome, events) = told(looped(&world, &script, &["--idle", "2s", "--max-failures", "1"]));
    assert_eq!((outcome.code, outcomes(&events)), (Some(1), vec!["silence".to_owned()]), "{}", outcome.stderr);
    let reason = of(&events, "verdict")[0]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("it wrote nothing for 2s; --idle sets how long"), "{reason}");
}

#[test]
fn the_built_in_agent_with_an_open_call_is_not_silent() {
    let call =
        json!({"content": [{"type": "tool_use", "name": "Bash", "input": {"command": "sleep 4; echo x > slow.txt"}}]});
    let world = with_model(json!([call, say(PROMISE)]));
    let run = ralph(&world, &["1", "--json", "--backend", "builtin", "--idle", "2s"]);
    let (outcome, events) = told(run);
    assert_eq!((outcome.code, outcomes(&events)), (Some(0), vec!["done".to_owned()]), "{}", outcome.stderr);
    assert!(world.wd().join("slow.txt").is_file(), "the call came to its end");
}

#[test]
fn commits_are_the_persons_and_their_subject_is_no_promise() {
    let world = folder();
    let git = |words: &[&str]| {
        let git = world.run(std::path::Path::new("/usr/bin/git")).named("git").args(words.iter().copied());
        finish(git).lines.join("\n")
    };
    git(&["config", "user.name", "Ada"]);
    git(&["config", "user.email", "ada@example.org"]);
    let (outcome, _) = told(looped(&world, &format!("hear; work; result '{PROMISE}'"), &["--commit"]));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(git(&["log", "-1", "--format=%an %ae %s"]), "Ada ada@example.org ralph 1: the work of this iteration");
}

#[test]
fn runs_and_show_speak_json_and_a_replay_takes_an_id() {
    let world = folder();
    told(looped(&world, &format!("hear; work; say hello; result '{PROMISE}'"), &["--check", "true"]));
    let (runs, listed) = told(ralph(&world, &["runs", "--json"]));
    assert_eq!((runs.code, &listed[0]["state"], &listed[0]["iterations"]), (Some(0), &json!("done"), &json!(1)));
    let id = listed[0]["run"].as_str().unwrap().to_owned();
    let (_, shown) = told(ralph(&world, &["show", &id, "--json"]));
    let kinds: Vec<&str> =
        shown[0]["steps"].as_array().unwrap().iter().filter_map(|step| step["type"].as_str()).collect();
    assert_eq!(kinds, ["check_finished", "iteration_ended"]);
    let (replayed, _) = told(ralph(&world, &["--replay", &id, "--no-tui"]));
    assert!(
        replayed.code == Some(0) && replayed.lines.iter().any(|line| line.contains("hello")),
        "{:?}",
        replayed.lines
    );
    let (mistaken, _) = told(ralph(&world, &["runs", "all"]));
    assert_eq!(mistaken.code, Some(1));
}

#[test]
fn a_missing_key_is_said_once_and_names_the_command_that_helps() {
    let world = with_model(json!([]));
    let run = ralph(&world, &["1", "--no-tui", "--backend", "builtin"]).without_env("ANTHROPIC_API_KEY");
    let (outcome, _) = told(run);
    let text = outcome.lines.join("\n");
    assert_eq!(outcome.code, Some(1), "{text}");
    assert_eq!(text.matches("No credentials found").count(), 1, "{text}");
    assert!(text.contains("`ralph auth status`") && !text.contains("/login"), "{text}");
}

#[test]
fn the_doctor_looks_at_the_loop() {
    let world = folder();
    let doctor = || told(ralph(&world, &["doctor"])).0.lines.join("\n");
    let fine = doctor();
    assert!(fine.contains("loop prompt    .ralph/prompt.md") && fine.contains("git            yes"), "{fine}");
    std::fs::write(world.wd().join(".ralph/config.toml"), "max = \"x\"\n").unwrap();
    std::fs::remove_file(world.wd().join(".ralph/prompt.md")).unwrap();
    let broken = doctor();
    assert!(broken.contains("! loop config") && broken.contains("line 1: 'max' must be a whole number"), "{broken}");
    assert!(broken.contains("! loop prompt    missing; 'ralph init' makes one"), "{broken}");
}

#[test]
fn strange_prompts_and_the_first_ctrl_c_are_spoken_of() {
    let world = folder();
    std::fs::write(world.wd().join(".ralph/prompt.md"), [0u8, 159, 146, 150]).unwrap();
    let (_, events) = told(looped(&world, &format!("hear; work; result '{PROMISE}'"), &["1"]));
    assert!(of(&events, "warning")[0]["text"].as_str().unwrap().contains("the prompt is not UTF-8 text"));
    let waits =
        looped(&world, "hear; say started; sleep 3; work; result 'a step'", &["2"]).wait(json!({"type": "agent_text"}));
    let (outcome, events) = told(waits.signal(2));
    assert_eq!(outcome.code, Some(130), "{}", outcome.stderr);
    let said: Vec<&str> = of(&events, "warning").iter().filter_map(|event| event["text"].as_str()).collect();
    assert!(said.contains(&"the run ends after this iteration; Ctrl-C again ends it now"), "{said:?}");
}

/// The child is in a session of its own, deaf to signals, and nothing but the loop's watcher knows of it.
#[test]
fn issue_10_1_3_kill_9_of_the_loop_ends_what_its_agent_detached() {
    const KILL: i32 = 9;
    let world = folder();
    let script = "hear; setsid sh -c 'trap \"\" TERM HUP; while :; do echo x >> beat; sleep 0.02; done' \
                  > /dev/null 2>&1 < /dev/null & while ! [ -s beat ]; do sleep 0.01; done; say started; sleep 600";
    let run = looped(&world, script, &["--sandbox", "off"]).wait(json!({"type": "agent_text"})).signal(KILL);
    assert_eq!(run.finish().unwrap().signal, Some(KILL));
    // Everything is gone within a second.
    std::thread::sleep(Duration::from_secs(1));
    let last = world.read("beat");
    std::thread::sleep(Duration::from_millis(300));
    assert!(last.is_some() && world.read("beat") == last, "the child still writes");
}

/// Such a child would go on changing files beside the next iteration.
#[test]
fn what_an_iteration_left_running_is_gone_before_the_next() {
    let world = folder();
    let script = format!(
        "hear; work; if [ $n = 1 ]; then setsid sh -c 'echo $$ > left; exec sleep 600' > /dev/null 2>&1 < /dev/null & \
         while ! [ -s left ]; do sleep 0.01; done; result 'more'; \
         else kill -0 $(cat left) && touch alive; result '{PROMISE}'; fi"
    );
    let (outcome, events) = told(looped(&world, &script, &["2", "--sandbox", "off"]));
    assert_eq!(outcome.code, Some(0), "{events:?} {}", outcome.stderr);
    assert!(world.wd().join("left").exists() && !world.wd().join("alive").exists());
}
