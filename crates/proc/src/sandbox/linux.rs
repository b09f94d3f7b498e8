//! The box on Linux: Landlock and seccomp always, namespaces where users may have them.

use super::cell::Cell;
use super::enter::Entry;
use super::filter::{self, Families};
use super::landlock::{self, ABI_SCOPES, ABI_TRUNCATE};
use super::mounts::Mounts;
use super::placeholder::Placeholder;
use super::proxy::Proxy;
use super::rules::{Network, Rules, Weakness};
use super::{Confine, Ready, Unavailable, sys};
use crate::spec::Spec;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// What is left of root: files in the workspace may belong to others. `CAP_CHOWN`, `CAP_DAC_OVERRIDE`,
/// `CAP_FOWNER`, `CAP_FSETID`, `CAP_SETGID`, `CAP_SETUID`; each is still held by Landlock and mounts.
const ROOT_KEEPS: u32 = 1 | 1 << 1 | 1 << 3 | 1 << 4 | 1 << 6 | 1 << 7;

#[derive(Debug)]
pub(super) struct Linux {
    rules: Rules,
    abi: u32,
    cell: Option<Cell>,
    weaknesses: Vec<Weakness>,
    placeholders: Mutex<Vec<Placeholder>>,
    proxy: Option<Proxy>,
}

impl Confine for Linux {
    fn build(mut rules: Rules) -> Result<Self, Unavailable> {
        let abi = sys::landlock_abi();
        if abi == 0 {
            return Err(Unavailable("the kernel has no Landlock (Linux 5.13 and later have it)".into()));
        }
        let mut cell = Cell::make(rules.network != Network::Open).ok();
        let weaknesses = weaknesses(&rules, abi, cell.is_some());
        if weaknesses.contains(&Weakness::AllowList) {
            // A list that cannot be held must not become an open door.
            rules.network = Network::Off;
        }
        let placeholders = if cell.is_some() { put_placeholders(&rules)? } else { Vec::new() };
        // A folder that stands in for several protected paths is protected itself.
        rules.protected.extend(placeholders.iter().map(|placeholder| placeholder.path().to_owned()));
        rules.protected.sort();
        rules.protected.dedup();
        let proxy = match (&rules.network, cell.as_mut().and_then(|cell| cell.listener.take())) {
            (Network::Only(hosts), Some(listener)) => Some(Proxy::new(listener, hosts.clone())?),
            _ => None,
        };
        Ok(Self { rules, abi, cell, weaknesses, placeholders: Mutex::new(placeholders), proxy })
    }

    fn rules(&self) -> &Rules {
        &self.rules
    }

    fn weaknesses(&self) -> &[Weakness] {
        &self.weaknesses
    }

    fn prepare(&self, spec: &mut Spec, also: &[PathBuf]) -> io::Result<Ready> {
        if let Some(proxy) = &self.proxy {
            proxy.start();
        }
        let ruleset: OwnedFd = landlock::ruleset(&self.rules, also, self.abi)?;
        let mounts = self.cell.as_ref().map(|_| Mounts::plan(&self.rules, also)).transpose()?;
        let families = Families {
            // In a network of its own a command may do what it likes.
            internet: self.rules.network == Network::Open || self.cell.is_some(),
            unix: self.rules.unix_sockets,
        };
        let entry = Entry {
            users: self.cell.as_ref().map(|cell| cell.users.as_raw_fd()),
            network: self.cell.as_ref().and_then(|cell| cell.network.as_ref()).map(OwnedFd::as_raw_fd),
            mounts,
            cwd: CString::new(spec.cwd.as_os_str().as_bytes())?,
            ruleset: Some(ruleset.as_raw_fd()),
            filter: filter::program(families),
            capabilities: if rustix::process::geteuid().is_root() { ROOT_KEEPS } else { 0 },
        };
        Ok(Ready { entry, _ruleset: ruleset })
    }

    fn proxy_port(&self) -> Option<u16> {
        self.proxy.as_ref().map(Proxy::port)
    }

    fn close(&self) {
        self.placeholders.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// Pure: what these rules lack with this interface of Landlock, with or without namespaces.
fn weaknesses(rules: &Rules, abi: u32, namespaces: bool) -> Vec<Weakness> {
    let mut weak = Vec::new();
    if !namespaces {
        let below = |path: &PathBuf| rules.write.iter().any(|tree| path.starts_with(tree));
        if !rules.protected.is_empty() {
            weak.push(Weakness::ProtectedFiles);
        }
        if rules.hidden.iter().any(below) {
            weak.push(Weakness::HiddenInside);
        }
        if matches!(rules.network, Network::Only(_)) {
            weak.push(Weakness::AllowList);
        }
        if abi < ABI_TRUNCATE {
            weak.push(Weakness::Truncation);
        }
    }
    if abi < ABI_SCOPES {
        weak.push(Weakness::Signals);
    }
    weak
}

fn put_placeholders(rules: &Rules) -> Result<Vec<Placeholder>, Unavailable> {
    let mut put: Vec<Placeholder> = Vec::new();
    for path in &rules.protected {
        let Some(tree) = rules.write.iter().filter(|tree| path.starts_with(tree)).min() else { continue };
        if put.iter().any(|outer| path.starts_with(outer.path())) {
            continue;
        }
        if path.symlink_metadata().is_ok() && !path.is_dir() && !path.ends_with("commondir") {
            continue;
        }
        let placeholder = Placeholder::put(tree, path).map_err(|error| {
            Unavailable(format!("{} is missing, and its place cannot be kept: {error}", path.display()))
        })?;
        put.extend(placeholder);
    }
    Ok(put)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::Hosts;

    #[test]
    fn what_an_older_kernel_cannot_hold_is_named() {
        let rules = Rules {
            write: vec!["/w".into()],
            protected: vec!["/w/.claude".into()],
            hidden: vec!["/w/.env".into()],
            network: Network::Only(Hosts::default()),
            ..Rules::default()
        };
        assert_eq!(weaknesses(&rules, 7, true), []);
        assert_eq!(weaknesses(&rules, 2, true), [Weakness::Signals]);
        let all = [
            Weakness::ProtectedFiles,
            Weakness::HiddenInside,
            Weakness::AllowList,
            Weakness::Truncation,
            Weakness::Signals,
        ];
        assert_eq!(weaknesses(&rules, 1, false), all);
        assert_eq!(weaknesses(&Rules::default(), 7, false), []);
    }
}
