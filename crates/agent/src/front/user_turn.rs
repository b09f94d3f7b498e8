//! One user turn, from the prompt to its result line.

use super::desk::Work;
use super::slash::{self, Slash};
use super::{builtin, mention_denials, warn};
use crate::conversation::{blocks_of, last_text, text_of, without_last_text};
use crate::shared::{Lane, Shared};
use crate::turn::{End, Turn, drive, whisper};
use crate::{
    InputFormat, Options, SessionPlan, calls, clock, frontmatter_hooks, hearing, memory, mentions, moments, outside,
    result,
};
use futures_util::FutureExt as _;
use serde_json::{Value, json};
use session::UserExtra;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use wire::{Assistant, Event, Init, LocalCommandOutput, RateLimitEvent, RateLimitInfo, System, User, UserInput};

/// Runs it. True where its result was an error.
pub async fn run(shared: &Rc<Shared>, lane: &mut Lane, work: Work) -> bool {
    shared.live.denials.borrow_mut().clear();
    shared.live.grants.borrow_mut().clear();
    shared.live.bans.borrow_mut().clear();
    shared.live.turn_model.borrow_mut().take();
    shared.live.turn_effort.borrow_mut().take();
    shared.live.no_prompter.take();
    let mut turn = Turn::begin();
    let origin = match &work {
        Work::Prompt(prompt) => prompt.origin.clone().filter(|origin| origin["kind"] == "human"),
        Work::Notice { .. } => Some(json!({"kind": "task-notification"})),
        Work::Deferred => None,
    };
    // A panic must not cost the client its result: it becomes one.
    let end = AssertUnwindSafe(go(shared, lane, &mut turn, work))
        .catch_unwind()
        .await
        .unwrap_or_else(|panic| End::Internal(panic_words(&*panic)));
    finish(shared, lane, &end).await;
    moments::turn_fails(shared, lane, &turn, &end).await;
    let outcome = result::outcome(shared, &turn, &end, origin);
    let is_error = outcome.is_error();
    shared.emitter.result(outcome).await;
    mention_denials(shared);
    is_error
}

fn panic_words(panic: &(dyn std::any::Any + Send)) -> String {
    let words = panic.downcast_ref::<&str>().map(|words| (*words).to_owned());
    words.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "unknown".into())
}

async fn go(shared: &Rc<Shared>, lane: &mut Lane, turn: &mut Turn, mut work: Work) -> End {
    if let Work::Prompt(prompt) = &mut work {
        replay(shared, prompt).await;
    }
    if !shared.live.started.get()
        && let Some(agent) = super::opening::session_agent(&shared.setup())
    {
        outside::start_for_session(shared, agent);
        frontmatter_hooks::by_session_agent(shared, agent);
    }
    outside::settle(shared).await;
    shared.live.ear.between.settled().await;
    super::opening::equip(shared, lane);
    let is_first = !shared.live.started.replace(true);
    if is_first {
        if shared.setup().prompting.static_system && !shared.options.setup.prompting.static_system {
            // A client has just asked for it: what the system prompt leaves out stands before the conversation.
            let (preamble, known) = memory::begin(shared, memory::Reader::Main);
            lane.conversation.set_preamble(preamble);
            lane.memory = known;
        }
        moments::setup(shared, lane).await;
        moments::session_starts(shared, lane, moments::start_source(shared)).await;
        memory::tell(shared, lane).await;
    }
    shared.emitter.send(Event::System(System::Init(Box::new(init(shared, lane))))).await;
    crate::file_watch::begin(shared);
    crate::failpoint::hit(&shared.options);
    if let Some(problem) = super::opening::missing_agent(shared) {
        return End::BadCommand(problem);
    }
    if let Some(end) = go_on_with_deferred(shared, lane, turn).await {
        return end;
    }
    match work {
        Work::Prompt(prompt) => {
            if is_blank(&prompt.message.content) {
                let content = "The message was empty; nothing was sent to the model.";
                shared.emitter.send(Event::System(System::informational(content, "notice"))).await;
                return End::Done;
            }
            let prompt = if is_first { with_initial_prompt(shared, prompt) } else { prompt };
            let text = text_of(&prompt.message.content);
            let last = last_text(&prompt.message.content);
            shared.live.ear.prompt_id.replace(prompt.uuid.clone().or_else(|| Some(shared.emitter.ids().next())));
            let (command, mut added) = match slash::read(shared, lane, last, prompt.client_composed == Some(true)).await
            {
                Ok(Slash::Prompt) => (None, Vec::new()),
                Ok(Slash::Blocks { blocks, contexts }) => (Some(blocks), contexts),
                Ok(Slash::Builtin { name, args }) => return local(shared, lane, turn, name, &args).await,
                Err(problem) => return End::BadCommand(problem),
            };
            let contexts = match moments::prompt_comes(shared, lane, &text).await {
                Ok(contexts) => contexts,
                Err(problem) => return End::BadCommand(problem),
            };
            take_prompt(shared, lane, *prompt, command).await;
            memory::follow(shared, lane).await;
            added.extend(contexts);
            for context in added.into_iter().chain(hearing::finished(shared)) {
                whisper(shared, lane, &context);
            }
        }
        Work::Notice { words } => {
            add_meta(shared, lane, json!(words));
        }
        Work::Deferred => {}
    }
    drive(shared, lane, turn).await
}

