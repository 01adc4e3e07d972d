"""What is particular to chapter 7's exercises: cards, libraries and the papers' examples as rivals,
the real thing.
"""

import re

import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, kl_div
from torch.testing import assert_close
from torch.utils.flop_counter import FlopCounterMode
from transformers import AlbertConfig, AlbertModel
from transformers.models.longformer.configuration_longformer import LongformerConfig
from transformers.models.longformer.modeling_longformer import LongformerSelfAttention

from autograder.authoring.catalogue import assignment
from autograder.authoring.implementations import reference
from autograder.chapters.c07_after_bert import span_candidates
from autograder.chapters.c07_after_bert.test_smaller import counted
from autograder.chapters.c07_after_bert.test_windows import attended, drawn, near_only
from autograder.checks.protocol import LocalStudent, run_exercise
from reference_impl.objectives.distillation import soft_terms
from reference_impl.objectives.permutation import visible
from reference_impl.objectives.replaced_token import sample
from reference_impl.objectives.span_corruption import SpanCorruption

SEVEN = assignment("07")
OURS = reference("07")


def test_the_assignment_is_worth_fifty_four_points():
    assert SEVEN.points == 54


def test_the_numbers_worked_out_on_the_cards_are_what_the_reference_gives():
    assert OURS["asked_share"](0.5, 2, 3) == 0.75
    assert (
        f"{OURS['asked_share'](0.15, 10, 40):.3f} {OURS['asked_share'](0.15, 40, 40):.4f}"
        == "0.803 0.9985"
    )
    assert OURS["albert_sizes"](10, 2, 8, 3, 16) == {
        "embedding": 44,
        "block": 600,
        "products": 1552,
    }
    one = 2 * torch.tensor(2.0).log()
    assert_close(
        OURS["soft_loss"](torch.tensor([[0, one, 0]]), torch.tensor([[one, 0, 0]]), 2.0),
        torch.tensor(2.0).log(),
    )
    probs = torch.tensor([[[0.2] * 5, [0, 0.5, 0, 0, 0.5], [0.2] * 5, [0, 0, 0, 0.5, 0.5]]])
    filled, replaced = OURS["replace"](
        torch.tensor([[0, 9, 2, 9]]),
        torch.tensor([[-100, 1, -100, 3]]),
        probs,
        torch.tensor([[0.3, 0.75, 0.9, 0.25]]),
    )
    assert filled.tolist() == [[0, 4, 2, 3]] and replaced.tolist() == [[False, True, False, False]]
    gen, mask = (
        torch.tensor([[1 / 2, 1 / 2], [1 / 8, 7 / 8]]).log(),
        torch.ones(1, 4, dtype=torch.bool),
    )
    assert (
        f"{OURS['electra_loss'](gen, torch.tensor([0, 0]), torch.zeros(1, 4), ~mask, mask, 50.0).item():.2f}"  # noqa: E501
        == "36.04"
    )
    lost = [place in (2, 3, 8) for place in range(10)]
    assert OURS["corrupt"](list(range(11, 21)), lost, 99, 1) == (
        [11, 12, 99, 15, 16, 17, 18, 98, 20, 1],
        [99, 13, 14, 98, 19, 1],
    )
    assert OURS["who_sees"](torch.tensor([2, 0, 3, 1])).int().tolist() == [
        [0, 0, 1, 0],
        [1, 0, 1, 1],
        [0, 0, 0, 0],
        [1, 0, 1, 0],
    ]
    q, v = torch.zeros(1, 5, 1), 3.0 * torch.arange(5)[None, :, None]
    assert_close(
        OURS["window_attention"](q, q, v, 1, torch.arange(5) == 4).flatten(),
        torch.tensor([5, 5.25, 7.5, 9, 6]),
    )


