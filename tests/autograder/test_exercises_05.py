"""What is particular to chapter 5's exercises: cards, libraries and the reference as rivals, the
real thing.
"""

import re

import pytest
import torch
from torch.testing import assert_close
from transformers import BertConfig as TheirConfig
from transformers import BertForPreTraining as TheirBert

from autograder.authoring.catalogue import assignment
from autograder.authoring.implementations import reference
from autograder.chapters.c05_bert_pretraining import masking_candidates
from autograder.chapters.c05_bert_pretraining.test_size import counted
from autograder.checks.protocol import LocalStudent, rng_for, run_exercise
from reference_impl.corpora import load, path
from reference_impl.objectives.masked_lm import Masking, chosen_terms
from reference_impl.weights.safetensors_files import read_weights

FIVE = assignment("05")
OURS = reference("05")


@pytest.mark.parametrize(
    "student", ["student-0011", "student-0034", *(f"student-{number}" for number in range(12))]
)
def test_the_right_head_earns_all_points_whatever_numbers_are_drawn(student):
    """The first two drew a row whose spread is so small that float32 keeps three digits of it."""
    head = FIVE.exercise("repair_head")
    result = run_exercise(
        head,
        LocalStudent(OURS),
        lambda stage: rng_for(head.id, stage, student, secret=b"sweep"),
        mistakes=[],
    )
    assert [
        (stage.name, stage.status, stage.detail)
        for stage in result.stages
        if stage.status != "passed"
    ] == []


def test_the_assignment_is_worth_fifty_three_points():
    assert FIVE.points == 53


def test_the_numbers_worked_out_on_the_cards_are_what_the_reference_gives():
    assert OURS["pair_input"]([11, 12, 13, 14, 15], [21, 22, 23], 2, 3, 8) == (
        [2, 11, 12, 13, 3, 21, 22, 3],
        [0, 0, 0, 0, 0, 1, 1, 1],
    )
    ids = torch.tensor([[2, *range(11, 21), 3]])
    order = torch.tensor([[0.02, 0.61, 0.05, 0.90, 0.33, 0.47, 0.12, 0.58, 0.81, 0.29, 0.77, 0.44]])
    fate = torch.tensor([[1, 8, 3, 9, 0, 2, 8, 5, 5, 1, 7, 8]])
    new, labels = OURS["mask_tokens"](ids, ids < 5, order, fate, torch.arange(51, 63)[None], 4)
    assert new[0].tolist() == [2, 11, 4, 13, 14, 15, 57, 17, 18, 19, 20, 3]
    assert labels[0].tolist() == [-100, -100, 12, -100, -100, -100, 16, *[-100] * 5]
    shares = torch.tensor([[[1 / 2, 1 / 2], [1 / 8, 7 / 8]]])
    assert f"{OURS['mlm_loss'](shares.log(), torch.tensor([[0, 0]])).item():.3f}" == "1.386"
    assert OURS["sentence_pairs"](
        [["a0", "a1", "a2"], ["b0"], ["c0", "c1"]], [0, 1, 1], [5, 3, 2], [0, 3, 4]
    ) == [("a0", "a1", 0), ("a1", "c1", 1), ("c0", "a1", 1)]
    assert OURS["predict_parameters"](10, 4, 4, 1, 2, 8) == {
        "embeddings": 72,
        "blocks": 172,
        "pooler": 20,
        "masked_head": 38,
        "pair_head": 10,
    }


@pytest.mark.parametrize("free", [1, 3, 10, 30, 50, 70, 110, 190, 350, 390])
def test_the_number_of_chosen_tokens_is_the_references_and_pythons(free):
    generator = torch.Generator().manual_seed(free)
    order, fate = (torch.rand(1, free, generator=generator) for _ in range(2))
    ordinary = torch.arange(5, 1000)
    others = ordinary[torch.randint(len(ordinary), (1, free), generator=generator)]
    ids = torch.arange(free)[None] + 5
    yours = OURS["mask_tokens"](ids, ids < 5, order, (10 * fate).long(), others, 4)
    theirs = Masking(4, 1000, range(5)).mask_tokens(ids, torch.Generator().manual_seed(free))
    assert all(map(torch.equal, yours, theirs))
    assert (
        int((yours[1] != -100).sum())
        == max(1, round(15 * free / 100))
        == max(1, round(0.15 * free))
    )


