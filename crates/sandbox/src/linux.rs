//! The box on Linux: seccomp always; Landlock, and namespaces where users may have them; else bubblewrap
//! where that may; else Landlock alone.

use crate::bubblewrap::{self, Bubblewrap};
use crate::ending;
use crate::enter::{Processes, Shut, Steps, StepsWithFiles, explain};
use crate::filter::{self, Families};
use crate::landlock::{self, ABI_SCOPES, ABI_TRUNCATE};
use crate::mounts::Mounts;
use crate::namespaces::SharedNamespaces;
use crate::notify;
use crate::placeholder::{self, Placeholder};
use crate::proxy::Proxy;
use crate::relay::Relay;
use crate::rules::{Network, Rules, Weakness};
use crate::temporary::Temporary;
use crate::{Mechanism, Unavailable, sys};
use process::{Entry, Spec};
use rustix::pipe::PipeFlags;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What is left of root: files in the workspace may belong to others. `CAP_CHOWN`, `CAP_DAC_OVERRIDE`,
/// `CAP_FOWNER`, `CAP_FSETID`, `CAP_SETGID`, `CAP_SETUID`; each is still held by Landlock and mounts.
const ROOT_KEEPS: u32 = 1 | 1 << 1 | 1 << 3 | 1 << 4 | 1 << 6 | 1 << 7;

#[derive(Debug)]
pub(crate) struct Linux {
    rules: Rules,
    walls: Walls,
    weaknesses: Vec<Weakness>,
    placeholders: Mutex<Vec<Placeholder>>,
    temporary: Mutex<Temporary>,
    proxy: Option<Proxy>,
    relay: Option<Relay>,
}

/// What holds.
#[derive(Debug)]
enum Walls {
    /// By this interface of Landlock, in namespaces where there are some.
    Landlock(u32, Option<SharedNamespaces>),
    Bubblewrap(Bubblewrap),
}

impl Walls {
    fn find(rules: &Rules) -> Result<Self, Unavailable> {
        let abi = sys::landlock_abi();
        let cell = if abi > 0 { SharedNamespaces::make(rules.network != Network::Open).ok() } else { None };
        if cell.is_some() {
            return Ok(Self::Landlock(abi, cell));
        }
        match Bubblewrap::find() {
            Some(bubblewrap) => Ok(Self::Bubblewrap(bubblewrap)),
            None if abi > 0 => Ok(Self::Landlock(abi, None)),
            None => Err(Unavailable(
                "the kernel has no Landlock (Linux 5.13 and later have it), and bubblewrap does not work here".into(),
            )),
        }
    }

    fn mounts(&self) -> bool {
        !matches!(self, Self::Landlock(_, None))
    }

    fn abi(&self) -> Option<u32> {
        match self {
            Self::Landlock(abi, _) => Some(*abi),
            Self::Bubblewrap(_) => None,
        }
    }

    fn has_network(&self) -> bool {
        matches!(self, Self::Landlock(_, Some(_)))
    }
}

impl Linux {
    pub(crate) fn by_bubblewrap(rules: Rules) -> Result<Self, Unavailable> {
        let missing = || Unavailable("bubblewrap is not installed, or does not work here".into());
        Self::within(Walls::Bubblewrap(Bubblewrap::find().ok_or_else(missing)?), rules)
    }

    fn within(mut walls: Walls, mut rules: Rules) -> Result<Self, Unavailable> {
        let weaknesses = weaknesses(&rules, walls.abi(), walls.mounts(), walls.has_network());
        if !walls.has_network() && rules.network != Network::Open {
            // A list that cannot be held must not become an open door.
            rules.network = Network::Off;
        }
        let placeholders = if walls.mounts() { put_placeholders(&rules)? } else { Vec::new() };
        // A folder that stands in for several protected paths is protected itself.
        let kept = placeholders.iter().map(|placeholder| placeholder.path().to_owned());
        rules.protected.extend(kept.filter(|path| !rules.checkouts.contains(path)));
        rules.protected.sort();
        rules.protected.dedup();
        let temporary = Mutex::new(Temporary::make(&mut rules));
        if !walls.mounts() {
            hide_temporary(&mut rules);
        }
        let listener = match &mut walls {
            Walls::Landlock(_, Some(cell)) => cell.listener.take(),
            _ => None,
        };
        let proxy = match (&rules.network, listener) {
            (Network::Only(hosts), Some(listener)) => Some(Proxy::new(listener, hosts.clone())?),
            _ => None,
        };
        let relay = relay(&rules, &walls);
        Ok(Self { rules, walls, weaknesses, placeholders: Mutex::new(placeholders), temporary, proxy, relay })
    }

    /// Where nothing can be mounted, a program that lies in a temporary folder is shown by itself.
    fn with_program(&self, spec: &Spec) -> Rules {
        let mut rules = self.rules.clone();
        rules.shown.extend(Path::new(&spec.program).canonicalize());
        rules
    }

