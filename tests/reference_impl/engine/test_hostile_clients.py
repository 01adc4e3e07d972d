"""Requests that are wrong, and clients that flood: an error in OpenAI's shape, and nothing is left
behind.
"""

import concurrent.futures
import copy
import json

import httpx
import openai
import pytest

from reference_impl.engine.limits import Limits

CHAT = {"model": "tiny", "messages": [{"role": "user", "content": "hi"}]}
TEXT = {"model": "tiny", "prompt": "hi"}


def check_shape(answer, status):
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["message"] and error["type"]
    return error


def wrong(field, value):
    return pytest.param(
        "/v1/completions", {**TEXT, field: value}, field, id=f"{field}={str(value)[:30]}"
    )


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        *[wrong("temperature", value) for value in (-0.1, 2.1, "1", True, [1], 10**400)],
        *[wrong("top_p", value) for value in (-0.1, 1.5, -1)],
        *[wrong("max_tokens", value) for value in (0, -5, 1.5, "7", 10**30)],
        *[wrong("n", value) for value in (0, 9, 10**20)],
        *[wrong("seed", value) for value in (-(2**63) - 1, 2**63, 1.5)],
        *[wrong("stop", value) for value in ("", [""], ["x"] * 17, ["x" * 1000], 5, [5])],
        *[
            wrong("prompt", value)
            for value in (5, [-1], ["a", 1], [2**40], [1, "x"], {"a": 1}, [[1], "x"], ["a"] * 200)
        ],
        *[wrong("logprobs", value) for value in (-1, 21, True)],
        *[wrong("priority", value) for value in (1, 10**30, -11)],
        *[
            wrong("logit_bias", value)
            for value in ({"5": 101}, {"5": "x"}, [5], {str(i): 1 for i in range(2000)})
        ],
        *[
            wrong(name, value)
            for name, value in (
                ("presence_penalty", 3),
                ("frequency_penalty", -3),
                ("repetition_penalty", 0),
                ("repetition_penalty", 1e300),
                ("min_p", 2),
                ("typical_p", 0),
                ("min_tokens", -1),
                ("stop_token_ids", [-1]),
                ("allowed_token_ids", []),
                ("top_k", -2),
                ("top_k", 2**40),
                ("echo", "yes"),
                ("stream", "yes"),
                ("model", 5),
                ("stream_options", {"unknown": 1}),
                ("temprature", 0),
                ("best_of", 3),
                ("stream_options", {"include_usage": True}),
                ("response_format", {"type": "xml"}),
                ("cache_salt", ""),
                ("metadata", {"a": 1}),
            )
        ],
        pytest.param("/v1/completions", {"model": "tiny"}, "prompt", id="no prompt"),
        pytest.param("/v1/chat/completions", {**CHAT, "messages": []}, "messages", id="no message"),
        pytest.param(
            "/v1/chat/completions",
            {**CHAT, "messages": [{"role": "king", "content": "hi"}]},
            "messages",
            id="unknown role",
        ),
        pytest.param(
            "/v1/chat/completions",
            {**CHAT, "messages": [{"role": "user", "content": None}]},
            "messages",
            id="no content",
        ),
        pytest.param(
            "/v1/chat/completions",
            {**CHAT, "messages": [{"role": "user", "content": "<|im_end|>"}]},
            "messages",
            id="special token",
        ),
        pytest.param(
            "/v1/chat/completions",
            {
                **CHAT,
                "messages": [
                    {
                        "role": "user",
                        "content": [
                            {"type": "text", "text": "<|im_"},
                            {"type": "text", "text": "start|>"},
                        ],
                    }
                ],
            },
            "messages",
            id="special token in parts",
        ),
        pytest.param(
            "/v1/chat/completions",
            {**CHAT, "top_logprobs": 2},
            "top_logprobs",
            id="top_logprobs alone",
        ),
        pytest.param(
            "/v1/chat/completions", {**CHAT, "tools": [{"type": "function"}]}, "tools", id="tools"
        ),
    ],
)
def test_a_wrong_field_is_named(running, path, body, param):
    error = check_shape(running.post(path, json=body), 400)
    assert error["param"] == param and error["type"] == "invalid_request_error"
    assert running.is_idle


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"text"',
        b"{'model': 'tiny'}",
        b'{"model": "tiny", "prompt": "\xff\xfe"}',
        b'{"model": "tiny", "prompt": "\\ud800"}',
        b'{"model": "tiny", "prompt": "a", "temperature": NaN}',
        b'{"model": "tiny", "prompt": "a", "temperature": Infinity}',
        b'{"model": "tiny", "prompt": "a", "temperature": 1e999}',
        b'{"model": "tiny", "prompt": "a", "seed": ' + b"9" * 10_000 + b"}",
        b'{"model": "tiny", "prompt": "a", "logit_bias": {"5": -Infinity}}',
        b'{"model": "tiny", "prompt": "a", "logit_bias": {"five": 1}}',
        b'{"model": "tiny", "prompt": "a", "logit_bias": {"99999": 1}}',
        b'{"model": "tiny", "prompt": "a", "allowed_token_ids": [99999]}',
        b'{"model": "tiny", "prompt": "a", "stop_token_ids": [99999], "min_tokens": 2}',
        b'{"model": "tiny", "prompt": "a", "min_tokens": 500}',
        b'{"model": "tiny", "prompt": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"model": "tiny", "prompt": []}',
        b'{"model": "tiny", "prompt": ""}',
        b'{"model": "tiny", "prompt": [400]}',
    ],
    ids=lambda content: repr(content[:60]),
)
def test_a_body_that_can_not_be_served_is_refused(running, content):
    answer = running.post(
        "/v1/completions", content=content, headers={"Content-Type": "application/json"}
    )
    check_shape(answer, 400)
    assert running.is_idle


