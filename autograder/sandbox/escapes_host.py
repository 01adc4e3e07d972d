"""Attempts to reach the machine: its files, network, processes, secrets, kernel. See attempts.py for the form.

Each function runs inside, on its own: it imports what it uses and knows only its `facts`. It goes on after each
refusal, because an attacker would. All are harmless where they succeed.
"""
from autograder.sandbox.attempts import attempt


@attempt("connect to a listener on this machine's loopback")
def loopback(facts):
    import socket
    said = []
    for family, address in [(socket.AF_INET, ("127.0.0.1", facts["port"])), (socket.AF_UNIX, facts["abstract"])]:
        try:
            socket.socket(family).connect(address)
        except OSError as error:
            said.append(str(error))
    return "; ".join(said)


@attempt("open sockets of other families: IPv6, raw packets, netlink, vsock")
def sockets(facts):
    import socket
    said = []
    for name, kind in [("AF_INET6", socket.SOCK_DGRAM), ("AF_PACKET", socket.SOCK_RAW), ("AF_NETLINK", socket.SOCK_RAW),
                       ("AF_VSOCK", socket.SOCK_STREAM), ("AF_ALG", 5)]:
        try:
            socket.socket(getattr(socket, name), kind)
            return f"ESCAPED: a socket of family {name} was given"
        except OSError as error:
            said.append(f"{name}: {error.strerror}")
    return "; ".join(said)


@attempt("read the machine's password file and its keys")
def shadow(facts):
    import glob
    said = []
    for path in ["/etc/shadow", "/etc/gshadow", "/root/.ssh", *glob.glob("/etc/ssh/*key"), "/etc/machine-id"]:
        try:
            with open(path) as file:
                return f"ESCAPED: {path} has {len(file.read())} characters"
        except OSError as error:
            said.append(f"{path}: {error.strerror}")
    return "; ".join(said)


@attempt("read marked files in the repository, the course, the home folder and /tmp, by name and by search")
def canaries(facts):
    import os
    paths = list(facts["canaries"])
    for folder in [facts["repository"], facts["home"], "/proc/1/root" + facts["repository"]]:
        paths += [os.path.join(folder, name) for name in (os.listdir(folder) if os.path.isdir(folder) else [])
                  if facts["mark"] in name]
    said = []
    for path in paths:
        try:
            with open(path) as file:
                said.append(file.read())
        except OSError as error:
            said.append(f"{path}: {error.strerror}")
    return "; ".join(said)


@attempt("find the answers: withheld modules, their bytecode, checks, mistakes, solutions")
def answers(facts):
    import os
    import sys
    found = []
    for start in [sys.path[0], *(p for p in sys.path if p.endswith("-packages")), facts["repository"], "/proc/1/cwd"]:
        for folder, inner, names in os.walk(start):
            if folder.endswith("-packages"):
                inner[:] = {"autograder", "reference_impl"}.intersection(inner)
            inner[:] = [name for name in inner if name[0] not in "._"]
            ours = any(word in folder for word in ("autograder", "reference_impl", "solutions"))
            found += [f"{folder}/{name}" for name in names if ours and
                      (name.startswith(("test_0", "m0", "a0", "0", "counts")) or name == "grade.py")]
    try:
        import reference_impl.embeddings.counts
        found.append("the withheld module can be imported")
    except ImportError:
        pass
    return f"ESCAPED: {found[:3]}" if found else "no file of the grader's was found"


@attempt("read secrets from the environment, its own and other processes'")
def environment(facts):
    import os
    said = [os.environ.get(facts["variable"], "no such variable")]
    for path in ["/proc/self/environ", "/proc/1/environ", f"/proc/{os.getppid()}/environ",
                 f"/proc/{facts['checker']}/environ"]:
        try:
            with open(path, errors="replace") as file:
                said.append(next((part for part in file.read().split("\0") if facts["variable"] in part), "nothing"))
        except OSError as error:
            said.append(f"{path}: {error.strerror}")
    return "; ".join(said)


@attempt("write files: repository, course, home, /tmp of this machine, system folders")
def write_outside(facts):
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


@attempt("change the interpreter, the packages or the worker for later sandboxes")
def module_shadowing(facts):
    import os
    import sys
    kept = [os.path.dirname(os.__file__), os.path.dirname(sys.executable), "/usr/lib", "/usr/bin", *sys.path]
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


@attempt("signal a process of this machine by its number")
def signals(facts):
    import os
    import signal
    said = []
    for pid in [facts["victim"]]:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError as error:
            said.append(str(error))
    return "; ".join(said) or "the signal was sent"


@attempt("see the machine's processes in /proc")
def process_list(facts):
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


@attempt("read the checker's memory and open files through /proc and the kernel")
def checker_memory(facts):
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
            said += [open(f"/proc/{pid}/fd/{fd}").read(100) for fd in os.listdir(f"/proc/{pid}/fd") if fd not in "012"
                     and os.path.isfile(f"/proc/{pid}/fd/{fd}")]
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


