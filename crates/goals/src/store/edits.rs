//! Operations by people: create, list, change, comment.

use super::{COLUMNS, Store, goal, json, locked};
use crate::error::GoalError;
use crate::goal::{Goal, GoalId, GoalState, Moment, NewGoal, Spec};
use crate::sql::{Tx, Value};
use serde::Serialize;

/// Of a list.
const LISTED_MAX: i64 = 500;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Comment {
    pub at: Moment,
    pub author: String,
    pub body: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    pub name: String,
    pub body: Vec<u8>,
}

/// The filter of a list. Empty: the goals that are not over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    pub all: bool,
    pub state: Option<GoalState>,
    pub label: Option<String>,
}

/// What is to be different. `None` stays.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Edit {
    pub title: Option<String>,
    pub base: Option<String>,
    pub spec: Option<Spec>,
    pub priority: Option<i64>,
    pub labels: Option<Vec<String>>,
    pub after: Option<Vec<GoalId>>,
    pub max_attempts: Option<i64>,
}

impl Store {
    /// Makes a goal, or finds the one with the same key.
    pub async fn enqueue(&self, new: &NewGoal) -> Result<GoalId, GoalError> {
        let tx = self.connection.write().await?;
        let id = insert(&tx, new).await?;
        tx.commit().await?;
        Ok(id)
    }

    /// All of them, or none: a goal may name an earlier one of the list by its place in it (`after_places`).
    pub async fn enqueue_all(&self, list: &[(NewGoal, Vec<usize>)]) -> Result<Vec<GoalId>, GoalError> {
        let tx = self.connection.write().await?;
        let mut ids: Vec<GoalId> = Vec::new();
        for (new, after_places) in list {
            let mut new = new.clone();
            new.after.extend(after_places.iter().filter_map(|place| ids.get(*place)));
            ids.push(insert(&tx, &new).await?);
        }
        tx.commit().await?;
        Ok(ids)
    }

    pub async fn goal(&self, id: GoalId) -> Result<Goal, GoalError> {
        let tx = self.connection.read().await?;
        let sql = format!("select {COLUMNS} from goal where id = $1");
        let row = tx.first(&sql, &[id.into()]).await?.ok_or(GoalError::UnknownGoal(id))?;
        goal(&row)
    }

    pub async fn list(&self, filter: &Filter) -> Result<Vec<Goal>, GoalError> {
        let tx = self.connection.read().await?;
        let states = match (filter.state, filter.all) {
            (Some(state), _) => format!("state = '{}'", state.word()),
            (None, true) => "true".to_owned(),
            (None, false) => "state not in ('done', 'failed', 'cancelled')".to_owned(),
        };
        // Labels are a JSON list of texts: a label in it stands between quotes.
        let label = filter.label.as_ref().map(json);
        let sql = format!(
            "select {COLUMNS} from goal where {states} and (cast($1 as text) is null or replace(labels, $1, '') <> labels) \
             order by id desc limit {LISTED_MAX}"
        );
        let mut goals: Vec<Goal> = tx.query(&sql, &[label.into()]).await?.iter().map(goal).collect::<Result<_, _>>()?;
        goals.reverse();
        Ok(goals)
    }

    pub async fn count(&self) -> Result<Vec<(String, i64)>, GoalError> {
        let tx = self.connection.read().await?;
        let rows = tx.query("select state, count(*) from goal group by state order by state", &[]).await?;
        rows.iter().map(|row| Ok((row.text(0)?, row.int(1)?))).collect()
    }

    pub async fn edit(&self, id: GoalId, edit: &Edit) -> Result<Goal, GoalError> {
        let tx = self.connection.write().await?;
        locked(&tx, id).await?;
        if let Some(after) = &edit.after {
            tx.execute("delete from dependency where goal = $1", &[id.into()]).await?;
            depend(&tx, id, after).await?;
        }
        let sql = format!(
            "update goal set title = coalesce($2, title), base = coalesce($3, base), spec = coalesce($4, spec), \
             priority = coalesce($5, priority), labels = coalesce($6, labels), max_attempts = coalesce($7, max_attempts), \
             updated = {{now}} where id = $1 returning {COLUMNS}"
        );
        let values: [Value; 7] = [
            id.into(),
            edit.title.clone().into(),
            edit.base.clone().into(),
            edit.spec.as_ref().map(json).into(),
            edit.priority.into(),
            edit.labels.as_ref().map(json).into(),
            edit.max_attempts.into(),
        ];
        let row = tx.first(&sql, &values).await?.ok_or(GoalError::UnknownGoal(id))?;
        tx.commit().await?;
        goal(&row)
    }

