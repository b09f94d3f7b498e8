//! Complaints 1, 2, 14, 15, 16: what goes in.

use crate::common::{claude, finish, say, world};
use crate::kit::{dialogue, events_of, messages, only_result, shell, stream};
use serde_json::{Value, json};
use std::time::Duration;
use testkit::Step;

#[test]
fn c01_9026_answers_without_a_terminal() {
    for stdin in ["</dev/null", "<&-", "<\"$HOME/empty\""] {
        let world = world(json!([say("fine")]));
        std::fs::write(world.home().join("empty"), "").expect("a file");
        let outcome = finish(shell(&world, &format!("exec setsid --wait \"$RALPH\" agent -p hi {stdin}")));
        assert_eq!((outcome.lines, &*outcome.stderr, outcome.code), (vec!["fine".into()], "", Some(0)), "{stdin}");
    }
}

#[test]
fn c02_7263_a_large_prompt_arrives_whole() {
    let text = "0123456789abcdef".repeat(9_900_000 / 16);
    let world = world(json!([say("read it all")]));
    let outcome = finish(claude(&world).args(["-p"]).step(Step::SendRaw(text.clone().into_bytes())));
    assert_eq!((outcome.lines, outcome.code), (vec!["read it all".into()], Some(0)), "{}", outcome.stderr);
    assert!(messages(&world, 0).contains(&text), "the prompt is not in the request as it was sent");
}

#[test]
fn c02_7263_a_prompt_over_the_limit_is_an_error() {
    for format in ["text", "json", "stream-json"] {
        let world = world(json!([say("never")]));
        let run = claude(&world).args(["-p", "look at this", "--verbose", "--output-format", format]);
        let outcome = finish(run.step(Step::SendRaw(vec![b'x'; 10_000_001])));
        assert_eq!((outcome.code, outcome.lines), (Some(1), vec![]), "{format}");
        assert!(outcome.stderr.contains("more than 10 MB"), "{format}: {}", outcome.stderr);
        assert!(world.mock().requests().is_empty(), "{format}: the model was asked");
    }
}

#[test]
fn c14_85040_the_prompt_arrives_wherever_it_stands() {
    let rows: [(&str, &[&str], &str); 9] = [
        ("argument", &["-p", "the-prompt"], ""),
        ("before the flags", &["the-prompt", "-p", "--max-turns", "3"], ""),
        ("stdin", &["-p"], "the-prompt"),
        ("stdin without newline, no -p", &[], "the-prompt"),
        ("both", &["-p", "the-"], "prompt"),
        ("after a list", &["-p", "--allowedTools", "Read", "Bash(ls:*)", "--", "the-prompt"], ""),
        ("after --", &["-p", "--", "the-prompt"], ""),
        ("looks like a flag", &["-p", "--", "--the-prompt"], ""),
        ("with a byte order mark", &["-p"], "\u{feff}the-prompt"),
    ];
    for (name, args, piped) in rows {
        let world = world(json!([say("ok")]));
        let outcome = finish(claude(&world).args(args.iter().copied()).step(Step::SendRaw(piped.into())));
        assert_eq!((outcome.lines, outcome.code), (vec!["ok".into()], Some(0)), "{name}: {}", outcome.stderr);
        let sent = messages(&world, 0).replace("the-\\nprompt", "the-prompt");
        assert!(sent.contains("the-prompt"), "{name}: {sent}");
    }
}

#[test]
fn c14_85040_no_prompt_is_an_error_and_no_request() {
    for (name, args, piped) in [
        ("nothing at all", vec!["-p"], ""),
        ("an empty argument", vec!["-p", ""], ""),
        ("blanks", vec!["-p"], " \n\t\n"),
    ] {
        let world = world(json!([say("never")]));
        let outcome = finish(claude(&world).args(args).step(Step::SendRaw(piped.into())));
        assert_eq!((outcome.lines, outcome.code), (vec![], Some(1)), "{name}");
        assert!(outcome.stderr.starts_with("Error: Input"), "{name}: {}", outcome.stderr);
        assert!(world.mock().requests().is_empty(), "{name}");
    }
}

#[test]
fn c14_85040_a_prompt_sent_during_a_turn_is_not_lost() {
    let slow = json!({"content": [{"type": "text", "text": "first"}], "delay_ms": 300});
    let world = world(json!([slow, say("second")]));
    let outcome =
        finish(dialogue(&world).prompt("one").wait(json!({"type": "system", "subtype": "init"})).prompt("two").close());
    let said: Vec<Value> = events_of(&outcome, "result", "").iter().map(|result| result["result"].clone()).collect();
    assert_eq!((said, outcome.code), (vec![json!("first"), json!("second")], Some(0)), "{}", outcome.stderr);
    assert!(messages(&world, 1).contains("two"));
}

