"""Plausible wrong solutions of chapter 12, part 3."""

import torch

from autograder.checks.mistakes.registry import mistake

CACHE, WRITE = "12.KVCache", "12.cached_generate"


class Kept:
    """A right cache, for mistakes to change."""

    def __init__(self, B, K, room, D):
        self.keys, self.values = torch.zeros(B, K, room, D), torch.zeros(B, K, room, D)
        self.room, self.length = room, 0

    def check(self, end):
        if end > self.room:
            raise ValueError("full")

    def write(self, k, v, end):
        self.keys[:, :, self.length : end], self.values[:, :, self.length : end] = k, v

    def given(self):
        return self.keys[:, :, : self.length], self.values[:, :, : self.length]

    def append(self, k, v):
        end = self.length + k.shape[2]
        self.check(end)
        self.write(k, v, end)
        self.length = end
        return self.given()

    def truncate(self, n):
        if not 0 <= n <= self.length:
            raise ValueError("not there")
        self.length = n


@mistake(
    CACHE,
    "with-the-empty-room",
    caught_by="one-by-one",
    loses=8,
    misconception=(
        "`append` returns the whole buffer with its empty part. It returns only the tokens so far."
    ),
)
class WholeRoom(Kept):
    def given(self):
        return self.keys, self.values


@mistake(
    CACHE,
    "new-only",
    caught_by="one-by-one",
    loses=8,
    misconception="`append` returns only the new tokens. It returns all so far.",
)
class NewOnly(Kept):
    def append(self, k, v):
        super().append(k, v)
        return k, v


@mistake(
    CACHE,
    "overwrites",
    caught_by="one-by-one",
    loses=8,
    misconception="Each append writes at position 0. It must append to what is there.",
)
class Overwrites(Kept):
    def write(self, k, v, end):
        self.keys[:, :, : k.shape[2]], self.values[:, :, : k.shape[2]] = k, v


@mistake(
    CACHE,
    "newest-first",
    caught_by="one-by-one",
    loses=8,
    misconception="You put new tokens before the others. They come after them.",
)
class NewestFirst(Kept):
    def write(self, k, v, end):
        self.keys[:, :, :end] = torch.cat((k, self.keys[:, :, : self.length]), 2)
        self.values[:, :, :end] = torch.cat((v, self.values[:, :, : self.length]), 2)


@mistake(
    CACHE,
    "values-are-keys",
    caught_by="one-by-one",
    loses=8,
    misconception="You return the keys twice. The second are the values.",
)
class ValuesAreKeys(Kept):
    def given(self):
        return self.keys[:, :, : self.length], self.keys[:, :, : self.length]


@mistake(
    CACHE,
    "before-the-new",
    caught_by="one-by-one",
    loses=8,
    misconception="`append` returns the tokens before the call. The new ones belong to them.",
)
class BeforeTheNew(Kept):
    def append(self, k, v):
        before = self.length
        super().append(k, v)
        return self.keys[:, :, :before], self.values[:, :, :before]


@mistake(
    CACHE,
    "length-plus-one",
    caught_by="many",
    loses=6,
    misconception="`length` grows by 1 whatever comes. It grows by the number of new tokens.",
)
class PlusOne(Kept):
    def append(self, k, v):
        end = self.length + k.shape[2]
        self.check(end)
        self.write(k, v, end)
        self.length += 1
        return self.keys[:, :, :end], self.values[:, :, :end]


@mistake(
    CACHE,
    "last-of-many",
    caught_by="many",
    loses=6,
    misconception="You keep only the last of several new tokens.",
)
class LastOfMany(Kept):
    def append(self, k, v):
        return super().append(k[:, :, -1:], v[:, :, -1:])


@mistake(
    CACHE,
    "along-the-heads",
    caught_by="one-by-one",
    loses=7.6,
    misconception="You concatenate along the heads. Tokens are the third axis.",
)
class AlongHeads(Kept):
    def append(self, k, v):
        self.check(self.length + k.shape[2])
        self.keys, self.values = (
            torch.cat((old, new), 1) if self.length else new
            for old, new in ((self.keys, k), (self.values, v))
        )
        self.length += k.shape[2]
        return self.keys, self.values


@mistake(
    CACHE,
    "one-text",
    caught_by="texts",
    loses=4.5,
    misconception="You store the first sequence for all. Each has its own keys and values.",
)
class OneText(Kept):
    def write(self, k, v, end):
        super().write(k[:1], v[:1], end)


