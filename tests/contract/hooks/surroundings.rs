//! The working folder, folders that are added, and files that change.

use super::{answer, control, duplex, heard, notes, on, only, run, said};
use crate::common::{bash, call, finish, say, tool_results, world};
use serde_json::json;

#[test]
fn a_command_that_goes_elsewhere_is_told() {
    let world =
        world(json!([bash("cd deeper && pwd"), bash("pwd"), bash("cd deeper 2>/dev/null; cd /; true"), say("done")]));
    std::fs::create_dir(world.wd().join("deeper")).unwrap();
    // A matcher means nothing here.
    let hooks = json!({"hooks": {"CwdChanged": [{"matcher": "nowhere", "hooks": [notes("moved")]}]}});
    finish(run(&world, &hooks, "go"));
    let told = heard(&world, "moved");
    let (project, deeper) = (json!(world.wd()), json!(world.wd().join("deeper")));
    assert_eq!((told.len(), &told[0]["cwd"]), (2, &deeper), "{told:?}");
    assert_eq!((&told[0]["old_cwd"], &told[0]["new_cwd"]), (&project, &deeper));
    // Whoever leaves the project is brought back to it.
    assert_eq!((&told[1]["old_cwd"], &told[1]["new_cwd"]), (&deeper, &project));
}

#[test]
fn a_watched_file_is_told_of_when_it_comes_changes_and_goes() {
    let wait =
        |lines: usize| format!("until [ \"$(cat changed 2>/dev/null | wc -l)\" -ge {lines} ]; do sleep 0.05; done");
    let world = world(json!([
        bash(&format!("echo 1 > .envrc; {}", wait(1))),
        bash(&format!("echo 22 > .envrc; {}", wait(2))),
        bash(&format!("rm .envrc; echo 1 > listed; {}", wait(4))),
        say("done")
    ]));
    let watch = json!({"hookSpecificOutput": {"hookEventName": "SessionStart", "watchPaths": ["listed"]}});
    let note = "cat >> \"$CLAUDE_PROJECT_DIR\"/changed; echo '{\"hookSpecificOutput\":{\"hookEventName\":\"FileChanged\",\"additionalContext\":\"reload the environment\"}}'";
    let hooks = json!({"hooks": {
        "SessionStart": [{"hooks": [{"type": "command", "command": format!("echo '{watch}'")}]}],
        "FileChanged": [{"matcher": ".envrc|.env|listed", "hooks": [{"type": "command", "command": note}]}],
    }});
    let outcome = finish(run(&world, &hooks, "go"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let told: Vec<_> = heard(&world, "changed")
        .iter()
        .map(|told| (told["file_path"].as_str().unwrap().rsplit('/').next().unwrap().to_owned(), told["event"].clone()))
        .collect();
    assert_eq!(told[..2], [(".envrc".to_owned(), json!("add")), (".envrc".to_owned(), json!("change"))]);
    assert!(
        told.contains(&(".envrc".to_owned(), json!("unlink"))) && told.contains(&("listed".to_owned(), json!("add")))
    );
    assert!(said(&world, 1).contains("reload the environment"));
}

#[test]
fn a_folder_that_a_client_registers_is_told_of_once() {
    let world = world(json!([say("done")]));
    std::fs::create_dir(world.wd().join("deeper")).unwrap();
    let register = |id: &str, folder: &str| control(id, &json!({"subtype": "register_repo_root", "directory": folder}));
    let outcome = finish(
        duplex(&world, &on("DirectoryAdded", &json!([notes("added")])))
            .send(register("1", "deeper"))
            .wait(json!({"type": "control_response", "response": {"request_id": "1", "subtype": "success"}}))
            .send(register("2", "deeper"))
            .wait(json!({"type": "control_response", "response": {"request_id": "2", "subtype": "error"}}))
            .send(register("3", "/"))
            .wait(json!({"type": "control_response", "response": {"request_id": "3", "subtype": "error"}}))
            .send(register("4", "missing"))
            .wait(json!({"type": "control_response", "response": {"request_id": "4", "subtype": "error"}}))
            .prompt("go")
            .wait(json!({"type": "result"}))
            .close(),
    );
    assert!(outcome.unmet.is_empty(), "{:?}", outcome.lines);
    let told = only(&world, "added");
    assert_eq!(
        (&told["directory"], &told["source"]),
        (&json!(world.wd().join("deeper")), &json!("register_repo_root"))
    );
}

#[test]
fn a_folder_that_comes_with_a_permission_is_told_of_and_may_be_worked_in() {
    let world = world(json!([call("Write", &json!({"file_path": "$HOME/beside/a", "content": "x"})), say("done")]));
    let beside = world.home().join("beside");
    std::fs::create_dir(&beside).unwrap();
    let allow = json!({"behavior": "allow", "updatedPermissions": [{"type": "addDirectories", "directories": [beside], "destination": "session"}]});
    let outcome = finish(
        duplex(&world, &on("DirectoryAdded", &json!([notes("added")])))
            .args(["--permission-prompt-tool", "stdio"])
            .prompt("go")
            .wait(json!({"type": "control_request", "request": {"subtype": "can_use_tool"}}))
            .send(answer(&allow))
            .wait(json!({"type": "result"}))
            .close(),
    );
    assert!(outcome.unmet.is_empty() && beside.join("a").is_file(), "{:?}", tool_results(&outcome));
    assert_eq!(only(&world, "added")["directory"], json!(beside));
}
