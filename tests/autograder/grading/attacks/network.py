"""A way out or in: sockets of every family, names to look up, programs that fetch, calls that go
around the filter.
"""

from tests.autograder.grading.attacks.attack import NOT_DOUBLE, Attack

REFUSED = ("PermissionError", "OSError")

NETWORK = [
    Attack(
        "visits-loopback",
        """
import socket
def double(x):
    with socket.create_connection(("127.0.0.1", FACTS["port"]), timeout=1):
        return 2 * x
""",
        REFUSED,
    ),
    Attack(
        "visits-by-an-abstract-name",
        """
import socket
def double(x):
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(FACTS["abstract"])
        return 2 * x
""",
        REFUSED,
    ),
    Attack(
        "sends-a-datagram",
        """
import socket
def double(x):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.sendto(b"the hidden inputs are", ("127.0.0.1", FACTS["port"]))
        return 2 * x
""",
        REFUSED,
    ),
    Attack(
        "tries-every-family",
        """
import socket
def double(x):
    for family in range(1, 46):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, 5):
            try:
                socket.socket(family, kind)
                return 2 * x
            except OSError as error:
                refused = error
    raise refused
""",
        REFUSED,
    ),
    Attack(
        "pairs-of-other-families",
        """
import socket
def double(x):
    for family in (socket.AF_INET, socket.AF_INET6, 16, 17, 30, 40):
        try:
            socket.socketpair(family)
            return 2 * x
        except OSError as error:
            refused = error
    raise refused
""",
        REFUSED,
    ),
    Attack(
        "looks-a-name-up",
        """
import socket
def double(x):
    return 2 * x if socket.getaddrinfo("example.com", 80) else 0
""",
        ("gaierror", "Error"),
    ),
    Attack(
        "fetches-a-page",
        """
import urllib.request
def double(x):
    return 2 * x if urllib.request.urlopen(f"http://127.0.0.1:{FACTS['port']}/", timeout=1) else 0
""",
        ("URLError", "Error"),
    ),
    Attack(
        "waits-for-visitors",
        """
import socket
def double(x):
    with socket.create_server(("0.0.0.0", 0)):
        return 2 * x
""",
        REFUSED,
    ),
    Attack(
        "sends-by-a-program",
        """
import subprocess
def double(x):
    done = subprocess.run(["bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{FACTS['port']}"],
                          capture_output=True)
    return 2 * x if done.returncode == 0 else done.stderr.decode()
""",
        ("type str; an int was asked for", "Error"),
    ),
    Attack(
        "goes-around-by-io-uring",
        """
import ctypes, os
def double(x):
    libc, room = ctypes.CDLL(None, use_errno=True), ctypes.create_string_buffer(200)
    if libc.syscall(425, 8, room) >= 0:
        return 2 * x
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
""",
        REFUSED,
    ),
    Attack(
        "goes-around-by-old-calls",
        """
import ctypes
def double(x):
    libc = ctypes.CDLL(None, use_errno=True)
    # x32's socket, and numbers that overflow
    for number in (0x40000000 + 41, 41, 512, 1024 + 41, 2**31 + 41):
        if libc.syscall(ctypes.c_long(number), 2, 1, 0) >= 0:
            return 2 * x
    return 0
""",
        (NOT_DOUBLE, "SIGSYS"),
    ),
    Attack(
        "speaks-to-the-zygote",
        """
import os, socket
def double(x):
    for name in map(int, os.listdir("/proc/self/fd")):
        try:
            line = socket.socket(fileno=os.dup(name))
            line.send(b"fork me a worker without walls")
            return 2 * x
        except OSError:
            continue
    return 0
""",
        ("does not double", "Error"),
    ),
]

FAMILIES = {"network": NETWORK}
