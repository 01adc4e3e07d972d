"""A reward model: a number for an answer, learned from which of two was preferred.

Bradley and Terry 1952; Stiennon et al. 2020, section 3.4; Ouyang et al. 2022, equation
1: the chance that one answer is preferred is the sigmoid of the difference of rewards.
Only differences matter, so the head has no bias. Touvron et al. 2023 (Llama 2), section
3.2.2, ask for a larger difference where people were surer: the margin.

Not here: bringing the rewards' mean to zero, several answers ranked at once.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from reference_impl.layers.checks import check_mask
from reference_impl.objectives.batches import Batch, ObjectiveError, needs
from reference_impl.objectives.terms import Terms, mean_terms


class TokenScores(nn.Module):
    """A number at every token, from a decoder's last vectors: PPO's critic, and what a
    reward is read from.
    """

    def __init__(self, decoder: nn.Module):
        super().__init__()
        self.decoder = decoder
        self.score = nn.Linear(decoder.config.hidden_size, 1, bias=False)

    def forward(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T"]:
        """Padding is on the right, where no token sees it."""
        return self.score(self.decoder.hidden(ids)).squeeze(-1)


class RewardModel(nn.Module):
    """The score at the last token, which has seen all."""

    def __init__(self, decoder: nn.Module):
        super().__init__()
        self.scores = TokenScores(decoder)

    def forward(
        self, ids: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B"]:
        """Rewards of rows of prompt and answer.

        Raises ModelInputError for a mask of another kind or shape.
        """
        check_mask(mask, ids.shape)
        places = torch.arange(ids.shape[1], device=ids.device)
        last = (places * mask).amax(1, keepdim=True)  # (B, 1)
        return self.scores(ids).gather(1, last).squeeze(1)


def bradley_terry(
    chosen: Float[Tensor, "B"],
    rejected: Float[Tensor, "B"],
    margins: Float[Tensor, "B"] | None = None,
) -> Terms:
    """-log sigmoid(chosen - rejected - margin) of each pair."""
    difference = chosen - rejected
    return mean_terms(
        -logsigmoid(difference if margins is None else difference - margins)
    )


def pairwise_reward(model: RewardModel, batch: Batch) -> Terms:
    """The loss of a `preference_batch`, which may have `margins` (B,) beside; counted
    by pairs.
    """
    needs(batch, "ids", "mask")
    if len(batch["ids"]) % 2:
        raise ObjectiveError(
            f"{len(batch['ids'])} rows are no pairs: give B chosen, then B rejected"
        )
    chosen, rejected = model(batch["ids"], batch["mask"]).chunk(2)
    return bradley_terry(chosen, rejected, batch.get("margins"))
