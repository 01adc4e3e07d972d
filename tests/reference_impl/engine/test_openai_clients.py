"""What clients of OpenAI's API and evaluation harnesses send beyond the plain request, and what
they count on.
"""

import json
import math

import pytest
import torch

from reference_impl.engine.limits import Limits

LONG = (
    "The bank of the river is where the boats lie, and nobody there has ever lent or borrowed "
    "anything. "
) * 2


def test_an_answer_can_be_appended_to_the_conversation_as_the_client_dumps_it(client):
    messages = [{"role": "user", "content": "hi"}]
    reply = client.chat.completions.create(
        model="tiny", messages=messages, max_tokens=4, temperature=0
    )
    messages += [reply.choices[0].message.model_dump(), {"role": "user", "content": "and?"}]
    assert None in messages[1].values(), "the client fills absent fields with null"
    assert (
        client.chat.completions.create(model="tiny", messages=messages, max_tokens=4)
        .choices[0]
        .message.content
    )


@pytest.mark.parametrize(
    "field",
    [
        {"response_format": {"type": "text"}},
        {"store": True},
        {"metadata": {"a": "b"}},
        {"seed": -7},
        {"service_tier": "auto"},
        {"user": "me"},
        {"prompt_cache_key": "a"},
        {"safety_identifier": "a"},
    ],
)
def test_a_field_that_asks_for_what_happens_anyway_is_taken(running, field):
    for path, body in (
        ("/v1/completions", {"prompt": "hi"}),
        ("/v1/chat/completions", {"messages": [{"role": "developer", "content": "hi"}]}),
    ):
        answer = running.post(path, json={"model": "tiny", "max_tokens": 2, **body, **field})
        assert answer.status_code == 200, answer.text


def test_a_field_of_one_kind_of_request_is_taken_there(running):
    for path, body in (
        ("/v1/completions", {"prompt": "hi", "best_of": 1}),
        ("/v1/completions", {"prompt": "hi", "best_of": 2, "n": 2}),
        (
            "/v1/chat/completions",
            {
                "messages": [{"role": "user", "content": "hi"}],
                "tool_choice": "none",
                "parallel_tool_calls": False,
                "tools": [],
                "modalities": ["text"],
            },
        ),
        (
            "/v1/chat/completions",
            {
                "messages": [
                    {"role": "user", "content": "hi", "type": "text"},
                    {
                        "role": "assistant",
                        "content": "ho",
                        "tool_calls": [],
                        "annotations": [],
                        "audio": None,
                    },
                ]
            },
        ),
    ):
        assert (
            running.post(path, json={"model": "tiny", "max_tokens": 2, **body}).status_code == 200
        )


@pytest.mark.parametrize(
    "fields",
    [{"allowed_token_ids": [0], "min_tokens": 2}, {"allowed_token_ids": [5], "guided_regex": "a"}],
)
def test_fields_that_leave_no_token_to_begin_with_are_refused(running, fields):
    answer = running.post(
        "/v1/completions", json={"model": "tiny", "prompt": "hi", "max_tokens": 4, **fields}
    )
    assert (
        answer.status_code == 400
        and "every token is forbidden" in answer.json()["error"]["message"]
    )
    assert running.is_idle


def test_the_said_token_is_always_among_the_top_logprobs_of_a_completion(client):
    answer = client.completions.create(
        model="tiny", prompt="hi", max_tokens=20, temperature=2, seed=3, logprobs=1
    )
    found = answer.choices[0].logprobs
    assert any(len(top) == 2 for top in found.top_logprobs), (
        "at this temperature some are not the likeliest"
    )
    for token, logprob, top in zip(
        found.tokens, found.token_logprobs, found.top_logprobs, strict=True
    ):
        assert top[token] == logprob and max(top.values()) >= logprob


def test_a_method_that_is_not_served_is_answered_with_those_that_are(running):
    assert running.get("/v1/completions").headers["allow"] == "POST"
    assert running.post("/health", json={}).headers["allow"] == "GET"


def test_the_scheme_of_an_api_key_may_be_in_any_case(start):
    with start(api_key="secret") as strict:
        for scheme, status in (("Bearer", 200), ("bearer", 200), ("BEARER", 200), ("Basic", 401)):
            assert (
                strict.get("/v1/models", headers={"Authorization": f"{scheme} secret"}).status_code
                == status
            )


@pytest.mark.parametrize(
    "prompts", [["hi", "what is a bank", "hi"], [[5, 6, 7], [8], [9, 10, 11, 12]]]
)
@pytest.mark.parametrize("n", [1, 2])
def test_each_of_several_prompts_is_answered_as_if_alone(client, prompts, n):
    asked = {"model": "tiny", "max_tokens": 6, "temperature": 0.9, "seed": 5, "n": n}
    alone = [
        [choice.text for choice in client.completions.create(prompt=prompt, **asked).choices]
        for prompt in prompts
    ]
    together = client.completions.create(prompt=prompts, **asked)
    assert [choice.index for choice in together.choices] == list(range(n * len(prompts)))
    assert [choice.text for choice in together.choices] == [
        text for texts in alone for text in texts
    ]
    streamed = [""] * n * len(prompts)
    for piece in client.completions.create(prompt=prompts, stream=True, **asked):
        streamed[piece.choices[0].index] += piece.choices[0].text
    assert streamed == [choice.text for choice in together.choices]
    assert together.usage.completion_tokens == 6 * n * len(prompts)


def test_one_prompt_that_can_not_be_served_refuses_all_and_leaves_nothing(running):
    answer = running.post(
        "/v1/completions", json={"model": "tiny", "prompt": [[5, 6], [400]], "max_tokens": 5}
    )
    assert answer.status_code == 400 and "id 400" in answer.json()["error"]["message"]
    running.wait_until_idle()


