//! `ralph acp` and ACP agents in the loop, from outside.