@mistake(
    CACHE,
    "one-head",
    caught_by="texts",
    loses=4.5,
    misconception="You store the first head for all. Each has its own keys and values.",
)
class OneHead(Kept):
    def write(self, k, v, end):
        super().write(k[:, :1], v[:, :1], end)


@mistake(
    CACHE,
    "shared",
    caught_by="one-by-one",
    loses=8,
    remembers=True,
    misconception="All caches share one length, which belongs to the class. Each has its own.",
)
def shared():
    """A class whose caches count together."""
    known = [0]

    class Shared(Kept):
        def __init__(self, *sizes):
            super().__init__(*sizes)
            self.length = known[0]

        def append(self, k, v):
            found = super().append(k, v)
            known[0] = self.length
            return found

    return Shared


@mistake(
    CACHE,
    "never-full",
    caught_by="full",
    loses=1.5,
    misconception="You do not check the room: the cache takes more tokens than fit.",
)
class NeverFull(Kept):
    def __init__(self, B, K, room, D):
        super().__init__(B, K, 3 * room + 300, D)


@mistake(
    CACHE,
    "full-too-early",
    caught_by="one-by-one",
    loses=8,
    misconception="You refuse tokens that fit exactly.",
)
class FullTooEarly(Kept):
    def check(self, end):
        if end >= self.room:
            raise ValueError("full")


@mistake(
    CACHE,
    "takes-what-fits",
    caught_by="full",
    loses=1.5,
    misconception="Of too many tokens you keep those that fit. Store none of them.",
)
class TakesWhatFits(Kept):
    def append(self, k, v):
        fits = self.room - self.length
        found = super().append(k[:, :, :fits], v[:, :, :fits])
        if fits < k.shape[2]:
            raise ValueError("full")
        return found


@mistake(
    CACHE,
    "length-before-the-check",
    caught_by="full",
    loses=1.5,
    misconception=(
        "You increase `length` before you check the room. After an error everything must be as"
        " before."
    ),
)
class LengthFirst(Kept):
    def append(self, k, v):
        start, self.length = self.length, self.length + k.shape[2]
        self.check(self.length)
        self.keys[:, :, start : self.length], self.values[:, :, start : self.length] = k, v
        return self.given()


@mistake(
    CACHE,
    "another-error",
    caught_by="full",
    loses=1.5,
    misconception="A full cache raises an error other than a ValueError.",
)
class AnotherError(Kept):
    def check(self, end):
        if end > self.room:
            raise IndexError("full")


@mistake(
    CACHE,
    "rolls",
    caught_by="full",
    loses=1.5,
    misconception="A full cache forgets its oldest tokens. It refuses the new ones.",
)
class Rolls(Kept):
    def append(self, k, v):
        keys, values = (
            torch.cat((old, new), 2)[:, :, -self.room :] for old, new in zip(self.given(), (k, v))
        )
        self.length = keys.shape[2]
        self.keys[:, :, : self.length], self.values[:, :, : self.length] = keys, values
        return self.given()


@mistake(
    CACHE,
    "truncates-nothing",
    caught_by="truncate",
    loses=2,
    misconception=("`truncate` forgets nothing: what is appended next comes after the old end."),
)
class TruncatesNothing(Kept):
    def truncate(self, n):
        if not 0 <= n <= self.length:
            raise ValueError("not there")


@mistake(
    CACHE,
    "keeps-the-last",
    caught_by="truncate",
    loses=2,
    misconception="`truncate(n)` keeps the last n tokens. It keeps the first.",
)
class KeepsTheLast(Kept):
    def truncate(self, n):
        start, old = self.length - n, self.given()
        super().truncate(n)
        self.keys[:, :, :n], self.values[:, :, :n] = (one[:, :, start:].clone() for one in old)


@mistake(
    CACHE,
    "forgets-n",
    caught_by="truncate",
    loses=2,
    misconception="`truncate(n)` forgets n tokens. It keeps n.",
)
class ForgetsN(Kept):
    def truncate(self, n):
        super().truncate(self.length - n)


@mistake(
    CACHE,
    "truncate-takes-all",
    caught_by="refused",
    loses=0.5,
    misconception="`truncate` takes any n, also one above `length` or below 0.",
)
class TakesAll(Kept):
    def truncate(self, n):
        self.length = min(max(n, 0), self.length)


