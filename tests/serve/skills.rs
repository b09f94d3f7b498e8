//! Skills as sandbox-agent's interface has them: sources are set, copied to where agents look, replaced and removed.

use super::world::Server;
use serde_json::{Value, json};
use std::path::Path;

const PATH: &str = "/v1/config/skills?directory=.&skillName=default";

fn put(server: &Server, sources: &Value) -> (u16, String) {
    let body = json!({"sources": sources}).to_string();
    let answer = server.send("PUT", PATH, "application/json", body.as_bytes());
    (answer.status, answer.text())
}

fn skill(folder: &Path, name: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = folder.join(name);
    std::fs::create_dir_all(folder.join("scripts")).expect("folders");
    std::fs::write(folder.join("SKILL.md"), format!("---\nname: {name}\ndescription: d\n---\nDo it.\n"))
        .expect("a file");
    let script = folder.join("scripts/do.sh");
    std::fs::write(&script, "#!/bin/sh\n").expect("a file");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("a mode");
}

fn installed(server: &Server) -> Vec<String> {
    let entries = std::fs::read_dir(server.world.wd().join(".claude/skills")).into_iter().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    names
}

#[test]
fn local_skills_are_copied_replaced_and_removed() {
    use std::os::unix::fs::PermissionsExt as _;
    let server = Server::start(&["--allow-exec"]);
    let wd = server.world.wd().to_owned();
    skill(&wd.join("mine/skills"), "one");
    skill(&wd.join("mine/skills"), "two");
    skill(&wd.join("mine"), "three");
    let sources =
        json!([{"type": "local", "source": wd.join("mine").display().to_string(), "skills": ["one", "three"]}]);
    assert_eq!(put(&server, &sources).0, 204);
    assert_eq!(installed(&server), ["one", "three"]);
    let script = wd.join(".claude/skills/one/scripts/do.sh");
    assert!(script.metadata().expect("the script").permissions().mode() & 0o100 != 0, "it can still be run");
    assert_eq!(server.get(PATH).json(), json!({"sources": sources}));
    let fewer = json!([{"type": "local", "source": "mine", "subpath": "skills/two"}]);
    assert_eq!(put(&server, &fewer).0, 204);
    assert_eq!(installed(&server), ["two"], "what the entry had before is gone");
    assert_eq!(server.send("DELETE", PATH, "", b"").status, 204);
    assert_eq!((installed(&server), server.get(PATH).status), (Vec::new(), 404));
    assert_eq!(server.send("DELETE", PATH, "", b"").status, 204);
}

#[test]
fn a_repository_is_fetched_by_git() {
    let server = Server::start(&["--allow-exec"]);
    let wd = server.world.wd().to_owned();
    let repository = wd.join("repository");
    skill(&repository.join("skills"), "one");
    let git = |words: &[&str]| {
        let mut all = vec!["git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"];
        all.extend(words);
        let run = json!({"command": "env", "args": all, "cwd": "repository"});
        let done = server.post("/v1/processes/run", &run).json();
        assert_eq!(done["exitCode"], 0, "{done}");
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "one"]);
    git(&["tag", "v1"]);
    std::fs::write(repository.join("skills/one/SKILL.md"), "later").expect("a file");
    git(&["commit", "-qam", "two"]);
    let address = format!("file://{}", repository.display());
    let answer = put(&server, &json!([{"type": "git", "source": address, "ref": "v1"}]));
    assert_eq!(answer.0, 204, "{}", answer.1);
    assert!(server.world.read(".claude/skills/one/SKILL.md").is_some_and(|text| text.contains("Do it.")));
    assert_eq!(put(&server, &json!([{"type": "git", "source": address}])).0, 204);
    assert_eq!(server.world.read(".claude/skills/one/SKILL.md").as_deref(), Some("later"));
    let left = std::fs::read_dir(&wd).expect("the folder").filter_map(Result::ok);
    assert!(left.filter_map(|entry| entry.file_name().into_string().ok()).all(|name| !name.starts_with(".ralph-")));
}

#[test]
fn what_cannot_be_a_skill_is_refused_and_changes_nothing() {
    let server = Server::start(&["--allow-exec"]);
    let wd = server.world.wd().to_owned();
    skill(&wd.join("mine"), "one");
    skill(&wd.join(".claude/skills"), "taken");
    skill(&wd.join("other"), "taken");
    let outside = server.world.home().join("skill");
    skill(server.world.home(), "skill");
    for (sources, status) in [
        (json!([]), 400),
        (json!([{"type": "local", "source": "none"}]), 400),
        (json!([{"type": "local", "source": "."}]), 400),
        (json!([{"type": "local", "source": outside.display().to_string()}]), 403),
        (json!([{"type": "local", "source": "mine", "subpath": "../other"}]), 400),
        (json!([{"type": "local", "source": "mine", "skills": ["missing"]}]), 400),
        (json!([{"type": "local", "source": "mine"}, {"type": "local", "source": "mine"}]), 400),
        (json!([{"type": "local", "source": "other"}]), 409),
        (json!([{"type": "web", "source": "mine"}]), 400),
        (json!([{"type": "git", "source": "ext::touch made"}]), 400),
        (json!([{"type": "git", "source": "--upload-pack=touch"}]), 400),
        (json!([{"type": "git", "source": "file:///none/of/this"}]), 400),
    ] {
        let answer = put(&server, &sources);
        assert_eq!(answer.0, status, "{sources}: {}", answer.1);
        assert_eq!((installed(&server), server.get(PATH).status), (vec!["taken".to_owned()], 404), "{sources}");
    }
    for name in ["", "..", "a/b", ".hidden"] {
        let path = format!("/v1/config/skills?directory=.&skillName={name}");
        assert_eq!(server.send("PUT", &path, "application/json", b"{\"sources\":[]}").status, 400, "{name}");
    }
}
