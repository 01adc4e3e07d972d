"""The page at `/`: its files, and the stream of what the engine does that it shows.

    GET /                  the page, with its style and scripts next to it
    GET /watch             server-sent events: first what is served, then the steps
                           since the last event, the block tables and counters

While nobody watches, a step costs one comparison. Events come at most ten times a
second, and when the engine runs dry. They hold numbers only, no text of any request.

The page asks nobody but this server, and its policy forbids it to (CSP). Who may read
/metrics may read the stream.

Not here: what the page looks like (see the folder `page`).
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from collections.abc import Sequence as Ids
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response

from reference_impl.engine.async_engine import AsyncEngine
from reference_impl.engine.engine import Engine, Output
from reference_impl.engine.limits import EventStream
from reference_impl.engine.protocol import ApiError
from reference_impl.engine.responses import event
from reference_impl.engine.serving_metrics import ServingMetrics
from reference_impl.engine.step_records import label, step_record

FOLDER = Path(__file__).parent / "page"
FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    **{
        f"/{name}.js": (f"{name}.js", "text/javascript; charset=utf-8")
        for name in ("page", "events", "chat", "schedule")
    },
}
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
        " img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
INTERVAL = 0.1  # seconds between two events, at least
IDLE_INTERVAL = 1.0  # and at most: an abort changes the queues without a step
MOST_WATCHERS = 8
MOST_UNSENT = 32
"""Events that wait for one slow reader; older ones are dropped, and the steps' numbers
show the gap."""


class Watch:
    """Who watches, and what they are sent."""

    def __init__(self, about: dict[str, Any], metrics: ServingMetrics):
        self._about, self._metrics = about, metrics
        self._unsent: dict[asyncio.Queue[str | None], asyncio.AbstractEventLoop] = {}
        self._steps: list[dict[str, Any]] = []
        self._last_sent = 0.0

    def after_step(self, engine: Engine, outputs: Ids[Output]) -> None:
        """Called in the engine's thread, after every step."""
        if not self._unsent:
            return
        self._steps.append(step_record(engine, outputs))
        if time.perf_counter() - self._last_sent >= INTERVAL or not engine.has_work:
            self.send(engine)

    def send(self, engine: Engine) -> None:
        """Hand what has happened since the last event to all who watch. In the engine's
        thread.
        """
        self._last_sent = time.perf_counter()
        steps, self._steps = self._steps, []
        text = event({"steps": steps, **self._state(engine)})
        for unsent, loop in list(self._unsent.items()):
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(_put, unsent, text)

    def _state(self, engine: Engine) -> dict[str, Any]:
        scheduler, blocks = engine.scheduler, engine.blocks
        return {
            "tables": {label(s): _held(s.block_table) for s in scheduler.running},
            "running": len(scheduler.running),
            "waiting": len(scheduler.waiting),
            "free": blocks.num_free_blocks,
            "prefix_queries": blocks.num_prefix_queries,
            "prefix_hits": blocks.num_prefix_hits,
            "preemptions": engine.num_preemptions,
            **self._metrics.latencies(),
        }

    async def events(self, serving: AsyncEngine) -> AsyncIterator[str]:
        """The stream of one who watches."""
        engine, unsent = serving.engine, asyncio.Queue(MOST_UNSENT)
        self._unsent[unsent] = asyncio.get_running_loop()
        try:
            yield event({"about": self._about})
            serving.call(lambda: self.send(engine))
            while True:
                try:
                    async with asyncio.timeout(IDLE_INTERVAL):
                        text = await unsent.get()
                except TimeoutError:
                    serving.call(lambda: self.send(engine))
                    continue
                if text is None:
                    return
                yield text
        finally:
            del self._unsent[unsent]
            if not self._unsent:
                serving.call(self._steps.clear)

    def close(self) -> None:
        """End all streams: the server ends."""
        for unsent in list(self._unsent):
            _put(unsent, None)

    @property
    def is_full(self) -> bool:
        """Whether one more may not watch."""
        return len(self._unsent) >= MOST_WATCHERS


def _held(table: list[int]) -> list[int]:
    return [block for block in table if block >= 0]


def _put(unsent: asyncio.Queue[str | None], text: str | None) -> None:
    if unsent.full():
        unsent.get_nowait()
    unsent.put_nowait(text)


def add_page(
    app: FastAPI,
    watch: Watch,
    serving: AsyncEngine,
    check_host: Callable[[Request], None],
    authorise: Callable[[Request], None],
) -> None:
    """Serve the page and its stream.

    `check_host` and `authorise` raise ApiError for a request that must not be answered.
    """
    contents = {path: (FOLDER / name).read_bytes() for path, (name, _) in FILES.items()}

    async def file(request: Request) -> Response:
        check_host(request)
        path = request.url.path
        return Response(contents[path], media_type=FILES[path][1], headers=HEADERS)

    async def stream(request: Request) -> Response:
        authorise(request)
        # A page elsewhere on the web could not read this, but it could fill the seats.
        if request.headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            raise ApiError(403, "only this server's own page may watch it")
        if watch.is_full:
            raise ApiError(
                429,
                f"{MOST_WATCHERS} pages watch this server: close one",
                "rate_limit_error",
            )
        return EventStream(watch.events(serving), headers={"Cache-Control": "no-store"})

    for path in FILES:
        app.add_api_route(path, file)
    app.add_api_route("/watch", stream)
