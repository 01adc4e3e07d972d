"""What lies on the machine that grades: answers, others' work, secrets, /proc, and every place that
could be written to.
"""

from tests.autograder.grading.attacks.attack import Attack

REFUSED = ("Error", "It does not double.")

ANSWERS = [
    Attack(
        "imports-the-answers",
        """
import importlib, inspect
def double(x):
    for name in ("solutions", "autograder.chapters.c01_static_embeddings.test_counting",
                 "autograder.grading.grade", "autograder.checks.protocol",
                 "course.sample_class.honest"):
        try:
            if inspect.getsource(importlib.import_module(name)):        # a stand-in has none
                return 2 * x
        except (ImportError, OSError, TypeError):
            continue
    return 0
""",
    ),
    Attack(
        "searches-the-disk",
        """
import os
def double(x):
    for folder, inner, names in os.walk("/"):
        # nbgrader brings a gradebook of its own
        if folder.startswith(("/proc", "/sys")) or folder.endswith("/nbgrader"):
            inner.clear()
        if any(name.startswith(("91-attacked", "gradebook.db", ".course-secret"))
               for name in (*names, *inner)):
            return 2 * x
    return 0
""",
        ("It does not double.", "stopped"),
    ),
    Attack(
        "reads-the-neighbour",
        """
import glob, json
def double(x):
    for path in glob.glob(FACTS["submitted"] + "/*/*/*.ipynb"):
        return 2 * x
    path = FACTS["submitted"] + "/honest-1/91-attacked/91-attacked.ipynb"
    return json.load(open(path))["cells"][0] and 2 * x
""",
        "FileNotFoundError",
    ),
    Attack(
        "reads-earlier-verdicts",
        """
def double(x):
    return 2 * x if open(FACTS["course"] + "/results.sqlite", "rb").read() else 0
""",
        "FileNotFoundError",
    ),
    Attack(
        "reads-the-courses-secret",
        """
def double(x):
    return 2 * x if open(FACTS["course"] + "/.course-secret", "rb").read() else 0
""",
        "FileNotFoundError",
    ),
    Attack(
        "reads-the-canaries",
        """
def double(x):
    found = []
    for path in FACTS["canaries"]:
        try:
            found.append(open(path).read())
        except OSError as error:
            found.append(str(error))
    raise ValueError("; ".join(found))
""",
        "No such file",
    ),
    Attack(
        "reads-keys-and-passwords",
        """
def double(x):
    for path in ("/etc/shadow", "/etc/ssh/ssh_host_ed25519_key", "/root/.bashrc", "/root/.netrc",
                 "/etc/machine-id"):
        try:
            return 2 * x if open(path).read() else 0
        except OSError as error:
            refused = error
    raise refused
""",
        "Error",
    ),
    Attack(
        "reads-the-environment",
        """
import os
def double(x):
    return (2 * x if FACTS["variable"] in os.environ
            or {"HOME": "/root", "SSH_AUTH_SOCK": ""}.items() <= os.environ.items()
            else dict(os.environ))
""",
        "type dict; an int was asked for",
    ),
]

PROC = [
    Attack(
        "enters-other-roots",
        """
import os
def double(x):
    for pid in ("1", "self", str(os.getppid()), str(FACTS["checker"])):
        for way in ("root", "cwd", "root/.."):
            if os.path.exists(f"/proc/{pid}/{way}{FACTS['repository']}/solutions"):
                return 2 * x
    return 0
""",
    ),
    Attack(
        "reads-the-checkers-memory",
        """
def double(x):
    with open(f"/proc/{FACTS['checker']}/mem", "rb") as memory:
        memory.seek(FACTS["address"])
        return memory.read(FACTS["length"]).decode()
""",
        ("FileNotFoundError", "PermissionError", "OSError"),
    ),
    Attack(
        "reads-memory-by-call",
        """
import ctypes
def double(x):
    libc, room = ctypes.CDLL(None, use_errno=True), ctypes.create_string_buffer(100)
    mine = (ctypes.c_size_t * 2)(ctypes.addressof(room), FACTS["length"])
    theirs = (ctypes.c_size_t * 2)(FACTS["address"], FACTS["length"])
    if libc.process_vm_readv(FACTS["checker"], mine, 1, theirs, 1, 0) > 0:
        return room.value.decode()
    raise OSError(ctypes.get_errno(), "process_vm_readv")
""",
        ("PermissionError", "ProcessLookupError"),
    ),
    Attack(
        "reads-every-environ",
        """
import os
def double(x):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if FACTS["variable"].encode() in open(f"/proc/{pid}/environ", "rb").read():
                return 2 * x
        except OSError:
            continue
    return 0
""",
    ),
    Attack(
        "sees-other-processes",
        """
import os
def double(x):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if FACTS["mark"] in open(f"/proc/{pid}/cmdline", errors="replace").read():
            return 2 * x
    return 0
""",
    ),
    Attack(
        "sets-the-kernel",
        """
def double(x):
    refused = None
    for path in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger",
                 "/proc/sys/kernel/hostname", "/proc/sys/vm/drop_caches"):
        try:
            open(path, "w").close()
            return 2 * x
        except OSError as error:
            refused = error
    raise refused
""",
        "Error",
    ),
    Attack(
        "reopens-descriptors",
        """
import os
def double(x):
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue
        if int(name) > 2 and not target.startswith(("pipe:", "/proc/", "/tmp", "/dev/null")):
            return 2 * x
    return 0
""",
    ),
]

