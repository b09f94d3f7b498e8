//! Which credential is used, how it is renewed, and that none of them is ever shown.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot set up its world must fail loudly")]

mod common;
#[path = "credentials/clouds.rs"]
mod clouds;
#[path = "credentials/formats.rs"]
mod formats;
#[path = "credentials/helper.rs"]
mod helper;
#[path = "credentials/login.rs"]
mod login;
use common::loopback;
#[path = "credentials/order.rs"]
mod order;
#[path = "credentials/providers.rs"]
mod providers;
#[path = "credentials/secrecy.rs"]
mod secrecy;
#[path = "credentials/sigv4.rs"]
mod sigv4;
#[path = "credentials/status.rs"]
mod status;

use common::{claude, finish};
use mock::Recorded;
use serde_json::{Value, json};
use testkit::{Outcome, Run, World};

const STREAM: [&str; 5] = ["-p", "hi", "--output-format", "stream-json", "--verbose"];

/// A world whose model has an answer to whatever it is asked.
fn plain() -> World {
    common::world(json!([]))
}

/// A run without any credential of its own.
fn bare(world: &World) -> Run {
    claude(world).without_env("ANTHROPIC_API_KEY")
}

fn streamed(world: &World) -> Run {
    bare(world).args(STREAM)
}

/// Writes a JSON file of the user's; `name` is relative to the home.
fn own(world: &World, name: &str, value: &Value) {
    write(&world.home().join(name), &value.to_string());
}

fn write(file: &std::path::Path, text: &str) {
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

/// What the API saw of who we are.
#[derive(Debug, PartialEq, Eq)]
struct Shown {
    key: Option<String>,
    bearer: Option<String>,
}

fn key(secret: &str) -> Shown {
    Shown { key: Some(secret.to_owned()), bearer: None }
}

fn bearer(secret: &str) -> Shown {
    Shown { key: None, bearer: Some(format!("Bearer {secret}")) }
}

fn both(secret: &str) -> Shown {
    Shown { key: Some(secret.to_owned()), bearer: Some(format!("Bearer {secret}")) }
}

fn shown(request: &Recorded) -> Shown {
    let header = |name: &str| request.headers.get(name).cloned();
    Shown { key: header("x-api-key"), bearer: header("authorization") }
}

/// Runs it; what it said, and who the API took it for, request by request.
fn identities(world: &World, run: Run) -> (Outcome, Vec<Shown>) {
    let before = world.mock().requests().len();
    let outcome = finish(run);
    let after = world.mock().requests().split_off(before);
    (outcome, after.iter().map(shown).collect())
}

/// A run that must answer, with one request and nothing on stderr.
fn identity(world: &World, run: Run) -> Shown {
    let (outcome, mut seen) = identities(world, run);
    assert_eq!((outcome.code, &*outcome.stderr, seen.len()), (Some(0), "", 1), "{:?}", outcome.lines);
    seen.remove(0)
}
