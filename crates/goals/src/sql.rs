//! The one interface to both databases: statements with numbered parameters, rows, and transactions.
//!
//! Statements are written once, in what SQLite and PostgreSQL have in common; `{now}`, `{lock}` and a few more words
//! stand for the rest ([`Dialect`]). Times are milliseconds of the database's own clock.
//! Deliberately absent: any statement.

use crate::error::GoalError;
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use tokio::sync::{Mutex, MutexGuard};

pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, GoalError>> + 'a>>;

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// One row of an answer, read from left to right.
#[derive(Debug, Clone, PartialEq)]
pub struct Row(pub Vec<Value>);

impl Row {
    fn at(&self, column: usize) -> Result<&Value, GoalError> {
        self.0.get(column).ok_or_else(|| GoalError::Corrupt(format!("a row without column {column}")))
    }

    pub fn int(&self, column: usize) -> Result<i64, GoalError> {
        match self.at(column)? {
            Value::Int(value) => Ok(*value),
            other => Err(GoalError::Corrupt(format!("column {column} is {other:?}, not a number"))),
        }
    }

    pub fn maybe_int(&self, column: usize) -> Result<Option<i64>, GoalError> {
        if *self.at(column)? == Value::Null { Ok(None) } else { self.int(column).map(Some) }
    }

    pub fn text(&self, column: usize) -> Result<String, GoalError> {
        match self.at(column)? {
            Value::Text(value) => Ok(value.clone()),
            other => Err(GoalError::Corrupt(format!("column {column} is {other:?}, not a text"))),
        }
    }

    pub fn maybe_text(&self, column: usize) -> Result<Option<String>, GoalError> {
        if *self.at(column)? == Value::Null { Ok(None) } else { self.text(column).map(Some) }
    }

    pub fn bytes(&self, column: usize) -> Result<Vec<u8>, GoalError> {
        match self.at(column)? {
            Value::Bytes(value) => Ok(value.clone()),
            other => Err(GoalError::Corrupt(format!("column {column} is {other:?}, not bytes"))),
        }
    }
}

/// What the two databases spell differently.
#[derive(Debug, Clone, Copy)]
pub struct Dialect {
    pub now: &'static str,
    /// At the end of a select: these rows are ours until the end of the transaction.
    pub lock: &'static str,
    /// The same, passing by what others hold.
    pub skip_locked: &'static str,
    pub identity: &'static str,
    /// A statement after which other writers wait until the end of the transaction.
    pub alone: &'static str,
    pub bytes: &'static str,
}

impl Dialect {
    pub fn spell(&self, sql: &str) -> String {
        sql.replace("{now}", self.now)
            .replace("{lock}", self.lock)
            .replace("{skip_locked}", self.skip_locked)
            .replace("{identity}", self.identity)
            .replace("{alone}", self.alone)
            .replace("{bytes}", self.bytes)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
}

/// One connection. Only [`Connection`] calls it, one statement after the other.
pub trait Database {
    fn dialect(&self) -> &'static Dialect;
    /// How people know it; without a password.
    fn name(&self) -> String;
    /// Connects anew where the connection is gone, and begins a transaction. Where the last one was dropped (`torn`), that
    /// is rolled back first; on a connection that is gone there is nothing to roll back.
    fn begin(&self, access: Access, torn: bool) -> StoreFuture<'_, ()>;
    fn query<'a>(&'a self, sql: &'a str, values: &'a [Value]) -> StoreFuture<'a, Vec<Row>>;
    /// How many rows were changed.
    fn execute<'a>(&'a self, sql: &'a str, values: &'a [Value]) -> StoreFuture<'a, u64>;
    /// Several statements without parameters.
    fn batch<'a>(&'a self, sql: &'a str) -> StoreFuture<'a, ()>;
    fn commit(&self) -> StoreFuture<'_, ()>;
    /// The transaction ends without a change, and its locks are given back now: the heartbeat must not wait for them.
    fn abandon(&self);
}

/// A database, for one transaction at a time.
pub struct Connection {
    database: Box<dyn Database>,
    turn: Mutex<()>,
    /// A transaction was dropped without an end.
    is_torn: Cell<bool>,
}

impl Connection {
    pub fn new(database: Box<dyn Database>) -> Self {
        Self { database, turn: Mutex::new(()), is_torn: Cell::new(false) }
    }

    pub fn name(&self) -> String {
        self.database.name()
    }

    pub async fn write(&self) -> Result<Tx<'_>, GoalError> {
        self.begin(Access::Write).await
    }

    /// Waits for no writer.
    pub async fn read(&self) -> Result<Tx<'_>, GoalError> {
        self.begin(Access::Read).await
    }

    async fn begin(&self, access: Access) -> Result<Tx<'_>, GoalError> {
        let turn = self.turn.lock().await;
        // Also where this call is given up half-way.
        let torn = self.is_torn.replace(true);
        self.database.begin(access, torn).await?;
        self.is_torn.set(false);
        Ok(Tx { connection: self, is_open: true, _turn: turn })
    }
}

/// An open transaction. Dropped without [`Tx::commit`], it changes nothing.
pub struct Tx<'a> {
    connection: &'a Connection,
    is_open: bool,
    _turn: MutexGuard<'a, ()>,
}

impl Tx<'_> {
    pub async fn query(&self, sql: &str, values: &[Value]) -> Result<Vec<Row>, GoalError> {
        let sql = self.connection.database.dialect().spell(sql);
        self.connection.database.query(&sql, values).await
    }

    pub async fn first(&self, sql: &str, values: &[Value]) -> Result<Option<Row>, GoalError> {
        Ok(self.query(sql, values).await?.into_iter().next())
    }

    pub async fn execute(&self, sql: &str, values: &[Value]) -> Result<u64, GoalError> {
        let sql = self.connection.database.dialect().spell(sql);
        self.connection.database.execute(&sql, values).await
    }

    pub async fn batch(&self, sql: &str) -> Result<(), GoalError> {
        let sql = self.connection.database.dialect().spell(sql);
        self.connection.database.batch(&sql).await
    }

    pub async fn commit(mut self) -> Result<(), GoalError> {
        self.connection.database.commit().await?;
        self.is_open = false;
        Ok(())
    }
}

impl Drop for Tx<'_> {
    fn drop(&mut self) {
        if self.is_open {
            self.connection.database.abandon();
            self.connection.is_torn.set(true);
        }
    }
}
