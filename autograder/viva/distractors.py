"""Wrong options near a right one, of the same type, in which the right one is no hub."""

import ast

OPTIONS = 4
MOST_TEXT = 80  # characters of a value that is taken apart


def near_shapes(right: tuple[int, ...], seen: list, draw) -> list[tuple[int, ...]]:
    """Wrong shapes: others of the run, which a reader without the code cannot exclude; with too
    few of them, these and the right one with axes exchanged or another size.
    """
    decoys = [one for one in seen if one and one != right]
    draw.shuffle(decoys)
    decoys.sort(key=lambda one: len(one) != len(right))
    sizes = sorted({size for one in (*seen, right) for size in one} | {1})
    invented = []
    for shape in (right, *decoys):
        invented += [shape[::-1], shape[1:] + shape[:1], shape[:-1] + (1,), (1, *shape[1:])]
        for axis in range(len(shape)):
            invented += [(*shape[:axis], size, *shape[axis + 1 :]) for size in sizes]
    draw.shuffle(invented)
    more = [(size,) for size in range(2, 9)]
    return [one for one in [*decoys, *invented, *more] if one != right]


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
        value = _read(text)
        if isinstance(value, (str, list, tuple)) and len(value) > 1:
            made += [value[:-1], value[1:], value[-1:] + value[1:-1] + value[:1], value[:1]]
        elif isinstance(value, dict) and len(value) > 1:
            items = list(value.items())
            made += [dict(items[:-1]), dict(items[1:]), dict(items[:1])]
    draw.shuffle(made)
    return [*others[:2], *(repr(one) for one in made if repr(one) != right), *others[2:]]


def _read(text: str) -> object:
    """The value that a text shows, None for what is none: it comes from a student's process."""
    try:
        return ast.literal_eval(text) if len(text) <= MOST_TEXT else None
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
