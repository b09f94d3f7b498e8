//! WebFetch and what it takes: addresses, HTTP, HTML as Markdown, the pages that were read.

mod address;
mod fetch;
mod get;
mod html;
mod pages;
mod tokens;

pub(crate) use fetch::WebFetch;
pub use pages::{AskSmall, MakeClient, Web};
