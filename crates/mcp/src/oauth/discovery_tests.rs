use super::*;

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

#[test]
fn challenges_in_all_their_shapes() {
    for (header, metadata, scope) in [
        (r#"Bearer resource_metadata="https://a.test/.well-known/x""#, Some("https://a.test/.well-known/x"), None),
        (r#"Bearer realm="a, b", scope="read write", resource_metadata="/m""#, Some("/m"), Some("read write")),
        ("Bearer error=invalid_token, resource_metadata=https://a.test/m", Some("https://a.test/m"), None),
        ("Bearer", None, None),
        (r#"Bearer scope="unfinished"#, None, None),
        (r#"Basic realm="x""#, None, None),
        (r#"Bearer scope="""#, None, None),
    ] {
        let read = read_challenge(header);
        assert_eq!((read.metadata.as_deref(), read.scope.as_deref()), (metadata, scope), "{header}");
    }
}

#[test]
fn documents_are_looked_for_where_the_standards_say() {
    let texts = |urls: Vec<Url>| urls.into_iter().map(String::from).collect::<Vec<_>>();
    assert_eq!(
        texts(well_known(&url("https://a.test:8443/x/mcp?q=1"), RESOURCE)),
        [
            "https://a.test:8443/.well-known/oauth-protected-resource/x/mcp",
            "https://a.test:8443/.well-known/oauth-protected-resource"
        ]
    );
    assert_eq!(
        texts(well_known(&url("https://a.test"), RESOURCE)),
        ["https://a.test/.well-known/oauth-protected-resource"]
    );
    assert_eq!(
        texts(issuer_addresses(&url("https://i.test/tenant/"))),
        [
            "https://i.test/.well-known/oauth-authorization-server/tenant",
            "https://i.test/.well-known/openid-configuration/tenant",
            "https://i.test/tenant/.well-known/openid-configuration",
        ]
    );
}

#[test]
fn nothing_is_sent_in_the_clear_over_a_network() {
    for (address, is_safe) in [
        ("https://a.test/x", true),
        ("http://127.0.0.1:9/x", true),
        ("http://[::1]:9/x", true),
        ("http://localhost:9/x", true),
        ("http://localhost.evil.test/x", false),
        ("http://a.test/x", false),
        ("http://10.0.0.1/x", false),
        ("file:///etc/passwd", false),
        ("javascript:alert(1)", false),
    ] {
        assert_eq!(safe(&url(address)).is_ok(), is_safe, "{address}");
    }
    let error = safe(&url("http://me:pw@a.test/x?key=secret")).unwrap_err().to_string();
    assert!(!error.contains("pw") && !error.contains("secret"), "{error}");
}

#[test]
fn a_token_is_for_this_server_or_not_asked_for() {
    for (resource, fits) in [
        ("https://a.test/mcp", true),
        ("https://a.test", true),
        ("https://a.test/", true),
        ("https://a.test/mc", false),
        ("https://a.test/other", false),
        ("https://b.test/mcp", false),
        ("http://a.test/mcp", false),
        ("", false),
    ] {
        assert_eq!(belongs(resource, &url("https://a.test/mcp")).is_ok(), fits, "{resource}");
    }
}

#[test]
fn metadata_are_judged_before_they_are_used() {
    let issuer = url("https://i.test");
    let good = AuthServer {
        issuer: "https://i.test".into(),
        authorization_endpoint: "https://i.test/a".into(),
        token_endpoint: "https://i.test/t".into(),
        registration_endpoint: None,
        revocation_endpoint: Some("https://i.test/r".into()),
        code_challenge_methods_supported: vec!["plain".into(), "S256".into()],
        token_endpoint_auth_methods_supported: None,
    };
    assert!(judged(good.clone(), &issuer).is_ok());
    let changed = |change: fn(&mut AuthServer)| {
        let mut server = good.clone();
        change(&mut server);
        judged(server, &issuer).unwrap_err()
    };
    assert_eq!(changed(|server| server.code_challenge_methods_supported.clear()), LoginError::NoPkce);
    assert!(matches!(changed(|server| server.token_endpoint = "http://i.test/t".into()), LoginError::Insecure(_)));
    let elsewhere = Some("http://i.test/r".to_owned());
    let server = AuthServer { revocation_endpoint: elsewhere, ..good.clone() };
    assert!(matches!(judged(server, &issuer), Err(LoginError::Insecure(_))));
    assert!(matches!(changed(|server| server.authorization_endpoint = "file:///x".into()), LoginError::Insecure(_)));
    assert!(matches!(changed(|server| server.issuer = "https://evil.test".into()), LoginError::Unclear { .. }));
}
