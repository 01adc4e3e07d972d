"""The few functions of libseccomp (https://github.com/seccomp/libseccomp) that make a filter,
through ctypes.

Debian, Ubuntu and Fedora have the library in their base; apt, systemd and container runtimes use
it. The bindings on PyPI are no better kept than these lines: pyseccomp had its last release in 2021
and wraps what is wrapped here. A test runs every rule through an interpreter of the program that
comes out, so that a slip in a constant is found.
"""

import ctypes
import functools
import tempfile
from collections.abc import Sequence

from autograder.common.errors import CourseError

LIBRARY = "libseccomp.so.2"
MISSING = (
    "libseccomp is missing, which makes the filter of system calls; without a filter nothing is"
    " graded. Install it with `apt-get install libseccomp2` (Debian, Ubuntu) or `dnf install"
    " libseccomp` (Fedora)."
)
ALLOW, KILL_PROCESS, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000  # linux/seccomp.h
EQUAL, MASKED_EQUAL = 4, 7  # enum scmp_compare in seccomp.h
ACTION_OF_OTHER_ARCHITECTURES, NO_NEW_PRIVILEGES, OPTIMIZE = 2, 3, 8  # enum scmp_filter_attr
BINARY_TREE = 2
UNKNOWN = (
    -1
)  # __NR_SCMP_ERROR: no architecture has a call of this name, as far as this version knows
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # AUDIT_ARCH_* in linux/audit.h


class Comparison(ctypes.Structure):
    """struct scmp_arg_cmp: argument `arg` against `a`; MASKED_EQUAL: its bits in `a` against `b`.

    All 64 bits count.
    """

    _fields_ = [
        ("arg", ctypes.c_uint),
        ("op", ctypes.c_int),
        ("a", ctypes.c_uint64),
        ("b", ctypes.c_uint64),
    ]


class _Version(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint), ("minor", ctypes.c_uint), ("micro", ctypes.c_uint)]


class Filter:
    """A filter in the making, for one architecture of ARCHITECTURES; `default` is what happens to
    calls without a rule.

    Calls of other architectures, the 32-bit ones of this processor too, end the process. Raises
    CourseError where the library is missing, OSError where it refuses.
    """

    def __init__(self, machine: str, default: int):
        self._library = library()
        self._context = self._library.seccomp_init(default)
        if not self._context:
            raise OSError("libseccomp makes no filter")
        token = ARCHITECTURES[machine]
        native = self._library.seccomp_arch_native()
        if token != native:
            self._call("seccomp_arch_add", ctypes.c_uint32(token))
            self._call("seccomp_arch_remove", ctypes.c_uint32(native))
        for attribute, value in (
            (ACTION_OF_OTHER_ARCHITECTURES, KILL_PROCESS),
            (NO_NEW_PRIVILEGES, 0),
        ):
            self._call("seccomp_attr_set", ctypes.c_int(attribute), ctypes.c_uint32(value))
        # A search instead of a list: older versions have no such attribute, and their filters say
        # the same more slowly.
        self._library.seccomp_attr_set(
            self._context, ctypes.c_int(OPTIMIZE), ctypes.c_uint32(BINARY_TREE)
        )

    def rule(self, action: int, name: str, comparisons: Sequence[Comparison] = ()) -> None:
        """What happens to a call, if all comparisons hold.

        A name that this version does not know gets no rule.
        """
        number = number_of(name)
        if number != UNKNOWN:
            self._call(
                "seccomp_rule_add_array",
                ctypes.c_uint32(action),
                ctypes.c_int(number),
                ctypes.c_uint(len(comparisons)),
                (Comparison * len(comparisons))(*comparisons),
            )

    def program(self) -> bytes:
        """The filter as an array of struct sock_filter, eight bytes each."""
        with tempfile.TemporaryFile() as file:
            self._call("seccomp_export_bpf", ctypes.c_int(file.fileno()))
            file.seek(0)
            return file.read()

    def close(self) -> None:
        """Give the library's memory back."""
        self._library.seccomp_release(self._context)

    def _call(self, name: str, *arguments: object) -> None:
        answer = getattr(self._library, name)(self._context, *arguments)
        if answer < 0:
            raise OSError(-answer, f"libseccomp: {name} failed")


@functools.cache
def library() -> ctypes.CDLL:
    """The library. Raises CourseError with the remedy where it is missing."""
    try:
        loaded = ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise CourseError(MISSING) from error
    loaded.seccomp_init.restype = ctypes.c_void_p
    loaded.seccomp_init.argtypes = [ctypes.c_uint32]
    loaded.seccomp_arch_native.restype = ctypes.c_uint32
    loaded.seccomp_version.restype = ctypes.POINTER(_Version)
    for name in (
        "seccomp_arch_add",
        "seccomp_arch_remove",
        "seccomp_attr_set",
        "seccomp_rule_add_array",
        "seccomp_export_bpf",
        "seccomp_release",
    ):
        # Without it a pointer would be cut to an int. What follows is given as ctypes values.
        getattr(loaded, name).argtypes = [ctypes.c_void_p]
    loaded.seccomp_release.restype = None
    return loaded


def number_of(name: str) -> int:
    """The number of a call here; a number of the library's own, below 0, for calls of other
    architectures; or UNKNOWN.
    """
    return library().seccomp_syscall_resolve_name(name.encode())


def version() -> str:
    """Of the library, as "2.5.4"."""
    found = library().seccomp_version().contents
    return f"{found.major}.{found.minor}.{found.micro}"
