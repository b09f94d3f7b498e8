//! One user turn: ask, run what was called, ask again, until there is one result.

use crate::ask::{self, Answer, NoReply};
use crate::calls;
use crate::compact;
use crate::conversation::text_of;
use crate::judge::{self, GiveUp, Next, Nudge, Nudged, Seen};
use crate::memory;
use crate::moments;
use crate::planning;
use crate::shared::{Lane, Role, Shared};
use model::{Failure, Reply};
use serde_json::{Value, json};
use session::UserExtra;
use std::rc::Rc;
use std::time::Instant;
use wire::{Event, Usage, User};

/// How a turn ended.
pub enum End {
    Done,
    MaxTurns(u32),
    Budget(f64),
    SchemaRetries(u32),
    GaveUp(GiveUp),
    Api(Box<Failure>),
    /// While the model was speaking, or while a tool ran.
    Interrupted {
        streaming: bool,
    },
    /// A hook said that the run should not go on.
    HookStopped(String),
    /// A hook put this call off.
    Deferred(Value),
    /// A call that was put off is for a tool that is not here any more.
    DeferredGone(String),
    /// The tool that should answer permission questions is not there.
    NoPrompter(String),
    /// The prompt was a command that does not exist or failed.
    BadCommand(String),
    /// A fault of ours: the turn panicked.
    Internal(String),
}

/// The books of one turn.
pub struct Turn {
    started: Instant,
    pub usage: Usage,
    pub api_ms: u64,
    /// Model answers so far, against `--max-turns`.
    pub answers: u32,
    /// Messages to the model since the prompt; the reference counts turns by them.
    pub user_messages: u64,
    pub tool_uses: u64,
    /// How many of the models to fall back on were taken; the rest of the turn goes on with the last.
    pub fallen_back: usize,
    pub last_text: String,
    /// The next answer goes on where the last one was cut.
    continues: bool,
    pub stop_reason: Option<String>,
    pub structured: Option<Value>,
    pub schema_failures: u32,
    pub nudged: Nudged,
    /// Times a Stop hook sent the model on.
    pub stop_blocks: u32,
    pub ttft_ms: Option<u64>,
    pub ttft_stream_ms: Option<u64>,
    pub time_to_request_ms: Option<u64>,
}

impl Turn {
    pub fn begin() -> Self {
        Self {
            started: Instant::now(),
            usage: Usage::default(),
            api_ms: 0,
            answers: 0,
            user_messages: 0,
            tool_uses: 0,
            fallen_back: 0,
            last_text: String::new(),
            continues: false,
            stop_reason: None,
            structured: None,
            schema_failures: 0,
            nudged: Nudged::default(),
            stop_blocks: 0,
            ttft_ms: None,
            ttft_stream_ms: None,
            time_to_request_ms: None,
        }
    }

    pub fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub fn num_turns(&self) -> u64 {
        if self.answers == 0 { self.user_messages } else { self.user_messages + 1 }
    }

    pub fn asking(&mut self) {
        let now = self.elapsed_ms();
        self.time_to_request_ms.get_or_insert(now);
    }

    pub fn answered(&mut self, reply: &Reply) {
        self.answers += 1;
        self.api_ms += reply.api_ms;
        self.stop_reason.clone_from(&reply.stop_reason);
        if self.ttft_ms.is_none() {
            self.ttft_ms = reply.ttft_ms;
            self.ttft_stream_ms = reply.ttft_stream_ms;
        }
        let said = reply.blocks.iter().rev().filter_map(|block| block["text"].as_str());
        if let Some(text) = said.into_iter().find(|text| !text.trim().is_empty()) {
            // A continued answer is one answer.
            if !std::mem::take(&mut self.continues) {
                self.last_text.clear();
            }
            self.last_text.push_str(text);
        }
    }

    pub fn failed(&mut self, failure: &Failure) {
        self.api_ms += failure.api_ms;
    }
}

/// Drives a lane from its last user message to the end of the turn.
pub async fn drive(shared: &Rc<Shared>, lane: &mut Lane, turn: &mut Turn) -> End {
    loop {
        if let Some(most) = lane.max_turns
            && turn.answers >= most
        {
            return End::MaxTurns(most);
        }
        // Sub-agents and earlier prompts may have spent what there was.
        if let Some(limit) = spent(shared) {
            return End::Budget(limit);
        }
        if lane.role.is_main() {
            moments::look_at_settings(shared, lane).await;
            planning::tell(shared, lane);
            for text in shared.live.ear.late.take() {
                whisper(shared, lane, &text);
            }
        }
        if let Err(end) = compact::if_needed(shared, lane).await {
            return end;
        }
        let answer = match answer(shared, lane, turn).await {
            Ok(answer) => answer,
            Err(end) => return end,
        };
        if let Some(limit) = spent(shared) {
            // Before the answer is added to the turn: the contract's budget result leaves it out of `usage`.
            return End::Budget(limit);
        }
        turn.usage.add(&answer.reply.usage);
        lane.conversation.push_assistant(&answer.reply.blocks);
        let Some(end) = step(shared, lane, turn, answer).await else { continue };
        if !matches!(end, End::Done) {
            return end;
        }
        if let Some(end) = moments::turn_ends(shared, lane, turn).await {
            return end;
        }
    }
}

