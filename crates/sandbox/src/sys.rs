//! Linux calls that libc has no function for, one thin wrapper each.
//!
//! All are async-signal-safe: integers and prepared pointers in, an `errno` out. Deliberately absent:
//! any decision.

use std::ffi::CStr;
use std::io;
use std::os::fd::RawFd;

pub(crate) type Step = Result<(), io::Error>;

fn check(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// `struct landlock_ruleset_attr` as of ABI 6.
#[repr(C)]
pub(crate) struct RulesetAttr {
    pub(crate) fs: u64,
    pub(crate) net: u64,
    pub(crate) scoped: u64,
}

#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: i32,
}

const LANDLOCK_CREATE_RULESET_VERSION: u32 = 1;
const LANDLOCK_RULE_PATH_BENEATH: u32 = 1;

/// The version of Landlock's interface; 0 where there is none.
#[expect(unsafe_code, reason = "no safe interface")]
pub(crate) fn landlock_abi() -> u32 {
    let null = std::ptr::null::<RulesetAttr>();
    // SAFETY: with this flag the kernel looks at neither pointer nor size.
    let abi =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, null, 0_usize, LANDLOCK_CREATE_RULESET_VERSION) };
    u32::try_from(abi).unwrap_or(0)
}

#[expect(unsafe_code, reason = "no safe interface")]
pub(crate) fn landlock_create(attr: &RulesetAttr, size: usize) -> io::Result<RawFd> {
    // SAFETY: `attr` outlives the call and `size` is at most its size.
    let fd = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, &raw const *attr, size, 0_u32) };
    check(fd).map(|fd| fd as RawFd)
}

#[expect(unsafe_code, reason = "no safe interface")]
pub(crate) fn landlock_allow(ruleset: RawFd, parent: RawFd, allowed: u64) -> Step {
    let rule = PathBeneath { allowed, parent };
    // SAFETY: `rule` outlives the call and has the layout of the rule type that is named.
    let done = unsafe {
        libc::syscall(libc::SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &raw const rule, 0_u32)
    };
    check(done).map(drop)
}

#[expect(unsafe_code, reason = "no safe interface")]
pub(crate) fn landlock_restrict(ruleset: RawFd) -> Step {
    // SAFETY: integers only.
    check(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset, 0_u32) }).map(drop)
}

#[expect(unsafe_code, reason = "no safe interface")]
pub(crate) fn no_new_privileges() -> Step {
    // SAFETY: integers only.
    check(libc::c_long::from(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })).map(drop)
}

#[expect(unsafe_code, reason = "no safe interface")]
pub(crate) fn dumpable(yes: bool) -> Step {
    // SAFETY: integers only.
    check(libc::c_long::from(unsafe { libc::prctl(libc::PR_SET_DUMPABLE, libc::c_ulong::from(yes), 0, 0, 0) }))
        .map(drop)
}

#[expect(unsafe_code, reason = "no safe interface")]
pub(crate) fn no_core_dumps() -> Step {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is to a live local.
    check(libc::c_long::from(unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const none) })).map(drop)
}

/// Through exec.
#[expect(unsafe_code, reason = "no safe interface")]
pub(crate) fn keep_open(fd: RawFd) -> Step {
    // SAFETY: integers only.
    check(libc::c_long::from(unsafe { libc::fcntl(fd, libc::F_SETFD, 0) })).map(drop)
}

#[expect(unsafe_code, reason = "no safe interface")]
pub(crate) fn install_filter(program: &[libc::sock_filter]) -> Step {
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    // SAFETY: the kernel copies the program; pointer and length belong together.
    let done = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0_u32, &raw const program) };
    check(done).map(drop)
}

#[expect(unsafe_code, reason = "no safe interface")]
pub(crate) fn unshare(flags: libc::c_int) -> Step {
    // SAFETY: integers only; the caller is a process of one thread.
    check(libc::c_long::from(unsafe { libc::unshare(flags) })).map(drop)
}

#[expect(unsafe_code, reason = "no safe interface")]
pub(crate) fn join(namespace: RawFd, kind: libc::c_int) -> Step {
    // SAFETY: integers only.
    check(libc::c_long::from(unsafe { libc::setns(namespace, kind) })).map(drop)
}

/// Writes a number and ends this process.
#[expect(unsafe_code, reason = "ends a copy of a process without running anything of the original's")]
pub(crate) fn tell_and_end(to: RawFd, number: i32) -> ! {
    let bytes = number.to_ne_bytes();
    // SAFETY: the bytes are live, and fewer than a pipe takes as a whole.
    unsafe {
        libc::write(to, bytes.as_ptr().cast(), bytes.len());
        libc::_exit(0)
    }
}

