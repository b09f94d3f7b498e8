//! Values of other crates in the words of `turn`.

use hooks::Decision;
use model::{Failure, FailureKind, Reply};
use output::clock;
use session::{Transcript, UserExtra};
use tools::{Content, ToolOutcome};
use turn::{
    CallContent, CallResult, Entry, ErrorFlag, FailureSource, HookAnswer, HookDecision, ModelAnswer, ModelFailure,
    Reset,
};

pub fn call_result(outcome: ToolOutcome) -> CallResult {
    CallResult {
        content: match outcome.content {
            Content::Text(text) => CallContent::Text(text),
            Content::Blocks(blocks) => CallContent::Blocks(blocks),
        },
        structured: outcome.structured,
        flag: match outcome.flag {
            tools::ErrorFlag::Absent => ErrorFlag::Absent,
            tools::ErrorFlag::No => ErrorFlag::No,
            tools::ErrorFlag::Yes => ErrorFlag::Yes,
        },
    }
}

/// What is for people (messages, errors, files to watch) has been dealt with before.
pub fn hook_answer(verdict: hooks::HookAnswer) -> HookAnswer {
    HookAnswer {
        blocked: verdict.blocked,
        decision: verdict.decision.map(|decision| match decision {
            Decision::Allow => HookDecision::Allow,
            Decision::Ask => HookDecision::Ask,
            Decision::Defer => HookDecision::Defer,
            Decision::Deny => HookDecision::Deny,
        }),
        reason: verdict.reason,
        updated_input: verdict.updated_input,
        contexts: verdict.contexts,
        stop: verdict.stop,
        updated_output: verdict.updated_output,
        permission: verdict.permission,
        retry: verdict.retry,
        session_title: verdict.session_title,
        initial_user_message: verdict.initial_user_message,
    }
}

pub fn model_answer(reply: Reply) -> ModelAnswer {
    ModelAnswer {
        blocks: reply.blocks,
        stop_reason: reply.stop_reason,
        stop_sequence: reply.stop_sequence,
        usage: reply.usage,
        incomplete: reply.incomplete,
        api_ms: reply.api_ms,
        ttft_ms: reply.ttft_ms,
        ttft_stream_ms: reply.ttft_stream_ms,
    }
}

pub fn model_failure(failure: Failure) -> ModelFailure {
    let source = match failure.kind {
        FailureKind::Setup => FailureSource::Setup,
        FailureKind::Http => FailureSource::Http,
        _ => FailureSource::Connection,
    };
    let reset = |at: jiff::Timestamp| Reset { seconds: at.as_second(), time_of_day: clock::time_of_day(at) };
    ModelFailure {
        source,
        status: failure.status,
        category: failure.category,
        message: failure.message,
        api_type: failure.api_type,
        reset: failure.reset_at.map(reset),
        api_ms: failure.api_ms,
        prompt_too_long: failure.prompt_too_long,
        overloaded: failure.overloaded,
    }
}

/// Writes one entry.
pub fn append(transcript: &mut Transcript, entry: &Entry) {
    match entry {
        Entry::User { id, message, is_meta, is_compact_summary, tool_use_result, source_assistant, fields } => {
            let extra = UserExtra {
                tool_use_result: tool_use_result.as_ref(),
                source_assistant: source_assistant.as_deref(),
                is_meta: *is_meta,
                is_compact_summary: *is_compact_summary,
                fields: fields.as_ref(),
                ..UserExtra::default()
            };
            transcript.user(id, message, extra);
        }
        Entry::Assistant { id, message, request_id, fields } => {
            transcript.assistant_with(id, message, request_id.as_deref(), fields.as_ref());
        }
        Entry::System { id, subtype, fields, new_root } => transcript.system(id, subtype, fields, *new_root),
        Entry::Attachment { id, attachment, message } => transcript.attachment(id, attachment, Some(message)),
        Entry::Meta(value) => transcript.meta(value),
    }
}