@mistake(
    CACHE,
    "what-was-there-comes-back",
    caught_by="refused",
    loses=0.5,
    misconception=(
        "`truncate` takes an n above `length`, as far as there is room, so forgotten tokens come"
        " back."
    ),
)
class ComesBack(Kept):
    def truncate(self, n):
        if not 0 <= n <= self.room:
            raise ValueError("not there")
        self.length = n


@mistake(
    CACHE,
    "truncate-returns-itself",
    caught_by="truncate",
    loses=2,
    misconception="`truncate` returns something. It returns None.",
)
class ReturnsLength(Kept):
    def truncate(self, n):
        super().truncate(n)
        return self.length


@mistake(
    CACHE,
    "in-one-piece",
    caught_by="texts",
    loses=1,
    misconception=("You use `view` on an argument, which fails for a transpose. Use `reshape`."),
)
class InOnePiece(Kept):
    def write(self, k, v, end):
        super().write(k.view(-1).view(k.shape), v.view(-1).view(v.shape), end)


@mistake(
    CACHE,
    "list-of-two",
    caught_by="one-by-one",
    loses=1.6,
    misconception="`append` returns a list. A tuple was asked for.",
)
class ListOfTwo(Kept):
    def given(self):
        return list(super().given())


@mistake(
    CACHE,
    "negative-taken",
    caught_by="refused",
    loses=0.5,
    misconception=(
        "`truncate` takes an n below 0. It must raise a ValueError, as for an n above `length`."
    ),
)
class NegativeTaken(Kept):
    def truncate(self, n):
        if n > self.length:
            raise ValueError("not there")
        self.length = n


@mistake(
    CACHE,
    "zero-refused",
    caught_by="truncate",
    loses=2,
    misconception="`truncate(0)` raises. n can be 0: nothing is kept.",
)
class ZeroRefused(Kept):
    def truncate(self, n):
        if n == 0:
            raise ValueError("nothing left")
        super().truncate(n)


@mistake(
    CACHE,
    "length-refused",
    caught_by="truncate",
    loses=2,
    misconception="`truncate` raises for n equal to `length`. That n keeps everything.",
)
class LengthRefused(Kept):
    def truncate(self, n):
        if n == self.length:
            raise ValueError("nothing to forget")
        super().truncate(n)


@mistake(
    CACHE,
    "shared-lists",
    caught_by="one-by-one",
    loses=8,
    remembers=True,
    misconception=(
        "All caches share the keys and values, which belong to the class. Create them in"
        " `__init__`."
    ),
)
def shared_lists():
    """A class whose caches hold their keys and values together."""
    keys, values = [], []

    class SharedLists(Kept):
        def append(self, k, v):
            self.check(self.length + k.shape[2])
            keys.append(k)
            values.append(v)
            self.length += k.shape[2]
            return torch.cat(keys, 2), torch.cat(values, 2)

        def truncate(self, n):
            super().truncate(n)
            for all_of in (keys, values):
                all_of[:] = [torch.cat(all_of, 2)[:, :, :n]] if all_of else []

    return SharedLists


@mistake(
    CACHE,
    "counts-appends",
    caught_by="length",
    loses=5,
    misconception="`length` counts the calls of `append`. It counts tokens.",
)
class CountsAppends(Kept):
    def append(self, k, v):
        so_far = getattr(self, "so_far", 0)
        end = so_far + k.shape[2]
        self.check(end)
        self.keys[:, :, so_far:end], self.values[:, :, so_far:end] = k, v
        self.so_far, self.length = end, self.length + 1
        return self.keys[:, :, :end], self.values[:, :, :end]

    def truncate(self, n):
        super().truncate(n)
        self.so_far = min(n, getattr(self, "so_far", 0))


@mistake(
    CACHE,
    "tensors-not-cut",
    caught_by="truncate",
    loses=2,
    misconception=(
        "`truncate` changes `length` but leaves the keys and values, so what is appended next comes"
        " after the forgotten tokens."
    ),
)
class TensorsNotCut(Kept):
    def __init__(self, B, K, room, D):
        super().__init__(B, K, 0, D)
        self.room = room

    def append(self, k, v):
        self.check(self.length + k.shape[2])
        self.keys, self.values = torch.cat((self.keys, k), 2), torch.cat((self.values, v), 2)
        self.length += k.shape[2]
        return self.keys, self.values


