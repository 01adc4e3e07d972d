"""The system-call filter, run by an interpreter of classic BPF that is written here from the
kernel's description.
"""

import functools
import re
import struct
from pathlib import Path

import pytest

from autograder.common.errors import CourseError
from autograder.sandbox.backends import bubblewrap, libseccomp
from autograder.sandbox.backends.bubblewrap import BubblewrapBackend
from autograder.sandbox.backends.choose import choose_backend
from autograder.sandbox.backends.seccomp import ALLOWED, IOCTL, LOOKED_INTO, PRCTL, REFUSED, program

ALLOW, EPERM, ENOSYS, KILL = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
HEADERS = {
    "x86_64": [
        Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
        Path("/usr/include/asm/unistd_64.h"),
    ],
    "aarch64": [Path("/usr/include/asm-generic/unistd.h")],
}
CALLS = {
    "x86_64": {
        "read": 0,
        "clone": 56,
        "clone3": 435,
        "socketpair": 53,
        "ioctl": 16,
        "prctl": 157,
        "execve": 59,
        "mmap": 9,
        "openat": 257,
    },
    "aarch64": {
        "read": 63,
        "clone": 220,
        "clone3": 435,
        "socketpair": 199,
        "ioctl": 29,
        "prctl": 167,
        "execve": 221,
        "mmap": 222,
        "openat": 56,
    },
}
HIGH = 1 << 32  # a bit that the kernel does not read where an argument is an int


def verdict(machine, number, *arguments, audit=None):
    """What the filter says to one call.

    struct seccomp_data: int nr, u32 arch, u64 instruction pointer, u64 args[6].
    """
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
        elif operation == 0x54:
            accumulator &= k
        elif operation == 0x05:
            at += k
        else:
            holds = {
                0x15: accumulator == k,
                0x25: accumulator > k,
                0x35: accumulator >= k,
                0x45: accumulator & k != 0,
            }[operation]
            at += if_true if holds else if_false


@pytest.fixture(params=["x86_64", "aarch64"])
def machine(request):
    return request.param


@functools.cache
def numbers(machine):
    """Every call that the installed headers know for an architecture, by name."""
    header = next((path for path in HEADERS[machine] if path.exists()), None)
    if header is None:
        pytest.skip(
            f"no kernel headers with the system calls of {machine}: install linux-libc-dev to"
            " compare the numbers"
        )
    found = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", header.read_text())
    return {{"fstatat": "newfstatat"}.get(name, name): int(number) for name, number in found}


def test_exactly_the_listed_calls_are_allowed_and_no_other_number(machine):
    known = numbers(machine)
    listed = {known[name]: name for name in ALLOWED if name in known}
    looked_into = {known[name] for name in LOOKED_INTO}
    assert len(listed) > 150
    for number in range(700):
        for arguments in ((), [2**64 - 1] * 6):
            said = verdict(machine, number, *arguments)
            if number not in looked_into:
                assert (said == ALLOW) == (number in listed), listed.get(number, number)


def test_calls_that_are_known_to_exist_are_not_permitted_the_others_do_not_exist(machine):
    for name, number in numbers(machine).items():
        if name not in LOOKED_INTO and name not in ALLOWED:
            assert verdict(machine, number) == (EPERM if name in REFUSED else ENOSYS), name


def test_every_name_on_the_lists_is_a_call_and_stands_there_once():
    names = [*ALLOWED, *LOOKED_INTO, *REFUSED]
    assert (
        len(names) == len(set(names))
        and [name for name in names if libseccomp.number_of(name) == libseccomp.UNKNOWN] == []
    )


def test_a_thread_may_be_made_but_no_namespace(machine):
    clone = CALLS[machine]["clone"]
    assert verdict(machine, clone, 0x3D0F00) == ALLOW  # what pthread_create asks for
    assert verdict(machine, clone, 17) == ALLOW  # fork
    for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert (
            verdict(machine, clone, flag | 17) != ALLOW
            and verdict(machine, clone, HIGH | flag | 17) != ALLOW
        )
    assert (
        verdict(machine, CALLS[machine]["clone3"]) == ENOSYS
    )  # flags in memory: the library takes clone


def test_pairs_of_local_sockets_are_allowed_and_no_other_family(machine):
    socketpair = CALLS[machine]["socketpair"]
    assert verdict(machine, socketpair, 1) == ALLOW
    assert [
        family
        for family in (*range(50), HIGH | 1, HIGH | 2)
        if verdict(machine, socketpair, family) == ALLOW
    ] == [1]


def test_a_terminal_may_be_looked_at_and_not_typed_into(machine):
    ioctl = CALLS[machine]["ioctl"]
    assert {
        request for request in range(1 << 16) if verdict(machine, ioctl, 0, request) == ALLOW
    } == {one for one in IOCTL.values() if one < 1 << 16}
    assert (
        0x5412 not in IOCTL.values() and verdict(machine, ioctl, 0, HIGH | 0x5412) != ALLOW
    )  # TIOCSTI


def test_the_wish_to_die_with_the_parent_can_be_made_and_not_unmade(machine):
    prctl = CALLS[machine]["prctl"]
    assert verdict(machine, prctl, 1, 9) == ALLOW
    for option, signal in ((1, 0), (1, 15), (HIGH | 1, 0), (HIGH | 1, 9), (1, HIGH | 9)):
        assert verdict(machine, prctl, option, signal) != ALLOW
    assert {option for option in range(1000) if verdict(machine, prctl, option) == ALLOW} == {
        one for one in PRCTL.values() if one < 1000
    }


def test_calls_of_another_architecture_end_the_process_and_those_of_the_future_do_not_exist(
    machine,
):
    assert verdict(machine, 0, audit=0x40000003) == KILL  # i386 on x86_64: other numbers
    assert verdict(machine, 9999) == ENOSYS
    assert verdict("x86_64", 0x40000000 | 1) == KILL  # x32


def test_an_architecture_without_numbers_is_an_error_not_an_empty_filter():
    with pytest.raises(CourseError, match="riscv64"):
        program("riscv64")


def test_where_libseccomp_is_missing_nothing_is_isolated_and_the_remedy_is_said(monkeypatch):
    monkeypatch.setattr(libseccomp, "LIBRARY", "libseccomp.so.of.nowhere")
    for kept in (libseccomp.library, program, bubblewrap._probe):
        kept.cache_clear()
    try:
        with pytest.raises(CourseError, match="apt-get install libseccomp2"):
            program()
        assert "libseccomp is missing" in BubblewrapBackend().unavailable()
        with pytest.raises(
            CourseError, match="nothing here can isolate.*apt-get install libseccomp2"
        ):
            choose_backend("bubblewrap")
    finally:
        for kept in (libseccomp.library, program, bubblewrap._probe):
            kept.cache_clear()
