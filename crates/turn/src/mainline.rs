//! The one thing that a turn itself waits for, and what follows each answer.

use crate::input::{Input, Ticket};
use crate::result::End;
use crate::state::{AfterInstructions, AfterStart, Step};
use crate::turn::{Cx, Turn};

impl Turn {
    /// An answer to an effect. One that nobody waits for is ignored.
    pub(crate) fn take_answer(&mut self, input: Input, cx: &mut Cx) {
        let Some(ticket) = ticket_of(&input) else { return };
        if self.timer == Some(ticket) {
            self.timer = None;
            return self.give_up_waiting(cx);
        }
        if self.waiting.as_ref().is_some_and(|waiting| waiting.ticket == ticket) {
            return self.take_mainline(input, cx);
        }
        self.take_call(ticket, input, cx);
    }

    fn take_mainline(&mut self, input: Input, cx: &mut Cx) {
        // The stream goes on: the turn still waits for its end.
        let input = match input {
            Input::AnswerStarted { message, request_id, .. } => {
                return self.answer_started(message, request_id, cx);
            }
            Input::BlockFinished { block, bad_input, tool_use_meta, .. } => {
                return self.block_finished(block, bad_input, tool_use_meta, cx);
            }
            input => input,
        };
        let Some(waiting) = self.waiting.take() else { return };
        if waiting.is_cancelled {
            return self.mainline_stopped(waiting.step, cx);
        }
        match (waiting.step, input) {
            (Step::Prepare(work), Input::Prepared { prepared, .. }) => self.prepared(work, *prepared, cx),
            (Step::SetupHook(start), Input::HookAnswered { answer, .. }) => self.setup_done(start, *answer, cx),
            (Step::SessionStart(after), Input::HookAnswered { answer, .. }) => self.session_started(after, *answer, cx),
            (Step::SubagentStart, Input::HookAnswered { answer, .. }) => self.subagent_started(*answer, cx),
            (Step::Instructions(after), Input::Gathered { .. }) => self.instructions_told(after, cx),
            (Step::ReadCommand(coming), Input::CommandRead { command, .. }) => self.command_read(coming, command, cx),
            (Step::ExpansionHook { coming, name, args }, Input::HookAnswered { answer, .. }) => {
                self.expansion_allowed(coming, name, args, *answer, cx);
            }
            (Step::Expand(coming), Input::CommandExpanded { blocks, .. }) => self.command_expanded(coming, blocks, cx),
            (Step::LocalCommand, Input::CommandDone { answer, .. }) => self.command_done(answer, cx),
            (Step::ClearHook, Input::HookAnswered { .. }) => self.clear(cx),
            (Step::ClearReset, Input::ConversationReset { preamble, .. }) => {
                self.conversation.set_preamble(preamble);
                self.start_session("clear", AfterStart::Clear, cx);
            }
            (Step::PromptHook(coming), Input::HookAnswered { answer, .. }) => self.prompt_allowed(coming, *answer, cx),
            (Step::AfterPrompt { contexts }, Input::Gathered { gathered, .. }) => {
                self.prompt_complete(contexts, *gathered, cx);
            }
            (Step::BeforeAsking, Input::Gathered { gathered, .. }) => self.ready_to_ask(gathered.late, cx),
            (Step::PreCompact(compaction), Input::HookAnswered { answer, .. }) => {
                self.compaction_allowed(compaction, &answer, cx);
            }
            (Step::Summary(compaction), Input::SummaryFinished { text, preamble, .. }) => {
                self.summary_finished(compaction, &text, preamble, cx);
            }
            (Step::Summary(compaction), Input::SummaryFailed { failure, .. }) => {
                self.summary_failed(compaction, failure, cx);
            }
            (Step::PostCompact(compaction), Input::HookAnswered { .. }) => {
                self.tell_instructions(AfterInstructions::Compaction(compaction), cx);
            }
            (Step::Ask, Input::AnswerFinished { answer, .. }) => self.answer_finished(*answer, cx),
            (Step::Ask, Input::ModelFailed { failure, .. }) => self.model_failed(failure, cx),
            (Step::Renew(failure), Input::CredentialsRenewed { renewed, .. }) => {
                self.credentials_renewed(failure, renewed, cx);
            }
            (Step::SwitchHook, Input::HookAnswered { answer, .. }) => self.model_switched(answer.contexts, cx),
            (Step::BatchHook { stop, ends_turn, work }, Input::HookAnswered { answer, .. }) => {
                self.batch_settled(stop, ends_turn, work, *answer, cx);
            }
            (Step::AfterCalls, Input::Gathered { gathered, .. }) => {
                for text in gathered.reminders {
                    self.push_reminder(&text, cx);
                }
                self.next_question(cx);
            }
            (Step::StopHook, Input::HookAnswered { answer, .. }) => self.stop_answered(*answer, cx),
            (Step::CloseHook, _) => self.closed(cx),
            (Step::FailureHook(end), _) => self.conclude(&end, cx),
            (step, Input::Stopped { .. }) if self.interrupt.is_some() => self.mainline_stopped(step, cx),
            (_, input) => {
                let message =
                    format!("the runtime answered with {} where something else was asked for", name_of(&input));
                self.finish(End::Internal(message), cx);
            }
        }
    }

    /// What the turn itself waited for was stopped by an interrupt.
    pub(crate) fn mainline_stopped(&mut self, step: Step, cx: &mut Cx) {
        match step {
            Step::Summary(compaction) => self.compaction_failed(&compaction, End::Interrupted { streaming: true }, cx),
            _ => self.finish(End::Interrupted { streaming: true }, cx),
        }
    }
}

fn ticket_of(input: &Input) -> Option<Ticket> {
    Some(match input {
        Input::Prepared { ticket, .. }
        | Input::Gathered { ticket, .. }
        | Input::CommandRead { ticket, .. }
        | Input::CommandExpanded { ticket, .. }
        | Input::CommandDone { ticket, .. }
        | Input::ConversationReset { ticket, .. }
        | Input::HookAnswered { ticket, .. }
        | Input::AnswerStarted { ticket, .. }
        | Input::BlockFinished { ticket, .. }
        | Input::AnswerFinished { ticket, .. }
        | Input::ModelFailed { ticket, .. }
        | Input::CredentialsRenewed { ticket, .. }
        | Input::SummaryFinished { ticket, .. }
        | Input::SummaryFailed { ticket, .. }
        | Input::InputChecked { ticket, .. }
        | Input::Judged { ticket, .. }
        | Input::PermissionAnswered { ticket, .. }
        | Input::UpdatesApplied { ticket }
        | Input::ToolFinished { ticket, .. }
        | Input::AgentFinished { ticket, .. }
        | Input::SecretsHidden { ticket, .. }
        | Input::TimerFired { ticket }
        | Input::Stopped { ticket } => *ticket,
        _ => return None,
    })
}

/// For the message about a runtime that answers wrongly.
fn name_of(input: &Input) -> String {
    let text = format!("{input:?}");
    text.split([' ', '{']).next().unwrap_or_default().to_owned()
}
