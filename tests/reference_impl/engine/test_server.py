"""What the official `openai` client gets from the server; the oracle of what is said is
transformers' generate.
"""

import concurrent.futures
import importlib
import json

import pytest
import torch
import transformers

from reference_impl.tokenizers.encoding import Template

MESSAGES = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Say a word."}]


@pytest.fixture(scope="module")
def their_tokenizer(tiny_folder):
    return transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(tiny_folder / "tokenizer.json"),
        chat_template=json.loads((tiny_folder / "tokenizer_config.json").read_text())[
            "chat_template"
        ],
    )


@pytest.fixture(scope="module")
def expected(their_tiny, their_tokenizer):
    """Greedy ids and text of a prompt's continuation, by transformers."""

    def expected(ids, count):
        rows = their_tiny.generate(
            torch.tensor([ids]),
            attention_mask=torch.ones(1, len(ids), dtype=torch.long),
            max_new_tokens=count,
            do_sample=False,
            pad_token_id=0,
        )
        said = rows[0, len(ids) :].tolist()
        return said, their_tokenizer.decode(said, skip_special_tokens=True)

    return expected


def test_a_greedy_completion_is_transformers_text(client, expected, their_tokenizer):
    ids = their_tokenizer("The river runs").input_ids
    said, text = expected(ids, 30)
    answer = client.completions.create(
        model="tiny", prompt="The river runs", max_tokens=30, temperature=0
    )
    assert answer.choices[0].text == text
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (len(ids), len(said))
    by_ids = client.completions.create(model="tiny", prompt=ids, max_tokens=30, temperature=0)
    assert by_ids.choices[0].text == text


def test_a_greedy_chat_answer_is_transformers_text_after_the_same_template(
    client, expected, their_tokenizer
):
    ids = their_tokenizer.apply_chat_template(MESSAGES, add_generation_prompt=True)["input_ids"]
    said, text = expected(ids, 30)
    answer = client.chat.completions.create(
        model="tiny", messages=MESSAGES, max_completion_tokens=30, temperature=0
    )
    assert answer.choices[0].message.content == text
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (len(ids), len(said))
    parts = [
        {
            "role": "system",
            "content": [{"type": "text", "text": "Be "}, {"type": "text", "text": "short."}],
        },
        MESSAGES[1],
    ]
    again = client.chat.completions.create(
        model="tiny", messages=parts, max_tokens=30, temperature=0
    )
    assert again.choices[0].message.content == text
    assert (
        again.usage.prompt_tokens_details is None
    )  # what others sent before is told to nobody unless asked for


def test_an_answer_ends_at_the_end_token(client, their_tokenizer, expected):
    prompt = their_tokenizer("abc").input_ids
    count = len(expected(prompt, 4)[0])
    answer = client.completions.create(
        model="tiny", prompt=prompt, max_tokens=40, temperature=0, logit_bias={"2": 100}, logprobs=0
    )
    assert count == 4 and answer.choices[0].finish_reason == "stop"
    assert (answer.choices[0].text, answer.choices[0].logprobs.tokens) == ("", ["<|im_end|>"])
    longer = client.completions.create(
        model="tiny",
        prompt=prompt,
        max_tokens=5,
        temperature=0,
        logit_bias={"2": 100},
        extra_body={"ignore_eos": True},
    )
    assert (longer.choices[0].finish_reason, longer.usage.completion_tokens) == ("length", 5)


@pytest.mark.parametrize("n", [1, 3])
def test_a_stream_says_what_the_whole_answer_says(client, n):
    asked = {"model": "tiny", "messages": MESSAGES, "max_tokens": 25, "seed": 3, "n": n}
    whole = client.chat.completions.create(**asked)
    texts, reasons, usage = [""] * n, [None] * n, None
    for piece in client.chat.completions.create(
        **asked, stream=True, stream_options={"include_usage": True}
    ):
        usage = piece.usage or usage
        for choice in piece.choices:
            texts[choice.index] += choice.delta.content
            reasons[choice.index] = choice.finish_reason
    assert texts == [choice.message.content for choice in whole.choices]
    assert reasons == [choice.finish_reason for choice in whole.choices]
    assert len(set(texts)) == n
    assert (usage.prompt_tokens, usage.completion_tokens) == (
        whole.usage.prompt_tokens,
        whole.usage.completion_tokens,
    )
    assert whole.usage.completion_tokens > 25 * (n - 1)


def test_the_role_comes_once_and_the_stream_ends_with_done(running):
    asked = {
        "model": "tiny",
        "messages": MESSAGES,
        "max_tokens": 12,
        "seed": 3,
        "n": 2,
        "stream": True,
    }
    lines = [
        line for line in running.post("/v1/chat/completions", json=asked).text.split("\n\n") if line
    ]
    assert lines.pop() == "data: [DONE]"
    choices = [json.loads(line.removeprefix("data: "))["choices"][0] for line in lines]
    assert sorted(choice["index"] for choice in choices if "role" in choice["delta"]) == [0, 1]


def test_a_stop_string_and_what_follows_are_cut_off_in_both_ways(client):
    asked = {"model": "tiny", "prompt": "Once upon a time", "max_tokens": 40, "temperature": 0}
    free = client.completions.create(**asked).choices[0].text
    stop = free[10:13]
    cut = client.completions.create(**asked, stop=[stop, "never said"]).choices[0]
    assert (cut.text, cut.finish_reason) == (free[: free.index(stop)], "stop")
    streamed = "".join(
        piece.choices[0].text
        for piece in client.completions.create(**asked, stop=stop, stream=True)
    )
    assert streamed == cut.text


