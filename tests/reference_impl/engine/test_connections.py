"""Clients that hang up, read slowly, say nothing or say it slowly: others go on, and what they held
is given back.
"""

import concurrent.futures
import json
import socket
import time

import httpx
import pytest

from reference_impl.engine.connections import allow_connections
from reference_impl.engine.limits import Limits

LONG = {"model": "tiny", "prompt": "hi", "max_tokens": 4000, "ignore_eos": True}
SHORT = {"model": "tiny", "prompt": "hi", "max_tokens": 3}


def request_bytes(body, path="/v1/completions", length=None):
    content = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
        f"application/json\r\nContent-Length: "
    )
    return f"{head}{len(content) if length is None else length}\r\n\r\n".encode() + content


def read_to_end(connection):
    """All that the server sends until it closes."""
    data = b""
    while piece := connection.recv(65_536):
        data += piece
    return data


def check_error(data, status):
    head, _, body = data.partition(b"\r\n\r\n")
    assert int(head.split()[1]) == status
    assert set(json.loads(body)["error"]) == {"message", "type", "param", "code"}


def check_serves(running):
    assert running.post("/v1/completions", json=SHORT).status_code == 200


@pytest.mark.parametrize("stream", [True, False])
def test_blocks_of_a_client_that_hangs_up_are_free(running, eventually, stream):
    ended = running.metric("vllm:request_success_total")
    with running.connect() as connection:
        connection.sendall(request_bytes({**LONG, "stream": stream, "n": 2}))
        eventually(lambda: len(running.engine.scheduler.running) == 2, "both continuations run")
        if stream:
            assert connection.recv(100).startswith(b"HTTP/1.1 200 OK")
        assert running.metric("vllm:kv_cache_usage_perc") > 0
    running.wait_until_idle()
    assert running.metric("vllm:request_success_total") == ended  # it did not run to its end


@pytest.mark.parametrize("stream", [True, False])
def test_one_that_hangs_up_before_its_first_token_is_never_computed(running, eventually, stream):
    running.hold()
    try:
        before = running.engine.trace.num_steps
        with running.connect() as connection:
            connection.sendall(request_bytes({**LONG, "stream": stream}))
            eventually(lambda: running.engine.has_work, "the request waits")
        eventually(lambda: running.num_connections == 0, "the connection is closed")
    finally:
        running.release()
    running.wait_until_idle()
    assert running.engine.trace.num_steps <= before + 2


def test_a_reader_that_does_not_read_is_dropped_and_holds_up_nobody(start, eventually):
    with start(Limits(write_seconds=1.0)) as running, running.connect() as connection:
        connection.sendall(request_bytes({**LONG, "stream": True, "n": 8, "logprobs": 20}))
        eventually(lambda: running.engine.scheduler.running, "it runs")
        check_serves(running)
        ended = running.metric("vllm:request_success_total")
        running.wait_until_idle()
        assert running.metric("vllm:request_success_total") == ended
        eventually(lambda: running.num_connections <= 1, "the connection is closed")


