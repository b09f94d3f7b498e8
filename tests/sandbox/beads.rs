//! A watching loop whose agent closes an issue through the tracker's daemon, from inside the sandbox: our own agent and
//! another one. Without `--watch` the daemon is out of reach, and the tracker is told so.

use crate::{PROMISE, bash, binary, need_a_sandbox, say, world};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use testkit::{Outcome, Run, World};

const WATCHING: &str = "watching for new work; Ctrl-C ends it";
/// Two whole runs of a loop, on a machine that has other things to do.
const PATIENCE: Duration = Duration::from_mins(4);
/// Set where this test program is run as `bd`.
const ISSUE: &str = "BD_CLOSES";

/// A tracker's program: with a daemon it speaks with that, without one it says so.
fn install_bd(world: &World) {
    let me = std::env::current_exe().unwrap();
    let script = format!(
        "#!/bin/sh\n[ -z \"$BEADS_NO_DAEMON\" ] || {{ echo \"$2\" >> without-daemon; exit 0; }}\n\
         {ISSUE}=\"$2\" exec {} --exact beads::bd --nocapture\n",
        me.display()
    );
    let path = world.wd().join("bd");
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Not a test of its own: what `bd close ID` does, as its own program would.
#[test]
fn bd() {
    let Ok(issue) = std::env::var(ISSUE) else { return };
    let socket = std::env::current_dir().unwrap().join(".beads/bd.sock");
    let mut stream = UnixStream::connect(&socket).unwrap();
    for (operation, args) in [("health", json!({})), ("close", json!({"id": issue}))] {
        stream.write_all(format!("{}\n", json!({"operation": operation, "args": args})).as_bytes()).unwrap();
        let mut answer = String::new();
        BufReader::new(&stream).read_line(&mut answer).unwrap();
        assert!(answer.contains("\"success\":true"), "{answer}");
    }
    // No other one, from the same program.
    assert!(UnixStream::connect(socket.with_file_name("other.sock")).is_err());
}

/// A daemon with at most one issue, which is open or not.
struct Daemon {
    issue: Arc<Mutex<Option<&'static str>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Daemon {
    fn start(folder: &Path) -> Self {
        std::fs::create_dir_all(folder).unwrap();
        let listener = UnixListener::bind(folder.join("bd.sock")).unwrap();
        let daemon = Self { issue: Arc::default(), asked: Arc::default() };
        let (issue, asked) = (Arc::clone(&daemon.issue), Arc::clone(&daemon.asked));
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (issue, asked) = (Arc::clone(&issue), Arc::clone(&asked));
                std::thread::spawn(move || serve(&client, &issue, &asked));
            }
        });
        daemon
    }

    fn open_issue(&self) {
        *self.issue.lock().unwrap() = Some("open");
    }

    fn status(&self) -> Option<&'static str> {
        *self.issue.lock().unwrap()
    }

    fn was_asked(&self, operation: &str) -> bool {
        self.asked.lock().unwrap().iter().any(|asked| asked == operation)
    }
}

fn serve(client: &UnixStream, issue: &Mutex<Option<&'static str>>, asked: &Mutex<Vec<String>>) {
    let mut answers = client;
    for line in BufReader::new(client).lines().map_while(Result::ok) {
        let request: Value = serde_json::from_str(&line).unwrap();
        let operation = request["operation"].as_str().unwrap().to_owned();
        let mut issue = issue.lock().unwrap();
        if operation == "close" && request["args"]["id"] == "bd-7" {
            *issue = Some("closed");
        }
        let one = |status: &str| json!({"id": "bd-7", "title": "Door", "description": "It squeaks.", "status": status});
        let data = match (operation.as_str(), *issue) {
            ("ready", Some("open")) => json!([one("open")]),
            ("ready" | "get_mutations", _) => json!([]),
            (_, status) => one(status.unwrap_or("none")),
        };
        asked.lock().unwrap().push(operation);
        let _ = answers.write_all(format!("{}\n", json!({"success": true, "data": data})).as_bytes());
    }
}

fn needs(world: &World, socket: &Path) {
    need_a_sandbox(world);
    assert!(sandbox::reaches_beads(socket), "a machine with the whole sandbox relays a socket");
}