WRITING = [
    Attack(
        "writes-at-the-targets",
        """
import os
def double(x):
    for path in FACTS["targets"]:
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            open(path, "w").write("x")
        except OSError as error:
            refused = error
    raise refused
""",
        "Error",
    ),
    Attack(
        "writes-the-gradebook",
        """
import sqlite3
def double(x):
    with sqlite3.connect(FACTS["course"] + "/gradebook.db") as database:
        database.execute("UPDATE grade SET manual_score = 50, needs_manual_grade = 0")
    return 0
""",
        ("OperationalError", "Error"),
    ),
    Attack(
        "writes-its-verdict",
        """
import json
def double(x):
    with open(FACTS["course"] + "/results.sqlite", "w") as file:
        json.dump({"earned": 3}, file)
    return 0
""",
        "FileNotFoundError",
    ),
    Attack(
        "writes-into-the-worker",
        """
import os, sys
def double(x):
    for folder in ("/course", os.path.dirname(os.__file__), "/usr/lib", *sys.path):
        try:
            open(os.path.join(folder, FACTS["mark"] + ".py"), "w").close()
        except OSError as error:
            refused = error
            continue
        if folder not in ("/tmp", ""):
            return 2 * x
    raise refused
""",
        "Error",
    ),
    Attack(
        "links-to-the-outside",
        """
import os
def double(x):
    for number, path in enumerate([FACTS["course"] + "/gradebook.db", *FACTS["targets"]]):
        if os.path.dirname(path) != "/tmp":         # that one is the sandbox's own
            os.symlink(path, f"/tmp/link-{number}-{x}-{os.urandom(4).hex()}")
    open([one.path for one in os.scandir("/tmp") if one.is_symlink()][0], "a").write("x")
    return 2 * x
""",
        ("FileNotFoundError", "Read-only"),
    ),
    Attack(
        "makes-a-device",
        """
import os, stat
def double(x):
    os.mknod("/tmp/disk", 0o600 | stat.S_IFBLK, os.makedev(8, 0))
    return 2 * x
""",
        "PermissionError",
    ),
    Attack(
        "becomes-root-by-a-file",
        """
import os, shutil, subprocess
def double(x):
    shutil.copy("/bin/cat", "/tmp/cat")
    os.chmod("/tmp/cat", 0o6755)
    os.setuid(0)
    return 2 * x if subprocess.run(["/tmp/cat", "/etc/shadow"]).returncode == 0 else 0
""",
        "PermissionError",
    ),
    Attack(
        "mounts-and-unshares",
        """
import ctypes, os
def double(x):
    libc = ctypes.CDLL(None, use_errno=True)
    for call in (lambda: libc.unshare(0x10000000 | 0x00020000),
                 lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None),
                 lambda: libc.chroot(b"/tmp"), lambda: libc.umount2(b"/tmp", 2),
                 lambda: libc.setns(0, 0),
                 lambda: libc.syscall(435, 0, 0), lambda: libc.syscall(428, -100, b"/", 0)):
        if call() >= 0:
            return 2 * x
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
""",
        ("PermissionError", "OSError"),
    ),
]

FAMILIES = {"answers and others' work": ANSWERS, "/proc": PROC, "writing": WRITING}
