"""How embeddings fill their space: the mean cosine, and what all vectors share.

Mu and Viswanath 2018 (all-but-the-top); Ethayarajh 2019 (anisotropy as the mean cosine
of random pairs).
"""

import torch
from jaxtyping import Float
from torch import Tensor


def mean_cosine(matrix: Float[Tensor, "V D"]) -> float:
    """The mean cosine over all pairs of two different rows, without forming the pairs.

    The squared length of the sum of the unit vectors is the sum of all V x V cosines;
    V of them are those of a row with itself.
    """
    unit = torch.nn.functional.normalize(matrix.double(), dim=1)
    rows = len(unit)
    return float((unit.sum(0).square().sum() - rows) / (rows * (rows - 1)))


def all_but_the_top(matrix: Float[Tensor, "V D"], top: int) -> Float[Tensor, "V D"]:
    """The rows without their mean and without their `top` largest principal components.

    `top=0` only subtracts the mean. The paper takes about one component for every 100
    dimensions.
    """
    centred = matrix.double() - matrix.double().mean(0)
    # Eigenvectors of the D x D covariance, the largest last.
    directions = torch.linalg.eigh(centred.T @ centred)[1].flip(1)[:, :top]  # (D, top)
    return (centred - centred @ directions @ directions.T).to(matrix.dtype)
