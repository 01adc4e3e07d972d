"""AdamW: which parameters decay, at which rate each group learns, and how long a
gradient may be.

Loshchilov and Hutter 2019, algorithm 2 (decay apart from the gradient); Pascanu et al.
2013, algorithm 1 (clipping by the norm). Decay pulls matrices towards zero. A bias or a
norm's weight is left alone: zero is no simpler a value for it.

A group may carry a `scale`: its rate is the schedule's times that.

Not here: Adam itself (torch's), other optimisers.
"""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from reference_impl.training.distributed import whole

Groups = list[dict]
"""What torch's optimisers take: dictionaries with `params` and settings of their
own."""


def decays(name: str, parameter: Tensor, embeddings: frozenset[int]) -> bool:
    """Whether a parameter is a matrix: no bias, no norm's weight, none of `embeddings`
    (identities of tensors).
    """
    return (
        parameter.ndim >= 2
        and not name.endswith("bias")
        and id(parameter) not in embeddings
    )


def decay_groups(
    model: nn.Module, weight_decay: float, decay_embeddings: bool = True
) -> Groups:
    """Two groups, of what decays and what does not.

    Frozen parameters are in neither, tied ones count once.
    """
    spared = (
        frozenset()
        if decay_embeddings
        else frozenset(
            id(module.weight)
            for module in model.modules()
            if isinstance(module, nn.Embedding)
        )
    )
    trained = [
        (name, parameter)
        for name, parameter in model.named_parameters()
        if parameter.requires_grad
    ]
    matrices = [
        parameter for name, parameter in trained if decays(name, parameter, spared)
    ]
    others = [
        parameter for name, parameter in trained if not decays(name, parameter, spared)
    ]
    groups = [
        {"params": matrices, "weight_decay": weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    return [group for group in groups if group["params"]]


def make_optimizer(
    model: nn.Module,
    weight_decay: float,
    betas: tuple[float, float],
    groups: Callable[[nn.Module], Groups] | None = None,
) -> torch.optim.AdamW:
    """AdamW over `decay_groups`, or over the groups that `groups` makes of the model.

    Raises ValueError if every parameter is frozen.
    """
    made = decay_groups(model, weight_decay) if groups is None else groups(model)
    if not any(group["params"] for group in made):
        raise ValueError(
            f"{type(model).__name__} has no parameter to train: all are frozen"
        )
    return torch.optim.AdamW(made, betas=betas, weight_decay=weight_decay, fused=True)


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Give each group the rate times its scale."""
    for group in optimizer.param_groups:
        group["lr"] = rate * group.get("scale", 1.0)


def scale_and_clip(
    parameters: Iterable[nn.Parameter], scale: float, max_norm: float | None
) -> float:
    """Multiply all gradients by `scale`, then shorten them together to `max_norm` if
    they are longer.

    Returns the norm that they had after scaling and before being shortened.
    """
    gradients = [
        parameter.grad for parameter in parameters if parameter.grad is not None
    ]
    norm = scale * float(whole(torch.nn.utils.get_total_norm(gradients)))
    shorten = 1.0 if max_norm is None else min(1.0, max_norm / (norm + 1e-6))
    for gradient in gradients:
        gradient.mul_(scale * shorten)
    return norm
