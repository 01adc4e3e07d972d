"""`17.the_run`: the text of a run, the model that is built from it, and what each stage catches.

The right run is that of the reference notebook. Runs that need a training of their own are graded
in bench/capstone_hand_in.py.
"""

import base64
import json
import tracemalloc
import zlib
from dataclasses import replace

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from autograder.authoring.catalogue import ROOT, assignment
from autograder.authoring.implementations import reference
from autograder.chapters.c17_capstone import run_items, run_model, test_run
from autograder.chapters.c17_capstone.run_format import RunFormatError, pack, shapes, unpack
from autograder.checks.assertions.expect import CheckFailed
from autograder.checks.protocol import LocalStudent, rng_for
from course.capstone import tasks
from course.capstone.tokenizer import HELD_OUT_EVERY
from reference_impl import corpora

SMALL = {
    "vocab_size": 50,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_layers": 2,
    "num_heads": 4,
    "num_kv_heads": 2,
    "max_position_embeddings": 64,
    "rope_theta": 5000.0,
    "rms_norm_eps": 1e-4,
}
RECORD = ROOT / "bench" / "results" / "capstone_hand_in.json"
TEXT = reference("17")["the_run"]()


@pytest.fixture(scope="module")
def right():
    return unpack(TEXT)


def outcome(run, stage: str) -> str:
    """The cause with which a stage fails for a run, or ""."""
    text = run if type(run) is str else pack(run)
    function = next(one.function for one in test_run.the_run.stages if one.name == stage)
    student = LocalStudent({"the_run": lambda: text})
    given = {"student": student} | ({"rng": rng_for(stage)} if "rng" in _names(function) else {})
    try:
        function(**given)
    except CheckFailed as failed:
        return failed.cause
    return ""


def _names(function) -> tuple[str, ...]:
    return function.__code__.co_varnames[: function.__code__.co_argcount]


def transformers_model() -> tuple[LlamaForCausalLM, dict]:
    """A random model of transformers, and its weights by the names of the text."""
    torch.manual_seed(0)
    names = {"num_layers": "num_hidden_layers", "num_heads": "num_attention_heads"}
    names |= {"num_kv_heads": "num_key_value_heads"}
    config = {names.get(name, name): value for name, value in SMALL.items()}
    model = LlamaForCausalLM(LlamaConfig(**config, tie_word_embeddings=True)).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter.data, std=0.4)
    theirs = {
        "embedding": "embed_tokens",
        "blocks": "layers",
        "attention_norm": "input_layernorm",
        "feed_forward_norm": "post_attention_layernorm",
        "attention.query": "self_attn.q_proj",
        "attention.key": "self_attn.k_proj",
        "attention.value": "self_attn.v_proj",
        "attention.output": "self_attn.o_proj",
        "feed_forward.": "mlp.",
        ".gate": ".gate_proj",
        ".up": ".up_proj",
        ".down": ".down_proj",
    }
    state, found = model.state_dict(), {}
    for name in shapes(SMALL):
        other = name
        for ours, new in theirs.items():
            other = other.replace(ours, new)
        found[name] = state[f"model.{other}"]
    return model, found


def test_the_model_of_the_checks_computes_the_logits_of_transformers():
    theirs, weights = transformers_model()
    ids = torch.randint(50, (3, 11))
    ours = run_model.Model(SMALL, weights).logits(ids)
    torch.testing.assert_close(ours, theirs(ids).logits.detach(), rtol=1e-4, atol=1e-4)


def test_decoding_with_a_cache_gives_the_answers_of_transformers():
    theirs, weights = transformers_model()
    prompts = [[3, 4, 5], [6, 7, 8, 9], [3, 40, 5]]
    found = run_model.answers(run_model.Model(SMALL, weights), prompts, 8)
    for prompt, answer in zip(prompts, found, strict=True):
        ids = torch.tensor([prompt])
        expected = theirs.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            do_sample=False,
            max_new_tokens=8,
            eos_token_id=run_model.END,
            pad_token_id=0,
        )[0, len(prompt) :]
        assert answer == expected.tolist()


def test_held_out_items_are_those_of_the_pipeline():
    topics = [(one.question, one.keyword) for one in tasks.held_out_character()]
    assert list(run_items.CHARACTER) == topics
    assert set(run_items.WORDS) <= set(tasks.short_words(True))
    verses = [verse for verse in corpora.load("kjv").split("\n") if verse]
    held_out = {" ".join(verse.split()) for verse in verses[7::HELD_OUT_EVERY]}
    assert set(run_items.VERSES) <= held_out
    sums = test_run.held_out_sums(rng_for("sums"), 10_000)
    assert all(tasks.is_held_out(f"{min(pair)}+{max(pair)}") for pair in sums)
    assert 800 < len(sums) < 1200


def test_answers_about_topics_are_judged_as_in_the_pipeline():
    for topic in tasks.topics():
        item = tasks.Item("character", "", "", topic.keyword)
        for other in tasks.topics()[::7]:
            for answer in (*topic.answers, *other.answers):
                assert test_run.has_word(answer, topic.keyword) == item.is_right(answer)


