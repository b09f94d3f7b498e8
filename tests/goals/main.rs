//! Many goals against the built binary: workers, clones, landings, and everything that can go wrong with them.
#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world must fail loudly")]

mod board;
mod faults;
mod landing;
mod mistakes;
mod people;
mod running;
mod takeover;
mod world;
