"""Direct preference optimisation: make the preferred answer likelier, without a reward
model or sampling.

Rafailov et al. 2023, section 4, equation 7. An answer's implied reward is beta times
how much likelier it became than under the reference, the model before; preferences then
follow Bradley and Terry. At the start both are the same model and the loss is log 2.
Smoothing (Mitchell 2023) supposes that a share of the preferences is the wrong way
round.

The reference does not change: its log-probabilities are computed once, by
`with_reference`, and lie in the batch.

Not here: other losses of the same difference (IPO, hinge), a term that keeps the chosen
answer likely.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from reference_impl.objectives.batches import Batch, ObjectiveError, check_share, needs
from reference_impl.objectives.logprobs import check_settled, sequence_logprobs
from reference_impl.objectives.terms import Terms, mean_terms


@torch.no_grad()
def with_reference(reference: nn.Module, batch: Batch) -> Batch:
    """The batch with `reference_logprobs` (2 B,) beside.

    Dropout must be off: put the reference into eval() first.
    """
    check_settled(reference)
    return {**batch, "reference_logprobs": sequence_logprobs(reference, batch)}


def dpo_terms(
    logprobs: Float[Tensor, "N"],
    reference: Float[Tensor, "N"],
    beta: float = 0.1,
    smoothing: float = 0.0,
) -> Terms:
    """The loss of each pair from log-probabilities of answers: the first half chosen,
    the second half rejected.
    """
    if beta <= 0:
        raise ObjectiveError(f"beta is {beta}: give more than zero")
    check_share("smoothing", smoothing)
    if len(logprobs) % 2:
        raise ObjectiveError(
            f"{len(logprobs)} rows are no pairs: give B chosen, then B rejected"
        )
    chosen, rejected = (beta * (logprobs - reference)).chunk(
        2
    )  # implied rewards, (B,) each
    margin = chosen - rejected
    return mean_terms(
        -(1 - smoothing) * logsigmoid(margin) - smoothing * logsigmoid(-margin)
    )


def dpo(
    model: nn.Module, batch: Batch, beta: float = 0.1, smoothing: float = 0.0
) -> Terms:
    """The loss of a `preference_batch` that went through `with_reference`; counted by
    pairs.
    """
    needs(batch, "reference_logprobs")
    return dpo_terms(
        sequence_logprobs(model, batch), batch["reference_logprobs"], beta, smoothing
    )
