"""The system-call filter, run by an interpreter of classic BPF that is written here from the kernel's description."""
import re
import struct
from pathlib import Path

import pytest

from autograder.errors import CourseError
from autograder.sandbox.seccomp import NEWEST, REFUSED, program

ALLOW, EPERM, ENOSYS, KILL = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
HEADERS = {"x86_64": [Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"), Path("/usr/include/asm/unistd_64.h")],
           "aarch64": [Path("/usr/include/asm-generic/unistd.h")]}
CALLS = {"x86_64": {"read": 0, "clone": 56, "clone3": 435, "socketpair": 53, "ioctl": 16, "prctl": 157, "execve": 59,
                    "mmap": 9, "openat": 257},
         "aarch64": {"read": 63, "clone": 220, "clone3": 435, "socketpair": 199, "ioctl": 29, "prctl": 167, "execve": 221,
                     "mmap": 222, "openat": 56}}


def verdict(machine, number, *arguments, audit=None):
    """What the filter says to one call. struct seccomp_data: int nr, u32 arch, u64 instruction pointer, u64 args[6]."""
    padded = (*arguments, *[0] * (6 - len(arguments)))
    data = struct.pack("<IIQ6Q", number, AUDIT[machine] if audit is None else audit, 0, *padded)
    code = program(machine)
    at, accumulator = 0, 0
    while True:
        operation, if_true, if_false, k = struct.unpack_from("=HBBI", code, 8 * at)
        at += 1
        if operation == 0x06:
            return k
        if operation == 0x20:
            accumulator = struct.unpack_from("<I", data, k)[0]
        else:
            holds = {0x15: accumulator == k, 0x25: accumulator > k, 0x45: accumulator & k != 0}[operation]
            at += if_true if holds else if_false


@pytest.fixture(params=["x86_64", "aarch64"])
def machine(request):
    return request.param


def test_ordinary_calls_are_allowed(machine):
    for name in ("read", "execve", "mmap", "openat"):
        assert verdict(machine, CALLS[machine][name]) == ALLOW


def test_every_listed_call_is_refused_whatever_its_arguments(machine):
    column = list(AUDIT).index(machine)
    for name, numbers in REFUSED.items():
        if numbers[column] is not None:
            assert verdict(machine, numbers[column]) == EPERM, name
            assert verdict(machine, numbers[column], *[2**64 - 1] * 6) == EPERM, name


def test_numbers_are_those_of_the_installed_headers(machine):
    header = next((path for path in HEADERS[machine] if path.exists()), None)
    if header is None:
        pytest.skip(f"no kernel headers with the system calls of {machine}: install linux-libc-dev to compare the numbers")
    known = dict(re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", header.read_text()))
    column = list(AUDIT).index(machine)
    ours = {name: numbers[column] for name, numbers in REFUSED.items() if name in known}
    assert ours == {name: int(known[name]) for name in ours} and len(ours) > 50


def test_a_thread_may_be_made_but_no_namespace(machine):
    clone = CALLS[machine]["clone"]
    assert verdict(machine, clone, 0x3D0F00) == ALLOW                      # what pthread_create asks for
    assert verdict(machine, clone, 17) == ALLOW                            # fork
    for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert verdict(machine, clone, flag | 17) == EPERM
    assert verdict(machine, CALLS[machine]["clone3"]) == ENOSYS            # flags in memory: the library takes clone


def test_pairs_of_local_sockets_are_allowed_and_no_other_family(machine):
    assert verdict(machine, CALLS[machine]["socketpair"], 1) == ALLOW
    assert verdict(machine, CALLS[machine]["socketpair"], 2) == EPERM


def test_typing_into_the_terminal_is_refused(machine):
    assert verdict(machine, CALLS[machine]["ioctl"], 0, 0x5412) == EPERM
    assert verdict(machine, CALLS[machine]["ioctl"], 0, 0x5413) == ALLOW   # TIOCGWINSZ


def test_the_wish_to_die_with_the_parent_can_be_made_and_not_unmade(machine):
    prctl = CALLS[machine]["prctl"]
    assert verdict(machine, prctl, 1, 9) == ALLOW
    assert verdict(machine, prctl, 1, 0) == EPERM
    assert verdict(machine, prctl, 15) == ALLOW


def test_calls_of_another_architecture_or_newer_than_the_list_do_not_pass(machine):
    assert verdict(machine, 0, audit=0x40000003) == KILL                   # i386 on x86_64: other numbers
    assert verdict(machine, NEWEST + 1) == ENOSYS
    assert verdict(machine, 0x40000000 | 1) == ENOSYS                      # x32


def test_an_architecture_without_numbers_is_an_error_not_an_empty_filter():
    with pytest.raises(CourseError, match="riscv64"):
        program("riscv64")
