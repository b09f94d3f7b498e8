//! Hooks as a whole: what answers mean, what settings mean, and real processes and servers.

mod configured;
mod meaning;
mod others;
mod running;

use crate::{
    AskError, Callbacks, HookAnswer, HookContext, HookEvent, HookHost, HookPayload, HookRun, Hooks, fire_hook,
};
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;

/// Far beyond what any hook of these tests takes, so that only a fault reaches it.
const PATIENCE: Duration = Duration::from_mins(1);

/// An event with any fields.
struct Any<'a> {
    event: HookEvent,
    subject: Option<&'a str>,
    fields: Map<String, Value>,
}

impl HookPayload for Any<'_> {
    fn event(&self) -> HookEvent {
        self.event
    }

    fn subject(&self) -> Option<&str> {
        self.subject
    }

    fn tool_use_id(&self) -> Option<&str> {
        Some("toolu_1")
    }

    fn fields(&self) -> Map<String, Value> {
        self.fields.clone()
    }
}

/// A folder, an environment, and an ear for news.
struct Bench {
    folder: TempDir,
    project: PathBuf,
    env: process::Env,
    news: RefCell<Vec<HookRun>>,
    count: RefCell<u32>,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("project");
        std::fs::create_dir(&project).unwrap();
        let env = vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())];
        Self { folder, project, env, news: RefCell::default(), count: RefCell::default() }
    }

    fn set(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.project.join(file)).unwrap_or_default()
    }

    async fn fire(&self, hooks: &Hooks, event: HookEvent, subject: Option<&str>, fields: Value) -> HookAnswer {
        self.fire_with(hooks, event, subject, fields, None).await
    }

    async fn fire_with(
        &self,
        hooks: &Hooks,
        event: HookEvent,
        subject: Option<&str>,
        fields: Value,
        callbacks: Option<&dyn Callbacks>,
    ) -> HookAnswer {
        let scene = HookContext {
            session_id: "s-1",
            transcript_path: "/t/s-1.jsonl",
            cwd: &self.project,
            permission_mode: "default",
            agent_id: None,
            agent_type: None,
            effort: Some("high"),
            prompt_id: None,
        };
        let (env_file, spill_dir) = (self.folder.path().join("env"), self.folder.path().join("spilled"));
        let world = HookHost {
            env: &self.env,
            project_dir: &self.project,
            env_file: Some(&env_file),
            callbacks,
            helpers: None,
            http: &|| {
                let access = model::ClientConfig::new("http://127.0.0.1", model::Auth::None);
                let client = model::plain_client(&access).map_err(AskError::host)?;
                client.build().map_err(AskError::host)
            },
            observe: &|news| self.news.borrow_mut().push(news),
            disk: &tools::Disk,
            tool_name: |name| if name == "Task" { "Agent" } else { name },
            spill_dir: &spill_dir,
            ids: &|| {
                *self.count.borrow_mut() += 1;
                format!("h{}", self.count.borrow())
            },
        };
        let Value::Object(fields) = fields else { panic!("fields are an object") };
        let payload = Any { event, subject, fields };
        let fired = fire_hook(hooks, &payload, &scene, &world);
        tokio::time::timeout(PATIENCE, fired).await.expect("a hook that should have ended")
    }

    /// Fires PreToolUse for a Bash command.
    async fn bash(&self, hooks: &Hooks, command: &str) -> HookAnswer {
        let fields = json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "toolu_1"});
        self.fire(hooks, HookEvent::PreToolUse, Some("Bash"), fields).await
    }

    fn outcomes(&self) -> Vec<&'static str> {
        let news = self.news.borrow();
        news.iter()
            .map(|news| match news {
                HookRun::Started { .. } => "started",
                HookRun::Response { outcome, .. } => outcome,
            })
            .collect()
    }
}

/// Handlers of one event, as settings have them; no warnings.
fn hooks(event: &str, handlers: &Value) -> Hooks {
    let (hooks, warnings) = Hooks::from_settings(&json!({event: [{"hooks": handlers}]}), "test");
    assert_eq!(warnings, Vec::<String>::new());
    hooks
}

fn command(text: &str) -> Value {
    json!({"type": "command", "command": text})
}
