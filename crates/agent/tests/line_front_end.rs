//! A second front end: plain lines in, plain lines out. It shows that a session needs nothing but commands and a writer.
//!
//! `hello` is a prompt, `!` interrupts, `?name` asks for something. An answer is `< text`, a result `= subtype`.
#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world must fail loudly")]

use ralph_agent as agent;

use agent::session::{Session, Turns};
use agent::{
    Access, Asking, AutoCompact, BuiltinAgents, Caching, InputFormat, Limits, Linger, Options, OutputFormat,
    OutsideSetup, Permissions, Prompter, Prompting, SessionPlan, Setup, StateEvents, StdinKind, ToolChoice, ToolSetup,
    Writer,
};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use mock::{Mock, Script, ScriptedAnswer};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;
use turn::InterruptCause;
use wire::UserInput;

/// Keeps the events, as this protocol writes them.
#[derive(Default)]
struct Lines(RefCell<Vec<String>>);

impl Lines {
    fn take(&self, line: &[u8]) {
        let event: Value = serde_json::from_slice(line).unwrap();
        let told = match event["type"].as_str().unwrap() {
            "assistant" => event["message"]["content"][0]["text"].as_str().map(|text| format!("< {text}")),
            "result" => Some(format!("= {}", event["subtype"].as_str().unwrap())),
            "control_response" => Some(format!("? {}", event["response"]["response"])),
            _ => None,
        };
        self.0.borrow_mut().extend(told);
    }
}

impl Writer for Lines {
    fn try_line(&self, line: Vec<u8>) -> Option<Vec<u8>> {
        self.take(&line);
        None
    }

    fn wait_line(&self, line: Vec<u8>) -> LocalBoxFuture<'_, ()> {
        self.take(&line);
        std::future::ready(()).boxed_local()
    }

    fn line_now(&self, line: Vec<u8>) {
        self.take(&line);
    }

    fn is_terminal(&self) -> bool {
        false
    }

    fn reader_left(&self) -> LocalBoxFuture<'_, ()> {
        std::future::pending().boxed_local()
    }

    fn drain(&self) -> LocalBoxFuture<'_, ()> {
        std::future::ready(()).boxed_local()
    }
}

/// Everything that one line of this protocol leads to.
async fn say(session: &Session, turns: &mut Turns, line: &str) {
    match line.split_at(1) {
        ("!", _) => session.interrupt(InterruptCause::Client),
        ("?", subtype) => session.request("1".into(), json!({"subtype": subtype})).await,
        _ => session.prompt(Box::new(UserInput::text(line.to_owned()))),
    }
    while session.has_next() {
        turns.run().await;
    }
}

fn tool_setup(folder: &Path) -> ToolSetup {
    let shell = tools::Shell::new("/bin/sh".into(), Vec::new(), folder.join("spill"), folder.into());
    ToolSetup {
        choice: ToolChoice::Default,
        todo_write: false,
        task_list: false,
        shell,
        limits: tools::ToolLimits::default(),
        concurrency: 10,
        auto_allow_bash: false,
        web_searches: 0,
        web_cache: Duration::ZERO,
        scheduling: true,
        web_private: false,
        search: agent::ToolSearch::Off,
        shortest_wakeup: Duration::from_mins(1),
    }
}

