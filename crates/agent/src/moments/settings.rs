//! Settings files that change under a running session.
//!
//! A session is judged by the settings it started with. A file that is swapped later never gives it more: no
//! permission, no mode, no hook, no variable. What it newly denies or asks for does count from then on, unless
//! a hook refuses the change. Everything else waits for the next start.

use crate::hearing::fire;
use crate::shared::{Lane, Shared};
use hooks::ConfigChange;
use hooks::file_watch::{Stamp, stamp};
use policy::{Rule, Source};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use wire::{Event, System};

/// One file, and how it was when it was last looked at.
struct Seen {
    source: &'static str,
    path: PathBuf,
    /// What path patterns in it are relative to.
    anchor: PathBuf,
    stamp: Option<Stamp>,
}

/// The files that this session's settings came from, or could come from.
#[derive(Default)]
pub struct SettingsSeen(RefCell<Vec<Seen>>);

/// Looks whether any has changed. A few `stat` calls where none has.
pub async fn look_at_settings(shared: &Shared, lane: &Lane) {
    for (source, path, anchor) in changed(shared) {
        let verdict = fire(shared, lane, &ConfigChange { source, file_path: &path }).await;
        // An administrator's word stands, whatever a hook says.
        let refused = verdict.blocked.or(verdict.stop).filter(|_| source != "policy_settings");
        let content = if let Some(reason) = refused {
            format!("{} has changed; a hook refused the change: {reason}", path.display())
        } else {
            let rules = restrict(shared, &path, &anchor);
            format!(
                "{} has changed: {rules} new deny and ask rules hold from now on, all else from the next start",
                path.display()
            )
        };
        shared.emitter.send(Event::System(System::informational(content, "notice"))).await;
    }
}

/// Takes the files as they are now for those the session knows: at its start, and after it wrote one itself.
pub fn remember_settings(shared: &Shared) {
    shared.live.ear.settings.0.replace(files(shared));
}

fn changed(shared: &Shared) -> Vec<(&'static str, PathBuf, PathBuf)> {
    let mut changed = Vec::new();
    for file in shared.live.ear.settings.0.borrow_mut().iter_mut() {
        let now = stamp(&file.path);
        if now != file.stamp {
            file.stamp = now;
            changed.push((file.source, file.path.clone(), file.anchor.clone()));
        }
    }
    changed
}

fn files(shared: &Shared) -> Vec<Seen> {
    let (places, sources) = (&shared.options.places, shared.options.sources);
    let seen = |source, path: PathBuf, anchor: &Path| {
        let stamp = stamp(&path);
        Seen { source, path, anchor: anchor.to_owned(), stamp }
    };
    let managed = places.managed_dir.join("managed-settings.json");
    let mut files = vec![seen("policy_settings", managed, &places.managed_dir)];
    if sources.user {
        files.push(seen("user_settings", places.user_settings(), &places.config_dir));
    }
    if sources.project {
        files.push(seen("project_settings", places.project_settings(), &places.cwd));
    }
    if sources.local {
        files.push(seen("local_settings", places.local_settings(), &places.cwd));
    }
    files
}

/// Adds what the file denies or asks for and the session does not yet; how many rules that is.
fn restrict(shared: &Shared, path: &Path, anchor: &Path) -> usize {
    let source = Source { name: path.display().to_string(), anchor: anchor.to_owned() };
    let mut live = shared.live.rules.borrow_mut();
    let (deny, ask) = settings::restrictions(path);
    add(&mut live.deny, &deny, &source) + add(&mut live.ask, &ask, &source)
}

fn add(list: &mut Vec<Rule>, texts: &[String], source: &Source) -> usize {
    let before = list.len();
    for text in texts {
        // A rule that cannot be read restricts nothing here; the next start says what is wrong with it.
        let Ok(rule) = policy::parse_rule(text, source) else { continue };
        if !list.iter().any(|known| known.text == rule.text && known.source.anchor == rule.source.anchor) {
            list.push(rule);
        }
    }
    list.len() - before
}
