//! The effect of asking the model: the request, the stream of its answer, and who is told what meanwhile.

use crate::Options;
use context::{known_references, texts};
use conversation::{Access, Conversation, values};
use mcp::SessionServers;
use model::{CachePolicy, Failure, Ledger, Reply, Request, ToolDefinition};
use observer::Asked;
use options::Choices;
use output::Output;
use serde_json::{Value, json};
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, timeout_at};
use turn::{Change, Input, ModelQuestion, Ticket};
use wire::{Event, Status, System};

/// Output limit of questions beside the conversation.
const ASIDE_MAX_TOKENS: u64 = 16_000;

/// Overloads in a row that are waited out where another model stands by.
const OVERLOADS_BEFORE_FALLBACK: u32 = 3;

/// An answer that goes on this long after a block is kept as far as it has come, so that a crash does not lose it. Most
/// answers end sooner, and cost no file.
const KEEP_AFTER: Duration = Duration::from_secs(1);

pub struct ModelAsker {
    pub options: Rc<Options>,
    pub access: Access,
    /// By the name of the model that is asked there.
    pub elsewhere: Vec<(String, Access)>,
    pub output: Rc<Output>,
    pub ledger: Rc<Ledger>,
    pub choices: Rc<Choices>,
    pub servers: Rc<SessionServers>,
}

impl ModelAsker {
    /// One question of a machine. Where a cloud refuses a model that nobody chose, the next older one is asked.
    pub async fn ask(
        &self,
        conversation: &Conversation,
        ticket: Ticket,
        mut question: ModelQuestion,
        early: &Sender<Input>,
    ) -> Input {
        let may_step_down = conversation.role.is_main() && self.may_step_down();
        loop {
            let model = question.model.clone();
            // Held only where it may be needed: the machine changes the messages when the answer has come.
            let again = may_step_down.then(|| question.clone());
            let failure = match self.ask_once(conversation, ticket, question, early).await {
                Ok(input) => return input,
                Err(failure) => failure,
            };
            self.options.observer.failed(&conversation.role, ticket, &failure);
            let Some(same) = again else { return failed(ticket, *failure) };
            let next = match self.other_profile(&model, &failure).await {
                Some(profile) => Some(profile),
                None => model::step_down(&model, !may_step_down, &failure, &self.options.asking.model_env),
            };
            let Some(next) = next else { return failed(ticket, *failure) };
            self.tell_step(&model, &next).await;
            self.choices.set_model(&next);
            let _ = early.send(Input::Changed(Change::Model(next.clone()))).await;
            question = ModelQuestion { model: next, ..same };
        }
    }

    /// The refused model under another prefix, where the account has it so.
    async fn other_profile(&self, refused: &str, failure: &Failure) -> Option<String> {
        let client = self.access_for(refused).client();
        if model::is_refusal(failure) { client.await.ok()?.other_profile(refused).await } else { None }
    }

    /// Nobody chose the model: neither a flag nor a variable, a settings file or the client.
    fn may_step_down(&self) -> bool {
        let asking = &self.options.asking;
        let is_chosen = asking.model_named || self.options.settings.model.is_some();
        asking.model_env.endpoint.is_some() && !is_chosen
    }

    async fn tell_step(&self, refused: &str, next: &str) {
        let event = json!({
            "type": "system",
            "subtype": "model_fallback",
            "trigger": model::STEP_DOWN_TRIGGER,
            "original_model": refused,
            "fallback_model": next,
            "content": model::step_down_words(refused, next),
        });
        self.output.send(Event::System(System::Unknown(event))).await;
    }

