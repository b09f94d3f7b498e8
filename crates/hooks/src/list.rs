//! All handlers of a session: those of settings and plugins, and the client's callbacks.

use crate::background::{Background, Finished};
use crate::event::HookEvent;
use crate::handler::OnFailure;
use crate::handler::{Action, Condition, Handler, Plugin, seconds};
use crate::host::HookRun;
use crate::http;
use crate::matcher::Matcher;
use serde_json::Value;
use std::path::Path;
use std::rc::Rc;

/// Handlers in the order of their configuration.
#[derive(Debug, Clone, Default)]
pub struct Hooks {
    pub(crate) handlers: Vec<Handler>,
    /// Shared by clones: a hook goes on when the list changes.
    pub(crate) background: Rc<Background>,
}

impl Hooks {
    /// Reads `{Event: [{matcher?, hooks: [handler…]}]}`. What cannot be used is skipped and named in a
    /// warning; `source` says where it stands, for people.
    pub fn from_settings(hooks: &Value, source: &str) -> (Self, Vec<String>) {
        let (mut read, warnings) = Self::from_skill(hooks, source);
        for handler in &mut read.handlers {
            handler.once = None;
        }
        (read, warnings)
    }

    /// The same of a skill, where `once` has a meaning.
    pub fn from_skill(hooks: &Value, source: &str) -> (Self, Vec<String>) {
        let mut read = Self::default();
        let mut warnings = Vec::new();
        match hooks {
            Value::Null => {}
            Value::Object(events) => {
                for (name, groups) in events {
                    let problems = read.read_event(name, groups, source);
                    warnings.extend(problems.into_iter().map(|why| format!("{name} hook in {source}: {why}")));
                }
            }
            _ => warnings.push(format!("hooks in {source} are not an object, so none runs")),
        }
        (read, warnings)
    }

    fn read_event(&mut self, name: &str, groups: &Value, source: &str) -> Vec<String> {
        let Some(event) = HookEvent::parse(name) else { return vec!["there is no such event; skipped".into()] };
        let Value::Array(groups) = groups else { return vec!["not a list; skipped".into()] };
        let mut problems = Vec::new();
        for group in groups {
            let matcher = match group.get("matcher") {
                None | Some(Value::Null) => Matcher::All,
                Some(Value::String(text)) => {
                    let (matcher, problem) = Matcher::parse(text);
                    problems.extend(problem.map(|why| format!("the matcher {text:?} matches nothing: {why}")));
                    matcher
                }
                Some(other) => {
                    problems.push(format!("the matcher {other} is not a string; skipped"));
                    continue;
                }
            };
            let Some(Value::Array(handlers)) = group.get("hooks") else {
                problems.push("a group has no list named hooks; skipped".into());
                continue;
            };
            for value in handlers {
                match Handler::parse(event, matcher.clone(), value, source, &mut problems) {
                    Ok(handler) => self.handlers.push(handler),
                    Err(why) => problems.push(format!("{why}; skipped")),
                }
            }
        }
        problems
    }

    /// The same hooks, written by a folder that the user has not trusted: they may refuse and tell, not grant.
    #[must_use]
    pub fn untrusted(mut self) -> Self {
        for handler in &mut self.handlers {
            handler.is_trusted = false;
        }
        self
    }

    /// The same hooks, known to come from a plugin: its folders become variables and placeholders.
    #[must_use]
    pub fn of_plugin(mut self, root: &Path, data: &Path) -> Self {
        for handler in &mut self.handlers {
            handler.plugin = Some(Plugin { root: root.to_owned(), data: data.to_owned() });
        }
        self
    }

    /// The same hooks, written in a file whose path patterns are relative to this folder.
    #[must_use]
    pub fn anchored(mut self, folder: &Path) -> Self {
        for handler in &mut self.handlers {
            if let Condition::Rule(rule) = &mut handler.condition {
                folder.clone_into(&mut rule.source.anchor);
            }
        }
        self
    }

