use super::*;
use std::os::unix::fs::symlink;

struct World {
    _dir: tempfile::TempDir,
    base: PathBuf,
    folders: ServedFolders,
}

fn world() -> World {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    std::fs::create_dir_all(base.join("w/src")).unwrap();
    std::fs::create_dir_all(base.join("w-evil")).unwrap();
    std::fs::write(base.join("secret"), "PRIVATE").unwrap();
    std::fs::write(base.join("w-evil/secret"), "PRIVATE").unwrap();
    std::fs::write(base.join("w/src/a.txt"), "fine").unwrap();
    symlink("src/a.txt", base.join("w/inside")).unwrap();
    symlink("src", base.join("w/door")).unwrap();
    symlink(base.join("secret"), base.join("w/absolute")).unwrap();
    symlink("../secret", base.join("w/relative")).unwrap();
    symlink("..", base.join("w/up")).unwrap();
    let folders = ServedFolders::new(vec![base.join("w")]);
    World { _dir: dir, base, folders }
}

fn status(result: Result<impl Sized, Problem>) -> u16 {
    result.map_or_else(|problem| problem.status.as_u16(), |_| 200)
}

#[test]
fn paths_outside_are_refused_by_text_and_by_the_kernel() {
    let world = world();
    let base = world.base.display();
    for (path, expected) in [
        ("src/a.txt".to_owned(), 200),
        ("./src/../src/a.txt".to_owned(), 200),
        (format!("{base}/w/src/a.txt"), 200),
        ("inside".to_owned(), 200),
        ("door/a.txt".to_owned(), 200),
        ("missing".to_owned(), 404),
        ("src".to_owned(), 400),
        ("../secret".to_owned(), 403),
        ("src/../../secret".to_owned(), 403),
        (format!("{base}/secret"), 403),
        (format!("{base}/w-evil/secret"), 403),
        (format!("{base}/w/../secret"), 403),
        ("/etc/passwd".to_owned(), 403),
        ("/../../etc/passwd".to_owned(), 403),
        ("/proc/self/root/etc/passwd".to_owned(), 403),
        ("absolute".to_owned(), 403),
        ("relative".to_owned(), 403),
        ("up/secret".to_owned(), 403),
        ("a\0b".to_owned(), 400),
    ] {
        let read = world.folders.place(&path).and_then(|served| served.read(1024));
        assert_eq!(status(read), expected, "{path:?}");
    }
}

#[test]
fn no_change_goes_through_a_link() {
    let world = world();
    let place = |path: &str| world.folders.place(path).unwrap();
    assert_eq!(status(place("up/new").write(b"x")), 403);
    assert_eq!(status(place("door/new").write(b"x")), 403);
    assert_eq!(status(place("up/made/deeper").make_folder()), 403);
    assert_eq!(status(place("up/secret").remove(true)), 403);
    assert_eq!(status(place("up/w-evil").remove(true)), 403);
    assert_eq!(status(place("src/a.txt").rename(&place("up/stolen"), true)), 403);
    // The link itself is replaced or removed, never what it leads to.
    place("absolute").write(b"mine").unwrap();
    place("relative").remove(false).unwrap();
    assert_eq!(std::fs::read_to_string(world.base.join("secret")).unwrap(), "PRIVATE");
    assert_eq!(std::fs::read_to_string(world.base.join("w/absolute")).unwrap(), "mine");
    assert!(!world.base.join("stolen").exists() && !world.base.join("made").exists());
}

#[test]
fn a_tree_is_deleted_without_following_its_links() {
    let world = world();
    let tree = world.base.join("w/tree/deep");
    std::fs::create_dir_all(&tree).unwrap();
    std::fs::write(tree.join("f"), "x").unwrap();
    symlink(world.base.join("w-evil"), tree.join("out")).unwrap();
    let place = |path: &str| world.folders.place(path).unwrap();
    assert_eq!(status(place("tree").remove(false)), 400);
    place("tree").remove(true).unwrap();
    assert!(!world.base.join("w/tree").exists());
    assert!(world.base.join("w-evil/secret").exists());
    assert_eq!(status(place(".").remove(true)), 403);
}

#[test]
fn files_are_written_moved_and_listed() {
    let world = world();
    let place = |path: &str| world.folders.place(path).unwrap();
    place("new/deeper/f.txt").write(b"one").unwrap();
    assert_eq!(place("new/deeper/f.txt").read(10).unwrap(), b"one");
    assert_eq!(status(place("new/deeper/f.txt").read(2)), 413);
    assert_eq!(status(place("new/deeper/f.txt").rename(&place("src/a.txt"), false)), 400);
    place("new/deeper/f.txt").rename(&place("src/a.txt"), true).unwrap();
    assert_eq!(place("src/a.txt").read(10).unwrap(), b"one");
    let names: Vec<String> = place(".").list().unwrap().into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["absolute", "door", "inside", "new", "relative", "src", "up"]);
    assert_eq!(place("src").stat().unwrap().kind, "directory");
    let stat = place("src/a.txt").stat().unwrap();
    assert_eq!((stat.kind, stat.size), ("file", 3));
}

#[test]
fn a_named_pipe_is_not_waited_for() {
    let world = world();
    let path = world.base.join("w/fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    assert_eq!(status(world.folders.place("fifo").unwrap().read(10)), 400);
}
