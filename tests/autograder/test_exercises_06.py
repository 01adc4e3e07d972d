"""What is particular to chapter 6's exercises: cards, libraries and the reference as rivals, the
real thing.
"""

import json
import random
import re

import numpy as np
import pytest
import torch
from sklearn.metrics import matthews_corrcoef, ndcg_score
from torch.testing import assert_close
from transformers import get_linear_schedule_with_warmup

from autograder.authoring.catalogue import ROOT, assignment
from autograder.authoring.implementations import namespace_of, reference
from autograder.checks.protocol import LocalStudent, run_exercise
from autograder.checks.student.local import OurNamespace
from reference_impl.corpora import load
from reference_impl.measure.answers import best_spans, exact_match, token_f1
from reference_impl.measure.metrics import scores
from reference_impl.measure.retrieval import ndcg_at
from reference_impl.measure.spans import entities, entity_scores
from reference_impl.models import late_interaction
from reference_impl.models.bert import Bert, BertConfig
from reference_impl.models.bert_tasks import BertForSequenceClassification
from reference_impl.models.pooling import pool
from reference_impl.objectives import task_losses
from reference_impl.training.fine_tuning import FineTuningConfig, fine_tuning_groups, layer_of

SIX = assignment("06")
OURS = reference("06")
TAGS = ["O", "O", "B-PER", "I-PER", "B-LOC", "I-LOC", "I-ORG"]


def test_the_assignment_is_worth_fifty_five_points():
    assert SIX.points == 55


def test_the_numbers_worked_out_on_the_cards_are_what_the_reference_gives():
    x, mask = (
        torch.tensor([[[2.0, 0.0], [4.0, 6.0], [9.0, 9.0]]]),
        torch.tensor([[True, True, False]]),
    )
    assert OURS["mean_pool"](x, mask).tolist() == [[3, 3]] and x.mean(1).tolist() == [[5, 5]]
    q, d = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]), torch.tensor([[[2.0, 0.0], [0.6, 0.8]]])
    everything = torch.ones(1, 2, dtype=torch.bool)
    assert OURS["maxsim"](q, everything, d, everything).item() == pytest.approx(1.8)
    assert OURS["sure_labels"](torch.tensor([[0.0, np.log(3)], [0.0, 0.0]]), 0.7) == [1, -1]
    assert [OURS["rates"](step, 40, 4, 1.0, 1, 1.0)[-1] for step in (0, 1, 2, 4, 22, 40)] == [
        0,
        0.25,
        0.5,
        1,
        0.5,
        0,
    ]
    assert OURS["rates"](4, 40, 4, 1.0, 3, 0.5) == [0.125, 0.25, 0.5, 1, 1]
    assert (
        OURS["matthews"](6, 2, 2, 0) == -0.25
        and OURS["matthews"](6, 2, 2, 6) == 0.5
        and scores(6, 8, 8).f1 == 0.75
    )
    assert OURS["align_tags"]([None, 0, 0, 1, 1, 2, None], [1, 2, 0]) == [
        -100,
        1,
        -100,
        2,
        -100,
        0,
        -100,
    ]
    assert OURS["entities"](["I-PER", "I-PER", "I-LOC", "B-LOC", "O"]) == [
        ("PER", 0, 2),
        ("LOC", 2, 3),
        ("LOC", 3, 4),
    ]
    assert OURS["entities"](["B-ORG-GOV"]) == [("ORG-GOV", 0, 1)]
    true = ["O", "O", "B-ORG", "I-ORG"] + ["O"] * 6 + ["B-PER", "I-PER", "I-PER"] + ["O"] * 7
    said = [*true[:12], "O", *true[13:]]
    assert len(true) == 20 and sum(map(str.__eq__, said, true)) == 19 and true.count("O") == 15
    assert OURS["entity_f1"]([said], [true]) == {"precision": 0.5, "recall": 0.5, "f1": 0.5}
    start, end, allowed = (
        torch.tensor([1.0, 2, 6, 3, 1]),
        torch.tensor([0.0, 5, 1, 4, 2]),
        torch.ones(5, dtype=torch.bool),
    )
    assert OURS["best_span"](start, end, allowed, 5) == (2, 3) and OURS["best_span"](
        start, end, allowed, 1
    ) == (1, 1)
    assert (int(start.argmax()), int(end.argmax())) == (2, 1) and (start + end)[1:4].tolist() == [
        7,
        7,
        7,
    ]
    assert OURS["squad_scores"]("the river bank of Bern", ["a bank of the river Aare"]) == (0, 0.75)
    assert (
        f"{OURS['ndcg_at'](['a', 'b', 'c', 'd'], {'a': 1, 'c': 1}, 10):.3f}" == "0.920"
        and OURS["ndcg_at"](["a", "b", "c"], {"c": 1}, 10) == 0.5
    )


