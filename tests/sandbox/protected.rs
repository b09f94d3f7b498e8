//! Files of the workspace that decide what runs outside: they stay, whether they exist or not.

use crate::world::World;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

fn with_files() -> World {
    let world = World::with_git();
    std::fs::create_dir_all(world.at("work/.claude")).unwrap();
    std::fs::write(world.at("work/.claude/settings.json"), "{}").unwrap();
    std::fs::write(world.at("work/.mcp.json"), "{}").unwrap();
    std::fs::create_dir_all(world.at("work/.git/hooks")).unwrap();
    world
}

fn evil(path: &'static str) -> impl Fn(&World) -> bool {
    move |world| world.text(path).contains("evil")
}

#[test]
fn git_hooks_and_configuration() {
    for script in [
        "echo evil > .git/hooks/pre-commit",
        "mkdir x; echo evil > x/pre-commit; mv .git/hooks h; mv x .git/hooks",
        "rm -rf .git/hooks; mkdir .git/hooks; echo evil > .git/hooks/pre-commit",
        "mv .git g; cp -r g .git; echo evil > .git/hooks/pre-commit",
        "cp -r .git g; rm -rf .git; mv g .git; echo evil > .git/hooks/pre-commit",
        "cd .git/hooks && echo evil > pre-commit",
    ] {
        World::escape(with_files, script, |world| evil("work/.git/hooks/pre-commit")(world));
    }
    for script in [
        "git config core.fsmonitor evil",
        "echo evil >> .git/config",
        "cp .git/config c; echo evil >> c; mv c .git/config",
        "ln .git/config c && echo evil >> c",
        "mv .git/config c; echo evil > .git/config",
        "exec 3>>.git/config; echo evil >&3",
        "cp -r .git g; echo evil >> g/config; rm -rf .git; mv g .git",
    ] {
        World::escape(with_files, script, |world| evil("work/.git/config")(world));
    }
    World::escape(with_files, "echo ../evil > .git/commondir", |world| evil("work/.git/commondir")(world));
}

#[test]
fn settings_that_exist() {
    for script in [
        "echo evil > .claude/settings.json",
        "mv .claude c; mkdir .claude; echo evil > .claude/settings.json",
        "rm -rf .claude; mkdir .claude; echo evil > .claude/settings.json",
        "echo evil > x; mv x .claude/settings.json",
        "ln -sf ../x .claude/settings.json; echo evil > x",
        "cd .. ; mv work w; cp -r w work; echo evil > work/.claude/settings.json",
    ] {
        World::escape(with_files, script, |world| evil("work/.claude/settings.json")(world));
    }
    for script in ["echo evil > .mcp.json", "echo evil > x; mv x .mcp.json", "rm .mcp.json; echo evil > .mcp.json"] {
        World::escape(with_files, script, |world| evil("work/.mcp.json")(world));
    }
}

#[test]
fn settings_that_do_not_exist_yet() {
    for script in [
        "echo evil > .mcp.json",
        "echo evil > x; mv x .mcp.json",
        "rmdir .mcp.json; echo evil > .mcp.json",
        "mv .mcp.json away; echo evil > .mcp.json",
        "ln -s x .mcp.json; echo evil > x",
    ] {
        World::escape(World::with_git, script, |world| evil("work/.mcp.json")(world));
    }
    for script in [
        "mkdir .claude; echo evil > .claude/settings.local.json",
        "mkdir c; echo evil > c/settings.local.json; mv c .claude",
        "rmdir .claude; mkdir .claude; echo evil > .claude/settings.local.json",
        "mkdir c; echo evil > c/settings.local.json; ln -s c .claude",
    ] {
        World::escape(World::with_git, script, |world| evil("work/.claude/settings.local.json")(world));
    }
    World::escape(World::with_git, "mkdir -p .ralph; echo evil > .ralph/config.toml", |world| {
        evil("work/.ralph/config.toml")(world)
    });
}

/// What a command leaves running still finds the protected paths as they were.
#[test]
fn nothing_changes_after_the_command() {
    let script = "(setsid sh -c 'sleep 0.5; echo evil > .mcp.json' >/dev/null 2>&1 &) ; exit 0";
    let world = World::with_git();
    let sandbox = world.sandbox();
    assert!(world.inside(&sandbox, script).ok);
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert!(!world.at("work/.mcp.json").is_file());
}

