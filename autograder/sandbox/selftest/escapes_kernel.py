"""Attempts to get past the kernel: other processes' memory, privileges, namespaces.

See attempts.py for the form.

Like those of escapes_host.py they are harmless where they succeed: ptrace attaches without stopping
anyone, a mount covers an empty folder in a child, a setting is opened and not written.
"""

from autograder.sandbox.selftest.attempts import attempt


@attempt()
def checker_memory(facts):
    """Read the checker's memory and open files through /proc and the kernel."""
    import ctypes
    import os

    said = []
    for pid in (facts["checker"], os.getppid(), 1):
        try:
            with open(f"/proc/{pid}/mem", "rb", 0) as memory:
                memory.seek(facts["address"])
                said.append(memory.read(facts["length"]).decode("latin-1"))
        except OSError as error:
            said.append(error.strerror)
        try:
            said += [
                open(f"/proc/{pid}/fd/{fd}").read(100)
                for fd in os.listdir(f"/proc/{pid}/fd")
                if fd not in "012" and os.path.isfile(f"/proc/{pid}/fd/{fd}")
            ]
        except (OSError, UnicodeDecodeError) as error:
            said.append(str(error))
        into = ctypes.create_string_buffer(facts["length"])
        local = (ctypes.c_size_t * 2)(ctypes.addressof(into), facts["length"])
        remote = (ctypes.c_size_t * 2)(facts["address"], facts["length"])
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.process_vm_readv(pid, local, 1, remote, 1, 0) > 0:
            said.append(into.raw.decode("latin-1"))
        else:
            said.append(os.strerror(ctypes.get_errno()))
    return "; ".join(said)


@attempt()
def process_one(facts):
    """Take over the process that holds the sandbox together, which has no filter."""
    import os

    if os.getpid() == 1:
        return "there is none: this is process 1"
    said = []
    for pid in {1, os.getppid()} - {0}:
        for name, mode in [("mem", os.O_RDWR), ("environ", os.O_RDONLY), ("maps", os.O_RDONLY)]:
            try:
                fd = os.open(f"/proc/{pid}/{name}", mode)
                if name == "mem" or os.read(fd, 1):
                    return f"ESCAPED: /proc/{pid}/{name} can be opened"
            except OSError as error:
                said.append(f"{name}: {error.strerror}")
    return "; ".join(said)


@attempt()
def ptrace(facts):
    """Attach to the parent and to the checker with ptrace."""
    import ctypes
    import os

    libc = ctypes.CDLL(None, use_errno=True)
    said = []
    for pid in (os.getppid(), facts["checker"], 1):
        if (
            libc.ptrace(0x4206, pid, None, None) == 0
        ):  # PTRACE_SEIZE: attaches without stopping anyone
            libc.ptrace(17, pid, None, None)  # PTRACE_DETACH
            return f"ESCAPED: attached to process {pid}"
        said.append(os.strerror(ctypes.get_errno()))
    return "; ".join(said)


@attempt()
def mount(facts):
    """Mount, change root, make namespaces."""
    import ctypes
    import os
    import tempfile

    libc = ctypes.CDLL(None, use_errno=True)
    folder = tempfile.mkdtemp().encode()  # an empty place: where it works, nothing is covered by it
    calls = {
        "mount": lambda: libc.mount(b"none", folder, b"tmpfs", 0, None) or libc.umount2(folder, 2),
        "chroot": lambda: libc.chroot(folder),
        "user namespace": lambda: libc.unshare(0x10000000),
        "mount namespace": lambda: libc.unshare(0x20000),
        "join": lambda: libc.setns(0, 0),
    }
    said = []
    for name, call in calls.items():
        child = os.fork()
        if child == 0:  # in a child: where it works, nothing else is changed
            os._exit(0 if call() == 0 else min(ctypes.get_errno(), 255) or 1)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code == 0:
            return f"ESCAPED: {name} worked"
        said.append(f"{name}: {os.strerror(code) if code > 0 else code}")
    os.rmdir(folder)
    return "; ".join(said)


@attempt()
def kernel_calls(facts):
    """Reach parts of the kernel with a record of escapes."""
    import ctypes
    import os
    import platform

    column = {"x86_64": 0, "aarch64": 1}[platform.machine()]
    numbers = {
        "bpf": (321, 280),
        "perf_event_open": (298, 241),
        "userfaultfd": (323, 282),
        "keyctl": (250, 219),
        "io_uring_setup": (425, 425),
        "memfd_create": (319, 279),
        "add_key": (248, 217),
        "shmget": (29, 194),
        "personality": (135, 92),
        "open_by_handle_at": (304, 265),
        "beyond the list": (9999, 9999),
    }
    libc = ctypes.CDLL(None, use_errno=True)
    said, given = {}, []
    for name, both in numbers.items():
        buffer = ctypes.create_string_buffer(256)
        ctypes.set_errno(0)
        result = libc.syscall(
            both[column], buffer, buffer if name == "io_uring_setup" else 64, 0, 0, 0
        )
        error = ctypes.get_errno()
        said[name] = os.strerror(error)
        # EPERM and ENOSYS come from the filter; any other answer comes from the code that should
        # not be reached.
        if result >= 0 or error not in (1, 38):
            given.append(f"{name} ({'worked' if result >= 0 else os.strerror(error)})")
    return f"ESCAPED: {', '.join(given)}" if given else f"{len(said)} calls refused"


@attempt()
def become_root(facts):
    """Become root: setuid, a setuid program, capabilities, writable kernel settings."""
    import glob
    import os
    import subprocess

    for become in (os.setuid, os.seteuid, os.setgid):
        try:
            become(0)
            return f"ESCAPED: {become.__name__}(0) worked"
        except OSError:
            continue
    with open("/proc/self/status") as file:
        status = dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)
    if (
        int(status["CapEff"], 16)
        or int(status["CapPrm"], 16)
        or status["NoNewPrivs"].strip() != "1"
    ):
        return f"ESCAPED: capabilities {status['CapEff']}, NoNewPrivs {status['NoNewPrivs']}"
    for path in [
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/modprobe",
        "/proc/sysrq-trigger",
    ]:
        if os.access(path, os.W_OK):
            try:
                os.close(os.open(path, os.O_WRONLY))
                return f"ESCAPED: {path} can be written"
            except OSError:
                continue
    tried = 0
    for program in glob.glob("/usr/bin/su") + glob.glob("/usr/bin/sudo"):
        child = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            with open(f"/proc/{child.pid}/status") as file:
                effective = next(line for line in file if line.startswith("Uid:")).split()[2]
            if effective == "0":
                return f"ESCAPED: {program} runs as root"
        except OSError:
            continue
        finally:
            child.kill()
            child.wait()
        tried += 1
    return f"no capability, no_new_privs is set, {tried} setuid programs stayed unprivileged"
