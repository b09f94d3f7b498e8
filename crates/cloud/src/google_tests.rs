use super::*;
use crate::fake_world::FakeEnvironment;
use futures_util::FutureExt as _;

const KEY: &str = include_str!("../testdata/test-only.pem");
const ADC: &str = "/home/u/.config/gcloud/application_default_credentials.json";
const TOKEN: &str = r#"{"access_token":"ya29","expires_in":3600}"#;

fn found(world: &FakeEnvironment, refresh: Option<&str>) -> Result<GoogleToken, CredentialError> {
    find(world, refresh).now_or_never().expect("a played world answers at once")
}

fn form(world: &FakeEnvironment, at: usize) -> Vec<(String, String)> {
    let body = String::from_utf8(world.requests.lock().unwrap()[at].body.clone()).unwrap();
    body.split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[test]
fn a_service_account_signs_its_request() {
    let file = json!({"type": "service_account", "client_email": "bot@p", "private_key": KEY, "project_id": "p1", "token_uri": "https://evil.test/"});
    let world = FakeEnvironment::new(&[("GOOGLE_APPLICATION_CREDENTIALS", "/sa.json")])
        .file("/sa.json", file.to_string())
        .answers(|_| Some((200, TOKEN.to_owned())));
    let token = found(&world, None).unwrap();
    assert_eq!((token.token.as_str(), token.expires), ("ya29", Some("2026-11-15T13:00:00Z".parse().unwrap())));
    assert_eq!(world.log(), ["POST https://oauth2.googleapis.com/token"], "the file's address is not followed");
    assert_eq!(form(&world, 0)[0].1, "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer");
    assert_eq!(form(&world, 0)[1].1.split('.').count(), 3);
    assert_eq!(credential_file(&world).unwrap().unwrap().project().as_deref(), Some("p1"));
}

#[test]
fn a_user_brings_the_project_that_pays() {
    let file = json!({"type": "authorized_user", "refresh_token": "r", "client_id": "c", "client_secret": "s", "quota_project_id": "q"});
    let world = FakeEnvironment::new(&[]).file(ADC, file.to_string()).answers(|_| Some((200, TOKEN.to_owned())));
    assert_eq!(found(&world, None).unwrap().quota_project.as_deref(), Some("q"));
    let names: Vec<String> = form(&world, 0).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["grant_type", "refresh_token", "client_id", "client_secret"]);
}

#[test]
fn other_identities_are_exchanged_and_impersonate() {
    let file = json!({
        "type": "external_account", "audience": "//iam/x", "subject_token_type": "jwt", "token_url": "https://sts.googleapis.com/v1/token",
        "service_account_impersonation_url": "https://iam.test/sa:generateAccessToken",
        "credential_source": {"file": "/oidc", "format": {"type": "json", "subject_token_field_name": "id"}},
    });
    let world =
        FakeEnvironment::new(&[]).file(ADC, file.to_string()).file("/oidc", r#"{"id":"subject"}"#).answers(|request| {
            let is_impersonation = request.url.contains("iam.test");
            let body =
                if is_impersonation { r#"{"accessToken":"sa","expireTime":"2026-11-15T12:30:00Z"}"# } else { TOKEN };
            Some((200, body.to_owned()))
        });
    let token = found(&world, None).unwrap();
    assert_eq!((token.token.as_str(), token.expires), ("sa", Some("2026-11-15T12:30:00Z".parse().unwrap())));
    assert!(form(&world, 0).contains(&("subject_token".into(), "subject".into())));
    let sent = world.requests.lock().unwrap()[1].clone();
    assert!(sent.headers.contains(&("authorization".into(), "Bearer ya29".into())));
}

#[test]
fn a_command_in_the_file_needs_its_permission() {
    let file = json!({
        "type": "external_account", "audience": "a", "subject_token_type": "jwt", "token_url": "https://sts.test/",
        "credential_source": {"executable": {"command": "give-token"}},
    });
    let answer = r#"{"success":true,"id_token":"subject"}"#;
    let world = |variables: &[(&str, &str)]| {
        FakeEnvironment::new(variables)
            .file(ADC, file.to_string())
            .command("give-token", &[Ok(answer)])
            .answers(|_| Some((200, TOKEN.to_owned())))
    };
    let refused = world(&[]);
    let error = found(&refused, None).unwrap_err().to_string();
    assert!(
        error.starts_with("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES is not 1") && refused.log().is_empty(),
        "{error}"
    );
    let allowed = world(&[("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES", "1")]);
    assert_eq!(found(&allowed, None).unwrap().token, "ya29");
}