def test_the_printed_code_of_a_statement_runs_as_it_stands():
    for id in SIX.exercises:
        card = SIX.cells[f"{id.split('.')[1]}-card"][0].source.split("<details>")[0]
        for code in re.findall(r"```python\n(.*?)```", card, re.DOTALL):
            exec(code, dict(OURS))


def test_pooling_spans_and_answers_equal_the_references():
    generator = torch.Generator().manual_seed(1)
    for _ in range(30):
        x, mask = (
            torch.randn(3, 7, 4, generator=generator),
            torch.rand(3, 7, generator=generator) < 0.5,
        )
        assert_close(OURS["mean_pool"](x, mask), pool(x, mask))
        start, end = (64 * torch.randn(2, 9, generator=generator)).round() / 64
        allowed = torch.rand(9, generator=generator) < 0.7
        allowed[4] = True
        found = best_spans(start, end, allowed, 4)[0]
        i, j = OURS["best_span"](start, end, allowed, 4)
        assert (
            float(start[i] + end[j]) == found.score and allowed[i] and allowed[j] and 0 <= j - i < 4
        )
    chance, words = random.Random(2), "the a an bank river Bern's well-known theatre . THE".split()
    for _ in range(200):
        answer, *truths = (
            " ".join(chance.choices(words, k=chance.randint(0, 6))) for _ in range(4)
        )
        assert OURS["squad_scores"](answer, truths) == pytest.approx(
            (exact_match(answer, truths), token_f1(answer, truths))
        )


def test_entities_equal_the_references_which_are_held_against_seqeval():
    chance = random.Random(3)
    for _ in range(200):
        true = [chance.choices(TAGS, k=chance.randint(1, 9)) for _ in range(4)]
        said = [
            [tag if chance.random() < 0.7 else chance.choice(TAGS) for tag in row] for row in true
        ]
        assert [OURS["entities"](row) for row in said] == [
            [tuple(one) for one in entities(row)] for row in said
        ]
        precision, recall, f1 = entity_scores(said, true).overall
        assert OURS["entity_f1"](said, true) == pytest.approx(
            {"precision": precision, "recall": recall, "f1": f1}
        )


def test_matthews_is_scikit_learns():
    chance = np.random.default_rng(4)
    for _ in range(50):
        tp, fp, fn, tn = chance.integers(0, 9, 4).tolist()
        said, true = [1] * (tp + fp) + [0] * (fn + tn), [1] * tp + [0] * fp + [1] * fn + [0] * tn
        if said:
            assert OURS["matthews"](tp, fp, fn, tn) == pytest.approx(matthews_corrcoef(true, said))


def test_ndcg_is_scikit_learns_and_the_references():
    chance = np.random.default_rng(5)
    for _ in range(50):
        number = int(chance.integers(2, 12))
        grades, k = chance.integers(0, 4, number), int(chance.integers(1, 14))
        grades[0] = 1
        order, names = chance.permutation(number), [f"d{one}" for one in range(number)]
        ranking, graded = [names[one] for one in order], dict(zip(names, grades.tolist()))
        found = OURS["ndcg_at"](ranking, graded, k)
        assert (
            found
            == pytest.approx(ndcg_score([grades[order]], [np.arange(number)[::-1]], k=k))
            == pytest.approx(ndcg_at(ranking, graded, k))
        )


@pytest.mark.parametrize(("steps", "warmup"), [(40, 4), (7, 0), (10, 9)])
def test_the_rates_are_those_of_the_librarys_schedule(steps, warmup):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=3e-4)
    schedule = get_linear_schedule_with_warmup(optimizer, warmup, steps)
    for step in range(steps):
        assert OURS["rates"](step, steps, warmup, 3e-4, 2, 0.5)[-1] == pytest.approx(
            schedule.get_last_lr()[0]
        )
        optimizer.step()
        schedule.step()