    /// One model's answer. Blocks leave as soon as they are whole.
    async fn ask_once(
        &self,
        conversation: &Conversation,
        ticket: Ticket,
        question: ModelQuestion,
        early: &Sender<Input>,
    ) -> Result<Input, Box<Failure>> {
        let client = self.access_for(&question.model).client().await?;
        let model = question.model.clone();
        client.look_behind(self.id(&model)).await;
        let mut request = self.request(conversation, question);
        let (observer, role) = (&self.options.observer, &conversation.role);
        let body = || client.body_text(&request);
        let asked = Asked { model: &request.model, effort: request.effort.as_deref(), body: &body };
        request.traceparent = observer.asks(role, ticket, &asked);
        let wants_partials = self.options.partial && conversation.role.is_main();
        if wants_partials {
            let status = Status { status: Some("requesting".into()), ..Status::default() };
            self.output.send(Event::System(System::Status(status))).await;
        }
        let mut asking = if wants_partials { client.ask(&request) } else { client.ask(&request).without_partials() };
        // The machine changes the messages when the answer has come, and would copy them while anybody else holds them.
        drop(request);
        let mut first_token = None;
        // Since when there is a block that no file has.
        let mut unwritten_since: Option<Instant> = None;
        loop {
            let event = match unwritten_since {
                None => Ok(asking.next().await),
                Some(since) => timeout_at(since + KEEP_AFTER, asking.next()).await,
            };
            let Ok(event) = event else {
                unwritten_since = None;
                all_taken(early).await;
                conversation.keep_unwritten();
                continue;
            };
            match event {
                model::Event::Retry(retry) => {
                    all_taken(early).await;
                    observer.retried(role, ticket);
                    conversation.note_retry(&self.output.ids().next(), &retry);
                    self.output.send(Event::System(System::ApiRetry(retry))).await;
                }
                model::Event::MessageStart { message, request_id, ttft_ms } => {
                    first_token = Some(ttft_ms);
                    let _ = early.send(Input::AnswerStarted { ticket, message, request_id }).await;
                }
                model::Event::Partials(pieces) => {
                    all_taken(early).await;
                    self.output.partials(&pieces, first_token.take(), asking.has_next()).await;
                }
                model::Event::Block { mut block, bad_input, .. } => {
                    normalise(conversation, &mut block);
                    let tool_use_meta = self.servers.meta(&block);
                    let _ = early.send(Input::BlockFinished { ticket, block, bad_input, tool_use_meta }).await;
                    unwritten_since.get_or_insert_with(Instant::now);
                }
                model::Event::Finished(reply) => {
                    let cost = self.ledger.book(&reply.id, &self.info(&model), &reply.usage);
                    observer.answered(role, ticket, &reply, cost);
                    return Ok(Input::AnswerFinished { ticket, answer: Box::new(values::model_answer(*reply)) });
                }
                model::Event::Failed(failure) => return Err(failure),
            }
        }
    }

    fn request(&self, conversation: &Conversation, question: ModelQuestion) -> Request {
        let asking = &self.options.asking;
        let info = self.info(&question.model);
        let max_tokens = asking.max_output.unwrap_or(info.max_output).min(info.max_output.max(1));
        let thinking = model::thinking(&info, &self.choices.thinking(), max_tokens);
        let effort = model::effort(&info, conversation.effort(&self.choices).as_deref());
        let effort = model::effort_beside(&info, thinking.as_ref(), effort);
        let mut betas = asking.betas.clone();
        betas.extend(model::request_betas(&info, thinking.as_ref(), effort.as_deref()));
        let id = self.id(&question.model).to_owned();
        let config = self.access_for(&question.model).config();
        let toolset = conversation.toolset.borrow();
        let searches = toolset.is_searched() && model::takes_deferred_tools(config, &id);
        if searches {
            betas.push(model::tool_search_beta(config, &id).to_owned());
        }
        Request {
            max_tokens,
            system: conversation.system.borrow().clone(),
            messages: known_references(question.messages, |name| searches && toolset.find(name).is_some()),
            tools: if searches || !toolset.is_searched() { toolset.definitions() } else { toolset.full_definitions() },
            effort,
            thinking,
            betas,
            metadata: Some(json!({"user_id": format!("session_{}", self.output.session_id())})),
            cache: asking.cache.policy(&info.id),
            task_budget: asking.task_budget,
            overload_retries: question.has_fallback.then_some(OVERLOADS_BEFORE_FALLBACK),
            model: id,
            ..self.plain_request()
        }
    }

    /// Who is asked for a model: the session's provider, or the one that a fallback names.
    fn access_for(&self, model: &str) -> &Access {
        let other = self.elsewhere.iter().find(|(name, _)| name == model);
        other.map_or(&self.access, |(_, access)| access)
    }