/// Longer than the reference's 3 s, and than the 6 s that an inherited pipe gets from us.
#[test]
fn c15_60998_a_slow_pipe_is_waited_for() {
    let world = world(json!([say("ok")]));
    let outcome = finish(shell(&world, "{ sleep 7; echo late; } | \"$RALPH\" agent -p 'what came?'"));
    assert_eq!((outcome.lines, &*outcome.stderr, outcome.code), (vec!["ok".into()], "", Some(0)));
    assert!(messages(&world, 0).contains("what came?\\nlate"), "{}", messages(&world, 0));
}

#[test]
fn c15_60998_a_pipe_that_pauses_is_read_to_its_end() {
    let world = world(json!([say("ok")]));
    let run = claude(&world).args(["-p", "what came?"]).step(Step::SendRaw(b"begin ".into()));
    let outcome = finish(run.step(Step::Sleep(Duration::from_millis(500))).step(Step::SendRaw(b"end".into())));
    assert_eq!((&*outcome.stderr, outcome.code), ("", Some(0)));
    assert!(messages(&world, 0).contains("begin end"));
}

#[test]
fn c15_58857_a_blank_message_ends_at_once() {
    let world = world(json!([say("never")]));
    let outcome = finish(stream(&world, " \n "));
    assert_eq!((outcome.lines, outcome.code), (vec![], Some(1)), "{}", outcome.stderr);
    let outcome = finish(dialogue(&world).prompt("  \n").wait(json!({"type": "result"})).close());
    let result = only_result(&outcome);
    assert_eq!((result["num_turns"].as_u64(), outcome.unmet.len(), outcome.code), (Some(0), 0, Some(0)));
    assert_eq!(events_of(&outcome, "system", "informational").len(), 1);
    assert!(world.mock().requests().is_empty());
}

#[test]
fn c16_3187_several_turns_on_one_pipe() {
    let world = world(json!([say("one"), say("two"), say("three")]));
    let mut run = dialogue(&world);
    for prompt in ["first", "second", "third"] {
        run = run.prompt(prompt).wait(json!({"type": "result"}));
    }
    let outcome = finish(run.close());
    assert_eq!((outcome.unmet.len(), &*outcome.stderr, outcome.code), (0, "", Some(0)));
    let kinds: Vec<String> = outcome
        .events()
        .iter()
        .map(|event| event["subtype"].as_str().or(event["type"].as_str()).unwrap_or_default().to_owned())
        .collect();
    assert_eq!(kinds, ["init", "assistant", "success"].repeat(3));
    let ids: Vec<Value> = outcome.events().iter().map(|event| event["session_id"].clone()).collect();
    assert!(ids.iter().all(|id| id.is_string() && *id == ids[0]), "{ids:?}");
    assert!(outcome.events().iter().all(|event| event["uuid"].is_string()));
    let last = messages(&world, 2);
    assert!(["first", "one", "second", "two", "third"].iter().all(|said| last.contains(said)), "{last}");
}

#[test]
fn c16_24594_content_blocks_and_unknown_lines_are_taken() {
    let world = world(json!([say("seen")]));
    let image =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}});
    let content = json!([{"type": "text", "text": "what is it?"}, image]);
    let outcome = finish(
        dialogue(&world)
            .send(json!({"type": "a_type_of_next_year", "x": 1}))
            .send(json!({"type": "keep_alive"}))
            .send(json!({"type": "user", "message": {"role": "user", "content": content}, "extra": true}))
            .close(),
    );
    assert_eq!(only_result(&outcome)["result"], "seen");
    assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""));
    assert!(messages(&world, 0).contains("iVBORw0KGgo="));
}

#[test]
fn c16_44911_an_unreadable_line_is_said_and_the_rest_goes_on() {
    let world = world(json!([say("still here")]));
    let outcome = finish(dialogue(&world).step(Step::SendRaw(b"{\"type\":\"user\",\n".into())).prompt("hi").close());
    assert_eq!(only_result(&outcome)["result"], "still here");
    assert_eq!(outcome.code, Some(1), "a lost line must not look like success");
    assert!(outcome.stderr.contains("line"), "{}", outcome.stderr);
}
