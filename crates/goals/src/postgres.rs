//! PostgreSQL, for many machines. One connection, made anew when it is gone; every wait has an end.

mod address;
mod tls;
#[cfg(test)]
mod tls_tests;

use crate::error::GoalError;
use crate::sql::{Access, Database, Dialect, Row, StoreFuture, Value};
use address::Address;
use std::cell::RefCell;
use std::collections::HashMap;
use std::error::Error as _;
use std::future::Future;
use std::rc::Rc;
use std::str::FromStr as _;
use std::time::Duration;
use tokio_postgres::config::Host;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Config, Error, Statement};

/// A server that is there answers in milliseconds, one on another continent in less than a second.
const CONNECT: Duration = Duration::from_secs(5);
/// Our statements take milliseconds; a longer wait is a lock of somebody who is gone, or a cut cable.
const ANSWER: Duration = Duration::from_secs(10);

const DIALECT: Dialect = Dialect {
    // Of the statement: with the clock's own time, which changes while it runs, no index would be used.
    now: "(cast(extract(epoch from statement_timestamp()) * 1000 as bigint))",
    lock: "for update",
    skip_locked: "for update skip locked",
    identity: "bigint generated always as identity primary key",
    // Any number will do, as long as no other program in this database takes the same.
    alone: "select pg_advisory_xact_lock(7282547)",
    bytes: "bytea",
};

pub struct Postgres {
    config: Config,
    name: String,
    tls: tls::Connector,
    session: RefCell<Option<Rc<Session>>>,
    /// The session that a transaction was begun on. Nothing of it ever goes to another one.
    transaction: RefCell<Option<Rc<Session>>>,
}

struct Session {
    client: Client,
    /// Statements that the server has parsed already.
    prepared: RefCell<HashMap<String, Statement>>,
}

impl Postgres {
    pub fn new(address: &str) -> Result<Self, GoalError> {
        let unreadable = |_| GoalError::Store {
            store: "in RALPH_STORE".into(),
            why:
                "the address cannot be read; it looks like postgres://user:password@host:5432/database?sslmode=require"
                    .into(),
        };
        let Address { text, root_file } = Address::read(address);
        let mut config = Config::from_str(&text).map_err(unreadable)?;
        config.connect_timeout(CONNECT).application_name("ralph");
        let name = name(&config);
        let tls = tls::Connector::new(root_file);
        Ok(Self { config, name, tls, session: RefCell::new(None), transaction: RefCell::new(None) })
    }

    /// For statements of the open transaction.
    fn open(&self) -> Result<Rc<Session>, GoalError> {
        let open = self.transaction.borrow().clone();
        open.filter(|session| !session.client.is_closed())
            .ok_or_else(|| GoalError::Unreachable { store: self.name.clone(), why: "the connection was lost".into() })
    }

    async fn session(&self) -> Result<Rc<Session>, GoalError> {
        let known = self.session.borrow().clone();
        if let Some(session) = known.filter(|session| !session.client.is_closed()) {
            return Ok(session);
        }
        let connecting = self.config.connect(self.tls.clone());
        let connected = tokio::time::timeout(CONNECT, connecting).await.map_err(|_| self.silent(CONNECT))?;
        let (client, connection) = connected.map_err(|error| self.fail(&error))?;
        // Ends with the client; what goes wrong in it is told to the client's callers.
        tokio::spawn(async move { drop(connection.await) });
        let session = Rc::new(Session { client, prepared: RefCell::new(HashMap::new()) });
        self.session.replace(Some(Rc::clone(&session)));
        Ok(session)
    }

