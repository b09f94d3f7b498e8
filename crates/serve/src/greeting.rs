//! What a server is called by, and what it says when it begins.

use crate::command_line::{ListenAt, ServeArguments};
use crate::guard::{GuardConfig, Tokens};
use crate::listen::Listener;
use std::net::IpAddr;

/// Names that browsers and programs call us by.
pub fn guard_config(wanted: &ServeArguments, listener: &Listener, tokens: Option<Tokens>) -> GuardConfig {
    let port = listener.port();
    let with_port = |name: &str| port.map_or_else(|| name.to_owned(), |port| format!("{name}:{port}"));
    let mut hosts: Vec<String> = ["localhost", "127.0.0.1", "[::1]"].map(with_port).to_vec();
    if let ListenAt::Address(address) = wanted.listen
        && !address.ip().is_unspecified()
    {
        hosts.push(with_port(&bracketed(address.ip())));
    }
    for name in &wanted.hosts {
        hosts.push(name.to_ascii_lowercase());
        if !name.trim_start_matches('[').contains(':') || name.ends_with(']') {
            hosts.push(with_port(&name.to_ascii_lowercase()));
        }
    }
    GuardConfig { hosts, cookie: format!("ralph-{}", port.unwrap_or(0)), tokens }
}

fn bracketed(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

/// What a person needs to go on, the link first: scripts read the first line.
pub fn greeting(wanted: &ServeArguments, listener: &Listener, guard: &GuardConfig) -> String {
    let address = match (&wanted.listen, listener.port()) {
        (ListenAt::Address(address), Some(port)) => {
            let ip = if address.ip().is_unspecified() { "127.0.0.1".to_owned() } else { bracketed(address.ip()) };
            format!("http://{ip}:{port}/")
        }
        (ListenAt::Socket(path), _) => format!("unix:{}", path.display()),
        (ListenAt::Address(address), None) => format!("http://{address}/"),
    };
    let mut text = match &guard.tokens {
        Some(tokens) => format!(
            "{address}#token={}\nRead only: {address}#token={}\nPrograms send 'Authorization: Bearer TOKEN'. Ctrl-C ends the server; runs go on.\n",
            tokens.full, tokens.read
        ),
        None => format!("{address}\nCtrl-C ends the server; runs go on.\n"),
    };
    if wanted.is_beyond_loopback() {
        text.push_str("Others can reach this address, and everything on the way is readable: it is plain http. Put a proxy with TLS before it.\n");
    }
    text
}
