"""What is particular to chapter 17's exercises: cards, transformers, counters and the capstone's
own functions as rivals, the real thing.
"""

import json
import math
import re

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from autograder.authoring.catalogue import assignment
from autograder.authoring.implementations import reference
from autograder.checks.protocol import LocalStudent, run_exercise
from course.capstone.export import published_config
from course.capstone.report.evaluate import wilson
from course.capstone.settings import FULL
from course.capstone.tasks import is_held_out, topics
from reference_impl.measure.flops import count_flops, count_parameters
from reference_impl.models import llama

SEVENTEEN = assignment("17")
OURS = reference("17")
NAMES = (
    "vocab_size hidden_size intermediate_size num_layers num_heads num_kv_heads"
    " max_position_embeddings rope_theta rms_norm_eps tie_word_embeddings end_id"
).split()


def test_the_assignment_is_worth_50_points_and_takes_less_than_three_hours():
    assert SEVENTEEN.points == 50
    minutes = [
        int(re.search(r"\*\*Time\*\* (\d+) minutes", cell.source)[1])
        for name, cells in SEVENTEEN.cells.items()
        if name.endswith("-card")
        for cell in cells[:1]
    ]
    assert len(minutes) == 9 and sum(minutes) == 168


def test_the_numbers_worked_out_on_the_cards_are_what_the_reference_gives():
    assert OURS["plan"](10, 4, 5, 2, 2, 1, 3, 2, 7) == {
        "parameters": 276,
        "matrix_flops": 64_512,
        "attention_flops": 9_408,
    }
    found = OURS["predict_loss"]([10.0, 100.0, 1000.0], [5.0, 3.0, 2.0], 1.0, 10_000.0)
    assert found == {"exponent": pytest.approx(math.log10(2)), "loss": pytest.approx(1.5)}
    deep = ["How deep is the river?", "The river - is HOW deep"]
    assert OURS["held_out"]([deep[0], "Do you sing?", deep[1]], 3) == (["Do you sing?"], deep)
    lengths = {"chat": 20, "sums": 40, "replay": 50}
    mix = OURS["training_mix"]({"chat": 3, "sums": 1}, lengths, 430, 30)
    assert mix == {"chat": 10, "sums": 3, "replay": 2}
    card = SEVENTEEN.cells["sum_reward-card"][0].source
    rows = re.findall(r"^\| `(.*?)` \| \*\*(.*?)\*\*", card, re.MULTILINE)
    assert len(rows) == 5
    for answer, reward in rows:
        assert OURS["sum_reward"]("47+85", answer.replace("\\|", "|")) == float(reward)
    assert OURS["wilson_interval"](6, 12, 2.0) == pytest.approx((0.25, 0.75))
    assert OURS["wilson_interval"](0, 12, 2.0) == pytest.approx((0, 0.25))
    hand = dict(zip(NAMES, (10, 4, 5, 1, 2, 1, 16, 10000.0, 1e-5, True, 1), strict=True))
    tensors = OURS["export_config"](hand)["tensors"]
    assert len(tensors) == 11
    assert tensors["model.layers.0.self_attn.k_proj.weight"] == (2, 4)
    assert tensors["model.layers.0.mlp.gate_proj.weight"] == (5, 4)
    assert tensors["model.layers.0.mlp.down_proj.weight"] == (4, 5)
    assert len(OURS["export_config"](hand | {"tie_word_embeddings": False})["tensors"]) == 12


def small(**changes) -> dict:
    """Sizes of a LLaMA that is built in no time."""
    sizes = (23, 12, 20, 2, 6, 2, 64, 20000.0, 1e-4, True, 3)
    return dict(zip(NAMES, sizes, strict=True)) | changes


@pytest.mark.parametrize("tied", [True, False])
def test_transformers_loads_the_export_without_a_missing_or_unused_tensor(tied, tmp_path):
    sizes = small(tie_word_embeddings=tied)
    found = OURS["export_config"](sizes)
    config = LlamaConfig(**json.loads(json.dumps(found["config"])))
    model = LlamaForCausalLM(config)
    theirs = {name: tuple(one.shape) for name, one in model.state_dict().items()}
    if tied:
        theirs.pop("lm_head.weight", None)
    assert found["tensors"] == theirs
    assert (config.num_key_value_heads, config.eos_token_id, config.bos_token_id) == (2, 3, None)
    assert (config.rms_norm_eps, config.max_position_embeddings) == (1e-4, 64)


def test_the_capstones_own_export_has_the_same_config():
    sizes = small(end_id=1)
    own = {name: value for name, value in sizes.items() if name != "end_id"}
    assert OURS["export_config"](sizes)["config"] == published_config(llama.LlamaConfig(**own))


