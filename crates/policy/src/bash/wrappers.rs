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

const WRAPPERS: [Wrapper; 63] = [
    wrapper("timeout", &["-k", "--kill-after", "-s", "--signal"], 1, true),
    wrapper("time", &["-f", "-o", "--format", "--output"], 0, true),
    wrapper("nice", &["-n", "--adjustment"], 0, true),
    wrapper("nohup", &[], 0, true),
    wrapper("stdbuf", &["-i", "-o", "-e"], 0, true),
    wrapper("command", &[], 0, true),
    wrapper("builtin", &[], 0, true),
    wrapper("noglob", &[], 0, true),
    wrapper("env", &["-u", "--unset", "-C", "--chdir", "-P"], 0, true),
    wrapper("xargs", &["-I", "-i", "-n", "-P", "-L", "-d", "-s", "-a", "-E", "-R", "-S", "-J"], 0, true),
    wrapper("exec", &["-a"], 0, false),
    wrapper("eval", &[], 0, false),
    wrapper("sudo", &["-u", "-g", "-h", "-p", "-C", "-r", "-t", "-T", "-U", "-D", "-R"], 0, false),
    wrapper("doas", &["-u", "-C"], 0, false),
    wrapper("setsid", &[], 0, false),
    wrapper("ionice", &["-c", "-n", "-p", "-P", "-u"], 0, false),
    wrapper("flock", &["-w", "-E"], 1, false),
    wrapper("watch", &["-n", "-q"], 0, false),
    wrapper("parallel", &["-j", "-a"], 0, false),
    wrapper("busybox", &[], 0, false),
    wrapper("toybox", &[], 0, false),
    wrapper("chroot", &[], 1, false),
    wrapper("unshare", &[], 0, false),
    wrapper("nsenter", &["-t"], 0, false),
    wrapper("strace", &["-e", "-o", "-p", "-s", "-u"], 0, false),
    wrapper("ltrace", &["-e", "-o", "-p", "-s", "-u"], 0, false),
    wrapper("chrt", &["-p"], 1, false),
    wrapper("taskset", &["-p"], 1, false),
    wrapper("ssh", &["-p", "-i", "-l", "-o", "-F", "-J", "-L", "-R", "-D"], 1, false),
    wrapper("script", &["-c"], 0, false),
    wrapper("caffeinate", &["-t", "-w"], 0, false),
    wrapper("-", &[], 0, false),
    wrapper("nocorrect", &[], 0, false),
    wrapper("coproc", &[], 0, false),
    wrapper("runuser", &["-u", "-g", "-G"], 0, false),
    wrapper("su-exec", &[], 1, false),
    wrapper("gosu", &[], 1, false),
    wrapper("pkexec", &["--user"], 0, false),
    wrapper("setpriv", &[], 0, false),
    wrapper("capsh", &[], 0, false),
    wrapper("prlimit", &["-p"], 0, false),
    wrapper("numactl", &[], 0, false),
    wrapper("setarch", &[], 1, false),
    wrapper("linux32", &[], 0, false),
    wrapper("linux64", &[], 0, false),
    wrapper("fakeroot", &[], 0, false),
    wrapper("faketime", &[], 1, false),
    wrapper("proot", &[], 0, false),
    wrapper("bwrap", &[], 0, false),
    wrapper("firejail", &[], 0, false),
    wrapper("systemd-run", &["-p", "-u"], 0, false),
    wrapper("dbus-run-session", &[], 0, false),
    wrapper("xvfb-run", &[], 0, false),
    wrapper("proxychains", &["-f"], 0, false),
    wrapper("proxychains4", &["-f"], 0, false),
    wrapper("torsocks", &[], 0, false),
    wrapper("unbuffer", &[], 0, false),
    wrapper("rlwrap", &[], 0, false),
    wrapper("valgrind", &[], 0, false),
    wrapper("hyperfine", &["-w", "-r"], 0, false),
    wrapper("entr", &[], 0, false),
    wrapper("npx", &["-p"], 0, false),
    wrapper("ld.so", &[], 0, false),
];

pub(super) fn find(name: &str) -> Option<&'static Wrapper> {
    // `/lib64/ld-linux-x86-64.so.2 /usr/bin/curl` is a wrapper under many names.
    let name = if name.starts_with("ld-") && name.contains(".so") { "ld.so" } else { name };
    WRAPPERS.iter().find(|wrapper| wrapper.name == name)
}