def test_the_rates_by_layer_are_those_of_the_references_groups():
    config = BertConfig(
        vocab_size=9,
        hidden_size=4,
        num_layers=3,
        num_heads=2,
        intermediate_size=8,
        max_position_embeddings=6,
    )
    model = BertForSequenceClassification(config)
    scale = {
        id(one): group["scale"]
        for group in fine_tuning_groups(model, FineTuningConfig(layer_decay=0.5))
        for one in group["params"]
    }
    embeddings, *layers, head = OURS["rates"](4, 40, 4, 1.0, 3, 0.5)
    for name, one in model.named_parameters():
        layer = layer_of(name)
        wanted = layers[layer] if layer is not None else embeddings if "embedding" in name else head
        assert scale[id(one)] == wanted, name


def test_labels_of_pieces_are_the_references_on_a_real_tokenizer():
    tokenizer = load("bert_tokenizer")
    for text in ("Elon Musk lives", "unaffable Quixotic zyzzyva", ""):
        word_ids = tokenizer.encode(text).word_ids
        tags = [*range(3, 3 + len(text.split()))]
        assert OURS["align_tags"](word_ids, tags) == task_losses.align_tags(word_ids, tags)
    assert tokenizer.encode("Elon Musk lives").tokens == [
        "[CLS]",
        "el",
        "##on",
        "mu",
        "##sk",
        "lives",
        "[SEP]",
    ]


def test_the_line_that_is_named_repairs_the_printed_function():
    printed = re.search(
        r"```python\n(def sure_labels.*?)```",
        SIX.cells["repair_inference-card"][0].source,
        re.DOTALL,
    ).group(1)
    lines = printed.splitlines()
    place = next(
        number
        for number, line in enumerate(lines)
        if line.endswith(f"# line {OURS['wrong_line']()}")
    )
    lines[place] = lines[place].replace("dim=0", "dim=1")
    wrong, repaired = dict(OURS), dict(OURS)
    exec(printed, wrong)
    exec("\n".join(lines), repaired)
    logits = 2 * torch.randn(50, 4, generator=torch.Generator().manual_seed(6))
    right = OURS["sure_labels"](logits, 0.6)
    assert repaired["sure_labels"](logits, 0.6) == right != wrong["sure_labels"](logits, 0.6)


def test_the_code_in_the_third_hints_runs_and_solves_its_own_problem():
    names = dict(OURS)
    for id in SIX.exercises:
        for code in re.findall(r"```python\n(.*?)```", SIX.hints(id)[2].text, re.DOTALL):
            exec(code, names)
    assert names["best"](
        torch.tensor([[3, 6, 5]]), torch.tensor([[True, False, True]])
    ).tolist() == [5]
    assert names["shares_of"](torch.tensor([[1.0, 3.0], [2.0, 2.0]]))[0].tolist() == [0.25, 0.75]
    assert names["candle"](15, 12, 18, 8) == 4 and names["cosine"](3, 4, 4, 3) == 0.96
    assert names["margins"]([3, 3, 4]) == ["3", "", "4"] and names["runs"]("aab") == [
        ("a", 0, 2),
        ("b", 2, 3),
    ]
    assert (
        names["trade"]([5, 2, 6, 1]) == (1, 2)
        and names["shared"]("letter", "tell") == 3
        and names["loss"]([4, 2]) == 1.25
    )


def through(name: str, function, place: str = "") -> float:
    """What an answer earns in which `function` does the work."""
    exercise = SIX.exercise(name)
    result = run_exercise(
        exercise, LocalStudent({**OURS, place or exercise.function: function}), mistakes=[]
    )
    asked = [stage for stage in result.stages if stage.status != "passed"]
    assert asked and all("withheld here" in f"{stage.cause} {stage.detail}" for stage in asked)
    return result.earned


