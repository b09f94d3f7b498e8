//! What is told of a session when it begins: the administrator's settings, the plan of a login; and detailed tracing.

use super::{PRINT, attribute, collector, events, exporting, names, points, spans};
use crate::common::{bash, finish, say, world};
use serde_json::{Value, json};

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
