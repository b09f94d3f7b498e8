//! Files of the served folders, and of no others.

use super::world::Server;
use serde_json::json;
use std::os::unix::fs::symlink;

#[test]
fn files_are_read_written_moved_and_deleted() {
    let server = Server::start(&[]);
    let wd = server.world.wd().display().to_string();
    let put = server.send("PUT", "/v1/fs/file?path=a/b.txt", "application/octet-stream", b"hello");
    assert_eq!((put.status, put.json()), (200, json!({"path": format!("{wd}/a/b.txt"), "bytesWritten": 5})));
    let read = server.get("/v1/fs/file?path=a%2Fb.txt");
    assert_eq!((read.text().as_str(), read.header("content-disposition")), ("hello", Some("attachment")));
    assert_eq!(server.get(&format!("/v1/fs/stat?path={wd}/a/b.txt")).json()["size"], 5);
    assert_eq!(server.get("/v1/fs/stat?path=missing").status, 400);
    assert_eq!(server.get("/v1/fs/file?path=missing").status, 404);
    assert_eq!(server.get("/v1/fs/file").status, 400);
    assert_eq!(server.post("/v1/fs/move", &json!({"from": "a/b.txt", "to": "c.txt"})).status, 200);
    assert_eq!(server.get("/v1/fs/entries?path=a").json(), json!([]));
    assert_eq!(server.send("POST", "/v1/fs/mkdir?path=x/y/z", "", b"").status, 200);
    assert_eq!(server.send("DELETE", "/v1/fs/entry?path=x", "", b"").status, 400);
    assert_eq!(server.send("DELETE", "/v1/fs/entry?path=x&recursive=true", "", b"").status, 200);
    assert!(server.world.read("c.txt").is_some_and(|text| text == "hello") && !server.world.wd().join("x").exists());
}

#[test]
fn paths_outside_are_403() {
    let server = Server::start(&[]);
    let secret = server.world.home().join("secret");
    std::fs::write(&secret, "PRIVATE").expect("a file");
    symlink(&secret, server.world.wd().join("link")).expect("a link");
    symlink("../home", server.world.wd().join("door")).expect("a link");
    let outside = secret.display().to_string();
    for path in [
        outside.as_str(),
        "../home/secret",
        "/etc/passwd",
        "link",
        "door/secret",
        "%2e%2e/home/secret",
        "/proc/self/environ",
    ] {
        let answer = server.get(&format!("/v1/fs/file?path={path}"));
        assert_eq!(
            (answer.status, answer.json()["type"].as_str()),
            (403, Some("urn:sandbox-agent:error:permission_denied")),
            "{path}"
        );
    }
    for path in [outside.as_str(), "../home/new", "door/new"] {
        assert_eq!(server.send("PUT", &format!("/v1/fs/file?path={path}"), "", b"x").status, 403, "{path}");
        assert_eq!(server.send("DELETE", &format!("/v1/fs/entry?path={path}"), "", b"").status, 403, "{path}");
        assert_eq!(server.send("POST", &format!("/v1/fs/mkdir?path={path}/d"), "", b"").status, 403, "{path}");
        assert_eq!(server.post("/v1/fs/move", &json!({"from": ".ralph/todo.md", "to": path})).status, 403, "{path}");
    }
    assert_eq!(std::fs::read_to_string(secret).expect("the file"), "PRIVATE");
}

