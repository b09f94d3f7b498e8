//! Commands that are part of the agent: they act on the session, not through the model.

use crate::conversation::Conversation;
use crate::shared::{Lane, Shared};
use crate::{clock, compact, memory, moments};
use serde_json::json;
use session::{Store, Transcript};
use std::rc::Rc;
use wire::{ConversationReset, Event};

/// Names and what they do, for clients that list them.
pub const COMMANDS: &[(&str, &str)] = &[
    ("clear", "forget the conversation and start a new one"),
    ("compact", "replace the conversation by a summary of it"),
    ("config", "change settings for this session: key=value …"),
    ("context", "how full the context window is"),
    ("cost", "what this session has cost so far"),
    ("effort", "how hard the model thinks: low, medium, high, xhigh, max, or auto"),
    ("help", "the commands there are"),
    ("init", "have the model write CLAUDE.md for this project"),
    ("mcp", "the MCP servers and how they stand"),
    ("model", "which model answers, or switch to another"),
    ("rename", "give the session a title"),
    ("usage", "what this session has cost so far"),
];

/// Commands of the reference that need a person at a terminal.
const ELSEWHERE: [&str; 17] = [
    "agents",
    "bug",
    "doctor",
    "exit",
    "export",
    "feedback",
    "hooks",
    "ide",
    "login",
    "logout",
    "memory",
    "permissions",
    "plugin",
    "quit",
    "resume",
    "theme",
    "vim",
];

/// Why a command that people know from elsewhere does nothing here.
pub fn elsewhere(name: &str) -> Option<String> {
    ELSEWHERE.contains(&name).then(|| format!("/{name} needs a terminal and is not part of this agent."))
}

const EFFORTS: [&str; 5] = ["low", "medium", "high", "xhigh", "max"];

/// Other names that people know.
const ALIASES: [(&str, &str); 2] = [("new", "clear"), ("reset", "clear")];

/// The command that is meant by a name.
pub fn meant(name: &str) -> Option<&'static str> {
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, meant)| meant);
    COMMANDS.iter().map(|(known, _)| *known).find(|known| *known == name)
}

/// Runs one; its answer is the turn's result.
pub async fn run(shared: &Shared, lane: &mut Lane, name: &str, args: &str) -> Result<String, String> {
    match name {
        "clear" => {
            clear(shared, lane).await;
            Ok(String::new())
        }
        "compact" if !lane.conversation.can_be_shortened() => Ok("There is nothing to compact yet.".into()),
        "compact" => {
            compact::compact(shared, lane, "manual", Some(args).filter(|args| !args.is_empty()))
                .await
                .map_err(|end| crate::result::reason(&end))?;
            Ok("The conversation was compacted.".into())
        }
        "config" => config(shared, args).await,
        "context" => Ok(context(shared)),
        "cost" | "usage" => Ok(cost(shared)),
        "effort" => effort(shared, args),
        "mcp" => Ok(crate::outside::in_words(shared)),
        "model" => model(shared, args).await,
        "rename" => rename(shared, args),
        _ => Ok(help(shared)),
    }
}

/// A new conversation under a new id; the old one stays on disk.
async fn clear(shared: &Shared, lane: &mut Lane) {
    moments::session_ends(shared, lane, "clear").await;
    let new_id = shared.emitter.ids().next();
    let reset = ConversationReset {
        new_conversation_id: new_id.clone(),
        trigger: "clear".into(),
        ..ConversationReset::default()
    };
    shared.emitter.send(Event::ConversationReset(reset)).await;
    shared.emitter.rename_session(new_id.clone());
    shared.ledger.reset();
    Rc::make_mut(&mut shared.live.hooks.borrow_mut()).forget_brought();
    let session = &shared.options.session;
    let (preamble, known) = memory::begin(shared, memory::Reader::Main);
    lane.conversation = Conversation::new(Vec::new(), preamble);
    lane.memory = known;
    lane.tools.reads.forget_answers();
    lane.transcript = if session.persist {
        let options = &shared.options;
        let store = Store::new(&options.places.config_dir, &options.cwd, session.project_dir_name.as_deref());
        let stamp = super::opening::stamp(options, &new_id);
        let mirror = super::opening::mirror(options, &shared.emitter);
        Transcript::create(&store.path(&new_id), stamp).hiding(shared.secrets.list()).mirrored(mirror)
    } else {
        Transcript::disabled()
    };
    shared.live.plan_told.set(false);
    shared.live.context_tokens.set(0);
    moments::session_starts(shared, lane, "clear").await;
    memory::tell(shared, lane).await;
}

/// `key=value` pairs: those that a client may apply to a running session.
async fn config(shared: &Shared, args: &str) -> Result<String, String> {
    let mut settings = serde_json::Map::new();
    for pair in args.split_whitespace() {
        let (key, value) = pair.split_once('=').ok_or("/config needs key=value, such as /config effortLevel=high")?;
        if !crate::control::CHANGEABLE.contains(&key) {
            let known = crate::control::CHANGEABLE.join(", ");
            return Err(format!("{key} cannot be changed while a session runs. These can: {known}"));
        }
        let value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
        settings.insert(key.to_owned(), value);
    }
    if settings.is_empty() {
        return Err("/config needs key=value, such as /config effortLevel=high".into());
    }
    crate::control::apply_settings(shared, &settings.into()).await?;
    Ok(format!("Changed for this session: {args}"))
}

fn context(shared: &Shared) -> String {
    let window = model::info(&shared.live.model.borrow()).context_window;
    let used = shared.live.context_tokens.get();
    format!("{used} of {window} tokens used ({:.1} %)", used as f64 / window.max(1) as f64 * 100.0)
}

fn cost(shared: &Shared) -> String {
    let mut text = format!("${:.4} so far ({})\n", shared.ledger.total_usd(), clock::now_iso());
    for (name, usage) in shared.ledger.by_model() {
        let line =
            json!({"in": usage.input_tokens, "out": usage.output_tokens, "cached": usage.cache_read_input_tokens});
        text.push_str(&format!("{name}: ${:.4} {line}\n", usage.cost_usd));
    }
    text.trim_end().to_owned()
}

async fn model(shared: &Shared, args: &str) -> Result<String, String> {
    if args.is_empty() {
        return Ok(format!("The model is {}.", shared.live.model.borrow()));
    }
    let id = crate::control::switch_model(shared, Some(args), "command").await?;
    Ok(format!("The model is now {id}."))
}

fn effort(shared: &Shared, args: &str) -> Result<String, String> {
    let own = shared.options.asking.effort.clone();
    let chosen = match args {
        "" => shared.live.effort.borrow().clone(),
        "auto" => own,
        name if EFFORTS.contains(&name) => Some(name.to_owned()),
        other => return Err(format!("There is no effort \"{other}\". Known: {}, auto", EFFORTS.join(", "))),
    };
    shared.live.effort.borrow_mut().clone_from(&chosen);
    shared.live.stale.set(true);
    Ok(format!("The effort is {}.", chosen.as_deref().unwrap_or("the model's own")))
}

fn rename(shared: &Shared, args: &str) -> Result<String, String> {
    let title = crate::control::name_session(shared, args).ok_or("/rename needs a title.")?;
    Ok(format!("The session is now called {title}."))
}

fn help(shared: &Shared) -> String {
    let setup = shared.setup();
    let own = COMMANDS.iter().map(|(name, what)| format!("/{name}: {what}"));
    let skills = setup.skills.iter().filter(|skill| skill.user_invocable);
    own.chain(skills.map(|skill| format!("/{}: {}", skill.name, skill.description))).collect::<Vec<_>>().join("\n")
}