fn options(folder: &Path, url: String) -> Options {
    let places = settings::Places::new(folder.into(), Some(folder.into()), None);
    let auth = model::Auth::None;
    Options {
        plugin_installs: Vec::new(),
        input: InputFormat::StreamJson,
        output: OutputFormat::StreamJson,
        stdin: StdinKind::Closed,
        ends_with_terminal: false,
        await_initialize: false,
        prompt: None,
        partial: false,
        replay_user: false,
        hook_events: false,
        may_suggest: false,
        preparation: None,
        bundled: false,
        state_events: StateEvents::Off,
        checkpoint_dir: None,
        stop_block_cap: 8,
        ascii: false,
        cwd: folder.into(),
        extra_roots: Vec::new(),
        setup: setup(),
        places,
        sources: settings::Sources::default(),
        settings: settings::Settings::default(),
        env: Vec::new(),
        session: agent::Session {
            id: "00000000-0000-4000-8000-000000000000".into(),
            plan: SessionPlan::New,
            until: None,
            drops_turn: None,
            mirror: false,
            persist: false,
            title: None,
            project_dir_name: None,
            git_branch: String::new(),
            entrypoint: None,
        },
        asking: asking(),
        permissions: Permissions {
            mode: wire::PermissionMode::Default,
            rules: policy::RuleSet::default(),
            prompter: Prompter::Nobody,
            may_bypass: false,
        },
        tools: tool_setup(folder),
        outside: OutsideSetup {
            servers: Vec::new(),
            problems: Vec::new(),
            strict: true,
            env: Vec::new(),
            start_timeout: Duration::from_secs(1),
            login: mcp::LoginOptions::default(),
            logins: None,
            waits: mcp::StartWaits { usual: Duration::from_secs(1), always_load: Duration::from_secs(1) },
            call_timeout: Duration::from_secs(1),
            idle_timeout: None,
            max_output_tokens: 1_000,
        },
        limits: Limits {
            max_turns: None,
            max_budget_usd: None,
            schema_retries: 5,
            agent_depth: 1,
            agents_at_once: 8,
            agent_output: 1_000,
            linger: Linger { shells: Duration::ZERO, agents: None, awaited_agents: None },
        },
        access: Access {
            client: model::ClientConfig::new(url, auth),
            credentials: settings::Resolution {
                chosen: Some(settings::Chosen {
                    source: "test".into(),
                    label: "test".into(),
                    found: settings::Found::ApiKey(settings::Secret::new("sk-test-1234")),
                }),
                considered: Vec::new(),
            },
            helper_ttl: Duration::ZERO,
            oauth_refresh_url: String::new(),
        },
        mentions: true,
        slash: true,
        memory: None,
        git_state: None,
        bare: false,
        builtin_agents: BuiltinAgents::None,
        version: "test",
        observer: observer::Observer::off(),
        debug_file: None,
    }
}

fn setup() -> Setup {
    Setup {
        prompting: Prompting {
            system: None,
            append: None,
            append_subagent: None,
            static_system: false,
            plan: None,
            short: false,
            language: None,
            attribution: None,
        },
        schema: None,
        agents: Vec::new(),
        agent: None,
        skills: Vec::new(),
        plugins: Rc::default(),
        only_skills: None,
        listing_chars: None,
        subagent_text: false,
        tool_aliases: std::collections::BTreeMap::new(),
        suggestions: false,
    }
}

fn asking() -> Asking {
    Asking {
        model: "claude-sonnet-5-5".into(),
        model_named: true,
        small_model: "claude-haiku-5-5".into(),
        subagent_model: None,
        fallback: Vec::new(),
        elsewhere: Vec::new(),
        model_env: model::ModelEnv::default(),
        thinking: model::ThinkingAsk::default(),
        effort: None,
        max_output: None,
        betas: Vec::new(),
        task_budget: None,
        extra_body: None,
        cache: Caching::default(),
        auto_compact: AutoCompact::Off,
        window: None,
    }
}

#[tokio::test]
async fn a_front_end_of_plain_lines_needs_only_commands_and_a_writer() {
    let folder = tempfile::tempdir().unwrap();
    let call = ScriptedAnswer::tool("Glob", &json!({"pattern": "*.txt"}));
    let script = Script {
        turns: vec![ScriptedAnswer::text("Hello."), call, ScriptedAnswer::text("No files.")],
        ..Script::default()
    };
    let mock = Mock::start(script).unwrap();
    let lines = Rc::new(Lines::default());
    let here = tokio::task::LocalSet::new();
    let writer = Rc::clone(&lines);
    let talk = async {
        let opened = Session::open(options(&folder.path().canonicalize().unwrap(), mock.url()), writer);
        let (session, mut turns) = opened.unwrap_or_else(|not| panic!("{}", not.message));
        for line in ["hello", "!", "look", "/nothing", "?get_session_cost"] {
            say(&session, &mut turns, line).await;
        }
        turns.close("other").await;
        session.end_helpers().await;
        session.end_tasks().await;
    };
    here.run_until(talk).await;
    let told = lines.0.take();
    assert_eq!(told[..5], ["< Hello.", "= success", "< No files.", "= success", "= success"], "{told:?}");
    assert!(told[5].starts_with("? {\"total_cost_usd\":0.0"), "{told:?}");
}
