"""What is particular to chapter 3's exercises: the numbers on the cards, the reference and torch,
the wrong line, the real thing.
"""

import math
import re

import pytest
import torch
from torch.nn.functional import conv1d
from torch.testing import assert_close

from autograder.authoring.catalogue import assignment
from autograder.authoring.implementations import reference
from autograder.chapters.c03_context_before_attention.reader_candidates import (
    RIGHT,
    SEEN,
    VOCAB,
    WRONG,
)
from reference_impl.corpora import load
from reference_impl.corpora.small_models import small_model, tokenizer
from reference_impl.measure import metrics
from reference_impl.models.elmo import CharacterEncoder, ELMoConfig, ScalarMix
from reference_impl.models.lstm import LSTMCell, run
from reference_impl.models.ngram import START, KneserNey, count_runs
from reference_impl.models.seq2seq import AdditiveAttention
from reference_impl.objectives.bidirectional_lm import bidirectional_lm

THREE = assignment("03")
OURS = reference("03")


def rng() -> torch.Generator:
    return torch.Generator().manual_seed(7)


def drawn_texts(number: int, size: int) -> list[list[int]]:
    generator = rng()
    return [
        torch.randint(0, size, (1 + place % 5,), generator=generator).tolist()
        for place in range(number)
    ]


def test_the_assignment_is_worth_fifty_four_points():
    assert THREE.points == 54


def test_the_numbers_worked_out_on_the_cards_are_what_the_reference_gives():
    assert OURS["bigram_counts"]([[0, 1, 0], [1]], 2).tolist() == [[0, 1], [1, 0], [1, 1]]
    table = torch.tensor([[0.0, 3, 1, 0], [2, 0, 2, 0], [0, 0, 0, 0]])
    shares = OURS["kneser_ney"](table, 0.5)
    assert (shares[2] * 32).tolist() == [7, 7, 15, 3] and (shares[0] * 128).tolist() == [
        7,
        87,
        31,
        3,
    ]
    found = OURS["judge"](
        torch.tensor([[1 / 4, 1 / 2], [1 / 8, 1]]).log(),
        torch.tensor([[True, True], [True, False]]),
        12,
    )
    assert_close(
        found,
        {"nats_per_token": math.log(4), "perplexity": 4.0, "bits_per_byte": 0.5},
        rtol=1e-6,
        atol=0,
    )
    zero, b = torch.zeros(4, 1), torch.tensor([0.0, math.log(3), math.log(3) / 2, math.log(3)])
    step = OURS["lstm_step"](
        torch.zeros(1, 1), torch.zeros(1, 1), torch.full((1, 1), 2.0), zero, zero, b
    )
    assert_close(
        {name: one.item() for name, one in step.items()},
        {"i": 0.5, "f": 0.75, "g": 0.5, "o": 0.75, "c": 1.75, "h": 0.706},
        rtol=0,
        atol=5e-4,
    )
    letters, filters = (
        torch.tensor([[2.0], [1], [3], [0]]),
        torch.tensor([[[1.0], [-1]], [[-1], [-1]]]),
    )
    assert OURS["letter_patterns"](letters, filters, torch.tensor([0.5, 1.0])).tolist() == [3.5, 0]
    assert_close(
        OURS["mix_layers"](
            torch.tensor([8.0, 4, 0]).reshape(3, 1, 1),
            torch.tensor([0, math.log(2), math.log(5)]),
            3.0,
        ),
        torch.tensor([[6.0]]),
    )
    targets = OURS["both_targets"](
        torch.tensor([[5, 7, 9], [4, 6, 0]]), torch.tensor([[True] * 3, [True, True, False]])
    )
    assert targets["ahead"].tolist() == [[7, 9, -100], [6, -100, -100]] and targets[
        "behind"
    ].tolist() == [[-100, 5, 7], [-100, 4, -100]]
    half = math.log(3) / 2
    context, weights = OURS["additive_attention"](
        torch.tensor([[half]]),
        torch.tensor([[[-half, 8.0], [0, 4], [5, 9]]]),
        torch.ones(1, 1),
        torch.tensor([[1.0, 0]]),
        torch.tensor([2 * math.log(3)]),
        torch.tensor([[True, True, False]]),
    )
    assert_close(weights, torch.tensor([[0.25, 0.75, 0]]))
    assert_close(context, torch.tensor([[-0.137, 5]]), rtol=0, atol=5e-4)


