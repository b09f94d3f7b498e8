//! Web pages: addresses, HTTP, HTML as Markdown, and the pages that were read. Web sockets that are listened to.

pub(crate) mod address;
pub(crate) mod frames;
pub(crate) mod get;
pub(crate) mod html;
pub(crate) mod pages;
pub(crate) mod socket;
mod tokens;

pub use pages::{AskSmall, MakeClient, Web, WebError};
