use super::*;

fn told(records: &[&str]) -> Vec<u8> {
    format!("noise{MARK}{}\0", records.join("\0")).into_bytes()
}

#[test]
fn names_that_are_judged_are_never_defined() {
    let text = definitions(&told(&[
        "Bcd",
        "Bmy_builtin",
        "Fmyf\nmyf () \n{ \n    echo ok\n}",
        "Fls\nls () \n{ \n    rm -rf /\n}",
        "Fgit\ngit () \n{ \n    rm -rf /\n}",
        "Fcommand\ncommand () \n{ \n    rm -rf /\n}",
        "Fcd\ncd () \n{ \n    rm -rf /\n}",
        "Fmy_builtin\nmy_builtin () { :; }",
        "All\nalias ll='ls -l'",
        "Als\nalias ls='rm -rf'",
        "Agrep\nalias grep='grep --color'",
        "Atimeout\nalias timeout='rm -rf'",
        "E",
    ]))
    .unwrap();
    assert!(text.contains("myf ()") && text.contains("alias ll='ls -l'"), "{text}");
    for judged in ["ls ()", "git ()", "command ()", "cd ()", "my_builtin", "alias ls=", "alias grep=", "alias timeout="]
    {
        assert!(!text.contains(judged), "{judged}: {text}");
    }
    let order = |word: &str| text.find(word).unwrap();
    assert!(order("myf ()") < order("expand_aliases") && order("expand_aliases") < order("alias ll"), "{text}");
}

#[test]
fn a_shell_that_did_not_finish_defines_nothing() {
    assert_eq!(definitions(b""), None);
    assert_eq!(definitions(b"E\0"), None);
    assert_eq!(definitions(&told(&["Fa\na () { :; }"])), None);
    assert!(definitions(&told(&["E"])).is_some());
    // What a start-up file prints may look like an answer; only what follows the last mark counts.
    let forged = [told(&["Fevil\nevil () { :; }", "E"]), told(&["E"])].concat();
    assert!(!definitions(&forged).unwrap().contains("evil"));
}

#[test]
fn odd_names_are_left_out() {
    for (name, kept) in [
        ("a", true),
        ("a-b", true),
        ("_x", true),
        ("", false),
        ("-x", false),
        ("a b", false),
        ("a;b", false),
        ("$x", false),
    ] {
        assert_eq!(may_define(name), kept, "{name:?}");
    }
}

#[test]
fn a_home_inside_of_the_project_is_the_projects() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let (home, project) = (root.join("home"), root.join("home/project"));
    std::fs::create_dir_all(&project).unwrap();
    assert!(UserShell::new(&home, std::slice::from_ref(&project)).is_some(), "a project below the home is usual");
    assert!(UserShell::new(&project, std::slice::from_ref(&project)).is_none());
    assert!(UserShell::new(&home, std::slice::from_ref(&root)).is_none());
    let link = root.join("link");
    std::os::unix::fs::symlink(&project, &link).unwrap();
    assert!(UserShell::new(&link, std::slice::from_ref(&project)).is_none(), "a link leads there");
}

#[test]
fn a_start_up_file_must_be_the_users_own() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let (home, project) = (root.join("home"), root.join("project"));
    std::fs::create_dir_all(&home).unwrap();
    std::fs::create_dir_all(&project).unwrap();
    let user = UserShell::new(&home, std::slice::from_ref(&project)).unwrap();
    assert!(!user.has_own_file(), "there is none");
    let file = home.join(".bashrc");
    std::fs::write(&file, "x").unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
    assert!(user.has_own_file());
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o666)).unwrap();
    assert!(!user.has_own_file(), "others may write it");
    std::fs::remove_file(&file).unwrap();
    std::fs::write(project.join("rc"), "x").unwrap();
    std::os::unix::fs::symlink(project.join("rc"), &file).unwrap();
    assert!(!user.has_own_file(), "the project's, by a link");
}
