"""The engine in a thread of its own, and requests from an event loop.

A step of the model takes milliseconds to seconds and would stop every other connection.
So one thread owns the engine: it takes orders (add, abort) from a queue, computes
steps, and hands outputs back to the loop, where each request has a queue that its
handler reads.

A handler that goes away, because its client hung up or its time is over, leaves
`stream` by an exception; the request is aborted on that way, and its blocks are free
before the next step.

Not here: limits on requests (see `limits`), several engines.
"""

import asyncio
import logging
import queue
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from collections.abc import Sequence as Ids

from reference_impl.engine.engine import Engine, Output
from reference_impl.generation.sampling_params import SamplingParams


class EngineStopped(RuntimeError):
    """The engine's thread has ended; the message says why."""


class AsyncEngine:
    """`async with AsyncEngine(engine) as serving: async for output in
    serving.stream(...)`.
    """

    def __init__(
        self,
        engine: Engine,
        on_step: Callable[[Engine, list[Output]], None] | None = None,
    ):
        self.engine, self._on_step = engine, on_step
        self._orders: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._streams: dict[str, asyncio.Queue[Output | Exception]] = {}
        self._stopped: EngineStopped | None = EngineStopped(
            "the engine has not been started"
        )

    async def __aenter__(self) -> "AsyncEngine":
        self._loop, self._stopped = asyncio.get_running_loop(), None
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self._thread.start()
        return self

    async def __aexit__(self, *_) -> None:
        self.stop()
        await asyncio.to_thread(self._thread.join)

    def stop(self) -> None:
        """End the thread after its present step. Who still waits gets EngineStopped."""
        self._orders.put(None)

    def call(self, function: Callable[[], None]) -> None:
        """Run this in the engine's thread, between two steps."""
        self._orders.put(function)

    @property
    def num_requests(self) -> int:
        """Requests that are being served or wait."""
        return len(self._streams)

    @property
    def is_healthy(self) -> bool:
        """Whether the engine's thread is running."""
        return self._stopped is None

    async def stream(
        self,
        request_id: str,
        prompt: Ids[int],
        params: SamplingParams,
        priority: int = 0,
        seconds: float | None = None,
        cache_salt: bytes = b"",
        adapter: str | None = None,
    ) -> AsyncIterator[Output]:
        """Outputs of a request as they come, until all its n continuations are
        finished.

        Raises ValueError if the engine refuses it, TimeoutError after `seconds`,
        EngineStopped if the engine fails. Whoever does not read it to the end must
        close it.
        """
        if self._stopped is not None:
            raise EngineStopped(
                *self._stopped.args
            )  # each its own: a raised one keeps its frames
        if request_id in self._streams:
            raise ValueError(
                f"a request called {request_id!r} is being served: give each its own id"
            )
        outputs: asyncio.Queue[Output | Exception] = asyncio.Queue()
        self._streams[request_id] = outputs
        self._orders.put(
            lambda: self._add(request_id, prompt, params, priority, cache_salt, adapter)
        )
        left, deadline = (
            params.n,
            None if seconds is None else self._loop.time() + seconds,
        )
        try:
            while left:
                if (
                    deadline is not None and self._loop.time() >= deadline
                ):  # a slow reader's time ends too
                    raise TimeoutError
                async with asyncio.timeout_at(
                    deadline
                ):  # around nothing that yields: each piece may have its task
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

    def _deliver(self, outputs: Iterable[tuple[str, Output | Exception]]) -> None:
        for request_id, output in outputs:
            if request_id in self._streams:  # its handler may have gone in the meantime
                self._streams[request_id].put_nowait(output)

    # What follows runs in the engine's thread.

    def _run(self) -> None:
        reason = EngineStopped("the server is shutting down")
        try:
            while self._obey():
                outputs = self.engine.step()
                if (
                    self._on_step is not None
                ):  # first: who has an answer finds it counted
                    self._on_step(self.engine, outputs)
                if outputs:
                    self._send([(output.request_id, output) for output in outputs])
        except BaseException:  # whatever it is, those who wait must hear of it
            logging.getLogger(__name__).exception("the engine stopped")
            reason = EngineStopped("the engine stopped; the server's log says why")
        # In this order nobody is forgotten: who comes now is refused, who came before
        # stands in the list.
        self._stopped = reason
        self._loop.call_soon_threadsafe(
            lambda: self._deliver([(name, reason) for name in self._streams])
        )

    def _send(self, outputs: list[tuple[str, Output | Exception]]) -> None:
        self._loop.call_soon_threadsafe(self._deliver, outputs)

    def _obey(self) -> bool:
        """Carry out all orders; wait for one if there is nothing to compute.

        False: stop.
        """
        while True:
            try:
                order = self._orders.get(block=not self.engine.has_work)
            except queue.Empty:
                return True
            if order is None:
                return False
            order()

    def _add(
        self, request_id: str, prompt: Ids[int], params: SamplingParams, *rest
    ) -> None:
        try:
            self.engine.add_request(prompt, params, request_id, *rest)
        except ValueError as error:
            self._send([(request_id, error)])
