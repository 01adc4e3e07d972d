"""Which layers of a config.json attend to everything, where others have a window."""

from reference_impl.weights.shards import WeightsError


def global_every(kinds: list[str]) -> int:
    """The distance between global layers; WeightsError if it is not constant.

    One more than there are layers, if none is global.
    """
    wide = "full_attention"
    every = kinds.index(wide) + 1 if wide in kinds else len(kinds) + 1
    regular = [
        "sliding_attention" if layer % every else wide
        for layer in range(1, len(kinds) + 1)
    ]
    if kinds != regular:
        raise WeightsError(
            f"config.json has layer_types {kinds}: they can be read where every n-th"
            " layer is full_attention and the others are sliding_attention"
        )
    return every
