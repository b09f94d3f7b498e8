use super::*;
use crate::fake_world::FakeEnvironment;
use futures_util::FutureExt as _;

fn found(world: &FakeEnvironment, settings: &AwsSettings) -> Result<AwsCredential, CredentialError> {
    find(world, settings, "us-east-1", None).now_or_never().expect("a played world answers at once")
}

fn key(world: &FakeEnvironment) -> String {
    found(world, &AwsSettings::default())
        .map_or_else(|error| format!("error: {error}"), |found| found.keys.access_key_id)
}

const ENV: [(&str, &str); 2] = [("AWS_ACCESS_KEY_ID", "ENVKEY"), ("AWS_SECRET_ACCESS_KEY", "s")];
const STS: &str = "<R><AccessKeyId>STSKEY</AccessKeyId><SecretAccessKey>a&amp;b</SecretAccessKey>\
                   <SessionToken>t</SessionToken><Expiration>2026-11-15T13:00:00Z</Expiration></R>";
const JSON: &str = r#"{"AccessKeyId":"JSONKEY","SecretAccessKey":"s","Token":"t","Expiration":"2026-11-15T13:00:00Z"}"#;

#[test]
fn variables_come_first_unless_a_profile_is_named() {
    assert_eq!(key(&FakeEnvironment::new(&ENV)), "ENVKEY");
    let file = "[work]\naws_access_key_id = FILEKEY\naws_secret_access_key = s\n";
    let named = FakeEnvironment::new(&[ENV[0], ENV[1], ("AWS_PROFILE", "work")]).file("/home/u/.aws/credentials", file);
    assert_eq!(key(&named), "FILEKEY");
    let half = FakeEnvironment::new(&ENV[..1]);
    assert_eq!(key(&half), "error: AWS_SECRET_ACCESS_KEY is not set, although AWS_ACCESS_KEY_ID is");
}

#[test]
fn a_role_is_taken_with_the_keys_of_its_source() {
    let config = "[default]\nrole_arn = arn:aws:iam::1:role/r\nsource_profile = base\nregion = eu-west-1\nexternal_id = e/1\n\
                  [profile base]\naws_access_key_id = BASE\naws_secret_access_key = s\n";
    let world = FakeEnvironment::new(&[]).file("/home/u/.aws/config", config).answers(|_| Some((200, STS.to_owned())));
    let credential = found(&world, &AwsSettings::default()).unwrap();
    assert_eq!((credential.keys.access_key_id.as_str(), credential.keys.secret_access_key.as_str()), ("STSKEY", "a&b"));
    assert_eq!(credential.expires, Some("2026-11-15T13:00:00Z".parse().unwrap()));
    assert_eq!(world.log(), ["POST https://sts.eu-west-1.amazonaws.com/"]);
    let request = world.requests.lock().unwrap().remove(0);
    let authorization = &request.headers.iter().find(|(name, _)| name == "authorization").unwrap().1;
    assert!(authorization.contains("Credential=BASE/20261115/eu-west-1/sts/aws4_request"), "{authorization}");
    let body = String::from_utf8(request.body).unwrap();
    assert!(body.starts_with("Action=AssumeRole&") && body.ends_with("&ExternalId=e%2F1"), "{body}");
}

#[test]
fn a_circle_of_roles_ends() {
    let config =
        "[default]\nrole_arn = a\nsource_profile = two\n[profile two]\nrole_arn = b\nsource_profile = default\n";
    let world = FakeEnvironment::new(&[]).file("/home/u/.aws/config", config).answers(|_| Some((200, STS.to_owned())));
    assert!(key(&world).contains("too long a chain"), "{}", key(&world));
}

