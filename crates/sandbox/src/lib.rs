//! A sandbox for commands: the kernel limits the files and hosts that they can use.
//!
//! [`Request`] says what is wanted, [`Rules`] what that means here, and a [`Sandbox`] is the machine's
//! side of it: built once for an agent, then entered by every command between fork and exec. On Linux
//! it is Landlock for reading and writing, a mount namespace for what must stay unchanged below
//! writable folders, a network namespace where the network is cut, and seccomp; on macOS a Seatbelt
//! profile. What a machine cannot hold is a [`Weakness`], for the caller to say or to refuse.
//!
//! Deliberately absent: a helper program, settings files, and any silent way to do less.

mod attempt;
#[cfg(target_os = "linux")]
mod beads;
#[cfg(target_os = "linux")]
mod daemon;
#[cfg(target_os = "linux")]
mod calls;
mod credentials;
#[cfg(target_os = "linux")]
mod ending;
#[cfg(target_os = "linux")]
mod filter;
mod hosts;
#[cfg(target_os = "linux")]
mod placeholder;
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod proxy;
mod repository;
mod layout;
mod obeyed;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod notify;
#[cfg(target_os = "linux")]
mod init;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod relay;
mod rules;
#[cfg(target_os = "linux")]
mod run_sockets;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod no_sandbox;
#[cfg(target_os = "linux")]
mod temporary;
#[cfg(any(target_os = "macos", test))]
mod seatbelt;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod bubblewrap;
#[cfg(target_os = "linux")]
mod enter;
#[cfg(target_os = "linux")]
mod linux;
mod whole_agent;
mod examine;
#[cfg(test)]
mod testing;

pub use attempt::{SharedMemory, attempt};
pub use credentials::CREDENTIALS;
pub use examine::{Examination, Probe, ProbeVerdict, examine};
pub use hosts::Hosts;
pub use layout::{CACHES, Request};
#[cfg(target_os = "linux")]
use linux::Linux as Native;
#[cfg(target_os = "macos")]
use macos::Mac as Native;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
use no_sandbox::NoSandbox as Native;
pub use obeyed::is_obeyed;
pub use rules::{Agent, Level, Network, OwnTemp, PathRefusal, Rules, Weakness};
pub use whole_agent::WholeAgent;

use process::{Confine, Entry, Env, Spec};
use std::io;
use std::path::PathBuf;

/// Why there can be no sandbox here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no sandbox can be made here: {0}")]
pub struct Unavailable(pub String);

/// What a system has to offer.
pub(crate) trait Mechanism: Sized {
    fn build(rules: Rules) -> Result<Self, Unavailable>;
    /// The rules as they are held; stricter than those asked for where only that was possible.
    fn rules(&self) -> &Rules;
    fn weaknesses(&self) -> &[Weakness];
    /// Changes what is started, or what happens right before, so that it is started inside. `also` are
    /// files that the command writes for us.
    fn prepare(&self, spec: &mut Spec, also: &[PathBuf]) -> io::Result<Entry>;
    /// Where the proxy for listed hosts is, as seen from inside.
    fn proxy_port(&self) -> Option<u16>;
    /// Whether the daemon of `beads_socket` can be reached from inside.
    fn relays(&self) -> bool;
    fn close(&self);
}

/// Whether this machine can hold anything at all.
pub fn is_available() -> bool {
    Sandbox::new(Rules::default()).is_ok()
}

/// Whether commands in a box can reach the daemon of their issue tracker at this path: this machine can relay the one
/// socket, and the daemon that was bound there answers.
pub fn reaches_beads(socket: &std::path::Path) -> bool {
    let rules = Rules { beads_socket: Some(socket.to_owned()), ..Rules::default() };
    Sandbox::new(rules).is_ok_and(|sandbox| sandbox.native.relays()) && daemon_answers(socket)
}

#[cfg(target_os = "linux")]
fn daemon_answers(socket: &std::path::Path) -> bool {
    daemon::connect(socket).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn daemon_answers(_socket: &std::path::Path) -> bool {
    false
}

/// Removes what an agent that was killed has left standing in the places of protected files: in the folder that somebody
/// works in, in the home folder if that is it, and in the agent's own folder.
#[cfg(target_os = "linux")]
pub fn remove_left(folder: &std::path::Path, home: Option<&std::path::Path>, config_dir: &std::path::Path) {
    placeholder::remove_left(folder, &layout::PROTECTED);
    placeholder::remove_left(folder, &repository::TIES);
    if home == Some(folder) {
        placeholder::remove_left(folder, &layout::START_FILES);
    }
    placeholder::remove_left(config_dir, &whole_agent::PROTECTED);
}

#[cfg(not(target_os = "linux"))]
pub fn remove_left(_folder: &std::path::Path, _home: Option<&std::path::Path>, _config_dir: &std::path::Path) {}

/// One agent's box. Dropping it gives back what it put into the workspace, so it must outlive every
/// command that was started in it.
#[derive(Debug)]
pub struct Sandbox {
    native: Native,
}

impl Sandbox {
    pub fn new(rules: Rules) -> Result<Self, Unavailable> {
        Native::build(rules).map(|native| Self { native })
    }

    /// The way of systems that let only bubblewrap make namespaces. [`Self::new`] takes it where it must.
    #[cfg(target_os = "linux")]
    pub fn by_bubblewrap(rules: Rules) -> Result<Self, Unavailable> {
        Native::by_bubblewrap(rules).map(|native| Self { native })
    }

    pub fn rules(&self) -> &Rules {
        self.native.rules()
    }

    /// What of the rules is not held here.
    pub fn weaknesses(&self) -> &[Weakness] {
        self.native.weaknesses()
    }

    /// What makes programs use the proxy, where there is one.
    pub fn proxy_env(&self) -> Env {
        let Some(port) = self.native.proxy_port() else { return Vec::new() };
        let address = format!("http://127.0.0.1:{port}");
        let pairs = [
            ("HTTP_PROXY", address.as_str()),
            ("HTTPS_PROXY", &address),
            ("http_proxy", &address),
            ("https_proxy", &address),
            // Their own loopback is theirs: no detour.
            ("NO_PROXY", "localhost,127.0.0.1,::1"),
            ("no_proxy", "localhost,127.0.0.1,::1"),
        ];
        pairs.map(|(name, value)| (name.into(), value.into())).to_vec()
    }

    /// Gives back what was put into the workspace. Only when every command has ended: what still runs
    /// is no longer held from making the protected files that do not exist.
    pub fn close(&self) {
        self.native.close();
    }
}

impl Confine for Sandbox {
    fn prepare(&self, spec: &mut Spec, also: &[PathBuf]) -> io::Result<Entry> {
        self.native.prepare(spec, also)
    }
}
