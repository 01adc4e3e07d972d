"""The models that run in a page answer as torch does: a hundred inputs for each architecture, from
file://.
"""

import base64
import dataclasses
import random
from pathlib import Path

import pytest
import torch
from safetensors.torch import save
from torch import nn

from course.book.pages import models as page_models
from course.book.pages.figure_data import encoders, readings
from reference_impl.corpora import small_models
from reference_impl.generation.encoder_decoder import translate
from reference_impl.layers.lora import LoRALinear
from reference_impl.models import (
    bert,
    electra,
    elmo,
    gpt,
    llama,
    lstm,
    modernbert,
    seq2seq,
    transformer,
    unmasked,
)
from reference_impl.tokenizers.files import load_bert
from tests.book.conftest import open_page

pytestmark = pytest.mark.browser
RUNTIME = Path(__file__).resolve().parents[2] / "book" / "assets" / "models"
PARTS = (
    "numbers",
    "attention",
    "transformers",
    "lora",
    "positions",
    "recurrent",
    "counts",
    "tokenizers",
    "sampling",
    "searching",
    "runtime",
)
INPUTS, VOCABULARY = 100, 41
SMALL = {"vocab_size": VOCABULARY, "hidden_size": 24, "num_layers": 2, "num_heads": 4}
WIDE = {**SMALL, "intermediate_size": 40}
DRY = {"hidden_dropout": 0.0, "attention_dropout": 0.0, "max_position_embeddings": 16}
TINY = {  # name: kind, model; one for each thing that a configuration can change
    "gpt2": ("gpt", lambda: gpt.GPT(gpt.GPTConfig(**SMALL, max_position_embeddings=16))),
    "gpt1": (
        "gpt",
        lambda: gpt.GPT(gpt.GPTConfig(**SMALL, max_position_embeddings=16, norm_first=False)),
    ),
    "gpt2-unmasked": (
        "unmasked",
        lambda: unmasked.UnmaskedGPT(gpt.GPTConfig(**SMALL, max_position_embeddings=16)),
    ),
    "llama-grouped": ("llama", lambda: llama.Llama(llama.LlamaConfig(**WIDE, num_kv_heads=2))),
    "llama-one-key-head": (
        "llama",
        lambda: llama.Llama(llama.LlamaConfig(**WIDE, num_kv_heads=1, tie_word_embeddings=True)),
    ),
    "llama-wide-heads": (
        "llama",
        lambda: llama.Llama(
            llama.LlamaConfig(
                **WIDE, num_kv_heads=2, head_dim=10, rope_theta=50.0, rope_interpolation=2.0
            )
        ),
    ),
    "qwen2-biases": ("llama", lambda: llama.Llama(llama.LlamaConfig(**WIDE, qkv_bias=True))),
    "qwen3-norms": (
        "llama",
        lambda: llama.Llama(llama.LlamaConfig(**WIDE, num_kv_heads=2, qk_norm=True)),
    ),
    "mistral-window": (
        "llama",
        lambda: llama.Llama(llama.LlamaConfig(**WIDE, num_kv_heads=2, sliding_window=3)),
    ),
    "bert": ("bert", lambda: bert.BertForMaskedLM(bert.BertConfig(**WIDE, **DRY))),
    "electra": (
        "electra",
        lambda: electra.ElectraForPreTraining(
            electra.ElectraConfig(**WIDE, **DRY, embedding_size=24)
        ),
    ),
    "electra-widened": (
        "electra",
        lambda: electra.ElectraForPreTraining(
            electra.ElectraConfig(**WIDE, **DRY, embedding_size=12)
        ),
    ),
    "modernbert": (
        "modernbert",
        lambda: modernbert.ModernBertForMaskedLM(
            modernbert.ModernBertConfig(**{**WIDE, "num_layers": 4}, local_attention=4)
        ),
    ),
    "encoder": (
        "encoder",
        lambda: modernbert.ModernBert(
            modernbert.ModernBertConfig(**{**WIDE, "num_layers": 4}, local_attention=4)
        ),
    ),
    "transformer": (
        "transformer",
        lambda: transformer.Transformer(transformer.TransformerConfig(**WIDE)),
    ),
    "transformer-norm-first": (
        "transformer",
        lambda: transformer.Transformer(transformer.TransformerConfig(**WIDE, norm_first=True)),
    ),
    "lstm": ("lstm", lambda: lstm.LSTMLanguageModel(lstm.LSTMConfig(VOCABULARY, 24, 2))),
    "elmo": ("elmo", lambda: elmo.ELMo(elmo.ELMoConfig(0, 5, ((1, 6), (3, 8)), 1, 10, 14, 2, 9))),
    "elmo-plain-letters": (
        "elmo",
        lambda: elmo.ELMo(elmo.ELMoConfig(0, 5, ((2, 9),), 0, 10, 14, 3, 6)),
    ),
    "seq2seq": (
        "seq2seq",
        lambda: seq2seq.Seq2Seq(seq2seq.Seq2SeqConfig(VOCABULARY, VOCABULARY, 16, 24)),
    ),
}