def test_the_loss_equals_torchs_and_the_references_where_something_is_asked():
    generator = torch.Generator().manual_seed(1)
    logits, labels = (
        torch.randn(3, 7, 11, generator=generator),
        torch.randint(0, 11, (3, 7), generator=generator),
    )
    labels[torch.rand(3, 7, generator=generator) < 0.6] = -100
    found = OURS["mlm_loss"](logits, labels)
    assert_close(found, torch.nn.functional.cross_entropy(logits.transpose(1, 2), labels))
    assert_close(found, chosen_terms(logits, labels).mean)


@pytest.fixture(scope="module")
def theirs():
    torch.manual_seed(5)
    return TheirBert(
        TheirConfig(
            vocab_size=30,
            hidden_size=12,
            num_hidden_layers=3,
            num_attention_heads=3,
            intermediate_size=20,
            max_position_embeddings=16,
            initializer_range=0.5,
        )
    ).eval()


@torch.no_grad()
def test_the_encoder_and_the_head_equal_those_of_the_library(theirs):
    generator = torch.Generator().manual_seed(2)
    ids, segments = (
        torch.randint(0, 30, (3, 9), generator=generator),
        torch.randint(0, 2, (3, 9), generator=generator),
    )
    mask = torch.arange(9) < torch.tensor([[9], [4], [1]])
    weights = dict(theirs.bert.state_dict())
    found = OURS["bert_encode"](weights, ids, segments, mask, 3)
    right = theirs.bert(ids, attention_mask=mask.long(), token_type_ids=segments).last_hidden_state
    assert_close(found[mask], right[mask], rtol=1e-4, atol=1e-5)
    head = theirs.cls.predictions
    parts = {
        "dense.weight": head.transform.dense.weight,
        "dense.bias": head.transform.dense.bias,
        "norm.weight": head.transform.LayerNorm.weight,
        "norm.bias": head.transform.LayerNorm.bias,
        "words": theirs.bert.embeddings.word_embeddings.weight,
        "bias": head.bias,
    }
    assert_close(OURS["masked_head"](right[0], parts), head(right[:1])[0], rtol=1e-4, atol=1e-5)


def test_the_predictions_are_what_the_librarys_model_has(theirs):
    found = OURS["predict_parameters"](30, 16, 12, 3, 3, 20)
    assert found == counted(30, 16, 12, 3, 3, 20) and sum(found.values()) == sum(
        one.numel() for one in theirs.parameters()
    )
    assert sum(OURS["predict_parameters"](30_522, 512, 768, 12, 12, 3072).values()) == 110_106_428


def test_the_line_that_is_named_repairs_the_printed_function():
    printed = re.search(
        r"```python\n(def masked_head.*?)```", FIVE.cells["repair_head-card"][0].source, re.DOTALL
    ).group(1)
    lines = printed.splitlines()
    place = next(
        number
        for number, line in enumerate(lines)
        if line.endswith(f"# line {OURS['wrong_line']()}")
    )
    lines[place] = lines[place].replace("dense,", "active,")
    wrong, repaired, generator = dict(OURS), dict(OURS), torch.Generator().manual_seed(3)
    exec(printed, wrong)
    exec("\n".join(lines), repaired)
    weights = {
        "dense.weight": torch.randn(8, 8, generator=generator),
        "dense.bias": torch.randn(8, generator=generator),
        "norm.weight": torch.ones(8),
        "norm.bias": torch.zeros(8),
        "words": torch.randn(20, 8, generator=generator),
        "bias": torch.randn(20, generator=generator),
    }
    x = torch.randn(4, 8, generator=generator)
    right = OURS["masked_head"](x, weights)
    assert_close(repaired["masked_head"](x, weights), right)
    assert not torch.allclose(wrong["masked_head"](x, weights), right, atol=1e-2)


def test_the_code_in_the_third_hints_runs_and_solves_its_own_problem():
    names: dict = {"torch": torch}
    for id in FIVE.exercises:
        for code in re.findall(r"```python\n(.*?)```", FIVE.hints(id)[2].text, re.DOTALL):
            exec(code, names)
    assert names["staying"](5, 2, 4) == (2, 2)
    assert names["medals"](
        torch.tensor([[9.0, 7, 8]]), torch.tensor([[False, True, False]]), torch.tensor([1])
    ).tolist() == [[False, False, True]]
    assert names["mean_height"](torch.tensor([[2.0, -1], [4, 6]])) == 4
    assert names["presents"]([["Ada"], ["Bo", "Cy"]], [3, 0, 0]) == [
        ("Ada", "Cy"),
        ("Bo", "Ada"),
        ("Cy", "Ada"),
    ]
    assert names["sizes"](10, 4, 3) == {"tables": 80, "layer": 15}
    assert names["price"](100, 20, 0.5) == 120
    names["test_shuffle"](
        lambda deck, seed: [
            deck[place]
            for place in torch.randperm(52, generator=torch.Generator().manual_seed(seed)).tolist()
        ]
    )
    for broken in (
        lambda deck, seed: deck,
        lambda deck, seed: deck[1:] + deck[1:2],
        lambda deck, seed: deck[1:] + deck[:1],
    ):
        with pytest.raises(AssertionError):
            names["test_shuffle"](broken)


