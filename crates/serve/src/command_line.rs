//! What was typed after `ralph serve`, as values.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// Where the page is, unless somebody says otherwise.
const PORT: u16 = 4747;
/// More readers than any machine has.
const STREAMS_MAX: usize = 100_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenAt {
    Address(SocketAddr),
    Socket(PathBuf),
}

#[derive(Debug, PartialEq, Eq)]
pub struct ServeArguments {
    pub folders: Vec<PathBuf>,
    pub listen: ListenAt,
    pub hosts: Vec<String>,
    pub token_folder: Option<PathBuf>,
    pub new_token: bool,
    pub no_token: bool,
    pub allow_exec: bool,
    pub streams: usize,
}

impl ServeArguments {
    pub fn is_beyond_loopback(&self) -> bool {
        matches!(self.listen, ListenAt::Address(address) if !address.ip().is_loopback())
    }
}

/// A mistake in what was typed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServeUsageError {
    #[error("option '{0}' needs a value. 'ralph serve --help' explains it.")]
    MissingValue(String),
    #[error("option '{0}' takes no value.")]
    UnwantedValue(String),
    #[error("unknown option '{0}'. 'ralph serve --help' lists them.")]
    Unknown(String),
    #[error("--no-token is for Unix sockets: every program and page of this machine can reach an address.")]
    NoToken,
    #[error("an address that others can reach needs the name that they call it by: --host NAME.")]
    NoHost,
    #[error("'{0}' is no address with a port and no path of a socket. Example: 127.0.0.1:4747.")]
    Address(String),
    #[error(
        "--host is a name as browsers send it, with a port or without, and not '{0}'. Example: ralph.example.com:8080."
    )]
    Host(String),
    #[error("--streams is a number from 1 to {STREAMS_MAX}, not '{0}'.")]
    Streams(String),
}

pub fn parse(words: &[String]) -> Result<ServeArguments, ServeUsageError> {
    let mut wanted = ServeArguments {
        folders: Vec::new(),
        listen: ListenAt::Address(SocketAddr::from((Ipv4Addr::LOCALHOST, PORT))),
        hosts: Vec::new(),
        token_folder: None,
        new_token: false,
        no_token: false,
        allow_exec: false,
        streams: crate::STREAMS,
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let (flag, inline) = match word.split_once('=') {
            Some((flag, value)) if word.starts_with('-') => (flag, Some(value.to_owned())),
            _ => (word.as_str(), None),
        };
        let mut value = || {
            let given = inline.clone().or_else(|| words.next().cloned()).filter(|value| !value.is_empty());
            given.ok_or_else(|| ServeUsageError::MissingValue(flag.to_owned()))
        };
        match flag {
            "--listen" => wanted.listen = listen_at(&value()?)?,
            "--host" => wanted.hosts.push(host(value()?)?),
            "--token-folder" => wanted.token_folder = Some(value()?.into()),
            "--streams" => wanted.streams = streams(&value()?)?,
            "--new-token" | "--no-token" | "--allow-exec" if inline.is_some() => {
                return Err(ServeUsageError::UnwantedValue(flag.to_owned()));
            }
            "--new-token" => wanted.new_token = true,
            "--no-token" => wanted.no_token = true,
            "--allow-exec" => wanted.allow_exec = true,
            _ if flag.starts_with('-') => {
                return Err(ServeUsageError::Unknown(flag.to_owned()));
            }
            folder => wanted.folders.push(folder.into()),
        }
    }
    checked(wanted)
}

/// Nobody is let in by an oversight.
fn checked(wanted: ServeArguments) -> Result<ServeArguments, ServeUsageError> {
    if wanted.no_token && !matches!(wanted.listen, ListenAt::Socket(_)) {
        return Err(ServeUsageError::NoToken);
    }
    if wanted.is_beyond_loopback() && wanted.hosts.is_empty() {
        return Err(ServeUsageError::NoHost);
    }
    Ok(wanted)
}

fn listen_at(text: &str) -> Result<ListenAt, ServeUsageError> {
    if let Some(path) = text.strip_prefix("unix:") {
        return Ok(ListenAt::Socket(path.into()));
    }
    if let Ok(port) = text.parse::<u16>() {
        return Ok(ListenAt::Address(SocketAddr::from((Ipv4Addr::LOCALHOST, port))));
    }
    if let Some(port) = text.strip_prefix("localhost:").and_then(|port| port.parse::<u16>().ok()) {
        return Ok(ListenAt::Address(SocketAddr::from((Ipv4Addr::LOCALHOST, port))));
    }
    match text.parse::<SocketAddr>() {
        Ok(address) => Ok(ListenAt::Address(address)),
        Err(_) if text.contains('/') => Ok(ListenAt::Socket(text.into())),
        Err(_) => Err(ServeUsageError::Address(text.to_owned())),
    }
}

/// A name that no browser can send would let nobody in, without a word.
fn host(text: String) -> Result<String, ServeUsageError> {
    let is_plain = text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-._:[]".contains(letter));
    if is_plain { Ok(text) } else { Err(ServeUsageError::Host(text)) }
}

fn streams(text: &str) -> Result<usize, ServeUsageError> {
    let number = text.parse::<usize>().ok().filter(|number| (1..=STREAMS_MAX).contains(number));
    number.ok_or_else(|| ServeUsageError::Streams(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> Result<ServeArguments, ServeUsageError> {
        parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn addresses_ports_and_sockets_are_understood() {
        for (text, expected) in [
            ("8080", "127.0.0.1:8080"),
            ("127.0.0.1:0", "127.0.0.1:0"),
            ("localhost:90", "127.0.0.1:90"),
            ("[::1]:90", "[::1]:90"),
        ] {
            assert_eq!(of(&["--listen", text]).unwrap().listen, ListenAt::Address(expected.parse().unwrap()), "{text}");
        }
        for text in ["unix:a.sock", "./a.sock", "/run/a.sock"] {
            assert!(matches!(of(&[&format!("--listen={text}")]).unwrap().listen, ListenAt::Socket(_)), "{text}");
        }
        for text in ["", "nowhere", "127.0.0.1", "1.2.3.4:99999"] {
            assert!(of(&["--listen", text]).is_err(), "{text}");
        }
    }

    #[test]
    fn what_would_let_others_in_must_be_said_in_full() {
        assert!(of(&["--no-token"]).is_err());
        assert!(of(&["--no-token", "--listen", "unix:/x"]).is_ok());
        assert!(of(&["--listen", "0.0.0.0:1"]).is_err());
        assert!(of(&["--listen", "0.0.0.0:1", "--host", "build"]).unwrap().is_beyond_loopback());
        assert!(!of(&[]).unwrap().is_beyond_loopback());
        for wrong in [
            &["--nonsense"][..],
            &["--host"],
            &["--host", "a b"],
            &["--host", "http://x"],
            &["--streams", "0"],
            &["--allow-exec=yes"],
        ] {
            assert!(of(wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(of(&["a", "b"]).unwrap().folders.len(), 2);
    }
}
