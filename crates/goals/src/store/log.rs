//! A goal's log: the events of its runs, and of the goal itself.

use super::{Store, claimed};
use crate::error::GoalError;
use crate::goal::{Fence, GoalId, Moment};
use crate::sql::{Row, Value};
use serde::Serialize;

/// Of one event. A longer one is left out, with a line that says so.
const BODY_MAX: usize = 64 * 1024;
/// Of one answer; the next call goes on behind it.
const LINES_MAX: i64 = 2_000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogLine {
    /// Grows with every line.
    pub id: i64,
    pub fence: Fence,
    pub at: Moment,
    /// An event as JSON.
    pub body: String,
}

fn line(row: &Row) -> Result<LogLine, GoalError> {
    Ok(LogLine { id: row.int(0)?, fence: row.int(1)?, at: row.int(2)?, body: row.text(3)? })
}

/// Lines that go in one statement. A few sizes, so that the server keeps a few statements.
const TOGETHER: [usize; 3] = [32, 8, 1];

fn insertion(rows: usize) -> String {
    let row = |at: usize| format!("($1, $2, ${}, {{now}}, ${})", at * 2 + 3, at * 2 + 4);
    let rows: Vec<String> = (0..rows).map(row).collect();
    format!("insert into event (goal, fence, number, at, body) values {} on conflict do nothing", rows.join(", "))
}

fn values(id: GoalId, fence: Fence, first: i64, bodies: &[String]) -> Vec<Value> {
    let mut values: Vec<Value> = vec![id.into(), fence.into()];
    for (number, body) in (first..).zip(bodies) {
        let cut = format!("{{\"type\":\"warning\",\"text\":\"an event of {} bytes was left out\"}}", body.len());
        let body = if body.len() > BODY_MAX { &cut } else { body };
        values.extend([number.into(), body.as_str().into()]);
    }
    values
}

impl Store {
    /// Adds lines, numbered by their worker from `first` on; those that are there already are not added again.
    pub async fn append(&self, id: GoalId, fence: Fence, first: i64, bodies: &[String]) -> Result<(), GoalError> {
        if bodies.is_empty() {
            return Ok(());
        }
        let tx = self.connection.write().await?;
        claimed(&tx, id, fence).await?;
        let (mut number, mut left) = (first, bodies);
        while !left.is_empty() {
            let rows = TOGETHER.into_iter().find(|rows| *rows <= left.len()).unwrap_or(1);
            let (some, rest) = left.split_at(rows);
            tx.execute(&insertion(rows), &values(id, fence, number, some)).await?;
            number += i64::try_from(rows).unwrap_or(i64::MAX);
            left = rest;
        }
        tx.commit().await
    }

    /// Lines behind `after`, oldest first.
    pub async fn tail(&self, id: GoalId, after: i64) -> Result<Vec<LogLine>, GoalError> {
        let tx = self.connection.read().await?;
        let sql =
            format!("select id, fence, at, body from event where goal = $1 and id > $2 order by id limit {LINES_MAX}");
        tx.query(&sql, &[id.into(), after.into()]).await?.iter().map(line).collect()
    }

    /// Lines of all goals, for those who are to be called.
    pub async fn tail_all(&self, after: i64) -> Result<Vec<(GoalId, LogLine)>, GoalError> {
        let tx = self.connection.read().await?;
        let sql = format!(
            "select id, fence, at, body, goal from event where id > $1 and number < 0 order by id limit {LINES_MAX}"
        );
        let rows = tx.query(&sql, &[after.into()]).await?;
        rows.iter().map(|row| Ok((row.int(4)?, line(row)?))).collect()
    }
}
