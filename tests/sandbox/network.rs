//! The network: cut, or open to listed hosts through the proxy.

use crate::world::World;
use ralph_sandbox::{Hosts, Network, Request, Sandbox};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, UdpSocket};

fn cut(world: &World, allowed: &[&str]) -> Sandbox {
    let allowed: Vec<String> = allowed.iter().map(|host| (*host).to_owned()).collect();
    let network = Network::Only(Hosts::new(&allowed, &[]).0);
    Sandbox::new(Request { network, ..world.request() }.rules()).unwrap()
}

/// Answers every connection with one small page, for as long as the test runs.
fn page_server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let Ok(mut client) = client else { return };
            let _ = client.read(&mut [0; 4096]);
            let _ = client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\nreached");
        }
    });
    port
}

#[test]
fn nothing_is_reached_directly() {
    let world = World::new();
    let address = format!("127.0.0.1:{}", page_server());
    assert!(world.attempt(None, "connect", &address).ok);
    let off = Sandbox::new(Request { network: Network::Off, ..world.request() }.rules()).unwrap();
    for sandbox in [&off, &cut(&world, &[]), &cut(&world, &["*"])] {
        let said = world.attempt(Some(sandbox), "connect", &address);
        assert!(!said.ok && said.text.contains("refused"), "{}", said.text);
    }
}

#[test]
fn datagrams_and_names_go_nowhere() {
    let world = World::new();
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    server.set_read_timeout(Some(std::time::Duration::from_millis(300))).unwrap();
    let address = server.local_addr().unwrap().to_string();
    assert!(world.attempt(None, "datagram", &address).ok);
    assert!(server.recv(&mut [0; 16]).is_ok(), "the control arrives");
    let sandbox = cut(&world, &["*"]);
    world.attempt(Some(&sandbox), "datagram", &address);
    assert!(server.recv(&mut [0; 16]).is_err(), "nothing of the sandbox arrives");
    // Somewhere else there is not even a route.
    let said = world.attempt(Some(&sandbox), "datagram", "192.0.2.1:53");
    assert!(!said.ok && said.text.contains("refused"), "{}", said.text);
}

/// A tiny HTTP client over the proxy, in the shell's own language where it has one.
fn through_proxy(world: &World, sandbox: &Sandbox, request: &str) -> String {
    let proxy = sandbox.proxy_env();
    let address = proxy.iter().find(|(name, _)| name == "http_proxy").unwrap().1.to_string_lossy().into_owned();
    let about = format!("{}|{request}", address.trim_start_matches("http://"));
    world.attempt(Some(sandbox), "ask-proxy", &about).text
}

#[test]
fn listed_hosts_are_reached_through_the_proxy() {
    let world = World::new();
    let port = page_server();
    let sandbox = cut(&world, &["127.0.0.1", "localhost"]);
    for host in ["127.0.0.1", "localhost"] {
        let plain = through_proxy(&world, &sandbox, &format!("GET http://{host}:{port}/ HTTP/1.1"));
        assert!(plain.contains("reached"), "{host}: {plain}");
    }
    let tunnel = through_proxy(&world, &sandbox, &format!("CONNECT 127.0.0.1:{port} HTTP/1.1"));
    assert!(tunnel.contains("200 Connection established"), "{tunnel}");
}

#[test]
fn adversary_27_28_other_hosts_are_not() {
    let world = World::new();
    let port = page_server();
    for allowed in [&[][..], &["*"], &["docs.python.org"], &["*.example.com"]] {
        let sandbox = cut(&world, allowed);
        for host in
            ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"]
        {
            let said = through_proxy(&world, &sandbox, &format!("GET http://{host}:{port}/ HTTP/1.1"));
            assert!(said.contains("403 Forbidden"), "{allowed:?} {host}: {said}");
        }
    }
}

#[test]
fn commands_share_a_loopback_of_their_own() {
    let world = World::new();
    let sandbox = cut(&world, &[]);
    let said = world.attempt(Some(&sandbox), "own-loopback", "");
    assert!(said.ok, "{}", said.text);
}