def through(name: str, function) -> float:
    """What an answer earns in which `function` does the work."""
    exercise = FIVE.exercise(name)
    result = run_exercise(
        exercise, LocalStudent({**OURS, exercise.function: function}), mistakes=[]
    )
    assert {stage.status for stage in result.stages} == {"wrong"} and all(
        "withheld here" in f"{stage.cause} {stage.detail}" for stage in result.stages
    )
    return result.earned


def test_the_courses_and_the_libraries_answers_are_refused_in_words(theirs):
    assert through("mlm_loss", lambda logits, labels: chosen_terms(logits, labels).mean) == 0
    assert (
        through(
            "mask_tokens",
            lambda ids, *rest: Masking(4, 1000, [0]).mask_tokens(ids, torch.Generator()),
        )
        == 0
    )
    assert (
        through(
            "bert_encode",
            lambda weights, ids, *rest: torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)(
                torch.zeros(1, 2, 4)
            ).detach(),
        )
        == 0
    )
    assert (
        through(
            "bert_encode",
            lambda weights, ids, *rest: theirs.bert(
                ids.clamp(max=1)[:, :16]
            ).last_hidden_state.detach(),
        )
        == 0
    )


def test_the_write_tests_candidates_keep_and_break_what_they_say():
    ids = torch.randint(5, 1000, (200, 100), generator=torch.Generator().manual_seed(4))
    ids[:, 0], ids[:, 81], ids[:, 82:] = 2, 3, 0
    for candidate in masking_candidates.RIGHT:
        OURS["test_masking"](candidate)
    for kind in masking_candidates.WRONG.values():
        for candidate in kind:
            with pytest.raises(AssertionError):
                OURS["test_masking"](candidate)
            assert candidate(ids.clone(), ids < 5, 3)[0].shape == ids.shape


@torch.no_grad()
def test_the_students_encoder_carries_minilm_by_its_published_names():
    names = dict(OURS)
    exec(FIVE.cells["real-encode"][0].source, names)
    texts = [
        ("we sat on the bank of the river", ""),
        ("we sat on the bank of the river", "the bank lends money"),
    ]
    weights = read_weights(path("minilm"))
    assert len(weights) == 104
    for yours, theirs in names["your_vectors"](
        load("minilm").eval(), load("bert_tokenizer"), weights, texts
    ):
        assert_close(yours, theirs, rtol=0, atol=1e-5)


@torch.no_grad()
def test_the_students_encoder_and_head_fill_blanks_as_the_small_bert_does():
    names = dict(OURS)
    for cell in ("real-encode", "real-fill"):
        exec(FIVE.cells[cell][0].source, names)
    small = names["small_model"]("bert_kjv")
    weights = {
        name: tensor.detach() for name, tensor in names["hugging_face_state"](small.model).items()
    }
    ids = torch.tensor(
        [small.tokenizer.encode("and god said let there be [MASK]", add_specials=False).ids]
    )
    assert 4 in ids
    assert_close(
        names["your_guesses"](small.model, weights, ids), small.model(ids), rtol=1e-4, atol=1e-4
    )


def test_the_students_masking_and_loss_train_the_small_bert_batch_by_batch_as_ours_do():
    names = dict(OURS)
    for cell in ("real-encode", "real-train"):
        exec(FIVE.cells[cell][0].source, names)
    tokens = torch.randint(5, 2000, (400,), generator=torch.Generator().manual_seed(6))
    losses, equal, twins = names["side_by_side"](tokens, 3)
    assert equal == 3 and len({yours for yours, _ in losses}) == 3
    assert all(abs(yours - theirs) < 1e-4 for yours, theirs in losses)
    for one, other in zip(*(twin.parameters() for twin in twins)):
        assert_close(one, other, rtol=0, atol=5e-4)
