//! The store of goals: its verbs, written once for both databases. Each verb is one transaction.
//!
//! What a worker writes carries the number of its claim, and is refused when the claim is over. What becomes of a
//! goal is decided by [`crate::machine`]; here it is read, asked and written.

mod budgets;
mod claims;
mod invariants;
mod log;
mod edits;
mod reports;

pub use budgets::Budget;
pub use claims::{LeaseRenewal, WorkerName};
pub use edits::{Attachment, Comment, Edit, Filter};
pub use log::LogLine;
pub use reports::{Checkpoint, Intent};

use crate::error::GoalError;
use crate::goal::{Amount, Goal, GoalId, GoalState};
use crate::schema;
use crate::sql::{Connection, Row, Tx};
use crate::sqlite::Sqlite;
use std::path::{Path, PathBuf};

/// Where goals are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    File(PathBuf),
    /// An address, `postgres://…`, with its password.
    Postgres(String),
}

impl Place {
    /// What `RALPH_STORE` says; without it, a file in the state folder.
    pub fn new(store: Option<&str>, state: &Path) -> Self {
        match store {
            Some(address) if address.starts_with("postgres://") || address.starts_with("postgresql://") => {
                Self::Postgres(address.to_owned())
            }
            Some(file) => Self::File(PathBuf::from(file.strip_prefix("sqlite:").unwrap_or(file))),
            None => Self::File(state.join("goals.db")),
        }
    }
}

pub struct Store {
    connection: Connection,
    id: String,
}

impl Store {
    /// Opens the store and brings its tables to this program's schema.
    pub async fn open(place: &Place) -> Result<Self, GoalError> {
        let connection = match place {
            Place::File(file) => Connection::new(Box::new(Sqlite::open(file)?)),
            Place::Postgres(address) => Connection::new(Box::new(crate::postgres::Postgres::new(address)?)),
        };
        let id = schema::migrate(&connection).await?;
        Ok(Self { connection, id: format!("s{id:x}") })
    }

    /// No other store has it: part of the names of refs.
    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn name(&self) -> String {
        self.connection.name()
    }

    #[cfg(test)]
    pub(crate) async fn write_for_test(&self) -> Result<Tx<'_>, GoalError> {
        self.connection.write().await
    }
}

/// In the order of [`goal`].
const COLUMNS: &str = "id, title, state, repo, base, host, spec, priority, labels, created, updated, run_at, attempts, \
    max_attempts, lost, fence, owner, lease_until, cancel, iteration, head, head_fence, run, context, question, error, \
    spent_usd, spent_tokens, reserved_usd, reserved_tokens, landed, landed_from, rounds, unmet";

fn goal(row: &Row) -> Result<Goal, GoalError> {
    let unreadable = |what: &str| GoalError::Corrupt(format!("goal {:?} has an unreadable {what}", row.0.first()));
    Ok(Goal {
        id: row.int(0)?,
        title: row.text(1)?,
        state: GoalState::parse(&row.text(2)?).ok_or_else(|| unreadable("state"))?,
        repo: row.text(3)?,
        base: row.text(4)?,
        host: row.maybe_text(5)?,
        spec: serde_json::from_str(&row.text(6)?).map_err(|_| unreadable("spec"))?,
        priority: row.int(7)?,
        labels: serde_json::from_str(&row.text(8)?).map_err(|_| unreadable("list of labels"))?,
        created: row.int(9)?,
        updated: row.int(10)?,
        run_at: row.int(11)?,
        attempts: row.int(12)?,
        max_attempts: row.int(13)?,
        lost: row.int(14)?,
        fence: row.int(15)?,
        owner: row.maybe_text(16)?,
        lease_until: row.maybe_int(17)?,
        cancel: row.int(18)? != 0,
        iteration: row.int(19)?,
        head: row.maybe_text(20)?,
        head_fence: row.int(21)?,
        run: row.maybe_text(22)?,
        context: row.maybe_text(23)?,
        question: row.maybe_text(24)?,
        error: row.maybe_text(25)?,
        spent: Amount { micro_usd: row.int(26)?, tokens: row.int(27)? },
        reserved: Amount { micro_usd: row.int(28)?, tokens: row.int(29)? },
        landed: row.maybe_text(30)?,
        landed_from: row.maybe_text(31)?,
        rounds: row.int(32)?,
        unmet: row.int(33)?,
    })
}

/// Reads a goal and keeps it from everybody else until the end of the transaction.
async fn locked(tx: &Tx<'_>, id: GoalId) -> Result<Goal, GoalError> {
    let sql = format!("select {COLUMNS} from goal where id = $1 {{lock}}");
    let row = tx.first(&sql, &[id.into()]).await?.ok_or(GoalError::UnknownGoal(id))?;
    goal(&row)
}

/// The same for a worker: its claim must still be the one that counts.
async fn claimed(tx: &Tx<'_>, id: GoalId, fence: i64) -> Result<Goal, GoalError> {
    let goal = locked(tx, id).await?;
    if goal.fence != fence || goal.owner.is_none() {
        return Err(GoalError::LeaseLost { goal: id, fence });
    }
    Ok(goal)
}

fn json<T: serde::Serialize>(value: &T) -> String {
    // Texts, numbers and lists of them: nothing that could fail.
    serde_json::to_string(value).unwrap_or_default()
}
