"""Replaced-token detection: a generator fills blanks with guesses, a discriminator says
which tokens are not original.

Clark et al. 2020, section 2 and appendix A. The discriminator learns at every token,
not at the 15 % that were blanked out. A guess that happens to be right is original. No
gradient flows from the discriminator through the guess into the generator; both losses
are added, the discriminator's times 50.

Not here: the models and what they share (see `models.electra`), choosing the blanks
(see `masked_lm`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from reference_impl.objectives.batches import Batch, check_share, model_inputs, needs
from reference_impl.objectives.masked_lm import Masking
from reference_impl.objectives.terms import IGNORED, Terms, token_terms


@dataclass(frozen=True)
class ReplacedTokens:
    """Blanks for the generator, and the chance that its guess will need: one number in
    [0, 1) a token.

    In the paper every chosen token becomes [MASK]: give `Masking(..., masked=1.0,
    replaced=0.0)`.
    """

    masking: Masking

    def __call__(
        self, rows: Sequence[Sequence[int]], generator: torch.Generator
    ) -> Batch:
        """A batch of ids, mask, labels and chances (B, T): with these the objective is
        a function of its batch.
        """
        batch = self.masking(rows, generator)
        return {**batch, "chances": torch.rand(batch["ids"].shape, generator=generator)}


class GeneratorAndDiscriminator(nn.Module):
    """The two that are trained together: one gives logits (B, T, V), the other
    (B, T).
    """

    def __init__(self, generator: nn.Module, discriminator: nn.Module):
        super().__init__()
        self.generator, self.discriminator = generator, discriminator


@torch.no_grad()
def sample(
    logits: Float[Tensor, "N V"], chances: Float[Tensor, "N"]
) -> Int[Tensor, "N"]:
    """A token each from the softmax: the first at which the probabilities, summed up,
    pass the chance.
    """
    summed = logits.softmax(-1).cumsum(-1)  # (N, V)
    return (
        torch.searchsorted(
            summed, (chances.to(summed) * summed[:, -1])[:, None], right=True
        )
        .squeeze(-1)
        .clamp(max=logits.shape[-1] - 1)
    )


def replaced_terms(
    logits: Float[Tensor, "B T"], replaced: Int[Tensor, "B T"], mask: Tensor
) -> Terms:
    """Binary cross-entropy at every real token; a label of 1 says replaced."""
    losses = binary_cross_entropy_with_logits(
        logits[mask], replaced[mask].to(logits.dtype), reduction="sum"
    )
    return Terms(losses, int(mask.sum()))


def replaced_token(
    model: GeneratorAndDiscriminator, batch: Batch, weight: float = 50.0
) -> Terms:
    """The generator's mean over blanks plus `weight` times the discriminator's mean
    over tokens.

    Counted as `weight` of the discriminator's tokens, so that its mean is the joint
    loss.
    """
    needs(batch, "labels", "chances")
    check_share(
        "chances", float(batch["chances"].max()) if batch["chances"].numel() else 0.0
    )
    inputs, labels = model_inputs(batch), batch["labels"]
    chosen = labels != IGNORED
    guesses = model.generator(batch["ids"], **inputs)[chosen]  # (N, V)
    original = torch.where(chosen, labels, batch["ids"])
    filled = original.masked_scatter(chosen, sample(guesses, batch["chances"][chosen]))
    found = replaced_terms(
        model.discriminator(filled, **inputs),
        (filled != original).long(),
        batch["mask"],
    )
    return Terms(weight * found.total, found.count).plus(
        token_terms(guesses, labels[chosen])
    )