def test_the_sizes_are_those_of_the_librarys_albert_and_of_its_products():
    model = AlbertModel(
        AlbertConfig(
            vocab_size=50,
            embedding_size=6,
            hidden_size=12,
            num_hidden_layers=3,
            num_attention_heads=3,
            intermediate_size=20,
            max_position_embeddings=8,
        ),
        add_pooling_layer=False,
    ).eval()
    found = OURS["albert_sizes"](50, 6, 12, 3, 20)
    assert found == counted(50, 6, 12, 3, 20)
    assert found["embedding"] == sum(
        one.numel()
        for one in (
            model.embeddings.word_embeddings.weight,
            *model.encoder.embedding_hidden_mapping_in.parameters(),
        )
    )
    assert found["block"] == sum(
        one.numel() for one in model.encoder.albert_layer_groups.parameters()
    )
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(torch.tensor([[7]]))
    matrices = sum(
        flops
        for operator, flops in counter.get_flop_counts()["Global"].items()
        if "addmm" in str(operator) or str(operator).endswith("mm")
    )
    assert found["products"] == matrices / 2
    base = OURS["albert_sizes"](30_000, 128, 768, 12, 3072)
    assert (
        base["embedding"] + base["block"] + (512 + 2) * 128 + 2 * 128 + 768 * 769 == 11_683_584
    )  # with places, segments, norm and pooler: the paper's 12M


@pytest.mark.parametrize("T", [0.5, 1.0, 2.0, 10.0])
def test_the_soft_loss_equals_torchs_and_the_references(T):
    generator = torch.Generator().manual_seed(1)
    student, teacher = 3 * torch.randn(2, 5, 11, generator=generator)
    right = (
        T
        * T
        * kl_div(
            (student / T).log_softmax(1),
            (teacher / T).log_softmax(1),
            reduction="batchmean",
            log_target=True,
        )
    )
    assert_close(OURS["soft_loss"](student, teacher, T), right, rtol=1e-4, atol=1e-5)
    assert_close(
        OURS["soft_loss"](student, teacher, T),
        soft_terms(student, teacher, T).mean,
        rtol=1e-4,
        atol=1e-5,
    )


def test_the_guesses_are_those_of_the_reference_and_the_joint_loss_is_torchs():
    generator = torch.Generator().manual_seed(2)
    logits, ids = (
        torch.randn(4, 9, 30, generator=generator),
        torch.randint(30, (4, 9), generator=generator),
    )
    labels, chances = (
        torch.where(torch.rand(4, 9, generator=generator) < 0.4, ids, -100),
        torch.rand(4, 9, generator=generator),
    )
    filled, replaced = OURS["replace"](ids, labels, logits.softmax(2), chances)
    right = ids.masked_scatter(
        labels != -100, sample(logits[labels != -100], chances[labels != -100])
    )
    assert torch.equal(filled, right) and torch.equal(replaced, right != ids)
    gen, truth, disc, mask = (
        logits[0],
        ids[0],
        logits[:, :, 0],
        torch.rand(4, 9, generator=generator) < 0.7,
    )
    loss = cross_entropy(gen, truth) + 50 * binary_cross_entropy_with_logits(
        disc[mask], replaced[mask].float()
    )
    assert_close(OURS["electra_loss"](gen, truth, disc, replaced, mask, 50.0), loss)


def test_the_papers_example_of_span_corruption_and_the_references_own_draws():
    words = "Thank you for inviting me to your party last week".split()
    names = [*words, "</s>", *(f"<{letter}>" for letter in "ZYX")]
    source, target = OURS["corrupt"](
        list(range(10)), [word in ("for", "inviting", "last") for word in words], 13, 10
    )
    assert " ".join(names[id] for id in source) == "Thank you <X> me to your party <Y> week </s>"
    assert (
        " ".join(names[id] for id in target) == "<X> for inviting <Y> last </s>"
    )  # figure 2, without its closing <Z>
    corruption = SpanCorruption(vocab_size=1100, end_id=1)
    for seed in range(5):
        ids = list(range(2, 120))
        lost = corruption.lost(len(ids), torch.Generator().manual_seed(seed)).tolist()
        theirs = corruption.corrupt(ids, torch.Generator().manual_seed(seed))
        assert OURS["corrupt"](ids, lost, 1099, 1) == tuple(row + [1] for row in theirs)
        assert corruption.restore(*theirs) == ids


