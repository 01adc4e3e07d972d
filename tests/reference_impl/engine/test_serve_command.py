"""`course serve` as a user starts it: real SmolLM2 and MiniLM for OpenAI's client, signals, and
what it refuses.
"""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys

import openai
import pytest
import tokenizers
import torch
import transformers

from course.cli import main
from reference_impl import corpora
from reference_impl.engine.loading import load
from reference_impl.weights.pretrained import hugging_face_state

MESSAGES = [{"role": "user", "content": "What is a river? Answer in one sentence."}]
NAME = "smollm2-135m-instruct"


@contextlib.contextmanager
def course_serve(*arguments, **environment):
    """The process, and the address that it says it serves at."""
    process = subprocess.Popen(
        [sys.executable, "-m", "course.cli", "serve", "--port", "0", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **environment},
    )
    try:
        said = ""
        while not (found := re.search(r"http://\S+", said)):
            line = process.stdout.readline()
            assert line, f"it ended: {said}"
            said += line
        yield process, found.group(), said
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture(scope="module")
def real():
    with course_serve("--cache-mb", 64, "--max-model-len", 512) as (_, url, said):
        yield url, said


@pytest.fixture(scope="module")
def client(real):
    with openai.OpenAI(base_url=real[0], api_key="none", max_retries=5, timeout=120) as client:
        yield client


def chat(client, **options):
    return client.chat.completions.create(
        **{"model": NAME, "messages": MESSAGES, "max_tokens": 10, "temperature": 0, **options}
    )


def test_it_says_what_is_served_where(real, client):
    url, said = real
    assert (
        NAME in said
        and "134.5 million" in said
        and "64 MiB" in said
        and "all-minilm-l6-v2" in said
        and url in said
    )
    assert [model.id for model in client.models.list()] == [NAME, "all-minilm-l6-v2"]


def test_smollm2s_greedy_answer_is_transformers(client):
    ours = load()
    config = ours.model.config
    theirs = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=config.vocab_size,
            hidden_size=config.hidden_size,
            intermediate_size=config.intermediate_size,
            num_hidden_layers=config.num_layers,
            num_attention_heads=config.num_heads,
            num_key_value_heads=config.num_kv_heads,
            max_position_embeddings=config.max_position_embeddings,
            rms_norm_eps=config.rms_norm_eps,
            tie_word_embeddings=True,
            eos_token_id=2,
            rope_parameters={"rope_type": "default", "rope_theta": config.rope_theta},
        )
    ).eval()
    theirs.load_state_dict(hugging_face_state(ours.model))
    ids = ours.tokenizer.encode(ours.render_chat(MESSAGES)).ids
    said = theirs.generate(
        torch.tensor([ids]),
        attention_mask=torch.ones(1, len(ids), dtype=torch.long),
        max_new_tokens=14,
        do_sample=False,
        pad_token_id=2,
    )[0, len(ids) :].tolist()
    answer = chat(client, max_tokens=14)
    assert answer.choices[0].message.content == ours.tokenizer.decode(said)
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (len(ids), len(said))
    assert "river" in answer.choices[0].message.content


def test_the_stream_is_the_whole_answer(client):
    whole = chat(client, n=2, temperature=0.8, seed=5, logprobs=True, top_logprobs=1)
    texts, reasons = ["", ""], [None, None]
    for piece in chat(client, n=2, temperature=0.8, seed=5, stream=True):
        for choice in piece.choices:
            texts[choice.index] += choice.delta.content
            reasons[choice.index] = choice.finish_reason
    assert texts == [choice.message.content for choice in whole.choices] and texts[0] != texts[1]
    assert reasons == [choice.finish_reason for choice in whole.choices]
    for choice in whole.choices:
        said = b"".join(
            bytes(entry.bytes) for entry in choice.logprobs.content if entry.token != "<|im_end|>"
        )
        assert said.decode() == choice.message.content


def test_a_stop_string_ends_a_completion(client):
    asked = {"model": NAME, "prompt": "One, two, three, four,", "max_tokens": 16, "temperature": 0}
    free = client.completions.create(**asked).choices[0].text
    stop = free.split()[3]
    assert client.completions.create(**asked, stop=stop).choices[0].text == free[: free.index(stop)]


