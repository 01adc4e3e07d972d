"""Checks of chapter 9, part 1: the loop, prompts of different length, and how much is read."""

from math import comb

import torch

from autograder.chapters.c09_generating_text.tables import uneven, whole_text, written
from autograder.chapters.c09_generating_text.withholding import LIBRARIES, OURS
from autograder.checks.inputs.draws import counts, distinct, whole
from autograder.checks.protocol import SuccessorModel, TableModel, Watched, exercise, expect

BOOK = "09-generating-text"

generate = exercise(
    "09.generate", function="generate", points=6, see=f"{BOOK}/loop", withhold=OURS | LIBRARIES
)
NEVER = 999


def asked(student, model, prompt: list[int], max_tokens: int, end_id: int):
    """The student's list as a question, and the right list."""
    given = f"{len(prompt)} prompt tokens, max_tokens {max_tokens}, " + (
        f"end_id {end_id}" if end_id != NEVER else "an end_id that never comes"
    )
    came = expect(student.generate(model, prompt, max_tokens, end_id), given=given).is_a(list)
    return came, written(getattr(model, "function", model), prompt, max_tokens, end_id), given


def ask_first(student, cause: str, model, prompt: list[int], max_tokens: int) -> None:
    """Compare the first of the new tokens."""
    came, right, given = asked(student, model, prompt, max_tokens, NEVER)
    expect(came[:1], "The beginning of your list", given).equals(right[:1], cause=cause)


def ask_beginning(student, cause: str, model, prompt: list[int], max_tokens: int) -> None:
    """Compare as many tokens as there should be, and no further."""
    came, right, given = asked(student, model, prompt, max_tokens, NEVER)
    expect(came[:max_tokens], "Your list up to max_tokens", given).equals(right, cause=cause)


def ask_list(student, cause: str, model, prompt: list[int], max_tokens: int, end_id: int) -> None:
    """Compare the whole list."""
    came, right, given = asked(student, model, prompt, max_tokens, end_id)
    expect(came, "Your list", given).equals(right, cause=cause)


def prompts(rng, entries: int, *lengths: int) -> list[list[int]]:
    """A prompt of each length; where there is room for it, its last token comes once only."""
    found = []
    for length in lengths:
        prompt = counts(rng, 0, entries - 1, length).tolist()
        found.append(
            [
                token if token != prompt[-1] or entries == 1 else (token + 1) % entries
                for token in prompt[:-1]
            ]
            + prompt[-1:]
        )
    return found


@generate.stage("one", points=1.5)
def test_the_first_new_token_comes_after_the_last_place(student, rng):
    rule = (
        "The first new token: the one with the largest logit in the row of the last position of the"
        " prompt. What you return begins with it, and not with the prompt."
    )
    for entries in (2, 3, 7, 40, 300, whole(rng, 4, 30)):
        model = TableModel(uneven(rng, entries, entries))
        for prompt in prompts(rng, entries, 1, 2, 5, whole(rng, 3, 9), 300):
            ask_first(student, rule, model, prompt, whole(rng, 1, 3))
    one, other = (TableModel(uneven(rng, 9, 9)) for _ in range(2))
    other.rows[[3, 4]] = other.rows[[3, 4]].flip(1)
    for model in (one, other, TableModel(one.rows.flip(1))):
        for prompt in ([1, 2, 3], [1, 2, 4], [4, 2, 3]):
            ask_first(student, rule, model, prompt, 1)
    near = 500 + 0.002 * torch.rand(6, 6, generator=rng).argsort(1)
    for rows in (near, near - 1000, 500 - near):
        ask_first(
            student,
            f"{rule} It may be only 0.001 above the next.",
            TableModel(rows),
            [0, whole(rng, 0, 5)],
            1,
        )
    ask_first(
        student,
        f"{rule} All logits may be negative, or large, or minus infinity but for one.",
        TableModel(-1000 + uneven(rng, 5, 5)),
        [0, 3],
        1,
    )
    ask_first(
        student,
        f"{rule} All logits may be negative, or large, or minus infinity but for one.",
        TableModel(torch.full((4, 4), -torch.inf).fill_diagonal_(-300.0).roll(1, 1)),
        [0, 2],
        1,
    )