    /// The id that is sent for a model.
    fn id<'a>(&'a self, model: &'a str) -> &'a str {
        let other = self.options.asking.elsewhere.iter().find(|other| other.name == model);
        other.map_or(model, |other| other.model.as_str())
    }

    /// What is known of a model, with the window that this session allows it.
    fn info(&self, model: &str) -> model::ModelInfo {
        let mut info = model::info_for(self.id(model), self.access_for(model).config());
        if let Some(most) = self.options.asking.window {
            info.context_window = info.context_window.min(most);
        }
        info
    }

    /// What every request of this session has.
    fn plain_request(&self) -> Request {
        let asking = &self.options.asking;
        Request {
            betas: asking.betas.clone(),
            extra_body: asking.extra_body.clone(),
            cache: CachePolicy::Off,
            ..Request::default()
        }
    }

    /// A question beside the conversation: a page to read, a summary to write. No tools, small or same model.
    pub async fn ask_aside(&self, model: &str, system: &str, messages: Vec<Value>) -> Result<Reply, Box<Failure>> {
        self.ask_with(model, system, messages, None).await
    }

    /// The same with a tool of the API's own.
    pub async fn ask_with(
        &self,
        model: &str,
        system: &str,
        messages: Vec<Value>,
        tool: Option<Value>,
    ) -> Result<Reply, Box<Failure>> {
        let client = self.access_for(model).client().await?;
        client.look_behind(self.id(model)).await;
        let info = self.info(model);
        let request = Request {
            model: self.id(model).to_owned(),
            max_tokens: info.max_output.min(ASIDE_MAX_TOKENS),
            system: vec![json!({"type": "text", "text": system})],
            messages: messages.into(),
            tools: tool.map(ToolDefinition::from).into_iter().collect(),
            ..self.plain_request()
        };
        let body = || client.body_text(&request);
        let aside = self.options.observer.asks_aside(model, system == texts::SUMMARISER, &body);
        let reply = client.ask_once(&request).await?;
        let cost = self.ledger.book(&reply.id, &info, &reply.usage);
        self.options.observer.answered_aside(&aside, &reply, cost);
        Ok(reply)
    }

    /// The small model's answer to a question, as text.
    pub async fn ask_small(&self, model: Option<&str>, system: &str, words: String) -> Result<String, Box<Failure>> {
        let asking = &self.options.asking;
        let named = model.map(|name| model::resolve(name, &asking.model_env));
        let model = named.filter(|id| asking.model_env.allows(id)).unwrap_or_else(|| asking.small_model.clone());
        let messages = vec![json!({"role": "user", "content": words})];
        let reply = self.ask_aside(&model, system, messages).await?;
        Ok(text_of(&reply))
    }

    /// The summary that a compaction wants.
    pub async fn summarise(&self, model: &str, messages: Vec<Value>) -> Result<String, Box<Failure>> {
        self.ask_aside(model, texts::SUMMARISER, messages).await.map(|reply| text_of(&reply))
    }
}

/// Waits until the machine has taken what came before: its events leave first.
async fn all_taken(early: &Sender<Input>) {
    while early.capacity() < early.max_capacity() && !early.is_closed() {
        tokio::task::yield_now().await;
    }
}

fn text_of(reply: &Reply) -> String {
    reply.blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}

fn failed(ticket: Ticket, failure: Failure) -> Input {
    Input::ModelFailed { ticket, failure: Box::new(values::model_failure(failure)) }
}

/// Fills in what the tool's schema leaves to a default, as clients see it from the reference. The check is kept for the call.
fn normalise(conversation: &Conversation, block: &mut Value) {
    if block["type"] != "tool_use" {
        return;
    }
    let name = block["name"].as_str().unwrap_or_default();
    let checked = tools::find(name).and_then(|tool| tool.validate(name, &block["input"]).ok());
    conversation.note_check(block["id"].as_str().unwrap_or_default(), checked.is_some());
    if let Some(input) = checked {
        block["input"] = input;
    }
}
