//! Where a session's events leave. A front end brings one; lines are whole, and leave in the order in which they were given.

use futures_util::future::LocalBoxFuture;

pub trait Writer {
    /// Takes whole lines if that needs no waiting, and gives them back if it does.
    fn try_line(&self, line: Vec<u8>) -> Option<Vec<u8>>;

    /// Takes whole lines as soon as there is room. Lines for a reader that left are dropped.
    fn wait_line(&self, line: Vec<u8>) -> LocalBoxFuture<'_, ()>;

    /// Takes one short line from a place that cannot wait.
    fn line_now(&self, line: Vec<u8>);

    /// Whether a person looks at it: text of others must be harmless there.
    fn is_terminal(&self) -> bool;

    /// Resolves once nobody reads any more.
    fn reader_left(&self) -> LocalBoxFuture<'_, ()>;

    /// Waits until everything is written, or the reader is gone or takes too long.
    fn drain(&self) -> LocalBoxFuture<'_, ()>;
}