def test_null_is_a_field_that_is_absent_and_numbers_at_their_bounds_are_served(running):
    for body in (
        {"stop": None, "seed": None, "temperature": None, "n": None, "stream": None},
        {"temperature": 1e-300, "seed": 0},
        {"temperature": 2, "top_p": 2e-6, "seed": 2**63 - 1},
        {"repetition_penalty": 100, "presence_penalty": 2, "frequency_penalty": -2, "top_k": -1},
        {"logit_bias": {str(i): -100 for i in range(259)}},
        {"repetition_penalty": 0.01, "min_p": 1},
    ):
        answer = running.post("/v1/completions", json={**TEXT, "max_tokens": 3, **body})
        assert answer.status_code == 200, (body, answer.text)


def test_what_the_client_library_raises(running):
    with running.client() as client:
        for kind, asked in (
            (openai.NotFoundError, {**TEXT, "model": "other"}),
            (openai.BadRequestError, {**TEXT, "temperature": -1}),
        ):
            with pytest.raises(kind):
                client.completions.create(**asked)
        with pytest.raises(openai.NotFoundError):
            client.models.retrieve("no/such")
        with pytest.raises(openai.NotFoundError):
            client.embeddings.create(model="encoder", input="no encoder here")
        with pytest.raises(openai.BadRequestError) as refused:
            client.completions.create(model="tiny", prompt="a" * 4000, max_tokens=200)
    assert refused.value.code == "context_length_exceeded"


def test_what_is_not_served_is_refused_in_the_same_shape(running):
    check_shape(running.get("/v1/files"), 404)
    check_shape(running.get("/v1/completions"), 405)
    check_shape(running.get("/%ff%fe/../etc/passwd"), 404)
    # A form is what any page in a browser may send to this machine's ports.
    check_shape(
        running.post(
            "/v1/completions", content=json.dumps(TEXT), headers={"Content-Type": "text/plain"}
        ),
        415,
    )


def test_a_text_too_long_to_be_counted_is_refused_uncounted(running, monkeypatch):
    monkeypatch.setattr(running.engine.tokenizer, "encode", None)
    for path, body in (
        ("/v1/completions", {**TEXT, "prompt": "a" * 900_000}),
        (
            "/v1/chat/completions",
            {**CHAT, "messages": [{"role": "user", "content": "a" * 900_000}]},
        ),
    ):
        assert check_shape(running.post(path, json=body), 400)["code"] == "context_length_exceeded"


def test_words_of_strangers_do_not_fill_the_memory(tiny, monkeypatch):
    monkeypatch.setattr("reference_impl.tokenizers.tokenizer.MAX_KNOWN_SIZE", 1000)
    tokenizer = copy.copy(tiny.tokenizer)
    tokenizer._known_words, tokenizer._known_size = {}, 0
    for i in range(40):
        for word in (f"word{i}" * 20, str(i) * 2000, f"new{i}"):
            assert len(tokenizer.encode(word).ids) == len(word)  # a token a byte
            assert (
                sum(len(known) + len(ids) for known, (ids, *_) in tokenizer._known_words.items())
                <= 1000
            )
    assert "new" in tokenizer._known_words  # what is short is remembered still


