//! `ralph goal …`, `ralph work`, `ralph board`: many goals.

mod add;
mod board;
mod common;
mod show;
mod worker;

use crate::failure::{Ended, Failure};
use crate::say;
use common::{as_json, place, said};
use goals::command_line::{self, GoalCommand};
use goals::machine::GoalEvent;
use goals::{GoalId, Place, Store};
use resolve::{Environment, runtime};
use wire::ExitCode;

pub use board::run as board;
pub use worker::run as work;

pub fn goal(words: &[String], environment: &Environment) -> Ended {
    if matches!(words.first().map(String::as_str), Some("-h" | "--help" | "help")) {
        say::out(arguments::GOAL_HELP);
        return Ok(ExitCode::Success);
    }
    let (command, json) = command_line::goal(words)?;
    with_store(environment, async |store| run(command, json, &store, environment).await)
}

/// The store's place for those who can do without.
pub fn store_place(environment: &Environment) -> Option<Place> {
    place(environment).ok()
}

fn with_store(environment: &Environment, verb: impl AsyncFnOnce(Store) -> Result<(), Failure>) -> Ended {
    let place = place(environment)?;
    runtime()?.block_on(async { verb(Store::open(&place).await?).await })?;
    Ok(ExitCode::Success)
}

async fn run(command: GoalCommand, json: bool, store: &Store, environment: &Environment) -> Result<(), Failure> {
    match command {
        GoalCommand::Add(fields) => add::add(fields, json, store, environment).await,
        GoalCommand::Import { file, fields } => add::import(&file, fields, json, store, environment).await,
        GoalCommand::Edit { id, fields } => add::edit(id, fields, json, store, environment).await,
        GoalCommand::Attach { id, files } => add::attach(id, &files, json, store, environment).await,
        GoalCommand::List { all, state, label } => show::list(all, state, label, json, store).await,
        GoalCommand::Show(id) => show::one(id, json, store).await,
        GoalCommand::Log { id, follow } => show::log(id, follow, json, store).await,
        GoalCommand::Diff(id) => show::diff(id, json, store, environment).await,
        GoalCommand::Comment { id, text } => {
            store.comment(id, environment.get("USER").unwrap_or("user"), &text).await?;
            said(json, id, &format!("goal {id}: noted\n"));
            Ok(())
        }
        GoalCommand::Answer { id, text } => act(store, id, GoalEvent::Answer { text }, json).await,
        GoalCommand::Retry(id) => act(store, id, GoalEvent::Retry, json).await,
        GoalCommand::Cancel(id) => act(store, id, GoalEvent::Cancel, json).await,
        GoalCommand::Queue(id) => act(store, id, GoalEvent::Publish, json).await,
        GoalCommand::Budget { scope, usd, tokens, remove } => {
            if let Some(scope) = scope {
                let cap = if remove { goals::Cap::default() } else { goals::Cap::new(usd, tokens) };
                store.set_budget(&scope, cap).await?;
            }
            show::budgets(json, store).await
        }
    }
}

async fn act(store: &Store, id: GoalId, happening: GoalEvent, json: bool) -> Result<(), Failure> {
    let cancel = happening == GoalEvent::Cancel;
    let goal = store.act(id, happening).await?;
    if json {
        say::out(&format!("{}\n", as_json(&goal)));
    } else if cancel && goal.cancel {
        say::out(&format!("goal {id}: its worker was asked to stop\n"));
    } else {
        say::out(&format!("goal {id}: {}\n", goal.state));
    }
    Ok(())
}
