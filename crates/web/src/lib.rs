//! Pages and web sockets of others: which addresses may be reached, HTTP, HTML as Markdown, the pages that were read, and
//! sockets that are listened to.
//!
//! Deliberately absent: whether a host may be reached for a user (`policy`), and what is done with a page (`tools`).
//!
//! Modules stand in the order of their use, lower ones first.

pub mod address;
pub mod frames;
mod tokens;

pub mod html;

pub mod get;

pub mod pages;

pub mod socket;

pub use pages::{AskSmall, MakeClient, Web, WebError};
