"""Wrong options near a right one, of the same type, in which the right one is no hub."""

import ast
import itertools

OPTIONS = 4


def near_shapes(right: tuple[int, ...], seen: list, draw) -> list[tuple[int, ...]]:
    """Wrong shapes, those with as many axes first: other shapes of the run, the right one with
    axes swapped or another size, and the same of those.
    """
    sizes = sorted({size for one in (*seen, right) for size in one})
    sizes += [sizes[-1] + 1, sizes[-1] + 2]
    decoys = [one for one in seen if one != right]
    invented = [
        right[:axis] + (size,) + right[axis + 1 :]
        for axis in range(len(right))
        for size in sizes
        if size != right[axis]
    ]
    draw.shuffle(decoys)
    draw.shuffle(invented)
    distortions = [
        lambda one: one[:-2] + one[-2:][::-1],
        lambda one: one[1:] + one[:1],
        lambda one: one[:-1] + (1,),
        lambda one: (1, *one[1:]),
    ]
    draw.shuffle(distortions)
    found: list[tuple[int, ...]] = []
    same = [one for one in decoys if len(one) == len(right)]
    for decoy, distort in zip([*same, *invented], itertools.cycle(distortions)):
        found += [decoy, distort(decoy), distort(right)]
    found = [one for one in [*found, *decoys] if one != right]
    return sorted(found, key=lambda one: len(one) != len(right))


def near_numbers(right: str, seen: list[str], draw) -> list[str]:
    """Other numbers of the run, then a scale on which the right one is at any position."""
    value, place = int(right), draw.randrange(OPTIONS)
    begin = value - min(place, value) if value >= 0 else value - place
    scale = [str(begin + step) for step in range(OPTIONS)]
    others = [one for one in seen if one != right]
    draw.shuffle(others)
    return [*others[: draw.randrange(4)], *scale]


def near_texts(right: str, seen: list[str], draw) -> list[str]:
    """Other texts or lists of the run, then others with an entry less or two exchanged."""
    others = [one for one in seen if one != right]
    draw.shuffle(others)
    made = []
    for text in (right, *others):
        value = ast.literal_eval(text)
        if isinstance(value, (str, list, tuple)) and len(value) > 1:
            made += [value[:-1], value[1:], value[-1:] + value[1:-1] + value[:1], value[:1]]
        elif isinstance(value, dict) and len(value) > 1:
            items = list(value.items())
            made += [dict(items[:-1]), dict(items[1:]), dict(items[:1])]
    draw.shuffle(made)
    return [*others[:2], *(repr(one) for one in made if repr(one) != right), *others[2:]]
