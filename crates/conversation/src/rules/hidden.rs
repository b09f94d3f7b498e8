//! Which files searches and attachments must not show: those that a rule denies, under any of their names,
//! and those that the sandbox hides.
//!
//! Deliberately absent: rules that came during the conversation. Those are about calls, and calls are judged.

use options::Options;
use policy::{Policy, Resolve as _, Rule, RuleSet};
use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tools::Disk;

/// A search asks for each of its files; files do not get new names faster than this matters.
const FRESH: Duration = Duration::from_secs(1);

/// Asked with everything else allowed, by whoever works in `cwd`, where more rules may hold.
pub fn denied(options: &Options, cwd: &Path, more: &[Rule]) -> tools::Denied {
    let policy = Policy {
        mode: wire::PermissionMode::BypassPermissions,
        rules: RuleSet {
            deny: options.permissions.rules.deny.iter().chain(more).cloned().collect(),
            ..RuleSet::default()
        },
        roots: std::iter::once(cwd.to_owned()).chain(options.extra_roots.iter().cloned()).collect(),
        cwd: cwd.to_owned(),
        home: options.places.home.clone(),
    };
    let fence = options.tools.shell.fence().cloned();
    if policy.rules.deny.is_empty() && fence.is_none() {
        return Arc::new(|_| false);
    }
    let hidden = Hidden { policy, known: Mutex::default() };
    let outside = move |path: &Path| fence.as_ref().is_some_and(|rules| rules.may_read(path).is_err());
    Arc::new(move |path| outside(path) || hidden.holds(path))
}

struct Hidden {
    policy: Policy,
    /// Inodes of what is denied, and when they were gathered. `None` inside: too many files to tell.
    known: Mutex<Option<(Instant, Option<HashSet<u64>>)>>,
}

impl Hidden {
    fn holds(&self, path: &Path) -> bool {
        self.policy.denies_read(path, path)
            || (self.policy.denies_files() && Disk.shared_inode(path).is_some_and(|ino| self.is_denied(ino)))
    }

    fn is_denied(&self, ino: u64) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, inodes) = known.take().filter(|(at, _)| at.elapsed() < FRESH).unwrap_or_else(|| {
            let inodes = self.policy.denied_inodes(&Disk);
            (Instant::now(), inodes)
        });
        let denied = inodes.as_ref().is_none_or(|inodes| inodes.contains(&ino));
        *known = Some((at, inodes));
        denied
    }
}
