//! Checkouts that agents make for each other, below a folder that is protected.

use crate::{BYPASS, agent, bash, finish, results, say, tool, world};
use serde_json::json;

/// An agent in a worktree of its own writes there by commands and by tools, and nowhere else below `.claude`.
#[test]
fn an_isolated_agent_can_work_and_the_rest_stays_protected() {
    let errand = json!({"description": "d", "prompt": "go", "isolation": "worktree"});
    let tries = "echo x > made; git add made; git -c user.name=a -c user.email=a@localhost commit -qm made; \
                 echo evil > ../../settings.json; echo evil > .mcp.json.x; echo evil > .git; \
                 echo evil > \"$(git rev-parse --git-common-dir)/hooks/pre-commit\"; \
                 echo evil > \"$(git rev-parse --git-dir)/commondir\"; cat made";
    let world = world(json!([
        tool("Agent", &errand),
        bash(tries),
        tool("Write", &json!({"file_path": "by-tool", "content": "x"})),
        say("sub done"),
        say("ok")
    ]));
    let outcome = finish(agent(&world, &[BYPASS, "--sandbox"]));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let folder = world.wd().join(".claude/worktrees");
    let checkout = std::fs::read_dir(&folder).expect("a folder of checkouts").filter_map(Result::ok);
    let checkout = checkout.map(|entry| entry.path()).find(|path| path.is_dir());
    let checkout = checkout.unwrap_or_else(|| panic!("no checkout: {}", results(&outcome)));
    let text = |path: &str| std::fs::read_to_string(checkout.join(path)).unwrap_or_default();
    assert_eq!(text("made"), "x\n", "{}", results(&outcome));
    assert_eq!(text("by-tool"), "x", "{}", results(&outcome));
    assert!(text(".git").starts_with("gitdir:"), "{}", text(".git"));
    assert!(!world.wd().join(".claude/settings.json").exists());
    assert!(!world.wd().join(".git/hooks/pre-commit").exists());
    let name = checkout.file_name().unwrap().to_owned();
    let tie = std::fs::read_to_string(world.wd().join(".git/worktrees").join(name).join("commondir")).unwrap();
    assert_eq!(tie.trim(), "../..");
}