@generate.stage("appended", points=2)
def test_each_new_token_is_put_behind_the_whole_text(student, rng):
    rule = (
        "Each new token is put behind the text, and the model is asked again with all of it, prompt"
        " and new tokens: it may look at every one of them."
    )
    for entries, length, new in (
        (3, 1, 4),
        (5, 3, 6),
        (11, 6, 5),
        (2, 4, 7),
        (whole(rng, 5, 20), whole(rng, 2, 9), 8),
    ):
        model = Watched(whole_text(uneven(rng, 64, entries)), calls=2 * new + 2)
        ask_beginning(student, rule, model, counts(rng, 0, entries - 1, length).tolist(), new)
    rows = uneven(rng, 6, 6)
    endings = {(1, 2): rows[2].flip(0), (3, 1, 2): rows[2].roll(1), (0, 3, 1, 2): rows[2].roll(2)}
    for prompt in ([1, 2], [3, 1, 2], [0, 3, 1, 2], [0, 4, 1, 2], [0, 3, 1, 2, 5]):
        ask_beginning(student, rule, TableModel(rows, endings), prompt, 5)
    model, prompt = whole_text(uneven(rng, 64, 5)), counts(rng, 0, 4, 7).tolist()
    for place in range(7):
        ask_beginning(
            student,
            f"{rule} Prompts that differ in one token only.",
            model,
            prompt[:place] + [(prompt[place] + 1) % 5] + prompt[place + 1 :],
            6,
        )
    ask_beginning(
        student,
        f"{rule} 300 tokens and 300 new ones.",
        whole_text(uneven(rng, 64, 3)),
        counts(rng, 0, 2, 300).tolist(),
        300,
    )
    for entries in (7, 50):
        ask_beginning(
            student,
            rule,
            SuccessorModel(distinct(rng, entries, entries)),
            [whole(rng, 0, entries - 1)],
            12,
        )


@generate.stage("limit", points=1, after="one")
def test_there_are_as_many_as_max_tokens(student, rng):
    rule = (
        "The end token never comes here, so there are exactly `max_tokens` new tokens: no prompt"
        " among them, none too many and none too few."
    )
    for length, new in (
        (1, 1),
        (1, 2),
        (3, 3),
        (4, 1),
        (2, 9),
        (9, 2),
        (300, 3),
        (2, 100),
        (1, 300),
        (whole(rng, 2, 9), whole(rng, 2, 20)),
    ):
        ask_list(
            student,
            rule,
            SuccessorModel([1, 2, 3, 0]),
            counts(rng, 0, 3, length).tolist(),
            new,
            NEVER,
        )
    for end in (NEVER, 1):
        ask_list(
            student,
            "With `max_tokens` 0 nothing is written: the list is empty.",
            SuccessorModel([1, 2, 0]),
            [0],
            0,
            end,
        )
    ask_list(
        student,
        "With one entry in the vocabulary there is nothing to choose: it comes each time.",
        SuccessorModel([0]),
        [0, 0],
        3,
        1,
    )


