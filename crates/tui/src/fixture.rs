//! Runs for tests.

use crate::state::ScreenState;
use crate::view::view;
use cycle::{
    AgentText, CheckFinished, EventKind, IterationStarted, LoopEvent, Question, QuestionAbout, Receipt, RunLimits,
    RunStarted, RunVerdict, TodoItem, TodoState, Tokens, ToolCall, ToolResult, UsageSoFar, VerdictKind,
};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::{Value, json};

pub const START: u64 = 1_790_000_000_000;
const FOLDER: &str = "/home/me/parser";

pub fn run_started() -> EventKind {
    let mut limits = RunLimits { iterations: 30, ..RunLimits::default() };
    limits.run.usd = Some(10.0);
    EventKind::RunStarted(Box::new(RunStarted {
        schema: cycle::SCHEMA,
        run: "r1".into(),
        folder: FOLDER.into(),
        title: "fix-the-parser".into(),
        backend: "builtin".into(),
        model: "claude-opus-4-5".into(),
        limits,
        checks: vec!["cargo test".into()],
        head: None,
        resumed: None,
        sandbox: None,
        unconfined: None,
        flags: serde_json::Map::new(),
    }))
}

pub fn started(iteration: u32) -> EventKind {
    EventKind::IterationStarted(IterationStarted {
        iteration,
        attempt: 1,
        model: "claude-opus-4-5".into(),
        session: None,
        strategy: None,
        prompt_chars: 900,
    })
}

pub fn says(iteration: u32, text: &str) -> EventKind {
    EventKind::AgentText(AgentText { iteration, text: text.into(), partial: false, parent: None })
}

pub fn says_more(iteration: u32, text: &str) -> EventKind {
    EventKind::AgentText(AgentText { iteration, text: text.into(), partial: true, parent: None })
}

pub fn calls(iteration: u32, id: &str, name: &str, input: Value) -> EventKind {
    EventKind::ToolCall(ToolCall { iteration, id: id.into(), name: name.into(), input, parent: None })
}

pub fn returns(iteration: u32, id: &str, is_error: bool, text: &str) -> EventKind {
    EventKind::ToolResult(ToolResult { iteration, id: id.into(), is_error, text: text.into(), parent: None })
}

pub fn asks(iteration: u32, id: &str) -> EventKind {
    EventKind::Question(Question {
        iteration,
        id: id.into(),
        about: QuestionAbout::Choice,
        text: "Which database?".into(),
        options: vec!["sqlite".into(), "postgres".into()],
    })
}

pub fn ended(iteration: u32, cost_usd: f64) -> EventKind {
    let tokens = Tokens { input: 1_000, output: 500, ..Tokens::default() };
    let receipt = Receipt { cost_usd, tokens, duration_ms: 61_000, tool_calls: 3, ..Receipt::default() };
    EventKind::IterationEnded { iteration, receipt: Box::new(receipt) }
}

pub fn check_failed(iteration: u32) -> EventKind {
    EventKind::CheckFinished(CheckFinished {
        iteration,
        command: "cargo test".into(),
        passed: false,
        exit_code: 101,
        output: "running 2 tests\ntest parser ... FAILED\n\n1 failed".into(),
        duration_ms: 4_200,
    })
}

pub fn verdict(kind: VerdictKind, reason: &str) -> EventKind {
    EventKind::Verdict(RunVerdict {
        verdict: kind,
        reason: reason.into(),
        exit_code: 0,
        unchecked: false,
        question: None,
        iterations: 2,
        cost_usd: 0.5,
        tokens: Tokens::default(),
        elapsed_ms: 723_000,
    })
}

fn usage(iteration: u32) -> EventKind {
    EventKind::Usage(UsageSoFar {
        iteration,
        tokens: Tokens { input: 61_000, output: 4_400, ..Tokens::default() },
        cost_usd: Some(0.44),
        estimated: false,
        context_tokens: 74_000,
        context_window: 200_000,
    })
}

fn todo() -> EventKind {
    let item = |text: &str, state| TodoItem { text: text.into(), state };
    let items = vec![
        item("tokens", TodoState::Done),
        item("parser", TodoState::Active),
        item("errors with a place in the source", TodoState::Open),
    ];
    EventKind::Todo { items }
}

/// Two iterations: one that a check refused, one at work.
pub fn at_work() -> Vec<LoopEvent> {
    let edit = json!({
        "file_path": "/home/me/parser/src/parser.rs",
        "old_string": "    let end = s.len();\n    &s[..end]",
        "new_string": "    let end = s.find('\\n').unwrap_or(s.len());\n    &s[..end]",
    });
    let events = [
        (0, run_started()),
        (10, started(1)),
        (900, says(1, "I read the parser first.")),
        (1_000, calls(1, "a", "Read", json!({"file_path": "/home/me/parser/src/lexer.rs"}))),
        (1_040, returns(1, "a", false, "fn lex() {}")),
        (5_000, EventKind::CheckStarted { iteration: 1, command: "cargo test".into() }),
        (9_200, check_failed(1)),
        (9_300, ended(1, 1.4)),
        (10_000, started(2)),
        (10_100, todo()),
        (10_200, EventKind::Steered { iteration: 2, text: "keep the public names".into() }),
        (
            11_000,
            calls(2, "b", "Read", json!({"file_path": "/home/me/parser/src/parser.rs", "offset": 120, "limit": 60})),
        ),
        (11_040, returns(2, "b", false, "…")),
        (12_000, calls(2, "c", "Edit", edit)),
        (12_030, returns(2, "c", false, "ok")),
        (13_000, calls(2, "d", "Grep", json!({"pattern": "fn end"}))),
        (13_100, returns(2, "d", true, "\u{1b}[31mno such file\u{1b}[0m\u{7}")),
        (14_000, usage(2)),
        (15_000, calls(2, "e", "Bash", json!({"command": "cargo test parser"}))),
        (19_000, says_more(2, "The lexer now stops at the **newline**; ")),
        (19_200, says_more(2, "running the `tests`")),
    ];
    events.into_iter().map(|(after, kind)| kind.at(START + after)).collect()
}

pub fn fold(events: &[LoopEvent]) -> ScreenState {
    let mut state = ScreenState::default();
    for event in events {
        state.apply(event);
    }
    state
}

pub fn fold_kinds(kinds: impl IntoIterator<Item = EventKind>) -> ScreenState {
    let events: Vec<_> = kinds.into_iter().enumerate().map(|(at, kind)| kind.at(START + at as u64 * 1_000)).collect();
    fold(&events)
}

/// The screen as text, rows without the blanks at their end.
pub fn screen(state: &mut ScreenState, width: u16, height: u16) -> String {
    state.reader.size = (width, height);
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a test terminal");
    terminal.draw(|frame| view(state, frame)).expect("drawing to memory");
    let buffer = terminal.backend().buffer();
    let row = |y: u16| {
        // The cell after a wide character is its second half.
        let mut skip = 0;
        let mut text = String::new();
        for x in 0..width {
            let symbol = buffer[(x, y)].symbol();
            if skip == 0 {
                text.push_str(symbol);
                skip = crate::wrap::columns(symbol).max(1);
            }
            skip -= 1;
        }
        text.trim_end().to_owned()
    };
    (0..height).map(row).collect::<Vec<_>>().join("\n")
}