def tiny(name: str) -> tuple[dict, nn.Module]:
    """An archive with random weights in float16, and the torch model with the same numbers in
    float32.
    """
    kind, make = TINY[name]
    torch.manual_seed(sum(map(ord, name)))
    model = make().eval()
    with torch.no_grad():
        for parameter in model.parameters():  # large enough that every part shows in the answer
            parameter.copy_(
                (
                    torch.randn_like(parameter) * (0.5 if parameter.ndim > 1 else 0.3)
                    + (1.0 if parameter.ndim == 1 else 0.0)
                ).half()
            )
    weights = {
        key: tensor.half().contiguous() for key, tensor in small_models.own_state(model).items()
    }
    return {
        "card": {"name": name, "kind": kind, "config": dataclasses.asdict(model.config)},
        "tokenizer": None,
        "weights": save(weights, metadata={"format": "pt"}),
    }, model


def texts(seed: int, size: int = VOCABULARY, longest: int = 12) -> list[list[int]]:
    draw = random.Random(seed)
    return [[draw.randrange(size) for _ in range(draw.randint(1, longest))] for _ in range(INPUTS)]


def kept(*kinds: str) -> list[str]:
    return [name for name in small_models.names() if small_models.card(name)["kind"] in kinds]


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    """A page with the runtime, every tiny model and every trained one beside it, opened
    from disk.
    """
    folder = tmp_path_factory.mktemp("models")
    for part in PARTS:
        (folder / f"{part}.js").write_text((RUNTIME / f"{part}.js").read_text())
    page_models.write_scripts(folder / "weights", small_models.names())
    for name in TINY:
        (folder / "weights" / f"{name}.js").write_text(page_models.as_script(tiny(name)[0]))
    scripts = "".join(f'<script src="{part}.js"></script>' for part in PARTS)
    (folder / "page.html").write_text(
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title>{scripts}'
    )
    opened = open_page(browser, (folder / "page.html").as_uri())
    yield opened
    opened.context.close()


def ask(page, name: str, method: str, questions: list[list]) -> list:
    """The answers of a model in the page's worker, as lists; each question is the list of the
    method's arguments.
    """
    answers = page.evaluate(
        """async ([name, method, questions]) => {
        const model = await w2s.models.open(name), answers = [];
        if (model.thread !== "worker") throw new Error("the model does not run in a worker");
        const packed = (numbers) => { // a million numbers as JSON take a minute
            const bytes = new Uint8Array(Float32Array.from(numbers).buffer), text = [];
            for (let at = 0; at < bytes.length; at += 32768)
                text.push(String.fromCharCode(...bytes.subarray(at, at + 32768)));
            return btoa(text.join(""));
        };
        for (const question of questions) {
            const answer = await model.call(method, ...question);
            if (answer.data) answer.data = packed(answer.data);
            for (const look of [...(answer.looks ?? []), ...(answer.reads ?? [])])
                if (look.data) look.data = packed(look.data);
            answers.push(answer);
        }
        return answers;
    }""",
        [name, method, questions],
    )
    for answer in answers:
        looks = [
            look
            for look in [*(answer.get("looks") or []), *(answer.get("reads") or [])]
            if isinstance(look, dict)
        ]
        for holder in [answer, *looks]:
            if "data" in holder:
                holder["data"] = torch.frombuffer(
                    bytearray(base64.b64decode(holder["data"])), dtype=torch.float32
                ).tolist()
    return answers


