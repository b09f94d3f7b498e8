//! The same box by bubblewrap, where it is installed: a shorter round through files, processes, network
//! and work.

use crate::world::{Bystander, World};
use ralph_sandbox::{Network, Request, Sandbox};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;

/// `None` where there is no bubblewrap, or it may not do its work.
fn boxed(world: &World, network: Network) -> Option<Sandbox> {
    Sandbox::by_bubblewrap(Request { network, ..world.request() }.rules()).ok()
}

#[test]
fn files_and_work() {
    let world = World::with_git();
    let Some(sandbox) = boxed(&world, Network::Open) else { return };
    assert_eq!(sandbox.weaknesses(), []);
    for script in [
        "echo x > ../outside/file",
        "rm ../outside/file",
        "echo evil > .git/hooks/pre-commit",
        "git config core.fsmonitor evil",
        "mv .git g",
        "echo evil > .mcp.json",
        "mkdir .claude",
        "mkdir c; mv c .claude/c",
        "cat ~/.ssh/id_ed25519",
        "grep . ~/.netrc",
        "echo evil >> ~/.bashrc",
        "mount -t tmpfs none /mnt",
    ] {
        assert!(!world.inside(&sandbox, script).ok, "{script}");
    }
    assert_eq!(world.text("outside/file"), "precious\n");
    let said = world.inside(
        &sandbox,
        "echo x > new && git add -A && git commit -qm x && t=$(mktemp) && rm $t && echo y > /dev/null",
    );
    assert!(said.ok, "{}", said.text);
}

#[test]
fn processes_and_services() {
    let world = World::new();
    let Some(sandbox) = boxed(&world, Network::Open) else { return };
    let bystander = Bystander::new();
    for name in ["trace", "environment", "memory", "signal"] {
        assert!(world.attempt(None, name, &bystander.pid()).ok, "{name}");
        assert!(!world.attempt(Some(&sandbox), name, &bystander.pid()).ok, "{name}");
    }
    let path = world.at("temp/service");
    let _listening = UnixListener::bind(&path).unwrap();
    assert!(!world.attempt(Some(&sandbox), "socket", &path.display().to_string()).ok);
    for name in ["type", "namespace", "ring", "core-dump"] {
        assert!(!world.attempt(Some(&sandbox), name, "").ok, "{name}");
    }
}

#[test]
fn network() {
    let world = World::new();
    let Some(sandbox) = boxed(&world, Network::Off) else { return };
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap().to_string();
    assert!(world.attempt(None, "connect", &address).ok);
    assert!(!world.attempt(Some(&sandbox), "connect", &address).ok);
}
