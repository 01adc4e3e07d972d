"""Checks of chapter 12, part 3: the cache, and writing with it."""

from numbers import Integral

import torch

from autograder.chapters.c09_generating_text.tables import uneven
from autograder.chapters.c12_llama.raising import raised_by
from autograder.chapters.c12_llama.withholding import LIBRARIES, OURS
from autograder.checks.inputs.draws import counts, normal, whole
from autograder.checks.inputs.strided import strided
from autograder.checks.protocol import CheckFailed, StudentError, Watched, exercise, expect, inside

BOOK = "12-llama"

cache = exercise(
    "12.KVCache",
    function="KVCache",
    points=8,
    see=f"{BOOK}/cache#the-code",
    withhold=OURS | LIBRARIES,
)


RAISES = {
    "append": "`append` raises an exception although there is room for all T tokens.",
    "truncate": "`truncate(n)` raises an exception although n is between 0 and `length`.",
}


class Beside:
    """A student's cache and what it should hold: two lists of tokens, each (B, K, D)."""

    def __init__(self, student, rng, B: int, K: int, room: int, D: int):
        self.student, self.handle, self.rng, self.sizes = (
            student,
            student.build("KVCache", B, K, room, D),
            rng,
            (B, K, D),
        )
        self.keys, self.values = [], []
        self.given = f"B = {B}, K = {K}, room {room}, D = {D}"

    def numbers(self, T: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values of T more tokens."""
        B, K, D = self.sizes
        return normal(self.rng, B, K, T, D), normal(self.rng, B, K, T, D)

    def call(self, method: str, *arguments: object) -> object:
        """Call a method that must not raise; under the name of the class, so that what comes back
        is compared with what known mistakes give.
        """
        try:
            return self.student.ask("call", "KVCache", method, of=self.handle, args=arguments).value
        except StudentError as error:
            if error.kind != "error" or not self.has_length():
                raise self.lacking(error) from None
            raise CheckFailed(RAISES[method], f"{self.given}\n{error.text}") from None

    def lacking(self, error: StudentError) -> Exception:
        """What is no cache at all is a wrong answer, and not an error of the student's code."""
        if error.kind == "missing" or error.kind == "error" and not self.has_length():
            return CheckFailed(
                "`KVCache(B, K, room, D)` makes an object with the methods `append` and `truncate`,"
                " and with `length`.",
                error.text,
            )
        return error

    def has_length(self) -> bool:
        """Whether the object has a `length`; the question is not recorded, since the call before
        it is the one to report.
        """
        recorded = len(self.student.calls)
        try:
            return inside(self.handle).get("length") is not None
        except StudentError:
            return False
        finally:
            del self.student.calls[recorded:]

    def right(self) -> tuple[torch.Tensor, torch.Tensor]:
        """What is to come back: all so far."""
        return torch.stack(self.keys, 2), torch.stack(self.values, 2)

    def append(self, T: int, cause: str, length: bool = False, views: bool = False) -> None:
        """Append T tokens to both, and compare what comes back; length: and how many it says there
        are; views: of larger tensors.
        """
        k, v = self.numbers(T)
        self.keys += k.unbind(2)
        self.values += v.unbind(2)
        given = f"{self.given}, {len(self.keys)} tokens so far, {T} of them new"
        came = expect(
            self.call("append", *(map(strided, (k, v)) if views else (k, v))),
            "What `append` returned",
            given,
        ).unpacks(2)
        for one, right, name in zip(came, self.right(), ("The keys", "The values")):
            expect(one, f"{name} that `append` returned", given).close(
                right, rtol=0, atol=0, cause=cause
            )
        if length:
            self.says_length()

    def says_length(self) -> None:
        """Compare the length."""
        try:
            found = self.student.ask("get", "KVCache", "length", of=self.handle).value
        except StudentError as error:
            if error.kind != "unreadable":
                raise
            raise CheckFailed("`length` is an attribute that holds an int.", error.text) from None
        expect(
            found,
            "`length`",
            self.given,
        ).equals(
            len(self.keys),
            cause=(
                "`length` is the number of tokens so far: 0 at the start, and T more after each"
                " append of T tokens."
            ),
        )

    def truncate(self, n: int) -> None:
        """Forget all but n, here and there."""
        self.call("truncate", n)
        del self.keys[n:], self.values[n:]

    def refuses(self, command: tuple, cause: str) -> None:
        """Ask for what must be refused."""
        try:
            raised = raised_by(
                lambda: self.student.ask(
                    "call", "KVCache", command[0], of=self.handle, args=command[1:]
                )
            )
        except StudentError as error:
            raise self.lacking(error) from None
        name, first = command[:2]
        asked = f"append of {first.shape[2]}" if name == "append" else f"truncate({first})"
        expect(raised == "ValueError").is_true(
            cause=cause,
            detail=(
                f"{self.given}, {len(self.keys)} tokens so far, {asked}:"
                f" {raised or 'nothing'} was raised"
            ),
        )


@cache.stage("one-by-one", points=2)
def test_tokens_are_put_behind_each_other(student, rng):
    rule = (
        "`append` puts the new token after the others and returns all keys and values so far,"
        " without the empty part."
    )
    for B, K, room, D in (
        (1, 1, 4, 1),
        (1, 1, 3, 3),
        (1, 1, 1, 2),
        (1, 1, 300, 2),
        (1, 1, whole(rng, 4, 9), whole(rng, 2, 5)),
    ):
        beside = Beside(student, rng, B, K, room, D)
        for _ in range(min(room, 6)):
            beside.append(1, rule)
    same = Beside(student, rng, 1, 1, 3, 1)
    same.numbers = lambda T: (torch.zeros(1, 1, T, 1), torch.zeros(1, 1, T, 1))
    for _ in range(3):
        same.append(1, f"{rule} A key may be 0, and be there all the same.")


@cache.stage("many", points=1)
def test_many_tokens_may_come_at_once(student, rng):
    rule = "T can differ from call to call: all T new tokens come after the others, in their order."
    for room, steps in (
        (4, (2, 1, 1)),
        (4, (4,)),
        (9, (1, 3, 2, 3)),
        (5, (3, 2)),
        (300, (299, 1)),
        (300, (150, 150)),
        (7, (1, 6)),
        (20, (2, 2, 2, 5, 1)),
    ):
        beside = Beside(student, rng, 1, 1, room, 3)
        for T in steps:
            beside.append(T, rule)


@cache.stage("length", points=0.5)
def test_length_counts_tokens(student, rng):
    for B, K, room, D, steps in (
        (1, 1, 6, 1, (1, 1, 2)),
        (1, 1, 9, 4, (3, 1, 1)),
        (1, 1, 5, 2, (5,)),
        (1, 1, 40, 3, (7, 8, 1)),
    ):
        beside = Beside(student, rng, B, K, room, D)
        beside.says_length()
        for T in steps:
            beside.append(T, "`append` returns all so far.", length=True)


@cache.stage("texts", points=1)
def test_texts_heads_and_caches_do_not_mix(student, rng):
    rule = (
        "Sequences and heads never mix: both results have the shape (B, K, S, D), with tokens"
        " along the third axis."
    )
    for B, K, room, D in (
        (2, 1, 4, 1),
        (1, 2, 4, 1),
        (2, 3, 5, 4),
        (3, 3, 3, 3),
        (4, 2, 6, 2),
        (300, 1, 3, 2),
        (1, 300, 3, 2),
        (2, 2, 3, 300),
        (1, 2, 2, 3),
    ):
        beside = Beside(student, rng, B, K, room, D)
        for T in (1, min(2, room - 1), room - 1 - min(2, room - 1)):
            if T:
                beside.append(T, rule)
    turned = Beside(student, rng, 2, 3, 9, 4)
    for T in (3, 1, 5):
        turned.append(
            T,
            "k and v may be views of larger tensors, such as a transpose: `reshape` works there,"
            " `view` may not.",
            views=True,
        )
    several = [Beside(student, rng, 2, 2, 8, 3) for _ in range(2)] + [
        Beside(student, rng, 1, 2, 6, 2)
    ]
    for T in (2, 1, 3):
        for one in several:
            one.append(T, f"{rule} Three caches are used in turns: each has its own.", length=True)


FULL = "Where there is no room for all T tokens `append` raises a ValueError."
STAYS = "A refused call changes nothing: neither `length` nor what the cache holds."


@cache.stage("full", points=1.5, after="one-by-one")
def test_a_full_cache_refuses_and_stays_as_it_was(student, rng):
    for B, K, room, D, steps, more in (
        (1, 1, 4, 1, (2, 1), 2),
        (1, 1, 1, 2, (1,), 1),
        (2, 2, 5, 3, (5,), 1),
        (1, 2, 5, 3, (), 6),
        (1, 1, 9, 2, (4, 4), 2),
        (1, 1, 300, 1, (300,), 1),
        (1, 1, 6, 2, (3,), 300),
        (2, 1, 3, 2, (1,), 3),
    ):
        beside = Beside(student, rng, B, K, room, D)
        for T in steps:
            beside.append(T, "`append` returns all so far: there was room for it.")
        for _ in range(2):
            beside.refuses(("append", *beside.numbers(more)), FULL)
            beside.says_length()
        left = room - len(beside.keys)
        if left:
            beside.append(left, f"{STAYS} What fits exactly is taken.", length=True)
            beside.refuses(("append", *beside.numbers(1)), FULL)
    for many in (2, 3):  # what a refused call wrote would show in the next one
        beside = Beside(student, rng, 1, 1, 4, 2)
        beside.append(many, "`append` returns all so far.")
        beside.refuses(("append", *beside.numbers(5 - many)), FULL)
        beside.append(1, STAYS, length=True)


@cache.stage("truncate", points=1.5, after="one-by-one")
def test_what_is_taken_back_is_gone(student, rng):
    rule = (
        "`truncate(n)` keeps the first n tokens. What is appended next is at position n, and"
        " nothing that came after it returns."
    )
    hand = Beside(student, rng, 1, 1, 4, 1)
    for T, n in ((3, 1), (1, 1), (2, 3), (1, 0), (4, 4), (0, 2), (1, None)):
        if T:
            hand.append(T, rule, length=True)
        if n is not None:
            hand.truncate(n)
            hand.says_length()
    for B, K, room, D in ((1, 1, 6, 2), (2, 2, 9, 3), (1, 3, 300, 1)):
        beside = Beside(student, rng, B, K, room, D)
        beside.append(room, rule)
        for n, T in ((room - 1, 1), (2, 2), (4, 1), (0, 3), (3, 2), (1, room - 1)):
            beside.truncate(n)
            beside.says_length()
            beside.append(T, rule, length=True)
    fresh = Beside(student, rng, 1, 2, 3, 2)
    fresh.truncate(0)
    fresh.append(2, "`truncate(0)` of an empty cache changes nothing.", length=True)
    one, other = (Beside(student, rng, 1, 1, 5, 2) for _ in range(2))
    for each in (one, other):
        each.append(4, rule)
    one.truncate(1)
    other.append(1, "Another cache was truncated, not this one.", length=True)
    one.append(2, rule, length=True)
    expect(one.call("truncate", 2) is None).is_true(cause="`truncate` returns nothing.")


@cache.stage("refused", points=0.5, after="truncate")
def test_a_length_that_is_not_there_is_refused(student, rng):
    rule = "`truncate(n)` raises a ValueError for an n below 0 or above `length`."
    for room, length, wrong in (
        (6, 3, (7, 4, 6, -1, -3, 300)),
        (4, 4, (5, -4, -1)),
        (3, 0, (1, -1, 3)),
        (5, 1, (2, 5, -1)),
    ):
        beside = Beside(student, rng, 1, 2, room, 2)
        if length:
            beside.append(length, "`append` returns all so far.")
        for n in wrong:
            beside.refuses(("truncate", n), rule)
            beside.says_length()
        if length > 1:
            beside.truncate(length - 1)
            beside.refuses(("truncate", length), f"{rule} What was taken back is no longer there.")
        beside.append(1, STAYS, length=True)


cached_generate = exercise(
    "12.cached_generate",
    function="cached_generate",
    points=6,
    see=f"{BOOK}/cache#by-hand",
    withhold=OURS | LIBRARIES,
)
MODULUS = 1_000_003


class Reader:
    """A model with a cache, for `step`: what it says hangs on every token that it holds, and on
    their places if it looks at them.

    A call with several tokens begins a text anew; a single token is put behind the others, or at
    its place, and what stood there and behind is gone. `read` has each call as (number of tokens,
    start), `plain` whether they were ints.
    """

    def __init__(self, rows: torch.Tensor, by_place: bool):
        self.rows, self.by_place, self.held, self.read = (
            rows,
            by_place,
            [],
            [],
        )  # held: place and key of each token
        self.plain = True  # ids a list of ints, start an int, so far

    def __call__(self, ids: object, start: object) -> torch.Tensor:
        self.plain = (
            self.plain
            and isinstance(ids, list)
            and all(isinstance(one, Integral) for one in (*ids, start))
        )
        try:
            tokens = [int(one) for one in ids]
        except TypeError:  # a single token that is not in a list
            tokens = [int(ids)]
        start = int(start)
        if len(tokens) > 1:
            self.held = []
        self.read.append((len(tokens), start))
        first = start if self.by_place else len(self.held)
        self.held = (
            self.held
            if not self.held or self.held[-1][0] < first
            else [one for one in self.held if one[0] < first]
        )
        keys = []
        for place, token in enumerate(tokens, first):
            keys.append(mixed(self.held[-1][1] if self.held else 0, token, place * self.by_place))
            self.held.append((place, keys[-1]))
        return self.rows[[key % len(self.rows) for key in keys]]


def mixed(key: int, token: int, place: int) -> int:
    """A number for a text that is one token longer."""
    return (key * 31 + (token + 1) * 17 + (place + 1) * 1009) % MODULUS


def written(rows: torch.Tensor, prompt: list[int], n: int, by_place: bool) -> list[int]:
    """The right tokens: the whole text, token after token, with no cache at all."""
    new, key = [], 0
    for place in range(len(prompt) + n):
        if place >= len(prompt):
            row = rows[key % len(rows)].tolist()
            new.append(row.index(max(row)))
        key = mixed(key, (prompt + new)[place], place * by_place)
    return new


def ask(
    student,
    rows: torch.Tensor,
    prompt: list[int],
    n: int,
    cause: str,
    by_place: bool = True,
    whole_list: bool = False,
) -> Reader:
    """Compare the tokens; whole_list: and that there are n of them. What was read comes back."""
    reader = Reader(rows, by_place)
    given = f"{len(prompt)} tokens in the prompt, n = {n}"
    asked = (Watched(reader, calls=2 * n + len(prompt) + 4), prompt, n)
    # `more` says that this call is not to be put to anybody again: the model keeps what it has
    # read.
    came = expect(
        student.ask(
            "call", "cached_generate", "cached_generate", args=asked, more={"count": False}
        ).value,
        given=given,
    ).is_a(list)
    expect(
        came if whole_list else came[:n], "Your list" if whole_list else "Your list up to n", given
    ).equals(written(rows, prompt, n, by_place), cause=cause)
    return reader


def prompts(rng, entries: int, *lengths: int) -> list[list[int]]:
    """A prompt of each length."""
    return [counts(rng, 0, entries - 1, length).tolist() for length in lengths]


def nearly_equal(rows: torch.Tensor, size: float, behind: bool) -> torch.Tensor:
    """Rows in which the second largest is the neighbour of the largest: in float32, and in its
    place, behind it or before.
    """
    best = rows[:, 1:-1].argmax(1, keepdim=True) + 1
    largest = torch.nextafter(torch.tensor(size), torch.tensor(torch.inf))
    return (
        (rows - rows.max() + size - 1)
        .scatter(1, best, largest.item())
        .scatter(1, best + (1 if behind else -1), size)
    )


@cached_generate.stage("first", points=1.5)
def test_the_first_new_token_comes_after_the_whole_prompt(student, rng):
    rule = (
        "The first new token: give `step` the whole prompt, with start 0, and take the largest"
        " logit of the last of its rows."
    )
    for entries in (300, 2, 3, 9, 40, whole(rng, 5, 30)):
        for prompt in prompts(rng, entries, 1, 2, 5, 40):
            ask(student, uneven(rng, 997, entries), prompt, 1, rule)
    rows = uneven(rng, 997, 20)
    for moved in (
        rows - 500,
        rows + 500,
        100 * (rows - rows.max() - 500),
        torch.where(rows == rows.amax(1, keepdim=True), -300.0, -torch.inf),
        rows / 100,
        500 + rows / 100,
    ):
        ask(
            student,
            moved,
            [4, 1, 2],
            1,
            f"{rule} All logits may be below 0, or large, or minus infinity but for one, or close"
            " together.",
        )
    for behind in (False, True):
        for size in (7.25, -300.0, 0.001):
            for prompt in ([4, 1, 2], [3]):
                ask(
                    student,
                    nearly_equal(rows, size, behind),
                    prompt,
                    1,
                    f"{rule} It may be the largest by the last digit of float32 only.",
                )
    for prompt in ([1, 2, 3], [2, 1, 3], [1, 2, 4], [1, 2], [300, 16_777_217]):
        ask(
            student,
            rows,
            prompt,
            1,
            f"{rule} Each token of the prompt counts, and ids may be large.",
        )


@cached_generate.stage("text", points=1.5, after="first")
def test_each_new_token_is_read_before_the_next(student, rng):
    rule = (
        "Each new token is computed before the next one is chosen: the model caches what came"
        " before it. Positions are not checked here."
    )
    for entries, length, n in (
        (5, 1, 4),
        (5, 3, 6),
        (40, 6, 5),
        (2, 4, 12),
        (300, 2, 30),
        (7, 40, 2),
        (whole(rng, 5, 20), whole(rng, 2, 9), 9),
    ):
        ask(
            student,
            uneven(rng, 997, entries),
            prompts(rng, entries, length)[0],
            n,
            rule,
            by_place=False,
        )


@cached_generate.stage("positions", points=1.5, after="text")
def test_each_token_is_read_at_its_own_place(student, rng):
    rule = (
        "`start` is the position of the first token in `ids`, counted from 0: 0 for the prompt, P"
        " for the first new token, P + 1 for the next. It grows by the number of tokens that were"
        " read in the call before."
    )
    for entries, length, n in (
        (5, 1, 4),
        (5, 4, 3),
        (40, 6, 5),
        (3, 2, 12),
        (300, 3, 30),
        (7, 40, 5),
        (whole(rng, 5, 20), whole(rng, 2, 9), 9),
    ):
        ask(student, uneven(rng, 997, entries), prompts(rng, entries, length)[0], n, rule)
    ask(
        student,
        uneven(rng, 997, 3),
        prompts(rng, 3, 300)[0],
        20,
        f"{rule} A prompt may have 300 tokens.",
    )
    ask(student, uneven(rng, 997, 50), [7], 100, f"{rule} There may be many new tokens.")


@cached_generate.stage("number", points=0.5, after="first")
def test_there_are_n_new_tokens(student, rng):
    rows = uneven(rng, 997, 12)
    for length, n in ((1, 1), (3, 1), (2, 2), (5, 4), (4, 5), (30, 3), (3, 30), (2, 300)):
        ask(
            student,
            rows,
            prompts(rng, 12, length)[0],
            n,
            "The list has the n new tokens, no token of the prompt, none too many and none too"
            " few.",
            whole_list=True,
        )
    for prompt in prompts(rng, 12, 1, 7):
        reader = ask(student, rows, prompt, 0, "With n = 0 the list is empty.", whole_list=True)
        expect(len(reader.read) == 0).is_true(cause=("With n = 0 `step` is not called."))
    ask(
        student,
        torch.zeros(5, 1),
        [0, 0],
        3,
        "With one entry in the vocabulary there is nothing to choose: it comes each time.",
        whole_list=True,
    )


@cached_generate.stage("work", points=1, after="positions")
def test_each_token_is_read_once(student, rng):
    rule = (
        "The whole prompt in the first call, then one token a call, the last new one never: n"
        " calls, and P + n - 1 tokens in all. A cache that is given the whole text again saves"
        " nothing."
    )
    rows = uneven(rng, 997, 12)
    reader = ask(student, rows, prompts(rng, 12, 2)[0], 3, rule)
    expect(reader.plain).is_true(
        cause=(
            "`step` takes a list of ints and an int: no tuple, no tensor, and no tensor inside a"
            " list."
        )
    )
    # Such an order that mistakes fail after different numbers of calls, and can be told apart.
    for length, n in (
        (1, 1),
        (1, 5),
        (4, 1),
        (4, 3),
        (2, 9),
        (40, 8),
        (300, 2),
        (3, 60),
        (whole(rng, 2, 9), whole(rng, 2, 9)),
    ):
        reader = ask(student, rows, prompts(rng, 12, length)[0], n, rule)
        wanted = [(length, 0)] + [(1, length + place) for place in range(n - 1)]
        expect(reader.read == wanted).is_true(
            cause=rule,
            detail=(
                f"{length} tokens in the prompt, n = {n}, read as (tokens, start):"
                f" {reader.read[:6]}, and {len(reader.read)} calls in all"
            ),
        )