def test_the_four_texts_say_what_the_cards_and_the_cells_beside_them_say():
    table, index = OURS["bigram_counts"](OURS["TEXTS"], len(OURS["WORDS"])), OURS["INDEX"]
    path = [len(index), *(index[word] for word in "the bank lends money .".split())]
    assert math.isclose(
        math.prod(float(table[a, b] / table[a].sum()) for a, b in zip(path, path[1:])),
        1 / 16,
        rel_tol=1e-6,
    )
    after_safe = OURS["kneser_ney"](table, 0.5)[index["safe"]]
    assert_close(after_safe[[index["bank"], index["money"]]], torch.tensor([1 / 42, 2 / 42]))


def test_counts_and_kneser_ney_equal_the_reference_implementation():
    for size, discount in ((1, 0.5), (4, 0.75), (9, 1.0)):
        texts = drawn_texts(12, size)
        table = OURS["bigram_counts"](texts, size)
        assert {
            (before, after): int(table[before if before != START else size, after])
            for before, after in count_runs(texts, 2)
        } == dict(count_runs(texts, 2)) and table.sum() == sum(map(len, texts))
        model, shares = KneserNey(texts, size, 2, discount), OURS["kneser_ney"](table, discount)
        for row in range(size + 1):
            assert_close(
                shares[row].double(),
                torch.from_numpy(model.distribution([row] if row < size else [])),
                rtol=1e-5,
                atol=1e-7,
            )


def test_judging_equals_the_reference_implementation():
    log_probs, mask = (
        -torch.rand(3, 5, generator=rng()),
        torch.arange(5) < torch.tensor([5, 2, 0])[:, None],
    )
    found, nats = OURS["judge"](log_probs, mask, 31), -float(log_probs[mask].double().sum())
    assert_close(
        [found["perplexity"], found["bits_per_byte"]],
        [metrics.perplexity(nats, 7), metrics.bits_per_byte(nats, 31)],
    )


def parts_of(cell: LSTMCell) -> tuple:
    return cell.input.weight, cell.recurrent.weight, cell.input.bias


@torch.no_grad()
def test_a_step_equals_torchs_cell_and_the_references_narrow_one():
    cell, x, h, c = (
        torch.nn.LSTMCell(3, 4),
        *(torch.randn(5, width, generator=rng()) for width in (3, 4, 4)),
    )
    found = OURS["lstm_step"](x, h, c, cell.weight_ih, cell.weight_hh, cell.bias_ih + cell.bias_hh)
    assert_close((found["h"], found["c"]), cell(x, (h, c)))
    narrow = LSTMCell(3, 4, projection_size=2)
    found = OURS["lstm_step"](x, h[:, :2], c, *parts_of(narrow))
    assert_close((narrow.projection(found["h"]), found["c"]), narrow(x, (h[:, :2], c)))


@torch.no_grad()
def test_the_repaired_reader_carries_a_cell_as_the_reference_runs_it_backward():
    cell, x, mask = (
        LSTMCell(3, 4),
        torch.randn(3, 6, 3, generator=rng()),
        torch.arange(6) < torch.tensor([6, 2, 0])[:, None],
    )

    def step(inputs, state):
        found = OURS["lstm_step"](inputs, state[:, :4], state[:, 4:], *parts_of(cell))
        return torch.cat([found["h"], found["c"]], 1)

    ours = OURS["read_backward"](step, x, mask, torch.zeros(3, 8))
    assert_close(ours[..., :4], run(cell, x, mask, backward=True)[0])


def listing(line: str = ""):
    """The function on the card, as printed or with line 5 replaced."""
    code = re.search(
        r"```python\n(def read_backward.*?)```",
        THREE.cells["read_backward-card"][0].source,
        re.DOTALL,
    ).group(1)
    names = {"torch": torch}
    exec(code.replace("new * here[:, place]  ", line) if line else code, names)
    return names["read_backward"]


def test_the_printed_reader_goes_wrong_at_filling_and_only_by_line_five():
    x, start = torch.tensor([[[4.0], [2], [9]]]), torch.tensor([[8.0]])

    def step(inputs, state):
        return state / 2 + inputs

    full, ragged = torch.ones(1, 3, dtype=torch.bool), torch.tensor([[True, True, False]])
    for right in (listing("torch.where(here[:, place], new, state)  "), OURS["read_backward"]):
        assert right(step, x, ragged, start).flatten().tolist() == [7, 6, 0]
        assert torch.equal(right(step, x, full, start), listing()(step, x, full, start))
    assert listing()(step, x, ragged, start).flatten().tolist() == [5, 2, 0]


