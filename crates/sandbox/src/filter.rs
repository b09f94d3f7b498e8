//! The seccomp program: the calls of a list, some of them only with some arguments, and no others.
//!
//! Everything refused is refused with an error, never by killing, so that programs can say what went wrong: what is
//! known and refused is not permitted, what is not listed does not exist. Calls are judged by numbers and flags only: what a pointer points to could change after the
//! look. Deliberately absent: paths (Landlock and mounts hold those).

use crate::calls::{self, REFUSED};
use libc::sock_filter;

/// Families of sockets that programs may open at all. Everything else (packets, vsock, Bluetooth, the
/// kernel's crypto) is unusual in builds and has been the way out of more than one box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Families {
    pub(crate) internet: bool,
    pub(crate) unix: bool,
    /// Unix sockets are made by the relay, outside: it answers the calls that make, connect and name one.
    pub(crate) relayed: bool,
    /// Processes and IPC are the box's own: there is nobody else to be reached by a number.
    pub(crate) apart: bool,
}

/// Limits, priorities and processors of processes, with the argument that names the process. Only the caller's own can
/// be changed where processes of others have numbers, too.
const ON_PROCESSES: [(libc::c_long, u32); 6] = [
    (libc::SYS_prlimit64, 0),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_setpriority, 1),
];

/// The kind of a socket without its flags.
const KIND: u32 = 0xf;

/// New namespaces would give a command powers over them, and the kernel a larger surface.
const NAMESPACES: u32 = (libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWCGROUP) as u32;

/// Typing into a terminal as if its user did.
const TYPING: [u32; 2] = [libc::TIOCSTI as u32, TIOCLINUX];
const TIOCLINUX: u32 = 0x541c;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// Numbers from here on are a second table of calls that this kernel may have (x32).
#[cfg(target_arch = "x86_64")]
const SECOND_TABLE: Option<u32> = Some(0x4000_0000);
#[cfg(not(target_arch = "x86_64"))]
const SECOND_TABLE: Option<u32> = None;