def assert_equal(answers: list[dict], expected: list[torch.Tensor]) -> None:
    worst = 0.0
    for answer, tensor in zip(answers, expected, strict=True):
        found = torch.tensor(answer["data"], dtype=torch.float32).reshape(tensor.shape)
        worst = max(worst, float((found - tensor).abs().max()))
    assert worst < 1e-3
    assert max(float(tensor.std(-1).max()) for tensor in expected if tensor.shape[-1] > 1) > 0.1, (
        "nothing to compare"
    )


@pytest.mark.parametrize("name", [name for name in TINY if TINY[name][0] != "elmo"])
@torch.no_grad()
def test_an_architecture_gives_what_torch_gives(page, name):
    model = tiny(name)[1]
    sources, targets = texts(1), texts(2)
    both = name.startswith(("transformer", "seq2seq"))
    questions = [
        [source, target] if both else [source]
        for source, target in zip(sources, targets, strict=True)
    ]
    expected = [model(*(torch.tensor([ids]) for ids in question))[0] for question in questions]
    assert_equal(ask(page, name, "hidden" if name == "encoder" else "logits", questions), expected)


WORDS = [
    "bank",
    "unbanked",
    "a",
    "caf\u00e9",
    "\u9280\u884c",
    "\U0001f3e6",
    "o'clock",
    "river",
    "verylongwordthatiscut",
]


def assert_layers(page, name: str, model: elmo.ELMo, sentences: list[list[str]]) -> None:
    expected = [
        model.layers(*elmo.characters_of([words], model.config.max_characters))[:, 0]
        for words in sentences
    ]
    assert_equal(ask(page, name, "layers", [[words] for words in sentences]), expected)


@pytest.mark.parametrize("name", [name for name in TINY if TINY[name][0] == "elmo"])
@torch.no_grad()
def test_words_are_read_by_their_letters_and_in_two_directions_as_torch_reads_them(page, name):
    assert_layers(
        page, name, tiny(name)[1], [[WORDS[i % len(WORDS)] for i in ids] for ids in texts(8)]
    )


@pytest.mark.parametrize("name", kept("elmo"))
@torch.no_grad()
def test_the_trained_readers_give_what_torch_gives_of_a_sentence(page, name):
    sentences = [
        line.split()
        for line in (
            "we sat on the bank of the river",
            "the bank lends money",
            "bank",
            "caf\u00e9 unbanked zzgrk",
        )
    ]
    assert_layers(page, name, small_models.small_model(name).model, sentences)


@pytest.mark.parametrize("name", ["gpt2", "llama-grouped", "mistral-window", "lstm"])
@torch.no_grad()
def test_a_cache_changes_no_logit_and_reads_only_what_is_new(page, name):
    model, text = tiny(name)[1], texts(3, longest=1)[:12]
    grown = [sum(text[:end], []) for end in range(1, 13)]
    changed = [
        *grown,
        grown[5] + [1, 2],
        grown[2],
        grown[11],
    ]  # typed on, gone back, another end, the same again
    answers = ask(page, name, "next", [[ids] for ids in changed])
    assert_equal(answers, [model(torch.tensor([ids]))[0, -1] for ids in changed])
    assert [answer["read"] for answer in answers] == [1] * 12 + [2, 1, 9]


@torch.no_grad()
def test_attention_weights_come_with_the_logits_where_they_are_asked_for(page):
    looks = ask(page, "llama-grouped", "logits", [[[3, 1, 4, 1, 5], {"looks": True}]])[0]["looks"]
    assert [look["shape"] for look in looks] == [[5, 4, 5], [5, 4, 5]]
    weights = torch.tensor(looks[0]["data"]).reshape(5, 4, 5)
    assert torch.allclose(weights.sum(-1), torch.ones(5, 4), atol=1e-5)
    assert float(weights.permute(1, 0, 2).triu(1).abs().max()) == 0  # (H, T, S): nobody looks ahead


