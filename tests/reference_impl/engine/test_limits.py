"""What a handler does about a client that has gone; without a network, so that nothing depends on
who is faster.
"""

import asyncio

import pytest

from reference_impl.engine.limits import EventStream, unless_hung_up
from reference_impl.engine.protocol import ApiError


class Hung:
    """A request whose client closes the connection when it is told to."""

    def __init__(self):
        self.closed = asyncio.Event()

    async def receive(self):
        await self.closed.wait()
        return {"type": "http.disconnect"}


@pytest.mark.parametrize("when", ["before it begins", "while it writes"])
def test_a_stream_is_closed_at_once_when_its_client_has_gone(when, run):
    closed = []

    async def pieces():
        try:
            while True:
                yield "data: {}\n\n"
        finally:
            closed.append(True)

    async def main():
        client, generator = Hung(), pieces()
        await anext(generator)
        if when == "before it begins":
            client.closed.set()

        async def send(message):
            if message["type"] == "http.response.body":
                client.closed.set()
                await asyncio.Event().wait()  # the reader's side is full

        await EventStream(generator)(
            {"type": "http", "asgi": {"spec_version": "2.3"}}, client.receive, send
        )
        assert (
            closed
        )  # the generator is still held here: nothing but the response can have closed it

    run(main)


def test_work_for_a_client_that_has_gone_is_cancelled(run):
    ended = []

    async def work():
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    async def main():
        client = Hung()
        asyncio.get_running_loop().call_later(0.01, client.closed.set)
        with pytest.raises(ApiError) as refused:
            await unless_hung_up(client, work())
        assert refused.value.status == 499 and ended
        assert len(asyncio.all_tasks()) == 1

    run(main)


def test_an_error_in_the_work_is_raised_and_nobody_listens_any_longer(run):
    async def work():
        raise ApiError(503, "no engine")

    async def main():
        with pytest.raises(ApiError, match="no engine"):
            await unless_hung_up(Hung(), work())
        assert len(asyncio.all_tasks()) == 1

    run(main)
