//! Where requests go and what the environment puts into them: addresses, headers, models, proxies.

use super::{STREAM, Seen, claude, finish, plain};
use crate::common::{say, world};
use crate::loopback::Loopback;
use serde_json::json;
use testkit::World;

fn with_env(world: &World, env: &[(&str, &str)], more: &[&str]) -> Seen {
    let run = claude(world).args(STREAM.into_iter().chain(more.iter().copied()));
    Seen::of(world, env.iter().fold(run, |run, (name, value)| run.env(name, value)))
}

#[test]
fn the_base_address_may_have_a_path_and_trailing_slashes() {
    let world = plain();
    let url = world.mock().url();
    for (suffix, path) in [
        ("", "/v1/messages"),
        ("/", "/v1/messages"),
        ("/gateway/anthropic", "/gateway/anthropic/v1/messages"),
        ("/gateway/anthropic/", "/gateway/anthropic/v1/messages"),
    ] {
        let base = format!("{url}{suffix}");
        let seen = with_env(&world, &[("ANTHROPIC_BASE_URL", &base), ("CLAUDE_CODE_MAX_RETRIES", "0")], &[]);
        let arrived = seen.requests[0].path.split('?').next().unwrap().to_owned();
        assert_eq!(arrived, path, "{suffix}");
    }
}

#[test]
fn custom_headers_are_sent_and_betas_are_joined() {
    let world = plain();
    let env = [
        ("ANTHROPIC_CUSTOM_HEADERS", "X-Team: blue\n\nx-trace:  a: b \nanthropic-beta: mine-2026\nUser-Agent: me/1"),
        ("ANTHROPIC_BETAS", "env-2026, other-2026"),
    ];
    let seen = with_env(&world, &env, &["--betas", "flag-2026"]);
    assert!(seen.is_clean(), "{}", seen.told());
    assert_eq!((seen.header("x-team"), seen.header("x-trace"), seen.header("user-agent")), ("blue", "a: b", "me/1"));
    let betas: Vec<&str> = seen.header("anthropic-beta").split(',').map(str::trim).collect();
    for beta in ["mine-2026", "env-2026", "other-2026", "flag-2026"] {
        assert_eq!(betas.iter().filter(|known| **known == beta).count(), 1, "{beta} in {betas:?}");
    }
}

#[test]
fn the_environment_chooses_models_and_the_flag_beats_it() {
    let world = plain();
    for (env, more, expected) in [
        (&[("ANTHROPIC_MODEL", "haiku")][..], &[][..], "claude-haiku-5-5"),
        (&[("ANTHROPIC_MODEL", "claude-x")], &[], "claude-x"),
        (&[("ANTHROPIC_MODEL", "")], &[], "claude-opus-5-5"),
        (&[("ANTHROPIC_MODEL", "haiku")], &["--model", "fable"], "claude-fable-5-2"),
        (&[("ANTHROPIC_MODEL", "haiku")], &["--model="], "claude-haiku-5-5"),
        (&[("ANTHROPIC_MODEL", "haiku")], &["--settings", "{\"model\":\"fable\"}"], "claude-haiku-5-5"),
        (&[("ANTHROPIC_DEFAULT_MODEL", "sonnet")], &[], "claude-sonnet-5-5"),
        (&[("ANTHROPIC_DEFAULT_MODEL", "sonnet")], &["--settings", "{\"model\":\"fable\"}"], "claude-fable-5-2"),
        (&[("ANTHROPIC_DEFAULT_OPUS_MODEL", "my-opus")], &["--model", "opus"], "my-opus"),
        (&[("ANTHROPIC_DEFAULT_SONNET_MODEL", "my-sonnet")], &["--model", "sonnet"], "my-sonnet"),
        (&[("ANTHROPIC_DEFAULT_HAIKU_MODEL", "my-haiku")], &["--model", "haiku"], "my-haiku"),
        (&[("ANTHROPIC_DEFAULT_FABLE_MODEL", "my-fable")], &["--model", "fable"], "my-fable"),
        (&[], &["--model", "claude-opus-4-1-20250805"], "claude-opus-5-5"),
        (&[("CLAUDE_CODE_DISABLE_LEGACY_MODEL_REMAP", "1")], &["--model", "claude-opus-4-1-20250805"], {
            "claude-opus-4-1-20250805"
        }),
    ] {
        let seen = with_env(&world, env, more);
        assert!(seen.is_clean(), "{env:?} {more:?}: {}", seen.told());
        assert_eq!(seen.body()["model"], expected, "{env:?} {more:?}");
    }
    let effort = with_env(&world, &[("CLAUDE_CODE_EFFORT_LEVEL", "low")], &["--effort", "high"]);
    assert_eq!(effort.body()["output_config"]["effort"], "low", "the variable beats the flag");
}

