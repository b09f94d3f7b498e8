//! What the user may want to say next: a guess of the small model after a turn, for clients that show it.
//!
//! Deliberately absent: the first turn, which says too little about where the user is going, and plan mode.

use super::desk::{Desk, Happened};
use crate::ask;
use crate::conversation::text_of;
use crate::shared::{Lane, Shared};
use crate::words;
use serde_json::{Value, json};
use std::rc::Rc;
use std::time::Duration;
use wire::{Event, ExitCode, PermissionMode, PromptSuggestion};

/// Nobody waits for a guess for long.
const PATIENCE: Duration = Duration::from_secs(15);
/// Of each of the last messages; their ends say what is next.
const CHARS: usize = 4_000;
const MESSAGES: usize = 4;
/// A suggestion is one line in a prompt.
const LONGEST: usize = 200;

/// Guesses, until something else is to be done. `Some` where the process should stop.
pub async fn after(shared: &Rc<Shared>, lane: &Lane, desk: &mut Desk) -> Option<ExitCode> {
    let mut guess = std::pin::pin!(tokio::time::timeout(PATIENCE, guess(shared, lane)));
    loop {
        tokio::select! {
            guessed = &mut guess => {
                if let Ok(Some(suggestion)) = guessed {
                    let suggestion = PromptSuggestion { suggestion, ..PromptSuggestion::default() };
                    shared.emitter.send(Event::PromptSuggestion(suggestion)).await;
                }
                return None;
            }
            happened = desk.happening(shared) => {
                let is_over = matches!(happened, Happened::Line(None));
                let stop = desk.handle(shared, happened).await;
                // The client has said all it had to say, and may still listen.
                if !is_over {
                    return stop;
                }
            }
        }
    }
}

/// Whether there is anything to guess from, and anybody who wants it.
pub fn is_due(shared: &Shared, lane: &Lane) -> bool {
    let answers = lane.conversation.messages().iter().filter(|message| message["role"] == "assistant").count();
    shared.setup().suggestions && answers > 1 && shared.live.mode.get() != PermissionMode::Plan
}

async fn guess(shared: &Shared, lane: &Lane) -> Option<String> {
    let messages = lane.conversation.messages();
    let told: Vec<String> = messages[messages.len().saturating_sub(MESSAGES)..].iter().map(in_words).collect();
    let question = json!({"role": "user", "content": format!("{}\n\n{}", told.join("\n\n"), words::SUGGEST)});
    let reply = ask::aside(shared, &shared.options.asking.small_model, words::SUGGESTER, vec![question]).await.ok()?;
    let text: String = reply.blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    let line = text.trim().lines().next().unwrap_or_default().trim_matches(['"', '\'', ' ']);
    let line: String = line.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
    (!line.is_empty()).then_some(line)
}

fn in_words(message: &Value) -> String {
    let text = text_of(&message["content"]);
    let from = text.char_indices().rev().nth(CHARS).map_or(0, |(at, _)| at);
    format!("{}: {}", message["role"].as_str().unwrap_or_default(), &text[from..])
}