def test_embeddings_are_transformers_sentence_vectors(client):
    texts = [
        "She sat on the bank of the river.",
        "A loan from a lender.",
        "Ünïcode \U0001f389 and 12,345.67!",
    ]
    library = tokenizers.Tokenizer.from_file(str(corpora.path("minilm") / "tokenizer.json"))
    library.no_truncation()
    library.enable_padding()
    rows = library.encode_batch(texts)
    mask = torch.tensor([row.attention_mask for row in rows])
    with torch.no_grad():
        theirs = transformers.BertModel.from_pretrained(corpora.path("minilm")).eval()
        tokens = theirs(
            torch.tensor([row.ids for row in rows]), attention_mask=mask
        ).last_hidden_state
    means = (tokens * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
    expected = torch.nn.functional.normalize(means, dim=-1)
    for encoding in ("base64", "float"):
        answer = client.embeddings.create(
            model="all-minilm-l6-v2", input=texts, encoding_format=encoding
        )
        vectors = [each.embedding for each in answer.data]
        if encoding == "float":
            assert isinstance(vectors[0], list)
            torch.testing.assert_close(torch.tensor(vectors), expected, rtol=0, atol=1e-5)
        assert answer.usage.prompt_tokens == int(mask.sum())
    # Without an encoding named the client asks for base64 and decodes it by itself.
    one = client.embeddings.create(model="all-minilm-l6-v2", input=texts[0]).data[0].embedding
    torch.testing.assert_close(torch.tensor(one), expected[0], rtol=0, atol=1e-5)
    for wrong in ("", [], ["a", ""], ["a"] * 257):
        with pytest.raises(openai.BadRequestError):
            client.embeddings.create(model="all-minilm-l6-v2", input=wrong)


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly(ending, tiny_folder, tmp_path):
    trace = tmp_path / "trace.json"
    with course_serve(
        tiny_folder,
        "--name",
        "mine",
        "--num-blocks",
        64,
        "--speculate",
        3,
        "--trace",
        trace,
        WORD2SERVE_API_KEY="secret",
    ) as (process, url, said):
        assert "asked for" in said and "secret" not in said
        with openai.OpenAI(base_url=url, api_key="secret", max_retries=5) as client:
            answer = client.completions.create(
                model="mine",
                prompt="abcabcabcabc",
                max_tokens=20,
                temperature=0,
                extra_body={"ignore_eos": True},
            )
            assert answer.usage.completion_tokens == 20
        process.send_signal(ending)
        rest, _ = process.communicate(timeout=60)
        assert (
            process.returncode == 0
            and "Traceback" not in rest
            and rest.endswith("course serve: ended\n")
        )
    lines = [json.loads(line) for line in trace.read_text().splitlines()]
    assert lines[0]["kind"] == "engine" and lines[0]["num_blocks"] == 64
    assert [(one["prompt"], one["answer"]) for one in lines if one["kind"] == "request"] == [
        (12, 20)
    ]
    tokens = [item for line in lines if line["kind"] == "step" for item in line["tokens"]]
    assert sum(count for _, count, _, _ in tokens) >= 12 + 19
    assert any(drafts for _, _, drafts, _ in tokens)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["/no/such/model"], "does not exist"),
        (["--host", "0.0.0.0"], "lets others in"),
        (["--port", "70000"], "--port is"),
        (["--cache-mb", "0"], "--cache-mb is 0"),
        (["TINY", "--num-blocks", "1", "--max-model-len", "5000"], "positions"),
        (
            ["TINY", "--max-num-seqs", "9", "--max-num-batched-tokens", "4"],
            "max_num_batched_tokens",
        ),
        (["TINY", "--speculate", "-1"], "--speculate is -1"),
        (["TINY", "--encoder", "/no/such"], "/no/such"),
        (["TINY", "--lora-modules", "a"], "give NAME=FOLDER"),
        (["TINY", "--lora-modules", "tiny=x"], "name of another"),
        (["TINY", "--lora-modules", "a=/no/such"], "adapter_config.json does not exist"),
        (["--host", "no.such.host.invalid"], "lets others in"),
        (["--host", "256.1.1.1", "--open-to-all"], "can't listen"),
    ],
)
def test_what_can_not_be_served_is_said_in_one_line(
    arguments, says, tiny_folder, capsys, monkeypatch
):
    monkeypatch.delenv("WORD2SERVE_API_KEY", raising=False)
    arguments = [str(tiny_folder) if argument == "TINY" else argument for argument in arguments]
    assert main(["serve", *(["--port", "0"] if "--port" not in arguments else []), *arguments]) == 2
    said = capsys.readouterr().err.strip()
    assert says in said and "\n" not in said


def test_a_port_that_is_taken_is_named_before_anything_is_loaded(capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "/no/such/model", "--port", str(port)]) == 2
    assert f"port {port}" in capsys.readouterr().err
