//! What is told of a session when it begins: the administrator's settings, the plan of a login; and detailed tracing.

use super::{PRINT, attribute, collector, events, exporting, names, points, spans};
use crate::common::{bash, finish, say, world};
use serde_json::{Value, json};
use testkit::Collector;

#[test]
fn the_administrators_settings_are_the_first_record() {
    let told = |policy: Option<Value>, more: &[&str]| {
        let (collector, world) = (collector(), world(json!([say("ok")])));
        let mut run = exporting(&world, &collector.url());
        if let Some(policy) = policy {
            let folder = world.home().join("managed");
            std::fs::create_dir(&folder).unwrap();
            std::fs::write(folder.join("managed-settings.json"), policy.to_string()).unwrap();
            run = run.env("RALPH_TEST_MANAGED_DIR", &folder.display().to_string());
        }
        let hook = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}).to_string();
        let outcome = finish(run.args(PRINT).args(["--settings", &hook]).args(more.iter().copied()));
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert_eq!(names(&collector)[..2], ["managed_settings_resolved", "hook_registered"]);
        let first = collector.logs().remove(0);
        assert_eq!(attribute(&first, "event.sequence"), 0);
        assert_eq!(attribute(&first, "managed_settings.trigger"), "startup");
        assert_eq!(attribute(&first, "managed_settings.helper.state"), "none");
        assert_eq!(attribute(&first, "managed_settings.helper.applied"), "none");
        assert!(attribute(&first, "prompt.id").is_null() && first["traceId"].is_null());
        let sources = attribute(&first, "managed_settings.sources")["values"].as_array().cloned().unwrap();
        let sources: Vec<String> = sources.iter().map(|one| one["stringValue"].as_str().unwrap().to_owned()).collect();
        (sources, attribute(&first, "managed_settings.source_behavior"))
    };
    assert_eq!(told(None, &[]), (vec![], json!("first-wins")));
    let policy = json!({"companyAnnouncements": ["secret-word"], "managedSourcesBehavior": "merge"});
    assert_eq!(told(Some(policy), &[]), (vec!["file".to_owned()], json!("merge")));
    let parent = ["--managed-settings", r#"{"permissions": {"deny": ["WebFetch"]}}"#];
    assert_eq!(told(None, &parent), (vec!["parent".to_owned()], json!("first-wins")));
    let policy = json!({"cleanupPeriodDays": 9, "managedSourcesBehavior": "nonsense"});
    assert_eq!(told(Some(policy), &parent), (vec!["file".to_owned(), "parent".to_owned()], json!("first-wins")));
}

/// A session under these settings of an administrator.
fn managed(policy: &Value, env: &[(&str, &str)]) -> Collector {
    let (collector, world) = (collector(), world(json!([say("ok")])));
    let folder = world.home().join("managed");
    std::fs::create_dir(&folder).unwrap();
    let policy = policy.to_string().replace("$COLLECTOR", &collector.url());
    std::fs::write(folder.join("managed-settings.json"), policy).unwrap();
    let run = exporting(&world, &collector.url()).env("RALPH_TEST_MANAGED_DIR", &folder.display().to_string());
    let run = env.iter().fold(run, |run, (name, value)| run.env(name, value));
    let outcome = finish(run.args(PRINT));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    collector
}

#[test]
fn what_the_administrators_settings_say_is_told_where_it_is_released() {
    let told = |policy: &Value, gate: &str| {
        let first = managed(policy, &[("OTEL_LOG_MANAGED_SETTINGS", gate)]).logs().remove(0);
        ["resolved_sha256", "settings", "settings_truncated"]
            .map(|name| attribute(&first, &format!("managed_settings.{name}")))
    };
    let policy = json!({"cleanupPeriodDays": 9, "env": {"A_NAME": "secret-word"}, "companyAnnouncements": ["secret-word"],
        "permissions": {"deny": ["Read(secret-word)"], "defaultMode": "plan"}, "unheardOf": true});
    assert_eq!(told(&policy, "0"), [Value::Null, Value::Null, Value::Null]);
    let [hash, settings, is_cut] = told(&policy, "1");
    let shown: Value = serde_json::from_str(settings.as_str().unwrap()).unwrap();
    let expected = json!({"cleanupPeriodDays": 9, "env": {"A_NAME": "[REDACTED]"},
        "companyAnnouncements": ["[REDACTED]"], "permissions": {"deny": ["Read([REDACTED])"], "defaultMode": "plan"}});
    assert_eq!((shown, is_cut), (expected, json!(false)));
    // By sha256sum, of the settings in one line without spaces, sorted by names.
    assert_eq!(hash, "6e0d974355c350c6cad72f7f6ee30e3dc78f9b131a0831058dedb4bc6729d984");
    let long = json!({"companyAnnouncements": vec!["a"; 2000]});
    let [_, settings, is_cut] = told(&long, "1");
    assert_eq!((settings.as_str().map(str::len), is_cut), (Some(8192), json!(true)));
}

#[test]
fn where_the_administrator_sends_it_nobody_sends_it_elsewhere() {
    let own = collector();
    let env = [
        ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", own.url()),
        ("ENABLE_BETA_TRACING_DETAILED", "1".to_owned()),
        ("BETA_TRACING_ENDPOINT", own.url()),
    ];
    let env: Vec<(&str, &str)> = env.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let theirs = managed(&json!({"env": {"OTEL_EXPORTER_OTLP_ENDPOINT": "$COLLECTOR"}}), &env);
    assert_eq!((theirs.batches().len(), own.batches().len()), (3, 0));
    let theirs = managed(&json!({"env": {"OTEL_EXPORTER_OTLP_TIMEOUT": "1000"}}), &env);
    assert_eq!((theirs.batches().len(), own.batches().len()), (1, 2), "no word about where it goes");
}