#[test]
fn files_that_later_runs_obey_are_not_changed() {
    let server = Server::start(&["--allow-exec"]);
    let write = |path: &str| server.send("PUT", &format!("/v1/fs/file?path={path}"), "", b"x").status;
    std::fs::create_dir_all(server.world.wd().join(".claude")).expect("a folder");
    std::fs::write(server.world.wd().join(".claude/settings.json"), "{}").expect("a file");
    let config = server.world.read(".ralph/config.toml");
    for path in [
        ".claude/settings.json",
        ".Claude/settings.json",
        ".claude/skills/x/SKILL.md",
        "inner/.claude/settings.json",
        "a/../.mcp.json",
        ".mcp.json",
        ".ralph/config.toml",
        ".ralph/check",
        ".ralph/runs/x",
        ".git/hooks/pre-commit",
        ".git/config",
        ".vscode/tasks.json",
        ".envrc",
    ] {
        assert_eq!(write(path), 403, "{path}");
        let remove = server.send("DELETE", &format!("/v1/fs/entry?path={path}&recursive=true"), "", b"");
        assert_eq!(remove.status, 403, "{path}");
        assert_eq!(server.send("POST", &format!("/v1/fs/mkdir?path={path}/d"), "", b"").status, 403, "{path}");
        assert_eq!(server.post("/v1/fs/move", &json!({"from": ".ralph/todo.md", "to": path})).status, 403, "{path}");
        assert_eq!(server.post("/v1/fs/move", &json!({"from": path, "to": "away"})).status, 403, "{path}");
    }
    // Neither by a folder that is given the name afterwards, nor by an archive; and no half of an archive is unpacked.
    assert_eq!(write("made/settings.json"), 200);
    assert_eq!(server.post("/v1/fs/move", &json!({"from": "made", "to": ".claude", "overwrite": true})).status, 403);
    assert_eq!(server.post("/v1/fs/move", &json!({"from": ".ralph", "to": "away"})).status, 403);
    let tar = [entry("fine.txt"), entry(".claude/settings.json"), vec![0; 1024]].concat();
    assert_eq!(server.send("POST", "/v1/fs/upload-batch?path=.", "application/x-tar", &tar).status, 403);
    assert!(!server.world.wd().join("fine.txt").exists());
    assert_eq!(server.world.read(".claude/settings.json").as_deref(), Some("{}"));
    assert_eq!(server.world.read(".ralph/config.toml"), config);
    // They can be read, and what lies beside them is written.
    assert_eq!(server.get("/v1/fs/file?path=.claude/settings.json").status, 200);
    assert_eq!(write(".ralph/prompt.md"), 200);
    assert_eq!(write(".claude/worktrees/one/a.rs"), 200);
}

/// A file in a tar archive, with one byte.
fn entry(name: &str) -> Vec<u8> {
    let mut header = vec![0; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[124..136].copy_from_slice(b"00000000001\0");
    header[148..156].copy_from_slice(b"        ");
    header[156] = b'0';
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut body = vec![0; 512];
    body[0] = b'x';
    header.extend(body);
    header
}

#[test]
fn mcp_servers_are_kept_where_agents_look() {
    let server = Server::start(&["--allow-exec"]);
    let path = "/v1/config/mcp?directory=.&mcpName=files";
    let config = json!({"type": "local", "command": "mcp-files", "args": ["."]});
    assert_eq!(server.send("PUT", path, "application/json", config.to_string().as_bytes()).status, 204);
    assert_eq!(server.get(path).json(), config);
    let file = server.world.read(".mcp.json").expect("the file");
    assert!(file.contains("\"stdio\"") && file.contains("mcp-files"), "{file}");
    assert_eq!(server.send("DELETE", path, "", b"").status, 204);
    assert_eq!(server.get(path).status, 404);
    assert_eq!(server.get("/v1/config/mcp?directory=/etc&mcpName=x").status, 403);
}

#[test]
fn what_a_later_run_would_start_needs_allow_exec() {
    let server = Server::start(&[]);
    let put = |path: &str, body: serde_json::Value| {
        server.send("PUT", path, "application/json", body.to_string().as_bytes()).status
    };
    let mcp = "/v1/config/mcp?directory=.&mcpName=x";
    assert_eq!(put(mcp, json!({"type": "local", "command": "touch", "args": ["made"]})), 403);
    assert_eq!(put(mcp, json!({"type": "remote", "url": "http://127.0.0.1:1/"})), 204);
    std::fs::create_dir_all(server.world.wd().join("s")).expect("a folder");
    std::fs::write(server.world.wd().join("s/SKILL.md"), "x").expect("a file");
    assert_eq!(
        put("/v1/config/skills?directory=.&skillName=s", json!({"sources": [{"type": "local", "source": "s"}]})),
        403
    );
    assert!(!server.world.wd().join(".claude/skills").exists());
}