#[test]
fn nothing_is_left_behind_and_git_sees_nothing() {
    let world = World::with_git();
    let before = world.free("ls -A . .git").text;
    let sandbox = world.sandbox();
    let status = world.inside(&sandbox, "git status --porcelain");
    assert_eq!((status.ok, status.text.as_str()), (true, ""));
    assert_eq!(world.free("git status --porcelain").text, "");
    drop(sandbox);
    assert_eq!(world.free("ls -A . .git").text, before);
}

/// A checkout as git makes it, without git: `.git` in it, and what the repository knows of it.
fn check_out(work: &Path, name: &str) {
    let (checkout, known) = (work.join(".claude/worktrees").join(name), work.join(".git/worktrees").join(name));
    std::fs::create_dir_all(&checkout).unwrap();
    std::fs::create_dir_all(&known).unwrap();
    std::fs::write(known.join("gitdir"), checkout.join(".git").display().to_string()).unwrap();
    std::fs::write(known.join("commondir"), "../..").unwrap();
    std::fs::write(checkout.join(".git"), format!("gitdir: {}\n", known.display())).unwrap();
    std::fs::write(checkout.join(".mcp.json"), "{}").unwrap();
}

#[test]
fn a_checkout_can_be_worked_in_but_not_what_it_is_tied_by() {
    let fresh = || {
        let world = World::with_git();
        check_out(&world.at("work"), "a");
        world
    };
    for (script, path) in [
        ("echo evil > .claude/worktrees/a/.git", "work/.claude/worktrees/a/.git"),
        (
            "mv .claude/worktrees/a b; cp -r b .claude/worktrees/a; echo evil > .claude/worktrees/a/.git",
            "work/.claude/worktrees/a/.git",
        ),
        ("echo evil > .claude/worktrees/a/.mcp.json", "work/.claude/worktrees/a/.mcp.json"),
        ("echo evil > .git/worktrees/a/commondir", "work/.git/worktrees/a/commondir"),
        (
            "mv .git/worktrees w; cp -r w .git/worktrees; echo evil > .git/worktrees/a/commondir",
            "work/.git/worktrees/a/commondir",
        ),
        ("echo evil > .claude/settings.json", "work/.claude/settings.json"),
    ] {
        let free = fresh();
        free.free(script);
        assert!(evil(path)(&free), "without a sandbox this should do harm: {script}");
        let world = fresh();
        let sandbox = world.sandbox();
        world.inside(&sandbox, script);
        assert!(!evil(path)(&world), "this got out: {script}");
        let said = world.inside(&sandbox, "echo x > .claude/worktrees/a/file && mkdir .claude/worktrees/b");
        assert!(said.ok, "{}", said.text);
    }
}

/// Says so when it goes, also where a test fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Made after the sandbox, and removed while commands are started.
#[test]
fn checkouts_come_and_go() {
    let world = World::with_git();
    std::fs::create_dir_all(world.at("work/.claude/worktrees")).unwrap();
    let sandbox = world.sandbox();
    let (work, over) = (world.at("work"), AtomicBool::new(false));
    let refused: Vec<String> = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                check_out(&work, "b");
                for folder in [".claude/worktrees/b", ".git/worktrees/b"] {
                    std::fs::remove_dir_all(work.join(folder)).unwrap();
                }
            }
        });
        let _over = Over(&over);
        (0..40).map(|_| world.inside(&sandbox, "true")).filter(|said| !said.ok).map(|said| said.text).collect()
    });
    assert_eq!(refused, Vec::<String>::new());
}

#[test]
fn a_folder_of_ones_own_choice() {
    let world = World::new();
    std::fs::create_dir_all(world.at("work/vendor/deep")).unwrap();
    let rules = ralph_sandbox::Request { deny_write: vec!["vendor/deep".into()], ..world.request() }.rules();
    let sandbox = ralph_sandbox::Sandbox::new(rules).unwrap();
    assert!(!world.inside(&sandbox, "echo x > vendor/deep/x").ok);
    assert!(!world.inside(&sandbox, "mv vendor v").ok);
    assert!(world.inside(&sandbox, "echo x > vendor/x").ok);
}
