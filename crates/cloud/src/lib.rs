//! The parts of the cloud providers' protocols that are pure: request signing, the event-stream format,
//! profile files, signed tokens.
//!
//! Every function here maps values to values and is tested against published or recorded vectors.
//! Deliberately absent: HTTP, files, the environment, the clock. `model` sends the requests and finds the
//! credentials.

mod error;
pub mod event_stream;
pub mod jwt;
pub mod profile_file;
pub mod sigv4;
pub mod world;
pub mod aws;
pub mod google;
pub mod azure;
#[cfg(test)]
mod fake_world;

pub use error::CredentialError;
