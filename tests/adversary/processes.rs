//! Children that outlive the run, and what they can learn from it.

use crate::kit::{bash, binary, call, finish, say, script, stream};
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};
use testkit::World;

/// A stubborn child writes its id here.
const PIDS: &str = "pids";

fn alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'))
}

/// Fails for every listed process that is alive a second from now.
fn assert_gone(world: &World, at_least: usize) {
    let pids = world.read(PIDS).expect("a list of processes");
    assert!(pids.split_whitespace().count() >= at_least, "only {pids:?} were started");
    let deadline = Instant::now() + Duration::from_secs(1);
    while let Some(left) = pids.split_whitespace().find(|pid| alive(pid)) {
        assert!(Instant::now() < deadline, "process {left} is still alive");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn x31_nothing_that_was_started_outlives_the_run() {
    let hold = "sh -c 'trap \"\" TERM HUP INT; echo $$ >> pids; sleep 60'";
    for (name, command) in [
        ("ignores signals, holds stdout", format!("{hold} & sleep 0.2")),
        ("a session of its own", format!("setsid {hold} & sleep 0.2")),
        ("forks twice", format!("( ( setsid {hold} & ) & ) ; sleep 0.3")),
        ("nohup", format!("nohup {hold} > /dev/null 2>&1 & sleep 0.2")),
        ("disowned", format!("{hold} & disown; sleep 0.2")),
        ("closes everything", format!("setsid {hold} < /dev/null > /dev/null 2>&1 & sleep 0.2")),
    ] {
        let world = World::empty(script(json!([bash(&command), say("done")]))).unwrap();
        let outcome = finish(stream(&world).args(["--dangerously-skip-permissions"]).close());
        assert_eq!(outcome.result().unwrap()["result"], "done", "{name}: {}", outcome.stderr);
        assert!(!outcome.lingered, "{name}: something held our pipes");
        assert_gone(&world, 1);
    }
}

#[test]
fn x31_nor_do_two_hundred_of_them() {
    let command = "for i in $(seq 200); do (trap '' TERM; echo $BASHPID >> pids; exec sleep 60) & done; sleep 0.5";
    let world = World::empty(script(json!([bash(command), say("done")]))).unwrap();
    let outcome = finish(stream(&world).args(["--dangerously-skip-permissions"]).close());
    assert_eq!(outcome.result().unwrap()["result"], "done", "{}", outcome.stderr);
    assert_gone(&world, 200);
}

#[test]
fn x31_nor_what_hooks_and_background_tasks_have_started() {
    let hold = "setsid sh -c 'trap \"\" TERM; echo $$ >> pids; sleep 60' > /dev/null 2>&1 & sleep 0.2";
    let settings = json!({"hooks": {
        "SessionStart": [{"hooks": [{"type": "command", "command": hold}]}],
        "PreToolUse": [{"hooks": [{"type": "command", "command": hold}]}],
        "Stop": [{"hooks": [{"type": "command", "command": hold}]}]
    }});
    let background = call("Bash", &json!({"command": hold, "run_in_background": true}));
    let world = World::empty(script(json!([background, say("done"), say("done")]))).unwrap();
    let run = stream(&world).args(["--dangerously-skip-permissions", "--settings", &settings.to_string()]);
    let outcome = finish(run.close());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_gone(&world, 3);
}

#[test]
fn x31_a_killed_agent_takes_its_command_with_it() {
    let command = "echo $$ >> pids; trap '' TERM HUP; sleep 60 & echo $! >> pids; wait; sleep 60";
    let world = World::empty(script(json!([bash(command), say("done")]))).unwrap();
    let run = stream(&world).args(["--dangerously-skip-permissions"]);
    let pids = world.wd().join(PIDS);
    let waiter = std::thread::spawn(move || {
        let deadline = Instant::now() + Duration::from_secs(20);
        while std::fs::read_to_string(&pids).map_or(0, |text| text.lines().count()) < 2 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        let shell = std::fs::read_to_string(&pids).unwrap().lines().next().unwrap().to_owned();
        let status = std::fs::read_to_string(format!("/proc/{shell}/status")).unwrap();
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap().trim().to_owned();
        let kill = testkit::Run::new(Path::new("/bin/kill"), Path::new("/")).named("kill");
        kill.args(["-TERM", &parent]).finish().unwrap();
    });
    let outcome = finish(run.hold());
    waiter.join().unwrap();
    assert_eq!(outcome.code, Some(143), "{}", outcome.stderr);
    assert_gone(&world, 2);
}

/// What a command finds in its environment under these names.
const SECRETS: [(&str, &str); 12] = [
    ("ANTHROPIC_AUTH_TOKEN", "zz-auth"),
    ("CLAUDE_CODE_OAUTH_TOKEN", "zz-oauth"),
    ("GITHUB_TOKEN", "zz-gh"),
    ("MY_SERVICE_TOKEN", "zz-mine"),
    ("AWS_ACCESS_KEY_ID", "zz-aws"),
    ("AWS_SECRET_ACCESS_KEY", "zz-aws2"),
    ("AWS_SESSION_TOKEN", "zz-aws3"),
    ("LD_LIBRARY_PATH", "/zz-lib"),
    ("DB_PASSWORD", "zz-db"),
    ("AZURE_CLIENT_SECRET", "zz-azure"),
    ("OPENAI_API_KEY", "zz-openai"),
    ("ANTHROPIC_CUSTOM_HEADERS", "x-zz: zz-header"),
];

#[test]
fn x32_a_scrubbed_environment_holds_no_credentials() {
    let look = "env > seen; sh -c 'env >> seen'; cat /proc/$$/environ | tr '\\0' '\\n' >> seen; true";
    let settings = json!({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "env >> hook-seen"}]}]}});
    for scrubbed in [true, false] {
        let world = World::empty(script(json!([bash(look), say("done")]))).unwrap();
        let mut run = stream(&world).args(["--dangerously-skip-permissions", "--settings", &settings.to_string()]);
        for (name, value) in SECRETS.into_iter().filter(|(name, _)| !name.starts_with("ANTHROPIC_AUTH")) {
            run = run.env(name, value);
        }
        if scrubbed {
            run = run.env("CLAUDE_CODE_SUBPROCESS_ENV_SCRUB", "1");
        }
        let outcome = finish(run.close());
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        let seen = world.read("seen").unwrap();
        assert!(seen.contains("PATH="), "{seen}");
        let found: Vec<&str> = SECRETS.iter().map(|(_, value)| *value).filter(|value| seen.contains(value)).collect();
        assert_eq!(found.is_empty(), scrubbed, "{found:?}");
        assert_eq!(seen.contains("sk-ant-test"), !scrubbed, "our own key");
    }
}