#[test]
fn the_environment_of_the_settings_beats_the_shell() {
    let world = plain();
    let seen =
        with_env(&world, &[("ANTHROPIC_MODEL", "haiku")], &["--settings", r#"{"env":{"ANTHROPIC_MODEL":"fable"}}"#]);
    assert_eq!(seen.body()["model"], "claude-fable-5-2", "{}", seen.told());
}

#[test]
fn the_extra_body_is_merged_into_every_request() {
    let world = plain();
    let extra = r#"{"service_tier": "auto", "metadata": {"team": "blue"}, "max_tokens": 77, "thinking": null}"#;
    let seen = with_env(&world, &[("CLAUDE_CODE_EXTRA_BODY", extra)], &[]);
    assert!(seen.is_clean(), "{}", seen.told());
    let body = seen.body();
    assert_eq!(
        (&body["service_tier"], &body["max_tokens"], &body["metadata"]["team"]),
        (&json!("auto"), &json!(77), &json!("blue"))
    );
    assert!(body["metadata"]["user_id"].is_string() && body.get("thinking").is_none(), "{body}");
}

#[test]
fn plain_requests_go_through_the_http_proxy_with_its_password() {
    let world = world(json!([say("through"), say("through")]));
    let proxy = Loopback::proxy();
    for name in ["HTTP_PROXY", "http_proxy"] {
        let address = format!("http://me:secret@{}", proxy.address);
        let seen = with_env(&world, &[(name, &address)], &[]);
        assert!(seen.is_clean(), "{name}: {}", seen.told());
        assert_eq!(seen.outcome.result().unwrap()["result"], "through");
    }
    let arrived = proxy.arrived();
    assert_eq!(arrived.len(), 2);
    assert!(arrived[0].line.starts_with(&format!("POST {}/v1/messages", world.mock().url())), "{}", arrived[0].line);
    assert_eq!(arrived[0].header("proxy-authorization"), Some("Basic bWU6c2VjcmV0"));
    let upstream = world.mock().requests();
    assert!(upstream.iter().all(|request| request.body.is_object()));
}

#[test]
fn hosts_in_no_proxy_are_reached_directly() {
    let world = plain();
    let proxy = Loopback::proxy();
    let address = format!("http://{}", proxy.address);
    for (name, list) in [
        ("NO_PROXY", "127.0.0.1"),
        ("no_proxy", "example.com,127.0.0.1"),
        ("NO_PROXY", "example.com 127.0.0.1"),
        ("NO_PROXY", "*"),
    ] {
        let seen = with_env(&world, &[("HTTP_PROXY", &address), (name, list)], &[]);
        assert!(seen.is_clean(), "{list}: {}", seen.told());
    }
    assert!(proxy.arrived().is_empty());
    let elsewhere = with_env(&world, &[("HTTP_PROXY", &address), ("NO_PROXY", "example.com")], &[]);
    assert!(elsewhere.is_clean() && proxy.arrived().len() == 1, "{}", elsewhere.told());
}

#[test]
fn secure_requests_ask_the_proxy_for_a_tunnel() {
    let world = plain();
    for (name, has_tunnel) in [("HTTPS_PROXY", true), ("https_proxy", true), ("HTTP_PROXY", true)] {
        let proxy = Loopback::proxy();
        let env = [
            ("ANTHROPIC_BASE_URL", "https://api.invalid"),
            (name, &format!("http://{}", proxy.address)),
            ("CLAUDE_CODE_MAX_RETRIES", "0"),
        ];
        let seen = with_env(&world, &env, &[]);
        assert_eq!(seen.outcome.code, Some(1), "{}", seen.told());
        let lines: Vec<String> = proxy.arrived().into_iter().map(|request| request.line).collect();
        assert_eq!(
            lines.first().is_some_and(|line| line == "CONNECT api.invalid:443 HTTP/1.1"),
            has_tunnel,
            "{lines:?}"
        );
        let result = seen.outcome.result().unwrap();
        assert_eq!(
            (&result["is_error"], result["result"].as_str().unwrap().contains("api.invalid")),
            (&json!(true), true)
        );
    }
}

#[test]
fn a_proxy_for_secure_requests_does_not_catch_this_machine() {
    let world = plain();
    let proxy = Loopback::proxy();
    let seen = with_env(&world, &[("HTTPS_PROXY", &format!("http://{}", proxy.address))], &[]);
    assert!(seen.is_clean() && proxy.arrived().is_empty(), "{}", seen.told());
}

#[test]
fn clients_are_named_to_the_api() {
    let world = plain();
    let env = [("CLAUDE_CODE_ENTRYPOINT", "sdk-py"), ("CLAUDE_AGENT_SDK_CLIENT_APP", "my-app/2")];
    let seen = with_env(&world, &env, &[]);
    let agent = seen.header("user-agent");
    assert!(agent.contains("sdk-py") && agent.contains("my-app/2"), "{agent}");
    let without = finish(claude(&world).args(["-p", "hi"]).env("CLAUDE_CODE_ENTRYPOINT", "bad\nname"));
    assert_eq!(without.code, Some(0), "{}", without.stderr);
}
