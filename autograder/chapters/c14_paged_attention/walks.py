"""Random commands for the two classes of this chapter, each possible where it stands."""

from collections.abc import Collection

import torch

from autograder.chapters.c14_paged_attention.models import BlocksModel, PrefixModel
from autograder.checks.inputs.draws import whole

LETTERS = "abcdefghij"
WEIGHTS = {"allocate": 2, "append": 6, "fork": 2, "free": 1}


def chosen(rng: torch.Generator, things: list) -> object:
    """One of them."""
    return things[whole(rng, 0, len(things) - 1)]


def walk(
    rng: torch.Generator,
    num_blocks: int,
    size: int,
    length: int,
    methods: Collection[str],
    refusals: bool = False,
) -> tuple:
    """A run of `Blocks`; with refusals about every fourth command asks for too much, or under a
    wrong name.
    """
    model, commands = BlocksModel(num_blocks, size), []
    bag = [method for method in methods for _ in range(WEIGHTS[method])]
    while len(commands) < length:
        method, there = chosen(rng, bag), list(model.tables)
        absent = [letter for letter in LETTERS if letter not in there]
        odd = refusals and whole(rng, 0, 3) == 0
        if method == "allocate" and (absent if not odd else there or absent):
            name = (
                chosen(rng, there)
                if odd and there and whole(rng, 0, 1)
                else absent[0]
                if absent
                else there[0]
            )
            limit = size * (model.num_free + 2 * odd)
            command = (
                "allocate",
                name,
                min(
                    chosen(
                        rng,
                        [0, 1, size - 1, size, size + 1, 2 * size, whole(rng, 0, 3 * size), limit],
                    ),
                    limit,
                ),
            )
        elif method == "fork" and there and (absent or odd):
            command = (
                "fork",
                chosen(rng, there if not odd else [*there, *absent[:1]]),
                absent[0] if absent and (not odd or whole(rng, 0, 1)) else chosen(rng, there),
            )
        elif method in ("append", "free") and (there or odd):
            command = (method, chosen(rng, absent or there) if odd else chosen(rng, there))
        else:
            command = (
                ("allocate", absent[0], 0)
                if absent and "allocate" in methods
                else ("free", there[0])
            )
        trial = _again(model, num_blocks, size, commands)
        if trial.do(command)[0] == "refused" and not refusals:
            if method == "append" and there and "free" in methods:
                command = ("free", chosen(rng, there))
            else:
                return num_blocks, size, commands
        commands.append(command)
        model.do(command)
    return num_blocks, size, commands


def _again(model: BlocksModel, num_blocks: int, size: int, commands: list) -> BlocksModel:
    """The same model, to try a command on."""
    trial = type(model)(num_blocks, size)
    trial.tables, trial.lengths, trial.numbers = (
        {name: list(table) for name, table in model.tables.items()},
        dict(model.lengths),
        iter(range(10**6, 2 * 10**6)),
    )
    return trial


def visits(
    rng: torch.Generator,
    num_blocks: int,
    size: int,
    length: int,
    letters: str = "xy",
    overfull: bool = False,
    plain: bool = False,
) -> tuple:
    """A run of `PrefixCache`: prompts from few letters a block begin, take blocks, become known and
    are released, in turns.

    plain: one after the other, so that no two read the same, and with a token behind the last full
    block.
    """
    model, commands = PrefixModel(num_blocks, size), []
    wanted: dict[str, bytes] = {}  # of each sequence: the letters of its blocks

    def ask(*command: object) -> None:
        commands.append(command)
        model.do(command)

    while len(commands) < length:
        there = list(model.tables)
        absent = [letter for letter in LETTERS if letter not in there]
        kind = chosen(
            rng, ["begin", "begin", "take", "take", "take", "know", "know", "know", "release"]
        )
        if kind == "begin" and len(there) < 4:
            text = "".join(
                chosen(rng, list(letters)) for _ in range(whole(rng, 0, min(4, num_blocks)))
            ).encode()
            name, tokens = (
                absent[0],
                max(
                    size * len(text)
                    + (min(1, size - 1) if plain else chosen(rng, [0, 0, size - 1, size // 2])),
                    1,
                ),
            )
            text = text if tokens // size == len(text) else (text + b"x")[: tokens // size]
            wanted[name] = text + b"".join(chosen(rng, [b"x", b"y"]) for _ in range(2))
            ask("begin", name, [text[: end + 1] for end in range(len(text))], tokens)
            while plain and model.num_free and len(model.tables[name]) < len(text):
                ask("take", name)
            while plain and model.told[name] < min(len(model.tables[name]), len(text)):
                ask("know", name, model.told[name], text[: model.told[name] + 1])
        elif kind == "take" and not plain and there and (model.num_free or overfull):
            name = chosen(rng, there)
            if len(model.tables[name]) < len(wanted[name]):
                ask("take", name)
        elif kind == "know" and not plain and there:
            name = chosen(rng, there)
            if model.told[name] < len(model.tables[name]):
                ask("know", name, model.told[name], wanted[name][: model.told[name] + 1])
            elif model.told[name] and whole(rng, 0, 3) == 0:
                place = whole(rng, 0, model.told[name] - 1)
                ask("know", name, place, wanted[name][: place + 1])
        elif (
            kind == "release"
            and there
            or len(there) == 4
            or there
            and not model.num_free
            and not overfull
        ):
            ask("release", chosen(rng, there))
    return num_blocks, size, commands
