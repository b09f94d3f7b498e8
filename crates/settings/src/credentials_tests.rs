use super::*;
use crate::testbed::Bed;
use crate::{FlagSettings, Sources, load};

const NOW: i64 = 1_800_000_000_000;
const HOUR: i64 = 3_600_000;

fn resolve_with(bed: &Bed, env: &[(&str, &str)], flag: Option<&str>, bare: bool) -> Resolution {
    let flag = flag.map(|json| FlagSettings::Inline(json.to_owned()));
    let settings = load(&bed.places, Sources::default(), flag.as_ref(), None, false).unwrap().settings;
    let lookup = |name: &str| env.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
    credentials(&CredentialInputs { env: &lookup, settings: &settings, places: &bed.places, now_ms: NOW, bare })
}

fn resolve(bed: &Bed, env: &[(&str, &str)]) -> Resolution {
    resolve_with(bed, env, None, false)
}

fn label(resolution: &Resolution) -> Option<&str> {
    resolution.chosen.as_ref().map(|chosen| chosen.label.as_str())
}

fn verdict<'a>(resolution: &'a Resolution, ending: &str) -> &'a str {
    let found = resolution.considered.iter().find(|considered| considered.name.ends_with(ending));
    &found.unwrap_or_else(|| panic!("{ending} not considered")).verdict
}