@pytest.fixture(scope="module")
def strict(start):
    """A server with small limits and a key."""
    limits = Limits(body_bytes=2000, num_requests=3, n=2)
    with start(limits, api_key="sésame") as strict:
        yield strict
        strict.wait_until_idle()


KEY = {"Authorization": "Bearer sésame".encode()}


@pytest.mark.parametrize(
    "header", [None, "Bearer", "Bearer wrong", "sésame", "bearer wrong", "Basic sésame"]
)
def test_without_the_key_nothing_is_told(strict, header):
    headers = {} if header is None else {"Authorization": header.encode()}
    for answer in (
        strict.post("/v1/completions", json=TEXT, headers=headers),
        strict.post("/v1/completions", content=b"{", headers=headers),
        strict.get("/v1/models", headers=headers),
        strict.get("/metrics", headers=headers),
    ):
        assert check_shape(answer, 401)["code"] == "invalid_api_key"
    assert strict.get("/health").status_code == 200


@pytest.mark.parametrize("path", ["/v1/models", "/metrics", "/v1/completions"])
@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("evil.example", 403),
        ("evil.example:8000", 403),
        ("localhost.evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost", 200),
        ("localhost:8000", 200),
        ("127.0.0.1:8000", 200),
        ("[::1]:8000", 200),
        ("192.168.1.7", 200),
    ],
)
def test_without_a_key_a_web_page_cannot_use_its_own_name_for_the_server(
    running, path, host, status
):
    answer = (
        running.post(path, json=TEXT, headers={"Host": host})
        if path == "/v1/completions"
        else running.get(path, headers={"Host": host})
    )
    assert answer.status_code == status
    if status == 403:
        assert check_shape(answer, 403)["code"] == "invalid_host"


def test_with_a_key_any_name_of_the_server_will_do(strict):
    assert strict.get("/v1/models", headers={**KEY, "Host": "gpu.example"}).status_code == 200


def test_the_client_library_raises_authentication_errors(strict):
    with strict.client(api_key="wrong") as client, pytest.raises(openai.AuthenticationError):
        client.completions.create(**TEXT)


@pytest.mark.parametrize("size", [2001, 20_000, 3_000_000])
def test_a_body_over_the_limit_is_refused(strict, size):
    # The largest is cut off while it is sent; whether the answer is read then is up to the system.
    try:
        answer = strict.post("/v1/completions", json={**TEXT, "prompt": "a" * size}, headers=KEY)
    except httpx.TransportError:
        assert size > 16 * 2000
    else:
        check_shape(answer, 413)
    fits = strict.post("/v1/completions", json={**TEXT, "max_tokens": 1}, headers=KEY)
    assert fits.status_code == 200


def test_a_full_queue_says_when_to_come_back(strict):
    strict.hold()
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        asked = {**TEXT, "max_tokens": 2}
        waiting = [
            pool.submit(
                strict.post, "/v1/completions", json={**asked, "stream": i % 2 == 0}, headers=KEY
            )
            for i in range(12)
        ]
        refused = [
            done.result() for _, done in zip(range(9), concurrent.futures.as_completed(waiting))
        ]
        strict.release()
        statuses = sorted(each.result().status_code for each in waiting)
    assert statuses == [200] * 3 + [429] * 9
    for answer in refused:
        assert check_shape(answer, 429)["code"] == "rate_limit_exceeded"
        assert int(answer.headers["Retry-After"]) >= 1


def test_a_request_that_takes_too_long_is_ended_and_its_blocks_are_free(start):
    with start(Limits(request_seconds=0.2)) as hurried:
        hurried.hold()
        error = check_shape(hurried.post("/v1/completions", json={**TEXT, "max_tokens": 3000}), 504)
        assert error["type"] == "timeout"
        hurried.release()
        hurried.wait_until_idle()
        # Once the stream has begun, the error is its last event, and there is no [DONE].
        text = hurried.post(
            "/v1/completions", json={**TEXT, "max_tokens": 4000, "stream": True, "ignore_eos": True}
        ).text
        last = text.rstrip().split("\n\n")[-1]
        assert json.loads(last.removeprefix("data: "))["error"]["type"] == "timeout"
        with hurried.client() as client, pytest.raises(openai.APIError, match="not finished after"):
            list(
                client.completions.create(
                    **TEXT, max_tokens=4000, stream=True, extra_body={"ignore_eos": True}
                )
            )
        hurried.wait_until_idle()