@torch.no_grad()
def test_patterns_and_mix_equal_torch_and_the_reference_implementation():
    encoder = CharacterEncoder(
        ELMoConfig(
            vocab_size=5, character_size=3, filters=((1, 2), (3, 4)), word_size=4, max_characters=8
        )
    )
    characters = torch.randint(0, 259, (1, 1, 8), generator=rng())
    letters = encoder.embedding(characters[0, 0])  # (W, D)
    ours = [
        OURS["letter_patterns"](letters, linear.weight.reshape(-1, width, 3), linear.bias)
        for width, linear in zip(encoder.widths, encoder.filters)
    ]
    assert_close(torch.cat(ours), encoder.patterns(characters)[0, 0])
    filters = torch.randn(4, 3, 3, generator=rng())
    assert_close(
        OURS["letter_patterns"](letters, filters, torch.zeros(4)),
        conv1d(letters.T[None], filters.mT)[0].amax(1).relu(),
    )
    mix, layers = ScalarMix(3), torch.randn(3, 1, 5, 4, generator=rng())
    mix.weights.copy_(torch.tensor([0.3, -1.0, 2.0]))
    mix.gamma.fill_(1.7)
    assert_close(OURS["mix_layers"](layers[:, 0], mix.weights.detach(), 1.7), mix(layers)[0])


@torch.no_grad()
def test_the_targets_give_the_loss_of_the_references_objective():
    ids, mask = (
        torch.randint(0, 6, (3, 5), generator=rng()),
        torch.arange(5) < torch.tensor([5, 3, 1])[:, None],
    )
    after, before = torch.randn(2, 3, 5, 6, generator=rng())

    class Answers(torch.nn.Module):
        def forward(self, characters, mask):
            return after, before

    terms = bidirectional_lm(
        Answers(),
        {"characters": ids[..., None], "mask": mask, "labels": torch.where(mask, ids, -100)},
    )
    targets = OURS["both_targets"](ids, mask)
    losses = [
        torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), targets[name].flatten(), reduction="sum"
        )
        for logits, name in ((after, "ahead"), (before, "behind"))
    ]
    assert_close(sum(losses), terms.total)
    assert int((targets["ahead"] >= 0).sum() + (targets["behind"] >= 0).sum()) == terms.count


@torch.no_grad()
def test_additive_attention_equals_the_reference_implementation():
    attention = AdditiveAttention(query_size=3, key_size=4, hidden_size=5)
    attention.key.bias.zero_()
    query, memory = torch.randn(3, 3, generator=rng()), torch.randn(3, 6, 4, generator=rng())
    mask = torch.arange(6) < torch.tensor([6, 2, 1])[:, None]
    parameters = attention.query.weight, attention.key.weight, attention.score.weight[0]
    assert_close(
        OURS["additive_attention"](query, memory, *parameters, mask),
        attention(query, attention.key(memory), memory, mask),
    )


def test_each_word_of_the_cell_below_additive_attention_is_looked_up(capsys):
    exec(THREE.cells["look-additive_attention"][0].source, dict(OURS))
    head, *rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    shares = {word: [int(share.rstrip("%")) for share in row] for word, *row in rows}
    for word in ("bank", "money"):
        assert max(shares[word]) == shares[word][head.index(word) - 1] > 80
    assert shares["river"] == [20] * 5


def seen_early(reader, ids) -> float:
    """How far the logits move, at most, by a word that no reader from the left should see there;
    the least over all other words.
    """
    before, least = reader(ids), math.inf
    for row, place in [(row, place) for row in range(len(ids)) for place in range(ids.shape[1])]:
        for word in range(VOCAB):
            if word != ids[row, place]:
                other = ids.clone()
                other[row, place] = word
                moved = (reader(other) - before).abs()
                moved[row, place:] = 0
                if moved.max() > 1e-4:
                    least = min(least, float(moved.max()))
    return least


def test_wrong_readers_move_by_more_than_a_hundredth_and_right_ones_hardly():
    ids = torch.randint(0, VOCAB, (2, 8), generator=rng())
    assert (SEEN[:, None] - SEEN[None]).abs().flatten(0, 1)[
        ~torch.eye(VOCAB, dtype=torch.bool).flatten()
    ].min() > 0.19
    assert all(seen_early(reader, ids) == math.inf for reader in RIGHT)
    assert all(
        0.01 < seen_early(reader, ids) < math.inf for kind in WRONG.values() for reader in kind
    )
    with pytest.raises(ValueError, match="int64 ids"):
        RIGHT[0](ids.float())


