"""The system calls that exist inside the sandbox: a list of what is allowed.

Whatever is not on it is refused.

bubblewrap loads the filter (`--seccomp FD`) just before the worker starts, and a zygote before its
fork hears of a student; nothing inside can remove it. Namespaces, an unprivileged user, no
capabilities and no_new_privs stand in front of it; the filter takes away the parts of the kernel in
which past escapes were found and, as a list of what is allowed, those in which the next ones will
be. libseccomp makes the program (libseccomp.py). Without it there is no sandbox: no other filter
takes its place.

The list was written beside the default profile of Docker, github.com/moby/moby,
profiles/seccomp/default.json, which lets PyTorch and everything else run in containers, and is
shorter by what a sandbox for functions has no use for: sockets, shared memory of System V, message
queues, watching files, asynchronous input and output, namespaces, keys, priorities.

A call that is not on the list fails with ENOSYS, "no such call", after which libraries take an
older one; those in REFUSED, which everybody knows to exist, with EPERM. It does not filter paths: a
filter cannot read memory that a pointer leads to.
"""

import functools
import platform

from autograder.common.errors import CourseError
from autograder.sandbox.backends.libseccomp import (
    ALLOW,
    ARCHITECTURES,
    EQUAL,
    ERRNO,
    MASKED_EQUAL,
    Comparison,
    Filter,
    version,
)

EPERM, ENOSYS = 1, 38
FILES = """
    access chdir chmod chown close close_range copy_file_range creat dup dup2 dup3 faccessat
    faccessat2 fadvise64 fallocate fchdir fchmod fchmodat fchown fchownat fcntl fdatasync fgetxattr
    flistxattr flock fstat fstatfs fsync ftruncate futimesat getcwd getdents getdents64 getxattr
    lchown lgetxattr link linkat listxattr llistxattr lseek lstat mkdir mkdirat mknod mknodat
    newfstatat open openat openat2 pipe pipe2 pread64 preadv preadv2 pwrite64 pwritev pwritev2 read
    readahead readlink readlinkat readv rename renameat renameat2 rmdir sendfile stat statfs statx
    symlink symlinkat truncate umask unlink unlinkat utime utimensat utimes write writev
""".split()
MEMORY = (
    "brk madvise membarrier mlock mlock2 mlockall mmap mprotect mremap msync munlock munlockall"
    " munmap".split()
)
WAITING = """
    epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 futex
    futex_waitv poll ppoll pselect6 select timerfd_create timerfd_gettime timerfd_settime
""".split()
PROCESSES = """
    arch_prctl capget capset execve execveat exit exit_group fork get_robust_list getcpu getegid
    geteuid getgid getgroups getpgid getpgrp getpid getppid getpriority getresgid getresuid
    getrlimit getrusage getsid gettid getuid kill pidfd_open pidfd_send_signal prlimit64
    restart_syscall rseq sched_get_priority_max sched_get_priority_min sched_getaffinity
    sched_getattr sched_getparam sched_getscheduler sched_setaffinity sched_yield set_robust_list
    set_tid_address setfsgid setfsuid setgid setgroups setpgid setregid setresgid setresuid setreuid
    setrlimit setsid setuid tgkill times tkill uname vfork wait4 waitid
""".split()
SIGNALS = """
    alarm getitimer pause rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn
    rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo setitimer sigaltstack signalfd signalfd4
    timer_create timer_delete timer_getoverrun timer_gettime timer_settime
""".split()
TIME = "clock_getres clock_gettime clock_nanosleep gettimeofday nanosleep time".split()
LOCAL_PAIRS = (
    "getpeername getsockname getsockopt recvfrom recvmsg sendmsg sendto shutdown".split()
)  # of what socketpair made
OTHER = "getrandom sysinfo".split()
ALLOWED = (*FILES, *MEMORY, *WAITING, *PROCESSES, *SIGNALS, *TIME, *LOCAL_PAIRS, *OTHER)

