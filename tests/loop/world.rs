//! The binary under test in a folder with a loop.

use crate::common::binary;
use testkit::{Run, World, looping};

pub use looping::{PROMISE, agent, called, folder, heard, of, outcomes, told, trust, verdict, with_model};

pub fn ralph(world: &World, words: &[&str]) -> Run {
    looping::ralph(&binary(), world, words)
}

pub fn looped(world: &World, script: &str, words: &[&str]) -> Run {
    looping::looped(&binary(), world, script, words)
}
