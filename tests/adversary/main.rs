//! What went wrong for agents in public advisories and issues, as tests: one file a root cause. The names of the
//! tests begin with the letter and number of the case. They are examples of their class; tables beside the code
//! hold more of each.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot set up its world must fail loudly")]

mod argv;
mod files;
mod folders;
mod git;
mod kit;
#[path = "loop.rs"]
mod loop_cases;
#[expect(dead_code, reason = "its proxy serves another suite")]
#[path = "../contract/common/loopback.rs"]
mod loopback;
mod model;
mod network;
mod paths;
mod processes;
mod readers;
mod shell;
mod shown;
mod supply;
mod trust;
