//! One type for every way to a server. rmcp's machinery is compiled anew for each type of transport that it is given, 17 KB
//! and more a time; a message costs an allocation more.

use futures_util::future::BoxFuture;
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use std::error::Error;
use std::fmt;

/// What a transport said when it failed.
#[derive(Debug)]
pub(crate) struct AnyError(pub(crate) Box<dyn Error + Send + Sync>);

impl fmt::Display for AnyError {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl Error for AnyError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        // Not the source of it: rmcp looks for a refused login among the sources.
        Some(&*self.0)
    }
}

/// [`Transport`] in a form that can be called without knowing the type.
trait Erased: Send {
    fn send(&mut self, message: ClientJsonRpcMessage) -> BoxFuture<'static, Result<(), AnyError>>;
    fn receive(&mut self) -> BoxFuture<'_, Option<ServerJsonRpcMessage>>;
    fn close(&mut self) -> BoxFuture<'_, Result<(), AnyError>>;
}

impl<T: Transport<RoleClient>> Erased for T {
    fn send(&mut self, message: ClientJsonRpcMessage) -> BoxFuture<'static, Result<(), AnyError>> {
        let sending = Transport::send(self, message);
        Box::pin(async move { sending.await.map_err(|error| AnyError(error.into())) })
    }

    fn receive(&mut self) -> BoxFuture<'_, Option<ServerJsonRpcMessage>> {
        Box::pin(Transport::receive(self))
    }

    fn close(&mut self) -> BoxFuture<'_, Result<(), AnyError>> {
        Box::pin(async move { Transport::close(self).await.map_err(|error| AnyError(error.into())) })
    }
}

pub(crate) struct AnyTransport(Box<dyn Erased>);

impl AnyTransport {
    pub(crate) fn new(transport: impl Transport<RoleClient> + 'static) -> Self {
        Self(Box::new(transport))
    }
}

impl Transport<RoleClient> for AnyTransport {
    type Error = AnyError;

    fn send(&mut self, message: ClientJsonRpcMessage) -> impl Future<Output = Result<(), AnyError>> + Send + 'static {
        self.0.send(message)
    }

    fn receive(&mut self) -> impl Future<Output = Option<ServerJsonRpcMessage>> + Send {
        self.0.receive()
    }

    fn close(&mut self) -> impl Future<Output = Result<(), AnyError>> + Send {
        self.0.close()
    }
}