fn everything() -> Bed {
    let bed = Bed::new();
    bed.file("home/.claude/settings.json", r#"{"apiKeyHelper":"get-key"}"#);
    bed.file("home/.claude.json.api", r#"{"apiKey":"sk-ant-api-file"}"#);
    bed.file("home/.claude.json", r#"{"primaryApiKey":"sk-ant-primary"}"#);
    let login = format!(r#"{{"claudeAiOauth":{{"accessToken":"tok","expiresAt":{}}}}}"#, NOW + HOUR);
    bed.file("home/.claude/.credentials.json", &login);
    bed.file("home/.claude-oauth-credentials.json", &login);
    bed
}

#[test]
fn the_order_is_the_contracts() {
    let bed = everything();
    let mut env = vec![
        ("ANTHROPIC_AUTH_TOKEN", "t"),
        ("ANTHROPIC_API_KEY", "k"),
        ("CLAUDE_API_KEY", "c"),
        ("CLAUDE_CODE_OAUTH_TOKEN", "o"),
    ];
    let mut steps: Vec<(String, String)> = Vec::new();
    let mut step = |resolution: &Resolution| {
        let chosen = resolution.chosen.as_ref().unwrap();
        let name = chosen.label.rsplit('/').next().unwrap().to_owned();
        steps.push((name, chosen.source.clone()));
    };
    for _ in 0..3 {
        step(&resolve(&bed, &env));
        env.remove(0);
    }
    step(&resolve(&bed, &env));
    bed.file("home/.claude/settings.json", "{}");
    step(&resolve(&bed, &env));
    for file in ["home/.claude.json.api", "home/.claude.json", "home/.claude/.credentials.json"] {
        step(&resolve(&bed, &[]));
        std::fs::remove_file(bed.path(file)).unwrap();
    }
    step(&resolve(&bed, &[]));
    std::fs::remove_file(bed.path("home/.claude-oauth-credentials.json")).unwrap();
    assert!(resolve(&bed, &[]).chosen.is_none());
    let expected = [
        ("ANTHROPIC_AUTH_TOKEN", "none"),
        ("ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY"),
        ("CLAUDE_API_KEY", "ANTHROPIC_API_KEY"),
        ("apiKeyHelper", "apiKeyHelper"),
        ("CLAUDE_CODE_OAUTH_TOKEN", "none"),
        (".claude.json.api", "/login managed key"),
        (".claude.json", "/login managed key"),
        (".credentials.json", "none"),
        (".claude-oauth-credentials.json", "none"),
    ];
    assert_eq!(steps, expected.map(|(name, source)| (name.to_owned(), source.to_owned())));
}

#[test]
fn every_place_has_a_verdict() {
    let resolution = resolve(&everything(), &[("ANTHROPIC_API_KEY", ""), ("CLAUDE_CODE_OAUTH_TOKEN", " ")]);
    assert_eq!(resolution.considered.len(), 9);
    assert_eq!(verdict(&resolution, "ANTHROPIC_AUTH_TOKEN"), "not set");
    assert_eq!(verdict(&resolution, "ANTHROPIC_API_KEY"), "empty");
    assert_eq!(verdict(&resolution, "apiKeyHelper"), "used");
    assert_eq!(verdict(&resolution, "CLAUDE_CODE_OAUTH_TOKEN"), "shadowed by apiKeyHelper");
    assert_eq!(verdict(&resolution, ".credentials.json"), "shadowed by apiKeyHelper");
}

#[test]
fn keys_in_files_need_the_prefix() {
    for (text, key, why) in [
        (r#"{"primaryApiKey":"sk-ant-1","apiKey":"sk-ant-2"}"#, Some("sk-ant-1"), "used"),
        (r#"{"primaryApiKey":"nope","customApiKey":" sk-ant-3\n"}"#, Some("sk-ant-3"), "used"),
        (r#"{"primaryApiKey":"","anthropicApiKey":"sk-ant-4"}"#, Some("sk-ant-4"), "used"),
        (r#"{"apiKey":"sk-other"}"#, None, "apiKey has no sk-ant- prefix"),
        (r#"{"apiKey":5}"#, None, "holds no key"),
        ("{", None, "it is not a JSON object"),
    ] {
        let bed = Bed::new();
        bed.file("home/.claude.json.api", text);
        let resolution = resolve(&bed, &[]);
        let found = resolution.chosen.as_ref().map(|chosen| chosen.found.clone());
        assert_eq!(found, key.map(|key| Found::ApiKeyFile(Secret::new(key))), "{text}");
        assert_eq!(verdict(&resolution, ".claude.json.api"), why, "{text}");
    }
}

#[test]
fn expired_logins_are_refused_or_refreshed() {
    let login = |fields: &str| format!(r#"{{"claudeAiOauth":{{"accessToken":"t",{fields}}}}}"#);
    for (fields, used, why) in [
        (format!(r#""expiresAt":{}"#, NOW + HOUR), true, "used"),
        (r#""expiresAt":null"#.to_owned(), true, "used"),
        (format!(r#""expiresAt":{}"#, NOW - 2 * HOUR), false, "expired 2 h ago"),
        (format!(r#""expiresAt":{NOW}"#), false, "expired just now"),
        (r#""expiresAt":"2024-01-01T00:00:00Z""#.to_owned(), false, "expired 1110 days ago"),
        (r#""expiresAt":"2100-01-01T00:00:00Z""#.to_owned(), true, "used"),
        (r#""expiresAt":"soon""#.to_owned(), false, "its expiresAt is not a time"),
        (
            format!(r#""refreshToken":"r","expiresAt":{}"#, NOW - 2 * HOUR),
            true,
            "expired 2 h ago, used after a refresh",
        ),
    ] {
        let bed = Bed::new();
        bed.file("home/.claude/.credentials.json", &login(&fields));
        let resolution = resolve(&bed, &[]);
        assert_eq!(resolution.chosen.is_some(), used, "{fields}");
        assert_eq!(verdict(&resolution, ".credentials.json"), why, "{fields}");
    }
}

#[test]
fn a_living_login_beats_one_to_be_refreshed() {
    let bed = everything();
    for file in ["home/.claude/settings.json", "home/.claude.json.api", "home/.claude.json"] {
        bed.file(file, "{}");
    }
    bed.file(
        "home/.claude/.credentials.json",
        r#"{"claudeAiOauth":{"accessToken":"old","refreshToken":"r","expiresAt":1}}"#,
    );
    let resolution = resolve(&bed, &[]);
    assert!(label(&resolution).unwrap().ends_with(".claude-oauth-credentials.json"));
}

#[test]
fn bare_mode_takes_only_what_the_caller_gave() {
    let bed = everything();
    let env = [("ANTHROPIC_AUTH_TOKEN", "t"), ("CLAUDE_CODE_OAUTH_TOKEN", "o")];
    let resolution = resolve_with(&bed, &env, None, true);
    assert!(resolution.chosen.is_none());
    assert!(verdict(&resolution, "apiKeyHelper").contains("--settings"));
    assert_eq!(verdict(&resolution, ".credentials.json"), "not used with --bare");
    let resolution = resolve_with(&bed, &env, Some(r#"{"apiKeyHelper":"mine"}"#), true);
    assert_eq!(resolution.chosen.unwrap().found, Found::Helper { command: "mine".into() });
    assert_eq!(label(&resolve_with(&bed, &[("ANTHROPIC_API_KEY", "k")], None, true)), Some("ANTHROPIC_API_KEY"));
}

#[test]
fn a_repository_names_no_helper() {
    let bed = Bed::new();
    bed.trust("work");
    bed.file("work/.claude/settings.json", r#"{"apiKeyHelper":"steal"}"#);
    assert!(resolve(&bed, &[]).chosen.is_none());
}

#[test]
fn a_custom_config_dir_hides_the_home() {
    let mut bed = everything();
    bed.places = Places::new(bed.places.cwd.clone(), bed.places.home.clone(), Some(bed.dir("custom")));
    assert!(resolve(&bed, &[]).chosen.is_none());
    bed.file("custom/.claude.json", r#"{"primaryApiKey":"sk-ant-c"}"#);
    assert!(label(&resolve(&bed, &[])).unwrap().contains("custom"));
}

#[test]
fn secrets_never_show_in_debug_output() {
    let bed = everything();
    for env in [vec![("ANTHROPIC_API_KEY", "hunter2")], vec![("ANTHROPIC_AUTH_TOKEN", "hunter2")], vec![]] {
        let shown = format!("{:?}", resolve(&bed, &env));
        assert!(!shown.contains("hunter2") && !shown.contains("sk-ant-"), "{shown}");
    }
    bed.file("home/.claude/settings.json", "{}");
    let shown = format!("{:?}", resolve(&bed, &[]));
    assert!(!shown.contains("sk-ant-"), "{shown}");
}
