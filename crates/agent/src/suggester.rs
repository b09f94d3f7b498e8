//! What the user may want to say next: a guess of the small model after a turn, for clients that show it.
//!
//! Deliberately absent: the first turn, which says too little about where the user is going, and plan mode.

use crate::model_asker::ModelAsker;
use context::texts;
use conversation::MainMachine;
use conversation::rules::Rules;
use options::Choices;
use serde_json::Value;
use std::rc::Rc;
use std::time::Duration;
use wire::PermissionMode;

/// Nobody waits for a guess for long.
const PATIENCE: Duration = Duration::from_secs(15);
/// Of each of the last messages; their ends say what is next.
const CHARS: usize = 4_000;
const MESSAGES: usize = 4;
/// A suggestion is one line in a prompt.
const LONGEST: usize = 200;

pub struct Suggester {
    pub choices: Rc<Choices>,
    pub rules: Rc<Rules>,
    pub machine: Rc<MainMachine>,
    pub model: Rc<ModelAsker>,
}

impl Suggester {
    /// Whether there is anything to guess from, and anybody who wants it.
    pub fn is_due(&self) -> bool {
        let answers = self.machine.messages().iter().filter(|message| message["role"] == "assistant").count();
        self.choices.setup().suggestions && answers > 1 && self.rules.mode() != PermissionMode::Plan
    }

    pub async fn guess(&self) -> Option<String> {
        let told: Vec<String> = {
            let messages = self.machine.messages();
            messages[messages.len().saturating_sub(MESSAGES)..].iter().map(in_words).collect()
        };
        let question = format!("{}\n\n{}", told.join("\n\n"), texts::SUGGEST);
        let asked = self.model.ask_small(None, texts::SUGGESTER, question);
        let text = tokio::time::timeout(PATIENCE, asked).await.ok()?.ok()?;
        let line = text.trim().lines().next().unwrap_or_default().trim_matches(['"', '\'', ' ']);
        let line: String = line.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
        (!line.is_empty()).then_some(line)
    }
}

fn in_words(message: &Value) -> String {
    let text = turn::text_of(&message["content"]);
    let from = text.char_indices().rev().nth(CHARS).map_or(0, |(at, _)| at);
    format!("{}: {}", message["role"].as_str().unwrap_or_default(), &text[from..])
}
