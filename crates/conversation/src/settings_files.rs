//! Settings files that change under a running session.
//!
//! A session is judged by the settings it started with. A file that is swapped later never gives it more: no
//! permission, no mode, no hook, no variable. What it newly denies or asks for does count from then on, unless
//! a hook refuses the change. Everything else waits for the next start.

use crate::conversation::Conversation;
use crate::hook_runner::HookRunner;
use crate::rules::Rules;
use hooks::ConfigChange;
use hooks::file_watch::{Stamp, stamp};
use options::Options;
use output::Output;
use policy::{Rule, Source};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
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
pub struct SettingsFiles {
    options: Rc<Options>,
    output: Rc<Output>,
    rules: Rc<Rules>,
    hooks: Rc<HookRunner>,
    seen: RefCell<Vec<Seen>>,
}

impl SettingsFiles {
    pub fn new(options: Rc<Options>, output: Rc<Output>, rules: Rc<Rules>, hooks: Rc<HookRunner>) -> Self {
        let seen = RefCell::new(files(&options));
        Self { options, output, rules, hooks, seen }
    }

    /// Looks whether any has changed. A few `stat` calls where none has.
    pub async fn look(&self, conversation: &Conversation) {
        for (source, path, anchor) in self.changed() {
            let answer = self.hooks.fire(conversation, &ConfigChange { source, file_path: &path }).await;
            // An administrator's word stands, whatever a hook says.
            let refused = answer.blocked.or(answer.stop).filter(|_| source != "policy_settings");
            let content = if let Some(reason) = refused {
                format!("{} has changed; a hook refused the change: {reason}", path.display())
            } else {
                let rules = self.restrict(&path, &anchor);
                format!(
                    "{} has changed: {rules} new deny and ask rules hold from now on, all else from the next start",
                    path.display()
                )
            };
            self.output.send(Event::System(System::informational(content, "notice"))).await;
        }
    }

    /// Takes the files as they are now for those the session knows: after it wrote one itself.
    pub fn remember(&self) {
        self.seen.replace(files(&self.options));
    }

    fn changed(&self) -> Vec<(&'static str, PathBuf, PathBuf)> {
        let mut changed = Vec::new();
        for file in self.seen.borrow_mut().iter_mut() {
            let now = stamp(&file.path);
            if now != file.stamp {
                file.stamp = now;
                changed.push((file.source, file.path.clone(), file.anchor.clone()));
            }
        }
        changed
    }

    /// Adds what the file denies or asks for and the session does not yet; how many rules that is.
    fn restrict(&self, path: &Path, anchor: &Path) -> usize {
        let source = Source { name: path.display().to_string(), anchor: anchor.to_owned() };
        let (deny, ask) = settings::restrictions(path);
        self.rules.change(|live| add(&mut live.deny, &deny, &source) + add(&mut live.ask, &ask, &source))
    }
}

fn files(options: &Options) -> Vec<Seen> {
    let (places, sources) = (&options.places, options.sources);
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
