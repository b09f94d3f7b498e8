//! Ordinary work, inside.

use crate::world::World;

fn works(world: &World, script: &str) {
    let said = world.inside(&world.sandbox(), script);
    assert!(said.ok, "{script}\n{}", said.text);
}

#[test]
fn files_and_folders() {
    let world = World::new();
    works(&world, "mkdir -p a/b && echo x > a/b/c && mv a d && cp -r d e && rm -rf d && ln -s e f && cat f/b/c");
    works(&world, "t=$(mktemp) && echo x > $t && mv $t here && ln here there && chmod 600 there && rm here there");
    works(
        &world,
        "echo x > /dev/null; echo y > /dev/stderr; echo z > /dev/stdout; : < /dev/null; head -c1 /dev/urandom",
    );
    works(&world, "mkfifo p; (echo x > p &); cat p; rm p");
    works(&world, "echo x > ~/.cache/thing; cat ~/.bashrc; ls ~ /etc > /dev/null");
}

#[test]
fn git() {
    let world = World::with_git();
    works(&world, "echo x > new && git add -A && git commit -qm second && git log --oneline | grep second");
    works(
        &world,
        "git checkout -qb side && echo y > y && git add y && git commit -qm y && git checkout -q - && git merge -q side",
    );
    works(
        &world,
        "git stash list; git tag t; git branch -d side; git gc -q; git worktree add -q ../temp/wt && git -C ../temp/wt status",
    );
    works(
        &world,
        "git rebase -q HEAD~1 || git rebase --abort; git reset -q --hard HEAD; git clean -fdq; test -z \"$(git status --porcelain)\"",
    );
}

#[test]
fn git_in_a_worktree_and_from_below() {
    let world = World::with_git();
    assert!(world.free("mkdir -p deep/er && touch deep/er/x && git worktree add -q ../linked").ok);
    let rules = |folder: &str| ralph_sandbox::Request { roots: vec![world.at(folder)], ..world.request() }.rules();
    for folder in ["linked", "work/deep/er"] {
        let sandbox = ralph_sandbox::Sandbox::new(rules(folder)).unwrap();
        let here = world.at(folder).display().to_string();
        let said = world.inside(
            &sandbox,
            &format!("cd {here} && echo x > made && git add made && git commit -qm {}", folder.len()),
        );
        assert!(said.ok, "{folder}: {}", said.text);
        let said = world.inside(&sandbox, &format!("cd {here} && git config core.x y"));
        assert!(!said.ok, "{folder}: {}", said.text);
    }
}

#[test]
fn a_repository_of_its_own() {
    let world = World::new();
    works(&world, "git init -q made && cd made && git config user.x y && git commit -q --allow-empty -m x");
}

/// Compilers and interpreters, where the machine has them.
#[test]
fn builds() {
    let world = World::new();
    works(&world, "command -v cc >/dev/null || exit 0; cc -o src/main src/main.c && src/main");
    works(
        &world,
        "command -v python3 >/dev/null || exit 0; printf 'import tempfile, subprocess, threading, json\\n\
         print(tempfile.mkdtemp(), subprocess.check_output([\"echo\", \"x\"]))' > a.py && python3 a.py",
    );
    works(
        &world,
        "command -v node >/dev/null || exit 0; echo 'require(\"child_process\").execSync(\"echo x > y\")' > a.js && node a.js && cat y",
    );
}

#[test]
fn jobs_and_pipelines() {
    let world = World::new();
    works(
        &world,
        "for i in 1 2 3; do (sleep 0.05; echo $i > out$i) & done; wait; cat out1 out2 out3 | sort | tail -1 | grep 3",
    );
    works(&world, "trap 'exit 0' TERM; kill -TERM $$; exit 1");
}

/// An agent gives each command a file for its output and one for notes; both may lie where nothing else
/// may be written.
#[test]
fn files_that_are_written_for_the_agent() {
    let world = World::new();
    let sandbox = world.sandbox();
    for folder in ["outside", "work/.claude", "home/.claude"] {
        std::fs::create_dir_all(world.at(folder)).unwrap();
        let (note, other) = (world.at(folder).join("note"), world.at(folder).join("other"));
        for file in [&note, &other] {
            std::fs::write(file, "old\n").unwrap();
        }
        let script = format!("echo new >| {}; echo new > {}", note.display(), other.display());
        world.inside_with(&sandbox, &script, std::slice::from_ref(&note));
        let texts = [note, other].map(|file| std::fs::read_to_string(file).unwrap());
        assert_eq!(texts, ["new\n", "old\n"], "{folder}");
    }
}

/// Interpreters and virtual machines make more kinds of system calls than shells do: threads, shared memory, pools of
/// processes, their own compilers. Those that are installed are tried.
#[test]
fn interpreters_and_virtual_machines() {
    let world = World::new();
    let java = "class Main { public static void main(String[] a) throws Exception { var t = new Thread(() -> {}); \
                t.start(); t.join(); System.out.println(ProcessHandle.current().pid() > 0); } }";
    std::fs::write(world.at("work/Main.java"), java).unwrap();
    let python = "import multiprocessing as m, threading, tempfile, socket, subprocess\nimport concurrent.futures as f\n\
                  if __name__ == '__main__':\n  print(m.Pool(2).map(abs, [-1, 2]))\n  \
                  print(subprocess.run(['true']).returncode, socket.socketpair(), tempfile.mkdtemp())\n";
    std::fs::write(world.at("work/pool.py"), python).unwrap();
    let node = "const {Worker} = require('worker_threads'); const c = require('child_process'); \
                console.log(c.execSync('echo x').toString(), require('os').tmpdir()); \
                require('fs').mkdtempSync(require('os').tmpdir() + '/x'); \
                new Worker('process.exit(0)', {eval: true}).on('exit', (code) => process.exit(code));";
    std::fs::write(world.at("work/all.js"), node).unwrap();
    let request = ralph_sandbox::Request { temp: vec![world.at("temp"), "/dev/shm".into()], ..world.request() };
    let sandbox = ralph_sandbox::Sandbox::new(request.rules()).unwrap();
    for (program, script) in [
        ("node", "node all.js"),
        ("java", "java -XX:TieredStopAtLevel=1 Main.java"),
        ("python3", "python3 pool.py"),
        ("perl", "perl -e 'my $p = fork(); exit 0 unless $p; waitpid $p, 0; print \"x\\n\"'"),
        ("make", "printf 'all:\\n\\techo x > made\\n' > Makefile && make -j2"),
        ("tar", "tar cf a.tar src && tar tf a.tar && gzip -kf a.tar"),
        ("find", "find . -name '*.c' | xargs -n1 -P2 wc -l"),
    ] {
        if world.free(&format!("command -v {program} && ({script})")).ok {
            let said = world.inside(&sandbox, script);
            assert!(said.ok, "{program}: {}", said.text);
        }
    }
}
