//! A session as its operator sees it: what happens in its conversations becomes events, metrics and spans of `telemetry`.
//!
//! A machine's inputs and effects say nearly everything, so [`Observer`] is shown both and keeps only what is open:
//! the interaction, the requests and the calls. What is said beside them (answers with their price, hooks, servers) has a
//! method each. Names, types and gates are those that dashboards know. Deliberately absent: sending and encoding
//! (`telemetry`), and any influence on the session: everything here returns nothing, but for the trace context that
//! requests and commands carry on.
//!
//! Modules stand in the order of their use, lower ones first.

mod edit_facts;
mod head_commit;
mod shell_facts;
mod names;
mod attribution;
mod detailed;
mod state;
mod tool_output;
mod record;
mod detailed_spans;
mod bodies;
mod requests;
mod calls;
mod prompts;
mod hooks;
mod servers;
mod observer;

pub use head_commit::origin;
pub use hooks::HookMeter;
pub use observer::{ManagedSettings, Observer, ReleasedSettings, SessionFacts};
pub use requests::{Aside, Asked};
pub use servers::{PluginSeen, ServerSeen};
