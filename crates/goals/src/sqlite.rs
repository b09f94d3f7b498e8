//! SQLite: a file on one machine, for one process or many.
//!
//! Every transaction takes the write lock at its start, so transactions are serial. Calls block, for as long as
//! another process writes; that is milliseconds.

mod holder;

use crate::error::GoalError;
use crate::sql::{Access, Database, Dialect, Row, StoreFuture, Value};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Writers hold the lock for milliseconds; a disk that stalls is given this long.
const BUSY: Duration = Duration::from_secs(10);

const DIALECT: Dialect = Dialect {
    now: "(cast(unixepoch('subsec') * 1000 as integer))",
    lock: "",
    skip_locked: "",
    identity: "integer primary key autoincrement",
    alone: "select 1",
    bytes: "blob",
};

pub struct Sqlite {
    connection: Connection,
    file: PathBuf,
}

impl Sqlite {
    /// Makes the file where there is none.
    pub fn open(file: &Path) -> Result<Self, GoalError> {
        let fail = |error: rusqlite::Error| failed(file, &error);
        if let Some(folder) = file.parent() {
            make_private(folder)?;
        }
        let connection = Connection::open(file).map_err(fail)?;
        connection.busy_timeout(BUSY).map_err(fail)?;
        // WAL: readers never wait. With it, NORMAL loses nothing when a process dies; a power cut may take the last
        // moments back, never half of one.
        connection
            .execute_batch("pragma journal_mode = wal; pragma synchronous = normal; pragma foreign_keys = on;")
            .map_err(fail)?;
        Ok(Self { connection, file: file.to_owned() })
    }

    fn fail(&self, error: &rusqlite::Error) -> GoalError {
        failed(&self.file, error)
    }

    fn rows(&self, sql: &str, values: &[Value]) -> rusqlite::Result<Vec<Row>> {
        let mut statement = self.connection.prepare(&numbered(sql))?;
        let columns = statement.column_count();
        let mut rows = statement.query(rusqlite::params_from_iter(values))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let cells = (0..columns).map(|column| row.get_ref(column).map(owned)).collect::<Result<_, _>>()?;
            found.push(Row(cells));
        }
        Ok(found)
    }
}

/// Only its owner may look into the folder of the store.
fn make_private(folder: &Path) -> Result<(), GoalError> {
    use std::os::unix::fs::DirBuilderExt as _;
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|source| GoalError::File { path: folder.to_owned(), verb: "made", source })
}

fn failed(file: &Path, error: &rusqlite::Error) -> GoalError {
    let store = file.display().to_string();
    if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) {
        return GoalError::Busy { store, why: holder::describe(file) };
    }
    GoalError::Store { store, why: error.to_string() }
}

/// `$1` is a name in SQLite, `?1` a number.
fn numbered(sql: &str) -> String {
    sql.replace('$', "?")
}

fn owned(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Int(value),
        ValueRef::Real(value) => Value::Int(value as i64),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec()),
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(value) => ValueRef::Integer(*value),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

impl Database for Sqlite {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    fn name(&self) -> String {
        self.file.display().to_string()
    }

    fn begin(&self, access: Access, torn: bool) -> StoreFuture<'_, ()> {
        if torn {
            let _ = self.connection.execute_batch("rollback");
        }
        self.batch(if access == Access::Write { "begin immediate" } else { "begin deferred" })
    }

    fn query<'a>(&'a self, sql: &'a str, values: &'a [Value]) -> StoreFuture<'a, Vec<Row>> {
        Box::pin(async move { self.rows(sql, values).map_err(|error| self.fail(&error)) })
    }

    fn execute<'a>(&'a self, sql: &'a str, values: &'a [Value]) -> StoreFuture<'a, u64> {
        Box::pin(async move {
            let done = self.connection.execute(&numbered(sql), rusqlite::params_from_iter(values));
            done.map(|changed| changed as u64).map_err(|error| self.fail(&error))
        })
    }

    fn batch<'a>(&'a self, sql: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move { self.connection.execute_batch(sql).map_err(|error| self.fail(&error)) })
    }

    fn commit(&self) -> StoreFuture<'_, ()> {
        self.batch("commit")
    }

    fn abandon(&self) {
        // Where nothing is open there is nothing to give back.
        let _ = self.connection.execute_batch("rollback");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn who_keeps_the_store_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("goals.db");
        let (writer, waiter) = (Sqlite::open(&file).unwrap(), Sqlite::open(&file).unwrap());
        writer.connection.execute_batch("create table t (n); begin immediate; insert into t values (1)").unwrap();
        waiter.connection.busy_timeout(Duration::ZERO).unwrap();
        let error = waiter.connection.execute_batch("begin immediate").unwrap_err();
        let said = waiter.fail(&error).with_hint();
        let expected = format!("process {}. A stopped process", std::process::id());
        assert!(said.contains(&expected), "{said}");
    }
}
