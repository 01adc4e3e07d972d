"""Whose functions the capstone uses: the student's own where they agree with the reference."""

import random
import sys
from json import loads

import pytest
import torch

from autograder.authoring import package
from autograder.authoring.catalogue import assignment
from autograder.authoring.implementations import own_cells
from course.capstone import export, pretrain, tasks, tokenizer
from course.capstone.parts import PARTS, Parts, find_parts
from course.capstone.reinforce import reward_of, right_number
from course.capstone.settings import TINY
from course.capstone.stages import Run
from reference_impl.corpora.cache import write_json
from reference_impl.objectives.causal_lm import causal_lm
from reference_impl.tokenizers.byte_level import train_byte_level_bpe
from reference_impl.tokenizers.pretokenizers import GPT2_SINGLE_DIGITS


@pytest.fixture
def own_package(tmp_path, request, monkeypatch):
    """A folder like mywork/word2serve_me, under a name of its own, and a way to fill it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    folder = tmp_path / f"own_{abs(hash(request.node.name))}"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    yield folder
    for name in [name for name in sys.modules if name.startswith(folder.name)]:
        del sys.modules[name]


def put(folder, number, names, borrowed=False, change=("", "")):
    """Write a chapter's module as `course package` does, from the model answers."""
    one = assignment(number)
    source = package.module_source(one, own_cells(one.notebook.cells), names, borrowed)
    assert change[0] in source
    path = folder / f"{package.module_name(one)}.py"
    path.write_text(source.replace(*change) if change[0] else source)


def names_of(number):
    return [part.function for part in PARTS if part.chapter == number]


def all_own(folder):
    for number in {part.chapter for part in PARTS}:
        put(folder, number, names_of(number))
    return find_parts(folder)


def test_without_a_package_every_part_is_borrowed_and_the_card_says_how_to_change_that(tmp_path):
    rows = find_parts(tmp_path / "nothing").rows()
    assert {row["whose"] for row in rows} == {"borrowed"} and len(rows) == len(PARTS)
    assert all(f"course package {row['chapter']}" in row["reason"] for row in rows)


def test_every_model_answer_of_the_exercises_is_taken_as_own(own_package):
    rows = all_own(own_package).rows()
    assert [row["whose"] for row in rows] == ["own"] * len(PARTS), rows


def test_a_borrowed_chapter_counts_as_borrowed_though_its_functions_are_right(own_package):
    put(own_package, "12", names_of("12"), borrowed=True)
    found = find_parts(own_package)
    assert found.own("rms_norm") is None and "is borrowed" in found.reasons["rms_norm"]


def test_a_function_that_differs_is_not_used_and_its_neighbours_are(own_package):
    put(
        own_package, "12", names_of("12"), change=(".mean(-1, keepdim=True) + eps", ".mean() + eps")
    )
    found = find_parts(own_package)
    assert found.own("rms_norm") is None and "differs" in found.reasons["rms_norm"]
    assert found.own("swiglu") is not None and found.own("grouped_attention") is not None


@pytest.mark.parametrize(
    ("number", "name", "change"),
    [
        ("02", "train_bpe", ("-pairs[pair], pair", "pairs[pair], pair")),
        ("08", "next_token_loss", ("ids[:, 1:]", "ids[:, :-1]")),
        ("12", "grouped_attention", ("rows @ k.transpose(2, 3) / D**0.5", "rows @ k.mT / D")),
        (
            "10",
            "chat_example",
            ('*encode(message["content"]), end]', '*encode(message["content"])]'),
        ),
        ("10", "group_advantages", ("centred / spread", "centred")),
        ("10", "k3", ("difference.exp() - difference - 1", "difference.exp() - 1")),
    ],
)
def test_usual_mistakes_are_seen_on_the_example(own_package, number, name, change):
    put(own_package, number, [name], change=change)
    found = find_parts(own_package)
    assert found.own(name) is None
    assert "differs" in found.reasons[name] or "raised" in found.reasons[name]


def test_a_module_that_raises_is_borrowed_and_the_error_is_named(own_package):
    (own_package / "c12_llama.py").write_text("raise KeyError('oops')")
    assert "KeyError: 'oops'" in find_parts(own_package).reasons["swiglu"]


def run_of(folder, parts=None):
    return Run(folder, 0, TINY, "cpu", parts or Parts())


