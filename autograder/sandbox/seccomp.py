"""A system-call filter for the sandbox, assembled by hand: a classic BPF program as bytes.

bubblewrap loads it (`--seccomp FD`) just before the worker starts; nothing inside can remove it. It is a list of what
is refused, not of what is allowed: PyTorch, NumPy and the C library use a few hundred calls that differ between
versions, while what an escape needs is short and stable. Namespaces, an unprivileged user, no capabilities and
no_new_privs stand in front of it; the filter takes away the parts of the kernel in which past escapes were found.

Layout of the program (seccomp(2), linux/seccomp.h): load the architecture, kill if it is another one; load the
number; refuse numbers newer than this list; refuse each listed number; look at the arguments of clone, socketpair,
prctl and ioctl; allow. It does not filter paths: a BPF program cannot read memory that a pointer leads to.
"""
import platform
import struct

from autograder.errors import CourseError

# name: (number on x86_64, number on aarch64); None where the architecture never had the call.
# Source: asm/unistd_64.h and asm-generic/unistd.h of Linux 6.1; a test compares with the installed headers.
REFUSED = {
    # other processes
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "process_madvise": (440, 440), "kcmp": (312, 272), "pidfd_getfd": (438, 438),
    # mounts and namespaces
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "move_mount": (429, 429), "open_tree": (428, 428), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "unshare": (272, 97), "setns": (308, 268), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    # parts of the kernel with a long record of escapes
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218), "fanotify_init": (300, 262),
    "modify_ldt": (154, None), "personality": (135, 92), "lookup_dcookie": (212, 18),
    # the machine itself
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225),
    "acct": (163, 89), "quotactl": (179, 60), "quotactl_fd": (443, 443), "settimeofday": (164, 170),
    "clock_settime": (227, 112), "clock_adjtime": (305, 266), "adjtimex": (159, 171), "sethostname": (170, 161),
    "setdomainname": (171, 162), "syslog": (103, 116), "vhangup": (153, 58), "iopl": (172, None),
    "ioperm": (173, None), "uselib": (134, None),
    # memory that the limit on address space does not see
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "shmget": (29, 194), "shmat": (30, 196),
    "shmctl": (31, 195), "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180),
    "mbind": (237, 235), "set_mempolicy": (238, 237), "migrate_pages": (256, 238), "move_pages": (279, 239),
    "set_mempolicy_home_node": (450, 450),
    # sockets of every family: the pipes to the checker are all that is needed
    "socket": (41, 198), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201), "accept": (43, 202),
    "accept4": (288, 242),
}
LOOKED_INTO = {"clone": (56, 220), "clone3": (435, 435), "socketpair": (53, 199), "ioctl": (16, 29), "prctl": (157, 167)}
NEWEST = 450                     # calls with a higher number did not exist when the list was made
ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}  # AUDIT_ARCH_*, column above

CLONE_NEW = 0x7E020000           # CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET
TERMINAL_INJECTION = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX: type into the terminal of whoever started the grading
AF_UNIX = 1
PR_SET_PDEATHSIG, SIGKILL = 1, 9       # "die when the parent dies" may be set (setpriv does), never taken back
EPERM, ENOSYS = 1, 38

LOAD, JUMP_EQUAL, JUMP_GREATER, JUMP_BITS, RETURN = 0x20, 0x15, 0x25, 0x45, 0x06  # BPF_LD|W|ABS, BPF_JMP|…|K, BPF_RET
ALLOW, KILL_PROCESS, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
NUMBER_AT, ARCHITECTURE_AT, ARGUMENTS_AT = 0, 4, 16  # offsets in struct seccomp_data


def program(machine: str | None = None) -> bytes:
    """The filter for this machine (or "x86_64", "aarch64") as an array of struct sock_filter, eight bytes each.

    Raises CourseError for any other architecture: without numbers there is nothing to refuse.
    """
    machine = machine or platform.machine()
    if machine not in ARCHITECTURES:
        raise CourseError(f"no system-call filter for the architecture {machine!r}; use the container backend there")
    audit, column = ARCHITECTURES[machine]
    code = [
        _op(LOAD, ARCHITECTURE_AT),
        _op(JUMP_EQUAL, audit, 1, 0),
        _op(RETURN, KILL_PROCESS),           # 32-bit calls have other numbers: never let them through
        _op(LOAD, NUMBER_AT),
        _op(JUMP_GREATER, NEWEST, 0, 1),     # also x32, whose numbers have bit 30 set
        _op(RETURN, ERRNO | ENOSYS),         # "no such call": the C library then takes the older one
    ]
    for numbers in REFUSED.values():
        if numbers[column] is not None:
            code += [_op(JUMP_EQUAL, numbers[column], 0, 1), _op(RETURN, ERRNO | EPERM)]
    # clone3 hides its flags behind a pointer, so it is refused as if the kernel were older; glibc falls back to clone.
    code += [_op(JUMP_EQUAL, LOOKED_INTO["clone3"][column], 0, 1), _op(RETURN, ERRNO | ENOSYS)]
    code += _look_into("clone", column, 0, [_op(JUMP_BITS, CLONE_NEW, 0, 1), _op(RETURN, ERRNO | EPERM)])
    code += _look_into("socketpair", column, 0, [_op(JUMP_EQUAL, AF_UNIX, 1, 0), _op(RETURN, ERRNO | EPERM)])
    code += _look_into("prctl", column, 0, [
        _op(JUMP_EQUAL, PR_SET_PDEATHSIG, 0, 3), _op(LOAD, ARGUMENTS_AT + 8), _op(JUMP_EQUAL, SIGKILL, 1, 0),
        _op(RETURN, ERRNO | EPERM)])
    for request in TERMINAL_INJECTION:
        code += _look_into("ioctl", column, 1, [_op(JUMP_EQUAL, request, 0, 1), _op(RETURN, ERRNO | EPERM)])
    code.append(_op(RETURN, ALLOW))
    return b"".join(code)


def _look_into(name: str, column: int, argument: int, test: list[bytes]) -> list[bytes]:
    """Run `test` on the low half of an argument if the call is `name`, with the call's number loaded again after."""
    body = [_op(LOAD, ARGUMENTS_AT + 8 * argument), *test, _op(LOAD, NUMBER_AT)]
    return [_op(JUMP_EQUAL, LOOKED_INTO[name][column], 0, len(body)), *body]


def _op(code: int, k: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """One struct sock_filter: u16 code, u8 jump if true, u8 jump if false, u32 operand."""
    return struct.pack("=HBBI", code, if_true, if_false, k)
