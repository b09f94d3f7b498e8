//! Asking a model: what to send, how to send it until an answer comes, and what the answer cost.
//!
//! The decisions are pure and tested with tables: which id an alias means ([`resolve`]), how a model is
//! asked to think ([`thinking()`], [`effort`]), where the cache marks go ([`Request::body`]), when to try
//! again ([`retry`]). The one effect is HTTP, in [`Client`]. Deliberately absent: the environment, the
//! home folder, refreshing credentials, the conversation itself, and anything that prints.

mod failure;
mod frame;
mod request;
mod sse;
mod profile;
mod capabilities;
mod aes_cbc;
mod encrypted_key;
mod config;
mod tls;
mod openai;
mod assemble;
mod recorded;
pub mod retry;
mod http;
mod thinking;
mod login;
mod catalog;
mod step_down;
mod provider;
mod stream;
mod credential;
mod ask;
mod client;
#[cfg(test)]
mod test_server;

pub use ask::{Ask, Event, Reply};
pub use capabilities::{Capabilities, CapabilityError};
pub use catalog::{
    CustomModel, Listing, ModelEnv, ModelInfo, Price, canonical as canonical_model, cost_usd, info, info_for, listing,
    resolve, wants_long_context,
};
pub use client::Client;
pub use config::{Auth, Backoff, ClientConfig, ClientError, CloudEndpoint, ProxyEnv, Secret, Timeouts, TlsOptions};
pub use credential::{CloudCredentials, CredentialSettings};
pub use encrypted_key::KeyError;
pub use failure::{Failure, FailureKind};
pub use http::{SmallError, endpoint_client, is_proxy_address, plain_client, proxy_host, send_small};
pub use login::{LoginError, Tokens, refresh_login};
pub use profile::{Feature, Format, Profile, ProfileError, ProfileName, SmallModel, parse_profile, suggest_profile};
pub use provider::{
    AuthPlan, Choice, Endpoint, EntraPlan, GooglePlan, SetupError, StreamFormat, Variables, split_provider,
};
pub use recorded::{Recorded, read_recorded};
pub use request::{CachePolicy, Request};
pub use step_down::{TRIGGER as STEP_DOWN_TRIGGER, step_down, step_down_words};
pub use thinking::{Thinking, ThinkingAsk, ThinkingKind, effort, effort_beside, request_betas, thinking};
pub use tls::{CertStore, TlsError};