    async fn statement(&self, session: &Session, sql: &str) -> Result<Statement, GoalError> {
        if let Some(statement) = session.prepared.borrow().get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.within(session.client.prepare(sql)).await?;
        session.prepared.borrow_mut().insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    async fn within<T>(&self, answer: impl Future<Output = Result<T, Error>>) -> Result<T, GoalError> {
        if let Ok(done) = tokio::time::timeout(ANSWER, answer).await {
            return done.map_err(|error| self.fail(&error));
        }
        // Nobody knows what the server still does: the next transaction gets a connection of its own.
        self.session.replace(None);
        self.transaction.replace(None);
        Err(self.silent(ANSWER))
    }

    fn silent(&self, after: Duration) -> GoalError {
        GoalError::Unreachable { store: self.name.clone(), why: format!("no answer within {} s", after.as_secs()) }
    }

    fn fail(&self, error: &Error) -> GoalError {
        let store = self.name.clone();
        let Some(code) = error.code() else {
            let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            return GoalError::Unreachable { store, why };
        };
        let why = error.as_db_error().map_or_else(|| error.to_string(), |said| said.message().to_owned());
        match *code {
            SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => GoalError::Denied { store },
            SqlState::ADMIN_SHUTDOWN | SqlState::CRASH_SHUTDOWN | SqlState::CANNOT_CONNECT_NOW => {
                GoalError::Unreachable { store, why }
            }
            _ => GoalError::Store { store, why },
        }
    }
}

/// Everything but the password.
fn name(config: &Config) -> String {
    let host = config.get_hosts().first().map_or_else(String::new, |host| match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(folder) => folder.display().to_string(),
    });
    let port = config.get_ports().first().map_or_else(String::new, |port| format!(":{port}"));
    let user = config.get_user().map_or_else(String::new, |user| format!("{user}@"));
    let database = config.get_dbname().map_or_else(String::new, |name| format!("/{name}"));
    format!("postgres://{user}{host}{port}{database}")
}

fn parameters(values: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

impl Database for Postgres {
    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn begin(&self, access: Access, torn: bool) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.transaction.replace(None);
            let session = self.session().await?;
            let begin = if access == Access::Write { "begin" } else { "begin read only" };
            // In one message: a worker reads often, and every answer that is waited for costs as much as the next.
            let begin = if torn { format!("rollback; {begin}") } else { begin.to_owned() };
            self.within(session.client.batch_execute(&begin)).await?;
            self.transaction.replace(Some(session));
            Ok(())
        })
    }

    fn query<'a>(&'a self, sql: &'a str, values: &'a [Value]) -> StoreFuture<'a, Vec<Row>> {
        Box::pin(async move {
            let session = self.open()?;
            let statement = self.statement(&session, sql).await?;
            let rows = self.within(session.client.query(&statement, &parameters(values))).await?;
            rows.iter().map(|row| self.row(row)).collect()
        })
    }

    fn execute<'a>(&'a self, sql: &'a str, values: &'a [Value]) -> StoreFuture<'a, u64> {
        Box::pin(async move {
            let session = self.open()?;
            let statement = self.statement(&session, sql).await?;
            self.within(session.client.execute(&statement, &parameters(values))).await
        })
    }

    fn batch<'a>(&'a self, sql: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let session = self.open()?;
            self.within(session.client.batch_execute(sql)).await
        })
    }

    fn commit(&self) -> StoreFuture<'_, ()> {
        self.batch("commit")
    }

    fn abandon(&self) {
        let Some(session) = self.transaction.take() else { return };
        // The first poll sends the message; nobody waits for its answer.
        let mut rollback = std::pin::pin!(session.client.batch_execute("rollback"));
        let _ = rollback.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop()));
    }
}

impl Postgres {
    fn row(&self, row: &tokio_postgres::Row) -> Result<Row, GoalError> {
        let cell = |column| row.try_get::<_, Value>(column).map_err(|error| self.fail(&error));
        (0..row.len()).map(cell).collect::<Result<Vec<Value>, _>>().map(Row)
    }
}

type BoxedError = Box<dyn std::error::Error + Sync + Send>;

impl ToSql for Value {
    fn to_sql(&self, kind: &Type, out: &mut tokio_postgres::types::private::BytesMut) -> Result<IsNull, BoxedError> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(value) if *kind == Type::INT4 => i32::try_from(*value)?.to_sql(kind, out),
            Self::Int(value) => value.to_sql(kind, out),
            // A text may hold the one character that PostgreSQL cannot.
            Self::Text(text) => text.replace('\0', "\u{fffd}").to_sql(kind, out),
            Self::Bytes(bytes) => bytes.to_sql(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        [Type::INT8, Type::INT4, Type::TEXT, Type::VARCHAR, Type::BYTEA].contains(kind)
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Value {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, BoxedError> {
        Ok(match *kind {
            Type::INT4 => Self::Int(i32::from_sql(kind, raw)?.into()),
            Type::INT8 => Self::Int(i64::from_sql(kind, raw)?),
            Type::BYTEA => Self::Bytes(Vec::from_sql(kind, raw)?),
            _ => Self::Text(String::from_sql(kind, raw)?),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, BoxedError> {
        Ok(Self::Null)
    }

    fn accepts(kind: &Type) -> bool {
        <Self as ToSql>::accepts(kind)
    }
}