def _written(
    step,
    prompt,
    n,
    read=lambda prompt, new: new[-1:],
    start=lambda P, made: P + made - 1,
    pick=lambda rows: rows[-1].argmax(),
    rounds=0,
):
    """The loop with one part replaced; `made` is the number of new tokens so far."""
    new = []
    for made in range(n + rounds):
        rows = step(read(prompt, new), start(len(prompt), made)) if made else step(prompt, 0)
        new.append(int(pick(rows)))
    return new


@mistake(
    WRITE,
    "first-row",
    caught_by="first",
    loses=6,
    misconception=(
        "You choose from the first token's logits. The last token's logits predict the next one."
    ),
)
def _(step, prompt, n):
    return _written(step, prompt, n, pick=lambda rows: rows[0].argmax())


@mistake(
    WRITE,
    "flat",
    caught_by="first",
    loses=6,
    misconception=(
        "You take the largest logit of all rows. Only the last row predicts the next token."
    ),
)
def _(step, prompt, n):
    return _written(step, prompt, n, pick=lambda rows: rows.argmax() % rows.shape[1])


@mistake(
    WRITE, "least-likely", caught_by="first", loses=6, misconception="You take the smallest logit."
)
def _(step, prompt, n):
    return _written(step, prompt, n, pick=lambda rows: rows[-1].argmin())


@mistake(
    WRITE,
    "first-lost",
    caught_by="first",
    loses=6,
    misconception="The first new token, which the prompt's call gives, is missing from your list.",
)
def _(step, prompt, n):
    return _written(step, prompt, n, rounds=1)[1:]


@mistake(
    WRITE,
    "last-of-the-prompt-first",
    caught_by="first",
    loses=6,
    misconception="You pass only the last token of the prompt.",
)
def _(step, prompt, n):
    new = []
    for made in range(n):
        new.append(int(step(([prompt[-1]] + new)[-1:], len(prompt) - 1 + made)[-1].argmax()))
    return new


@mistake(
    WRITE,
    "prompt-again",
    caught_by="text",
    loses=4.5,
    misconception="You pass the prompt again each time, and never the new tokens.",
)
def _(step, prompt, n):
    return _written(step, prompt, n, read=lambda prompt, new: prompt, start=lambda P, made: 0)


@mistake(
    WRITE,
    "first-new-token-not-read",
    caught_by="text",
    loses=4.5,
    misconception=(
        "You pass the prompt's last token twice, so every new token is read one round late."
    ),
)
def _(step, prompt, n):
    return _written(step, prompt, n, read=lambda prompt, new: (prompt + new)[-2:-1])


@mistake(
    WRITE,
    "one-too-far",
    caught_by="positions",
    loses=3,
    misconception=(
        "Your new tokens are one position too far: the first is at position P, right after the"
        " prompt."
    ),
)
def _(step, prompt, n):
    return _written(step, prompt, n, start=lambda P, made: P + made)


@mistake(
    WRITE,
    "one-too-near",
    caught_by="positions",
    loses=3,
    misconception="Your new tokens are one position too early, at the last token of the prompt.",
)
def _(step, prompt, n):
    return _written(step, prompt, n, start=lambda P, made: P + made - 2)


@mistake(
    WRITE,
    "grows-by-the-prompt",
    caught_by="positions",
    loses=3,
    misconception=(
        "`start` grows by the whole prompt in each step. It grows by the number of tokens that were"
        " read."
    ),
)
def _(step, prompt, n):
    return _written(step, prompt, n, start=lambda P, made: P * made)


@mistake(
    WRITE,
    "stays-at-the-prompt",
    caught_by="positions",
    loses=3,
    misconception="`start` stays at P. It grows by one with each new token.",
)
def _(step, prompt, n):
    return _written(step, prompt, n, start=lambda P, made: P)


@mistake(
    WRITE, "always-at-zero", caught_by="positions", loses=3, misconception="`start` is always 0."
)
def _(step, prompt, n):
    return _written(step, prompt, n, start=lambda P, made: 0)


@mistake(
    WRITE,
    "prompt-at-one",
    caught_by="first",
    loses=6,
    misconception="Your positions start at 1. The first token is at position 0.",
)
def _(step, prompt, n):
    new, unread, start = [], prompt, 1
    for _ in range(n):
        row = step(unread, start)[-1]
        start, unread = start + len(unread), [int(row.argmax())]
        new += unread
    return new


