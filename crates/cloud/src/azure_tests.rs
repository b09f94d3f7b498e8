use super::*;
use crate::fake_world::FakeEnvironment;
use futures_util::FutureExt as _;

const RESOURCE: &str = "https://cognitiveservices.azure.com";
const CLIENT: [(&str, &str); 2] = [("AZURE_TENANT_ID", "t"), ("AZURE_CLIENT_ID", "c")];

fn found(world: &FakeEnvironment) -> Result<EntraToken, CredentialError> {
    find(world, RESOURCE).now_or_never().expect("a played world answers at once")
}

fn body(world: &FakeEnvironment) -> String {
    String::from_utf8(world.requests.lock().unwrap()[0].body.clone()).unwrap()
}

#[test]
fn a_client_proves_itself_by_secret_or_token() {
    let answer = |_: &HttpRequest| Some((200, r#"{"access_token":"e","expires_in":3600}"#.to_owned()));
    let secret = FakeEnvironment::new(&[CLIENT[0], CLIENT[1], ("AZURE_CLIENT_SECRET", "s/s")]).answers(answer);
    let token = found(&secret).unwrap();
    assert_eq!((token.token.as_str(), token.expires), ("e", Some("2026-11-15T13:00:00Z".parse().unwrap())));
    assert_eq!(secret.log(), ["POST https://login.microsoftonline.com/t/oauth2/v2.0/token"]);
    let expected = "client_id=c&scope=https%3A%2F%2Fcognitiveservices.azure.com%2F.default&grant_type=client_credentials&client_secret=s%2Fs";
    assert_eq!(body(&secret), expected);
    let other =
        [CLIENT[0], CLIENT[1], ("AZURE_FEDERATED_TOKEN_FILE", "/jwt"), ("AZURE_AUTHORITY_HOST", "https://login.test/")];
    let workload = FakeEnvironment::new(&other).file("/jwt", "jwt\n").answers(answer);
    assert_eq!(found(&workload).unwrap().token, "e");
    assert_eq!(workload.log(), ["POST https://login.test/t/oauth2/v2.0/token"]);
    assert!(body(&workload).ends_with("&client_assertion=jwt"));
}

#[test]
fn machines_and_the_command_line_follow() {
    let answer = |_: &HttpRequest| Some((200, r#"{"access_token":"m","expires_on":"1794747600"}"#.to_owned()));
    let app = FakeEnvironment::new(&[("IDENTITY_ENDPOINT", "http://127.0.0.1:9/msi"), ("IDENTITY_HEADER", "h")])
        .answers(answer);
    assert_eq!(found(&app).unwrap().token, "m");
    assert!(app.log()[0].starts_with("GET http://127.0.0.1:9/msi?api-version=2019-08-01&resource="));
    let machine = FakeEnvironment::new(&[]).answers(answer);
    assert_eq!(found(&machine).unwrap().expires, Timestamp::from_second(1_794_747_600).ok());
    let cli = FakeEnvironment::new(&[]).command("az", &[Ok(r#"{"accessToken":"cli","expires_on":1794747600}"#)]);
    assert_eq!(found(&cli).unwrap().token, "cli");
}

#[test]
fn every_step_that_failed_is_listed() {
    let said = found(&FakeEnvironment::new(&[])).unwrap_err().to_string();
    assert!(
        said.contains("AZURE_CLIENT_SECRET")
            && said.contains("the Azure CLI (`az account get-access-token` gave no credential: command not found)"),
        "{said}"
    );
    let refused = FakeEnvironment::new(&[CLIENT[0], CLIENT[1], ("AZURE_CLIENT_SECRET", "s")])
        .answers(|_| Some((401, r#"{"error":"invalid_client","error_description":"wrong secret"}"#.to_owned())));
    assert_eq!(
        found(&refused).unwrap_err().to_string(),
        "login.microsoftonline.com gave no credential: status 401 wrong secret"
    );
}

#[test]
fn a_service_that_the_machine_names_must_answer_and_be_near() {
    let near = [("IDENTITY_ENDPOINT", "http://169.254.129.2:8081/msi"), ("IDENTITY_HEADER", "h")];
    let failing = FakeEnvironment::new(&near).answers(|_| Some((500, "down".to_owned())));
    let error = found(&failing).unwrap_err();
    assert_eq!(error.to_string(), "169.254.129.2:8081 gave no credential: status 500 down");
    assert!(error.may_pass());
    let far = FakeEnvironment::new(&[("IDENTITY_ENDPOINT", "http://example.test/msi"), ("IDENTITY_HEADER", "h")]);
    assert!(found(&far).unwrap_err().to_string().contains("IDENTITY_ENDPOINT") && far.log().is_empty());
    let secret = [CLIENT[0], CLIENT[1], ("AZURE_CLIENT_SECRET", "s"), ("AZURE_AUTHORITY_HOST", "http://login.test")];
    let plain = FakeEnvironment::new(&secret);
    assert!(found(&plain).unwrap_err().to_string().contains("AZURE_AUTHORITY_HOST") && plain.log().is_empty());
}
