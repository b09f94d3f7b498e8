//! Bad input gets a clear error and changes nothing.

use crate::world::Goals;

#[test]
fn mistakes_are_said_and_change_nothing() {
    let goals = Goals::new();
    for (words, expected) in [
        (&["goal", "show", "7"][..], "error: there is no goal 7. 'ralph goal list --all' shows the goals."),
        (&["goal", "cancel", "7"], "error: there is no goal 7. 'ralph goal list --all' shows the goals."),
        (&["goal", "add", "x", "--after", "7"], "error: there is no goal 7. 'ralph goal list --all' shows the goals."),
        (&["goal", "add"], "error: a goal needs a text: ralph goal add \"Make the parser accept CRLF\"."),
        (
            &["goal", "add", "x", "--repo", "https://127.0.0.1:9/x", "--base", "main"],
            "error: agents would work in https://127.0.0.1:9/x on their own; say --trust if you trust what is in it.",
        ),
        (&["goal", "import", "nothing.md"], "cannot be read"),
        (&["goal", "wrok"], "error: 'ralph goal wrok' is unknown."),
        (&["work", "now"], "error: 'ralph work' takes options only, and 'now' is none."),
        (&["board"], "error: 'ralph board' needs a terminal. 'ralph goal list --all' prints the goals."),
    ] {
        let said = goals.refused(words);
        assert!(said.contains(expected), "{words:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    let gone = goals.refused(&["goal", "add", "x", "--base", "gone"]);
    assert!(gone.contains("has no branch 'gone'"), "{gone}");
    let nowhere = goals.refused(&["goal", "add", "x", "--repo", "/nowhere"]);
    assert!(nowhere.contains("/nowhere cannot be cloned: there is no such folder"), "{nowhere}");
    let refused = goals.refused(&["goal", "add", "x", "--repo", "https://127.0.0.1:9/x", "--base", "main", "--trust"]);
    assert!(refused.contains("cannot be cloned"), "{refused}");
    assert_eq!(goals.all().len(), 0, "nothing was made");
}

#[test]
fn a_folder_that_nobody_vouched_for_gets_no_goals() {
    let goals = Goals::new();
    std::fs::write(goals.world.home().join(".claude.json"), "{}").unwrap();
    let said = goals.refused(&["goal", "add", "x"]);
    assert!(said.contains("is not trusted") && said.contains("ralph trust"), "{said}");
}

#[test]
fn a_store_that_cannot_be_used_says_which_and_never_shows_a_password() {
    let mut goals = Goals::new();
    for (store, expected) in [
        ("postgres://me:geheim@127.0.0.1:9/db", "the store postgres://me@127.0.0.1:9/db cannot be reached"),
        ("postgres://me:geheim@:no/db", "cannot be read; it looks like postgres://"),
        ("/proc/nothing/goals.db", "/proc/nothing"),
    ] {
        goals.store = Some(store.to_owned());
        let said = goals.refused(&["goal", "list"]);
        assert!(said.contains(expected) && !said.contains("geheim"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}
