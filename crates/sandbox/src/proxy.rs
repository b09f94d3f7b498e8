//! The one way out of a cut network: to the hosts that are listed, and nowhere else.
//!
//! Listens on the loopback of the commands' own network (the socket was made there) and connects from
//! ours. A name is resolved here, once, and the connection is made to the address that was judged: what
//! the name means a moment later does not matter, and commands need no DNS. Deliberately absent: looking
//! into what is sent (TLS stays TLS), caching, and the user's own proxy.

use crate::Unavailable;
use crate::hosts::Hosts;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// A request's head; browsers send some kilobytes.
const HEAD_MAX: usize = 32 * 1024;
/// To say what is wanted.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// To resolve and reach a host.
const CONNECT_TIME: Duration = Duration::from_secs(30);
/// Connections at once; package managers open some dozens.
const CONNECTIONS_MAX: usize = 256;
/// After a failed accept, so that a full table of descriptors does not become a busy loop.
const PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) struct Proxy {
    port: u16,
    hosts: Arc<Hosts>,
    /// Taken by the first start.
    listener: Mutex<Option<TcpListener>>,
}

impl Proxy {
    pub(crate) fn new(listener: TcpListener, hosts: Hosts) -> Result<Self, Unavailable> {
        let address = listener.local_addr().and_then(|address| listener.set_nonblocking(true).map(|()| address));
        let port = address.map_err(|error| Unavailable(format!("the proxy cannot listen: {error}")))?.port();
        Ok(Self { port, hosts: Arc::new(hosts), listener: Mutex::new(Some(listener)) })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// From the first command on, on the runtime that the command is started on.
    pub(crate) fn start(&self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let taken = self.listener.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(listener) = taken {
            runtime.spawn(serve(listener, Arc::clone(&self.hosts)));
        }
    }
}

async fn serve(listener: TcpListener, hosts: Arc<Hosts>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((client, _)) => {
                let hosts = Arc::clone(&hosts);
                tokio::spawn(async move {
                    // A connection that breaks is the business of its two ends.
                    let _ = carry(client, &hosts).await;
                    drop(place);
                });
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

async fn carry(mut client: TcpStream, hosts: &Hosts) -> std::io::Result<()> {
    let asked = match timeout(HEAD_TIME, read_head(&mut client)).await {
        Ok(Ok(head)) => Asked::parse(&head),
        Ok(Err(error)) => return Err(error),
        Err(_) => return Ok(()),
    };
    let Some(asked) = asked else {
        return refuse(&mut client, "400 Bad Request", "this is no proxy request").await;
    };
    let Some(mut server) = timeout(CONNECT_TIME, reach(&asked, hosts)).await.ok().flatten() else {
        let why = format!("{} is not among the hosts that the sandbox lets be reached, or is not there", asked.host);
        return refuse(&mut client, "403 Forbidden", &why).await;
    };
    if asked.is_tunnel {
        client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
    }
    server.write_all(&asked.onward).await?;
    copy_bidirectional(&mut client, &mut server).await.map(drop)
}

async fn refuse(client: &mut TcpStream, status: &str, why: &str) -> std::io::Result<()> {
    let length = why.len() + 1;
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n");
    client.write_all(format!("{head}\r\n{why}\n").as_bytes()).await?;
    client.shutdown().await
}

/// The judged host at a judged address, or nothing.
async fn reach(asked: &Asked, hosts: &Hosts) -> Option<TcpStream> {
    if !hosts.allows(&asked.host) {
        return None;
    }
    let bare = asked.host.trim_start_matches('[').trim_end_matches(']');
    let found: Vec<SocketAddr> = tokio::net::lookup_host((bare, asked.port)).await.ok()?.collect();
    for address in found.into_iter().filter(|address| hosts.allows_address(&asked.host, address.ip())) {
        if let Ok(server) = TcpStream::connect(address).await {
            return Some(server);
        }
    }
    None
}

/// Everything up to the empty line, and what came with it.
async fn read_head(client: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut chunk = [0; 4096];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = client.read(&mut chunk).await?;
        if read == 0 || head.len() + read > HEAD_MAX {
            return Err(std::io::ErrorKind::InvalidData.into());
        }
        head.extend_from_slice(&chunk[..read]);
    }
    Ok(head)
}

/// What a client wants.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    host: String,
    port: u16,
    is_tunnel: bool,
    /// What the server is sent first.
    onward: Vec<u8>,
}

impl Asked {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let end = bytes.windows(4).position(|end| end == b"\r\n\r\n")?;
        let (head, rest) = (std::str::from_utf8(&bytes[..end]).ok()?, &bytes[end + 4..]);
        let (line, headers) = head.split_once("\r\n").unwrap_or((head, ""));
        let mut words = line.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if words.next().is_some() || !version.starts_with("HTTP/1.") {
            return None;
        }
        if method == "CONNECT" {
            let (host, port) = split_port(target)?;
            return Some(Self { host: host.into(), port: port?, is_tunnel: true, onward: rest.to_vec() });
        }
        let (authority, path) = split_address(target)?;
        let (host, port) = split_port(authority)?;
        let mut onward = format!("{method} {path} {version}\r\nHost: {authority}\r\n");
        // One request a connection: the next could be for another host.
        for header in headers.split("\r\n").filter(|header| passes(header)) {
            onward.push_str(header);
            onward.push_str("\r\n");
        }
        onward.push_str("Connection: close\r\n\r\n");
        let onward = [onward.as_bytes(), rest].concat();
        Some(Self { host: host.into(), port: port.unwrap_or(80), is_tunnel: false, onward })
    }
}

