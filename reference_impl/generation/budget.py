"""Budget forcing: how many tokens a model may, and must, spend on thinking.

Muennighoff et al. 2025 (s1), section 3: a model that wants to stop thinking too early
has its end token removed and a nudge such as "Wait" put in its place; a model that
thinks too long has the end token put after its text. Then it answers.

Takes a function: what a model writes is the caller's. Not here: the answer itself, a
reward for short thinking.
"""

from collections.abc import Callable, Sequence

from reference_impl.generation.sampling_params import GenerationError

Write = Callable[[list[int], int], Sequence[int]]


def forced_thinking(
    write: Write, end_id: int, most: int, nudge: Sequence[int] = (), nudges: int = 0
) -> list[int]:
    """At most `most` tokens of thinking, nudges included, and then the end token.

    `write(thinking, room)` continues what was thought so far by 1 to `room` ids, the
    last of them `end_id` if the model ends there. Each of the first `nudges` ends is
    replaced by `nudge`.
    """
    if most < 1 or nudges and not nudge:
        raise GenerationError(
            f"most is {most} and nudge {list(nudge)}: give 1 or more tokens, and a"
            " nudge if there are nudges"
        )
    thinking: list[int] = []
    while len(thinking) < most:
        thinking += write(thinking, most - len(thinking))
        if thinking[-1] != end_id:  # the budget is spent
            break
        thinking.pop()
        if nudges == 0:
            break
        thinking += nudge
        nudges -= 1
    return [*thinking[:most], end_id]