// Offsets in `struct seccomp_data`. The low half of an argument comes first: both architectures are
// little-endian, and the kernel itself looks at no more of the arguments judged here.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const fn argument(index: u32) -> u32 {
    16 + 8 * index
}

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
const ANY_BIT: u16 = (libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16;
const GREATER: u16 = (libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K) as u16;
const MASK: u16 = (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const REPORT: u32 = libc::SECCOMP_RET_USER_NOTIF;
const fn error(errno: libc::c_int) -> u32 {
    libc::SECCOMP_RET_ERRNO | errno as u32
}

const fn load(offset: u32) -> sock_filter {
    sock_filter { code: LOAD, jt: 0, jf: 0, k: offset }
}

const fn verdict(k: u32) -> sock_filter {
    sock_filter { code: RETURN, jt: 0, jf: 0, k }
}

/// Skips the next `jump` instructions unless the test holds.
const fn unless(code: u16, k: u32, jump: u8) -> sock_filter {
    sock_filter { code, jt: 0, jf: jump, k }
}

pub(crate) fn program(families: Families) -> Vec<sock_filter> {
    let mut program = vec![
        load(ARCH),
        sock_filter { code: EQUAL, jt: 1, jf: 0, k: ARCHITECTURE },
        // Calls of another architecture have other numbers: none of them is judged, so none is made.
        verdict(error(libc::ENOSYS)),
        load(NUMBER),
    ];
    if let Some(first) = SECOND_TABLE {
        program.extend([unless(AT_LEAST, first, 1), verdict(error(libc::ENOSYS))]);
    }
    for number in [libc::SYS_clone, libc::SYS_unshare] {
        program.extend(judged(number, 0, &[unless(ANY_BIT, NAMESPACES, 1), verdict(error(libc::EPERM))]));
    }
    let typing: Vec<sock_filter> =
        TYPING.iter().flat_map(|request| [unless(EQUAL, *request, 1), verdict(error(libc::EPERM))]).collect();
    program.extend(judged(libc::SYS_ioctl, 1, &typing));
    program.extend(judged(libc::SYS_socket, 0, &sockets(families)));
    program.extend(judged(libc::SYS_socketpair, 1, &pairs(families)));
    if families.relayed {
        for number in [libc::SYS_connect, libc::SYS_bind] {
            program.extend([unless(EQUAL, number as u32, 1), verdict(REPORT)]);
        }
    }
    for (number, index) in ON_PROCESSES {
        // A limit is never changed for another process: programs that do so are tools for administrators.
        let open = families.apart && number != libc::SYS_prlimit64;
        let own = [unless(EQUAL, 0, 1), verdict(ALLOW), verdict(error(libc::EPERM))];
        program.extend(judged(number, index, if open { &[] } else { &own }));
    }
    for range in calls::allowed(families.apart) {
        program.push(unless(AT_LEAST, range.first, 2));
        program.push(sock_filter { code: GREATER, jt: 1, jf: 0, k: range.last });
        program.push(verdict(ALLOW));
    }
    for number in REFUSED {
        program.extend([unless(EQUAL, number as u32, 1), verdict(error(libc::EPERM))]);
    }
    // Also `clone3`, whose flags are behind a pointer: "no such call" makes libraries use clone, which is judged.
    program.push(verdict(error(libc::ENOSYS)));
    program
}

/// `rules` over one argument of one call; what they do not settle is allowed.
fn judged(number: libc::c_long, index: u32, rules: &[sock_filter]) -> Vec<sock_filter> {
    let mut part = vec![unless(EQUAL, number as u32, rules.len() as u8 + 2), load(argument(index))];
    part.extend(rules);
    part.push(verdict(ALLOW));
    part
}

/// A pair of datagram sockets can be sent to any other by its name; the other kinds are connected for good.
fn pairs(families: Families) -> Vec<sock_filter> {
    if families.unix {
        return Vec::new();
    }
    let kinds = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET];
    let allowed = kinds.iter().flat_map(|kind| [unless(EQUAL, *kind as u32, 1), verdict(ALLOW)]);
    let mask = sock_filter { code: MASK, jt: 0, jf: 0, k: KIND };
    std::iter::once(mask).chain(allowed).chain([verdict(error(libc::EPERM))]).collect()
}

fn sockets(families: Families) -> Vec<sock_filter> {
    // Netlink only asks the kernel about this machine's own interfaces.
    let mut known = vec![libc::AF_NETLINK];
    if families.internet {
        known.extend([libc::AF_INET, libc::AF_INET6]);
    }
    if families.unix {
        known.push(libc::AF_UNIX);
    }
    let allowed = known.iter().flat_map(|family| [unless(EQUAL, *family as u32, 1), verdict(ALLOW)]);
    // Streams only: a datagram socket can be sent to any other by its name.
    let reported = [
        unless(EQUAL, libc::AF_UNIX as u32, 4),
        load(argument(1)),
        sock_filter { code: MASK, jt: 0, jf: 0, k: KIND },
        unless(EQUAL, libc::SOCK_STREAM as u32, 1),
        verdict(REPORT),
    ];
    let reported = reported.into_iter().filter(|_| families.relayed);
    allowed.chain(reported).chain([verdict(error(libc::EPERM))]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel would say, by running the program on one call.
    fn run(program: &[sock_filter], arch: u32, number: u32, arguments: [u64; 6]) -> u32 {
        let word = |offset: u32| match offset {
            NUMBER => number,
            ARCH => arch,
            other => {
                let at = (other - 16) as usize;
                let value = arguments[at / 8];
                if at.is_multiple_of(8) { value as u32 } else { (value >> 32) as u32 }
            }
        };
        let (mut at, mut accumulator) = (0, 0);
        loop {
            let step = program[at];
            let holds = match step.code {
                LOAD => {
                    accumulator = word(step.k);
                    at += 1;
                    continue;
                }
                MASK => {
                    accumulator &= step.k;
                    at += 1;
                    continue;
                }
                RETURN => return step.k,
                GREATER => accumulator > step.k,
                EQUAL => accumulator == step.k,
                AT_LEAST => accumulator >= step.k,
                ANY_BIT => accumulator & step.k != 0,
                code => panic!("unknown instruction {code}"),
            };
            at += 1 + usize::from(if holds { step.jt } else { step.jf });
        }
    }

    fn asks(families: Families, number: libc::c_long, arguments: [u64; 6]) -> u32 {
        run(&program(families), ARCHITECTURE, number as u32, arguments)
    }

    const OPEN: Families = Families { internet: true, unix: false, relayed: false, apart: true };
    const CLOSED: Families = Families { internet: false, unix: false, relayed: false, apart: false };

    #[test]
    fn ordinary_calls_pass_and_dangerous_ones_fail() {
        for number in [libc::SYS_openat, libc::SYS_execve, libc::SYS_clone, libc::SYS_shmget, libc::SYS_ioctl] {
            assert_eq!(asks(OPEN, number, [0; 6]), ALLOW, "{number}");
        }
        for number in REFUSED {
            assert_eq!(asks(OPEN, number, [0; 6]), error(libc::EPERM), "{number}");
        }
        for unknown in [libc::SYS_clone3, 447, 999, 100_000] {
            assert_eq!(asks(OPEN, unknown, [0; 6]), error(libc::ENOSYS), "{unknown}");
        }
        assert_eq!(asks(CLOSED, libc::SYS_shmget, [0; 6]), error(libc::ENOSYS), "shared with the machine");
    }

    #[test]
    fn arguments_are_judged_by_the_half_that_the_kernel_looks_at() {
        let high = 0xdead_beef_0000_0000_u64;
        for (number, arguments, verdict) in [
            (libc::SYS_clone, [libc::CLONE_NEWUSER as u64, 0, 0, 0, 0, 0], error(libc::EPERM)),
            (libc::SYS_clone, [libc::SIGCHLD as u64, 0, 0, 0, 0, 0], ALLOW),
            (libc::SYS_unshare, [high | libc::CLONE_NEWNS as u64, 0, 0, 0, 0, 0], error(libc::EPERM)),
            (libc::SYS_ioctl, [0, high | libc::TIOCSTI, 0, 0, 0, 0], error(libc::EPERM)),
            (libc::SYS_ioctl, [0, libc::TCGETS, 0, 0, 0, 0], ALLOW),
            (libc::SYS_socket, [high | libc::AF_UNIX as u64, 1, 0, 0, 0, 0], error(libc::EPERM)),
            (libc::SYS_socket, [libc::AF_INET as u64, 1, 0, 0, 0, 0], ALLOW),
            (libc::SYS_socket, [libc::AF_PACKET as u64, 3, 0, 0, 0, 0], error(libc::EPERM)),
            (libc::SYS_socketpair, [1, libc::SOCK_STREAM as u64 | libc::SOCK_CLOEXEC as u64, 0, 0, 0, 0], ALLOW),
            (libc::SYS_socketpair, [1, high | libc::SOCK_DGRAM as u64, 0, 0, 0, 0], error(libc::EPERM)),
            (
                libc::SYS_socketpair,
                [1, libc::SOCK_DGRAM as u64 | libc::SOCK_NONBLOCK as u64, 0, 0, 0, 0],
                error(libc::EPERM),
            ),
            (libc::SYS_prlimit64, [0, 7, 0, 0, 0, 0], ALLOW),
            (libc::SYS_prlimit64, [1234, 7, 0, 0, 0, 0], error(libc::EPERM)),
            (libc::SYS_sched_setaffinity, [1234, 7, 0, 0, 0, 0], ALLOW),
            (libc::SYS_socket, [libc::AF_NETLINK as u64, 3, 0, 0, 0, 0], ALLOW),
        ] {
            assert_eq!(asks(OPEN, number, arguments), verdict, "{number} {arguments:x?}");
        }
        assert_eq!(asks(CLOSED, libc::SYS_socket, [libc::AF_INET6 as u64, 0, 0, 0, 0, 0]), error(libc::EPERM));
        assert_eq!(asks(CLOSED, libc::SYS_sched_setaffinity, [1234, 7, 0, 0, 0, 0]), error(libc::EPERM));
        let unix = Families { internet: false, unix: true, relayed: false, apart: true };
        assert_eq!(asks(unix, libc::SYS_socket, [libc::AF_UNIX as u64, 0, 0, 0, 0, 0]), ALLOW);
    }

    #[test]
    fn the_relay_makes_streams_and_nothing_else_changes() {
        let relayed = Families { relayed: true, ..OPEN };
        let (unix, high) = (libc::AF_UNIX as u64, 0xdead_beef_0000_0000_u64);
        let stream = libc::SOCK_STREAM as u64 | libc::SOCK_CLOEXEC as u64 | libc::SOCK_NONBLOCK as u64;
        for (number, arguments, verdict) in [
            (libc::SYS_socket, [unix, stream, 0, 0, 0, 0], REPORT),
            (libc::SYS_socket, [high | unix, high | libc::SOCK_STREAM as u64, 0, 0, 0, 0], REPORT),
            (libc::SYS_socket, [unix, libc::SOCK_DGRAM as u64, 0, 0, 0, 0], error(libc::EPERM)),
            (libc::SYS_socket, [unix, libc::SOCK_SEQPACKET as u64, 0, 0, 0, 0], error(libc::EPERM)),
            (libc::SYS_socket, [libc::AF_INET as u64, 1, 0, 0, 0, 0], ALLOW),
            (libc::SYS_socket, [libc::AF_VSOCK as u64, 1, 0, 0, 0, 0], error(libc::EPERM)),
            (libc::SYS_socketpair, [unix, libc::SOCK_DGRAM as u64, 0, 0, 0, 0], error(libc::EPERM)),
            (libc::SYS_connect, [3, 0, 110, 0, 0, 0], REPORT),
            (libc::SYS_bind, [3, 0, 16, 0, 0, 0], REPORT),
            (libc::SYS_listen, [3, 0, 0, 0, 0, 0], ALLOW),
            (libc::SYS_openat, [0; 6], ALLOW),
        ] {
            assert_eq!(asks(relayed, number, arguments), verdict, "{number} {arguments:x?}");
        }
        let cut = Families { relayed: true, ..CLOSED };
        assert_eq!(asks(cut, libc::SYS_socket, [libc::AF_INET as u64, 1, 0, 0, 0, 0]), error(libc::EPERM));
        assert_eq!(asks(OPEN, libc::SYS_connect, [3, 0, 110, 0, 0, 0]), ALLOW);
    }

    #[test]
    fn other_tables_of_calls_are_closed() {
        let program = program(OPEN);
        assert_eq!(run(&program, 0x4000_0003, libc::SYS_openat as u32, [0; 6]), error(libc::ENOSYS));
        if let Some(first) = SECOND_TABLE {
            assert_eq!(run(&program, ARCHITECTURE, first | libc::SYS_openat as u32, [0; 6]), error(libc::ENOSYS));
        }
    }
}