def test_a_thousand_idle_connections_do_not_stop_a_request(running, eventually):
    # Both ends are in this process; where the system allows fewer descriptors, there are fewer
    # connections.
    count = min(1000, allow_connections(2200) // 2)
    waiting = []
    try:
        for _ in range(count):
            waiting.append(running.connect())
        eventually(lambda: running.num_connections >= count, "all are accepted")
        check_serves(running)
        assert running.num_connections >= count
    finally:
        for connection in waiting:
            connection.close()
    eventually(lambda: running.num_connections == 0, "all are closed")


def test_a_small_piece_does_not_wait_for_the_receipt_of_the_one_before(running, eventually):
    with running.connect():
        eventually(lambda: running.num_connections == 1, "it is accepted")
        [connection] = running.server.server_state.connections
        connected = connection.transport.get_extra_info("socket")
        assert connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.fixture(scope="module")
def hasty(start):
    with start(Limits(header_seconds=0.5, body_seconds=0.5, num_connections=4)) as hasty:
        yield hasty
        hasty.wait_until_idle()


def test_a_connection_that_says_nothing_is_closed(hasty):
    with hasty.connect() as connection:
        check_error(read_to_end(connection), 408)
    check_serves(hasty)


@pytest.mark.parametrize("first", [b"", request_bytes(SHORT)], ids=["at first", "after an answer"])
def test_headers_that_trickle_are_cut_off(hasty, first):
    with hasty.connect() as connection:
        if first:
            connection.sendall(first)
            answer = b""
            while not answer.endswith(b"}}"):  # of the usage, the last in an answer
                answer += (piece := connection.recv(65_536))
                assert piece, answer
        connection.setblocking(False)
        connection.sendall(b"POST /v1/completions HTTP/1.1\r\n")
        end, data = time.monotonic() + 60, b""
        while not data:
            assert time.monotonic() < end, "it went on for ever"
            connection.sendall(b"X-Slow: loris\r\n")
            time.sleep(0.05)
            try:
                data = connection.recv(65_536)
            except BlockingIOError:
                continue
    check_error(data, 408)


def test_a_body_that_trickles_is_cut_off(hasty):
    with hasty.connect() as connection:
        connection.sendall(request_bytes(SHORT, length=500))
        check_error(read_to_end(connection), 408)


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET / SMTP/9\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 10_000 + b"\r\n",
        b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
    ids=["TLS", "another protocol", "huge headers", "negative length", "two lengths"],
)
def test_what_is_no_http_is_refused(hasty, data):
    with hasty.connect() as connection:
        connection.sendall(data)
        check_error(read_to_end(connection), 400)
    check_serves(hasty)


def test_connections_over_the_limit_are_closed_at_once(hasty, eventually):
    eventually(lambda: hasty.num_connections == 0, "no connection is left")
    kept = [hasty.connect() for _ in range(4)]
    eventually(lambda: hasty.num_connections == 4, "four are open")
    with hasty.connect() as one_more, pytest.raises(ConnectionResetError):
        if one_more.recv(1) == b"":
            raise ConnectionResetError
    for connection in kept:
        connection.close()
    eventually(lambda: hasty.num_connections == 0, "they are closed")
    check_serves(hasty)


def test_an_engine_that_fails_tells_all_who_wait(start, eventually):
    with start() as running, concurrent.futures.ThreadPoolExecutor(4) as pool:
        with httpx.stream(
            "POST", f"{running.url}/v1/completions", json={**LONG, "stream": True}, timeout=60
        ) as begun:
            lines = begun.iter_lines()
            assert next(lines).startswith("data: ")
            running.hold()
            waiting = [
                pool.submit(running.post, "/v1/completions", json={**LONG, "stream": stream})
                for stream in (True, False, True)
            ]
            eventually(lambda: running.serving.num_requests == 4, "all three wait")
            running.failure = MemoryError("a fault in the test")
            running.release()
            answers = [each.result() for each in waiting]
            last = [line for line in lines if line][-1]
        assert json.loads(last.removeprefix("data: "))["error"]["type"] == "server_error"
        for answer in [*answers, running.post("/v1/completions", json=SHORT)]:
            assert answer.status_code == 503 and answer.json()["error"]["type"] == "server_error"
        assert running.get("/health").status_code == 503


def test_a_server_that_ends_lets_answers_end_and_tells_those_that_would_take_too_long(
    start, eventually
):
    with (
        start(limits=Limits(shutdown_seconds=2.0)) as running,
        concurrent.futures.ThreadPoolExecutor(2) as pool,
    ):
        running.hold()
        short = pool.submit(running.post, "/v1/completions", json=SHORT)
        long = pool.submit(running.post, "/v1/completions", json=LONG)
        eventually(lambda: running.serving.num_requests == 2, "both wait")
        running.server.should_exit = True
        eventually(lambda: not running.server.servers[0].is_serving(), "it begins to end")
        running.release()
        assert short.result().status_code == 200
        assert long.result().status_code == 503
        assert "shutting down" in long.result().json()["error"]["message"]
