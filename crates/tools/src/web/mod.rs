//! Web pages: addresses, HTTP, HTML as Markdown, and the pages that were read.

pub(crate) mod address;
pub(crate) mod get;
pub(crate) mod html;
pub(crate) mod pages;
mod tokens;

pub use pages::{AskSmall, MakeClient, Web, WebError};