SLIPS = {
    "kind-not-compared": ["kind-changes"],
    "b-ignored": ["neighbours"],
    "last-lost": ["end"],
    "i-after-o-only-dropped": ["i-first"],
    "i-after-o-dropped": ["kind-changes", "i-first"],
    "kind-up-to-the-dash": ["kind-changes"],
    "end-included": ["one", "neighbours", "kind-changes", "i-first", "end"],
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_right_entity_f1_keeps_its_points_whatever_rule_the_entities_that_it_calls_forget(slip):
    exercise = SIX.exercise("entity_f1")
    read = namespace_of(f"mistake:{slip}", exercise)["entities"]

    def entity_f1(said, true):
        found, real = (
            {(number, *one) for number, tags in enumerate(sentences) for one in read(tags)}
            for sentences in (said, true)
        )
        right = len(found & real)
        return {
            "precision": right / len(found) if found else 0.0,
            "recall": right / len(real) if real else 0.0,
            "f1": 2 * right / (len(found) + len(real)) if found or real else 0.0,
        }

    result = run_exercise(
        exercise,
        LocalStudent(OurNamespace({"entities": read, "entity_f1": entity_f1})),
        mistakes=[],
    )
    assert [stage.name for stage in result.stages if stage.status != "passed"] == SLIPS[slip]


def test_the_courses_and_the_libraries_answers_are_refused_in_words():
    assert through("mean_pool", pool) == 0
    assert through("align_tags", task_losses.align_tags) == 0
    assert (
        through("entity_f1", lambda tags: [tuple(one) for one in entities(tags)], "entities") == 5
    )
    assert (
        through(
            "best_span",
            lambda start, end, allowed, most: tuple(best_spans(start, end, allowed, most)[0][:2]),
        )
        == 0
    )
    assert (
        through(
            "squad_scores",
            lambda answer, truths: (exact_match(answer, truths), token_f1(answer, truths)),
        )
        == 0
    )
    assert through("ndcg_at", ndcg_at) == 0
    assert (
        through(
            "matthews",
            lambda tp, fp, fn, tn: matthews_corrcoef([1] * tp + [0] * fp, [1] * (tp + fp)),
        )
        == 0
    )


@torch.no_grad()
def test_the_students_functions_tag_names_as_the_courses_do():
    names = dict(OURS)
    exec(SIX.cells["real-tags"][0].source, names)
    with torch.enable_grad():
        found = names["found_names"](load("minilm").eval(), load("bert_tokenizer"), 40, 20)
    assert set(found) == {"seen names", "new names", "new names, new sentences"}
    for row in found.values():
        assert row["yours"] == pytest.approx(row["theirs"]) and row["tags"] > row["yours"]


@torch.no_grad()
def test_the_students_functions_search_as_the_courses_do():
    names = dict(OURS)
    for cell in ("real-tags", "real-search"):
        exec(SIX.cells[cell][0].source, names)
    minilm, tokenizer = load("minilm").eval(), load("bert_tokenizer")
    words, queries, right = names["drawn_definitions"](tokenizer, 40)
    assert len(words) == len(queries) == 40 and all(
        word in some for word, some in zip(words, right)
    )
    rankings = [
        names["searched"](minilm, tokenizer, words, queries, pooling)
        for pooling in (OURS["mean_pool"], pool)
    ]
    yours, theirs = (
        names["ndcg_of"](one, right, measure)
        for one, measure in zip(rankings, (OURS["ndcg_at"], ndcg_at))
    )
    torch.manual_seed(0)
    without = names["ndcg_of"](
        names["searched"](Bert(minilm.config).eval(), tokenizer, words, queries, pool),
        right,
        ndcg_at,
    )
    assert yours == pytest.approx(theirs, abs=1e-3) and yours > without + 0.2


def test_seqeval_read_tags_as_the_reference_does():
    record = json.loads(
        (ROOT / "bench" / "results" / "spans_oracles.json").read_text(encoding="utf-8")
    )
    assert (
        record["versions"]["seqeval"]
        and record["sets"] >= 1000
        and record["furthest_apart"] < 1e-12
    )


def test_maxsim_is_the_courses_own_and_a_loop_over_the_pairs():
    generator = torch.Generator().manual_seed(6)
    queries, texts = torch.randn(3, 4, 5, generator=generator), torch.randn(2, 6, 5)
    seen = torch.tensor([[True, True, True, False], [True, False, True, True], [False] * 4])
    shown = torch.tensor([[True] * 6, [False, True, True, False, False, True]])
    found = OURS["maxsim"](queries, seen, texts, shown)
    assert_close(found, late_interaction.maxsim(queries, seen, texts, shown))
    for a in range(3):
        for b in range(2):
            cosines = torch.cosine_similarity(
                queries[a][seen[a]][:, None], texts[b][shown[b]][None], dim=-1
            )
            best = cosines.max(1).values.sum() if seen[a].any() else torch.tensor(0.0)
            assert_close(found[a, b], best, rtol=1e-5, atol=1e-5)
