//! An agent tries to reach its own run: to stop it, to steer itself, to answer its own question.

use crate::world::{binary, done, folder, looped, of, open_gate, ralph, run_folder, soon, verdict, with_model};
use serde_json::json;
use testkit::World;

const DONE: &str = "result '<promise>COMPLETE</promise>'";
const REFUSED: &str = "refused: the peer was started by this run";

#[test]
fn an_agent_without_a_sandbox_is_refused_however_it_hides_its_descent() {
    let world = folder();
    // As itself, from a session of its own, without our environment, and as an orphan whose parents are gone.
    let tries = r#"
        "$RALPH" stop --now 2> "$HOME/plain"
        setsid "$RALPH" steer 'do more' 2> "$HOME/session"
        env -i HOME="$HOME" "$RALPH" stop --now 2> "$HOME/bare"
        (setsid env -i HOME="$HOME" RALPH="$RALPH" sh -c '(sleep 0.3; setsid "$RALPH" stop --now 2> "$HOME/orphan.part"; mv "$HOME/orphan.part" "$HOME/orphan") &' &)
        while [ ! -e "$HOME/orphan" ]; do sleep 0.05; done
    "#;
    let run = looped(&world, &format!("hear; work; {tries} {DONE}"), &[]);
    let outcome = run.join().unwrap();
    let events = outcome.events();
    assert_eq!((outcome.code, verdict(&events).0), (Some(0), "done".into()), "{}", outcome.stderr);
    assert!(of(&events, "steered").is_empty());
    for name in ["plain", "session", "bare", "orphan"] {
        let said = std::fs::read_to_string(world.home().join(name)).unwrap();
        assert!(said.contains(REFUSED), "{name}: {said}");
    }
}

#[test]
fn a_check_is_refused_too() {
    let world = folder();
    let check = "\"$RALPH\" stop --now 2> \"$HOME/check\"; true";
    let run = looped(&world, &format!("hear; work; {DONE}"), &["--check", check]);
    let outcome = run.join().unwrap();
    assert_eq!(verdict(&outcome.events()).0, "done", "{}", outcome.stderr);
    let said = std::fs::read_to_string(world.home().join("check")).unwrap();
    assert!(said.contains(REFUSED), "{said}");
}

fn has_a_sandbox(world: &World) -> bool {
    done(world, &["doctor"]).lines.join("\n").contains("22 of 22 attempts held")
}

#[test]
fn in_the_sandbox_the_socket_is_not_there_even_where_sockets_are_allowed() {
    let look = format!(
        "for s in .ralph/runs/*/socket; do test -S $s && echo VISIBLE; test -e $s && echo covered; done; {} stop --now; true",
        binary().display()
    );
    let world = with_model(json!([
        {"content": [{"type": "tool_use", "name": "Bash", "input": {"command": look}}]},
        {"content": [{"type": "text", "text": "<promise>COMPLETE</promise>"}]},
        {"content": [{"type": "text", "text": "<promise>COMPLETE</promise>"}]},
    ]));
    if !has_a_sandbox(&world) {
        return;
    }
    let settings = json!({"sandbox": {"network": {"allowAllUnixSockets": true}}});
    std::fs::create_dir_all(world.home().join(".claude")).unwrap();
    std::fs::write(world.home().join(".claude/settings.json"), settings.to_string()).unwrap();
    let run =
        ralph(&world, &["--json", "--backend", "builtin", "--sandbox", "workspace", "2"]).close().finish().unwrap();
    let events = run.events();
    assert_eq!(verdict(&events).0, "done", "{} {:?}", run.stderr, run.lines.last());
    let results = of(&events, "tool_result");
    let said = results[0]["text"].as_str().unwrap();
    assert!(said.contains("covered") && !said.contains("VISIBLE"), "{said}");
    assert!(said.contains("is not at work"), "{said}");
}

#[test]
fn a_socket_that_an_agent_puts_in_place_of_its_runs_is_no_way_in() {
    let world = folder();
    let script = format!("hear; work; gate go; {DONE}");
    let run = looped(&world, &script, &[]);
    let socket = soon("a socket", || Some(run_folder(world.wd())?.join("socket")).filter(|path| path.exists()));
    // Without a sandbox an agent can remove it: then the run cannot be reached, and goes on.
    std::fs::remove_file(&socket).unwrap();
    std::fs::write(&socket, "not a socket").unwrap();
    let stopped = done(&world, &["stop"]);
    assert!(stopped.code == Some(1) && stopped.stderr.contains("is not at work"), "{}", stopped.stderr);
    open_gate(&world, "go");
    assert_eq!(verdict(&run.join().unwrap().events()).0, "done");
}