@torch.no_grad()
def test_an_encoder_decoder_writes_what_torch_writes(page):
    model = tiny("seq2seq")[1]
    sources = texts(4)[:20]
    answers = ask(
        page, "seq2seq", "write", [[ids, {"start": 0, "end": 1, "most": 9}] for ids in sources]
    )
    for ids, answer in zip(sources, answers, strict=True):
        tokens, looks = model.write(torch.tensor([ids]), start_id=0, end_id=1, max_tokens=9)
        assert answer["ids"] == tokens[0]
        if tokens[0]:
            found = torch.tensor(answer["looks"], dtype=torch.float32)
            assert torch.allclose(found, looks[0, : len(tokens[0])], atol=1e-3)


@torch.no_grad()
def test_the_transformer_writes_with_a_cache_what_it_writes_anew(page):
    model = tiny("transformer")[1]
    sources = texts(5)[:20]
    answers = ask(
        page, "transformer", "write", [[ids, {"start": 0, "end": 1, "most": 8}] for ids in sources]
    )
    for ids, answer in zip(sources, answers, strict=True):
        target = [0]
        while len(target) < 9:
            best = int(model(torch.tensor([ids]), torch.tensor([target]))[0, -1].argmax())
            if best == 1:
                break
            target.append(best)
        assert answer["ids"] == target[1:]


@pytest.mark.parametrize("name", kept("lora"))
@torch.no_grad()
def test_an_update_of_any_strength_is_merged_as_torch_merges_it(page, name):
    inputs = texts(9, 1000, longest=20)[:20]
    for strength in (1, 0.5, 0):
        model = small_models.small_model(name).model
        for layer in model.modules():
            if isinstance(layer, LoRALinear):
                layer.scale *= strength
        assert ask(page, name, "strength", [[strength]]) == [{"strength": strength}]
        assert_equal(
            ask(page, name, "next", [[ids] for ids in inputs]),
            [model(torch.tensor([ids]))[0, -1] for ids in inputs],
        )


@pytest.mark.parametrize("name", kept("gpt", "unmasked", "ngram", "lstm"))
@torch.no_grad()
def test_a_trained_model_goes_on_from_scripture_as_torch_does(page, name):
    trained = small_models.small_model(name)
    config = trained.card["config"]
    inputs = texts(
        6, config["vocab_size"], longest=min(40, config.get("max_position_embeddings", 40))
    )
    expected = [
        (
            trained.model(torch.tensor([ids]))[0, -1].log_softmax(-1)
            if trained.card["kind"] != "ngram"
            else torch.from_numpy(trained.model.distribution(ids)).log().float()
        )
        for ids in inputs
    ]
    answers = ask(page, name, "next", [[ids] for ids in inputs])
    for answer in answers:
        answer["data"] = torch.tensor(answer["data"]).log_softmax(-1).tolist()
    assert_equal(answers, expected)


@pytest.mark.parametrize("kind", small_models.card("positions_kjv")["config"]["kinds"])
@torch.no_grad()
def test_a_decoder_of_each_kind_of_positions_gives_what_torch_gives_within_and_past_its_training(
    page, kind
):
    model = small_models.small_model("positions_kjv").model[kind]
    inputs = [
        *texts(9, model.config.vocab_size, longest=64)[:20],
        *(
            [id % 512 for id in range(n * 7, n * 7 + length)]
            for n, length in enumerate((65, 130, 300))
        ),
    ]
    expected = [model(torch.tensor([ids]))[0] for ids in inputs]
    answers = ask(page, "positions_kjv", "logits", [[kind, ids, {"looks": True}] for ids in inputs])
    assert_equal(answers, expected)
    looks = torch.tensor(answers[-1]["looks"][0]["data"]).reshape(300, 4, 300).permute(1, 0, 2)
    assert torch.allclose(looks, model.first_weights(torch.tensor([inputs[-1]]))[0], atol=1e-4)


class Held(lstm.LSTMCell):
    """A cell whose keep gates stand at 0.3 and whose show gates stand at 0.9, whatever it reads."""

    def step(self, projected, state):
        shown, cell = state
        to_write, _, content, _ = (projected + self.recurrent(shown)).chunk(4, dim=-1)
        cell = 0.3 * cell + to_write.sigmoid() * content.tanh()
        return 0.9 * cell.tanh(), cell


