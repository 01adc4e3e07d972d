"""The process that speaks with Dask's scheduler for `course grade`, by lines of JSON over its input
and output.

    python -m autograder.grading.executors.dask_link SCHEDULER PARENT

Dask pickles what it carries. So the command, which holds the gradebook, the names and the secret,
does not speak Dask: this process does, which has none of them, and hands on bytes. It also keeps
the command free of threads, as forking needs. In: {"to": worker, "id": n, "request": {...}}. Out:
{"workers": {address: threads}} whenever they change; {"id": n, "answer": text}, {"id": n, "lost":
words} when the worker went away over it, {"id": n, "unable": words}; {"gone": words}, and it ends.
A task is bound to the worker that it was meant for: who gets it next is the command's business.
"""

import asyncio
import contextlib
import json
import logging
import os
import sys
import threading
import uuid
from typing import BinaryIO

from autograder.grading.executors import dask_worker as elsewhere
from autograder.grading.executors.messages import MAX_ANSWER, line
from autograder.sandbox.monitor.lifetime import die_with

CONNECT = 10.0  # seconds until a scheduler that does not answer is given up
LOOK_EVERY = 0.5  # seconds between two looks at who is there


class Link:
    """One client of the scheduler, and the tasks on their way."""

    def __init__(self, address: str, out: BinaryIO):
        self._address, self._out = address, out
        self._tasks: dict[int, tuple[str, asyncio.Task]] = {}

    def say(self, message: dict) -> None:
        """To the command."""
        self._out.write(line(message))
        self._out.flush()

    async def run(self, orders: BinaryIO) -> None:
        """Until the input ends or the scheduler is gone."""
        from distributed import Client

        incoming: asyncio.Queue[bytes] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def read() -> None:
            # Always drained: so the command never waits for us while we wait for it.
            with contextlib.suppress(RuntimeError):  # the loop is closed: we are ending
                for order in orders:
                    loop.call_soon_threadsafe(incoming.put_nowait, order)
                loop.call_soon_threadsafe(incoming.put_nowait, b"")

        threading.Thread(target=read, daemon=True).start()
        try:
            client = await Client(
                self._address, asynchronous=True, set_as_default=False, timeout=CONNECT
            )
        except Exception as error:  # whatever Dask raises for an address, a certificate, a version
            return self.say(
                {
                    "gone": (
                        f"no Dask scheduler answers at {self._address} ({type(error).__name__}:"
                        f" {str(error)[:300]})"
                    )
                }
            )
        watch = asyncio.create_task(self._watch(client))
        while not watch.done():
            order = asyncio.create_task(incoming.get())
            await asyncio.wait({order, watch}, return_when=asyncio.FIRST_COMPLETED)
            if order.done():
                if not order.result():
                    return
                one = json.loads(order.result())
                self._tasks[one["id"]] = (one["to"], asyncio.create_task(self._carry(client, one)))
        self.say({"gone": f"the connection to the Dask scheduler at {self._address} is lost"})

    async def _watch(self, client) -> None:
        """Tell who is there; take back from whoever left. Ends when the scheduler is gone."""
        known = None
        while client.status == "running":
            try:
                workers = dict(await client.scheduler.ncores())
            except OSError:
                return
            for worker, task in list(self._tasks.values()):
                if worker not in workers:
                    task.cancel()
            if workers != known:
                known = workers
                self.say({"workers": workers})
            await asyncio.sleep(LOOK_EVERY)

    async def _carry(self, client, order: dict) -> None:
        """One request to its worker and the answer back."""
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError

        number = order["id"]
        future = client.submit(
            elsewhere.serve,
            json.dumps(order["request"]).encode(),
            key=f"word2serve-{uuid.uuid4().hex}",
            workers=[order["to"]],
            allow_other_workers=False,
            pure=False,
        )
        try:
            answer = await future
            if type(answer) is not bytes or len(answer) > MAX_ANSWER:
                raise TypeError("it answered something else than text")
            self.say({"id": number, "answer": answer.decode()})
        except (asyncio.CancelledError, FutureCancelledError, KilledWorker):
            self.say({"id": number, "lost": "the worker went away"})
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await client.cancel([future], force=True)
        except Exception as error:  # Dask could not run our function there
            self.say({"id": number, "unable": f"{type(error).__name__}: {str(error)[:300]}"})
        finally:
            self._tasks.pop(number, None)
            future.release()


def main() -> None:
    """Serve the command that started this process, and end with it."""
    die_with(int(sys.argv[2]))
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with contextlib.suppress(BrokenPipeError):  # the command is gone
        asyncio.new_event_loop().run_until_complete(Link(sys.argv[1], out).run(sys.stdin.buffer))
    os._exit(0)  # without waiting for what is on its way and for the thread that reads


if __name__ == "__main__":
    main()
