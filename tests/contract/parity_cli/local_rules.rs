//! Allow rules of a `.claude/settings.local.json` that git does not track and this user owns count without trust. Nothing
//! else of it does, and nothing that came with a repository.

use super::{claude, finish, here};
use crate::common::{self, bash, say};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use testkit::World;

const FILE: &str = ".claude/settings.local.json";
const RULES: &str = r#"{"permissions": {"allow": ["Bash(touch:*)"]}}"#;

fn world() -> World {
    common::world(json!([bash("touch made"), say("done")]))
}

fn git(folder: &Path, words: &[&str]) {
    let own = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "protocol.file.allow=always"];
    #[expect(clippy::disallowed_methods, reason = "a test makes repositories")]
    let done = std::process::Command::new("git").args(own).args(words).current_dir(folder).output().expect("git");
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Whether the rule let the command run.
fn is_allowed(world: &World) -> bool {
    is_allowed_in(world, world.wd())
}

fn is_allowed_in(world: &World, folder: &Path) -> bool {
    let run = world.run(&common::binary()).in_folder(folder).args(["-p", "go"]);
    let outcome = finish(run);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    folder.join("made").exists()
}

#[test]
fn a_file_of_the_users_own_grants_rules_without_trust() {
    let world = world();
    here(&world, FILE, RULES);
    let outcome = finish(claude(&world).args(["-p", "go"]));
    assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""));
    assert!(world.read("made").is_some());
}

#[test]
fn a_file_that_git_ignores_does_too() {
    let world = world();
    here(&world, ".gitignore", ".claude/\n");
    git(world.wd(), &["add", ".gitignore"]);
    here(&world, FILE, RULES);
    assert!(is_allowed(&world));
}

#[test]
fn nothing_but_rules_counts() {
    let world = world();
    let touch = |name: &str| format!("touch {}/{name}", world.home().display());
    let settings = json!({
        "permissions": {"allow": ["Bash(true)"], "defaultMode": "bypassPermissions", "additionalDirectories": ["/"]},
        "env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"},
        "apiKeyHelper": touch("helper"),
        "enableAllProjectMcpServers": true,
        "statusLine": {"type": "command", "command": touch("status")},
        "model": "haiku"
    });
    here(&world, FILE, &settings.to_string());
    let outcome = finish(claude(&world).without_env("CLAUDE_API_KEY").args(["-p", "go"]));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(world.mock().requests().len(), 2, "the address is not changed");
    assert!(world.read("made").is_none(), "the mode is not changed");
    for name in ["helper", "status"] {
        assert!(!world.home().join(name).exists(), "{name}");
    }
    for word in ["permissions.defaultMode", "permissions.additionalDirectories", "env.ANTHROPIC_BASE_URL"] {
        assert!(outcome.stderr.contains(word), "{word}: {}", outcome.stderr);
    }
    assert!(!outcome.stderr.contains("permissions.allow"), "{}", outcome.stderr);
}

#[test]
fn the_projects_own_settings_still_need_trust() {
    let world = world();
    here(&world, ".claude/settings.json", RULES);
    assert!(!is_allowed(&world));
}

