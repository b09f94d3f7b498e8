//! Logging in to a remote server: OAuth 2.1 as the protocol's authorization specification has it.
//!
//! The steps are: discovery of the authorization server (`discovery`), a client id (`register`), a page for the user and the
//! answer of the browser on loopback (`callback`, `flow`), tokens (`tokens`), and tokens that are sent and renewed with
//! requests (`source`). Every address must be https, or http on this machine.
//!
//! Tokens that are not wanted any more are taken back at the authorization server (`revocation`).
//!
//! Deliberately absent: where logins are kept (a [`LoginStore`] of the caller), and opening a browser.

mod callback;
mod discovery;
mod error;
mod flow;
mod login;
mod pkce;
mod register;
mod revocation;
mod source;
mod tokens;

pub(crate) use callback::fits as callback_fits;
pub use error::LoginError;
pub use flow::{LoginOptions, PendingLogin};
pub use login::{LoginLock, LoginStore, ServerLogin, login_key};
pub use revocation::{Revocation, revoke};
pub(crate) use source::Auth;