/// Host and path of `http://host[:port][/path]`. A host with a name before it is no host.
fn split_address(target: &str) -> Option<(&str, String)> {
    let rest = target.strip_prefix("http://")?;
    let at = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(at);
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    (!authority.contains('@')).then_some((authority, path))
}

/// A port that is written but is none makes the whole no address.
fn split_port(authority: &str) -> Option<(&str, Option<u16>)> {
    let after = authority.rfind(']').map_or(0, |at| at + 1);
    match authority[after..].rfind(':') {
        Some(at) => {
            let (host, port) = authority.split_at(after + at);
            let digits = &port[1..];
            let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            let port = plain.then(|| digits.parse::<u16>().ok()).flatten().filter(|port| *port > 0)?;
            Some((host, Some(port)))
        }
        None => Some((authority, None)),
    }
}

/// Headers about this connection end here; the host is said anew.
fn passes(header: &str) -> bool {
    let name = header.split(':').next().unwrap_or_default().trim();
    let ours = ["host", "connection", "keep-alive", "proxy-connection", "proxy-authorization", "upgrade"];
    !name.is_empty() && !ours.iter().any(|other| name.eq_ignore_ascii_case(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Option<Asked> {
        Asked::parse(text.as_bytes())
    }

    #[test]
    fn tunnels_and_plain_requests_are_understood() {
        let tunnel = parse("CONNECT a.test:443 HTTP/1.1\r\nHost: b.test\r\n\r\nhello").unwrap();
        assert_eq!((tunnel.host.as_str(), tunnel.port, tunnel.is_tunnel), ("a.test", 443, true));
        assert_eq!(tunnel.onward, b"hello");
        let six = parse("CONNECT [::1]:80 HTTP/1.1\r\n\r\n").unwrap();
        assert_eq!((six.host.as_str(), six.port), ("[::1]", 80));
        let plain = parse(
            "GET http://a.test:81/x?y HTTP/1.1\r\nHost: evil.test\r\nAccept: */*\r\nConnection: keep-alive\r\n\r\n",
        );
        let onward = String::from_utf8(plain.unwrap().onward).unwrap();
        assert_eq!(onward, "GET /x?y HTTP/1.1\r\nHost: a.test:81\r\nAccept: */*\r\nConnection: close\r\n\r\n");
        assert_eq!(parse("GET http://a.test HTTP/1.1\r\n\r\n").unwrap().port, 80);
        assert!(
            String::from_utf8(parse("GET http://a.test?q HTTP/1.1\r\n\r\n").unwrap().onward)
                .unwrap()
                .starts_with("GET /?q ")
        );
    }

    #[test]
    fn adversary_28_what_could_be_read_two_ways_is_not_read() {
        for text in [
            "",
            "GET / HTTP/1.1\r\n\r\n",
            "CONNECT a.test HTTP/1.1\r\n\r\n",
            "CONNECT a.test:0 HTTP/1.1\r\n\r\n",
            "CONNECT a.test:99999 HTTP/1.1\r\n\r\n",
            "CONNECT a.test:+80 HTTP/1.1\r\n\r\n",
            "CONNECT a.test:443 evil HTTP/1.1\r\n\r\n",
            "GET http://user@a.test/ HTTP/1.1\r\n\r\n",
            "GET https://a.test/ HTTP/1.1\r\n\r\n",
            "GET http://a.test/ HTTP/2\r\n\r\n",
            "GET http://a.test/ HTTP/1.1\r\nno end",
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
        // Understood as a host, and then matching none.
        for target in ["a.test#.evil.test:443", "a.test\\.evil.test:443", "a.test%2eevil.test:443"] {
            let asked = parse(&format!("CONNECT {target} HTTP/1.1\r\n\r\n")).unwrap();
            let (hosts, _) = Hosts::new(&["a.test".into(), "*.evil.test".into()], &[]);
            assert!(!hosts.allows(&asked.host), "{target}");
        }
    }
}