@mistake(
    WRITE,
    "whole-text",
    caught_by="work",
    loses=1,
    misconception=("You pass the whole text again each time, so the cache saves nothing."),
)
def _(step, prompt, n):
    return _written(step, prompt, n, read=lambda prompt, new: prompt + new, start=lambda P, made: 0)


@mistake(
    WRITE,
    "prompt-token-by-token",
    caught_by="work",
    loses=1,
    misconception="You pass the prompt token by token. It goes into the first call as a whole.",
)
def _(step, prompt, n):
    new = []
    for place, token in enumerate(prompt if n else []):
        row = step([token], place)[-1]
    for made in range(n):
        new.append(int(row.argmax()))
        row = step(new[-1:], len(prompt) + made)[-1] if made < n - 1 else None
    return new


@mistake(
    WRITE,
    "tensors-read",
    caught_by="work",
    loses=1,
    misconception=(
        "You pass `step` something other than a list of ints, such as a tensor or a bare number."
    ),
)
def _(step, prompt, n):
    return _written(lambda ids, start: step(torch.tensor(ids), start), prompt, n)


@mistake(
    WRITE,
    "nearly-largest",
    caught_by="first",
    loses=3.5,
    misconception=("You take the first logit that is nearly the largest. Compare them exactly."),
)
def _(step, prompt, n):
    return _written(
        step, prompt, n, pick=lambda rows: (rows[-1] >= rows[-1].max() - 1e-5).nonzero()[0]
    )


@mistake(
    WRITE,
    "last-read-too",
    caught_by="number",
    loses=1.5,
    misconception=(
        "You pass the last new token to `step` too, although nothing after it is asked for."
    ),
)
def _(step, prompt, n):
    new, unread, start = [], prompt, 0
    row = step(unread, start)[-1]
    for _ in range(n):
        start += len(unread)
        unread = [int(row.argmax())]
        new += unread
        row = step(unread, start)[-1]
    return new


@mistake(
    WRITE,
    "one-too-many",
    caught_by="number",
    loses=1.5,
    misconception="You return one token too many.",
)
def _(step, prompt, n):
    return _written(step, prompt, n, rounds=1)


@mistake(
    WRITE,
    "with-the-prompt",
    caught_by="first",
    loses=6,
    misconception="You return the prompt too. Return only the new tokens.",
)
def _(step, prompt, n):
    return prompt + _written(step, prompt, n)


@mistake(
    WRITE,
    "prompt-read-for-nothing",
    caught_by="number",
    loses=0.5,
    misconception="With n = 0 you call `step` all the same.",
)
def _(step, prompt, n):
    return _written(step, prompt, n) if n else [] if step(prompt, 0) is not None else []


@mistake(
    WRITE,
    "callers-list",
    caught_by="first",
    loses=1.2,
    misconception="You append to the caller's list.",
)
def _(step, prompt, n):
    unread, start, P = list(prompt), 0, len(prompt)
    for _ in range(n):
        row = step(unread, start)[-1]
        start, unread = start + len(unread), [int(row.argmax())]
        prompt += unread
    return prompt[P:]


@mistake(
    WRITE,
    "last-read-unless-none",
    caught_by="work",
    loses=1,
    misconception=(
        "You pass the last new token to `step` too: n + 1 calls. Nothing after it is asked for."
    ),
)
def _(step, prompt, n):
    return _written(step, prompt, n, rounds=1)[:n] if n else []


@mistake(
    WRITE,
    "counts-rounds",
    caught_by="positions",
    loses=3,
    misconception=(
        "`start` counts your rounds. It is the position in the text, so the prompt counts as well."
    ),
)
def _(step, prompt, n):
    return _written(step, prompt, n, start=lambda P, made: made)


@mistake(
    WRITE,
    "stops-at-zero",
    caught_by="text",
    loses=4.5,
    misconception="You stop at token 0. No token ends the text early.",
)
def _(step, prompt, n):
    new, unread, start = [], prompt, 0
    for _ in range(n):
        new.append(int(step(unread, start)[-1].argmax()))
        if new[-1] == 0:
            break
        start, unread = start + len(unread), new[-1:]
    return new
