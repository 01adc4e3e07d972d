"""`course capstone --tiny`: stages, resuming, the export under other libraries, the report card."""

import json
import random
import re
import shutil
from dataclasses import replace

import openai
import pytest
import tokenizers
import torch
import transformers

from autograder.chapters.c17_capstone.run_format import unpack
from autograder.chapters.c17_capstone.run_model import Model
from autograder.chapters.c17_capstone.test_run import the_run
from autograder.checks.protocol import LocalStudent, run_exercise
from autograder.common.course_files import ROOT
from autograder.common.errors import CourseError
from course.capstone import export, pretrain, reinforce, tune
from course.capstone.parts import Parts
from course.capstone.report import evaluate, hand_in, report_card, serving
from course.capstone.settings import CONTEXT, FULL, STAGES, TINY, changed
from course.capstone.stages import Run
from course.capstone.tokenizer import load_text, load_tokenizer
from course.cli import main
from reference_impl.measure.flops import block_flops
from reference_impl.objectives.grpo import group_batch, grpo
from reference_impl.objectives.supervised import answer_example, supervised_batch

TEXTS = (
    "And the king said unto 47+85 = 132.",
    "<|im_start|>user\nHello.<|im_end|>\n",
    "élan  \t 7",
)


def command(folder, *more):
    return main(["capstone", "--tiny", "--reference", "--folder", str(folder), *more])


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A whole tiny run."""
    folder = tmp_path_factory.mktemp("capstone") / "run"
    assert command(folder) == 0
    return Run(folder, 0, TINY, "cpu", Parts())


@pytest.fixture
def copy(finished, tmp_path):
    """A copy of the run, to break."""
    folder = tmp_path / "run"
    shutil.copytree(finished.folder, folder)
    return Run(folder, 0, TINY, "cpu", Parts())


def test_a_second_call_runs_nothing_and_changes_no_file(finished, capsys):
    before = {path: path.stat().st_mtime_ns for path in finished.folder.rglob("*")}
    assert command(finished.folder) == 0
    assert "all was finished" in capsys.readouterr().out
    assert before == {path: path.stat().st_mtime_ns for path in finished.folder.rglob("*")}


def test_another_seed_is_refused_in_the_same_folder_with_the_remedy(finished, capsys):
    assert command(finished.folder, "--seed", "1") == 2
    said = capsys.readouterr().err
    assert "tokenizer/manifest.json" in said and "give another --folder" in said


def test_every_stage_records_seed_fingerprint_versions_and_times(finished):
    for stage in STAGES:
        found = finished.manifest(stage)
        assert found["seed"] == 0 and found["versions"]["torch"] == torch.__version__
        assert found["fingerprint"] == finished.fingerprint(stage)
        assert found["cpu_seconds"] >= 0
    assert not list(finished.folder.rglob("checkpoints"))


@pytest.mark.parametrize(
    ("stage", "where", "after"),
    [
        ("pretrain", (pretrain, "chunk_batch"), 13),
        ("tune", (tune, "tuning_batch"), 13),
        ("reinforce", (reinforce, "chunk_batch"), 3),  # between the two passes of a step
    ],
)
def test_a_stage_that_was_interrupted_ends_with_the_same_bits(
    copy, finished, monkeypatch, stage, where, after
):
    shutil.rmtree(copy.path(stage))
    original, calls = getattr(*where), []

    def interrupted(*arguments, **named):
        calls.append(1)
        if len(calls) > after:
            raise KeyboardInterrupt
        return original(*arguments, **named)

    monkeypatch.setattr(*where, interrupted)
    assert command(copy.folder, "--stage", stage) == 130
    assert copy.manifest(stage) == {} and list(copy.path(stage).rglob("checkpoints/step-*"))
    monkeypatch.undo()
    assert command(copy.folder, "--stage", stage) == 0
    weights = [run.path(stage, "model.safetensors").read_bytes() for run in (copy, finished)]
    assert weights[0] == weights[1]
    assert copy.manifest(stage)["bits_per_byte"] == finished.manifest(stage)["bits_per_byte"]


def test_pre_training_and_tuning_lower_the_loss(finished):
    first = finished.path("pretrain", "training/training.csv").read_text().split("\n")[1]
    assert finished.manifest("pretrain")["last_loss"] < float(first.split(",")[1]) - 0.5
    tuned = finished.path("tune", "training/training.csv").read_text().split("\n")[1]
    assert finished.manifest("tune")["last_loss"] < float(tuned.split(",")[1]) - 0.2


def test_the_flops_counted_are_those_of_the_formula(finished):
    found, sizes = finished.manifest("pretrain"), TINY.pretrain
    block = block_flops(
        CONTEXT,
        sizes.hidden_size,
        sizes.num_heads,
        sizes.intermediate_size,
        num_kv_heads=sizes.num_kv_heads,
        gated=True,
    )
    output = 2 * CONTEXT * sizes.hidden_size * TINY.tokenizer.vocab_size
    forward = sizes.steps * sizes.batch * (sizes.num_layers * block + output)
    # the backward pass is twice the forward one, and of fused attention two and a half times
    assert 3 * forward < found["flops"] < 3.5 * forward


def test_transformers_loads_the_export_and_computes_the_same_logits(finished):
    folder = finished.path("export", "ferryman")
    theirs = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    ours = finished.load_weights("reinforce", pretrain.make_model(finished)).eval()
    ids = torch.randint(320, (2, 40), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        torch.testing.assert_close(theirs(ids).logits, ours(ids), rtol=1e-4, atol=1e-5)


def test_tokenizers_loads_the_export_and_makes_the_same_ids(finished):
    theirs = tokenizers.Tokenizer.from_file(str(finished.path("export", "ferryman/tokenizer.json")))
    ours = load_tokenizer(finished)
    for text in (TEXTS[0], TEXTS[2]):
        assert theirs.encode(text).ids == ours.encode(text) and theirs.decode(ours.encode(text))
    assert theirs.encode(TEXTS[1]).ids[0] == 0  # the special token, not its characters


def test_the_exported_chat_template_lays_out_what_the_model_was_tuned_on(finished):
    theirs = transformers.AutoTokenizer.from_pretrained(finished.path("export", "ferryman"))
    messages = [
        {"role": "user", "content": "Hello."},
        {"role": "assistant", "content": "Well met, traveller."},
        {"role": "user", "content": "47+85"},
    ]
    ids = theirs.apply_chat_template(messages, add_generation_prompt=True)["input_ids"]
    examples = tune.Examples(finished)
    assert ids == examples.prompt("47+85", [("Hello.", "Well met, traveller.")])
    trained = examples.conversation([("Hello.", "Well met, traveller.")]).ids
    assert ids[: len(trained)] == trained


def test_openais_client_gets_the_greedy_answer_that_the_model_itself_gives(finished):
    model = finished.load_weights("tune", pretrain.make_model(finished))
    item = evaluate.tasks.Item("character", "What is your name?", "", "tobin")
    examples = tune.Examples(finished)
    [ids] = evaluate.decode(model.eval(), [examples.prompt(item.question)], 12)
    with serving.serving(finished.path("export", "tuned")) as address:
        client = openai.OpenAI(base_url=address, api_key="none")
        answer = client.chat.completions.create(
            model="tuned",
            messages=[{"role": "user", "content": item.question}],
            temperature=0,
            max_tokens=12,
        )
    assert answer.choices[0].message.content == evaluate.text_of(examples.tokenizer, ids)
    assert answer.usage.prompt_tokens == len(examples.prompt(item.question))


def test_without_replay_the_reinforcement_loss_is_grpos(finished):
    run = finished
    policy, reference = (
        run.load_weights(stage, pretrain.make_model(run)).eval() for stage in ("pretrain", "tune")
    )
    rows = [answer_example([0, 5 + n, 9], [20 + n, 7, 1]) for n in range(4)]
    rewards = torch.tensor([[1.0, 0.0], [0.0, 0.5]])
    batch = group_batch(reference, policy, supervised_batch(rows), rewards)
    chat = supervised_batch(rows[:1])
    joined = tune.prefixed(group=batch, chat=chat, replay=chat)
    settings = run.recipe.reinforce
    found = reinforce.reinforce_objective(run)(policy, joined)
    expected = grpo(policy, batch, settings.clip, settings.beta)
    replay = tune.causal_lm(policy, chat).mean
    assert found.count == expected.count == 4
    torch.testing.assert_close(found.mean, expected.mean + 2 * settings.replay_weight * replay)


def test_shuffled_rewards_keep_their_sum_in_each_group(finished, monkeypatch):
    seen = []
    monkeypatch.setattr(
        reinforce.Sampler,
        "_with_advantages",
        lambda self, batch, rewards: seen.append(rewards) or batch,
    )
    draw = random.Random(0)
    rewards = [float(draw.randrange(3)) for _ in range(8)]
    for shuffled in (False, True):
        given = iter(rewards)
        plan = reinforce.Reinforcement(
            "controls",
            f"try-{shuffled}",
            lambda *_: next(given),
            shuffled,  # noqa: B023
        )
        model = finished.load_weights("tune", pretrain.make_model(finished))
        reinforce.Sampler(finished, model, plan).batch(0)
    assert seen[0].sort(1).values.tolist() == seen[1].sort(1).values.tolist()
    assert seen[0].tolist() != seen[1].tolist()
    for name in ("try-False", "try-True"):
        shutil.rmtree(finished.path("controls", name))


def test_the_report_card_has_every_part_score_answer_control_and_cost(finished):
    card = json.loads(finished.path("report", "report_card.json").read_text())
    assert {row["whose"] for row in card["parts"]} == {"borrowed"}
    for stage in ("pretrain", "tune", "reinforce"):
        assert card["bits_per_byte"][stage]["scripture"] > 0
        for name in ("character", "reversing", "sums", "sums, third turn", "sums, temperature 0.5"):
            one = card["scores"][stage][name]
            assert 0 <= one["low"] <= one["share"] <= one["high"] <= 1 and one["asked"] > 0
        assert all(stage in card["answers"][asked] for asked in report_card.QUESTIONS)
        assert card["costs"][stage]["flops"] > 0
    for control in ("shuffled", "hacked"):
        assert len(card["reinforcement"][control]["rewards"]) == TINY.controls.steps
    assert card["tokens_per_second"]["together"] > 0
    assert card["cannot"]["measured"]["sums of three digits"]["asked"] > 0


def test_the_page_says_that_it_is_tiny_and_escapes_what_a_model_wrote(finished):
    card = json.loads(finished.path("report", "report_card.json").read_text())
    assert "This is the tiny recipe" in finished.path("report", "report_card.html").read_text()
    card["answers"][report_card.QUESTIONS[0]]["tune"] = "<script>alert(1)</script>"
    page = report_card.as_page(card | {"recipe": "full"})
    assert "<script" not in page and "&lt;script&gt;" in page and "tiny recipe" not in page


def test_a_device_that_is_not_there_is_refused_with_what_to_do(tmp_path, capsys):
    assert command(tmp_path, "--device", "abacus") == 2
    assert "give cpu, cuda" in capsys.readouterr().err
    if not torch.cuda.is_available():
        assert command(tmp_path, "--device", "cuda") == 2
        assert "sees no GPU here" in capsys.readouterr().err


def test_the_full_recipe_is_a_llama_of_0_86_million_parameters(tmp_path):
    model = pretrain.make_model(Run(tmp_path, 0, FULL, "cpu", Parts()))
    assert sum(parameter.numel() for parameter in model.parameters()) == 857_216


def test_a_conversation_that_does_not_fit_loses_its_last_exchanges(finished):
    examples = tune.Examples(finished)
    exchanges = [("Hello.", "Well met.")] * 30
    example = examples.fitting(exchanges)
    assert len(example.ids) <= pretrain.model_config(finished).max_position_embeddings
    assert example.ids == examples.conversation(exchanges).ids[: len(example.ids)]


def test_held_out_text_is_not_trained_on_and_is_one_document_in_twenty(finished):
    text = load_text(finished)
    ends = [int((ids == 1).sum()) for ids in (text.train, text.scripture, text.glosses)]
    assert ends[1] == ends[2] == 30 and ends[0] == 1140
    assert export.EXPORTED["reinforce"] == "ferryman"


def test_the_hand_in_writes_the_run_into_the_notebook_and_the_check_reads_it(finished, tmp_path):
    notebook = tmp_path / "17-capstone.ipynb"
    shutil.copy(ROOT / "exercises" / "17-capstone" / "17-capstone.ipynb", notebook)
    before = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    assert command(finished.folder, "--notebook", str(notebook)) == 0
    after = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    assert sum(one != other for one, other in zip(before, after, strict=True)) == 1
    _, cell = hand_in.answer_cell(notebook)
    assert cell["metadata"]["jupyter"] == {"source_hidden": True}
    assert max(map(len, cell["source"])) <= 101
    names: dict = {}
    exec("".join(cell["source"]), names)
    result = run_exercise(the_run, LocalStudent(names))
    earned = {stage.name: stage.earned for stage in result.stages}
    # the pipeline works, and its model has learned nothing
    assert earned == {
        "readable": 1,
        "bits per byte": 0,
        "tasks after tuning": 0,
        "sums after reinforcement": 0,
        "engine": 1.5,
    }


def test_the_handed_in_model_is_the_trained_one_up_to_its_rounding(finished):
    found = unpack(hand_in.run_text(finished))
    model = finished.load_weights("reinforce", pretrain.make_model(finished)).eval()
    ids = torch.arange(40)[None] * 7 % found.config["vocab_size"]
    ours = Model(found.config, found.reinforced).logits(ids)
    with torch.no_grad():
        assert (ours - model(ids)).abs().max() < 0.05 * model(ids).std()
    assert found.prompts[0] == tune.Examples(finished).prompt(found.questions[0])
    assert found.alone == found.together


@pytest.mark.parametrize("name", ["missing.ipynb", "text.ipynb", "other.ipynb"])
def test_a_wrong_notebook_is_refused_before_anything_is_trained(name, tmp_path, capsys):
    (tmp_path / "text.ipynb").write_text("no JSON", encoding="utf-8")
    (tmp_path / "other.ipynb").write_text('{"cells": []}', encoding="utf-8")
    folder = tmp_path / "run"
    assert command(folder, "--notebook", str(tmp_path / name)) == 2
    assert "give your notebook of chapter 17" in capsys.readouterr().err
    assert not folder.exists()


def test_a_changed_setting_is_typed_and_part_of_the_fingerprint(finished):
    other = replace(finished, recipe=changed(TINY, ["tune.replay=0", "tune.replay_weight=2"]))
    assert other.recipe.tune.replay == 0 and other.recipe.tune.replay_weight == 2.0
    assert type(other.recipe.tune.replay_weight) is float
    assert other.fingerprint("pretrain") == finished.fingerprint("pretrain")
    assert other.fingerprint("tune") != finished.fingerprint("tune")
    card = report_card.as_page(
        json.loads(finished.path("report", "report_card.json").read_text())
        | {"changes": list(other.recipe.changes)}
    )
    assert "recipe tiny with tune.replay=0, tune.replay_weight=2" in card


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("tuning.replay=0", "tokenizer, pretrain, tune"),
        ("tune.reply=0", "replay, replay_weight"),
        ("tune.replay=0.5", "give an integer of at least 0"),
        ("tune.replay=-1", "give an integer of at least 0"),
        ("tune.learning_rate=inf", "give a number of at least 0"),
        ("tune.replay", "give an integer"),
    ],
)
def test_a_setting_that_is_not_there_is_refused_with_those_that_are(change, said):
    with pytest.raises(CourseError, match=re.escape(said)):
        changed(FULL, [change])
