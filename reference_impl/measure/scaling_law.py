"""How loss falls with parameters and tokens, and how a budget of operations is best
spent on the two.

Kaplan et al. 2020, section 2.1 (operations of training); Hoffmann et al. 2022, section
3.3 and equations 2 to 4 and 10 (the law, the best split of a budget, and how the law is
fitted to runs); Sardana et al. 2024 (the same with the cost of inference).

A law that was fitted to some runs holds for that data, that tokenizer and about those
sizes: losses of two vocabularies are not comparable, and exponents from few runs are
known badly. Not here: the runs themselves, learning rates, data seen more than once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import exp, log
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize, minimize_scalar

# errors of log loss above this count linearly: one failed run does not decide the fit
HUBER = 1e-3
STARTS = tuple(product((5.0, 15.0), (5.0, 15.0), (0.5,), (0.2, 0.5), (0.2, 0.5)))


class ScalingLawError(ValueError):
    """Runs from which no law can be fitted."""


class Run(NamedTuple):
    """A model that was trained on so many tokens, each seen once, and the loss it ended
    with, in nats a token.
    """

    num_parameters: float
    num_tokens: float
    loss: float


def training_flops(num_parameters: float | int, num_tokens: float | int) -> float:
    """Six a parameter and token: two in the forward pass, four in the backward.

    Attention's products are left out.
    """
    return 6.0 * num_parameters * num_tokens


@dataclass(frozen=True)
class ScalingLaw:
    """Loss = floor + a / parameters^alpha + b / tokens^beta."""

    floor: float
    a: float
    b: float
    alpha: float
    beta: float

    def loss(self, num_parameters: float, num_tokens: float) -> float:
        """The loss of a model of this size after so many tokens, each seen once."""
        return (
            self.floor
            + self.a / num_parameters**self.alpha
            + self.b / num_tokens**self.beta
        )

    def optimal(self, flops: float) -> tuple[float, float]:
        """The parameters and tokens of lowest loss that `training_flops` allows
        (equation 4).
        """
        balance = (self.alpha * self.a / (self.beta * self.b)) ** (
            1 / (self.alpha + self.beta)
        )
        share = self.beta / (self.alpha + self.beta)
        return balance * (flops / 6) ** share, (flops / 6) ** (1 - share) / balance

    def cheapest(
        self, loss: float, inference_tokens: float | int
    ) -> tuple[float, float]:
        """The parameters and tokens that reach `loss` with the fewest FLOPs of training
        and inference together, 6 N D + 2 N D_inf (Sardana et al. 2024, equation 2).
        """
        least = (self.a / (loss - self.floor)) ** (1 / self.alpha)

        def tokens(num_parameters: float) -> float:
            left = loss - self.floor - self.a / num_parameters**self.alpha
            return (self.b / left) ** (1 / self.beta)

        def flops(log_excess: float) -> float:
            size = least * (1 + exp(log_excess))
            return log(size * (6 * tokens(size) + 2 * inference_tokens))

        found = minimize_scalar(flops, bounds=(-12, 12), method="bounded")
        size = least * (1 + exp(found.x))
        return size, tokens(size)


CHINCHILLA = ScalingLaw(
    floor=1.69, a=406.4, b=410.7, alpha=0.34, beta=0.28
)  # equation 10, MassiveText
CHINCHILLA_REFITTED = ScalingLaw(
    floor=1.8172, a=482.01, b=2085.43, alpha=0.3478, beta=0.3658
)  # the same runs, fitted again by Besiroglu et al. 2024


def fit_scaling_law(runs: Sequence[Run]) -> ScalingLaw:
    """The law that comes nearest to the logarithms of the losses, the best of several
    starts (section 3.3).

    ScalingLawError for fewer runs than the law has constants, or if all have the same
    size or number of tokens.
    """
    table = np.array(runs, dtype=np.float64).reshape(-1, 3)
    num_sizes, num_lengths = (len(set(column)) for column in table[:, :2].T)
    if len(table) < 6 or min(num_sizes, num_lengths) < 3:
        raise ScalingLawError(
            f"{len(table)} runs with {num_sizes} sizes and {num_lengths} numbers of"
            " tokens: the law has five constants, give six runs or more with three or"
            " more of each"
        )
    if not (table > 0).all():
        raise ScalingLawError(
            "a run has a size, a number of tokens or a loss that is not above 0"
        )
    log_parameters, log_tokens, log_loss = np.log(table).T

    def distance(constants: np.ndarray) -> tuple[float, np.ndarray]:
        """The sum of Huber's errors and its gradient, both in units of the error at
        which Huber's turns linear.
        """
        log_a, log_b, log_floor, alpha, beta = constants
        terms = np.stack(
            [
                log_a - alpha * log_parameters,
                log_b - beta * log_tokens,
                np.full_like(log_loss, log_floor),
            ]
        )  # (3, runs)
        total = np.logaddexp.reduce(terms)
        error = (total - log_loss) / HUBER
        size = np.abs(error)
        slope, shares = np.clip(error, -1, 1), np.exp(terms - total)
        directions = np.stack(
            [
                shares[0],
                shares[1],
                shares[2],
                -log_parameters * shares[0],
                -log_tokens * shares[1],
            ]
        )
        return (
            float(np.where(size < 1, error**2 / 2, size - 0.5).sum()),
            directions @ slope / HUBER,
        )

    found = [
        minimize(
            distance,
            np.array(start),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 2000, "maxfun": 4000},
        )
        for start in STARTS
    ]
    log_a, log_b, log_floor, alpha, beta = min(
        found, key=lambda result: result.fun
    ).x.tolist()
    return ScalingLaw(exp(log_floor), exp(log_a), exp(log_b), alpha, beta)


def largest_error(law: ScalingLaw, runs: Sequence[Run]) -> float:
    """The largest difference of log losses: about the share by which the law is wrong
    at worst.
    """
    return max(
        abs(log(law.loss(run.num_parameters, run.num_tokens) / run.loss))
        for run in runs
    )
