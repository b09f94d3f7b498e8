//! An agent that asks a person: by a tool, for permission, or in its final words.

use crate::{EventKind, Question, QuestionAbout, ToolCall};
use serde_json::Value;
use wire::{AgentControlRequest, AgentRequest};

/// A question is to be read and answered by a person.
const TEXT_MAX: usize = 8 * 1024;
const BLOCKED_OPEN: &str = "<blocked>";
const BLOCKED_CLOSE: &str = "</blocked>";

/// `ExitPlanMode` and `AskUserQuestion` are questions.
pub(crate) fn asked(call: &ToolCall) -> Option<Question> {
    let (about, text, options) = match call.name.as_str() {
        "ExitPlanMode" => {
            let plan = call.input["plan"].as_str().unwrap_or("The agent made a plan.");
            let options = vec!["approve".to_owned(), "reject".to_owned()];
            (QuestionAbout::Plan, plan.to_owned(), options)
        }
        "AskUserQuestion" => {
            let asked = &call.input["questions"][0];
            let text = asked["question"].as_str().or(call.input["question"].as_str())?;
            let labels = asked["options"].as_array().map(|list| list.iter().filter_map(label).collect());
            (QuestionAbout::Choice, text.to_owned(), labels.unwrap_or_default())
        }
        _ => return None,
    };
    let text = crate::bounded(&text, TEXT_MAX);
    Some(Question { iteration: call.iteration, id: call.id.clone(), about, text, options })
}

fn label(option: &Value) -> Option<String> {
    option["label"].as_str().or(option.as_str()).map(str::to_owned)
}

/// May this tool run?
pub(crate) fn permission(iteration: u32, asked: &AgentControlRequest) -> Option<EventKind> {
    let AgentRequest::CanUseTool(request) = &asked.request else { return None };
    let tool = if request.tool_name.is_empty() { "a tool" } else { &request.tool_name };
    Some(EventKind::Question(Question {
        iteration,
        id: asked.request_id.clone(),
        about: QuestionAbout::Permission,
        text: crate::bounded(&format!("May {tool} run? {}", request.input), TEXT_MAX),
        options: vec!["allow".to_owned(), "deny".to_owned()],
    }))
}

/// Final words that end in `<blocked>…</blocked>` ask a person. The same care as with a promise: at
/// the end, on lines of their own, not quoted.
pub(crate) fn in_words(iteration: u32, text: &str) -> Option<Question> {
    let end = text.trim_end().strip_suffix(BLOCKED_CLOSE)?;
    let (before, question) = end.rsplit_once(BLOCKED_OPEN)?;
    if crate::claim(&format!("{before}{BLOCKED_OPEN}"), BLOCKED_OPEN) != crate::Claim::Made {
        return None;
    }
    let text = crate::bounded(question.trim(), TEXT_MAX);
    let id = format!("words-{iteration}");
    (!text.is_empty()).then(|| Question { iteration, id, about: QuestionAbout::Words, text, options: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_question_at_the_end_blocks() {
        for (text, expected) in [
            ("<blocked>Which database?</blocked>", Some("Which database?")),
            ("I stopped.\n<blocked>\nWhich one?\n</blocked>\n", Some("Which one?")),
            ("Say `<blocked>why</blocked>`", None),
            ("<blocked>why</blocked> is not needed", None),
            ("I never say <blocked>why</blocked>", None),
            ("<blocked> </blocked>", None),
        ] {
            assert_eq!(in_words(3, text).map(|question| question.text).as_deref(), expected, "{text}");
        }
    }
}
