//! Which commands may leave the sandbox, by the settings. Pure.
//!
//! Who asks for a sandbox by a flag, as a loop does, asks for one without holes: then only what people say who are
//! not the folder opens one. The administrator closes all but those of their own.

use super::texts;
use serde_json::Value;
use settings::Settings;
use tools::{Exits, OnRequest};

pub fn find(settings: &Settings, by_flag: bool) -> Exits {
    let of = |from: &Value, key: &str| from["sandbox"][key].clone();
    let heard = if by_flag { &settings.personal } else { &settings.merged };
    let closed = of(&settings.managed, "allowUnsandboxedCommands") == Value::Bool(false);
    let excluded = of(if closed { &settings.managed } else { heard }, "excludedCommands");
    // Any no counts, a yes only from those who are heard.
    let refused = of(&settings.merged, "allowUnsandboxedCommands") == Value::Bool(false);
    let on_request = match of(heard, "allowUnsandboxedCommands") {
        _ if closed || refused => OnRequest::Never,
        Value::Bool(true) => OnRequest::Permitted,
        Value::Null if !by_flag => OnRequest::Asked,
        _ => OnRequest::Never,
    };
    Exits::new(&texts(&excluded), on_request)
}

#[cfg(test)]
mod tests {
    use super::OnRequest::{Asked, Never, Permitted};
    use super::*;
    use serde_json::json;

    fn settings(folder: &Value, personal: &Value, managed: &Value) -> Settings {
        let block = |value: &Value| json!({"sandbox": value});
        let mut merged = json!({});
        for layer in [folder, personal, managed] {
            for (key, value) in layer.as_object().unwrap() {
                merged[key] = value.clone();
            }
        }
        let mut beyond = personal.clone();
        beyond.as_object_mut().unwrap().extend(managed.as_object().unwrap().clone());
        Settings { merged: block(&merged), personal: block(&beyond), managed: block(managed), ..Settings::default() }
    }

    #[test]
    fn who_opens_and_who_closes() {
        let (none, yes) = (json!({}), json!({"allowUnsandboxedCommands": true}));
        let no = json!({"allowUnsandboxedCommands": false});
        for (folder, personal, managed, by_settings, by_flag) in [
            (&none, &none, &none, Asked, Never),
            (&yes, &none, &none, Permitted, Never),
            (&none, &yes, &none, Permitted, Permitted),
            (&none, &no, &none, Never, Never),
            (&none, &yes, &no, Never, Never),
            (&none, &no, &yes, Permitted, Permitted),
        ] {
            let settings = settings(folder, personal, managed);
            let found = (find(&settings, false).on_request, find(&settings, true).on_request);
            assert_eq!(found, (by_settings, by_flag), "{folder} {personal} {managed}");
        }
    }

    #[test]
    fn exclusions_count_from_those_who_are_heard() {
        let list = json!({"excludedCommands": ["docker"]});
        let strict = json!({"allowUnsandboxedCommands": false});
        let both = json!({"allowUnsandboxedCommands": false, "excludedCommands": ["podman"]});
        let none = json!({});
        for (folder, personal, managed, by_settings, by_flag) in [
            (&list, &none, &none, true, false),
            (&none, &list, &none, true, true),
            (&none, &list, &strict, false, false),
            (&none, &list, &both, false, false),
        ] {
            let settings = settings(folder, personal, managed);
            let covers = |by_flag| find(&settings, by_flag).excludes("docker ps");
            assert_eq!((covers(false), covers(true)), (by_settings, by_flag), "{folder} {personal} {managed}");
        }
        assert!(find(&settings(&none, &none, &both), true).excludes("podman ps"));
    }
}
