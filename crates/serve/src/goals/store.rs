//! The thread that holds the store.

use crate::problem::Problem;
use axum::http::StatusCode;
use goals::machine::GoalEvent;
use goals::{Edit, Filter, GoalError, GoalId, Place, Store};
use serde_json::{Value, json};
use std::sync::OnceLock;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Requests that wait for the store.
const QUEUE: usize = 64;
/// A store that does not answer for so long is away.
const ANSWER_TIME: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub enum Verb {
    List(Filter),
    Show(GoalId),
    Log { id: GoalId, after: i64 },
    Comment { id: GoalId, text: String },
    Edit { id: GoalId, edit: Box<Edit> },
    Act { id: GoalId, happening: GoalEvent },
}

#[derive(Debug)]
struct Asked {
    verb: Verb,
    answer: oneshot::Sender<Result<Value, Problem>>,
}

#[derive(Debug)]
pub struct GoalsHandle {
    place: Option<Place>,
    /// Started with the first question: a server that nobody asks for goals makes no store.
    thread: OnceLock<mpsc::Sender<Asked>>,
}

impl GoalsHandle {
    pub fn new(place: Option<Place>) -> Self {
        Self { place, thread: OnceLock::new() }
    }

    pub async fn ask(&self, verb: Verb) -> Result<Value, Problem> {
        let Some(place) = &self.place else {
            return Err(Problem::unavailable(
                "there is no home folder to keep goals in; set RALPH_STATE or RALPH_STORE",
            ));
        };
        let thread = self.thread.get_or_init(|| start(place.clone()));
        let (answer, answered) = oneshot::channel();
        let busy = || Problem::unavailable("the store of goals is busy; try again");
        thread.try_send(Asked { verb, answer }).map_err(|_| busy())?;
        match tokio::time::timeout(ANSWER_TIME, answered).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) | Err(_) => Err(busy()),
        }
    }
}

fn start(place: Place) -> mpsc::Sender<Asked> {
    let (sender, receiver) = mpsc::channel(QUEUE);
    // A thread that cannot be started drops the receiver, and every question is answered with "busy".
    let _ = std::thread::Builder::new().name("goals".into()).spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        if let Ok(runtime) = runtime {
            runtime.block_on(serve(&place, receiver));
        }
    });
    sender
}

async fn serve(place: &Place, mut asked: mpsc::Receiver<Asked>) {
    let mut store: Option<Store> = None;
    while let Some(Asked { verb, answer }) = asked.recv().await {
        let done = match &store {
            Some(store) => run(store, verb).await,
            None => match Store::open(place).await {
                Ok(opened) => run(store.insert(opened), verb).await,
                Err(error) => Err(error),
            },
        };
        // A store that was away is opened anew.
        if done.as_ref().is_err_and(GoalError::is_passing) {
            store = None;
        }
        // The client may have left.
        let _ = answer.send(done.map_err(|error| problem(&error)));
    }
}

async fn run(store: &Store, verb: Verb) -> Result<Value, GoalError> {
    match verb {
        Verb::List(filter) => {
            let goals = store.list(&filter).await?;
            let counts: serde_json::Map<String, Value> =
                store.count().await?.into_iter().map(|(state, count)| (state, count.into())).collect();
            Ok(json!({"goals": goals, "counts": counts, "budgets": store.budgets().await?}))
        }
        Verb::Show(id) => {
            let mut goal = json!(store.goal(id).await?);
            goal["comments"] = json!(store.comments(id).await?);
            goal["needs"] = json!(store.needs(id).await?);
            let names = store.attachments(id).await?.into_iter().map(|file| file.name);
            goal["attachments"] = names.collect();
            Ok(goal)
        }
        Verb::Log { id, after } => {
            let lines = store.tail(id, after).await?;
            let next = lines.last().map_or(after, |line| line.id);
            let event = |line: &goals::LogLine| {
                let body = serde_json::from_str(&line.body).unwrap_or_else(|_| Value::from(line.body.clone()));
                json!({"id": line.id, "at": line.at, "claim": line.fence, "event": body})
            };
            Ok(json!({"lines": lines.iter().map(event).collect::<Vec<Value>>(), "next": next}))
        }
        Verb::Comment { id, text } => {
            store.comment(id, "serve", &text).await?;
            Ok(json!({"goal": id}))
        }
        Verb::Edit { id, edit } => Ok(json!(store.edit(id, &edit).await?)),
        Verb::Act { id, happening } => Ok(json!(store.act(id, happening).await?)),
    }
}

fn problem(error: &GoalError) -> Problem {
    let (status, kind) = match error {
        GoalError::UnknownGoal(_) => (StatusCode::NOT_FOUND, "not_found"),
        GoalError::NotPossible { .. } | GoalError::LeaseLost { .. } => (StatusCode::CONFLICT, "conflict"),
        GoalError::Circle { .. } => (StatusCode::BAD_REQUEST, "invalid_request"),
        _ => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
    };
    Problem::new(status, kind, error.to_string())
}
