"""What one submission may use.

Sizes in bytes, times in seconds of the wall clock unless a name says otherwise.

Who enforces what: the address space, processor time, processes, file size and open files are
resource limits of the kernel, set before the first line of student code; wall-clock time and the
memory of the whole process tree are watched from outside; sizes on the pipe are checked by the
reader. What a process waited for a processor is not its time: the clock is patient on a busy
machine, up to three times as long (`process.PATIENCE`). A call that had no processor for its time
even then is no slow code: MachineBusy is raised, and it is judged again. Control groups are not
used: they belong to whoever manages the machine, and who is not root can make none in most places.
"""

from dataclasses import asdict, dataclass

MIB = 1024 * 1024


@dataclass(frozen=True)
class Limits:
    """The limits of one sandbox.

    The defaults fit chapter 1: small tensors, functions of a few milliseconds.
    """

    start_seconds: float = (
        60.0  # from the first process to "ready": importing torch on a busy machine
    )
    cell_seconds: float = 20.0  # one cell of the notebook
    cells_seconds: float = 60.0  # all the cells together
    call_seconds: float = 10.0  # one call of a student's function, with what it calls back
    total_seconds: float = 300.0  # everything, all restarts together
    cpu_seconds: int = 300  # processor time of one process
    memory: int = (
        1024 * MIB
    )  # one process: address space beyond what the worker and torch already map
    tree_memory: int = (
        1536 * MIB
    )  # all processes together, as seen from outside; with what torch itself uses
    tmp: int = 64 * MIB  # /tmp, the only place that can be written to; it lives in memory
    files: int = 20_000  # files and folders in /tmp
    processes: int = 64  # processes and threads together
    open_files: int = 128
    file_size: int = 64 * MIB
    output_chars: int = 10_000  # of what is printed; the rest is counted and dropped
    frame_bytes: int = 64 * MIB  # one message on the pipe; the checker keeps those of a stage
    answer_bytes: int = 128 * MIB  # everything that one exercise returns, however many calls
    callbacks: int = 10_000  # calls back into our functions, per call of the student's
    callback_numbers: int = (
        4_000_000  # numbers that one call back may pass, counted as they broadcast
    )
    callback_memory: int = 512 * MIB  # address space that our function may take for one call back
    restarts: int = 3  # fresh sandboxes after a death

    def to_json(self) -> dict:
        """The limits as a plain dictionary, for the worker's command line and for verdict
        records.
        """
        return asdict(self)