@torch.no_grad()
def test_a_gate_can_be_held_while_the_others_follow_the_text(page):
    model = tiny("lstm")[1]
    inputs = texts(8)[:20]
    for cells in model.lstm.layers:
        cells[0].__class__ = Held
    questions = [[ids, {"forced": {"keep": 0.3, "show": 0.9}}] for ids in inputs]
    assert_equal(
        ask(page, "lstm", "logits", questions), [model(torch.tensor([ids]))[0] for ids in inputs]
    )


@pytest.mark.parametrize("name", ["ngram_kjv", "lstm_kjv"])
def test_a_text_is_judged_token_by_token_as_python_judges_it(page, name):
    (example,) = readings.judged({"one": name}, ["The bank lends money to the river."])
    tokenizer = small_models.tokenizer(name)
    answers = page.evaluate(
        """async ([name, given, ids]) => (await w2s.models.open(name)).call("judge", given, ids)""",
        [name, tokenizer.encode("\n"), tokenizer.encode(example["text"])],
    )
    for mine, answer in zip(example["judged"]["one"], answers, strict=True):
        assert answer["nats"] == pytest.approx(mine["nats"], abs=1e-3)
        assert [tokenizer.decode([one["id"]]) for one in answer["best"]] == [
            one["text"] for one in mine["best"]
        ]


@pytest.mark.parametrize("name", kept("bert"))
@torch.no_grad()
def test_a_trained_encoder_fills_blanks_as_torch_does(page, name):
    model = small_models.small_model(name).model
    inputs = texts(7, model.config.vocab_size, longest=12)
    expected = [model(torch.tensor([ids]))[0] for ids in inputs]
    assert_equal(ask(page, name, "logits", [[ids] for ids in inputs]), expected)


@pytest.mark.parametrize("name", kept("seq2seq"))
@torch.no_grad()
def test_a_trained_speller_speaks_as_torch_does(page, name):
    speller = small_models.small_model(name)
    words = [
        "bank",
        "river",
        "money",
        "word",
        "serve",
        "language",
        "model",
        "phoneme",
        "queue",
        "xylophone",
    ]
    answers = page.evaluate(
        """async ([name, words]) => {
        const model = await w2s.models.open(name), said = [];
        for (const word of words) {
            const { ids } = await model.call("write", model.tokenizer.source.ids(word),
                { start: 0, end: 1, most: 32 });
            said.push(ids.map((id) => model.tokenizer.target.token(id)));
        }
        return said;
    }""",
        [name, words],
    )
    symbols = speller.tokenizer
    for word, said in zip(words, answers, strict=True):
        ids = torch.tensor([[symbols["source"].index(letter) for letter in word]])
        written, _ = speller.model.write(ids, start_id=0, end_id=1, max_tokens=32)
        assert said == [symbols["target"][id] for id in written[0]]


@pytest.mark.parametrize("name", kept("transformer"))
@torch.no_grad()
def test_a_trained_transformer_spells_and_looks_in_the_page_as_in_torch(page, name):
    speller, draw = small_models.small_model(name), random.Random(9)
    source, target = speller.tokenizer["source"], speller.tokenizer["target"]
    words = [
        "bank",
        "river",
        *("".join(draw.choices(source[2:], k=draw.randint(1, 12))) for _ in range(INPUTS - 2)),
    ]
    letters = [[*map(source.index, word), 1] for word in words]
    said = [
        row[:-1] if row[-1] == 1 else row
        for row in (
            translate(speller.model, torch.tensor([ids]), max_tokens=32, cache=False)[0]
            for ids in letters
        )
    ]
    answers = ask(
        page, name, "write", [[ids, {"start": 0, "end": 1, "most": 32}] for ids in letters]
    )
    assert [answer["ids"] for answer in answers] == said
    questions = [
        [ids, [0, *written], {"looks": True}] for ids, written in zip(letters, said, strict=True)
    ]
    answers = ask(page, name, "logits", questions)
    assert_equal(
        answers,
        [
            speller.model(torch.tensor([ids]), torch.tensor([given]))[0]
            for ids, given, _ in questions
        ],
    )
    for answer, (example,) in zip(
        answers[:2], (encoders.spelled(name, [word]) for word in words[:2]), strict=True
    ):
        assert example["said"] == [target[id] for id in said[words.index(example["word"])]]
        for found, expected in (
            (answer["reads"], example["reads"]),
            (answer["looks"][::2], example["writes"]),
            (answer["looks"][1::2], example["backs"]),
        ):
            for one, other in zip(found, torch.tensor(expected), strict=True):
                assert torch.allclose(
                    torch.tensor(one["data"]).reshape(one["shape"]), other, atol=1e-3
                )


