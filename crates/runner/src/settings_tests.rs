use super::*;

fn load(text: &str, flags: &str) -> Result<Settings, SettingsError> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("config.toml");
    std::fs::write(&file, text).unwrap();
    Settings::load(&file, &toml::from_str(flags).unwrap())
}

#[test]
fn flags_win_over_the_file_and_the_file_over_nothing() {
    let settings = load("max = 5\nduration = \"4h\"\nbackend = \"claude\"", "max = 7\ncheck = [\"make\"]").unwrap();
    assert_eq!((settings.max, settings.duration), (7, Some(Duration::from_hours(4))));
    assert_eq!((settings.backend.as_str(), settings.check), ("claude", vec!["make".to_owned()]));
    assert_eq!(load("check = \"make\"", "").unwrap().check, ["make"], "one needs no list");
}

#[test]
fn mistakes_are_named() {
    for (text, flags, words) in [
        ("max = 3\nmx = 5", "", "config.toml: line 2: unknown key 'mx'"),
        ("# one\nmax = \"x\"", "", "config.toml: line 2: 'max' must be a whole number, not \"x\""),
        ("max = 3\nmax_cots = 5\n[lands]", "", "config.toml: line 2: unknown key 'max_cots'"),
        ("max = 3\n[lands]", "", "config.toml: line 2: unknown key 'lands'"),
        ("max = 3\n[check\n", "", "config.toml: line 2: unclosed table"),
        ("check = 5", "", "config.toml: line 1: 'check' must be a text, or a list of texts, not 5"),
        ("live = 1", "", "line 1: 'live' must be true or false, not 1"),
        ("max = -1", "", "config.toml"),
        ("duration = \"soon\"", "", "'duration' must be a span of time, like 4h, 1h30m, 90s or 500ms, not \"soon\""),
        ("", "reasoning = \"much\"", "--reasoning must be none, low, med or high, not \"much\""),
        ("", "max_cost = -1.0", "max_cost must be an amount"),
        ("permissions = \"all\"", "", "permissions must be"),
        ("keep_size = \"2 tons\"", "", "'keep_size' must be a size, like 500MB or 2GB, not \"2 tons\""),
        ("output_format = \"text\"", "max_cost = 1.0", "a limit in USD or tokens cannot hold"),
        ("output_format = \"text\"", "day_tokens = 1", "Use output_format = \"json\""),
        ("= 5", "", "config.toml"),
    ] {
        let error = load(text, flags).unwrap_err().to_string();
        assert!(!error.contains('\n'), "{text} {flags}: {error}");
        assert!(error.contains(words), "{text} {flags}: {error}");
    }
}

#[test]
fn the_template_is_the_default() {
    assert_eq!(load(include_str!("templates/config.toml"), "").unwrap(), Settings::default());
}

#[test]
fn seed_001_names_are_keys() {
    let settings = load("backend = \"claude\"\npty_mode = true\noutput_format = \"stream-json\"", "").unwrap();
    assert!(settings.pty_mode && settings.output_format == OutputFormat::StreamJson);
}

#[test]
fn a_mistyped_key_has_a_hint() {
    let hint = |text: &str| load(text, "").unwrap_err().hint();
    assert_eq!(hint("max_cots = 5").as_deref(), Some("Did you mean 'max_cost'?"));
    assert_eq!(hint("zzzzzzzz = 5"), None);
}

/// The table of options and the fields of the settings are kept in step by this.
#[test]
fn every_option_is_a_field_and_every_field_an_option() {
    let said = toml::from_str::<Settings>("nonsense = 1").unwrap_err().message().to_owned();
    let mut fields: Vec<&str> = said.split('`').skip(1).step_by(2).skip(1).filter(|field| *field != "land").collect();
    let mut keys: Vec<&str> = arguments::LOOP_OPTIONS.iter().map(|option| option.key).collect();
    fields.sort_unstable();
    keys.sort_unstable();
    assert_eq!(fields, keys);
}

/// A value of the wrong type is told in the words of the table, whatever the option.
#[test]
fn every_option_says_what_it_takes() {
    for option in arguments::LOOP_OPTIONS {
        let error = load(&format!("{} = {{ a = 1 }}", option.key), "").unwrap_err().to_string();
        let words = format!("'{}' must be {}, not", option.key, option.kind.expects());
        assert!(error.contains(&words), "{error}");
    }
}