def test_the_code_in_the_third_hints_runs_and_solves_its_own_problem():
    names: dict = {"torch": torch}
    for id in THREE.exercises:
        for code in re.findall(r"```python\n(.*?)```", THREE.hints(id)[2].text, re.DOTALL):
            exec(code, names)
    steps = names["steps"]({"Ada": [1, 0], "Bo": [1]}, 2)
    assert steps.tolist() == [[0, 2], [0, 0], [1, 0]]
    assert names["shares"](
        torch.tensor([[30.0, 10.0], [0.0, 0.0]]), torch.tensor([0.5, 0.5])
    ).tolist() == [[0.75, 0.25], [0.5, 0.5]]
    assert names["pace"](
        torch.tensor([[5.0, 7.0], [6.0, 99.0]]), torch.tensor([[True, True], [True, False]]), 3
    ) == {"minutes_per_km": 6.0, "km_per_hour": 10.0, "hours_per_litre": pytest.approx(0.1)}
    assert (
        names["butt"](torch.ones(1, 2), torch.tensor([[8.0]]), torch.zeros(2, 2), torch.zeros(2))[
            "level"
        ].item()
        == 9
    )
    log, shown = names["display"](
        torch.tensor([20.0, -9.0]), torch.tensor([True, False]), torch.tensor(0.0)
    )
    assert log.tolist() == [20, 0] and shown == 20
    assert names["display"](
        torch.tensor([20.0, -9.0, 22.0]), torch.tensor([True, False, True]), torch.tensor(0.0)
    )[0].tolist() == [20, 0, 22]
    assert names["rainiest"](torch.tensor([[1.0], [4], [2]]), torch.tensor([5.0]), 2).tolist() == [
        1
    ]
    assert_close(
        names["verdict"](torch.tensor([4.0, 8, 0]).reshape(3, 1, 1), torch.tensor([2.0, 1, 1])),
        torch.tensor([[4.4]]),
    )
    climbs = names["climbs"](torch.tensor([[3.0, 5, 4]]), torch.tensor([[True, True, False]]))
    assert_close(climbs, torch.tensor([[2.0, math.nan, math.nan]]), equal_nan=True)
    assert names["noise"](
        torch.tensor([20.0]),
        torch.tensor([[20.0, 23, 18]]),
        torch.tensor([[1.0, 2, 3]]),
        torch.tensor([[False, True, True]]),
    ).tolist() == [3]
    names["test_running"](lambda numbers: numbers.cumsum(1))
    with pytest.raises(AssertionError, match="seen early"):
        names["test_running"](lambda numbers: numbers.flip(1).cumsum(1))


def test_the_students_functions_judge_a_text_as_the_reference_does(capsys):
    names = dict(OURS)
    exec(THREE.cells["real-ngrams"][0].source, names)
    text = load("kjv")[:40_000]
    found = names["bible_judged"](text)
    train, held_out = names["in_two"](text)
    bpe = tokenizer("ngram_kjv")
    model = KneserNey([bpe.encode(train)], len(bpe.vocabulary), 2)
    model = KneserNey([bpe.encode(train)], len(bpe.vocabulary), 2, model.discounts[1])
    assert found["bits_per_byte"] == pytest.approx(
        model.bits_per_byte([bpe.encode(held_out)], len(held_out.encode())), rel=1e-5
    )
    assert "tokens to count" in capsys.readouterr().out


def test_the_students_functions_carry_the_trained_elmo():
    names = dict(OURS)
    exec(THREE.cells["real-elmo"][0].source, names)
    kept = small_model("elmo_glosses")
    characters, mask = kept.tokenizer(
        ["we sat on the bank of the river".split(), "the bank lends money".split()]
    )
    with torch.no_grad():
        right = kept.model.layers(characters, mask)
    assert_close(
        names["your_elmo"](kept.model, characters, mask)[:, mask],
        right[:, mask],
        rtol=1e-4,
        atol=1e-5,
    )


@torch.no_grad()
def test_the_students_attention_carries_the_trained_speller():
    calls = []

    def counted(*parts):
        calls.append(parts)
        return OURS["additive_attention"](*parts)

    names = {**OURS, "additive_attention": counted}
    exec(THREE.cells["real-attention"][0].source, names)
    kept = small_model("lstm_spelling")
    letters = kept.tokenizer["source"]
    ids = torch.tensor([[*map(letters.index, "bank"), 1]])
    model = names["with_your_attention"](kept.model)
    yours = model.write(ids, start_id=0, end_id=1, max_tokens=32)
    assert len(calls) == yours[1].shape[1]
    theirs = kept.model.write(ids, start_id=0, end_id=1, max_tokens=32)
    assert len(calls) == yours[1].shape[1]  # the model itself keeps its own attention
    assert yours[0] == theirs[0]
    assert_close(yours[1], theirs[1], rtol=1e-4, atol=1e-5)
