//! Requests to a model: the body, sending and retrying, the stream of the answer, and its cost.
//!
//! The decisions are pure and tested with tables: which id an alias means ([`resolve`]), how a model is
//! asked to think ([`thinking()`], [`effort`]), where the cache marks go ([`Request::body`]), when to try
//! again ([`retry`]). The one effect is HTTP, in [`Client`]. Deliberately absent: the environment, the
//! home folder, refreshing credentials, the conversation itself, and anything that prints.

mod secret;
mod failure;
mod frame;
mod tool_definition;
mod capabilities;
mod models_behind;
mod catalog;
mod request;
mod sse;
mod profile;
mod thinking;
mod provider;
mod credential;
mod aes_cbc;
mod encrypted_key;
mod config;
mod tls;
mod tool_search;
mod openai;
mod assemble;
mod recorded;
pub mod retry;
mod missing_usage;
mod refused_field;
mod http;
mod login;
mod available;
mod step_down;
mod stream;
mod ask;
mod client;
mod profiles;

mod fetch;
mod ledger;
#[cfg(test)]
mod test_server;

pub use ask::{Ask, Event, Reply};
pub use capabilities::{Capabilities, CapabilityError};
pub use catalog::{
    CustomModel, Listing, ModelEnv, ModelInfo, ModelNames, Price, ThinkingKind, canonical as canonical_model, cost_usd,
    info, listing, resolve,
};
pub use client::Client;
pub use config::{Auth, Backoff, ClientConfig, ClientError, CloudEndpoint, ProxyEnv, Timeouts, TlsOptions, info_for};
pub use credential::{CloudCredentials, CredentialSettings};
pub use encrypted_key::KeyError;
pub use failure::{Failure, FailureKind};
pub use fetch::{DownloadError, FetchError, fetch};
pub use http::{HttpError, SmallError, endpoint_client, is_proxy_address, plain_client, proxy_host, send_small};
pub use ledger::Ledger;
pub use login::{LoginError, Tokens, refresh_login};
pub use models_behind::ModelsBehind;
pub use profile::{Feature, Format, Profile, ProfileError, ProfileName, SmallModel, parse_profile, suggest_profile};
pub use provider::{
    AuthPlan, Choice, Endpoint, EntraPlan, GooglePlan, SetupError, SmallQuestions, StreamFormat, Variables,
    split_provider,
};
pub use recorded::{Recorded, read_recorded};
pub use request::{CachePolicy, Request};
pub use secret::Secret;
pub use step_down::{TRIGGER as STEP_DOWN_TRIGGER, is_refusal, step_down, step_down_words};
pub use thinking::{Thinking, ThinkingAsk, effort, effort_beside, request_betas, thinking};
pub use tls::{CertStore, TlsError};
pub use tool_definition::ToolDefinition;
pub use tool_search::{takes_deferred_tools, tool_search_beta};
