"""How likely a model finds given tokens: what preference and policy objectives are made
of.

The logarithm of a probability is the token's logit less the log-sum-exp of all. Taken
so, only the log-sum-exp is new memory, one number a position; log_softmax would write
the whole (B, T, V) down again to pick one column.

Rows are prompt and answer, then padding; `labels` has the answer's tokens at their
places and IGNORED elsewhere.

Not here: padding on the left, choosing tokens by their chances (see `generation`).
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from reference_impl.objectives.batches import Batch, ObjectiveError, check_labels, needs
from reference_impl.objectives.terms import IGNORED


def token_logprobs(
    logits: Float[Tensor, "*batch V"], tokens: Int[Tensor, "*batch"]
) -> Float[Tensor, "*batch"]:
    """The logarithm of each token's probability, in nats; half precision is worked in
    float32.
    """
    check_labels(tokens, logits.shape[-1])
    if logits.dtype in (
        torch.bfloat16,
        torch.float16,
    ):  # autocast's logits: differences of these are exponentiated
        logits = logits.float()
    return logits.gather(-1, tokens[..., None]).squeeze(-1) - logits.logsumexp(-1)


def check_settled(reference: nn.Module) -> None:
    """Refuse a reference whose dropout is on."""
    if reference.training:
        raise ObjectiveError(
            "the reference is in training mode: dropout would make its"
            " log-probabilities noise; call eval() first"
        )


def answered(labels: Int[Tensor, "B L"]) -> Bool[Tensor, "B T"]:
    """True where the next token is the answer's: T = L - 1 places, that after the last
    token asks for nothing.

    Raises ObjectiveError for a row without an answer, or one whose answer has no token
    before it.
    """
    mask = labels[:, 1:] != IGNORED
    if labels.device.type == "cpu" and not bool(mask.any(1).all()):
        empty = int((~mask.any(1)).nonzero()[0])
        raise ObjectiveError(
            f"example {empty} has no answer after a first token: give a prompt and an"
            " answer"
        )
    return mask


def answer_logprobs(model: nn.Module, batch: Batch) -> Float[Tensor, "B T"]:
    """For each token but the first the logarithm of its probability; zero where it is
    not the answer's.
    """
    needs(batch, "ids", "labels")
    mask = answered(batch["labels"])
    found = token_logprobs(
        model(batch["ids"][:, :-1]), batch["labels"][:, 1:].masked_fill(~mask, 0)
    )
    return found.masked_fill(~mask, 0)


def sequence_logprobs(model: nn.Module, batch: Batch) -> Float[Tensor, "B"]:
    """The logarithm of the whole answer's probability: the sum over its tokens."""
    return answer_logprobs(model, batch).sum(1)