HARD_TEXTS = [
    "",
    " ",
    "In the beginning",
    "  two  spaces ",
    "it's they'll we'd",
    "a\tb\nc\r\n\n d",
    "caf\u00e9 na\u00efve \u01c4",
    "\u6211\u5728\u94f6\u884c",
    "x\u0301\u0323y",
    "\U0001f3e6 bank\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "3,141.59 \u00bd \u00b2 \u0663",
    "\x00\x1c\x85\ufeff z",
    "A\u00a0B\u3000C",
    "\u0130stanbul STRASSE \u00df",
    "[MASK] [mask] [CLS]",
    "don\u2019t \u201cquote\u201d \u2014 dash",
    "\ud83c half",
    "'S 'Ll",
    "~$^+<=>|`",
    "verylongword" * 12,
]


def test_the_byte_level_tokenizer_cuts_as_pythons(page):
    tokenizer = small_models.tokenizer("gpt_kjv")
    found = page.evaluate(
        """async (texts) => { const { tokenizer } = await w2s.models.open("gpt_kjv");
        return texts.map(
            (text) => [tokenizer.ids(text), tokenizer.decode(tokenizer.ids(text))]); }""",
        HARD_TEXTS,
    )
    for text, (ids, back) in zip(HARD_TEXTS, found, strict=True):
        assert ids == tokenizer.encode(text), repr(text)
        assert back == tokenizer.decode(ids), repr(text)


def test_the_wordpiece_tokenizer_cuts_as_pythons(page):
    tokenizer = load_bert(small_models.FOLDER / "bert_kjv" / "vocab.txt")
    found = page.evaluate(
        """([tokens, texts]) => {
        const tokenizer = w2s.models.lib.tokenizer({ kind: "wordpiece", content: tokens });
        return texts.map((text) => tokenizer.ids(text)); }""",
        [tokenizer.vocabulary.tokens, HARD_TEXTS],
    )
    assert found == [tokenizer.encode(text, add_specials=False).ids for text in HARD_TEXTS]


def test_writing_on_with_a_cache_gives_the_same_tokens_and_reads_each_once(page):
    prompt = small_models.tokenizer("gpt_kjv").encode("And the king said unto")
    greedy = {"most": 30, "temperature": 0}
    with_cache, without = (
        ask(page, "gpt_kjv", "generate", [[prompt, {**greedy, "cache": cache}]])[0]
        for cache in (True, False)
    )
    assert with_cache["ids"] == without["ids"] and len(with_cache["ids"]) == 30
    assert with_cache["read"] == len(prompt) + 29
    assert without["read"] == sum(len(prompt) + n for n in range(30))


def test_a_text_that_is_too_long_and_a_model_that_is_not_there_are_named(page):
    for call, message in (
        (
            "(await w2s.models.open('gpt2')).call('logits', Array(17).fill(1))",
            "17 tokens but 16 positions",
        ),
        ("(await w2s.models.open('gpt2')).call('logits', [41])", "id 41 but a table of 41"),
        ("(await w2s.models.open('gpt2')).call('sing')", "the model has no sing"),
        ("w2s.models.open('absent')", "absent.js could not be loaded"),
    ):
        told = page.evaluate(
            f"async () => {{ try {{ await {call}; }} catch (error) {{ return error.message; }} }}"
        )
        assert message in told


def test_without_a_worker_the_model_answers_in_the_page(browser, page):
    other = open_page(browser, page.url)
    thread, answer = other.evaluate(
        """async () => { window.Worker = function () { throw new DOMException("no"); };
        const model = await w2s.models.open("gpt2");
        const { data } = await model.call("next", [1, 2, 3]);
        return [model.thread, Array.from(data)]; }"""
    )
    other.context.close()
    assert thread == "page"
    assert answer == pytest.approx(ask(page, "gpt2", "next", [[[1, 2, 3]]])[0]["data"], abs=1e-6)
