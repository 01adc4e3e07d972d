"""The engine in a thread of its own, and requests from an event loop.

A step of the model takes milliseconds to seconds and would stop every other connection. So one thread owns the
engine: it takes orders (add, abort) from a queue, computes steps, and hands outputs back to the loop, where each
request has a queue that its handler reads.

A handler that goes away, because its client hung up or its time is over, leaves `stream` by an exception; the
request is aborted on that way, and its blocks are free before the next step.
"""
import asyncio
import queue
import threading
from collections.abc import AsyncIterator, Callable
from collections.abc import Sequence as Ids

from reference_impl.engine.engine import Engine, Output
from reference_impl.generation.sampling_params import SamplingParams


class EngineStopped(RuntimeError):
    """The engine's thread has ended; the message says why."""


class AsyncEngine:
    """`async with AsyncEngine(engine) as serving: async for output in serving.stream(...)`."""

    def __init__(self, engine: Engine, on_step: Callable[[Engine, list[Output]], None] | None = None):
        self.engine, self._on_step = engine, on_step
        self._orders: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._streams: dict[str, asyncio.Queue[Output | Exception]] = {}
        self._failure: BaseException | None = None

    async def __aenter__(self) -> "AsyncEngine":
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self._thread.start()
        return self

    async def __aexit__(self, *_) -> None:
        self._orders.put(None)
        await asyncio.to_thread(self._thread.join)

    @property
    def num_requests(self) -> int:
        """Requests that are being served or wait."""
        return len(self._streams)

    @property
    def is_healthy(self) -> bool:
        """Whether the engine's thread is running."""
        return self._failure is None and self._thread.is_alive()

    async def stream(self, request_id: str, prompt: Ids[int], params: SamplingParams, priority: int = 0,
                     seconds: float | None = None) -> AsyncIterator[Output]:
        """Outputs of a request as they come, until all its n continuations are finished.

        Raises ValueError if the engine refuses it, TimeoutError after `seconds`, EngineStopped if the engine fails.
        """
        if not self.is_healthy:
            raise EngineStopped(f"the engine stopped: {self._failure!r}")
        outputs: asyncio.Queue[Output | Exception] = asyncio.Queue()
        self._streams[request_id] = outputs
        self._orders.put(lambda: self._add(request_id, prompt, params, priority))
        left, deadline = params.n, None if seconds is None else self._loop.time() + seconds
        try:
            while left:
                async with asyncio.timeout_at(deadline):  # around nothing that yields: the reader's time is its own
                    output = await outputs.get()
                if isinstance(output, Exception):
                    left = 0
                    raise output
                left -= output.finish_reason is not None
                yield output
        finally:
            del self._streams[request_id]
            if left:
                self._orders.put(lambda: self.engine.abort(request_id))

    def _add(self, request_id: str, prompt: Ids[int], params: SamplingParams, priority: int) -> None:
        try:
            self.engine.add_request(prompt, params, request_id, priority)
        except ValueError as error:
            self._send(request_id, error)

    def _send(self, request_id: str, output: Output | Exception) -> None:
        self._loop.call_soon_threadsafe(self._deliver, request_id, output)

    def _deliver(self, request_id: str, output: Output | Exception) -> None:
        if request_id in self._streams:  # its handler may have gone in the meantime
            self._streams[request_id].put_nowait(output)

    def _run(self) -> None:
        try:
            while self._obey():
                outputs = self.engine.step()
                for output in outputs:
                    self._send(output.request_id, output)
                if self._on_step is not None:
                    self._on_step(self.engine, outputs)
        except BaseException as error:  # whatever it is, those who wait must hear of it
            self._failure = error
            for request_id in list(self._streams):
                self._send(request_id, EngineStopped(f"the engine stopped: {error!r}"))
            raise

    def _obey(self) -> bool:
        """Carry out all orders; wait for one if there is nothing to compute. False: stop."""
        while True:
            try:
                order = self._orders.get(block=not self.engine.has_work)
            except queue.Empty:
                return True
            if order is None:
                return False
            order()