def test_logprobs_are_the_models_own_and_offsets_are_places_in_the_text(
    client, their_tiny, their_tokenizer
):
    asked = {
        "model": "tiny",
        "prompt": "Ünïcode ",
        "max_tokens": 30,
        "seed": 8,
        "temperature": 0.7,
        "logprobs": 2,
    }
    choice = client.completions.create(**asked).choices[0]
    prompt = their_tokenizer("Ünïcode ").input_ids
    for token, row in zip(choice.logprobs.tokens, choice.logprobs.top_logprobs, strict=True):
        assert token in row and len(row) in (
            2,
            3,
        )  # the two best, and the drawn one where it is neither
    best = [sorted(row.values(), reverse=True)[:2] for row in choice.logprobs.top_logprobs]
    alphabet = tokenizer_bytes(their_tokenizer)
    ids = [alphabet[token] for token in choice.logprobs.tokens]
    with torch.no_grad():
        logprobs = (
            their_tiny(torch.tensor([[*prompt, *ids]]))
            .logits[0, len(prompt) - 1 : -1]
            .log_softmax(-1)
        )
    chosen = logprobs.gather(1, torch.tensor(ids)[:, None])[:, 0]
    torch.testing.assert_close(
        torch.tensor(choice.logprobs.token_logprobs), chosen, rtol=0, atol=1e-4
    )
    torch.testing.assert_close(torch.tensor(best), logprobs.topk(2).values, rtol=0, atol=1e-4)
    for token, offset in zip(choice.logprobs.tokens, choice.logprobs.text_offset, strict=True):
        assert token.startswith("bytes:") or choice.text[offset:].startswith(token)
    pieces = [
        piece.choices[0].logprobs for piece in client.completions.create(**asked, stream=True)
    ]
    assert [
        offset for piece in pieces for offset in piece.text_offset
    ] == choice.logprobs.text_offset
    assert [token for piece in pieces for token in piece.tokens] == choice.logprobs.tokens


def tokenizer_bytes(tokenizer):
    """From what a completion calls a token to its id: printable ones by themselves, others as
    bytes.
    """
    table = importlib.import_module("transformers.convert_slow_tokenizer").bytes_to_unicode()
    return {
        chr(byte) if byte < 128 else f"bytes:\\x{byte:02x}": tokenizer.convert_tokens_to_ids(
            character
        )
        for byte, character in table.items()
    }


def test_a_chats_logprobs_hold_each_tokens_bytes(client):
    choice = client.chat.completions.create(
        model="tiny", messages=MESSAGES, max_tokens=20, seed=2, logprobs=True, top_logprobs=3
    ).choices[0]
    data = b"".join(bytes(entry.bytes) for entry in choice.logprobs.content)
    assert data.decode("utf-8", "replace") == choice.message.content
    assert all(len(entry.top_logprobs) == 3 for entry in choice.logprobs.content)


def test_a_seed_makes_an_answer_come_again_and_another_does_not(client):
    def said(seed):
        return (
            client.completions.create(model="tiny", prompt="A", max_tokens=20, seed=seed)
            .choices[0]
            .text
        )

    assert said(1) == said(1) != said(2)


def test_models_are_listed_and_found_by_name(client, running):
    assert [model.id for model in client.models.list()] == ["tiny"]
    assert client.models.retrieve("tiny").id == "tiny"
    assert running.get("/health").json() == {"status": "ok"}


def test_metrics_count_what_the_answers_report(client, running):
    names = (
        "vllm:prompt_tokens_total",
        "vllm:generation_tokens_total",
        "vllm:time_to_first_token_seconds_count",
        "vllm:time_per_output_token_seconds_count",
        "vllm:request_success_total",
    )
    before = [running.metric(name) for name in names]
    answer = client.completions.create(
        model="tiny", prompt="hello", max_tokens=7, n=2, seed=1, extra_body={"ignore_eos": True}
    )
    grown = [running.metric(name) - old for name, old in zip(names, before, strict=True)]
    assert answer.usage.completion_tokens == 14
    assert grown == [5, 14, 2, 12, 2]
    assert running.metric("vllm:kv_cache_usage_perc") == 0


def test_many_clients_at_once_get_what_each_gets_alone(running):
    prompts = [f"prompt number {i} " * (1 + i % 3) for i in range(6)]

    def said(prompt):
        asked = {"model": "tiny", "prompt": prompt, "max_tokens": 15, "seed": 4}
        return running.post("/v1/completions", json=asked).json()["choices"][0]["text"]

    alone = [said(prompt) for prompt in prompts]
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        assert list(pool.map(said, prompts)) == alone


def test_a_first_token_is_put_before_a_completion_and_a_chat_template_brings_its_own(
    client, running, monkeypatch
):
    def num_tokens():
        return [
            client.completions.create(model="tiny", prompt="hi", max_tokens=1).usage.prompt_tokens,
            client.chat.completions.create(
                model="tiny", messages=MESSAGES, max_tokens=1
            ).usage.prompt_tokens,
        ]

    completion, chat = num_tokens()
    monkeypatch.setattr(running.engine.tokenizer, "template", Template("<|endoftext|>:0 A:0"))
    assert num_tokens() == [completion + 1, chat]


def test_a_special_token_in_a_prompt_is_read_as_text(client):
    asked = client.completions.create(model="tiny", prompt="<|im_end|>", max_tokens=1)
    assert asked.usage.prompt_tokens == len("<|im_end|>")


def test_a_model_without_a_template_completes_but_does_not_chat(start):
    with start(render_chat=None) as running:
        refused = running.post("/v1/chat/completions", json={"model": "tiny", "messages": MESSAGES})
        assert (
            refused.status_code == 400 and "no chat template" in refused.json()["error"]["message"]
        )
        assert (
            running.post("/v1/completions", json={"model": "tiny", "prompt": "a"}).status_code
            == 200
        )