def test_prompts_that_are_more_than_the_queue_holds_are_told_to_come_back(start):
    with start(limits=Limits(num_requests=3)) as small:
        body = {"model": "tiny", "max_tokens": 2}
        assert small.post("/v1/completions", json={**body, "prompt": ["a"] * 4}).status_code == 429
        assert small.post("/v1/completions", json={**body, "prompt": ["a"] * 3}).status_code == 200


def scores(their_tiny, ids):
    """transformers' log-probability of each token but the first."""
    with torch.no_grad():
        logprobs = their_tiny(torch.tensor([ids])).logits[0].log_softmax(-1)
    return [float(logprobs[i, token]) for i, token in enumerate(ids[1:])], logprobs.argmax(
        -1
    ).tolist()


@pytest.mark.parametrize(
    "limits", [{}, {"max_num_batched_tokens": 16}, {"num_blocks": 20, "max_model_len": 300}]
)
def test_a_harness_scores_prompts_by_echo_as_transformers_does(start, their_tiny, limits):
    """The call of evaluation harnesses: ids in, echo, one token more, log-probabilities of all."""
    prompts = [[5 + (i * i) % 200 for i in range(70)], [9, 8, 7], [30]]
    with start(**limits) as server, server.client() as client:
        for _ in range(2):  # the second time the prefixes are known, and must not be used
            found = client.completions.create(
                model="tiny", prompt=prompts, max_tokens=1, echo=True, logprobs=1, temperature=0
            )
            for ids, choice in zip(prompts, found.choices, strict=True):
                expected, likeliest = scores(their_tiny, ids)
                ours = choice.logprobs
                assert ours.token_logprobs[0] is None and ours.top_logprobs[0] is None
                assert ours.token_logprobs[1:-1] == pytest.approx(expected, abs=1e-4)
                greedy = [
                    max(top, key=top.get) == token
                    for token, top in zip(ours.tokens[1:-1], ours.top_logprobs[1:-1], strict=True)
                ]
                assert greedy == [best == id for best, id in zip(likeliest, ids[1:])]
                assert len(ours.tokens) == len(ids) + 1 == len(ours.text_offset)


def test_an_echo_without_an_answer_is_the_prompt_alone(client, running):
    found = client.completions.create(
        model="tiny", prompt="a bank", max_tokens=0, echo=True, logprobs=0
    )
    assert found.choices[0].text == "a bank" and found.choices[0].finish_reason == "length"
    assert len(found.choices[0].logprobs.tokens) == 6 and found.usage.completion_tokens == 0
    assert found.choices[0].logprobs.text_offset == list(range(6))
    with_answer = client.completions.create(
        model="tiny", prompt="a bank", max_tokens=3, echo=True, temperature=0
    )
    alone = client.completions.create(model="tiny", prompt="a bank", max_tokens=3, temperature=0)
    assert with_answer.choices[0].text == "a bank" + alone.choices[0].text


def test_an_echo_streams_the_prompt_first(client):
    pieces = [
        piece.choices[0].text
        for piece in client.completions.create(
            model="tiny", prompt="a bank", max_tokens=3, echo=True, temperature=0, stream=True
        )
    ]
    whole = client.completions.create(
        model="tiny", prompt="a bank", max_tokens=3, echo=True, temperature=0
    )
    assert pieces[0].startswith("a bank") and "".join(pieces) == whole.choices[0].text


def test_nobody_is_told_what_was_found_computed_unless_the_server_was_started_to(start):
    body = {"model": "tiny", "prompt": LONG, "max_tokens": 1}
    with start() as silent:
        usages = [silent.post("/v1/completions", json=body).json()["usage"] for _ in range(2)]
        assert usages[0] == usages[1] and "prompt_tokens_details" not in usages[0]
        assert silent.metric("vllm:prefix_cache_hits_total") > 0, "it was found all the same"
    with start(tells_cached=True) as open_hearted:
        told = [
            open_hearted.post("/v1/completions", json=body).json()["usage"]["prompt_tokens_details"]
            for _ in range(2)
        ]
        assert told[0] == {"cached_tokens": 0} and told[1]["cached_tokens"] > 100


def test_another_salt_finds_nothing_of_mine(start):
    body = {"model": "tiny", "prompt": LONG, "max_tokens": 1}
    with start(tells_cached=True) as running:

        def cached(**salt):
            usage = running.post("/v1/completions", json={**body, **salt}).json()["usage"]
            return usage["prompt_tokens_details"]["cached_tokens"]

        assert cached(cache_salt="mine") == 0 and cached(cache_salt="mine") > 0
        assert cached(cache_salt="yours") == 0 and cached() == 0 and cached() > 0


def test_metrics_have_vllms_names_and_the_models(running, client):
    client.completions.create(model="tiny", prompt="hi", max_tokens=4)
    for name in (
        "vllm:e2e_request_latency_seconds_count",
        "vllm:request_queue_time_seconds_count",
        "vllm:time_to_first_token_seconds_count",
        "vllm:request_success_total",
        "vllm:prompt_tokens_total",
        "vllm:generation_tokens_total",
        "vllm:prefix_cache_queries_total",
    ):
        assert running.metric(name, model_name="tiny") > 0, name
    text = running.get("/metrics").text
    assert all(
        f'{name}{{model_name="tiny"' in text
        for name in (
            "vllm:num_requests_running",
            "vllm:num_requests_waiting",
            "vllm:kv_cache_usage_perc",
            "vllm:spec_decode_num_draft_tokens_total",
            "vllm:spec_decode_num_accepted_tokens_total",
        )
    )
    assert math.isclose(
        running.metric("vllm:e2e_request_latency_seconds_count"),
        running.metric("vllm:request_success_total"),
    ), json.dumps(text[:200])