def test_the_table_of_an_order_is_the_references():
    for seed in range(4):
        order = torch.randperm(9, generator=torch.Generator().manual_seed(seed))
        theirs = visible(order.argsort()[None], torch.ones(1, 9, dtype=torch.bool))[0]
        assert torch.equal(OURS["who_sees"](order), theirs)


@torch.no_grad()
def test_the_window_is_the_librarys_longformer():
    """Its global projections are made those of the window; padding is none, and its width is even
    on both sides.
    """
    torch.manual_seed(7)
    side, T, heads = 4, 24, 2
    theirs = LongformerSelfAttention(
        LongformerConfig(
            hidden_size=12,
            num_attention_heads=heads,
            attention_window=[2 * side],
            attention_probs_dropout_prob=0.0,
        ),
        layer_id=0,
    ).eval()
    for kind in ("query", "key", "value"):
        getattr(theirs, f"{kind}_global").load_state_dict(getattr(theirs, kind).state_dict())
    x = torch.randn(1, T, 12)
    q, k, v = (
        getattr(theirs, kind)(x)[0].unflatten(1, (heads, -1)).transpose(0, 1)
        for kind in ("query", "key", "value")
    )
    for chosen in ((), (0,), (3, 11)):
        is_global = torch.zeros(1, T, dtype=torch.bool)
        is_global[0, list(chosen)] = True
        right = theirs(
            x,
            attention_mask=torch.where(is_global, 10_000.0, 0.0),
            is_index_masked=torch.zeros(1, T, dtype=torch.bool),
            is_index_global_attn=is_global,
            is_global_attn=bool(chosen),
        )[0]
        assert_close(
            OURS["window_attention"](q, k, v, side, is_global[0]).transpose(0, 1).flatten(1)[None],
            right,
            rtol=1e-4,
            atol=1e-5,
        )


def test_both_ways_in_which_the_checks_work_a_window_out_agree():
    case = drawn(torch.Generator().manual_seed(3), 2, 50, 3, 4, (0, 20))
    assert_close(near_only(*case)[:, ~case[4]], attended(*case)[:, ~case[4]])


def test_the_code_in_the_third_hints_runs_and_solves_its_own_problem():
    names: dict = {"torch": torch}
    for id in SEVEN.exercises:
        for code in re.findall(r"```python\n(.*?)```", SEVEN.hints(id)[2].text, re.DOTALL):
            exec(code, names)
    assert f"{names['some_six'](1):.3f} {names['some_six'](4):.3f}" == "0.167 0.518"
    assert names["stamp"](5, 40) == {"letters owned": 5, "letters printed": 200}
    assert_close(
        names["entropies"](torch.tensor([[0.0, 0.0], [0.0, -1000.0]])),
        torch.tensor([2.0, 1.0]).log(),
    )
    assert names["stops_at"](torch.tensor([[2, 0, 3, 4]]), torch.tensor([4])).tolist() == [2]
    assert (
        names["score"](
            torch.tensor([4.0, 5.0]),
            torch.tensor([True, False, True]),
            torch.tensor([False, False, True]),
        )
        == 6
    )
    assert names["diary"]([True, True, False, True]) == [["rain", 2], ["dry", 2], ["rain", 1]]
    assert names["beaten"](torch.tensor([1, 0])).tolist() == [[False, False], [True, False]]
    assert names["smoothed"](torch.tensor([0.0, 3.0, 6.0]), 1).tolist() == [1.5, 3, 4.5]

    def sorting(words):
        places = sorted(range(len(words)), key=words.__getitem__)
        return [words[place] for place in places], places

    names["test_sorting"](sorting)
    for broken in (
        lambda words: (words, [0, 1, 2, 3]),
        lambda words: (sorting(words)[0], [0, 1, 2, 3]),
    ):
        with pytest.raises(AssertionError):
            names["test_sorting"](broken)