/// The call that a hook put off comes first: the model waits for its result.
async fn go_on_with_deferred(shared: &Rc<Shared>, lane: &mut Lane, turn: &mut Turn) -> Option<End> {
    let call = shared.live.deferred.take()?;
    if lane.toolset.find(&call.name).is_none() {
        let name = call.name.clone();
        shared.live.deferred.replace(Some(call));
        return Some(End::DeferredGone(name));
    }
    calls::run_all(shared, lane, turn, vec![call]).await
}

/// A command of ours: no model call, its answer is the result.
async fn local(shared: &Shared, lane: &mut Lane, turn: &mut Turn, name: &str, args: &str) -> End {
    match builtin::run(shared, lane, name, args).await {
        Ok(answer) => {
            if !answer.is_empty() {
                let output = LocalCommandOutput { content: answer.clone(), ..LocalCommandOutput::default() };
                shared.emitter.send(Event::System(System::LocalCommandOutput(output))).await;
            }
            turn.last_text = answer;
            End::Done
        }
        Err(problem) => End::BadCommand(problem),
    }
}

/// The agent that a session runs as may have something to say before the first prompt.
fn with_initial_prompt(shared: &Shared, mut prompt: Box<UserInput>) -> Box<UserInput> {
    let is_new = shared.options.session.plan == SessionPlan::New;
    let Some(initial) = super::opening::initial_prompt(&shared.setup()).filter(|_| is_new) else { return prompt };
    if text_of(&prompt.message.content) != initial {
        let mut blocks = vec![json!({"type": "text", "text": initial})];
        blocks.extend(blocks_of(prompt.message.content.take()));
        prompt.message.content = Value::Array(blocks);
    }
    prompt
}

fn is_blank(content: &Value) -> bool {
    match content {
        Value::String(text) => text.trim().is_empty(),
        Value::Array(blocks) => blocks
            .iter()
            .all(|block| block["type"] == "text" && block["text"].as_str().unwrap_or_default().trim().is_empty()),
        _ => true,
    }
}

/// Shows the client that its prompt was taken, whatever becomes of it; its entry will have this id.
async fn replay(shared: &Shared, prompt: &mut UserInput) {
    if !shared.options.replay_user || shared.options.input != InputFormat::StreamJson {
        return;
    }
    let entry = entry_of(shared, prompt);
    let message = json!({"role": "user", "content": prompt.message.content});
    let message = message.into();
    let event = User { message, timestamp: clock::now_iso(), is_replay: Some(true), ..User::default() };
    shared.emitter.send_as(Event::User(Box::new(event)), &entry).await;
    prompt.uuid = Some(entry);
}

