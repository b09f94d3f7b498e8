use super::*;
use crate::config::ProxyEnv;
use crate::test_server::{ANSWER, Answer, Server, request, response, stream};

fn header<'a>(request: &'a str, name: &str) -> Option<&'a str> {
    let head = request.split("\r\n\r\n").next().unwrap();
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

/// The one request that a client so configured sends.
async fn sent(change: impl FnOnce(&mut ClientConfig), request: &Request) -> String {
    let server = Server::start([Answer::Close(stream(ANSWER))]);
    let mut config = server.config();
    change(&mut config);
    Client::new(config).unwrap().ask_once(request).await.unwrap();
    server.requests().remove(0)
}

#[tokio::test]
async fn the_request_on_the_wire() {
    let sent = sent(|config| config.base_url += "/gateway/", &request()).await;
    assert!(sent.starts_with("POST /gateway/v1/messages HTTP/1.1\r\n"), "{sent}");
    for (name, value) in [
        ("x-api-key", Some("sk-ant-secret-key")),
        ("authorization", None),
        ("anthropic-version", Some("2023-06-01")),
        ("anthropic-beta", None),
        ("content-type", Some("application/json")),
        ("user-agent", Some(concat!("ralph/", env!("CARGO_PKG_VERSION")))),
        ("accept-encoding", None),
    ] {
        assert_eq!(header(&sent, name), value, "{name}");
    }
    let body: Value = serde_json::from_str(sent.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    assert_eq!((&body["model"], &body["stream"]), (&"m".into(), &true.into()));
}

#[tokio::test]
async fn each_credential_in_its_header() {
    let secret = || Secret::new(" tok \n");
    for (auth, key, bearer, beta) in [
        (Auth::ApiKey(secret()), Some("tok"), None, None),
        (Auth::Bearer(secret()), None, Some("Bearer tok"), None),
        (Auth::Both(secret()), Some("tok"), Some("Bearer tok"), None),
        (Auth::OAuth(secret()), None, Some("Bearer tok"), Some(OAUTH_BETA)),
        (Auth::TokenAndKey { token: secret(), key: Secret::new("k") }, Some("k"), Some("Bearer tok"), None),
        (Auth::None, None, None, None),
    ] {
        let sent = sent(|config| config.auth = auth.clone(), &request()).await;
        assert_eq!(header(&sent, "x-api-key"), key, "{auth:?}");
        assert_eq!(header(&sent, "authorization"), bearer, "{auth:?}");
        assert_eq!(header(&sent, "anthropic-beta"), beta, "{auth:?}");
    }
}

#[tokio::test]
async fn custom_headers_win_and_betas_are_joined() {
    let custom = [("X-Api-Key", "mine"), ("x-team", "a"), ("Anthropic-Beta", "b1, b2"), ("user-agent", "me")];
    let custom = custom.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let request = Request { betas: vec!["b2".into(), "b3".into()], task_budget: Some(1), ..request() };
    let sent = sent(|config| config.custom_headers = custom, &request).await;
    assert_eq!(header(&sent, "x-api-key"), Some("mine"));
    assert_eq!(header(&sent, "x-team"), Some("a"));
    assert_eq!(header(&sent, "user-agent"), Some("me"));
    assert_eq!(header(&sent, "anthropic-beta"), Some("b2,b3,task-budgets-2026-03-13,b1"));
}

#[test]
fn what_no_request_can_be_sent_with_is_refused() {
    let new = |change: fn(&mut ClientConfig)| {
        let mut config = ClientConfig::new("http://h", Auth::None);
        change(&mut config);
        Client::new(config).err()
    };
    assert_eq!(new(|_| {}), None);
    for url in ["", "nonsense", "ftp://h", "file:///x"] {
        let refused = Client::new(ClientConfig::new(url, Auth::None)).err();
        assert!(matches!(refused, Some(ClientError::BaseUrl(_))), "{url}");
    }
    let bad_header = new(|config| config.custom_headers.push(("a b".into(), "v".into())));
    assert_eq!(bad_header, Some(ClientError::CustomHeader("a b".into())));
    let bad_proxy = new(|config| config.proxy.http = Some("http://[".into()));
    assert_eq!(bad_proxy, Some(ClientError::Proxy));
}

#[tokio::test]
async fn a_credential_that_cannot_be_sent_is_told_without_showing_it() {
    let client = Client::new(ClientConfig::new("http://h", Auth::ApiKey(Secret::new("long\nsecret")))).unwrap();
    let failure = client.ask_once(&request()).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Setup);
    assert!(failure.message.contains("credential") && !failure.message.contains("secret"), "{failure}");
}

