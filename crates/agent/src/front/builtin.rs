//! Commands that are part of the agent: they act on the session, not through the model.

use crate::conversation::Conversation;
use crate::shared::{Lane, Shared};
use crate::{clock, compact, memory, moments};
use serde_json::json;
use session::{Store, Transcript};
use wire::Event;

/// Names and what they do, for clients that list them.
pub const COMMANDS: &[(&str, &str)] = &[
    ("clear", "forget the conversation and start a new one"),
    ("compact", "replace the conversation by a summary of it"),
    ("context", "how full the context window is"),
    ("cost", "what this session has cost so far"),
    ("help", "the commands there are"),
    ("model", "which model answers, or switch to another"),
];

pub fn is_builtin(name: &str) -> bool {
    COMMANDS.iter().any(|(known, _)| *known == name)
}

/// Runs one; its answer is the turn's result.
pub async fn run(shared: &Shared, lane: &mut Lane, name: &str, args: &str) -> Result<String, String> {
    match name {
        "clear" => {
            clear(shared, lane).await;
            Ok(String::new())
        }
        "compact" => {
            compact::compact(shared, lane, "manual").await.map_err(|end| crate::result::reason(&end))?;
            Ok("The conversation was compacted.".into())
        }
        "context" => Ok(context(shared)),
        "cost" => Ok(cost(shared)),
        "model" => model(shared, args).await,
        _ => Ok(help(shared)),
    }
}

/// A new conversation under a new id; the old one stays on disk.
async fn clear(shared: &Shared, lane: &mut Lane) {
    moments::session_ends(shared, lane, "clear").await;
    let new_id = shared.emitter.ids().next();
    let reset = Event::ConversationReset { new_conversation_id: new_id.clone(), trigger: "clear" };
    shared.emitter.send(reset).await;
    shared.emitter.rename_session(new_id.clone());
    shared.ledger.reset();
    let session = &shared.options.session;
    let (preamble, known) = memory::begin(shared, memory::Reader::Main, shared.live.mode.get());
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
    shared.live.context_tokens.set(0);
    moments::session_starts(shared, lane, "clear").await;
    memory::tell(shared, lane).await;
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

fn help(shared: &Shared) -> String {
    let setup = shared.setup();
    let own = COMMANDS.iter().map(|(name, what)| format!("/{name}: {what}"));
    let skills = setup.skills.iter().filter(|skill| skill.user_invocable);
    own.chain(skills.map(|skill| format!("/{}: {}", skill.name, skill.description))).collect::<Vec<_>>().join("\n")
}
