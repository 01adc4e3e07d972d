"""A choice among given answers: after each token only those may follow that lead to one
of them.

The model can't say anything else, whatever its logits; among the answers it chooses as
it likes. Not the same as the likeliest answer (see `scoring`): token by token a good
beginning may lead to a bad end.

Willard and Louf 2023, section 3, do the same for regular expressions, with an automaton
in the place of the trie.

Not here: regular expressions, JSON.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from torch import nn

from reference_impl.generation.loop import generate
from reference_impl.generation.sampling_params import GenerationError, SamplingParams


class Trie:
    """Answers as paths of ids, each ended by `end_id`, which lets one answer begin
    another.
    """

    def __init__(self, choices: Iterable[Sequence[int]], end_id: int):
        self.end_id, self._root = end_id, {}
        for number, choice in enumerate(choices):
            if len(choice) == 0 or end_id in choice:
                raise GenerationError(
                    f"choice {number} is {list(choice)}: give at least one id, and not"
                    f" the end token's, {end_id}"
                )
            node = self._root
            for token in [*choice, end_id]:
                node = node.setdefault(token, {})
        if not self._root:
            raise GenerationError("there are no choices: give at least one list of ids")

    def allowed(self, output: Sequence[int]) -> list[int]:
        """The ids that may follow.

        After the end token comes the end token; GenerationError off every path.
        """
        node = self._root
        for place, token in enumerate(output):
            if token == self.end_id and place and not node.get(token, {None: None}):
                return [self.end_id]
            if token not in node:
                raise GenerationError(
                    f"no choice goes on from {list(output[:place])} with {token}"
                )
            node = node[token]
        return sorted(node)


def choose(
    model: nn.Module,
    prompt: Sequence[int],
    choices: Sequence[Sequence[int]],
    end_id: int,
    params: SamplingParams = SamplingParams(temperature=0),
) -> int:
    """Which of the choices the model writes after the prompt: its index.

    Of `params`, lengths and ends are set here.
    """
    trie = Trie(choices, end_id)
    free = replace(
        params,
        max_tokens=1 + max(map(len, choices)),
        min_tokens=0,
        stop=(),
        stop_token_ids=(),
        ignore_eos=False,
        n=1,
        logprobs=None,
    )
    found = generate(model, [prompt], free, eos_ids=[end_id], allowed=trie.allowed)[
        0
    ].ids
    return [list(choice) for choice in choices].index(found[:-1])
