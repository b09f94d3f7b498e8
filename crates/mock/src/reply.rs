//! An answer as it goes over the wire.

use std::time::Duration;

/// An answer, ready to be written.
#[derive(Debug, PartialEq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) framing: Framing,
    pub(crate) end: End,
    pub(crate) delay: Duration,
    /// Size of the pieces and the pause between them.
    pub(crate) chunks: Option<(usize, Duration)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    Length(usize),
    Chunked,
}

/// What happens after the last byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Finish,
    /// The connection closes in the middle of the answer.
    Cut,
    /// The connection is thrown away, and what the client has not read yet with it.
    Reset,
    /// The connection stays open and silent until the client leaves.
    Stall,
}