def test_the_plan_counts_what_the_model_has_and_what_a_counter_sees():
    recipe = FULL.pretrain
    sizes = (1024, recipe.hidden_size, recipe.intermediate_size, recipe.num_layers)
    heads = (recipe.num_heads, recipe.num_kv_heads)
    planned = OURS["plan"](*sizes, *heads, 2, 16, 1)
    own = dict(zip(NAMES, (*sizes, *heads, 64), strict=False))
    model = llama.Llama(llama.LlamaConfig(**own, tie_word_embeddings=True))
    assert planned["parameters"] == count_parameters(model) == 857_216
    ids = torch.zeros(2, 16, dtype=torch.int64)
    counted = count_flops(lambda: model(ids).sum().backward())
    assert counted == planned["matrix_flops"] + planned["attention_flops"]


def test_the_interval_is_the_one_of_the_report_card():
    for right, asked in ((0, 0), (0, 7), (7, 7), (3, 7), (261, 300)):
        assert OURS["wilson_interval"](right, asked, 1.96) == pytest.approx(wilson(right, asked))


def test_questions_are_held_out_by_the_hash_of_the_capstone():
    questions = [one for topic in topics() for one in topic.own][:300]
    test = OURS["held_out"](questions, 8)[1]
    keys = [" ".join(sorted(re.findall("[a-z0-9]+", one.lower()))) for one in questions]
    expected = [one for one, key in zip(questions, keys, strict=True) if is_held_out(key)]
    assert test == expected and 0 < len(test) < len(questions)


def test_a_mix_never_exceeds_its_budget_and_leaves_less_than_a_row_of_each_kind_lost():
    weights, lengths = {"a": 3, "b": 2, "c": 7}, {"a": 11, "b": 29, "c": 17, "replay": 23}
    for budget in range(1, 2000, 13):
        rows = OURS["training_mix"](weights, lengths, budget, 30)
        used = sum(count * lengths[kind] for kind, count in rows.items())
        assert used <= budget
        assert budget - used < max(lengths.values())


def test_the_code_in_the_third_hints_runs_and_solves_its_own_problem():
    import hashlib

    names: dict = {"torch": torch, "math": math, "re": re, "hashlib": hashlib}
    for id in SEVENTEEN.exercises:
        for code in re.findall(r"```python\n(.*?)```", SEVENTEEN.hints(id)[2].text, re.DOTALL):
            exec(code, names)
    assert names["week"](2, 3, 10, 7) == {"things": 7, "loaves": 420}
    assert names["later"](84, 52, 10, 20, 20) == pytest.approx(36)
    vans = names["vans"](["Long Lane, 4", "LONG LANE , 9"])
    assert sorted(map(len, vans)) == [0, 2]
    assert names["council"]({"a": 5, "b": 3}, 3) == {"a": 2, "b": 1}
    assert names["has_code"]("time 12: code: 77; buy 88", "77")
    assert not names["has_code"]("time 12: code: 77", "77")
    assert names["bounds"](21, 1, 2) == (18, 22)
    assert len(names["labels"](2, 3, 4, True)) == 5
    assert names["opened"](names["parcel"]([3, 1, 4])) == [3, 1, 4]


def test_the_courses_own_answers_are_refused_in_words():
    exercise = SEVENTEEN.exercise("wilson_interval")

    def by_the_course(right, asked, z):
        from course.capstone.report import evaluate

        return evaluate.wilson(right, asked, z)

    result = run_exercise(exercise, LocalStudent({"wilson_interval": by_the_course}), mistakes=[])
    assert result.earned == 0
    assert any("withheld here" in f"{one.cause} {one.detail}" for one in result.stages)


@pytest.fixture(scope="module")
def real() -> dict:
    """The notebook's last part, with right answers in the place of the student's."""
    names = dict(OURS)
    for cell in ("real-model", "real-questions"):
        exec(SEVENTEEN.cells[cell][0].source, names)
    return names


def test_transformers_computes_the_logits_of_the_exported_model_and_notices_no_wrong_theta(real):
    model, found = real["new_model"](), OURS["export_config"](small() | real["SIZES"])
    difference = real["loaded_difference"]
    assert difference(model, found["config"], found["tensors"]) < 1e-4
    wrong = found["config"] | {"rope_theta": 500000.0}
    assert difference(model, wrong, found["tensors"]) > 0.01


def test_a_split_by_keys_leaks_nothing_and_one_by_typed_text_leaks_all(real):
    questions = [form for topic in topics() for one in topic.own for form in real["typed"](one)]
    for split, expected in ((OURS["held_out"], 0.0), (real["as_typed"], 1.0)):
        train, test = split(questions[:300], 8)
        assert test and real["leaks"](train, test) / len(test) == expected
