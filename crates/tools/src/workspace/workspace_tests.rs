use super::*;
use crate::testing::Bench;
use proptest::prelude::*;
use std::os::unix::fs::{PermissionsExt as _, symlink};

fn workspace(bench: &Bench) -> &Workspace {
    &bench.ctx.workspace
}

#[test]
fn paths_in_all_spellings() {
    let bench = Bench::new(&[("a/f", "x")]);
    let root = bench.root();
    symlink(root.join("a"), root.join("link")).unwrap();
    symlink("link/f", root.join("far")).unwrap();
    for (given, shown, real) in [
        ("a/f", "a/f", "a/f"),
        ("./a//f", "a/f", "a/f"),
        ("a/../a/f", "a/f", "a/f"),
        ("link/f", "link/f", "a/f"),
        ("link/../a/f", "a/f", "a/f"),
        ("far", "far", "a/f"),
        ("link/new/x", "link/new/x", "a/new/x"),
        ("gone/../a/f", "a/f", "a/f"),
        ("~/x", "home/x", "home/x"),
    ] {
        let target = workspace(&bench).resolve(given).unwrap();
        assert_eq!((target.given, target.real), (root.join(shown), root.join(real)), "{given}");
    }
}

#[test]
fn paths_that_are_none() {
    let bench = Bench::new(&[]);
    symlink("two", bench.root().join("one")).unwrap();
    symlink("one", bench.root().join("two")).unwrap();
    assert_eq!(workspace(&bench).resolve(""), Err(PathError::Empty));
    assert_eq!(workspace(&bench).resolve("a\0b"), Err(PathError::Nul("a\0b".into())));
    assert!(matches!(workspace(&bench).resolve("one"), Err(PathError::TooManyLinks(_))));
    let homeless = Workspace::new(bench.root(), Vec::new(), None);
    assert_eq!(homeless.resolve("~/x"), Err(PathError::NoHome("~/x".into())));
}

/// CVE class: directory checks by string prefix.
#[test]
fn a_folder_with_the_same_beginning_is_outside() {
    let bench = Bench::new(&[("w/f", ""), ("w-evil/f", "")]);
    let workspace = Workspace::new(bench.root().join("w"), vec![bench.root().join("added")], None);
    for (given, inside) in [
        ("f", true),
        (".", true),
        ("../w-evil/f", false),
        ("..", false),
        ("../added/deep/f", true),
        ("../added-not/f", false),
    ] {
        let target = workspace.resolve(given).unwrap();
        assert_eq!(workspace.contains(&target.real), inside, "{given}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_proc_file_system_is_no_way_around() {
    let bench = Bench::new(&[("secret/x", "")]);
    let real = bench.root().join("secret/x");
    let target = workspace(&bench).resolve(&format!("/proc/self/root{}", real.display())).unwrap();
    assert_eq!(target.real, real);
}

#[test]
fn a_link_planted_after_the_check_is_refused() {
    let bench = Bench::new(&[("dir/f", "harmless"), ("secret", "secret"), ("other/f", "secret")]);
    let root = bench.root();
    let target = workspace(&bench).resolve("dir/f").unwrap();
    std::fs::remove_file(root.join("dir/f")).unwrap();
    symlink(root.join("secret"), root.join("dir/f")).unwrap();
    assert!(workspace(&bench).open_read(&target).is_err());
    std::fs::remove_dir_all(root.join("dir")).unwrap();
    symlink(root.join("other"), root.join("dir")).unwrap();
    assert!(workspace(&bench).open_read(&target).is_err());
    assert!(workspace(&bench).replace(&target, b"new", None).is_err());
    assert_eq!(bench.file("secret"), b"secret");
    assert_eq!(bench.file("other/f"), b"secret");
}

#[test]
fn replacing_refuses_what_it_did_not_expect() {
    let bench = Bench::new(&[("f", "old"), ("g", "old")]);
    let target = workspace(&bench).resolve("f").unwrap();
    assert!(workspace(&bench).replace(&target, b"new", None).is_err(), "it exists");
    let stamp = Stamp::of(&std::fs::metadata(&target.real).unwrap());
    std::fs::rename(bench.root().join("g"), bench.root().join("f")).unwrap();
    assert!(workspace(&bench).replace(&target, b"new", Some(&stamp)).is_err(), "it is another file");
    std::fs::remove_file(&target.real).unwrap();
    assert!(workspace(&bench).replace(&target, b"new", Some(&stamp)).is_err(), "it is gone");
    assert!(!target.real.exists());
    let left: Vec<_> = std::fs::read_dir(bench.root()).unwrap().collect();
    assert!(left.is_empty(), "temporary files are cleaned up: {left:?}");
}

#[test]
fn replacing_keeps_the_mode_and_creates_folders() {
    let bench = Bench::new(&[("run.sh", "old")]);
    let target = workspace(&bench).resolve("run.sh").unwrap();
    std::fs::set_permissions(&target.real, std::fs::Permissions::from_mode(0o751)).unwrap();
    let stamp = Stamp::of(&std::fs::metadata(&target.real).unwrap());
    let after = workspace(&bench).replace(&target, b"new", Some(&stamp)).unwrap();
    let meta = std::fs::metadata(&target.real).unwrap();
    assert_eq!(meta.permissions().mode() & 0o7777, 0o751);
    assert!(after.same_state(&Stamp::of(&meta)));
    let deep = workspace(&bench).resolve("x/y/z").unwrap();
    workspace(&bench).replace(&deep, b"deep", None).unwrap();
    assert_eq!(bench.file("x/y/z"), b"deep");
}

#[cfg(target_os = "linux")]
#[test]
fn special_files_are_refused_at_once() {
    let bench = Bench::new(&[]);
    let pipe = bench.root().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600), 0)
        .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(bench.root().join("socket")).unwrap();
    for (path, name) in [("pipe", "named pipe"), ("socket", "socket"), ("/dev/zero", "character device")] {
        let target = workspace(&bench).resolve(path).unwrap();
        let error = workspace(&bench).open_read(&target).unwrap_err();
        assert!(error.to_string().contains(name), "{path}: {error}");
    }
}

#[test]
fn paths_are_shown_relative_to_the_working_folder() {
    let bench = Bench::new(&[("src/lib.rs", "")]);
    let root = bench.root();
    assert_eq!(workspace(&bench).display(&root.join("src/lib.rs")), "src/lib.rs");
    assert_eq!(workspace(&bench).display(Path::new("/etc/passwd")), "/etc/passwd");
    assert_eq!(workspace(&bench).display(&root), root.display().to_string());
    workspace(&bench).set_cwd(root.join("src"));
    assert_eq!(workspace(&bench).display(&root.join("src/lib.rs")), "lib.rs");
    assert_eq!(workspace(&bench).resolve("lib.rs").unwrap().real, root.join("src/lib.rs"));
    assert_eq!(workspace(&bench).project(), root);
}

proptest! {
    /// Whatever the spelling, what is opened is what `realpath` says.
    #[test]
    fn real_paths_agree_with_the_kernel(parts in proptest::collection::vec("(a|b|l|\\.|\\.\\.)", 1..8)) {
        let bench = Bench::new(&[("a/b/a/b/f", ""), ("b/a/f", "")]);
        symlink("../b", bench.root().join("a/l")).unwrap();
        symlink("a/b", bench.root().join("l")).unwrap();
        let given = bench.root().join(parts.join("/"));
        let target = workspace(&bench).resolve(given.to_str().unwrap()).unwrap();
        if let Ok(real) = given.canonicalize() {
            prop_assert_eq!(target.real, real);
        }
    }
}