    /// Where nothing can be mounted, the environment says where temporary files go.
    fn point_to_temporary(&self, spec: &mut Spec) {
        let Some(own) = self.rules.own_temp.iter().find(|own| own.at != Path::new("/dev/shm")) else { return };
        for name in ["TMPDIR", "TMP", "TEMP", "CLAUDE_CODE_TMPDIR"] {
            spec.env.retain(|(known, _)| known != name);
            spec.env.push((name.into(), own.folder.clone().into()));
        }
    }

    /// Ends everything in the box, and says whether it is gone. What still ran could make the protected files as soon as
    /// nothing stands in their places.
    fn end_processes(&self) -> bool {
        match &self.walls {
            Walls::Landlock(_, Some(cell)) => cell.init.end(),
            Walls::Landlock(_, None) => ending::end_confined(),
            // Its own first process ends with the command.
            Walls::Bubblewrap(_) => true,
        }
    }

    /// Where a network of its own is, a command may do with it what it likes.
    fn filter(&self) -> Vec<libc::sock_filter> {
        let own = self.walls.has_network() || matches!(self.walls, Walls::Bubblewrap(_));
        let internet = self.rules.network == Network::Open || own;
        filter::program(Families {
            internet,
            unix: self.rules.unix_sockets,
            relayed: self.relay.is_some(),
            apart: self.walls.mounts(),
        })
    }

    fn shut(&self, abi: u32, cell: Option<&SharedNamespaces>, spec: &Spec, also: &[PathBuf]) -> io::Result<Entry> {
        let ruleset: OwnedFd = match cell {
            Some(_) => landlock::ruleset(&self.rules, also, abi, true)?,
            None => landlock::ruleset(&self.with_program(spec), also, abi, false)?,
        };
        let (tells, told) = match cell {
            Some(_) => {
                let (tells, told) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
                (Some(tells), Some(told))
            }
            None => (None, None),
        };
        let processes = cell.zip(told.as_ref()).map(|(cell, told)| Processes {
            namespace: cell.processes.as_raw_fd(),
            ipc: cell.ipc.as_raw_fd(),
            told: told.as_raw_fd(),
            own_proc: cell.own_proc,
        });
        let shut = Shut {
            processes,
            users: cell.map(|cell| cell.users.as_raw_fd()),
            network: cell.and_then(|cell| cell.network.as_ref()).map(OwnedFd::as_raw_fd),
            mounts: cell.map(|_| Mounts::plan(&self.rules, also, spec)).transpose()?,
            cwd: CString::new(spec.cwd.as_os_str().as_bytes())?,
            ruleset: ruleset.as_raw_fd(),
            filter: self.filter(),
            relay: self.relay.as_ref().map(Relay::hands),
            capabilities: if rustix::process::geteuid().is_root() { ROOT_KEEPS } else { 0 },
        };
        let steps = StepsWithFiles::new(Steps::Shut(Box::new(shut)), [Some(ruleset), told]);
        Ok(Entry { steps: Some(Box::new(steps)), pid_pipe: tells, explain })
    }

    fn hand_over(&self, to: &Bubblewrap, spec: &mut Spec, also: &[PathBuf]) -> io::Result<Entry> {
        let filter = bubblewrap::filter_file(&self.filter())?;
        let root = rustix::process::geteuid().is_root();
        let mut words = bubblewrap::arguments(&self.rules, also, spec, root, filter.as_raw_fd())?;
        words.push(std::mem::replace(&mut spec.program, to.program().into()));
        words.append(&mut spec.args);
        spec.args = words;
        let steps = StepsWithFiles::new(Steps::Handed(filter.as_raw_fd()), [Some(filter), None]);
        Ok(Entry { steps: Some(Box::new(steps)), pid_pipe: None, explain })
    }
}

impl Mechanism for Linux {
    fn build(rules: Rules) -> Result<Self, Unavailable> {
        Self::within(Walls::find(&rules)?, rules)
    }

    fn rules(&self) -> &Rules {
        &self.rules
    }

    fn weaknesses(&self) -> &[Weakness] {
        &self.weaknesses
    }

    fn prepare(&self, spec: &mut Spec, also: &[PathBuf]) -> io::Result<Entry> {
        if let Some(proxy) = &self.proxy {
            proxy.start();
        }
        if !self.walls.mounts() {
            self.point_to_temporary(spec);
        }
        match &self.walls {
            Walls::Landlock(abi, cell) => self.shut(*abi, cell.as_ref(), spec, also),
            Walls::Bubblewrap(bubblewrap) => self.hand_over(bubblewrap, spec, also),
        }
    }

    fn proxy_port(&self) -> Option<u16> {
        self.proxy.as_ref().map(Proxy::port)
    }

    fn relays(&self) -> bool {
        self.relay.is_some()
    }

