//! One question to the model: the request, the stream of its answer, and who is told what meanwhile.

use crate::cancel::Cancelled;
use crate::moments::{self, Switch};
use crate::shared::{Lane, Shared};
use crate::turn::{Turn, whisper};
use crate::{access, own};
use model::{CachePolicy, Failure, FailureKind, Reply, Request};
use serde_json::{Value, json};
use wire::{Assistant, Event, Status, System};

/// Why there is no answer.
pub enum NoReply {
    Failed(Box<Failure>),
    Cancelled,
}

impl From<Cancelled> for NoReply {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

/// A finished answer, with the entry each tool call was written as.
pub struct Answer {
    pub reply: Reply,
    pub calls: Vec<ToolCall>,
}

/// A tool call as the model made it.
#[derive(Debug, Clone)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    pub input: Value,
    /// The input was no JSON: what came instead.
    pub bad_input: Option<String>,
    /// The transcript entry that holds the call.
    pub entry: String,
}

/// Asks, falling back to the other models where the first is overloaded or gone.
pub async fn ask(shared: &Shared, lane: &mut Lane, turn: &mut Turn) -> Result<Answer, NoReply> {
    let mut models = vec![shared.model(&lane.role)];
    if lane.role.is_main() {
        models.extend(shared.options.asking.fallback.iter().cloned());
    }
    let mut refreshed = false;
    let mut at = turn.fallen_back.min(models.len() - 1);
    loop {
        let failure = match ask_model(shared, lane, turn, &models[at], at + 1 < models.len()).await {
            Err(NoReply::Failed(failure)) => failure,
            other => return other,
        };
        if failure.status == Some(401) && !refreshed && access::refresh(shared).await {
            refreshed = true;
            continue;
        }
        if !is_replaceable(&failure) || at + 1 >= models.len() {
            return Err(NoReply::Failed(failure));
        }
        at += 1;
        turn.fallen_back = at;
        let (from, to) = (&models[at - 1], &models[at]);
        let content = format!("{from} is not available; going on with {to}.");
        shared.emitter.send(Event::System(System::informational(content, "warning"))).await;
        let switch = Switch { from: from.clone(), to: to.clone(), requested: Some(to.clone()), source: "auto" };
        moments::switched(shared, &switch).await;
        for text in shared.live.ear.late.take() {
            whisper(shared, lane, &text);
        }
    }
}

/// Whether another model may do better: this one is overloaded, gone, or its server fails whatever is asked.
fn is_replaceable(failure: &Failure) -> bool {
    let server_fails = failure.kind == FailureKind::Http && failure.category == "server_error";
    failure.overloaded || server_fails || failure.category == "model_not_found"
}

async fn ask_model(
    shared: &Shared,
    lane: &mut Lane,
    turn: &mut Turn,
    model: &str,
    has_fallback: bool,
) -> Result<Answer, NoReply> {
    let client = access::client(shared).await.map_err(NoReply::Failed)?;
    let request = request(shared, lane, model, has_fallback);
    if shared.options.partial && lane.role.is_main() {
        let status = Status { status: Some("requesting".into()), ..Status::default() };
        shared.emitter.send(Event::System(System::Status(status))).await;
    }
    turn.asking();
    let wants_partials = shared.options.partial && lane.role.is_main();
    let mut asking = if wants_partials { client.ask(&request) } else { client.ask(&request).without_partials() };
    drop(request);
    let mut answer = Gathered::default();
    loop {
        match lane.cancel.guard(asking.next()).await? {
            model::Event::Retry(retry) => shared.emitter.send(Event::System(System::ApiRetry(retry))).await,
            model::Event::MessageStart { message, request_id, ttft_ms } => {
                answer.head = message;
                answer.request_id = request_id;
                answer.ttft_ms = Some(ttft_ms);
            }
            model::Event::Partial(raw) => {
                shared.emitter.partial(&raw, answer.ttft_ms.take(), asking.has_next()).await;
            }
            model::Event::Block { block, bad_input, .. } => {
                answer.block(shared, lane, block, bad_input).await;
            }
            model::Event::Finished(reply) => {
                turn.answered(&reply);
                lane.conversation.context_tokens = reply.usage.context_tokens();
                if lane.role.is_main() {
                    shared.live.context_tokens.set(lane.conversation.context_tokens);
                }
                let info = model::info_for(model, &shared.options.access.client);
                shared.ledger.book(&reply.id, &info, &reply.usage);
                return Ok(Answer { reply: *reply, calls: answer.calls });
            }
            model::Event::Failed(failure) => {
                turn.failed(&failure);
                return Err(NoReply::Failed(failure));
            }
        }
    }
}