#[test]
fn the_repository_is_told_where_that_is_asked_for() {
    let told = |remote: Option<&str>, env: &[(&str, &str)]| {
        let (collector, world) = (collector(), world(json!([say("ok")])));
        if let Some(remote) = remote {
            let config = world.wd().join(".git/config");
            let more = format!("[remote \"origin\"]\n\turl = {remote}\n");
            std::fs::write(&config, std::fs::read_to_string(&config).unwrap() + &more).unwrap();
        }
        let run = env.iter().fold(exporting(&world, &collector.url()), |run, (name, value)| run.env(name, value));
        assert_eq!(finish(run.args(PRINT)).code, Some(0));
        let of = |record: &Value| ["url.full", "name"].map(|name| attribute(record, &format!("vcs.repository.{name}")));
        let event = of(&events(&collector, "user_prompt")[0]);
        assert_eq!(event, of(&points(&collector, "session.count")[0]));
        event
    };
    let remote = Some("git@github.com:Org/repo.git");
    let (on, nothing) = (("OTEL_METRICS_INCLUDE_REPOSITORY", "true"), [Value::Null, Value::Null]);
    assert_eq!(told(remote, &[]), nothing);
    assert_eq!(told(None, &[on]), nothing);
    assert_eq!(told(remote, &[on]), [json!("https://github.com/org/repo"), json!("repo")]);
    let name = ("OTEL_RESOURCE_ATTRIBUTES", "vcs.repository.name=mine");
    assert_eq!(told(remote, &[on, name]), [json!("https://github.com/org/repo"), json!("mine")]);
    let whole = ("OTEL_RESOURCE_ATTRIBUTES", "vcs.repository.url.full=mine");
    assert_eq!(told(remote, &[on, whole]), [json!("mine"), Value::Null]);
}

#[test]
fn the_plan_of_a_login_is_told_where_the_login_is_used() {
    let plan = |has_key: bool| {
        let (collector, world) = (collector(), world(json!([say("ok")])));
        let folder = world.home().join(".claude");
        std::fs::create_dir_all(&folder).unwrap();
        let login = json!({"claudeAiOauth": {
            "accessToken": "token-word", "expiresAt": "2099-01-01T00:00:00Z", "subscriptionType": "max"}});
        std::fs::write(folder.join(".credentials.json"), login.to_string()).unwrap();
        let run = exporting(&world, &collector.url());
        let run = if has_key { run } else { run.without_env("ANTHROPIC_API_KEY") };
        let outcome = finish(run.args(PRINT));
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        let records =
            [events(&collector, "api_request"), points(&collector, "cost.usage"), spans(&collector, "llm_request")];
        records.map(|records| attribute(&records[0], "anthropic.plan"))
    };
    assert_eq!(plan(false), [json!("max"), json!("max"), json!("max")]);
    assert_eq!(plan(true), [Value::Null, Value::Null, Value::Null]);
}

#[test]
fn detailed_tracing_has_spans_of_hooks_and_an_address_of_its_own() {
    let run = |env: &dyn Fn(&str) -> Vec<(&'static str, String)>| {
        let (all, detailed) = (collector(), collector());
        let world = world(json!([bash("echo hi"), say("ok")]));
        let env = env(&detailed.url());
        let run = env.iter().fold(exporting(&world, &all.url()), |run, (name, value)| run.env(name, value));
        let hook = |command: &str| json!([{"hooks": [{"type": "command", "command": command}]}]);
        let settings = json!({"hooks": {"PreToolUse": hook("exit 0"), "Stop": hook("exit 3")}});
        let args = ["--dangerously-skip-permissions", "--settings", &settings.to_string()];
        let outcome = finish(run.args(PRINT).args(args));
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        (all, detailed)
    };
    let switch = || ("ENABLE_BETA_TRACING_DETAILED", "1".to_owned());
    let (all, detailed) = run(&|url| vec![switch(), ("BETA_TRACING_ENDPOINT", url.to_owned())]);
    assert_eq!((all.logs().len(), all.spans().len(), detailed.metrics().len()), (0, 0, 0));
    assert!(!all.metrics().is_empty() && !detailed.logs().is_empty());
    let hooks = spans(&detailed, "hook");
    let told = |name: &str| hooks.iter().map(|span| attribute(span, name)).collect::<Vec<_>>();
    assert_eq!(told("hook_name"), ["PreToolUse:Bash", "Stop"]);
    assert_eq!((told("num_hooks"), told("num_success")), (vec![json!(1), json!(1)], vec![json!(1), json!(0)]));
    assert_eq!(told("num_non_blocking_error"), [0, 1]);
    let root = &spans(&detailed, "interaction")[0];
    assert!(hooks.iter().all(|span| span["parentSpanId"] == root["spanId"] && span["traceId"] == root["traceId"]));

    for env in [vec![switch()], vec![switch(), ("BETA_TRACING_ENDPOINT", String::new())]] {
        let (all, _) = run(&|_| env.clone());
        assert!(spans(&all, "hook").is_empty() && !spans(&all, "tool").is_empty(), "{env:?}");
    }
    let (all, detailed) = run(&|url| vec![("BETA_TRACING_ENDPOINT", url.to_owned())]);
    assert!(spans(&all, "hook").is_empty() && !all.logs().is_empty() && detailed.batches().is_empty());
}