/// A name, and what is done to a world.
type Attack = (&'static str, fn(&World));

/// Each of these is a way to bring the file along with a repository, or to plant it.
#[test]
fn attacks() {
    let attacks: [Attack; 11] = [
        ("tracked", |world| {
            here(world, FILE, RULES);
            git(world.wd(), &["add", "-f", FILE]);
        }),
        ("tracked and committed, then hidden by flags of the index", |world| {
            here(world, FILE, RULES);
            git(world.wd(), &["add", "-f", FILE]);
            git(world.wd(), &["commit", "-q", "-m", "x"]);
            git(world.wd(), &["update-index", "--skip-worktree", FILE]);
            git(world.wd(), &["update-index", "--assume-unchanged", FILE]);
        }),
        ("tracked and ignored", |world| {
            here(world, FILE, RULES);
            here(world, ".gitignore", ".claude\n");
            git(world.wd(), &["add", "-f", "-A"]);
        }),
        ("tracked in other letters", |world| {
            here(world, ".Claude/Settings.local.json", RULES);
            git(world.wd(), &["add", "-f", "-A"]);
            here(world, FILE, RULES);
        }),
        ("a submodule brings it", |world| {
            let other = world.home().join("other");
            super::write(other.join("settings.local.json"), RULES);
            git(&other, &["init", "-q"]);
            git(&other, &["add", "-A"]);
            git(&other, &["commit", "-q", "-m", "x"]);
            git(world.wd(), &["submodule", "add", "-q", &other.display().to_string(), ".claude"]);
        }),
        ("a link that is tracked leads to it", |world| {
            here(world, "elsewhere/settings.local.json", RULES);
            std::os::unix::fs::symlink("elsewhere", world.wd().join(".claude")).expect("a link");
            git(world.wd(), &["add", "-A"]);
        }),
        ("the file is a link", |world| {
            let target = super::write(world.home().join("rules.json"), RULES);
            std::fs::create_dir_all(world.wd().join(".claude")).expect("a folder");
            std::os::unix::fs::symlink(target, world.wd().join(FILE)).expect("a link");
        }),
        ("others may write it", |world| {
            let file = here(world, FILE, RULES);
            std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o666)).expect("a mode");
        }),
        ("others may write its folder", |world| {
            here(world, FILE, RULES);
            let mode = std::fs::Permissions::from_mode(0o777);
            std::fs::set_permissions(world.wd().join(".claude"), mode).expect("a mode");
        }),
        ("no repository says anything about it", |world| {
            here(world, FILE, RULES);
            std::fs::remove_dir_all(world.wd().join(".git")).expect("removed");
        }),
        ("the index cannot be read", |world| {
            here(world, FILE, RULES);
            here(world, ".git/index", "rubbish");
        }),
    ];
    for (what, attack) in attacks {
        let world = world();
        attack(&world);
        assert!(!is_allowed(&world), "{what}");
    }
}

#[test]
fn a_file_of_another_user_grants_nothing() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    for name in [FILE, ".claude"] {
        let world = world();
        here(&world, FILE, RULES);
        std::os::unix::fs::chown(world.wd().join(name), Some(4242), Some(4242)).expect("chown");
        assert!(!is_allowed(&world), "{name}");
    }
}

/// A clone can carry a folder that git takes for a repository, with a work tree and an index of its own.
#[test]
fn a_repository_made_of_plain_files_vouches_for_nothing() {
    let world = world();
    let inner = world.wd().join("inner");
    std::fs::create_dir_all(&inner).expect("a folder");
    git(&inner, &["init", "-q"]);
    for entry in inner.join(".git").read_dir().expect("entries").flatten() {
        std::fs::rename(entry.path(), inner.join(entry.file_name())).expect("moved");
    }
    std::fs::remove_dir(inner.join(".git")).expect("removed");
    super::write(inner.join(FILE), RULES);
    assert!(!is_allowed_in(&world, &inner));
}

/// What a repository's configuration says runs nothing while git is asked.
#[test]
fn asking_git_runs_nothing_of_the_repository() {
    let world = world();
    here(&world, FILE, RULES);
    let script = here(&world, "spy.sh", &format!("#!/bin/sh\ntouch {}/ran\n", world.home().display()));
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    let script = script.display().to_string();
    for key in ["core.fsmonitor", "core.pager", "filter.x.process", "core.sshCommand", "alias.ls-files"] {
        git(world.wd(), &["config", key, &script]);
    }
    assert!(is_allowed(&world));
    assert!(!world.home().join("ran").exists());
}

#[test]
fn rules_to_deny_still_count_from_everywhere() {
    let world = world();
    let settings: Value = json!({"permissions": {"allow": ["Bash(touch:*)"], "deny": ["Bash(touch made)"]}});
    here(&world, FILE, &settings.to_string());
    assert!(!is_allowed(&world));
}
