"""What a check may do to a student's nn.Module beside calling it: look, load weights by name,
differentiate, step.

Runs on the student's side of the pipe. All that leaves is names, sizes, flags and plain tensors;
what they say proves nothing by itself, so a check loads weights that it drew, and compares outputs
and gradients with its own.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from autograder.checks.assertions.values import without_ones
from autograder.checks.student.failed import Failed

MAX_NAMES = 6  # in a sentence about names that do not fit


def _state(module: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach() for name, value in module.state_dict().items()}


LOOKS: dict[str, Callable[[nn.Module], object]] = {
    "state": _state,
    "shapes": lambda module: {
        name: tuple(value.shape) for name, value in module.named_parameters()
    },
    "learning": lambda module: {
        name: value.requires_grad for name, value in module.named_parameters()
    },
    "gradients": lambda module: {name: value.grad for name, value in module.named_parameters()},
    "training": lambda module: module.training,
}


def load(module: nn.Module, weights: dict[str, Tensor]) -> None:
    """Put our weights into the module, every one by its name.

    Raises Failed with the names that do not fit.
    """
    own = module.state_dict()
    missing, extra = sorted(weights.keys() - own.keys()), sorted(own.keys() - weights.keys())
    wrong = [
        f"`{name}` has shape {tuple(own[name].shape)}; {tuple(weights[name].shape)} was asked for"
        for name in weights.keys() & own.keys()
        if own[name].shape != weights[name].shape
    ]
    complaints = [
        *(["it has no parameter or buffer " + _some(missing)] if missing else []),
        *(
            ["its `state_dict` also has " + _some(extra) + ", which was not asked for"]
            if extra
            else []
        ),
        *sorted(wrong)[:MAX_NAMES],
    ]
    if complaints:
        raise Failed(
            "unreadable", f"Weights cannot be loaded into your module: {'; '.join(complaints)}."
        )
    module.load_state_dict(weights)


def _differentiable(value: object, wanted: tuple[int, ...]) -> Tensor:
    """A function's value in the shape that was asked for.

    Raises Failed if no gradient can pass through it.
    """
    if type(value) is not torch.Tensor:
        raise Failed(
            "unreadable",
            f"A torch.Tensor to differentiate was asked for, and {type(value).__name__} came.",
        )
    if not value.requires_grad:
        raise Failed(
            "unreadable",
            "No gradient can pass through what came back: was it detached, computed without "
            "gradients, or turned into a number on the way?",
        )
    # Dimensions of 1 more or less are a slip, which the check notes
    if without_ones(value.shape) != without_ones(wanted):
        raise Failed(
            "unreadable",
            f"A tensor of shape {wanted} was asked for, and {tuple(value.shape)} came.",
        )
    return value.reshape(wanted)


def backward(
    function: Callable,
    owner: object,
    args: tuple,
    kwargs: dict,
    upstream: Tensor | None,
    wrt: tuple[int, ...],
) -> dict[str, object]:
    """Call, and differentiate what comes back, contracted with `upstream` (None for a loss that is
    one number).

    wrt: places of the arguments whose gradients are asked for. The parameters' gradients are asked
    for if the function belongs to a module; they also stay in the module, for `update`.
    """
    module = owner if isinstance(owner, nn.Module) else None
    leaves = [
        args[i].detach().clone().requires_grad_() if i in wrt else args[i] for i in range(len(args))
    ]
    if module is not None:
        module.zero_grad(set_to_none=True)
    with torch.enable_grad():
        value = function(*leaves, **kwargs)
        meant = _differentiable(value, () if upstream is None else tuple(upstream.shape))
        (meant if upstream is None else (meant * upstream).sum()).backward()
    parameters = {} if module is None else LOOKS["gradients"](module)
    return {"value": value, "arguments": [leaves[i].grad for i in wrt], "parameters": parameters}


def update(module: nn.Module, learning_rate: float) -> None:
    """One step of plain gradient descent on what `backward` left in the module.

    Written out: the first optimiser of a process imports torch's compiler, which takes seconds.
    """
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.requires_grad and parameter.grad is not None:
                parameter -= learning_rate * parameter.grad


def _some(names: list[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:MAX_NAMES])
    return shown + (f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else "")