/// A folder as a place only.
#[expect(unsafe_code, reason = "runs where nothing may be allocated")]
pub(crate) fn open_place(path: &CStr) -> io::Result<RawFd> {
    // SAFETY: the path ends with NUL and outlives the call.
    check(libc::c_long::from(unsafe { libc::open(path.as_ptr(), libc::O_PATH | libc::O_CLOEXEC) }))
        .map(|fd| fd as RawFd)
}

#[expect(unsafe_code, reason = "no safe interface")]
pub(crate) fn change_folder(path: &CStr) -> Step {
    // SAFETY: the path ends with NUL and outlives the call.
    check(libc::c_long::from(unsafe { libc::chdir(path.as_ptr()) })).map(drop)
}

#[expect(unsafe_code, reason = "no safe interface")]
pub(crate) fn mount(source: &CStr, target: &CStr, kind: &CStr, flags: libc::c_ulong, data: &CStr) -> Step {
    // SAFETY: four texts that end with NUL and outlive the call.
    let done = unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), flags, data.as_ptr().cast()) };
    check(libc::c_long::from(done)).map(drop)
}

const OPEN_TREE_CLONE: libc::c_uint = 1;
const AT_RECURSIVE: libc::c_uint = 0x8000;
const MOVE_MOUNT_F_EMPTY_PATH: libc::c_uint = 4;
const MOUNT_ATTR_RDONLY: u64 = 1;

/// A copy of the mounts at `path`, not attached anywhere.
#[expect(unsafe_code, reason = "no safe interface")]
pub(crate) fn copy_tree(path: &CStr) -> io::Result<RawFd> {
    let flags = OPEN_TREE_CLONE | AT_RECURSIVE | libc::O_CLOEXEC as libc::c_uint;
    // SAFETY: the path ends with NUL and outlives the call.
    check(unsafe { libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), flags) }).map(|fd| fd as RawFd)
}

#[expect(unsafe_code, reason = "no safe interface")]
pub(crate) fn attach_tree(tree: RawFd, path: &CStr) -> Step {
    // SAFETY: both texts end with NUL and outlive the call.
    let done = unsafe {
        libc::syscall(libc::SYS_move_mount, tree, c"".as_ptr(), libc::AT_FDCWD, path.as_ptr(), MOVE_MOUNT_F_EMPTY_PATH)
    };
    check(done).map(drop)
}

#[repr(C)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    user: u64,
}

/// Everything mounted at `path` and below becomes read-only.
#[expect(unsafe_code, reason = "no safe interface")]
pub(crate) fn make_read_only(path: &CStr) -> Step {
    let attr = MountAttr { set: MOUNT_ATTR_RDONLY, clear: 0, propagation: 0, user: 0 };
    // SAFETY: path and structure outlive the call, and the size is the structure's.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            AT_RECURSIVE,
            &raw const attr,
            size_of::<MountAttr>(),
        )
    };
    check(done).map(drop)
}

#[repr(C)]
struct CapHeader {
    version: u32,
    pid: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct CapData {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

const CAPABILITY_VERSION_3: u32 = 0x2008_0522;
/// The kernel knows some 41; asking for one it does not know ends the loop.
const CAPABILITIES_MAX: u32 = 64;

/// Gives up every capability but those in `kept` (a mask of the first 32), for good.
#[expect(unsafe_code, reason = "no safe interface")]
pub(crate) fn keep_capabilities(kept: u32) -> Step {
    for capability in 0..CAPABILITIES_MAX {
        if capability < 32 && kept & (1 << capability) != 0 {
            continue;
        }
        // SAFETY: integers only. Fails past the last capability, and where we have none to begin with.
        if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, libc::c_ulong::from(capability), 0, 0, 0) } < 0 {
            break;
        }
    }
    // SAFETY: integers only. Kernels without ambient capabilities refuse, and have none to clear.
    unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) };
    let header = CapHeader { version: CAPABILITY_VERSION_3, pid: 0 };
    let mut have = [CapData { effective: 0, permitted: 0, inheritable: 0 }; 2];
    // SAFETY: header and both parts of the data outlive the call, as version 3 needs them.
    check(unsafe { libc::syscall(libc::SYS_capget, &raw const header, have.as_mut_ptr()) })?;
    let low = have[0].permitted & kept;
    let want = [
        CapData { effective: low, permitted: low, inheritable: 0 },
        CapData { effective: 0, permitted: 0, inheritable: 0 },
    ];
    // SAFETY: as above.
    check(unsafe { libc::syscall(libc::SYS_capset, &raw const header, want.as_ptr()) }).map(drop)
}