    pub async fn needs(&self, id: GoalId) -> Result<Vec<GoalId>, GoalError> {
        let tx = self.connection.read().await?;
        let rows = tx.query("select needs from dependency where goal = $1 order by needs", &[id.into()]).await?;
        rows.iter().map(|row| row.int(0)).collect()
    }

    pub async fn comment(&self, id: GoalId, author: &str, body: &str) -> Result<(), GoalError> {
        let tx = self.connection.write().await?;
        locked(&tx, id).await?;
        let sql = "insert into comment (goal, at, author, body) values ($1, {now}, $2, $3)";
        tx.execute(sql, &[id.into(), author.into(), body.into()]).await?;
        tx.commit().await
    }

    pub async fn comments(&self, id: GoalId) -> Result<Vec<Comment>, GoalError> {
        let tx = self.connection.read().await?;
        let rows = tx.query("select at, author, body from comment where goal = $1 order by id", &[id.into()]).await?;
        rows.iter().map(|row| Ok(Comment { at: row.int(0)?, author: row.text(1)?, body: row.text(2)? })).collect()
    }

    pub async fn attach(&self, id: GoalId, file: &Attachment) -> Result<(), GoalError> {
        let tx = self.connection.write().await?;
        locked(&tx, id).await?;
        let sql = "insert into attachment (goal, name, body) values ($1, $2, $3) \
                   on conflict (goal, name) do update set body = excluded.body";
        tx.execute(sql, &[id.into(), file.name.as_str().into(), Value::Bytes(file.body.clone())]).await?;
        tx.commit().await
    }

    pub async fn attachments(&self, id: GoalId) -> Result<Vec<Attachment>, GoalError> {
        let tx = self.connection.read().await?;
        let rows = tx.query("select name, body from attachment where goal = $1 order by name", &[id.into()]).await?;
        rows.iter().map(|row| Ok(Attachment { name: row.text(0)?, body: row.bytes(1)? })).collect()
    }
}

async fn insert(tx: &Tx<'_>, new: &NewGoal) -> Result<GoalId, GoalError> {
    if let Some(key) = &new.key
        && let Some(row) = tx.first("select id from goal where idem = $1", &[key.as_str().into()]).await?
    {
        return row.int(0);
    }
    let state = if new.draft { GoalState::Draft } else { GoalState::Queued };
    let sql = "insert into goal (idem, title, state, repo, base, host, spec, priority, labels, max_attempts, created, updated) \
               values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, {now}, {now}) returning id";
    let values: [Value; 10] = [
        new.key.clone().into(),
        new.title.as_str().into(),
        state.word().into(),
        new.repo.as_str().into(),
        new.base.as_str().into(),
        new.host.clone().into(),
        json(&new.spec).into(),
        new.priority.into(),
        json(&new.labels).into(),
        new.max_attempts.into(),
    ];
    let row = tx.first(sql, &values).await?.ok_or_else(|| GoalError::Corrupt("a new goal without a number".into()))?;
    let id = row.int(0)?;
    depend(tx, id, &new.after).await?;
    Ok(id)
}

/// Writes what a goal needs, and refuses a circle.
async fn depend(tx: &Tx<'_>, id: GoalId, after: &[GoalId]) -> Result<(), GoalError> {
    for needed in after {
        locked(tx, *needed).await?;
        if let Some(path) = path(tx, *needed, id).await? {
            let path: Vec<String> = path.iter().map(GoalId::to_string).collect();
            return Err(GoalError::Circle { goal: id, path: format!("{id} after {}", path.join(" after ")) });
        }
        let sql = "insert into dependency (goal, needs) values ($1, $2) on conflict do nothing";
        tx.execute(sql, &[id.into(), (*needed).into()]).await?;
    }
    let sql = "update goal set unmet = (select count(*) from dependency d join goal n on n.id = d.needs \
               where d.goal = $1 and n.state <> 'done') where id = $1";
    tx.execute(sql, &[id.into()]).await.map(drop)
}

/// How one goal leads to another by what it needs.
async fn path(tx: &Tx<'_>, from: GoalId, to: GoalId) -> Result<Option<Vec<GoalId>>, GoalError> {
    let mut ways = vec![vec![from]];
    let mut seen = std::collections::HashSet::new();
    while let Some(way) = ways.pop() {
        let Some(last) = way.last().copied() else { continue };
        if last == to {
            return Ok(Some(way));
        }
        if !seen.insert(last) {
            continue;
        }
        for row in tx.query("select needs from dependency where goal = $1", &[last.into()]).await? {
            ways.push(way.iter().copied().chain([row.int(0)?]).collect());
        }
    }
    Ok(None)
}
