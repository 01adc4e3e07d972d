"""Supervised fine-tuning: learn the answer, not the question.

Ouyang et al. 2022, section 3.1, step 1; Wei et al. 2022, section 2. The loss is that of
`causal_lm`; the labels leave out all that a user or the system says. A conversation is
laid out as ChatML (OpenAI 2023), one block a message, with two special tokens as
brackets:

    <|im_start|>user
    What is 2 + 2?<|im_end|>
    <|im_start|>assistant
    4<|im_end|>

Learned of this: "4<|im_end|>", in every turn of the assistant. The end is learned too,
or no answer would stop.

Roles and contents are tokenised one by one, and the brackets are put between as ids.
What a user writes can then not close a message and open one of another role, whatever
characters it has, if `encode` makes no special tokens.

Not here: templates in Jinja, as published models carry them (see `tokenizers.chat`),
packing conversations.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from reference_impl.objectives.batches import (
    Batch,
    ObjectiveError,
    check_rows,
    pad_rows,
    token_mask,
)
from reference_impl.objectives.terms import IGNORED

ROLES = ("system", "user", "assistant")


class Message(NamedTuple):
    """Who says what."""

    role: str
    content: str


class Example(NamedTuple):
    """Tokens, and for each what is learned of it: itself or IGNORED."""

    ids: list[int]
    labels: list[int]


def answer_example(prompt: Sequence[int], answer: Sequence[int]) -> Example:
    """A prompt and its answer as ids; the answer is learned.

    It should end with the token that ends a text.
    """
    if not prompt or not answer:
        raise ObjectiveError(f"the {'answer' if prompt else 'prompt'} has no tokens")
    return Example([*prompt, *answer], [IGNORED] * len(prompt) + [*answer])


@dataclass(frozen=True)
class ChatML:
    """Lays conversations out.

    `encode` makes ids of plain text, start_id and end_id are the brackets.
    """

    encode: Callable[[str], list[int]]
    start_id: int
    end_id: int

    def example(self, messages: Sequence[Message]) -> Example:
        """A conversation with at least one answer, each of the assistant's learned.

        Raises ObjectiveError for an unknown role, an empty message, or a conversation
        without an answer.
        """
        if not any(message.role == "assistant" for message in messages):
            raise ObjectiveError(
                "the conversation has no message of the assistant: there is nothing to"
                " learn"
            )
        line_end = self.encode("\n")
        ids, labels = [], []
        for place, (role, content) in enumerate(messages):
            if not content:
                raise ObjectiveError(f"message {place}, of the {role}, is empty")
            said = [*self.encode(content), self.end_id]
            parts = [
                (self._opening(role), False),
                (said, role == "assistant"),
                (line_end, False),
            ]
            for tokens, learned in parts:
                ids += tokens
                labels += tokens if learned else [IGNORED] * len(tokens)
        return Example(ids, labels)

    def prompt(self, messages: Sequence[Message]) -> list[int]:
        """A conversation up to where the assistant is to speak: what generation starts
        from.
        """
        ids = []
        for role, content in messages:
            ids += [
                *self._opening(role),
                *self.encode(content),
                self.end_id,
                *self.encode("\n"),
            ]
        return [*ids, *self._opening("assistant")]

    def _opening(self, role: str) -> list[int]:
        if role not in ROLES:
            raise ObjectiveError(f"role {role!r}: it must be one of {', '.join(ROLES)}")
        return [self.start_id, *self.encode(role), *self.encode("\n")]


def supervised_batch(examples: Sequence[Example], pad_id: int = 0) -> Batch:
    """ids, mask and labels for `causal_lm`, filled up on the right."""
    rows = [example.ids for example in examples]
    check_rows(rows)
    for place, (ids, labels) in enumerate(examples):
        if len(ids) != len(labels):
            raise ObjectiveError(
                f"example {place} has {len(ids)} tokens but {len(labels)} labels"
            )
        if all(label == IGNORED for label in labels):
            raise ObjectiveError(
                f"example {place} has no label: was its answer cut off?"
            )
    return {
        "ids": pad_rows(rows, pad_id),
        "mask": token_mask(rows),
        "labels": pad_rows([example.labels for example in examples], IGNORED),
    }