@attempt("take over the process that holds the sandbox together, which has no filter")
def process_one(facts):
    import os
    if os.getpid() == 1:
        return "there is none: this is process 1"
    said = []
    for name, mode in [("mem", os.O_RDWR), ("environ", os.O_RDONLY), ("maps", os.O_RDONLY)]:
        try:
            fd = os.open(f"/proc/1/{name}", mode)
            if name == "mem" or os.read(fd, 1):
                return f"ESCAPED: /proc/1/{name} can be opened"
        except OSError as error:
            said.append(f"{name}: {error.strerror}")
    return "; ".join(said)


@attempt("attach to the parent and to the checker with ptrace")
def ptrace(facts):
    import ctypes
    import os
    libc = ctypes.CDLL(None, use_errno=True)
    said = []
    for pid in (os.getppid(), facts["checker"], 1):
        if libc.ptrace(0x4206, pid, None, None) == 0:      # PTRACE_SEIZE: attaches without stopping anyone
            libc.ptrace(17, pid, None, None)               # PTRACE_DETACH
            return f"ESCAPED: attached to process {pid}"
        said.append(os.strerror(ctypes.get_errno()))
    return "; ".join(said)


@attempt("mount, change root, make namespaces")
def mount(facts):
    import ctypes
    import os
    import tempfile
    libc = ctypes.CDLL(None, use_errno=True)
    folder = tempfile.mkdtemp().encode()                   # an empty place: where it works, nothing is covered by it
    calls = {"mount": lambda: libc.mount(b"none", folder, b"tmpfs", 0, None) or libc.umount2(folder, 2),
             "chroot": lambda: libc.chroot(folder), "user namespace": lambda: libc.unshare(0x10000000),
             "mount namespace": lambda: libc.unshare(0x20000), "join": lambda: libc.setns(0, 0)}
    said = []
    for name, call in calls.items():
        child = os.fork()
        if child == 0:                                     # in a child: where it works, nothing else is changed
            os._exit(0 if call() == 0 else min(ctypes.get_errno(), 255) or 1)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code == 0:
            return f"ESCAPED: {name} worked"
        said.append(f"{name}: {os.strerror(code) if code > 0 else code}")
    os.rmdir(folder)
    return "; ".join(said)


@attempt("reach parts of the kernel with a record of escapes")
def kernel_calls(facts):
    import ctypes
    import os
    import platform
    column = {"x86_64": 0, "aarch64": 1}[platform.machine()]
    numbers = {"bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "keyctl": (250, 219),
               "io_uring_setup": (425, 425), "memfd_create": (319, 279), "add_key": (248, 217), "shmget": (29, 194),
               "personality": (135, 92), "open_by_handle_at": (304, 265), "beyond the list": (9999, 9999)}
    libc = ctypes.CDLL(None, use_errno=True)
    said, given = {}, []
    for name, both in numbers.items():
        buffer = ctypes.create_string_buffer(256)
        ctypes.set_errno(0)
        result = libc.syscall(both[column], buffer, buffer if name == "io_uring_setup" else 64, 0, 0, 0)
        error = ctypes.get_errno()
        said[name] = os.strerror(error)
        # EPERM and ENOSYS come from the filter; any other answer comes from the code that should not be reached.
        if result >= 0 or error not in (1, 38):
            given.append(f"{name} ({'worked' if result >= 0 else os.strerror(error)})")
    return f"ESCAPED: {', '.join(given)}" if given else f"{len(said)} calls refused"


@attempt("become root: setuid, a setuid program, capabilities, writable kernel settings")
def become_root(facts):
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
    if int(status["CapEff"], 16) or int(status["CapPrm"], 16) or status["NoNewPrivs"].strip() != "1":
        return f"ESCAPED: capabilities {status['CapEff']}, NoNewPrivs {status['NoNewPrivs']}"
    for path in ["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sysrq-trigger"]:
        if os.access(path, os.W_OK):
            try:
                os.close(os.open(path, os.O_WRONLY))
                return f"ESCAPED: {path} can be written"
            except OSError:
                continue
    tried = 0
    for program in glob.glob("/usr/bin/su") + glob.glob("/usr/bin/sudo"):
        child = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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


@attempt("use file descriptors that leaked in from the checker")
def inherited_descriptors(facts):
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


@attempt("leave a process behind that outlives the call")
def background_process(facts):
    import ctypes
    import os
    import signal
    import time
    if os.fork() == 0:
        os.setsid()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        if os.fork() == 0:
            ctypes.CDLL(None).prctl(15, facts["mark"].encode(), 0, 0, 0)     # PR_SET_NAME: how we are found again
            time.sleep(300)
        os._exit(0)
    time.sleep(0.2)
    return "a grandchild in its own session was started"
