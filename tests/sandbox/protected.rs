//! Files of the workspace that decide what runs outside: they stay, whether they exist or not.

use crate::world::World;

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

#[test]
fn a_folder_of_ones_own_choice() {
    let world = World::new();
    std::fs::create_dir_all(world.at("work/vendor/deep")).unwrap();
    let rules = ralph_proc::sandbox::Request { deny_write: vec!["vendor/deep".into()], ..world.request() }.rules();
    let sandbox = ralph_proc::sandbox::Sandbox::new(rules).unwrap();
    assert!(!world.inside(&sandbox, "echo x > vendor/deep/x").ok);
    assert!(!world.inside(&sandbox, "mv vendor v").ok);
    assert!(world.inside(&sandbox, "echo x > vendor/x").ok);
}
