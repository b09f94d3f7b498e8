//! Money: reserved before an iteration, settled after it, never more than anybody allowed.

use super::reports::{give_back, reserved_in};
use super::{Store, claimed, json};
use crate::error::{Exhausted, GoalError};
use crate::goal::{Amount, Cap, Fence, GoalId};
use crate::sql::{Row, Tx, Value};
use serde::Serialize;

/// A budget: of everything (`all`), a repository (`repo:…`) or a label (`label:…`). A goal has its own limits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Budget {
    pub scope: String,
    pub cap: Cap,
    pub spent: Amount,
    pub reserved: Amount,
}

const COLUMNS: &str = "scope, cap_usd, cap_tokens, spent_usd, spent_tokens, reserved_usd, reserved_tokens";

fn budget(row: &Row) -> Result<Budget, GoalError> {
    Ok(Budget {
        scope: row.text(0)?,
        cap: Cap { micro_usd: row.maybe_int(1)?, tokens: row.maybe_int(2)? },
        spent: Amount { micro_usd: row.int(3)?, tokens: row.int(4)? },
        reserved: Amount { micro_usd: row.int(5)?, tokens: row.int(6)? },
    })
}

async fn of_scope(tx: &Tx<'_>, scope: &str) -> Result<Option<Budget>, GoalError> {
    let sql = format!("select {COLUMNS} from budget where scope = $1 {{lock}}");
    tx.first(&sql, &[scope.into()]).await?.as_ref().map(budget).transpose()
}

impl Store {
    /// Sets a budget; a cap of nothing takes it away. What was spent stays counted while it is there.
    pub async fn set_budget(&self, scope: &str, cap: Cap) -> Result<(), GoalError> {
        let tx = self.connection.write().await?;
        if cap.is_none() {
            tx.execute("delete from budget where scope = $1", &[scope.into()]).await?;
        } else {
            let sql = "insert into budget (scope, cap_usd, cap_tokens) values ($1, $2, $3) \
                       on conflict (scope) do update set cap_usd = excluded.cap_usd, cap_tokens = excluded.cap_tokens";
            tx.execute(sql, &[scope.into(), cap.micro_usd.into(), cap.tokens.into()]).await?;
        }
        tx.commit().await
    }

    pub async fn budgets(&self) -> Result<Vec<Budget>, GoalError> {
        let tx = self.connection.read().await?;
        let rows = tx.query(&format!("select {COLUMNS} from budget order by scope"), &[]).await?;
        rows.iter().map(budget).collect()
    }

    /// Whether anything limits what this goal may spend.
    pub async fn is_metered(&self, id: GoalId) -> Result<bool, GoalError> {
        let goal = self.goal(id).await?;
        if !goal.cap().is_none() {
            return Ok(true);
        }
        let scopes = goal.scopes();
        Ok(self.budgets().await?.iter().any(|budget| scopes.contains(&budget.scope)))
    }

    /// Reserves so much for the next iteration in every budget of the goal, or says which one has not enough left.
    /// A reservation that is there already is replaced, so a repeated call changes nothing.
    pub async fn reserve(&self, id: GoalId, fence: Fence, wish: Amount) -> Result<Result<(), Exhausted>, GoalError> {
        let tx = self.connection.write().await?;
        let goal = claimed(&tx, id, fence).await?;
        give_back(&tx, &goal).await?;
        if !goal.cap().allows(goal.spent.plus(wish)) {
            return Ok(Err(Exhausted(format!("goal {id}"))));
        }
        let mut reserved = Vec::new();
        for scope in goal.scopes() {
            let Some(budget) = of_scope(&tx, &scope).await? else { continue };
            if !budget.cap.allows(budget.spent.plus(budget.reserved).plus(wish)) {
                return Ok(Err(Exhausted(scope)));
            }
            let sql = "update budget set reserved_usd = reserved_usd + $2, reserved_tokens = reserved_tokens + $3 where scope = $1";
            tx.execute(sql, &[scope.as_str().into(), wish.micro_usd.into(), wish.tokens.into()]).await?;
            reserved.push(scope);
        }
        let sql = "update goal set reserved_usd = $2, reserved_tokens = $3, reserved_in = $4 where id = $1";
        tx.execute(sql, &[id.into(), wish.micro_usd.into(), wish.tokens.into(), json(&reserved).into()]).await?;
        tx.commit().await?;
        Ok(Ok(()))
    }

    /// What an iteration really cost. `iteration` makes a repeated call harmless.
    pub async fn settle(&self, id: GoalId, fence: Fence, iteration: i64, cost: Amount) -> Result<(), GoalError> {
        let tx = self.connection.write().await?;
        let goal = claimed(&tx, id, fence).await?;
        let key = format!("{fence}:{iteration}");
        let sql = "update goal set settled = $2, spent_usd = spent_usd + $3, spent_tokens = spent_tokens + $4 \
                   where id = $1 and (settled is null or settled <> $2)";
        let values: [Value; 4] = [id.into(), key.into(), cost.micro_usd.into(), cost.tokens.into()];
        if tx.execute(sql, &values).await? == 1 {
            let already = reserved_in(&tx, id).await?;
            give_back(&tx, &goal).await?;
            let mut scopes: Vec<String> = already.into_iter().chain(goal.scopes()).collect();
            scopes.sort();
            scopes.dedup();
            for scope in scopes {
                let sql =
                    "update budget set spent_usd = spent_usd + $2, spent_tokens = spent_tokens + $3 where scope = $1";
                tx.execute(sql, &[scope.into(), cost.micro_usd.into(), cost.tokens.into()]).await?;
            }
        }
        tx.commit().await
    }
}
