//! The temporary folder of a box is its own: nobody else's files are in it, and it goes with the box.

use crate::world::World;
use ralph_sandbox::{Request, Sandbox};

#[test]
fn temporary_files_of_others_are_neither_seen_nor_changed() {
    let world = World::new();
    std::fs::write(world.at("temp/lock"), "theirs\n").unwrap();
    assert!(world.free("cat \"$TMPDIR\"/lock && echo >> \"$TMPDIR\"/lock").ok, "without a sandbox this works");
    std::fs::write(world.at("temp/lock"), "theirs\n").unwrap();
    let sandbox = world.sandbox();
    let said = world.inside(&sandbox, "cat \"$TMPDIR\"/lock; echo x > \"$TMPDIR\"/lock; echo x > \"$TMPDIR\"/new");
    assert!(!said.text.contains("theirs"), "{}", said.text);
    assert_eq!(world.text("temp/lock"), "theirs\n");
    assert!(!world.at("temp/new").exists());
    let said = world.inside(&sandbox, "cat \"$TMPDIR\"/new && mktemp && mktemp -d");
    assert!(said.ok, "the next command finds what the last one wrote: {}", said.text);
    let own = sandbox.rules().outside(&world.at("temp/new"));
    assert_eq!(std::fs::read_to_string(&own).unwrap(), "x\n", "who looks from outside knows where it is");
    drop(sandbox);
    assert!(!own.exists(), "it goes with the box");
}

/// Everything of the world lies below the temporary folder: the workspace, the home folder, and what is none of the
/// command's business.
#[test]
fn a_workspace_below_the_temporary_folder() {
    let world = World::with_git();
    let request = Request { temp: vec![world.root.clone(), "/dev/shm".into()], ..world.request() };
    let sandbox = Sandbox::new(request.rules()).unwrap();
    if !sandbox.weaknesses().is_empty() {
        return;
    }
    let said = world.inside(&sandbox, "echo x > new && git add -A && git commit -qm x && git log --oneline | wc -l");
    assert!(said.ok && said.text.trim().ends_with('2'), "{}", said.text);
    assert_eq!(world.text("work/new"), "x\n");
    let root = world.root.display();
    let said = world.inside(&sandbox, &format!("cat {root}/outside/file; echo x > {root}/outside/file"));
    assert!(!said.text.contains("precious"), "{}", said.text);
    assert_eq!(world.text("outside/file"), "precious\n");
    let said = world.inside(
        &sandbox,
        "cat ~/.bashrc; cat ~/.ssh/id_ed25519 ~/.netrc ~/.claude/.credentials.json; echo x >> ~/.bashrc",
    );
    assert!(said.text.contains("alias") && !said.text.contains("PRIVATE"), "{}", said.text);
    assert!(!said.text.contains("password") && !said.text.contains("sk-secret"), "{}", said.text);
    assert_eq!(world.text("home/.bashrc"), "alias ll=ls\n");
    for protected in [".mcp.json", ".git/hooks/pre-commit", ".git/config"] {
        let before = world.text(&format!("work/{protected}"));
        world.inside(&sandbox, &format!("echo x > {protected}"));
        assert_eq!(world.text(&format!("work/{protected}")), before, "{protected}");
    }
}

#[test]
fn shared_memory_files_are_its_own() {
    let world = World::new();
    let name = format!("/dev/shm/sandbox-test-{}", std::process::id());
    std::fs::write(&name, "theirs\n").unwrap();
    let request = Request { temp: vec![world.at("temp"), "/dev/shm".into()], ..world.request() };
    let sandbox = Sandbox::new(request.rules()).unwrap();
    let said = world.inside(&sandbox, &format!("cat {name}; echo x > {name}; cat {name}"));
    let after = std::fs::read_to_string(&name).unwrap();
    std::fs::remove_file(&name).unwrap();
    assert!(said.ok && !said.text.contains("theirs"), "{}", said.text);
    assert_eq!(after, "theirs\n");
}
