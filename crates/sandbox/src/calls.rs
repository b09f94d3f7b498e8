//! The system calls that a command may make: what compilers, interpreters, package managers, test runners, shells and
//! git use. Everything else does not exist in the box.
//!
//! Deliberately absent: calls that judge by their arguments (`filter` has those).

use libc::c_long;

/// Harmless whatever their arguments are: they work on the caller's own memory, descriptors and children, on files
/// (which Landlock and mounts hold), or on processes of the same namespace.
#[rustfmt::skip]
const EVERYWHERE: [c_long; 223] = [
    // Files.
    libc::SYS_read, libc::SYS_write, libc::SYS_close, libc::SYS_fstat, libc::SYS_lseek, libc::SYS_pread64,
    libc::SYS_pwrite64, libc::SYS_readv, libc::SYS_writev, libc::SYS_preadv, libc::SYS_pwritev, libc::SYS_preadv2,
    libc::SYS_pwritev2, libc::SYS_openat, libc::SYS_openat2, libc::SYS_newfstatat, libc::SYS_statx, libc::SYS_statfs,
    libc::SYS_fstatfs, libc::SYS_mkdirat, libc::SYS_mknodat, libc::SYS_unlinkat, libc::SYS_symlinkat, libc::SYS_linkat,
    libc::SYS_renameat2, libc::SYS_readlinkat, libc::SYS_fchmod, libc::SYS_fchmodat, libc::SYS_fchmodat2,
    libc::SYS_fchown, libc::SYS_fchownat, libc::SYS_faccessat, libc::SYS_faccessat2, libc::SYS_utimensat,
    libc::SYS_truncate, libc::SYS_ftruncate, libc::SYS_fallocate, libc::SYS_fadvise64, libc::SYS_readahead,
    libc::SYS_fsync, libc::SYS_fdatasync, libc::SYS_sync, libc::SYS_syncfs, libc::SYS_sync_file_range,
    libc::SYS_flock, libc::SYS_getdents64, libc::SYS_getcwd, libc::SYS_chdir, libc::SYS_fchdir, libc::SYS_umask,
    libc::SYS_dup, libc::SYS_dup3, libc::SYS_fcntl, libc::SYS_pipe2, libc::SYS_close_range, libc::SYS_copy_file_range,
    libc::SYS_sendfile, libc::SYS_splice, libc::SYS_tee, libc::SYS_vmsplice, libc::SYS_setxattr, libc::SYS_lsetxattr,
    libc::SYS_fsetxattr, libc::SYS_getxattr, libc::SYS_lgetxattr, libc::SYS_fgetxattr, libc::SYS_listxattr,
    libc::SYS_llistxattr, libc::SYS_flistxattr, libc::SYS_removexattr, libc::SYS_lremovexattr,
    libc::SYS_fremovexattr, libc::SYS_inotify_init1, libc::SYS_inotify_add_watch, libc::SYS_inotify_rm_watch,
    libc::SYS_io_setup, libc::SYS_io_destroy, libc::SYS_io_submit, libc::SYS_io_cancel, libc::SYS_io_getevents,
    // Waiting.
    libc::SYS_ppoll, libc::SYS_pselect6, libc::SYS_epoll_create1, libc::SYS_epoll_ctl, libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2, libc::SYS_eventfd2, libc::SYS_signalfd4, libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime, libc::SYS_timerfd_gettime, libc::SYS_nanosleep, libc::SYS_clock_nanosleep,
    libc::SYS_restart_syscall,
    // Memory.
    libc::SYS_mmap, libc::SYS_mprotect, libc::SYS_munmap, libc::SYS_mremap, libc::SYS_brk, libc::SYS_madvise,
    libc::SYS_msync, libc::SYS_mincore, libc::SYS_mlock, libc::SYS_mlock2, libc::SYS_munlock, libc::SYS_mlockall,
    libc::SYS_munlockall, libc::SYS_memfd_create, libc::SYS_membarrier, libc::SYS_pkey_alloc, libc::SYS_pkey_free,
    libc::SYS_pkey_mprotect, libc::SYS_mbind, libc::SYS_get_mempolicy, libc::SYS_set_mempolicy,
    libc::SYS_remap_file_pages,
    // Processes and threads of its own.
    libc::SYS_execve, libc::SYS_execveat, libc::SYS_exit, libc::SYS_exit_group, libc::SYS_wait4, libc::SYS_waitid,
    libc::SYS_getpid, libc::SYS_getppid, libc::SYS_gettid, libc::SYS_getpgid, libc::SYS_setpgid, libc::SYS_getsid,
    libc::SYS_setsid, libc::SYS_set_tid_address, libc::SYS_futex, FUTEX_WAITV, FUTEX_WAKE, FUTEX_WAIT, FUTEX_REQUEUE,
    libc::SYS_set_robust_list, libc::SYS_get_robust_list, libc::SYS_rseq, libc::SYS_prctl, libc::SYS_personality,
    libc::SYS_sched_yield, libc::SYS_sched_getaffinity, libc::SYS_sched_getparam, libc::SYS_sched_getscheduler,
    libc::SYS_sched_get_priority_max, libc::SYS_sched_get_priority_min, libc::SYS_sched_rr_get_interval,
    libc::SYS_sched_getattr, libc::SYS_getpriority, libc::SYS_ioprio_get, libc::SYS_getrusage, libc::SYS_getrlimit,
    libc::SYS_setrlimit, libc::SYS_times, libc::SYS_getcpu, libc::SYS_pidfd_open, libc::SYS_pidfd_send_signal,
    MSEAL, MAP_SHADOW_STACK, CACHESTAT,
    // Signals; other processes are held by the namespace, or by Landlock.
    libc::SYS_kill, libc::SYS_tkill, libc::SYS_tgkill, libc::SYS_rt_sigaction, libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn, libc::SYS_rt_sigpending, libc::SYS_rt_sigtimedwait, libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo, libc::SYS_rt_sigsuspend, libc::SYS_sigaltstack,
    // Who it is.
    libc::SYS_getuid, libc::SYS_geteuid, libc::SYS_getgid, libc::SYS_getegid, libc::SYS_getresuid,
    libc::SYS_getresgid, libc::SYS_setuid, libc::SYS_setgid, libc::SYS_setreuid, libc::SYS_setregid,
    libc::SYS_setresuid, libc::SYS_setresgid, libc::SYS_setfsuid, libc::SYS_setfsgid, libc::SYS_getgroups,
    libc::SYS_setgroups, libc::SYS_capget, libc::SYS_capset, libc::SYS_uname, libc::SYS_sysinfo,
    // Time.
    libc::SYS_clock_gettime, libc::SYS_clock_getres, libc::SYS_gettimeofday, libc::SYS_getitimer,
    libc::SYS_setitimer, libc::SYS_timer_create, libc::SYS_timer_settime, libc::SYS_timer_gettime,
    libc::SYS_timer_getoverrun, libc::SYS_timer_delete, libc::SYS_getrandom,
    // Sockets that it has; which it can make is judged.
    libc::SYS_bind, libc::SYS_listen, libc::SYS_accept, libc::SYS_accept4, libc::SYS_connect, libc::SYS_getsockname,
    libc::SYS_getpeername, libc::SYS_sendto, libc::SYS_recvfrom, libc::SYS_sendmsg, libc::SYS_recvmsg,
    libc::SYS_sendmmsg, libc::SYS_recvmmsg, libc::SYS_setsockopt, libc::SYS_getsockopt, libc::SYS_shutdown,
    // A box of its own, inside.
    libc::SYS_seccomp, libc::SYS_landlock_create_ruleset, libc::SYS_landlock_add_rule,
    libc::SYS_landlock_restrict_self,
];

