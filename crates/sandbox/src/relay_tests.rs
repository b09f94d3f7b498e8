use super::*;

fn address(name: &[u8]) -> Vec<u8> {
    [&(libc::AF_UNIX as libc::sa_family_t).to_ne_bytes(), name].concat()
}

#[test]
fn only_the_path_of_the_daemon_is_meant() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    std::fs::create_dir_all(root.join("w/.beads/deeper")).unwrap();
    std::os::unix::fs::symlink(root.join("w"), root.join("link")).unwrap();
    std::os::unix::fs::symlink(root.join("w/.beads/bd.sock"), root.join("w/bd.sock")).unwrap();
    let socket = root.join("w/.beads/bd.sock");
    let absolute = |path: &str| root.join(path).into_os_string().into_encoded_bytes();
    let with_end = |mut path: Vec<u8>| {
        path.push(0);
        path
    };
    for (name, meant) in [
        (absolute("w/.beads/bd.sock"), true),
        (with_end(absolute("w/.beads/bd.sock")), true),
        ([with_end(absolute("w/.beads/bd.sock")), b"/tail".to_vec()].concat(), true),
        (absolute("link/.beads/bd.sock"), true),
        (b".beads/bd.sock".to_vec(), true),
        (b"./.beads/../.beads/deeper/../bd.sock".to_vec(), true),
        (b"bd.sock".to_vec(), false),
        (b".beads/bd.sock/".to_vec(), false),
        (b".beads/bd.sock2".to_vec(), false),
        (b".beads/deeper/bd.sock".to_vec(), false),
        (b".beads".to_vec(), false),
        (b"..".to_vec(), false),
        (Vec::new(), false),
        (vec![0], false),
        ([vec![0], absolute("w/.beads/bd.sock")].concat(), false),
        (absolute("other/bd.sock"), false),
        (b"/run/docker.sock".to_vec(), false),
        (b"/run/bd.sock".to_vec(), false),
        (vec![0xff; 108], false),
    ] {
        let shown = String::from_utf8_lossy(&name).into_owned();
        assert_eq!(is_meant(&address(&name), &root.join("w"), &socket), meant, "{shown}");
    }
    let internet = [&(libc::AF_INET as libc::sa_family_t).to_ne_bytes()[..], &absolute("w/.beads/bd.sock")].concat();
    assert!(!is_meant(&internet, &root, &socket));
    for torn in 0..2 {
        assert!(!is_meant(&address(b"")[..torn], &root, &socket));
    }
}
