use super::*;
use serde_json::json;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use turn::{
    CallResult, Config, Gathered, HookAnswer, InterruptCause, Limits, ModelAnswer, Prepared, Role, Settings, ToolFacts,
    ToolTable,
};
use wire::{Outcome, UserInput, UserMessage};

/// Answers plainly; the one tool never ends.
#[derive(Clone, Default)]
struct Fake {
    results: Rc<RefCell<Vec<Outcome>>>,
    /// Tools that run.
    running: Rc<Cell<usize>>,
    tool_calls: Rc<Cell<usize>>,
    /// Where it panics.
    panics_in: &'static str,
}

struct Alive(Rc<Cell<usize>>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl Execute for Fake {
    fn now(&self) -> Now {
        Now::default()
    }

    fn work(&self, effect: Effect, early: Sender<Input>) -> LocalBoxFuture<'static, Input> {
        let fake = self.clone();
        async move {
            match effect {
                Effect::Prepare { ticket, .. } => Input::Prepared { ticket, prepared: Box::new(Prepared::default()) },
                Effect::Gather { ticket, .. } => Input::Gathered { ticket, gathered: Box::new(Gathered::default()) },
                Effect::FireHook { ticket, .. } => {
                    Input::HookAnswered { ticket, answer: Box::new(HookAnswer::default()) }
                }
                Effect::CheckInput { ticket, input, .. } => Input::InputChecked { ticket, checked: Ok(input) },
                Effect::Judge { ticket, .. } => {
                    let decision = policy::Decision {
                        verdict: policy::Verdict::Allow,
                        reason_type: "mode",
                        reason: String::new(),
                        rule: None,
                        blocked_path: None,
                        run: None,
                    };
                    Input::Judged { ticket, decision, suggestions: Vec::new() }
                }
                Effect::HideSecrets { ticket, result } => Input::SecretsHidden { ticket, result },
                Effect::AskModel { .. } if fake.panics_in == "model" => panic!("on purpose"),
                Effect::AskModel { ticket, .. } => fake.answer(ticket, early).await,
                Effect::RunTool { .. } => {
                    fake.running.set(fake.running.get() + 1);
                    let _alive = Alive(fake.running);
                    std::future::pending().await
                }
                other => panic!("{other:?}"),
            }
        }
        .boxed_local()
    }

    fn perform(&self, effect: Effect) -> impl Future<Output = ()> {
        assert!(!(self.panics_in == "init" && matches!(effect, Effect::EmitInit)), "on purpose");
        if let Effect::EndTurn { outcome } = effect {
            assert_eq!(self.running.get(), 0, "work is gone before the result");
            self.results.borrow_mut().push(*outcome);
        }
        std::future::ready(())
    }

    fn gone(&self) -> impl Future<Output = ()> {
        std::future::ready(())
    }
}

impl Fake {
    async fn answer(&self, ticket: Ticket, early: Sender<Input>) -> Input {
        let calls = self.tool_calls.get();
        self.tool_calls.set(calls.saturating_sub(1));
        let block = match calls {
            0 => json!({"type": "text", "text": "done"}),
            number => json!({"type": "tool_use", "id": format!("t{number}"), "name": "Bash", "input": {}}),
        };
        let started = Input::AnswerStarted { ticket, message: json!({"id": "m"}), request_id: None };
        let finished = Input::BlockFinished { ticket, block: block.clone(), bad_input: None, tool_use_meta: None };
        for input in [started, finished] {
            early.send(input).await.expect("a driver");
        }
        let answer = ModelAnswer { blocks: vec![block], ..ModelAnswer::default() };
        Input::AnswerFinished { ticket, answer: Box::new(answer) }
    }
}

fn driver(fake: &Fake) -> Driver<Fake> {
    let mut tools = ToolTable::default();
    tools.tools.insert("Bash".into(), ToolFacts::default());
    let config = Config {
        role: Role::Main,
        settings: Settings { tools, ..Settings::default() },
        limits: Limits::default(),
        messages: Vec::new(),
        preamble: None,
        deferred: None,
        seed: (1, 2),
    };
    Driver::new(Rc::new(RefCell::new(Turn::new(config))), fake.clone())
}

/// Steps until no turn runs.
async fn finish_turn(driver: &mut Driver<Fake>) {
    while !driver.is_idle() {
        let input = driver.next().await;
        driver.feed(input).await;
    }
}

fn prompt() -> Input {
    Input::Prompt(Box::new(UserInput {
        message: UserMessage { content: json!("hi"), ..UserMessage::default() },
        ..UserInput::default()
    }))
}

#[tokio::test]
async fn a_turn_runs_from_its_prompt_to_its_result() {
    let fake = Fake::default();
    let mut driver = driver(&fake);
    driver.feed(prompt()).await;
    driver.feed(Input::Next).await;
    finish_turn(&mut driver).await;
    let results = fake.results.borrow();
    assert_eq!(results.iter().map(|outcome| outcome.result.as_deref()).collect::<Vec<_>>(), [Some("done")]);
}

#[tokio::test]
async fn an_interrupt_drops_the_work_before_the_result() {
    let fake = Fake::default();
    fake.tool_calls.set(1);
    let mut driver = driver(&fake);
    driver.feed(prompt()).await;
    driver.feed(Input::Next).await;
    while fake.running.get() == 0 {
        let input = tokio::select! {
            input = driver.next() => input,
            () = tokio::time::sleep(Duration::from_millis(10)) => continue,
        };
        driver.feed(input).await;
    }
    driver.feed(Input::Interrupt(InterruptCause::Client)).await;
    finish_turn(&mut driver).await;
    assert_eq!(fake.results.borrow()[0].terminal_reason, "aborted_tools");
    let last = driver.turn.borrow().messages().last().cloned().expect("a message");
    let expected = CallResult::error("[Request interrupted by user for tool use]").words();
    assert_eq!(last["content"][0]["content"], expected);
}

#[tokio::test]
async fn a_panic_wherever_it_happens_still_gives_a_result() {
    for panics_in in ["model", "init"] {
        let fake = Fake { panics_in, ..Fake::default() };
        let mut driver = driver(&fake);
        driver.feed(prompt()).await;
        driver.feed(Input::Next).await;
        finish_turn(&mut driver).await;
        let results = fake.results.borrow();
        assert_eq!(results.len(), 1, "{panics_in}");
        assert!(results[0].errors.as_ref().is_some_and(|errors| errors[0].contains("on purpose")), "{panics_in}");
    }
}