// Newer than the names that `libc` has; the same number on every architecture.
const FUTEX_WAITV: c_long = 449;
const CACHESTAT: c_long = 451;
const MAP_SHADOW_STACK: c_long = 453;
const FUTEX_WAKE: c_long = 454;
const FUTEX_WAIT: c_long = 455;
const FUTEX_REQUEUE: c_long = 456;
const MSEAL: c_long = 462;

/// Older ways to say the same, which only this architecture has.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const OLDER: [c_long; 41] = [
    libc::SYS_open, libc::SYS_creat, libc::SYS_stat, libc::SYS_lstat, libc::SYS_access, libc::SYS_poll,
    libc::SYS_select, libc::SYS_pipe, libc::SYS_dup2, libc::SYS_pause, libc::SYS_alarm, libc::SYS_fork,
    libc::SYS_vfork, libc::SYS_getdents, libc::SYS_rename, libc::SYS_renameat, libc::SYS_mkdir, libc::SYS_rmdir,
    libc::SYS_link, libc::SYS_unlink, libc::SYS_symlink, libc::SYS_readlink, libc::SYS_chmod, libc::SYS_chown,
    libc::SYS_lchown, libc::SYS_utime, libc::SYS_utimes, libc::SYS_futimesat, libc::SYS_mknod, libc::SYS_getpgrp,
    libc::SYS_arch_prctl, libc::SYS_time, libc::SYS_epoll_create, libc::SYS_epoll_wait, libc::SYS_eventfd,
    libc::SYS_signalfd, libc::SYS_inotify_init, libc::SYS_epoll_ctl_old, libc::SYS_epoll_wait_old,
    libc::SYS_set_thread_area, libc::SYS_get_thread_area,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: [c_long; 1] = [libc::SYS_renameat];