/// The budget, once it is used up.
fn spent(shared: &Shared) -> Option<f64> {
    shared.options.limits.max_budget_usd.filter(|limit| shared.ledger.total_usd() >= *limit)
}

async fn answer(shared: &Shared, lane: &mut Lane, turn: &mut Turn) -> Result<Answer, End> {
    loop {
        match ask::ask(shared, lane, turn).await {
            Ok(answer) => return Ok(answer),
            Err(NoReply::Cancelled) => return Err(End::Interrupted { streaming: true }),
            Err(NoReply::Failed(failure)) if may_shorten(lane, turn, &failure) => {
                turn.nudged.overflow += 1;
                compact::compact(shared, lane, "auto", None).await?;
            }
            Err(NoReply::Failed(failure)) => return Err(End::Api(failure)),
        }
    }
}

/// Once a turn, and not where the prompt alone is what does not fit.
fn may_shorten(lane: &Lane, turn: &Turn, failure: &Failure) -> bool {
    failure.prompt_too_long && turn.nudged.overflow == 0 && lane.conversation.can_be_shortened()
}

/// What follows an answer; `None` asks again.
async fn step(shared: &Rc<Shared>, lane: &mut Lane, turn: &mut Turn, answer: Answer) -> Option<End> {
    let seen = Seen {
        stop_reason: answer.reply.stop_reason.as_deref(),
        incomplete: answer.reply.incomplete,
        tool_calls: answer.calls.len(),
        has_content: !text_of(&Value::Array(answer.reply.blocks.clone())).trim().is_empty(),
        schema_pending: lane.role.is_main() && shared.setup().schema.is_some() && turn.structured.is_none(),
    };
    match judge::after(seen, &mut turn.nudged) {
        Next::RunTools => {
            let end = calls::run_all(shared, lane, turn, answer.calls).await;
            if end.is_none() {
                memory::follow(shared, lane).await;
            }
            end
        }
        Next::Done => Some(End::Done),
        Next::Resend => None,
        Next::Say(nudge) => {
            say(shared, lane, turn, nudge).await;
            None
        }
        Next::Compact => compact::compact(shared, lane, "auto", None).await.err(),
        Next::GiveUp(GiveUp::Schema) => Some(End::SchemaRetries(turn.schema_failures)),
        Next::GiveUp(why) => Some(End::GaveUp(why)),
    }
}

async fn say(shared: &Shared, lane: &mut Lane, turn: &mut Turn, nudge: Nudge) {
    turn.continues = nudge == Nudge::Long;
    synthetic(shared, lane, turn, nudge.words()).await;
}

/// Something the model should know that no client needs to see.
pub fn whisper(shared: &Shared, lane: &mut Lane, words: &str) {
    let content = json!([{"type": "text", "text": format!("<system-reminder>\n{words}\n</system-reminder>")}]);
    let message = json!({"role": "user", "content": content});
    let extra = UserExtra { is_meta: true, ..UserExtra::default() };
    lane.transcript.user(&shared.emitter.ids().next(), &message, extra);
    lane.conversation.push_user(content);
}

/// A message of ours to the model, visible to clients as synthetic.
pub async fn synthetic(shared: &Shared, lane: &mut Lane, turn: &mut Turn, words: &str) {
    let content = json!([{"type": "text", "text": words}]);
    let message = json!({"role": "user", "content": content});
    let entry = shared.emitter.ids().next();
    lane.transcript.user(&entry, &message, UserExtra { is_meta: true, ..UserExtra::default() });
    lane.conversation.push_user(content);
    turn.user_messages += 1;
    if matches!(lane.role, Role::Sub(_)) && !shared.setup().subagent_text {
        return;
    }
    let event = User {
        message: message.into(),
        parent_tool_use_id: lane.role.parent_tool_use_id(),
        timestamp: crate::clock::now_iso(),
        is_synthetic: Some(true),
        ..User::default()
    };
    shared.emitter.send_as(Event::User(Box::new(event)), &entry).await;
}
