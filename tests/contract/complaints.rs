//! What headless users of the reference complain about, each complaint held down by a test: `c04_25629_…` is
//! complaint 4, issue 25629. `f_…` are further ones, `r_…` bugs that the reference has had and mended.
#![expect(clippy::expect_used, reason = "a test that cannot set up its world must fail loudly")]

mod common;
#[path = "complaints/ending.rs"]
mod ending;
#[path = "complaints/further.rs"]
mod further;
#[path = "complaints/kit.rs"]
mod kit;
#[path = "complaints/login.rs"]
mod login;
#[path = "complaints/machine.rs"]
mod machine;
#[path = "complaints/reading.rs"]
mod reading;
#[path = "complaints/schema.rs"]
mod schema;
#[path = "complaints/truth.rs"]
mod truth;