def test_the_card_has_the_bounds_of_the_checks_and_the_spans_of_the_record():
    card = assignment("17").cells["the_run-card"][0].source
    record = json.loads(RECORD.read_text(encoding="utf-8"))["five"]
    assert [row["draws"] for row in record] == [40] * 5
    assert all(points == 7 for row in record for points in row["points"])
    bounds = {
        "bits": (test_run.MOST_BITS, "1.7"),
        "character": (test_run.CHARACTER_SHARE, ".80"),
        "reversing": (test_run.REVERSING_SHARE, ".75"),
        "sums": (test_run.SUMS_SHARE, ".90"),
        "gain": (test_run.GAIN, ".08"),
    }
    for name, (bound, shown) in bounds.items():
        assert float(shown) == bound and shown in card
        low, high = min(row[name][0] for row in record), max(row[name][1] for row in record)
        assert f"{low:.3f} to {high:.3f}".replace("0.", ".") in card, name
        assert high < bound if name == "bits" else low > bound


def test_an_engine_that_pads_without_a_mask_fails_with_sixteen_together(right):
    width = max(map(len, right.prompts))
    rows = [[0] * (width - len(prompt)) + prompt for prompt in right.prompts]
    model = run_model.Model(right.config, right.reinforced)
    cause = outcome(replace(right, together=run_model.answers(model, rows, 30)), "engine")
    assert "padding that is not masked" in cause


def test_an_engine_with_another_template_is_told_so(right):
    grader = test_run.grader_of(TEXT)
    prompts = [grader.tokenizer.encode(f"### User: {one}") for one in right.questions]
    said = run_model.answers(grader.reinforced, prompts, 30)
    other = replace(right, prompts=prompts, alone=said, together=said)
    assert "another prompt than the template" in outcome(other, "engine")


def test_an_answer_that_was_cut_off_is_not_greedy_to_its_end(right):
    cut = [answer[:-1] for answer in right.alone]
    assert "Alone" in outcome(replace(right, alone=cut), "engine")


def test_a_tokenizer_without_merges_is_recognised(right):
    cause = outcome(replace(right, merges=[]), "bits per byte")
    assert cause.startswith("Your tokenizer was hardly trained")


def test_random_weights_fail_the_bits_and_the_tasks(right):
    noise = {name: torch.randn_like(one) * 0.02 for name, one in right.tuned.items()}
    text = pack(replace(right, tuned=noise, reinforced=noise))
    assert "Either it was not pre-trained" in outcome(text, "bits per byte")
    assert "talks past the topic" in outcome(text, "tasks after tuning")


def test_a_run_without_reinforcement_fails_the_sums_alone(right):
    text = pack(replace(right, reinforced=right.tuned))
    assert outcome(text, "bits per byte") == outcome(text, "tasks after tuning") == ""
    assert "without working them out" in outcome(text, "sums after reinforcement")


def test_a_reinforced_model_twice_did_not_improve(right):
    text = pack(replace(right, tuned=right.reinforced))
    assert "changed little" in outcome(text, "sums after reinforcement")


def with_header(**changes) -> str:
    """The right text with entries of its header replaced."""
    data = zlib.decompress(base64.b85decode("".join(TEXT.split())))
    length = int.from_bytes(data[:4], "little")
    head = json.loads(data[4 : 4 + length])
    for name, value in changes.items():
        head[name] = head[name] | value if type(value) is dict else value
    fresh = json.dumps(head).encode()
    return encoded(len(fresh).to_bytes(4, "little") + fresh + data[4 + length :])


def encoded(data: bytes) -> str:
    return base64.b85encode(zlib.compress(data)).decode()


MALFORMED = {
    "no base85": lambda: TEXT.replace("0", '"', 1),
    "are damaged": lambda: base64.b85encode(b"x" * 100).decode(),
    "compressed data end too early": lambda: TEXT[:-3000],
    "header has": lambda: encoded(b"\xff\xff\xff\x7f" + b"a" * 100),
    "header is no JSON": lambda: encoded(b"\4\0\0\0[[[["),
    "format 1": lambda: with_header(format=2),
    "header lacks prompts": lambda: with_header(prompts=7),
    "`num_layers` is no int": lambda: with_header(config={"num_layers": 10**9}),
    "`rope_theta` is no float": lambda: with_header(config={"rope_theta": "1"}),
    "parameters; at most": lambda: with_header(config={"hidden_size": 1024}),
    "heads do not divide": lambda: with_header(config={"num_heads": 3}),
    "do not end where": lambda: with_header(config={"num_layers": 3}),
    "another number of tokens": lambda: with_header(tokenizer={"tokens": ["a"]}),
    "merges are no pairs": lambda: with_header(tokenizer={"merges": [["a"]]}),
    "no lists of token ids": lambda: with_header(alone=[[4096]] * 20),
    "not 20 questions": lambda: with_header(questions=["a"]),
    "more than 1,500,000": lambda: "a" * 1_500_001,
}


@pytest.mark.parametrize("said", MALFORMED)
def test_a_malformed_text_is_refused_with_what_is_wrong_and_the_remedy(said):
    with pytest.raises(RunFormatError, match=said) as raised:
        unpack(MALFORMED[said]())
    assert "Run `course capstone --notebook` again" in str(raised.value)


def test_a_text_that_expands_to_a_hundred_megabytes_is_not_expanded():
    data = zlib.decompress(base64.b85decode("".join(TEXT.split())))
    text = encoded(data + bytes(100_000_000))
    tracemalloc.start()
    with pytest.raises(RunFormatError, match="do not end where"):
        unpack(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 60_000_000  # the text itself takes half of it
