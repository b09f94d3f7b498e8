//! Prompts and turns. The turn is the client's open request; its answer ends the turn.

use super::{Context, Control, Session, Stage};
use crate::rpc::{RpcError, code};
use crate::server::turn::{ending, stop};
use crate::server::{ServerOutput, Timer};
use serde_json::{Value, json};
use std::time::Duration;
use wire::{BackgroundTasksChanged, ClientRequest, Event, Input, Interrupt, Outcome, System, TaskId, UserInput};

/// Prompts that wait for their turn.
const QUEUE_MAX: usize = 64;

/// A cancelled turn is answered this soon, even where the agent process is not done with it. Usually it is done in
/// milliseconds, and then nothing that the turn started is alive when the client reads the answer.
const CANCEL_ANSWER: Duration = Duration::from_millis(700);

/// An agent process that has not ended a cancelled turn by then is killed.
const CANCEL_KILL: Duration = Duration::from_secs(15);

/// The last agent in the background has ended; the turn that its end begins comes within that time, or not at all.
const LATE_TURN: Duration = Duration::from_secs(5);

/// Longer titles are cut.
const TITLE_MAX: usize = 256;

#[derive(Debug)]
pub(super) struct Prompt {
    request: Value,
    line: Vec<u8>,
    title: Option<String>,
}

#[derive(Debug)]
pub(super) struct Turn {
    number: u64,
    /// `None` once it is answered.
    request: Option<Value>,
    is_cancelled: bool,
    /// Its result is here, but agents of it work on in the background. A client may end the process with the answer, so
    /// the answer waits for the turn that their end begins.
    answer: Option<Answer>,
    title: Option<String>,
}

type Answer = Result<Value, RpcError>;

impl Session {
    pub(crate) fn prompt(
        &mut self,
        request: Value,
        uuid: String,
        content: Vec<Value>,
        title: Option<String>,
        context: &mut Context<'_>,
    ) {
        if let Stage::Dead(why) = &self.stage {
            return Self::reply(request, Err(RpcError::internal(why.clone())), context.out);
        }
        if self.queue.len() >= QUEUE_MAX {
            let error = RpcError::internal(format!("{QUEUE_MAX} prompts wait already"));
            return Self::reply(request, Err(error), context.out);
        }
        let input =
            UserInput { uuid: Some(uuid), origin: Some(json!({"kind": "human"})), ..UserInput::new(content.into()) };
        let line = Input::User(Box::new(input)).to_line();
        self.queue.push_back(Prompt { request, line, title });
        self.next_prompt(context);
    }

    pub(super) fn next_prompt(&mut self, context: &mut Context<'_>) {
        if self.turn.is_some() || !matches!(self.stage, Stage::Ready) {
            return;
        }
        let Some(prompt) = self.queue.pop_front() else { return };
        self.turns += 1;
        let title = prompt.title.filter(|_| !self.has_title);
        self.turn =
            Some(Turn { number: self.turns, request: Some(prompt.request), is_cancelled: false, answer: None, title });
        context.out.push(ServerOutput::ToChild { child: self.child, line: prompt.line });
    }

    pub(super) fn event(&mut self, event: &Event, context: &mut Context<'_>) {
        match event {
            Event::System(System::Init(init)) => {
                self.is_at_work = true;
                self.mode_changed(&init.permission_mode, context);
            }
            Event::System(System::BackgroundTasksChanged(changed)) => self.agents_changed(changed, context),
            Event::System(System::Status(status)) => {
                if let Some(mode) = &status.permission_mode {
                    self.mode_changed(mode, context);
                }
            }
            _ => {}
        }
        // The client was told that the turn is over; the rest of it is nobody's.
        let is_over = self.turn.as_ref().is_some_and(|turn| turn.request.is_none());
        for update in self.updates.event(event) {
            if !is_over {
                self.send(update, context.out);
            }
        }
        if let Event::Result(outcome) = event {
            self.result(outcome, context);
        }
    }

    /// Turns that the agent process began on its own, after a background task, end a prompt only where its own turn is over.
    fn result(&mut self, outcome: &Outcome, context: &mut Context<'_>) {
        self.is_at_work = false;
        let origin = outcome.origin.as_ref().and_then(|origin| origin["kind"].as_str());
        let is_own = origin.is_none_or(|kind| kind == "human");
        let Some(turn) = self.turn.as_mut().filter(|turn| is_own || turn.answer.is_some()) else { return };
        let answer = ending(outcome, turn.is_cancelled);
        let is_over = turn.is_cancelled || answer.is_err() || self.agents.is_empty();
        turn.answer = Some(answer);
        if is_over {
            self.answer_turn(context);
        }
    }

    fn answer_turn(&mut self, context: &mut Context<'_>) {
        let Some(turn) = self.turn.take() else { return };
        self.withdraw_questions(context);
        if let Some((request, answer)) = turn.request.zip(turn.answer) {
            if let Some(title) = turn.title.filter(|_| answer.is_ok()) {
                self.tell_title(&title, context);
            }
            Self::reply(request, answer, context.out);
        }
        self.next_prompt(context);
    }

