//! Other processes, sockets, and the kernel.

use crate::world::{Bystander, World};
use std::os::unix::net::UnixListener;

/// Works outside, fails inside.
fn closed(world: &World, name: &str, about: &str) {
    let control = world.attempt(None, name, about);
    assert!(control.ok, "without a sandbox '{name}' should work: {}", control.text);
    let said = world.attempt(Some(&world.sandbox()), name, about);
    assert!(!said.ok && said.text.contains("refused"), "'{name}' got out: {}", said.text);
}

#[test]
fn other_processes() {
    let world = World::new();
    let bystander = Bystander::new();
    for name in ["trace", "environment", "memory", "signal"] {
        closed(&world, name, &bystander.pid());
    }
}

#[test]
fn the_agent_itself() {
    let world = World::new();
    let me = std::process::id().to_string();
    for name in ["environment", "memory", "signal"] {
        closed(&world, name, &me);
    }
}

#[test]
fn its_own_children_it_may_signal() {
    let world = World::new();
    let said = world.inside(&world.sandbox(), "sleep 60 & kill $!; wait $!; test $? = 143");
    assert!(said.ok, "{}", said.text);
}

#[test]
fn sockets_of_this_machine() {
    let world = World::new();
    let path = world.at("outside/service");
    let _listening = UnixListener::bind(&path).unwrap();
    closed(&world, "socket", &path.display().to_string());
    let rules = ralph_sandbox::Request { unix_sockets: true, ..world.request() }.rules();
    let open = ralph_sandbox::Sandbox::new(rules).unwrap();
    let said = world.attempt(Some(&open), "socket", &path.display().to_string());
    assert!(said.ok, "allowed on request: {}", said.text);
}

#[test]
fn the_kernel() {
    let world = World::new();
    for name in ["type", "namespace", "ring", "own-memory", "core-dump"] {
        closed(&world, name, "");
    }
    // Not every kernel has that family; where it has, it is closed.
    if world.attempt(None, "packet", "").ok {
        closed(&world, "packet", "");
    }
}

/// Nothing that this process has open is open in a command.
#[test]
fn descriptors_are_not_inherited() {
    let world = World::new();
    let secret = std::fs::File::open(world.at("home/.netrc")).unwrap();
    let raw = std::os::fd::AsRawFd::as_raw_fd(&secret);
    rustix::io::fcntl_setfd(&secret, rustix::io::FdFlags::empty()).unwrap();
    let said = world.inside(&world.sandbox(), &format!("cat <&{raw}; ls -l /proc/self/fd"));
    assert!(!said.text.contains("password") && !said.text.contains(".netrc"), "{}", said.text);
}

#[test]
fn privileges_cannot_be_gained() {
    let world = World::new();
    let said = world.inside(&world.sandbox(), "grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status");
    assert!(said.text.contains("NoNewPrivs:\t1") && said.text.contains("Seccomp:\t2"), "{}", said.text);
}

/// Inside a sandbox no namespaces can be made, as in many containers: what is built there holds less, says
/// so, and still holds what Landlock and seccomp can.
#[test]
fn without_namespaces_less_is_held_and_that_is_known() {
    let world = World::new();
    std::fs::create_dir_all(world.at("work/inner")).unwrap();
    let said = world.attempt(Some(&world.sandbox()), "nested", &world.at("work").display().to_string());
    assert!(said.ok, "{}", said.text);
    assert_eq!(world.text("work/inner/inside"), "x\n");
    assert!(!world.at("work/outside").exists(), "{}", said.text);
}