    /// Keeps http hooks to what the administrator permits: addresses (with `*`) and names of variables.
    /// `None` is no limit; an empty list permits nothing. Returns what was taken out.
    pub fn restrict_http(&mut self, urls: Option<&[String]>, variables: Option<&[String]>) -> Vec<String> {
        let mut removed = Vec::new();
        self.handlers.retain_mut(|handler| {
            let Action::Http { url, env, .. } = &mut handler.action else { return true };
            if let Some(variables) = variables {
                env.retain(|name| variables.contains(name));
            }
            let permitted = urls.is_none_or(|urls| urls.iter().any(|pattern| http::wildcard(pattern, url)));
            if !permitted {
                removed.push(format!("{} hook `{url}` is not in allowedHttpHookUrls; skipped", handler.event.as_str()));
            }
            permitted
        });
        removed
    }

    pub fn add(&mut self, other: Self) {
        self.handlers.extend(other.handlers);
    }

    /// Adds what a skill brings, if it has not brought it before.
    pub fn bring(&mut self, by: &str, other: Self) {
        if self.handlers.iter().any(|handler| handler.by.as_deref() == Some(by)) {
            return;
        }
        let by: Rc<str> = by.into();
        self.handlers.extend(other.handlers.into_iter().map(|handler| Handler { by: Some(Rc::clone(&by)), ..handler }));
    }

    /// The skills are out of the conversation, and their hooks with them.
    pub fn forget_brought(&mut self) {
        self.handlers.retain(|handler| handler.by.is_none());
    }

    /// Takes out what plugins brought, for whoever reads them again.
    pub fn forget_plugins(&mut self) {
        self.handlers.retain(|handler| handler.plugin.is_none() || handler.by.is_some());
    }

    pub fn is_empty(&self) -> bool {
        self.handlers.is_empty()
    }

    /// Takes the client's callbacks from its `initialize`: `{Event: [{matcher, hookCallbackIds, timeout?,
    /// onFailure?}]}`. They replace earlier ones; what cannot be read is ignored, as are unknown events.
    pub fn set_callbacks(&mut self, initialize_hooks: &Value) {
        self.handlers.retain(|handler| !matches!(handler.action, Action::Callback { .. }));
        for (name, groups) in initialize_hooks.as_object().into_iter().flatten() {
            let Some(event) = HookEvent::parse(name) else { continue };
            for group in groups.as_array().into_iter().flatten() {
                self.handlers.extend(callbacks(event, group));
            }
        }
    }

    pub fn wants(&self, event: HookEvent) -> bool {
        self.handlers.iter().any(|handler| handler.event == event)
    }

    /// The file names that FileChanged matchers spell out: they are watched because they are named.
    pub fn watched_names(&self) -> Vec<String> {
        let watching = self.handlers.iter().filter(|handler| handler.event == HookEvent::FileChanged);
        watching.flat_map(|handler| handler.matcher.file_names()).collect()
    }

    /// Waits until one in the background has ended. May be dropped; nothing is lost.
    pub async fn one_finished(&self) {
        self.background.one_finished().await;
    }

    /// What hooks in the background have come to since the last look.
    pub fn take_finished(&self) -> Vec<Finished> {
        self.background.take_finished()
    }

    /// Ends what still runs in the background. The news are of everything that was still open.
    pub async fn end_background(&self) -> Vec<HookRun> {
        self.background.end().await
    }
}

fn callbacks(event: HookEvent, group: &Value) -> Vec<Handler> {
    let matcher = Matcher::parse(group["matcher"].as_str().unwrap_or_default()).0;
    let on_failure = match group["onFailure"].as_str() {
        Some("block") => OnFailure::Block,
        _ => OnFailure::BlockOnTimeout,
    };
    let ids = group["hookCallbackIds"].as_array().into_iter().flatten().filter_map(Value::as_str);
    ids.map(|id| Handler {
        event,
        matcher: matcher.clone(),
        condition: Condition::Always,
        timeout: seconds(group).ok().flatten(),
        action: Action::Callback { id: id.to_owned(), on_failure },
        plugin: None,
        once: None,
        by: None,
        is_trusted: true,
    })
    .collect()
}