/// The client's own id where it is one.
fn entry_of(shared: &Shared, prompt: &UserInput) -> String {
    let given = prompt.uuid.clone().filter(|id| uuid::Uuid::parse_str(id).is_ok());
    given.unwrap_or_else(|| shared.emitter.ids().next())
}

/// The prompt into transcript and conversation, with the files it mentions.
async fn take_prompt(shared: &Shared, lane: &mut Lane, prompt: UserInput, command: Option<Vec<Value>>) {
    let entry = entry_of(shared, &prompt);
    shared.checkpoints.begin(&entry);
    let content = prompt.message.content;
    let message = json!({"role": "user", "content": content});
    let text = text_of(&content);
    lane.transcript.user(&entry, &message, UserExtra::default());
    lane.transcript.meta(&json!({"type": "last-prompt", "lastPrompt": text, "sessionId": shared.emitter.session_id()}));
    Shared::report_transcript(lane);
    if let Some(blocks) = command {
        let beside = without_last_text(content);
        if !beside.is_empty() {
            lane.conversation.push_user(usable(Value::Array(beside)));
        }
        add_meta(shared, lane, Value::Array(blocks));
        return;
    }
    lane.conversation.push_user(usable(content));
    if shared.options.mentions && prompt.client_composed != Some(true) {
        let attached = mentions::attachments(shared, lane, &text).await;
        if !attached.is_empty() {
            add_meta(shared, lane, Value::Array(attached));
        }
    }
}

/// Text for the model that belongs to the prompt but was not typed.
fn add_meta(shared: &Shared, lane: &mut Lane, content: Value) {
    let message = json!({"role": "user", "content": content});
    lane.transcript.user(&shared.emitter.ids().next(), &message, UserExtra { is_meta: true, ..UserExtra::default() });
    lane.conversation.push_user(content);
}

/// What was said about the session since the last turn.
pub fn write_notes(shared: &Shared, lane: &mut Lane) {
    for note in shared.live.notes.take() {
        lane.transcript.meta(&note);
    }
}

/// What a client said without asking for an answer; a resumed session finds it in its history.
pub fn keep(shared: &Shared, lane: &mut Lane, contents: Vec<Value>) {
    write_notes(shared, lane);
    for content in contents {
        let message = json!({"role": "user", "content": content});
        lane.transcript.user(&shared.emitter.ids().next(), &message, UserExtra::default());
    }
    Shared::report_transcript(lane);
}

/// The API refuses empty text blocks; clients send them.
fn usable(content: Value) -> Value {
    match content {
        Value::Array(_) => Value::Array(
            blocks_of(content)
                .into_iter()
                .filter(|block| block["type"] != "text" || !block["text"].as_str().unwrap_or_default().is_empty())
                .collect(),
        ),
        text => text,
    }
}

/// What a turn that did not end well leaves behind for the client, the transcript and stderr.
async fn finish(shared: &Shared, lane: &mut Lane, end: &End) {
    write_notes(shared, lane);
    match end {
        End::Api(failure) => {
            let words = result::reason(end);
            if failure.category == "rate_limit" {
                let resets_at = failure.reset_at.and_then(|reset| reset.as_second().try_into().ok());
                let rate_limit_info =
                    RateLimitInfo { status: "rejected".into(), resets_at, ..RateLimitInfo::default() };
                let event = RateLimitEvent { rate_limit_info, ..RateLimitEvent::default() };
                shared.emitter.send(Event::RateLimitEvent(event)).await;
            }
            synthetic_answer(shared, lane, &words, failure.category).await;
            warn(&words);
        }
        End::Interrupted { streaming } => interrupted(shared, lane, *streaming).await,
        End::Internal(_) | End::NoPrompter(_) => warn(&result::reason(end)),
        _ => {}
    }
    Shared::report_transcript(lane);
}

