//! Runs that outlive whoever started them, and whoever attached; and nothing else does.

use crate::world::{
    GATE, agent, attached, binary, done, folder, followed, is_gone, looped, open_gate, ralph, recording, run_folder,
    soon, verdict, wait_for_words,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use testkit::World;

const DONE: &str = "result '<promise>COMPLETE</promise>'";

fn kill(pid: u64) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::KILL).unwrap();
}

/// Starts a detached run; its id and its process.
fn detached(world: &World, script: &str, words: &[&str]) -> (String, u64) {
    let backend = agent(world, &format!("{GATE}{script}")).display().to_string();
    let started = done(world, &[&["--detach", "--json", "--backend", &backend], words].concat());
    assert_eq!(started.code, Some(0), "{}", started.stderr);
    let line: Value = serde_json::from_str(&started.lines.concat()).unwrap();
    (line["run"].as_str().unwrap().to_owned(), line["pid"].as_u64().unwrap())
}

fn end(pid: u64) {
    assert!(is_gone(&pid.to_string()), "process {pid} is still there");
}

#[test]
fn a_detached_run_goes_on_and_is_found_again() {
    let world = folder();
    let (id, pid) = detached(&world, &format!("hear; work; say ready; gate go; {DONE}"), &[]);
    wait_for_words(&world, "ready");
    // Whoever attaches may die.
    let client = attached(&world, &["--json"]);
    kill(u64::from(client.pid()));
    drop(client);
    let following = attached(&world, &[&id]);
    open_gate(&world, "go");
    let (code, text) = followed(following);
    assert_eq!(code, Some(0), "{text}");
    end(pid);
    assert!(recording(world.wd()).contains("\"verdict\":\"done\""));
}

#[test]
fn a_detached_run_survives_the_death_of_its_starters_session() {
    let world = folder();
    let backend = agent(&world, &format!("{GATE}hear; work; say ready; gate go; {DONE}")).display().to_string();
    let script = format!("{} --detach --backend {backend}; kill -9 0", binary().display());
    let shell = world.run(std::path::Path::new("/bin/sh")).named("sh").args(["-c", &script]).close();
    let outcome = shell.finish().unwrap();
    assert!(outcome.lines.concat().contains("ralph attach"), "{:?} {}", outcome.lines, outcome.stderr);
    wait_for_words(&world, "ready");
    open_gate(&world, "go");
    wait_for_words(&world, "\"verdict\":\"done\"");
}

#[test]
fn a_run_that_is_killed_is_cut_and_can_be_resumed() {
    let world = folder();
    let (id, pid) = detached(&world, &format!("hear; work; say ready; gate go; {DONE}"), &[]);
    wait_for_words(&world, "ready");
    let following = ralph(&world, &["attach"]).close();
    let following = std::thread::spawn(move || following.finish().unwrap());
    // It is attached when it is one of the clients: its lines are the only sign, and they come at its end. So the kill waits
    // for nothing, and both orders must end well.
    kill(pid);
    end(pid);
    let followed = following.join().unwrap();
    assert_eq!(followed.code, Some(1), "{:?}", followed.lines);
    assert!(
        ["was cut", "not at work", "no run is at work"].iter().any(|words| followed.stderr.contains(words)),
        "{}",
        followed.stderr
    );
    let socket = run_folder(world.wd()).unwrap().join("socket");
    assert!(socket.exists(), "a killed run leaves its socket");
    let stopped = done(&world, &["stop", &id]);
    assert!(stopped.code == Some(1) && stopped.stderr.contains("is not at work"), "{}", stopped.stderr);
    open_gate(&world, "go");
    let before = recording(world.wd()).lines().count();
    let resumed = done(&world, &["resume", "--json"]);
    assert_eq!((resumed.code, verdict(&resumed.events()).0), (Some(0), "done".into()), "{}", resumed.stderr);
    assert!(recording(world.wd()).lines().count() > before, "numbers go on");
    assert!(!socket.exists());
}

#[test]
fn what_cannot_start_says_why_and_leaves_nothing() {
    let world = folder();
    let missing = done(&world, &["--detach", "--backend", "/no/such/agent"]);
    assert_eq!(missing.code, Some(1));
    assert!(missing.stderr.contains("/no/such/agent"), "{}", missing.stderr);
    let run = looped(&world, &format!("hear; work; say ready; gate go; {DONE}"), &[]);
    wait_for_words(&world, "ready");
    let second = done(&world, &["--detach", "--backend", &world.home().join("agent.sh").display().to_string()]);
    assert!(second.code == Some(1) && second.stderr.contains("another ralph is at work"), "{}", second.stderr);
    open_gate(&world, "go");
    assert_eq!(verdict(&run.join().unwrap().events()).0, "done");
}

#[test]
fn an_agent_cannot_leave_a_run_behind_by_detaching_it() {
    let outer = folder();
    let inner = folder();
    let backend = agent(&inner, &format!("{GATE}hear; work; say ready; gate never; {DONE}"));
    let script = format!(
        "hear; work; (cd {} && HOME={} \"$RALPH\" --detach --json --backend {} > \"$HOME/inner\" 2>&1); {DONE}",
        inner.wd().display(),
        inner.home().display(),
        backend.display()
    );
    let outcome = looped(&outer, &script, &[]).join().unwrap();
    assert_eq!(verdict(&outcome.events()).0, "done", "{}", outcome.stderr);
    let said = std::fs::read_to_string(outer.home().join("inner")).unwrap();
    let line: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{said}"));
    end(line["pid"].as_u64().unwrap());
    soon("the inner agent's end", || inner.wd().join(".ralph").exists().then_some(()));
}