@generate.stage("end", points=1, after="one")
def test_the_end_token_ends_the_text_and_belongs_to_it(student, rng):
    rule = "The end token was chosen: it is the last token of the list, and nothing comes after it."
    circle = SuccessorModel([1, 2, 3, 4, 5, 0])
    for prompt, end in (([0], 2), ([0], 1), ([3], 5), ([5], 0), ([4], 4), ([2, 1], 0)):
        ask_list(student, rule, circle, prompt, 12, end)
    for new in (1, 2, 3, 4):
        ask_list(
            student,
            f"{rule} It may come as the last of `max_tokens`, or would come after them.",
            circle,
            [0],
            new,
            3,
        )
    for end in (0, 6, 299):
        ask_list(student, "An `end_id` that is not chosen ends nothing.", circle, [0], 5, end)
    held = "The end token stands in the prompt here, which ends nothing: only a chosen one does."
    for prompt, end in (([2, 3, 0], 2), ([3, 3, 3], 3), ([1, 0], 1), ([5], 5)):
        ask_list(student, held, circle, prompt, 9, end)
    for prompt, end in (([1, 3], 2), ([5, 2, 4], 0), ([0, 3, 3, 1], 4), ([4, 4, 0], 5)):
        ask_list(
            student,
            "The end token is the most probable one inside the prompt here, where nothing"
            " is chosen: that ends nothing.",
            circle,
            prompt,
            9,
            end,
        )
    model, prompt = TableModel(uneven(rng, 5, 5)), counts(rng, 0, 4, 6).tolist()
    for end in range(6):
        ask_list(student, rule, model, prompt, 12, end)
    for entries in (20, 20, 20, 300):
        order = distinct(rng, entries, entries)
        start = end = whole(rng, entries * 9 // 10, entries - 1)
        for _ in range(4):
            start = order.index(start)
        ask_list(
            student,
            f"{rule} Ids may be larger than 256." if end > 256 else rule,
            SuccessorModel(order),
            [start],
            30,
            end,
        )


@generate.stage("calls", points=0.5, after="appended")
def test_the_model_is_asked_once_for_each_new_token(student, rng):
    rule = (
        "Ask the model once for each new token, with a text of shape (1, T), and not again after"
        " the last one."
    )
    for prompt, new, end, right in (
        ([0], 4, NEVER, 4),
        ([0, 1], 6, 4, 3),
        ([3], 5, 4, 1),
        ([2], 1, NEVER, 1),
        ([0], 0, NEVER, 0),
    ):
        model = Watched(SuccessorModel([1, 2, 3, 4, 0]), calls=20)
        ask_list(student, rule, model, prompt, new, end)
        expect(model.calls == right).is_true(
            cause=rule, detail=f"{model.calls} calls for {right} new tokens"
        )
        shapes = [
            tuple(asked[0].shape) if isinstance(asked[0], torch.Tensor) else None
            for asked in model.asked
        ]
        expect(shapes == [(1, len(prompt) + place) for place in range(right)]).is_true(
            cause=rule, detail=f"the shapes that you asked with: {shapes}"
        )
        kinds = {str(asked[0].dtype) for asked in model.asked}
        expect(kinds <= {"torch.int64"}).is_true(
            cause=f"{rule} The text is an int64 tensor.", detail=f"you asked with {sorted(kinds)}"
        )


repair_padding = exercise(
    "09.repair_padding",
    function="pad_left",
    also=["wrong_line"],
    points=4,
    kind="find-line",
    see=f"{BOOK}/loop#pitfalls",
    withhold=OURS | LIBRARIES,
)


@repair_padding.stage("line", points=1)
def test_the_wrong_line_is_named(student):
    line = expect(student.wrong_line()).is_a(int)
    expect(line == 5).is_true(
        cause=(
            "That line does what the statement says. Run the lines one by one on two prompts of"
            " different length, and compare each name with the table by hand."
        )
    )


def padded(prompts: list[list[int]], pad: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The right answer, row by row."""
    width = max(map(len, prompts))
    rows = [[0] * (width - len(prompt)) for prompt in prompts]
    ids = [[pad] * len(gap) + prompt for gap, prompt in zip(rows, prompts)]
    mask = [[False] * len(gap) + [True] * len(prompt) for gap, prompt in zip(rows, prompts)]
    return (
        torch.tensor(ids),
        torch.tensor(mask),
        torch.tensor([gap + list(range(len(prompt))) for gap, prompt in zip(rows, prompts)]),
    )


def three(student, prompts: list[list[int]], pad: int) -> tuple:
    """Each of the student's tensors as a question with the right one."""
    given = f"prompts of {[len(prompt) for prompt in prompts][:9]} tokens, pad {pad}"
    came = expect(student.pad_left(prompts, pad), given=given).unpacks(3)
    return tuple(
        (expect(one, name, given), right)
        for one, name, right in zip(
            came, ("Your ids", "Your mask", "Your positions"), padded(prompts, pad)
        )
    )


def ask_positions(
    student, cause: str, prompts: list[list[int]], pad: int, everywhere: bool = False
) -> None:
    """Compare the positions, at tokens alone or everywhere."""
    _, (_, mask), (positions, right) = three(student, prompts, pad)
    found = positions.is_tensor(shape=tuple(right.shape), dtype=torch.int64, cause=cause)
    expect(
        found if everywhere else found * mask,
        "Your positions" + ("" if everywhere else " at the tokens, with 0 at padding"),
        positions.given,
    ).equals(right, cause=cause)


def ask_ids(student, cause: str, prompts: list[list[int]], pad: int) -> None:
    """Compare ids and mask."""
    for found, right in three(student, prompts, pad)[:2]:
        found.equals(right, cause=cause)


def batch(rng, *lengths: int) -> list[list[int]]:
    """Prompts of these lengths."""
    return [counts(rng, 0, 50, length).tolist() for length in lengths]


@repair_padding.stage("positions", points=1.5)
def test_each_prompt_counts_its_own_tokens(student, rng):
    rule = (
        "The first token of each prompt has position 0, the next 1, and so on, wherever the padding"
        " in front of it ends. Padding is not looked at here."
    )
    ask_positions(student, f"{rule} This is the case by hand.", [[5, 6, 7], [8]], 0)
    for lengths in (
        (1, 3),
        (3, 1),
        (2, 5, 3),
        (4, 4, 2),
        (1, 2, 3, 4),
        (300, 2),
        (1, 40, 39),
        (6, 2, 6),
        tuple(counts(rng, 1, 9, 5).tolist() + [12]),
        (2,) * 299 + (3,),
    ):
        ask_positions(student, rule, batch(rng, *lengths), whole(rng, 0, 9))
    first = batch(rng, 4, 2, 3)
    for prompts in (
        first,
        [first[0], first[1] + [7], first[2]],
        [first[0], first[2], first[1]],
        [first[0], first[1], first[2][:2]],
    ):
        ask_positions(student, rule, prompts, 1)


@repair_padding.stage("padding", points=1, after="positions")
def test_ids_mask_and_padding_stay_as_they_were(student, rng):
    rule = (
        "All but the positions is right in the printed function: the prompts stand at the right end"
        " with `pad` in front, and the mask is True where a token of a prompt stands."
    )
    for lengths in ((1, 3), (2, 5, 3), (4, 4, 2), (9, 1, 40), (300, 1)):
        prompts = batch(rng, *lengths)
        for pad in (0, 7, 400):
            ask_ids(student, rule, prompts, pad)
        ask_positions(student, "At padding the position is 0.", prompts, 0, everywhere=True)
    first = batch(rng, 4, 2, 3)
    for row, prompt in enumerate(first):
        for place in range(len(prompt)):
            ask_ids(
                student,
                f"{rule} Batches that differ in one token only.",
                [
                    *first[:row],
                    prompt[:place] + [prompt[place] + 51] + prompt[place + 1 :],
                    *first[row + 1 :],
                ],
                0,
            )
    ask_ids(
        student,
        f"{rule} Ids may be large, and are exact.",
        [[40_000, 16_777_217], [65_537], [33_333, 999_999_937, 5]],
        50_001,
    )
    held = f"{rule} `pad` may be a token of a prompt: use positions, not ids."
    for prompts in ([[3, 3, 3], [3]], [[0, 3, 0], [3, 3]], [[3], [4, 3, 4]]):
        ask_ids(student, held, prompts, 3)
        ask_positions(student, held, prompts, 3, everywhere=True)


@repair_padding.stage("equal", points=0.5, after="positions")
def test_without_padding_nothing_changes(student, rng):
    rule = (
        "All prompts are equally long here, so there is no padding: every token is seen, and each"
        " row counts from 0."
    )
    for lengths in ((1,), (5,), (300,), (1, 1), (3, 3, 3), (2,) * 40):
        ask_ids(student, rule, prompts := batch(rng, *lengths), 0)
        ask_positions(student, rule, prompts, 0, everywhere=True)


predict_reading = exercise(
    "09.predict_reading",
    function="predict_reading",
    points=4,
    kind="predict",
    see=f"{BOOK}/loop#the-kv-cache",
    withhold=OURS | LIBRARIES,
)
SIZES = ((1, 1), (1, 2), (2, 1), (3, 4), (4, 3), (16, 64), (64, 16), (1, 50), (50, 1), (7, 7))


def really(prompt: int, new: int) -> dict[str, int]:
    """The four numbers: token by token for small sizes, by binomials for large ones, in Python's
    integers.
    """
    end = prompt + new
    if end > 500:
        return {
            "tokens": comb(end, 2) - comb(prompt, 2),
            "tokens_cached": end - 1,
            "pairs": comb(end + 1, 3) - comb(prompt + 1, 3),
            "pairs_cached": comb(end, 2),
        }
    passes = [list(range(1, length + 1)) for length in range(prompt, end)]
    cached = [passes[0], *(one[-1:] for one in passes[1:])]
    return {
        "tokens": sum(map(len, passes)),
        "tokens_cached": sum(map(len, cached)),
        "pairs": sum(map(sum, passes)),
        "pairs_cached": sum(map(sum, cached)),
    }


def ask_one(student, key: str, cause: str, prompt: int, new: int) -> None:
    """Compare one of the four numbers."""
    came, right = student.predict_reading(prompt, new), really(prompt, new)
    asked = expect(came, given=f"prompt {prompt}, new {new}").only_keys(right)
    asked.has(key).equals(right[key], cause=cause)


def ask_number(student, key: str, rule: str, rng) -> None:
    """Compare one of the four numbers, over many sizes."""
    for prompt, new in (
        *SIZES,
        (whole(rng, 5, 90), whole(rng, 5, 90)),
        (whole(rng, 100, 200), whole(rng, 3, 9)),
        (300, 300),
    ):
        ask_one(student, key, rule, prompt, new)
    for prompt, new in ((999_999, 3), (123_457, 1), (999_983, 1000), (1_000_000, 1_000_000)):
        more = "The numbers may be as large as a million: count in ints."
        ask_one(student, key, f"{rule} {more}", prompt, new)


@predict_reading.stage("tokens", points=1.5)
def test_without_a_cache_each_pass_reads_the_whole_text(student, rng):
    ask_number(
        student,
        "tokens",
        '"tokens": the passes are over `prompt`, `prompt` + 1, ... tokens, `new` passes in all, and'
        " the token that is chosen last is never read.",
        rng,
    )


@predict_reading.stage("tokens_cached", points=1)
def test_with_a_cache_each_token_is_read_once(student, rng):
    ask_number(
        student,
        "tokens_cached",
        '"tokens_cached": the prompt once, and then each new token once, but for the one that is'
        " chosen last.",
        rng,
    )


@predict_reading.stage("pairs", points=1)
def test_a_pass_scores_a_triangle(student, rng):
    ask_number(
        student,
        "pairs",
        '"pairs": in a pass over n tokens the first looks at 1, the second at 2, and the last at n.'
        " Each pass scores its whole triangle.",
        rng,
    )


@predict_reading.stage("pairs_cached", points=0.5)
def test_with_a_cache_each_token_looks_back_once(student, rng):
    ask_number(
        student,
        "pairs_cached",
        '"pairs_cached": each token is a query once, and then looks at itself and at all before it,'
        " whose keys are in the cache.",
        rng,
    )