/// An answer the model did not give: how clients of the reference are told of API failures.
async fn synthetic_answer(shared: &Shared, lane: &mut Lane, words: &str, category: &'static str) {
    let ids = shared.emitter.ids();
    let message = json!({
        "id": ids.next(),
        "type": "message",
        "role": "assistant",
        "model": "<synthetic>",
        "content": [{"type": "text", "text": words}],
        "stop_reason": "stop_sequence",
        "stop_sequence": "",
        "usage": wire::Usage::default(),
        "context_management": null,
    });
    let entry = ids.next();
    lane.transcript.assistant(&entry, &message, None);
    let event = Assistant { message: message.into(), error: Some(category.into()), ..Assistant::default() };
    shared.emitter.send_as(Event::Assistant(Box::new(event)), &entry).await;
}

async fn interrupted(shared: &Shared, lane: &mut Lane, streaming: bool) {
    let words = if streaming { "[Request interrupted by user]" } else { calls::INTERRUPTED };
    let message = json!({"role": "user", "content": [{"type": "text", "text": words}]});
    let entry = shared.emitter.ids().next();
    lane.transcript.user(&entry, &message, UserExtra::default());
    lane.conversation.push_user(message["content"].clone());
    let event = User { message: message.into(), timestamp: clock::now_iso(), ..User::default() };
    shared.emitter.send_as(Event::User(Box::new(event)), &entry).await;
}

fn init(shared: &Shared, lane: &Lane) -> Init {
    let options = &shared.options;
    let setup = shared.setup();
    let user_skills = setup.skills.iter().filter(|skill| skill.user_invocable).map(|skill| skill.name.clone());
    let own = builtin::COMMANDS.iter().filter(|_| options.slash).map(|(name, _)| (*name).to_owned());
    let prompts = outside::prompts(shared).into_iter().map(|prompt| prompt.full_name);
    Init {
        cwd: options.cwd.display().to_string(),
        tools: lane.toolset.names(),
        mcp_servers: outside::summary(shared),
        mcp_server_errors: outside::errors(shared),
        model: Some(shared.model(&lane.role)),
        permission_mode: shared.mode(&lane.role).as_str().into(),
        slash_commands: user_skills.chain(prompts).chain(own).collect(),
        api_key_source: options
            .access
            .credentials
            .chosen
            .as_ref()
            .map_or_else(|| "none".into(), |chosen| chosen.source.clone()),
        claude_code_version: options.version.into(),
        output_style: shared.live.output_style.borrow().clone().unwrap_or_else(|| "default".into()),
        agents: setup.agents.iter().map(|agent| agent.name.clone()).collect(),
        skills: setup.skills.iter().map(|skill| skill.name.clone()).collect(),
        plugins: plugins(&setup.plugins),
        plugin_errors: plugin_errors(&setup.plugins),
        betas: options.asking.betas.clone(),
        analytics_disabled: true,
        product_feedback_disabled: true,
        memory_paths: memory_paths(options),
        fast_mode_state: "off".into(),
        extra: wire::Extra::new(),
    }
}

/// Where the automatic memory is, where there is one.
fn memory_paths(options: &Options) -> BTreeMap<String, String> {
    let index = options.memory.as_ref().and_then(|memory| memory.auto.as_ref());
    let folder = index.and_then(|index| index.parent()).map(|folder| folder.display().to_string());
    folder.map(|folder| ("auto".to_owned(), folder)).into_iter().collect()
}

pub fn plugins(plugins: &project::Plugins) -> Vec<Value> {
    let one = |plugin: &project::Plugin| {
        let mut value = json!({"name": plugin.name, "path": plugin.folders.root});
        if let Some(version) = &plugin.version {
            value["version"] = json!(version);
        }
        value
    };
    plugins.loaded.iter().map(one).collect()
}

fn plugin_errors(plugins: &project::Plugins) -> Vec<Value> {
    let one = |problem: &project::PluginProblem| json!({"plugin": problem.plugin, "type": problem.kind, "message": problem.message, "path": problem.path});
    plugins.problems.iter().map(one).collect()
}