#[tokio::test]
async fn tokens_are_counted() {
    let ok = response(200, "content-type: application/json\r\n", r#"{"input_tokens":42}"#);
    let server = Server::start([Answer::Close(ok), Answer::Close(response(200, "", "hm"))]);
    let client = server.client();
    assert_eq!(client.count_tokens(&request()).await.unwrap(), 42);
    assert!(server.requests()[0].starts_with("POST /v1/messages/count_tokens HTTP/1.1\r\n"));
    assert!(client.count_tokens(&request()).await.unwrap_err().message.contains("hm"));
}

#[tokio::test]
async fn a_new_credential_is_used_from_then_on() {
    let refused = response(401, "", r#"{"error":{"type":"authentication_error","message":"expired"}}"#);
    let server = Server::start([Answer::Close(refused), Answer::Close(stream(ANSWER))]);
    let mut client = server.client();
    assert_eq!(client.ask_once(&request()).await.unwrap_err().category, "authentication_failed");
    client.set_auth(Auth::Bearer(Secret::new("fresh")));
    client.ask_once(&request()).await.unwrap();
    assert_eq!(header(&server.requests()[1], "authorization"), Some("Bearer fresh"));
}

#[tokio::test]
async fn proxies_are_used_and_passed_by() {
    let proxy = Server::start([Answer::Close(stream(ANSWER))]);
    let through = |proxy: &Server, no_proxy: &str| ClientConfig {
        base_url: "http://api.invalid".into(),
        proxy: ProxyEnv {
            http: Some(proxy.url.replace("http://", "http://me:pass%20word@")),
            https: None,
            no_proxy: Some(no_proxy.into()),
        },
        max_retries: 0,
        ..proxy.config()
    };
    Client::new(through(&proxy, "other.test")).unwrap().ask_once(&request()).await.unwrap();
    let seen = proxy.requests().remove(0);
    assert!(seen.starts_with("POST http://api.invalid/v1/messages HTTP/1.1\r\n"), "{seen}");
    assert_eq!(header(&seen, "proxy-authorization"), Some("Basic bWU6cGFzcyB3b3Jk"));

    let target = Server::start([Answer::Close(stream(ANSWER))]);
    let config = ClientConfig { base_url: target.url.clone(), ..through(&proxy, "other.test 127.0.0.1") };
    Client::new(config).unwrap().ask_once(&request()).await.unwrap();
    assert_eq!((proxy.requests().len(), target.requests().len()), (1, 1));
}

#[tokio::test]
async fn an_untrusted_certificate_is_never_retried_and_a_ca_file_mends_it() {
    let server = Server::start_tls(vec![Answer::Close(stream(ANSWER)); 3]);
    let missing = std::path::PathBuf::from("no/such/ca.pem");
    let config = ClientConfig { extra_ca_files: vec![missing.clone()], ..server.config() };
    let failure = Client::new(config).unwrap().ask_once(&request()).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::TlsVerify, "{failure}");
    assert!(failure.message.contains("no/such/ca.pem"), "{failure}");
    assert_eq!(server.seen.lock().unwrap().connections, 1);

    let ca = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/ca.pem");
    let config = ClientConfig { extra_ca_files: vec![missing, ca], ..server.config() };
    assert_eq!(Client::new(config).unwrap().ask_once(&request()).await.unwrap().blocks.len(), 2);
}
