"""Fields that clients of OpenAI and vLLM send today: what is taken, and what a refusal says."""

import inspect
import json

import pytest

from reference_impl.engine.engine import Engine, EngineConfig
from reference_impl.engine.protocol import ApiError, ChatRequest, CompletionRequest, parse
from reference_impl.engine.scheduler import SchedulerConfig
from reference_impl.engine.structured import with_ascii_digits
from reference_impl.generation.sampling_params import SamplingParams, Structure

CHAT = {"model": "tiny", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 4}
TEXT = {"model": "tiny", "prompt": "hi", "max_tokens": 4}


@pytest.mark.parametrize(
    "field",
    [
        {"reasoning_effort": "low"},
        {"verbosity": "high"},
        {"skip_special_tokens": True},
        {"include_stop_str_in_output": False},
        {"add_generation_prompt": True},
        {"chat_template_kwargs": {"enable_thinking": False}},
        {"tools": [], "tool_choice": "auto"},
    ],
)
def test_a_field_that_changes_nothing_here_is_taken(running, field):
    plain = running.post("/v1/chat/completions", json={**CHAT, "temperature": 0}).json()
    answer = running.post("/v1/chat/completions", json={**CHAT, "temperature": 0, **field})
    assert answer.status_code == 200, answer.text
    assert answer.json()["choices"] == plain["choices"]


def test_top_p_of_0_is_greedy(running):
    greedy = running.post("/v1/completions", json={**TEXT, "temperature": 0}).json()["choices"]
    for seed in range(3):
        body = {**TEXT, "temperature": 2, "top_p": 0, "seed": seed}
        assert running.post("/v1/completions", json=body).json()["choices"] == greedy


def test_what_a_template_is_given_by_name_reaches_it(start):
    def render(messages, **variables):
        return f"{variables['mood']} {messages[0]['content']}"

    with start(render_chat=render, tells_cached=True) as running:
        body = {**CHAT, "chat_template_kwargs": {"mood": "calm"}}
        usage = running.post("/v1/chat/completions", json=body).json()["usage"]
    assert usage["prompt_tokens"] == len("calm hi")


def test_all_unknown_fields_are_named_at_once():
    body = {**CHAT, "temprature": 0, "top_q": 1, "stream_options": {"usage": True}}
    with pytest.raises(ApiError) as refused:
        parse(ChatRequest, json.dumps(body).encode())
    message = refused.value.body["error"]["message"]
    assert message.startswith("unrecognized request arguments: ")
    assert set(message.split(": ")[1].split(", ")) == {
        "temprature",
        "top_q",
        "stream_options.usage",
    }


@pytest.mark.parametrize(
    ("kind", "body", "says"),
    [
        (CompletionRequest, {**TEXT, "best_of": 3}, "best_of is 3 and n 1: only best_of equal"),
        (ChatRequest, {**CHAT, "messages": []}, "messages: "),
        (
            ChatRequest,
            {**CHAT, "messages": [{"role": "assistant", "content": "a", "annotations": [1]}]},
            "only an empty list is served",
        ),
    ],
)
def test_a_refusal_is_a_sentence_of_ours(kind, body, says):
    with pytest.raises(ApiError) as refused:
        parse(kind, json.dumps(body).encode())
    message = refused.value.body["error"]["message"]
    assert says in message and "Value error" not in message and "at most 0" not in message


def test_an_api_that_is_not_served_names_the_one_that_is(running):
    answer = running.post("/v1/responses", json={"model": "tiny", "input": "hi"})
    message = answer.json()["error"]["message"]
    assert answer.status_code == 404
    assert message == "POST /v1/responses is not served; use /v1/chat/completions"


def test_the_order_of_arguments_in_vllm_is_named(tiny):
    limits = SchedulerConfig(max_model_len=64)
    engine = Engine(tiny.model, EngineConfig(16, 16, scheduler=limits), tiny.tokenizer)
    add_request = inspect.unwrap(Engine.add_request)  # users have no checker of types
    for wrong in ({"max_tokens": 3}, "hello"):
        with pytest.raises(TypeError, match="the order is prompt, params, request_id"):
            add_request(engine, "request-1", wrong, SamplingParams())


@pytest.mark.parametrize(
    ("regex", "expected"),
    [
        (r"\d+", "[0-9]+"),
        (r"[\da-f]", "[0-9a-f]"),
        (r"[^\d.]\D", "[^0-9.][^0-9]"),
        (r"\\d", r"\\d"),
        (r"[]\d]", "[]0-9]"),
        (r"[^]\d]x\d", "[^]0-9]x[0-9]"),
        (r"\[\d", r"\[[0-9]"),
        ("a\\", "a\\"),
    ],
)
def test_a_digit_of_an_expression_is_one_of_ascii(regex, expected):
    assert with_ascii_digits(regex) == expected


def test_digits_of_other_scripts_are_no_answer_to_a_guided_regex(client):
    for seed in range(4):
        answer = client.completions.create(
            model="tiny",
            prompt="call",
            max_tokens=30,
            temperature=2,
            seed=seed,
            extra_body={"structured_outputs": {"regex": r"\d{3}"}},
        )
        assert answer.choices[0].text.isascii() and answer.choices[0].text.isdigit()


@pytest.mark.parametrize("low, high, refused", [(0, 0.001, True), (0, 1, False), (1, 2.5, False)])
def test_exclusive_bounds_that_would_not_be_kept_are_refused(running, low, high, refused):
    bounds = {"type": "number", "exclusiveMinimum": low, "exclusiveMaximum": high}
    schema = {"type": "object", "properties": {"a": bounds}, "required": ["a"]}
    body = {**TEXT, "structured_outputs": {"json": schema}}
    answer = running.post("/v1/completions", json=body)
    assert answer.status_code == (400 if refused else 200), answer.text
    if refused:
        assert "exclusiveMinimum 0 would not be kept" in answer.json()["error"]["message"]


def test_bounds_in_data_of_a_schema_are_no_bounds(tiny):
    data = {"exclusiveMinimum": 0, "exclusiveMaximum": 0.001}
    limits = SchedulerConfig(max_model_len=64)
    engine = Engine(
        tiny.model, EngineConfig(16, 16, scheduler=limits), tiny.tokenizer, tiny.eos_ids
    )
    assert engine.structures.compile(Structure("json_schema", json.dumps({"enum": [data]})))