def test_a_model_of_own_layers_computes_what_the_reference_does(own_package, tmp_path):
    own, reference = (
        pretrain.make_model(run_of(tmp_path, parts)) for parts in (all_own(own_package), None)
    )
    ids = torch.randint(300, (2, 20), generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(own(ids), reference(ids), rtol=1e-4, atol=1e-5)
    batch = {"ids": ids, "labels": ids}
    losses = [
        pretrain.chunk_objective(run_of(tmp_path, parts))(reference, batch)
        for parts in (find_parts(own_package), None)
    ]
    assert losses[0].count == losses[1].count
    torch.testing.assert_close(losses[0].mean, causal_lm(reference, batch).mean)


def test_own_layers_are_called_and_learn(own_package, tmp_path):
    model = pretrain.make_model(run_of(tmp_path, all_own(own_package)))
    ids = torch.arange(12)[None]
    causal_lm(model, {"ids": ids, "labels": ids}).mean.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
    assert model.norm.forward.args[1].__module__.endswith("c12_llama")


def test_own_merges_make_the_same_tokenizer_where_no_counts_are_equal(own_package, tmp_path):
    texts = ["low low low low lower lower newest newest newest newest newest newest widest 12"]
    own = tokenizer.train_tokenizer(run_of(tmp_path, all_own(own_package)), texts)
    size = TINY.tokenizer.vocab_size
    reference = train_byte_level_bpe(texts, size, tokenizer.SPECIALS, pattern=GPT2_SINGLE_DIGITS)
    assert own.decode(own.encode("the lowest, 47+85")) == "the lowest, 47+85"
    assert own.vocabulary.tokens[:258] == reference.vocabulary.tokens[:258]
    assert own.encode(" newest low") and len(own.encode(texts[0])) == len(
        reference.encode(texts[0])
    )


def test_a_changed_function_changes_the_fingerprints_from_its_stage_on(own_package, tmp_path):
    put(own_package, "10", names_of("10"))
    with_own, without = run_of(tmp_path, find_parts(own_package)), run_of(tmp_path)
    same = {
        stage: with_own.fingerprint(stage) == without.fingerprint(stage)
        for stage in ("tokenizer", "pretrain", "tune", "reinforce", "report")
    }
    assert same == {
        "tokenizer": True,
        "pretrain": True,
        "tune": False,
        "reinforce": False,
        "report": False,
    }


def test_an_own_reward_pays_what_the_pipelines_reward_pays(own_package, tmp_path):
    put(own_package, "17", names_of("17"))
    own, item = reward_of(run_of(tmp_path, find_parts(own_package))), tasks.sums(random.Random(3))
    right = item.answer.split(" ")[-1]
    assert own is not right_number and reward_of(run_of(tmp_path)) is right_number
    for said in (item.answer, right, f"{right} or 7", f"I say {right}", f"{right}.", "7", ""):
        for tokens in (0, 5):
            assert own(item, said, tokens) == right_number(item, said, tokens), (said, tokens)


def test_a_careless_reward_is_not_taken(own_package):
    put(own_package, "17", names_of("17"), change=("words[-1] == str", "str(a + b) in said or str"))
    assert "differs from the reference" in find_parts(own_package).reasons["sum_reward"]


def test_an_own_export_writes_the_same_folder(own_package, tmp_path):
    put(own_package, "17", names_of("17"))
    reference = run_of(tmp_path / "run")
    texts = ["low lower newest widest 12"] * 9
    merged = tokenizer.train_tokenizer(reference, texts)
    write_json(
        reference.path("tokenizer", "bpe.json"),
        {"tokens": list(merged.vocabulary.tokens), "merges": list(merged.merges)},
    )
    reference.save_weights("tune", pretrain.make_model(reference))
    for name, parts in (("own", find_parts(own_package)), ("reference", Parts())):
        export.export_model(run_of(tmp_path / "run", parts), "tune", tmp_path / name)
    files = sorted(path.name for path in (tmp_path / "reference").iterdir())
    assert files == sorted(path.name for path in (tmp_path / "own").iterdir())
    for file in files:
        one, other = ((tmp_path / name / file).read_bytes() for name in ("own", "reference"))
        same = (
            one == other if file.endswith(("safetensors", "jinja")) else loads(one) == loads(other)
        )
        assert same, file
