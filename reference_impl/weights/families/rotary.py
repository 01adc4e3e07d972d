"""Rotary positions in a config.json.

Their settings have moved twice, and one that is overlooked changes every number.

Old files have `rope_theta` beside the others, and `rope_scaling` with a kind and its
factors; newer ones keep all in `rope_parameters`. Where a file says a thing in two
places, both must say the same.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from reference_impl.weights.shards import WeightsError

PARAMETERS = {
    "default": (),
    "linear": ("factor",),
    "llama3": (
        "factor",
        "low_freq_factor",
        "high_freq_factor",
        "original_max_position_embeddings",
    ),
    "yarn": (
        "factor",
        "beta_slow",
        "beta_fast",
        "original_max_position_embeddings",
    ),
}
"""What each kind needs."""


class Rotary(NamedTuple):
    """The kind, and what the file says of it under its published names."""

    kind: str
    parameters: dict[str, Any]


def parse(
    rope: Mapping[str, Any], kinds: tuple[str, ...], also: tuple[str, ...] = ()
) -> Rotary:
    """One object of rotary settings.

    WeightsError for a kind or a parameter that is not followed.
    """
    if not isinstance(rope, Mapping):
        raise WeightsError(
            f"config.json has {rope!r} for its rotary positions: an object is expected"
        )
    named = {
        rope[key] for key in ("rope_type", "type") if rope.get(key) is not None
    } or {"default"}
    if len(named) > 1:
        raise WeightsError(
            "config.json calls its rotary positions"
            f" {' and '.join(sorted(map(repr, named)))}"
        )
    (kind,) = named
    if kind not in kinds:
        raise WeightsError(
            f"config.json scales rotary positions by {kind!r}: only"
            f" {' or '.join(map(repr, kinds))} can be read"
        )
    if rope.get("rope_theta", 1) is None:
        raise WeightsError(
            "config.json sets rope_theta of its rotary positions to null: give a"
            " number, or leave the key out"
        )
    wanted = PARAMETERS[kind]
    given = {
        key: value
        for key, value in rope.items()
        if key not in ("rope_type", "type") and value is not None
    }
    if unknown := sorted(given.keys() - {"rope_theta", *wanted, *also}):
        raise WeightsError(
            f"config.json sets {unknown[0]} of its rotary positions to"
            f" {given[unknown[0]]!r}, which the kind {kind!r} does not have here"
        )
    return Rotary(kind, given)


def take(config: dict[str, Any], kinds: tuple[str, ...], **also: str) -> Rotary:
    """Take the rotary settings out of a flat config.json; `also` are parameters and
    their older keys beside the others.

    The parameters of the kind are all there; `rope_theta` and those of `also` are there
    if the file has them.
    """
    scaling, parameters = (
        config.pop(key, None) for key in ("rope_scaling", "rope_parameters")
    )
    if scaling and parameters and scaling != parameters:
        raise WeightsError(
            f"config.json has rope_scaling {scaling!r} and rope_parameters"
            f" {parameters!r}: one of the two is expected"
        )
    kind, given = parse(scaling or parameters or {}, kinds, tuple(also))
    for ours, key in (("rope_theta", "rope_theta"), *also.items()):
        outside = config.pop(key, None)
        if outside is not None and given.setdefault(ours, outside) != outside:
            raise WeightsError(
                f"config.json sets {key} to {outside!r} and, among its rotary"
                f" positions, {ours} to {given[ours]!r}: they are one setting"
            )
    if kind == "llama3":
        given.setdefault(
            "original_max_position_embeddings", config.get("max_position_embeddings")
        )
    if missing := [key for key in PARAMETERS[kind] if given.get(key) is None]:
        raise WeightsError(
            f"config.json scales rotary positions by {kind!r} and gives no {missing[0]}"
        )
    return Rotary(kind, given)
