//! Files outside of the workspace, and secrets.

use crate::world::World;

const SWAP: &str = "ln -s ../outside door; mkdir -p a; \
    (i=0; while [ $i -lt 200 ]; do rm -rf a; ln -s ../outside a; rm a; mkdir a; i=$((i+1)); done) & \
    i=0; while [ $i -lt 200 ]; do echo gone > a/file; i=$((i+1)); done; echo gone > door/file; wait; true";

#[test]
fn writing_outside() {
    let harm = |world: &World| world.text("outside/file") != "precious\n";
    for script in [
        "echo gone > ../outside/file",
        "echo gone > src/../../outside/file",
        "echo gone >> ../outside/file",
        "rm ../outside/file",
        "mv ../outside/file .",
        "echo gone > new; mv new ../outside/file",
        "ln -s ../outside/file link; echo gone > link",
        "ln ../outside/file hard && echo gone > hard",
        "cp /dev/null ../outside/file",
        "mv ../outside ./mine",
        SWAP,
    ] {
        World::escape(World::new, script, harm);
    }
}

#[test]
fn making_things_outside() {
    for script in [
        "mkdir ../outside/new",
        "echo x > ../outside/new",
        "ln -s /etc/passwd ../outside/new",
        "mkfifo ../outside/new",
        "touch new; ln new ../outside/new",
        "(setsid sh -c 'echo x > ../outside/new' &) ; sleep 0.3",
        "sh -c '(sh -c \"echo x > ../outside/new\" &) &' ; sleep 0.3",
        "cd / && echo x > \"$OLDPWD/../outside/new\"",
    ] {
        World::escape(World::new, script, |world| world.at("outside/new").symlink_metadata().is_ok());
    }
}

#[test]
fn emptying_and_changing_modes_outside() {
    let world = World::new();
    let file = world.at("outside/file").display().to_string();
    assert!(!world.attempt(Some(&world.sandbox()), "truncate", &file).ok);
    assert_eq!(world.text("outside/file"), "precious\n");
    assert!(world.attempt(None, "truncate", &file).ok);
    assert_eq!(world.text("outside/file"), "");
    World::escape(World::new, "chmod 777 ../outside/file", |world| {
        use std::os::unix::fs::PermissionsExt as _;
        world.at("outside/file").metadata().unwrap().permissions().mode() & 0o777 == 0o777
    });
}

#[test]
fn start_files_of_the_home_folder() {
    World::escape(World::new, "echo evil >> ~/.bashrc", |world| world.text("home/.bashrc").contains("evil"));
    World::escape(World::new, "echo evil > ~/.profile", |world| world.at("home/.profile").exists());
    World::escape(World::new, "echo {} > ~/.claude/settings.json", |world| {
        world.at("home/.claude/settings.json").exists()
    });
}

#[test]
fn reading_secrets() {
    for script in [
        "cat ~/.ssh/id_ed25519 > stolen",
        "cat ~/.netrc > stolen",
        "cat ~/.claude/.credentials.json > stolen",
        "cat ~/../home/.ssh/../.netrc > stolen",
        "ln -s ~/.ssh/id_ed25519 link; cat link > stolen",
        "ln ~/.netrc hard && cat hard > stolen",
        "cp -r ~/.ssh . ; cat .ssh/id_ed25519 > stolen",
        "mv ~/.ssh ./keys; cat keys/id_ed25519 > stolen",
        "cat /proc/self/root$HOME/.netrc > stolen",
        "cat < ~/.netrc > stolen",
    ] {
        World::escape(World::new, script, |world| !world.text("work/stolen").is_empty());
    }
}

#[test]
fn a_read_only_workspace_stays_as_it_is() {
    let world = World::with_git();
    let rules = ralph_sandbox::Request { level: ralph_sandbox::Level::ReadOnly, ..world.request() }.rules();
    let sandbox = ralph_sandbox::Sandbox::new(rules).unwrap();
    for script in ["echo x > new", "rm src/main.c", "git commit -q --allow-empty -m x", "touch ~/.cache/x"] {
        assert!(!world.inside(&sandbox, script).ok, "{script}");
    }
    let fine = world.inside(&sandbox, "cat src/main.c && git log --oneline && mktemp");
    assert!(fine.ok, "{}", fine.text);
}

#[test]
fn files_hidden_in_the_workspace() {
    let world = World::new();
    std::fs::write(world.at("work/.env"), "TOKEN=1").unwrap();
    std::fs::create_dir(world.at("work/private")).unwrap();
    std::fs::write(world.at("work/private/key"), "KEY").unwrap();
    let rules = ralph_sandbox::Request { deny_read: vec![".env".into(), "private".into()], ..world.request() }.rules();
    let sandbox = ralph_sandbox::Sandbox::new(rules).unwrap();
    assert!(world.free("cat .env private/key").text.contains("TOKEN"));
    for script in [
        "cat .env",
        "cat private/key",
        "mv .env x; cat x",
        "mv private p; cat p/key",
        "cp -r . ../temp/c; cat ../temp/c/.env",
    ] {
        let said = world.inside(&sandbox, script);
        assert!(!said.text.contains("TOKEN") && !said.text.contains("KEY"), "{script}: {}", said.text);
    }
    assert!(world.inside(&sandbox, "echo new > made && cat made").ok);
}
