"""What a client may ask for and how long it may take, and the three places where a
handler holds it to that.

Whoever can reach the port is a stranger. It may send a body that never ends, hang up
while the model computes, or read its answer a byte a minute. Each of these would keep
something for ever: memory, blocks of the cache, a task.

Not here: what a field of a request may be (see `protocol`), timers below HTTP (see
`connections`).
"""

import asyncio
import contextlib
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import Request
from fastapi.responses import StreamingResponse
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from reference_impl.engine.protocol import ApiError

Result = TypeVar("Result")
CLOSE = {"Connection": "close"}


@dataclass(frozen=True)
class Limits:
    """What one client may ask for, and all together."""

    body_bytes: int = 1_000_000
    body_seconds: float = 30.0  # to send the body in
    # from the connection, or a request's first byte, to the end of its headers
    header_seconds: float = 15.0
    write_seconds: float = (
        30.0  # in which a reader must take at least something of what waits for it
    )
    request_seconds: float = 600.0  # from the body's end to the answer's
    num_requests: int = 256  # served and waiting together; more are told to come back
    num_connections: int = 4096
    n: int = 8
    prompts: int = 128  # answers to all prompts of one request together
    shutdown_seconds: float = (
        5.0  # for answers that are under way when the server is told to end
    )
    embedding_inputs: int = 256


async def read_body(request: Request, limits: Limits) -> bytes:
    """The body of a request.

    ApiError 413 if it is too long, 408 if it is too slow, 415 if it does not say JSON.

    A page in a browser can send other types to this machine's own ports without being
    asked, and JSON not.
    """
    if (
        request.headers.get("content-type", "").partition(";")[0].strip().lower()
        != "application/json"
    ):
        raise ApiError(415, "send `Content-Type: application/json`", headers=CLOSE)
    body, size = bytearray(), 0
    try:
        async with asyncio.timeout(limits.body_seconds):
            async for piece in request.stream():
                size += len(piece)
                if size <= limits.body_bytes:
                    body += piece
                elif (
                    size > 16 * limits.body_bytes
                ):  # less is read to its end: who still sends does not hear us
                    break
    except TimeoutError:
        raise ApiError(
            408,
            f"the body did not come within {limits.body_seconds:g} s",
            "timeout",
            headers=CLOSE,
        ) from None
    except ClientDisconnect:
        raise ApiError(499, "the client closed the connection") from None
    if size > limits.body_bytes:
        raise ApiError(
            413, f"the body is larger than {limits.body_bytes:,} bytes", headers=CLOSE
        )
    return bytes(body)


async def unless_hung_up(request: Request, work: Coroutine[Any, Any, Result]) -> Result:
    """The result of `work`, which is cancelled if the client closes the connection:
    nothing else tells a handler.
    """
    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(_hung_up(request))
    try:
        await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ApiError(499, "the client closed the connection")
        return task.result()
    finally:
        for each in (task, gone):
            each.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _hung_up(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        continue


class EventStream(StreamingResponse):
    """Server-sent events from an async generator, which is closed however the response
    ends.

    Starlette leaves one that was cancelled while it wrote, or before it began, to the
    garbage collector.
    """

    media_type = "text/event-stream"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with contextlib.aclosing(self.body_iterator):
            await super().__call__(scope, receive, send)