/// Shared memory, semaphores and queues that are found by a number or a name: only where that is the box's own.
#[rustfmt::skip]
const IPC: [c_long; 17] = [
    libc::SYS_shmget, libc::SYS_shmat, libc::SYS_shmdt, libc::SYS_shmctl, libc::SYS_semget, libc::SYS_semop,
    libc::SYS_semtimedop, libc::SYS_semctl, libc::SYS_msgget, libc::SYS_msgsnd, libc::SYS_msgrcv, libc::SYS_msgctl,
    libc::SYS_mq_open, libc::SYS_mq_unlink, libc::SYS_mq_timedsend, libc::SYS_mq_timedreceive,
    libc::SYS_mq_getsetattr,
];

/// Refused as not permitted, since programs tell that apart from "not there": looking into or steering other processes,
/// kernel keys, kernel programs, mounts, and a second way to make any call (io_uring).
#[rustfmt::skip]
pub(crate) const REFUSED: [c_long; 45] = [
    libc::SYS_ptrace, libc::SYS_process_vm_readv, libc::SYS_process_vm_writev, libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd, libc::SYS_kcmp, libc::SYS_keyctl, libc::SYS_add_key, libc::SYS_request_key, libc::SYS_bpf,
    libc::SYS_perf_event_open, libc::SYS_userfaultfd, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register, libc::SYS_kexec_load, libc::SYS_init_module, libc::SYS_finit_module,
    libc::SYS_delete_module, libc::SYS_mount, libc::SYS_umount2, libc::SYS_pivot_root, libc::SYS_chroot,
    libc::SYS_move_mount, libc::SYS_open_tree, libc::SYS_fsopen, libc::SYS_fsconfig, libc::SYS_fsmount,
    libc::SYS_mount_setattr, libc::SYS_swapon, libc::SYS_swapoff, libc::SYS_reboot, libc::SYS_acct,
    libc::SYS_quotactl, libc::SYS_setns, libc::SYS_name_to_handle_at, libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init, libc::SYS_syslog, libc::SYS_sethostname, libc::SYS_setdomainname,
    libc::SYS_settimeofday, libc::SYS_clock_settime, libc::SYS_migrate_pages, libc::SYS_move_pages,
];

/// Numbers from `first` to `last`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) first: u32,
    pub(crate) last: u32,
}

/// All that may be made whatever the arguments, as few ranges.
pub(crate) fn allowed(own_ipc: bool) -> Vec<Range> {
    let ipc: &[c_long] = if own_ipc { &IPC } else { &[] };
    let mut numbers: Vec<u32> = EVERYWHERE.iter().chain(&OLDER).chain(ipc).map(|number| *number as u32).collect();
    numbers.sort_unstable();
    let mut ranges: Vec<Range> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some(range) if number <= range.last + 1 => range.last = number,
            _ => ranges.push(Range { first: number, last: number }),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_call_is_both_allowed_and_refused() {
        for number in REFUSED {
            let covers = |range: &Range| (range.first..=range.last).contains(&(number as u32));
            assert!(!allowed(true).iter().any(covers), "{number}");
        }
        let shared = libc::SYS_shmget as u32;
        assert!(!allowed(false).iter().any(|range| range.first <= shared && shared <= range.last));
    }
}
