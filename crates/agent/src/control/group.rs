//! Requests in groups: those of one file, which need the same handles.

use super::error::RequestError;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use serde_json::Value;
use std::future::Future;
use std::rc::Rc;

pub type Answer = Result<Value, RequestError>;

pub trait Group {
    /// The answer to a request of this group; `None` for any other.
    fn answer(self: Rc<Self>, subtype: &str, request: Rc<Value>) -> Option<Reply>;
}

/// An answer, and who waits for it.
pub enum Reply {
    /// It is there.
    Now(Answer),
    /// The client's next line waits for it.
    Soon(LocalBoxFuture<'static, Answer>),
    /// Nobody waits: a server or a model may take long.
    Beside(LocalBoxFuture<'static, Answer>),
    /// The next turn waits. Hooks are asked, which may live in the client: its next line may be what they wait for.
    BeforeTurn(LocalBoxFuture<'static, Answer>),
}

impl Reply {
    pub fn now<E: Into<RequestError>>(answer: Result<Value, E>) -> Self {
        Self::Now(answer.map_err(Into::into))
    }

    /// An answer that cannot fail.
    pub fn value(answer: Value) -> Self {
        Self::Now(Ok(answer))
    }

    pub fn soon<E: Into<RequestError>>(answer: impl Future<Output = Result<Value, E>> + 'static) -> Self {
        Self::Soon(boxed(answer))
    }

    pub fn beside<E: Into<RequestError>>(answer: impl Future<Output = Result<Value, E>> + 'static) -> Self {
        Self::Beside(boxed(answer))
    }

    pub fn before_turn<E: Into<RequestError>>(answer: impl Future<Output = Result<Value, E>> + 'static) -> Self {
        Self::BeforeTurn(boxed(answer))
    }
}

fn boxed<E: Into<RequestError>>(
    answer: impl Future<Output = Result<Value, E>> + 'static,
) -> LocalBoxFuture<'static, Answer> {
    answer.map(|answer| answer.map_err(Into::into)).boxed_local()
}