    fn close(&self) {
        if self.end_processes() {
            self.placeholders.lock().unwrap_or_else(PoisonError::into_inner).clear();
            let temporary = std::mem::take(&mut *self.temporary.lock().unwrap_or_else(PoisonError::into_inner));
            drop(temporary);
        }
    }
}

impl Drop for Linux {
    fn drop(&mut self) {
        if !self.end_processes() {
            let left = std::mem::take(self.placeholders.get_mut().unwrap_or_else(PoisonError::into_inner));
            // They stay in their places, and the next start removes them.
            std::mem::forget(left);
        }
    }
}

/// Pure: what these rules lack with this interface of Landlock (or none, where processes are hidden
/// another way), with mounts or without, with a network that a proxy can be in or not.
fn weaknesses(rules: &Rules, abi: Option<u32>, mounts: bool, network: bool) -> Vec<Weakness> {
    let mut weak = Vec::new();
    let older_than = |version: u32| abi.is_some_and(|abi| abi < version);
    let below = |path: &PathBuf| rules.write.iter().any(|tree| path.starts_with(tree));
    if !mounts && !rules.protected.is_empty() {
        weak.push(Weakness::ProtectedFiles);
    }
    if !mounts && rules.hidden.iter().any(below) {
        weak.push(Weakness::HiddenInside);
    }
    if !network && matches!(&rules.network, Network::Only(hosts) if !hosts.is_empty()) {
        weak.push(Weakness::AllowList);
    }
    if !mounts && older_than(ABI_TRUNCATE) {
        weak.push(Weakness::Truncation);
    }
    // A namespace of processes, which comes with the mounts, has nobody else to signal.
    if !mounts && older_than(ABI_SCOPES) {
        weak.push(Weakness::Signals);
    }
    weak
}

/// The relay for the one socket. Where there can be none, no socket opens.
fn relay(rules: &Rules, walls: &Walls) -> Option<Relay> {
    // Bubblewrap applies the filter itself, and hands no listener over.
    let by_us = matches!(walls, Walls::Landlock(..)) && !rules.unix_sockets;
    let socket = rules.beads_socket.clone().filter(|_| by_us && notify::is_possible())?;
    Relay::start(socket).ok()
}

/// Without mounts, files of others in the machine's temporary folders cannot be read, but for what belongs to the run.
fn hide_temporary(rules: &mut Rules) {
    rules.hidden.extend(rules.own_temp.iter().map(|own| own.at.clone()));
}

fn put_placeholders(rules: &Rules) -> Result<Vec<Placeholder>, Unavailable> {
    let mut put: Vec<Placeholder> = Vec::new();
    for path in &rules.protected {
        let Some(tree) = rules.write.iter().filter(|tree| path.starts_with(tree)).min() else { continue };
        if put.iter().any(|outer| path.starts_with(outer.path())) {
            continue;
        }
        if path.symlink_metadata().is_ok() && !path.is_dir() && !placeholder::may_be_file(path) {
            continue;
        }
        let placeholder = Placeholder::put(tree, path).map_err(|error| {
            Unavailable(format!("{} is missing, and its place cannot be kept: {error}", path.display()))
        })?;
        put.extend(placeholder);
    }
    if rules.agent.is_some() {
        put_checkouts(rules, &mut put);
    }
    Ok(put)
}

/// An agent makes checkouts by itself, inside, where it cannot make the folder for them. Those that cannot be
/// made are not there.
fn put_checkouts(rules: &Rules, put: &mut Vec<Placeholder>) {
    for folder in &rules.checkouts {
        let above = folder.parent().filter(|above| above.is_dir());
        let made = above.and_then(|above| Placeholder::put(above, folder).ok().flatten());
        // Before what it lies in, as they are removed in this order.
        put.splice(..0, made);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Hosts;

    #[test]
    fn what_an_older_kernel_cannot_hold_is_named() {
        let rules = Rules {
            write: vec!["/w".into()],
            protected: vec!["/w/.claude".into()],
            hidden: vec!["/w/.env".into()],
            network: Network::Only(Hosts::new(&["a.test".into()], &[]).0),
            ..Rules::default()
        };
        assert_eq!(weaknesses(&rules, Some(7), true, true), []);
        assert_eq!(weaknesses(&rules, Some(2), true, true), []);
        assert_eq!(weaknesses(&rules, None, true, false), [Weakness::AllowList]);
        let all = [
            Weakness::ProtectedFiles,
            Weakness::HiddenInside,
            Weakness::AllowList,
            Weakness::Truncation,
            Weakness::Signals,
        ];
        assert_eq!(weaknesses(&rules, Some(1), false, false), all);
        assert_eq!(weaknesses(&Rules::default(), Some(7), false, false), []);
        let nothing = Rules { network: Network::Only(Hosts::default()), ..Rules::default() };
        assert_eq!(weaknesses(&nothing, Some(7), false, false), [], "no network is what was asked for");
    }
}