/// The agent as somebody who is not root: root may look at everything, so nothing would be shown by it.
/// `None` where that cannot be done: a tree that only root can enter.
fn as_nobody(world: &World) -> Option<testkit::Run> {
    let base = world.home().parent().unwrap();
    let set_up = "chown -R 65534:65534 \"$1\" && chmod 755 \"$1\" && exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$2\" --version";
    let tried = testkit::Run::new(Path::new("/bin/sh"), Path::new("/")).named("sh").env("PATH", "/usr/bin:/bin");
    let tried = tried.args(["-c", set_up, "sh", &base.display().to_string(), &binary().display().to_string()]).finish();
    let words = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    tried.is_ok_and(|outcome| outcome.code == Some(0)).then(|| {
        world.run(Path::new("/usr/bin/setpriv")).named("setpriv").args(words).args([binary().display().to_string()])
    })
}

fn is_root() -> bool {
    std::fs::read_to_string("/proc/self/status").unwrap().contains("\nUid:\t0\t")
}

#[test]
fn x33_a_command_cannot_look_into_the_agent() {
    let look = "p=$CLAUDE_PID; cat /proc/$p/environ; head -c 16 /proc/$p/mem; ls /proc/$p/fd/; cat /proc/$p/maps; \
        (command -v gdb && gdb -p $p -batch); (command -v strace && timeout 1 strace -p $p); echo looked at $p";
    let world = World::empty(script(json!([bash(look), say("done")]))).unwrap();
    let run = if is_root() { as_nobody(&world) } else { Some(world.run(&binary())) };
    let Some(run) = run else { return };
    let outcome =
        finish(run.args(["agent", "-p", "go", "--output-format=json", "--dangerously-skip-permissions"]).close());
    assert_eq!(outcome.code, Some(0), "{:?} {}", outcome.lines, outcome.stderr);
    let messages = world.mock().requests()[1].body["messages"].clone();
    let told = messages.as_array().unwrap().last().unwrap()["content"][0]["content"].to_string();
    assert!(told.contains("looked at") && !told.contains("looked at \""), "{told}");
    assert!(!told.contains("sk-ant-test") && !told.contains("r-xp"), "{told}");
    assert!(told.matches("ermission denied").count() >= 4, "{told}");
}