#[test]
fn the_metadata_server_is_the_last_resort() {
    let world =
        FakeEnvironment::new(&[("GCE_METADATA_HOST", "127.0.0.1:1")]).answers(|_| Some((200, TOKEN.to_owned())));
    assert_eq!(found(&world, None).unwrap().token, "ya29");
    assert!(
        world.log()[0]
            .starts_with("GET http://127.0.0.1:1/computeMetadata/v1/instance/service-accounts/default/token?scopes=")
    );
    let nothing = FakeEnvironment::new(&[("NO_GCE_CHECK", "true")]);
    assert!(found(&nothing, None).unwrap_err().to_string().starts_with("no Google credentials found"));
}

#[test]
fn a_refresh_command_runs_where_nothing_else_works() {
    let file = json!({"type": "authorized_user", "refresh_token": "r", "client_id": "c", "client_secret": "s"});
    let tries = std::sync::atomic::AtomicUsize::new(0);
    let world = FakeEnvironment::new(&[]).file(ADC, file.to_string()).command("gcloud", &[Ok("")]).answers(move |_| {
        let is_first = tries.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0;
        Some(if is_first {
            (400, r#"{"error":"invalid_grant","error_description":"gone"}"#.to_owned())
        } else {
            (200, TOKEN.to_owned())
        })
    });
    assert_eq!(found(&world, Some("gcloud auth")).unwrap().token, "ya29");
    assert_eq!(world.log().len(), 3);
}

#[test]
fn what_is_wrong_with_a_file_is_said() {
    let said = |world: &FakeEnvironment| found(world, None).unwrap_err().to_string();
    let named = [("GOOGLE_APPLICATION_CREDENTIALS", "/sa.json")];
    assert_eq!(
        said(&FakeEnvironment::new(&named)),
        "/sa.json cannot be used: it does not exist (GOOGLE_APPLICATION_CREDENTIALS names it)"
    );
    assert!(
        said(&FakeEnvironment::new(&named).file("/sa.json", "{"))
            .starts_with("/sa.json cannot be used: it is not JSON")
    );
    assert_eq!(
        said(&FakeEnvironment::new(&named).file("/sa.json", "{}")),
        "/sa.json cannot be used: it names no type of credential"
    );
    let no_key = FakeEnvironment::new(&named).file("/sa.json", r#"{"type":"service_account","client_email":"a"}"#);
    assert_eq!(said(&no_key), "/sa.json cannot be used: it has no private_key");
}

#[test]
fn tokens_are_sent_to_no_plain_address() {
    let plain = "http://sts.example.test/token";
    let external = |token_url: &str, acting: &str| {
        json!({
            "type": "external_account", "audience": "a", "subject_token_type": "jwt", "token_url": token_url,
            "service_account_impersonation_url": acting, "credential_source": {"file": "/oidc"},
        })
    };
    let source = json!({"type": "authorized_user", "refresh_token": "r", "client_id": "c", "client_secret": "s"});
    let acting = json!({"type": "impersonated_service_account", "service_account_impersonation_url": plain, "source_credentials": source});
    for (file, name) in [
        (external(plain, "https://iam.test/"), "token_url"),
        (external("https://sts.test/", plain), "service_account_impersonation_url"),
        (external("http://127.0.0.1:1@example.test/", "https://iam.test/"), "token_url"),
        (acting, "service_account_impersonation_url"),
    ] {
        let world = FakeEnvironment::new(&[])
            .file(ADC, file.to_string())
            .file("/oidc", "subject")
            .answers(|_| Some((200, TOKEN.to_owned())));
        let said = found(&world, None).unwrap_err().to_string();
        assert!(said.contains(ADC) && said.contains(name), "{said}");
        assert!(world.log().is_empty(), "{:?}", world.log());
    }
    let user = json!({"type": "authorized_user", "refresh_token": "r", "client_id": "c", "client_secret": "s",
        "token_uri": "http://127.0.0.1:1@example.test/token"});
    let world = FakeEnvironment::new(&[]).file(ADC, user.to_string()).answers(|_| Some((200, TOKEN.to_owned())));
    assert!(found(&world, None).is_ok());
    assert_eq!(world.log(), ["POST https://oauth2.googleapis.com/token"], "that is not this machine");
}

#[test]
fn credentials_that_only_gcloud_knows_are_gclouds() {
    let file = json!({"type": "external_account_authorized_user"});
    let world = FakeEnvironment::new(&[]).file(ADC, file.to_string()).command("gcloud", &[Ok("ya29.x\n")]);
    let token = found(&world, None).unwrap();
    assert_eq!((token.token.as_str(), token.expires), ("ya29.x", "2026-11-15T12:15:00Z".parse().ok()));
    let said = found(&FakeEnvironment::new(&[]).file(ADC, file.to_string()), None).unwrap_err().to_string();
    assert!(said.contains("external_account_authorized_user") && said.contains("gcloud auth"), "{said}");
}
