"""Differently written correct solutions of chapter 12, part 3."""

from typing import NamedTuple

import torch

from autograder.checks.mistakes.registry import alternative


@alternative("12.KVCache", "growing")
class Growing:
    """Concatenates, and counts what it has."""

    def __init__(self, B, K, room, D):
        self.room, self.kept = room, (torch.empty(B, K, 0, D), torch.empty(B, K, 0, D))

    @property
    def length(self):
        return self.kept[0].shape[2]

    def append(self, k, v):
        if self.length + k.shape[2] > self.room:
            raise ValueError("full")
        self.kept = tuple(torch.cat((old, new), dim=2) for old, new in zip(self.kept, (k, v)))
        return self.kept

    def truncate(self, n):
        if n < 0 or n > self.length:
            raise ValueError(n)
        self.kept = tuple(one[:, :, :n] for one in self.kept)


@alternative("12.KVCache", "one-tensor-for-both")
class Both:
    """Keys and values in one tensor, tokens along the last axis but one."""

    def __init__(self, B, K, room, D):
        self.both, self.length = torch.full((2, B, K, room, D), float("nan")), 0

    def append(self, k, v):
        new = torch.stack((k, v))
        if self.length + new.size(3) > self.both.size(3):
            raise ValueError(f"no room for {new.size(3)} more")
        self.both.narrow(3, self.length, new.size(3)).copy_(new)
        self.length += new.size(3)
        keys, values = self.both[..., : self.length, :].clone()
        return keys, values

    def truncate(self, n):
        if n not in range(self.length + 1):
            raise ValueError(n)
        self.length = n


class Pair(NamedTuple):
    """What `append` returns: a tuple of two with names."""

    keys: torch.Tensor
    values: torch.Tensor


@alternative("12.KVCache", "tokens-in-front")
class TokensInFront:
    """One buffer whose first axis is the tokens, so that a step writes one piece of memory; what
    comes back are views.
    """

    def __init__(self, B, K, room, D):
        self.buffer, self.length = torch.full((room, 2, B, K, D), float("nan")), 0

    def append(self, k, v):
        T = k.shape[2]
        if self.length + T > len(self.buffer):
            raise ValueError(T)
        self.buffer[self.length : self.length + T] = torch.stack((k, v)).permute(3, 0, 1, 2, 4)
        self.length += T
        return Pair(*self.buffer[: self.length].permute(1, 2, 3, 0, 4))

    def truncate(self, n):
        if not 0 <= n <= self.length:
            raise ValueError(n)
        self.length = n


@alternative("12.KVCache", "lists-of-tokens")
class Lists:
    """A list with a pair for each token."""

    def __init__(self, B, K, room, D):
        self.tokens, self.room = [], room

    length = property(lambda self: len(self.tokens))

    def append(self, k, v):
        new = list(zip(k.unbind(2), v.unbind(2)))
        if len(self.tokens) + len(new) > self.room:
            raise ValueError("too many")
        self.tokens.extend(new)
        return tuple(torch.stack(part, 2) for part in zip(*self.tokens))

    def truncate(self, n):
        if not 0 <= n <= len(self.tokens):
            raise ValueError("too many or too few")
        del self.tokens[n:]


@alternative("12.cached_generate", "prefill-then-steps")
def _(step, prompt, n):
    if n == 0:
        return []
    new = [step(list(prompt), 0)[-1].argmax().item()]
    while len(new) < n:
        new.append(step([new[-1]], len(prompt) + len(new) - 1)[0].argmax().item())
    return new


@alternative("12.cached_generate", "text-and-place")
def _(step, prompt, n):
    text, read = [*prompt], 0
    while len(text) < len(prompt) + n:
        scores = step(text[read:], read)[-1].tolist()
        read = len(text)
        text.append(max(range(len(scores)), key=scores.__getitem__))
    return text[len(prompt) :]


@alternative("12.cached_generate", "recursion")
def _(step, prompt, n):
    def after(unread, start, left):
        if left == 0:
            return []
        token = int(step(unread, start)[-1].topk(1).indices)
        return [token] + after([token], start + len(unread), left - 1)

    return after(prompt, 0, n)
