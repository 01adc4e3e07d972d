"""Attempts to reach the machine: its files, network, processes, secrets.

See attempts.py for the form.

Each function runs inside, on its own: it imports what it uses and knows only its `facts`. It goes
on after each refusal, because an attacker would. All are harmless where they succeed.
"""

from autograder.sandbox.selftest.attempts import attempt


@attempt()
def loopback(facts):
    """Connect to a listener on this machine's loopback."""
    import socket

    said = []
    for family, address in [
        (socket.AF_INET, ("127.0.0.1", facts["port"])),
        (socket.AF_UNIX, facts["abstract"]),
    ]:
        try:
            socket.socket(family).connect(address)
        except OSError as error:
            said.append(str(error))
    return "; ".join(said)


@attempt()
def sockets(facts):
    """Open sockets of other families: IPv6, raw packets, netlink, vsock."""
    import socket

    said = []
    for name, kind in [
        ("AF_INET6", socket.SOCK_DGRAM),
        ("AF_PACKET", socket.SOCK_RAW),
        ("AF_NETLINK", socket.SOCK_RAW),
        ("AF_VSOCK", socket.SOCK_STREAM),
        ("AF_ALG", 5),
    ]:
        try:
            socket.socket(getattr(socket, name), kind)
            return f"ESCAPED: a socket of family {name} was given"
        except OSError as error:
            said.append(f"{name}: {error.strerror}")
    return "; ".join(said)


@attempt()
def shadow(facts):
    """Read the machine's password file and its keys."""
    import glob

    said = []
    for path in [
        "/etc/shadow",
        "/etc/gshadow",
        "/root/.ssh",
        *glob.glob("/etc/ssh/*key"),
        "/etc/machine-id",
    ]:
        try:
            with open(path) as file:
                return f"ESCAPED: {path} has {len(file.read())} characters"
        except OSError as error:
            said.append(f"{path}: {error.strerror}")
    return "; ".join(said)


@attempt()
def canaries(facts):
    """Read marked files in the repository, the course, the home folder and /tmp, by name and by
    search.
    """
    import os

    paths = list(facts["canaries"])
    for folder in [facts["repository"], facts["home"], "/proc/1/root" + facts["repository"]]:
        paths += [
            os.path.join(folder, name)
            for name in (os.listdir(folder) if os.path.isdir(folder) else [])
            if facts["mark"] in name
        ]
    said = []
    for path in paths:
        try:
            with open(path) as file:
                said.append(file.read())
        except OSError as error:
            said.append(f"{path}: {error.strerror}")
    return "; ".join(said)


@attempt()
def answers(facts):
    """Find the answers: withheld modules, their bytecode, checks, mistakes, solutions."""
    import importlib.util
    import os
    import sys

    found = []
    for start in [
        sys.path[0],
        *(p for p in sys.path if p.endswith("-packages")),
        facts["repository"],
        "/proc/1/cwd",
    ]:
        for folder, inner, names in os.walk(start):
            if folder.endswith("-packages"):
                inner[:] = {"autograder", "reference_impl"}.intersection(inner)
            inner[:] = [name for name in inner if name[0] not in "._"]
            ours = any(word in folder for word in ("autograder", "reference_impl", "solutions"))
            found += [
                f"{folder}/{name}"
                for name in names
                if ours
                and (name.startswith(("test_0", "m0", "a0", "0", "counts")) or name == "grade.py")
            ]
    there = importlib.util.find_spec("reference_impl.embeddings.counts")
    if there and there.origin:  # a stand-in comes from no file
        found.append("the withheld module can be imported")
    return f"ESCAPED: {found[:3]}" if found else "no file of the grader's was found"


@attempt()
def environment(facts):
    """Read secrets from the environment, its own and other processes'."""
    import os

    said = [os.environ.get(facts["variable"], "no such variable")]
    for path in [
        "/proc/self/environ",
        "/proc/1/environ",
        f"/proc/{os.getppid()}/environ",
        f"/proc/{facts['checker']}/environ",
    ]:
        try:
            with open(path, errors="replace") as file:
                said.append(
                    next(
                        (part for part in file.read().split("\0") if facts["variable"] in part),
                        "nothing",
                    )
                )
        except OSError as error:
            said.append(f"{path}: {error.strerror}")
    return "; ".join(said)


@attempt()
def write_outside(facts):
    """Write files: repository, course, home, /tmp of this machine, system folders."""
    import os

    said = []
    for path in facts["targets"]:
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write("x")
        except OSError as error:
            said.append(f"{path}: {error.strerror}")
    return "; ".join(said) or "all writes seemed to work"


@attempt()
def module_shadowing(facts):
    """Change the interpreter, the packages or the worker for later sandboxes."""
    import os
    import sys

    kept = [
        os.path.dirname(os.__file__),
        os.path.dirname(sys.executable),
        "/usr/lib",
        "/usr/bin",
        *sys.path,
    ]
    said = []
    for folder in filter(os.path.isdir, kept):
        path = os.path.join(folder, facts["mark"] + ".py")
        try:
            with open(path, "w"):
                os.unlink(path)
            return f"ESCAPED: {folder} can be written"
        except OSError as error:
            said.append(str(error.strerror))
    return f"{len(said)} folders, {', '.join(set(said))}"


@attempt()
def signals(facts):
    """Signal a process of this machine by its number."""
    import os
    import signal
    import time

    try:
        os.kill(facts["victim"], signal.SIGKILL)
    except OSError as error:
        return str(error)
    for _ in range(1000):  # on a busy machine it dies later than it is killed
        with open(f"/proc/{facts['victim']}/stat") as file:
            if file.read().rpartition(")")[2].split()[0] in "ZX":
                return "the process is dead"
        time.sleep(0.01)
    return "the signal was sent"


@attempt()
def process_list(facts):
    """See the machine's processes in /proc."""
    import os

    seen = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline") as file:
                seen.append(file.read())
        except OSError:
            continue
    if any(facts["mark"] in command for command in seen):
        return "ESCAPED: a process of this machine is listed"
    return f"{len(seen)} processes, all of this sandbox"


@attempt()
def inherited_descriptors(facts):
    """Use file descriptors that leaked in from the checker."""
    import os

    said = []
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue
        said.append(f"{name}: {target}")
        if int(name) > 2 and not target.startswith(("pipe:", "/proc/")):
            said.append(os.pread(int(name), 100, 0).decode("latin-1"))
    return "; ".join(said)


@attempt()
def background_process(facts):
    """Leave a process behind that outlives the call."""
    import ctypes
    import os
    import signal
    import time

    if os.fork() == 0:
        os.setsid()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        if os.fork() == 0:
            ctypes.CDLL(None).prctl(
                15, facts["mark"].encode(), 0, 0, 0
            )  # PR_SET_NAME: how we are found again
            time.sleep(300)
        os._exit(0)
    time.sleep(0.2)
    return "a grandchild in its own session was started"