#[test]
fn commands_and_logins_give_keys() {
    let process =
        FakeEnvironment::new(&[]).file("/home/u/.aws/config", "[default]\ncredential_process = helper --json\n");
    assert_eq!(key(&process.command("helper", &[Ok(JSON)])), "JSONKEY");
    let sso = "[default]\nsso_session = corp\nsso_account_id = 1\nsso_role_name = dev\n\
               [sso-session corp]\nsso_start_url = https://x\nsso_region = eu-west-1\n";
    let cache = "/home/u/.aws/sso/cache/5a3d0d9b6ee2a94d0ae6b5dbae5d4b0e3e6d0f6d.json";
    let hash = {
        let digest = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, b"corp");
        digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    let cache = cache.replace("5a3d0d9b6ee2a94d0ae6b5dbae5d4b0e3e6d0f6d", &hash);
    let answer = r#"{"roleCredentials":{"accessKeyId":"SSOKEY","secretAccessKey":"s","sessionToken":"t","expiration":1794747600000}}"#;
    let world = |expires: &str| {
        FakeEnvironment::new(&[])
            .file("/home/u/.aws/config", sso)
            .file(&cache, format!(r#"{{"accessToken":"login","expiresAt":"{expires}"}}"#))
            .answers(|request| {
                let token =
                    request.headers.iter().any(|pair| *pair == ("x-amz-sso_bearer_token".into(), "login".into()));
                token.then(|| (200, answer.to_owned()))
            })
    };
    let good = world("2026-11-15T13:00:00Z");
    assert_eq!(key(&good), "SSOKEY");
    assert_eq!(
        good.log(),
        ["GET https://portal.sso.eu-west-1.amazonaws.com/federation/credentials?account_id=1&role_name=dev"]
    );
    let old = key(&world("2026-11-15T11:00:00Z"));
    assert!(old.contains("expired at 2026-11-15T11:00:00Z; run `aws sso login --profile default`"), "{old}");
}

#[test]
fn machines_give_keys_in_their_order() {
    let web = [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", "/token"),
        ("AWS_ROLE_ARN", "arn:r"),
        ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/c"),
    ];
    let world = FakeEnvironment::new(&web).file("/token", " jwt\n").answers(|_| Some((200, STS.to_owned())));
    assert_eq!(
        (key(&world), world.log()),
        ("STSKEY".into(), vec!["POST https://sts.us-east-1.amazonaws.com/".to_owned()])
    );
    let body = String::from_utf8(world.requests.lock().unwrap()[0].body.clone()).unwrap();
    assert!(body.ends_with("&WebIdentityToken=jwt"), "{body}");
    let container = FakeEnvironment::new(&web[2..]).answers(|_| Some((200, JSON.to_owned())));
    assert_eq!((key(&container), container.log()), ("JSONKEY".into(), vec!["GET http://169.254.170.2/c".to_owned()]));
    let instance = FakeEnvironment::new(&[]).answers(|request| {
        let body = match (request.method, request.url.rsplit('/').next().unwrap_or_default()) {
            ("PUT", "token") => "session",
            ("GET", "") => "the-role\n",
            ("GET", "the-role") => JSON,
            _ => return None,
        };
        Some((200, body.to_owned()))
    });
    assert_eq!(key(&instance), "JSONKEY");
    assert!(instance.requests.lock().unwrap().iter().all(|request| request.without_proxy));
    let off = FakeEnvironment::new(&[("AWS_EC2_METADATA_DISABLED", "true")]);
    assert!(key(&off).starts_with("error: no AWS credentials found") && off.log().is_empty());
}

#[test]
fn a_containers_address_stays_on_the_machine() {
    for (url, good) in [
        ("https://example.test/c", true),
        ("http://127.0.0.1:80/c", true),
        ("http://[::1]:80/c", true),
        ("http://169.254.170.23/c", true),
        ("http://example.test/c", false),
        ("http://127.0.0.1@example.test/c", false),
        ("http://127.0.0.1.example.test/c", false),
        ("file:///etc/passwd", false),
    ] {
        let world = FakeEnvironment::new(&[("AWS_CONTAINER_CREDENTIALS_FULL_URI", url)])
            .answers(|_| Some((200, JSON.to_owned())));
        assert_eq!(key(&world) == "JSONKEY", good, "{url}: {}", key(&world));
    }
}

#[test]
fn settings_export_and_refresh() {
    let export = AwsSettings { export: Some("export-it".into()), refresh: None };
    let world = FakeEnvironment::new(&ENV)
        .command("export-it", &[Ok(r#"{"Credentials":{"AccessKeyId":"X","SecretAccessKey":"s"}}"#)]);
    assert_eq!(found(&world, &export).unwrap().keys.access_key_id, "X");
    let failing = FakeEnvironment::new(&ENV).command("export-it", &[Err("exit 1")]);
    assert_eq!(found(&failing, &export).unwrap().keys.access_key_id, "ENVKEY");
    let refresh = AwsSettings { export: None, refresh: Some("log-in".into()) };
    let config = "[default]\ncredential_process = helper\n";
    let world = FakeEnvironment::new(&[])
        .file("/home/u/.aws/config", config)
        .command("helper", &[Err("exit 255"), Ok(JSON)])
        .command("log-in", &[Ok("")]);
    assert_eq!(found(&world, &refresh).unwrap().keys.access_key_id, "JSONKEY");
    assert_eq!(world.log(), ["run helper", "run log-in", "run helper"]);
}

#[test]
fn broken_files_are_named() {
    let broken = FakeEnvironment::new(&[]).file("/home/u/.aws/credentials", "[default]\nnonsense\n");
    assert_eq!(
        key(&broken),
        "error: /home/u/.aws/credentials cannot be used: line 2 is neither a [section] nor name = value"
    );
    let unreadable = FakeEnvironment::new(&[]).file("/home/u/.aws/config", "<unreadable>");
    assert_eq!(key(&unreadable), "error: /home/u/.aws/config cannot be used: permission denied");
    let missing = FakeEnvironment::new(&[("AWS_PROFILE", "nope")]);
    assert_eq!(key(&missing), "error: the AWS profile \"nope\" is in none of the AWS files");
}

const GIVEN: &str = r#"{"Version":1,"AccessKeyId":"CLIKEY","SecretAccessKey":"s"}"#;

fn anew(world: &FakeEnvironment, settings: &AwsSettings, refused: &str) -> Result<String, String> {
    let refused = Keys { access_key_id: refused.into(), secret_access_key: "s".into(), session_token: None };
    let found = find(world, settings, "us-east-1", Some(&refused)).now_or_never().expect("a played world answers");
    found.map(|found| found.keys.access_key_id).map_err(|error| error.to_string())
}

#[test]
fn keys_that_were_refused_are_renewed_by_the_users_command() {
    let refresh = AwsSettings { export: None, refresh: Some("log-in".into()) };
    let world = FakeEnvironment::new(&ENV).command("log-in", &[Ok("")]);
    assert_eq!(anew(&world, &refresh, "ENVKEY").as_deref(), Ok("ENVKEY"));
    assert_eq!(world.log(), ["run log-in"], "the chain had nothing but the refused keys");
    let other = FakeEnvironment::new(&ENV).command("log-in", &[Ok("")]);
    assert_eq!(anew(&other, &refresh, "OLDKEY").as_deref(), Ok("ENVKEY"));
    assert!(other.log().is_empty(), "the chain had others already: {:?}", other.log());
    let failing = FakeEnvironment::new(&ENV).command("log-in", &[Err("exit code 3")]);
    let said = anew(&failing, &refresh, "ENVKEY").unwrap_err();
    assert!(said.contains("awsAuthRefresh") && said.contains("exit code 3") && said.contains("refused"), "{said}");
    let nothing = FakeEnvironment::new(&[("AWS_EC2_METADATA_DISABLED", "1")]).command("log-in", &[Ok("")]);
    let said = anew(&nothing, &refresh, "ENVKEY").unwrap_err();
    assert!(said.starts_with("awsAuthRefresh did not help: it ended well, but no AWS credentials"), "{said}");
    let both = AwsSettings { export: Some("export-it".into()), refresh: Some("log-in".into()) };
    let json = r#"{"AccessKeyId":"OLDKEY","SecretAccessKey":"s"}"#;
    let world = FakeEnvironment::new(&[]).command("export-it", &[Ok(json), Ok(JSON)]).command("log-in", &[Ok("")]);
    assert_eq!(anew(&world, &both, "OLDKEY").as_deref(), Ok("JSONKEY"));
    assert_eq!(world.log(), ["run export-it", "run log-in", "run export-it"]);
}

#[test]
fn an_export_that_fails_is_told_before_other_keys_are_used() {
    let export = AwsSettings { export: Some("export-it".into()), refresh: None };
    let old = r#"{"AccessKeyId":"X","SecretAccessKey":"s","Expiration":"2026-11-15T11:00:00Z"}"#;
    for (output, why) in [(Err("exit code 1"), "exit code 1"), (Ok("<html>"), "no credential"), (Ok(old), "expired at")]
    {
        let world = FakeEnvironment::new(&ENV).command("export-it", &[output]);
        assert_eq!(found(&world, &export).unwrap().keys.access_key_id, "ENVKEY");
        let told = world.log().remove(1);
        assert!(told.starts_with("warning: ") && told.contains("awsCredentialExport") && told.contains(why), "{told}");
    }
}

#[test]
fn a_profile_beside_keys_in_variables_is_told() {
    let file = "[work]\naws_access_key_id = FILEKEY\naws_secret_access_key = s\n";
    let world = FakeEnvironment::new(&[ENV[0], ENV[1], ("AWS_PROFILE", "work")]).file("/home/u/.aws/credentials", file);
    assert_eq!(key(&world), "FILEKEY");
    assert!(world.log()[0].contains("the profile \"work\" is used"), "{:?}", world.log());
}

#[test]
fn logins_that_we_cannot_renew_are_the_cli_s() {
    let sso = "[default]\nsso_start_url = https://x\nsso_region = eu-west-1\nsso_account_id = 1\nsso_role_name = dev\n";
    for config in [sso, "[default]\nlogin_session = arn:aws:iam::1:user/me\n"] {
        let world = FakeEnvironment::new(&[]).file("/home/u/.aws/config", config).command("aws", &[Ok(GIVEN)]);
        assert_eq!((key(&world), world.log()), ("CLIKEY".into(), vec!["run aws".to_owned()]));
        let without = FakeEnvironment::new(&[]).file("/home/u/.aws/config", config);
        let said = key(&without);
        assert!(said.contains("run `aws sso login --profile default`") || said.contains("run `aws login`"), "{said}");
    }
}

#[test]
fn an_expired_credential_of_a_command_is_said() {
    let old = r#"{"AccessKeyId":"X","SecretAccessKey":"s","Expiration":"2026-11-15T11:59:59Z"}"#;
    let world = FakeEnvironment::new(&[])
        .file("/home/u/.aws/config", "[default]\ncredential_process = helper\n")
        .command("helper", &[Ok(old)]);
    let said = key(&world);
    assert!(said.contains("credential_process of the profile \"default\" expired at 2026-11-15T11:59:59Z"), "{said}");
}

#[test]
fn tokens_are_sent_to_no_plain_address() {
    let role = [("AWS_WEB_IDENTITY_TOKEN_FILE", "/token"), ("AWS_ROLE_ARN", "arn:r")];
    for (url, good) in [
        ("http://sts.example.test", false),
        ("http://127.0.0.1:1@example.test", false),
        ("http://127.0.0.1:1", true),
        ("https://sts.example.test", true),
    ] {
        let world = FakeEnvironment::new(&[role[0], role[1], ("AWS_ENDPOINT_URL_STS", url)])
            .file("/token", "jwt")
            .answers(|_| Some((200, STS.to_owned())));
        assert_eq!(key(&world) == "STSKEY", good, "{url}: {}", key(&world));
        assert_eq!(world.log().is_empty(), !good, "{url}");
    }
}

#[test]
fn what_may_pass_is_known() {
    let role = [("AWS_WEB_IDENTITY_TOKEN_FILE", "/token"), ("AWS_ROLE_ARN", "arn:r")];
    let may_pass = |world: &FakeEnvironment| found(world, &AwsSettings::default()).unwrap_err().may_pass();
    for (status, expected) in [(500, true), (503, true), (429, true), (403, false), (400, false), (200, false)] {
        let world = FakeEnvironment::new(&role).file("/token", "jwt").answers(move |_| Some((status, "<html>".into())));
        assert_eq!(may_pass(&world), expected, "{status}");
    }
    assert!(may_pass(&FakeEnvironment::new(&role).file("/token", "jwt")), "nobody answers");
    assert!(!may_pass(&FakeEnvironment::new(&role)), "there is no file");
}
