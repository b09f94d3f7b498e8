//! Nothing but a list of dependencies: every crate of the workspace depends on this one, and this one on every package
//! from outside.
//!
//! Cargo chooses the features of a package from what is built. Without this crate `-p ralph-tools` and `-p ralph` choose
//! differently, and each switch between them builds 80 packages anew. The test `features` of `ralph` holds it.