AF_UNIX = 1
CLONE_NEW = 0x7E020000  # CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET
PR_SET_PDEATHSIG, SIGKILL = (
    1,
    9,
)  # "die when the parent dies" may be set (setpriv does), never taken back
# linux/prctl.h: what an interpreter, the C library and setpriv ask of their own process. Whoever
# asks for more hears ENOSYS.
PRCTL = {
    "GET_PDEATHSIG": 2,
    "GET_DUMPABLE": 3,
    "SET_DUMPABLE": 4,
    "GET_KEEPCAPS": 7,
    "SET_KEEPCAPS": 8,
    "SET_NAME": 15,
    "GET_NAME": 16,
    "GET_SECCOMP": 21,
    "CAPBSET_READ": 23,
    "CAPBSET_DROP": 24,
    "GET_SECUREBITS": 27,
    "SET_SECUREBITS": 28,
    "SET_TIMERSLACK": 29,
    "GET_TIMERSLACK": 30,
    "SET_NO_NEW_PRIVS": 38,
    "GET_NO_NEW_PRIVS": 39,
    "GET_TID_ADDRESS": 40,
    "CAP_AMBIENT": 47,
    "SVE_GET_VL": 51,
    "GET_SPECULATION_CTRL": 52,
    "GET_TAGGED_ADDR_CTRL": 56,
    "SME_GET_VL": 64,
    "SET_VMA": 0x53564D41,
}
# asm-generic/ioctls.h: is it a terminal, how large, how much can be read; blocking and closing on
# exec. Not: typing into a terminal.
IOCTL = {
    "TCGETS": 0x5401,
    "TIOCGPGRP": 0x540F,
    "TIOCGWINSZ": 0x5413,
    "FIONREAD": 0x541B,
    "FIONBIO": 0x5421,
    "FIONCLEX": 0x5450,
    "FIOCLEX": 0x5451,
    "TCGETS2": 0x802C542A,
}
# name: each a list of comparisons, one of which must hold. All 64 bits are compared, of which the
# kernel reads 32 in some: what has others set is refused. clone3 is not here, because its flags are
# behind a pointer; glibc then takes clone.
LOOKED_INTO = {
    "clone": [[Comparison(0, MASKED_EQUAL, CLONE_NEW, 0)]],
    "socketpair": [[Comparison(0, EQUAL, AF_UNIX)]],
    "prctl": [
        [Comparison(0, EQUAL, PR_SET_PDEATHSIG), Comparison(1, EQUAL, SIGKILL)],
        *([Comparison(0, EQUAL, one)] for one in PRCTL.values()),
    ],
    "ioctl": [[Comparison(1, EQUAL, one)] for one in IOCTL.values()],
}
# Refused like the rest, and known to exist: an error that says "not permitted" is the truer one.
REFUSED = """
    accept accept4 acct add_key adjtimex bind bpf chroot clock_adjtime clock_settime connect
    delete_module fanotify_init finit_module fsconfig fsetxattr fsmount fsopen fspick init_module
    io_uring_enter io_uring_register io_uring_setup ioperm iopl ioprio_set kcmp kexec_file_load
    kexec_load keyctl listen lookup_dcookie lsetxattr mbind memfd_create memfd_secret migrate_pages
    modify_ldt mount mount_setattr move_mount move_pages mq_open msgget name_to_handle_at
    open_by_handle_at open_tree perf_event_open personality pidfd_getfd pivot_root process_madvise
    process_vm_readv process_vm_writev ptrace quotactl quotactl_fd reboot request_key sched_setattr
    sched_setparam sched_setscheduler seccomp semget set_mempolicy setdomainname sethostname setns
    setpriority setsockopt settimeofday setxattr shmat shmctl shmget socket swapoff swapon syslog
    umount2 unshare uselib userfaultfd vhangup
""".split()


@functools.cache
def program(machine: str | None = None) -> bytes:
    """The filter for this machine (or "x86_64", "aarch64") as an array of struct sock_filter, eight
    bytes each.

    Raises CourseError for any other architecture, and where libseccomp is missing.
    """
    machine = machine or platform.machine()
    if machine not in ARCHITECTURES:
        raise CourseError(
            f"no system-call filter for the architecture {machine!r}; use the container backend"
            " there"
        )
    made = Filter(machine, default=ERRNO | ENOSYS)
    try:
        for name in ALLOWED:
            made.rule(ALLOW, name)
        for name, ways in LOOKED_INTO.items():
            for comparisons in ways:
                made.rule(ALLOW, name, comparisons)
        for name in REFUSED:
            made.rule(ERRNO | EPERM, name)
        return made.program()
    finally:
        made.close()


def described() -> str:
    """Which filter holds, for `course doctor`."""
    return (
        f"{len(ALLOWED) + len(LOOKED_INTO)} system calls are allowed, by a list, {len(LOOKED_INTO)}"
        " of them with some arguments only; all others are refused (made by libseccomp"
        f" {version()}, {len(program()) // 8} instructions)"
    )
