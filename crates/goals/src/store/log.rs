//! A goal's log: the events of its runs, and of the goal itself.

use super::{Store, claimed};
use crate::error::GoalError;
use crate::goal::{Fence, GoalId, Moment};
use crate::sql::Row;
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

impl Store {
    /// Adds lines, numbered by their worker from `first` on; those that are there already are not added again.
    pub async fn append(&self, id: GoalId, fence: Fence, first: i64, bodies: &[String]) -> Result<(), GoalError> {
        if bodies.is_empty() {
            return Ok(());
        }
        let tx = self.connection.write().await?;
        claimed(&tx, id, fence).await?;
        for (number, body) in (first..).zip(bodies) {
            let cut = (body.len() > BODY_MAX).then(|| {
                format!("{{\"type\":\"warning\",\"text\":\"an event of {} bytes was left out\"}}", body.len())
            });
            let body = cut.as_deref().unwrap_or(body);
            let sql = "insert into event (goal, fence, number, at, body) values ($1, $2, $3, {now}, $4) on conflict do nothing";
            tx.execute(sql, &[id.into(), fence.into(), number.into(), body.into()]).await?;
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
