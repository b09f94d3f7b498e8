//! Agents that fail, each in its own way.

use crate::world::{PROMISE, folder, looped, of, outcomes, told, verdict};

#[test]
fn a_result_and_then_no_end_counts_as_a_result() {
    let world = folder();
    let script = format!("hear; work; result '{PROMISE}'; trap '' TERM; sleep 3 & wait; exit 0");
    let (outcome, events) = told(looped(&world, &script, &["5"]));
    assert_eq!((outcome.code, outcomes(&events)), (Some(0), vec!["done".to_owned()]));
}

/// Longer than an agent may take to exit after its last result.
#[test]
fn an_agent_whose_own_agents_still_work_is_waited_for_and_its_last_result_counts() {
    let world = folder();
    let script = format!(
        r#"hear; work
        echo '{{"type":"system","subtype":"background_tasks_changed","tasks":[{{"task_id":"a1","task_type":"local_agent","description":"d"}}]}}'
        result 'an agent is at work'; sleep 11
        echo '{{"type":"system","subtype":"background_tasks_changed","tasks":[]}}'
        echo '{{"type":"system","subtype":"init","session_id":"s"}}'
        result '{PROMISE}'"#
    );
    let (outcome, events) = told(looped(&world, &script, &["1"]));
    assert_eq!((outcome.code, outcomes(&events)), (Some(0), vec!["done".to_owned()]), "{}", outcome.stderr);
}

#[test]
fn seed_001_malformed_lines_and_unknown_events_are_survived() {
    let world = folder();
    let script = format!(
        r#"hear; work; say hi; echo '{{"type":"assistant","mess'; echo 'plain noise'; printf '\377\376\n'
        echo '{{"type":"hologram","n":1}}'; result '{PROMISE}'"#
    );
    let (outcome, events) = told(looped(&world, &script, &[]));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let about_lines = of(&events, "warning").into_iter().filter(|warning| !warning["iteration"].is_null());
    assert_eq!(about_lines.count(), 3);
    assert!(of(&events, "agent").iter().any(|event| event["line"]["type"] == "hologram"));
}

#[test]
fn three_failures_in_a_row_end_the_run_and_on_failure_stop_ends_it_at_once() {
    for (words, count) in [(&[][..], 3), (&["--max-failures", "2"], 2), (&["--on-failure", "stop"], 1)] {
        let world = folder();
        let (outcome, events) = told(looped(&world, "exit 9", words));
        assert_eq!((outcome.code, verdict(&events).0), (Some(1), "failed".into()), "{words:?}");
        assert_eq!(outcomes(&events).len(), count, "{words:?}");
    }
}

#[test]
fn refused_credentials_and_a_missing_program_are_not_tried_again() {
    let world = folder();
    let (outcome, events) = told(looped(&world, "hear; failure 'Invalid API key · Please run /login'; exit 1", &[]));
    assert_eq!((outcome.code, outcomes(&events)), (Some(1), vec!["credentials".to_owned()]));
    let (missing, _) = told(crate::world::ralph(&world, &["--backend", "./nothing"]));
    assert_eq!(missing.code, Some(1));
    assert!(missing.stderr.contains("./nothing is not a program"), "{}", missing.stderr);
}

#[test]
fn seed_001_a_long_prompt_goes_by_file_where_it_would_be_an_argument() {
    let world = folder();
    std::fs::write(world.wd().join(".ralph/prompt.md"), "y".repeat(8_000)).unwrap();
    let (outcome, _) = told(looped(&world, &format!("echo '{PROMISE}'"), &["--output-format", "text"]));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let args = std::fs::read_to_string(world.home().join("args")).unwrap();
    let path = args.split_whitespace().find(|word| word.contains("prompt_1.md")).expect("a file").to_owned();
    assert!(std::fs::read_to_string(path).unwrap().contains("yyyy"));
}