/// What has come of an answer so far.
#[derive(Default)]
struct Gathered {
    head: Value,
    request_id: Option<String>,
    ttft_ms: Option<u64>,
    calls: Vec<ToolCall>,
}

impl Gathered {
    /// A finished block leaves at once: one line on stdout, one entry in the transcript, one id.
    async fn block(&mut self, shared: &Shared, lane: &mut Lane, block: Value, bad_input: Option<String>) {
        let mut block = block;
        let entry = shared.emitter.ids().next();
        if block["type"] == "tool_use" {
            normalise(&mut block);
            self.calls.push(ToolCall {
                id: text(&block, "id"),
                name: text(&block, "name"),
                input: block["input"].clone(),
                bad_input,
                entry: entry.clone(),
            });
        }
        let visible = lane.role.is_main() || shared.setup().subagent_text || block["type"] == "tool_use";
        let tool_use_meta = crate::outside::meta(shared, &block);
        let message = one_block(&self.head, block);
        lane.transcript.assistant(&entry, &message, self.request_id.as_deref());
        Shared::report_transcript(lane);
        if visible {
            let event = Assistant {
                message: message.into(),
                parent_tool_use_id: lane.role.parent_tool_use_id(),
                request_id: self.request_id.clone(),
                tool_use_meta,
                ..Assistant::default()
            };
            shared.emitter.send_as(Event::Assistant(Box::new(event)), &entry).await;
        }
    }
}

/// Fills in what the tool's schema leaves to a default, as clients see it from the reference.
fn normalise(block: &mut Value) {
    let name = block["name"].as_str().unwrap_or_default();
    if let Some(Ok(input)) = tools::find(name).map(|tool| tool.validate(name, &block["input"])) {
        block["input"] = input;
    }
}

fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

/// The API's message with one block of its content, as every client expects it.
fn one_block(head: &Value, block: Value) -> Value {
    let mut message = head.clone();
    if !message.is_object() {
        message = json!({});
    }
    message["type"] = json!("message");
    message["role"] = json!("assistant");
    message["content"] = Value::Array(vec![block]);
    message["stop_reason"] = Value::Null;
    message["stop_sequence"] = Value::Null;
    if message["usage"]["service_tier"].is_null() && message["usage"].is_object() {
        message["usage"]["service_tier"] = json!("standard");
    }
    message["context_management"] = Value::Null;
    message
}

/// Overloads in a row that are waited out where another model stands by.
const OVERLOADS_BEFORE_FALLBACK: u32 = 3;

fn request(shared: &Shared, lane: &Lane, model: &str, has_fallback: bool) -> Request {
    let asking = &shared.options.asking;
    let info = model::info(model);
    let max_tokens = asking.max_output.unwrap_or(info.max_output).min(info.max_output.max(1));
    let thinking = model::thinking(&info, &shared.live.thinking.borrow(), max_tokens);
    let mut betas = asking.betas.clone();
    betas.extend(model::thinking_betas(&info, thinking.as_ref()));
    Request {
        model: model.to_owned(),
        max_tokens,
        system: lane.system.clone(),
        messages: lane.conversation.messages(),
        tools: lane.toolset.definitions(),
        effort: model::effort_beside(
            &info,
            thinking.as_ref(),
            model::effort(&info, shared.effort(&lane.role).as_deref()),
        ),
        thinking,
        betas,
        metadata: Some(json!({"user_id": format!("session_{}", shared.emitter.session_id())})),
        cache: asking.cache.policy(model),
        task_budget: asking.task_budget,
        overload_retries: has_fallback.then_some(OVERLOADS_BEFORE_FALLBACK),
        ..aside_request(shared)
    }
}

/// What every request of this session has.
pub fn aside_request(shared: &Shared) -> Request {
    let asking = &shared.options.asking;
    Request {
        betas: asking.betas.clone(),
        extra_body: asking.extra_body.clone(),
        cache: CachePolicy::Off,
        ..Request::default()
    }
}

/// A question beside the conversation: a page to read, a summary to write. No tools, small or same model.
pub async fn aside(shared: &Shared, model: &str, system: &str, messages: Vec<Value>) -> Result<Reply, NoReply> {
    let client = access::client(shared).await.map_err(NoReply::Failed)?;
    let info = model::info_for(model, &shared.options.access.client);
    let request = Request {
        model: model.to_owned(),
        max_tokens: info.max_output.min(own::ASIDE_MAX_TOKENS),
        system: vec![json!({"type": "text", "text": system})],
        messages: messages.into(),
        ..aside_request(shared)
    };
    let reply = shared.cancel.guard(client.ask_once(&request)).await?.map_err(NoReply::Failed)?;
    shared.ledger.book(&reply.id, &info, &reply.usage);
    Ok(reply)
}
