//! Servers that are processes: how they are used, and how little they can break.

use crate::kit::{call, configs, deps, eventually, run, started, status, stdio, text};
use ralph_mcp::{Deps, Servers};
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};

fn world() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn tools_are_listed_and_called() {
    let folder = world();
    run(async {
        let servers = started(deps(&folder), &json!({"calc": stdio("calc")})).await;
        let status = status(&servers, "calc");
        assert_eq!((status.status, status.error, status.scope.as_str()), ("connected", None, "project"));
        assert_eq!(status.server_info.unwrap()["name"], "fake");
        assert_eq!(status.config["args"], json!(["calc"]));
        let names: Vec<String> = servers.tools().into_iter().map(|tool| tool.full_name).collect();
        // The last one has no schema: a bad description costs no tool.
        assert_eq!((names[0].as_str(), names[14].as_str()), ("mcp__calc__add", "mcp__calc__bare"));
        assert_eq!(servers.instructions(), [("calc".to_owned(), "be kind".to_owned())]);
        let sum = servers.call("mcp__calc__add", json!({"a": 2, "b": 3})).await.unwrap();
        assert_eq!((sum.content, sum.is_error), (vec![json!({"type": "text", "text": "5"})], false));
        let failed = servers.call("mcp__calc__fail", json!(null)).await.unwrap();
        assert_eq!((text(&failed), failed.is_error), ("boom", true));
        let refused = servers.call("mcp__calc__refuse", json!({})).await.unwrap_err().to_string();
        assert_eq!(refused, "not like that (MCP error -32602)");
        assert_eq!(call(&servers, "mcp__calc__odd").await, r#"{"type":"hologram","x":1}"#);
        assert!(servers.call("mcp__calc__nope", json!({})).await.unwrap_err().to_string().contains("mcp__calc__nope"));
        assert!(servers.call("mcp__calc__add", json!([1])).await.is_err());
    });
}

#[test]
fn a_process_gets_the_common_environment_and_its_own() {
    let folder = world();
    run(async {
        let mut entry = stdio("calc");
        entry["env"] = json!({"OWN": "mine", "PATH": "/nowhere"});
        let servers = started(deps(&folder), &json!({"s": entry})).await;
        for (name, expected) in [("OWN", "mine"), ("COMMON", "shared"), ("PATH", "/nowhere"), ("HOME", "")] {
            let told = servers.call("mcp__s__env", json!({"name": name})).await.unwrap();
            assert_eq!(text(&told), expected, "{name}");
        }
    });
}

#[test]
fn roots_are_told_to_a_server_that_asks() {
    let folder = world();
    run(async {
        let servers = started(deps(&folder), &json!({"s": stdio("calc")})).await;
        assert_eq!(call(&servers, "mcp__s__roots").await, r#"[{"uri":"file:///the%20work"}]"#);
    });
}

#[test]
fn a_changed_list_of_tools_is_read_again() {
    let folder = world();
    run(async {
        let servers = started(deps(&folder), &json!({"s": stdio("calc")})).await;
        let known = |name: &str| servers.tools().iter().any(|tool| tool.full_name == name);
        assert!(!known("mcp__s__grown1"));
        call(&servers, "mcp__s__grow").await;
        eventually(|| known("mcp__s__grown1")).await;
        call(&servers, "mcp__s__grow").await;
        eventually(|| known("mcp__s__grown2")).await;
        assert_eq!(call(&servers, "mcp__s__grown2").await, "grown2");
    });
}

#[test]
fn all_pages_are_read_but_not_without_end() {
    let folder = world();
    run(async {
        let entries = json!({"paged": stdio("paged"), "forever": stdio("forever")});
        let servers = started(deps(&folder), &entries).await;
        let tools = |server: &str| servers.tools().iter().filter(|tool| tool.server == server).count();
        assert_eq!((tools("paged"), tools("forever")), (4, 200));
    });
}

#[test]
fn a_failure_names_its_cause_and_the_servers_last_words() {
    let folder = world();
    run(async {
        let missing = json!({"command": "/no/such/program"});
        let entries = json!({"dies": stdio("dies"), "confused": stdio("confused"), "missing": missing,
            "silent": stdio("silent"), "fine": stdio("noisy")});
        let deps = Deps { start_timeout: Duration::from_secs(3), ..deps(&folder) };
        let servers = started(deps, &entries).await;
        eventually(|| status(&servers, "silent").status == "failed").await;
        for (name, parts) in [
            ("dies", &["exit code 2", "no database at the door"][..]),
            ("confused", &["exit code 0", "usage: give me a port"]),
            ("missing", &["/no/such/program", "install it"]),
            ("silent", &["not ready within 3 s"]),
        ] {
            let status = status(&servers, name);
            let error = status.error.unwrap();
            assert_eq!(status.status, "failed", "{name}");
            assert!(parts.iter().all(|part| error.contains(part)), "{name}: {error}");
        }
        assert_eq!(status(&servers, "fine").status, "connected");
        assert_eq!(servers.tools().iter().filter(|tool| tool.server != "fine").count(), 0);
    });
}

#[test]
fn a_crash_ends_its_own_call_and_the_next_one_brings_the_server_back() {
    let folder = world();
    run(async {
        let servers = started(deps(&folder), &json!({"s": stdio("calc"), "other": stdio("calc")})).await;
        let (first, other) = (call(&servers, "mcp__s__pid").await, call(&servers, "mcp__other__pid").await);
        let waiting = servers.call("mcp__s__hang", json!({}));
        let crashing = servers.call("mcp__s__crash", json!({}));
        let (waited, crashed) = tokio::join!(waiting, crashing);
        for error in [waited.unwrap_err(), crashed.unwrap_err()].map(|error| error.to_string()) {
            assert!(error.contains("exit code 3") && error.contains("panicked at the disco"), "{error}");
        }
        assert_eq!(status(&servers, "s").status, "failed");
        assert_eq!(call(&servers, "mcp__other__pid").await, other);
        assert_ne!(call(&servers, "mcp__s__pid").await, first);
        assert_eq!(status(&servers, "s").status, "connected");
    });
}

#[test]
fn a_flood_ends_nothing_but_its_own_call() {
    let folder = world();
    run(async {
        let servers = started(deps(&folder), &json!({"s": stdio("calc"), "other": stdio("calc")})).await;
        let flooded = servers.call("mcp__s__endless", json!({})).await.unwrap_err().to_string();
        assert!(flooded.contains("message of more than 16777216 bytes"), "{flooded}");
        // Messages without end: the call waits, and everybody else goes on.
        let flooding = servers.call("mcp__s__flood", json!({}));
        let working = async {
            for _ in 0..20 {
                let sum = servers.call("mcp__other__add", json!({"a": 1, "b": 1})).await.unwrap();
                assert_eq!(text(&sum), "2");
            }
        };
        tokio::select! {
            ended = flooding => panic!("{ended:?}"),
            () = working => {}
        }
        let started = Instant::now();
        servers.shutdown().await;
        assert!(started.elapsed() < Duration::from_millis(1500), "{:?}", started.elapsed());
    });
}

#[test]
fn a_call_nobody_waits_for_is_cancelled_at_the_server() {
    let folder = world();
    let log = folder.path().join("log");
    let heard =
        |log: &Path, what: &str| std::fs::read_to_string(log).unwrap().lines().filter(|line| *line == what).count();
    run(async {
        let mut entry = stdio("calc");
        entry["args"] = json!(["calc", log]);
        let servers = started(deps(&folder), &json!({"s": entry})).await;
        let hanging = servers.call("mcp__s__hang", json!({}));
        tokio::select! {
            ended = hanging => panic!("{ended:?}"),
            () = eventually(|| heard(&log, "tools/call") == 1) => {}
        }
        eventually(|| heard(&log, "notifications/cancelled") == 1).await;
        assert_eq!(text(&servers.call("mcp__s__add", json!({"a": 1})).await.unwrap()), "1");
    });
}

#[test]
fn a_hanging_call_ends_at_its_limit() {
    let folder = world();
    run(async {
        let quick = Some(Duration::from_millis(200));
        let servers = started(Deps { idle_timeout: quick, ..deps(&folder) }, &json!({"s": stdio("calc")})).await;
        assert!(
            servers
                .call("mcp__s__hang", json!({}))
                .await
                .unwrap_err()
                .to_string()
                .contains("did not answer within 0.2 s")
        );
        let mut entry = stdio("calc");
        entry["timeout"] = json!(1000);
        let servers = started(deps(&folder), &json!({"s": entry})).await;
        assert!(
            servers
                .call("mcp__s__hang", json!({}))
                .await
                .unwrap_err()
                .to_string()
                .contains("did not answer within 1 s")
        );
        assert_eq!(status(&servers, "s").status, "connected");
    });
}

#[test]
fn a_long_result_goes_to_a_file() {
    let folder = world();
    run(async {
        let servers = started(deps(&folder), &json!({"s": stdio("calc")})).await;
        let called = servers.call("mcp__s__big", json!({})).await.unwrap();
        assert!(text(&called).len() < 4096 && text(&called).contains("about 125000 tokens"), "{}", text(&called));
        let file = std::fs::read_dir(folder.path().join("spilled")).unwrap().next().unwrap().unwrap();
        assert_eq!(file.metadata().unwrap().len(), 500_000);
        assert!(text(&called).contains(&*file.path().to_string_lossy()));
    });
}

#[test]
fn resources_are_listed_and_read() {
    let folder = world();
    run(async {
        let servers = started(deps(&folder), &json!({"s": stdio("calc"), "dies": stdio("dies")})).await;
        let one = json!({"uri": "a:1", "name": "one", "server": "s"});
        for server in [None, Some("s")] {
            assert_eq!(servers.resources(server).await.unwrap(), std::slice::from_ref(&one), "{server:?}");
        }
        assert!(servers.resources(Some("dies")).await.unwrap_err().to_string().contains("no database"));
        let read = servers.read_resource("s", "a:1").await.unwrap();
        assert_eq!(read, [json!({"uri": "a:1", "mimeType": "text/plain", "text": "inside"})]);
    });
}

#[test]
fn servers_are_gone_in_a_moment_even_stubborn_ones() {
    let folder = world();
    run(async {
        let servers = Servers::new(deps(&folder));
        servers.start(configs(&json!({"a": stdio("stubborn"), "b": stdio("calc"), "c": stdio("silent")})));
        eventually(|| servers.statuses().iter().filter(|status| status.status == "connected").count() == 2).await;
        let pids = [call(&servers, "mcp__a__pid").await, call(&servers, "mcp__b__pid").await];
        let started = Instant::now();
        servers.shutdown().await;
        assert!(started.elapsed() < Duration::from_millis(300), "{:?}", started.elapsed());
        eventually(|| !pids.iter().any(|pid| alive(pid))).await;
        assert!(servers.tools().is_empty());
    });
}

#[test]
fn dropping_the_manager_ends_its_servers() {
    let folder = world();
    run(async {
        let servers = started(deps(&folder), &json!({"a": stdio("stubborn")})).await;
        let pid = call(&servers, "mcp__a__pid").await;
        assert!(alive(&pid));
        drop(servers);
        eventually(|| !alive(&pid)).await;
    });
}

#[test]
fn servers_are_switched_off_and_on_and_connected_anew() {
    let folder = world();
    run(async {
        let servers = started(deps(&folder), &json!({"s": stdio("calc"), "dies": stdio("dies")})).await;
        let pid = call(&servers, "mcp__s__pid").await;
        servers.toggle("s", false).unwrap();
        assert_eq!((status(&servers, "s").status, servers.tools().len()), ("disabled", 0));
        assert!(servers.reconnect("s").await.unwrap_err().to_string().contains("disabled"));
        eventually(|| !alive(&pid)).await;
        servers.toggle("s", true).unwrap();
        servers.ready().await;
        let second = call(&servers, "mcp__s__pid").await;
        servers.reconnect("s").await.unwrap();
        assert_ne!(call(&servers, "mcp__s__pid").await, second);
        assert!(servers.reconnect("dies").await.unwrap_err().to_string().contains("no database"));
        assert!(servers.reconnect("nobody").await.is_err());
        assert!(servers.toggle("nobody", true).is_err());
    });
}

#[test]
fn servers_set_at_run_time_replace_each_other_and_nobody_else() {
    let folder = world();
    run(async {
        let servers = started(deps(&folder), &json!({"fixed": stdio("calc")})).await;
        let set = servers.set(configs(&json!({"a": stdio("calc"), "b": stdio("dies"), "fixed": stdio("calc")}))).await;
        assert_eq!((set.added, set.removed), (vec!["a".to_owned(), "b".to_owned()], vec![]));
        let troubled: Vec<&str> = set.errors.keys().map(String::as_str).collect();
        assert_eq!(troubled, ["b", "fixed"]);
        let pid = call(&servers, "mcp__a__pid").await;
        // The same again changes nothing; another configuration replaces.
        let set = servers.set(configs(&json!({"a": stdio("calc")}))).await;
        assert_eq!((set.added.len(), set.removed), (0, vec!["b".to_owned()]));
        assert_eq!(call(&servers, "mcp__a__pid").await, pid);
        let set = servers.set(configs(&json!({"a": stdio("noisy")}))).await;
        assert_eq!((set.added, set.removed), (vec!["a".to_owned()], vec!["a".to_owned()]));
        let set = servers.set(vec![]).await;
        assert_eq!(set.removed, ["a"]);
        assert_eq!(servers.statuses().len(), 1);
        assert_eq!(status(&servers, "fixed").status, "connected");
    });
}

#[test]
fn a_resource_that_never_comes_is_not_waited_for_like_a_tool() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let deps =
            Deps { lookup_timeout: Duration::from_millis(200), call_timeout: Duration::from_hours(1), ..deps(&folder) };
        let servers = started(deps, &json!({"s": stdio("")})).await;
        let error = servers.read_resource("s", "hang:1").await.unwrap_err().to_string();
        assert!(error.contains("\"s\""), "{error}");
        assert_ne!(call(&servers, "mcp__s__pid").await, "", "it is still there");
    });
}
