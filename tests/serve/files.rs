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
fn mcp_servers_are_kept_where_agents_look() {
    let server = Server::start(&[]);
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