/// A key is in the agent's memory, not in what the kernel shows of its start: not even to root.
#[test]
fn keys_are_not_in_the_environment_that_the_kernel_shows() {
    let look = "tr '\\0' '\\n' < /proc/$CLAUDE_PID/environ > seen; echo looked >> seen";
    let world = World::empty(script(json!([bash(look), say("done")]))).unwrap();
    let run =
        stream(&world).args(["--dangerously-skip-permissions"]).env("GITHUB_TOKEN", "zz-gh").env("PLAIN", "zz-plain");
    let outcome = finish(run.close());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let seen = world.read("seen").unwrap();
    assert!(seen.contains("looked") && (!is_root() || seen.contains("zz-plain")), "{seen}");
    assert!(!seen.contains("sk-ant-test") && !seen.contains("zz-gh"), "{seen}");
}

/// `kill -9` of the agent, at different moments, with and without the sandbox: what it started is gone in a second, and
/// nothing is written afterwards.
#[test]
#[expect(clippy::disallowed_methods, reason = "the agent is killed by its process, as no runner of the test kit does")]
fn a_killed_agent_leaves_nothing_running_and_nothing_standing() {
    for (at, sandbox) in [(0, "off"), (120, "off"), (0, "workspace"), (150, "workspace")] {
        let beat = "(setsid sh -c 'echo up > up; trap \"\" TERM; while :; do echo x >> beat; sleep 0.02; done' >/dev/null 2>&1 &) ; sleep 60";
        let world = World::empty(script(json!([bash(beat), say("done")]))).unwrap();
        let mut child = std::process::Command::new(binary());
        let child = std::os::unix::process::CommandExt::arg0(&mut child, "claude")
            .args(["-p", "go", "--dangerously-skip-permissions", "--sandbox", sandbox])
            .current_dir(world.wd())
            .env_clear()
            .env("HOME", world.home())
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("ANTHROPIC_API_KEY", "sk-ant-test")
            // Root may skip permissions only where something says that it is boxed in.
            .env("IS_SANDBOX", "1")
            .env("ANTHROPIC_BASE_URL", world.mock().url())
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null());
        let mut child = child.spawn().unwrap();
        let patience = Instant::now() + Duration::from_secs(30);
        while world.read("up").is_none() {
            assert!(Instant::now() < patience, "{sandbox}: the command never started");
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(at));
        child.kill().unwrap();
        child.wait().unwrap();
        std::thread::sleep(Duration::from_secs(1));
        let last = world.read("beat");
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(world.read("beat"), last, "{sandbox}: something still writes");
        // The next start removes what stood in the places of protected files.
        if sandbox != "off" {
            assert!(world.wd().join(".mcp.json").is_dir(), "left behind by the killed agent");
        }
        finish(world.run(&binary()).named("ralph").args(["auth", "status"]).close());
        for name in [".mcp.json", ".claude", ".vscode", ".idea", ".ralph"] {
            assert!(!world.wd().join(name).exists(), "{sandbox}: {name} is left");
        }
    }
}
