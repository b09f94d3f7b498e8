//! The loop body.
