//! How long a session waits for a server that is still connecting before it goes on without it. Pure.
//!
//! A server that is ready later is there from the next request on. Deliberately absent: how long a server may take to
//! connect at all ([`crate::Deps::start_timeout`]).

use crate::config::{ServerConfig, Transport};
use std::time::Duration;

/// Counted from the server's start. A server that somebody named for this very session (on the command line, at run time, in
/// an agent's definition) is waited for as long as it may take to connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartWaits {
    /// For a server of the user, the folder or a plugin.
    pub usual: Duration,
    /// For one whose entry has `alwaysLoad`.
    pub always_load: Duration,
}

/// Scopes of servers that were named for this session.
const NAMED: [&str; 2] = ["dynamic", "agent"];

/// How long requests wait for this server.
pub(crate) fn wait_for(config: &ServerConfig, waits: StartWaits, start_timeout: Duration) -> Duration {
    let is_named = config.transport == Transport::Sdk || NAMED.contains(&config.scope.as_str());
    let wait = match config.always_load {
        _ if is_named => start_timeout,
        true => waits.always_load.max(waits.usual),
        false => waits.usual,
    };
    wait.min(start_timeout)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn who_named_a_server_decides_how_long_it_is_waited_for() {
        let seconds = Duration::from_secs;
        let waits = StartWaits { usual: seconds(2), always_load: seconds(5) };
        let plain = json!({"command": "x"});
        for (entry, scope, expected) in [
            (plain.clone(), "user", 2),
            (plain.clone(), "local", 2),
            (plain.clone(), "project", 2),
            (plain.clone(), "plugin", 2),
            (plain.clone(), "dynamic", 30),
            (plain.clone(), "agent", 30),
            (json!({"type": "sdk"}), "user", 30),
            (json!({"command": "x", "alwaysLoad": true}), "user", 5),
            (json!({"command": "x", "alwaysLoad": true}), "dynamic", 30),
        ] {
            let (servers, _) = crate::config::parse(&json!({"s": entry}), scope, &|_| None);
            assert_eq!(wait_for(&servers[0], waits, seconds(30)), seconds(expected), "{scope} {entry}");
            assert_eq!(wait_for(&servers[0], waits, seconds(1)), seconds(1), "a server's own limit is the most");
        }
        let none = StartWaits { usual: Duration::ZERO, always_load: seconds(5) };
        let (servers, _) = crate::config::parse(&json!({"s": plain}), "user", &|_| None);
        assert_eq!(wait_for(&servers[0], none, seconds(30)), Duration::ZERO);
    }
}
