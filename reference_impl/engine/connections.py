"""Below HTTP: connections that say nothing, say it slowly, or do not listen; and an end
that waits for answers.

uvicorn closes a connection that is idle after an answer, but waits for ever for a first
request, for the rest of a request's headers (the attack called Slowloris), and for a
reader who does not read. Thousands of such connections would use up a process's file
descriptors. Here each wait has a timer.

Not here: TLS, HTTP/2, several processes.
"""

import asyncio
import functools
import json
import resource
import socket
from collections.abc import Callable

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from reference_impl.engine.limits import Limits
from reference_impl.engine.protocol import ApiError

KEEP_ALIVE_SECONDS = 5
MAX_HEADER_BYTES = 16_384
OTHER_DESCRIPTORS = 64


class PatientConnection(H11Protocol):
    """uvicorn's connection with two more timers: one for a request's headers, one for a
    reader.
    """

    def __init__(self, limits: Limits, **arguments):
        super().__init__(**arguments)
        self.limits = limits
        self._header_timer: asyncio.TimerHandle | None = None
        self._reader_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Start to wait for the first request."""
        super().connection_made(transport)
        # A small piece is sent at once. asyncio sees to that only for sockets that were
        # made with the protocol's number, and uvicorn makes its own without; then a
        # second piece waits for the first one's receipt, which Linux delays by 40 ms.
        if (
            connected := transport.get_extra_info("socket")
        ) is not None and connected.family in (socket.AF_INET, socket.AF_INET6):
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # Without a buffer of our own, "writing is paused" means that the reader's side
        # is full.
        transport.set_write_buffer_limits(high=0)
        if len(self.connections) > self.limits.num_connections:
            transport.abort()
        else:
            self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop both timers."""
        self._stop_timers(header=True, reader=True)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """The timer runs from the first byte of a request to the end of its headers,
        however many pieces come.
        """
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_timers(header=True)
        elif self._header_timer is None and not self.transport.is_closing():
            self._await_headers()

    def pause_writing(self) -> None:
        """The reader's side is full."""
        super().pause_writing()
        self._reader_timer = self.loop.call_later(
            self.limits.write_seconds, self.transport.abort
        )

    def resume_writing(self) -> None:
        """The reader has read."""
        super().resume_writing()
        self._stop_timers(reader=True)

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP gets an error like all others."""
        self._refuse(400, msg)

    def _await_headers(self) -> None:
        self._header_timer = self.loop.call_later(
            self.limits.header_seconds,
            lambda: self._refuse(
                408, f"no request came within {self.limits.header_seconds:g} s"
            ),
        )

    def _stop_timers(self, header: bool = False, reader: bool = False) -> None:
        if header and self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None
        if reader and self._reader_timer is not None:
            self._reader_timer.cancel()
            self._reader_timer = None

    def _refuse(self, status: int, message: str) -> None:
        if self.transport.is_closing():
            return
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = json.dumps(ApiError(status, message).body).encode()
            headers = [
                (b"content-type", b"application/json"),
                (b"content-length", str(len(body)).encode()),
                (b"connection", b"close"),
            ]
            for event in (
                h11.Response(
                    status_code=status, headers=headers, reason=STATUS_PHRASES[status]
                ),
                h11.Data(data=body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event))
        self.transport.close()


class Server(uvicorn.Server):
    """uvicorn's server, which when it ends gives answers under way a little time; then
    `on_late` is called. `on_end`, called first, ends what would never end by itself.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        seconds: float,
        on_late: Callable[[], None],
        on_end: Callable[[], None],
    ):
        super().__init__(config)
        self._seconds, self._on_late, self._on_end = seconds, on_late, on_end

    async def shutdown(self, sockets=None) -> None:
        """Close what is idle, wait for what is not."""
        self._on_end()
        late = asyncio.get_running_loop().call_later(self._seconds, self._on_late)
        await super().shutdown(sockets)
        late.cancel()


def make_server(
    app: FastAPI, limits: Limits, host: str = "127.0.0.1", port: int = 8000
) -> Server:
    """A server for an application of `server.create_app`."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=functools.partial(PatientConnection, limits),
        ws="none",
        lifespan="on",
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        h11_max_incomplete_event_size=MAX_HEADER_BYTES,
        timeout_graceful_shutdown=int(limits.shutdown_seconds) + 5,
    )
    return Server(
        config, limits.shutdown_seconds, app.state.serving.stop, app.state.watch.close
    )


def allow_connections(count: int) -> int:
    """Raise this process's limit of open files as far as it may go; how many
    connections fit into it, at most count.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + OTHER_DESCRIPTORS
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return (
        count
        if soft == resource.RLIM_INFINITY
        else max(1, min(count, soft - OTHER_DESCRIPTORS))
    )