/// Runs it until it watches for the second time, with an issue that comes while it watches first.
fn watched(world: &World, daemon: &Daemon, run: Run) -> Outcome {
    let watching = json!({"type": "warning", "text": WATCHING});
    let run = run.wait(watching.clone()).wait(watching).signal(2).close().deadline(PATIENCE);
    std::thread::scope(|scope| {
        let running = scope.spawn(|| run.finish().unwrap());
        let until = Instant::now() + PATIENCE;
        // Until the watch has looked at what is open when it begins: then a new issue is new.
        while !(world.read(".ralph/lock").is_some_and(|owner| owner.contains("watching")) && daemon.was_asked("ready"))
        {
            assert!(Instant::now() < until && !running.is_finished(), "it never watched");
            std::thread::sleep(Duration::from_millis(50));
        }
        std::thread::sleep(Duration::from_secs(1));
        daemon.open_issue();
        running.join().unwrap()
    })
}

fn closed(outcome: &Outcome, world: &World, daemon: &Daemon) {
    assert!(!outcome.timed_out && outcome.unmet.is_empty(), "{:#?}\n{}", outcome.lines, outcome.stderr);
    assert_eq!(outcome.code, Some(0), "{:#?}\n{}", outcome.lines, outcome.stderr);
    assert_eq!(daemon.status(), Some("closed"), "{:#?}", outcome.lines);
    assert!(daemon.was_asked("close") && !world.wd().join("without-daemon").exists());
}

#[test]
fn the_built_in_agent_closes_the_issue_that_woke_the_loop() {
    let world = world(json!([
        bash("echo 1 > first.txt"),
        say(PROMISE),
        bash("./bd close bd-7 && echo 2 > second.txt"),
        say(PROMISE)
    ]));
    let beads = world.wd().join(".beads");
    let daemon = Daemon::start(&beads);
    let _other = UnixListener::bind(beads.join("other.sock")).unwrap();
    install_bd(&world);
    needs(&world, &beads.canonicalize().unwrap().join("bd.sock"));
    let run = world.run(&binary()).named("ralph").args(["--json", "--backend", "builtin", "--watch"]);
    let outcome = watched(&world, &daemon, run);
    closed(&outcome, &world, &daemon);
    assert!(world.wd().join("second.txt").exists());
}

#[test]
fn another_agent_closes_the_issue_that_woke_the_loop() {
    let world = world(json!([]));
    let result =
        json!({"type": "result", "subtype": "success", "is_error": false, "result": PROMISE, "session_id": "s"});
    let agent = world.wd().join("agent");
    let script = format!(
        "#!/bin/sh\nread -r line\necho x >> work.txt\ncase \"$line\" in *bd-7*) ./bd close bd-7 2>> bd.log;; esac\n\
         printf '%s\\n' '{result}'\n"
    );
    std::fs::write(&agent, script).unwrap();
    std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).unwrap();
    let beads = world.wd().join(".beads");
    let daemon = Daemon::start(&beads);
    let _other = UnixListener::bind(beads.join("other.sock")).unwrap();
    install_bd(&world);
    needs(&world, &beads.canonicalize().unwrap().join("bd.sock"));
    let backend = format!("--backend={}", agent.display());
    let run = world.run(&binary()).named("ralph").args(["--json", &backend, "--watch"]);
    let outcome = watched(&world, &daemon, run);
    closed(&outcome, &world, &daemon);
}

#[test]
fn without_watch_no_socket_opens_and_the_tracker_is_told() {
    let direct = "BEADS_NO_DAEMON= ./bd close bd-7 && touch reached; ./bd close bd-7";
    let world = world(json!([bash(direct), say(PROMISE)]));
    let daemon = Daemon::start(&world.wd().join(".beads"));
    install_bd(&world);
    need_a_sandbox(&world);
    let run = world.run(&binary()).named("ralph").args(["1", "--json", "--backend", "builtin"]).close();
    let outcome = run.finish().unwrap();
    assert_eq!(world.read("without-daemon").as_deref(), Some("bd-7\n"), "{:#?}", outcome.lines);
    assert!(!world.wd().join("reached").exists() && !daemon.was_asked("close"));
}
