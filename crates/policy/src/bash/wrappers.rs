//! Programs that start another program named among their arguments.

pub(super) struct Wrapper {
    pub(super) name: &'static str,
    /// Flags that take the next word.
    pub(super) valued: &'static [&'static str],
    /// Words of its own before the command, such as a duration.
    pub(super) own: usize,
    /// May be opened to allow what is inside.
    pub(super) transparent: bool,
}

const fn wrapper(name: &'static str, valued: &'static [&'static str], own: usize, transparent: bool) -> Wrapper {
    Wrapper { name, valued, own, transparent }
}

/// Sorted by name.
const WRAPPERS: [Wrapper; 104] = [
    wrapper("-", &[], 0, false),
    wrapper("asdf", &[], 1, false),
    wrapper("aws-vault", &[], 2, false),
    wrapper("builtin", &[], 0, true),
    wrapper("bundle", &[], 1, false),
    wrapper("bunx", &[], 0, false),
    wrapper("busybox", &[], 0, false),
    wrapper("bwrap", &[], 0, false),
    wrapper("cabal", &[], 1, false),
    wrapper("caffeinate", &["-t", "-w"], 0, false),
    wrapper("capsh", &[], 0, false),
    wrapper("chamber", &[], 2, false),
    wrapper("chroot", &[], 1, false),
    wrapper("chrt", &["-p"], 1, false),
    wrapper("command", &[], 0, true),
    wrapper("conda", &["-n", "-p", "--name"], 1, false),
    wrapper("coproc", &[], 0, false),
    wrapper("corepack", &[], 0, false),
    wrapper("daemonize", &["-p", "-o", "-e", "-c"], 0, false),
    wrapper("dbus-run-session", &[], 0, false),
    wrapper("devbox", &[], 1, false),
    wrapper("direnv", &[], 2, false),
    wrapper("doas", &["-u", "-C"], 0, false),
    wrapper("doppler", &["-p", "-c"], 1, false),
    wrapper("dotenv", &["-e", "-f"], 0, false),
    wrapper("entr", &[], 0, false),
    wrapper("env", &["-u", "--unset", "-C", "--chdir", "-P"], 0, true),
    wrapper("eval", &[], 0, false),
    wrapper("exec", &["-a"], 0, false),
    wrapper("fakeroot", &[], 0, false),
    wrapper("faketime", &[], 1, false),
    wrapper("firejail", &[], 0, false),
    wrapper("flock", &["-w", "-E"], 1, false),
    wrapper("fnm", &["--using"], 1, false),
    wrapper("gosu", &[], 1, false),
    wrapper("guix", &[], 1, false),
    wrapper("hatch", &["-e"], 1, false),
    wrapper("hyperfine", &["-w", "-r"], 0, false),
    wrapper("ionice", &["-c", "-n", "-p", "-P", "-u"], 0, false),
    wrapper("ld.so", &[], 0, false),
    wrapper("linux32", &[], 0, false),
    wrapper("linux64", &[], 0, false),
    wrapper("ltrace", &["-e", "-o", "-p", "-s", "-u"], 0, false),
    wrapper("mamba", &["-n", "-p"], 1, false),
    wrapper("micromamba", &["-n", "-p"], 1, false),
    wrapper("mise", &["-C", "-E"], 1, false),
    wrapper("nice", &["-n", "--adjustment"], 0, true),
    wrapper("nix", &[], 1, false),
    wrapper("nocorrect", &[], 0, false),
    wrapper("noglob", &[], 0, true),
    wrapper("nohup", &[], 0, true),
    wrapper("npm", &["--prefix", "-w"], 1, false),
    wrapper("npx", &["-p"], 0, false),
    wrapper("nsenter", &["-t"], 0, false),
    wrapper("numactl", &[], 0, false),
    wrapper("nvm", &[], 2, false),
    wrapper("op", &["--env-file"], 1, false),
    wrapper("opam", &[], 1, false),
    wrapper("parallel", &["-j", "-a"], 0, false),
    wrapper("pdm", &["-p"], 1, false),
    wrapper("pipenv", &[], 1, false),
    wrapper("pipx", &["--spec", "--python"], 1, false),
    wrapper("pixi", &["-e"], 1, false),
    wrapper("pkexec", &["--user"], 0, false),
    wrapper("pnpm", &["-C", "--filter"], 1, false),
    wrapper("pnpx", &[], 0, false),
    wrapper("poetry", &["-C", "-P"], 1, false),
    wrapper("prlimit", &["-p"], 0, false),
    wrapper("proot", &[], 0, false),
    wrapper("proxychains", &["-f"], 0, false),
    wrapper("proxychains4", &["-f"], 0, false),
    wrapper("pyenv", &[], 1, false),
    wrapper("rbenv", &[], 1, false),
    wrapper("rlwrap", &[], 0, false),
    wrapper("rtx", &["-C"], 1, false),
    wrapper("runuser", &["-u", "-g", "-G"], 0, false),
    wrapper("rustup", &[], 2, false),
    wrapper("rye", &[], 1, false),
    wrapper("script", &["-c"], 0, false),
    wrapper("setarch", &[], 1, false),
    wrapper("setpriv", &[], 0, false),
    wrapper("setsid", &[], 0, false),
    wrapper("ssh", &["-p", "-i", "-l", "-o", "-F", "-J", "-L", "-R", "-D"], 1, false),
    wrapper("stack", &[], 1, false),
    wrapper("stdbuf", &["-i", "-o", "-e"], 0, true),
    wrapper("strace", &["-e", "-o", "-p", "-s", "-u"], 0, false),
    wrapper("su-exec", &[], 1, false),
    wrapper("sudo", &["-u", "-g", "-h", "-p", "-C", "-r", "-t", "-T", "-U", "-D", "-R"], 0, false),
    wrapper("systemd-run", &["-p", "-u"], 0, false),
    wrapper("taskset", &["-p"], 1, false),
    wrapper("time", &["-f", "-o", "--format", "--output"], 0, true),
    wrapper("timeout", &["-k", "--kill-after", "-s", "--signal"], 1, true),
    wrapper("torsocks", &[], 0, false),
    wrapper("toybox", &[], 0, false),
    wrapper("unbuffer", &[], 0, false),
    wrapper("unshare", &[], 0, false),
    wrapper("uv", &["--with", "--python", "-p", "--directory", "--project", "--extra", "--group"], 1, false),
    wrapper("uvx", &["--from", "--with", "--python", "-p"], 0, false),
    wrapper("valgrind", &[], 0, false),
    wrapper("volta", &["--node"], 1, false),
    wrapper("watch", &["-n", "-q"], 0, false),
    wrapper("xargs", &["-I", "-i", "-n", "-P", "-L", "-d", "-s", "-a", "-E", "-R", "-S", "-J"], 0, true),
    wrapper("xvfb-run", &[], 0, false),
    wrapper("yarn", &[], 1, false),
];

pub(super) fn find(name: &str) -> Option<&'static Wrapper> {
    // `/lib64/ld-linux-x86-64.so.2 /usr/bin/curl` is a wrapper under many names.
    let name = if name.starts_with("ld-") && name.contains(".so") { "ld.so" } else { name };
    WRAPPERS.binary_search_by(|wrapper| wrapper.name.cmp(name)).ok().map(|at| &WRAPPERS[at])
}

#[cfg(test)]
mod tests {
    #[test]
    fn they_are_sorted() {
        assert!(super::WRAPPERS.is_sorted_by(|a, b| a.name < b.name));
    }
}