    /// Which agents work in the background.
    fn agents_changed(&mut self, changed: &BackgroundTasksChanged, context: &mut Context<'_>) {
        self.agents = changed.agents().filter_map(|task| task["task_id"].as_str()).map(str::to_owned).collect();
        if let Some(turn) = self.turn.as_ref().filter(|turn| turn.answer.is_some() && self.agents.is_empty()) {
            let timer = Timer::LateTurn(turn.number);
            context.out.push(ServerOutput::After { child: self.child, timer, wait: LATE_TURN });
        }
    }

    /// The end of the last agent has begun no turn.
    pub(super) fn answer_without_turn(&mut self, number: u64, context: &mut Context<'_>) {
        let turn = self.turn.as_ref().filter(|turn| turn.number == number && turn.answer.is_some());
        if turn.is_some() && self.agents.is_empty() && !self.is_at_work {
            self.answer_turn(context);
        }
    }

    fn tell_title(&mut self, prompt: &str, context: &mut Context<'_>) {
        let line = prompt.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        if line.is_empty() {
            return;
        }
        self.has_title = true;
        let title: String = line.chars().take(TITLE_MAX).collect();
        self.send(json!({"sessionUpdate": "session_info_update", "title": title}), context.out);
    }

    /// The client cancels whatever runs and waits.
    pub(crate) fn cancel(&mut self, context: &mut Context<'_>) {
        for prompt in std::mem::take(&mut self.queue) {
            Self::reply(prompt.request, Ok(stop("cancelled")), context.out);
        }
        let Some(turn) = self.turn.as_mut().filter(|turn| !turn.is_cancelled) else { return };
        turn.is_cancelled = true;
        if turn.answer.is_some() && !self.is_at_work {
            // Only agents in the background are left, which an interrupt lets go on.
            turn.answer = Some(Ok(stop("cancelled")));
            for task in std::mem::take(&mut self.agents) {
                self.control(
                    Control::Interrupt,
                    &ClientRequest::StopTask(TaskId { task_id: task, ..TaskId::default() }),
                    context.out,
                );
            }
            return self.answer_turn(context);
        }
        self.interrupt(context);
    }

    /// The turn was marked as cancelled; the agent process is told, and watched.
    pub(super) fn interrupt(&mut self, context: &mut Context<'_>) {
        let Some(number) = self.turn.as_ref().map(|turn| turn.number) else { return };
        self.withdraw_questions(context);
        let interrupt = Interrupt { cancel_queued: Some(true), ..Interrupt::default() };
        self.control(Control::Interrupt, &ClientRequest::Interrupt(interrupt), context.out);
        for (timer, wait) in [(Timer::CancelAnswer(number), CANCEL_ANSWER), (Timer::CancelKill(number), CANCEL_KILL)] {
            context.out.push(ServerOutput::After { child: self.child, timer, wait });
        }
    }

    /// The user's answer to a question ended the turn.
    pub(super) fn end_turn(&mut self, context: &mut Context<'_>) {
        if let Some(turn) = self.turn.as_mut().filter(|turn| !turn.is_cancelled) {
            turn.is_cancelled = true;
            self.interrupt(context);
        }
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.is_cancelled)
    }

    pub(super) fn answer_cancelled(&mut self, number: u64, context: &mut Context<'_>) {
        let turn = self.turn.as_mut().filter(|turn| turn.number == number && turn.is_cancelled);
        let Some(request) = turn.and_then(|turn| turn.request.take()) else { return };
        for update in self.updates.close_calls() {
            self.send(update, context.out);
        }
        Self::reply(request, Ok(stop("cancelled")), context.out);
    }

    pub(super) fn kill_cancelled(&mut self, number: u64, context: &mut Context<'_>) {
        if self.turn.as_ref().is_some_and(|turn| turn.number == number && turn.is_cancelled) {
            context.out.push(ServerOutput::Stop { child: self.child });
            self.child_ended("it did not stop when the turn was cancelled", context);
        }
    }

    /// The session ends; its prompts end as cancelled.
    pub(super) fn cancel_turns(&mut self, context: &mut Context<'_>) {
        let running = self.turn.take().and_then(|turn| turn.request);
        let waiting = std::mem::take(&mut self.queue).into_iter().map(|prompt| prompt.request);
        for request in running.into_iter().chain(waiting) {
            Self::reply(request, Ok(stop("cancelled")), context.out);
        }
    }

    pub(super) fn fail_turns(&mut self, text: &str, context: &mut Context<'_>) {
        if let Some(turn) = self.turn.take() {
            let cancelled = turn.is_cancelled.then(|| stop("cancelled"));
            let result = cancelled.ok_or_else(|| RpcError::internal(text));
            if let Some(request) = turn.request {
                Self::reply(request, result, context.out);
            }
        }
        self.drop_queue_with(&RpcError::internal(text), context);
    }

    pub(super) fn drop_queue(&mut self, context: &mut Context<'_>) {
        self.drop_queue_with(&RpcError::new(code::INTERNAL, "the session could not be opened"), context);
    }

    fn drop_queue_with(&mut self, error: &RpcError, context: &mut Context<'_>) {
        for prompt in std::mem::take(&mut self.queue) {
            Self::reply(prompt.request, Err(error.clone()), context.out);
        }
    }
}