def test_the_write_tests_candidates_keep_and_break_what_they_say():
    for candidate in span_candidates.RIGHT:
        OURS["test_corrupt"](candidate)
    for kind in span_candidates.WRONG.values():
        for candidate in kind:
            with pytest.raises(AssertionError):
                OURS["test_corrupt"](candidate)
    names = {
        token
        for source, target in [span_candidates.RIGHT[0](list(range(2, 202)), 5)]
        for token in source + target
    }
    assert max(names) == span_candidates.TOP and {*range(2, 202)} <= names


def through(name: str, function) -> float:
    """What an answer earns in which `function` does the work."""
    exercise = SEVEN.exercise(name)
    result = run_exercise(
        exercise, LocalStudent({**OURS, exercise.function: function}), mistakes=[]
    )
    assert {stage.status for stage in result.stages} == {"wrong"} and all(
        "withheld here" in f"{stage.cause} {stage.detail}" for stage in result.stages
    )
    return result.earned


def test_the_courses_answers_and_ready_attention_are_refused_in_words():
    assert (
        through("soft_loss", lambda student, teacher, T: soft_terms(student, teacher, T).mean) == 0
    )
    assert (
        through(
            "who_sees",
            lambda order: visible(
                order.argsort()[None], torch.ones(1, len(order), dtype=torch.bool)
            )[0],
        )
        == 0
    )
    assert (
        through(
            "window_attention",
            lambda q, k, v, side, is_global: torch.nn.functional.scaled_dot_product_attention(
                q, k, v
            ),
        )
        == 0
    )


@torch.no_grad()
def test_the_students_window_carries_minilm_and_is_the_whole_attention_where_it_is_wide():
    from reference_impl.corpora import load

    names = dict(OURS)
    exec(SEVEN.cells["real-window"][0].source, names)
    minilm, ids = (
        load("minilm").eval(),
        torch.randint(1000, 20_000, (1, 60), generator=torch.Generator().manual_seed(4)),
    )
    whole = names["text_vector"](minilm, ids)
    assert_close(names["text_vector"](minilm, ids, 59), whole, rtol=0, atol=1e-5)
    assert_close(
        names["text_vector"](minilm, ids, 0, True), minilm_with_mask(minilm, ids), rtol=0, atol=1e-5
    )
    assert torch.equal(
        names["text_vector"](minilm, ids), whole
    )  # the model has its own attention again


def minilm_with_mask(model, ids) -> torch.Tensor:
    """The mean vector, where each token sees itself and the first, and the first sees all: by the
    model's own attention and a mask.
    """
    T = ids.shape[1]
    seen = torch.eye(T, dtype=torch.bool)
    seen[0] = seen[:, 0] = True
    x = model.embeddings(ids, torch.zeros_like(ids))
    for block in model.blocks:
        x = block.add(x, block.attention(x, mask=seen[None, None]))
    return x[0].mean(0)


def test_the_last_parts_run_and_the_guesses_are_the_courses_own():
    names = dict(OURS)
    for cell in ("real-window", "real-replace", "real-teach"):
        exec(SEVEN.cells[cell][0].source, names)
    generator = torch.Generator().manual_seed(5)
    exam = names["examined"](torch.randint(5, 2000, (8, 32), generator=generator).tolist(), 3)
    assert torch.equal(exam["filled"], exam["theirs"]) and torch.equal(
        exam["replaced"], exam["theirs"] != exam["ids"]
    )
    assert (
        names["found_by"](torch.tensor([3.0, 1.0, 2.0]), torch.tensor([True, False, True])) == 1.0
    )
    found = names["taught"](
        torch.randint(5, 2000, (300,), generator=generator),
        torch.randint(5, 2000, (300,), generator=generator),
        2,
    )
    assert len(found) == 4 and len(set(found.values())) == 4
